"""Fixed lists of openings by name, or from files with the moves of one opening per line.

    book = arena.load_openings(env, "ballots")            # the 174 three-move ballots of checkers
    book = arena.load_openings(env, "placements")         # 1,000 random legal placements of minichess
    book = arena.load_openings(env, "openings.txt")

Such a file looks like this; the moves are in the notation of the game:

    # after a hash, the rest of a line is a comment
    9-13 22-18 6-9
    10-14 22-17 14-18
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from jaxgames._text_files import read_text
from jaxgames.arena.openings.ballots import three_move_ballots
from jaxgames.arena.openings.opening import Openings, openings_of_boards, openings_of_moves
from jaxgames.arena.openings.placements import random_placements
from jaxgames.env import Env

NUM_PLACEMENTS = 1000
LISTS: dict[str, tuple[str, Callable[[Env[Any]], Openings]]] = {  # the id of a game, and its openings, by name
    "ballots": ("checkers", lambda env: openings_of_moves(env, three_move_ballots())),
    "placements": ("minichess", lambda env: openings_of_boards(random_placements(env, NUM_PLACEMENTS))),
}


def load_openings(env: Env[Any], text: str) -> Openings:
    """Returns the openings of the list that a text names.

    It is a name in LISTS or the path of a file; for a file with such a name, write "./ballots".

    Raises OSError if there is no such file. Raises ValueError, with the line, for openings that are not of this game or
    that `openings_of_moves` refuses.
    """
    if text in LISTS:
        game, openings = LISTS[text]
        if env.id != game:
            raise ValueError(f"{text} are openings of {game}, not of {env.id}: give a file of openings instead")
        return openings(env)
    path = Path(text)
    if not path.is_file():
        lists = ", ".join(LISTS)
        raise FileNotFoundError(f"{text} is not a file of openings: expected one, or one of the lists {lists}")
    try:
        content = read_text(path)
    except ValueError as error:
        raise ValueError(f"{error}: expected the moves of one opening per line") from None
    lines = {number: line.partition("#")[0].strip() for number, line in enumerate(content.splitlines(), start=1)}
    openings = {f"line {number}": line for number, line in lines.items() if line}
    try:
        return openings_of_moves(env, list(openings.values()), list(openings))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
