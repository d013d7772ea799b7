"""A run of AlphaZero, without the algorithm: first train state, optimizer, agents, and the split over devices."""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import optax

import jaxgames
from jaxgames.agents import Agent
from jaxgames.mcts.config import Seats, SelectionRule
from train.alphazero.config import Config
from train.alphazero.state import GameState, TrainState, sample_shape
from train.models.policy import Params, Policy, split_statistics
from train.models.value_heads import with_seat_values
from train.network_learner import NetworkLearner, key_of_game
from train.ops import replay
from train.ops.episodes import EpisodeStats
from train.ops.optimizers import linear, make_optimizer
from train.ops.sharding import REPLICATED, SHARDED
from train.ops.start_positions import init_starts
from train.recipes import ALPHAZERO, ALPHAZERO_PRESETS


@dataclass(frozen=True)
class Run(NetworkLearner):
    """A run of AlphaZero, which is static under jit."""

    name: ClassVar[str] = "alphazero"
    config_type: ClassVar[type[Config]] = Config
    recipes, presets = ALPHAZERO, ALPHAZERO_PRESETS

    config: Config

    def make_policy(self, env: jaxgames.Env[Any]) -> Policy:
        return with_seat_values(env, super().make_policy(env))

    @property
    def headline(self) -> dict[str, Any]:
        c = self.config
        others = {"other_envs": ", ".join(c.other_envs)} if c.other_envs else {}
        return {"env": c.env, **others, "search": c.search, "simulations": c.simulations, "seed": c.seed}

    @property
    def batch_sizes(self) -> dict[str, int]:
        return {"num_envs": self.config.num_envs, "minibatch_size": self.config.minibatch_size}

    @property
    def partition_specs(self) -> Any:
        whole: Any = REPLICATED  # specs in place of arrays
        boards: Any = SHARDED
        return TrainState(whole, whole, whole, boards, whole, whole)

    @property
    def search_gamma(self) -> float:
        return self.config.gamma

    def agent(
        self,
        params: Params,
        temperature: float | None = None,
        top: int | None = None,
        simulations: int | None = None,
        search: SelectionRule | None = None,
        seats: Seats | None = None,
    ) -> Agent:
        """Returns the agent with these parameters; see `NetworkLearner.agent`.

        None for the temperature, the search or the seats is the setting of the run, and for the simulations its
        `evaluation_simulations`.

        Args:
          seats: how seats choose in the tree of the search.
        """
        simulations = self.config.evaluation_simulations if simulations is None else simulations
        settings = self.config.search_without_noise(simulations, search, seats) if simulations else None
        return self.make_network_agent(params, settings, temperature, top)

    def optimizer(self) -> optax.GradientTransformation:
        """Returns AdamW with gradients clipped by their norm."""
        return make_optimizer(self.learning_rate, self.numbers.max_grad_norm, self.numbers.weight_decay)

    def learning_rate(self, step: jax.Array) -> jax.Array:
        """Returns float32[], the learning rate of the gradient step after `step` others (int32[])."""
        c, first, last = self.config, self.numbers.learning_rate, self.numbers.final_learning_rate
        iteration = step // (c.num_updates * len(self.games))
        if c.lr_drop_after is not None:
            return jnp.where(iteration < c.lr_drop_after, jnp.float32(first), jnp.float32(last))
        return linear(first, last, iteration, c.num_iterations)

    def average_decay(self, step: jax.Array) -> jax.Array:
        """Returns float32[], the decay of the moving average after `step` gradient steps (int32[]).

        It grows to `ema`, so that the random first parameters soon have no weight.
        """
        done = step.astype(jnp.float32)
        return jnp.minimum(self.config.ema, (1 + done) / (10 + done))

    def init(self, key: jax.Array) -> TrainState:
        key, params_key, *game_keys = jax.random.split(key, 4)  # of boards and starts
        params = self.init_params(params_key)
        games = tuple(
            learner.init_game(*(key_of_game(key, learner.game) for key in game_keys)) for learner in self.by_game
        )
        opt_state = self.optimizer().init(split_statistics(params)[0])
        return self.with_params(TrainState(params, None, opt_state, games, key, jnp.int32(0)), params)

    def init_game(self, boards_key: jax.Array, starts_key: jax.Array) -> GameState:
        """Returns the state of the game before the first iteration."""
        c, env, n = self.config, self.env, self.config.num_envs
        capacity = replay.capacity_of(c.replay_size, n, c.rollout_length)
        return GameState(
            boards=jax.vmap(env.init)(jax.random.split(boards_key, n)),
            episode_stats=EpisodeStats(jnp.zeros(n, jnp.int32), jnp.zeros((n, env.num_players), jnp.float32)),
            starts=init_starts(env, starts_key, n, c.random_plies) if c.random_starts > 0 else None,
            replay=replay.empty(sample_shape(c, env), n, capacity),
        )

    def with_params(self, train_state: TrainState, params: Params) -> TrainState:
        return train_state._replace(params=params, learning=params if self.config.ema > 0 else None)
