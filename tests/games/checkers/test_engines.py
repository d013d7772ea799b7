"""Random games beside engines that share no code with ours: OpenSpiel's `checkers`, and pydraughts for whole moves."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
import pyspiel
import pytest
from draughts.core.game import Game as Draughts

from jaxgames import Env
from tests.games.checkers.pictures import BY_DRAW_RULE, OPEN_SPIEL, WCDF
from tests.games.checkers.random_positions import crowds, hunts
from tests.games.checkers.reference import DIRECTIONS, PDN, SQUARES, plus, seen
from tests.games.checkers.test_perft import MOVES
from tests.helpers.positions import batched, board, compiled, random_actions, read_all, repeated, start

# -- OpenSpiel --------------------------------------------------------------------------------------------

OPEN_SPIEL_DIRECTION = (1, 2, 3, 0)  # of ours: OpenSpiel counts clockwise from up-left
OPEN_SPIEL_PIECES = {"o": "b", "8": "bk", "+": "w", "*": "wk"}


def open_spiel_action(action: int, seat: int) -> tuple[int, int]:
    """OpenSpiel's numbers of the step and of the jump; its board is seat 0's frame, with the light squares."""
    index, direction = divmod(action, 4)
    index, direction = (index, direction) if seat == 0 else (31 - index, (direction + 2) % 4)
    row, column = index // 4, 2 * (index % 4) + (index // 4 + 1) % 2
    step = 2 * (4 * (8 * row + column) + OPEN_SPIEL_DIRECTION[direction])
    return step, step + 1


OPEN_SPIEL_ACTION = np.array([[open_spiel_action(action, seat) for action in range(128)] for seat in (0, 1)])


def open_spiel_sides(state: Any) -> tuple[str, str]:
    """White's and Black's squares as PDN has them, from OpenSpiel's drawing."""
    sides: dict[str, list[tuple[int, str]]] = {"w": [], "b": []}
    for row, line in enumerate(str(state).splitlines()[:8]):
        for column, letter in enumerate(line[1:]):
            if letter != ".":
                colour, *king = OPEN_SPIEL_PIECES[letter]
                number = 32 - (4 * row + column // 2)
                sides[colour].append((number, f"{'K' if king else ''}{number}"))
    white, black = (",".join(text for _, text in sorted(sides[colour])) for colour in ("w", "b"))
    return white, black


def play_beside_open_spiel(games: int, seed: int) -> Counter[str]:
    """Plays random games to their ends and compares every position; returns how they ended, and "plies"."""
    rng = np.random.default_rng(seed)
    env = OPEN_SPIEL
    step, mask, _ = batched(env)
    theirs = [pyspiel.load_game("checkers").new_initial_state() for _ in range(games)]
    states = repeated(start(env), games)
    counted: Counter[str] = Counter()
    live = list(range(games))
    while live:
        masks = np.asarray(mask(states))
        actions = np.full(games, -1, np.int32)
        for i in live:
            seat = int(states.current_player[i])
            legal = np.flatnonzero(masks[i])
            either = OPEN_SPIEL_ACTION[seat, legal]
            allowed = theirs[i].legal_actions()
            assert seat == theirs[i].current_player()
            is_jump = allowed[0] % 2  # all of them are jumps, or none is
            assert sorted(either[:, is_jump]) == sorted(allowed)
            choice = int(rng.random() * len(legal))
            actions[i] = legal[choice]
            theirs[i].apply_action(int(either[choice, is_jump]))
        states = jax.device_get(step(states, actions))
        counted["plies"] += len(live)
        for i in live:
            assert theirs[i].is_terminal() == states.terminated[i]
            if counted["plies"] % 7 == i % 7 or theirs[i].is_terminal():
                white, black = open_spiel_sides(theirs[i])
                assert env.to_string(board(states, i)).split(":")[1:3] == [f"W{white}", f"B{black}"]
            if theirs[i].is_terminal():
                assert theirs[i].returns() == states.rewards[i].tolist()
                counted["won" if states.rewards[i].any() else "drawn"] += 1
        live = [i for i in live if not theirs[i].is_terminal()]
    assert not states.truncated.any()
    return counted


def test_open_spiel_agrees_on_whole_games() -> None:
    """Legal plies, the board, the seat to move, the end and its rewards."""
    counted = play_beside_open_spiel(games=200, seed=0)
    assert counted["plies"] > 10_000
    assert min(counted["won"], counted["drawn"]) >= 20


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 11))
def test_open_spiel_agrees_on_ten_thousand_games(seed: int) -> None:
    """1,000 games per seed."""
    counted = play_beside_open_spiel(games=1000, seed=seed)
    assert min(counted["won"], counted["drawn"]) >= 100


# The 40th ply without a capture, 8-3, leaves White's five pieces without a move.
BLOCKED_AT_THE_LIMIT = """
    11-15 23-18 9-14 18x9 5x14 27-23 15-19 24x15 10x19 23x16 12x19 22-17 7-11 17x10 6x15 32-27 11-16 25-22
    16-20 30-25 19-24 28x19 19x10 2-7 22-17 7x14 17x10 1-6 10x1 20-24 27x20 3-7 1-6 7-11 6-9 11-16 20x11
    8x15 9-6 15-19 25-22 19-24 22-17 4-8 17-13 8-12 29-25 24-27 31x24 12-16 26-23 16-20 6-9 20x27 21-17
    27-31 23-18 31-27 18-15 27-32 15-10 32-27 9-5 27-32 10-7 32-28 17-14 28-32 13-9 32-28 25-22 28-24 7-2
    24-27 5-1 27-24 9-6 24-19 22-17 19-16 14-10 16-12 17-13 12-8 1-5 8-12 10-7 12-16 13-9 16-12 5-1 12-8 9-5
    8-3
"""


