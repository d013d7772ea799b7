"""Trains a table of settings, each with several seeds, in one program per group of equal shapes.

    python -m train.sweep --env "chinese_checkers(size=2, num_players=6)" --gamma 0.3 0.5 0.99 \\
        --gae-lambda 0.5 0.9 1.0 --seeds 5 --run-dir runs/discounts

The table is the product of all values and seeds; a cell is one of its runs. Cells that differ only in seeds and numbers
(`Learner.numbers`) are one group: one program, compiled once. Groups train one after the other. docs/training/sweep.md
has the files in the folder.

In Python, `run_sweep(sweep_of("ppo", {"gamma": (0.3, 0.5)}, seeds=5), settings)` does the same.
"""

import contextlib
import dataclasses
import itertools
import json
import re
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from jaxgames._files import write_whole
from train import plot
from train.agents import learner_type
from train.driver import loop
from train.driver.cli import check_start, create_or_resume, is_stored
from train.driver.compilation import compiled_iteration
from train.driver.learner import Learner, changes, format_setting, log, names_of_numbers, settings_of
from train.driver.loop import Settings
from train.driver.metrics import GAMES, OPPONENT
from train.driver.run_folder import SWEEP_FILE, RunFolder, lock_folder
from train.driver.tables import Column, table_of
from train.ops import sharding
from train.sweep.batched_runs import BatchedRuns

COLUMNS = ("win_rate", "mean_turns", "mean_reward", "episode_length")  # of the table; summary.json has every metric
DIGITS = 8  # of a median
MAX_NAME = 120  # characters of a folder's name; longer ones are cut off and numbered


@dataclass(frozen=True)
class Sweep:
    """A table of settings, and the cells that it consists of."""

    learner: str
    values: Mapping[str, tuple[Any, ...]]
    """The values of the settings that were given; all others are as in the game's recipe."""
    seed: int
    seeds: int
    cells: Mapping[str, Learner] = field(repr=False)
    """Learners by their folders' names."""

    @property
    def varied(self) -> list[str]:
        """The settings that have more than one value."""
        return [name for name, values in self.values.items() if len(values) > 1]

    def groups(self) -> list[dict[str, Learner]]:
        """Returns the cells that train in one program, by their folders' names."""
        groups: dict[str, dict[str, Learner]] = {}
        for name, learner in self.cells.items():
            free = ("seed", *names_of_numbers(learner))
            settings = settings_of(learner.config)
            static = json.dumps({name: value for name, value in settings.items() if name not in free or value is None})
            groups.setdefault(static, {})[name] = learner
        return [*groups.values()]

    def to_json(self) -> dict[str, Any]:
        """Returns the content of sweep.json."""
        table = {"learner": self.learner, "seed": self.seed, "seeds": self.seeds, "values": dict(self.values)}
        return json.loads(json.dumps(table))


def sweep_of(learner: str, values: Mapping[str, Sequence[Any]], seeds: int = 1, seed: int = 0) -> Sweep:
    """Returns the sweep over all combinations of values, each with the seeds `seed` to `seed + seeds - 1`.

    Args:
      learner: a name in `train.agents.LEARNERS`, or module:Class.
      values: one or more values of each setting, by the names of the learner's config. Settings that are left out have
        the values of the game's recipe.

    Raises ValueError for an unknown learner or setting, a value that is not allowed, and a value twice.
    """
    of_learner = learner_type(learner)
    if seeds < 1:
        raise ValueError(f"seeds must be at least 1, not {seeds}")
    names = [each.name for each in dataclasses.fields(of_learner.config_type) if each.name != "seed"]
    for name, of_name in values.items():
        if name not in names:
            raise ValueError(f"{name} is not a setting of {learner} that can be varied; these are {', '.join(names)}")
        if twice := [value for index, value in enumerate(of_name) if value in of_name[:index]]:
            raise ValueError(f"{name} has the value {twice[0]!r} twice")
    values_of = {name: tuple(of_name) for name, of_name in values.items() if len(of_name)}
    varied = [name for name, of_name in values_of.items() if len(of_name) > 1]

    cells: dict[str, Learner] = {}
    for row, combination in enumerate(itertools.product(*values_of.values())):
        settings = dict(zip(values_of, combination, strict=True))
        folder = folder_name(settings, varied, row)
        for each_seed in range(seed, seed + seeds):
            name = f"{folder}/seed={each_seed}" if varied else f"seed={each_seed}"
            cells[name] = of_learner(of_learner.resolve(of_learner.config_for(**settings, seed=each_seed)))
    return Sweep(learner, values_of, seed, seeds, cells)


