"""The train state of PPO, and the steps of a rollout that it learns from."""

from typing import Any, NamedTuple

import jax

import jaxgames
from jaxgames.wrappers import AutoResetState
from train.models.policy import Params
from train.ops.episodes import EpisodeStats
from train.ppo.opponents import OpponentState, is_among


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
