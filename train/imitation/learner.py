"""Imitation: a policy learns from labelled positions, such as positions of recorded games or of a solved game.

    imitation = Imitation(resolve(Config(env="checkers", data=("pairs.npz",))))
    (data,) = imitation.load_data()
    train_state, metrics = imitation.iterate(imitation.init(key), data)   # an epoch: one program, under one jit

The policy learns the action that was played, or the probabilities of a labelled policy. The value learns the result
of the game. `iterate` is pure. A subclass changes one thing by overriding one method, such as `loss`. The settings are
in `train/imitation/config.py`, the file of positions is described in `train/data/positions.py`.

    python -m train.imitation --env checkers --data pairs.npz --run-dir runs/imitation
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.policies.policy import reward_scale
from jaxgames.sampling import MASKED_LOGIT, shifted_logits
from train.imitation.config import Config, resolve
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
from train.models.policy import Params, merge_statistics, split_statistics
from train.network_learner import NetworkLearner, after_step, gradient_of, key_of_game
from train.ops.episodes import Metrics
from train.ops.minibatches import masked_mean
from train.recipes import IMITATION, IMITATION_PRESETS


class TrainState(NamedTuple):
    """The whole state of a run between two iterations."""

    params: Params
    opt_state: Any  # optax's
    key: jax.Array  # it stays the same; the gradient steps are numbered
    iteration: jax.Array  # int32[], iterations done


@dataclass(frozen=True)
class Imitation(NetworkLearner):
    """The algorithm, which is static under jit. `games` has the game of each file.

    Raises ValueError for settings with `data` that `resolve` has not read.
    """

    name: ClassVar[str] = "imitation"
    config_type: ClassVar[type[Config]] = Config
    recipes, presets = IMITATION, IMITATION_PRESETS
    resolve = staticmethod(resolve)
    shown_metrics: ClassVar[tuple[str, ...]] = ("top_1/train", "top_1/validation", "value_error/validation")

    config: Config

    def __post_init__(self) -> None:
        if self.config.data and not self.config.data_fingerprints:
            raise ValueError("some settings come from the files of data: expected Imitation(resolve(config))")
        super().__post_init__()

    @property
    def headline(self) -> dict[str, Any]:
        c = self.config
        return {"env": c.env, "data": ", ".join(c.data), "seed": c.seed}

    @property
    def batch_sizes(self) -> dict[str, int]:
        return {"batch_size": self.config.batch_size}

    def load_data(self) -> tuple[Data]:
        """Returns the positions of the files, on the host. Raises OSError or ValueError as `load_positions`."""
        return (load_data(self.config),)

    def init(self, key: jax.Array) -> TrainState:
        key, params_key = jax.random.split(key)
        params = self.init_params(params_key)
        return TrainState(params, self.optimizer().init(split_statistics(params)[0]), key, jnp.int32(0))

    def iterate(self, train_state: TrainState, data: Data) -> tuple[TrainState, Metrics]:
        """Returns the train state after one iteration, and metrics that are reduced on the device.

        The metrics of positions of further files have the file behind another slash: "top_1/validation/FILE".
        """
        with jax.named_scope("update"):
            train_state, metrics = self.update(train_state, data)
        with jax.named_scope("evaluate"):
            for end, learner, file in zip(("", *self.config.data[1:]), self.by_game, data, strict=True):
                for name, labels in file.evaluated.items():
                    suffix = f"/{name}/{end}" if end else f"/{name}"
                    measured = learner.evaluate(train_state.params, labels)
                    metrics |= {f"{metric}{suffix}": value for metric, value in measured.items()}
        return train_state._replace(iteration=train_state.iteration + 1), metrics

    def update(self, train_state: TrainState, data: Data) -> tuple[TrainState, Metrics]:
        """Returns the train state after the gradient steps of an iteration, and metrics.

        A gradient step has the mean loss of a minibatch of each file.
        """
        order_key, dropout_key = jax.random.split(train_state.key)
        c, optimizer, count = self.config, self.optimizer(), self.config.num_minibatches or 1
        rows = tuple(
            rows_of_iteration(c, len(file.train.action), key_of_game(order_key, number), train_state.iteration)
            for number, file in enumerate(data)
        )

        def gradient_step(carry: tuple[Params, Any], x: tuple[tuple[jax.Array, ...], jax.Array]) -> Any:
            (params, opt_state), (rows, step) = carry, x
            key = jax.random.fold_in(dropout_key, step)
            of_files = zip(self.by_game, data, rows, strict=True)
            minibatches = [learner.minibatch_of(key, file.train, of_file) for learner, file, of_file in of_files]
            learned, metrics = gradient_of(lambda params: self.mean_loss(train_state, params, minibatches, key), params)
            return after_step(optimizer, learned, params, opt_state), metrics

        steps = train_state.iteration * count + jnp.arange(count, dtype=jnp.int32)
        start = train_state.params, train_state.opt_state
        (params, opt_state), metrics = jax.lax.scan(gradient_step, start, (rows, steps))
        metrics = {name: values.mean() for name, values in metrics.items()}
        metrics["learning_rate"] = self.learning_rate(steps[-1])
        return train_state._replace(params=params, opt_state=opt_state), metrics

    def minibatch_of(self, key: jax.Array, labels: Labels, rows: jax.Array) -> Minibatch:
        """Returns the positions `rows` (int32[B]) of the file, with `symmetries` each after a random symmetry."""
        minibatch = take(self.env, labels, rows)
        if not self.config.symmetries:
            return minibatch
        image_key = jax.random.fold_in(key, len(self.games))  # those of dropout have the numbers of the games
        return random_image(self.env, key_of_game(image_key, self.game), minibatch)

    def mean_loss(
        self, train_state: TrainState, params: Params, minibatches: Sequence[Minibatch], key: jax.Array
    ) -> tuple[jax.Array, tuple[Metrics, Params]]:
        """Returns the mean of `loss` and of its metrics over the minibatches of all files; then the statistics.

        The network's statistics go from one minibatch to the next.
        """
        total, all_metrics, weights = jnp.float32(0), list[Metrics](), split_statistics(params)[0]
        statistics: Params = {}
        for learner, minibatch in zip(self.by_game, minibatches, strict=True):
            loss, (metrics, statistics) = learner.loss(train_state, params, minibatch, key_of_game(key, learner.game))
            params = merge_statistics(weights, statistics)
            total = total + loss
            all_metrics.append(metrics)
        means: Metrics = {name: jnp.stack([each[name] for each in all_metrics]).mean() for name in all_metrics[0]}
        return total / len(minibatches), (means, statistics)

    def loss(
        self, train_state: TrainState, params: Params, minibatch: Minibatch, dropout_key: jax.Array | None = None
    ) -> tuple[jax.Array, tuple[Metrics, Params]]:
        """Returns the loss of a minibatch; then its metrics, and the network's statistics after it.

        The loss is policy_loss + legal_coef * legal_loss + value_coef * value_loss + l2_coef * the squared parameters.
        All are means over the positions that have such a label. `dropout_key` is for a network with a training mode.
        `train_state` is the one at the start of the update.
        """
        n, m = self.numbers, minibatch
        logits, value, statistics = self.policy.apply_in_training(params, m.observation, m.seat, dropout_key)
        log_probs, log_legal = legal_log_probs(logits, m.mask)
        labelled = m.target.any(-1)
        policy_loss = masked_mean(labelled, -(m.target * log_probs).sum(-1))
        legal_loss = masked_mean(labelled, -log_legal)
        value_loss = squared_error(value, m.value)
        l2 = sum(jnp.square(leaf).sum() for leaf in jax.tree.leaves(split_statistics(params)[0]))
        loss = policy_loss + n.legal_coef * legal_loss + n.value_coef * value_loss + n.l2_coef * l2
        return loss, ({"loss": loss, "policy_loss": policy_loss, "value_loss": value_loss}, statistics)

    def learning_rate(self, step: jax.Array) -> jax.Array:
        done = step.astype(jnp.float32) / (self.config.num_iterations * (self.config.num_minibatches or 1))
        factor = {"cosine": 0.5 * (1 + jnp.cos(jnp.pi * done)), "linear": 1 - done, "constant": jnp.ones_like(done)}
        return jnp.float32(self.numbers.learning_rate) * factor[self.config.schedule]

    def evaluate(self, params: Params, labels: Labels) -> Metrics:
        """Returns metrics of the policy in play: means over the positions with such a label, NaN if there are none."""

        def of_rows(rows: jax.Array) -> dict[str, tuple[jax.Array, jax.Array]]:
            """Returns each metric of the positions, and whether a position counts in its mean."""
            m = take(self.env, labels, rows)
            logits, value = self.policy.apply(params, m.observation, m.seat)
            labelled, rank = m.target.any(-1) & m.counted, rank_of_label(logits, m.mask, m.target)
            return {
                "top_1": (rank < 1, labelled),
                "top_3": (rank < 3, labelled),
                "policy_loss": (-(m.target * legal_log_probs(logits, m.mask)[0]).sum(-1), labelled),
                "raw_legal": (jnp.take_along_axis(m.mask, logits.argmax(-1)[:, None], axis=1)[:, 0], m.counted),
                "value_error": (jnp.square(value - m.value), ~jnp.isnan(m.value) & m.counted),
            }

        of_chunks = jax.lax.map(of_rows, jnp.arange(len(labels.action)).reshape(-1, evaluation_rows(self.config)))
        metrics = {name: x.mean(dtype=jnp.float32, where=counts) for name, (x, counts) in of_chunks.items()}
        return metrics | {"value_error": jnp.sqrt(metrics["value_error"]) / reward_scale(self.env)}


def legal_log_probs(logits: jax.Array, mask: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Returns log-probabilities float32[B, num_actions] of the softmax over legal actions, 0 for illegal ones.

    Also float32[B], log of the probability that the softmax over all actions gives to the legal ones.
    """
    z = shifted_logits(logits, mask)
    log_probs = jnp.where(mask, z - jax.nn.logsumexp(z, axis=-1, keepdims=True), 0)
    log_legal = jax.nn.logsumexp(jnp.where(mask, logits, MASKED_LOGIT), axis=-1) - jax.nn.logsumexp(logits, axis=-1)
    return log_probs, log_legal


def squared_error(value: jax.Array, label: jax.Array) -> jax.Array:
    """Returns float32[], the mean squared error of values [B] where the label is known; 0 if there is none."""
    known = ~jnp.isnan(label)
    return masked_mean(known, jnp.square(value - jnp.where(known, label, 0)))


def rank_of_label(logits: jax.Array, mask: jax.Array, target: jax.Array) -> jax.Array:
    """Returns int32[B], the number of legal actions that the policy prefers to all that the label finds most probable.

    Of equally probable actions the policy prefers the first, as in greedy play. `target` is the labelled policy.
    """
    masked = jnp.where(mask, logits, -jnp.inf)
    is_best = target >= target.max(-1, keepdims=True) * (1 - 1e-5)
    of_best = jnp.where(is_best, masked, -jnp.inf)
    number = of_best.argmax(-1)[:, None]
    logit = jnp.take_along_axis(masked, number, axis=1)
    return ((masked > logit) | ((masked == logit) & (np.arange(mask.shape[1]) < number))).sum(-1)
