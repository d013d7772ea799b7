"""The training loop on the host: iterations, evaluations, checkpoints, progress, and how it stops."""

import contextlib
import dataclasses
import functools
import shlex
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from jaxgames import Env, ParameterError, arena
from jaxgames._named import import_options
from jaxgames._progress import Progress
from jaxgames.agents import Agent, RandomAgent, make_on_device
from train.bounds import Count, NotNegative, check_values
from train.driver import compilation, loggers, processes
from train.driver.checkpoints import is_multiple
from train.driver.learner import Learner, TrainState, command_of, data_of, text_of
from train.driver.messages import (
    GAMES,
    NEXT_OPPONENT,
    NEXT_RATES,
    OPPONENT,
    format_row,
    log,
    log_evaluations,
    log_start,
    mean_over_runs,
    show,
)
from train.driver.metrics import rounded, to_floats
from train.driver.run_folder import Recorder
from train.ops import sharding

EVALUATION_SEED = 2**31 - 1  # seed of evaluation games; no run uses it
BEATEN = 0.95  # win rate against the random agent from which evaluations also have the next opponent
IN_RESULT = ("win_rate", "draw_rate", "mean_turns", *NEXT_RATES)
Evaluate = Callable[[Any, "Settings", Agent, Any, int], Mapping[str, Any]]
"""(learner, settings, opponent, train state, iteration) -> the metrics of an evaluation."""
OF_PROCESSES = ("processes", "process_id", "coordinator", "distributed", "join_timeout")


@dataclass(frozen=True)
class Settings:
    """Settings of storage, evaluation and devices. They do not change what is learned."""

    run_dir: Path | None = None
    """The run folder; `runs/<time>` if not given."""
    resume: bool = False
    """Continue the run in the folder; if there is none, start a new one. Of the settings of learning, only
    --total-steps may change, to a larger number. An annealed learning rate then follows the longer run. Settings of
    storage, evaluation and devices are not kept: give them again."""
    checkpoint_every: Count[int] = 10
    """Iterations between checkpoints. The last two checkpoints are kept."""
    keep_every: NotNegative[int] = 0
    """Checkpoints at multiples of this number of iterations stay, also the one before the first iteration; 0: none."""
    evaluate_every: NotNegative[int] = 5
    """Iterations between evaluations; at the start also after iterations 1, 2, 4, ...; 0 for no evaluations."""
    evaluation_games: Count[int] = 100
    """Games per evaluation: the policy plays one seat against the evaluation opponent."""
    evaluation_seat: int | None = None
    """The policy's seat in evaluations. If not given, it is drawn for each game."""
    logger: tuple[loggers.Name | Literal["none"], ...] = ("tensorboard",)
    """Where the metrics go beside metrics.jsonl: tensorboard, wandb (Weights & Biases), both, or none of them."""
    evaluation_opponent: str = "random"
    """The agent on all other seats in evaluations, such as greedy or runs/first@40. Agents on the host are refused.
    A run plays with the checkpoint that it has when this command starts. An evaluation in which at least 95 % of the
    games against random are won is followed by games against greedy."""
    devices: NotNegative[int] = 1
    """Devices per process, 0 for all. The boards are divided over them; each has a copy of the parameters."""
    processes: Count[int] = 1
    """Processes of the run. Start each with the same command except for --process-id. All use process 0's options."""
    process_id: int = 0
    """The number of this process, from 0."""
    coordinator: str | None = None
    """HOST:PORT where the processes connect: the host of process 0, and any free port on it."""
    distributed: bool = False
    """Lets JAX find the processes that Slurm, Open MPI, a TPU pod or Kubernetes started, instead of --coordinator."""
    join_timeout: Count[int] = 300
    """Seconds that processes wait for each other at the start."""

    def __post_init__(self) -> None:
        check_values(vars(self), Settings)
        if len(self.logger) > 1 and "none" in self.logger:
            raise ValueError(f"logger must be none or names of loggers, not {' '.join(self.logger)}")
        if self.logger == ("none",):
            object.__setattr__(self, "logger", ())
        processes.check_rendezvous(self.coordinator, self.processes, self.process_id, self.distributed)

    def evaluates(self, iteration: int) -> bool:
        """Returns whether an evaluation follows `iteration`."""
        every = self.evaluate_every
        doubling = iteration < every and iteration.bit_count() == 1
        return every > 0 and (doubling or iteration % every == 0)


