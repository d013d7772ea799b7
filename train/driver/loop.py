"""The training loop on the host: iterations, evaluations, checkpoints, progress, and how it stops."""

import functools
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
from jax.sharding import Mesh
from tqdm import tqdm

from jaxgames import Env, arena
from jaxgames.agents import Agent, RandomAgent
from train.driver import processes
from train.driver.learner import Config, Learner, TrainState
from train.driver.metrics import rounded, to_floats
from train.driver.run_folder import Recorder, is_multiple
from train.ops import sharding

EVALUATION_SEED = 2**31 - 1  # seed of evaluation games; no run uses it


@dataclass(frozen=True)
class Settings:
    """Settings of storage, evaluation and devices. They do not change what is learned."""

    run_dir: Path | None = None
    """The run folder; runs/<time> if not given."""
    resume: bool = False
    """Continue the run in the folder; if there is none, start a new one. Of the settings of learning, only
    --total-steps may change, to a larger number. An annealed learning rate then follows the longer run."""
    checkpoint_every: int = 10
    """Iterations between checkpoints. The last two checkpoints are kept."""
    keep_every: int = 0
    """Every checkpoint at a multiple of this number of iterations stays, also the one before the first iteration; 0 for
    none."""
    evaluate_every: int = 5
    """Iterations between evaluations; at the start also after iterations 1, 2, 4, ...; 0 for no evaluations."""
    evaluation_games: int = 100
    """Games per evaluation: the policy plays one seat, drawn for each game, against uniformly random opponents."""
    devices: int = 1
    """Devices per process, 0 for all. The boards are divided over them; each has a copy of the parameters."""
    processes: int = 1
    """Processes of the run. Start each with the same command except for --process-id. All use process 0's options."""
    process_id: int = 0
    """The number of this process, from 0."""
    coordinator: str | None = None
    """HOST:PORT where the processes connect: the host of process 0, and any free port on it."""
    join_timeout: int = 300
    """Seconds that processes wait for each other at the start."""

    def __post_init__(self) -> None:
        for name, least in (
            ("checkpoint_every", 1),
            ("keep_every", 0),
            ("evaluate_every", 0),
            ("evaluation_games", 1),
            ("devices", 0),
            ("processes", 1),
            ("join_timeout", 1),
        ):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, not {getattr(self, name)}")
        processes.check_rendezvous(self.coordinator, self.processes, self.process_id)

    def evaluates(self, iteration: int) -> bool:
        """Returns whether an evaluation follows `iteration`."""
        every = self.evaluate_every
        doubling = iteration < every and iteration.bit_count() == 1
        return every > 0 and (doubling or iteration % every == 0)


def run_training(learner: Learner, recorder: Recorder, settings: Settings) -> dict[str, Any]:
    """Trains to the end of the run, or until Ctrl-C or SIGTERM. Returns the result, which a finished run stores."""
    config = learner.config
    mesh = sharding.mesh_for(settings.devices, learner.divisible)
    resume = f"python -m train.{learner.name} --run-dir {recorder.folder} --resume"
    named = ", ".join(str(value) for name, value in learner.summary.items() if name != "seed")
    log(f"{named}: {config.num_iterations} iterations of {config.steps_per_iteration:,} steps")
    log(f"run folder {recorder.folder}; devices: {mesh.size}, processes: {settings.processes}; compiling ...")
    if settings.processes > 1:  # every process prints it, because any of them may be lost
        print(f"if a process is lost, continue with: {resume}", file=sys.stderr, flush=True)

    compile_start = time.monotonic()
    train_state = restore_or_init(learner, recorder, mesh)
    first = int(train_state.iteration)
    stored = processes.broadcast_from_leader(recorder.result())
    if first >= config.num_iterations and stored is not None:
        log("the run is finished already; a larger --total-steps continues it")
        recorder.close()
        return stored
    recorder.truncate_metrics(first)
    if is_multiple(first, settings.keep_every):
        recorder.save(sharding.replicate(train_state, mesh), settings.keep_every)
    iterate = compile_iteration(learner, train_state, mesh)
    resumed = f", resumed after iteration {first}" if first else ""
    log(f"compiled in {time.monotonic() - compile_start:.1f} s{resumed}")

    start = time.monotonic()
    train_state, row = iterate_until_stopped(learner, recorder, settings, mesh, iterate, train_state)
    result = result_of(learner, recorder, int(train_state.iteration), time.monotonic() - start, row)
    if result["finished"]:
        recorder.finish(result)
    else:
        log(f"stopped; continue with: {resume}")
    recorder.close()
    return result


