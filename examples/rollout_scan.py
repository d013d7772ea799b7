"""Plays 200 steps of 1,000 boards in one `jax.lax.scan`; prints the length of games and the rewards of each seat.

python -m examples.rollout_scan
python -m examples.rollout_scan "checkers" --num-envs 4096
"""

import functools
import json
from dataclasses import dataclass
from typing import Annotated, Any

import jax
import tyro

import jaxgames


@dataclass(frozen=True)
class Arguments:
    env: Annotated[str, tyro.conf.Positional] = "chinese_checkers_diamond(size=4, pieces=3)"
    """The game, with its parameters."""
    num_envs: int = 1000
    """Boards played at once."""
    num_steps: int = 200
    """Steps of every board."""
    seed: int = 0


def main() -> None:
    """The command `python -m examples.rollout_scan`."""
    arguments = tyro.cli(Arguments, prog="python -m examples.rollout_scan", description=__doc__)
    env = jaxgames.make(arguments.env)
    rewards, ended = rollout(env, arguments.num_envs, arguments.num_steps, jax.random.key(arguments.seed))
    num_episodes = int(ended.sum())
    result = {
        "env": str(env),
        "steps": ended.size,
        "num_episodes": num_episodes,
        "steps_per_episode": ended.size / num_episodes if num_episodes else None,
        "reward_per_step": [round(float(reward), 5) for reward in rewards.mean((0, 1))],
    }
    print(json.dumps(result))


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def rollout(env: jaxgames.Env[Any], num_envs: int, num_steps: int, key: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Plays uniformly random actions; a finished board restarts in the same step.

    Returns:
      rewards: float32[num_steps, num_envs, num_players].
      ended: bool[num_steps, num_envs], whether the step ended a game.
    """
    env = jaxgames.auto_reset(env)

    def step(boards: Any, key: jax.Array) -> tuple[Any, tuple[jax.Array, jax.Array]]:
        action_keys, step_keys = jax.random.split(key, (2, num_envs))
        action = jax.vmap(env.random_legal_action)(boards, action_keys)  # int32[num_envs]
        boards = jax.vmap(env.step)(boards, action, step_keys)
        return boards, (boards.rewards, boards.terminated | boards.truncated)

    init_key, key = jax.random.split(key)
    boards = jax.vmap(env.init)(jax.random.split(init_key, num_envs))
    _, (rewards, ended) = jax.lax.scan(step, boards, jax.random.split(key, num_steps))
    return rewards, ended


if __name__ == "__main__":
    main()
