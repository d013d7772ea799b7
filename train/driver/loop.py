"""The training loop on the host: iterations, evaluations, checkpoints, progress, and how it stops."""

import contextlib
import dataclasses
import functools
import shlex
import signal
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from jaxgames import ParameterError
from jaxgames._named import import_options
from jaxgames._progress import Progress
from jaxgames.agents import Agent, RandomAgent, make_on_device
from train.bounds import Count, NotNegative, check_values
from train.driver import compilation
from train.driver.learner import Learner, command_of, log, text_of
from train.driver.metrics import (
    GAMES,
    NEXT_OPPONENT,
    NEXT_RATES,
    OPPONENT,
    format_row,
    log_evaluations,
    log_start,
    rounded,
    to_floats,
)
from train.driver.run_folder import RunFolder, is_multiple
from train.ops import sharding

EVALUATION_SEED = 2**31 - 1  # seed of evaluation games; no run uses it
BEATEN = 0.95  # win rate against the random agent from which evaluations also have the next opponent
IN_RESULT = ("win_rate", "draw_rate", "mean_turns", *NEXT_RATES)


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
    """Games per evaluation: the policy plays a seat that is drawn for each game against the evaluation opponent."""
    tensorboard: bool = True
    """Writes the metrics for TensorBoard, too: `events.*` in the run folder."""
    evaluation_opponent: str = "random"
    """The agent on all other seats in evaluations, such as greedy or runs/first@40. Agents on the host are refused.
    A run plays with the checkpoint that it has when this command starts. An evaluation in which at least 95 % of the
    games against random are won is followed by games against greedy."""
    devices: NotNegative[int] = 1
    """Devices, 0 for all. The boards are divided over them; each has a copy of the parameters."""

    def __post_init__(self) -> None:
        check_values(vars(self), Settings)

    def evaluates(self, iteration: int, last: bool) -> bool:
        """Returns whether an evaluation follows `iteration`, which is the last one of the run or not."""
        every = self.evaluate_every
        doubling = iteration < every and iteration.bit_count() == 1
        return every > 0 and (last or doubling or iteration % every == 0)


def run_training(learner: Learner, runs: Sequence[RunFolder], settings: Settings) -> dict[str, Any]:
    """Trains to the end of the run, or until Ctrl-C or SIGTERM. Returns the result, which a finished run stores.

    Args:
      learner: of the run, or `BatchedRuns`, whose metrics are arrays over runs.
      runs: their folders, which are closed at the end, also by an error.
      settings: of a sweep with its folder as `run_dir`.

    Seconds are a run's share of the time. Raises ValueError when parameters are no longer finite numbers.
    """
    config, folder = learner.config, settings.run_dir or runs[0].folder
    with contextlib.ExitStack() as stack:
        for run in runs:
            stack.callback(run.close)
            run.tensorboard = settings.tensorboard
        resume = command_to_resume(learner, folder, settings)
        mesh = sharding.mesh_for(settings.devices, learner.batch_sizes)
        stack.callback(compilation.PROGRAMS.pop, (learner, mesh), None)
        log_start(learner, folder, mesh.size)

        stored = runs[0].result() if all(run.result() for run in runs) else None
        if stored is None:
            compilation.compiled_iteration(learner, mesh)  # refused before there are arrays
        train_state = restore_or_init(learner, runs, mesh)
        first = int(train_state.iteration)
        if first >= config.num_iterations and stored is not None:
            log("the run is finished already; a larger --total-steps continues it")
            return stored
        rows = [run.truncate_metrics(first) for run in runs]
        if is_multiple(first, settings.keep_every):
            save(learner, runs, train_state, settings)
        if settings.evaluate_every:
            log_evaluations(learner, settings.evaluation_opponent, settings.evaluation_games)
        try:
            iteration = iterate_until_stopped(learner, runs, settings, mesh, train_state, rows)
            results = [result_of(run, iteration, row) for run, row in zip(runs, rows, strict=True)]
            for run, result in zip(runs, results, strict=True):
                if result["finished"]:
                    run.finish(result)
        except OSError as error:
            raise OSError(f"{error}; when that is mended, continue with: {resume}") from error
    if not results[0]["finished"]:
        log(f"stopped; continue with: {resume}")
    return results[0]


