"""A run of PPO, without the algorithm: first train state, optimizer, opponents, and the split over devices."""

import functools
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import optax

import jaxgames
from train.models.policy import Params, split_statistics
from train.network_learner import NetworkLearner
from train.ops.episodes import EpisodeStats
from train.ops.optimizers import make_optimizer
from train.ops.sharding import REPLICATED, SHARDED
from train.ppo.config import Config
from train.ppo.opponents import Opponents, OpponentState
from train.ppo.state import TrainState
from train.recipes import PRESETS, RECIPES


@dataclass(frozen=True)
class Run(NetworkLearner):
    """A run of PPO, which is static under jit."""

    name: ClassVar[str] = "ppo"
    config_type: ClassVar[type[Config]] = Config
    recipes, presets = RECIPES, PRESETS

    config: Config

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.opponents  # checks their texts

    @functools.cached_property
    def opponents(self) -> Opponents:
        return Opponents.of(self.env, self.config.opponents, self.config.learn_seats)

    @property
    def headline(self) -> dict[str, Any]:
        c = self.config
        opponents = {"opponents": ",".join(c.opponents)} if c.opponents else {}
        return {"env": c.env, "sharing": c.sharing, **opponents, "seed": c.seed}

    @property
    def batch_sizes(self) -> dict[str, int]:
        return {"num_envs": self.config.num_envs, "the steps of a minibatch": self.config.minibatch_size}

    @property
    def partition_specs(self) -> Any:
        whole: Any = REPLICATED  # specs in place of arrays
        boards: Any = SHARDED
        return TrainState(whole, whole, boards, boards, whole, whole, OpponentState(whole, boards), whole, whole)

    def optimizer(self) -> optax.GradientTransformation:
        """Returns Adam with gradients clipped by their norm; with sharing=independent, by each seat's own norm."""
        c, n = self.config, self.numbers
        num_updates = c.num_iterations * c.update_epochs * c.num_minibatches
        rate = optax.linear_schedule(n.learning_rate, 0.0, num_updates) if c.anneal_lr else n.learning_rate
        optimizer = make_optimizer(rate, n.max_grad_norm, eps=1e-5)
        if c.sharing == "independent":
            init, update = jax.vmap(optimizer.init), jax.vmap(optimizer.update)
            return optax.GradientTransformation(init, update)  # pyright: ignore[reportArgumentType]  # vmap hides the signature
        return optimizer

    def init(self, key: jax.Array) -> TrainState:
        key, params_key, boards_key, opponents_key = jax.random.split(key, 4)
        params, coef = self.init_params(params_key), self.numbers.step_kl_coef
        num_envs, num_players = self.config.num_envs, self.env.num_players
        train_state = TrainState(
            params=params,
            opt_state=self.optimizer().init(split_statistics(params)[0]),
            boards=jax.vmap(jaxgames.auto_reset(self.env).init)(jax.random.split(boards_key, num_envs)),
            episode_stats=EpisodeStats(jnp.zeros(num_envs, jnp.int32), jnp.zeros((num_envs, num_players), jnp.float32)),
            key=key,
            iteration=jnp.int32(0),
            opponents=self.opponents.init(opponents_key, num_envs, functools.partial(self.agent, params)),
            step_kl_coef=None if coef is None else jnp.float32(coef),
        )
        return self.with_params(train_state, params)

    def with_params(self, train_state: TrainState, params: Params) -> TrainState:
        reference_params = None if self.numbers.kl_coef is None else jax.tree.map(jnp.copy, params)
        return train_state._replace(params=params, reference_params=reference_params)

    def load(self, train_state: TrainState) -> TrainState:
        """Returns the train state with the parameters of `init_from`, and of opponents that are other runs."""
        train_state = super().load(train_state)
        snapshot = functools.partial(self.agent, train_state.params)
        return train_state._replace(opponents=self.opponents.load(train_state.opponents, snapshot))

    def with_snapshot(self, train_state: TrainState) -> TrainState:
        """Returns the train state after an iteration, with its parameters in the pools that take them now."""
        snapshot = functools.partial(self.agent, train_state.params)
        opponents = self.opponents.with_snapshot(train_state.opponents, train_state.iteration, snapshot)
        return train_state._replace(opponents=opponents)
