"""Recorded games with the boards on which their moves were played, from a file.

    games = read_games(Path("games.pdn"))                                   # of checkers
    games = read_games(Path("games.jsonl"))                                 # of any game, from train.match --output

A row is a ply, which is one action. A turn has all plies until another seat is to move, such as all jumps of a capture.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxgames import Env, arena, make
from jaxgames.games.checkers import Checkers, pdn
from jaxgames.registry import make_named_in_file
from train.data.replay import states_before

PDN, RECORDS = ".pdn", ".jsonl"
RESULTS = (pdn.BLACK_WINS, pdn.WHITE_WINS)  # by the seat that has won


@dataclass(frozen=True)
class RecordedGame:
    """A game of P plies and T turns, on the host."""

    env: Env[Any]
    states: Any  # the env's State with a leading axis [P], before each ply
    actions: np.ndarray  # int32[P]
    first_plies: np.ndarray  # int32[T], the ply with which every turn begins
    moves: tuple[str, ...]  # the texts of the turns
    result: str = pdn.UNKNOWN_RESULT
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    number: int = 1  # in its file

    def state(self, ply: int) -> Any:
        """Returns the board before a ply."""
        return jax.tree.map(lambda leaf: leaf[ply], self.states)

    def plies_of(self, turn: int) -> range:
        """Returns the plies of a turn."""
        ends = np.append(self.first_plies[1:], len(self.actions))
        return range(int(self.first_plies[turn]), int(ends[turn]))

    def player(self, seat: int) -> str:
        """Returns the name of a player, or "" if the game does not have it."""
        return self.headers.get(pdn.COLOURS[seat] if isinstance(self.env, Checkers) else f"Seat {seat}", "")

    @property
    def title(self) -> str:
        """The event and the players, as far as they are known; otherwise the number of the game."""
        players = [name for seat in range(self.env.num_players) if (name := self.player(seat))]
        named = [self.headers.get("Event", ""), " - ".join(players)]
        return ", ".join(filter(None, named)) or f"game {self.number}"


def read_games(path: Path, env: Env[Any] | None = None) -> list[RecordedGame | pdn.BrokenGame]:
    """Returns the games of a file, those that cannot be read included.

    Args:
      path: a .pdn file with games of checkers, or a .jsonl file of `jaxgames.arena.GameFile`.
      env: the game. None: checkers, or the game of the first record.

    Raises OSError for a file that cannot be read. Raises ValueError for a wrong record, and for records of several
    games.
    """
    if path.suffix.lower() == RECORDS:
        return _of_records(path, env)
    if path.suffix.lower() != PDN:
        raise ValueError(f"{path} is not a .pdn or .jsonl file: expected games of checkers, or of train.match")
    env = make("checkers") if env is None else env
    if not isinstance(env, Checkers):
        raise ValueError(f"{path} has games of checkers, not of {env}")
    games = list(pdn.read(pdn.decode(path.read_bytes())))
    return [
        game if isinstance(game, pdn.BrokenGame) else _of_pdn(env, game, number) for number, game in enumerate(games, 1)
    ]


def _of_pdn(env: Checkers, game: pdn.PdnGame, number: int) -> RecordedGame:
    states = states_before(env, [game])
    first = _first_plies(np.asarray(states.current_player))
    assert len(first) == len(game.moves), "a move of PDN is a turn"
    actions = np.asarray(game.actions, np.int32)
    return RecordedGame(env, states, actions, first, game.moves, game.result, game.headers, number)


def _of_records(path: Path, env: Env[Any] | None) -> list[RecordedGame | pdn.BrokenGame]:
    """Returns the games of a file of records, all of one game: `env`, or as the first record names it."""
    games: list[RecordedGame | pdn.BrokenGame] = []
    for number, game in enumerate(arena.read_games(path), 1):
        env = make_named_in_file(game["env"]) if env is None else env
        broken = None if _legal_actions(game) else pdn.BrokenGame(number, "the game has no legal action")
        games.append(of_record(game, number, env) if broken is None else broken)
    return games


def of_record(game: arena.GameRecord, number: int = 1, env: Env[Any] | None = None) -> RecordedGame:
    """Returns the game of a record, without an illegal action at its end.

    Args:
      number: of the game in its file.
      env: the game; None: as the record names it.

    Raises ValueError for a record of another game, without a legal action, or whose actions do not lead to its end.
    """
    env = make_named_in_file(game["env"]) if env is None else env
    if str(env) != game["env"]:
        raise ValueError(f"game {number} is of {game['env']}, not of {env}")
    actions = _legal_actions(game)
    if not actions:
        raise ValueError(f"game {number} has no legal action")
    if isinstance(env, Checkers):
        headers: dict[str, str] = dict(zip(pdn.COLOURS, game["agents"], strict=True))
        winners, is_draw = game["outcome"]["winners"], game["outcome"]["kind"] == "draw"
        result = RESULTS[winners[0]] if winners else pdn.DRAW if is_draw else pdn.UNKNOWN_RESULT
        played = pdn.record(actions, start=game["start"], headers=headers, result=result)
        return _of_pdn(env, played, number)
    headers = {f"Seat {seat}": name for seat, name in enumerate(game["agents"])}
    states = jax.tree.map(lambda *leaves: np.stack(leaves), *arena.replay(game, env)[: len(actions)])
    texts = [str(move) for move in game["moves"][: len(actions)]]
    first = _first_plies(states.current_player)
    moves = tuple(" ".join(texts[begin:end]) for begin, end in zip(first, [*first[1:], len(texts)], strict=True))
    return RecordedGame(env, states, np.asarray(actions, np.int32), first, moves, headers=headers, number=number)


def _legal_actions(game: arena.GameRecord) -> list[int]:
    """Returns the actions of a record; an illegal one ends the game."""
    return game["actions"][: len(game["actions"]) - (game["outcome"]["kind"] == "forfeit")]


def _first_plies(movers: np.ndarray) -> np.ndarray:
    """Returns int32[T], the plies at which another seat is to move than before, and ply 0."""
    return np.flatnonzero(np.diff(movers, prepend=-1)).astype(np.int32)
