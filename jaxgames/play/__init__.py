"""Games played by people: `Session`, a game in progress, and the command `python -m jaxgames.play`."""

from jaxgames.play.agent_calls import Thoughts
from jaxgames.play.session import HUMAN, Session

__all__ = [
    "HUMAN",
    "Session",
    "Thoughts",
]
