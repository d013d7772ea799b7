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
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import optax

import jaxgames
from jaxgames.agents import Agent, with_epsilon
from jaxgames.mcts import SearchConfig
from jaxgames.mcts.config import Policy as SearchPolicy
from jaxgames.policies.agent import PolicyAgent, temperature_of
from train import agents
from train.models.critic_params import critic_only
from train.models.policy import Params, Policy, merge_statistics, split_statistics
from train.models.search_agent import SearchAgent
from train.opponents import Opponents, OpponentState
from train.ops.episodes import EpisodeStats, Metrics, episode_metrics
from train.ops.masked_categorical import kl_divergence, log_prob_and_entropy
from train.ops.minibatches import group_boards, num_groups, shuffle, take_rows
from train.ops.sharding import REPLICATED, SHARDED
from train.ppo.config import FORMER_NAMES, TRACED_SETTINGS, Config
from train.ppo.rollout import TrainState, Transition, collect, estimate_advantages, with_first_logits
from train.ppo.rollout import bootstrap_values as bootstrap_values  # public here, as the other parts of an iteration
from train.pretrained import load_params


@dataclass(frozen=True)
class PPO:
    """The learner that `train.driver` runs; static under jit."""

    name: ClassVar[str] = "ppo"
    config_type: ClassVar[type[Config]] = Config
    former_names: ClassVar[Mapping[str, str]] = FORMER_NAMES
    traced_settings: ClassVar[tuple[str, ...]] = TRACED_SETTINGS

    config: Config
    env: jaxgames.Env[Any] = field(init=False)
    policy: Policy = field(init=False)
    opponents: Opponents | None = field(init=False)

    def __post_init__(self) -> None:
        c, env = self.config, jaxgames.make(self.config.env)
        object.__setattr__(self, "env", env)
        object.__setattr__(self, "opponents", Opponents.of(env, c.opponents, c.learn_seats))
        settings = {"hidden_sizes": c.hidden_sizes, "channels": c.channels, "activation": c.activation}
        object.__setattr__(self, "policy", Policy.of(env, c.sharing, c.network, **settings))

    @property
    def summary(self) -> dict[str, Any]:
        """The settings that identify a run on its first line and in its result."""
        opponents = {"opponents": ",".join(self.config.opponents)} if self.opponents else {}
        return {"env": self.config.env, "sharing": self.config.sharing, **opponents, "seed": self.config.seed}

    @property
    def divisible(self) -> dict[str, int]:
        """Counts that must be multiples of the number of devices, by their names."""
        return {"num_envs": self.config.num_envs, "the steps of a minibatch": self.config.minibatch_size}

    @property
    def partition_specs(self) -> Any:
        """Partition of each part of a train state over the devices."""
        opponents: Any = None if self.opponents is None else OpponentState(REPLICATED, SHARDED)  # pyright: ignore[reportArgumentType]  # specs stand for arrays
        whole: Any = REPLICATED
        first_params = None if self.config.kl_coef is None else whole
        return TrainState(whole, whole, SHARDED, SHARDED, whole, whole, opponents, first_params)  # pyright: ignore[reportArgumentType]  # here, too

    def agent(
        self,
        params: Params,
        temperature: float | None = None,
        epsilon: float = 0.0,
        top: int | None = None,
        simulations: int | None = None,
        search: SearchPolicy | None = None,
    ) -> Agent:
        """Returns the agent with these parameters; see `Learner.agent`.

        Args:
          params: from a train state.
          temperature: 1 samples from the policy, 0 plays greedily; None is the temperature of the settings, or 0 with
            simulations. With `top`, None is 1 where that is 0.
          epsilon: the probability of a uniformly random legal action instead.
          top: the number of most probable legal actions that are sampled from; None for all.
          simulations: of a tree search on the network; None or 0 plays with the network alone.
          search: the rule of the search, "gumbel" or "puct"; None is "gumbel".
        """
        if simulations:
            # `gamma` is per decision of a seat, and that of a search per turn: a round has a turn of every seat.
            gamma = self.config.gamma ** (1 / self.env.num_players)
            settings = SearchConfig(simulations=simulations, policy=search or "gumbel", gamma=gamma)
            agent = SearchAgent(params, self.env, self.policy, settings, temperature_of(temperature, 0.0, top), top)
        else:
            temperature = temperature_of(temperature, self.config.temperature, top)
            agent = PolicyAgent(params, self.env, self.policy, temperature, top)
        return with_epsilon(self.env, agent, epsilon) if epsilon != 0 else agent

    def make_agent(self, text: str) -> Agent:
        """Returns the agent that `text` names; see `train.agents.make`."""
        return agents.make(text, self.env)

    def init_params(self, key: jax.Array) -> Params:
        """Returns random parameters."""
        return self.policy.init(key)

    def init(self, key: jax.Array) -> TrainState:
        """Returns the train state before the first iteration."""
        key, params_key, boards_key, *opponents_key = jax.random.split(key, 4 if self.opponents else 3)
        params = self.init_params(params_key)
        num_envs, num_players = self.config.num_envs, self.env.num_players
        boards = jax.vmap(jaxgames.auto_reset(self.env).init)(jax.random.split(boards_key, num_envs))
        stats = EpisodeStats(jnp.zeros(num_envs, jnp.int32), jnp.zeros((num_envs, num_players), jnp.float32))
        opt_state = make_optimizer(self.config).init(split_statistics(params)[0])
        train_state = TrainState(params, opt_state, boards, stats, key, jnp.int32(0))
        if self.config.kl_coef is not None:
            train_state = train_state._replace(first_params=params)
        if self.opponents is None:
            return train_state
        snapshot = functools.partial(self.agent, params)
        return train_state._replace(opponents=self.opponents.init(opponents_key[0], num_envs, snapshot))

    def load(self, train_state: TrainState) -> TrainState:
        """Returns the train state with the parameters of `init_from`, and of opponents that are other runs."""
        if self.config.init_from is not None:
            params = load_params(self.config.init_from, train_state.params, self.config)
            train_state = train_state._replace(params=params)
            if train_state.first_params is not None:
                train_state = train_state._replace(first_params=jax.tree.map(jnp.copy, params))
        if self.opponents is None or train_state.opponents is None:
            return train_state
        snapshot = functools.partial(self.agent, train_state.params)
        return train_state._replace(opponents=self.opponents.load(train_state.opponents, snapshot))

    def held_arrays(self, key: jax.Array) -> tuple[TrainState, Transition]:
        """Returns a train state and the steps collected from it."""
        return collect(self.config, self.env, self.policy, self.init(key))

    def iterate(self, train_state: TrainState) -> tuple[TrainState, Metrics]:
        """Returns the train state after one iteration, and metrics that are reduced on the device."""
        config, env, policy = self.config, self.env, self.policy
        with jax.named_scope("collect"):
            train_state, steps = collect(config, env, policy, train_state)
        with jax.named_scope("advantages"):
            advantages = estimate_advantages(config, env, policy, train_state.params, steps)
        metrics = episode_metrics(env, steps)
        steps = with_first_logits(policy, train_state.first_params, steps)
        with jax.named_scope("update"):
            train_state, update_metrics = update(config, policy, train_state, steps, advantages)
        train_state = train_state._replace(iteration=train_state.iteration + 1)
        if self.opponents is not None and train_state.opponents is not None:
            snapshot = functools.partial(self.agent, train_state.params)
            grown = self.opponents.grown(train_state.opponents, train_state.iteration, snapshot)
            train_state = train_state._replace(opponents=grown)
        return train_state, metrics | update_metrics


