"""The host's side of a training run: the command line, progress, evaluations, checkpoints, stopping and going on.

python -m train.ppo --env "chinese_checkers(size=2, num_players=6)" --run-dir runs/first
python -m train.ppo --run-dir runs/first --resume
"""

import argparse
import dataclasses
import functools
import json
import signal
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import jax
import tyro
from tqdm import tqdm

from train import devices, play, processes
from train.ppo import Config, Learner, Runner
from train.recipes import recipe
from train.run import Follower, Run, rounded, scalars

EVALUATION = 2**31 - 1  # the seed of evaluation games: their keys are no run's


@dataclass(frozen=True)
class Settings:
    """How a run is watched and kept; nothing here changes what is learnt."""

    run_dir: Path | None = None
    """The run's folder; runs/<time> if not given."""
    resume: bool = False
    """Go on with the run in the folder, if there is one. Of what shapes learning only --total-steps may be given anew,
    and larger; with --anneal the learning rate then follows the longer run."""
    checkpoint_every: int = 10
    """Iterations from one checkpoint to the next."""
    evaluate_every: int = 5
    """Iterations from one evaluation to the next, after iterations 1, 2, 4, ... at the start; 0 for none."""
    evaluation_games: int = 100
    """Games of one seat, drawn at random, against uniformly random opponents."""
    devices: int = 1
    """Devices of each process that the boards are spread over, 0 for all; each has a copy of the parameters."""
    processes: int = 1
    """Processes that the run is spread over. Each is started with the same command, but for its --process-id, and
    process 0's holds; it alone needs the folder."""
    process_id: int = 0
    """Which of the processes this is."""
    coordinator: str | None = None
    """HOST:PORT where the processes find each other: of process 0, any free port."""
    join_timeout: int = 300
    """Seconds that processes wait for each other at the start."""

    def __post_init__(self) -> None:
        for name, least in (
            ("checkpoint_every", 1),
            ("evaluate_every", 0),
            ("evaluation_games", 1),
            ("devices", 0),
            ("processes", 1),
            ("join_timeout", 1),
        ):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, not {getattr(self, name)}")
        processes.check(self.coordinator, self.processes, self.process_id)

    def evaluates(self, iteration: int) -> bool:
        """Whether an evaluation follows `iteration`."""
        every = self.evaluate_every
        doubling = iteration < every and iteration.bit_count() == 1
        return every > 0 and (doubling or iteration % every == 0)


@dataclass(frozen=True)
class Arguments:
    config: tyro.conf.OmitArgPrefixes[Config] = field(default_factory=Config)
    settings: tyro.conf.OmitArgPrefixes[Settings] = field(default_factory=Settings)


def main() -> None:
    """The command `python -m train.ppo`."""
    try:
        arguments = parse(sys.argv[1:])
        run, settings = open_together(arguments)
        result = train(run, settings)
        leads = processes.leads()
        processes.leave()
    except KeyboardInterrupt as error:  # before the first iteration, or a second time
        processes.abandon(error, 130)
        sys.exit(130)
    except Exception as error:
        processes.abandon(error)
        if isinstance(error, (ValueError, OSError)):
            sys.exit(f"train.ppo: {error}")
        raise
    if leads:
        print(json.dumps(result))
    sys.exit(0 if result["finished"] else 130)


def parse(words: list[str]) -> Arguments:
    """The command line; what is left out has the stored run's settings with --resume, else the game's recipe."""
    parser = functools.partial(
        tyro.cli, Arguments, prog="python -m train.ppo", description="Train a policy by self-play with PPO.", args=words
    )
    # The default of all else depends on these three; what is wrong with them the whole parser says.
    first = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    first.add_argument("--env", nargs="?", default=Config.env, const=Config.env)
    first.add_argument("--run-dir", "--run_dir", nargs="?", type=Path)
    first.add_argument("--resume", action="store_true")
    try:
        known, _ = first.parse_known_args(words)
    except argparse.ArgumentError:
        return parser()
    if known.resume and known.run_dir is None:
        raise ValueError("--resume needs the --run-dir to go on with")
    if known.resume and (known.run_dir / "config.json").exists():
        return parser(default=Arguments(config=Run.open(known.run_dir).config))
    return parser(default=Arguments(config=recipe(known.env)))


