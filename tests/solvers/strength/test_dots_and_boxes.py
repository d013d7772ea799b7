"""The strength measures of Dots and Boxes, against slow plain Python that plays every game one by one."""

import functools
from fractions import Fraction
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames.games.dots_and_boxes import DotsAndBoxes
from jaxgames.games.dots_and_boxes.solution import DotsAndBoxesSolution
from jaxgames.solvers.strength import measure
from jaxgames.solvers.strength.policy_table import BATCH
from tests.helpers.solved import solved_boxes
from tests.solvers.slow_boxes import SlowBoxes

SLOW = SlowBoxes(2, 2)


def solved() -> DotsAndBoxesSolution:
    return solved_boxes(2, 2)


# -- agents: an edge for every set of drawn edges and seat ----------------------------------------------------------


def lowest(drawn: int, seat: int) -> int:
    return SLOW.edges(drawn)[0]


def perfect(drawn: int, seat: int) -> int:
    return SLOW.best_edges(drawn)[0]


def mixed(drawn: int, seat: int) -> int:
    """Nearly always right, and not the same on both seats."""
    edges = SLOW.edges(drawn)
    return edges[(7 * drawn + seat) % len(edges)] if drawn % 5 == 3 else SLOW.best_edges(drawn)[-1]


AGENTS = {"lowest": lowest, "perfect": perfect, "mixed": mixed}


@functools.cache
def as_act(agent: Any) -> Any:
    table = np.array([[agent(drawn, seat) for drawn in range(SLOW.full)] + [0] for seat in (0, 1)])

    def act(states: Any) -> Any:
        assert states.edges.shape == (BATCH, 12)
        return jnp.asarray(table)[states.current_player, jnp.asarray(solved().index(states))]

    return act


@functools.cache
def measured(name: str, seat: int) -> dict[str, Any]:
    return measure(DotsAndBoxes(2, 2), as_act(AGENTS[name]), solved(), seat=seat)


# -- the slow reference --------------------------------------------------------------------------------------------


class SlowMeasures:
    """The plays of an agent on one seat. A node is (drawn edges, whether the agent is to move)."""

    def __init__(self, agent: Any, seat: int) -> None:
        self.agent, self.seat = agent, seat
        self.target = SLOW.value(0) * (1 if seat == 0 else -1)
        self.scores: dict[tuple[int, bool], set[int]] = {}  # with which plays reach a node
        self._visit(0, seat == 0, 0)
        self.worst = functools.cache(self._worst)

    def replies(self, drawn: int, is_agent: bool) -> list[int]:
        return [self.agent(drawn, self.seat)] if is_agent else SLOW.edges(drawn)

    def after(self, drawn: int, is_agent: bool, edge: int) -> tuple[int, bool, int]:
        gain = SLOW.gain(drawn, edge)
        return drawn | 1 << edge, is_agent == (gain > 0), gain if is_agent else -gain

    def _visit(self, drawn: int, is_agent: bool, score: int) -> None:
        """Plays on from a node, once per score."""
        seen = self.scores.setdefault((drawn, is_agent), set())
        if score not in seen:
            seen.add(score)
            for edge in self.replies(drawn, is_agent) if drawn != SLOW.full else []:
                child, moves_again, gain = self.after(drawn, is_agent, edge)
                self._visit(child, moves_again, score + gain)

    def _worst(self, drawn: int, is_agent: bool) -> int:
        if drawn == SLOW.full:
            return 0
        following = [self.after(drawn, is_agent, edge) for edge in self.replies(drawn, is_agent)]
        return min(gain + self.worst(child, again) for child, again, gain in following)

    @functools.cache  # noqa: B019  # as long as the tests run
    def margins(self, drawn: int, is_agent: bool) -> dict[int, Fraction]:
        """The exact probability of each margin to go against uniform replies."""
        if drawn == SLOW.full:
            return {0: Fraction(1)}
        found: dict[int, Fraction] = {}
        edges = self.replies(drawn, is_agent)
        for edge in edges:
            child, again, gain = self.after(drawn, is_agent, edge)
            for margin, probability in self.margins(child, again).items():
                found[margin + gain] = found.get(margin + gain, Fraction(0)) + probability / len(edges)
        return found

    def agent_nodes(self) -> list[int]:
        return [drawn for drawn, is_agent in self.scores if is_agent and drawn != SLOW.full]

    def share(self, holds: Any) -> float:
        nodes = self.agent_nodes()
        return sum(map(holds, nodes)) / len(nodes)

    def least(self, drawn: int) -> int:
        return min(self.scores[drawn, True])


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("name", AGENTS)
def test_measures_are_those_of_plain_python(name: str, seat: int) -> None:
    agent, slow, found = AGENTS[name], SlowMeasures(AGENTS[name], seat), measured(name, seat)
    sure = slow.share(lambda d: slow.least(d) + slow.worst(d, True) >= slow.target)
    margins = slow.margins(0, seat == 0)
    right = {drawn: agent(drawn, seat) in SLOW.best_edges(drawn) for drawn in range(SLOW.full)}
    decisive = [drawn for drawn in right if len(SLOW.best_edges(drawn)) < len(SLOW.edges(drawn))]
    won = [drawn for drawn in right if SLOW.value(drawn) > 0]
    expected = {
        "target_margin": slow.target,
        "worst_margin": slow.worst(0, seat == 0),
        "weak_solved": slow.worst(0, seat == 0) >= slow.target,
        "agent_states": len(slow.agent_nodes()),
        "unique_states": len({node for node in slow.scores if node[0] != SLOW.full}) + 1,
        "sure_fraction": sure,
        "kept_value": slow.share(lambda d: slow.least(d) + SLOW.value(d) >= slow.target),
        "action_weak": slow.share(lambda d: right[d]),
        "weak_uniform": float(sum(p for margin, p in margins.items() if margin >= slow.target)),
        "weak_uniform_loss": float(sum(p for margin, p in margins.items() if margin < 0)),
        "weak_uniform_margin": float(sum(margin * p for margin, p in margins.items())),
        "strong_states": SLOW.full,
        "strong_action": sum(right.values()) / SLOW.full,
        "strong_decisive": sum(right[drawn] for drawn in decisive) / len(decisive),
        "strong_won": sum(right[drawn] for drawn in won) / len(won),
        "strong_margin_lost": sum(SLOW.value(d) - SLOW.worth(d, agent(d, seat)) for d in right) / SLOW.full,
    }
    assert {key: found[key] for key in expected} == pytest.approx(expected, rel=1e-12, abs=1e-15)
    assert {"perfect": sure == 1, "lowest": sure < 1, "mixed": True}[name]

    table = found["mistakes_by_ply"]
    assert sum(table["states"]) == found["agent_states"]
    assert 1 - sum(table["mistakes"]) / found["agent_states"] == pytest.approx(found["action_weak"])
    rows = zip(table["mistakes"], table["decisive"], table["states"], strict=True)
    assert all(mistakes <= decisive <= states for mistakes, decisive, states in rows)


