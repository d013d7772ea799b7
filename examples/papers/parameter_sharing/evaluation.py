"""Games of policies against random players, measured as the text of the study, its code and this project do.

    measured = evaluate(policy, params, key, games)       # one policy: float32[] by the names in COLUMNS

The study's length of a game is the number of full rounds before its last turn. In the code, a game that is truncated
has the limit as its length, and all games count. Turns to win here are the turns of the winner, the last one included,
in the games that it won: one more than the rounds.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp

from examples.papers.parameter_sharing.running_sums import RunningSums
from examples.papers.parameter_sharing.study import ROUNDS
from jaxgames import arena
from jaxgames.agents import RandomAgent
from jaxgames.policies.agent import PolicyAgent
from train.models.policy import Params, Policy

COLUMNS = {
    "win_rate": "games won, divided by all games, as in the study's code",
    "decided_win_rate": "games won, divided by the games that were not truncated, as in the study's text",
    "mean_turns": "turns to win, in the games won",
    "rounds": "rounds of a game, all games, a truncated one counting as the limit, as in the study's code",
    "truncated_rate": "games that the limit ended",
    "reward": "sum of the rewards of the policy's seat",
    "running_sums": "sum of the running sums of these rewards over the seat's decisions, as in the study's code",
}


@functools.partial(jax.jit, static_argnames=("policy", "games", "num_players", "max_rounds"))
def evaluate(
    policy: Policy,
    params: Params,
    key: jax.Array,
    games: int,
    num_players: int = 6,
    max_rounds: int = ROUNDS,
) -> dict[str, jax.Array]:
    """Returns the measures of games in seat 0 against random players, float32[] each, by the names in COLUMNS.

    A mean is NaN where there is no such game. The policy, whose actions are sampled, is of the star with N = 2.
    """
    env = RunningSums(num_players=num_players, max_rounds=max_rounds)
    agent = PolicyAgent(params, env, policy, jnp.float32(1))
    start_key, key = jax.random.split(key)
    seats = arena.one_seat(start_key, games, num_players, 0)
    begun = arena.start(env, start_key, games)
    played = arena.advance_until_over(env, (agent, RandomAgent(env)), seats, begun, key)
    boards: Any = played.boards
    won = arena.winners(env, played)[:, 0]
    decided = ~boards.truncated
    means = {
        "win_rate": won.mean(),
        "decided_win_rate": won.sum() / decided.sum(),
        "mean_turns": (played.turns[:, 0] * won).sum() / won.sum(),
        "rounds": boards.round.mean(),
        "truncated_rate": (~decided).mean(),
        "reward": boards.totals[:, 0].mean(),
        "running_sums": played.returns[:, 0].mean(),
    }
    return {name: jnp.float32(value) for name, value in means.items()}
