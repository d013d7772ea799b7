"""Speed of PPO by the number of devices of one process, and over processes with one device each.

    python -m benchmarks.devices                      # the devices that JAX sees
    python -m benchmarks.devices --virtual-devices    # virtual devices, one per core

    strong    the same number of boards, divided between more devices
    weak      the same number of boards on each device

Speeds are in steps per second, over whole iterations of train.ppo. The efficiency is the speed divided by `count` times
the speed of one device. Every row of the table is measured in new processes, which find each other on this machine.

A program for one CPU device uses all cores, and virtual devices gain nothing over it. So a row of virtual devices
uses only as many cores as devices, while there are that many. In the row "all cores" one device uses all of them.
"""

import dataclasses
import json
import os
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import jax

from benchmarks import harness
from benchmarks.harness import Command
from train.driver import processes
from train.driver.machine import stamp
from train.ops import sharding
from train.ppo import PPO, Config, config_for

# -- speed ------------------------------------------------------------------------------------------------

SCALINGS = ("strong", "weak")
OVER = ("devices", "processes")
SPEED_TABLE = {
    **{name: f"{{{name}}}" for name in ("scaling", "over", "count")},
    "boards": "{boards:,}",
    "cores": "{cores}",
    "steps/s (spread)": harness.SPEED,
    "efficiency": "{efficiency:.2f}",
}
TASK_VARIABLE = "JAXGAMES_SCALING_TASK"  # where it is set, this module runs as a worker; its value is the Task


@dataclass(frozen=True)
class Arguments(harness.BenchmarkArguments):
    env: str = "chinese_checkers(size=2, num_players=6)"
    """The game, with its parameters; the network and the epochs come from its recipe."""
    boards: int = 256
    """Boards of one device; in strong scaling, of all devices together."""
    rollout_length: int = 64
    counts: tuple[int, ...] = (1, 2, 4)
    """Numbers of devices, or of processes with one device each; the first must be 1."""
    over: tuple[str, ...] = OVER
    """Devices of one process, processes, or both."""
    virtual_devices: bool = False
    """Use virtual devices, one per core, instead of those that JAX sees."""
    repeats: int = 5


@dataclass(frozen=True)
class Task:
    """The work of one process of a row."""

    config: Config
    devices: int  # of each process
    processes: int
    process_id: int
    coordinator: str | None
    cores: list[int]  # those that it may use; empty for all
    repeats: int


def measure_scaling(arguments: Arguments) -> dict[str, Any]:
    harness.check_positive(arguments, "counts", "repeats")
    harness.check_among("over", arguments.over, OVER)
    if arguments.counts[:1] != (1,):
        raise ValueError(f"counts must begin with 1, not be {arguments.counts}")
    if arguments.virtual_devices and not hasattr(os, "sched_getaffinity"):
        raise ValueError("--virtual-devices works only on Linux, where a process can be kept to some cores")
    for scaling in SCALINGS:
        for count in arguments.counts:
            sharding.check_divisible(PPO(config_of(arguments, scaling, count)).batch_sizes, count)
    cores = sorted(os.sched_getaffinity(0)) if arguments.virtual_devices else []
    rows_of_one = 1 + (len(cores) > 1)
    progress = harness.Progress(rows_of_one + len(SCALINGS) * len(arguments.over) * (len(arguments.counts) - 1))
    rows: list[dict[str, Any]] = []

    def add_row(scaling: str, over: str, count: int, cores: list[int]) -> dict[str, Any]:
        """Measures one row; returns the stamp of the machine."""
        row, machine = measure_row(arguments, scaling, over, count, cores, rows[0] if rows else None)
        rows.append(row)
        progress.finish(", ".join(harness.format_row(SPEED_TABLE, row)))
        return machine

    machine = add_row("one", "devices", 1, cores[:1])
    if len(cores) > 1:
        add_row("all cores", "devices", 1, cores)
    available = max(arguments.counts) if arguments.virtual_devices else len(machine["devices"])
    counts = [count for count in arguments.counts[1:] if count <= available]
    if len(counts) < len(arguments.counts) - 1:
        harness.log(f"JAX sees {available} of the {max(arguments.counts)} devices: rows with more are left out")
        progress.total = rows_of_one + len(SCALINGS) * len(arguments.over) * len(counts)
    for scaling in SCALINGS:
        for over in arguments.over:
            for count in counts:
                add_row(scaling, over, count, cores[:count])
    harness.log(f"{arguments.env}, rollouts of {arguments.rollout_length} steps")
    harness.log(harness.table(SPEED_TABLE, rows))
    return {"env": arguments.env, "rollout_length": arguments.rollout_length, "rows": rows, **machine}


