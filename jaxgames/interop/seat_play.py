"""One seat of a game against an agent that plays all other seats, for single-agent libraries.

    play = against(env, seat=0, opponent="greedy")
    state = play.reset(key)                                 # the seat is to move
    state, reward = play.step(key, state, action)           # the seat is to move again, or the game is over

A step is one ply of the seat and all plies of the opponents that follow it. Here are three steps; each of them
leads from one bar to the next:

    seat        *           *   *               *
    opponent        o   o           o   o   o
                |           |   |               |

The reward of a step is what all its plies paid the seat. So the rewards of an episode add up to the seat's return.

The functions take one board: put `jax.vmap` around them for a batch. A batch is as slow as its slowest board, because
`jax.vmap` runs the loop of the opponents' plies until it ends on every board.

Against an agent on the host, `against(..., on_host=True)` returns a `HostSeatPlay`, with the methods and the rules of
`SeatPlay`. Its opponents move one by one on `jaxgames.host`, so its methods cannot be traced.
"""

import dataclasses
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames import agents
from jaxgames._checks import ParameterError, check_int
from jaxgames.agents import Agent, act_on_one_board
from jaxgames.env import Env, State
from jaxgames.host import host
from jaxgames.registry import list_games

RANDOM_SEAT = -1  # the value of `SeatPlay.seat` that draws a seat at every reset