def update(
    config: Config, policy: Policy, train_state: TrainState, steps: Transition, advantages: jax.Array
) -> tuple[TrainState, Metrics]:
    """Returns the train state after `update_epochs` passes over `steps`, and metrics.

    `steps` and `advantages` have leaves [rollout_length, num_envs, ...].
    """
    optimizer = make_optimizer(config)
    targets = advantages + steps.value
    steps = steps._replace(next_state=None, episode_stats=None)  # pyright: ignore[reportArgumentType]  # not used here
    weight_of_kl = None if config.kl_coef is None else kl_weight(config, train_state.iteration)
    learns_alone = critic_only(policy) if config.critic_warmup > 0 else None
    groups = num_groups(config.num_envs, config.minibatch_size)
    batch = group_boards((steps, advantages, targets), groups)

    def epoch(carry: tuple[Params, Any], key: jax.Array) -> Any:
        group_size = config.steps_per_iteration // groups
        dropout_keys = None
        if policy.network.training_mode:
            key, dropout_key = jax.random.split(key)
            dropout_keys = jax.random.split(dropout_key, config.num_minibatches)
        rows = shuffle(key, groups, group_size, config.num_minibatches, config.minibatch_size)
        return jax.lax.scan(gradient_step, carry, (rows, dropout_keys))

    def gradient_step(carry: tuple[Params, Any], minibatch: tuple[jax.Array, jax.Array | None]) -> Any:
        (params, opt_state), (rows, dropout_key) = carry, minibatch
        weights, statistics = split_statistics(params)
        loss = functools.partial(
            ppo_loss, config, policy, statistics=statistics, dropout_key=dropout_key, kl_weight=weight_of_kl
        )
        steps, advantages, targets = take_rows(batch, rows)
        gradient, (metrics, statistics) = jax.grad(loss, has_aux=True)(weights, steps, advantages, targets)
        updates, opt_state = optimizer.update(gradient, opt_state, weights)
        num_own = None if steps.is_learners is None else steps.is_learners.sum()
        after = merge_statistics(optax.apply_updates(weights, updates), statistics)
        if learns_alone is not None:
            after = in_warmup(train_state.iteration < config.critic_warmup, learns_alone, params, after)
        return (after, opt_state), (metrics, num_own)

    key, subkey = jax.random.split(train_state.key)
    (params, opt_state), (metrics, num_own) = jax.lax.scan(
        epoch, (train_state.params, train_state.opt_state), jax.random.split(subkey, config.update_epochs)
    )
    metrics = jax.tree.map(lambda x: jnp.average(x, weights=num_own), metrics)
    own = steps.is_learners
    metrics["explained_variance"] = 1 - jnp.var(advantages, where=own) / (jnp.var(targets, where=own) + 1e-8)
    return train_state._replace(params=params, opt_state=opt_state, key=key), metrics


