"""Games played by people: `Session`, a game in progress, and the command `python -m jaxgames.play`."""

from jaxgames.play.agent_calls import Thoughts, agent_action, analyse
from jaxgames.play.game_file import from_json, to_json
from jaxgames.play.opponents import default_agent, default_seats, win_chance
from jaxgames.play.session import HUMAN, Session
from jaxgames.play.static_page import to_html

__all__ = [
    "HUMAN",
    "Session",
    "Thoughts",
    "agent_action",
    "analyse",
    "default_agent",
    "default_seats",
    "from_json",
    "to_html",
    "to_json",
    "win_chance",
]
