"""Chinese Checkers on the diamond solved: every placement of the pieces, by retrograde analysis.

`positions.py` of this folder numbers the positions, and `jaxgames.solvers.exact.retrograde` describes the byte of each.
Positions whose mover has won already are illegal. With `tip_lock`, positions with a locked tip are illegal too.
"""

import dataclasses
import functools
import hashlib
import math
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames._batches import in_chunks
from jaxgames._files import read_file, write_file
from jaxgames.env import State
from jaxgames.games.chinese_checkers_diamond.board import tables, unpack
from jaxgames.games.chinese_checkers_diamond.cell_sets import Cells
from jaxgames.games.chinese_checkers_diamond.positions import (
    after_pass,
    fold_children,
    index_of,
    is_illegal,
    is_lost,
    num_positions,
    position_at,
    targets_of_pieces,
)
from jaxgames.games.chinese_checkers_diamond.rules import ChineseCheckersDiamond, ChineseCheckersDiamondState
from jaxgames.solvers.exact import retrograde
from jaxgames.solvers.exact.retrograde import DRAW, ILLEGAL, MAX_MOVES, NONE, OPEN
from jaxgames.solvers.exact.solution import ILLEGAL_SCORE, SOLUTION_FILE, Children, Solution, not_of, start_of

CHUNK = 1 << 15  # positions that are computed at once on a CPU: their words stay in its caches
CHUNK_ON_ACCELERATOR = 1 << 20
SECONDS_BETWEEN_SAVES = 300  # of an unfinished analysis
PLIES, MOVES_LEFT, ROWS = "plies", "moves_left", "rows"  # the entries that only an unfinished file has
BYTES_PER_POSITION = 2  # of the tables of an analysis
SECONDS_PER_POSITION = 2e-6  # of a core with six pieces, about, for the message that refuses a game
OUTCOMES = {1: "won", 0: "drawn", -1: "lost"}  # for the mover, by the value
WIN_SCORE = 1_000  # of a win, before its plies are subtracted
MAX_POSITIONS = 2**31 - 1  # int32 numbers the entries of an array


