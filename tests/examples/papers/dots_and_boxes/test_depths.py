"""Hand-outs of Dots and Boxes."""

import random

import jax
import numpy as np

from examples.papers.dots_and_boxes import depths
from examples.papers.dots_and_boxes.depths import handouts_of_a_game
from jaxgames.games.dots_and_boxes import DotsAndBoxes
from jaxgames.games.dots_and_boxes.search import ExactSearch
from tests.helpers.solved import solved_boxes


def test_best_move_of_a_handout_is_that_of_the_solved_game() -> None:
    """And the other one of taking and leaving is not."""
    env, solution, generator = DotsAndBoxes(2, 3), solved_boxes(2, 3), random.Random(0)
    search, start, kinds = ExactSearch(env, compiled=False), jax.device_get(env.init()), set[str]()
    for _ in range(40):
        for kind, state, best in handouts_of_a_game(env, search, start, generator):
            worth = solution.worth(solution.index(jax.tree.map(lambda leaf: np.asarray(leaf)[None], state)))[0]
            assert worth[best] == worth[~state.edges].max()
            kinds.add(kind)
    assert kinds <= {*depths.KINDS}
    assert {"2 boxes, leave", "2 boxes, take"} <= kinds
