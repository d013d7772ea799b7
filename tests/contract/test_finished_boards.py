"""Games end as their cases say. A finished board stays as it is and pays nothing for any action."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np

import jaxgames
from jaxgames import Env, Outcome
from tests.contract.games import each_game, of_each_game
from tests.helpers.cases import Cases, Finished
from tests.helpers.positions import LIVE, TERMINATED, TRUNCATED, compiled, is_over, play

FLAGS = {"win": TERMINATED, "draw": TERMINATED, "forfeit": TERMINATED, "truncated": TRUNCATED}


@functools.cache
def winners(env: Env[Any]) -> Callable[..., jax.Array]:
    return jax.jit(env.winners)


def played(end: Finished) -> tuple[Any, Any]:
    """The state before the last action and the one after it."""
    env = jaxgames.make(end.env)
    state = jax.device_get(env.from_string(end.position))
    counters = {name: np.asarray(value, getattr(state, name).dtype) for name, value in end.counters.items()}
    state = dataclasses.replace(state, **counters)
    if isinstance(end.actions, int):
        return state, jax.device_get(compiled(env).step(state, jnp.int32(end.actions)))
    state = play(env, state, *end.actions[:-1])
    return state, play(env, state, end.actions[-1])


@of_each_game("end", lambda cases: cases.finished)
def test_last_action_ends_the_game_and_pays(cases: Cases, end: Finished) -> None:
    env = jaxgames.make(end.env)
    before, after = played(end)
    assert is_over(before) == LIVE
    assert is_over(after) == FLAGS[end.kind]
    np.testing.assert_allclose(after.rewards, end.rewards, rtol=1e-6)
    assert after.rewards.dtype == np.float32
    assert not compiled(env).mask(after).any()


@of_each_game("end", lambda cases: cases.finished)
def test_outcome_names_the_winners_and_the_reason(cases: Cases, end: Finished) -> None:
    """Nobody has won before the last action, nor on a drawn, truncated or forfeited board."""
    env = jaxgames.make(end.env)
    before, after = played(end)
    assert env.outcome(before) == Outcome("live", (), "")
    outcome = env.outcome(after)
    assert (outcome.kind, outcome.winners) == (end.kind, end.winners)
    assert end.reason in outcome.reason
    assert not winners(env)(before).any()
    assert np.flatnonzero(winners(env)(after)).tolist() == list(end.winners)


@of_each_game("end", lambda cases: cases.finished)
def test_finished_board_is_frozen_and_pays_nothing(cases: Cases, end: Finished) -> None:
    """For legal-looking actions and for numbers that are none, again and again."""
    env = jaxgames.make(end.env)
    before, after = played(end)
    step, mask, _ = compiled(env)
    frozen = dataclasses.replace(after, rewards=np.zeros(env.num_players, np.float32))
    were_legal = np.flatnonzero(mask(before))[:2].tolist()
    for action in [*were_legal, -1, 0, env.num_actions // 2, env.num_actions - 1, env.num_actions]:
        once = jax.device_get(step(after, jnp.int32(action)))
        chex.assert_trees_all_equal(once, frozen)
        chex.assert_trees_all_equal(jax.device_get(step(once, jnp.int32(action))), frozen)
    assert env.to_string(frozen) == env.to_string(after)
    assert not mask(frozen).any()


@each_game
def test_every_kind_of_end_has_a_case(cases: Cases) -> None:
    """A game with a limit on its length can be truncated."""
    kinds = {end.kind for end in cases.finished}
    assert kinds >= {"win", "forfeit"}
    if any(parameter.startswith("max_") for parameter in vars(jaxgames.make(cases.id))):
        assert "truncated" in kinds