def run_training(
    learner: Learner, recorder: Recorder, settings: Settings, evaluate: Evaluate | None = None
) -> dict[str, Any]:
    """Trains to the end of the run, or until Ctrl-C or SIGTERM. Returns the result, which a finished run stores.

    The recorder is closed at the end, also by an error. If it has several runs, metrics are arrays over the runs, and
    seconds are a run's share of the time.

    Args:
      evaluate: returns the metrics of an evaluation; None for `evaluation`.

    Raises ValueError when parameters are no longer finite numbers.
    """
    with contextlib.closing(recorder):
        return _run_training(learner, recorder, settings, evaluate or evaluation)


def _run_training(learner: Learner, recorder: Recorder, settings: Settings, evaluate: Evaluate) -> dict[str, Any]:
    config = learner.config
    mesh = sharding.mesh_for(settings.devices, learner.batch_sizes)
    resume = command_to_resume(learner, recorder.folder, settings)
    log_start(learner, recorder.folder, mesh.size)
    if jax.process_count() > 1:  # every process prints it, because any of them may be lost
        print(f"if a process is lost, continue with: {resume}", file=sys.stderr, flush=True)

    train_state = restore_or_init(learner, recorder, mesh)
    first = int(train_state.iteration)
    stored = processes.broadcast_from_leader(recorder.result())
    if first >= config.num_iterations and stored is not None:
        log("the run is finished already; a larger --total-steps continues it")
        return stored
    last_kept = recorder.truncate_metrics(first)
    if is_multiple(first, settings.keep_every):
        recorder.save(sharding.replicate(train_state, mesh), settings.keep_every)
    if settings.evaluate_every:
        log_evaluations(learner, settings.evaluation_opponent, settings.evaluation_games, settings.evaluation_seat)
    log("compiling (usually 10 to 60 s when the program is new) ...")
    start = time.monotonic()
    iterate = compile_iteration(learner, train_state, mesh)
    log(f"compiled in {time.monotonic() - start:.1f} s")
    if first:
        log(f"resumed after iteration {first}")

    try:
        row = last_kept or {}
        train_state, row = iterate_until_stopped(learner, recorder, settings, evaluate, mesh, iterate, train_state, row)
        result = result_of(learner, recorder, int(train_state.iteration), row)
        if result["finished"]:
            recorder.finish(result)
    except OSError as error:
        raise OSError(f"{error}; when that is mended, continue with: {resume}") from error
    if not result["finished"]:
        log(f"stopped; continue with: {resume}")
    return result


def command_to_resume(learner: Learner, folder: Path, settings: Settings) -> str:
    """Returns the command that continues a run, with the settings that are not kept in its folder.

    Each process of several adds its own options of processes.
    """
    words = ["python", "-m", command_of(type(learner)), "--run-dir", str(folder), "--resume", *import_options()]
    for each in dataclasses.fields(Settings):
        value = getattr(settings, each.name)
        if each.name not in ("run_dir", "resume", *OF_PROCESSES) and value != each.default:
            entries = (value or ("none",)) if isinstance(value, tuple) else (value,)
            words += [f"--{each.name.replace('_', '-')}", *map(str, entries)]
    return shlex.join(words)


