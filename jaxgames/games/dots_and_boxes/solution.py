"""Dots and Boxes solved: the value of every set of drawn edges, from the full board backwards.

The value V(S) is the margin to go: the boxes that the mover takes from here on, minus the opponent's boxes, with best
play of both sides. It depends on the set S of drawn edges alone. With g(S, e) boxes completed by edge e after S,

    V(all edges) = 0
    V(S) = max over e not in S of  g(S, e) + V(S + e)  if g(S, e) > 0,  else -V(S + e)

The index of a set has bit e for edge e. The table is a matrix: the low bits of the index are the column, the others the
row. One call solves some rows whose numbers have equally many bits, so that none of them depends on another:

    1. High edges, row by row: the values after such an edge are one earlier row, read as a whole.
    2. Low edges, column by column from the last to the first: the values after such an edge are a later column of the
       same rows. The part is transposed first, so that a column of all rows is read as a whole.

So no entry is gathered alone, and the table is read almost in order. 3 x 3 boxes (2^24 sets) take about a second, 3 x 4
boxes (2^31 sets) less than a minute on two cores.
"""

import dataclasses
import functools
from pathlib import Path
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames._batches import in_chunks
from jaxgames._progress import Progress
from jaxgames.env import State
from jaxgames.games.dots_and_boxes.rules import NOBODY, DotsAndBoxes, DotsAndBoxesState, boxes
from jaxgames.solvers.exact.solution import ILLEGAL_SCORE, Children, Solution, not_of

MAX_EDGES = 32  # an index is one uint32
DRAWN_EDGE = np.int8(-128)  # in place of the margin by an edge that is drawn, below every margin
SETS_PER_SECOND = 1e8  # on two cores, for the message that refuses a board
TILE = 16  # rows and columns of the squares in which a part is transposed, which fit the cache
PART = 1 << 20  # sets whose values are counted at once


