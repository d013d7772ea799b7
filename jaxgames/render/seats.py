"""The names and the colours that the seats of a game have on its pictures."""

from typing import Any

from jaxgames.env import Env
from jaxgames.render import checkers, minichess
from jaxgames.render.theme import SEAT_NAMES, THEMES

NAMES = {"checkers": checkers.SEAT_NAMES, "minichess": minichess.SEAT_NAMES}
IN_COLOURS = ("chinese_checkers", "chinese_checkers_diamond", "dots_and_boxes")  # games drawn with `Theme.seats`


def seat_names(env: Env[Any]) -> list[str]:
    """Returns the names of the seats: "Black" and "White" in checkers, "Red", "Blue", ... by the colours of pieces.

    The seats of a game without pictures are "Player 1", "Player 2", ...
    """
    if env.id in IN_COLOURS:
        return list(SEAT_NAMES[: env.num_players])
    return list(NAMES.get(env.id, [f"Player {seat + 1}" for seat in range(env.num_players)]))


def seat_colours(env: Env[Any], theme: str = "light") -> list[str]:
    """Returns the colour of each seat's pieces, as `#rrggbb`; `theme` is "light" or "dark"."""
    colours = THEMES[theme]
    if env.id in NAMES:
        return [side.fill for side in (colours.checkers if env.id == "checkers" else colours.minichess).sides]
    return [colours.seats[seat % len(colours.seats)] for seat in range(env.num_players)]
