"""The three-move ballots are those of pydraughts."""

import json
from pathlib import Path

import draughts

import jaxgames
from jaxgames import games
from tests.helpers.positions import legal, play, start

ENV = jaxgames.make("checkers")
LINES = (Path(games.__path__[0]) / "checkers" / "ballots.txt").read_text().splitlines()
BALLOTS = [line for line in LINES if not line.startswith("#")]  # such as "9-13 21-17 5-9"


def starts() -> dict[str, str]:
    """Returns the position after every legal start of three plies, by its moves."""
    found = {"": start(ENV)}
    for _ in range(3):
        found = {
            f"{moves} {move}".strip(): play(ENV, state, move)
            for moves, state in found.items()
            for move in legal(ENV, state)
        }
    return {moves: ENV.to_string(state) for moves, state in found.items()}


def test_ballots_are_different_positions_after_three_legal_plies() -> None:
    found = starts()
    assert len(found) == 302
    assert len({*found.values()}) == 216
    assert len({found[ballot] for ballot in BALLOTS}) == len(BALLOTS) == 174


def test_ballots_are_those_of_pydraughts() -> None:
    path = Path(draughts.__file__).parent / "ballot_files" / "3move_english.json"
    theirs = {
        tuple(tuple(map(int, move.split("-"))) for move in name.split()[1:])
        for name in json.loads(path.read_text())["all"]
    }
    ours = {tuple(tuple(map(int, move.replace("x", "-").split("-"))) for move in ballot.split()) for ballot in BALLOTS}
    assert ours == theirs
