"""The plain values of an env: sizes, bounds, bytes of a board, its text, and the parameters that it refuses."""

from collections.abc import Mapping
from typing import Any

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


@each_game
def test_env_of_any_parameters_is_made_by_its_text(cases: Cases) -> None:
    """Values are those that the cases of the game name, small numbers and None. Others are a ParameterError."""
    made = set[str]()
    named = [jaxgames.make(env) for env in (*cases.fast, *cases.slow, *cases.facts)]
    known = {
        parameter.name: st.sampled_from([getattr(env, parameter.name) for env in named])
        for parameter in registry.parameters(cases.id)
    }
    others = {name: of_cases | st.integers(-1, 18) | st.none() for name, of_cases in known.items()}
    choices = st.fixed_dictionaries({}, optional=known) | st.fixed_dictionaries({}, optional=others)

    @settings(max_examples=100, deadline=None, database=None)
    @given(parameters=choices)
    def check(parameters: dict[str, Any]) -> None:
        try:
            env = jaxgames.make(cases.id, **parameters)
        except ParameterError:
            return
        assert jaxgames.make(str(env)) == env
        assert hash(jaxgames.make(str(env))) == hash(env)
        assert str(jaxgames.make(str(env))) == str(env)
        made.add(str(env))

    check()
    assert len(made) >= 5


@each_game
def test_envs_of_different_parameters_differ(cases: Cases) -> None:
    assert len({jaxgames.make(env) for env in cases.facts}) == len(cases.facts)


@of_each_game("wrong", lambda cases: cases.wrong_parameters)
def test_wrong_parameter_is_explained(cases: Cases, wrong: tuple[Mapping[str, Any], str]) -> None:
    parameters, message = wrong
    with pytest.raises(ParameterError) as error:
        jaxgames.make(cases.id, **parameters)
    assert message in str(error.value)
