"""`hash_agent` with a name for commands, which the row of docs/strength.md needs. Tests do not import this module.

python -m train.strength tests.helpers.hash_player:hash --env "chinese_checkers_diamond(size=4, pieces=3)"
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import jax

from jaxgames import agents
from tests.helpers.hash_agent import hash_agent


@agents.pytree
@dataclass(frozen=True)
class HashPlayer:
    """Plays the legal action with the smallest hash of the board, the seed and the action; for up to 16 cells."""

    on_device: ClassVar[bool] = True
    env: Any = field(metadata={"static": True})
    seed: int = field(default=0, metadata={"static": True})

    def act(self, key: jax.Array, states: Any) -> jax.Array:
        return hash_agent(self.env, self.seed)(states)


agents.register("hash", HashPlayer)
