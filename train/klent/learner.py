"""KLENT: self-play without search, towards a policy that is improved by the values of all actions.

The network has a policy p and a value for each action, q. Steps are collected with the improved policy

    p' = softmax((q + kl_weight * log p) / (entropy_weight + kl_weight)) over the legal actions

which has the highest mean q + entropy_weight * its entropy - kl_weight * its divergence from p. Then the network learns

    the policy                          p' of the step, by its divergence from p
    q of the action taken, and a value  the lambda return of the step, by half the squared errors

The lambda return bootstraps from the mean of q over p'. The value is learned beside q for agents that search.

    python -m train.klent --env minichess --run-dir runs/klent

Everything else is PPO: `train/ppo/learner.py`.

Source: arXiv:2602.10894, 2026.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

import jaxgames
from jaxgames.sampling import shifted_logits
from train.klent.config import Config, Numbers
from train.models.layers import Network
from train.models.policy import MoreValues, Params, Policy, split_statistics
from train.ops.episodes import Metrics
from train.ops.masked_categorical import kl_divergence, log_prob_and_entropy
from train.ops.minibatches import masked_mean
from train.ppo import PPO, Minibatch, TrainState, Transition
from train.recipes import PRESETS, RECIPES

# Settings that mean the same as in PPO.
OF_PPO = {field.name for field in dataclasses.fields(Config)} - {*Numbers.__annotations__}


@dataclass(frozen=True)
class ActionValuePolicy(Policy):
    """A policy whose network has a value per action after the mover's. In play it has the mover's only."""

    def apply(self, params: Params, observation: jax.Array, seat: jax.Array) -> tuple[jax.Array, jax.Array]:
        logits, values = super().apply(params, observation, seat)
        return logits, values[:, 0]

    def apply_in_training(
        self, params: Params, observation: jax.Array, seat: jax.Array, key: Any, counted: jax.Array | None = None
    ) -> tuple[jax.Array, jax.Array, Params]:
        """Returns what `Policy.apply_in_training` returns, with the values of all actions."""
        if not self.network.training_mode:
            return *super().apply(params, observation, seat), split_statistics(params)[1]
        return super().apply_in_training(params, observation, seat, key, counted)


@dataclass(frozen=True)
class KLENT(PPO):
    """The algorithm: PPO with other outputs and another loss."""

    name: ClassVar[str] = "klent"
    config_type: ClassVar[type[Config]] = Config
    recipes: ClassVar[Mapping[str, Any]] = {
        game: {name: value for name, value in settings.items() if name in OF_PPO} for game, settings in RECIPES.items()
    }
    presets: ClassVar[Mapping[str, Any]] = {"accelerator": PRESETS["accelerator"]}

    config: Config

    def make_policy(self, env: jaxgames.Env[Any]) -> Policy:
        policy = super().make_policy(env)
        network = policy.network
        heads = MoreValues(network.heads, env.num_actions)
        network = Network(network.encoder, heads, network.training_mode)
        return ActionValuePolicy(policy.observation_shape, policy.num_players, policy.sharing, network)

    def outputs(self, params: Params, boards: Any) -> tuple[jax.Array, jax.Array]:
        """Returns the logits of the improved policy, and its mean of the action values, for boards [B, ...].

        Where no action is legal, as on truncated boards, the mean is the value.
        """
        n, mask = self.numbers, jax.vmap(self.env.legal_action_mask)(boards)
        observation = jax.vmap(self.env.observe)(boards)
        logits, values = Policy.apply(self.policy, params, observation, boards.current_player)  # with those of actions
        improved = improved_logits(values[:, 1:], logits, mask, n.entropy_weight, n.kl_weight)
        weights = jnp.exp(shifted_logits(improved, mask))
        mean = (weights * values[:, 1:]).sum(-1) / jnp.maximum(weights.sum(-1), 1)
        return improved, jnp.where(mask.any(-1), mean, values[:, 0])

    def with_reference(self, train_state: TrainState, steps: Transition) -> Transition:
        """Returns the steps of a rollout with the logits of the improved policy that collected them."""
        return super().with_reference(train_state._replace(reference_params=train_state.params), steps)

    def loss(
        self, train_state: TrainState, params: Params, minibatch: Minibatch, dropout_key: jax.Array | None = None
    ) -> tuple[jax.Array, tuple[Metrics, Params]]:
        """Returns the loss of a minibatch, its metrics, and the network's statistics; see `PPO.loss`.

        It is the divergence of the improved policy that collected the step from the network's, plus vf_coef * value
        loss, which is half the squared errors of q and the value.
        """
        n, m, mask = self.numbers, minibatch, minibatch.learner_mask
        logits, values, statistics = self.policy.apply_in_training(params, m.observation, m.seat, dropout_key, mask)
        value, of_actions = values[:, 0], values[:, 1:]
        assert m.reference_logits is not None
        divergence = masked_mean(mask, kl_divergence(m.reference_logits, logits, m.mask))
        taken = jnp.take_along_axis(of_actions, m.action[:, None], axis=1)[:, 0]
        errors = jnp.square(taken - m.target) + jnp.square(value - m.target)
        value_loss = 0.5 * masked_mean(mask, errors)
        _, entropy = log_prob_and_entropy(logits, m.mask, m.action)
        metrics = {"policy_loss": divergence, "value_loss": value_loss, "entropy": masked_mean(mask, entropy)}
        return divergence + n.vf_coef * value_loss, (metrics, statistics)


def improved_logits(
    values: jax.Array, logits: jax.Array, mask: jax.Array, entropy_weight: float, kl_weight: float
) -> jax.Array:
    """Returns float32[B, num_actions], the logits of the improved policy.

    Args:
      values: float32[B, num_actions], of the actions.
      logits: float32[B, num_actions], of the policy that is improved.
      mask: bool[B, num_actions], the legal actions.
      entropy_weight: of the entropy of the improved policy.
      kl_weight: of its divergence from the policy.
    """
    return (values + kl_weight * shifted_logits(logits, mask)) / (entropy_weight + kl_weight)
