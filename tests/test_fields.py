"""Fields of JSON from outside: wrong ones are refused with their names. `test_game_file.py` has whole files."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from jaxgames._fields import Fields


def fields(**content: Any) -> Fields:
    return Fields(json.dumps(content), "the request")


def test_missing_fields_have_their_defaults() -> None:
    empty = fields()
    assert (empty.text("a", "b"), empty.integer("a", 1), empty.flag("a")) == ("b", 1, False)
    assert (empty.text_or_none("a"), empty.integer_or_none("a")) == (None, None)


@pytest.mark.parametrize(
    ("read", "value"),
    [
        *((lambda content: content.text("name"), value) for value in (3, None)),
        *((lambda content: content.texts("name"), value) for value in ("a", None, [1])),
        *((lambda content: content.integer("name", 1), value) for value in (-1, 2**31, True, 1.5, None, "1")),
        *((lambda content: content.integers("name"), value) for value in (1, None, ["1"], [True], [1.5])),
        *((lambda content: content.numbers("name"), value) for value in (1, ["1"], [True], [10**400], [float("nan")])),
        *((lambda content: content.flag("name"), value) for value in (0, None, "true")),
        (lambda content: content.text_or_none("name"), 3),
        (lambda content: content.integer_or_none("name"), "1"),
    ],
)
def test_wrong_field_is_refused_with_its_name(read: Callable[[Fields], Any], value: Any) -> None:
    with pytest.raises(ValueError, match="'name' of the request must be "):
        read(fields(name=value))
