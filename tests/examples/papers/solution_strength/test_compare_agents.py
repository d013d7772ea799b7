"""The table of agents: who meets whom, how often, from which openings, and with which runs."""

from dataclasses import replace
from pathlib import Path

import pytest

from examples.papers.solution_strength.compare_agents import Arguments, report

GAME = "dots_and_boxes(rows=1, cols=2)"
SMALL = Arguments(envs=(GAME,), agents=("random", "first", "greedy"), games=40, host_games=3)


@pytest.mark.slow  # plays all games; the quick form plays fewer in test_quick.py
def test_games_without_a_random_agent_begin_with_random_plies(tmp_path: Path) -> None:
    agents = (*SMALL.agents, "openspiel(bot=random)")
    rows = report(replace(SMALL, output=tmp_path, agents=agents)).result["cells"]
    pairs = {(row["agent"], row["opponent"]): row for row in rows}
    assert [*pairs] == [(agent, opponent) for agent in agents for opponent in ("random", "greedy")]
    assert [row["games"] for row in rows] == [40] * 6 + [3] * 2  # OpenSpiel's bot is on the host
    assert {pair for pair, row in pairs.items() if row["opening_plies"]} == {
        (agent, "greedy") for agent in agents if agent != "random"
    }
    assert 0 < pairs["first", "greedy"]["win_rate"] < 1


def test_host_games_must_be_at_least_one(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="games must be from 1"):
        report(replace(SMALL, output=tmp_path, host_games=0))
