"""AlphaZero by self-play: a network learns from the searches that it guides.

    alphazero = AlphaZero(Config(env="chinese_checkers_diamond(size=4, pieces=3)"))
    train_state = alphazero.init(key)
    train_state, metrics = alphazero.iterate(train_state)   # collect, targets, update: one program, under one jit

`iterate` is pure: use `jax.vmap` to train several seeds. A stored `TrainState` continues with bit-identical results.
The settings are in `train/alphazero/config.py`, self-play is in `train/alphazero/rollout.py`.

    python -m train.alphazero --env "chinese_checkers_diamond(size=4, pieces=3)" --run-dir runs/first

Sources: Silver et al., A general reinforcement learning algorithm that masters chess, shogi, and Go through self-play,
2018; Danihelka et al., Policy improvement by planning with Gumbel, 2022.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import optax

import jaxgames
from jaxgames.agents import Agent
from jaxgames.mcts.config import Seats, SelectionRule
from jaxgames.sampling import MASKED_LOGIT
from train.alphazero.config import TRACED_SETTINGS, Config
from train.alphazero.rollout import (
    Minibatch,
    Sample,
    Steps,
    TrainState,
    collect,
    init_game,
    observations_of,
    policy_in_self_play,
    samples_of,
    search_metrics,
    value_targets,
)
from train.models.policy import Params, Policy, merge_statistics, split_statistics
from train.models.value_heads import with_seat_values
from train.network_learner import NetworkLearner, key_of_game
from train.ops import replay
from train.ops.episodes import Metrics, episode_metrics
from train.ops.minibatches import num_groups, take_rows
from train.ops.optimizers import clipped_adamw, step_of
from train.ops.sharding import REPLICATED, SHARDED
from train.ops.symmetries import symmetries


@dataclass(frozen=True)
class AlphaZero(NetworkLearner):
    """The learner that `train.driver` runs; static under jit."""

    name: ClassVar[str] = "alphazero"
    config_type: ClassVar[type[Config]] = Config
    traced_settings: ClassVar[tuple[str, ...]] = TRACED_SETTINGS

    config: Config

    def make_policy(self, env: jaxgames.Env[Any]) -> Policy:
        return with_seat_values(env, super().make_policy(env))

    @property
    def headline(self) -> dict[str, Any]:
        c = self.config
        others = {"other_envs": ", ".join(c.other_envs)} if c.other_envs else {}
        return {"env": c.env, **others, "search": c.search, "simulations": c.simulations, "seed": c.seed}

    @property
    def batch_sizes(self) -> dict[str, int]:
        return {"num_envs": self.config.num_envs, "minibatch_size": self.config.minibatch_size}

    @property
    def partition_specs(self) -> Any:
        whole: Any = REPLICATED  # specs in place of arrays
        boards: Any = SHARDED
        return TrainState(whole, whole, whole, boards, whole, whole)

    @property
    def search_gamma(self) -> float:
        return self.config.gamma

    def agent(
        self,
        params: Params,
        temperature: float | None = None,
        top: int | None = None,
        simulations: int | None = None,
        search: SelectionRule | None = None,
        seats: Seats | None = None,
    ) -> Agent:
        """Returns the agent with these parameters; see `NetworkLearner.agent`.

        None for the temperature, the search or the seats is the setting of the run, and for the simulations its
        `evaluation_simulations`.

        Args:
          seats: how seats choose in the tree of the search.
        """
        simulations = self.config.evaluation_simulations if simulations is None else simulations
        settings = self.config.search_without_noise(simulations, search, seats) if simulations else None
        return self.make_network_agent(params, settings, temperature, top)

    def init(self, key: jax.Array) -> TrainState:
        key, params_key, *game_keys = jax.random.split(key, 4)  # of boards and starts
        params = self.init_params(params_key)
        return TrainState(
            params=params,
            learning=params if self.config.ema > 0 else None,
            opt_state=clipped_adamw(0.0, 0.0, 1.0).init(split_statistics(params)[0]),
            games=tuple(
                init_game(self.config, env, *(key_of_game(key, number) for key in game_keys))
                for number, (env, _) in enumerate(self.games)
            ),
            key=key,
            iteration=jnp.int32(0),
        )

    def with_params(self, train_state: TrainState, params: Params) -> TrainState:
        return train_state._replace(params=params, learning=params if self.config.ema > 0 else None)

    def largest_arrays(self, key: jax.Array) -> tuple[TrainState, Steps, Any]:
        """Returns a train state, the steps collected from it, and the parameters or the table that self-play reads.

        With several games the steps are of the largest boards.
        """
        train_state = self.init(key)
        number = max(range(len(self.games)), key=lambda number: self.games[number][0].state_bytes)
        env, policy = self.games[number]
        params, game = train_state.learning_params, train_state.games[number]
        steps = collect(self.config, env, policy, params, game, key, train_state.iteration)[1]
        return train_state, steps, policy_in_self_play(self.config, env, policy, params)[1]

    def iterate(self, train_state: TrainState) -> tuple[TrainState, Metrics]:
        """Returns the train state after one iteration, and metrics that are reduced on the device.

        The games take turns: collect, targets and update of one game, then of the next, with the same parameters. The
        metrics of the games after the first have the game behind a slash: "policy_loss/dots_and_boxes(...)".
        """
        metrics = Metrics()
        for number, (env, policy) in enumerate(self.games):
            train_state, of_game = learn_game(self.config, env, policy, train_state, number)
            if number > 0:
                del of_game["learning_rate"]  # all games have the same
                of_game = {f"{name}/{env}": value for name, value in of_game.items()}
            metrics |= of_game
        return train_state._replace(iteration=train_state.iteration + 1), metrics


def learn_game(
    config: Config, env: jaxgames.Env[Any], policy: Policy, train_state: TrainState, number: int = 0
) -> tuple[TrainState, Metrics]:
    """Returns the train state after an iteration's steps and updates of one game, and metrics.

    `number` is the place of the game in `TrainState.games`.
    """
    key, subkey = jax.random.split(train_state.key)
    params, game, iteration = train_state.learning_params, train_state.games[number], train_state.iteration
    with jax.named_scope("collect"):
        game, steps = collect(config, env, policy, params, game, subkey, iteration)
    with jax.named_scope("targets"):
        samples = samples_of(env, steps, value_targets(config, steps))
        game = game._replace(replay=replay.insert(game.replay, samples, iteration))
    metrics = episode_metrics(env, steps) | search_metrics(steps)
    games = (*train_state.games[:number], game, *train_state.games[number + 1 :])
    with jax.named_scope("update"):
        train_state = train_state._replace(games=games, key=key)
        train_state, update_metrics = update(config, env, policy, train_state, number)
    return train_state, metrics | update_metrics


def update(
    config: Config, env: jaxgames.Env[Any], policy: Policy, train_state: TrainState, number: int = 0
) -> tuple[TrainState, Metrics]:
    """Returns the train state after `num_updates` gradient steps on the replay buffer of a game, and metrics."""
    groups = num_groups(config.num_envs, config.minibatch_size)
    samples = train_state.games[number].replay
    capacity = samples.slots.shape[1]
    filled = replay.num_filled(samples, config.rollout_length, train_state.iteration + 1)
    stored = replay.grouped(samples, groups)
    rate = learning_rate(config, train_state.iteration)
    optimizer = clipped_adamw(rate, config.weight_decay, config.max_grad_norm)

    def gradient_step(carry: Any, x: tuple[jax.Array, jax.Array]) -> Any:
        (learning, average, opt_state), (key, step) = carry, x
        rows_key, symmetry_key, dropout_key = jax.random.split(key, 3)
        rows = replay.draw_rows(rows_key, groups, config.num_envs // groups, capacity, filled, config.minibatch_size)
        minibatch = minibatch_of(config, env, symmetry_key, take_rows(stored, rows))
        weights, statistics = split_statistics(learning)
        (_, (metrics, statistics)), gradient = jax.value_and_grad(alphazero_loss, argnums=2, has_aux=True)(
            config, policy, weights, minibatch, statistics, dropout_key
        )
        weights, opt_state = step_of(optimizer, gradient, opt_state, weights)
        learning = merge_statistics(weights, statistics)
        if average is not None:
            average = optax.incremental_update(learning, average, 1 - average_decay(config, step))
        return (learning, average, opt_state), metrics

    key, subkey = jax.random.split(train_state.key)
    average = None if train_state.learning is None else train_state.params
    start = train_state.learning_params, average, train_state.opt_state
    turn = train_state.iteration * (1 + len(config.other_envs)) + number  # updates of any game before
    steps = turn * config.num_updates + jnp.arange(config.num_updates, dtype=jnp.int32)
    (learning, average, opt_state), metrics = jax.lax.scan(
        gradient_step, start, (jax.random.split(subkey, config.num_updates), steps)
    )
    metrics = {name: values.mean() for name, values in metrics.items()}
    metrics["learning_rate"] = jnp.asarray(rate, jnp.float32)
    metrics["replay_samples"] = (filled * config.num_envs).astype(jnp.float32)
    params = learning if average is None else average
    train_state = train_state._replace(params=params, learning=None if average is None else learning)
    return train_state._replace(opt_state=opt_state, key=key), metrics


def minibatch_of(config: Config, env: jaxgames.Env[Any], key: jax.Array, samples: Sample) -> Minibatch:
    """Returns samples with leaves [B, ...] as a minibatch, each after a random symmetry of the game."""
    observations = observations_of(env, samples.position)
    slots = samples.slots.astype(jnp.int32)
    images = symmetries(env)
    if config.symmetries and len(images) > 1:
        which = jax.random.randint(key, (slots.shape[0],), 0, len(images))
        observations, slots = images.of_observations(which, observations), images.of_actions(which, slots)
    return Minibatch(observations, slots, samples.weights, samples.values)


def alphazero_loss(
    config: Config,
    policy: Policy,
    weights: Params,
    minibatch: Minibatch,
    statistics: Params | None = None,
    dropout_key: jax.Array | None = None,
) -> tuple[jax.Array, tuple[Metrics, Params]]:
    """Returns the loss of a minibatch [B, ...]; then its metrics, and the network's statistics after it.

    The loss is the cross-entropy to the search's policy over its slots, as the mean over the samples whose policy is
    learned, plus value_coef * the mean squared error of the values plus l2_coef * the squared parameters. `statistics`
    and `dropout_key` are for a network with a training mode, such as batch norm or dropout.
    """
    params = weights if statistics is None else merge_statistics(weights, statistics)
    seat = jnp.zeros(minibatch.slots.shape[0], jnp.int32)  # the parameters are the same for all seats
    logits, values, statistics = policy.apply_in_training(params, minibatch.observation, seat, dropout_key)
    of_slots = jnp.take_along_axis(logits, jnp.maximum(minibatch.slots, 0), axis=1)
    is_action = minibatch.slots >= 0
    log_probs = jnp.maximum(jax.nn.log_softmax(of_slots, where=is_action, axis=1), MASKED_LOGIT)  # 0 log 0 = 0
    targets = minibatch.weights.astype(jnp.float32)
    is_learned = (targets > 0).any(1)
    policy_loss = -jnp.where(is_action, targets * log_probs, 0).sum() / jnp.maximum(
        is_learned.sum(dtype=jnp.float32), 1
    )
    value_loss = jnp.square(values.reshape(minibatch.values.shape) - minibatch.values).mean()
    l2 = sum(jnp.square(leaf).sum() for leaf in jax.tree.leaves(weights))
    loss = policy_loss + config.value_coef * value_loss + config.l2_coef * l2
    return loss, ({"policy_loss": policy_loss, "value_loss": value_loss}, statistics)


def learning_rate(config: Config, iteration: jax.Array) -> jax.Array:
    """Returns float32[], the learning rate in the iteration after `iteration` others (int32[])."""
    first, last = jnp.float32(config.learning_rate), jnp.float32(config.final_learning_rate)
    if config.lr_drop_after is not None:
        return jnp.where(iteration < config.lr_drop_after, first, last)
    done = jnp.minimum(iteration.astype(jnp.float32) / max(config.num_iterations - 1, 1), 1.0)
    return first + (last - first) * done


def average_decay(config: Config, step: jax.Array) -> jax.Array:
    """Returns float32[], the decay of the moving average after `step` gradient steps (int32[]).

    It grows to `ema`, so that the random first parameters soon have no weight.
    """
    done = step.astype(jnp.float32)
    return jnp.minimum(config.ema, (1 + done) / (10 + done))
