"""Programs of games when they are traced: keys that nothing uses, implicit promotion, x64."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import jaxgames
from jaxgames.greedy import action_scores
from jaxgames.sampling import random_action
from tests.contract.games import each_game, of_each_game
from tests.helpers.cases import Cases


@each_game
def test_key_is_not_used(cases: Cases) -> None:
    """`init` and `step` take a key in every game; nothing is random in these."""
    env = jaxgames.make(cases.id)
    state, key = env.init(), jax.random.key(0)
    init = jax.make_jaxpr(lambda key: env.init(key))(key)
    step = jax.make_jaxpr(lambda state, action, key: env.step(state, action, key))(state, jnp.int32(0), key)
    for program in (init.jaxpr, step.jaxpr):
        key_in = program.invars[-1]
        assert all(key_in is not used for equation in program.eqns for used in equation.invars)
        assert all(key_in is not out for out in program.outvars)


@pytest.mark.usefixtures("every_form")
@of_each_game("env", lambda cases: [*cases.fast, cases.slow[0]])
def test_game_is_traced_without_implicit_promotion(cases: Cases, env: str) -> None:
    """Under `jax_numpy_rank_promotion=raise` and `jax_numpy_dtype_promotion=strict`, which look at types alone."""
    game = jaxgames.make(env)
    text = game.to_string(game.init())
    with jax.numpy_rank_promotion("raise"), jax.numpy_dtype_promotion("strict"):
        jax.eval_shape(jax.vmap(functools.partial(play, game)), jax.random.split(jax.random.key(0), 2))
        game.from_string(text)


@pytest.mark.usefixtures("every_form")
@of_each_game("env", lambda cases: cases.fast)
def test_game_is_lowered_with_x64_after_it_was_without(cases: Cases, env: str) -> None:
    """JAX keeps parts of traced programs, with the tables in them, as long as one of the programs lives."""
    game, key = jaxgames.make(env), jax.random.key(0)
    with_and_without: list[Any] = []  # both live at the same time
    for x64 in (False, True):
        with jax.enable_x64(x64):
            with_and_without.append(jax.jit(lambda key: (play(game, key), action_scores(game, game.init()))))
            with_and_without[-1].lower(key)


def play(game: jaxgames.Env[Any], key: jax.Array) -> Any:
    """Calls every traced function of a game."""
    state = game.init(key)
    after = game.step(state, random_action(key, game.legal_action_mask(state)))
    after = game.step(after, game.random_legal_action(after, key))
    return (
        game.winners(after),
        game.observe(after),
        game.observe(after, 0),
        game.observe(after, after.current_player),
    )
