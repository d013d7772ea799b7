"""Every game keeps the contract of `jaxgames.testing.check_env`, and has the parameters and values of its page.

`check_env` is given the boards of the rules, which random play hardly reaches.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import jax
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxgames
from jaxgames import ParameterError, registry
from jaxgames.testing import check_env
from tests.contract.games import each_game, of_each_game
from tests.contract.test_rules import begun, ended
from tests.helpers.cases import Cases


@of_each_game("env", lambda cases: cases.fast)
def test_game_keeps_the_contract(cases: Cases, env: str) -> None:
    check_env(jaxgames.make(env), games=8, steps=80)


def boards_of(cases: Cases) -> dict[str, list[Any]]:
    """Returns the boards to check by their envs. Those of rules with counters are left out: play may not reach them."""
    boards: dict[str, list[Any]] = {env: list(texts) for env, texts in cases.positions.items()}
    for rule in cases.rules:
        if not rule.counters:
            boards.setdefault(rule.env, []).extend([begun(rule), ended(rule)] if rule.plays else [begun(rule)])
    return boards


@each_game
def test_boards_of_the_rules_keep_the_contract(cases: Cases) -> None:
    """The env with the most boards of each game."""
    env, boards = max(boards_of(cases).items(), key=lambda item: len(item[1]))
    check_env(jaxgames.make(env), positions=boards, games=8, steps=1)


@pytest.mark.slow
@each_game
def test_boards_of_all_rules_keep_the_contract(cases: Cases) -> None:
    for env, boards in boards_of(cases).items():
        check_env(jaxgames.make(env), positions=boards, games=8, steps=1)


@pytest.mark.parametrize(
    "env",
    [
        "dots_and_boxes(rows=1, cols=2)",
        *(
            pytest.param(env, marks=pytest.mark.slow)
            for env in (
                "checkers",
                "chinese_checkers(size=1, num_players=2)",
                "chinese_checkers_diamond(size=3, pieces=1)",
                "minichess",
                "minichess(rules='king_capture')",
            )
        ),
    ],
)
def test_game_keeps_the_contract_with_x64_and_without_nans(env: str) -> None:
    """Tracing with x64, fast for all games, is in `test_tracing.py`."""
    with jax.enable_x64(True), jax.debug_nans(True):
        check_env(jaxgames.make(env), games=2, steps=20)


@pytest.mark.slow
@of_each_game("env", lambda cases: [*cases.fast, *cases.slow])
def test_every_parameter_set_keeps_the_contract(cases: Cases, env: str) -> None:
    check_env(jaxgames.make(env), games=32, steps=200, seed=1)


# -- parameters and plain values ---------------------------------------------------------------------------------------


@each_game
def test_every_parameter_is_among_those_checked(cases: Cases) -> None:
    """Each parameter has at least two values in the sets, the default among them or not."""
    assert {text.split("(")[0] for text in (*cases.fast, *cases.slow)} == {cases.id}
    envs = [jaxgames.make(cases.id), *map(jaxgames.make, (*cases.fast, *cases.slow))]
    for parameter in (f.name for f in dataclasses.fields(type(envs[0])) if f.init):  # pyright: ignore[reportArgumentType]  # every env is a dataclass
        assert len({getattr(env, parameter) for env in envs}) > 1, f"{cases.id}: {parameter}"


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


@of_each_game("wrong", lambda cases: cases.wrong_parameters)
def test_wrong_parameter_is_explained(cases: Cases, wrong: tuple[Mapping[str, Any], str]) -> None:
    parameters, message = wrong
    with pytest.raises(ParameterError) as error:
        jaxgames.make(cases.id, **parameters)
    assert message in str(error.value)
