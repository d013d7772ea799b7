"""The rules of 5 x 5 chess one by one, and the contract of the env that plays them.

Positions are drawn as White sees them, files a to e from the left and ranks 5 to 1 from the top. Whole games beside
other engines are in `test_minichess_games.py`.
"""

import dataclasses
import functools
import itertools
from collections.abc import Callable
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxgames
from jaxgames import Env
from jaxgames.games.minichess_board import Position, hashed
from tests.games.minichess.reference import Reference, from_fen, number, uci
from tests.helpers.positions import LIVE, TERMINATED, TRUNCATED, compiled, is_over, legal, play

START = "rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1"


@functools.cache
def game(**parameters: Any) -> Env[Any]:
    return jaxgames.make("minichess", **parameters)


def written(picture: str, side: str = "w", quiet: int = 0, move: int = 1) -> str:
    """The FEN of a drawn position."""
    rows = "/".join("".join(row.split()) for row in picture.strip().splitlines())
    for gap in (5, 4, 3, 2, 1):
        rows = rows.replace("." * gap, str(gap))
    return f"{rows} {side} - - {quiet} {move}"


def read(env: Env[Any], picture: str, side: str = "w", quiet: int = 0, move: int = 1) -> Any:
    return env.from_string(written(picture, side, quiet, move))


# -- the start and the moves ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("gardner", "rnbqk/ppppp/5/PPPPP/RNBQK"),
        ("baby", "kqbnr/ppppp/5/PPPPP/RNBQK"),
        ("mallet", "rbkqb/ppppp/5/PPPPP/RNKQN"),
    ],
)
@pytest.mark.parametrize("rules", ["standard", "king_capture"])
def test_boards_and_who_moves(name: str, rows: str, rules: str) -> None:
    env = game(board=name, rules=rules)
    state = env.init(jax.random.key(0))
    assert env.to_string(state) == f"{rows} w - - 0 1"
    assert int(state.current_player) == 0
    chex.assert_trees_all_equal(env.from_string(f"{rows} w - - 0 1"), state)
    state = play(game(), game().init(jax.random.key(0)), "b1c3")
    assert int(state.current_player) == 1
    assert game().to_string(state) == "rnbqk/ppppp/2N2/PPPPP/R1BQK b - - 1 1"
    assert game().to_string(play(game(), state, "d4c3")) == "rnbqk/ppp1p/2p2/PPPPP/R1BQK w - - 0 2"


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
BATCH = 2048