def command_to_resume(learner: Learner, folder: Path, settings: Settings) -> str:
    """Returns the command that continues a run, with the settings that are not kept in its folder."""
    words = ["python", "-m", command_of(type(learner)), "--run-dir", str(folder), "--resume", *import_options()]
    for each in dataclasses.fields(Settings):
        value = getattr(settings, each.name)
        if each.name not in ("run_dir", "resume") and value != each.default:
            flag = each.name.replace("_", "-")
            words += [f"--no-{flag}"] if value is False else [f"--{flag}", str(value)]
    return shlex.join(words)


def iterate_until_stopped(
    learner: Learner,
    runs: Sequence[RunFolder],
    settings: Settings,
    mesh: Mesh,
    train_state: Any,
    rows: list[dict[str, Any]],
) -> int:
    """Returns the last iteration of the run, or the one that a signal stopped.

    `rows` has each run's row of metrics of the last iteration before this start, {} for a new run. At the end it has
    the last rows. Raises ValueError when parameters are no longer finite numbers.
    """
    config, first = learner.config, int(train_state.iteration)
    iterate = compilation.compiled_iteration(learner, mesh)
    data = sharding.shard(learner.load_data(), mesh, sharding.REPLICATED)
    if first:
        log(f"resumed after iteration {first}")
    num_runs, steps = len(runs), config.steps_per_iteration
    progress = Progress(config.num_iterations * steps * num_runs, "steps")
    progress.skip(first * steps * num_runs)
    opponent = evaluation_opponent(learner, settings)
    seconds_before = rows[0].get("seconds", 0.0)
    spent = 0.0  # seconds in iterations, without evaluations; a run's share of them
    iteration = first
    with stop_signal() as stop, progress as bar:
        for iteration in range(first + 1, config.num_iterations + 1):
            start = time.monotonic()
            train_state, metrics = iterate(train_state, *data)
            row: dict[str, Any] = {"iteration": iteration, "steps": iteration * steps, **to_floats(metrics)}
            spent += (time.monotonic() - start) / num_runs
            row["seconds"] = seconds_before + spent
            row["steps_per_second"] = (iteration - first) * steps / spent
            last = iteration == config.num_iterations
            finite = np.atleast_1d(_are_finite(train_state.params, num_runs > 1))  # of the runs and of padding
            diverged = [str(run.folder) for run, is_finite in zip(runs, finite, strict=False) if not is_finite]
            evaluates = settings.evaluates(iteration, last)
            if evaluates and not diverged:
                row |= evaluation(learner, settings, opponent, train_state, iteration)
                row |= {GAMES: settings.evaluation_games, OPPONENT: settings.evaluation_opponent}
            for index, run in enumerate(runs):
                of_run = {name: value[index].item() if np.ndim(value) else value for name, value in row.items()}
                rows[index] = of_run
                run.log(of_run)
            if diverged:
                raise ValueError(
                    f"the parameters of {', '.join(diverged)} are no longer finite numbers after iteration "
                    f"{iteration}. Checkpoints of earlier iterations are kept; start a new run with other settings, "
                    "such as a smaller --learning-rate"
                )
            if evaluates or (learner.shown_metrics and not settings.evaluate_every):
                bar.write(format_row(row, config, num_runs, learner.shown_metrics))
            stopping = stop.is_set()  # asked once: where it stops, it has written a checkpoint
            due = iteration % settings.checkpoint_every == 0 or is_multiple(iteration, settings.keep_every)
            if last or stopping or due:
                save(learner, runs, train_state, settings)
            bar.update(steps * num_runs)
            if stopping:
                break
    return iteration


def save(learner: Learner, runs: Sequence[RunFolder], train_state: Any, settings: Settings) -> None:
    """Writes a checkpoint of every run."""
    for run, state in zip(runs, learner.split(train_state), strict=True):
        run.save(state, settings.keep_every)


