"""A run of PPO, without the algorithm: its arrays, first train state, optimizer, opponents, and split over devices."""

import functools
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import optax

import jaxgames
from jaxgames.wrappers import AutoResetState
from train.models.policy import Params, split_statistics
from train.network_learner import NetworkLearner
from train.ops.episodes import EpisodeStats
from train.ops.optimizers import make_optimizer
from train.ops.sharding import REPLICATED, SHARDED
from train.ppo.config import Config
from train.ppo.opponents import Opponents, OpponentState, Pool, is_among
from train.recipes import PRESETS, RECIPES


class TrainState(NamedTuple):
    """The whole state of a run between two iterations."""

    params: Params
    opt_state: Any  # optax's
    boards: AutoResetState[Any]  # [num_envs]
    episode_stats: EpisodeStats  # [num_envs]
    key: jax.Array
    iteration: jax.Array  # int32[]
    opponents: OpponentState  # empty in self-play
    reference_params: Params | None = None  # the policy that `kl_coef` holds the learner near; None without `kl_coef`
    step_kl_coef: jax.Array | None = None  # float32[], the adapted weight; None without the setting


class Transition(NamedTuple):
    """One step of one board.

    It holds the board and not its observation and mask, which are many more bytes: the update observes again.
    """

    state: jaxgames.State  # the live board on which the step was played
    action: jax.Array  # int32[]
    log_prob: jax.Array  # float32[]
    value: jax.Array  # float32[]
    rewards: jax.Array  # float32[num_players], scaled
    terminated: jax.Array  # bool[]
    truncated: jax.Array  # bool[]
    episode_stats: EpisodeStats  # of the game that the step belongs to, the step included
    step_key: jax.Array | None = None  # of `env.step`; None unless `env.needs_key`
    learner_seats: jax.Array | None = None  # bool[num_players], in this game; None without opponents: all seats
    reference_logits: jax.Array | None = None  # float32[num_actions], of the policy with `reference_params`
    has_target: jax.Array | None = None  # bool[], whether its advantage is known; None: in all steps

    @property
    def seat(self) -> jax.Array:
        """int32[...], the mover."""
        return self.state.current_player

    @property
    def learner_mask(self) -> jax.Array | None:
        """bool[...], whether the learner plays the mover's seat and the advantage is known. None: everywhere."""
        own = None if self.learner_seats is None else is_among(self.seat, self.learner_seats)
        if own is None or self.has_target is None:
            return self.has_target if own is None else own
        return own & self.has_target


class Minibatch(NamedTuple):
    """Steps as the loss reads them, leaves [B, ...]."""

    observation: jax.Array  # bool[*observation_shape]
    mask: jax.Array  # bool[num_actions]
    seat: jax.Array  # int32[], the mover
    action: jax.Array  # int32[]
    log_prob: jax.Array  # float32[], of the policy that collected the step
    advantage: jax.Array  # float32[]
    target: jax.Array  # float32[], of the value
    learner_mask: jax.Array | None = None  # bool[], see Transition
    reference_logits: jax.Array | None = None  # float32[num_actions]


def minibatch_of(env: jaxgames.Env[Any], steps: Transition, advantages: jax.Array, targets: jax.Array) -> Minibatch:
    """Returns steps with leaves [B, ...], advantages and targets float32[B] as a minibatch: it observes the boards."""
    return Minibatch(
        observation=jax.vmap(env.observe)(steps.state),
        mask=jax.vmap(env.legal_action_mask)(steps.state),
        seat=steps.seat,
        action=steps.action,
        log_prob=steps.log_prob,
        advantage=advantages,
        target=targets,
        learner_mask=steps.learner_mask,
        reference_logits=steps.reference_logits,
    )


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
        entries = tuple(Pool.of(text) or text for text in self.config.opponents)
        return Opponents(self.env, entries, self.config.learn_seats)

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
