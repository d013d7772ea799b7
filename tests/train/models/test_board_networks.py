"""Networks of one game beside walks over its board: chess_graph, diagonal_mlp and hops."""

import functools
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import jaxgames
from jaxgames import greedy
from jaxgames.games.chinese_checkers.board import tables
from tests.helpers.positions import compiled, stacked
from train.models.chess_graph import RELATIONS, Round, attacks, cells_of_actions, free_lines, move_types, relations
from train.models.diagonal_mlp import around
from train.models.hop_planner import ALL_DIRECTIONS, HOP, STEP, ahead, can_hop, distances, reach_of
from train.models.policy import Policy
from train.ops.symmetries import symmetries

# -- chess_graph: attacks as a walk finds them, and the cells of a move ------------------------------------------------

CHESS: Any = jaxgames.make("minichess")
KINDS = "PNBRQK"
ALL = [(files, ranks) for files in (-1, 0, 1) for ranks in (-1, 0, 1) if (files, ranks) != (0, 0)]
JUMPS = [(files, ranks) for files in (-2, -1, 1, 2) for ranks in (-2, -1, 1, 2) if abs(files) != abs(ranks)]
LINES = {"B": [line for line in ALL if 0 not in line], "R": [line for line in ALL if 0 in line], "Q": ALL}


def walk(board: np.ndarray, row: int, col: int, name: str, up: int) -> list[tuple[int, int]]:
    """The cells that a piece attacks."""
    found: list[tuple[int, int]] = []
    for files, ranks in {"P": [(-1, up), (1, up)], "N": JUMPS, "K": ALL, **LINES}[name]:
        for far in range(1, 5 if name in LINES else 2):
            at = (row - ranks * far, col + files * far)
            if not (0 <= at[0] < 5 and 0 <= at[1] < 5):
                break
            found.append(at)
            if board[at].any():
                break
    return found