class DiamondSolution(Solution[ChineseCheckersDiamond]):
    """The solution of `chinese_checkers_diamond`: 1 where the mover wins, -1 where it loses, 0 for a draw.

    Illegal positions have the value 0 and -1 plies, and no best actions.
    """

    ignored: ClassVar[tuple[str, ...]] = ("max_plies",)
    has_plies: ClassVar[bool] = True

    def __init__(self, env: ChineseCheckersDiamond, table: np.ndarray, max_moves: int) -> None:
        self.env = env
        self.table = table  # uint8[num_states], the byte of every position; see `jaxgames.solvers.exact.retrograde`
        self.num_states: int = len(table)
        self.max_moves: int = max_moves

    @classmethod
    def solve(cls, env: ChineseCheckersDiamond, progress: bool = True, unfinished: Path | None = None) -> Self:
        check_size(env)
        if progress:
            mib = math.ceil(BYTES_PER_POSITION * num_positions(env) / 2**20)
            print(f"{env}: {num_positions(env):,} positions, tables of {mib:,} MiB", file=sys.stderr)
        arrays = _read_unfinished(env, unfinished) if unfinished is not None and unfinished.exists() else _begin(env)
        saved = time.monotonic()

        def save(plies: int) -> None:
            nonlocal saved
            if unfinished is not None and time.monotonic() - saved > SECONDS_BETWEEN_SAVES:
                write_file(SOLUTION_FILE, unfinished, env, {**arrays, PLIES: np.asarray(plies)})
                saved = time.monotonic()

        table, order, plies = arrays["table"], DiamondOrder(env, int(arrays[ROWS])), int(arrays[PLIES])
        retrograde.analyse(table, arrays[MOVES_LEFT], order, chunk_size(), progress, save, plies)
        if unfinished is not None:
            unfinished.unlink(missing_ok=True)
        return cls(env, table, int(arrays["max_moves"]))

    def value(self, states: State) -> np.ndarray:
        return _result(self.table[self.index(states)]).astype(np.int8)

    def plies(self, states: State) -> np.ndarray:
        entry = self.table[self.index(states)].astype(np.int32)
        return np.where(entry >= ILLEGAL, -1, entry).astype(np.int32)

    def is_legal(self, states: State) -> np.ndarray:
        return self.table[self.index(states)] != ILLEGAL

    def best_actions(self, states: State) -> np.ndarray:
        return super().best_actions(states) & self.is_legal(states)[:, None]

    @staticmethod
    def scores(env: ChineseCheckersDiamond, table: jax.Array, states: ChineseCheckersDiamondState) -> jax.Array:
        own, other = position_at(env, index_of_states(env, states.pieces)[0])
        origin = targets_of_pieces(env, own, other)[0].below().count()
        rows = jnp.arange(origin.shape[1])

        def visit(scores: jax.Array, children: jax.Array, cell: jax.Array, live: jax.Array) -> jax.Array:
            reply = table[children].astype(jnp.int32)  # plies to the end for the opponent
            score = -_result(reply) * (WIN_SCORE - reply)
            action = jnp.where(cell < 0, 0, origin * env.num_cells + cell)
            return scores.at[rows, jnp.where(live, action, env.num_actions)].set(score, mode="drop")

        empty = jnp.full((origin.shape[1], env.num_actions), ILLEGAL_SCORE, jnp.int32)
        return fold_children(env, own, other, visit, empty)

    @staticmethod
    def payoffs(env: ChineseCheckersDiamond, table: jax.Array, states: ChineseCheckersDiamondState) -> jax.Array:
        of_mover = _result(table[index_of_states(env, states.pieces)[0]].astype(jnp.int32))
        return jnp.where(states.current_player == 0, of_mover, -of_mover).astype(jnp.float32)

    def counts(self) -> dict[str, Any]:
        """Returns how many positions are won, lost and drawn for the mover, and illegal.

        `states` is their sum. `plies` lists how many positions end after 0, 1, 2, ... plies.
        """
        blocks = retrograde.blocks(self.table)  # `bincount` makes int64 of each entry
        by_entry = np.sum([np.bincount(block, minlength=256) for block in blocks], axis=0)
        ending = by_entry[:ILLEGAL]
        return {
            "states": self.num_states,
            "won": int(ending[1::2].sum()),
            "lost": int(ending[0::2].sum()),
            "drawn": int(by_entry[DRAW]),
            "illegal": int(by_entry[ILLEGAL]),
            "plies": np.trim_zeros(ending, "b").tolist(),
        }

    def facts(self) -> dict[str, Any]:
        """Returns the facts of every game, the plies and winning moves from the start, and the table's checksum."""
        start = start_of(self.env)
        return super().facts() | {
            "start_plies": int(self.plies(start)[0]),
            "start_moves": int(self.children(self.index(start)).live.sum()),
            "start_best_moves": int(self.best_actions(start).sum()),
            "sha256": hashlib.sha256(self.table.data).hexdigest(),
        }

    def report(self) -> str:
        """Returns the table of the states with either seat to move, the start, and the plies to the end as text."""
        facts = self.facts()
        decided = facts["won"] + facts["lost"]  # seat 0 wins the won ones if it moves, the lost ones if seat 1 moves
        rows = [2 * self.num_states, decided, decided, 2 * facts["drawn"], 2 * facts["illegal"]]
        names = ["states", "won by seat 0", "lost by seat 0", "drawn", "illegal"]
        outcome = OUTCOMES[facts["start_value"]]
        length = f" in {facts['start_plies']} plies" if facts["start_value"] else ""
        lines = [f"{name:>14}  {number:>13,}" for name, number in zip(names, rows, strict=True)]
        lines += ["", f"The start is {outcome} for seat 0{length}; {facts['start_best_moves']} of its "]
        lines[-1] += f"{facts['start_moves']} moves keep this value."
        lines += ["", f"SHA-256 of the table: {facts['sha256']}"]
        lines += ["", f"{'plies to the end':>16}  positions of the mover"]
        lines += [f"{plies:>16}  {number:>13,}" for plies, number in enumerate(facts["plies"])]
        return "\n".join(lines)

    def index(self, states: State) -> np.ndarray:
        """Returns uint32[B], the indices of positions.

        A state does not hold the size of its board. One of a smaller diamond with as many pieces is read as the
        position of this diamond with the same words.
        """
        pieces: Any = getattr(states, "pieces", None)
        if pieces is None or np.ndim(pieces) != 4 or np.shape(pieces)[1:] != (2, 2, 2):
            raise not_of(self.env, states)
        indices, fits = in_chunks(functools.partial(index_of_states, self.env), np.asarray(pieces))
        if not fits.all():
            row = int(np.flatnonzero(~fits)[0])
            raise ValueError(
                f"expected {self.env.pieces} pieces per side, and state {row} has other numbers of them, or pieces "
                f"outside of the {self.env.num_cells} cells of {self.env}"
            )
        return indices

    def states_at(self, indices: Any) -> ChineseCheckersDiamondState:
        return in_chunks(functools.partial(states_of_indices, self.env), self.checked_indices(indices))

    def children(self, indices: Any) -> Children:
        indices = self.checked_indices(indices)
        actions, children, live = in_chunks(functools.partial(children_of, self.env, self.max_moves), indices)
        live &= ((self.table[indices] != ILLEGAL) & (self.table[indices] != 0))[:, None]
        return Children(np.where(live, actions, -1), np.where(live, children, 0), live)

    def arrays(self) -> dict[str, np.ndarray]:
        return {"table": self.table, "max_moves": np.asarray(self.max_moves)}

    @classmethod
    def from_arrays(cls, env: ChineseCheckersDiamond, arrays: dict[str, np.ndarray]) -> Self:
        if PLIES in arrays:
            raise ValueError(f"the analysis of {env} is not finished: resume it, and load the file of the result")
        if missing := {"table", "max_moves"} - arrays.keys():
            raise ValueError(f"the file holds no {' and no '.join(sorted(missing))} of {env}: solve the game again")
        table, max_moves = arrays["table"], int(arrays["max_moves"])
        if table.shape != (num_positions(env),) or table.dtype != np.uint8:
            raise ValueError(
                f"expected uint8[{num_positions(env)}], one byte per position of {env}, "
                f"not {table.dtype}{list(table.shape)}"
            )
        return cls(env, table, max_moves)


