"""How PPO scales over the devices of one process, and over processes with a device each.

    python -m benchmarks.scaling                      # the devices that JAX sees
    python -m benchmarks.scaling --virtual-devices    # devices made of the processor's cores

    strong    the same boards over more devices
    weak      more boards, as many on each device

A figure is steps per second of whole iterations of train.ppo; its efficiency is that over `count` times the speed of
one device. Every line of the table is measured in processes of its own, which find each other on this machine.

A program for one CPU device uses every core there is, and virtual devices gain nothing over it. A line of virtual
devices therefore has as many cores as devices, while there are that many; with "all cores" one device has them all.
"""

import dataclasses
import json
import os
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import tyro

from benchmarks.throughput import keep, measured, say, timed, where
from train.driver import processes
from train.ops import sharding
from train.ppo import PPO, Config, config_for

SCALINGS = ("strong", "weak")
OVER = ("devices", "processes")
TASK = "JAXGAMES_SCALING_TASK"  # the environment variable that makes a worker of this module


@dataclass(frozen=True)
class Arguments:
    env: str = "chinese_checkers(size=2, num_players=6)"
    """The game, with its parameters; network and epochs are its recipe's."""
    boards: int = 256
    """Boards of one device; where scaling is strong, of all."""
    rollout_length: int = 64
    counts: tuple[int, ...] = (1, 2, 4)
    """How many devices, or processes with a device each; 1 comes first."""
    over: tuple[str, ...] = OVER
    """Devices of one process, processes, or both."""
    virtual_devices: bool = False
    """Makes devices of the processor's cores."""
    repeats: int = 5
    output: Path | None = None
    """A file for the JSON, which is printed in any case."""


@dataclass(frozen=True)
class Task:
    """What one process of a line does."""

    config: Config
    devices: int  # of each process
    processes: int
    process_id: int
    coordinator: str | None
    cores: list[int]  # that it may use; empty for all
    repeats: int


def main() -> None:
    """The command `python -m benchmarks.scaling`."""
    if TASK in os.environ:
        stored = json.loads(os.environ[TASK])
        config = Config(**stored.pop("config"))
        try:
            work(Task(config, **stored))
        except (Exception, KeyboardInterrupt) as error:
            processes.abandon(error, f"benchmarks.scaling: {error}")
            raise
        return
    arguments = tyro.cli(Arguments, prog="python -m benchmarks.scaling", description="Measure how PPO scales.")
    result = measured("scaling", measure, arguments)
    keep(result, arguments.output)
    print(json.dumps(result))


def measure(arguments: Arguments) -> dict[str, Any]:
    """Prints the table as it grows and returns all figures."""
    if arguments.counts[:1] != (1,) or min(*arguments.counts, arguments.repeats) < 1:
        raise ValueError(f"counts must be positive and begin with 1, and repeats be positive, not {arguments.counts}")
    if set(arguments.over) - set(OVER):
        raise ValueError(f"over must be among {', '.join(OVER)}, not {', '.join(arguments.over)}")
    if arguments.virtual_devices and not hasattr(os, "sched_getaffinity"):
        raise ValueError("virtual devices need cores of their own, which only Linux gives them")
    for scaling in SCALINGS:
        for count in arguments.counts:
            sharding.check_divisible(PPO(config_of(arguments, scaling, count)).divisible, count)
    say(f"{arguments.env}, rollouts of {arguments.rollout_length} steps")
    say("scaling    over        count   boards   cores   steps a second (spread)   efficiency")
    cores = sorted(os.sched_getaffinity(0)) if arguments.virtual_devices else []
    one, machine = line(arguments, "one", "devices", 1, cores[:1])
    rows = [one]
    if len(cores) > 1:
        rows.append(line(arguments, "all cores", "devices", 1, cores, one)[0])
    there = max(arguments.counts) if arguments.virtual_devices else len(machine["devices"])
    counts = [count for count in arguments.counts[1:] if count <= there]
    if len(counts) < len(arguments.counts) - 1:
        say(f"JAX sees {there} of the {max(arguments.counts)} devices: lines with more are left out")
    for scaling in SCALINGS:
        for over in arguments.over:
            rows += [line(arguments, scaling, over, count, cores[:count], one)[0] for count in counts]
    return {"env": arguments.env, "rollout_length": arguments.rollout_length, "rows": rows, **machine}


