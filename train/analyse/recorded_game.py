"""Recorded games with the boards on which their moves were played, from a file.

    games = read_games(Path("games.pdn"))                                   # of checkers
    games = read_games(Path("games.jsonl"))                                 # of any game, from train.match --output

A row is a ply, which is one action. A turn has all plies until another seat is to move, such as all jumps of a capture.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxgames import Env, arena, make
from jaxgames.games.checkers import Checkers, pdn
from jaxgames.registry import make_named_in_file
from train.data.game_collections import states_before

PDN, RECORDS = ".pdn", ".jsonl"


@dataclass(frozen=True)
class RecordedGame:
    """A game of P plies and T turns, on the host."""

    env: Env[Any]
    states: Any  # the env's State with a leading axis [P], before each ply
    actions: np.ndarray  # int32[P]
    first_plies: np.ndarray  # int32[T], the ply with which every turn begins
    moves: tuple[str, ...]  # the texts of the turns
    title: str  # the event and the players, as far as they are known
    result: str  # of PDN, such as "1-0"; of a record the outcome, such as "won by seat 0: checkmate"
    number: int = 1  # in its file

    def seat_name(self, seat: int) -> str:
        """Returns the name of a seat, in checkers its colour."""
        return pdn.COLOURS[seat] if isinstance(self.env, Checkers) else f"seat {seat}"

    def state(self, ply: int) -> Any:
        """Returns the board before a ply."""
        return jax.tree.map(lambda leaf: leaf[ply], self.states)

    def plies_of(self, turn: int) -> range:
        """Returns the plies of a turn."""
        ends = np.append(self.first_plies[1:], len(self.actions))
        return range(int(self.first_plies[turn]), int(ends[turn]))


def read_games(path: Path, env: Env[Any] | None = None) -> list[RecordedGame | pdn.BrokenGame]:
    """Returns the games of a file, those that cannot be read included.

    Args:
      path: a .pdn file with games of checkers, or a .jsonl file of `jaxgames.arena.GameFile`.
      env: the game. None: checkers, or the game of the first record.

    Raises OSError for a file that cannot be read. Raises ValueError for a wrong record, and for records of several
    games.
    """
    games: list[RecordedGame | pdn.BrokenGame] = []
    if path.suffix.lower() == RECORDS:
        for number, record in enumerate(arena.read_games(path), 1):
            env = make_named_in_file(record["env"]) if env is None else env
            has_actions = bool(_legal_actions(record))
            broken = pdn.BrokenGame(number, "the game has no legal action")
            games.append(of_record(record, number, env) if has_actions else broken)
        return games
    if path.suffix.lower() != PDN:
        raise ValueError(f"{path} is not a .pdn or .jsonl file: expected games of checkers, or of train.match")
    env = make("checkers") if env is None else env
    if not isinstance(env, Checkers):
        raise ValueError(f"{path} has games of checkers, not of {env}")
    for number, game in enumerate(pdn.read(pdn.decode(path.read_bytes())), 1):
        games.append(game if isinstance(game, pdn.BrokenGame) else _of_pdn(env, game, number))
    return games


def _of_pdn(env: Checkers, game: pdn.PdnGame, number: int) -> RecordedGame:
    states = states_before(env, [game])
    first = _first_plies(states.current_player)
    assert len(first) == len(game.moves), "a move of PDN is a turn"
    players = " - ".join(filter(None, (game.headers.get(colour, "") for colour in pdn.COLOURS)))
    title = ", ".join(filter(None, (game.headers.get("Event", ""), players))) or f"game {number}"
    actions = np.asarray(game.actions, np.int32)
    return RecordedGame(env, states, actions, first, game.moves, title, game.result, number)


def of_record(game: arena.GameRecord, number: int = 1, env: Env[Any] | None = None) -> RecordedGame:
    """Returns the game of a record, without an illegal action at its end.

    Args:
      number: of the game in its file.
      env: the game; None: as the record names it.

    Raises ValueError for a record of another game, and for one whose actions do not lead to its end.
    """
    env = make_named_in_file(game["env"]) if env is None else env
    if str(env) != game["env"]:
        raise ValueError(f"game {number} is of {game['env']}, not of {env}")
    actions = _legal_actions(game)
    if not actions:
        raise ValueError(f"game {number} has no legal action")
    boards = arena.replay(game, env)
    states = jax.tree.map(lambda *leaves: np.stack(leaves), *boards[: len(actions)])
    texts = [str(move) for move in game["moves"][: len(actions)]]
    first = _first_plies(states.current_player)
    moves = tuple(" ".join(texts[begin:end]) for begin, end in zip(first, [*first[1:], len(texts)], strict=True))
    title, result = " - ".join(game["agents"]), str(env.outcome(boards[-1]))
    return RecordedGame(env, states, np.asarray(actions, np.int32), first, moves, title, result, number)


def _legal_actions(game: arena.GameRecord) -> list[int]:
    """Returns the actions of a record; an illegal one ends the game."""
    return game["actions"][: len(game["actions"]) - (game["outcome"]["kind"] == "forfeit")]


def _first_plies(movers: Any) -> np.ndarray:
    """Returns int32[T], the plies at which another seat is to move than before, and ply 0."""
    return np.flatnonzero(np.diff(movers, prepend=-1)).astype(np.int32)
