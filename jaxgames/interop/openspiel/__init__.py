"""The games in OpenSpiel; see `jaxgames.interop.openspiel.game`."""

from jaxgames.interop.openspiel.game import OpenSpielGame, RegisteredGame, register, registered_game

__all__ = [
    "OpenSpielGame",
    "RegisteredGame",
    "register",
    "registered_game",
]
