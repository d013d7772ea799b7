"""The study's agent in Dots and Boxes: what its search sees, its limit of moves, and games against ours."""

import jax
import numpy as np
import pytest

from examples.papers.dots_and_boxes.study_agent import player_of
from jaxgames import ParameterError, agents, arena
from tests.games.dots_and_boxes.pictures import game, written
from tests.solvers.slow_boxes import random_states

AGENTS = "examples.papers.dots_and_boxes.study_agent"
LONG = 60_000  # milliseconds: no test waits for them, the work of a move is limited otherwise

ONE_TAKEN = """
    *---*---*---*
    | 0 |
    *---*---*---*

    *---*---*---*
"""
# A chain of one box, on the left, and one of four. The mover opens the shorter one.
TWO_CHAINS = """
    *---*---*---*---*---*
        |
    *   *   *---*---*---*
"""


@pytest.mark.parametrize("max_moves", [None, 2])
@pytest.mark.parametrize(("rows", "cols", "number"), [(1, 1, 20), (2, 3, 20), (5, 5, 4)])
def test_moves_are_open_edges(rows: int, cols: int, number: int, max_moves: int | None) -> None:
    player = player_of(game(rows, cols), 9, 2, max_moves)
    for seed, state in enumerate(random_states(rows, cols, number)):
        assert not state.edges[player.choose(state, seed)]


@pytest.mark.parametrize(("depth", "edge"), [(1, "v(0,2)"), (9, "v(0,3)")])
def test_search_takes_the_box_that_it_sees(depth: int, edge: str) -> None:
    """With depth 1 two boxes now; the chain behind is out of sight."""
    env, state = game(2, 3), jax.device_get(game(2, 3).from_string(written(ONE_TAKEN)))
    assert env.action_to_string(state, player_of(env, depth, LONG).choose(state, 0)) == edge


def test_search_is_limited_to_random_edges() -> None:
    """With one move, chance chooses among all open edges; the other edge of the corner is the same."""
    env, state = game(1, 5), jax.device_get(game(1, 5).from_string(written(TWO_CHAINS)))
    players = [player_of(env, 9, LONG, limit) for limit in (1, 7, None)]
    chosen = [{player.choose(state, seed) for seed in range(40)} for player in players]
    assert [{env.action_to_string(state, edge) for edge in edges} for edges in chosen[1:]] == [{"h(1,0)"}] * 2
    assert chosen[0] == {*np.flatnonzero(~state.edges).tolist()} - {env.action_from_string(state, "v(0,0)")}


@pytest.mark.slow
@pytest.mark.parametrize(("opponent", "wins"), [("study", 25), ("random_safe_edges", 15)])
def test_our_agent_beats_it(opponent: str, wins: int) -> None:
    env = game(5, 5)
    players = [agents.make(text, env) for text in ("alphabeta", f"{AGENTS}:{opponent}")]
    agent_of_seat = arena.seating((1, 1), "alternating", 30)
    games = arena.play(env, players, agent_of_seat, jax.random.key(0))
    assert arena.results(env, games, agent_of_seat)["wins"] >= wins


def test_texts_name_the_settings() -> None:
    for text in ("study(depth=9, milliseconds=20, max_moves=3)", "random_safe_edges(depth=2, milliseconds=5)"):
        assert str(agents.make(f"{AGENTS}:{text}", game(1, 2))) == f"{AGENTS}:{text}"
    with pytest.raises(ParameterError, match="max_moves must be an integer from 1 to 144 or None, not 0"):
        agents.make(f"{AGENTS}:study(max_moves=0)", game(1, 2))
