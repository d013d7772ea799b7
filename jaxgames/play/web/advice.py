"""Hints for a position and the review of a whole game, by agents."""

from typing import Any

from jaxgames._checks import ParameterError
from jaxgames.play import opponents
from jaxgames.play.agent_calls import analyse
from jaxgames.play.review import Mistake, review
from jaxgames.play.session import HUMAN, Session
from jaxgames.play.web.allowed import check_agent
from jaxgames.play.web.live_games import GameServer, LiveGame
from jaxgames.play.web.turns import written


async def hint(server: GameServer, game: LiveGame, agent: str | None, of_last: bool = False) -> dict[str, Any]:
    """Returns what an agent thinks of the position that is shown; None: the one that `analyse` chooses.

    With `of_last`, returns what the agent that played the last ply thought before it, whichever agent is named.

    Its keys: `moves`, all legal ones with their probabilities; `seat`, which is to move; `chance`, its chance to win or
    None; `position`, for which this holds.

    Raises ValueError without `of_last` if the game is over, and with it if no agent played the last ply. Raises
    ValueError for an agent that the page may not ask for, and for an agent that has no probabilities or fails.
    """
    if agent is not None:
        check_agent(server, agent)
    session = shown = game.session.copy()
    if of_last:
        session = _before_last(shown)
        agent = session.seats[session.mover]
    thoughts = await server.agents.run(lambda: analyse(session, agent, server.agent))
    moves = [
        {"action": move.action, "text": written([move.text]), "probability": share} for move, share in thoughts.moves
    ]
    values = thoughts.values
    chance = None if values is None else opponents.win_chance(session.env, values[session.mover])
    return {"moves": moves, "seat": session.mover, "chance": chance, "position": shown.env.to_string(shown.state)}


def _before_last(shown: Session) -> Session:
    """Returns the session one ply before. Raises ParameterError unless an agent played that ply."""
    session = shown.copy()
    if session.ply:
        session.jump(session.ply - 1)
    if shown.ply == 0 or session.seats[session.mover] == HUMAN:
        raise ParameterError("no agent has played the last move")
    return session


async def mistakes(server: GameServer, game: LiveGame) -> dict[str, Any]:
    """Returns the agent that has looked at a game, and its `mistakes`: the moves that lost most.

    Raises ValueError for a game in which no agent of the package thinks.
    """
    session = game.session.copy()
    agent = opponents.reviewer(session.env)
    if agent is None:
        raise ParameterError(f"no agent can review {session.env.id}: no agent knows the chance to win")
    found = await server.agents.run(lambda: review(session, agent, make=server.agent))
    return {"agent": agent, "mistakes": [_in_words(mistake) for mistake in found]}


def _in_words(mistake: Mistake) -> dict[str, Any]:
    """Returns a mistake with the moves as people read them, and their `texts` as the legal moves have them."""
    words = {"move": written([mistake.move]), "best": written([mistake.best])}
    return {**mistake._asdict(), **words, "texts": [mistake.move, mistake.best]}