def line(
    arguments: Arguments, scaling: str, over: str, count: int, cores: list[int], one: dict[str, Any] | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A line of the table, and where it was measured; `one` is the line of one device."""
    config = config_of(arguments, scaling, count)
    together = count if over == "processes" else 1
    task = Task(
        config=config,
        devices=count // together,
        processes=together,
        process_id=0,
        coordinator=f"127.0.0.1:{free_port()}" if together > 1 else None,
        cores=cores,
        repeats=arguments.repeats,
    )
    found = workers(task, arguments.virtual_devices)
    machine: dict[str, Any] = found.pop("where")
    boards, speed = config.num_envs, found["steps_per_second"]
    efficiency = speed / (count * one["steps_per_second"]) if one else 1.0
    row = {"scaling": scaling, "over": over, "count": count, "boards": boards, "cores": len(cores) or machine["cores"]}
    row |= found | {"efficiency": efficiency}
    cell = f"{speed:,.0f} ({found['spread']:.0%})"
    say(f"{scaling:<10} {over:<10} {count:>6} {boards:>8,} {row['cores']:>7} {cell:>25} {efficiency:>12.2f}")
    return row, machine


def config_of(arguments: Arguments, scaling: str, count: int) -> Config:
    """The settings of a line."""
    boards = arguments.boards * (count if scaling == "weak" else 1)
    return config_for(arguments.env, num_envs=boards, rollout_length=arguments.rollout_length)


def workers(task: Task, virtual: bool) -> dict[str, Any]:
    """What process 0 of the task's processes found."""
    running: list[subprocess.Popen[str]] = []
    for number in range(task.processes):
        own = dataclasses.replace(task, process_id=number)
        if task.processes > 1 and task.cores:
            own = dataclasses.replace(own, cores=[task.cores[number % len(task.cores)]])
        environment = os.environ | {TASK: json.dumps(dataclasses.asdict(own))}
        if virtual:
            flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={task.devices}"
            environment |= {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags.strip()}
        elif task.processes > 1:
            environment["JAX_LOCAL_DEVICE_IDS"] = str(number)  # a GPU of its own
        command = [sys.executable, "-m", "benchmarks.scaling"]
        running.append(
            subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        )
    with ThreadPoolExecutor(len(running)) as readers:  # of all at once: a worker with a full pipe would wait
        ends = list(readers.map(subprocess.Popen[str].communicate, running))
    failed = [
        f"process {number}: {(err.strip().splitlines() or [f'exit status {worker.returncode}'])[-1]}"
        for number, (worker, (_, err)) in enumerate(zip(running, ends, strict=True))
        if worker.returncode
    ]
    if failed:
        raise ValueError(f"{task.processes} processes of {task.devices} devices: {'; '.join(failed)}")
    return json.loads(ends[0][0].splitlines()[-1])


def work(task: Task) -> None:
    """What a worker does: measures, and prints the figure as JSON where it leads."""
    if task.cores:
        os.sched_setaffinity(0, task.cores)
    if task.coordinator is not None:
        processes.join(task.coordinator, task.processes, task.process_id, timeout=300)
    learner = PPO(task.config)
    mesh = sharding.mesh_for(task.devices, learner.divisible)
    train_state = sharding.shard(jax.jit(learner.init)(jax.random.key(0)), mesh, learner.partition_specs)
    with jax.set_mesh(mesh):
        figure = timed(
            lambda key, train_state: learner.iterate(train_state._replace(key=key)),
            (train_state,),
            task.config.steps_per_iteration,
            task.repeats,
        )
    leads, machine = processes.is_leader(), where()
    processes.leave()
    if leads:
        print(json.dumps(figure._asdict() | {"where": machine}))


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


if __name__ == "__main__":
    main()
