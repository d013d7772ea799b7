"""Recorded games with the boards on which their moves were played, from a file.

    games = read_games(Path("games.pdn"))                                   # of checkers
    (game,) = read_games(Path("moves.txt"), jaxgames.make("minichess"))     # of any game: one action per line

A row is a ply, which is one action. A turn has all plies until another seat is to move, such as all jumps of a capture.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxgames import Env, make
from jaxgames.games.checkers import Checkers
from jaxgames.games.checkers_pdn import UNKNOWN_RESULT, BrokenGame, Game, decode
from jaxgames.games.checkers_pdn import read as read_pdn
from jaxgames.games.checkers_replay import states_before

PDN = ".pdn"


@dataclass(frozen=True)
class RecordedGame:
    """A game of P plies and T turns, on the host."""

    env: Env[Any]
    states: Any  # the env's State with a leading axis [P], before each ply
    actions: np.ndarray  # int32[P]
    first_plies: np.ndarray  # int32[T], the ply with which every turn begins
    moves: tuple[str, ...]  # the texts of the turns
    result: str = UNKNOWN_RESULT
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    number: int = 1  # in its file

    def state(self, ply: int) -> Any:
        """Returns the board before a ply."""
        return jax.tree.map(lambda leaf: leaf[ply], self.states)

    def plies_of(self, turn: int) -> range:
        """Returns the plies of a turn."""
        ends = np.append(self.first_plies[1:], len(self.actions))
        return range(int(self.first_plies[turn]), int(ends[turn]))

    @property
    def title(self) -> str:
        """The event and the players, as far as they are known; otherwise the number of the game."""
        players = [self.headers[colour] for colour in ("Black", "White") if self.headers.get(colour)]
        named = [self.headers.get("Event", ""), " - ".join(players)]
        return ", ".join(filter(None, named)) or f"game {self.number}"


def read_games(path: Path, env: Env[Any] | None = None) -> list[RecordedGame | BrokenGame]:
    """Returns the games of a file, those that cannot be read included.

    Args:
      path: a .pdn file with games of checkers, or a text with the actions of one game, one per line. There, empty lines
        and lines that begin with # are skipped.
      env: the game. None: checkers; a text with actions needs one.

    Raises OSError for a file that cannot be read. Raises ValueError, with the line, for a wrong action in a text.
    """
    if path.suffix.lower() != PDN:
        if env is None:
            raise ValueError(f"{path} is not a .pdn file, so add the game of its actions, such as --env minichess")
        return [_of_actions(path, env)]
    env = make("checkers") if env is None else env
    if not isinstance(env, Checkers):
        raise ValueError(f"{path} has games of checkers, not of {env}")
    games = list(read_pdn(decode(path.read_bytes())))
    return [
        game if isinstance(game, BrokenGame) else _of_pdn(env, game, number) for number, game in enumerate(games, 1)
    ]


def _of_pdn(env: Checkers, game: Game, number: int) -> RecordedGame:
    states = states_before(env, [game])
    first = _first_plies(np.asarray(states.current_player))
    assert len(first) == len(game.moves), "a move of PDN is a turn"
    actions = np.asarray(game.actions, np.int32)
    return RecordedGame(env, states, actions, first, game.moves, game.result, game.headers, number)


def _of_actions(path: Path, env: Env[Any]) -> RecordedGame:
    """Returns the game of a text with one action per line."""
    if env.needs_key:
        raise ValueError(f"{env} has random events, which a list of actions does not record")
    step, mask = jax.jit(env.step), jax.jit(env.legal_action_mask)
    state = env.init()
    states: list[Any] = []
    actions: list[int] = []
    texts: list[str] = []
    for line, text in enumerate(path.read_text().splitlines(), start=1):
        text = text.strip()
        if not text or text.startswith("#"):
            continue
        if state.terminated or state.truncated:
            raise ValueError(f"{path}, line {line}: the game is over before {text!r}")
        try:
            action = env.action_from_string(state, text)
        except ValueError as error:
            raise ValueError(f"{path}, line {line}: {error}") from None
        if not mask(state)[action]:
            raise ValueError(f"{path}, line {line}: {text} is not legal")
        states.append(jax.device_get(state))
        actions.append(action)
        texts.append(text)
        state = step(state, action)
    if not actions:
        raise ValueError(f"{path} has no actions: expected one per line, as the page of the game writes them")
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *states)
    first = _first_plies(stacked.current_player)
    moves = tuple(" ".join(texts[begin:end]) for begin, end in zip(first, [*first[1:], len(texts)], strict=True))
    return RecordedGame(env, stacked, np.asarray(actions, np.int32), first, moves)


def _first_plies(movers: np.ndarray) -> np.ndarray:
    """Returns int32[T], the plies at which another seat is to move than before, and ply 0."""
    return np.flatnonzero(np.diff(movers, prepend=-1)).astype(np.int32)
