"""The names and the colours that the seats of a game have on its pictures."""

from typing import Any

from jaxgames.env import Env
from jaxgames.render.boards import drawing_of, has_pictures
from jaxgames.render.theme import THEMES


def seat_names(env: Env[Any]) -> list[str]:
    """Returns the names of the seats as the game's drawing has them, or else "Player 1", "Player 2", ..."""
    return [name for name, _ in _seats(env, "light")]


def seat_colours(env: Env[Any], theme: str = "light") -> list[str]:
    """Returns the colour of each seat's pieces, as `#rrggbb`; `theme` is "light" or "dark"."""
    return [colour for _, colour in _seats(env, theme)]


def _seats(env: Env[Any], theme: str) -> list[tuple[str, str]]:
    drawn = list(drawing_of(env, theme)[1].seats) if has_pictures(env) else []
    colours = THEMES[theme].seats
    return drawn or [(f"Player {seat + 1}", colours[seat % len(colours)]) for seat in range(env.num_players)]
