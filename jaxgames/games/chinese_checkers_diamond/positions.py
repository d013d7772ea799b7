"""Positions of Chinese Checkers on the diamond by number, and the positions that follow them.

A position is one placement of both sides in the mover's frame. Its number is

    rank(own) * C(N - k, k) + rank(other)

for N cells and k pieces per side. rank(own) is the place of the mover's cells in the colexicographic order of all sets
of k cells. rank(other) is the rank of the opponent's cells, renumbered over the cells without a piece of the mover. The
rank of a set c_0 < c_1 < ... is the sum of the binomial coefficients C(c_i, i + 1).

After a move the frame rotates by 180 degrees: the opponent's cells come first, in reversed order. So all positions
that follow one position share rank(own), which is computed once. Their rank(other) differs by the piece that moves
and by its target. `_ranks_of_others` has the part that depends on the piece.

The rules of `jaxgames.games.chinese_checkers_diamond` are computed on whole batches of bit sets.
"""

import functools
import math
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.games.chinese_checkers_diamond.board import DIRECTIONS, corner
from jaxgames.games.chinese_checkers_diamond.cell_sets import Cells
from jaxgames.games.chinese_checkers_diamond.rules import ChineseCheckersDiamond

C = TypeVar("C")


class Geometry(NamedTuple):
    """Sets of cells of one board, and ranks of sets of cells."""

    cells: int  # N
    pieces: int  # k
    num_other: int  # C(N - k, k)
    all: Cells
    home: Cells  # of the mover
    goal: Cells  # of the mover
    near: list[Cells]  # by direction: the cells with a neighbour there
    far: list[Cells]  # by direction: the cells with a cell two away
    offset: list[int]  # by direction: the number of the neighbour minus the number of the cell
    binomial: np.ndarray  # uint32[k + 1, N + 1], C(n, r) at [r, n]
    own_sets: np.ndarray  # uint32[C(N, k), words], the set of each rank
    other_sets: np.ndarray  # uint32[C(N - k, k), words], the same for sets of N - k cells


@functools.lru_cache
def geometry(size: int, pieces: int) -> Geometry:
    """Returns the tables of the board of n = `size` with k = `pieces`."""
    cells = size * size
    places = [(row, col) for row in range(size) for col in range(size)]

    def with_cell(distance: int, direction: tuple[int, int]) -> Cells:
        inside = [all(0 <= x + distance * dx < size for x, dx in zip(at, direction, strict=True)) for at in places]
        return Cells.of(np.flatnonzero(inside).tolist(), cells)

    home = corner(size, pieces)
    return Geometry(
        cells=cells,
        pieces=pieces,
        num_other=math.comb(cells - pieces, pieces),
        all=Cells.of(range(cells), cells),
        home=Cells.of(home, cells),
        goal=Cells.of([cells - 1 - cell for cell in home], cells),
        near=[with_cell(1, direction) for direction in DIRECTIONS],
        far=[with_cell(2, direction) for direction in DIRECTIONS],
        offset=[size * row + col for row, col in DIRECTIONS],
        binomial=np.array(
            [[min(math.comb(n, r), 2**32 - 1) for n in range(cells + 1)] for r in range(pieces + 1)], np.uint32
        ),
        own_sets=_sets_by_rank(cells, pieces, cells),
        other_sets=_sets_by_rank(cells - pieces, pieces, cells),
    )


