"""JSON from outside: the fields of a saved game and of a request, each checked when it is read."""

import json
import reprlib
from typing import Any, NoReturn


class Fields:
    """The fields of a JSON object. A missing field has the default; without a default, it is wrong.

    All methods raise ValueError for a wrong field, with its name and what was expected.
    """

    def __init__(self, content: str | bytes, what: str) -> None:
        """Reads the JSON object that `what` names in messages. Raises ValueError for other content."""
        self._what = what
        try:
            parsed = json.loads(content)
        except (ValueError, RecursionError):
            parsed = None
        if not isinstance(parsed, dict):
            raise ValueError(f"the {what} must be a JSON object")
        self._fields: dict[str, Any] = parsed

    def text(self, name: str, default: str | None = None) -> str:
        """Returns a text."""
        value = self._fields.get(name, default)
        if not isinstance(value, str):
            self._refuse(name, "a text", value)
        return value

    def text_or_none(self, name: str) -> str | None:
        """Returns a text, None if the field is missing or null."""
        return None if self._fields.get(name) is None else self.text(name)

    def texts(self, name: str) -> list[str]:
        """Returns a list of texts."""
        value = self._fields.get(name)
        if not isinstance(value, list) or not all(isinstance(text, str) for text in value):  # pyright: ignore[reportUnknownVariableType]  # JSON has no types
            self._refuse(name, "a list of texts", value)
        return value  # pyright: ignore[reportUnknownVariableType]  # as above

    def integer(self, name: str, default: int | None = None) -> int:
        """Returns an integer from 0 to 2^31 - 1."""
        value = self._fields.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
            self._refuse(name, f"an integer from 0 to {2**31 - 1}", value)
        return value

    def integer_or_none(self, name: str) -> int | None:
        """Returns an integer from 0 to 2^31 - 1, None if the field is missing or null."""
        return None if self._fields.get(name) is None else self.integer(name)

    def flag(self, name: str) -> bool:
        """Returns a bool; False if the field is missing."""
        value = self._fields.get(name, False)
        if not isinstance(value, bool):
            self._refuse(name, "true or false", value)
        return value

    def _refuse(self, name: str, expected: str, value: Any) -> NoReturn:
        raise ValueError(f"{name!r} of the {self._what} must be {expected}, not {reprlib.repr(value)}")
