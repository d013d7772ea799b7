"""Whole games beside the slow reference: positions, masks, observations, rewards, ends and texts."""

import functools
import itertools
from collections import Counter
from typing import Any

import pytest

import jaxgames
from tests.games.chinese_checkers.cases import make_reference
from tests.games.chinese_checkers.pictures import PLAYERS, REWARDS
from tests.games.chinese_checkers.whole_games import BOARDS, MAX_ROUNDS, choose_eagerly, crowd, named
from tests.helpers.lockstep import Lockstep, at_random


def lockstep(env: str, seed: int, *, eager: bool = False, illegal: float = 0.0005) -> Lockstep:
    """Games of six seats on the second board are played in the forms for GPUs and TPUs, too."""
    made: Any = jaxgames.make(env)
    reference = make_reference(made)
    choose = functools.partial(choose_eagerly, reference) if eager else at_random
    forms = ("library", "tpu") if (made.size, made.num_players) == (2, 6) else ()
    return Lockstep(made, reference, seed, illegal=illegal, choose=choose, forms=forms)


def play_crowds(env: str, boards: int, seed: int) -> Counter[str]:
    """Plays twelve submoves on crowded boards that play never reaches; returns how games ended."""
    played = lockstep(env, seed, illegal=0.05)
    reference = make_reference(played.env)
    texts = [reference.to_string(crowd(played.rng, reference)) for _ in range(boards)]
    for begin in range(0, boards, BOARDS):
        played.play(texts[begin : begin + BOARDS], limit=12)
    return played.ends


SLOWER = [(1, 3), (1, 4), (1, 6), (2, 3), (2, 4)]
SMALL = [(1, 2), (2, 2), (2, 6), *(pytest.param(*board, marks=pytest.mark.slow) for board in SLOWER)]


@pytest.mark.parametrize(("size", "num_players"), SMALL)
def test_whole_games_follow_the_reference(size: int, num_players: int) -> None:
    """Eager players win, random ones come to the limit of rounds, if that is near."""
    env = named(size, num_players)
    assert lockstep(env, seed=6, eager=True).play(BOARDS).ends["won"]
    played = lockstep(env, seed=6).play(BOARDS, limit=40)
    assert played.ends["truncated"] if size == 1 else played.actions > 30 * BOARDS


@pytest.mark.slow  # whole games in slow Python; large boards are covered by placements below
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(("size", "num_players"), list(itertools.product([1, 2, 3, 4], PLAYERS)))
@pytest.mark.parametrize("reward", REWARDS)
def test_many_whole_games_follow_the_reference(size: int, num_players: int, reward: str, seed: int) -> None:
    """The same at length, with every number of seats on every size in every scheme."""
    env = f"chinese_checkers({size=}, {num_players=}, {reward=}, max_rounds={MAX_ROUNDS[size]})"
    assert lockstep(env, seed, eager=True).play(12).ends["won"]
    assert lockstep(env, seed).play(12).ends["truncated"]


@pytest.mark.parametrize("num_players", PLAYERS)
def test_any_placement_follows_the_reference(num_players: int) -> None:
    ends = play_crowds(named(2, num_players), boards=48, seed=0)
    assert ends["won"]
    assert ends["truncated"]
    assert ends["illegal"]


@pytest.mark.parametrize(
    ("size", "num_players"),
    [(8, 6), *(pytest.param(*each, marks=pytest.mark.slow) for each in [(3, 3), (4, 4), (5, 6), (6, 3), (7, 2)])],
)
def test_any_placement_on_a_larger_board_follows_the_reference(size: int, num_players: int) -> None:
    """Every rotation of the board, on every size."""
    assert play_crowds(named(size, num_players, max_rounds=38), boards=24, seed=size)["illegal"]


@pytest.mark.slow  # 32 boards to compile for
@pytest.mark.parametrize(("size", "num_players"), list(itertools.product(range(1, 9), PLAYERS)))
def test_any_placement_on_any_board_follows_the_reference(size: int, num_players: int) -> None:
    assert play_crowds(named(size, num_players, max_rounds=3), boards=96, seed=size)["illegal"] >= 5


@pytest.mark.slow  # 16 boards to compile for, the slowest ones
@pytest.mark.parametrize(("size", "num_players"), list(itertools.product([5, 6, 7, 8], PLAYERS)))
def test_large_boards_follow_the_reference_for_fifty_submoves(size: int, num_players: int) -> None:
    assert lockstep(named(size, num_players, max_rounds=1000), seed=size, eager=True).play(2, limit=50).actions >= 50
