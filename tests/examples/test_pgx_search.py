"""The search through Pgx's interface beats random moves, and its sign is right where a seat moves again."""

import json
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from examples import pgx_search
from jaxgames.interop.pgx import PgxEnv
from jaxgames.wrappers import seat_discount
from tests.games.dots_and_boxes.pictures import game, read
from tests.helpers.positions import repeated

SINGLE_AND_PAIR = """
    *---*   *
    | 0 |   |
    *---*   *
        |   |
    *   *   *
"""
GIVES_THE_SINGLE = {"h(2,0)", "v(1,0)"}


@pytest.mark.slow  # compiles a search; tests/interop/test_pgx.py has the signs of `seat_discount`
def test_search_gives_the_single_box_for_the_pair_unless_its_sign_always_alternates() -> None:
    """Seat 0 must give the single box or the pair.

    If it gives the single box, the opponent takes it, moves again and must give the pair: 3 to 1. If it gives the pair,
    it gets the single box at the end: 2 to 2. A constant -1 counts the opponent's second move as one of seat 0. The
    search is repeated with other noise at the root.
    """
    env = PgxEnv(game(2, 2, "boxes"))

    @jax.jit
    def chosen(states: Any, is_aware: jax.Array) -> jax.Array:
        def discount(before: Any, after: Any) -> jax.Array:
            return jnp.where(is_aware, seat_discount(before, after), jnp.where(after.terminated, 0.0, -1.0))

        return pgx_search.search(env, jax.random.key(0), states, 128, discount).action

    state = env.state_at(read(env.unwrapped, SINGLE_AND_PAIR))
    names = [env.unwrapped.action_to_string(state.board, action) for action in range(env.num_actions)]
    found = {is_aware: chosen(repeated(state, 8), np.bool_(is_aware)) for is_aware in (True, False)}
    assert {names[action] for action in found[True]} <= GIVES_THE_SINGLE
    assert not {names[action] for action in found[False]} & GIVES_THE_SINGLE


def test_search_has_an_action_for_each_board() -> None:
    env = PgxEnv(game(2, 2, "boxes"))
    states = repeated(env.state_at(read(env.unwrapped, SINGLE_AND_PAIR)), 8)
    found = jax.eval_shape(lambda: pgx_search.search(env, jax.random.key(0), states, 4, seat_discount))
    assert (found.action.shape, found.action_weights.shape) == ((8,), (8, env.num_actions))


@pytest.mark.slow  # compiles the whole loop
def test_search_beats_random_moves(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """320 games of 12 steps each."""
    monkeypatch.setattr(sys, "argv", ["pgx_search"])
    pgx_search.main()
    printed = capsys.readouterr()
    figures = json.loads(printed.out)
    won, drawn, lost = figures["won"], figures["drawn"], figures["lost"]
    assert won + drawn + lost == figures["games"] == 320
    assert won - lost > 0.25 * 320
    assert printed.err.endswith(
        f"won {won}, drawn {drawn}, lost {lost} of 320 games of the search against random moves\n"
    )


def test_results_count_the_return_of_each_finished_game() -> None:
    """Board 0 ends with 1 - 2 and with 0, board 1 with 3; what follows is not finished."""
    rewards = np.array([[1, 0], [-2, 3], [0, -1], [1, -1]], np.float32)
    ended = np.array([[False, False], [True, True], [True, False], [False, False]])
    assert pgx_search.results(rewards, ended) == {"won": 1, "drawn": 1, "lost": 1}