def open_together(arguments: Arguments) -> tuple[Run, Settings]:
    """The run as each process has it, and process 0's settings. What is wrong there is raised in every process."""
    settings = arguments.settings
    if settings.coordinator is not None:
        processes.join(
            "train.ppo", settings.coordinator, settings.processes, settings.process_id, settings.join_timeout
        )
    run, note = None, None
    try:
        if processes.leads():
            devices.mesh_for(arguments.config, settings.devices)  # refused before there is a folder
            run = open_run(arguments)
            kept = dataclasses.asdict(settings) | {"run_dir": str(run.folder)}
            note = {"config": dataclasses.asdict(run.config), "settings": kept}
    except (ValueError, OSError) as error:
        note = {"error": str(error)}
    note = processes.told(note)
    if "error" in note:
        processes.leave()
        raise ValueError(note["error"])
    folder = Path(note["settings"]["run_dir"])
    run = run or Follower(folder, Config(**note["config"]))
    return run, Settings(**note["settings"] | {"run_dir": folder, "process_id": settings.process_id})


def open_run(arguments: Arguments) -> Run:
    """The folder to write to: a new one, or with `resume` the one that stands."""
    config, settings = arguments.config, arguments.settings
    folder = settings.run_dir or Path("runs") / f"{datetime.now():%Y-%m-%d_%H-%M-%S}"
    if not (settings.resume and (folder / "config.json").exists()):
        return Run.create(folder, config)
    run = Run.open(folder)
    changed = [f.name for f in dataclasses.fields(Config) if getattr(config, f.name) != getattr(run.config, f.name)]
    if set(changed) - {"total_steps"}:
        raise ValueError(f"{folder} was begun with other settings: {', '.join(changed)}; only total_steps may change")
    if config.total_steps < run.config.total_steps:
        raise ValueError(f"total_steps can only grow: {folder} was begun with {run.config.total_steps}")
    return run.extended(config.total_steps) if changed else run


def train(run: Run, settings: Settings) -> dict[str, Any]:
    """Trains to the end of the run, or until Ctrl-C or SIGTERM, and returns the result that is stored with it."""
    config, learner = run.config, Learner(run.config)
    mesh = devices.mesh_for(config, settings.devices)
    go_on = f"python -m train.ppo --run-dir {run.folder} --resume"
    processes.would_say(f"a process of the run was lost before an iteration; go on with: {go_on}")
    say(f"{config.env}, {config.sharing}: {config.num_iterations} iterations of {config.steps_per_iteration:,} steps")
    say(f"run folder {run.folder}; {mesh.size} devices, {settings.processes} processes; compiling ...")
    begin = time.monotonic()
    runner = run.restore()
    if runner is None:
        runner = jax.jit(learner.init)(jax.random.key(config.seed))
    runner = devices.spread(runner, mesh)
    first = int(runner.iteration)
    processes.would_say(lost_after(first, go_on))
    stored = processes.told(run.result())
    if first >= config.num_iterations and stored is not None:
        say("the run is finished already; a larger --total-steps goes on with it")
        run.close()
        return stored
    run.drop_rows_after(first)
    placed = devices.shardings(mesh, Runner), jax.sharding.NamedSharding(mesh, devices.COPIED)
    with jax.set_mesh(mesh):
        iterate = jax.jit(learner.iterate, donate_argnums=0, out_shardings=placed).lower(runner).compile()
    say(f"compiled in {time.monotonic() - begin:.1f} s" + (f", going on after iteration {first}" if first else ""))

    row: dict[str, float] = {}
    begin, spent = time.monotonic(), 0.0  # `spent` is the time in iterations, without evaluations
    with stop_signal() as stopped, progress_bar(config, first) as bar:
        for iteration in range(first + 1, config.num_iterations + 1):
            started = time.monotonic()
            runner, metrics = iterate(runner)
            row = {"iteration": iteration, "steps": iteration * config.steps_per_iteration, **scalars(metrics)}
            spent += time.monotonic() - started
            row["steps_per_second"] = (iteration - first) * config.steps_per_iteration / spent
            last = iteration == config.num_iterations
            processes.would_say(lost_after(iteration, go_on))
            if processes.leads() and (settings.evaluates(iteration) or (last and settings.evaluate_every)):
                row |= evaluation(learner, settings, runner, iteration)
                bar.set_postfix(win_rate=f"{row['win_rate']:.3f}", turns=f"{row['mean_turns']:.1f}")
                bar.write(describe(row, config), file=sys.stderr)
            run.log(row)
            stopping = processes.any_says(bool(stopped))  # asked once: whoever stops here has saved
            if last or stopping or iteration % settings.checkpoint_every == 0:
                run.save(devices.gathered(runner))
            bar.update(config.steps_per_iteration)
            if stopping:
                break
    iteration = int(runner.iteration)
    result: dict[str, Any] = {
        "run_dir": str(run.folder),
        "env": config.env,
        "sharing": config.sharing,
        "seed": config.seed,
        "steps": iteration * config.steps_per_iteration,
        "finished": iteration >= config.num_iterations,
        "seconds": round(time.monotonic() - begin, 1),
        "steps_per_second": round((iteration - first) * config.steps_per_iteration / spent) if spent else None,
    }
    result |= rounded({name: row[name] for name in ("win_rate", "mean_turns") if name in row})
    if result["finished"]:
        run.finish(result)
    else:
        say(f"stopped; go on with: {go_on}")
    run.close()
    return result


