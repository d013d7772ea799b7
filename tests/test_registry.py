"""`make`, `list_games`, `register`, and what is promised of every env before a device is touched."""

import ast
import os
import subprocess
import sys
from typing import Any

import jax
import pytest

import jaxgames
from jaxgames import ParameterError, ParameterTypeError, registry
from jaxgames.games.chinese_checkers import ChineseCheckers

# -- make ---------------------------------------------------------------------------------------------------


def test_a_name_alone_gives_the_defaults() -> None:
    env = jaxgames.make("chinese_checkers")
    assert env == jaxgames.make("chinese_checkers", size=4, num_players=6, reward="positive_sum", max_rounds=1000)
    assert env.id == "chinese_checkers"


@pytest.mark.parametrize(
    "text",
    [
        "chinese_checkers(size=2, num_players=3, reward='goal', max_rounds=9)",
        'chinese_checkers(size=2,num_players=3,reward="goal",max_rounds=9)',
        "chinese_checkers(size=2, num_players=3, reward=goal, max_rounds=9)",  # a shell has eaten the quotes
        "  chinese_checkers ( max_rounds = 9, reward = goal, num_players = 3, size = 2 )  ",
    ],
)
def test_one_string_says_the_same_as_keywords(text: str) -> None:
    expected = jaxgames.make("chinese_checkers", size=2, num_players=3, reward="goal", max_rounds=9)
    assert jaxgames.make(text) == expected


def test_a_string_and_keywords_add_up() -> None:
    assert jaxgames.make("chinese_checkers(size=2)", num_players=3) == jaxgames.make(
        "chinese_checkers", size=2, num_players=3
    )


def test_empty_brackets_are_no_parameters() -> None:
    assert jaxgames.make("chinese_checkers()") == jaxgames.make("chinese_checkers")


@pytest.mark.parametrize(
    "parameters",
    [{}, {"size": 1}, {"size": 8, "num_players": 2}, {"reward": "win_loss"}, {"num_players": 4, "max_rounds": 7}],
)
def test_the_string_of_an_env_makes_an_equal_env(parameters: dict[str, Any]) -> None:
    env = jaxgames.make("chinese_checkers", **parameters)
    assert jaxgames.make(str(env)) == env
    assert all(f"{name}={value!r}" in str(env) for name, value in parameters.items())


# -- what make refuses: ValueError that shows the offending part and what is allowed --------------------------------


@pytest.mark.parametrize("name", ["chess_on_the_moon", "Chinese_Checkers", "chess_on_the_moon(size=2)"])
def test_an_unknown_game_is_answered_with_those_that_there_are(name: str) -> None:
    with pytest.raises(ParameterError) as error:
        jaxgames.make(name)
    assert name.split("(")[0] in str(error.value)
    assert all(known in str(error.value) for known in jaxgames.list_games())


def test_an_unknown_parameter_is_answered_with_those_that_there_are() -> None:
    with pytest.raises(ParameterError) as error:
        jaxgames.make("chinese_checkers", sise=2)
    assert "'sise'" in str(error.value)
    assert all(known in str(error.value) for known in ("size", "num_players", "reward", "max_rounds"))


@pytest.mark.parametrize(
    ("parameter", "value", "allowed"),
    [
        ("size", 0, "1 to 8"),
        ("size", 9, "1 to 8"),
        ("size", -1, "1 to 8"),
        ("num_players", 1, "2, 3, 4, 6"),
        ("num_players", 5, "2, 3, 4, 6"),
        ("num_players", 7, "2, 3, 4, 6"),
        ("reward", "dense", "'sparse', 'goal', 'movement', 'positive_sum', 'win_loss'"),
        ("reward", "", "'sparse', 'goal', 'movement', 'positive_sum', 'win_loss'"),
        ("max_rounds", 0, "from 1"),
        ("max_rounds", -5, "from 1"),
    ],
)
def test_a_value_that_is_not_allowed(parameter: str, value: Any, allowed: str) -> None:
    with pytest.raises(ParameterError) as error:
        jaxgames.make("chinese_checkers", **{parameter: value})
    assert parameter in str(error.value)
    assert allowed in str(error.value)
    assert repr(value) in str(error.value)
    assert not isinstance(error.value, TypeError)


