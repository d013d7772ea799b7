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
from jaxgames._checks import check_choice, check_int, check_number
from jaxgames.agents import Agent
from jaxgames.env import Env
from jaxgames.host_agent import HostPlayerAgent
from jaxgames.interop.openspiel.game import OpenSpielGame, OpenSpielState
from jaxgames.interop.openspiel.positions import pyspiel, returns

MakeBot = Callable[[OpenSpielGame, int, int], Any]

MAX_SIMULATIONS = 100_000_000


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
    bot: str = "mcts",
    simulations: int = 1000,
    rollouts: int = 1,
    max_rollout_steps: int = 1000,
    playout: str = "random",
    uct_c: float = 2.0,
    solve: bool = True,
) -> HostPlayerAgent:
    """Returns an OpenSpiel bot as an agent: `MCTSBot`, whose rollouts are played on the device, or the random bot.

    Args:
      env: the game.
      bot: "mcts" or "random". All other arguments are of "mcts".
      simulations: positions that a search of one move visits, at least 2.
      rollouts: games that value a new position, all at once.
      max_rollout_steps: steps after which a rollout is cut off; it counts as a game without a winner.
      playout: the agent that plays all seats in the rollouts, for `jaxgames.agents.make`; it must be on the device.
      uct_c: the constant of exploration in UCT, for returns from -1 to 1.
      solve: whether the search keeps track of positions that are won or lost for certain.
    """
    check_choice("bot", bot, ("mcts", "random"))
    check_int("simulations", simulations, 2, MAX_SIMULATIONS)
    check_int("rollouts", rollouts, 1, MAX_SIMULATIONS)
    check_int("max_rollout_steps", max_rollout_steps, 0, MAX_SIMULATIONS)
    check_choice("solve", solve, (False, True))
    check_number("uct_c", uct_c, lowest=0)
    game_env = env.unwrapped
    refusal = f"playout must be an agent on the device, such as random or greedy, not {playout!r}"
    agent = agents.make_on_device(playout, lambda: agents.make(playout, game_env), refusal)

    def make_random(game: OpenSpielGame, player: int, seed: int) -> Any:
        return pyspiel.make_uniform_random_bot(player, seed & 0x7FFFFFFF)

    def make_mcts(game: OpenSpielGame, player: int, seed: int) -> Any:
        from open_spiel.python.algorithms.mcts import MCTSBot  # slow to import

        evaluator = RolloutEvaluator(agent, game_env, rollouts, max_rollout_steps, seed)
        random = np.random.RandomState(seed)  # the type that the bot takes
        return MCTSBot(game, uct_c, simulations, evaluator, solve=solve, random_state=random)

    if bot == "random":
        return agent_of(env, make_random, "openspiel(bot='random')")
    settings = f"rollouts={rollouts}, max_rollout_steps={max_rollout_steps}, {playout=}, {uct_c=}, {solve=}"
    return agent_of(env, make_mcts, f"openspiel(simulations={simulations}, {settings})")


# -- rollouts ------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class RolloutEvaluator:
    """Values a position by games from there to the end, for OpenSpiel's `MCTSBot`."""

    agent: Agent  # plays all seats, on the device
    env: Env[Any]
    rollouts: int  # games per position
    max_steps: int  # after which a game is cut off, without a winner
    seed: int  # from 0 to 2**32 - 1
    positions: int = 0  # valued so far

    def evaluate(self, state: OpenSpielState) -> np.ndarray:
        """Returns float64[num_players], the mean returns of games from a position."""
        self.positions += 1
        seeds = np.array([self.seed, self.positions], np.uint32)
        board = state.position.board
        if jax.default_backend() != "cpu":  # positions are on the CPU, rollouts on the default device
            board = jax.device_get(board)
        return returns(np.asarray(_share_won(self.env, self.agent, self.rollouts, self.max_steps, board, seeds)))

    def prior(self, state: OpenSpielState) -> list[tuple[int, float]]:
        """Returns the legal actions with equal probabilities."""
        legal = state.position.legal
        return [(action, 1 / len(legal)) for action in legal]


@functools.partial(jax.jit, static_argnames=("env", "games", "max_steps"))
def _share_won(env: Env[Any], agent: Agent, games: int, max_steps: int, board: Any, seeds: jax.Array) -> jax.Array:
    """Returns float32[num_players], the share of the games from a position that each seat wins."""
    boards = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (games, *jnp.shape(leaf))), board)

    def unfinished(carry: tuple[Any, jax.Array, jax.Array]) -> jax.Array:
        boards, _, step = carry
        return ~(boards.terminated | boards.truncated).all() & (step < max_steps)

    def body(carry: tuple[Any, jax.Array, jax.Array]) -> tuple[Any, jax.Array, jax.Array]:
        boards, key, step = carry
        key, subkey = jax.random.split(key)
        actions = agent.act(subkey, boards)
        return jax.vmap(lambda board, action: env.step(board, action))(boards, actions), key, step + 1

    key = jax.random.fold_in(jax.random.key(seeds[0]), seeds[1])
    boards, _, _ = jax.lax.while_loop(unfinished, body, (boards, key, jnp.int32(0)))
    return jax.vmap(env.winners)(boards).mean(0, dtype=jnp.float32)
