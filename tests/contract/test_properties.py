"""The plain values of an env: sizes, bounds, bytes of a board, its text, and the parameters that it refuses."""

import contextlib
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxgames
from jaxgames import ParameterError, registry
from tests.contract.games import each_game, of_each_game
from tests.helpers.cases import Cases


@of_each_game("env", lambda cases: cases.facts)
def test_properties_are_those_of_the_documentation(cases: Cases, env: str) -> None:
    made = jaxgames.make(env)
    assert {name: getattr(made, name) for name in cases.facts[env]} == cases.facts[env]
    assert made.id == cases.id


@of_each_game("env", lambda cases: cases.facts)
def test_state_has_the_fields_of_the_contract_and_its_stated_bytes(cases: Cases, env: str) -> None:
    """Shapes are read off without running anything."""
    made = jaxgames.make(env)
    state = jax.eval_shape(made.init, jax.eval_shape(lambda: jax.random.key(0)))
    assert made.state_bytes == sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state))
    assert (state.current_player.shape, state.current_player.dtype) == ((), jnp.int32)
    assert (state.rewards.shape, state.rewards.dtype) == ((made.num_players,), jnp.float32)
    for flag in (state.terminated, state.truncated):
        assert (flag.shape, flag.dtype) == ((), jnp.bool_)


@each_game
def test_env_of_any_parameters_is_made_by_its_text(cases: Cases) -> None:
    """Values are those that the cases of the game name, small numbers and None. Others are a ParameterError."""
    named = [jaxgames.make(env) for env in (*cases.fast, *cases.slow, *cases.facts)]
    values = {
        parameter.name: st.sampled_from([getattr(env, parameter.name) for env in named])
        | st.integers(-1, 18)
        | st.none()
        for parameter in registry.parameters(cases.id)
    }

    @settings(max_examples=100, deadline=None, database=None)
    @given(parameters=st.fixed_dictionaries({}, optional=values))
    def check(parameters: dict[str, Any]) -> None:
        with contextlib.suppress(ParameterError):
            env = jaxgames.make(cases.id, **parameters)
            assert jaxgames.make(str(env)) == env
            assert hash(jaxgames.make(str(env))) == hash(env)
            assert str(jaxgames.make(str(env))) == str(env)

    check()


@each_game
def test_envs_of_different_parameters_differ(cases: Cases) -> None:
    assert len({jaxgames.make(env) for env in cases.facts}) == len(cases.facts)


@of_each_game("wrong", lambda cases: cases.wrong_parameters)
def test_wrong_parameter_is_explained(cases: Cases, wrong: tuple[Mapping[str, Any], str]) -> None:
    parameters, message = wrong
    with pytest.raises(ParameterError) as error:
        jaxgames.make(cases.id, **parameters)
    assert message in str(error.value)
