"""Chinese Checkers for two seats on the diamond: n x n cells with the homes in two opposite corners.

The board, its cells and the bits that stand for them: `jaxgames/games/chinese_checkers_diamond/board.py`.

The state holds the board in the mover's frame; for seat 1 it is rotated by 180 degrees. So the mover's home is the
corner at cell 0, and its goal is the opposite corner. A turn is one action: a step to an empty neighbour, or a whole
chain of hops. The action of a chain has only its first and last cells.

Hops within one word of bits form a graph of at most 25 cells. An edge goes from a cell over an occupied neighbour to an
empty cell two away. Its transitive closure is computed by Warshall's algorithm, one pass for each cell that a chain may
pass through. So it is exact on every board, with no loop that depends on the board. In this graph the moving piece
still stands on its first cell. That changes nothing: no piece of its word can hop over that cell, and a chain back to
it is not a move.

Rules and notation: docs/games/chinese_checkers_diamond.md.
"""

import dataclasses
import re
from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames._checks import MAX_TURN_LIMIT, ParameterError, check_choice, check_int
from jaxgames._platforms import at, by_platform
from jaxgames.bits import expanded
from jaxgames.env import Env, State
from jaxgames.games._hexagons import HexagonalBoard
from jaxgames.games._text import hexagonal, parse_int, parse_seat, split_fields, split_rows, written_rows
from jaxgames.games._won_or_lost import WonOrLost
from jaxgames.games.chinese_checkers_diamond import board
from jaxgames.sampling import random_bit

ROW_PARITY, COL_PARITY = np.indices((2, 2), np.int32)  # of the cells of each word
IS_OTHER = np.arange(2).reshape(2, 1, 1) == 1  # of the two sides of `pieces`, the opponent
PIECES = (1, 3, 6, 10)  # allowed numbers per side: the home is a triangle, the cells with row + col <= 0, 1, 2, 3


@jax.tree_util.register_dataclass
@dataclass(frozen=True, kw_only=True)
class ChineseCheckersDiamondState(State):
    """One board: one bit per cell and side, in four words each, and 18 bytes more."""

    pieces: jax.Array  # uint8, 16 or 32[2, 2, 2], mover's frame: the sets of the mover's and of the opponent's cells
    ply: jax.Array  # int32[], turns played, passes included