def ppo_loss(
    config: Config,
    policy: Policy,
    weights: Params,
    steps: Transition,
    advantages: jax.Array,
    targets: jax.Array,
    statistics: Params | None = None,
    dropout_key: jax.Array | None = None,
    kl_weight: jax.Array | None = None,
) -> tuple[jax.Array, tuple[Metrics, Params]]:
    """Returns the loss of a minibatch [B, ...]; then its metrics, and the network's statistics after it.

    The loss is clipped policy loss + vf_coef * value loss - ent_coef * entropy. All are means over the learner's steps.
    `statistics` and `dropout_key` are for a network with a training mode, such as batch norm or dropout. With
    `kl_weight` (float32[]), the loss has kl_weight * the divergence of the policy from the one of `first_logits`, too.
    """
    own = steps.is_learners
    params = weights if statistics is None else merge_statistics(weights, statistics)
    logits, value, statistics = policy.apply_in_training(params, steps.observation, steps.seat, dropout_key, own)
    log_prob, entropy = log_prob_and_entropy(logits, steps.mask, steps.action)
    log_ratio = zero_unless(own, log_prob - steps.log_prob)
    ratio = jnp.exp(log_ratio)
    clipped_ratio = jnp.clip(ratio, 1 - config.clip_coef, 1 + config.clip_coef)
    advantages = zero_unless(own, (advantages - advantages.mean(where=own)) / (advantages.std(where=own) + 1e-8))
    policy_loss = -mean_over(own, jnp.minimum(ratio * advantages, clipped_ratio * advantages))
    value_loss = 0.5 * mean_over(own, jnp.square(zero_unless(own, value - targets)))
    entropy = mean_over(own, entropy)
    loss = policy_loss + config.vf_coef * value_loss - config.ent_coef * entropy
    metrics = {
        "policy_loss": policy_loss,
        "value_loss": value_loss,
        "entropy": entropy,
        "approx_kl": mean_over(own, ratio - 1 - log_ratio),
        "clip_fraction": mean_over(own, jnp.abs(ratio - 1) > config.clip_coef),
    }
    if kl_weight is not None and steps.first_logits is not None:
        first_kl = mean_over(own, kl_divergence(logits, steps.first_logits, steps.mask))
        loss += kl_weight * first_kl
        metrics |= {"first_kl": first_kl, "kl_coef": kl_weight}
    return loss, (metrics, statistics)


def kl_weight(config: Config, iteration: jax.Array) -> jax.Array:
    """Returns float32[], the weight of the divergence in the iteration after `iteration` others (int32[])."""
    first = jnp.float32(config.kl_coef)
    last = first if config.final_kl_coef is None else jnp.float32(config.final_kl_coef)
    done = jnp.minimum(iteration / max(config.num_iterations - 1, 1), 1.0)
    return first + (last - first) * done


def in_warmup(warmup: jax.Array, learns_alone: Params, before: Params, after: Params) -> Params:
    """Returns the parameters after a gradient step, of which only the critic's own changed if `warmup` (bool[])."""
    return jax.tree.map(lambda own, old, new: new if own else jnp.where(warmup, old, new), learns_alone, before, after)


def zero_unless(chosen: jax.Array | None, x: jax.Array) -> jax.Array:
    """Returns `x` with 0 wherever `chosen` is False, also for NaN and infinity; `x` itself for None."""
    return x if chosen is None else jnp.where(chosen, x, 0)


def mean_over(chosen: jax.Array | None, x: jax.Array) -> jax.Array:
    """Returns float32[], the mean of the chosen entries of `x`, 0 if there are none; of all entries for None."""
    if chosen is None:
        return x.mean(dtype=jnp.float32)
    return zero_unless(chosen, x).sum(dtype=jnp.float32) / jnp.maximum(chosen.sum(), 1)


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
