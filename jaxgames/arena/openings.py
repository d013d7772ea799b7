"""Openings: positions from which games begin, so that deterministic agents play more than one game.

    book = arena.random_openings(env, key, 100, plies=4)      # 100 openings of at most 4 random plies
    book = arena.openings_of_moves(env, ["9-13 22-18 6-9", "10-14 22-17 14-18"])
    book = arena.openings_of_boards(boards)                   # other positions than the start, without plies
    book = arena.load_openings(env, "ballots")                # the 174 three-move ballots of checkers, or a file
    openings = book.for_games(1000, games_each=2)             # opening 0 in games 0 and 1, opening 1 in 2 and 3, ...
    games = arena.play(env, agents, agent_of_seat, key, openings=openings)

Random opening i depends only on the key and on i. So all agents meet the same openings, and a longer list begins with
the shorter one. It is the start of a random game. It has at most `plies` plies, leaves the game live, and does not end
in the middle of a turn. It is the longest such start: shorter than `plies` where the random game ended, or where a turn
was not complete.
"""

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames import games
from jaxgames._checks import ParameterError, check_int
from jaxgames._text_files import read_text
from jaxgames.env import Env, State
from jaxgames.host import host

MAX_PLIES, MAX_OPENINGS = 10_000, 2**31 - 1


