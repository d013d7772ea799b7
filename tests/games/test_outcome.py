"""Winners and reasons: `env.winners` and `env.outcome` of all five games.

Positions are texts, so that every end is one that a text shows. Ends by a repetition, a limit or an illegal action are
in the cases of each game, for tests/contract.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.env import Outcome

STAR = "chinese_checkers(size=1, num_players=2"
DIAMOND = "chinese_checkers_diamond(size=4, pieces=3"
KING_CAPTURE = "minichess(rules=king_capture, reward=material)"


@functools.cache
def program(env: Any, name: str) -> Callable[..., Any]:
    """A method of an env, compiled once."""
    return jax.jit(getattr(env, name))


def check(env: Any, state: Any, expected: Outcome) -> None:
    assert env.outcome(state) == expected
    assert np.flatnonzero(program(env, "winners")(state)).tolist() == list(expected.winners)


def play(env: Any, state: Any, *moves: str) -> Any:
    for move in moves:
        state = program(env, "step")(state, jnp.int32(env.action_from_string(state, move)))
    return state


@pytest.mark.parametrize(
    ("game", "text", "winner", "reason"),
    [
        # After a step the seat before the mover has won, in a chain the mover itself.
        (f"{STAR})", "./..../.1./..../0 1 - 3", 0, "goal filled"),
        (f"{STAR})", "1/..../.0./..../. 0 - 3", 1, "goal filled"),
        (f"{STAR})", "./..../.1./..../0 0 5,12 3", 0, "goal filled"),
        (f"{STAR})", "1/..../.0./..../. 1 7,0 3", 1, "goal filled"),
        ("chinese_checkers(size=1, num_players=3)", "./..../.../1..2/0 1 - 3", 0, "goal filled"),
        ("chinese_checkers(size=1, num_players=4)", "./..../.../..../0 1 - 3", 0, "goal filled"),
        ("chinese_checkers(size=1, num_players=4)", "./..../.../1.../. 2 - 3", 1, "goal filled"),
        ("chinese_checkers(size=1, num_players=4)", "2/..../.../..../. 3 - 3", 2, "goal filled"),
        ("chinese_checkers(size=1, num_players=4)", "./...3/.../..../. 0 - 3", 3, "goal filled"),
        ("chinese_checkers(size=1, num_players=6)", "./..../.../..../0 1 - 3", 0, "goal filled"),
        ("chinese_checkers(size=1, num_players=6)", "./...5/.../..../. 0 - 3", None, ""),  # not the goal of seat 5
        ("chinese_checkers(size=1, num_players=6)", "./..../.../...5/. 0 - 3", 5, "goal filled"),
        # One own piece in the full goal is enough.
        (f"{DIAMOND})", "1.../..../...0/..10 1 3", 0, "goal filled"),
        (f"{DIAMOND})", "10../0.../..../..00 0 3", 1, "goal filled"),
        ("dots_and_boxes(rows=1, cols=2)", "1111111 00 0", 0, "all edges drawn"),
        ("dots_and_boxes(rows=1, cols=2)", "1111111 11 1", 1, "all edges drawn"),
        ("checkers", "B:W18:B", 1, "no legal move"),  # captured
        ("checkers", "W:W29:B25,22", 0, "no legal move"),  # blocked
        ("checkers(draw_rule=openspiel)", "B:W18:B", 1, "no legal move"),
        ("minichess", "k1R2/5/K4/5/5 b - - 3 9", 0, "checkmate"),
        ("minichess", "5/5/k4/5/K1r2 w - - 3 9", 1, "checkmate"),
        ("minichess", "k1R2/5/K4/5/5 b - - 100 90", 0, "checkmate"),  # before the draw
        ("minichess(reward=material)", "k1R2/5/K4/5/4q b - - 3 9", 0, "checkmate"),  # the mated side is a queen ahead
        (KING_CAPTURE, "4K/5/5/5/R4 b - - 5 9", 0, "king captured"),
        (KING_CAPTURE, "4k/5/5/5/r4 w - - 5 9", 1, "king captured"),
    ],
)
def test_winner_is_the_seat_that_the_rules_name(game: str, text: str, winner: int | None, reason: str) -> None:
    env: Any = jaxgames.make(game)
    expected = Outcome("live", (), "") if winner is None else Outcome("win", (winner,), reason)
    check(env, env.from_string(text), expected)


@pytest.mark.parametrize(
    ("game", "text", "reason"),
    [
        ("dots_and_boxes(rows=1, cols=2)", "1111111 01 1", "all edges drawn"),
        ("minichess", "k4/2Q2/1K3/5/5 b - - 5 9", "stalemate"),
        ("minichess", "k4/5/K4/5/4R w - - 100 60", "100 plies without a capture or a pawn move"),
        ("minichess", "k4/5/K4/5/4B w - - 5 9", "insufficient material"),
        ("minichess(reward=material)", "k4/2Q2/1K3/5/5 b - - 5 9", "stalemate"),
        (KING_CAPTURE, "kp3/pp3/pp3/pp3/pp2K b - - 5 9", "no legal move"),
    ],
)
def test_nobody_wins_a_draw(game: str, text: str, reason: str) -> None:
    env: Any = jaxgames.make(game)
    check(env, env.from_string(text), Outcome("draw", (), reason))


@pytest.mark.parametrize(
    ("rule", "quiet", "text", "ply", "expected"),
    [
        ("wcdf", 79, "B:WK32:BK1", "1-5", Outcome("draw", (), "80 plies without a capture or a man's move")),
        ("wcdf", 79, "B:W28:BK19,K20", "20-24", Outcome("win", (0,), "no legal move")),
        # One more env to compile for; tests/games/checkers/test_ends.py has the flags and rewards of these.
        pytest.param(
            *("openspiel", 39, "B:WK32:BK1", "1-5", Outcome("draw", (), "40 plies without a capture")),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            *("openspiel", 39, "B:W28:BK19,K20", "20-24", Outcome("draw", (), "40 plies without a capture")),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            *("openspiel", 38, "B:W28:BK19,K20", "20-24", Outcome("win", (0,), "no legal move")),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_draw_of_checkers_comes_before_a_win_by_the_rule_of_openspiel_only(
    rule: str, quiet: int, text: str, ply: str, expected: Outcome
) -> None:
    env = jaxgames.make("checkers", draw_rule=rule)
    state = dataclasses.replace(env.from_string(text), quiet=jnp.int16(quiet))
    check(env, play(env, state, ply), expected)


@pytest.mark.parametrize(
    ("game", "text", "reason"),
    [
        (
            "chinese_checkers(size=1, num_players=2, max_rounds=9)",
            "0/..../.../..../1 0 - 9",
            "9 rounds without a winner",
        ),
        (f"{DIAMOND}, max_plies=9)", "00../0.../...1/..11 0 9", "9 plies without a winner"),
        ("minichess", "k4/5/K4/5/4R w - - 5 129", "256 plies without a winner"),
        (KING_CAPTURE, "k4/5/K4/5/4R w - - 5 129", "200 plies without a winner"),
    ],
)
def test_nobody_wins_a_truncated_game(game: str, text: str, reason: str) -> None:
    env: Any = jaxgames.make(game)
    check(env, env.from_string(text), Outcome("truncated", (), reason))


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "game",
    [
        "chinese_checkers(size=1, num_players=3, reward=win_loss, max_rounds=9)",
        pytest.param("chinese_checkers(size=1, num_players=4, reward=win_loss, max_rounds=9)", marks=pytest.mark.slow),
        "dots_and_boxes(rows=2, cols=2)",
        # These compile for seconds.
        pytest.param("chinese_checkers_diamond(size=3, pieces=3, max_plies=40)", marks=pytest.mark.slow),
        pytest.param("checkers(max_plies=100)", marks=pytest.mark.slow),
        pytest.param("minichess(rules=king_capture, max_plies=50)", marks=pytest.mark.slow),
        pytest.param("minichess(max_plies=80)", marks=pytest.mark.slow),
    ],
)
def test_winner_has_the_highest_return_when_only_winning_pays(game: str, seed: int) -> None:
    """Random games. The winner is unique, its return positive, and nobody wins before the end or without one."""
    env: Any = jaxgames.make(game)
    states, winners, won_early, returns, over = random_games(env)(jax.random.split(jax.random.key(seed), 64))
    assert not won_early.any()
    np.testing.assert_array_equal(winners, (returns > 0) & np.asarray(states.terminated)[:, None])
    assert over.all()
    assert 0 < winners.sum() <= 64


@functools.cache
def random_games(env: Any) -> Callable[..., Any]:
    """A program that plays one game per key to its end.

    It returns the last state, its winners, whether `winners` named a seat on a live board, the returns, and whether the
    game ended.
    """

    def game(key: jax.Array) -> tuple[Any, ...]:
        def step(carry: Any, key: jax.Array) -> tuple[Any, None]:
            state, winners, won_early, returns = carry
            mask = env.legal_action_mask(state)
            action = jnp.argmax(jnp.where(mask, jax.random.uniform(key, mask.shape), -1))
            live = ~(state.terminated | state.truncated)
            won_early |= live & winners.any()
            state = env.step(state, action.astype(jnp.int32))
            return (state, env.winners(state), won_early, returns + state.rewards), None

        nobody = jnp.zeros(env.num_players, bool)  # of a live board, as tests/contract has it
        start = (env.init(), nobody, jnp.bool_(False), jnp.zeros(env.num_players))
        steps = jax.random.split(key, min(env.max_steps, 150))
        (state, winners, won_early, returns), _ = jax.lax.scan(step, start, steps)
        return state, winners, won_early, returns, state.terminated | state.truncated

    return jax.jit(jax.vmap(game))