@functools.cache
def batched(env: Env[Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The mask, and a step after which a draw goes on: perft counts moves and knows no draw."""

    def step(state: Any, action: jax.Array) -> Any:
        after = env.step(state, action)
        return after, after.terminated & (after.rewards[0] != 0)

    return jax.jit(jax.vmap(env.legal_action_mask)), jax.jit(jax.vmap(step))


def perft(env: Env[Any], text: str, depth: int) -> tuple[list[int], list[int]]:
    """Leaves at depth 1, 2, ..., and how many of them somebody has won."""
    mask, step = batched(env)
    boards = jax.tree.map(lambda leaf: np.asarray(leaf)[None], env.from_string(text))
    leaves: list[int] = []
    wins: list[int] = []
    for _ in range(depth):
        parents: list[np.ndarray] = []
        actions: list[np.ndarray] = []
        total = len(boards.ply)
        for begin in range(0, total, BATCH):
            chosen = np.minimum(np.arange(begin, begin + BATCH), total - 1)
            masks = np.asarray(mask(jax.tree.map(lambda leaf, chosen=chosen: leaf[chosen], boards)))
            place, action = np.nonzero(masks[: total - begin])
            parents.append(begin + place)
            actions.append(action)
        parent, action = np.concatenate(parents), np.concatenate(actions).astype(np.int32)
        children: list[Any] = []
        won = 0
        for begin in range(0, len(parent), BATCH):
            chosen = np.minimum(np.arange(begin, begin + BATCH), len(parent) - 1)
            from_boards = jax.tree.map(lambda leaf, chosen=chosen, parent=parent: leaf[parent[chosen]], boards)
            after, decided = jax.device_get(step(from_boards, action[chosen]))
            left = len(parent) - begin
            after = jax.tree.map(lambda leaf, left=left: leaf[:left], _going_on(after, decided))
            won += int(decided[:left].sum())
            children.append(after)
        leaves.append(len(parent))
        wins.append(won)
        boards = jax.tree.map(lambda *parts: np.concatenate(parts), *children)
    return leaves, wins


def _going_on(states: Any, decided: np.ndarray) -> Any:
    return dataclasses.replace(states, terminated=decided)


@pytest.mark.parametrize(("text", "parameters", "leaves"), PERFT)
def test_perft(text: str, parameters: dict[str, Any], leaves: list[int]) -> None:
    """As many games of each length as Fairy-Stockfish counts, and for a captured king as are known."""
    env = game(max_plies=1_000_000, **parameters)
    depth = max(depth for depth, count in enumerate(leaves, 1) if count < 20_000)
    assert perft(env, text, depth)[0] == leaves[:depth]


@pytest.mark.slow
@pytest.mark.parametrize(("text", "parameters", "leaves"), PERFT)
def test_deep_perft(text: str, parameters: dict[str, Any], leaves: list[int]) -> None:
    env = game(max_plies=1_000_000, **parameters)
    assert perft(env, text, len(leaves))[0] == leaves


WINS = [(KING_CAPTURE, [0, 0, 0, 4, 398, 6600]), (QUICK, [0, 0, 0, 4, 223, 4106])]


@pytest.mark.parametrize(("parameters", "wins"), WINS)
def test_perft_of_captured_kings(parameters: dict[str, Any], wins: list[int]) -> None:
    assert perft(game(max_plies=1_000_000, **parameters), START, 5)[1] == wins[:5]


@pytest.mark.slow
@pytest.mark.parametrize(("parameters", "wins"), WINS)
def test_deep_perft_of_captured_kings(parameters: dict[str, Any], wins: list[int]) -> None:
    assert perft(game(max_plies=1_000_000, **parameters), START, 6)[1] == wins


def test_check_must_be_answered() -> None:
    """The rook on e1 gives check: the king steps aside, bishop or knight captures, or the knight steps between."""
    picture = """
        . . . . k
        . b . . .
        . . . . .
        . . n . .
        K . . . R
    """
    assert legal(game(), read(game(), picture, "b")) == {"e5d5", "e5d4", "b4e1", "c2e1", "c2e3"}


def test_only_the_king_answers_a_double_check() -> None:
    picture = """
        k . . R .
        . . . . .
        . N . . .
        . n . . .
        . . K . r
    """
    assert legal(game(), read(game(), picture, "b")) == {"a5a4", "a5b4"}


def test_a_pinned_piece_stays_on_its_line() -> None:
    """The rook on c3 is pinned along the file, the pawn on d2 along the diagonal: it may capture the bishop only."""
    picture = """
        . . r . k
        . . . . .
        . . R . b
        . . . P .
        . . K . .
    """
    moves = legal(game(), read(game(), picture))
    assert {move for move in moves if move.startswith("c3")} == {"c3c2", "c3c4", "c3c5"}
    assert {move for move in moves if move.startswith("d2")} == {"d2e3"}


def test_the_king_does_not_flee_along_the_line() -> None:
    """a2 lies behind the king as the rook sees it; c2 next to the other king."""
    picture = """
        . . . . .
        . . . . .
        . . . k .
        . K . . r
        . . . . .
    """
    assert legal(game(), read(game(), picture)) == {"b2a1", "b2b1", "b2c1", "b2a3", "b2b3"}


@pytest.mark.parametrize("side", ["w", "b"])
@pytest.mark.parametrize("promotion", ["all", "queen"])
def test_promotions(side: str, promotion: str) -> None:
    """Ahead and to both sides, for either colour, into four pieces or one."""
    white = """
        . n . r k
        . . P . .
        . . . . .
        . . . . .
        K . . . .
    """
    env = game(promotion=promotion)
    picture, tos = (white, ["c4b5", "c4c5", "c4d5"]) if side == "w" else (turned_round(white), ["c2b1", "c2c1", "c2d1"])
    state = read(env, picture, side)
    becomes = "qrbn" if promotion == "all" else "q"
    assert {move for move in legal(env, state) if move[0] == "c"} == {to + piece for to in tos for piece in becomes}
    for to, piece in itertools.product(tos, becomes):
        rows = env.to_string(play(env, state, to + piece)).split()[0]
        there = rows.split("/")[0 if side == "w" else 4].replace("1", ".").replace("2", "..").replace("3", "...")
        assert there["abcde".index(to[2])] == (piece.upper() if side == "w" else piece)
        assert ("P" if side == "w" else "p") not in rows


def turned_round(picture: str) -> str:
    """The ranks mirrored and the colours swapped."""
    return "\n".join(row.swapcase() for row in picture.strip().splitlines()[::-1])


def test_double_steps_start_on_the_second_rank_and_pass_over_empty_cells() -> None:
    picture = """
        . . . . k
        p p . . .
        . . P . n
        P . . P P
        K . . . .
    """
    env = game(double_step=True)
    pawns = {move for move in legal(env, read(env, picture)) if move[0] in "acde" and move != "a1b1"}
    assert pawns == {"a2a3", "c3b4", "c3c4", "d2d3", "d2d4", "d2e3"} | {"a1b2"}
    blacks = {move for move in legal(env, read(env, picture, "b")) if move[0] in "ab"}
    assert blacks == {"a4a3", "b4b3", "b4c3", "b4b2"}
    assert "d2d4" not in legal(game(), read(game(), picture))


# -- the end of the game ----------------------------------------------------------------------------------------

MATE = """
    k . . . .
    . . . . .
    K . . . .
    . . . . .
    . . . . R
"""
STALEMATE = """
    k . . . .
    . . . . .
    . K . . .
    . . Q . .
    . . . . .
"""


def test_checkmate_wins() -> None:
    state = play(game(), read(game(), MATE), "e1e5")
    assert is_over(state) == TERMINATED
    assert state.rewards.tolist() == [1, -1]
    assert legal(game(), state) == set()
    state = play(game(), read(game(), turned_round(MATE), "b"), "e5e1")
    assert is_over(state) == TERMINATED
    assert state.rewards.tolist() == [-1, 1]


def test_stalemate_is_a_draw() -> None:
    state = play(game(), read(game(), STALEMATE), "c2c4")
    assert is_over(state) == TERMINATED
    assert state.rewards.tolist() == [0, 0]


def test_a_hundred_quiet_plies_are_a_draw_and_fifty_are_not() -> None:
    for quiet, expected in [(48, LIVE), (49, LIVE), (98, LIVE), (99, TERMINATED)]:
        state = play(game(), read(game(), MATE, quiet=quiet, move=60), "e1e2")
        assert is_over(state) == expected
        assert not state.rewards.any()


def test_checkmate_on_the_hundredth_quiet_ply_wins() -> None:
    state = play(game(), read(game(), MATE, quiet=99, move=60), "e1e5")
    assert state.rewards.tolist() == [1, -1]


@pytest.mark.parametrize(("move", "quiet"), [("d1d2", 0), ("a1b1", 58), ("c1b2", 58), ("c1e3", 0), ("d1e2", 0)])
def test_captures_and_pawn_moves_reset_the_count(move: str, quiet: int) -> None:
    picture = """
        . . . . k
        . . . . .
        . . . . r
        . . . . n
        K . B P .
    """
    assert game().to_string(play(game(), read(game(), picture, quiet=57), move)).split()[4] == str(quiet)


AROUND = """
    r n b q k
    . p p p p
    p . . . .
    P P P P P
    R N B Q K
"""


def test_the_third_occurrence_is_a_draw_and_the_start_is_the_first() -> None:
    """After eight plies the start stands for the third time, but 7 plies are no draw."""
    env = game()
    state = read(env, AROUND)
    look = jax.jit(env.observe)
    for ply, move in enumerate(["b1c3", "b5c3", "b2c3", "e4e3", "a1b1", "a5b5", "b1a1", "b5a5"]):
        state = play(env, state, move)
        assert is_over(state) == LIVE
        assert bool(look(state)[..., 13].any()) == (ply == 7)
    for ply, move in enumerate(["a1b1", "a5b5", "b1a1", "b5a5"]):
        assert look(state)[..., 13].all()
        assert not look(state)[..., 14].any()
        assert is_over(state) == LIVE
        state = play(env, state, move)
        assert is_over(state) == (TERMINATED if ply == 3 else LIVE)
    assert look(state)[..., 13:].all()
    assert state.rewards.tolist() == [0, 0]


def test_the_start_of_the_game_counts() -> None:
    """Both knights go out and come home, twice."""
    env = game()
    state = env.init(jax.random.key(0))
    for ply, move in enumerate(["b1a3", "b5c3", "a3b1", "c3b5"] * 2):
        assert is_over(state) == LIVE, ply
        state = play(env, state, move)
    assert is_over(state) == TERMINATED
    assert state.rewards.tolist() == [0, 0]


def test_the_same_placement_with_the_other_side_to_move_is_another_position() -> None:
    """White loses a move: the placement comes again after three plies, and after three more."""
    picture = """
        . . . . k
        . . . . .
        . . . . .
        . . . . .
        K R . . r
    """
    state = read(game(), picture)
    for move in ["b1c1", "e5e4", "c1d1", "e4e5", "d1b1"]:
        state = play(game(), state, move)
        assert not game().observe(state)[..., 13].any()
    assert game().to_string(state).startswith("4k/5/5/5/KR2r b")


def test_the_mirrored_position_is_another_one() -> None:
    """After three plies Black sees what White saw at the start."""
    before = game().from_string("k1r2/5/5/5/KR3 w - - 0 1")
    state = play(game(), before, "b1d1", "c5b5", "d1c1")
    look = jax.jit(game().observe)
    np.testing.assert_array_equal(look(state)[..., :12], look(before)[..., :12])
    assert not look(state)[..., 13].any()


def test_a_promoted_queen_is_part_of_the_position() -> None:
    """A pawn becomes a queen: from there the third occurrence is a draw, and not a ply before."""
    picture = """
        . . . . .
        P . . . k
        . . . . .
        . . . . .
        K . . . .
    """
    state = play(game(), read(game(), picture), "a4a5q")
    for ply, move in enumerate(["e4e3", "a1b1", "e3e4", "b1a1"] * 2):
        assert is_over(state) == LIVE, ply
        state = play(game(), state, move)
    assert is_over(state) == TERMINATED


def test_an_irreversible_move_forgets() -> None:
    """The counts start anew: the board remembers nothing before the last capture or pawn's move."""
    state = play(game(), read(game(), AROUND), "b1c3", "b5c3", "b2c3", "e4e3", "a1b1", "a5b5")
    assert (np.asarray(state.history) != 0).all(0).sum() == 3
    state = play(game(), state, "d2e3")
    assert (np.asarray(state.history) != 0).all(0).sum() == 1
    assert int(state.occurred) == 0


def test_hashes_tell_positions_apart() -> None:
    """A pawn from a queen, whose a piece is and where; each half alone errs no more than 32 random bits would."""
    rng = np.random.default_rng(0)
    cells = rng.integers(-6, 7, (200_000, 25)).astype(np.int8)
    cells[1::2] = cells[::2]
    rows = np.arange(1, 200_000, 2)
    cells[rows, rng.integers(0, 25, rows.size)] = rng.integers(-6, 7, rows.size)  # one cell differs
    cells = np.unique(cells, axis=0)
    bits = np.uint32(1) << np.arange(25, dtype=np.uint32)
    sets = [(cells > 0) @ bits, *((abs(cells) == kind) @ bits for kind in range(1, 7))]
    words = np.asarray(jax.jit(jax.vmap(hashed))(Position(*(jnp.asarray(s, jnp.uint32) for s in sets))))
    assert len(np.unique(words, axis=0)) == len(cells)
    expected = len(cells) ** 2 / 2**33  # pairs that fall together by chance
    for half in words.T:
        assert len(cells) - len(np.unique(half)) < expected + 6 * expected**0.5 + 1
        counts = np.bincount(half >> 22, minlength=1024)  # and spread evenly
        assert ((counts - counts.mean()) ** 2).sum() / counts.mean() < 1400


@pytest.mark.parametrize(
    ("rows", "dead"),
    [
        ("k4/5/5/5/4K", True),
        ("k4/5/5/5/3NK", True),
        ("kn3/5/5/5/4K", True),
        ("k4/5/5/5/3BK", True),
        ("kb3/5/5/5/4K", True),
        ("k4/5/5/5/3PK", False),
        ("kr3/5/5/5/4K", False),
        ("kq3/5/5/5/4K", False),
        ("kn3/5/5/5/3NK", False),
        ("k4/5/5/5/2NNK", False),
        ("k4/5/5/5/2BNK", False),
        ("k4/5/5/5/2BBK", False),
        ("kb3/5/5/5/3BK", True),  # b5 and d1 are both light
        ("k1b2/5/5/5/3BK", False),
        ("k1b2/3B1/4b/5/2B1K", True),  # any number on either side
        ("k1b2/3B1/4b/5/2BNK", False),
    ],
)
def test_too_little_to_mate_is_a_draw(rows: str, dead: bool) -> None:
    for side in "wb":
        assert is_over(game().from_string(f"{rows} {side} - - 0 1")) == (TERMINATED if dead else LIVE)
        assert is_over(game(rules="king_capture").from_string(f"{rows} {side} - - 0 1")) == LIVE


def test_a_capture_that_leaves_too_little_ends_the_game() -> None:
    state = play(game(), game().from_string("k4/5/5/3r1/4K w - - 7 9"), "e1d2")
    assert is_over(state) == TERMINATED
    assert state.rewards.tolist() == [0, 0]


@pytest.mark.parametrize(("rules", "limit"), [("standard", 256), ("king_capture", 200)])
def test_the_limit_truncates(rules: str, limit: int) -> None:
    env = game(rules=rules)
    assert env == game(rules=rules, max_plies=limit)
    assert env.max_steps == limit
    for ply, expected in [(limit - 2, LIVE), (limit - 1, TRUNCATED)]:
        state = read(env, MATE, "wb"[ply % 2], move=ply // 2 + 1)
        assert is_over(state) == LIVE
        state = play(env, state, "e1e2" if ply % 2 == 0 else "a5b5")
        assert is_over(state) == expected
        assert state.rewards.tolist() == [0, 0]
        assert bool(legal(env, state)) == (expected == LIVE)


def test_a_win_on_the_last_ply_is_no_truncation() -> None:
    env = game(max_plies=1)
    assert is_over(play(env, read(env, MATE), "e1e5")) == TERMINATED
    assert is_over(play(env, read(env, MATE), "e1e4")) == TRUNCATED


# -- king capture -----------------------------------------------------------------------------------------------


def test_the_king_may_be_left_in_check_and_taken() -> None:
    env = game(rules="king_capture")
    state = read(env, MATE)
    state = play(env, state, "e1e5", "a5b5")  # along the line of the rook
    assert is_over(state) == LIVE
    state = play(env, state, "e5b5")
    assert is_over(state) == TERMINATED
    assert state.rewards.tolist() == [1, -1]
    state = play(env, read(env, MATE), "a3a4", "a5a4")  # next to the other king
    assert state.rewards.tolist() == [-1, 1]


def test_without_a_pseudo_legal_move_it_is_a_draw() -> None:
    """The king is hemmed in by pawns that are blocked or on their last rank; a knight on b5 could move."""
    env = game(rules="king_capture")
    picture = """
        k p . . .
        p p . . .
        p p . . .
        p p . . .
        p p . . K
    """
    state = play(env, read(env, picture), "e1e2")
    assert is_over(state) == TERMINATED
    assert state.rewards.tolist() == [0, 0]
    assert is_over(play(env, read(env, picture.replace("k p", "k n")), "e1e2")) == LIVE


def test_king_capture_knows_no_other_draw() -> None:
    env = game(rules="king_capture", max_plies=1000)
    state = play(env, env.init(jax.random.key(0)), *["b1a3", "b5c3", "a3b1", "c3b5"] * 3)
    assert is_over(state) == LIVE
    assert not env.observe(state)[..., 13:].any()
    assert is_over(play(env, read(env, MATE, quiet=150), "e1e2")) == LIVE
    assert is_over(play(env, read(env, STALEMATE), "c2c4")) == LIVE


# -- rewards ----------------------------------------------------------------------------------------------------


PROMOTION = "1n3/P3k/5/5/K4"


@pytest.mark.parametrize(
    ("rules", "rows", "move", "gain"),
    [
        ("standard", PROMOTION, "a4a5q", 829),
        ("standard", PROMOTION, "a4a5r", 379),
        ("standard", PROMOTION, "a4a5b", 220),
        ("standard", PROMOTION, "a4a5n", 180),
        ("standard", PROMOTION, "a4b5q", 829 + 280),
        ("standard", PROMOTION, "a4b5n", 180 + 280),
        ("standard", PROMOTION, "a1a2", 0),
        ("standard", "4k/5/5/2p2/K1R2", "c1c2", 100),
        ("standard", "4k/5/5/2n2/K1R2", "c1c2", 280),
        ("standard", "4k/5/5/2b2/K1R2", "c1c2", 320),
        ("standard", "4k/5/5/2r2/K1R2", "c1c2", 479),
        ("standard", "4k/5/5/3q1/K2R1", "d1d2", 929),
        ("king_capture", "4k/3P1/5/5/K4", "d4d5b", 220),
        ("king_capture", "4k/5/5/5/K3R", "e1e5", 60_000),
        ("king_capture", "4k/3P1/5/5/K4", "d4e5q", 60_000 + 829),
    ],
)
@pytest.mark.parametrize("side", ["w", "b"])
def test_material_is_paid_as_it_changes(rules: str, rows: str, move: str, gain: int, side: str) -> None:
    env = game(rules=rules, reward="material")
    if side == "b":
        rows = "/".join(row.swapcase() for row in rows.split("/")[::-1])
        move = "".join(str(6 - int(c)) if c.isdigit() else c for c in move)
    rewards = play(env, env.from_string(f"{rows} {side} - - 0 1"), move).rewards.tolist()
    thousandth = float(np.float32(gain / 1000))  # to the bit
    assert rewards == ([thousandth, -thousandth] if side == "w" else [-thousandth, thousandth])
    assert env.reward_range[0] <= min(rewards)
    assert max(rewards) <= env.reward_range[1]


def test_checkmate_adds_nothing_to_material() -> None:
    env = game(reward="material")
    state = play(env, read(env, MATE), "e1e5")
    assert is_over(state) == TERMINATED
    assert state.rewards.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("parameters", "rows", "highest"),
    [
        ({}, "1k3/5/K4/5/3R1", 1.0),
        ({"rules": "king_capture"}, "4k/3P1/5/5/K4", 1.0),
        ({"reward": "material"}, "k3q/3P1/5/5/1K3", 1.758),
        ({"reward": "material", "rules": "king_capture"}, "4k/3P1/5/5/K4", 60.829),
    ],
)
def test_the_range_of_rewards(parameters: dict[str, Any], rows: str, highest: float) -> None:
    """The most is paid for a prize taken by a pawn that becomes a queen; the range is that, to the bit."""
    env = game(**parameters)
    state = env.from_string(f"{rows} w - - 0 1")
    after = play(env, state, "d4e5q" if "P" in rows else "d1d5")
    assert env.zero_sum
    assert env.reward_range[1] == np.float32(highest)
    assert env.reward_range[0] == -env.reward_range[1]
    if "P" in rows:
        assert after.rewards.tolist() == list(env.reward_range)[::-1]


# -- illegal actions and finished boards --------------------------------------------------------------------------


@pytest.mark.parametrize("rules", ["standard", "king_capture"])
def test_an_illegal_action_ends_the_game_and_is_fined(rules: str) -> None:
    """An empty cell, the opponent's piece, a blocked line, off the board, no promotion, and all that is no action."""
    env = game(rules=rules)
    step, mask = compiled(env)
    state = play(env, env.init(jax.random.key(0)), "a2a3")
    moves = ["c3c2", "a3a2", "a5a4", "b4b2", "b4c3", "d5b3"]
    actions = [env.action_from_string(state, move) for move in moves]
    for action in [*actions, 0, 49 * 3, 49 * 8 + 4, -1, 1225, 2**31 - 1, -(2**31)]:
        after = step(state, jnp.int32(action))
        assert after.rewards.tolist() == [1, -1]
        assert is_over(after) == TERMINATED
        assert env.to_string(after) == env.to_string(state)
        assert not mask(after).any()


def test_leaving_the_king_in_check_is_illegal() -> None:
    state = read(game(), MATE, "b")
    step, _ = compiled(game())
    assert step(state, jnp.int32(game().action_from_string(state, "a5a4"))).rewards.tolist() == [1, -1]


@pytest.mark.parametrize("how", ["won", "drawn", "truncated", "illegal", "king captured"])
def test_a_finished_board_is_frozen_and_pays_nothing(how: str) -> None:
    env = game(rules="king_capture") if how == "king captured" else game()
    step, mask = compiled(env)
    state = {
        "won": lambda: play(env, read(env, MATE), "e1e5"),
        "drawn": lambda: play(env, read(env, STALEMATE), "c2c4"),
        "truncated": lambda: play(env, read(env, MATE, "b", move=128), "a5b5"),
        "illegal": lambda: step(env.init(jax.random.key(0)), jnp.int32(-1)),
        "king captured": lambda: play(env, read(env, MATE, "b"), "a5a4", "a3a4"),
    }[how]()
    assert is_over(state) != LIVE
    once = step(state, jnp.int32(0))
    assert not once.rewards.any()
    for action in [-1, 11, 12, 500, 1224, 1225]:
        chex.assert_trees_all_equal(step(state, jnp.int32(action)), once)
    assert env.to_string(once) == env.to_string(state)
    assert is_over(once) == is_over(state)
    assert int(once.current_player) == int(state.current_player)
    assert not mask(once).any()


@pytest.mark.parametrize("parameters", [{}, {"rules": "king_capture", "promotion": "queen", "double_step": True}])
def test_the_check_of_one_action_is_the_mask(parameters: dict[str, Any]) -> None:
    """For every action of positions full of promotions, pins and checks."""
    env = game(**parameters)
    texts = [START, *{text for text, _, _ in PERFT}, "k1r1b/P1PPP/2q2/1B1p1/K1R1b w - - 0 1"]
    states = jax.tree.map(lambda *leaves: jnp.stack(leaves), *map(env.from_string, texts))
    actions = jnp.arange(-3, 1229)
    one = jax.jit(jax.vmap(lambda s: jax.vmap(lambda a: env._is_legal(s, a))(actions)))(states)  # pyright: ignore[reportPrivateUsage]  # it must equal the mask
    masks = jax.jit(jax.vmap(env.legal_action_mask))(states)
    np.testing.assert_array_equal(one[:, 3:-4], masks)
    assert not one[:, :3].any()
    assert not one[:, -4:].any()


# -- views --------------------------------------------------------------------------------------------------------


def test_the_view_from_both_sides() -> None:
    """[row from the top, file] as the viewer sits; files are not mirrored. Own P N B R Q K, the opponent's, Black?"""
    picture = """
        k . . . r
        . p . . .
        . . n . B
        P . . . .
        . Q . . K
    """
    white = {0: (3, 0), 2: (2, 4), 4: (4, 1), 5: (4, 4)}
    black = {0: (1, 1), 1: (2, 2), 3: (0, 4), 5: (0, 0)}

    def expected(own: dict[int, tuple[int, int]], theirs: dict[int, tuple[int, int]], turned: bool) -> np.ndarray:
        seen = np.zeros((5, 5, 15), bool)
        for kind, (row, file) in own.items():
            seen[4 - row if turned else row, file, kind] = True
        for kind, (row, file) in theirs.items():
            seen[4 - row if turned else row, file, 6 + kind] = True
        return seen

    look = jax.jit(game().observe)
    for side in "wb":
        state = read(game(), picture, side)
        for_white, for_black = expected(white, black, False), expected(black, white, True)
        for_white[..., 12] = for_black[..., 12] = side == "b"
        np.testing.assert_array_equal(look(state, 0), for_white)
        np.testing.assert_array_equal(look(state, 1), for_black)
        np.testing.assert_array_equal(look(state), for_black if side == "b" else for_white)
        assert look(state).dtype == bool


# -- symmetry -----------------------------------------------------------------------------------------------------


def random_positions(games: int, plies: int) -> list[str]:
    """Texts of positions in random games."""
    env, rng = game(), np.random.default_rng(0)
    mask, step = jax.jit(jax.vmap(env.legal_action_mask)), jax.jit(jax.vmap(lambda s, a: env.step(s, a)))
    states = jax.tree.map(lambda leaf: jnp.stack([leaf] * games), env.init(jax.random.key(0)))
    texts: list[str] = []
    for _ in range(plies):
        masks = np.asarray(mask(states))
        states = step(states, jnp.asarray((masks * rng.random(masks.shape)).argmax(-1), jnp.int32))
        host = jax.device_get(states)
        texts += [env.to_string(jax.tree.map(lambda leaf, i=i: leaf[i], host)) for i in range(games)]
    return [text for text in texts if is_over(env.from_string(text)) == LIVE]


def test_colours_and_sides_are_alike() -> None:
    """Swapping the colours changes nothing for the mover; mirroring the files mirrors its moves."""
    env, rng = game(), np.random.default_rng(1)
    texts = random_positions(games=8, plies=30)
    swapped: list[str] = []
    mirrored: list[str] = []
    for text in texts:
        rows, side, *rest = text.split()
        other = "/".join(row.swapcase() for row in rows.split("/")[::-1])
        swapped.append(" ".join([other, "wb"[side == "w"], *rest]))
        mirrored.append(" ".join(["/".join(row[::-1] for row in rows.split("/")), side, *rest]))
    boards, others, mirrors = (
        jax.tree.map(lambda *leaves: jnp.stack(leaves), *map(env.from_string, some))
        for some in (texts, swapped, mirrored)
    )
    look = jax.jit(jax.vmap(lambda state: (env.legal_action_mask(state), env.observe(state))))
    step = jax.jit(jax.vmap(lambda state, action: env.step(state, action)))
    masks, views = map(np.asarray, look(boards))
    np.testing.assert_array_equal(look(others)[0], masks)
    np.testing.assert_array_equal(look(others)[1][..., :12], views[..., :12])
    np.testing.assert_array_equal(look(others)[1][..., 12], ~views[..., 12])
    np.testing.assert_array_equal(look(mirrors)[1], views[:, :, ::-1])

    reflection = np.zeros(1225, int)  # the mirrored action of each; off the board it does not matter
    squares = [(file, rank) for file in range(5) for rank in range(5)]
    for (origin, to), becomes in itertools.product(itertools.permutations(squares, 2), ("", "r", "b", "n")):
        files, ranks = abs(to[0] - origin[0]), abs(to[1] - origin[1])
        line = files == ranks or 0 in (files, ranks) or {files, ranks} == {1, 2}
        if line and (not becomes or (files <= 1 and to[1] - origin[1] == 1)):
            there = ((4 - origin[0], origin[1]), (4 - to[0], to[1]), becomes)
            reflection[number(True, (origin, to, becomes))] = number(True, there)
    np.testing.assert_array_equal(
        masks[:, np.flatnonzero(reflection)], np.asarray(look(mirrors)[0])[:, reflection[np.flatnonzero(reflection)]]
    )
    assert masks[:, reflection == 0].sum() == 0

    actions = (masks * rng.random(masks.shape)).argmax(-1).astype(np.int32)
    after, other_after = step(boards, actions), step(others, actions)
    np.testing.assert_array_equal(after.rewards[:, ::-1], other_after.rewards)
    np.testing.assert_array_equal(after.terminated, other_after.terminated)
    np.testing.assert_array_equal(after.terminated, step(mirrors, reflection[actions].astype(np.int32)).terminated)


# -- the env as a function ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rules", "most"), [("standard", 1000), ("king_capture", 64)])
def test_plain_properties_and_a_lean_state(rules: str, most: int) -> None:
    env = game(rules=rules)
    assert env.id == "minichess"
    assert env.num_players == 2
    assert env.num_actions == 1225
    assert env.observation_shape == (5, 5, 15)
    assert env.state_bytes == (851 if rules == "standard" else 51) <= most
    state = jax.eval_shape(env.init, jax.eval_shape(lambda: jax.random.key(0)))
    assert (state.current_player.shape, state.current_player.dtype) == ((), jnp.int32)
    assert (state.rewards.shape, state.rewards.dtype) == ((2,), jnp.float32)
    for flag in (state.terminated, state.truncated):
        assert (flag.shape, flag.dtype) == ((), jnp.bool_)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"board": "chess"}, "'gardner', 'baby', 'mallet', not 'chess'"),
        ({"board": 5}, "'gardner', 'baby', 'mallet', not 5"),
        ({"rules": "fide"}, "'standard', 'king_capture', not 'fide'"),
        ({"reward": "sparse"}, "'win_loss', 'material', not 'sparse'"),
        ({"double_step": 1}, "False, True, not 1"),
        ({"promotion": "knight"}, "'all', 'queen', not 'knight'"),
        ({"max_plies": 0}, "from 1 to 1000000 or None, not 0"),
        ({"max_plies": 2.5}, "from 1 to 1000000 or None, not 2.5"),
        ({"size": 6}, "no parameter 'size'"),
    ],
)
def test_wrong_parameters_are_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(jaxgames.ParameterError, match=message):
        jaxgames.make("minichess", **parameters)


