"""Whole games beside the slow reference: positions, masks, observations, rewards, ends and texts."""

from collections import Counter

import pytest

import jaxgames
from tests.games.chinese_checkers_diamond.cases import make_reference
from tests.games.chinese_checkers_diamond.whole_games import (
    BOARDS,
    CROWDED,
    MORE_PLAYED,
    PLAYED,
    choose_eagerly,
    crowd,
    slow,
)
from tests.helpers.lockstep import Chooser, Lockstep, at_random

FAST = [slow(PLAYED[0]), PLAYED[1], slow(PLAYED[2]), PLAYED[3]]


def lockstep(env: str, seed: int, choose: Chooser = at_random, illegal: float = 0.002) -> Lockstep:
    """Games of one board are played in the form for GPUs, too."""
    made = jaxgames.make(env)
    forms = ["library"] if env == PLAYED[3] else []
    return Lockstep(made, make_reference(made), seed, choose=choose, illegal=illegal, forms=forms)


def play_crowds(env: str, boards: int, seed: int) -> Counter[str]:
    """Plays six turns on crowded boards that play never reaches; returns how games ended."""
    played = lockstep(env, seed, choose_eagerly, illegal=0.05)
    reference = make_reference(played.env)
    texts = [crowd(played.rng, reference) for _ in range(boards)]
    for begin in range(0, boards, BOARDS):
        played.play(texts[begin : begin + BOARDS], limit=6)
    return played.ends


@pytest.mark.parametrize("env", FAST)
def test_whole_games_follow_the_reference(env: str) -> None:
    """Among eager players, so that games end in wins."""
    assert lockstep(env, 1, choose_eagerly).play(BOARDS).ends["won"] >= 5


@pytest.mark.parametrize("env", [*FAST, *map(slow, CROWDED[:3]), CROWDED[3]])
def test_any_placement_follows_the_reference(env: str) -> None:
    """Crowded boards near the last ply: forbidden moves, passes, long chains."""
    ends = play_crowds(env, boards=2 * BOARDS, seed=2)
    assert ends["won"]
    assert ends["truncated"]


@pytest.mark.slow
@pytest.mark.parametrize("env", [*PLAYED, *MORE_PLAYED])
def test_a_thousand_whole_games_follow_the_reference(env: str) -> None:
    """10,000 games over all boards."""
    assert lockstep(env, 100, choose_eagerly).play(600).ends["won"] >= 100
    ends = lockstep(env, 100).play(800).ends
    assert ends["truncated"] >= 20
    assert ends["illegal"]


@pytest.mark.slow
@pytest.mark.parametrize("env", [*PLAYED, *MORE_PLAYED, *CROWDED])
def test_any_of_a_thousand_placements_follows_the_reference(env: str) -> None:
    ends = play_crowds(env, boards=1000, seed=100)
    assert ends["won"]
    assert ends["truncated"]
