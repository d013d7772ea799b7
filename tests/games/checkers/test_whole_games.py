"""Whole games beside the slow reference: masks, observations, rewards, ends and texts, for all draw rules."""

from collections.abc import Sequence
from typing import Any

import chex
import jax
import numpy as np
import pytest

import jaxgames
from tests.games.checkers.cases import CASES
from tests.games.checkers.pictures import BY_DRAW_RULE, WCDF
from tests.games.checkers.random_positions import crowds, endgames, hunts
from tests.games.checkers.reference import Move, Position, Reference, other_side
from tests.helpers.lockstep import Chooser, Lockstep, at_random
from tests.helpers.positions import batched, random_actions, read_all


def lockstep(draw_rule: str, seed: int, max_plies: int | None = None, choose: Chooser = at_random) -> Lockstep:
    env = jaxgames.make("checkers", draw_rule=draw_rule, max_plies=max_plies)
    return Lockstep(env, CASES.reference(env), seed, not_in_text=CASES.not_in_text, illegal=0.004, choose=choose)


BOARDS = 40  # in one batch, the same everywhere: each env is compiled for one shape


def play(played: Lockstep, texts: Sequence[str], limit: int | None = None) -> None:
    """Plays a game from each text, BOARDS at a time."""
    for begin in range(0, len(texts), BOARDS):
        played.play(texts[begin : begin + BOARDS], limit)


def carefully(rng: np.random.Generator, position: Position, legal: dict[int, Move]) -> int:
    """An action after which nothing can be captured, if there is one."""
    reference = Reference()

    def is_safe(action: int) -> bool:
        after = reference.step(position, action, legal)
        return all(move.captured is None for move in reference.available(after))

    actions: list[int] = rng.permutation(list(legal)).tolist()
    return next(filter(is_safe, actions), actions[0])


@pytest.mark.parametrize("draw_rule", BY_DRAW_RULE)
def test_whole_games_follow_the_reference(draw_rule: str) -> None:
    """Random kings do not live for the 80 plies that draw by the federation's rule."""
    played = lockstep(draw_rule, seed=1).play(BOARDS)
    assert played.actions > 50 * BOARDS
    assert played.ends["won"] >= BOARDS // 2
    assert played.ends["illegal"] >= 3
    assert (played.ends["drawn"] >= 4) == (draw_rule == "openspiel")


def test_adjudicated_games_follow_the_reference() -> None:
    played = lockstep("adjudicated", seed=1).play(BOARDS)
    assert played.ends["won"] >= BOARDS // 2
    assert played.ends["drawn"] >= 2


@pytest.mark.slow  # two envs more to compile for
@pytest.mark.parametrize("draw_rule", ["wcdf", "openspiel"])
def test_truncated_games_follow_the_reference(draw_rule: str) -> None:
    """Random games end after about 60 plies."""
    played = lockstep(draw_rule, seed=2, max_plies=60).play(BOARDS)
    assert played.ends["truncated"] >= 10
    assert played.ends["won"] >= 3


@pytest.mark.parametrize("draw_rule", ["wcdf", pytest.param("openspiel", marks=pytest.mark.slow)])
def test_drawn_endgames_of_kings_follow_the_reference(draw_rule: str) -> None:
    played = lockstep(draw_rule, seed=3, choose=carefully)
    play(played, endgames(played.rng, 40))
    assert played.ends["drawn"] >= 15


def test_won_endgames_of_kings_follow_the_reference() -> None:
    played = lockstep("wcdf", seed=3)
    play(played, endgames(played.rng, 40))
    assert played.ends["won"] >= 15


def test_any_placement_follows_the_reference() -> None:
    played = lockstep("wcdf", seed=4)
    play(played, [*crowds(played.rng, 200), *hunts(played.rng, 80)], limit=12)
    assert played.ends["won"] >= 60


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("draw_rule", [*BY_DRAW_RULE, "adjudicated"])
def test_ten_thousand_games_follow_the_reference(draw_rule: str, seed: int) -> None:
    """1,000 games for each draw rule and seed, a tenth of them endgames of careful players."""
    played = lockstep(draw_rule, seed=10 + seed)
    played.play(900)
    played.play([*crowds(played.rng, 500), *hunts(played.rng, 500)], limit=20)
    played.choose = carefully
    played.play(endgames(played.rng, 100))
    assert played.ends["won"] >= 450


def test_both_seats_are_alike() -> None:
    """Rotating the board and swapping the colours changes nothing for the mover.

    The board has no other symmetry: a mirror would send dark squares to light ones.
    """
    rng = np.random.default_rng(0)
    texts = [*crowds(rng, 150), *endgames(rng, 50)]
    for begin in range(0, len(texts), BOARDS):
        of_batch = texts[begin : begin + BOARDS]
        states, others = read_all(WCDF, of_batch), read_all(WCDF, [other_side(text) for text in of_batch])
        play_alike(rng, states, others)


def play_alike(rng: np.random.Generator, states: Any, others: Any) -> None:
    """Plays the same six random actions on boards and on the rotated boards with swapped colours."""
    _, _, look = batched(WCDF)
    for _ in range(6):
        seen, other = jax.device_get((look(states), look(others)))
        np.testing.assert_array_equal(seen.mask, other.mask)
        np.testing.assert_array_equal(seen.mover, other.mover)
        np.testing.assert_array_equal(seen.seats, other.seats[:, ::-1])
        actions = random_actions(rng, seen.mask)
        states, others = stepped(states, actions), stepped(others, actions)
        np.testing.assert_array_equal(states.current_player, 1 - others.current_player)
        np.testing.assert_array_equal(states.rewards, others.rewards[:, ::-1])
        chex.assert_trees_all_equal((states.terminated, states.truncated), (others.terminated, others.truncated))


def stepped(states: Any, actions: np.ndarray) -> Any:
    return jax.device_get(batched(WCDF).step(states, actions))