@dataclass(frozen=True)
class ChineseCheckersDiamond(HexagonalBoard, WonOrLost, Env[ChineseCheckersDiamondState]):
    """Two-player Chinese Checkers on an n x n diamond with k pieces per side.

    Args:
      size: n = 2..9.
      pieces: k = 1, 3, 6 or 10, if both homes fit: 1 on every board, 3 from n = 3, 6 from n = 4, 10 from n = 5.
        None: 6, or the largest k that fits.
      tip_lock: only for 6 pieces. Also forbids positions in which the tip of a home, cell (0, 0), is locked: it is
        empty, and its owner's pieces are on the four cells (0, 1), (1, 0), (0, 2), (2, 0).
      max_plies: turns after which the game is truncated.

    Action: from * n * n + to, cells in the mover's frame; a step or a whole chain of hops. Action 0 is a pass, which is
    legal only for a player without a move.
    Observation: bool[n, n, 2] in the frame of the viewer, the seat that observes: the viewer's pieces, the opponent's.
    Reward: 1 to the winner, -1 to the other.
    Source: Sturtevant, On Strongly Solving Chinese Checkers, 2019; Ahmad, Sturtevant & Bowling.
    """

    id: ClassVar[str] = "chinese_checkers_diamond"
    num_players: int = dataclasses.field(default=2, init=False)
    size: int = 7
    pieces: int | None = None
    tip_lock: bool = False
    max_plies: int = 200

    def __post_init__(self) -> None:
        check_int("size", self.size, 2, 9)
        # A home of `row` + 1 rows of the diamond fits if it does not reach the middle row.
        fitting = [k for row, k in enumerate(PIECES) if row <= self.size - 2]
        if self.pieces is None:
            object.__setattr__(self, "pieces", [k for k in fitting if k <= 6][-1])
        if self.pieces in PIECES and self.pieces not in fitting:
            allowed = ", ".join(map(str, fitting))
            raise ParameterError(
                f"pieces must be one of {allowed} for size={self.size}, where both homes fit, not {self.pieces}"
            )
        check_choice("pieces", self.pieces, PIECES)
        check_choice("tip_lock", self.tip_lock, (False, True))
        if self.tip_lock and self.pieces != 6:
            raise ParameterError(f"tip_lock=True is a rule for pieces=6 only, not for pieces={self.pieces}")
        check_int("max_plies", self.max_plies, 1, MAX_TURN_LIMIT)

    # -- plain values ------------------------------------------------------------------------------

    @property
    def num_cells(self) -> int:
        return self.size * self.size

    @property
    def num_actions(self) -> int:
        return self.num_cells**2

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        return (self.size, self.size, 2)

    @property
    def _axial(self) -> np.ndarray:
        return np.stack(np.divmod(np.arange(self.num_cells), self.size)[::-1], axis=-1)  # the column, the row

    @property
    def max_steps(self) -> int:
        return self.max_plies

    @property
    def _home(self) -> np.ndarray:
        """The mover's home, which is the opponent's goal: uint32[2, 2]."""
        return board.cell_set(self.size, self.home_of(0))

    @property
    def _goal(self) -> np.ndarray:
        """The mover's goal: uint32[2, 2]."""
        return board.cell_set(self.size, self.home_of(1))

    @property
    def _dtype(self) -> np.dtype[np.unsignedinteger]:
        """The smallest type of words that holds a set of cells."""
        return np.min_scalar_type((1 << board.tables(self.size).bits) - 1)

    def home_of(self, seat: int) -> list[int]:
        """Returns the cells of a seat's home, its tip first; the home of seat 1 is the goal in the mover's frame."""
        assert self.pieces is not None  # settled in __post_init__
        cells = board.corner(self.size, self.pieces)
        return [self.num_cells - 1 - cell if seat == 1 else cell for cell in cells]

    # -- rules -------------------------------------------------------------------------------------

    def _init(self, key: jax.Array | None) -> ChineseCheckersDiamondState:
        return ChineseCheckersDiamondState(
            current_player=jnp.int32(0),
            rewards=jnp.zeros(2, jnp.float32),
            terminated=jnp.bool_(False),
            truncated=jnp.bool_(False),
            pieces=jnp.asarray(np.array([self._home, self._goal]).astype(self._dtype)),
            ply=jnp.int32(0),
        )

    def _legal_action_mask(self, state: ChineseCheckersDiamondState) -> jax.Array:
        return expanded(lambda word, move: (word & move) != 0, self._moves(state), board.tables(self.size).move)

    def _random_legal_action(self, state: ChineseCheckersDiamondState, key: jax.Array) -> jax.Array:
        origin, bit = random_bit(key, self._moves(state))
        return self.num_cells * origin + at(jnp.asarray(board.tables(self.size).target.ravel()), 32 * origin + bit)

    def _is_legal(self, state: ChineseCheckersDiamondState, action: jax.Array) -> jax.Array:
        origin, target = board.split_number(jnp.clip(action, 0, self.num_actions - 1), self.num_cells)
        moves = at(self._moves(state), origin)
        move = at(jnp.asarray(board.tables(self.size).move.ravel()), origin * self.num_cells + target)
        return (action >= 0) & (action < self.num_actions) & ((moves & move) != 0)

    def _moves(self, state: ChineseCheckersDiamondState) -> jax.Array:
        """Returns uint32[cells], the moves from each cell as bits (see `board.FIRST_STEP_BIT`), with the pass."""
        n, t = self.size, board.tables(self.size)
        own, other = state.pieces.astype(jnp.uint32)
        occupied, empty = own | other, ~(own | other) & t.all

        reached = jnp.zeros((2, 2, t.bits), jnp.uint32)  # [word and bit of the origin]: targets, first of one hop
        for direction, hop in enumerate(t.hop_ahead.tolist()):
            landing = board.shift_bits(board.sources(n, occupied, direction) & t.far[direction], hop) & empty
            target = np.arange(t.bits) + hop
            target_bit = np.where((target >= 0) & (target < t.bits), 1 << np.clip(target, 0, 31), 0)
            reached |= landing[..., None] & target_bit.astype(np.uint32)[None, None]
        reached = by_platform(reached, cpu=closure_of_vectors, library=closure_of_words)  # then of whole chains

        forbidden = self._forbidden(own, other)
        for origins, targets in forbidden:
            reached &= ~jnp.where(board.unpack_words(n, origins) != 0, targets[..., None], 0)
        for direction in range(6):
            free = board.sources(n, empty, direction)
            for origins, targets in forbidden:
                free &= ~(board.sources(n, targets, direction) & origins)
            reached |= board.unpack_words(n, free) << np.uint32(board.FIRST_STEP_BIT + direction)
        reached = jnp.where(board.unpack_words(n, own) != 0, reached, 0).ravel()

        moves = reached.at[t.word * t.bits + t.bit].get(mode="promise_in_bounds")
        passes = jnp.where((moves != 0).any(), 0, np.uint32(1 << board.PASS_BIT))
        return moves | jnp.where(np.arange(self.num_cells) == 0, passes, 0)

    def _forbidden(self, own: jax.Array, other: jax.Array) -> list[tuple[jax.Array, jax.Array]]:
        """Returns pairs of sets of cells: no piece may move from the first to the second, even if the path is free."""
        home, everywhere = jnp.asarray(self._home), jnp.asarray(board.tables(self.size).all)
        occupied = own | other
        # The last empty cell of the mover's home while an opponent's piece is there: filling it lets the opponent win.
        hole = home & ~occupied
        fills = (home & other).any() & (board.count_cells(hole) == 1)
        forbidden = [(everywhere & ~home, jnp.where(fills, hole, 0))]
        if self.tip_lock:
            tip, fence = (jnp.asarray(board.cell_set(self.size, cells)) for cells in ((0,), self.fence))
            missing, num_missing = fence & ~own, board.count_cells(fence & ~own)
            # A move to one of these cells completes the fence: to any cell if it is whole, or to its only missing cell.
            locks = jnp.where(num_missing == 0, everywhere, jnp.where(num_missing == 1, missing, 0))
            # The tip is empty after the move if it was empty before, or if the piece leaves it. A move that starts on
            # the fence cannot complete it.
            forbidden.append((jnp.where((occupied & tip).any(), tip, everywhere & ~fence), locks))
            # A locked tip of the opponent stays locked and forbidden, whatever the mover plays.
            tip, fence = board.rotate(self.size, tip), board.rotate(self.size, fence)
            locked = ~(fence & ~other | occupied & tip).any()
            forbidden.append((everywhere, jnp.where(locked, everywhere, 0)))
        return forbidden

    @property
    def fence(self) -> tuple[int, ...]:
        """The cells (0, 1), (1, 0), (0, 2), (2, 0) that can lock the tip of the mover's home."""
        return (1, self.size, 2, 2 * self.size)

    def _step(
        self, state: ChineseCheckersDiamondState, action: jax.Array, key: jax.Array | None
    ) -> ChineseCheckersDiamondState:
        origin, target = board.split_number(jnp.clip(action, 0, self.num_actions - 1), self.num_cells)
        own, other = state.pieces.astype(jnp.uint32)
        own = jnp.where(origin == target, own, own & ~self._single(origin) | self._single(target))
        won = board.is_filled(self._goal, own, other)
        ply = state.ply + 1
        is_mover = np.arange(2) == state.current_player
        return ChineseCheckersDiamondState(
            current_player=1 - state.current_player,
            rewards=jnp.where(won, jnp.where(is_mover, 1.0, -1.0), 0.0).astype(jnp.float32),
            terminated=won,
            truncated=~won & (ply >= self.max_plies),
            pieces=board.rotate(self.size, jnp.where(IS_OTHER, own, other)).astype(self._dtype),
            ply=ply,
        )

    def _single(self, cell: jax.Array) -> jax.Array:
        """Returns uint32[2, 2], the set of one cell."""
        row, col = board.split_number(cell, self.size)
        here = (row % 2 == ROW_PARITY) & (col % 2 == COL_PARITY)
        bit = row // 2 * ((self.size + 1) // 2) + col // 2
        return jnp.where(here, np.uint32(1) << bit.astype(jnp.uint32), 0)

    def _restart_clock(self, state: ChineseCheckersDiamondState) -> ChineseCheckersDiamondState:
        return dataclasses.replace(state, ply=jnp.zeros_like(state.ply))

    # -- outcome -----------------------------------------------------------------------------------

    def _winners(self, state: ChineseCheckersDiamondState) -> jax.Array:
        return (np.arange(2) != state.current_player) & self._is_won(state)

    def _reason(self, state: ChineseCheckersDiamondState) -> str:
        if state.truncated:
            return f"{self.max_plies} plies without a winner"
        return "goal filled" if self._is_won(jax.device_get(state)) else ""

    def _is_won(self, state: ChineseCheckersDiamondState) -> jax.Array:
        """Returns bool[], whether the last mover has won: its goal, the mover's home, is full and holds its piece."""
        own, other = state.pieces
        return board.is_filled(self._home.astype(self._dtype), other, own)

    # -- observation -------------------------------------------------------------------------------

    def _observe(self, state: ChineseCheckersDiamondState, player: jax.Array) -> jax.Array:
        opposite = board.rotate(self.size, state.pieces.astype(jnp.uint32)[::-1]).astype(self._dtype)
        pieces = jnp.where(player == state.current_player, state.pieces, opposite)
        return jnp.moveaxis(board.unpack(self.size, pieces), 0, -1).reshape(self.observation_shape)

    # -- notation ----------------------------------------------------------------------------------

    def _action_to_string(self, state: ChineseCheckersDiamondState, action: int) -> str:
        """Returns `0>8` in absolute cells, legal or not; a pass goes from the tip of the mover's home to itself."""
        origin, target = (self._absolute(state, cell) for cell in divmod(action, self.num_cells))
        return f"{origin}>{target}"

    def _action_from_string(self, state: ChineseCheckersDiamondState, text: str) -> int:
        """Returns the action that a text names, legal or not."""
        found = re.fullmatch(r"([0-9]{1,9})>([0-9]{1,9})", text)
        if not found:
            raise ValueError(f"expected a move '0>8' from cell to cell, not {text!r}")
        last = self.num_cells - 1
        cells = [
            parse_int(number, f"cells from 0 to {last}", high=last, shown=f"{number} in {text!r}")
            for number in found.groups()
        ]
        origin, target = (self._absolute(state, cell) for cell in cells)
        return origin * self.num_cells + target

    def _absolute(self, state: ChineseCheckersDiamondState, cell: int) -> int:
        """Returns the absolute number of a cell of the mover's frame; the same formula leads back."""
        return self.num_cells - 1 - cell if int(state.current_player) == 1 else cell

    def pieces_of(self, state: ChineseCheckersDiamondState) -> dict[int, tuple[int, str]]:
        """Returns the seat and "piece" for each cell with a piece, in the order of the cells; on the host."""
        mover, t = int(state.current_player), board.tables(self.size)
        sides = (np.asarray(state.pieces).reshape(2, 4)[:, t.word] >> t.bit) & 1
        sides = sides if mover == 0 else sides[::-1, ::-1]
        return {cell: (int(sides[1, cell]), "piece") for cell in np.flatnonzero(sides.any(0)).tolist()}

    def _to_string(self, state: ChineseCheckersDiamondState) -> str:
        """Returns rows joined by `/` of `.`, `0` and `1`, the seat to move, the number of turns played."""
        rows = written_rows(self.pieces_of(state), [self.size] * self.size)
        return f"{rows} {int(state.current_player)} {int(state.ply)}"

    def _to_text(self, state: ChineseCheckersDiamondState) -> str:
        places = [(row + col, col - row) for row in range(self.size) for col in range(self.size)]
        return hexagonal(self.pieces_of(state), places, 2)

    def _from_string(self, text: str) -> ChineseCheckersDiamondState:
        """Returns any placement of pieces, any number of them per side; see `to_string`.

        `terminated` is set if the last mover, the seat that is not to move, has won, `truncated` if `max_plies` turns
        have been played.
        """
        rows, seat, ply = split_fields(text, "rows seat ply")
        mover, turns = parse_seat(seat, 2), parse_int(ply, "the number of turns played")
        lengths = dict.fromkeys(range(self.size), self.size)
        content = "".join(split_rows(rows, lengths, ".01", "'.', '0' or '1' on every cell"))
        cells = [[i for i, letter in enumerate(content) if letter == owner] for owner in "01"]
        if mover == 1:
            cells = [[self.num_cells - 1 - cell for cell in side] for side in reversed(cells)]
        pieces = np.array([board.cell_set(self.size, side) for side in cells]).astype(self._dtype)
        state = dataclasses.replace(
            self._init(None), current_player=jnp.int32(mover), pieces=jnp.asarray(pieces), ply=jnp.int32(turns)
        )
        won = bool(self._is_won(jax.device_get(state)))
        truncated = not won and turns >= self.max_plies
        return dataclasses.replace(state, terminated=jnp.bool_(won), truncated=jnp.bool_(truncated))


def closure_of_vectors(reached: jax.Array) -> jax.Array:
    """Returns uint32[2, 2, bits], the cells that chains reach from each origin, from those that one hop reaches.

    Warshall's algorithm on all origins at once, as a CPU takes them.
    """
    for stop in range(reached.shape[-1]):  # then also of chains that pass through the cell of this bit
        reached = jnp.where((reached & np.uint32(1 << stop)) != 0, reached | reached[..., stop : stop + 1], reached)
    return reached


def closure_of_words(reached: jax.Array) -> jax.Array:
    """Returns the same as `closure_of_vectors`, on one array for each bit: one thread of a GPU takes all of a word."""
    of_bits = [*jnp.moveaxis(jax.lax.optimization_barrier(reached), -1, 0)]
    for stop in range(len(of_bits)):
        through = of_bits[stop]
        of_bits = [jnp.where((cells & np.uint32(1 << stop)) != 0, cells | through, cells) for cells in of_bits]
    return jnp.moveaxis(jax.lax.optimization_barrier(jnp.stack(of_bits)), 0, -1)
