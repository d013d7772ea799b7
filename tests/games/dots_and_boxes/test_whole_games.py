"""Whole games beside the slow reference: positions, masks, observations, rewards, ends and texts."""

from typing import Any

import pytest

import jaxgames
from tests.games.dots_and_boxes.cases import CASES
from tests.games.dots_and_boxes.pictures import REWARDS
from tests.games.dots_and_boxes.whole_games import GAMES
from tests.helpers.cases import combinations
from tests.helpers.lockstep import Lockstep


@pytest.mark.parametrize("env", CASES.referenced)
def test_whole_games_follow_the_reference(env: str) -> None:
    """With about one illegal action in each game, so that games end in every way. One board in all forms."""
    made: Any = jaxgames.make(env)
    forms = ["library", "tpu"] if made.rows == made.cols == 3 else []
    played = Lockstep(made, CASES.reference(made), seed=1, illegal=1 / made.num_actions, forms=forms).play(GAMES)
    assert played.ends["illegal"]
    assert played.ends["won"] + played.ends["drawn"]


@pytest.mark.slow  # more than fifty boards and schemes to compile for
@pytest.mark.parametrize(
    "env",
    [
        *combinations("dots_and_boxes", rows=[1, 2, 3], cols=[1, 2, 3], reward=REWARDS),
        *combinations("dots_and_boxes", rows=[5], cols=[5, 4], reward=REWARDS),
        *combinations("dots_and_boxes", rows=[2, 4], cols=[2, 4, 5], reward=["win_loss"]),
        "dots_and_boxes(rows=4, cols=2, reward='boxes')",
        *combinations("dots_and_boxes", rows=[1, 16], cols=[16], reward=["margin"]),
        *combinations("dots_and_boxes", rows=[16, 7], cols=[1, 11], reward=["boxes"]),
    ],
)
def test_many_whole_games_follow_the_reference(env: str) -> None:
    """The same at length, on the largest board too."""
    made = jaxgames.make(env)
    games = 200 if made.num_actions < 100 else GAMES
    played = Lockstep(made, CASES.reference(made), seed=100, illegal=0.01 if games > GAMES else 0.0002).play(games)
    assert played.ends["won"]
    if games > GAMES:
        assert played.ends["illegal"]
        assert bool(played.ends["drawn"]) == (made.observation_support[..., 1].sum() % 2 == 0)
