"""Chains as inputs of the graph network: against chains found box by box on the host, and by hand."""

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from train.models.box_chains import KEPT_OF_CHAIN, KEPT_OF_LOOP, LONG, LONGEST, Chains, chains

ROWS, COLS = 3, 4
NUM_ACROSS, NUM_DOWN = (ROWS + 1) * COLS, ROWS * (COLS + 1)
Box = tuple[int, int]

features: Any = jax.jit(chains)


def of(edges: np.ndarray) -> Chains:
    """The features of boards from their drawn edges, bool[B, edges]."""
    across, down = edges[:, :NUM_ACROSS], edges[:, NUM_ACROSS:]
    return jax.device_get(features(across.reshape(-1, ROWS + 1, COLS), down.reshape(-1, ROWS, COLS + 1)))


def sides(row: int, col: int) -> dict[Box, int]:
    """The edge of a box towards each place beside it."""
    right = NUM_ACROSS + row * (COLS + 1) + col
    above = row * COLS + col
    return {(row - 1, col): above, (row + 1, col): above + COLS, (row, col - 1): right, (row, col + 1): right + 1}


def found_chains(drawn: np.ndarray) -> list[set[Box]]:
    """The chains of one board, by walking from box to box through open edges."""
    left = {box for box in np.ndindex(ROWS, COLS) if sum(drawn[edge] for edge in sides(*box).values()) in (2, 3)}
    found: list[set[Box]] = []
    while left:
        chain, waiting = set[Box](), [left.pop()]
        while waiting:
            box = waiting.pop()
            chain.add(box)
            beside = {other for other, edge in sides(*box).items() if not drawn[edge]} & left
            left -= beside
            waiting += beside
        found.append(chain)
    return found


def test_features_are_those_of_chains_found_box_by_box() -> None:
    rng = np.random.default_rng(0)
    boards = rng.random((500, NUM_ACROSS + NUM_DOWN)) < rng.uniform(0.3, 0.8, (500, 1))
    result, lengths, loops = of(boards), set[int](), 0
    for drawn, boxes, edges, board in zip(boards, *result, strict=True):
        counts = {box: int(sum(drawn[edge] for edge in sides(*box).values())) for box in np.ndindex(ROWS, COLS)}
        expected_boxes, control, numbers, started_chains = np.zeros((ROWS * COLS, LONGEST + 3)), 0.0, [0] * 4, 0
        given = dict.fromkeys(counts, 0)
        for chain in found_chains(drawn):
            size, started = len(chain), any(counts[box] == 3 for box in chain)
            inside = [{*sides(*box)} & chain for box in chain]
            joined = [
                sum(not drawn[sides(*box)[other]] for other in others)
                for box, others in zip(chain, inside, strict=True)
            ]
            is_loop = min(joined) == 2
            for row, col in chain:
                expected_boxes[row * COLS + col, [min(size, LONGEST) - 1]] = 1
                expected_boxes[row * COLS + col, LONGEST:] = size / 8, is_loop, started
                given[row, col] = size
            if size >= LONG and not started:
                numbers[is_loop] += 1
                control += (size - (KEPT_OF_LOOP if is_loop else KEPT_OF_CHAIN)) / 8
            numbers[2] += size == 1
            numbers[3] += size == 2
            started_chains += started
            lengths.add(size)
            loops += is_loop
        np.testing.assert_allclose(boxes, expected_boxes, atol=1e-6)
        beside = {edge: [box for box in counts if edge in sides(*box).values()] for edge in range(len(drawn))}
        expected_edges = [
            (0, 0, 0)
            if drawn[edge]
            else (
                max(counts[box] for box in near) < 2,
                max(counts[box] for box in near) == 3,
                max(given[box] for box in near) / 8,
            )
            for edge, near in beside.items()
        ]
        np.testing.assert_allclose(edges, expected_edges, atol=1e-6)
        safe = int(sum(edge[0] for edge in expected_edges))
        all_numbers = np.array([safe, *numbers])
        expected_board = [*all_numbers / (20, 4, 2, 4, 4), *all_numbers % 2, control, started_chains]
        np.testing.assert_allclose(board, expected_board, atol=1e-5)
    assert {1, 2, 3, 4, 5, 6} <= lengths
    assert loops


def test_longest_snake_is_one_chain() -> None:
    """All boxes of the board in one line: a number has to pass through every one of them."""
    drawn = np.ones(NUM_ACROSS + NUM_DOWN, np.bool_)
    path = [(row, col if row % 2 == 0 else COLS - 1 - col) for row in range(ROWS) for col in range(COLS)]
    for box, after in itertools.pairwise(path):
        drawn[sides(*box)[after]] = False
    boxes = jnp.asarray(of(drawn[None]).boxes[0])
    assert boxes[:, LONGEST].tolist() == [ROWS * COLS / 8] * (ROWS * COLS)
