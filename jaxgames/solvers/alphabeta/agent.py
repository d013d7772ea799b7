"""The agent `alphabeta`: alpha-beta search to a limited depth or in limited time, on the host.

    agent = jaxgames.agents.make("alphabeta(milliseconds=200)", jaxgames.make("dots_and_boxes(rows=5, cols=5)"))
    agent = jaxgames.agents.make("alphabeta(depth=6)", jaxgames.make("checkers"))

The `search` of a game's record makes the player of the game, which chooses a move on one board at a time. It has no
memory between moves. The same key gives the same move as long as the time of a move is not used up.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames._checks import ParameterError
from jaxgames.agents import Agent, Analysis
from jaxgames.env import Env
from jaxgames.host_agent import Chooser, HostPlayerAgent, board_of, seeds_of
from jaxgames.registry import games_with, record_of


class Player(Chooser, Protocol):
    """Chooses moves by alpha-beta search.

    It may also have a method `analyse(state)`, which returns the best actions on one live board and the mover's
    expected return in the env's unit. Such a game has two seats and sums to zero.
    """

    depth: int
    milliseconds: int | None  # the time of a move; None: no limit

    def best_actions(self, state: Any) -> list[int]:
        """Returns the best actions on one live board. A player that draws its move draws one of them."""
        ...


@dataclass(frozen=True)
class AlphaBetaAgent(HostPlayerAgent):
    """Plays the moves of an alpha-beta player, board by board."""

    player: Player

    def analyse(self, states: Any) -> Analysis:
        """Returns the same probability for each best action, and the returns that the player expects, if it has any."""
        boards, live = self._boards(states)
        probabilities = np.zeros((len(boards.current_player), self.env.num_actions), np.float32)
        values = np.zeros((len(boards.current_player), self.env.num_players), np.float32)
        analyse: Callable[[Any], tuple[list[int], float]] | None = getattr(self.player, "analyse", None)
        for i in live:
            board = board_of(boards, i)
            best, value = (self.player.best_actions(board), 0.0) if analyse is None else analyse(board)
            probabilities[i, best] = 1 / len(best)
            values[i] = -value
            values[i, boards.current_player[i]] = value
        return Analysis(jnp.asarray(probabilities), None if analyse is None else jnp.asarray(values))


def make(
    env: Env[Any],
    depth: int | None = None,
    milliseconds: int | None = None,
    **settings: Any,
) -> Agent:
    """Returns the agent `alphabeta(depth=9, milliseconds=200)`.

    Args:
      env: a game with a player, or `auto_reset` of one.
      depth: of a search that does not reach the end of the game; None for the default of the game's player.
      milliseconds: the time of a move; None for the default of the game's player, which can be no limit.
      **settings: further parameters of the game's player, the `search` of its record.
    """
    game = env.unwrapped
    make_player = record_of(game).part("search")
    if make_player is None:
        raise ParameterError(f"alphabeta plays {', '.join(games_with('search'))}, not {game.id}")
    allowed = [*inspect.signature(make_player).parameters][1:]
    if unknown := sorted(settings.keys() - set(allowed)):
        raise ParameterError(
            f"alphabeta has no parameter {unknown[0]!r} in {game.id}; its parameters are {', '.join(allowed)}, epsilon"
        )
    seeds_of(jax.random.key(0), 1)  # compiled here, not in a timed move
    limits = {"depth": depth, "milliseconds": milliseconds}
    player: Player = make_player(
        game, **{name: value for name, value in limits.items() if value is not None}, **settings
    )
    shown = {"depth": player.depth, "milliseconds": player.milliseconds, **settings}
    text = f"alphabeta({', '.join(f'{name}={value!r}' for name, value in shown.items() if value is not None)})"
    return AlphaBetaAgent(env, player, text)
