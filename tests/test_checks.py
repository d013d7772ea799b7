"""What all packages share: checks of arguments, fields of JSON from outside, and the progress of long commands."""

import io
import json
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxgames import ParameterError, _progress
from jaxgames._checks import check_choice, check_int, check_number
from jaxgames._fields import Fields
from jaxgames._progress import Progress, format_seconds

VALUES = st.one_of(
    st.integers(-20, 20), st.floats(), st.booleans(), st.none(), st.text(max_size=3), st.sampled_from([(2,), [2]])
)


@settings(max_examples=300, deadline=None, database=None)
@given(value=VALUES, low=st.integers(-9, 9), high=st.integers(-9, 9))
def test_message_has_the_name_the_value_and_what_is_allowed(value: Any, low: int, high: int) -> None:
    is_number = type(value) in (int, float) and math.isfinite(value)
    choices = (low, "fast")
    cases: list[tuple[Callable[[], None], bool, tuple[str, ...]]] = [
        (
            lambda: check_int("size", value, low, high),
            type(value) is int and low <= value <= high,
            (f"{low} to {high}",),
        ),
        (lambda: check_number("size", value), is_number and value > 0, ("above 0",)),
        (lambda: check_number("size", value, low, high), is_number and low <= value <= high, (f"{low} to {high}",)),
        (
            lambda: check_choice("size", value, choices),
            type(value) in (int, str) and value in choices,
            (f"{low}, 'fast'",),
        ),
    ]
    for check, accepted, allowed in cases:
        if accepted:
            check()
            continue
        with pytest.raises(ParameterError) as raised:
            check()
        assert all(part in str(raised.value) for part in ("size", repr(value), *allowed))
        assert isinstance(raised.value, TypeError) or type(value) in (int, float, str)


def test_numbers_of_numpy_are_numbers() -> None:
    check_number("rate", np.float32(0.5), 0, 1)
    check_number("rate", np.int64(1), 0, 1)
    with pytest.raises(ParameterError, match="above 0 and up to 1, not 2"):
        check_number("rate", np.float64(2.0), None, 1)


def test_long_value_is_shortened() -> None:
    with pytest.raises(ParameterError) as raised:
        check_choice("mode", "x" * 100_000, ("a", "b"))
    assert len(str(raised.value)) < 300


# -- fields of JSON --------------------------------------------------------------------------------------------------


def fields(**content: Any) -> Fields:
    return Fields(json.dumps(content), "the request")


def test_missing_fields_have_their_defaults() -> None:
    empty = fields()
    assert (empty.text("a", "b"), empty.integer("a", 1), empty.flag("a")) == ("b", 1, False)
    assert (empty.text_or_none("a"), empty.integer_or_none("a")) == (None, None)


@pytest.mark.parametrize(
    ("read", "values"),
    [
        (lambda content: content.text("name"), (3, None)),
        (lambda content: content.texts("name"), ("a", None, [1])),
        (lambda content: content.integer("name", 1), (-1, 2**31, True, 1.5, None, "1")),
        (lambda content: content.integers("name"), (1, None, ["1"], [True], [1.5])),
        (lambda content: content.numbers("name"), (1, ["1"], [True], [10**400], [float("nan")])),
        (lambda content: content.flag("name"), (0, None, "true")),
        (lambda content: content.text_or_none("name"), (3,)),
        (lambda content: content.integer_or_none("name"), ("1",)),
    ],
)
def test_wrong_field_is_refused_with_its_name(read: Callable[[Fields], Any], values: tuple[Any, ...]) -> None:
    for value in values:
        with pytest.raises(ValueError, match="'name' of the request must be "):
            read(fields(name=value))


# -- progress: lines into a pipe when units end, a bar on a terminal -----------------------------------------------


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_pipe_gets_a_line_with_the_time_left_when_one_is_due(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line after ten seconds, then every ten seconds, and every minute after ten minutes."""
    clock = [0.0]
    monkeypatch.setattr(_progress.time, "monotonic", lambda: clock[0])
    with Progress(4000, "games", "ladder") as bar:
        for number, clock[0] in enumerate((9, 10, 19, 20, 600, 659, 660)):
            bar.describe(f"pair {number}")
            bar.update(500)
    assert capsys.readouterr().err.splitlines() == [
        "ladder: 1,000 of 4,000 games (25 %) in 10 s, 30 s left; pair 1",
        "ladder: 2,000 of 4,000 games (50 %) in 20 s, 20 s left; pair 3",
        "ladder: 2,500 of 4,000 games (62 %) in 10 min, 6 min left; pair 4",
        "ladder: 3,500 of 4,000 games (87 %) in 11 min, 94 s left; pair 6",
    ]


def test_time_left_is_from_the_units_that_this_command_has_ended() -> None:
    """50 games in 30 s, beside 100 that were stored, leave 50 games for 30 s."""
    with Progress(200, "games") as bar:
        bar.skip(100)
        assert bar.line(30) == "100 of 200 games (50 %) in 30 s"
        bar.update(50)
        assert bar.line(30) == "150 of 200 games (75 %) in 30 s, 30 s left"
    times = ["0 s", "99 s", "2 min", "60 min", "2 h 10 min"]
    assert [*map(format_seconds, (0.4, 99, 100, 3600, 7800))] == times


def test_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with Progress(20, "games", "random - first") as bar:
        bar.skip(5)
        bar.update(15)
        bar.write("a line of its own")
    assert "a line of its own\n" in terminal.getvalue()
    assert re.search(r"random - first: 100%\|.*\| 20.0/20.0 \[.* games/s\]", terminal.getvalue())
