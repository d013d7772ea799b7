"""Agents that come with the package: the agent `baseline`, its files, and a card for each of them.

agent = jaxgames.agents.make("baseline", env)                   # the default board of every game, and some others
print(jaxgames.baselines.card("minichess").win_rates)
"""

from jaxgames.baselines.cards import Card as Card
from jaxgames.baselines.cards import Command as Command
from jaxgames.baselines.cards import Rating as Rating
from jaxgames.baselines.cards import WinRate as WinRate
from jaxgames.baselines.cards import card as card
from jaxgames.baselines.cards import find as find
from jaxgames.baselines.cards import list_baselines as list_baselines
