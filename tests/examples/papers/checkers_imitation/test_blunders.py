"""Blunders by stage: whose moves are valued, and what counts as a predicted capture."""

import json
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from examples.papers.checkers_imitation import blunders
from examples.papers.checkers_imitation.blunders import Arguments, captures, has_capture, recorded
from jaxgames import make
from jaxgames.policies.agent import PolicyAgent
from jaxgames.solvers.alphabeta import deepening
from tests.helpers.commands import last_json, run_command
from train.analyse import annotation

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
    assert has_capture(found).tolist() == [True, False, False]
    best = np.zeros(ENV.num_actions)
    best[found.action[0]] = 1  # 14x5, which no later position allows
    result = captures(PolicyAgent(best, ENV, Steps()), Arguments(data=pdn))
    assert (result["captures"], result["captures_right"]) == (1, 1)
    assert (result["steps"], result["steps_right"]) == (2, 0)


@pytest.mark.slow  # two seconds
def test_moves_of_the_agent_are_valued_and_those_of_the_opening_are_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, pdn: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(deepening, "HAS_NUMBA", False)
    annotation.player_of.cache_clear()
    options = ("--agents", "first", "--opponent", "random", "--games", 2, "--depth", 1, "--data", pdn)
    assert run_command(blunders.main, *options, "--output", tmp_path) is None
    annotation.player_of.cache_clear()
    result = last_json(capsys)["games"]["first"]
    assert result["wins"] + result["losses"] + result["draws"] == 2
    assert result["stages"][0]["turns"] > 0
    (stored,) = [json.loads(line) for line in (tmp_path / "cells.jsonl").read_text().splitlines()]
    assert stored["stages"] == result["stages"]
    assert "| `first` | 2 |" in (tmp_path / "tables.md").read_text()
