"""The observation and the actions of Alpha-Mini for `minichess`, so that networks and data of that study carry over.

    env = jaxgames.make("minichess(rules=king_capture, reward=material, double_step=True, promotion=queen)")
    board = values(env.observe(state), state.current_player == 0)       # int32[5, 5], for the seat to move
    mask = action_mask(state, env.legal_action_mask(state))             # bool[942]
    state = env.step(state, ACTION[number])                             # `number` is an action of the study

`aec_env` returns the game as an environment of PettingZoo in this form.

An action of the study is a piece, the cell that it leaves and the cell that it enters, in the mover's frame. There are
942. They are numbered piece by piece (R N B Q K P), and for each piece cell by cell. The cells are in rows from the
mover's last rank to its first, each row from the left. From a cell, the lines of a piece follow each other, each from
near to far:

    rook      up, right, down, left
    knight    the jumps of KNIGHT_JUMPS
    bishop    down-right, down-left, up-left, up-right
    queen     the bishop's lines, then the rook's
    king      down, up, down-left, down-right, up-right, up-left, left, right
    pawn      one cell up, and two cells from the first two ranks

The captures by pawns, up-left and up-right, come last, again cell by cell.

The functions are pure and take one board: put `jax.vmap` around them for a batch.

Source: Sun and Tan, Alpha-Mini: Minichess Agent with Deep Reinforcement Learning, arXiv:2112.13666, section 1.3, which
speaks of 1000 actions. The numbers come from its program, the repository shiningsunnyday/mcts-chess. There Black's
pawns do not become queens, and a game of 100 plies is over; all other rules are as in the env above.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Box
from pettingzoo import AECEnv

from jaxgames._checks import host_int32
from jaxgames.env import Env
from jaxgames.games.minichess.board import BISHOP, KING, KNIGHT, NUM_PLANES, PAWN, QUEEN, ROOK, TARGET, VALUES
from jaxgames.games.minichess.rules import Minichess, MinichessState
from jaxgames.interop.pettingzoo import BoardGameEnv, checked_env
from jaxgames.registry import as_env

UP, DOWN, LEFT, RIGHT = (-1, 0), (1, 0), (0, -1), (0, 1)  # rows down, columns to the right
UP_LEFT, UP_RIGHT, DOWN_LEFT, DOWN_RIGHT = (-1, -1), (-1, 1), (1, -1), (1, 1)
KNIGHT_JUMPS = [(-1, -2), (-2, -1), (-2, 1), (-1, 2), (2, 1), (2, -1), (1, 2), (1, -2)]
LINES = {
    ROOK: [UP, RIGHT, DOWN, LEFT],
    KNIGHT: KNIGHT_JUMPS,
    BISHOP: [DOWN_RIGHT, DOWN_LEFT, UP_LEFT, UP_RIGHT],
    QUEEN: [DOWN_RIGHT, DOWN_LEFT, UP_LEFT, UP_RIGHT, UP, RIGHT, DOWN, LEFT],
    KING: [DOWN, UP, DOWN_LEFT, DOWN_RIGHT, UP_RIGHT, UP_LEFT, LEFT, RIGHT],
}


class Move(NamedTuple):
    """An action of the study: cells as `5 * row + column`, rows from the mover's last rank."""

    piece: int  # PAWN .. KING
    origin: int
    target: int


def _moves() -> Iterator[Move]:
    """Yields the actions of the study in the order of their numbers."""
    for piece, lines in LINES.items():
        for origin in range(25):
            for line in lines:
                for distance in range(1, 5 if piece in (ROOK, BISHOP, QUEEN) else 2):
                    yield from _moved(piece, origin, line, distance)
    for origin in range(25):
        for distance in (1, 2) if origin >= 15 else (1,):
            yield from _moved(PAWN, origin, UP, distance)
    for origin in range(25):
        for line in (UP_LEFT, UP_RIGHT):
            yield from _moved(PAWN, origin, line, 1)


def _moved(piece: int, origin: int, line: tuple[int, int], distance: int) -> Iterator[Move]:
    """Yields the move of a piece along a line, unless it leaves the board."""
    row, column = origin // 5 + line[0] * distance, origin % 5 + line[1] * distance
    if row in range(5) and column in range(5):
        yield Move(piece, origin, 5 * row + column)


MOVES = tuple(_moves())
NUM_ACTIONS = len(MOVES)  # 942
ILLEGAL = -1  # an action of the env that is never legal


