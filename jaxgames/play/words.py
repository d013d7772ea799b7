"""What a game says to people: its title, its menus of boards, its rules on one screen, its moves as they are typed."""

import inspect
from typing import Any, Generic, NamedTuple, TypeVar

from jaxgames.env import Env
from jaxgames.host import legal_moves
from jaxgames.registry import record_of

E = TypeVar("E", bound=Env[Any])


class Menu(NamedTuple):
    """A choice of a board: one of several settings."""

    name: str
    words: str  # the question, such as "Players"
    options: tuple[tuple[str, str], ...]  # parameters as in the game's text, and their words: ("size=2", "small")
    default: str  # the parameters of the option that is offered first


class Example(NamedTuple):
    """A position that the rules show in a picture."""

    env: Env[Any]
    text: str | None  # None: the start
    caption: str
    moves_of: int | str | None = None  # the cell of a piece whose moves are shown


class Words(Generic[E]):
    """The words of a game; the `words` of its record are an object of a subclass, with what differs from these."""

    title = ""  # "" for the id of the game
    menus: tuple[Menu, ...] = ()  # without menus, the parameters are typed
    upper_seat: int | None = None  # the seat that `to_text` draws on top

    def board(self, env: E) -> str:
        """Returns what follows the title of a game on this board, such as "4 by 4 boxes"; "" for nothing."""
        return ""

    def rules(self, env: E) -> tuple[str, list[str], list[Example]]:
        """Returns how to win, in a sentence, the paragraphs of the rules, "" for one that does not hold, and examples.

        A game without words has the first paragraph of the docstring of its class, and no goal.
        """
        return "", [(inspect.getdoc(type(env)) or "").split("\n\n")[0].replace("\n", " ")], []

    def can_be_drawn(self, env: E) -> bool:
        """Returns whether a draw can be offered."""
        return True

    def points(self, state: Any) -> list[int]:
        """Returns the points of each seat so far; none in a game that does not count points."""
        return []

    def returns(self, env: E) -> tuple[float, float] | None:
        """Returns what a game pays for a loss and for a win; None if that differs from game to game."""
        low, high = env.return_range
        return (low, high) if (low, high) == (-1.0, env.num_players - 1.0) else None

    def goal(self, env: E, seat: int, is_rotated: bool) -> str:
        """Returns where a seat has to go, on a board in the terminal that may be rotated; "" without such a place."""
        return ""

    def legal_texts(self, env: E, state: Any) -> list[str]:
        """Returns the legal moves as people write them, one text per ply."""
        return list(legal_moves(env, state).values())

    def turn(self, env: E, state: Any, word: str) -> list[int]:
        """Returns the actions of several plies that people write as one word; none if the word is not such a turn."""
        return []


def words_of(game: Env[Any] | str) -> Words[Any]:
    """Returns the words of a game, of an env or by its id."""
    return record_of(game).part("words") or Words()


def limit(number: int | None, unit: str) -> str:
    """Returns the rule of a limit; "" without one."""
    return "" if number is None else f"After {number:,} {unit} without a winner the game ends, and nobody wins."
