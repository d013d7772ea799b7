"""A review of a game: the moves that lost most of the chance to win, by an agent that values positions."""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxgames import agents
from jaxgames._checks import ParameterError
from jaxgames.agents import Agent
from jaxgames.env import Env
from jaxgames.host import host
from jaxgames.play.agent_calls import Make
from jaxgames.play.opponents import win_chance
from jaxgames.play.session import Session
from jaxgames.play.words import people_of

TOP = 5  # moves of a review
MIN_LOSS = 0.02  # of the chance to win; less is not a mistake


class Mistake(NamedTuple):
    """A move that lost a part of the chance to win."""

    ply: int  # the plies before the move
    seat: int
    move: str
    best: str  # the move that the agent would play
    loss: float  # of the chance to win, from 0 to 1


def review(session: Session, agent: str, make: Make = agents.make) -> list[Mistake]:
    """Returns the `TOP` moves of the people that lost most, of all seats if there are no people; the worst first.

    A move loses the chance to win after the agent's own move minus the chance after it, both for the seat that moved. A
    finished game has the chances of its result, a draw the same for all seats.

    Args:
      session: the game; all its plies count, also those behind the position that is shown.
      agent: the text of an agent with values, such as `jaxgames.play.opponents.reviewer` returns it.
      make: makes the agent, for the game.

    Raises ValueError for an agent without values, and for a game whose returns do not tell who wins.
    """
    env, movers = session.env, session.movers()
    counted = people_of(session.seats) or range(env.num_players)
    if session.plies == 0:
        return []
    made = make(agent, env)
    probabilities, chances = _chances(env, session.states, made, agent)
    suspects = [
        (ply, movers[ply], int(probabilities[ply].argmax()))
        for ply, action in enumerate(session.actions)
        if movers[ply] in counted
        and probabilities[ply][action] < probabilities[ply].max()
        and chances[ply][movers[ply]] - chances[ply + 1][movers[ply]] >= MIN_LOSS
    ]
    if not suspects:
        return []
    # The value of a position can change when it is seen from a ply closer, so the agent's move is valued there, too.
    after_best = [host(env).step(session.states[ply], best, session.key(ply + 1))[0] for ply, _, best in suspects]
    chances_of_best = _chances(env, after_best, made, agent)[1]
    mistakes = [
        Mistake(ply, seat, session.moves()[ply], env.action_to_string(session.states[ply], best), loss)
        for (ply, seat, best), of_best in zip(suspects, chances_of_best, strict=True)
        if (loss := of_best[seat] - chances[ply + 1][seat]) >= MIN_LOSS
    ]
    return sorted(mistakes, key=lambda mistake: -mistake.loss)[:TOP]


def _chances(env: Env[Any], states: Sequence[Any], agent: Agent, text: str) -> tuple[np.ndarray, list[list[float]]]:
    """Returns float32[positions, num_actions], and the chance to win of each seat in every position."""
    analysis = agents.analyse_in_chunks(agent, jax.tree.map(lambda *leaves: np.stack(leaves), *states))
    if analysis.values is None or np.isnan(analysis.values).any():
        raise ParameterError(f"{text} does not value every seat: choose one that does, such as mcts(simulations=200)")
    chance = functools.partial(win_chance, env)
    chances = [[chance(value) for value in row] for row in np.asarray(analysis.values).tolist()]
    if any(each is None for each in chances[0]):
        raise ParameterError(f"the returns of {env} do not tell who wins, so moves have no chance to win")
    found = [_of_result(env, state) or row for state, row in zip(states, chances, strict=True)]
    return np.asarray(analysis.probabilities), found  # pyright: ignore[reportReturnType]  # none of them is None


def _of_result(env: Env[Any], state: Any) -> list[float]:
    """Returns what each seat got of a win, 1 in all; empty if the position is not the end."""
    outcome = env.outcome(state)
    if outcome.kind == "live":
        return []
    winners = outcome.winners or range(env.num_players)
    return [1 / len(winners) if seat in winners else 0.0 for seat in range(env.num_players)]
