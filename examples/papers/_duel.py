"""Games of two agents that swap seats, as several experiments play them."""

from typing import Any

import jax

from jaxgames import Env, arena
from jaxgames._progress import Progress
from jaxgames.agents import Agent
from train.driver.commands import GameArguments


def duel(
    env: Env[Any],
    agents: tuple[Agent, Agent],
    settings: GameArguments,
    title: str = "",
    records: list[arena.GameRecord] | None = None,
) -> arena.Results:
    """Returns the results of the first agent in games of two seats, which the agents swap after every game.

    Args:
      settings: games, openings and seed; every opening is played twice, once from either side.
      title: of the progress.
      records: is extended by the records of the games, in which the agents are "agent" and "opponent".

    Raises ValueError for a setting that the commands refuse.
    """
    settings.check()
    seats = arena.seating((1, 1), "alternating", settings.games)
    openings = settings.openings_for(env, "alternating")

    def keep(recorded: arena.Recorded) -> None:
        if records is not None:
            records.extend(arena.game_records(env, recorded, ("agent", "opponent"), seats, openings))

    key, on_recorded = jax.random.key(settings.seed), None if records is None else keep
    with Progress(settings.games, "games", title) as bar:
        games = arena.play(env, agents, seats, key, openings=openings, on_finished=bar.update, on_recorded=on_recorded)
    return arena.results(env, games, seats)
