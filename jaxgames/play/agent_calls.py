"""Calls of agents in a game in progress: the action of the agent to move, and what an agent thinks of a position."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxgames import agents
from jaxgames._checks import ParameterError
from jaxgames.agents import Agent, Analysis, EpsilonAgent, act_on_one_board
from jaxgames.env import Env
from jaxgames.host_agent import HostPlayerAgent
from jaxgames.play.opponents import adviser, win_chance
from jaxgames.play.session import HUMAN, Session
from jaxgames.render import Move

Make = Callable[[str, Env[Any]], Agent]
OF_PACKAGE = ("random", "first", "greedy", "mcts", "alphabeta", "baseline")
_compiled: set[tuple[str, Env[Any]]] = set()  # agents that have moved in this process


class Thoughts(NamedTuple):
    """The probabilities and values of an agent in one position."""

    agent: str
    moves: tuple[tuple[Move, float], ...]  # all legal moves with the probability of each, the most probable first
    values: tuple[float, ...] | None  # the expected return of each seat; None: the agent has none


def agent_action(session: Session, make: Make = agents.make, on_compile: Callable[[str], object] | None = None) -> int:
    """Returns the action of the agent to move; it is not played yet.

    It depends on the seed, the position and the number of plies before it only.

    Args:
      session: the game.
      make: makes the agent of a text, for a game; give a function that keeps its agents where that takes long.
      on_compile: called with the agent's text before its first move in this process, unless the agent is a
        `HostPlayerAgent`, which is ready when it is made.

    Raises ValueError if a person is to move, if the game is over, and for an agent that chooses no legal action.
    """
    env, state, text = session.env, session.state, session.seats[session.mover]
    if session.over or text == HUMAN:
        what = "the game is over" if session.over else f"a person plays seat {session.mover}"
        raise ValueError(f"no agent is to move: {what}")
    agent = make(text, env)
    player = agent.agent if isinstance(agent, EpsilonAgent) else agent
    if on_compile is not None and not isinstance(player, HostPlayerAgent) and (text, env) not in _compiled:
        on_compile(text)  # other agents on the host can have parts that are compiled
    (action,) = act_on_one_board(agent, jax.random.fold_in(session.key(session.ply), 1), _batch_of_one(state)).tolist()
    _compiled.add((text, env))
    if not session.is_legal(action):
        raise ValueError(f"{text} chose action {action}, which is illegal in {env.to_string(state)!r}")
    return action


def analyse(session: Session, agent: str | None = None, make: Make = agents.make) -> Thoughts:
    """Returns the probabilities and values of an agent in the position that is shown.

    Args:
      session: the game. It and `make` are those of `agent_action`.
      agent: its text. None: an agent of another origin that plays a seat, such as a run, else `opponents.adviser`.

    Raises ValueError if the game is over, and if no agent is left that thinks or the agent fails.
    """
    if session.over:
        raise ValueError("the game is over: there is no move to think about")
    if agent is None:
        seats = [session.seats[session.mover], *session.seats]
        guests = (seat for seat in seats if seat != HUMAN and re.split(r"\W", seat, maxsplit=1)[0] not in OF_PACKAGE)
        agent = next(guests, adviser(session.env))
        if agent is None:
            raise ParameterError("no agent of the package thinks about this game: name one, such as random")
    analysis = _analysis(session, agent, make)
    if analysis is None:
        raise ParameterError(f"{agent} has no probabilities: choose an agent that has them, such as random or greedy")
    probabilities = np.asarray(analysis.probabilities)[0]
    ranked = sorted(session.legal(), key=lambda move: -probabilities[move.action])
    values = None if analysis.values is None else tuple(np.asarray(analysis.values)[0].tolist())
    return Thoughts(agent, tuple((move, float(probabilities[move.action])) for move in ranked), values)


def refuses_draw(session: Session, make: Make = agents.make) -> int | None:
    """Returns the first seat whose agent refuses a draw in the position that is shown; None if all accept.

    An agent accepts if, by its own value, it has no better chance to win than a draw counts: one divided by the number
    of seats. An agent without values refuses, and so do all where the returns do not tell who wins, and before every
    seat has moved, unless the game began with a position that was set up.
    """
    moved = set(session.movers()[: session.ply])
    is_too_early = session.start is None and len(moved) < session.env.num_players
    for seat, text in enumerate(session.seats):
        if text == HUMAN:
            continue
        analysis = None if is_too_early else _analysis(session, text, make)
        if analysis is None or analysis.values is None:
            return seat
        chance = win_chance(session.env, float(np.asarray(analysis.values)[0, seat]))
        if chance is None or chance > 1 / session.env.num_players:
            return seat
    return None


def _analysis(session: Session, text: str, make: Make) -> Analysis | None:
    """Returns the analysis of the position that is shown; None if the agent has no probabilities."""
    try:
        return agents.analyse_compiled(make(text, session.env), _batch_of_one(session.state))
    except (ValueError, ImportError):
        raise
    except Exception as error:  # an agent may fail in any way
        raise ValueError(f"{text} failed with {type(error).__name__}: {error}") from error


def _batch_of_one(state: Any) -> Any:
    """Returns one board with a leading axis of 1, on the host: agents may compute on another device than the rules."""
    return jax.tree.map(lambda leaf: leaf[None], state)
