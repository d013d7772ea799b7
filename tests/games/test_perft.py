"""Perft: how many sequences of 1, 2, ... moves there are from a position, counted with the env's mask and step.

The counts are those of others, for checkers and for 5 x 5 chess (Fairy-Stockfish).
"""

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames import Env
from tests.games.checkers.cases import START as CHECKERS
from tests.games.minichess.cases import START
from tests.helpers.positions import board, in_chunks

CHUNK = 128  # boards that are expanded at once: one shape to compile for


@functools.cache
def programs(env: Env[Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The mask, and a step after which only a lost board is over: perft counts moves and knows no draw."""

    def step(state: Any, action: jax.Array) -> Any:
        after = env.step(state, action)
        lost = after.terminated & (after.rewards[0] != 0)
        return replace(after, terminated=lost, truncated=jnp.bool_(False)), lost

    return jax.jit(jax.vmap(env.legal_action_mask)), jax.jit(jax.vmap(step))


def counts_and_wins(env: Env[Any], text: str, depth: int, *, whole_moves: bool = False) -> list[tuple[int, int]]:
    """Returns the numbers of sequences of 1, 2, ..., `depth` actions, and of those whose last action wins.

    With `whole_moves` a capture of any number of jumps is one. The limits of the env must be further away.
    """
    mask, step = programs(env)
    states, ways = jax.tree.map(lambda leaf: np.asarray(leaf)[None], env.from_string(text)), np.ones(1, np.int64)
    counted = list[tuple[int, int]]()
    for _ in range(depth):
        reached, numbers, wins = list[Any](), [np.zeros(0, np.int64)], 0
        while len(ways):
            parents, actions = np.nonzero(in_chunks(CHUNK, mask, states))
            if not len(parents):
                break
            states, lost = in_chunks(CHUNK, step, board(states, parents), actions.astype(np.int32))
            ways = ways[parents]
            wins += int(ways[lost].sum())
            goes_on = states.jumper != 0 if whole_moves else np.zeros(len(ways), bool)
            reached.append(board(states, ~goes_on))
            numbers.append(ways[~goes_on])
            states, ways = board(states, goes_on), ways[goes_on]
        ways = np.concatenate(numbers)
        counted.append((int(ways.sum()), wins))
        if len(ways):
            states, ways = merged(jax.tree.map(lambda *leaves: np.concatenate(leaves), *reached), ways)
    return counted


def merged(states: Any, ways: np.ndarray) -> tuple[Any, np.ndarray]:
    """Boards as one that are equal in all that legal moves depend on, and in how many ways each is reached."""
    if hasattr(states, "position"):
        words = [states.position.own, *states.position.pieces, states.current_player, states.terminated]
    else:
        words = [states.own, states.opponents, states.kings, states.jumper, states.current_player]
    keys = np.stack([word.astype(np.uint32) for word in words], 1)
    _, first, where = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return board(states, first), np.bincount(where.ravel(), ways, len(first)).astype(np.int64)


def counts(env: Env[Any], text: str, depth: int, *, whole_moves: bool = False) -> list[int]:
    return [count for count, _ in counts_and_wins(env, text, depth, whole_moves=whole_moves)]


# -- checkers ----------------------------------------------------------------------------------------------------------

ENV = jaxgames.make("checkers")
START_MOVES = [7, 49, 302, 1469, 7361, 36768, 179740, 845931, 3963680, 18391564]
START_PLIES = [7, 49, 302, 1469, 7361, 36768, 179255, 838248]
POSITIONS = {  # sequences of 1 to 5 moves, and of 1 to 5 plies
    "B:W9,10,17,18,32:BK6": ([2, 4, 16, 24, 72], [2, 2, 2, 2, 4]),  # a king returns to the square that it left
    "B:W9,26,27:B1,22": ([1, 4, 11, 27, 91], [1, 4, 11, 27, 91]),  # crowning ends the turn
    "B:W10,17,18,32:B2,6": ([1, 4, 16, 56, 212], [1, 1, 4, 16, 56]),
    "B:WK22,K30:B25,K29": ([0, 0, 0, 0, 0], [0, 0, 0, 0, 0]),  # blocked
    "B:W7,8,10,15,16,18,23,24,26:B1,K3,K11": ([4, 29, 90, 570, 2081], [4, 23, 71, 366, 1247]),
    "B:WK1,K11,24,26,27,28,30:B8,13,20": ([1, 7, 17, 77, 205], [1, 7, 17, 72, 198]),
    "W:WK16,18,21,25,26,27,28,31,32:B1,9,10,11,13": ([1, 2, 12, 31, 161], [1, 1, 1, 2, 12]),
    "W:W9,21,23,25,26,28:B8,16,24": ([1, 0, 0, 0, 0], [1, 1, 1, 0, 0]),
}


@pytest.mark.parametrize("depth", [6, pytest.param(10, marks=pytest.mark.slow)])
def test_number_of_moves_of_checkers_is_the_published_one(depth: int) -> None:
    """Two ways through the board are two moves, even if they capture the same pieces."""
    assert counts(ENV, CHECKERS, depth, whole_moves=True) == START_MOVES[:depth]


@pytest.mark.parametrize("depth", [7, pytest.param(8, marks=pytest.mark.slow)])
def test_number_of_plies_of_checkers_is_the_known_one(depth: int) -> None:
    assert counts(ENV, CHECKERS, depth) == START_PLIES[:depth]


@pytest.mark.parametrize("text", POSITIONS)
def test_number_of_moves_from_positions_full_of_captures_is_the_known_one(text: str) -> None:
    moves, plies = POSITIONS[text]
    assert counts(ENV, text, 5, whole_moves=True) == moves
    assert counts(ENV, text, 5) == plies


# -- 5 x 5 chess -------------------------------------------------------------------------------------------------------

STANDARD, KING_CAPTURE = {}, {"rules": "king_capture"}
QUICK = {"rules": "king_capture", "double_step": True, "promotion": "queen"}
PERFT = [
    (START, STANDARD, [7, 53, 506, 4775, 52512, 572874]),
    (START, KING_CAPTURE, [7, 53, 510, 5000, 58557, 691906]),
    (START, QUICK, [7, 53, 521, 5183, 60437, 706302]),
    ("k4/P4/K4/5/5 w - - 0 1", STANDARD, [3, 4, 25, 115]),
    ("k4/P4/K4/5/5 w - - 0 1", KING_CAPTURE, [4, 12, 120, 593]),
    ("1n1bk/P1P1P/5/p1p1p/1N1BK w - - 0 1", STANDARD, [31, 741, 14052, 242851]),
    ("1n1bk/P1P1P/5/p1p1p/1N1BK w - - 0 1", KING_CAPTURE, [31, 889, 21198, 470580]),
    ("1n1bk/P1P1P/5/p1p1p/1N1BK b - - 0 1", STANDARD, [31, 741, 14052, 242851]),
    ("1n1bk/P1P1P/5/p1p1p/1N1BK b - - 0 1", KING_CAPTURE, [31, 889, 21198, 470580]),
    ("4k/5/1q3/5/K3R b - - 0 1", STANDARD, [3, 22, 264, 1507]),
    ("4k/5/1q3/5/K3R b - - 0 1", KING_CAPTURE, [17, 165, 2377, 24359]),
    ("1k3/2P2/1K3/5/5 b - - 0 1", STANDARD, [2, 15, 22, 174]),
    ("1k3/2P2/1K3/5/5 b - - 0 1", KING_CAPTURE, [5, 48, 254, 2518]),
    ("r3k/1P3/2n2/3p1/K1R2 w - - 3 7", STANDARD, [5, 72, 751, 9377]),
    ("r3k/1P3/2n2/3p1/K1R2 w - - 3 7", KING_CAPTURE, [16, 351, 4914, 83737]),
    ("r1bqk/p1ppp/1pn2/PPPPP/RNBQK w - - 1 2", STANDARD, [9, 104, 1085, 13019]),
    ("r1bqk/p1ppp/1pn2/PPPPP/RNBQK w - - 1 2", KING_CAPTURE, [9, 104, 1098, 13835]),
    ("5/P2b1/2B2/4k/1K3 b - - 2 39", STANDARD, [7, 102, 736, 8591]),
    ("5/P2b1/2B2/4k/1K3 b - - 2 39", KING_CAPTURE, [9, 139, 1265, 17214]),
]
WINS = [(KING_CAPTURE, [0, 0, 0, 4, 398, 6600]), (QUICK, [0, 0, 0, 4, 223, 4106])]


@pytest.mark.parametrize("most", [1_500, pytest.param(1_000_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("text", "parameters", "leaves"), PERFT)
def test_number_of_move_sequences_of_chess_is_the_known_one(
    text: str, parameters: Any, leaves: list[int], most: int
) -> None:
    depth = max(depth for depth, count in enumerate(leaves, 1) if count < most)
    assert counts(jaxgames.make("minichess", **parameters), text, depth) == leaves[:depth]


@pytest.mark.parametrize("depth", [5, pytest.param(6, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("parameters", "wins"), WINS)
def test_number_of_king_captures_is_the_known_one(parameters: Any, wins: list[int], depth: int) -> None:
    counted = counts_and_wins(jaxgames.make("minichess", **parameters), START, depth)
    assert [won for _, won in counted] == wins[:depth]
