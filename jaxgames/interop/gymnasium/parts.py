"""Spaces, seeds and actions, shared by the Gymnasium environments of one board and of many."""

from typing import Any

import jax
import numpy as np

from jaxgames.env import Env

try:
    import gymnasium as gym
    from gymnasium.utils import seeding as seeding
except ImportError as error:
    raise ImportError('Gymnasium is missing; install it with: pip install "jaxgames[gymnasium]"') from error

WORDS_PER_SEED = 2  # uint32 numbers that make one PRNG key


def spaces_of(env: Env[Any]) -> tuple[gym.Space[Any], gym.Space[Any]]:
    """Returns the observation space and the action space of a game."""
    return gym.spaces.Box(0, 1, env.observation_shape, np.int8), gym.spaces.Discrete(env.num_actions)


def draw_words(generator: np.random.Generator, *shape: int) -> np.ndarray:
    """Returns uint32[*shape, WORDS_PER_SEED], drawn; `key_of` makes a PRNG key of the last axis."""
    return generator.integers(2**32, size=(*shape, WORDS_PER_SEED), dtype=np.uint32)


def key_of(words: jax.Array) -> jax.Array:
    """Returns the PRNG key of uint32[WORDS_PER_SEED]; traced."""
    return jax.random.fold_in(jax.random.key(words[0]), words[1])