@pytest.mark.parametrize("parameter", ["size", "num_players", "reward", "max_rounds"])
@pytest.mark.parametrize("value", [2.0, True, b"2", (2,), [2]])
def test_a_value_of_the_wrong_type(parameter: str, value: Any) -> None:
    """Equal to an allowed value is not enough: `2.0` and `True` would make envs that are equal but not the same."""
    with pytest.raises(ParameterTypeError) as error:
        jaxgames.make("chinese_checkers", **{parameter: value})
    assert parameter in str(error.value)
    assert repr(value) in str(error.value)
    assert isinstance(error.value, ValueError)


@pytest.mark.parametrize(
    ("parameter", "value"), [("size", "2"), ("num_players", "six"), ("max_rounds", "9"), ("reward", 1), ("size", None)]
)
def test_numbers_are_not_words(parameter: str, value: Any) -> None:
    with pytest.raises(ParameterTypeError, match=parameter):
        jaxgames.make("chinese_checkers", **{parameter: value})


@pytest.mark.parametrize(
    ("text", "parameters"),
    [
        ("chinese_checkers(size=2)", {"size": 2}),
        ("chinese_checkers(size=2)", {"size": 3}),
        ("chinese_checkers(size=2, size=3)", {}),
    ],
)
def test_a_parameter_given_twice(text: str, parameters: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="size"):
        jaxgames.make(text, **parameters)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "chinese_checkers(",
        "chinese_checkers)",
        "chinese_checkers(2)",
        "chinese_checkers(size)",
        "chinese_checkers(size=)",
        "chinese_checkers(size==2)",
        "chinese_checkers(**{'size': 2})",
        "chinese_checkers(size=2)(num_players=2)",
        "chinese_checkers(size=2).id",
        "jaxgames.chinese_checkers(size=2)",
        "chinese_checkers size=2",
        "chinese-checkers",
        "chinese_checkers(size=2); print(1)",
        "chinese_checkers\0",
        "'chinese_checkers'",
        "2",
    ],
)
def test_a_malformed_string_is_shown_with_what_is_expected(text: str) -> None:
    with pytest.raises(ParameterError, match="chinese_checkers") as error:
        jaxgames.make(text)
    assert repr(text) in str(error.value)


@pytest.mark.parametrize("value", ["print(1)", "__import__('os')", "[n for n in (1, 2)]", "1 + 1", "size.real"])
def test_a_value_in_a_string_is_a_literal_and_never_run(value: str) -> None:
    with pytest.raises(ParameterError, match="size"):
        jaxgames.make(f"chinese_checkers(size={value})")


@pytest.mark.parametrize("id", [None, 4, ["chinese_checkers"], b"chinese_checkers"])
def test_the_name_must_be_a_string(id: Any) -> None:
    with pytest.raises(ParameterError) as error:
        jaxgames.make(id)
    assert repr(id) in str(error.value)


# -- list_games and register ------------------------------------------------------------------------------------


@pytest.fixture
def own_games(monkeypatch: pytest.MonkeyPatch) -> None:
    """Games registered in a test are forgotten after it."""
    monkeypatch.setattr(registry, "_constructors", dict(vars(registry)["_constructors"]))


class TwoSeats(ChineseCheckers):
    """A game of one's own: the built-in one for two seats only."""

    def __init__(self, size: int = 1) -> None:
        super().__init__(size=size, num_players=2)


def test_the_games_are_listed_in_order() -> None:
    games = jaxgames.list_games()
    assert "chinese_checkers" in games
    assert games == sorted(games)
    games.clear()
    assert jaxgames.list_games()


