"""Games between two agents of Dots and Boxes, as the experiments on board sizes and on lost boxes play them."""

import re
from typing import Any, NamedTuple

import jax
import numpy as np

import jaxgames
from jaxgames import Env, arena
from jaxgames._progress import Progress
from jaxgames.agents import Agent
from train import agents
from train.driver.commands import GameArguments

OPENING_PLIES = 2


class Match(NamedTuple):
    """The games of two agents."""

    games: arena.Games
    seats: jax.Array  # int32[games, 2], 0 for the first agent
    openings: arena.Openings  # of every game

    def num_openings(self) -> int:
        """Returns the number of different openings: on small boards random ones repeat, and with them some games."""
        return len(np.unique(np.sort(self.openings.actions, axis=1), axis=0))


def play(
    env: Env[Any], pair: tuple[Agent, Agent], num_games: int, seed: int, bar: Progress, on_recorded: Any = None
) -> Match:
    """Returns games in which the agents alternate between the seats, and every two begin with the same random edges.

    `bar` counts the finished games. `on_recorded` is as for `arena.play`.
    """
    seats = arena.seating((1, 1), "alternating", num_games)
    settings = GameArguments(games=num_games, openings=-(-num_games // 2), opening_plies=OPENING_PLIES, seed=seed)
    settings.check()
    openings = settings.openings_for(env, "alternating")
    assert openings is not None
    key = jax.random.key(seed)
    games = arena.play(env, pair, seats, key, openings=openings, on_finished=bar.update, on_recorded=on_recorded)
    return Match(games, seats, openings)


def board_of(text: str) -> Env[Any]:
    """Returns the game on a board such as "5x5". Raises ValueError for another text."""
    match = re.fullmatch(r"(\d+)x(\d+)", text)
    if match is None:
        raise ValueError(f"a board must be rows and columns of boxes, such as 5x5, not {text!r}")
    return jaxgames.make("dots_and_boxes", rows=int(match[1]), cols=int(match[2]), reward="boxes")


def deterministic(text: str) -> str:
    """Returns the text of an agent; of a run that names no temperature, with temperature 0 and its iteration."""
    return agents.name_of(agents.with_temperature(text, 0))