def iterate_until_stopped(
    learner: Learner,
    recorder: Recorder,
    settings: Settings,
    evaluate: Evaluate,
    mesh: Mesh,
    iterate: Callable[[Any], Any],
    train_state: Any,
    row: dict[str, Any],
) -> tuple[Any, dict[str, Any]]:
    """The train state and the row of metrics after the last iteration of the run, or the one that a signal stopped.

    `row` is the row of the last iteration before this start, empty for a new run.

    Raises ValueError when parameters are no longer finite numbers.
    """
    config, first, seconds_before = learner.config, int(train_state.iteration), row.get("seconds", 0.0)
    num_runs, steps = len(recorder.folders), config.steps_per_iteration
    progress = Progress(config.num_iterations * steps * num_runs, "steps", shown=processes.is_leader())
    progress.skip(first * steps * num_runs)
    opponent = evaluation_opponent(learner, settings) if processes.is_leader() else RandomAgent(learner.env)
    spent = 0.0  # seconds in iterations, without evaluations; a run's share of them
    with stop_signal() as stop, progress as bar:
        for iteration in range(first + 1, config.num_iterations + 1):
            iteration_start = time.monotonic()
            train_state, metrics = iterate(train_state)
            row = {"iteration": iteration, "steps": iteration * steps, **to_floats(metrics)}
            spent += (time.monotonic() - iteration_start) / num_runs
            row["seconds"] = seconds_before + spent
            row["steps_per_second"] = (iteration - first) * steps / spent
            last = iteration == config.num_iterations
            if diverged := diverged_runs(recorder.folders, train_state):
                recorder.log(row)
                raise ValueError(
                    f"the parameters of {', '.join(map(str, diverged))} are no longer finite numbers after iteration "
                    f"{iteration}. Checkpoints of earlier iterations are kept; start a new run with other settings, "
                    "such as a smaller --learning-rate"
                )
            evaluates = settings.evaluates(iteration) or (last and settings.evaluate_every > 0)
            if processes.is_leader() and evaluates:
                row |= evaluate(learner, settings, opponent, train_state, iteration)
                row |= {GAMES: settings.evaluation_games, OPPONENT: settings.evaluation_opponent}
            if processes.is_leader() and (evaluates or (learner.shown_metrics and not settings.evaluate_every)):
                show(bar, format_row(row, config, num_runs, learner.shown_metrics), row)
            recorder.log(row)
            stopping = processes.any_process(stop.is_set())  # asked once: every process then stops here
            due = iteration % settings.checkpoint_every == 0 or is_multiple(iteration, settings.keep_every)
            if last or stopping or due:
                recorder.save(sharding.replicate(train_state, mesh), settings.keep_every)
            bar.update(steps * num_runs)
            if stopping:
                break
    return train_state, row


def restore_or_init(learner: Learner, recorder: Recorder, mesh: Mesh) -> Any:
    """Returns the train state of the last checkpoint, or of a new run, divided over the mesh."""
    train_state = recorder.restore()
    if train_state is None:
        train_state = jax.jit(learner.init)(jax.random.key(learner.config.seed))
        if processes.is_leader():  # the others receive its train state, and need no access to files
            train_state = learner.load(train_state)
    return sharding.shard(train_state, mesh, learner.partition_specs)


def compile_iteration(learner: Learner, train_state: Any, mesh: Mesh) -> Callable[[Any], Any]:
    """Returns `learner.iterate`, compiled for train states on the mesh. It reuses the memory of its argument."""
    data = sharding.shard(data_of(learner), mesh, sharding.REPLICATED)
    with jax.set_mesh(mesh):
        program = compilation.iteration_on(learner, mesh).lower(train_state, *data).compile()
    return lambda train_state: program(train_state, *data)


@functools.partial(jax.jit, static_argnums=1)
def _are_finite(params: Any, has_axis_of_runs: bool) -> jax.Array:
    """Returns bool[runs] or bool[], whether all numbers of the parameters are finite."""
    leaves = [leaf for leaf in jax.tree.leaves(params) if jnp.issubdtype(leaf.dtype, jnp.inexact)]
    of_leaves = [jnp.isfinite(leaf).all(axis=range(int(has_axis_of_runs), leaf.ndim)) for leaf in leaves]
    return functools.reduce(jnp.logical_and, of_leaves, jnp.bool_(True))


def diverged_runs(folders: Sequence[Path], train_state: TrainState) -> list[Path]:
    """Returns the folders of the runs whose parameters have NaN or infinity."""
    finite = np.atleast_1d(_are_finite(train_state.params, len(folders) > 1))
    return [folder for folder, is_finite in zip(folders, finite, strict=False) if not is_finite]  # or padding