# -- notation -----------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(choices=st.lists(st.integers(0, 10_000), max_size=50), standard=st.booleans(), double_step=st.booleans())
def test_what_is_written_reads_back(choices: list[int], standard: bool, double_step: bool) -> None:
    """Positions and moves of random play-outs."""
    env = game(rules="standard" if standard else "king_capture", double_step=double_step)
    reference = Reference(king_capture=not standard, double_step=double_step)
    position = from_fen(START)
    for choice in choices:
        moves = reference.legal(position)
        if moves:
            position = reference.step(position, list(moves)[choice % len(moves)], moves)
    state = env.from_string(position.fen)
    assert env.to_string(state) == position.fen
    assert is_over(state) == (position.terminated and position.occurred < 2, position.truncated)
    for action, move in reference.legal(position).items():
        assert env.action_to_string(state, action) == uci(move)
        assert env.action_from_string(state, uci(move)) == action


@settings(max_examples=60, deadline=None)
@given(
    cells=st.lists(st.sampled_from("PNBRQKpnbrqk11111"), min_size=25, max_size=25),
    side=st.sampled_from("wb"),
    quiet=st.integers(0, 200),
    move=st.integers(1, 300),
)
def test_any_placement_reads_back(cells: list[str], side: str, quiet: int, move: int) -> None:
    env = game(rules="king_capture")
    text = written("\n".join("".join(cells[i : i + 5]).replace("1", ".") for i in range(0, 25, 5)), side, quiet, move)
    state = env.from_string(text)
    assert env.to_string(state) == text
    assert not state.rewards.any()
    no_king = ("K" if side == "w" else "k") not in cells
    assert bool(state.terminated) >= no_king
    assert bool(state.truncated) == (not state.terminated and 2 * (move - 1) + (side == "b") >= 200)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("k3R/5/K4/5/5 b - - 5 9", TERMINATED),  # mate
        ("k3R/5/K4/5/5 w - - 5 9", LIVE),
        ("k4/2Q2/1K3/5/5 b - - 5 9", TERMINATED),  # stalemate
        ("k4/5/K4/5/4R w - - 99 60", LIVE),
        ("k4/5/K4/5/4R w - - 100 60", TERMINATED),
        ("k4/5/K4/5/4B w - - 5 9", TERMINATED),  # too little
        ("k4/5/K4/5/4R b - - 5 128", LIVE),
        ("k4/5/K4/5/4R w - - 5 129", TRUNCATED),
        ("k3R/5/K4/5/5 b - - 5 129", TERMINATED),  # never both
        ("kK3/5/5/5/4R w - - 5 9", LIVE),  # out of reach, but it fits the board
    ],
)
def test_from_string_knows_what_is_over(text: str, expected: tuple[bool, bool]) -> None:
    state = game().from_string(text)
    assert is_over(state) == expected
    assert game().to_string(state) == text