def _cell(place: int) -> int:
    """Returns the cell of jaxgames for a cell of the study, `5 * row + column`."""
    return 5 * (place % 5) + 4 - place // 5


def _action(move: Move) -> int:
    """Returns the action of jaxgames for a move; a pawn that enters its last rank becomes a queen."""
    planes = np.flatnonzero(TARGET[_cell(move.origin)] == _cell(move.target))
    return NUM_PLANES * _cell(move.origin) + int(planes[-1])  # underpromotions come first


ACTION = np.array([_action(move) for move in MOVES], np.int32)  # int32[942], the action of jaxgames for each number
PIECE = np.array([move.piece for move in MOVES])  # int[942], of each number
ORIGIN = np.array([_cell(move.origin) for move in MOVES])  # int[942], the cell that each leaves, as jaxgames numbers it


def values(observation: Any, white: Any) -> Any:
    """Returns int32[5, 5], the value of the piece on each cell: White's are positive, Black's negative.

    The rows begin with the last rank of the seat that observes, the columns with the file a. So Black sees its pieces
    at the bottom, and negative. Values: P 100, N 280, B 320, R 479, Q 929, K 60000.

    Args:
      observation: int8 or bool[5, 5, 15], what `env.observe` shows to a seat.
      white: whether this seat is White.
    """
    planes = observation[..., :12].astype(np.int32)
    return (2 * white - 1) * ((planes[..., :6] - planes[..., 6:]) @ np.array(VALUES, np.int32))


def action_mask(state: MinichessState, mask: Any) -> Any:
    """Returns bool[942] for a mask of the mover, bool[num_actions]. Underpromotions have no number."""
    return mask[ACTION] & (_piece_on(state)[ORIGIN] == PIECE)


def number_of(state: MinichessState, action: jax.Array | int) -> jax.Array:
    """Returns int32[], the study's number of a legal action of jaxgames; -1 for an underpromotion."""
    is_it = (action == ACTION) & (_piece_on(state)[action // NUM_PLANES] == PIECE)
    return jnp.where(is_it.any(), is_it.argmax(), -1)


def _piece_on(state: MinichessState) -> Any:
    """Returns uint32[25], the kind of the mover's piece on each cell; PAWN, 0, where there is none."""
    own, cells = state.position.own, np.arange(25, dtype=np.uint32)
    return sum(((pieces & own) >> cells & 1) * np.uint32(kind) for kind, pieces in enumerate(state.position.pieces))


class PublishedEnv(BoardGameEnv):
    """`minichess` as an environment of PettingZoo, with the observations and actions of the study.

    An observation is int32[5, 5], as `values`, but of any seat: its own last rank is on top, White's pieces are
    positive. A pawn that enters its last rank becomes a queen: other promotions have no number.
    """

    def __init__(self, env: Env[Any], render_mode: str | None = None) -> None:
        if not isinstance(env.unwrapped, Minichess):
            raise ValueError(f"the published environment needs 'minichess', with any parameters, not {env}")
        super().__init__(env, render_mode)
        self.set_spaces(Box(-VALUES[KING], VALUES[KING], (5, 5), np.int32), NUM_ACTIONS)

    def step(self, action: int | None) -> None:
        super().step(action if self.board_info.over else self.own_action(action))

    def own_action(self, action: Any) -> int:
        """Returns the action of the env for a number of the study; -1, which is illegal, for a piece elsewhere.

        Raises TypeError for an action that is not one integer of Python, numpy or JAX.
        """
        number = int(host_int32("action", action))
        if not 0 <= number < NUM_ACTIONS or _piece_on(self._on_host())[ORIGIN[number]] != PIECE[number]:
            return ILLEGAL
        return int(ACTION[number])

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        own = super().observe(agent)
        mask = action_mask(self._on_host(), own["action_mask"]).astype(np.int8)
        return {"observation": values(own["observation"], agent == self.possible_agents[0]), "action_mask": mask}

    def state(self) -> np.ndarray:
        return values(super().state(), white=True)

    def _on_host(self) -> MinichessState:
        return jax.device_get(self.board)


def aec_env(env_or_id: Env[Any] | str, render_mode: str | None = None) -> AECEnv[str, dict[str, np.ndarray], int]:
    """Returns `minichess` in the numbers of the study; the arguments are as in `jaxgames.interop.pettingzoo.aec_env`.

    Raises ValueError for another game too.
    """
    return checked_env(PublishedEnv(as_env(env_or_id), render_mode))