class Openings(NamedTuple):
    """Openings; leaves have a leading axis, of the openings of a list or of games."""

    boards: State  # after the opening
    actions: jax.Array  # int32[openings, plies], played from the start of the game; -1 after the last one
    plies: jax.Array  # int32[openings], plies of each opening
    number: jax.Array  # int32[openings], the place of each opening in its list
    starts: State | None = None  # boards before the opening; None: the start of the game

    def for_games(self, num_games: int, games_each: int = 1) -> "Openings":
        """Returns one opening per game: each for `games_each` games in a row, and the first again after the last."""
        check_int("games_each", games_each, 1, MAX_OPENINGS)
        place = jnp.arange(num_games) // games_each % self.number.size
        return rows_of(self, place)

    def drawn(self, key: jax.Array, num_openings: int) -> "Openings":
        """Returns openings of this list in random order, each again only after all others.

        The order depends only on the key: a longer draw begins with the shorter one.
        """
        check_int("num_openings", num_openings, 1, MAX_OPENINGS)
        passes = jnp.arange(-(-num_openings // self.number.size))
        order = jax.vmap(lambda i: jax.random.permutation(jax.random.fold_in(key, i), self.number.size))(passes)
        return rows_of(self, order.reshape(-1)[:num_openings])


@jax.jit
def rows_of(leaves: Any, numbers: jax.Array) -> Any:
    return jax.tree.map(lambda leaf: leaf[numbers], leaves)


@functools.partial(jax.jit, static_argnames=("env", "num_openings", "plies"))
def random_openings(env: Env[Any], key: jax.Array, num_openings: int, plies: int) -> Openings:
    """Returns a list of openings of uniformly random legal actions, of at most `plies` plies each."""
    check_int("num_openings", num_openings, 1, MAX_OPENINGS)
    check_int("plies", plies, 0, MAX_PLIES)
    number = jnp.arange(num_openings, dtype=jnp.int32)
    keys = jax.vmap(lambda i: jax.random.fold_in(key, i))(number)
    boards, actions, kept = jax.vmap(lambda key: _random_opening(env, key, plies))(keys)
    return Openings(boards, actions, kept, number)


def _random_opening(env: Env[Any], key: jax.Array, plies: int) -> tuple[State, jax.Array, jax.Array]:
    """Returns the board after one opening, its actions int32[plies], and the number of its plies int32[]."""

    def body(carry: tuple[State, State, jax.Array], ply: jax.Array) -> tuple[tuple[State, State, jax.Array], jax.Array]:
        board, opened, kept = carry
        action_key, step_key = jax.random.split(jax.random.fold_in(key, ply))
        action = env.random_legal_action(board, action_key)
        after = env.step(board, action, step_key)
        begins_turn = ~(after.terminated | after.truncated) & (after.current_player != board.current_player)
        opened = jax.tree.map(lambda new, old: jnp.where(begins_turn, new, old), after, opened)
        return (after, opened, jnp.where(begins_turn, ply, kept)), action

    board = env.init(jax.random.fold_in(key, 0))
    numbers = jnp.arange(1, plies + 1, dtype=jnp.int32)
    (_, opened, kept), actions = jax.lax.scan(body, (board, board, jnp.int32(0)), numbers)
    return opened, jnp.where(numbers <= kept, actions, -1), kept


# -- openings of moves ---------------------------------------------------------------------------------------------


def openings_of_moves(env: Env[Any], lines: Sequence[str], names: Sequence[str] | None = None) -> Openings:
    """Returns a list of openings, one per line of moves in the notation of the game, with spaces between them.

    Errors call the openings by `names`; if these are not given, "opening 1", "opening 2", ... Raises ValueError for a
    move that the game does not allow, and for an opening that ends the game or ends in the middle of a turn.
    """
    if not lines:
        raise ParameterError("expected at least one opening, as moves such as '9-13 22-18 6-9'")
    names = [f"opening {number + 1}" for number in range(len(lines))] if names is None else names
    played = [_played(env, name, line) for name, line in zip(names, lines, strict=True)]
    plies = np.array([len(actions) for _, actions in played], np.int32)
    actions = np.full((len(lines), plies.max()), -1, np.int32)
    for row, (_, of_opening) in zip(actions, played, strict=True):
        row[: len(of_opening)] = of_opening
    boards = jax.tree.map(lambda *leaves: np.stack(leaves), *(board for board, _ in played))
    return Openings(*jax.device_put((boards, actions, plies, np.arange(len(lines), dtype=np.int32))))


def load_openings(env: Env[Any], text: str) -> Openings:
    """Returns the openings of a file, or of a list that comes with the game.

    A file has the moves of one opening per line, in the notation of the game; after a hash, the rest of a line is a
    comment. The list `ballots` is the file `ballots.txt` in the folder of the game. For a file of your own with such a
    name, write "./ballots".

    Raises OSError if there is no such file, and ValueError, with the line, for openings that are not of this game.
    """
    lists = {path.stem: path for path in (Path(games.__path__[0]) / env.id).glob("*.txt")}
    path = lists.get(text, Path(text))
    if not path.is_file():
        expected = f"one, or one of the lists of {env.id}, {', '.join(sorted(lists))}" if lists else "one"
        raise FileNotFoundError(f"{text} is not a file of openings: expected {expected}")
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


def openings_of_boards(boards: State) -> Openings:
    """Returns a list of openings that are positions of live games; the boards have a leading axis of openings."""
    over = np.asarray(boards.terminated | boards.truncated)
    check_int("the number of openings", over.size, 1, MAX_OPENINGS)
    if over.any():
        raise ParameterError(f"opening {int(over.argmax()) + 1} is a board that is over: leave it out")
    boards = jax.tree.map(jnp.asarray, boards)
    plies = jnp.zeros(over.size, jnp.int32)
    return Openings(
        boards, jnp.zeros((over.size, 0), jnp.int32), plies, jnp.arange(over.size, dtype=jnp.int32), starts=boards
    )


def _played(env: Env[Any], name: str, line: str) -> tuple[State, list[int]]:
    """Returns the board after the moves of a line, on the host, and their actions; errors call the opening `name`."""
    key, game = jax.random.key(0), host(env)
    (board, info), actions, begins_turn = game.init(key), list[int](), True
    for text in line.split():
        try:
            action = env.action_from_string(board, text)
        except ValueError as error:
            raise ValueError(f"{name}, {line!r}: {error}") from None
        if not info.mask[action]:
            raise ValueError(f"{name}, {line!r}: {text} is not legal in {env.to_string(board)}")
        mover = info.player
        board, info = game.step(board, action, key)
        begins_turn = info.player != mover
        actions.append(action)
    if info.over:
        raise ValueError(f"{name}, {line!r}, ends the game: leave out its last moves")
    if not begins_turn:
        raise ValueError(f"{name}, {line!r}, ends in the middle of a turn: add the rest of the turn")
    return jax.device_get(board), actions