def _sets_by_rank(numbers: int, pieces: int, num_cells: int) -> np.ndarray:
    """Returns uint32[C(numbers, pieces), words], all sets of `pieces` numbers in colexicographic order."""
    sets = np.zeros((1, -(-num_cells // 32)), np.uint32)
    by_count = [sets] + [sets[:0]] * pieces  # all sets of 0, 1, ... of the numbers so far
    for number in range(numbers):
        bit = np.array(Cells.of([number], num_cells), np.uint32)
        by_count = [by_count[0]] + [np.concatenate([by_count[i], by_count[i - 1] | bit]) for i in range(1, pieces + 1)]
    return by_count[pieces]


def num_positions(env: ChineseCheckersDiamond) -> int:
    """Returns the number of placements, C(N, k) * C(N - k, k)."""
    pieces = len(env.home_of(0))
    return math.comb(env.num_cells, pieces) * math.comb(env.num_cells - pieces, pieces)


def geometry_of(env: ChineseCheckersDiamond) -> Geometry:
    """Returns the tables of a game."""
    return geometry(env.size, len(env.home_of(0)))


# -- numbers -----------------------------------------------------------------------------------------------------------


def position_at(env: ChineseCheckersDiamond, indices: jax.Array) -> tuple[Cells, Cells]:
    """Returns the mover's and the opponent's cells of the positions with these numbers, uint32[B]."""
    g = geometry_of(env)
    own_rank, other_rank = jnp.divmod(indices, np.uint32(g.num_other))
    own = _row(g.own_sets, own_rank)
    other = _row(g.other_sets, other_rank)
    for bit in own.split(g.pieces):  # makes room for each cell of the mover, the lowest first
        under = bit.below()
        other = (other & under) | (other - under).shifted(1)
    return own, other


def index_of(env: ChineseCheckersDiamond, own: Cells, other: Cells) -> jax.Array:
    """Returns uint32[B], the numbers of positions."""
    g = geometry_of(env)
    free = g.all - own
    own_rank = _rank(g, [bit.below().count() for bit in own.split(g.pieces)])
    other_rank = _rank(g, [(free & bit.below()).count() for bit in other.split(g.pieces)])
    return own_rank * np.uint32(g.num_other) + other_rank


def after_pass(env: ChineseCheckersDiamond, own: Cells, other: Cells) -> tuple[Cells, Cells]:
    """Returns the same placement with the other side to move, in its frame: its cells, and the cells of its opponent.

    Applied twice it returns the position itself.
    """
    return other.rotated(env.num_cells), own.rotated(env.num_cells)


def _row(sets: np.ndarray, rank: jax.Array) -> Cells:
    return Cells(jnp.asarray(word).at[rank].get(mode="promise_in_bounds") for word in sets.T)


def _binomial(g: Geometry, numbers: jax.Array, r: int) -> jax.Array:
    """Returns uint32[...], C(number, r)."""
    if r <= 1:
        return jnp.ones_like(numbers, jnp.uint32) if r == 0 else numbers.astype(jnp.uint32)
    return jnp.asarray(g.binomial[r]).at[numbers].get(mode="promise_in_bounds")


def _rank(g: Geometry, ascending: list[jax.Array]) -> jax.Array:
    """Returns uint32[...], the rank of the set of these numbers."""
    return sum((_binomial(g, number, i + 1) for i, number in enumerate(ascending)), jnp.uint32(0))


# -- ends --------------------------------------------------------------------------------------------------------------


def is_lost(env: ChineseCheckersDiamond, own: Cells, other: Cells) -> jax.Array:
    """Returns bool[B], whether the last mover has won: the mover's home is full and holds one of its pieces."""
    home = geometry_of(env).home
    return (home - (own | other)).is_empty() & ~(home & other).is_empty()


def is_illegal(env: ChineseCheckersDiamond, own: Cells, other: Cells) -> jax.Array:
    """Returns bool[B], whether the rules forbid the position: the mover has won already, or a tip is locked."""
    g = geometry_of(env)
    illegal = (g.goal - (own | other)).is_empty() & ~(g.goal & own).is_empty()
    if env.tip_lock:
        for side, (tip, fence) in zip((own, other), _tips_and_fences(env), strict=True):
            illegal |= (fence - side).is_empty() & (tip & (own | other)).is_empty()
    return illegal


def _tips_and_fences(env: ChineseCheckersDiamond) -> list[tuple[Cells, Cells]]:
    """Returns the tip of a home and the four cells that can lock it: the mover's, then the opponent's."""
    tip, fence = (Cells.of(cells, env.num_cells) for cells in ((0,), env.fence))
    return [(tip, fence), (tip.rotated(env.num_cells), fence.rotated(env.num_cells))]


# -- moves -------------------------------------------------------------------------------------------------------------


def targets_of_pieces(env: ChineseCheckersDiamond, own: Cells, other: Cells) -> tuple[Cells, Cells]:
    """Returns each piece's cell and the cells that it may move to, words of shape [k, B], the lowest piece first.

    Moves are also listed on finished boards, and where the mover has won already. With `tip_lock`, no tip may be
    locked. A pass is not listed.
    """
    g = geometry_of(env)
    pieces = Cells(jnp.stack(words) for words in zip(*own.split(g.pieces), strict=True))
    occupied = own | other
    empty = g.all - occupied

    steps = Cells(jnp.zeros_like(x) for x in pieces)
    can_hop: list[Cells] = []  # by direction: the cells from which a hop is possible
    for near, far, offset in zip(g.near, g.far, g.offset, strict=True):
        steps |= (pieces & near).shifted(offset)
        can_hop.append(far & occupied.shifted(-offset) & empty.shifted(-2 * offset))

    def further(reached: Cells) -> Cells:
        for hop_from, offset in zip(can_hop, g.offset, strict=True):
            reached |= (reached & hop_from).shifted(2 * offset)
        return reached

    def advance(carry: tuple[Cells, jax.Array]) -> tuple[Cells, jax.Array]:
        reached = further(carry[0])
        after = further(reached)
        return after, ~(after - carry[0]).is_empty().all()

    reached = jax.lax.while_loop(lambda carry: carry[1], advance, (pieces, jnp.bool_(True)))[0]
    targets = (steps & empty) | (reached - pieces)
    for origins, forbidden in _forbidden(env, own, other):
        targets -= forbidden.where(~(pieces & origins).is_empty())
    return pieces, targets


def _forbidden(env: ChineseCheckersDiamond, own: Cells, other: Cells) -> list[tuple[Cells, Cells]]:
    """Returns pairs of sets: no piece may move from the first to the second."""
    g = geometry_of(env)
    occupied = own | other
    # The last empty cell of the mover's home while an opponent's piece is there: filling it lets the opponent win.
    hole = g.home - occupied
    fills = ~(g.home & other).is_empty() & (hole.count() == 1)
    forbidden = [(g.all - g.home, hole.where(fills))]
    if env.tip_lock:
        tip, fence = _tips_and_fences(env)[0]
        missing = fence - own  # not empty while the tip is: a legal position has no locked tip
        # The tip is empty after the move if it was empty before, or if the piece leaves it.
        free_tip = (tip & occupied).is_empty()
        origins = (g.all - fence).where(free_tip) | tip
        forbidden.append((origins, missing.where(missing.count() == 1)))
    return forbidden


def _ranks_of_others(g: Geometry, numbers: jax.Array) -> list[jax.Array]:
    """Returns uint32[k, B] by j: the rank of the mover's pieces without one of them, if j come before the target.

    `numbers`, int32[k, B], are those of the mover's cells after the rotation, in ascending order.
    """
    ranks: list[jax.Array] = []
    for j in range(g.pieces):
        by_piece: list[jax.Array] = []
        for moving in reversed(range(g.pieces)):  # the lowest piece comes last after the rotation
            rest = [numbers[i] for i in range(g.pieces) if i != moving]
            places = [i + (i >= j) for i in range(len(rest))]  # those from j on make room for the target
            by_piece.append(sum((_binomial(g, n, i + 1) for n, i in zip(rest, places, strict=True)), jnp.uint32(0)))
        ranks.append(jnp.stack([jnp.broadcast_to(rank, numbers.shape[1:]) for rank in by_piece]))
    return ranks


def fold_children(
    env: ChineseCheckersDiamond,
    own: Cells,
    other: Cells,
    function: Callable[[C, jax.Array, jax.Array, jax.Array], C],
    carry: C,
) -> C:
    """Returns `carry` after `function` has seen every position that follows.

    Args:
      own, other: the mover's and the opponent's cells, as in `targets_of_pieces`.
      function: called repeatedly with `carry`, each time with one more move of every piece. Its other arguments have
        the shape [k, B]: the number of the position after the move, the target, and whether the piece has the move.
        A pass is a move of the first piece to cell -1.
    """
    g = geometry_of(env)
    pieces, targets = targets_of_pieces(env, own, other)
    free, others = g.all - other, own - pieces  # [B] and [k, B]
    row = _rank(g, [(g.all & bit.above()).count() for bit in reversed(other.split(g.pieces))]) * np.uint32(g.num_other)
    bases = _ranks_of_others(g, (free & pieces.above()).count()[::-1])
    first = jnp.arange(g.pieces)[:, None] == 0
    passes = first & targets.is_empty().all(0)
    passed = index_of(env, *after_pass(env, own, other))
    carry = function(carry, jnp.where(passes, passed, 0), jnp.full(passes.shape, -1), passes)

    def visit(loop: tuple[Cells, C]) -> tuple[Cells, C]:
        remaining, carry = loop
        target = remaining.lowest()
        higher = target.above()
        before = (others & higher).count()  # the pieces that come before the target after the rotation
        number = (free & higher).count()
        place = (before + 1) * (g.cells + 1) + number
        rank = jnp.asarray(g.binomial.ravel()).at[place].get(mode="promise_in_bounds")
        for j, base in enumerate(bases):
            rank += jnp.where(before == j, base, 0)
        live = ~target.is_empty()
        cell = g.cells - 1 - (g.all & higher).count()
        return remaining - target, function(carry, jnp.where(live, row + rank, 0), cell, live)

    return jax.lax.while_loop(lambda loop: ~loop[0].is_empty().all(), visit, (targets, carry))[1]
