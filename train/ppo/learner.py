"""PPO by self-play or against opponents: one policy learns from its own decisions on many boards.

    ppo = PPO(Config(env="chinese_checkers(size=2, num_players=6)"))
    train_state = ppo.init(key)
    train_state, metrics = ppo.iterate(train_state)   # collect, advantages, update: one program, under one jit

`iterate` is pure: use `jax.vmap` to train several seeds. A stored `TrainState` continues with bit-identical results.
The settings are in `train/ppo/config.py`.

    python -m train.ppo --env "chinese_checkers(size=2, num_players=6)" --run-dir runs/first

Source: Schulman et al., Proximal Policy Optimization Algorithms, 2017, arXiv:1707.06347.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import optax

import jaxgames
from jaxgames._platforms import has_cpu_form
from train.models.critic_params import critic_only
from train.models.policy import Params, Policy, merge_statistics, split_statistics
from train.network_learner import NetworkLearner
from train.ops.episodes import EpisodeStats, Metrics, episode_metrics
from train.ops.masked_categorical import kl_divergence, log_prob_and_entropy
from train.ops.masks import masked, masked_mean
from train.ops.minibatches import group_boards, num_groups, shuffle, take_rows
from train.ops.optimizers import step_of
from train.ops.sharding import REPLICATED, SHARDED
from train.ppo.config import TRACED_SETTINGS, Config
from train.ppo.opponents import Opponents, OpponentState, SelfPlay
from train.ppo.rollout import (
    Decisions,
    TrainState,
    Transition,
    collect,
    decisions_of,
    estimate_advantages,
    with_reference_logits,
)
from train.ppo.rollout import bootstrap_values as bootstrap_values  # public here, as the other parts of an iteration

LossTerm = Callable[[jax.Array, Decisions], tuple[jax.Array, Metrics]]
"""(logits, decisions) -> a further term of the loss, float32[], and its metrics."""


@dataclass(frozen=True)
class PPO(NetworkLearner):
    """The learner that `train.driver` runs; static under jit."""

    name: ClassVar[str] = "ppo"
    config_type: ClassVar[type[Config]] = Config
    traced_settings: ClassVar[tuple[str, ...]] = TRACED_SETTINGS

    config: Config

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.opponents  # checks their texts

    @functools.cached_property
    def opponents(self) -> Opponents | SelfPlay:
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

    def init(self, key: jax.Array) -> TrainState:
        key, params_key, boards_key, opponents_key = jax.random.split(key, 4)
        params = self.init_params(params_key)
        num_envs, num_players = self.config.num_envs, self.env.num_players
        train_state = TrainState(
            params=params,
            opt_state=make_optimizer(self.config).init(split_statistics(params)[0]),
            boards=jax.vmap(jaxgames.auto_reset(self.env).init)(jax.random.split(boards_key, num_envs)),
            episode_stats=EpisodeStats(jnp.zeros(num_envs, jnp.int32), jnp.zeros((num_envs, num_players), jnp.float32)),
            key=key,
            iteration=jnp.int32(0),
            opponents=self.opponents.init(opponents_key, num_envs, functools.partial(self.agent, params)),
            step_kl_coef=None if self.config.step_kl_coef is None else jnp.float32(self.config.step_kl_coef),
        )
        return self.with_params(train_state, params)

    def with_params(self, train_state: TrainState, params: Params) -> TrainState:
        reference_params = None if self.config.kl_coef is None else jax.tree.map(jnp.copy, params)
        return train_state._replace(params=params, reference_params=reference_params)

    def load(self, train_state: TrainState) -> TrainState:
        """Returns the train state with the parameters of `init_from`, and of opponents that are other runs."""
        train_state = super().load(train_state)
        snapshot = functools.partial(self.agent, train_state.params)
        return train_state._replace(opponents=self.opponents.load(train_state.opponents, snapshot))

    def largest_arrays(self, key: jax.Array) -> tuple[TrainState, Transition, Decisions | None]:
        """Returns a train state, the steps collected from it and, on a CPU, their decisions; see `update`."""
        train_state, steps = collect(self.config, self.env, self.policy, self.opponents, self.init(key))
        decisions = jax.vmap(functools.partial(decisions_of, self.env))(steps) if has_cpu_form() else None
        return train_state, steps, decisions

    def iterate(self, train_state: TrainState) -> tuple[TrainState, Metrics]:
        """Returns the train state after one iteration, and metrics that are reduced on the device."""
        config, env, policy = self.config, self.env, self.policy
        with jax.named_scope("collect"):
            train_state, steps = collect(config, env, policy, self.opponents, train_state)
        with jax.named_scope("advantages"):
            steps, advantages = estimate_advantages(config, env, policy, train_state.params, steps)
        metrics = episode_metrics(env, steps)
        steps = with_reference_logits(env, policy, train_state.reference_params, steps)
        with jax.named_scope("update"):
            train_state, update_metrics = update(config, env, policy, train_state, steps, advantages)
        iteration, snapshot = train_state.iteration + 1, functools.partial(self.agent, train_state.params)
        opponents = self.opponents.with_snapshot(train_state.opponents, iteration, snapshot)
        return train_state._replace(iteration=iteration, opponents=opponents), metrics | update_metrics


def update(
    config: Config,
    env: jaxgames.Env[Any],
    policy: Policy,
    train_state: TrainState,
    steps: Transition,
    advantages: jax.Array,
) -> tuple[TrainState, Metrics]:
    """Returns the train state after `update_epochs` passes over `steps`, and metrics.

    `steps` and `advantages` have leaves [rollout_length, num_envs, ...].
    """
    optimizer = make_optimizer(config)
    targets = advantages + steps.value
    terms, keep_policy = loss_terms(config, train_state.iteration), policy_freeze(config, policy, train_state.iteration)
    observe = functools.partial(decisions_of, env)
    observes_once = has_cpu_form()  # which takes less time; elsewhere in every minibatch, which takes less memory
    groups = num_groups(config.num_envs, config.minibatch_size)
    batch = group_boards((jax.vmap(observe)(steps) if observes_once else steps, advantages, targets), groups)

    def epoch(carry: tuple[Params, Any], key: jax.Array) -> Any:
        dropout_keys = None
        if policy.network.training_mode:
            key, dropout_key = jax.random.split(key)
            dropout_keys = jax.random.split(dropout_key, config.num_minibatches)
        group_size = config.steps_per_iteration // groups
        rows = shuffle(key, groups, group_size, config.num_minibatches, config.minibatch_size)
        return jax.lax.scan(gradient_step, carry, (rows, dropout_keys))

    def gradient_step(carry: tuple[Params, Any], x: tuple[jax.Array, jax.Array | None]) -> Any:
        rows, dropout_key = x
        taken, advantages, targets = take_rows(batch, rows)
        decisions: Decisions = taken if observes_once else observe(taken)
        params, opt_state = carry
        weights, statistics = split_statistics(params)
        loss = functools.partial(
            ppo_loss,
            config,
            policy,
            statistics=statistics,
            dropout_key=dropout_key,
            terms=terms,
            step_kl_coef=train_state.step_kl_coef,
        )
        gradient, (metrics, after) = jax.grad(loss, has_aux=True)(weights, decisions, advantages, targets)
        without_step = merge_statistics(jax.tree.map(jnp.zeros_like, weights), statistics)
        gradient, statistics = split_statistics(keep_policy(without_step, merge_statistics(gradient, after)))
        weights, opt_state = step_of(optimizer, gradient, opt_state, weights)
        mask = decisions.learner_mask
        num_steps = None if mask is None else mask.sum(dtype=jnp.float32)
        return (merge_statistics(weights, statistics), opt_state), (metrics, num_steps)

    key, subkey = jax.random.split(train_state.key)
    start = train_state.params, restarted_after_warmup(config, train_state.opt_state, train_state.iteration)
    (params, opt_state), (metrics, num_steps) = jax.lax.scan(
        epoch, start, jax.random.split(subkey, config.update_epochs)
    )
    metrics = jax.tree.map(lambda x: jnp.average(x, weights=num_steps), metrics)
    mask = steps.learner_mask
    metrics["explained_variance"] = 1 - jnp.var(advantages, where=mask) / (jnp.var(targets, where=mask) + 1e-8)
    train_state = train_state._replace(params=params, opt_state=opt_state, key=key)
    if train_state.step_kl_coef is not None:
        metrics["step_kl_coef"] = train_state.step_kl_coef
        adapted = adapted_kl_coef(config, train_state.step_kl_coef, metrics["approx_kl"])
        train_state = train_state._replace(step_kl_coef=adapted)
    return train_state, metrics


def adapted_kl_coef(config: Config, coef: jax.Array, divergence: jax.Array) -> jax.Array:
    """Returns float32[], the weight of the divergence from the collecting policy in the next iteration.

    Source: Schulman et al. (2017), section 4, with the factors of RLlib.
    """
    factor = jnp.where(divergence > 2 * config.target_kl, 1.5, jnp.where(divergence < 0.5 * config.target_kl, 0.5, 1))
    return coef * factor


def ppo_loss(
    config: Config,
    policy: Policy,
    weights: Params,
    decisions: Decisions,
    advantages: jax.Array,
    targets: jax.Array,
    statistics: Params | None = None,
    dropout_key: jax.Array | None = None,
    terms: Sequence[LossTerm] = (),
    step_kl_coef: jax.Array | None = None,
) -> tuple[jax.Array, tuple[Metrics, Params]]:
    """Returns the loss of a minibatch [B, ...]; then its metrics, and the network's statistics after it.

    The loss is clipped policy loss + vf_coef * value loss - ent_coef * entropy + further `terms`. All are means over
    the learner's steps. With `step_kl_coef` it has this weight times the divergence from the policy that collected
    the steps, which is estimated from their actions: the mean of ratio - 1 - log ratio. `statistics` and `dropout_key`
    are for a network with a training mode, such as batch norm or dropout.
    """
    mask = decisions.learner_mask
    params = weights if statistics is None else merge_statistics(weights, statistics)
    logits, value, statistics = policy.apply_in_training(
        params, decisions.observation, decisions.seat, dropout_key, mask
    )
    log_prob, entropy = log_prob_and_entropy(logits, decisions.mask, decisions.action)
    log_ratio = masked(mask, log_prob - decisions.log_prob)
    ratio = jnp.exp(log_ratio)
    clipped_ratio = jnp.clip(ratio, 1 - config.clip_coef, 1 + config.clip_coef)
    advantages = masked(mask, (advantages - advantages.mean(where=mask)) / (advantages.std(where=mask) + 1e-8))
    policy_loss = -masked_mean(mask, jnp.minimum(ratio * advantages, clipped_ratio * advantages))
    squared_error = jnp.square(masked(mask, value - targets))
    if config.vf_clip is not None:
        squared_error = jnp.minimum(squared_error, config.vf_clip)
    value_loss = 0.5 * masked_mean(mask, squared_error)
    entropy = masked_mean(mask, entropy)
    loss = policy_loss + config.vf_coef * value_loss - config.ent_coef * entropy
    divergence = masked_mean(mask, ratio - 1 - log_ratio)
    if step_kl_coef is not None:
        loss += step_kl_coef * divergence
    metrics = {
        "policy_loss": policy_loss,
        "value_loss": value_loss,
        "entropy": entropy,
        "approx_kl": divergence,
        "clip_fraction": masked_mean(mask, (jnp.abs(ratio - 1) > config.clip_coef).astype(jnp.float32)),
    }
    for term in terms:
        term_loss, term_metrics = term(logits, decisions)
        loss += term_loss
        metrics |= term_metrics
    return loss, (metrics, statistics)


# -- optional parts: the divergence from a reference policy, the critic's warm-up ----------------------------------


def loss_terms(config: Config, iteration: jax.Array) -> tuple[LossTerm, ...]:
    """Returns the further terms of the loss in the iteration after `iteration` others (int32[])."""
    return () if config.kl_coef is None else (functools.partial(reference_kl, kl_weight(config, iteration)),)


def reference_kl(weight: jax.Array, logits: jax.Array, decisions: Decisions) -> tuple[jax.Array, Metrics]:
    """Returns weight * the divergence of the policy from the one of `reference_logits`, and metrics."""
    assert decisions.reference_logits is not None
    divergence = masked_mean(decisions.learner_mask, kl_divergence(logits, decisions.reference_logits, decisions.mask))
    return weight * divergence, {"reference_kl": divergence, "kl_coef": weight}


def kl_weight(config: Config, iteration: jax.Array) -> jax.Array:
    """Returns float32[], the weight of the divergence in the iteration after `iteration` others (int32[])."""
    first = jnp.float32(config.kl_coef)
    last = first if config.final_kl_coef is None else jnp.float32(config.final_kl_coef)
    done = jnp.minimum(iteration.astype(jnp.float32) / max(config.num_iterations - 1, 1), 1.0)
    return first + (last - first) * done


def policy_freeze(config: Config, policy: Policy, iteration: jax.Array) -> Callable[[Params, Params], Params]:
    """Returns (zero gradients and the statistics before, gradients and statistics after) -> those to continue with.

    In the first `critic_warmup` iterations these are the first ones, except for the critic's own parameters. So the
    frozen gradients are no part of the global norm or of Adam's moments.
    """
    if config.critic_warmup == 0:
        return lambda before, after: after
    return functools.partial(freeze_policy, critic_only(policy), iteration < config.critic_warmup)


def freeze_policy(critic_mask: Params, warmup: jax.Array, before: Params, after: Params) -> Params:
    """Returns `after`; if `warmup` (bool[]), `before` in place of all but the critic's own arrays."""
    return jax.tree.map(lambda own, old, new: new if own else jnp.where(warmup, old, new), critic_mask, before, after)


