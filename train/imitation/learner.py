"""Imitation: a policy learns from labelled positions, such as positions of recorded games or of a solved game.

    imitation = Imitation(Config(env="checkers", data="pairs.npz"))
    data = imitation.load_data()
    train_state, metrics = imitation.iterate(imitation.init(key), data)   # an epoch: one program, under one jit

The policy learns the action that was played, or the probabilities of a labelled policy. The value learns the result
of the game. `iterate` is pure. A stored `TrainState` continues with bit-identical results.
The settings are in `train/imitation/config.py`, the file of positions is described in `train/data/positions.py`.

    python -m train.imitation --env checkers --data pairs.npz --run-dir runs/imitation
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import jaxgames
from jaxgames.policies.policy import reward_scale
from jaxgames.sampling import MASKED_LOGIT, shifted_logits
from train.imitation.config import TRACED_SETTINGS, Config
from train.imitation.data import (
    Data,
    Labels,
    Minibatch,
    evaluation_rows,
    load_data,
    random_image,
    rows_of_iteration,
    take,
)
from train.models.policy import Params, Policy, merge_statistics, split_statistics
from train.network_learner import NetworkLearner, key_of_game
from train.ops.episodes import Metrics
from train.ops.masks import masked_mean
from train.ops.optimizers import clipped_adamw, step_of


class TrainState(NamedTuple):
    params: Params
    opt_state: Any
    key: jax.Array
    iteration: jax.Array  # int32[], iterations done


@dataclass(frozen=True)
class Imitation(NetworkLearner):
    """The learner that `train.driver` runs; static under jit."""

    name: ClassVar[str] = "imitation"
    config_type: ClassVar[type[Config]] = Config
    traced_settings: ClassVar[tuple[str, ...]] = TRACED_SETTINGS
    shown_metrics: ClassVar[tuple[str, ...]] = ("top_1/train", "top_1/validation", "value_error/validation")

    config: Config

    @property
    def headline(self) -> dict[str, Any]:
        c = self.config
        others = {"other_data": ", ".join(c.other_data)} if c.other_data else {}
        return {"env": c.env, "data": c.data, **others, "seed": c.seed}

    @property
    def batch_sizes(self) -> dict[str, int]:
        return {"batch_size": self.config.batch_size}

    def init(self, key: jax.Array) -> TrainState:
        key, params_key = jax.random.split(key)
        params = self.init_params(params_key)
        opt_state = clipped_adamw(0.0, 0.0, 1.0).init(split_statistics(params)[0])
        return TrainState(params, opt_state, key, jnp.int32(0))

    def load_data(self) -> Data:
        return load_data(self.config)

    def largest_arrays(self, key: jax.Array) -> tuple[TrainState, Data]:
        """Returns a train state and the positions."""
        with jax.ensure_compile_time_eval():  # the files are read inside of a trace, too
            data = self.load_data()
        return self.init(key), jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), data)

    def iterate(self, train_state: TrainState, data: Data) -> tuple[TrainState, Metrics]:
        """Returns the train state after one iteration, and metrics that are reduced on the device.

        The metrics of positions of further files have the file behind another slash: "top_1/validation/FILE".
        """
        with jax.named_scope("update"):
            train_state, metrics = update(self.config, self.games, train_state, [file.train for file in data])
        with jax.named_scope("evaluate"):
            for end, (env, policy), file in zip(("", *self.config.other_data), self.games, data, strict=True):
                for name, labels in file.evaluated.items():
                    measured = evaluate(self.config, env, policy, train_state.params, labels)
                    suffix = f"/{name}/{end}" if end else f"/{name}"
                    metrics |= {f"{metric}{suffix}": value for metric, value in measured.items()}
        return train_state._replace(iteration=train_state.iteration + 1), metrics


# -- learning ------------------------------------------------------------------------------------------------------


def update(
    config: Config, games: Sequence[tuple[jaxgames.Env[Any], Policy]], train_state: TrainState, files: Sequence[Labels]
) -> tuple[TrainState, Metrics]:
    """Returns the train state after the gradient steps of an iteration, and metrics.

    A gradient step has the mean loss of a minibatch of each file. `games` has the game of each file, and its policy.
    """
    order_key, dropout_key = jax.random.split(train_state.key)  # it stays the same; the steps are numbered
    count, policies = config.num_minibatches or 1, [policy for _, policy in games]
    rows = tuple(
        rows_of_iteration(config, len(labels.action), key_of_game(order_key, number), train_state.iteration)
        for number, labels in enumerate(files)
    )

    def gradient_step(carry: tuple[Params, Any], x: tuple[tuple[jax.Array, ...], jax.Array]) -> Any:
        (params, opt_state), (rows, step) = carry, x
        weights, statistics = split_statistics(params)
        minibatches = [take(env, file, places) for (env, _), file, places in zip(games, files, rows, strict=True)]
        step_key = jax.random.fold_in(dropout_key, step)
        if config.symmetries:
            image_key = jax.random.fold_in(step_key, len(games))  # those of dropout have the numbers of the games
            minibatches = [
                random_image(env, key_of_game(image_key, number), minibatch)
                for number, ((env, _), minibatch) in enumerate(zip(games, minibatches, strict=True))
            ]
        gradient, (metrics, statistics) = jax.grad(mean_loss, argnums=2, has_aux=True)(
            config, policies, weights, minibatches, statistics, step_key
        )
        optimizer = clipped_adamw(learning_rate(config, step), config.weight_decay, config.max_grad_norm)
        weights, opt_state = step_of(optimizer, gradient, opt_state, weights)
        return (merge_statistics(weights, statistics), opt_state), metrics

    steps = train_state.iteration * count + jnp.arange(count, dtype=jnp.int32)
    (params, opt_state), metrics = jax.lax.scan(
        gradient_step, (train_state.params, train_state.opt_state), (rows, steps)
    )
    metrics = {name: values.mean() for name, values in metrics.items()}
    metrics["learning_rate"] = learning_rate(config, steps[-1])
    return train_state._replace(params=params, opt_state=opt_state), metrics


def mean_loss(
    config: Config,
    policies: Sequence[Policy],
    weights: Params,
    minibatches: Sequence[Minibatch],
    statistics: Params,
    dropout_key: jax.Array,
) -> tuple[jax.Array, tuple[Metrics, Params]]:
    """Returns the mean of `imitation_loss` and of its metrics over the minibatches of all files; then the statistics.

    The network's statistics go from one minibatch to the next.
    """
    total, all_metrics = jnp.float32(0), list[Metrics]()
    for number, (policy, minibatch) in enumerate(zip(policies, minibatches, strict=True)):
        key = key_of_game(dropout_key, number)
        loss, (metrics, statistics) = imitation_loss(config, policy, weights, minibatch, statistics, key)
        total = total + loss
        all_metrics.append(metrics)
    means: Metrics = {name: jnp.stack([each[name] for each in all_metrics]).mean() for name in all_metrics[0]}
    return total / len(policies), (means, statistics)


def imitation_loss(
    config: Config,
    policy: Policy,
    weights: Params,
    minibatch: Minibatch,
    statistics: Params,
    dropout_key: jax.Array,
) -> tuple[jax.Array, tuple[Metrics, Params]]:
    """Returns the loss of a minibatch [B, ...]; then its metrics, and the network's statistics after it.

    The loss is policy_loss + legal_coef * legal_loss + value_coef * value_loss + l2_coef * the squared parameters. All
    are means over the positions that have such a label.
    """
    params, b = merge_statistics(weights, statistics), minibatch
    logits, value, statistics = policy.apply_in_training(params, b.observation, b.seat, dropout_key)
    log_probs, log_legal = legal_log_probs(logits, b.mask)
    smooth = jnp.where(b.mask, 1 / b.mask.sum(-1, keepdims=True), 0.0)
    target = (1 - config.label_smoothing) * b.target + config.label_smoothing * smooth
    labelled = b.target.any(-1)
    policy_loss = masked_mean(labelled, -(target * log_probs).sum(-1))
    legal_loss = masked_mean(labelled, -log_legal)
    value_loss = squared_error(value, b.value)
    l2 = sum(jnp.square(leaf).sum() for leaf in jax.tree.leaves(weights))
    loss = policy_loss + config.legal_coef * legal_loss + config.value_coef * value_loss + config.l2_coef * l2
    return loss, ({"loss": loss, "policy_loss": policy_loss, "value_loss": value_loss}, statistics)


def legal_log_probs(logits: jax.Array, mask: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Returns log-probabilities float32[B, num_actions] of the softmax over legal actions, and 0 for illegal ones.

    The second result is float32[B], log of the probability that the softmax over all actions gives to the legal ones.
    """
    z = shifted_logits(logits, mask)
    log_probs = jnp.where(mask, z - jax.nn.logsumexp(z, axis=-1, keepdims=True), 0)
    log_legal = jax.nn.logsumexp(jnp.where(mask, logits, MASKED_LOGIT), axis=-1) - jax.nn.logsumexp(logits, axis=-1)
    return log_probs, log_legal