def _result(entry: Any) -> Any:
    """Returns 1, 0 or -1 for the mover by the bytes of positions, of numpy or of JAX; 0 for an illegal one."""
    return (entry < ILLEGAL) * (2 * (entry % 2).astype(np.int32) - 1)


def check_size(env: ChineseCheckersDiamond) -> None:
    """Raises ValueError, with what it would take, for a game with too many positions."""
    positions = num_positions(env)
    if positions > MAX_POSITIONS:
        memory, hours = BYTES_PER_POSITION * positions / 2**30, positions * SECONDS_PER_POSITION / 3600
        raise ValueError(
            f"{env} has {positions:,} positions, and at most {MAX_POSITIONS:,} can be solved: "
            f"its tables would take {memory:,.0f} GiB, and a core about {hours:,.1f} hours"
        )


def chunk_size() -> int:
    """Returns the number of positions that are computed at once."""
    return CHUNK if jax.default_backend() == "cpu" else CHUNK_ON_ACCELERATOR


def _read_unfinished(env: ChineseCheckersDiamond, path: Path) -> dict[str, np.ndarray]:
    """Returns the arrays of an unfinished analysis."""
    solved, arrays = read_file(SOLUTION_FILE, path)
    if str(solved) != str(env) or MOVES_LEFT not in arrays:
        raise ValueError(f"{path} holds no unfinished analysis of {env}: name another file, or remove it")
    return arrays


# -- compiled ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DiamondOrder:
    """The slot of a position is the place of the same pieces with the other side to move.

    All positions before one have its mover's cells in the first part of their slots, so they are close together. Moves
    are taken back by the same rules: the places of the positions that would follow if the other side moved are the
    slots of the positions before. The rules forbid only moves to illegal positions. Taken back, such a move leads to a
    finished or illegal position, so no move of an open position is missed. A side without a move passes, and the
    position before a pass is the same placement.
    """

    env: ChineseCheckersDiamond
    rows: int  # one more than the moves of any piece, for passes

    def place(self, slots: jax.Array) -> jax.Array:
        return index_of(self.env, *after_pass(self.env, *position_at(self.env, slots)))

    def before(self, places: jax.Array) -> tuple[jax.Array, jax.Array]:
        def visit(carry: Any, slots: jax.Array, _: jax.Array, live: jax.Array) -> Any:
            found, rows = carry
            return found.at[rows].set(jnp.where(live, slots, NONE)), rows + 1

        found = jnp.full((self.rows, self.env.pieces, *places.shape), NONE)
        position = after_pass(self.env, *position_at(self.env, places))
        return fold_children(self.env, *position, visit, (found, jnp.int32(0)))


def _begin(env: ChineseCheckersDiamond) -> dict[str, np.ndarray]:
    """Returns the arrays of an unfinished analysis without a sweep."""
    positions, chunk = num_positions(env), chunk_size()
    max_moves, rows = 1, 1
    table, moves_left = np.zeros(positions, np.uint8), np.zeros(positions, np.uint8)
    for begin in range(0, positions, chunk):
        slots = np.minimum(np.arange(begin, begin + chunk), positions - 1).astype(np.uint32)
        places, ends, moves, of_piece = map(np.asarray, _classify(env, slots))
        table[places], moves_left[slots] = ends, moves
        max_moves, rows = max(max_moves, int(moves.max())), max(rows, 1 + int(of_piece))
    if max_moves > MAX_MOVES:
        raise RuntimeError(f"a position of {env} has {max_moves} moves, more than one byte can count")
    arrays = {"table": table, MOVES_LEFT: moves_left, "max_moves": max_moves, ROWS: rows, PLIES: 0}
    return {name: np.asarray(array) for name, array in arrays.items()}


