"""Only White's pawns promote, and all other moves are those of minichess with king capture."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from examples.papers.alpha_mini import rules

MATERIAL = {"rules": "king_capture", "reward": "material", "promotion": "queen"}


def played(env: Any, text: str, move: str) -> Any:
    state = env.from_string(text)
    return env.step(state, env.action_from_string(state, move))


@pytest.fixture(scope="module")
def variant() -> Any:
    return rules.OnlyWhitePromotes(reward="material")


@pytest.mark.slow  # compiles the rules of two games
def test_pawn_of_white_becomes_a_queen_and_one_of_black_stays(variant: Any) -> None:
    white = played(variant, "k4/3P1/5/5/K4 w - - 0 1", "d4d5q")
    assert variant.to_string(white).startswith("k2Q1/5/5/5/K4")
    black = played(variant, "k4/5/5/3p1/K4 b - - 0 1", "d2d1q")
    assert variant.to_string(black).startswith("k4/5/5/5/K2p1")
    np.testing.assert_allclose(white.rewards, [0.829, -0.829], atol=1e-6)
    np.testing.assert_allclose(black.rewards, [0, 0], atol=1e-6)


@pytest.mark.slow
def test_pawn_of_black_that_captures_on_its_last_rank_is_paid_for_the_capture_only(variant: Any) -> None:
    after = played(variant, "k4/5/5/3p1/K3R b - - 0 1", "d2e1q")
    assert variant.to_string(after).startswith("k4/5/5/5/K3p")
    np.testing.assert_allclose(after.rewards, [-0.479, 0.479], atol=1e-6)


@pytest.mark.slow
def test_random_games_are_those_of_minichess_until_a_pawn_of_black_promotes(variant: Any) -> None:
    both = [variant, jaxgames.make("minichess", **MATERIAL)]

    @jax.jit
    def compare(key: jax.Array) -> tuple[jax.Array, jax.Array]:
        def step(carry: Any, key: jax.Array) -> tuple[Any, Any]:
            one, other, promoted = carry
            mask = both[0].legal_action_mask(one)
            action = jax.random.categorical(key, jnp.where(mask, 0.0, -jnp.inf))
            after = [env.step(state, action) for env, state in zip(both, (one, other), strict=True)]
            promoted |= (one.current_player == 1) & (after[1].position.queens != after[0].position.queens)
            same = jax.tree.reduce(jnp.logical_and, jax.tree.map(lambda a, b: (a == b).all(), *after))
            return (*after, promoted), (same, promoted)

        start = both[0].init(), both[1].init(), jnp.bool_(False)
        return jax.lax.scan(step, start, jax.random.split(key, 60))[1]

    same, promoted = jax.vmap(compare)(jax.random.split(jax.random.key(0), 64))
    assert bool((same | promoted).all())
    assert 0 < int(promoted.any(1).sum()) < 64  # some games have such a pawn, others have none


def test_rules_of_the_variant_cannot_be_changed() -> None:
    with pytest.raises(jaxgames.ParameterError, match="rules=king_capture and promotion=queen"):
        rules.OnlyWhitePromotes(promotion="all")
    with pytest.raises(jaxgames.ParameterError, match="rules=king_capture and promotion=queen"):
        rules.OnlyWhitePromotes(rules="standard")
