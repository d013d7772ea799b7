"""Games played by people: `Session`, a game in progress, and the command `python -m jaxgames.play`."""

from jaxgames.play.session import HUMAN as HUMAN
from jaxgames.play.session import Session as Session
from jaxgames.play.thinking import Thoughts as Thoughts
