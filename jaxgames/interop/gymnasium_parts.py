"""What one board and a batch of boards have in common as environments of Gymnasium: spaces, seeds, actions."""

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from jaxgames.env import Env
from jaxgames.registry import as_env, make

try:
    import gymnasium as gym
except ImportError as error:
    raise ImportError('Gymnasium is missing; install it with: pip install "jaxgames[gymnasium]"') from error

WORDS_PER_SEED = 2  # uint32 numbers that make one PRNG key


def game_of(env_or_id: Env[Any] | str, parameters: Mapping[str, Any]) -> Env[Any]:
    """Returns the env, or the one of a text with further parameters, as `gym.make` gives them by keyword.

    Raises TypeError for an env with parameters, and what `as_env` and `make` raise.
    """
    if not parameters:
        return as_env(env_or_id)
    if isinstance(env_or_id, str):
        return make(env_or_id, **parameters)
    raise TypeError(f"{', '.join(parameters)}: parameters go with a text such as 'dots_and_boxes', not with an env")


def spaces_of(env: Env[Any]) -> tuple[gym.Space[Any], gym.Space[Any]]:
    """Returns the observation space, int8 zeros and ones, and the action space."""
    return gym.spaces.Box(0, 1, env.observation_shape, np.int8), gym.spaces.Discrete(env.num_actions)


def draw_words(generator: np.random.Generator, *shape: int) -> np.ndarray:
    """Returns uint32[*shape, WORDS_PER_SEED], drawn; `key_of` makes a PRNG key of the last axis."""
    return generator.integers(2**32, size=(*shape, WORDS_PER_SEED), dtype=np.uint32)


def key_of(words: jax.Array) -> jax.Array:
    """Returns the PRNG key of uint32[WORDS_PER_SEED]; traced."""
    return jax.random.fold_in(jax.random.key(words[0]), words[1])