@functools.partial(jax.jit, static_argnums=0)
def _classify(env: ChineseCheckersDiamond, slots: jax.Array) -> tuple[jax.Array, ...]:
    """Returns the places, 0, ILLEGAL or OPEN, and the moves of open positions, by slot; then the most of any piece."""
    position = after_pass(env, *position_at(env, slots))
    ends = jnp.where(is_illegal(env, *position), ILLEGAL, jnp.where(is_lost(env, *position), 0, OPEN))
    of_pieces = targets_of_pieces(env, *position)[1].count()
    moves = jnp.maximum(of_pieces.sum(0), 1)  # a pass without other moves
    moves = jnp.where(ends == OPEN, moves, retrograde.CLOSED)
    return index_of(env, *position), ends.astype(jnp.uint8), moves, of_pieces.max()


def _words(env: ChineseCheckersDiamond, on_cells: jax.Array) -> Cells:
    """Returns sets of cells, bool[B, N], as rows of words."""
    bits = on_cells.astype(jnp.uint32) << np.arange(env.num_cells, dtype=np.uint32) % 32
    return Cells(bits[:, first : first + 32].sum(-1, dtype=jnp.uint32) for first in range(0, env.num_cells, 32))


@functools.partial(jax.jit, static_argnums=0)
def index_of_states(env: ChineseCheckersDiamond, pieces: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Returns uint32[B], the indices, and bool[B], whether each side has its k pieces, on different cells."""
    on_cells = unpack(env.size, pieces)  # bool[B, 2, N]
    own, other = (_words(env, on_cells[:, side]) for side in range(2))
    fits = (own.count() == env.pieces) & (other.count() == env.pieces) & (own & other).is_empty()
    fits &= ((pieces & ~tables(env.size).all) == 0).all((1, 2, 3))
    return jnp.where(fits, index_of(env, own, other), 0), fits


def index_of_observations(env: ChineseCheckersDiamond, observations: jax.Array) -> jax.Array:
    """Returns uint32[B], the indices of the positions that their movers observe as bool[B, size, size, 2].

    The index is meaningless where a side has another number of pieces than in the game.
    """
    on_cells = observations.reshape(-1, env.num_cells, 2)
    own, other = (_words(env, on_cells[..., side]) for side in range(2))
    return index_of(env, own, other)


@functools.partial(jax.jit, static_argnums=0)
def states_of_indices(env: ChineseCheckersDiamond, indices: jax.Array) -> ChineseCheckersDiamondState:
    """Returns the states of the positions with these indices, uint32[B], at ply 0 with seat 0 to move."""
    own, other = position_at(env, indices)
    start = env.init(None)
    single = tables(env.size).single
    pieces = jnp.zeros((len(indices), 2, 2, 2), jnp.uint32)
    for cell in range(env.num_cells):
        on_cell = jnp.stack([(side[cell // 32] >> (cell % 32)) & 1 for side in (own, other)], -1)
        pieces |= on_cell[..., None, None] * single[cell]
    states: ChineseCheckersDiamondState = jax.tree.map(lambda x: jnp.broadcast_to(x, (len(indices), *x.shape)), start)
    return dataclasses.replace(states, terminated=is_lost(env, own, other), pieces=pieces.astype(start.pieces.dtype))


@functools.partial(jax.jit, static_argnums=(0, 1))
def children_of(env: ChineseCheckersDiamond, max_moves: int, indices: jax.Array) -> Children:
    """Returns the positions that follow, with meaningless results for finished and illegal positions."""
    own, other = position_at(env, indices)
    pieces, targets = targets_of_pieces(env, own, other)
    moves = targets.count()
    first_slot = jnp.cumsum(moves, 0) - moves  # int32[k, B]
    origin = pieces.below().count()
    rows = jnp.broadcast_to(jnp.arange(indices.shape[0]), moves.shape)

    def visit(carry: Any, children: jax.Array, cell: jax.Array, live: jax.Array) -> Any:
        slot, actions, after, lives = carry
        action = jnp.where(cell < 0, 0, origin * env.num_cells + cell)
        at = jnp.where(live, slot, max_moves)
        return (
            slot + live,
            actions.at[rows, at].set(action, mode="drop"),
            after.at[rows, at].set(children, mode="drop"),
            lives.at[rows, at].set(True, mode="drop"),
        )

    shape = (indices.shape[0], max_moves)
    empty = (jnp.full(shape, -1, jnp.int32), jnp.zeros(shape, jnp.uint32), jnp.zeros(shape, jnp.bool_))
    return Children(*fold_children(env, own, other, visit, (first_slot, *empty))[1:])