class DotsAndBoxesSolution(Solution[DotsAndBoxes]):
    """The solution of `dots_and_boxes`: the margin to go in boxes, for the mover. All rewards have the same one.

    The owners of complete boxes do not change it. So a position is a set of drawn edges: bit e of its index is edge e.
    """

    ignored: ClassVar[tuple[str, ...]] = ("reward",)

    def __init__(self, env: DotsAndBoxes, table: np.ndarray) -> None:
        self.env = env
        self.table = table  # int8[2 ** num_edges], the margin to go of every set of drawn edges
        self.num_states: int = len(table)
        self.max_moves: int = env.num_edges

    @classmethod
    def solve(cls, env: DotsAndBoxes, progress: bool = True, unfinished: Path | None = None) -> Self:
        return cls(env, solve_table(env, progress))

    @property
    def paying_env(self) -> DotsAndBoxes:
        return dataclasses.replace(self.env, reward="boxes")  # each box when it is taken

    def value(self, states: State) -> np.ndarray:
        return self.table[self.index(states)]

    @functools.cached_property
    def device_table(self) -> jax.Array:
        return jnp.asarray(self.table.reshape(table_shape(self.env)))  # an index of a vector would not fit int32

    @staticmethod
    def scores(env: DotsAndBoxes, table: jax.Array, states: DotsAndBoxesState) -> jax.Array:
        worth = _worth_of_sets(env, table, states.edges)
        return jnp.where(states.edges, ILLEGAL_SCORE, worth.astype(jnp.int32))

    @staticmethod
    def payoffs(env: DotsAndBoxes, table: jax.Array, states: DotsAndBoxesState) -> jax.Array:
        to_go = table[place_of(env, states.edges)].astype(jnp.int32)
        for_seat_0 = jnp.where(states.current_player == 0, to_go, -to_go)
        if env.reward == "boxes":  # the boxes that are taken have been paid
            return for_seat_0.astype(jnp.float32)
        margin = ((states.owner == 0).sum(-1) - (states.owner == 1).sum(-1)) + for_seat_0
        return (margin if env.reward == "margin" else jnp.sign(margin)).astype(jnp.float32)

    def counts(self) -> dict[str, Any]:
        """Returns how many sets of edges have each margin to go.

        `states` is the number of sets. `won`, `lost` and `drawn` count positive, negative and zero margins. `margins`
        is the number of sets by margin.
        """
        offset = self.env.num_boxes
        by_margin = np.zeros(2 * offset + 1, np.int64)
        for begin in range(0, self.num_states, PART):
            part = self.table[begin : begin + PART].astype(np.int32) + offset
            by_margin += np.bincount(part, minlength=2 * offset + 1)
        return {
            "states": self.num_states,
            "won": int(by_margin[offset + 1 :].sum()),
            "lost": int(by_margin[:offset].sum()),
            "drawn": int(by_margin[offset]),
            "illegal": 0,
            "margins": {i - offset: int(count) for i, count in enumerate(by_margin.tolist()) if count},
        }

    def report(self) -> str:
        """Returns the number of sets by margin, and the margin of the whole game, as text."""
        facts = self.facts()
        lines = [f"{'margin to go':>14}  sets of edges"]
        lines += [f"{margin:>+14}  {number:>13,}" for margin, number in facts["margins"].items()]
        lines += [f"{'all':>14}  {self.num_states:>13,}", ""]
        return "\n".join([*lines, f"From the start, the first player takes {facts['start_value']:+} boxes net."])

    def index(self, states: State) -> np.ndarray:
        edges: Any = getattr(states, "edges", None)
        if edges is None or np.ndim(edges) != 2 or np.shape(edges)[1] != self.env.num_edges:
            raise not_of(self.env, states)
        return np.asarray(edges).astype(np.uint32) @ _edge_bits(self.env)

    def states_at(self, indices: Any) -> DotsAndBoxesState:
        """Returns the states with these indices, uint32[B]: seat 0 to move, flags as by `from_string`.

        The owners of complete boxes alternate in the order of the boxes, and the first one is seat 0's. So the scores
        are equal, or seat 0 is ahead by one box.
        """
        edges = _bits(self.env, self.checked_indices(indices))
        complete = edges[:, boxes(self.env)].all(-1)
        owner = np.where(complete, (np.cumsum(complete, axis=1) - 1) % 2, NOBODY).astype(np.int8)
        start: Any = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (len(edges), *leaf.shape)), self.env.init())
        over, edges, owner = map(jnp.asarray, (edges.all(1), edges, owner))
        return dataclasses.replace(start, terminated=over, edges=edges, owner=owner)

    def children(self, indices: Any) -> Children:
        """Returns the positions that follow those with these indices, uint32[B]; see `gains` for who moves next."""
        indices = self.checked_indices(indices)
        order, live = self._moves(indices)
        children = indices[:, None] | (np.uint32(1) << order.astype(np.uint32))
        return Children(np.where(live, order, -1).astype(np.int32), np.where(live, children, 0), live)

    def gains(self, indices: Any) -> np.ndarray:
        """Returns int8[B, K], the boxes that each action of `children` completes; the mover stays where it is > 0."""
        indices = self.checked_indices(indices)
        order, live = self._moves(indices)
        return np.where(live, np.take_along_axis(self.gains_of_edges(indices), order, axis=1), 0).astype(np.int8)

    def worth(self, indices: np.ndarray) -> np.ndarray:
        """Returns int8[B, num_actions], the margin to go by each edge; any number for an edge that is drawn."""
        return in_chunks(functools.partial(_worth_of_sets, self.env, self.device_table), _bits(self.env, indices))

    def arrays(self) -> dict[str, np.ndarray]:
        return {"table": self.table}

    @classmethod
    def from_arrays(cls, env: DotsAndBoxes, arrays: dict[str, np.ndarray]) -> Self:
        table, num_sets = arrays["table"], 2**env.num_edges
        if table.shape != (num_sets,) or table.dtype != np.int8:
            raise ValueError(
                f"expected int8[{num_sets}], one byte per set of edges of {env}, not {table.dtype}{list(table.shape)}"
            )
        return cls(env, table)

    def _moves(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns int[B, K], the edges with those that are not drawn first, in ascending order; and bool[B, K]."""
        drawn = _bits(self.env, indices)
        live = np.arange(self.max_moves) < self.max_moves - drawn.sum(1)[:, None]
        return np.argsort(drawn, axis=1, kind="stable"), live

    def gains_of_edges(self, indices: np.ndarray) -> np.ndarray:
        """Returns int8[B, num_edges], the boxes that lack at most this edge."""
        gains = [sum(_contains(indices, rest).astype(np.int8) for rest in of) for of in rest_of_boxes(self.env)]
        return np.stack(gains, axis=1)


def solve_table(env: DotsAndBoxes, progress: bool) -> np.ndarray:
    """Returns int8[2 ** num_edges], the margin to go of every set of drawn edges.

    Raises ValueError, with what it would take, for a board with more than 32 edges.
    """
    if env.num_edges > MAX_EDGES:
        sets = 2**env.num_edges
        raise ValueError(
            f"{env} has 2^{env.num_edges} = {sets:,} sets of edges, and boards of at most {MAX_EDGES} edges can be "
            f"solved: it would take {sets / 2**30:,.0f} GiB for one byte per set and about "
            f"{sets / SETS_PER_SECOND / 3600:,.1f} hours on two cores"
        )
    board = DotsAndBoxes(rows=env.rows, cols=env.cols)  # whatever the reward, one program
    num_rows, num_columns = table_shape(board)
    num_bits = np.bitwise_count(np.arange(num_rows, dtype=np.uint32))
    part = min(1 << 11, max(4, num_rows >> 4))
    table = jnp.zeros((num_rows, num_columns), jnp.int8)
    with Progress(num_rows * num_columns, "sets of edges", shown=progress) as bar:
        for bits in range(int(num_bits.max()), -1, -1):
            rows = np.flatnonzero(num_bits == bits).astype(np.uint32)
            for begin in range(0, len(rows), part):
                solved = rows[begin : begin + part]
                table = _solve_rows(board, table, np.resize(solved, part)).block_until_ready()
                bar.update(len(solved) * num_columns)
    return np.asarray(table).reshape(-1)


def table_shape(env: DotsAndBoxes) -> tuple[int, int]:
    """Returns the rows and columns of the table as a matrix, both powers of two."""
    low = min(12, max(1, (env.num_edges - 4) // 2))
    return 2 ** (env.num_edges - low), 2**low


@functools.lru_cache
def rest_of_boxes(env: DotsAndBoxes) -> tuple[tuple[int, ...], ...]:
    """Returns for each edge the other three edges of its one or two boxes, as sets."""
    return tuple(
        tuple(sum(1 << other for other in box if other != edge) for box in boxes(env).tolist() if edge in box)
        for edge in range(env.num_edges)
    )


def _edge_bits(env: DotsAndBoxes) -> np.ndarray:
    """Returns uint32[num_edges], the set of each edge alone."""
    return np.uint32(1) << np.arange(env.num_edges, dtype=np.uint32)


def _bits(env: DotsAndBoxes, indices: np.ndarray) -> np.ndarray:
    """Returns bool[B, num_edges], the edges of sets."""
    return indices[:, None] & _edge_bits(env) != 0


def _contains(sets: Any, part: int) -> Any:
    """Returns whether each of these sets, uint32[...], contains all of `part`."""
    return sets & np.uint32(part) == np.uint32(part)


# -- compiled ----------------------------------------------------------------------------------------------------------


@functools.partial(jax.jit, static_argnums=0, donate_argnums=1)
def _solve_rows(env: DotsAndBoxes, table: jax.Array, rows: jax.Array) -> jax.Array:
    """Returns the table, int8[R, C], with these rows solved, uint32[B].

    All rows whose numbers contain one of them and have more bits must be solved.
    """
    best = _transposed(jax.lax.map(functools.partial(_best_by_high_edges, env, table), rows))
    best = _transposed(_best_by_low_edges(env, best, rows))

    def write(i: int, table: jax.Array) -> jax.Array:
        return jax.lax.dynamic_update_index_in_dim(table, best[i], rows[i].astype(jnp.int32), 0)

    return jax.lax.fori_loop(0, len(rows), write, table)


def _best_by_high_edges(env: DotsAndBoxes, table: jax.Array, row: jax.Array) -> jax.Array:
    """Returns int8[C], the best margin to go by an edge of the row's number; 0 where all edges are drawn."""
    num_rows, num_columns = table.shape
    low = num_columns.bit_length() - 1
    columns = np.arange(num_columns, dtype=np.uint32)
    last = np.where(columns == num_columns - 1, np.int8(0), DRAWN_EDGE)
    best = jnp.where(row == np.uint32(num_rows - 1), last, DRAWN_EDGE)
    for bit in range(env.num_edges - low):
        after = (row | np.uint32(1 << bit)).astype(jnp.int32)
        to_go = jax.lax.dynamic_index_in_dim(table, after, 0, keepdims=False)
        completed = [
            _contains(row, rest >> low) & _contains(columns, rest % num_columns)
            for rest in rest_of_boxes(env)[low + bit]
        ]
        best = jnp.maximum(best, jnp.where(_contains(row, 1 << bit), DRAWN_EDGE, _worth(completed, to_go)))
    return best


def _best_by_low_edges(env: DotsAndBoxes, best: jax.Array, rows: jax.Array) -> jax.Array:
    """Returns int8[C, B], the values of columns, from the best margins to go by high edges."""
    num_columns = len(best)
    low = num_columns.bit_length() - 1
    rests = rest_of_boxes(env)[:low]
    has_high_part = {rest: _contains(rows, rest >> low) for of_edge in rests for rest in of_edge}

    def solve_column(i: int, best: jax.Array) -> jax.Array:
        column = jnp.asarray(num_columns - 2 - i, jnp.uint32)
        value = best[column]
        for edge, of_edge in enumerate(rests):
            completed = [has_high_part[rest] & _contains(column, rest % num_columns) for rest in of_edge]
            worth = _worth(completed, best[column | np.uint32(1 << edge)])
            value = jnp.maximum(value, jnp.where(_contains(column, 1 << edge), DRAWN_EDGE, worth))
        return best.at[column].set(value)

    return jax.lax.fori_loop(0, num_columns - 1, solve_column, best)


def place_of(env: DotsAndBoxes, edges: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Returns int32[...] twice, the row and the column of the table for drawn edges, bool[..., num_edges]."""
    low = table_shape(env)[1].bit_length() - 1
    column, row = (
        (part.astype(jnp.int32) << np.arange(part.shape[-1])).sum(-1, dtype=jnp.int32)
        for part in (edges[..., :low], edges[..., low:])
    )
    return row, column


def worth_of_edges(env: DotsAndBoxes, table: jax.Array, edges: jax.Array) -> jax.Array:
    """Returns int8[num_edges], the margin to go by each edge for the mover; any number for one that is drawn.

    The table, int8[rows, columns], has all sets solved. The drawn edges are bool[num_edges].
    """
    to_go = table[place_of(env, edges | np.eye(env.num_edges, dtype=np.bool_))]
    is_around = (boxes(env) == np.arange(env.num_edges)[:, None, None]).any(-1)  # [num_edges, num_boxes]
    gain = (is_around & (edges[boxes(env)].sum(-1) == 3)).sum(-1, dtype=jnp.int8)
    return jnp.where(gain > 0, gain + to_go, -to_go)


@functools.partial(jax.jit, static_argnums=0)
def _worth_of_sets(env: DotsAndBoxes, table: jax.Array, edges: jax.Array) -> jax.Array:
    """Returns int8[B, num_edges], `worth_of_edges` of sets of drawn edges, bool[B, num_edges]."""
    return jax.vmap(functools.partial(worth_of_edges, env, table))(edges)


def _worth(completed: list[jax.Array], to_go: jax.Array) -> jax.Array:
    """Returns int8[...], the margin by an edge that completes these boxes, bool[...] each, for the mover before it."""
    gain = functools.reduce(jnp.add, (is_complete.astype(jnp.int8) for is_complete in completed))
    return jnp.where(gain > 0, gain + to_go, -to_go)


def _transposed(matrix: jax.Array) -> jax.Array:
    """Returns the transpose of a matrix whose sides are powers of two, square by square."""
    rows, columns = matrix.shape
    tile = min(TILE, rows, columns)
    tiles = matrix.reshape(rows // tile, tile, columns // tile, tile).transpose(0, 2, 3, 1)
    return tiles.transpose(1, 2, 0, 3).reshape(columns, rows)
