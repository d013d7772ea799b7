"""The frame of every experiment: arguments with a short form, results that are computed once, tables and pictures.

    QUICK = {"games": 200}                                 # values of the short form, `--quick`

    @dataclass(frozen=True)
    class Arguments(Experiment):
        output: Path = Path("runs/papers/a_study/a_figure")
        games: int = 10_000

    def report(arguments: Arguments) -> Report:
        key = {"env": "checkers", "games": arguments.games}
        result = arguments.once(key, functools.partial(play, arguments))
        return Report(result, table_of([result], {"games": "{games:,}"}), {"figure_1": draw(result)})

    if __name__ == "__main__":
        run_experiment(Arguments, QUICK, report)

A command prints its tables and, as JSON, its result, and leaves tables and pictures in its folder. The module
`examples.papers.tables` runs commands and makes their results those of the docs.

A repeated command continues: `once` keeps results, and `train` and `train_all` leave finished runs as they are.
"""

import dataclasses
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import jax
import tyro
from matplotlib.figure import Figure

from jaxgames import Env, arena
from jaxgames._progress import Progress
from jaxgames.agents import Agent
from train import plot
from train.bounds import check_values
from train.driver import cli, loop
from train.driver.commands import GameArguments, print_result
from train.driver.commands import progress_over as progress_over  # of the experiments too
from train.driver.learner import Learner
from train.driver.loop import Settings
from train.driver.result_file import ResultFile
from train.driver.run_folder import RunFolder
from train.driver.tables import Column as Column
from train.driver.tables import entry_of as entry_of
from train.driver.tables import table_of as table_of
from train.ops.sharding import provide_cores
from train.plot import new_picture as new_picture
from train.sweep import BatchedRuns, Sweep, run_sweep

RATE = "{win_rate:.3f} ({win_rate_interval[0]:.3f}-{win_rate_interval[1]:.3f})"
WITHOUT_GAMES = Settings(evaluate_every=0, checkpoint_every=25)


class ExperimentFields:
    """Fields that experiments have in common: each one gives them a default, and `--help` has the texts from here."""

    output: Path
    """The folder of the results, with the tables, the pictures and what is trained."""
    seed: int
    """Seed of all that is drawn; the same seed gives the same results."""

    def once(
        self, key: Mapping[str, Any], compute: Callable[[], Mapping[str, Any]], file: str = "cells"
    ) -> dict[str, Any]:
        """Returns the result of a key, which has all that it depends on, from OUTPUT/FILE.jsonl or computed now.

        The file is read at every call, so that results of other commands count too.
        """
        return ResultFile(self.output / f"{file}.jsonl", tuple(key)).once(key, compute)


@dataclass(frozen=True, kw_only=True)
class Experiment(ExperimentFields):
    """The base of the arguments of an experiment with a short form."""

    quick: bool = False
    """Tries everything with small numbers."""


ArgumentsT = TypeVar("ArgumentsT")  # a dataclass with the field `quick`


class Report(NamedTuple):
    """The results of an experiment, as it prints and writes them."""

    result: Any  # the last line on standard output, as JSON
    tables: str  # Markdown; printed, and written to OUTPUT/tables.md
    figures: Mapping[str, Figure] = {}  # written to OUTPUT by their names, as .png and .svg


def run_experiment(
    kind: type[ArgumentsT], quick: Mapping[str, Any] | None, report: Callable[[ArgumentsT], Report]
) -> None:
    """The command of an experiment's module, whose docstring is the text of `--help`.

    Args:
      kind: the class of the arguments.
      quick: values of the short form, see `shortened`; None where the user must name runs or data.
      report: computes everything. A ValueError or OSError ends the command with its message.

    The fields `games` and `seed` are checked before, where the arguments have them.
    """
    module: Any = sys.modules[kind.__module__]
    program = module.__spec__.name.removesuffix(".__main__")
    arguments = tyro.cli(kind, prog=f"python -m {program}", description=module.__doc__)
    if quick is not None:
        arguments = shortened(arguments, quick)

    def compute() -> Any:
        numbers = {"games": getattr(arguments, "games", 1), "seed": getattr(arguments, "seed", 0)}
        check_values(numbers, GameArguments)
        result, tables, figures = report(arguments)
        if (folder := getattr(arguments, "output", None)) is not None:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "tables.md").write_text(tables + "\n")
            for name, figure in figures.items():
                plot.save(figure, folder / name)
        print(tables)
        return result

    print_result(program, compute)


