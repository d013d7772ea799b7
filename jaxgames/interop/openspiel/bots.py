"""OpenSpiel's bots as agents: outside opponents in every game, from any position.

A bot plays on the host, board by board, on the rules of jaxgames (see `jaxgames.interop.openspiel`). It gets a state
without a history, and a new bot plays every move. So an agent has no memory: its actions depend on the boards and the
key alone. docs/interop/openspiel.md has the bots that a text can name.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames import agents
from jaxgames._checks import check_int, check_number
from jaxgames.agents import Agent
from jaxgames.env import Env
from jaxgames.host_agent import HostPlayerAgent
from jaxgames.interop.openspiel.game import OpenSpielGame, OpenSpielState
from jaxgames.interop.openspiel.positions import returns

MakeBot = Callable[[OpenSpielGame, int, int], Any]

MAX_SIMULATIONS = 100_000_000
MAX_ROLLOUT_STEPS = 1000  # a longer game counts as one without a winner


class BotPlayer:
    """Chooses moves by an OpenSpiel bot. The only legal action is played without the bot."""

    def __init__(self, env: Env[Any], make_bot: MakeBot) -> None:
        self._game = OpenSpielGame(env.unwrapped)
        self._make_bot = make_bot

    def choose(self, state: Any, seed: int) -> int:
        """Returns the action of a new bot on one live board. Raises ValueError if it is illegal."""
        shown = self._game.state_at(state)
        legal = shown.position.legal
        if len(legal) == 1:
            return legal[0]
        bot = self._make_bot(self._game, shown.position.player, seed)
        action = int(bot.step(shown))
        if action not in legal:
            raise ValueError(f"{type(bot).__name__} must play a legal action, one of {legal}, not {action}, in {shown}")
        return action


def agent_of(env: Env[Any], make_bot: MakeBot, text: str = "openspiel") -> HostPlayerAgent:
    """Returns the agent that plays the moves of an OpenSpiel bot; a new one, `make_bot(game, player, seed)`, per move.

    Args:
      env: the game.
      make_bot: returns the bot of a player in an `OpenSpielGame`; the seed is from 0 to 2**32 - 1.
      text: the agent's name, as in tables of results.
    """
    return HostPlayerAgent(env, BotPlayer(env, make_bot), text)


def make(
    env: Env[Any],
    simulations: int = 1000,
    playout: str = "random",
    uct_c: float = 2.0,
) -> HostPlayerAgent:
    """Returns OpenSpiel's `MCTSBot` as an agent. A new position is valued by one game, which is played on the device.

    Args:
      env: the game.
      simulations: positions that a search of one move visits, at least 2.
      playout: the agent that plays all seats in these games, for `jaxgames.agents.make`; it must be on the device.
      uct_c: the constant of exploration in UCT, for returns from -1 to 1.
    """
    check_int("simulations", simulations, 2, MAX_SIMULATIONS)
    check_number("uct_c", uct_c, lowest=0)
    game_env = env.unwrapped
    refusal = f"playout must be an agent on the device, such as random or greedy, not {playout!r}"
    agent = agents.make_on_device(playout, lambda: agents.make(playout, game_env), refusal)

    def make_mcts(game: OpenSpielGame, player: int, seed: int) -> Any:
        from open_spiel.python.algorithms.mcts import MCTSBot  # slow to import

        random = np.random.RandomState(seed)  # the type that the bot takes
        return MCTSBot(game, uct_c, simulations, RolloutEvaluator(agent, game_env, seed), random_state=random)

    return agent_of(env, make_mcts, f"openspiel({simulations=}, {playout=}, {uct_c=})")


# -- rollouts ------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class RolloutEvaluator:
    """Values a position by a game from there to the end, for OpenSpiel's `MCTSBot`."""

    agent: Agent  # plays all seats, on the device
    env: Env[Any]
    seed: int  # from 0 to 2**32 - 1
    positions: int = 0  # valued so far

    def evaluate(self, state: OpenSpielState) -> np.ndarray:
        """Returns float64[num_players], the returns of a game from a position."""
        self.positions += 1
        seeds = np.array([self.seed, self.positions], np.uint32)
        board = state.position.board
        if jax.default_backend() != "cpu":  # positions are on the CPU, rollouts on the default device
            board = jax.device_get(board)
        return returns(np.asarray(_winners(self.env, self.agent, board, seeds)))

    def prior(self, state: OpenSpielState) -> list[tuple[int, float]]:
        """Returns the legal actions with equal probabilities."""
        legal = state.position.legal
        return [(action, 1 / len(legal)) for action in legal]


@functools.partial(jax.jit, static_argnames="env")
def _winners(env: Env[Any], agent: Agent, board: Any, seeds: jax.Array) -> jax.Array:
    """Returns bool[num_players], the winners of a game from a position."""

    def unfinished(carry: tuple[Any, jax.Array, jax.Array]) -> jax.Array:
        board, _, step = carry
        return ~(board.terminated | board.truncated) & (step < MAX_ROLLOUT_STEPS)

    def body(carry: tuple[Any, jax.Array, jax.Array]) -> tuple[Any, jax.Array, jax.Array]:
        board, key, step = carry
        key, subkey = jax.random.split(key)
        (action,) = agent.act(subkey, jax.tree.map(lambda leaf: leaf[None], board))
        return env.step(board, action), key, step + 1

    key = jax.random.fold_in(jax.random.key(seeds[0]), seeds[1])
    return env.winners(jax.lax.while_loop(unfinished, body, (board, key, jnp.int32(0)))[0])
