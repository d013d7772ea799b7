"""The support of the observations."""

import jax
import numpy as np
import pytest

from tests.games.dots_and_boxes.pictures import game
from tests.helpers.positions import compiled


@pytest.mark.parametrize(("rows", "cols"), [(1, 1), (2, 3), (5, 5)])
def test_observation_support_is_the_union_of_full_boards(rows: int, cols: int) -> None:
    env = game(rows, cols)
    full = [env.from_string(f"{'1' * env.num_actions} {owner * rows * cols} 0") for owner in "01"]
    seen = [np.asarray(compiled(env).look(state).mover) for state in jax.device_get(full)]
    np.testing.assert_array_equal(env.observation_support, seen[0] | seen[1])