def walked(board: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The attacks on one board, int[25, 12], and the relations, int[25, 25, 8], piece by piece."""
    counts, related = np.zeros((5, 5, 12), int), np.zeros((5, 5, 5, 5, 8), int)
    for row, col, plane in np.argwhere(board):
        side, kind = divmod(int(plane), 6)
        for at in walk(board, row, col, KINDS[kind], -1 if side else 1):
            counts[(*at, plane)] += 1
            related[(row, col, *at, side)] = related[(*at, row, col, side + 2)] = 1
    for row, col in np.ndindex(5, 5):
        for number, name in enumerate("BRNK", start=4):  # the last of RELATIONS
            for at in walk(board, row, col, name, 1):
                related[(row, col, *at, number)] = 1
    return counts.reshape(25, 12), related.reshape(25, 25, 8)


def chess_boards(count: int) -> np.ndarray:
    """Random boards, from nearly empty to crowded ones: bool[count, 5, 5, 12]."""
    rng = np.random.default_rng(0)
    pieces = np.zeros((count, 5, 5, 12), bool)
    for board, row, col in itertools.product(range(count), range(5), range(5)):
        if rng.random() < (board + 1) / (1.5 * count):
            pieces[board, row, col, rng.integers(12)] = True
    return pieces


@jax.jit
def inputs(pieces: jax.Array) -> tuple[jax.Array, jax.Array]:
    free = free_lines(pieces)
    return attacks(pieces, free), relations(pieces, free)


def test_attacks_and_relations_equal_a_walk_from_piece_to_piece() -> None:
    pieces = chess_boards(200)
    counts, related = zip(*(walked(board) for board in pieces), strict=True)
    found = inputs(pieces.reshape(200, 25, 12).astype(np.float32))
    np.testing.assert_array_equal(np.asarray(found[0]), np.stack(counts))
    np.testing.assert_array_equal(np.asarray(found[1]), np.stack(related))
    assert np.max(counts) > 1
    assert np.stack(related).any((0, 1, 2)).sum() == len(RELATIONS)


def test_message_of_a_relation_comes_only_from_related_cells() -> None:
    """A change of one cell changes only that cell and those related to it, and each relation counts by itself."""
    _, related = inputs(chess_boards(20)[-2:-1].reshape(1, 25, 12).astype(np.float32))
    rng = np.random.default_rng(0)
    cells = rng.normal(size=(1, 25, 4)).astype(np.float32)
    changed = np.repeat(cells, 25, axis=0)  # [i] has another state of cell i
    changed[np.arange(25), np.arange(25)] = rng.normal(size=(25, 4))
    states, board, layer = np.concatenate([cells, changed]), np.zeros((26, 4), np.float32), Round(4)

    @jax.jit
    def new_cells(params: Any, related: jax.Array) -> jax.Array:
        return layer.apply(params, states, board, jnp.repeat(related.reshape(1, 25, -1), 26, axis=0))[0]

    params = layer.init(jax.random.key(0), cells, board[:1], np.asarray(related).reshape(1, 25, -1))
    params = jax.tree.map(lambda leaf: leaf + 1, params)  # no unit is switched off by its ReLU
    for number in range(len(RELATIONS)):
        alone = np.asarray(related) * (np.arange(len(RELATIONS)) == number)
        new = np.asarray(new_cells(params, alone))
        reached = (new[1:] != new[0]).any(-1)  # [from, to]
        np.testing.assert_array_equal(reached.T, alone[0].any(-1) | np.eye(25, dtype=bool))


def test_cells_of_an_action_are_those_in_its_text() -> None:
    origin, target = cells_of_actions()
    for fen in ("rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1", "1k3/P4/2Q2/1N3/K4 w - - 0 1"):
        board = CHESS.from_string(fen)
        for action in np.flatnonzero(CHESS.legal_action_mask(board)):
            text = CHESS.action_to_string(board, int(action))
            cells = ["abcde".index(text[i]) + 5 * (5 - int(text[i + 1])) for i in (0, 2)]
            assert [origin[action], target[action]] == cells
    assert (target == -1).any()


def test_types_of_moves_tell_promotions_and_directions_apart_but_not_left_and_right() -> None:
    types = move_types()
    assert len({*types}) == 6 + 12 + 8 + 4  # promotions; straight moves; diagonal moves; jumps of a knight
    _, mirrored = symmetries(CHESS).action
    np.testing.assert_array_equal(types[mirrored % 49], types[np.arange(CHESS.num_actions) % 49])


TABLES = tables(2)  # of the star
CELLS = len(TABLES.axial)

# -- squares and cells side by side: functions whose gradient is written by hand ---------------------------------------

MOVES = ((-1, 1), (1, 1), (1, -1), (-1, -1))  # rows and columns of the 8 x 8 board in directions 0 to 3


def assert_gradient_is_the_transpose(function: Callable[[jax.Array], jax.Array], size: int) -> None:
    """Of a linear function F of [size, 3]: w . F(x) = grad . x, where grad is that of w . F for random w."""
    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.normal(size=(size, 3)), jnp.float32)
    result, pull_back = jax.vjp(function, x)
    weights = jnp.asarray(rng.normal(size=result.shape), jnp.float32)
    np.testing.assert_allclose(jnp.vdot(weights, result), jnp.vdot(pull_back(weights)[0], x), rtol=1e-4)


def test_features_around_a_square_are_those_of_its_diagonals_by_distance_and_direction() -> None:
    """On squares of 8 x 8 that hold 1 to 32, and 0 off the board."""
    board = np.zeros((12, 12), int)  # with a border of two
    for square in range(32):
        board[2 + square // 4, 2 + 2 * (square % 4) + (square // 4 + 1) % 2] = square + 1
    found = np.asarray(around(jnp.arange(1.0, 33)[:, None, None], 2))[:, 0]
    for row, column in np.argwhere(board):
        steps = [(down * n, right * n) for n in (1, 2) for down, right in MOVES]
        expected = [board[row + down, column + right] for down, right in [(0, 0), *steps]]
        np.testing.assert_array_equal(found[board[row, column] - 1], expected)
    assert_gradient_is_the_transpose(lambda x: around(x[:, None], 2), 32)


def test_cell_ahead_is_that_of_the_tables() -> None:
    x = np.random.default_rng(0).normal(size=(CELLS, 3)).astype(np.float32)
    for distance, table in ((STEP, TABLES.neighbour), (HOP, TABLES.beyond)):
        for direction in ALL_DIRECTIONS:
            found = ahead(2, distance, direction, jnp.asarray(x))
            np.testing.assert_array_equal(
                found, np.append(x, np.zeros((1, 3), np.float32), axis=0)[table[:-1, direction]]
            )
            assert_gradient_is_the_transpose(functools.partial(ahead, 2, distance, direction), CELLS)


# -- hops: its plan, its inputs and its first policy -------------------------------------------------------------------


class HopBoards(NamedTuple):
    """Three boards."""

    worth: np.ndarray  # float32[cells, 3]
    occupied: np.ndarray  # bool[cells, 3]
    blocked: np.ndarray  # bool[cells, 3], occupied or closed for other reasons


def random_boards() -> HopBoards:
    random = np.random.default_rng(0)
    occupied = random.random((CELLS, 3)) < 0.4
    worth = random.normal(size=(CELLS, 3)).astype(np.float32)
    return HopBoards(worth, occupied, occupied | (random.random((CELLS, 3)) < 0.1))


def largest_worth(boards: HopBoards, board: int, cell: int, hops: int) -> float:
    """Returns the largest worth within some hops from a cell, by trying all chains."""
    best = float(boards.worth[cell, board])
    for direction in range(6 if hops else 0):
        over, to = TABLES.neighbour[cell, direction], TABLES.beyond[cell, direction]
        if to < CELLS and boards.occupied[over, board] and not boards.blocked[to, board]:
            best = max(best, largest_worth(boards, board, int(to), hops - 1))
    return best


BOARDS = random_boards()


def test_reach_is_the_best_of_all_chains_and_has_the_gradient_of_its_cell() -> None:
    """A reach is one of the worths, so the sum of weighted reaches is that of the worths, weighted by its gradient."""
    worth, occupied, blocked = map(jnp.asarray, BOARDS)
    weights = jax.random.normal(jax.random.key(0), worth.shape)

    @jax.jit
    def reach(worth: jax.Array) -> Any:
        found, pull_back = jax.vjp(lambda worth: reach_of(2, can_hop(2, occupied, blocked), worth, 3), worth)
        return found, pull_back(weights)[0]

    found, gradient = reach(worth)
    expected = [[largest_worth(BOARDS, board, cell, 3) for board in range(3)] for cell in range(CELLS)]
    np.testing.assert_allclose(found, expected, atol=1e-3)  # the best cell is found from rounded worths
    np.testing.assert_allclose(jnp.vdot(gradient, worth), jnp.vdot(weights, found), rtol=1e-4)


def test_every_seat_is_equally_far_from_its_goal_at_the_start() -> None:
    env: Any = jaxgames.make("chinese_checkers(size=2, num_players=6)")
    q, r = TABLES.axial.T + 4
    pegs = np.asarray(env.observe(env.init(jax.random.key(0))))[q, r, :6]
    assert (pegs.T * distances(env)).sum(1).tolist() == [8 + 7 + 7] * 6


def test_logit_without_a_plan_is_the_score_of_the_greedy_agent_where_a_move_gains() -> None:
    """Pegs of others close cells of the goal, and own pegs fill them: the first goal is full of others."""
    env, free = jaxgames.make("chinese_checkers(size=2, num_players=2)"), "./../......./....../...../"
    goals = ("..0.../..00.../1./. 0 - 0", "..0.../...0.../1./0 0 - 0", "..0.../...0.../0./1 0 - 0")
    states = stacked([env.init(), *(env.from_string(free + goal) for goal in goals)])
    policy = Policy.of(env, "shared", "hops(hidden_sizes=[4], hops=0)")
    params: Any = jax.tree.map(lambda leaf: np.zeros(leaf.shape), jax.eval_shape(policy.init, jax.random.key(0)))
    params["heads"]["params"]["steepness"] += 1

    @jax.jit
    def found(states: Any) -> Any:
        logits, _ = policy.apply(params, jax.vmap(env.observe)(states), states.current_player)
        scores, legal = jax.vmap(lambda state: (greedy.action_scores(env, state), env.legal_action_mask(state)))(states)
        return jnp.where(legal, jnp.maximum(logits, 0), 0), jnp.where(legal, scores, 0)

    gains, scores = found(states)
    np.testing.assert_allclose(gains[:, :-1], scores[:, :-1])  # without the end of the turn


def test_first_policy_begins_the_chain_that_leads_furthest() -> None:
    """From cell 1, two hops down-right lead over a peg in the third row and one in the fifth; other moves gain less."""
    env = jaxgames.make("chinese_checkers(size=2, num_players=2)")
    state = env.from_string("./0./...0.../....../...1./....../......./11/1 0 - 0")
    policy = Policy.of(env, "shared", "hops(hidden_sizes=[4], hops=3)")
    look = compiled(env).look(state)
    apply = jax.jit(lambda key: policy.apply(policy.init(key), look.mover[None], jnp.zeros(1, jnp.int32)))
    logits, value = apply(jax.random.key(0))
    legal = np.asarray(look.mask)
    assert int(np.where(legal, np.asarray(logits[0]), -np.inf).argmax()) == 6 * 1 + 5
    # Four steps, and one column away from the middle. The next turn would give all of it, of which 0.3 count already.
    assert abs(float(logits[0, 6 * 1 + 5]) - (1 - 0.3) * 6 * (4 - 0.2 * 1)) < 0.1
    assert abs(float(value[0])) < 0.1
