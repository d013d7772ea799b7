"""Agents that come with the package: the agent `baseline`, its files, and a card for each of them.

agent = jaxgames.agents.make("baseline", env)                   # the default board of every game, and some others
print(jaxgames.baselines.card("minichess").win_rates)
"""

from jaxgames.baselines.cards import Card, Command, Rating, WinRate, card, find, list_baselines
from jaxgames.baselines.level_agents import levels, ratings

__all__ = [
    "Card",
    "Command",
    "Rating",
    "WinRate",
    "card",
    "find",
    "levels",
    "list_baselines",
    "ratings",
]
