"""The player of checkers behind the agent `alphabeta`, and the values of a position's moves.

    player = make_player(env, depth=6)
    action = player.choose(state, seed=0)

    values = evaluate(env, state, depth=6)      # Evaluation(value, actions, values), in men

The search, of jaxgames/solvers/checkers/search.py, deepens iteratively up to `depth`; a level is one turn.
How a move and its time are chosen: jaxgames/solvers/alphabeta/deepening.py.
"""

from typing import Any, ClassVar

from jaxgames.env import Env
from jaxgames.games.checkers.rules import FIRST_LEAD, FIRST_TURN, LAST_TURN, QUIET_LIMIT, Checkers, CheckersState
from jaxgames.solvers.alphabeta.clock import NO_LIMIT
from jaxgames.solvers.alphabeta.deepening import Evaluation, HostSearchPlayer, evaluate_with
from jaxgames.solvers.alphabeta.deepening import plies_to_end as plies_to_end
from jaxgames.solvers.alphabeta.search import Search
from jaxgames.solvers.checkers.evaluation import WEIGHTS
from jaxgames.solvers.checkers.moves import legal_sources, write_moves
from jaxgames.solvers.checkers.search import Position, Rules, after, alphabeta, make_search

DEFAULT_DEPTH = 6  # without a limit of time
SCALE = 250.0  # the value, in hundredths of a man, with the expected result tanh(1); docs/games/checkers.md


class CheckersPlayer(HostSearchPlayer[Checkers, CheckersState, Position]):
    """Chooses actions on one board at a time."""

    game: ClassVar[type[Env[Any]]] = Checkers
    default_depth: ClassVar[int] = DEFAULT_DEPTH
    scale: ClassVar[float] = SCALE
    weights: ClassVar[dict[str, list[int]]] = WEIGHTS
    alphabeta = staticmethod(alphabeta)
    after = staticmethod(after)

    def _make_search(self, weights: list[int], table_size: int, compiled: bool) -> Search:
        rule = self._env.draw_rule
        if rule == "adjudicated":
            rules = Rules(LAST_TURN, men_progress=0, draw_first=1, lead_from=FIRST_TURN, least_lead=FIRST_LEAD)
        else:
            rules = Rules(QUIET_LIMIT[rule], int(rule == "wcdf"), int(rule == "openspiel"))
        return make_search(rules, weights, table_size, compiled)

    def _read(self, state: CheckersState) -> tuple[Position, int]:
        words = (state.own, state.opponents, state.kings, state.jumper, state.quiet)
        limit = self._env.max_plies
        return Position(*map(int, words)), NO_LIMIT if limit is None else limit - int(state.ply)

    def _write_legal_moves(self, position: Position) -> int:
        sources = self._function(legal_sources)(*position[:4])
        return self._function(write_moves)(sources, self._search.moves, 0)


def make_player(
    env: Checkers, depth: int | None = None, milliseconds: int | None = None, evaluation: str = "positional"
) -> CheckersPlayer:
    """Returns the player of a game of checkers.

    Args:
      env: the game.
      depth: turns that the search looks ahead, before it follows captures to their end. None: 6, or with a limit of
        time as many as fit.
      milliseconds: the time of a move. None: no limit.
      evaluation: "positional", or "material", which counts men, kings and the rows that men have advanced.

    Raises ParameterError (a ValueError) for a value that is not allowed.
    """
    return CheckersPlayer.make(env, depth, milliseconds, evaluation)


def evaluate(env: Env[Any], state: Any, depth: int = DEFAULT_DEPTH, evaluation: str = "positional") -> Evaluation:
    """Returns the values of a live board and of each of its legal actions for the mover, in men.

    Args:
      env: checkers, or a `Wrapper` of it that keeps its rules.
      state: a live board of `env`.
      depth: turns that the search looks ahead, before it follows captures to their end.
      evaluation: as for `make_player`.

    Raises ParameterError (a ValueError) for another game or a value that is not allowed, and ValueError for a board
    that is over.
    """
    return evaluate_with(CheckersPlayer, env, state, depth, evaluation)
