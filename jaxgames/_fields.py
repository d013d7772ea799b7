"""JSON from outside: the fields of a record of a game and of a request, each checked when it is read."""

import json
import reprlib
from collections.abc import Callable
from typing import Any, NoReturn


class Fields:
    """The fields of a JSON object. A missing field has the default; without a default, it is wrong.

    All methods raise ValueError for a wrong field, with its name and what was expected.
    """

    def __init__(self, content: object, what: str) -> None:
        """Takes a JSON object, or reads it from a text or bytes; `what` names it in messages."""
        self._what = what
        if isinstance(content, str | bytes):
            try:
                content = json.loads(content)
            except (ValueError, RecursionError):
                content = None
        if not isinstance(content, dict):
            raise ValueError(f"{what} must be a JSON object")
        self.content: dict[str, Any] = content

    def text(self, name: str, default: str | None = None) -> str:
        """Returns a text."""
        value = self.content.get(name, default)
        if not isinstance(value, str):
            self._refuse(name, "a text", value)
        return value

    def text_or_none(self, name: str) -> str | None:
        """Returns a text, None if the field is missing or null."""
        return None if self.content.get(name) is None else self.text(name)

    def texts(self, name: str) -> list[str]:
        """Returns a list of texts."""
        return self._list(name, lambda item: isinstance(item, str), "a list of texts")

    def integers(self, name: str) -> list[int]:
        """Returns a list of integers."""
        return self._list(name, lambda item: type(item) is int, "a list of integers")

    def numbers(self, name: str) -> list[float]:
        """Returns a list of numbers between -10^9 and 10^9."""
        return self._list(name, lambda item: type(item) in (int, float) and abs(item) < 10**9, "a list of numbers")

    def integer(self, name: str, default: int | None = None) -> int:
        """Returns an integer from 0 to 2^31 - 1."""
        value = self.content.get(name, default)
        if type(value) is not int or not 0 <= value < 2**31:
            self._refuse(name, f"an integer from 0 to {2**31 - 1}", value)
        return value

    def integer_or_none(self, name: str) -> int | None:
        """Returns an integer from 0 to 2^31 - 1, None if the field is missing or null."""
        return None if self.content.get(name) is None else self.integer(name)

    def flag(self, name: str) -> bool:
        """Returns a bool; False if the field is missing."""
        value = self.content.get(name, False)
        if not isinstance(value, bool):
            self._refuse(name, "true or false", value)
        return value

    def _list(self, name: str, is_one: Callable[[Any], bool], expected: str) -> list[Any]:
        value = self.content.get(name)
        if not isinstance(value, list) or not all(map(is_one, value)):  # pyright: ignore[reportUnknownVariableType]  # JSON has no types
            self._refuse(name, expected, value)
        return value  # pyright: ignore[reportUnknownVariableType]  # as above

    def _refuse(self, name: str, expected: str, value: Any) -> NoReturn:
        raise ValueError(f"{name!r} of {self._what} must be {expected}, not {reprlib.repr(value)}")
