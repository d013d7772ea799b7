"""A conformance check for games: it tests whether an env keeps the contract of `jaxgames.env`.

    from jaxgames.testing import check_env

    check_env(MyGame(size=3))

It first reads the attributes and traces the methods (`static`), then plays random games, in a batch, and checks every
board (`check`). It cannot check the rules of the game: compare those with another engine.
"""

from jaxgames.testing.check import check_env

__all__ = ["check_env"]
