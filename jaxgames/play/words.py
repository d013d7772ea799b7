"""The texts of a game for the page and the terminal: title, menus of boards, rules, whose turn it is, how it ended.

A game has an object of a subclass of `Words` in its record. The names of the seats are those of the pictures. `people`
are the seats that people play, as `people_of` returns them. One person is "you"; several people, and a game between
agents, are named.
"""

import inspect
from collections.abc import Collection, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from jaxgames import render
from jaxgames.env import Env, Outcome
from jaxgames.host import legal_moves
from jaxgames.play.session import HUMAN, Session
from jaxgames.registry import BUILT_IN, list_games, record_of

E = TypeVar("E", bound=Env[Any])

WIDTH = 240.0  # of a picture in the rules, in pixels


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


# -- titles and menus --------------------------------------------------------------------------------------------------


def offered_games() -> list[str]:
    """Returns the ids of all games in the order in which people are offered them, those of your own last."""
    return [*BUILT_IN, *(id for id in list_games() if id not in BUILT_IN)]


def first_game(game_id: str) -> str:
    """Returns the text of the board of a game that is offered first: small enough for a first game."""
    parameters = ", ".join(menu.default for menu in words_of(game_id).menus)
    return f"{game_id}({parameters})" if parameters else game_id


def game_title(game: Env[Any] | str) -> str:
    """Returns the title of a game: of its id without, of an env with its board."""
    if isinstance(game, str):
        return words_of(game).title or game.replace("_", " ").capitalize()
    return ", ".join(filter(None, (game_title(game.id), words_of(game).board(game.unwrapped))))


# -- rules -------------------------------------------------------------------------------------------------------------


class Rules(NamedTuple):
    """The rules of a game."""

    title: str
    goal: str  # how to win, in a sentence; "" for a game that does not say it
    paragraphs: tuple[str, ...]
    pictures: tuple[tuple[str, str], ...]  # an SVG and its caption, for each picture


def rules(env: Env[Any], theme: str | None = "light") -> Rules:
    """Returns the rules of a game that hold on its board, with pictures in a theme; without pictures if it is None."""
    goal, paragraphs, examples = words_of(env).rules(env.unwrapped)
    pictures = () if theme is None else tuple((_svg(each, theme), each.caption) for each in examples)
    return Rules(game_title(env), goal, tuple(filter(None, paragraphs)), pictures)


def _svg(example: Example, theme: str) -> str:
    env = example.env
    state = env.init() if example.text is None else env.from_string(example.text)
    return render.svg(env, state, moves_of=example.moves_of, theme=theme, width=WIDTH, seat=0, caption=False).svg


# -- turns and endings -------------------------------------------------------------------------------------------------


def people_of(seats: Sequence[str]) -> list[int]:
    """Returns the seats that people play; `seats` has "human" or the text of an agent for each seat."""
    return [seat for seat, text in enumerate(seats) if text == HUMAN]


def turn_text(env: Env[Any], mover: int, people: Collection[int] = ()) -> str:
    """Returns whose turn it is: "Your turn (Red)" for the only person, else "Blue to move"."""
    name = render.seat_names(env)[mover]
    return f"Your turn ({name})" if len(people) == 1 and mover in people else f"{name} to move"


def ending_of(session: Session) -> str:
    """Returns how the game of a session ended in the position that is shown; "" if it is not over."""
    if not session.over:
        return ""
    return ending(session.env, session.outcome, session.state, people_of(session.seats))


def ending(env: Env[Any], outcome: Outcome, state: Any = None, people: Collection[int] = ()) -> str:
    """Returns how a game ended, as in "You win 5 : 4", "You lost: checkmate", "White wins: Black resigned".

    The score of a game that counts points needs `state`, its last position.
    """
    you = next(iter(people)) if len(people) == 1 else None
    names, reason = render.seat_names(env), _reason(env, outcome, you)
    score = _score(env, outcome, state, you)
    why = f" {score}" if score else f": {reason}"
    if outcome.kind == "win":
        if you is None:
            winners = " and ".join(names[seat] for seat in outcome.winners)
            return f"{winners} {'wins' if len(outcome.winners) == 1 else 'win'}{why}"
        return f"You {'win' if you in outcome.winners else 'lost'}{why}"
    kinds = {"draw": "Draw", "truncated": "No winner", "forfeit": "The game is over"}
    return f"{kinds[outcome.kind]}{why}"


def _reason(env: Env[Any], outcome: Outcome, you: int | None) -> str:
    """Returns the reason of an outcome with names in place of seats."""
    reason = outcome.reason
    if reason == "no legal move" and outcome.kind == "win" and env.num_players == 2:
        reason = f"seat {1 - outcome.winners[0]} has no legal move"
    for seat, name in enumerate(render.seat_names(env)):
        if seat == you:
            reason = reason.replace(f"seat {seat} has", "you have")
        reason = reason.replace(f"seat {seat}", "you" if seat == you else name)
    return reason


def _score(env: Env[Any], outcome: Outcome, state: Any, you: int | None) -> str:
    """Returns the points of all seats, the person's or the winner's first; "" without points or for another end."""
    if state is None or outcome.kind not in ("win", "draw") or not state.terminated:  # the players have ended it
        return ""
    points = words_of(env).points(state)
    first = you if you is not None else (outcome.winners or (0,))[0]
    return " : ".join(map(str, points[first:] + points[:first]))
