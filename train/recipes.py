"""What `train.ppo` does with a game when nothing else is asked for: one table, a line a game.

The network belongs to the game: `channels` where the board is a grid (3 x 3 convolutions before the dense layers),
only dense layers where it is not. A game that is not in the table trains with the defaults of `train.ppo.Config`.
What each line reaches in how long: docs/training.md.
"""

from typing import Any

import jaxgames
from train.ppo import Config

GRID: dict[str, Any] = {  # what the boards that are grids have in common
    "channels": (16, 16),
    "hidden": (128,),
    "num_boards": 256,
    "rollout_length": 64,
    "epochs": 3,
    "learning_rate": 5e-4,
    "trace_decay": 0.9,
    "entropy_weight": 0.02,
    "temperature": 0.0,
}
RECIPES: dict[str, dict[str, Any]] = {
    "checkers": GRID | {"total_steps": 2_000_000},
    "chinese_checkers": {},
    "chinese_checkers_diamond": GRID | {"total_steps": 500_000},
    "dots_and_boxes": GRID | {"total_steps": 1_500_000},
    "minichess": GRID | {"total_steps": 2_500_000, "learning_rate": 1e-3, "trace_decay": 0.95, "discount": 0.995},
}

DEMO: dict[str, Any] = {  # what examples/demo.py trains: longer and wider than the game's line, for a player that wins
    "env": "chinese_checkers(size=2, num_players=6)",
    "total_steps": 1_500_000,
    "num_boards": 128,
    "rollout_length": 64,
    "epochs": 3,
    "minibatches": 16,
    "learning_rate": 5e-4,
    "trace_decay": 0.8,
    "clip": 0.3,
    "entropy_weight": 0.2,
    "hidden": (128, 128),
    "temperature": 0.0,  # the likeliest move in play: the policy itself goes on exploring
}


def recipe(env: str, **changes: Any) -> Config:
    """The settings for a game: those of its line in the table, with `changes`.

    Args:
      env: a game as `jaxgames.make` takes it, such as "minichess(rules=king_capture)".
      **changes: fields of `Config`.

    Raises:
      ValueError: an unknown game or parameter, or a setting that is not allowed.
    """
    settings = RECIPES.get(jaxgames.make(env).id, {}) | changes
    return Config(env=env, **settings)
