"""Games of jaxgames as games of OpenSpiel, so that OpenSpiel's bots and algorithms play them from any position.

    game = OpenSpielGame(env)
    state = game.new_initial_state()            # a pyspiel.State
    state = game.state_at(board)                # the same from any position of `env`

OpenSpiel's own `checkers` and `chinese_checkers` begin at the start only: they take no position. Its `dots_and_boxes`
takes the drawn edges without the score. So these adapters use the rules of jaxgames. Then the position, the counters of
the draw rules and the score are exact, and every game can be played, with all its parameters.

Actions have the numbers that they have in jaxgames. A chain of hops or jumps is several actions of the same player.
The returns are those of winning: 1 to the winner and -1 / (num_players - 1) to each other seat, and 0 to all without a
winner. Rewards of the env are not used.

OpenSpiel's algorithms in Python play these games, and its C++ bots that do not copy states. Its C++ `MCTSBot` crashes
on every game that is written in Python, OpenSpiel's own included (seen in 2.0.2). Use the one in
`open_spiel.python.algorithms.mcts`.

It needs OpenSpiel: `pip install "jaxgames[openspiel]"`.
"""

import functools
from typing import Any

import jax
import numpy as np

from jaxgames.env import Env

try:
    import pyspiel
except ImportError as error:
    raise ImportError('OpenSpiel is missing; install it with: pip install "jaxgames[openspiel]"') from error

UNLIMITED = 1_000_000  # given as the longest game where `env.max_steps` is None


class Position:
    """A node of the tree of positions. A position after an action is computed once and kept.

    Attributes:
      board: the state of the env, one board.
      legal: the legal actions in ascending order; none if the game is over.
      player: the seat to move, or `pyspiel.PlayerId.TERMINAL`.
      returns: 0 for every seat on a live board.
    """

    __slots__ = ("_after", "board", "env", "legal", "player", "returns")

    def __init__(self, env: Env[Any], board: Any, seen: Any = None) -> None:
        mask, player, over, winners = jax.device_get(_look(env, board) if seen is None else seen)
        self.env = env
        self.board = board
        self.legal: list[int] = np.flatnonzero(mask).tolist()
        self.player = pyspiel.PlayerId.TERMINAL if over else int(player)
        self.returns: list[float] = returns(winners).tolist()
        self._after: dict[int, Position] = {}

    def after(self, action: int) -> "Position":
        """Returns the position after a legal action."""
        if action not in self._after:
            self._after[action] = Position(self.env, *_step(self.env, self.board, np.int32(action)))
        return self._after[action]

    def __deepcopy__(self, memo: Any) -> "Position":
        """Returns the position itself, which does not change. OpenSpiel calls this when it copies a state."""
        return self


@functools.partial(jax.jit, static_argnames="env")
def _look(env: Env[Any], board: Any) -> Any:
    """Returns the legal actions, the seat to move, whether the game is over, and the winners."""
    return env.legal_action_mask(board), board.current_player, board.terminated | board.truncated, env.winners(board)


@functools.partial(jax.jit, static_argnames="env")
def _step(env: Env[Any], board: Any, action: jax.Array) -> tuple[Any, Any]:
    """Returns the board after an action, and its `_look`."""
    board = env.step(board, action)
    return board, _look(env, board)


def returns(winners: np.ndarray) -> np.ndarray:
    """Returns float64[num_players], the returns of a game, or their mean over several games.

    Args:
      winners: bool[num_players], or the share of the games that each seat won.
    """
    won = np.asarray(winners, np.float64)
    return won - (won.sum() - won) / (len(won) - 1)


class OpenSpielGame(pyspiel.Game):  # pyright: ignore[reportUntypedBaseClass]  # pyspiel has no types
    """A game of jaxgames for OpenSpiel. It is not registered: `pyspiel.load_game` does not find it."""

    def __init__(self, env: Env[Any]) -> None:
        """Raises ValueError for a game of chance."""
        if env.needs_key:
            raise ValueError(f"{env.id} is a game of chance; OpenSpiel can play games without chance only")
        super().__init__(_game_type(env), _game_info(env), {})
        self.env = env

    def new_initial_state(self, state: None = None) -> "OpenSpielState":
        """Returns the start of the game."""
        return OpenSpielState(self, self._start)

    @functools.cached_property
    def _start(self) -> Position:
        """The start; OpenSpiel makes a new initial state for every copy of a state."""
        return Position(self.env, jax.device_get(self.env.init()))

    def state_at(self, board: Any) -> "OpenSpielState":
        """Returns an OpenSpiel state of any position; its history begins there.

        Args:
          board: a state of the env, one board.
        """
        return OpenSpielState(self, Position(self.env, board))


class OpenSpielState(pyspiel.State):  # pyright: ignore[reportUntypedBaseClass]  # pyspiel has no types
    """A position of a game of jaxgames, as OpenSpiel's algorithms see it.

    Attributes:
      position: the board with its legal actions and returns.
    """

    def __init__(self, game: OpenSpielGame, position: Position) -> None:
        super().__init__(game)
        self.position = position

    def current_player(self) -> int:
        return self.position.player

    def _legal_actions(self, player: int) -> list[int]:
        return self.position.legal

    def _apply_action(self, action: int) -> None:
        self.position = self.position.after(action)

    def _action_to_string(self, player: int, action: int) -> str:
        return self.position.env.action_to_string(self.position.board, action)

    def is_terminal(self) -> bool:
        return self.position.player == pyspiel.PlayerId.TERMINAL

    def returns(self) -> list[float]:
        return self.position.returns

    def __str__(self) -> str:
        return self.position.env.to_string(self.position.board)


def _game_type(env: Env[Any]) -> Any:
    return pyspiel.GameType(
        short_name=f"jaxgames_{env.id}",
        long_name=str(env),
        dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
        chance_mode=pyspiel.GameType.ChanceMode.DETERMINISTIC,
        information=pyspiel.GameType.Information.PERFECT_INFORMATION,
        utility=pyspiel.GameType.Utility.ZERO_SUM,
        reward_model=pyspiel.GameType.RewardModel.TERMINAL,
        max_num_players=env.num_players,
        min_num_players=env.num_players,
        provides_information_state_string=False,
        provides_information_state_tensor=False,
        provides_observation_string=False,
        provides_observation_tensor=False,
        parameter_specification={},
    )


def _game_info(env: Env[Any]) -> Any:
    return pyspiel.GameInfo(
        num_distinct_actions=env.num_actions,
        max_chance_outcomes=0,
        num_players=env.num_players,
        min_utility=-1.0,
        max_utility=1.0,
        utility_sum=0.0,
        max_game_length=UNLIMITED if env.max_steps is None else env.max_steps,
    )
