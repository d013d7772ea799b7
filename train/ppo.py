"""PPO by self-play: one policy plays every seat of many boards and learns from all of them.

    ppo = PPO(Config(env="chinese_checkers(size=2, num_players=6)"))
    train_state = ppo.init(key)
    train_state, metrics = ppo.iterate(train_state)   # collect, advantages, update: one program, under one jit

`iterate` is pure: use `jax.vmap` to train several seeds. A stored `TrainState` continues with bit-identical results.
The settings are in `train/ppo_config.py`.

    python -m train.ppo --env "chinese_checkers(size=2, num_players=6)" --run-dir runs/first

Source: Schulman et al., Proximal Policy Optimization Algorithms, 2017, arXiv:1707.06347.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import optax

import jaxgames
from jaxgames.agents import Agent, with_epsilon
from jaxgames.wrappers import AutoResetState
from train.driver import cli
from train.models.policy import Params, Policy
from train.models.policy_agent import PolicyAgent, reward_scale, seat_values
from train.ops.advantages import per_seat_advantages
from train.ops.masked_categorical import log_prob_and_entropy, sample_and_log_prob
from train.ops.minibatches import group_boards, num_groups, shuffle, take_rows
from train.ops.sharding import REPLICATED, SHARDED, SHARDED_BY_BOARD, on_each_device
from train.ppo_config import FORMER_NAMES, Config, config_for

Metrics = dict[str, jax.Array]  # float32[] each


class EpisodeStats(NamedTuple):
    """Length and returns of the current game."""

    length: jax.Array  # int32[], steps
    returns: jax.Array  # float32[num_players]


class TrainState(NamedTuple):
    """The whole state of a run between two iterations."""

    params: Params
    opt_state: Any  # optax's
    boards: AutoResetState[Any]  # [num_envs]
    episode_stats: EpisodeStats  # [num_envs]
    key: jax.Array
    iteration: jax.Array  # int32[]


class Transition(NamedTuple):
    """One step of one board."""

    observation: jax.Array  # bool[*observation_shape]
    mask: jax.Array  # bool[num_actions]
    seat: jax.Array  # int32[], the mover
    action: jax.Array  # int32[]
    log_prob: jax.Array  # float32[]
    value: jax.Array  # float32[]
    rewards: jax.Array  # float32[num_players], scaled
    terminated: jax.Array  # bool[]
    truncated: jax.Array  # bool[]
    next_state: jaxgames.State  # the board that the step led to, before any restart
    episode_stats: EpisodeStats  # of the game that the step belongs to, the step included


@dataclass(frozen=True)
class PPO:
    """The learner that `train.driver` runs; static under jit."""

    name: ClassVar[str] = "ppo"
    config_type: ClassVar[type[Config]] = Config
    former_names: ClassVar[Mapping[str, str]] = FORMER_NAMES

    config: Config
    env: jaxgames.Env[Any] = field(init=False)
    policy: Policy = field(init=False)

    def __post_init__(self) -> None:
        c, env = self.config, jaxgames.make(self.config.env)
        object.__setattr__(self, "env", env)
        object.__setattr__(self, "policy", Policy.of(env, c.sharing, c.hidden_sizes, c.channels))

    @property
    def summary(self) -> dict[str, Any]:
        """The settings that identify a run on its first line and in its result."""
        return {"env": self.config.env, "sharing": self.config.sharing, "seed": self.config.seed}

    @property
    def divisible(self) -> dict[str, int]:
        """Counts that must be multiples of the number of devices, by their names."""
        return {"num_envs": self.config.num_envs, "the steps of a minibatch": self.config.minibatch_size}

    @property
    def partition_specs(self) -> Any:
        """Partition of each part of a train state over the devices."""
        return TrainState(REPLICATED, REPLICATED, SHARDED, SHARDED, REPLICATED, REPLICATED)  # pyright: ignore[reportArgumentType]  # specs stand for arrays

    def agent(
        self, params: Params, temperature: float | None = None, epsilon: float = 0.0, top: int | None = None
    ) -> Agent:
        """Returns the agent with these parameters; see `Learner.agent`."""
        temperature = self.config.temperature if temperature is None else temperature
        agent = PolicyAgent(params, self.env, self.policy, temperature, top)
        return with_epsilon(self.env, agent, epsilon) if epsilon != 0 else agent

    def init(self, key: jax.Array) -> TrainState:
        """Returns the train state before the first iteration."""
        key, params_key, boards_key = jax.random.split(key, 3)
        params = self.policy.init(params_key)
        num_envs, num_players = self.config.num_envs, self.env.num_players
        boards = jax.vmap(jaxgames.auto_reset(self.env).init)(jax.random.split(boards_key, num_envs))
        stats = EpisodeStats(jnp.zeros(num_envs, jnp.int32), jnp.zeros((num_envs, num_players), jnp.float32))
        return TrainState(params, make_optimizer(self.config).init(params), boards, stats, key, jnp.int32(0))

    def load(self, train_state: TrainState) -> TrainState:
        """Returns the train state: this learner takes nothing from other runs."""
        return train_state

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
        with jax.named_scope("update"):
            train_state, update_metrics = update(config, policy, train_state, steps, advantages)
        return train_state._replace(iteration=train_state.iteration + 1), metrics | update_metrics


def collect(
    config: Config, env: jaxgames.Env[Any], policy: Policy, train_state: TrainState
) -> tuple[TrainState, Transition]:
    """Returns the new train state and `rollout_length` steps of every board, leaves [rollout_length, num_envs, ...]."""
    env = jaxgames.auto_reset(env)
    scale = reward_scale(env)

    def step(carry: tuple[AutoResetState[Any], EpisodeStats], key: jax.Array):
        boards, stats = carry
        action_key, step_key = jax.random.split(key)
        observation = jax.vmap(env.observe)(boards)
        mask = jax.vmap(env.legal_action_mask)(boards)
        seat = boards.current_player
        logits, value = policy.apply(train_state.params, observation, seat)
        action, log_prob = sample_and_log_prob(action_key, logits, mask)
        boards = jax.vmap(env.step)(boards, action, jax.random.split(step_key, config.num_envs))
        stats = EpisodeStats(stats.length + 1, stats.returns + boards.rewards)
        transition = Transition(
            observation=observation,
            mask=mask,
            seat=seat,
            action=action,
            log_prob=log_prob,
            value=value,
            rewards=boards.rewards * scale,
            terminated=boards.terminated,
            truncated=boards.truncated,
            next_state=boards.before_reset,
            episode_stats=stats,
        )
        live = ~(boards.terminated | boards.truncated)
        stats = EpisodeStats(stats.length * live, stats.returns * live[:, None])
        return (boards, stats), transition

    key, subkey = jax.random.split(train_state.key)
    keys = jax.random.split(subkey, config.rollout_length)
    (boards, stats), steps = jax.lax.scan(step, (train_state.boards, train_state.episode_stats), keys)
    return train_state._replace(boards=boards, episode_stats=stats, key=key), steps


def estimate_advantages(
    config: Config, env: jaxgames.Env[Any], policy: Policy, params: Params, steps: Transition
) -> jax.Array:
    """Returns the advantages float32[rollout_length, num_envs] of the steps of a rollout."""
    bootstrap = on_each_device(
        functools.partial(bootstrap_values, env, policy), REPLICATED, SHARDED_BY_BOARD, out=SHARDED_BY_BOARD
    )(params, steps)
    estimate = functools.partial(per_seat_advantages, gamma=config.gamma, gae_lambda=config.gae_lambda)
    return jax.vmap(estimate, in_axes=1, out_axes=1)(
        steps.rewards, steps.value, steps.seat, steps.terminated, steps.truncated, bootstrap
    )


def bootstrap_values(env: jaxgames.Env[Any], policy: Policy, params: Params, steps: Transition) -> jax.Array:
    """Returns float32[rollout_length, num_envs, num_players]: every seat's value of the boards to bootstrap from.

    Those are truncated boards, and live boards at the end of the rollout; other entries are not used. Truncations are
    rare, so only those boards are evaluated, in chunks of num_envs.
    """
    shape = steps.truncated.shape
    boards = jax.tree.map(lambda x: x.reshape(x.shape[0] * x.shape[1], *x.shape[2:]), steps.next_state)
    cut_off = steps.truncated.at[-1].set(~steps.terminated[-1]).reshape(-1)
    chunk = shape[1]
    order = jnp.argsort(~cut_off, stable=True)  # the boards that were cut off come first

    def evaluate_chunk(carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        start, values = carry
        rows = jax.lax.dynamic_slice(order, (start,), (chunk,))
        chunk_boards = jax.tree.map(lambda x: x[rows], boards)
        return start + chunk, values.at[rows].set(seat_values(env, policy, params, chunk_boards))

    values = jnp.zeros((cut_off.size, env.num_players), jnp.float32)
    num_cut_off = cut_off.sum(dtype=jnp.int32)
    _, values = jax.lax.while_loop(lambda carry: carry[0] < num_cut_off, evaluate_chunk, (jnp.int32(0), values))
    return values.reshape(*shape, -1)


def update(
    config: Config, policy: Policy, train_state: TrainState, steps: Transition, advantages: jax.Array
) -> tuple[TrainState, Metrics]:
    """Returns the train state after `update_epochs` passes over `steps`, and metrics.

    `steps` and `advantages` have leaves [rollout_length, num_envs, ...].
    """
    optimizer = make_optimizer(config)
    targets = advantages + steps.value
    steps = steps._replace(next_state=None, episode_stats=None)  # pyright: ignore[reportArgumentType]  # not used here
    groups = num_groups(config.num_envs, config.minibatch_size)
    batch = group_boards((steps, advantages, targets), groups)

    def epoch(carry: tuple[Params, Any], key: jax.Array) -> Any:
        group_size = config.steps_per_iteration // groups
        rows = shuffle(key, groups, group_size, config.num_minibatches, config.minibatch_size)
        return jax.lax.scan(gradient_step, carry, rows)

    def gradient_step(carry: tuple[Params, Any], rows: jax.Array) -> Any:
        params, opt_state = carry
        loss = functools.partial(ppo_loss, config, policy)
        gradient, metrics = jax.grad(loss, has_aux=True)(params, *take_rows(batch, rows))
        updates, opt_state = optimizer.update(gradient, opt_state, params)
        return (optax.apply_updates(params, updates), opt_state), metrics

    key, subkey = jax.random.split(train_state.key)
    (params, opt_state), metrics = jax.lax.scan(
        epoch, (train_state.params, train_state.opt_state), jax.random.split(subkey, config.update_epochs)
    )
    metrics = jax.tree.map(jnp.mean, metrics)
    metrics["explained_variance"] = 1 - jnp.var(advantages) / (jnp.var(targets) + 1e-8)
    return train_state._replace(params=params, opt_state=opt_state, key=key), metrics


def ppo_loss(
    config: Config, policy: Policy, params: Params, steps: Transition, advantages: jax.Array, targets: jax.Array
) -> tuple[jax.Array, Metrics]:
    """Returns the loss and metrics of a minibatch [B, ...].

    The loss is clipped policy loss + vf_coef * value loss - ent_coef * entropy.
    """
    logits, value = policy.apply(params, steps.observation, steps.seat)
    log_prob, entropy = log_prob_and_entropy(logits, steps.mask, steps.action)
    log_ratio = log_prob - steps.log_prob
    ratio = jnp.exp(log_ratio)
    clipped_ratio = jnp.clip(ratio, 1 - config.clip_coef, 1 + config.clip_coef)
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    policy_loss = -jnp.minimum(ratio * advantages, clipped_ratio * advantages).mean()
    value_loss = 0.5 * jnp.square(value - targets).mean()
    entropy = entropy.mean()
    loss = policy_loss + config.vf_coef * value_loss - config.ent_coef * entropy
    return loss, {
        "policy_loss": policy_loss,
        "value_loss": value_loss,
        "entropy": entropy,
        "approx_kl": (ratio - 1 - log_ratio).mean(),
        "clip_fraction": (jnp.abs(ratio - 1) > config.clip_coef).mean(dtype=jnp.float32),
    }


def make_optimizer(config: Config) -> optax.GradientTransformation:
    """Returns Adam with gradients clipped by their norm; if `sharing="independent"`, by each seat's own norm."""
    num_updates = config.num_iterations * config.update_epochs * config.num_minibatches
    rate = optax.linear_schedule(config.learning_rate, 0.0, num_updates) if config.anneal_lr else config.learning_rate
    optimizer = optax.chain(optax.clip_by_global_norm(config.max_grad_norm), optax.adam(rate, eps=1e-5))
    if config.sharing == "independent":
        init, update = jax.vmap(optimizer.init), jax.vmap(optimizer.update)
        return optax.GradientTransformation(init, update)  # pyright: ignore[reportArgumentType]  # vmap hides the signature
    return optimizer


def episode_metrics(env: jaxgames.Env[Any], steps: Transition) -> Metrics:
    """Returns means over the games that ended in the rollout; NaN if no game ended."""
    ended = steps.terminated | steps.truncated
    num_episodes = ended.sum(dtype=jnp.float32)
    return {
        "num_episodes": num_episodes,
        "episode_length": (steps.episode_stats.length * ended).sum() / num_episodes,
        "truncated_rate": steps.truncated.sum() / num_episodes,
        **{
            f"episode_return/seat_{seat}": (steps.episode_stats.returns[..., seat] * ended).sum() / num_episodes
            for seat in range(env.num_players)
        },
    }


def train(config: Config, key: jax.Array) -> tuple[TrainState, Metrics]:
    """Returns the last train state of a whole run, and metrics with a leading axis of iterations. Put it under jit."""
    ppo = PPO(config)
    return jax.lax.scan(lambda train_state, _: ppo.iterate(train_state), ppo.init(key), length=config.num_iterations)


if __name__ == "__main__":
    cli.main(PPO, config_for)