def squared_error(value: jax.Array, label: jax.Array) -> jax.Array:
    """Returns float32[], the mean squared error of values [B] where the label is known; 0 if there is none."""
    known = ~jnp.isnan(label)
    return masked_mean(known, jnp.square(value - jnp.where(known, label, 0)))


def learning_rate(config: Config, step: jax.Array) -> jax.Array:
    """Returns float32[], the learning rate of the gradient step after `step` others (int32[])."""
    done = step.astype(jnp.float32) / (config.num_iterations * (config.num_minibatches or 1))
    factor = {"cosine": 0.5 * (1 + jnp.cos(jnp.pi * done)), "linear": 1 - done, "constant": jnp.ones_like(done)}
    return jnp.float32(config.learning_rate) * factor[config.schedule]


# -- evaluation ----------------------------------------------------------------------------------------------------


def evaluate(config: Config, env: jaxgames.Env[Any], policy: Policy, params: Params, labels: Labels) -> Metrics:
    """Returns metrics of the policy in play: means over the positions that have such a label, NaN if there are none."""

    def of_rows(rows: jax.Array) -> dict[str, jax.Array]:
        minibatch = take(env, labels, rows)
        return sums_of(minibatch, *policy.apply(params, minibatch.observation, minibatch.seat))

    of_chunks = jax.lax.map(of_rows, jnp.arange(len(labels.action)).reshape(-1, evaluation_rows(config)))
    sums = {name: values.sum() for name, values in of_chunks.items()}
    labelled, known = sums.pop("labelled"), sums.pop("known")
    error, legal, counted = sums.pop("squared_error"), sums.pop("legal"), sums.pop("counted")
    metrics = {name: value / labelled for name, value in sums.items()}
    return metrics | {"raw_legal": legal / counted, "value_error": jnp.sqrt(error / known) / reward_scale(env)}


