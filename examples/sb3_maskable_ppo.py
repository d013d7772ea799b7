"""MaskablePPO of sb3-contrib learns one seat of a game against random moves.

    python -m examples.sb3_maskable_ppo
    python -m examples.sb3_maskable_ppo --env "dots_and_boxes(rows=3, cols=3)" --opponent greedy --steps 60000

`SeatEnv` has the method `action_masks`, by which MaskablePPO finds the legal actions. Four boards are played in turn.

What it needs is in docs/interop/gymnasium.md. The last line on standard output is JSON.
"""

# sb3-contrib needs PyTorch, which is in no extra
# pyright: reportMissingImports=false

import argparse
import json
from typing import Any

import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from stable_baselines3.common.env_util import make_vec_env

from jaxgames.interop.gymnasium import SeatEnv


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m examples.sb3_maskable_ppo", description="MaskablePPO of one seat.")
    parser.add_argument("--env", default="dots_and_boxes(rows=2, cols=2)", help="the game, with its parameters")
    parser.add_argument("--opponent", default="random", help="the agent of the other seats in training")
    parser.add_argument("--steps", type=int, default=30_000, help="steps of training, of all boards together")
    parser.add_argument("--games", type=int, default=200, help="games against random moves, before and after")
    arguments = parser.parse_args()

    torch.set_num_threads(1)  # the network is small
    made: dict[str, Any] = {"env_or_id": arguments.env, "seat": "random"}
    envs = make_vec_env(SeatEnv, n_envs=4, seed=0, env_kwargs=made | {"opponent": arguments.opponent})
    settings: dict[str, Any] = {"n_steps": 256, "batch_size": 128, "learning_rate": 1e-3, "ent_coef": 0.01}
    model = MaskablePPO("MlpPolicy", envs, gamma=1.0, seed=0, device="cpu", verbose=1, **settings)
    against_random = make_vec_env(SeatEnv, n_envs=4, seed=1, env_kwargs=made)

    def win_rate() -> float:
        returns, _ = evaluate_policy(model, against_random, arguments.games, return_episode_rewards=True)
        return sum(value > 0 for value in returns) / len(returns)

    win_rates = [win_rate()]
    print(f"before training: won {win_rates[0]:.0%} of {arguments.games} games against random moves", flush=True)
    model.learn(arguments.steps)
    win_rates.append(win_rate())
    print(f"after training: won {win_rates[1]:.0%} of {arguments.games} games against random moves")
    print(json.dumps({"env": arguments.env, "games": arguments.games, "win_rates": win_rates}))


if __name__ == "__main__":
    main()