def iterate_until_stopped(
    learner: Learner,
    recorder: Recorder,
    settings: Settings,
    mesh: Mesh,
    iterate: Callable[[Any], Any],
    train_state: Any,
) -> tuple[Any, dict[str, float]]:
    """The train state and the row of metrics after the last iteration of the run, or the one that a signal stopped.

    The row is empty where no iteration was left.
    """
    config, first = learner.config, int(train_state.iteration)
    row: dict[str, float] = {}
    spent = 0.0  # seconds in iterations, without evaluations
    with stop_signal() as stop, progress_bar(config, first) as bar:
        for iteration in range(first + 1, config.num_iterations + 1):
            iteration_start = time.monotonic()
            train_state, metrics = iterate(train_state)
            row = {"iteration": iteration, "steps": iteration * config.steps_per_iteration, **to_floats(metrics)}
            spent += time.monotonic() - iteration_start
            row["steps_per_second"] = (iteration - first) * config.steps_per_iteration / spent
            last = iteration == config.num_iterations
            if processes.is_leader() and (settings.evaluates(iteration) or (last and settings.evaluate_every)):
                row |= evaluation(learner, settings, train_state, iteration)
                bar.set_postfix(win_rate=f"{row['win_rate']:.3f}", turns=f"{row['mean_turns']:.1f}")
                bar.write(describe(row, config), file=sys.stderr)
            recorder.log(row)
            stopping = processes.any_process(stop.is_set())  # asked once: every process then stops here
            due = iteration % settings.checkpoint_every == 0 or is_multiple(iteration, settings.keep_every)
            if last or stopping or due:
                recorder.save(sharding.replicate(train_state, mesh), settings.keep_every)
            bar.update(config.steps_per_iteration)
            if stopping:
                break
    return train_state, row


def restore_or_init(learner: Learner, recorder: Recorder, mesh: Mesh) -> Any:
    """Returns the train state of the last checkpoint, or of a new run, divided over the mesh."""
    train_state = recorder.restore()
    if train_state is None:
        train_state = learner.load(jax.jit(learner.init)(jax.random.key(learner.config.seed)))
    return sharding.shard(train_state, mesh, learner.partition_specs)


def compile_iteration(learner: Learner, train_state: Any, mesh: Mesh) -> Callable[[Any], Any]:
    """Returns `learner.iterate`, compiled for train states on the mesh. It reuses the memory of its argument."""
    out = sharding.shardings(mesh, (learner.partition_specs, sharding.REPLICATED))
    with jax.set_mesh(mesh):
        return jax.jit(learner.iterate, donate_argnums=0, out_shardings=out).lower(train_state).compile()


def result_of(
    learner: Learner, recorder: Recorder, iteration: int, seconds: float, row: dict[str, float]
) -> dict[str, Any]:
    """Returns the result that a run prints at its end; `row` is its last row of metrics."""
    config = learner.config
    return {
        "run_dir": str(recorder.folder),
        "learner": learner.name,
        **learner.summary,
        "steps": iteration * config.steps_per_iteration,
        "finished": iteration >= config.num_iterations,
        "seconds": round(seconds, 1),
        "steps_per_second": round(row["steps_per_second"]) if row else None,
        **rounded({name: row[name] for name in ("win_rate", "mean_turns") if name in row}),
    }


def evaluation(learner: Learner, settings: Settings, train_state: TrainState, iteration: int) -> dict[str, float]:
    """Returns the results of games against random opponents. Their key depends only on the iteration."""
    key = jax.random.fold_in(jax.random.key(EVALUATION_SEED), iteration)
    agent = learner.agent(sharding.local_copy(train_state.params))
    return to_floats(_evaluate(learner.env, settings.evaluation_games, agent, key))


@functools.partial(jax.jit, static_argnums=(0, 1))
def _evaluate(env: Env[Any], num_games: int, agent: Agent, key: jax.Array) -> dict[str, jax.Array]:
    """`arena.evaluate` against random opponents, compiled once per game."""
    return arena.evaluate(env, agent, RandomAgent(env), key, num_games)


def describe(row: dict[str, float], config: Config) -> str:
    """Returns an evaluation as one line of text."""
    left = (config.num_iterations * config.steps_per_iteration - row["steps"]) / row["steps_per_second"]
    return (
        f"{row['steps']:>12,.0f} steps   win rate {row['win_rate']:.3f}   turns to win {row['mean_turns']:5.1f}   "
        f"{row['steps_per_second']:,.0f} steps/s   {left:.0f} s left"
    )


def progress_bar(config: Config, done: int) -> "tqdm[Any]":
    """Returns a bar with steps, speed and time left. It is shown only on a terminal."""
    per = config.steps_per_iteration
    return tqdm(
        total=config.num_iterations * per,
        initial=done * per,
        unit=" steps",
        unit_scale=True,
        disable=None if processes.is_leader() else True,
        smoothing=0.1,
    )


def log(text: str) -> None:
    """Prints a line on standard error, in process 0 only; standard output is kept for the result."""
    if processes.is_leader():
        print(text, file=sys.stderr, flush=True)


@contextmanager
def stop_signal() -> Generator[threading.Event]:
    """Yields an event that the first Ctrl-C or SIGTERM sets, to end a run after an iteration. A second one kills."""
    stop = threading.Event()

    def ask(signum: int, frame: object) -> None:
        stop.set()
        print("stopping after this iteration ...", file=sys.stderr, flush=True)  # in every process that gets a signal
        for number, handler in before.items():
            signal.signal(number, handler)

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
