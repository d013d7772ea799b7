"""Games played by people: `Session`, a game in progress, and the command `python -m jaxgames.play`."""

from jaxgames.play.agent_calls import Thoughts as Thoughts
from jaxgames.play.session import HUMAN as HUMAN
from jaxgames.play.session import Session as Session
