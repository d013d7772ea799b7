"""RLlib's PPO learns a game by self-play, with a network that plays legal actions only.

    python -m examples.rllib_ppo
    python -m examples.rllib_ppo --env "dots_and_boxes(rows=3, cols=3)" --iterations 30
    python -m examples.rllib_ppo --env "chinese_checkers(size=2, num_players=6, max_rounds=150)" \
        --environment examples.papers.parameter_sharing.published

RLlib reads the games through its `PettingZooEnv`, whose observations have the parts `observation` and `action_mask`.
Its default networks do not take such observations; `MaskedNetwork` does. All seats share one network.

What it needs is in docs/interop/pettingzoo.md. The last line on standard output is JSON.
"""

# RLlib needs PyTorch, which is in no extra
# pyright: reportMissingImports=false, reportUntypedBaseClass=false

import argparse
import importlib
import json
import logging
import math
import time
from typing import Any

import numpy as np
import ray
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.core.rl_module.torch.torch_rl_module import TorchRLModule
from ray.rllib.env.wrappers.pettingzoo_env import PettingZooEnv
from ray.rllib.utils.torch_utils import FLOAT_MIN
from ray.tune.registry import register_env

HIDDEN_SIZE = 128


class MaskedNetwork(TorchRLModule, ValueFunctionAPI):
    """Two hidden layers, the logits of the actions and a value; the logits of illegal actions are the lowest float."""

    def setup(self) -> None:
        size = math.prod(self.observation_space["observation"].shape)
        self.hidden = torch.nn.Sequential(
            *(torch.nn.Flatten(), torch.nn.Linear(size, HIDDEN_SIZE), torch.nn.Tanh()),
            *(torch.nn.Linear(HIDDEN_SIZE, HIDDEN_SIZE), torch.nn.Tanh()),
        )
        self.logits = torch.nn.Linear(HIDDEN_SIZE, self.action_space.n)
        self.value = torch.nn.Linear(HIDDEN_SIZE, 1)

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        seen = batch[Columns.OBS]
        logits = self.logits(self.hidden(seen["observation"].float()))
        return {Columns.ACTION_DIST_INPUTS: torch.where(seen["action_mask"] > 0, logits, FLOAT_MIN)}

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> Any:
        return self.value(self.hidden(batch[Columns.OBS]["observation"].float())).squeeze(-1)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m examples.rllib_ppo", description="RLlib's PPO by self-play.")
    parser.add_argument("--env", default="dots_and_boxes(rows=2, cols=2)", help="the game, with its parameters")
    parser.add_argument(
        "--environment",
        default="jaxgames.interop.pettingzoo",
        help="the module whose `aec_env` makes the environment; a study has its own observations and actions",
    )
    parser.add_argument("--iterations", type=int, default=20, help="iterations of 2,048 steps")
    parser.add_argument("--games", type=int, default=200, help="games against random moves, before and after")
    arguments = parser.parse_args()

    game = {"env_or_id": arguments.env}
    aec_env = importlib.import_module(arguments.environment).aec_env
    torch.set_num_threads(1)  # the network is small
    ray.init(num_cpus=1, include_dashboard=False, logging_level=logging.ERROR, log_to_driver=False)
    register_env("jaxgames", lambda config: PettingZooEnv(aec_env(**config)))
    spec = MultiRLModuleSpec(rl_module_specs={"shared": RLModuleSpec(module_class=MaskedNetwork)})
    settings: dict[str, Any] = {"lr": 1e-3, "gamma": 1.0, "entropy_coeff": 0.01, "num_epochs": 6}
    config = (
        PPOConfig()
        .environment("jaxgames", env_config=game)
        .env_runners(num_env_runners=0, num_envs_per_env_runner=16)  # in this process
        .multi_agent(policies={"shared"}, policy_mapping_fn=lambda agent, episode, **kwargs: "shared")
        .rl_module(rl_module_spec=spec)
        .training(train_batch_size_per_learner=2048, minibatch_size=256, **settings)
        .debugging(seed=0, log_level="ERROR")
    )
    algorithm, begin = config.build_algo(), time.monotonic()
    network: Any = algorithm.get_module("shared")
    win_rates = [win_rate(network, aec_env(**game), arguments.games)]
    print(f"before training: won {win_rates[0]:.0%} of {arguments.games} games against random moves", flush=True)
    for iteration in range(1, arguments.iterations + 1):
        algorithm.train()
        print(f"iteration {iteration} of {arguments.iterations}, {time.monotonic() - begin:.0f} s", flush=True)
    win_rates.append(win_rate(algorithm.get_module("shared"), aec_env(**game), arguments.games))
    print(f"after training: won {win_rates[1]:.0%} of {arguments.games} games against random moves")
    algorithm.stop()
    ray.shutdown()
    actions = int(network.action_space.n)
    print(json.dumps({"env": arguments.env, "actions": actions, "games": arguments.games, "win_rates": win_rates}))


def win_rate(network: Any, env: Any, games: int) -> float:
    """Returns the share of games that the network's most probable actions win against random moves.

    The network plays each seat in turn.
    """
    rng, won = np.random.default_rng(0), 0
    for number in range(games):
        env.reset(seed=number)
        ours = env.possible_agents[number % len(env.possible_agents)]
        for agent in env.agent_iter():
            seen, reward, terminated, truncated, _ = env.last()
            if terminated or truncated:
                won += agent == ours and reward > 0
                env.step(None)
            elif agent == ours:
                batch = {Columns.OBS: {name: torch.as_tensor(part[None]) for name, part in seen.items()}}
                env.step(int(network.forward_inference(batch)[Columns.ACTION_DIST_INPUTS].argmax()))
            else:
                env.step(int(rng.choice(np.flatnonzero(seen["action_mask"]))))
    return won / games


if __name__ == "__main__":
    main()
