"""Stored files of every format: each is still read, and the code still writes the same content.

A file of tests/data/formats has the number of its format in its name. Saved games, records and runs have none: their
files have the version of jaxgames that wrote them. They are never rewritten. After a change of what is written, raise
the number and type `python -m tests.test_formats`, which adds the files of new numbers. Old numbers are refused.
"""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest

from jaxgames import agents, arena, play
from jaxgames.agents import FirstAgent
from jaxgames.games.dots_and_boxes import DotsAndBoxes
from jaxgames.policies import file as policy_file
from jaxgames.solvers.exact import solution
from tests.helpers.commands import run_command
from tests.helpers.solved import solved_boxes, solved_diamond, solved_positions
from tests.helpers.stored_runs import random_train_state, store
from train import export
from train.data import positions
from train.driver.run_folder import RunFolder
from train.ops.sharding import keys_to_data
from train.ppo import PPO, Config

STORED = Path(__file__).parent / "data" / "formats"
BOXES = DotsAndBoxes(1, 2)
LEARNER = PPO(Config(env=str(BOXES), hidden_sizes=(4,), num_envs=2, rollout_length=4, num_minibatches=1))


def write_record(path: Path) -> None:
    """Two games in which both agents play the first legal edge."""
    seats = arena.seating((1, 1), "alternating", 2)
    with arena.GameFile(path) as file:
        recorder = file.recorder(BOXES, ["one", "other"], seats)
        arena.play(BOXES, [FirstAgent(BOXES)] * 2, seats, jax.random.key(0), on_recorded=recorder)


def write_saved_game(path: Path) -> None:
    session = play.Session(BOXES, ["human", "random"], seed=7, state=BOXES.from_string("1000000 .. 1"))
    session.play(2)
    session.resign(0)
    path.write_text(play.to_json(session))


def write_policy(path: Path) -> None:
    run = store(path.with_suffix(".run"), LEARNER)
    run_command(export.main, run, "--output", path, "--platforms", "cpu")
    shutil.rmtree(run)


class Format(NamedTuple):
    file: str  # with the number of the format, or with the version of jaxgames
    write: Callable[[Path], object]  # always the same content


FORMATS = {
    "solution of boxes": Format(f"boxes.{solution.SOLUTION_FILE.format}.npz", solved_boxes(1, 2).save),
    "solution of a diamond": Format(f"diamond.{solution.SOLUTION_FILE.format}.npz", solved_diamond(3, 1).save),
    "positions": Format(f"positions.{positions.KIND.format}.npz", solved_positions(solved_boxes(1, 2)).save),
    "policy": Format(f"policy.{policy_file.KIND.format}.policy", write_policy),
    "run": Format("run.0.1.0", lambda path: store(path, LEARNER)),
    "record": Format("record.0.1.0.jsonl", write_record),
    "saved game": Format("saved_game.0.1.0.json", write_saved_game),
}


def content_of(path: Path) -> dict[str, Any]:
    """The arrays and entries of a file, or of the files of a run, by their names."""
    if path.is_dir():
        return content_of(path / "checkpoints/0.npz") | json.loads((path / "config.json").read_text())
    if path.suffix.startswith(".json"):
        return {
            f"{at} {name}": value for at, line in enumerate(path.open()) for name, value in json.loads(line).items()
        }
    with np.load(path) as file:
        found = {name: file[name] for name in file.files}
    if path.suffix == ".policy":  # its program and the facts about it are as JAX's version makes them
        header = json.loads(str(found.pop(policy_file.HEADER)))
        found = {name: value for name, value in found.items() if name != policy_file.PROGRAM} | dict.fromkeys(header)
    return found


@pytest.mark.parametrize("name", FORMATS)
def test_content_is_written_as_it_is_stored(name: str, tmp_path: Path) -> None:
    """A run may have got settings, which have their defaults in old runs."""
    form = FORMATS[name]
    form.write(tmp_path / form.file)
    assert (STORED / form.file).exists(), "a new number: type python -m tests.test_formats"
    stored, written = content_of(STORED / form.file), content_of(tmp_path / form.file)
    if name == "run":
        written["settings"] = {setting: written["settings"].get(setting) for setting in stored["settings"]}
    assert stored.keys() == written.keys(), f"{name} has other entries than {form.file}: raise the number"
    for entry, value in stored.items():
        assert getattr(value, "dtype", None) == getattr(written[entry], "dtype", None), entry
        np.testing.assert_array_equal(value, written[entry], f"{entry} of {form.file}: raise the format's number")


def read(path: Path) -> None:
    """Reads a stored file as users do; compares programs and runs, whose content may be older than what is written."""
    match path.name.partition(".")[0]:
        case "boxes" | "diamond":
            solution.load(path)
        case "positions":
            positions.load(path, BOXES)
        case "policy":
            boards = jax.tree.map(lambda leaf: np.asarray(leaf)[None], BOXES.init())
            of_file: Any = agents.analyse(agents.make(f"exported({path})", BOXES), boards)
            of_run: Any = agents.analyse(LEARNER.agent(random_train_state(LEARNER).params), boards)
            np.testing.assert_allclose(of_file.probabilities, of_run.probabilities, rtol=0, atol=1e-6)
            np.testing.assert_allclose(of_file.values, of_run.values, rtol=0, atol=1e-6)
        case "run":
            run = RunFolder.open(path, PPO)
            assert run.config == LEARNER.config
            jax.tree.map(
                np.testing.assert_array_equal, *map(keys_to_data, (run.restore(), random_train_state(LEARNER)))
            )
        case "record":
            assert [len(arena.replay(game)) for game in arena.read_games(path)] == [8, 8]
        case _:
            session = play.from_json(path.read_text())
            assert (session.actions, session.ply, session.resigned, session.seed) == ([2], 1, 0, 7)


@pytest.mark.parametrize("file", sorted(path.name for path in STORED.iterdir()))
def test_stored_file_is_read_or_its_old_number_is_named(file: str) -> None:
    if file in {form.file for form in FORMATS.values()} or file.count(".") > 2:
        read(STORED / file)
    else:
        with pytest.raises(ValueError, match=f"has format {file.split('.')[1]}, and this version reads format"):
            read(STORED / file)


def main() -> None:
    """Adds the files of new numbers."""
    os.chdir(STORED)
    for form in FORMATS.values():
        if not Path(form.file).exists():
            form.write(Path(form.file))


if __name__ == "__main__":
    main()