@pytest.mark.parametrize("name", AGENTS)
def test_self_play_has_the_margin_of_plain_python(name: str) -> None:
    drawn, mover, margin = 0, 0, 0
    while drawn != SLOW.full:
        edge = AGENTS[name](drawn, mover)
        gain = SLOW.gain(drawn, edge)
        margin += gain if mover == 0 else -gain
        drawn, mover = drawn | 1 << edge, mover if gain else 1 - mover
    found = measured(name, 0)
    assert found["self_play_margin"] == margin
    assert found["ultra_weak"] == float(margin == SLOW.value(0))
    assert found["self_play_winner"] == (None if margin == 0 else int(margin < 0))
    assert found["self_play_plies"] == 12


def test_strong_measures_can_be_sampled_and_weak_ones_left_out() -> None:
    found = measure(DotsAndBoxes(2, 2), as_act(mixed), solved(), strong_states=1000, weak=False)
    assert found["strong_fastest"] is None  # a measure of games that are won and lost
    assert found["strong_states"] == 1000
    assert abs(found["strong_action"] - measured("mixed", 0)["strong_action"]) < 0.04  # three standard errors
    assert "weak_solved" in measured("mixed", 0).keys() - found.keys()


# Compiling the values takes most of the time of this file, so only one reward is fast.
SLOW_REWARDS = [pytest.param(reward, marks=pytest.mark.slow) for reward in ("win_loss", "boxes")]


@pytest.mark.parametrize("reward", ["margin", *SLOW_REWARDS])
def test_values_are_compared_in_the_unit_of_the_reward(reward: str) -> None:
    """The agent's values are the true ones, but 0.5 too high."""

    def true(states: Any) -> Any:
        to_go = solved().value(states).astype(int)
        score = np.where(states.owner == 0, 1, np.where(states.owner == 1, -1, 0)).sum(1)
        final = to_go - score  # of seat 1, which is to move
        return jnp.asarray({"win_loss": np.sign(final), "margin": final, "boxes": to_go}[reward] + 0.5)

    found = measure(DotsAndBoxes(2, 2, reward), as_act(perfect), solved(), seat=1, values=true)
    np.testing.assert_allclose(found["value_mse"], 0.25)
    assert found["value_sign"] == 1