def folder_name(settings: Mapping[str, Any], varied: Sequence[str], row: int) -> str:
    """Returns the name of a row's folder, such as "gamma=0.3+gae_lambda=0.5"; "" if no setting is varied.

    Characters that are special in paths or in an agent's text become "_". The number of the row keeps such names apart.
    """
    texts = {name: format_setting(settings[name]) for name in varied}
    written = "+".join(f"{name}={text}" for name, text in texts.items())
    name = re.sub(r"[^\w.=+-]+", "_", written)[:MAX_NAME]
    return name if name == written else f"{name}_{row}"


def run_sweep(sweep: Sweep, settings: Settings, runs_type: type[BatchedRuns] = BatchedRuns) -> dict[str, Any]:
    """Trains all cells, or until Ctrl-C or SIGTERM, and summarises them. Returns the result that the command prints.

    Args:
      settings: of the driver, for every cell; `run_dir` is the folder of the sweep. `devices` are the devices that the
        cells of a group are divided over.
      runs_type: of the cells of a group. A subclass can evaluate them in another way.

    Raises:
      FileExistsError: the folder holds a sweep already, and `settings.resume` is not set.
      FileNotFoundError: there is no such evaluation opponent, or no such run that a cell takes parameters from.
      ValueError: the sweep in the folder has other settings; the cells do not fit in memory; parameters of another run
        do not fit a cell.
    """
    folder = settings.run_dir or Path("runs") / f"{datetime.now():%Y-%m-%d_%H-%M-%S}"
    settings = dataclasses.replace(settings, run_dir=folder)
    is_new = not is_stored(settings, SWEEP_FILE)
    devices = sharding.mesh_for(settings.devices, {}).size
    groups = [(cells, runs_type((*cells.values(),), min(devices, len(cells)))) for cells in sweep.groups()]
    meshes = [check_start(group, dataclasses.replace(settings, devices=group.devices), is_new) for _, group in groups]
    if is_new:
        for (_, group), mesh in zip(groups, meshes, strict=True):
            compiled_iteration(group, mesh)
    else:
        stored = json.loads((folder / SWEEP_FILE).read_bytes())
        old, new = ({**each, **each["values"]} for each in (stored, sweep.to_json()))
        if changed := changes(old, new, may_change=["values", "cells"]):
            raise ValueError(f"{folder} was started with other settings: {'; '.join(changed)}")
    start = time.monotonic()
    folder.mkdir(parents=True, exist_ok=True)
    with lock_folder(folder):
        write_whole(folder / SWEEP_FILE, json.dumps(sweep.to_json(), indent=2) + "\n")
        finished = all(train_group(*each, settings) for each in groups)  # a signal stops all that follow
        result: dict[str, Any] = {
            "run_dir": str(folder),
            "learner": sweep.learner,
            "cells": len(sweep.cells),
            "finished": finished,
            "seconds": round(time.monotonic() - start, 1),
        }
        if finished:
            summary = summarise(folder, sweep.varied, sweep.cells)
            write_whole(folder / "summary.json", json.dumps(summary, indent=2) + "\n")
            write_whole(folder / "summary.md", table(summary) + "\n")
            print(table(summary), file=sys.stderr)
            if {*plot.EVALUATED} <= {*summary["rows"][0]}:
                log(f"picture  {plot.plot(plot.Arguments((folder,)))[0]}")
            result["rows"] = summary["rows"]
    return result


