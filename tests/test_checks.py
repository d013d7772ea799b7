"""Shared checks of arguments and of fields from outside: what is refused, and what the message says."""

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxgames import ParameterError
from jaxgames._checks import check_choice, check_int, check_number
from jaxgames._fields import Fields

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