def shortened(arguments: ArgumentsT, quick: Mapping[str, Any]) -> ArgumentsT:
    """Returns the arguments with the values of the short form if `arguments.quick` is set, and unchanged otherwise.

    A field that does not have its default was typed by the user and stays. A default `output` gets the ending "_quick",
    so that the results of the experiment itself stay apart.
    """
    typed: Any = arguments
    if not typed.quick:
        return arguments
    defaults: dict[str, Any] = {field.name: field.default for field in dataclasses.fields(typed)}
    values = {"output": defaults["output"].with_name(f"{defaults['output'].name}_quick"), **quick}
    return replace(typed, **{name: value for name, value in values.items() if getattr(typed, name) == defaults[name]})


def duel(
    env: Env[Any],
    agents: tuple[Agent, Agent],
    settings: GameArguments,
    title: str = "",
    records: list[arena.GameRecord] | None = None,
) -> arena.Results:
    """Returns the results of the first agent in games of two seats, which the agents swap after every game.

    Args:
      settings: games, openings and seed; every opening is played twice, once from either side.
      title: of the progress.
      records: is extended by the records of the games, in which the agents are "agent" and "opponent".

    Raises ValueError for a setting that the commands refuse.
    """
    settings.check()
    seats = arena.seating((1, 1), "alternating", settings.games)
    openings = settings.openings_for(env, env.num_players)

    def keep(recorded: arena.Recorded) -> None:
        if records is not None:
            records.extend(arena.game_records(env, recorded, ("agent", "opponent"), seats, openings))

    key, on_recorded = jax.random.key(settings.seed), None if records is None else keep
    with Progress(settings.games, "games", title) as bar:
        games = arena.play(env, agents, seats, key, openings=openings, on_finished=bar.update, on_recorded=on_recorded)
    return arena.results(env, games, seats)


def train(learner: Learner, folder: Path, settings: Settings = WITHOUT_GAMES) -> str:
    """Returns the text of a run's agent, after the rest of its training. A finished run is not opened.

    Raises ValueError if the run in the folder has other settings. Ends the program if a signal stops the training.
    """
    if not is_finished(learner, folder):
        settings = replace(settings, run_dir=folder, resume=True)
        run = cli.create_or_resume(learner, settings)
        if not loop.run_training(run.learner, [run], settings)["finished"]:
            raise SystemExit(130)
    return str(folder)


def train_all(
    sweep: Sweep, folder: Path, settings: Settings = WITHOUT_GAMES, runs_type: type[BatchedRuns] = BatchedRuns
) -> None:
    """Trains the runs of a sweep that are not finished, each in its folder below `folder`, on all cores.

    Raises ValueError if the sweep in the folder has other settings. Ends the program if a signal stops the training.
    """
    if all(is_finished(learner, folder / name) for name, learner in sweep.cells.items()):
        return
    provide_cores(0)
    settings = replace(settings, run_dir=folder, resume=True, devices=0)
    if not run_sweep(sweep, settings, runs_type=runs_type)["finished"]:
        raise SystemExit(130)


def is_finished(learner: Learner, folder: Path) -> bool:
    """Returns whether a folder has the finished run of a learner."""
    if not (folder / "config.json").exists():
        return False
    run = RunFolder.open(folder, type(learner))
    result = run.result()
    return run.config == learner.config and result is not None and result["finished"]