def sums_of(minibatch: Minibatch, logits: jax.Array, value: jax.Array) -> dict[str, jax.Array]:
    """Returns sums over the positions of a minibatch, float32[] each, and the number of positions with such labels."""
    b = minibatch
    labelled, known = b.target.any(-1) & b.counted, ~jnp.isnan(b.value) & b.counted
    log_probs, _ = legal_log_probs(logits, b.mask)
    rank = rank_of_label(logits, b.mask, b.target)
    best = jnp.take_along_axis(b.mask, logits.argmax(-1)[:, None], axis=1)[:, 0]
    chosen = {
        "top_1": (labelled, rank < 1),
        "top_3": (labelled, rank < 3),
        "policy_loss": (labelled, -(b.target * log_probs).sum(-1)),
        "labelled": (labelled, labelled),
        "legal": (b.counted, best),
        "counted": (b.counted, b.counted),
        "squared_error": (known, jnp.square(value - b.value)),
        "known": (known, known),
    }
    return {name: jnp.where(rows, x.astype(jnp.float32), 0).sum() for name, (rows, x) in chosen.items()}


def rank_of_label(logits: jax.Array, mask: jax.Array, target: jax.Array) -> jax.Array:
    """Returns int32[B], the legal actions that the policy prefers to each that the label finds most probable.

    Of equally probable actions the policy prefers the first, as in greedy play.

    Args:
      logits: float32[B, num_actions].
      mask: bool[B, num_actions].
      target: float32[B, num_actions], the labelled policy.
    """
    masked = jnp.where(mask, logits, -jnp.inf)
    is_best = target >= target.max(-1, keepdims=True) * (1 - 1e-5)
    of_best = jnp.where(is_best, masked, -jnp.inf)
    number = of_best.argmax(-1)[:, None]
    logit = jnp.take_along_axis(masked, number, axis=1)
    return ((masked > logit) | ((masked == logit) & (np.arange(mask.shape[1]) < number))).sum(-1)
