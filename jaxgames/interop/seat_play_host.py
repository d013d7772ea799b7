"""One seat of a game against an agent that may run on the host: `seat_play` for one board in a Python loop.

Against an agent on the host, `against_any` returns a `HostSeatPlay`, with the methods and the rules of `SeatPlay`. Its
opponents move one by one on `jaxgames.host`, so its methods cannot be traced.
"""

import dataclasses
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.agents import Agent, act_on_one_board
from jaxgames.env import Env, State
from jaxgames.host import host
from jaxgames.interop.seat_play import RANDOM_SEAT, Seat, SeatInfo, SeatPlay, SeatState, checked_seat_and_opponent


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class HostSeatPlay(SeatPlay):
    """A game for one seat, played on the host; made by `against_any`. For the same keys it is that of `SeatPlay`.

    It is a pytree without leaves, because an agent on the host need not be a pytree. Boards are on the first CPU
    device. The agent gets them there, with a leading axis of 1.
    """

    seat: jax.Array | np.int32 = field(metadata={"static": True})
    opponent: Agent = field(metadata={"static": True})

    def reset(self, key: jax.Array) -> SeatState:
        """Returns a new game in which the opponents have played until the seat's turn; see `SeatPlay.reset`."""
        seat_key, init_key, opponent_key = jax.random.split(key, 3)
        seat: Any = self.seat
        if seat == RANDOM_SEAT:
            seat = np.int32(jax.random.randint(seat_key, (), 0, self.env.num_players, jnp.int32))
        board, _ = host(self.env).init(init_key)
        owed: Any = np.float32(0)
        return self._opponents_play(opponent_key, SeatState(board, seat, owed))

    def step(self, key: jax.Array, state: SeatState, action: jax.Array | int) -> tuple[SeatState, Any]:
        """Returns the game after the seat's ply and those of the opponents, and the reward; see `SeatPlay.step`."""
        step_key, opponent_key = jax.random.split(key)
        board, info = host(self.env).step(state.board, action, step_key)
        moved = SeatState(board, state.seat, state.owed + info.rewards[int(state.seat)])
        state = self._opponents_play(opponent_key, moved)
        unpaid: Any = np.float32(0)
        return dataclasses.replace(state, owed=unpaid), state.owed

    def look(self, state: SeatState) -> SeatInfo:
        """Returns the observation of the seat, its legal actions, and whether the game is over; all on the host."""
        game, board = host(self.env), state.board
        info, observation = game.look(board), game.observe(board, int(state.seat))
        values: Any = (observation, info.mask, state.seat, info.terminated, info.truncated)
        return SeatInfo(*values)

    def _opponents_play(self, key: jax.Array, state: SeatState) -> SeatState:
        """Returns the game at the seat's next turn or at its end; adds to `owed` what the seat was paid."""
        game, board, seat, owed = host(self.env), state.board, int(state.seat), state.owed
        info = game.look(board)
        while not info.over and info.player != seat:
            key, act_key, step_key, boards = _turn(key, board)
            (action,) = act_on_one_board(self.opponent, act_key, boards)
            board, info = game.step(board, action, step_key)
            owed += info.rewards[seat]
        return SeatState(board, state.seat, owed)


@jax.jit
def _turn(key: jax.Array, board: State) -> tuple[jax.Array, jax.Array, jax.Array, State]:
    """Returns the key of later turns, those of the agent and of the step, and the board with a leading axis of 1.

    The keys are split as `SeatPlay` splits them, so that both play the same games.
    """
    key, act_key, step_key = jax.random.split(key, 3)
    return key, act_key, step_key, jax.tree.map(lambda leaf: leaf[None], board)


def against_any(env: Env[Any], seat: Seat, opponent: str | Agent) -> SeatPlay:
    """Returns the game of one seat against an agent on the device, or a `HostSeatPlay` against one on the host.

    The arguments and errors are those of `jaxgames.interop.seat_play.against`, which refuses agents on the host.
    """
    number, agent = checked_seat_and_opponent(env, seat, opponent)
    return (SeatPlay if agent.on_device else HostSeatPlay)(env, number, agent)