def measure_row(
    arguments: Arguments, scaling: str, over: str, count: int, cores: list[int], one: dict[str, Any] | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A row of the table, and the stamp of its machine; `one` is the row of one device, None while that is measured."""
    config = config_of(arguments, scaling, count)
    num_processes = count if over == "processes" else 1
    task = Task(
        config=config,
        devices=count // num_processes,
        processes=num_processes,
        process_id=0,
        coordinator=f"127.0.0.1:{free_port()}" if num_processes > 1 else None,
        cores=cores,
        repeats=arguments.repeats,
    )
    timing = run_workers(task, arguments.virtual_devices)
    machine: dict[str, Any] = timing.pop("stamp")
    efficiency = timing["steps_per_second"] / (count * one["steps_per_second"]) if one else 1.0
    row = {"scaling": scaling, "over": over, "count": count, "boards": config.num_envs}
    return row | {"cores": len(cores) or machine["cores"]} | timing | {"efficiency": efficiency}, machine


def config_of(arguments: Arguments, scaling: str, count: int) -> Config:
    boards = arguments.boards * (count if scaling == "weak" else 1)
    return config_for(arguments.env, num_envs=boards, rollout_length=arguments.rollout_length)


def run_workers(task: Task, virtual: bool) -> dict[str, Any]:
    """Starts the processes of a task; returns the result that process 0 printed."""
    running: list[subprocess.Popen[str]] = []
    for number in range(task.processes):
        cores = [task.cores[number % len(task.cores)]] if task.processes > 1 and task.cores else task.cores
        part = dataclasses.replace(task, process_id=number, cores=cores)
        environment = os.environ | {TASK_VARIABLE: json.dumps(dataclasses.asdict(part))}
        if virtual:
            flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={task.devices}"
            environment |= {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags.strip()}
        elif task.processes > 1:
            environment["JAX_LOCAL_DEVICE_IDS"] = str(number)  # one GPU per process
        command = [sys.executable, "-m", "benchmarks.devices"]
        running.append(
            subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        )
    with ThreadPoolExecutor(len(running)) as readers:  # all at once: a worker whose pipe is full would block the others
        ends = list(readers.map(subprocess.Popen[str].communicate, running))
    failed = [
        f"process {number}: {(err.strip().splitlines() or [f'exit status {worker.returncode}'])[-1]}"
        for number, (worker, (_, err)) in enumerate(zip(running, ends, strict=True))
        if worker.returncode
    ]
    if failed:
        raise ValueError(f"{task.processes} processes of {task.devices} devices: {'; '.join(failed)}")
    return json.loads(ends[0][0].splitlines()[-1])


def work(stored: dict[str, Any]) -> None:
    config = Config(**stored.pop("config"))
    try:
        run_worker(Task(config, **stored))
    except (Exception, KeyboardInterrupt) as error:
        processes.abandon(error, f"benchmarks.devices: {error}")
        raise


def run_worker(task: Task) -> None:
    """Measures the speed, and prints it as JSON if it is process 0."""
    if task.cores:
        os.sched_setaffinity(0, task.cores)
    if task.coordinator is not None:
        processes.join(task.coordinator, task.processes, task.process_id, timeout=300)
    learner = PPO(task.config)
    mesh = sharding.mesh_for(task.devices, learner.batch_sizes)
    train_state = sharding.shard(jax.jit(learner.init)(jax.random.key(0)), mesh, learner.partition_specs)
    with jax.set_mesh(mesh):
        timing = harness.time_iterations(learner, train_state, task.config.steps_per_iteration, task.repeats)
    is_leader, machine = processes.is_leader(), stamp()
    processes.leave()
    if is_leader:
        print(json.dumps(timing._asdict() | {"stamp": machine}))


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


COMMANDS = (Command("devices", Arguments, measure_scaling),)

if __name__ == "__main__":
    if TASK_VARIABLE in os.environ:
        work(json.loads(os.environ[TASK_VARIABLE]))
    else:
        harness.run(*COMMANDS)
