"""The mask and the observation of minichess, each in a form for CPUs and one for all other platforms.

A CPU computes the targets of each cell, one array of 25 words. Elsewhere each plane has one word,
the cells from which the mover may play it. This takes far fewer operations per board, and no reshape of small rows,
which a TPU would write to memory. XLA for CPUs would compute what the 49 words share once for each of them.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames._platforms import by_platform
from jaxgames.games.minichess_board import (
    BOARD,
    CELL_SET,
    DIAGONAL,
    GRID,
    KNIGHT_JUMPS,
    NUM_PLANES,
    PLANES,
    RANK,
    STRAIGHT,
    TARGET_SET,
    UP,
    UP_LEFT,
    UP_RIGHT,
    Direction,
    MoveMasks,
    Position,
    shift,
    targets,
)


def action_mask(position: Position, masks: MoveMasks, double_step: bool, underpromotions: bool) -> jax.Array:
    """Returns bool[1225], the actions that the masks allow."""

    def by_cells(position: Position, masks: MoveMasks) -> jax.Array:
        cells = targets(position, masks, jnp.asarray(CELL_SET), double_step)[:, None]
        from_pawns = jnp.where(((CELL_SET & position.pawns) != 0)[:, None], cells, 0)
        if not underpromotions:
            from_pawns = jnp.zeros_like(from_pawns)
        under, others = (from_pawns & TARGET_SET[:, :9]) != 0, (cells & TARGET_SET[:, 9:]) != 0
        return jnp.concatenate([under, others], axis=1).reshape(-1)

    def by_planes(position: Position, masks: MoveMasks) -> jax.Array:
        words = jnp.stack(origins(position, masks, double_step))
        if not underpromotions:
            words &= np.where(np.arange(NUM_PLANES) < 9, 0, BOARD).astype(np.uint32)
        return jnp.concatenate([(words & cell) != 0 for cell in CELL_SET])

    return by_platform(position, masks, cpu=by_cells, library=by_planes)


def origins(position: Position, masks: MoveMasks, double_step: bool) -> list[jax.Array]:
    """Returns for each plane, uint32[], the cells from which the mover may play it: the same moves as `targets`."""
    landing = masks.empty | masks.capturable
    safe, king = landing & masks.check_mask, position.kings & position.own
    words: dict[Direction, jax.Array] = {}
    for directions, kind in ((STRAIGHT, position.rooks), (DIAGONAL, position.bishops)):
        for files, ranks in directions:
            back, movers = (-files, -ranks), (kind | position.queens) & masks.free_along[files, ranks]
            free = shift(safe, back)  # the cells from which a free line leads to a target
            words[files, ranks] = movers & free | king & shift(landing & masks.king_safe, back)
            for times in range(2, 5):
                free = shift(free & masks.empty, back)
                words[times * files, times * ranks] = movers & free
    for files, ranks in KNIGHT_JUMPS:
        words[files, ranks] = position.knights & masks.unpinned & shift(safe, (-files, -ranks))
    pawns: dict[Direction, jax.Array] = {}
    for (files, ranks), to in ((UP, masks.empty), (UP_RIGHT, masks.capturable), (UP_LEFT, masks.capturable)):
        movers = position.pawns & masks.free_along[files, ranks]
        pawns[files, ranks] = movers & shift(to & masks.check_mask, (-files, -ranks))
        words[files, ranks] |= pawns[files, ranks]
    if double_step:
        path = masks.empty & shift(masks.empty & masks.check_mask, (0, -1))
        words[0, 2] |= position.pawns & masks.free_along[UP] & RANK[1] & shift(path, (0, -1))
    return [pawns[to] & RANK[3] if plane < 9 else words[to] for plane, to in enumerate(PLANES)]


def observation_planes(sets: list[jax.Array], flags: list[jax.Array]) -> jax.Array:
    """Returns bool[5, 5, n], a plane for each set of cells (uint32[]), then one of equal values for each flag (bool[]).

    Cells are at [5 - rank, file].
    """

    def stacked(sets: list[jax.Array], flags: list[jax.Array]) -> jax.Array:
        cells = (GRID[..., None] & jnp.stack(sets)[None, None]) != 0
        return jnp.concatenate([cells, jnp.broadcast_to(jnp.stack(flags), (5, 5, len(flags)))], axis=-1)

    def joined(sets: list[jax.Array], flags: list[jax.Array]) -> jax.Array:
        words = [*sets, *(jnp.where(flag, jnp.uint32(BOARD), 0) for flag in flags)]
        return jnp.concatenate([(GRID[..., None] & cells) != 0 for cells in words], axis=-1)

    return by_platform(sets, flags, cpu=stacked, library=joined)
