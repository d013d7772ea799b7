"""The player of 5 x 5 chess behind the agent `alphabeta`, and the values of a position's moves.

    player = make_player(env, depth=4)
    action = player.choose(state, seed=0)

    values = evaluate(env, state, depth=4)      # Evaluation(value, actions, values), in pawns

The search, of jaxgames/solvers/minichess/search.py, deepens iteratively up to `depth`; a level is one
move. How a move and its time are chosen: jaxgames/solvers/alphabeta/deepening.py.

The search plays for the win by the rules, under both values of the env's `reward`. `expected_return` turns its values
into the unit of the rewards.
"""

from typing import Any, ClassVar

import numpy as np

from jaxgames.env import Env
from jaxgames.games.minichess.board import KING, VALUES
from jaxgames.games.minichess.rules import Minichess, MinichessState
from jaxgames.solvers.alphabeta.deepening import Evaluation, HostSearchPlayer, evaluate_with
from jaxgames.solvers.alphabeta.deepening import plies_to_end as plies_to_end
from jaxgames.solvers.alphabeta.search import Search
from jaxgames.solvers.alphabeta.table import MIN_WIN_VALUE
from jaxgames.solvers.minichess.evaluation import WEIGHTS, evaluation
from jaxgames.solvers.minichess.moves import pieces_of, rules_of, write_legal_moves
from jaxgames.solvers.minichess.search import ROOT_CLOCK, Position, after, alphabeta, make_search

DEFAULT_DEPTH = 4  # without a limit of time
SCALE = 500.0  # the value, in hundredths of a pawn, with the expected result tanh(1); docs/games/minichess.md
KING_REWARD = VALUES[KING] / 1000  # that the capture of a king pays with reward="material"


class MinichessPlayer(HostSearchPlayer[Minichess, MinichessState, Position]):
    """Chooses actions on one board at a time, and estimates returns."""

    game: ClassVar[type[Env[Any]]] = Minichess
    default_depth: ClassVar[int] = DEFAULT_DEPTH
    scale: ClassVar[float] = SCALE
    weights: ClassVar[dict[str, list[int]]] = WEIGHTS
    alphabeta = staticmethod(alphabeta)
    after = staticmethod(after)

    def expected_return(self, state: MinichessState, value: int) -> float:
        """Returns an estimate of the mover's return on a live board, in the unit of the env's rewards.

        The expected result is 1 or -1 for a win or a loss that the search has seen, else tanh(value / SCALE). It is the
        return with reward="win_loss". With reward="material" the return is the lead in material that the search gains.
        Under "king_capture" it also has the expected result times the reward of a captured king.

        The value is that of a search, in hundredths of a pawn.
        """
        result = super().expected_return(state, value)
        if self._env.reward == "win_loss":
            return result
        now = self._function(evaluation)(self._search.weights, self._search.game.tables, pieces_of(state))
        gain = 0.0 if abs(value) >= MIN_WIN_VALUE else (value - now) / 1000
        return gain + (KING_REWARD * result if self._env.rules == "king_capture" else 0.0)

    def _make_search(self, weights: list[int], table_size: int, compiled: bool) -> Search:
        return make_search(rules_of(self._env), weights, table_size, compiled)

    def _warm_up(self, state: MinichessState) -> None:
        super()._warm_up(state)
        self.expected_return(state, 0)

    def _read(self, state: MinichessState) -> tuple[Position, int]:
        clock, repeats = int(state.quiet), 0
        if state.history is not None:
            low, high = np.asarray(state.history)[:, : clock + 1].astype(np.int64)
            hashes = (low | (high & 0x3FFFFFFF) << 32).tolist()
            for place, word in enumerate(hashes):
                self._search.game.hashes[place] = word
            known = [(place % 2, word) for place, word in enumerate(hashes) if word]
            repeats = int(len({*known}) < len(known))
        self._search.counts[ROOT_CLOCK] = clock
        return Position(pieces_of(state), clock, repeats), self._env.max_steps - int(state.ply)

    def _write_legal_moves(self, position: Position) -> int:
        game = self._search.game
        return self._function(write_legal_moves)(game.tables, game.rules, position.pieces, self._search.moves, 0)


def make_player(
    env: Minichess, depth: int | None = None, milliseconds: int | None = None, evaluation: str = "positional"
) -> MinichessPlayer:
    """Returns the player of a game of 5 x 5 chess.

    Args:
      env: the game.
      depth: moves that the search looks ahead, before it follows captures to their end. None: 4, or with a limit of
        time as many as fit.
      milliseconds: the time of a move. None: no limit.
      evaluation: "positional", or "material", which counts the values of the pieces.

    Raises ParameterError (a ValueError) for a value that is not allowed.
    """
    return MinichessPlayer.make(env, depth, milliseconds, evaluation)


def evaluate(env: Env[Any], state: Any, depth: int = DEFAULT_DEPTH, evaluation: str = "positional") -> Evaluation:
    """Returns the values of a live board and of each of its legal actions for the mover, in pawns.

    Args:
      env: minichess, or a `Wrapper` of it that keeps its rules.
      state: a live board of `env`.
      depth: moves that the search looks ahead, before it follows captures to their end.
      evaluation: as for `make_player`.

    Raises ParameterError (a ValueError) for another game or a value that is not allowed, and ValueError for a board
    that is over.
    """
    return evaluate_with(MinichessPlayer, env, state, depth, evaluation)
