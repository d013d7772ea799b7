"""The games as environments of PettingZoo; see `jaxgames.interop.pettingzoo.env`."""

from jaxgames.interop.pettingzoo.env import BoardGameEnv, aec_env, checked_env, raw_env

__all__ = [
    "BoardGameEnv",
    "aec_env",
    "checked_env",
    "raw_env",
]
