"""`make`, `list_games`, `register` and `as_env`: games by name, those of the library and those of a user's module."""

import pickle
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import jaxgames
from jaxgames import ParameterError
from jaxgames.games.chinese_checkers import ChineseCheckers
from jaxgames.registry import as_env
from tests.helpers.registrations import temporary_registrations

# -- make ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "chinese_checkers(size=2,num_players=3,reward='goal',max_rounds=9)",
        "chinese_checkers(size=2, num_players=3, reward=goal, max_rounds=9)",  # a shell has eaten the quotes
        "  chinese_checkers ( max_rounds = 9, reward = goal, num_players = 3, size = 2 )  ",
    ],
)
def test_one_string_makes_the_same_env_as_keywords(text: str) -> None:
    expected = ChineseCheckers(size=2, num_players=3, reward="goal", max_rounds=9)
    assert jaxgames.make(text) == jaxgames.make("chinese_checkers(size=2, reward=goal)", num_players=3, max_rounds=9)
    assert jaxgames.make(text) == expected
    assert jaxgames.make("chinese_checkers") == ChineseCheckers() != expected


# -- refused by make: a ValueError shows the offending part and what is allowed ----------------------------------


MALFORMED = [
    "",
    "chinese_checkers(",
    "chinese_checkers(2)",
    "chinese_checkers(size=)",
    "chinese_checkers(**{'size': 2})",
    "chinese-checkers",
    "chinese_checkers(size=2); print(1)",
    "own_game:of_two:of_two",
]


@pytest.mark.parametrize(
    ("text", "parameters", "named"),
    [
        ("chess_on_the_moon(size=2)", {}, ("chess_on_the_moon", *jaxgames.list_games())),
        ("Chinese_Checkers", {}, ("Chinese_Checkers",)),
        ("chinese_checkers(size=2)", {"size": 2}, ("size",)),
        ("chinese_checkers(size=2, size=3)", {}, ("size",)),
        *((f"chinese_checkers(size={value})", {}, ("size",)) for value in ("__import__('os')", "1 + 1")),
        *((id, {}, (repr(id),)) for id in (None, 4, ["chinese_checkers"], b"chinese_checkers")),
        ("chinese_checkers", {"sise": 2}, ("'sise'", "size", "num_players", "reward", "max_rounds")),
        *((text, {}, ("'chinese_checkers'", repr(text), *jaxgames.list_games())) for text in MALFORMED),
        *(  # 2.0 and True would make envs that are equal to others but not the same
            ("chinese_checkers", {parameter: value}, (parameter, repr(value)))
            for parameter, value in (("size", 2.0), ("num_players", True), ("reward", b"goal"), ("max_rounds", [2]))
        ),
    ],
)
def test_wrong_name_or_value_is_refused_with_the_allowed_ones(
    text: Any, parameters: dict[str, Any], named: tuple[str, ...]
) -> None:
    with pytest.raises(ParameterError) as error:
        jaxgames.make(text, **parameters)
    assert all(name in str(error.value) for name in named)


# -- any text -----------------------------------------------------------------------------------------------------

NAMES = st.sampled_from(
    [*jaxgames.list_games(), "size", "rows", "reward", "no_module:game", "", "goal", "(", ")", "\0"]
)
NUMBERS = st.integers() | st.just(10**400) | st.floats()
LITERALS = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=3) | st.binary(max_size=2),
    lambda values: st.lists(values, max_size=2) | st.dictionaries(st.text(max_size=1), values, max_size=2),
    max_leaves=4,
)
VALUES = st.one_of(LITERALS.map(repr), st.text(" ()[]{}=,:'\"-*+\\0a.\n", max_size=8), NAMES)


def test_any_text_makes_an_env_or_is_a_parameter_error() -> None:
    made = list[str]()

    @settings(max_examples=60, deadline=None, database=None)
    @given(
        name=NAMES,
        pairs=st.lists(st.tuples(NAMES, VALUES), max_size=3),
        end=st.sampled_from([")", "", ")(", "))", ").id"]),
        keywords=st.dictionaries(st.sampled_from(["size", "rows", "reward", "max_plies"]), LITERALS, max_size=1),
    )
    @example(name="dots_and_boxes", pairs=[("cols", "3")], end=")", keywords={"rows": 2})
    def check(name: str, pairs: list[tuple[str, str]], end: str, keywords: dict[str, Any]) -> None:
        text = f"{name}({', '.join(f'{parameter}={value}' for parameter, value in pairs)}{end}"
        try:
            env = jaxgames.make(text, **keywords)
        except ParameterError:
            return
        assert jaxgames.make(str(env)) == env
        made.append(str(env))

    check()
    assert jaxgames.make("dots_and_boxes", rows=2, cols=3) in map(jaxgames.make, made)


# -- list_games and register ------------------------------------------------------------------------------------


class TwoSeats(ChineseCheckers):
    """A user's own game: the built-in one for two seats only."""

    def __init__(self, size: int = 1) -> None:
        super().__init__(size=size, num_players=2)


def test_registered_game_is_made_like_any_other() -> None:
    jaxgames.register("two_seats", TwoSeats)
    assert "two_seats" in jaxgames.list_games()
    assert jaxgames.list_games() == sorted(jaxgames.list_games())
    assert jaxgames.make("two_seats") == TwoSeats()
    assert jaxgames.make("two_seats(size=3)") == jaxgames.make("two_seats", size=3) == TwoSeats(3)
    with pytest.raises(ParameterError, match="size"):
        jaxgames.make("two_seats", num_players=3)
    jaxgames.register("six_seats", lambda **parameters: ChineseCheckers(num_players=6, **parameters))
    assert jaxgames.make("six_seats", size=2) == ChineseCheckers(size=2)  # any callable, which checks its keywords