def restarted_after_warmup(config: Config, opt_state: Any, iteration: jax.Array) -> Any:
    """Returns the state of the optimizer, with Adam's moments and count of 0 in the iteration after the warm-up.

    Adam divides by moments that its count corrects. The count of the warm-up would make the first steps of the policy,
    whose moments are 0, up to six times too large.
    """

    def restarted(node: Any) -> Any:
        if not isinstance(node, optax.ScaleByAdamState):
            return node  # the count of the learning rate goes on
        return jax.tree.map(lambda leaf: jnp.where(iteration == config.critic_warmup, 0, leaf), node)

    if config.critic_warmup == 0:
        return opt_state
    return jax.tree.map(restarted, opt_state, is_leaf=lambda node: isinstance(node, optax.ScaleByAdamState))


# -- the optimizer, and whole runs ---------------------------------------------------------------------------------


def make_optimizer(config: Config) -> optax.GradientTransformation:
    """Returns Adam with gradients clipped by their norm; if `sharing="independent"`, by each seat's own norm."""
    num_updates = config.num_iterations * config.update_epochs * config.num_minibatches
    rate = optax.linear_schedule(config.learning_rate, 0.0, num_updates) if config.anneal_lr else config.learning_rate
    optimizer = optax.chain(optax.clip_by_global_norm(config.max_grad_norm), optax.adam(rate, eps=1e-5))
    if config.sharing == "independent":
        init, update = jax.vmap(optimizer.init), jax.vmap(optimizer.update)
        return optax.GradientTransformation(init, update)  # pyright: ignore[reportArgumentType]  # vmap hides the signature
    return optimizer


def train(config: Config, key: jax.Array) -> tuple[TrainState, Metrics]:
    """Returns the last train state of a whole run, and metrics with a leading axis of iterations. Put it under jit."""
    ppo = PPO(config)
    start = ppo.load(ppo.init(key))
    return jax.lax.scan(lambda train_state, _: ppo.iterate(train_state), start, length=config.num_iterations)