def lost_after(iteration: int, go_on: str) -> str:
    """The last words of a process of many."""
    return (
        f"a process of the run was lost after iteration {iteration}; go on from the last checkpoint with: {go_on} "
        "(fewer --devices or --processes will do)"
    )


def evaluation(learner: Learner, settings: Settings, runner: Runner, iteration: int) -> dict[str, float]:
    """`train.play.summary` of games against random opponents; the games are the same whenever they are played."""
    key = jax.random.fold_in(jax.random.key(EVALUATION), iteration)
    return scalars(_evaluate(learner, settings.evaluation_games, devices.here(runner.params), key))


@functools.partial(jax.jit, static_argnums=(0, 1))
def _evaluate(learner: Learner, num_games: int, params: Any, key: jax.Array) -> dict[str, Any]:
    temperature = learner.config.temperature
    return play.against_random(learner.env, learner.policy, params, key, num_games, temperature=temperature)


def describe(row: dict[str, float], config: Config) -> str:
    """An evaluation on one line."""
    left = (config.num_iterations * config.steps_per_iteration - row["steps"]) / row["steps_per_second"]
    return (
        f"{row['steps']:>12,.0f} steps   win rate {row['win_rate']:.3f}   turns to win {row['mean_turns']:5.1f}   "
        f"{row['steps_per_second']:,.0f} steps/s   {left:.0f} s left"
    )


def progress_bar(config: Config, done: int) -> "tqdm[Any]":
    """Steps, speed and time left on a terminal; silent elsewhere."""
    per = config.steps_per_iteration
    return tqdm(
        total=config.num_iterations * per,
        initial=done * per,
        unit=" steps",
        unit_scale=True,
        disable=None if processes.leads() else True,
        smoothing=0.1,
    )


def say(text: str) -> None:
    """A line for the person who waits; standard output is kept for the result."""
    if processes.leads():
        print(text, file=sys.stderr, flush=True)


class Stop:
    """True once somebody asked the run to stop."""

    asked = False

    def __bool__(self) -> bool:
        return self.asked


@contextmanager
def stop_signal() -> Generator[Stop]:
    """Turns the first Ctrl-C or SIGTERM into a flag, so that a run ends between two iterations; a second one kills."""
    stop = Stop()

    def ask(signum: int, frame: object) -> None:
        stop.asked = True
        print("stopping after this iteration ...", file=sys.stderr, flush=True)  # also where another process leads
        for number, handler in before.items():
            signal.signal(number, handler)

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