def test_a_king_is_never_captured_under_standard_rules() -> None:
    """A position read with Black in check and White to move."""
    assert not {move for move in legal(game(), game().from_string("k3R/5/K4/5/5 w - - 5 9")) if move.endswith("a5")}


def test_many_kings_and_none_under_king_capture() -> None:
    env = game(rules="king_capture")
    assert is_over(env.from_string("kk3/5/5/5/4R w - - 5 9")) == TERMINATED  # White's king has been taken
    assert is_over(env.from_string("5/5/5/5/3KR w - - 5 9")) == LIVE
    assert is_over(env.from_string("5/5/5/5/5 b - - 5 9")) == TERMINATED
    state = play(env, env.from_string("kk3/5/5/5/R3K w - - 5 9"), "a1a5")
    assert is_over(state) == LIVE  # one is left
    assert play(env, state, "b5b4", "a5a4", "b4a4").rewards.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("text", "offending", "expected"),
    [
        ("", "''", "six fields"),
        ("rnbqk/ppppp/5/PPPPP/RNBQK w - - 0", "RNBQK w - - 0'", "six fields"),
        ("rnbqk/ppppp/5/PPPPP w - - 0 1", "'rnbqk/ppppp/5/PPPPP'", "5 rows"),
        ("rnbqk/ppppp/5/PPPPP/RNBQK/5 w - - 0 1", "RNBQK/5'", "5 rows"),
        ("rnbqk/ppppp/6/PPPPP/RNBQK w - - 0 1", "'6'", "gap 1..5"),
        ("rnbqk/ppxpp/5/PPPPP/RNBQK w - - 0 1", "'x'", "PNBRQK"),
        ("rnbqk/pppp/5/PPPPP/RNBQK w - - 0 1", "'pppp'", "5 cells in row 4"),
        ("rnbqk/ppppp/51/PPPPP/RNBQK w - - 0 1", "'51'", "5 cells in row 3"),
        ("rnbqk/ppppp//PPPPP/RNBQK w - - 0 1", "''", "5 cells in row 3"),
        ("rnbqk/ppppp/5/PPPPP/RNBQK W - - 0 1", "'W'", "'w' or 'b'"),
        ("rnbqk/ppppp/5/PPPPP/RNBQK w KQ - 0 1", "'KQ -'", "no castling"),
        ("rnbqk/ppppp/5/PPPPP/RNBQK w - a3 0 1", "'- a3'", "no en passant"),
        ("rnbqk/ppppp/5/PPPPP/RNBQK w - - -1 1", "'-1'", "plies"),
        ("rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 0", "'0'", "from 1 on"),
        ("rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 9999999999", "'9999999999'", "from 1 on"),
        ("knbqk/ppppp/5/PPPPP/RNBQK w - - 0 1", "not 2", "at most one king of Black"),
        ("rnbqk/ppppp/5/PPPPP/RKBQK w - - 0 1", "not 2", "at most one king of White"),
    ],
)
def test_a_wrong_position_is_explained(text: str, offending: str, expected: str) -> None:
    with pytest.raises(ValueError, match="expected") as error:
        game().from_string(text)
    assert offending in str(error.value)
    assert expected in str(error.value)


