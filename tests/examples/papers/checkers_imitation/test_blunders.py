"""Blunders by stage: whose moves are valued, and what counts as a predicted capture."""

import json
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from examples.papers.checkers_imitation.blunders import Arguments, captures, recorded, report, stages
from examples.papers.checkers_imitation.positions import is_jump
from jaxgames import make
from jaxgames.policies.agent import PolicyAgent
from jaxgames.solvers.alphabeta import deepening
from train.analyse import annotation
from train.analyse.annotation import Turn
from train.data import positions

ENV = make("checkers")
GAME = '[FEN "W:W14,32:B9,1"]\n\n1... 14x5 1-6 2. 32-28 *\n'


@pytest.fixture
def pdn(tmp_path: Path) -> Path:
    """A game whose first position has a capture, and the next two none."""
    path = tmp_path / "game.pdn"
    path.write_text(GAME)
    return path


class Steps:
    """A policy whose best action is the first step of a man on 9: its logits are known."""

    def apply(self, params: Any, observation: Any, seat: Any) -> Any:
        return jnp.broadcast_to(params, (len(seat), ENV.num_actions)), jnp.zeros(len(seat))


def test_predicted_capture_is_a_legal_action_where_a_capture_is_compulsory(pdn: Path) -> None:
    found = recorded(pdn, 10, ENV)
    assert is_jump(found.states, positions.legal_actions(found).argmax(1)).tolist() == [True, False, False]
    best = np.zeros(ENV.num_actions)
    best[found.action[0]] = 1  # 14x5, which no later position allows
    result = captures(PolicyAgent(best, ENV, Steps()), Arguments(data=pdn))
    assert (result["captures"], result["captures_right"]) == (1, 1)
    assert (result["steps"], result["steps_right"]) == (2, 0)


@pytest.mark.slow  # two seconds
def test_moves_of_the_agent_are_valued_and_those_of_the_opening_are_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, pdn: Path
) -> None:
    monkeypatch.setattr(deepening, "HAS_NUMBA", False)
    annotation.player_of.cache_clear()
    games: Any = {"agents": ("first",), "opponent": "random", "games": 2, "depth": 1}
    result = report(Arguments(**games, data=pdn, output=tmp_path)).result["games"]["first"]
    annotation.player_of.cache_clear()
    assert result["wins"] + result["losses"] + result["draws"] == 2
    assert result["stages"][0]["turns"] > 0
    (stored,) = [json.loads(line) for line in (tmp_path / "cells.jsonl").read_text().splitlines()]
    assert stored["stages"] == result["stages"]


def of_stage(number: int, pieces: int, lost: float, before: float = 0.0) -> Turn:
    return Turn(number, number - 1, 0, "", before, before, lost, "", blunder=lost > 0.5, pieces=pieces)


def test_stages_count_own_turns_and_pieces_and_even_boards() -> None:
    """Turns 20 and 21 of a game are the tenth and the eleventh of their seats. Two men of a lead are not even."""
    turns = [of_stage(20, 21, 1.0), of_stage(21, 20, 0.0), of_stage(81, 4, 3.0, -2.0), of_stage(83, 2, 0.8, 1.9)]
    rows = {(row["by"], row["stage"]): row for row in stages(turns)}
    assert {place: (row["turns"], row["blunders"]) for place, row in rows.items()} == {
        ("all", "all"): (4, 3),
        ("turn", "1-10"): (1, 1),
        ("turn", "11-20"): (1, 0),
        ("turn", "41+"): (2, 2),
        ("pieces", "21-24"): (1, 1),
        ("pieces", "17-20"): (1, 0),
        ("pieces", "2-4"): (2, 2),
    }
    assert (rows["turn", "41+"]["even"], rows["turn", "41+"]["even_blunders"]) == (1, 1)
    assert rows["all", "all"]["lost"] == pytest.approx(1.2)
    assert stages([]) == []
