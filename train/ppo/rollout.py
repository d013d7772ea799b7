"""Rollouts of PPO: the steps that are collected, their advantages, and metrics of the games that ended.

All boards play at the same time, and a finished board restarts in the same step. The learner plays every seat, or with
opponents (`train/ppo/opponents.py`) only its own.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

import jaxgames
from jaxgames.policies.policy import has_seat_values, is_symmetric, reward_scale, seat_values
from jaxgames.wrappers import AutoResetState, split_step_key
from train.models.policy import Params, Policy
from train.ops.advantages import per_seat_advantages
from train.ops.episodes import EpisodeStats, map_next_boards
from train.ops.masked_categorical import sample_and_log_prob
from train.ops.sharding import REPLICATED, SHARDED_BY_BOARD, on_each_device
from train.ppo.config import Config
from train.ppo.opponents import Games, Opponents, OpponentState, SelfPlay, is_among


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


class Decisions(NamedTuple):
    """The steps of a minibatch as the loss reads them, leaves [B, ...]."""

    observation: jax.Array  # bool[*observation_shape]
    mask: jax.Array  # bool[num_actions]
    seat: jax.Array  # int32[], the mover
    action: jax.Array  # int32[]
    log_prob: jax.Array  # float32[]
    learner_mask: jax.Array | None = None  # bool[], see Transition
    reference_logits: jax.Array | None = None  # float32[num_actions]


def decisions_of(env: jaxgames.Env[Any], steps: Transition) -> Decisions:
    """Returns the decisions of steps with leaves [B, ...]: it observes their boards."""
    return Decisions(
        observation=jax.vmap(env.observe)(steps.state),
        mask=jax.vmap(env.legal_action_mask)(steps.state),
        seat=steps.seat,
        action=steps.action,
        log_prob=steps.log_prob,
        learner_mask=steps.learner_mask,
        reference_logits=steps.reference_logits,
    )


def collect(
    config: Config,
    env: jaxgames.Env[Any],
    policy: Policy,
    opponents: Opponents | SelfPlay,
    train_state: TrainState,
) -> tuple[TrainState, Transition]:
    """Returns the new train state and `rollout_length` steps of every board, leaves [rollout_length, num_envs, ...]."""
    players = opponents.players(train_state.opponents.agents)
    scale = reward_scale(env)
    restarting = jaxgames.auto_reset(env)

    def step(carry: tuple[AutoResetState[Any], EpisodeStats, Games], key: jax.Array):
        boards, stats, games = carry
        action_key, step_key, opponents_key, games_key = jax.random.split(key, 4)
        state = boards.board
        mask = jax.vmap(env.legal_action_mask)(state)
        logits, value = policy.apply(train_state.params, jax.vmap(env.observe)(state), state.current_player)
        action, log_prob = sample_and_log_prob(action_key, logits, mask)
        action = players.replace(action, opponents_key, games, state, mask, config.opponent_epsilon)
        step_keys = jax.random.split(step_key, config.num_envs)
        boards = jax.vmap(restarting.step)(boards, action, step_keys)
        stats = EpisodeStats(stats.length + 1, stats.returns + boards.rewards)
        transition = Transition(
            state=state,
            action=action,
            log_prob=log_prob,
            value=value,
            rewards=boards.rewards * scale,
            terminated=boards.terminated,
            truncated=boards.truncated,
            episode_stats=stats,
            step_key=jax.vmap(split_step_key)(step_keys)[0] if env.needs_key else None,
            learner_seats=games.learner_seats,
        )
        live = ~(boards.terminated | boards.truncated)
        stats = EpisodeStats(jnp.where(live, stats.length, 0), jnp.where(live[:, None], stats.returns, 0))
        return (boards, stats, opponents.redraw(games, games_key, ~live)), transition

    key, subkey = jax.random.split(train_state.key)
    keys = jax.random.split(subkey, config.rollout_length)
    start = train_state.boards, train_state.episode_stats, train_state.opponents.games
    (boards, stats, games), steps = jax.lax.scan(step, start, keys)
    state = train_state.opponents._replace(games=games)
    return train_state._replace(boards=boards, episode_stats=stats, key=key, opponents=state), steps


def with_reference_logits(
    env: jaxgames.Env[Any], policy: Policy, params: Params | None, steps: Transition
) -> Transition:
    """Returns the steps of a rollout with the logits of the reference policy; as they are if it has no parameters."""
    if params is None:
        return steps

    def logits_of(states: Any) -> jax.Array:
        return policy.apply(params, jax.vmap(env.observe)(states), states.current_player)[0]

    return steps._replace(reference_logits=jax.lax.map(logits_of, steps.state))


def estimate_advantages(
    config: Config, env: jaxgames.Env[Any], policy: Policy, params: Params, steps: Transition
) -> tuple[Transition, jax.Array]:
    """Returns the steps of a rollout with `has_target`, and their advantages float32[rollout_length, num_envs].

    Where a rollout or a game is cut off, a policy may have no value of the seats that are not to move; see
    `jaxgames.policies.policy`. Then their last decisions have no target.
    """
    bootstrap, is_valued = on_each_device(
        functools.partial(bootstrap_values, env, policy), REPLICATED, SHARDED_BY_BOARD, out=SHARDED_BY_BOARD
    )(params, steps)
    estimate = functools.partial(per_seat_advantages, gamma=config.gamma, gae_lambda=config.gae_lambda)
    advantages, has_target = jax.vmap(estimate, in_axes=1, out_axes=1)(
        steps.rewards, steps.value, steps.seat, steps.terminated, steps.truncated, bootstrap, is_valued
    )
    return steps if is_symmetric(env) else steps._replace(has_target=has_target), advantages


def bootstrap_values(
    env: jaxgames.Env[Any], policy: Policy, params: Params, steps: Transition
) -> tuple[jax.Array, jax.Array]:
    """Returns the values of all seats on the boards to bootstrap from, and whether the policy has them.

    Both are [rollout_length, num_envs, num_players], float32 and bool. The boards are truncated ones, and live ones at
    the end of the rollout; other entries are not used. Truncations are rare, so only those boards are evaluated, in
    chunks of num_envs.
    """

    def of_boards(states: Any) -> jax.Array:
        mover = states.current_player
        _, values = policy.apply(params, jax.vmap(env.observe)(states), mover)
        is_mover = mover[:, None] == jnp.arange(env.num_players)
        is_valued = is_mover | has_seat_values(env, values.shape[1:])
        of_seats = jnp.where(is_valued, seat_values(env, values, mover), 0)
        return jnp.stack([of_seats, is_valued.astype(of_seats.dtype)], axis=1)

    cut_off = steps.truncated.at[-1].set(~steps.terminated[-1])
    both = map_next_boards(env, of_boards, steps, cut_off).reshape(*cut_off.shape, 2, env.num_players)
    return both[:, :, 0], both[:, :, 1] > 0
