"""Summaries of games without a winner."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from examples.papers.parameter_sharing import traditional
from jaxgames import arena
from jaxgames.agents import RandomAgent
from jaxgames.games.chinese_checkers import ChineseCheckers

ENV = ChineseCheckers(size=1, num_players=6, max_rounds=4)


def test_goals_are_blocked_by_pegs_of_the_opposite_seat_or_of_others() -> None:
    """Seat 1 is in the goal of seat 0 and seat 3 in that of seat 4; all other pegs are at home."""
    board = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], ENV.from_string("0/5..3/.../4..2/1 0 - 0"))
    games = arena.start(ENV, jax.random.key(0), 1)._replace(boards=board, turns=jnp.ones((1, 6), jnp.int32))
    found = traditional.summary(ENV, games, jnp.zeros((1, 6), jnp.int32))
    assert found["decided"] == 0
    assert (found["blocked_by_opposite"], found["blocked_by_others"]) == (4 / 6, 2 / 6)
    assert (found["pegs_in_goal"], found["pegs_at_home"]) == (0, 4 / 6)


@pytest.mark.slow
def test_random_games_have_summaries() -> None:
    seats = jnp.zeros((32, 6), jnp.int32)
    played = traditional.whole_games(ENV, (RandomAgent(ENV),), seats, jax.random.key(0))
    found = traditional.summary(ENV, played, seats)
    truncated = np.asarray(played.boards.truncated)
    assert found["decided"] == 1 - truncated.mean()
    assert found["win_rate"] == found["decided"]
    assert (found["pegs_in_goal"] is None) == (not truncated.any())
