"""The text of a saved game: a JSON object with the fields of `SavedGame`, the moves in the game's notation.

{"format": "jaxgames game", "version": 1, "game": "checkers(...)", "game_version": 1, "seats": ["human", "greedy"],
 "seed": 0, "start": null, "moves": ["11-15", "23-18"], "ply": 2, "resigned": null}
"""

import dataclasses
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jaxgames import registry
from jaxgames.env import Env

FORMAT, VERSION = "jaxgames game", 1


@dataclass(frozen=True, kw_only=True)
class SavedGame:
    """The content of a saved game."""

    game: str  # as `jaxgames.make` takes it
    game_version: int  # `env.version` of the rules under which it was played
    seats: list[str]  # "human" or an agent
    seed: int
    start: str | None  # a position, None for the game's own start
    moves: list[str]  # submoves
    ply: int | None = None  # the position that is shown; None for the last one
    resigned: int | None = None  # the seat of the person who gave up

    def content(self) -> dict[str, Any]:
        """Returns the object of the file."""
        return {"format": FORMAT, "version": VERSION, **dataclasses.asdict(self)}

    def to_json(self) -> str:
        """Returns the text of the file."""
        return json.dumps(self.content(), indent=1) + "\n"


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31


def _is_list_of_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)  # pyright: ignore[reportUnknownVariableType]  # JSON has no types


_FIELDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "game": (_is_text, "a text such as 'checkers'"),
    "game_version": (_is_number, "an integer"),
    "seats": (_is_list_of_texts, "a list of texts such as ['human', 'greedy']"),
    "seed": (_is_number, "an integer from 0 to 2147483647"),
    "start": (lambda value: value is None or _is_text(value), "a position or null"),
    "moves": (_is_list_of_texts, "a list of texts"),
    "ply": (lambda value: value is None or _is_number(value), "an integer or null"),
    "resigned": (lambda value: value is None or _is_number(value), "a seat or null"),
}
_REQUIRED = [field.name for field in dataclasses.fields(SavedGame) if field.default is dataclasses.MISSING]


def parse(text: str) -> SavedGame:
    """Returns the content of a saved game, which has not been played yet.

    Raises ValueError unless it is a JSON object with the right fields, of a version that this program can read.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("this is no saved game: expected JSON, as `save` writes it") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:  # pyright: ignore[reportUnknownMemberType]  # JSON has no types
        raise ValueError(f'this is no saved game: expected a JSON object with "format": "{FORMAT}"')
    fields: dict[str, Any] = {str(name): value for name, value in content.items()}  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]  # as above
    if fields.get("version") != VERSION:
        raise ValueError(f'the saved game has "version": {fields.get("version")!r}; this program reads {VERSION}')
    given = {name: value for name, value in fields.items() if name in _FIELDS}
    if missing := [name for name in _REQUIRED if name not in given]:
        raise ValueError(f"the saved game has no {', '.join(map(repr, missing))}")
    for name, value in given.items():
        is_right, expected = _FIELDS[name]
        if not is_right(value):
            raise ValueError(f"{name!r} of the saved game must be {expected}, not {str(value)[:80]!r}")
    return SavedGame(**given)


def make_game(game: SavedGame) -> Env[Any]:
    """Returns the env of a saved game. No module is imported for it, as a file may come from anybody.

    Raises ValueError for an unknown game, for one that a module must register first, and for rules of another version.
    """
    env = registry.make_named_in_file(game.game)
    if env.version != game.game_version:
        raise ValueError(
            f"the saved game was played under version {game.game_version} of the rules of {env.id}; "
            f"this program has version {env.version}"
        )
    return env
