"""Every game passes `jaxgames.testing.check_env`, with every value of every parameter."""

import dataclasses

import jax
import pytest

import jaxgames
from jaxgames.testing import check_env
from tests.contract.games import each_game, of_each_game
from tests.helpers.cases import Cases


@of_each_game("env", lambda cases: cases.fast)
def test_game_keeps_the_contract(cases: Cases, env: str) -> None:
    check_env(jaxgames.make(env), games=8, steps=80)


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


@each_game
def test_every_parameter_is_among_those_checked(cases: Cases) -> None:
    """Each parameter has at least two values in the sets, the default among them or not."""
    assert {text.split("(")[0] for text in (*cases.fast, *cases.slow)} == {cases.id}
    envs = [jaxgames.make(cases.id), *map(jaxgames.make, (*cases.fast, *cases.slow))]
    for parameter in (f.name for f in dataclasses.fields(type(envs[0])) if f.init):  # pyright: ignore[reportArgumentType]  # every env is a dataclass
        assert len({getattr(env, parameter) for env in envs}) > 1, f"{cases.id}: {parameter}"