def test_open_spiel_draws_where_the_last_quiet_ply_would_win() -> None:
    """A game found by search: a draw for OpenSpiel, and won by Black under the federation's rules."""
    theirs = pyspiel.load_game("checkers").new_initial_state()
    states = {draw_rule: start(env) for draw_rule, env in BY_DRAW_RULE.items()}
    for ply in BLOCKED_AT_THE_LIMIT.split():
        assert not theirs.is_terminal()
        assert not any(state.terminated for state in states.values())
        action = WCDF.action_from_string(states["wcdf"], ply)
        states = {
            rule: jax.device_get(compiled(BY_DRAW_RULE[rule]).step(s, np.int32(action))) for rule, s in states.items()
        }
        theirs.apply_action(int(OPEN_SPIEL_ACTION[theirs.current_player(), action, int("x" in ply)]))
    assert theirs.is_terminal()
    assert all(state.terminated for state in states.values())
    assert theirs.returns() == states["openspiel"].rewards.tolist() == [0, 0]
    assert states["wcdf"].rewards.tolist() == [1, -1]


# -- pydraughts -------------------------------------------------------------------------------------------


def squares(action: int, seat: int, *, is_jump: bool) -> tuple[int, int]:
    """The PDN numbers of the squares that a ply goes from and to."""
    index, direction = divmod(action, 4)
    origin = SQUARES[index]  # the mover's frame is numbered as the printed board is
    target = plus(origin, DIRECTIONS[direction], 2 if is_jump else 1)
    return PDN[seen(origin, seat)], PDN[seen(target, seat)]


def whole_moves(env: Env[Any], texts: Sequence[str]) -> list[list[tuple[int, ...]]]:
    """Our whole moves of every position, each as the squares that the piece passes."""
    states = read_all(env, texts)
    ways: list[tuple[int, tuple[int, ...]]] = [(i, ()) for i in range(len(texts))]
    found: list[list[tuple[int, ...]]] = [[] for _ in texts]
    while ways:
        after, parents, actions, _, continues = MOVES.expanded(states)
        before = board(states, parents)
        numbers = [np.bitwise_count(boards.own) + np.bitwise_count(boards.opponents) for boards in (before, after)]
        is_jump = numbers[1] < numbers[0]
        passed: list[tuple[int, tuple[int, ...]]] = []
        for n, (parent, action) in enumerate(zip(parents.tolist(), actions.tolist(), strict=True)):
            i, path = ways[parent]
            leg = squares(action, int(before.current_player[n]), is_jump=bool(is_jump[n]))
            passed.append((i, (*path, leg[1]) if path else leg))
            if not continues[n]:
                found[i].append(passed[-1][1])
        ways = [way for way, more in zip(passed, continues, strict=True) if more]
        states = board(after, continues)
    return found


def draughts_moves(text: str) -> list[tuple[int, ...]]:
    """pydraughts gives a move as its legs."""
    moves, _ = Draughts(variant="american", fen=text).legal_moves()
    return [(legs[0][0], *(to for _, to in legs)) for legs in moves]


def positions_of_random_games(games: int, seed: int, share: float) -> list[str]:
    """A random share of the positions in which a turn begins."""
    rng = np.random.default_rng(seed)
    step, mask, _ = batched(WCDF)
    states = repeated(start(WCDF), games)
    texts: list[str] = []
    while not states.terminated.all():
        chosen = ~states.terminated & (states.jumper == 0) & (rng.random(games) < share)
        texts += [WCDF.to_string(board(states, i)) for i in np.flatnonzero(chosen)]
        states = jax.device_get(step(states, random_actions(rng, np.asarray(mask(states)))))
    return texts


def compare_with_draughts(texts: Sequence[str]) -> Counter[int]:
    """The number of whole moves of each length, after comparing them all."""
    lengths: Counter[int] = Counter()
    for text, moves in zip(texts, whole_moves(WCDF, texts), strict=True):
        assert sorted(moves) == sorted(draughts_moves(text)), text
        lengths += Counter(len(move) - 1 for move in moves)
    return lengths


@pytest.mark.slow
def test_pydraughts_agrees_on_the_moves_of_random_games() -> None:
    texts = positions_of_random_games(games=40, seed=0, share=0.1)
    assert len(texts) > 150
    assert compare_with_draughts(texts)[2] >= 4


def test_pydraughts_agrees_on_the_moves_of_any_placement() -> None:
    rng = np.random.default_rng(0)
    lengths = compare_with_draughts([*crowds(rng, 200), *hunts(rng, 250)])
    assert sum(number for length, number in lengths.items() if length >= 5) >= 30


@pytest.mark.slow
def test_pydraughts_agrees_on_the_moves_of_many_games() -> None:
    assert compare_with_draughts(positions_of_random_games(games=400, seed=1, share=0.3))[2] >= 10
    rng = np.random.default_rng(1)
    compare_with_draughts([*crowds(rng, 2_000), *hunts(rng, 2_000)])