@pytest.mark.parametrize(
    ("id", "constructor", "error"),
    [
        ("chinese_checkers", TwoSeats, ValueError),  # taken
        ("two seats", TwoSeats, ValueError),
        ("", TwoSeats, ValueError),
        ("two_seats", 3, TypeError),
    ],
)
def test_register_refuses_a_wrong_id_or_constructor(id: str, constructor: Any, error: type[Exception]) -> None:
    before = jaxgames.list_games()
    with pytest.raises(error) as refused:
        jaxgames.register(id, constructor)
    assert repr(id) in str(refused.value)
    assert jaxgames.list_games() == before


# -- "module:game" ------------------------------------------------------------------------------------------------

OF_TWO = """
import jaxgames
from jaxgames.games.dots_and_boxes import DotsAndBoxes

class OfTwo(DotsAndBoxes):
    id = "of_two"

jaxgames.register("of_two", OfTwo)
"""


@pytest.fixture
def own_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to import from, with a package `own_game` whose module `of_two` registers a game."""
    (tmp_path / "own_game").mkdir()
    (tmp_path / "own_game/__init__.py").touch()
    (tmp_path / "own_game/of_two.py").write_text(OF_TWO)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "own_game", raising=False)  # that of another test's folder
    return tmp_path


@pytest.mark.usefixtures("own_modules")
@pytest.mark.parametrize("text", ["own_game.of_two:of_two(rows=2)", "  own_game.of_two : of_two ( rows = 2 )  "])
def test_module_before_a_colon_is_imported_and_its_game_made(text: str) -> None:
    env = jaxgames.make(text)
    assert (env.id, vars(env)["rows"]) == ("of_two", 2)
    assert jaxgames.make("own_game.of_two:of_two", rows=2) == jaxgames.make("of_two", rows=2) == env


@pytest.mark.usefixtures("own_modules")
def test_string_of_an_imported_game_makes_it_where_nothing_is_imported() -> None:
    with temporary_registrations():
        text = str(jaxgames.make("own_game.of_two:of_two(rows=2, reward=margin)"))
    assert text == "own_game.of_two:of_two(rows=2, cols=5, reward='margin')"
    assert "own_game.of_two" not in sys.modules
    assert "of_two" not in jaxgames.list_games()
    assert str(jaxgames.make(text)) == text
    assert str(jaxgames.make("math:of_two(rows=2, reward=margin)")) == text  # a module that finds the game registered


@pytest.mark.parametrize(
    ("source", "text", "message"),
    [
        ("", "os:system('true')", r"'os' must call jaxgames\.register\('system'"),
        ("", "no_such_module:nim", "'no_such_module' .* 'no_such_module:nim'"),
        ("", "own_game.of_two.deeper:nim", "no module 'own_game.of_two.deeper'"),
        ("", "own_game.broken:nim", r"'own_game.broken' must call jaxgames.register\('nim'"),
        ("import no_module", "own_game.broken:nim", "'own_game.broken' .* ModuleNotFoundError"),
        ("1 / 0", "own_game.broken:nim", "'own_game.broken' .* ZeroDivisionError"),
        ("def", "own_game.broken:nim", "'own_game.broken' .* SyntaxError"),
        ("", "own_game.of_two:checkers", "'checkers' .* write it without 'own_game.of_two:'"),
    ],
)
def test_module_is_refused_when_it_does_not_register_the_game(
    own_modules: Path, source: str, text: str, message: str
) -> None:
    (own_modules / "own_game/broken.py").write_text(source)
    sys.modules.pop("own_game.broken", None)
    with pytest.raises(ParameterError, match=message):
        jaxgames.make(text)


# -- as_env -------------------------------------------------------------------------------------------------------


def test_env_or_text_becomes_an_env() -> None:
    env = jaxgames.make("chinese_checkers(size=1)")
    assert as_env(env) is env
    assert as_env("chinese_checkers(size=1)") == as_env("chinese_checkers", size=1) == env
    with pytest.raises(TypeError, match="size: parameters go with a text"):
        as_env(ChineseCheckers(), size=1)
    for other in (3, None, ChineseCheckers):
        wrong: Any = other
        with pytest.raises(TypeError, match=r"expected an env or a text such as 'chinese_checkers\(size=2\)', not"):
            as_env(wrong)
    with pytest.raises(ValueError, match=r"restarts finished boards: pass chinese_checkers\(size=1, .*without"):
        as_env(jaxgames.auto_reset(env))


def test_errors_have_their_public_names_in_tracebacks() -> None:
    with pytest.raises(jaxgames.ParameterError) as raised:
        jaxgames.make("minichess", board="large")
    assert traceback.format_exception_only(raised.value)[0].startswith("jaxgames.ParameterError: board must be one of")
    assert type(pickle.loads(pickle.dumps(raised.value))) is jaxgames.ParameterError


# -- long texts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        f"checkers(a={'1+' * 50_000}1)",
        f"checkers(a=x{'.a' * 50_000})",
        f"checkers({'(a,' * 7000})",
        f"checkers{'()' * 3000}",
        "-" * 100_000,
        f"checkers({'x' * 100_000}=1)",
    ],
    ids=range(6),
)
def test_text_that_is_too_deep_or_too_long_is_refused_at_once_in_a_short_message(text: str) -> None:
    start = time.process_time()
    with pytest.raises(ParameterError) as caught:
        jaxgames.make(text)
    assert len(str(caught.value)) < 1000
    assert time.process_time() - start < 1
