"""The games and agents that the page may ask for, and the sessions that it starts with them.

A page may name every registered game, and the agents that read no file, and import no module, from outside this
package. The same holds for an agent inside an agent, which must not search either. A page may also name the game and
the agents with which the process was started, whatever they are: the person who started it chose them.
"""

from collections.abc import Sequence
from typing import Any

from jaxgames import registry
from jaxgames._checks import ParameterError
from jaxgames._specs import parse
from jaxgames.agents import AGENT_OF
from jaxgames.env import Env
from jaxgames.play.game_file import parse as parse_saved
from jaxgames.play.session import HUMAN, Session
from jaxgames.play.web import live_games as tables
from jaxgames.play.web.live_games import House

MAX_TEXT = 300  # characters of a game or of an agent
SAFE_PLAYOUTS = ("random", "first", "greedy", "baseline")  # agents that may be a parameter of another agent
SAFE_AGENTS = (*SAFE_PLAYOUTS, "mcts", "alphabeta")
HIGHEST = {  # values of agents' parameters: time is limited
    "simulations": 10_000,
    "rollouts": 100,
    "max_rollout_steps": 1_000,
    "depth": 12,
    "milliseconds": 60_000,
}
SUGGESTED = ("baseline", "random", "greedy", "mcts(simulations=100)", "alphabeta(depth=4)")


def offered(house: House) -> dict[str, Any]:
    """Returns the game and the seats of the process, and all games with their parameters."""
    games = {
        name: [{"name": each.name, "default": repr(each.default)} for each in registry.parameters(name)]
        for name in registry.list_games()
    }
    return {"game": house.game, "seats": list(house.seats), "seed": house.seed, "games": games}


def described(house: House, game: str) -> dict[str, Any]:
    """Returns the number of seats of a game, the agents that can play it, and those among them that give hints.

    Raises ValueError for a wrong game.
    """
    env = _env(house, game)
    agents = [text for text in dict.fromkeys((*house.seats, *SUGGESTED)) if text != HUMAN and _plays(house, text, env)]
    hints = [text for text in agents if hasattr(house.agent(text, env), "analyse")]
    return {"game": str(env), "seats": env.num_players, "agents": [HUMAN, *agents], "hints": hints}


def start(house: House, game: str, seats: Sequence[str], seed: int) -> Session:
    """Returns a session of a new game. Raises ValueError for a wrong game, or for seats that do not fit it."""
    env = _env(house, game)
    check_seats(house, env, seats)
    return Session(env, tuple(seats), seed=seed)


def load(house: House, saved: str) -> Session:
    """Returns the session of a saved game, played again from its beginning.

    Raises ValueError for a wrong game, or for one with more than `tables.MAX_PLIES` submoves.
    """
    game = parse_saved(saved)
    if len(game.moves) > tables.MAX_PLIES:
        raise ParameterError(f"a game on the page has {tables.MAX_PLIES:,} submoves at most, not {len(game.moves):,}")
    check_seats(house, _env(house, game.game), game.seats)
    return Session.from_json(saved)


def from_position(session: Session, text: str) -> Session:
    """Returns a session of the same game and seats that begins with a position. Raises ValueError for a wrong one."""
    return Session(session.env, session.seats, seed=session.seed, state=session.env.from_string(text))


def reseated(house: House, session: Session, seats: Sequence[str]) -> Session:
    """Returns the session with other seats. Raises ValueError for seats that do not fit the game."""
    check_seats(house, session.env, seats)
    return session.with_seats(tuple(seats))


def check_agent(house: House, text: str) -> None:
    """Raises ParameterError for the text of an agent that the page may not ask for."""
    if text not in house.seats:
        _check_safe(text, SAFE_AGENTS, (*dict.fromkeys(house.seats), *SAFE_AGENTS))


def _check_safe(text: object, safe: Sequence[str], allowed: Sequence[str]) -> None:
    """Raises ParameterError unless a text names a safe agent, whose own agent is safe too, with limited parameters."""
    expected = f"expected one of {', '.join(allowed)}, not {str(text)[:MAX_TEXT]!r}"
    if not isinstance(text, str) or len(text) > MAX_TEXT:
        raise ParameterError(expected)
    module, name, parameters = parse(text, expected)
    if module or name not in safe:
        raise ParameterError(f"{expected}: others are named when the server is started")
    for parameter, value in parameters.items():
        if parameter == AGENT_OF.get(name):
            _check_safe(value, SAFE_PLAYOUTS, SAFE_PLAYOUTS)
        highest = HIGHEST.get(parameter)
        if highest is not None and isinstance(value, int | float) and value > highest:
            raise ParameterError(f"{parameter} must be at most {highest:,} on the page, not {value} in {text!r}")


def check_seats(house: House, env: Env[Any], seats: Sequence[str]) -> None:
    """Raises ParameterError unless there is one text per seat, each "human" or an agent that plays the game."""
    if len(seats) != env.num_players:
        raise ParameterError(f"{env} has {env.num_players} seats, and {len(seats)} are given")
    for text in seats:
        if text != HUMAN:
            check_agent(house, text)
            house.agent(text, env)


def _env(house: House, game: str) -> Env[Any]:
    """Returns the env of a game that the page may ask for. Raises ParameterError for another text."""
    expected = f"the game must be one of {', '.join(registry.list_games())}, with parameters or without"
    if game != house.game:
        expected += f", not {game[:MAX_TEXT]!r}"
        module, name, _ = parse(game, expected) if len(game) <= MAX_TEXT else ("", "", {})
        if module or name not in registry.list_games():
            raise ParameterError(f"{expected}: others are named when the server is started")
    return registry.make(game)


def _plays(house: House, text: str, env: Env[Any]) -> bool:
    """Returns whether an agent can play a game."""
    try:
        house.agent(text, env)
    except (ValueError, ImportError):  # not for this game, or an extra is missing
        return False
    return True