@pytest.mark.usefixtures("own_games")
def test_a_registered_game_is_made_like_any_other() -> None:
    jaxgames.register("two_seats", TwoSeats)
    assert "two_seats" in jaxgames.list_games()
    assert jaxgames.make("two_seats") == TwoSeats()
    assert jaxgames.make("two_seats(size=3)") == jaxgames.make("two_seats", size=3) == TwoSeats(3)
    with pytest.raises(ParameterError, match="size"):
        jaxgames.make("two_seats", num_players=3)


@pytest.mark.usefixtures("own_games")
def test_any_callable_can_be_registered() -> None:
    """One that takes any keywords checks them itself."""
    jaxgames.register("six_seats", lambda **parameters: ChineseCheckers(num_players=6, **parameters))
    assert jaxgames.make("six_seats", size=2) == jaxgames.make("chinese_checkers", size=2, num_players=6)


@pytest.mark.usefixtures("own_games")
@pytest.mark.parametrize(
    ("id", "constructor", "error"),
    [
        ("chinese_checkers", TwoSeats, ValueError),  # taken
        ("two seats", TwoSeats, ValueError),
        ("2seats", TwoSeats, ValueError),
        ("two-seats", TwoSeats, ValueError),
        ("two_seats(size=2)", TwoSeats, ValueError),
        ("", TwoSeats, ValueError),
        ("two_seats", None, TypeError),
        ("two_seats", "TwoSeats", TypeError),
    ],
)
def test_what_register_refuses(id: str, constructor: Any, error: type[Exception]) -> None:
    before = jaxgames.list_games()
    with pytest.raises(error) as refused:
        jaxgames.register(id, constructor)
    assert repr(id) in str(refused.value)
    assert jaxgames.list_games() == before


# -- an env is a value --------------------------------------------------------------------------------------------


def test_envs_with_the_same_parameters_are_one_value() -> None:
    one, same = jaxgames.make("chinese_checkers", size=2), jaxgames.make("chinese_checkers(size=2)")
    assert one == same
    assert hash(one) == hash(same)
    for other in (
        {"size": 3},
        {"size": 2, "num_players": 2},
        {"size": 2, "reward": "goal"},
        {"size": 2, "max_rounds": 3},
    ):
        assert one != jaxgames.make("chinese_checkers", **other)


def test_an_env_cannot_be_changed() -> None:
    env = jaxgames.make("chinese_checkers")
    with pytest.raises(AttributeError):
        env.size = 2  # pyright: ignore[reportAttributeAccessIssue]  # the point of the test


def test_an_env_is_static_under_jit() -> None:
    """Plain properties of an argument can be used as shapes."""
    count = jax.jit(lambda env: jax.numpy.zeros(env.num_actions), static_argnums=0)
    assert count(jaxgames.make("chinese_checkers", size=1)).shape == (79,)
    assert count(jaxgames.make("chinese_checkers")).shape == (727,)


# -- no device is touched ---------------------------------------------------------------------------------------------

IMPORT_ONLY = "import jaxgames"
MAKE_AND_ASK = """
import jaxgames
for name in jaxgames.list_games():
    env = jaxgames.make(name)
    assert hash(env) == hash(jaxgames.make(str(env)))
    print(env.id, env.num_players, env.num_actions, env.observation_shape)
    print(env.max_steps, env.reward_range, env.zero_sum)
    for value in (env.num_players, env.num_actions, *env.observation_shape):
        assert type(value) is int
    assert env.max_steps is None or type(env.max_steps) is int
    assert [type(value) for value in env.reward_range] == [float, float]
    assert type(env.zero_sum) is bool
"""


@pytest.mark.parametrize("script", [IMPORT_ONLY, MAKE_AND_ASK], ids=["import", "make"])
def test_no_device_is_initialised(script: str) -> None:
    """Neither by the import nor by an env and its plain properties, which are plain Python values."""
    report = "from jax._src import xla_bridge; print(xla_bridge.backends_are_initialized())"
    ran = subprocess.run(
        [sys.executable, "-c", f"{script}\n{report}"], capture_output=True, text=True, env=dict(os.environ)
    )
    assert ran.returncode == 0, ran.stderr
    assert ast.literal_eval(ran.stdout.splitlines()[-1]) is False
