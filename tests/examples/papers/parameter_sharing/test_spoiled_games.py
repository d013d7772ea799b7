"""Turns that wait or go back, and blocked goals, on boards drawn by hand."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from examples.papers.parameter_sharing import spoiled_games
from examples.papers.parameter_sharing.spoiled_games import Watched
from jaxgames import arena
from jaxgames.agents import RandomAgent
from jaxgames.arena.games import after_action
from jaxgames.games.chinese_checkers import ChineseCheckers

ENV = ChineseCheckers(size=1, num_players=6, max_rounds=4)


@pytest.fixture(scope="module")
def start() -> Watched:
    games = arena.start(ENV, jax.random.key(0), 1)
    pegs = spoiled_games.pegs_of_seats(ENV, games.boards)[..., 0]
    zeros = jnp.zeros((1, 6), jnp.int32)
    return Watched(games, pegs, jnp.zeros_like(pegs), zeros, zeros)


def after(watched: Watched, moves: list[str]) -> Watched:
    """Returns what is watched after the first seats have played these moves."""
    step: Any = jax.jit(functools.partial(after_action, ENV))
    for move in moves:
        board = jax.tree.map(lambda leaf: leaf[0], watched.games.boards)
        action = jnp.array([ENV.action_from_string(board, move)])
        watched = spoiled_games.after_step(ENV, watched, step(watched.games, action, jax.random.key(0)))
    return watched


@pytest.mark.slow
def test_peg_that_returns_to_its_home_waits_and_goes_back(start: Watched) -> None:
    watched, moves = start, list[str]()
    for _ in range(7):  # every seat's first turn is a step, and the seventh takes the first one back
        board = jax.tree.map(lambda leaf: leaf[0], watched.games.boards)
        legal = [ENV.action_to_string(board, a) for a in np.flatnonzero(ENV.legal_action_mask(board)).tolist()]
        back = "->".join(reversed(moves[0].split("->"))) if len(moves) == 6 else None
        home = moves[0].split("->")[0] if moves else None
        steps = [move for move in legal if "->" in move and not move.endswith(f">{home}")]
        moves.append(back or steps[0])
        watched = after(watched, moves[-1:])
    assert watched.waits[0].tolist() == watched.goes_back[0].tolist() == [1, 0, 0, 0, 0, 0]
    assert int(watched.games.turns[0, 0]) == 2


@pytest.mark.slow
def test_random_games_have_waits_and_summaries() -> None:
    """Random players wait in many turns, and go back in some; nobody goes back in the first one."""
    random = RandomAgent(ENV)
    seats = jnp.zeros((32, 6), jnp.int32)
    watched = spoiled_games.play(ENV, (random,), seats, jax.random.key(0))
    found = spoiled_games.summary(ENV, watched, seats)
    turns, waits, goes_back = (np.asarray(x) for x in (watched.games.turns, watched.waits, watched.goes_back))
    assert (waits <= turns).all()
    assert (goes_back <= np.maximum(turns - 1, 0)).all()
    assert 0.1 < found["waits"] < 0.9
    assert found["goes_back"] > 0
    truncated = np.asarray(watched.games.boards.truncated)
    assert found["decided"] == 1 - truncated.mean()
    assert found["win_rate"] == found["decided"]
    assert (found["pegs_in_goal"] is None) == (not truncated.any())
