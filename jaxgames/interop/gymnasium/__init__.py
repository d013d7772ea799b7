"""One seat of a game as an environment of Gymnasium; see `jaxgames.interop.gymnasium.env`."""

from jaxgames.interop.gymnasium.env import SeatEnv, register_envs
from jaxgames.interop.gymnasium.vector_env import SeatVectorEnv

__all__ = [
    "SeatEnv",
    "SeatVectorEnv",
    "register_envs",
]