def result_of(learner: Learner, recorder: Recorder, iteration: int, row: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the result that a run prints at its end; `row` is its last row of metrics."""
    config, row = learner.config, {name: value for name, value in row.items() if value is not None}
    return {
        "run_dir": str(recorder.folder),
        "learner": text_of(type(learner)),
        **learner.headline,
        "steps": iteration * config.steps_per_iteration,
        "finished": iteration >= config.num_iterations,
        "seconds": round(row["seconds"], 1) if row else 0.0,
        "steps_per_second": round(row["steps_per_second"]) if row else None,
        **rounded({name: mean_over_runs(row[name]) for name in IN_RESULT if name in row}),
        **{name: row[name] for name in (GAMES, OPPONENT) if name in row},
    }


def evaluation_key(iteration: int) -> jax.Array:
    """Returns the key of the games of an evaluation."""
    return jax.random.fold_in(jax.random.key(EVALUATION_SEED), iteration)


def evaluation_opponent(learner: Learner, settings: Settings) -> Agent:
    """Returns the agent that evaluations play against; with no evaluations, the random one.

    Raises FileNotFoundError or ValueError if there is no such agent, ValueError if it plays on the host or the game
    has no seat `evaluation_seat`.
    """
    if not settings.evaluate_every:
        return RandomAgent(learner.env)
    seat, num_players = settings.evaluation_seat, learner.env.num_players
    if seat is not None and not 0 <= seat < num_players:
        raise ValueError(f"evaluation_seat must be from 0 to {num_players - 1}, not {seat}")
    text = settings.evaluation_opponent
    refusal = (
        f"evaluation_opponent = {text} plays on the host, and an evaluation is one compiled program: choose another "
        "agent, or play it with train.evaluate after training"
    )
    return make_on_device(text, lambda: learner.make_agent(text), refusal)


def evaluation(
    learner: Learner, settings: Settings, opponent: Agent, train_state: TrainState, iteration: int
) -> dict[str, float]:
    """Returns the results of games against an opponent. Their key depends only on the iteration.

    Where the random agent is beaten, NEXT_RATES are results against the next opponent.
    """
    agent = learner.agent(sharding.local_copy(train_state.params))
    games, seat, key = settings.evaluation_games, settings.evaluation_seat, evaluation_key(iteration)
    results = to_floats(_evaluate(learner.env, games, seat, agent, opponent, key))
    if settings.evaluation_opponent == "random" and results["win_rate"] >= BEATEN:
        try:
            following = learner.make_agent(NEXT_OPPONENT)
        except ParameterError:  # a game without scores
            return results
        against_it = to_floats(_evaluate(learner.env, games, seat, agent, following, key))
        results |= {column: against_it[name] for column, name in NEXT_RATES.items()}
    return results


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def _evaluate(
    env: Env[Any], num_games: int, seat: int | None, agent: Agent, opponent: Agent, key: jax.Array
) -> dict[str, jax.Array]:
    return arena.evaluate(env, agent, opponent, key, num_games, seat=seat)


@contextmanager
def stop_signal() -> Generator[threading.Event]:
    """Yields an event that the first Ctrl-C or SIGTERM sets, to end a run after an iteration. A second one kills.

    In a run of many processes, a first signal that comes after the run does not kill either: a process that already
    waits for the others must not end before them. Python gives signals to the main thread only.
    """
    stop = threading.Event()

    def ask(signum: int, frame: object) -> None:
        stop.set()
        print("stopping after this iteration ...", file=sys.stderr, flush=True)  # in every process that gets a signal
        for number, handler in before.items():
            signal.signal(number, handler)

    in_main_thread = threading.current_thread() is threading.main_thread()
    numbers = (signal.SIGINT, signal.SIGTERM) if in_main_thread else ()
    before = {number: signal.signal(number, ask) for number in numbers}
    try:
        yield stop
    finally:
        if jax.process_count() == 1:
            for number, handler in before.items():
                signal.signal(number, handler)