def train_group(learners: Mapping[str, Learner], group: BatchedRuns, settings: Settings) -> bool:
    """Trains the cells of a group in the folder of their sweep. Returns whether they are finished.

    Raises ValueError if one was started with other settings, such as more steps in a run alone.
    """
    assert settings.run_dir is not None
    with contextlib.ExitStack() as stack:
        runs = list[RunFolder]()
        for name, learner in learners.items():
            of_cell = dataclasses.replace(settings, run_dir=settings.run_dir / name, resume=True)
            runs.append(stack.enter_context(contextlib.closing(create_or_resume(learner, of_cell))))
        if all(run.result() for run in runs):
            log(f"{len(runs)} cells are finished already")
            return True
        return loop.run_training(group, runs, dataclasses.replace(settings, devices=group.devices))["finished"]


# -- summary ---------------------------------------------------------------------------------------------------------


def summarise(folder: Path, varied: Sequence[str], cells: Mapping[str, Learner]) -> dict[str, Any]:
    """Returns the content of summary.json, in JSON's types.

    "varied" are the settings with more than one value, "evaluation" the games of the last evaluations in words. "rows"
    has a row per combination of settings: "settings", "seeds", and for every metric of the last evaluation, or the last
    iteration where there is none, {"median", "lowest", "highest"}.
    """
    by_settings: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {}
    for name, learner in cells.items():
        rows = RunFolder(folder / name, learner).rows()
        rows = [row for row in rows if row["iteration"] <= learner.config.num_iterations]
        last = ([row for row in rows if "win_rate" in row] or rows)[-1]
        settings = {each: getattr(learner.config, each) for each in varied}
        by_settings.setdefault(name.rpartition("/")[0], (settings, []))[1].append(last)
    rows, games = list[dict[str, Any]](), dict[str, None]()
    for settings, of_seeds in by_settings.values():
        games |= dict.fromkeys(f"{row[GAMES]:,} games against {row[OPPONENT]}" for row in of_seeds if OPPONENT in row)
        metrics = [name for name in of_seeds[0] if name not in ("iteration", GAMES, OPPONENT)]
        numbers = {name: median_and_range([row.get(name) for row in of_seeds]) for name in metrics}
        rows.append({"settings": settings, "seeds": len(of_seeds), **numbers})
    return {"varied": [*varied], "rows": rows, "evaluation": " or ".join(games)}


def median_and_range(values: Sequence[float | None]) -> dict[str, float | None]:
    """Returns the median, the lowest and the highest of the values that are not None."""
    present = [value for value in values if value is not None]
    if not present:
        return dict.fromkeys(("median", "lowest", "highest"))
    median = float(f"{np.median(present):.{DIGITS}g}")  # the mean of two numbers has digits that mean nothing
    return {"median": median, "lowest": min(present), "highest": max(present)}


def table(summary: Mapping[str, Any]) -> str:
    """Returns the Markdown table: a row per combination of settings, "median (lowest to highest)" in each column."""
    rows, games = summary["rows"], summary["evaluation"]
    columns: dict[str, Column] = {
        name: lambda row, name=name: format_setting(row["settings"][name]) for name in summary["varied"]
    }
    columns["seeds"] = "{seeds}"
    columns |= {name: lambda row, name=name: format_median_and_range(row[name]) for name in COLUMNS if name in rows[0]}
    note = f"; win_rate, mean_turns and mean_reward in {games}" if games else ""
    return f"{table_of(rows, columns, padded=True)}\n\nMedian (lowest to highest) of the seeds{note}."


def format_median_and_range(numbers: Mapping[str, float | None]) -> str:
    """Returns a median and its range in words."""
    if numbers["median"] is None:
        return "none"
    return "{median:.4g} ({lowest:.4g} to {highest:.4g})".format(**numbers)
