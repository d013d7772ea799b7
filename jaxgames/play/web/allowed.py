"""The games and agents that the page may ask for, and the sessions that it starts with them.

A page may name every registered game, and the agents that read no file, and import no module, from outside this
package. The same holds for an agent inside an agent, which must not search either. A page may also name the game and
the agents with which the process was started, whatever they are: the person who started it chose them.
"""

from collections.abc import Sequence
from typing import Any

from jaxgames import registry, render
from jaxgames._checks import ParameterError, shortened
from jaxgames._specs import parse
from jaxgames.agents import AGENT_OF
from jaxgames.baselines import levels
from jaxgames.baselines.level_agents import NAMES, shares_won
from jaxgames.env import Env
from jaxgames.play import game_file, words
from jaxgames.play.session import HUMAN, Session
from jaxgames.play.web.live_games import GameServer

SAFE_PLAYOUTS = ("random", "first", "greedy", "baseline")  # agents that may be a parameter of another agent
SAFE_AGENTS = (*SAFE_PLAYOUTS, "mcts", "alphabeta")
SUGGESTED = ("baseline", "random", "greedy", "mcts(simulations=100)", "alphabeta(depth=4)")


def describe_process(server: GameServer) -> dict[str, Any]:
    """Returns the game and the seats of the process, and all games with their menus and parameters."""
    games = {
        name: {
            "title": words.game_title(name),
            "menus": [menu._asdict() for menu in words.words_of(name).menus],
            "parameters": [{"name": item.name, "default": repr(item.default)} for item in registry.parameters(name)],
        }
        for name in words.offered_games()
    }
    return {"game": server.game, "seats": list(server.seats), "games": games}


def describe_game(server: GameServer, game: str) -> dict[str, Any]:
    """Returns the names of the seats of a game, and its levels with their strength in words, "" if it is not known.

    It makes no agent that takes long.
    """
    env = _env(server, game)
    strength = _strength(env)
    described = [
        {"agent": agent, "words": level.capitalize(), "strength": strength.get(level, "")}
        for level, agent in levels(env).items()
    ]
    return {"names": render.seat_names(env), "levels": described}


def _strength(env: Env[Any]) -> dict[str, str]:
    """Returns how strong the levels of a game are that were measured, for people."""
    below: dict[str, str] = dict(zip(NAMES, ("random moves", *(name.capitalize() for name in NAMES)), strict=False))
    return {name: f"Wins {_games(share)} against {below[name]}." for name, share in shares_won(env).items()}


def _games(share: float) -> str:
    won = round(10 * share)
    return "almost every game" if won == 10 else f"{won} of 10 games (a draw as half a win)"


def agents_of(server: GameServer, game: str) -> list[str]:
    """Returns the texts of agents that play a game, for the fields of the page. Raises ValueError for a wrong game."""
    env = _env(server, game)
    texts = dict.fromkeys((*server.seats, *levels(env).values(), *SUGGESTED))
    return [HUMAN, *(text for text in texts if text != HUMAN and _plays(server, text, env))]


def rules_of(server: GameServer, game: str, theme: str) -> dict[str, Any]:
    """Returns the rules of a game for people, with pictures as SVG. Raises ValueError for a wrong game."""
    found = words.rules(_env(server, game), theme)
    pictures = [{"svg": svg, "caption": caption} for svg, caption in found.pictures]
    return {"title": found.title, "goal": found.goal, "paragraphs": list(found.paragraphs), "pictures": pictures}


def start(server: GameServer, game: str, seats: Sequence[str], seed: int) -> Session:
    """Returns a session of a new game. Raises ValueError for a wrong game, or for seats that do not fit it."""
    env = _env(server, game)
    check_seats(server, env, seats)
    return Session(env, seats, seed=seed)


def load(server: GameServer, saved: str) -> Session:
    """Returns the session of a saved game, played again from its beginning. Raises ValueError for a wrong game."""
    record = game_file.parse(saved)
    check_seats(server, _env(server, record["env"]), record["agents"])
    return game_file.replay(record)


def from_position(session: Session, text: str) -> Session:
    """Returns a session of the same game and seats that begins with a position. Raises ValueError for a wrong one."""
    return Session(session.env, session.seats, seed=session.seed, state=session.env.from_string(text))


def check_agent(server: GameServer, text: str) -> None:
    """Raises ParameterError for the text of an agent that the page may not ask for."""
    if text not in server.seats:
        _check_safe(text, SAFE_AGENTS, list(dict.fromkeys((*server.seats, *SAFE_AGENTS))))


def _check_safe(text: object, safe: Sequence[str], allowed: Sequence[str]) -> None:
    """Raises ParameterError unless a text names a safe agent, and its parameters no agent but a safe one."""
    expected = f"expected one of {', '.join(allowed)}, not {shortened(text)}"
    if not isinstance(text, str):
        raise ParameterError(expected)
    module, name, parameters = parse(text, expected)
    if module or name not in safe:
        raise ParameterError(f"{expected}. Agents from files can only be chosen with --seats, at the start")
    if AGENT_OF.get(name) in parameters:
        _check_safe(parameters[AGENT_OF[name]], SAFE_PLAYOUTS, SAFE_PLAYOUTS)


def check_seats(server: GameServer, env: Env[Any], seats: Sequence[str]) -> None:
    """Raises ParameterError unless there is one text per seat, each "human" or an agent that plays the game."""
    if len(seats) != env.num_players:
        raise ParameterError(f"{env} has {env.num_players} seats, and {len(seats)} are given")
    for text in seats:
        if text != HUMAN:
            check_agent(server, text)
            server.agent(text, env)


def _env(server: GameServer, game: str) -> Env[Any]:
    """Returns the env of a game that the page may ask for. Raises ParameterError for another text."""
    expected = f"the game must be one of {', '.join(registry.list_games())}, with parameters or without"
    if game != server.game:
        expected += f", not {shortened(game)}"
        module, name, _ = parse(game, expected)
        if module or name not in registry.list_games():
            raise ParameterError(f"{expected}: others are named when the server is started")
    return registry.make(game)


def _plays(server: GameServer, text: str, env: Env[Any]) -> bool:
    try:
        server.agent(text, env)
    except (ValueError, ImportError):  # not for this game, or an extra is missing
        return False
    return True