@pytest.mark.parametrize(
    ("move", "offending", "expected"),
    [
        ("", "''", "'a2a3'"),
        ("a2", "'a2'", "'a2a3'"),
        ("A2A3", "'A2A3'", "'a2a3'"),
        ("a2-a3", "'a2-a3'", "'a2a3'"),
        ("a0a1", "'a0a1'", "a1..e5"),
        ("a5a6", "'a5a6'", "a1..e5"),
        ("f1e1", "'f1e1'", "a1..e5"),
        ("b4b5k", "'b4b5k'", "'d4d5q'"),
        ("a1a1", "'a1a1'", "line or a knight's jump from a1"),
        ("a1b4", "not b4", "line or a knight's jump from a1"),
        ("b4b5", "'b4b5q'", "what the pawn becomes"),
        ("b4c5", "'b4c5q'", "what the pawn becomes"),
        ("a1a2q", "'q'", "no promotion"),
        ("d4d5q", "'q'", "no promotion"),
        ("b4e5n", "'b4e5n'", "line or a knight's jump"),
        ("b4d5r", "'b4d5r'", "one cell ahead"),
    ],
)
def test_a_wrong_move_is_explained(move: str, offending: str, expected: str) -> None:
    """A white pawn stands on b4, a rook on d4."""
    state = game().from_string("4k/1P1R1/5/5/K4 w - - 0 1")
    with pytest.raises(ValueError, match="expected") as error:
        game().action_from_string(state, move)
    assert offending in str(error.value)
    assert expected in str(error.value)


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (-1, "0 to 1224"),
        (1225, "0 to 1224"),
        (49 * 0 + 9, "leads nowhere from a1"),
        (49 * 0 + 0, "leads nowhere from a1"),
        (49 * 18 + 0, "no pawn of the mover on d4"),
    ],
)
def test_an_action_that_names_no_move_has_no_text(action: int, expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        game().action_to_string(game().from_string("4k/1P1R1/5/5/K4 w - - 0 1"), action)


def test_moves_that_are_not_legal_have_a_text_too() -> None:
    """An empty cell, the opponent's piece, and an underpromotion where only queens are allowed."""
    env = game(promotion="queen")
    state = env.from_string("4k/1P1R1/5/5/K4 w - - 0 1")
    for move in ["c3c4", "e5e4", "a1a5", "b4b5n"]:
        assert env.action_to_string(state, env.action_from_string(state, move)) == move
        assert move not in legal(env, state)
