"""The games as environments of PettingZoo; see `jaxgames.interop.pettingzoo.env`."""

from jaxgames.interop.pettingzoo.env import SPACES, BoardGameEnv, aec_env, raw_env

__all__ = [
    "SPACES",
    "BoardGameEnv",
    "aec_env",
    "raw_env",
]
