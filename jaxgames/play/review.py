"""A review of a game: the moves that lost most of the chance to win, by an agent that values positions.

for mistake in review(session, adviser(session.env)):
    print(mistake.move, "lost", mistake.loss, "of the chance to win; better was", mistake.best)
"""

import functools
from collections.abc import Collection
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxgames import agents
from jaxgames.agents import Agent
from jaxgames.env import Env
from jaxgames.play.agent_calls import Make
from jaxgames.play.names import people_of
from jaxgames.play.opponents import win_chance
from jaxgames.play.session import Session

MIN_LOSS = 0.02  # of the chance to win; less is not a mistake


class Mistake(NamedTuple):
    """A move that lost a part of the chance to win."""

    ply: int  # the plies before the move
    seat: int
    move: str
    best: str  # the move that the agent would play
    loss: float  # of the chance to win, from 0 to 1


def review(
    session: Session,
    agent: str,
    top: int = 5,
    *,
    seats: Collection[int] | None = None,
    make: Make = agents.make,
) -> list[Mistake]:
    """Returns the moves of a game that lost most, the worst first.

    A move loses the chance to win before it minus the chance after it, both for the seat that moved. The agent values
    all positions at once. A finished game has the chances of its result, a draw the same for all seats.

    Args:
      session: the game; all its plies count, also those behind the position that is shown.
      agent: the text of an agent with values, such as `jaxgames.play.opponents.adviser` returns it.
      top: the largest number of moves.
      seats: whose moves count. None: those of the people, or of all seats if there are none.
      make: makes the agent, for the game.

    Raises ValueError for an agent without values, and for a game whose returns do not tell who wins.
    """
    env, movers = session.env, session.movers()
    people = people_of(session.seats)
    counted = (people or range(env.num_players)) if seats is None else seats
    if session.plies == 0:
        return []
    probabilities, chances = _analysed(session, make(agent, env), agent)
    mistakes: list[Mistake] = []
    for ply, action in enumerate(session.actions):
        seat, own = movers[ply], probabilities[ply]
        loss = float(chances[ply][seat] - chances[ply + 1][seat])
        if seat in counted and loss >= MIN_LOSS and own[action] < own.max():
            best = env.action_to_string(session.states[ply], int(own.argmax()))
            mistakes.append(Mistake(ply, seat, session.moves()[ply], best, loss))
    return sorted(mistakes, key=lambda mistake: -mistake.loss)[:top]


def _analysed(session: Session, agent: Agent, text: str) -> tuple[np.ndarray, list[list[float]]]:
    """Returns float32[plies + 1, num_actions], and the chance to win of each seat in every position."""
    env, states = session.env, session.states
    analysis = agents.analyse_in_chunks(agent, jax.tree.map(lambda *leaves: np.stack(leaves), *states))
    if analysis.values is None:
        raise ValueError(f"{text} has no values: choose an agent that has them, such as mcts(simulations=200)")
    chance = functools.partial(win_chance, env)
    chances = [[chance(value) for value in row] for row in np.asarray(analysis.values).tolist()]
    if any(each is None for each in chances[0]):
        raise ValueError(f"the returns of {env} do not tell who wins, so moves have no chance to win")
    if result := _chances_of_result(session):
        chances[-1] = list(result)
    return np.asarray(analysis.probabilities), chances  # pyright: ignore[reportReturnType]  # none of them is None


def _chances_of_result(session: Session) -> list[float]:
    """Returns what each seat got of a win, 1 in all; empty if the last position is not the end."""
    env: Env[Any] = session.env
    outcome = env.outcome(session.states[-1])
    if outcome.kind == "live":
        return []
    winners = outcome.winners or range(env.num_players)
    return [1 / len(winners) if seat in winners else 0.0 for seat in range(env.num_players)]