def restore_or_init(learner: Learner, runs: Sequence[RunFolder], mesh: Mesh) -> Any:
    """Returns the train state of the last checkpoint, or of a new run, divided over the mesh.

    After a kill, the last checkpoints of several runs can be of different iterations: they continue from the newest one
    that every run has, and later ones are removed.
    """
    common = set[int].intersection(*(set(run.checkpoints()) for run in runs))
    for run in runs:
        run.drop_after(max(common, default=-1))
    if common:
        train_state = learner.join([run.restore() for run in runs])
    else:
        train_state = learner.load(jax.jit(learner.init)(jax.random.key(learner.config.seed)))
    return sharding.shard(train_state, mesh, learner.partition_specs)


@functools.partial(jax.jit, static_argnums=1)
def _are_finite(params: Any, has_axis_of_runs: bool) -> jax.Array:
    """Returns bool[runs] or bool[], whether all numbers of the parameters are finite."""
    leaves = [leaf for leaf in jax.tree.leaves(params) if jnp.issubdtype(leaf.dtype, jnp.inexact)]
    of_leaves = [jnp.isfinite(leaf).all(axis=range(int(has_axis_of_runs), leaf.ndim)) for leaf in leaves]
    return functools.reduce(jnp.logical_and, of_leaves, jnp.bool_(True))


def result_of(run: RunFolder, iteration: int, row: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the result that a run prints at its end; `row` is its last row of metrics."""
    config, row = run.config, {name: value for name, value in row.items() if value is not None}
    return {
        "run_dir": str(run.folder),
        "learner": text_of(type(run.learner)),
        **run.learner.headline,
        "steps": iteration * config.steps_per_iteration,
        "finished": iteration >= config.num_iterations,
        "seconds": round(row["seconds"], 1) if row else 0.0,
        "steps_per_second": round(row["steps_per_second"]) if row else None,
        **rounded({name: row[name] for name in IN_RESULT if name in row}),
        **{name: row[name] for name in (GAMES, OPPONENT) if name in row},
    }


def evaluation_opponent(learner: Learner, settings: Settings) -> Agent:
    """Returns the agent that evaluations play against; with no evaluations, the random one.

    Raises FileNotFoundError or ValueError if there is no such agent, ValueError if it plays on the host.
    """
    if not settings.evaluate_every:
        return RandomAgent(learner.env)
    text = settings.evaluation_opponent
    refusal = (
        f"evaluation_opponent = {text} plays on the host, and an evaluation is one compiled program: choose another "
        "agent, or play it with train.evaluate after training"
    )
    return make_on_device(text, lambda: learner.make_agent(text), refusal)


def evaluation(
    learner: Learner, settings: Settings, opponent: Agent, train_state: Any, iteration: int
) -> dict[str, Any]:
    """Returns the results of games against an opponent. Their key depends only on the iteration.

    Where the random agent is beaten by a single run, NEXT_RATES are results against the next opponent.
    """
    games, key = settings.evaluation_games, jax.random.fold_in(jax.random.key(EVALUATION_SEED), iteration)
    results = to_floats(learner.results_against(train_state, opponent, key, games))
    rate = results["win_rate"]
    if settings.evaluation_opponent == "random" and isinstance(rate, float) and rate >= BEATEN:
        try:
            following = learner.make_agent(NEXT_OPPONENT)
        except ParameterError:  # a game without scores
            return results
        against_it = to_floats(learner.results_against(train_state, following, key, games))
        results |= {column: against_it[name] for column, name in NEXT_RATES.items()}
    return results


@contextmanager
def stop_signal() -> Generator[threading.Event]:
    """Yields an event that the first Ctrl-C or SIGTERM sets, to end a run after an iteration. A second one kills.

    Python gives signals to the main thread only.
    """
    stop = threading.Event()

    def ask(signum: int, frame: object) -> None:
        stop.set()
        log("stopping after this iteration ...")
        for number, handler in before.items():
            signal.signal(number, handler)

    in_main_thread = threading.current_thread() is threading.main_thread()
    numbers = (signal.SIGINT, signal.SIGTERM) if in_main_thread else ()
    before = {number: signal.signal(number, ask) for number in numbers}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
