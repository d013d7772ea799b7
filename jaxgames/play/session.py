"""A game in progress, without input and output: its moves, undo, resignation and a draw by agreement.

    session = Session(env, ["human", "greedy"], seed=1)
    session.play(session.legal()[0].action)
    session.play(agent_action(session))            # the agents are called in jaxgames.play.agent_calls
    session.undo_turn()

A session has the positions from the start to the last ply, and shows one of them: the position after `ply` plies. A
move in an earlier position drops what followed it.
"""

import copy
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames import registry
from jaxgames._checks import ParameterError, shortened
from jaxgames.env import Env, Outcome
from jaxgames.host import BoardInfo, host, legal_moves
from jaxgames.render import Move, anchors, has_pictures

HUMAN = "human"  # the text of a seat that a person plays


class _Position(NamedTuple):
    """A position of a game, about 2 kB."""

    state: Any
    info: BoardInfo


class Session:
    """A game in progress. Its states have arrays of numpy; PRNG keys in them are arrays of JAX.

    Attributes:
      env: the game.
      seats: "human" or the text of an agent, for each seat.
      seed: of the agents' choices, and of the events of a game of chance.
      start: the position at the beginning, as `env.to_string` writes it; None for the game's own start.
      actions: the actions of all plies.
      ply: the number of plies before the position that is shown.
      resigned: the seat that resigned in the last position; None if no person did.
      agreed: whether the players have agreed on a draw in the last position.
    """

    def __init__(self, env: Env[Any] | str, seats: Sequence[str], *, seed: int = 0, state: Any = None) -> None:
        """
        Args:
          env: a game, or its text for `jaxgames.make`; not inside `auto_reset`.
          seats: one text per seat: "human", or an agent such as "greedy". Agents are made when they move.
          seed: 0 or a positive integer; the same seed and the same moves of people give the same game.
          state: a position to start from. It counts as `env.to_string` writes it: without the positions before it.
        """
        self.env: Env[Any] = registry.as_env(env)
        self.seats: tuple[str, ...] = _checked_seats(self.env, seats)
        if seed < 0:
            raise ParameterError(f"seed must be 0 or positive, not {seed}")
        self.seed = seed
        self.start: str | None = None if state is None else self.env.to_string(state)
        self.ply: int = 0
        self.actions: list[int] = []
        self.resigned: int | None = None
        self.agreed: bool = False
        self._moves: list[str] = []
        self._positions: list[_Position] = []
        if self.start is None:
            first, info = host(self.env).init(self.key(0) if self.env.needs_key else None)
        else:
            first = self.env.from_string(self.start)
            info = host(self.env).look(first)
        self._append(first, info)

    # -- what is shown -----------------------------------------------------------------------------------

    @property
    def plies(self) -> int:
        """Number of plies of the game."""
        return len(self.actions)

    @property
    def state(self) -> Any:
        """The position that is shown."""
        return self._positions[self.ply].state

    @property
    def states(self) -> list[Any]:
        """All positions; `states[0]` is the start."""
        return [position.state for position in self._positions]

    @property
    def mover(self) -> int:
        """The seat to move; at the end of a game, the seat that the state names."""
        return self._positions[self.ply].info.player

    @property
    def over(self) -> bool:
        """True if the game has ended in the position that is shown."""
        return self._positions[self.ply].info.over or self.is_stopped

    @property
    def is_stopped(self) -> bool:
        """True if the players have ended the game in the position that is shown: by a resignation or by agreement."""
        return (self.resigned is not None or self.agreed) and self.ply == self.plies

    @property
    def ended(self) -> bool:
        """True if the game has ended in its last position, whichever position is shown."""
        return self.resigned is not None or self.agreed or self._positions[-1].info.over

    @property
    def continues_turn(self) -> bool:
        """True in the middle of a turn: the seat to move has also played the last ply."""
        return self.ply > 0 and not self.over and self._positions[self.ply - 1].info.player == self.mover

    @property
    def outcome(self) -> Outcome:
        """The end of the game, as `env.outcome`; a resignation is a win only where one other seat is left."""
        if not self.is_stopped:
            return self.env.outcome(self.state)
        if self.agreed:
            return Outcome("draw", (), "agreed by the players")
        reason = f"seat {self.resigned} resigned"
        if self.env.num_players == 2 and self.resigned is not None:
            return Outcome("win", (1 - self.resigned,), reason)
        return Outcome("forfeit", (), reason)

    def to_text(self) -> str:
        """Returns `env.to_text` of the position that is shown; the last line says how the players have ended it."""
        text = self.env.to_text(self.state)
        if not self.is_stopped:
            return text
        *lines, _ = text.split("\n")
        return "\n".join([*lines, self.outcome.to_text()])

    def legal(self) -> list[Move]:
        """Returns the legal moves, by action. Their cells are those of `render.anchors`; None in a game without it."""
        if self.over:
            return []
        if has_pictures(self.env):
            return list(anchors(self.env, self.state).moves)
        texts = legal_moves(self.env, self.state)
        return [Move(action, text, None, None, "move", text) for action, text in texts.items()]

    def is_legal(self, action: int) -> bool:
        """Returns whether an integer is a legal action in the position that is shown."""
        mask = self._positions[self.ply].info.mask
        return 0 <= action < len(mask) and bool(mask[action])

    def moves(self) -> list[str]:
        """Returns the texts of all plies."""
        return list(self._moves)

    def movers(self) -> list[int]:
        """Returns the seat to move in every position."""
        return [position.info.player for position in self._positions]

    def turn_start(self, ply: int) -> int:
        """Returns the number of plies before the turn that is played in the position after `ply` plies."""
        movers = self.movers()
        while ply > 0 and movers[ply - 1] == movers[ply]:
            ply -= 1
        return ply

    def key(self, ply: int) -> jax.Array:
        """Returns the PRNG key of the events that lead to the position after `ply` plies."""
        return jax.random.fold_in(jax.random.key(self.seed), ply)

    # -- changes -----------------------------------------------------------------------------------------

    def play(self, action: int) -> None:
        """Plays an action of the mover, and drops what followed the position that is shown.

        An illegal action raises ValueError, and the session stays as it is.
        """
        if self.over:
            raise ValueError(f"the game is over ({self.outcome.reason}): no move can be played; undo one, or jump back")
        if isinstance(action, bool) or not isinstance(action, (int, np.integer)):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers need not be typed
            raise ValueError(f"the action must be an integer, not {action!r}")
        if not self.is_legal(int(action)):
            texts = ", ".join(legal_moves(self.env, self.state).values())
            raise ValueError(f"action {action} is illegal here; the legal moves are {texts}")
        text = self.env.action_to_string(self.state, int(action))
        key = self.key(self.ply + 1) if self.env.needs_key else None
        state, info = host(self.env).step(self.state, int(action), key)
        self.drop_later()
        self.actions.append(int(action))
        self._moves.append(text)
        self._append(state, info)
        self.ply += 1

    def end_turn(self) -> bool:
        """Plays the end of a turn that cannot go on, such as a chain of hops. Returns whether it was such a turn."""
        if not self.continues_turn or self._positions[self.ply].info.mask.sum() > 1:
            return False
        (move,) = self.legal()
        if move.kind == "end turn":
            self.play(move.action)
        return move.kind == "end turn"

    def undo_turn(self) -> None:
        """Goes back to the start of the last turn that a person played, or cancels a resignation or an agreement."""
        if self.is_stopped:
            self.resigned, self.agreed = None, False
            return
        people = [ply for ply, seat in enumerate(self.movers()[: self.ply]) if self.seats[seat] == HUMAN]
        if not people:
            raise ValueError("there is no turn to undo: no person has moved before this position")
        self.ply = self.turn_start(people[-1])

    def jump(self, ply: int) -> None:
        """Shows the position after `ply` plies. Raises ValueError if there is none."""
        if not 0 <= ply <= self.plies:
            raise ParameterError(f"ply must be from 0 to {self.plies}, not {ply}")
        self.ply = ply

    def drop_later(self) -> None:
        """Drops what followed the position that is shown: plies, and a resignation or an agreement after them."""
        if self.ply < self.plies:
            self.resigned, self.agreed = None, False
        del self.actions[self.ply :], self._moves[self.ply :], self._positions[self.ply + 1 :]

    def resign(self, seat: int | None = None) -> None:
        """Ends the game with the resignation of a person, and drops all plies after the position that is shown.

        Args:
          seat: the person's; None for the seat to move or, if an agent is to move, for the only person.
        """
        people = [number for number, text in enumerate(self.seats) if text == HUMAN]
        if self.over:
            raise ValueError(f"the game is over ({self.outcome.reason}): nobody can resign")
        if seat is None:
            seat = people[0] if len(people) == 1 else self.mover
        if seat not in people:
            raise ParameterError(f"only people resign: expected one of the seats {people}, not {seat}")
        self.drop_later()
        self.resigned, self.agreed = seat, False

    def agree_on_draw(self) -> None:
        """Ends the game with a draw by agreement, and drops all plies after the position that is shown.

        Whether all players agree is asked before; `agent_calls.refuses_draw` asks the agents.
        """
        if self.over:
            raise ValueError(f"the game is over ({self.outcome.reason}): no draw can be agreed")
        self.drop_later()
        self.resigned, self.agreed = None, True

    def with_seats(self, seats: Sequence[str]) -> Self:
        """Returns a session of the same game and position with other seats. Raises ValueError as `Session`."""
        other = copy.copy(self)
        other.seats = _checked_seats(self.env, seats)
        other.actions, other._moves, other._positions = [*self.actions], [*self._moves], [*self._positions]
        return other

    def copy(self) -> Self:
        """Returns a session of the same game, position and seats, which changes alone."""
        return self.with_seats(self.seats)

    def _append(self, state: Any, info: BoardInfo) -> None:
        """Adds a position at the end. Its arrays are copied: arrays of a device take tens of kilobytes."""
        copied = jax.tree.map(lambda x: x if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else np.array(x), state)
        self._positions.append(_Position(copied, info))


def _checked_seats(env: Env[Any], seats: Sequence[str]) -> tuple[str, ...]:
    texts = tuple(seats)
    if isinstance(seats, str) or len(texts) != env.num_players or not all(isinstance(text, str) for text in texts):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers need not be typed
        example = [HUMAN, *["greedy"] * (env.num_players - 1)]
        raise ParameterError(
            f"{env.id} has {env.num_players} seats here: expected one text for each, such as {example}, not "
            f"{shortened(seats)}"
        )
    return tuple(text.strip() for text in texts)