Seat = int | Literal["random"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class SeatState:
    """A game of one seat: the board on which the seat is to move, or a finished one."""

    board: State
    seat: jax.Array  # int32[], the seat that the caller plays
    owed: jax.Array  # float32[], what the seat was paid before its first ply; its first step pays it too


class SeatInfo(NamedTuple):
    """The public values of a game for the seat."""

    observation: jax.Array  # bool[*observation_shape], of the seat, also on a finished board
    action_mask: jax.Array  # bool[num_actions], the legal actions; all False on a finished board
    seat: jax.Array  # int32[]
    terminated: jax.Array  # bool[], the rules ended the game
    truncated: jax.Array  # bool[], a limit cut the game off


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class SeatPlay:
    """A game for one seat; made by `against`. It is a pytree: the opponent's arrays and the seat are its leaves.

    So it can be an argument of a function under `jax.jit`. All seats, and opponents that differ only in their arrays,
    share one compiled program.
    """

    env: Env[Any] = field(metadata={"static": True})
    seat: jax.Array | np.int32  # int32[], the seat that the caller plays, or RANDOM_SEAT
    opponent: Agent  # of all other seats

    def reset(self, key: jax.Array) -> SeatState:
        """Returns a new game in which the opponents have played until the seat's turn.

        A game can end before the seat has moved. Then the board is finished and the mask is empty. The next step takes
        any action, returns what the seat was paid, and is the last one of the episode.
        """
        seat_key, init_key, opponent_key = jax.random.split(key, 3)
        drawn = jax.random.randint(seat_key, (), 0, self.env.num_players, jnp.int32)
        seat = jnp.where(self.seat == RANDOM_SEAT, drawn, self.seat)
        return self._opponents_play(opponent_key, SeatState(self.env.init(init_key), seat, jnp.float32(0)))

    def step(self, key: jax.Array, state: SeatState, action: jax.Array | int) -> tuple[SeatState, jax.Array]:
        """Returns the game after a ply of the seat (int32[]) and those of the opponents that follow, and the reward.

        An illegal action ends the game and pays -1. A finished game does not change and pays 0. But if it ended before
        the first ply of the seat, the first step pays what the seat was paid there. The reward is float32[]. The key is
        for the opponents and for a game of chance.
        """
        step_key, opponent_key = jax.random.split(key)
        board = self.env.step(state.board, action, step_key)
        moved = SeatState(board, state.seat, state.owed + board.rewards[state.seat])
        state = self._opponents_play(opponent_key, moved)
        return dataclasses.replace(state, owed=jnp.float32(0)), state.owed

    def look(self, state: SeatState) -> SeatInfo:
        """Returns the public values of a game: the observation of the seat, its legal actions and the flags."""
        board = state.board
        return SeatInfo(
            self.env.observe(board, state.seat),
            self.env.legal_action_mask(board),
            state.seat,
            board.terminated,
            board.truncated,
        )

    def _opponents_play(self, key: jax.Array, state: SeatState) -> SeatState:
        """Returns the game at the seat's next turn or at its end; adds to `owed` what the seat was paid."""

        def is_opponents_turn(carry: tuple[jax.Array, SeatState]) -> jax.Array:
            board = carry[1].board
            return (board.current_player != state.seat) & ~(board.terminated | board.truncated)

        def play_ply(carry: tuple[jax.Array, SeatState]) -> tuple[jax.Array, SeatState]:
            key, state = carry
            key, act_key, step_key = jax.random.split(key, 3)
            (action,) = self.opponent.act(act_key, jax.tree.map(lambda leaf: leaf[None], state.board))
            board = self.env.step(state.board, action, step_key)
            return key, SeatState(board, state.seat, state.owed + board.rewards[state.seat])

        return jax.lax.while_loop(is_opponents_turn, play_ply, (key, state))[1]


def against(env: Env[Any], seat: Seat, opponent: str | Agent, *, on_host: bool = False) -> SeatPlay:
    """Returns the game of one seat against an agent that plays all other seats.

    Args:
      env: the game.
      seat: from 0 to num_players - 1, or "random": drawn uniformly at every reset.
      opponent: an agent on the device, or its text for `jaxgames.agents.make`, such as "greedy(epsilon=0.1)".
      on_host: whether the opponent can also be an agent on the host. The game against it is a `HostSeatPlay`.
    """
    if seat != "random":
        check_int("seat", seat, 0, env.num_players - 1, also=", or 'random'")
    agent = agents.make(opponent, env) if isinstance(opponent, str) else opponent
    agents.check_agent("opponent", agent)
    if not (agent.on_device or on_host):
        raise ParameterError(
            f"the opponent {agent} runs on the host, and this env plays its opponents on the device: choose one with "
            "on_device = True, such as 'random' or 'greedy', or play one board with "
            "jaxgames.interop.gymnasium.SeatEnv, which takes any agent"
        )
    return (SeatPlay if agent.on_device else HostSeatPlay)(
        env, np.int32(RANDOM_SEAT if seat == "random" else seat), agent
    )


def games_by_id() -> dict[str, str]:
    """Returns the games of `jaxgames.list_games()` by their ids in other libraries, `jaxgames/<Game>-v0`.

    The words of a game's name are joined with capitals: `jaxgames/ChineseCheckersDiamond-v0`.
    """
    return {f"jaxgames/{''.join(map(str.capitalize, game.split('_')))}-v0": game for game in list_games()}


# -- episodes, each with its own keys ------------------------------------------------------------------------------


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Episode:
    """A game of one seat with the key of everything that is random from here on."""

    key: jax.Array
    state: SeatState


def reset_episode(play: SeatPlay, key: jax.Array) -> Episode:
    """Returns a new game. Its later keys are split from `key`."""
    key, subkey = jax.random.split(key)
    return Episode(key, play.reset(subkey))


def step_episode(play: SeatPlay, episode: Episode, action: jax.Array | int) -> tuple[Episode, jax.Array]:
    """Returns the game after a step of the seat, and the reward, float32[]; see `SeatPlay.step`."""
    key, subkey = jax.random.split(episode.key)
    state, reward = play.step(subkey, episode.state, action)
    return Episode(key, state), reward


# -- one board, against any agent --------------------------------------------------------------------------------------


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class HostSeatPlay(SeatPlay):
    """A game for one seat, played on the host; made by `against`. For the same keys it is that of `SeatPlay`.

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
