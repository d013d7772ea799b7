"""AlphaZero by self-play: a network learns from the searches that it guides.

    alphazero = AlphaZero(Config(env="chinese_checkers_diamond(size=4, pieces=3)"))
    train_state = alphazero.init(key)
    train_state, metrics = alphazero.iterate(train_state)   # collect, targets, update: one program, under one jit

`iterate` is pure: use `jax.vmap` to train several seeds, or over the numbers of `AlphaZero(config, numbers)` for
several settings. A subclass changes one thing by overriding one method, such as `loss`. The settings are in
`train/alphazero/config.py`.

Sources: Silver et al., A general reinforcement learning algorithm that masters chess, shogi, and Go through self-play,
2018; Danihelka et al., Policy improvement by planning with Gumbel, 2022.
"""

import functools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from jaxgames import mcts
from jaxgames.agents import explored
from jaxgames.mcts import SearchResult
from jaxgames.mcts.expansion import choose_boards
from jaxgames.policies.policy import Policy, PolicyEvaluate, reward_scale
from jaxgames.sampling import MASKED_LOGIT
from jaxgames.wrappers import discount_of
from train.alphazero.run import (
    Minibatch,
    Run,
    Sample,
    Steps,
    TrainState,
    observations_of,
    samples_of,
    search_metrics,
)
from train.models.policy import Params, split_statistics
from train.models.tabulated import table_or_network
from train.network_learner import after_step, gradient_of
from train.ops import replay
from train.ops.episodes import EpisodeStats, Metrics, episode_metrics, map_next_boards
from train.ops.minibatches import num_groups, take_rows
from train.ops.sharding import REPLICATED, SHARDED_BY_BOARD, on_each_device
from train.ops.start_positions import Starts, next_starts
from train.ops.symmetries import symmetries
from train.ops.targets import lambda_returns


@dataclass(frozen=True)
class AlphaZero(Run):
    """The algorithm; `train/alphazero/run.py` has the other members that `train.driver` reads.

    All methods but `iterate` are of one game, `env`.
    """

    def iterate(self, train_state: TrainState) -> tuple[TrainState, Metrics]:
        """Returns the train state after one iteration, and metrics that are reduced on the device.

        The games take turns: collect, targets and update of one game, then of the next, with the same parameters. The
        metrics of the games after the first have the game behind a slash: "policy_loss/dots_and_boxes(...)".
        """
        metrics = Metrics()
        for learner in self.by_game:
            train_state, of_game = learner.iterate_game(train_state)
            if learner.game > 0:
                del of_game["learning_rate"]  # all games have the same
                of_game = {f"{name}/{learner.env}": value for name, value in of_game.items()}
            metrics |= of_game
        return train_state._replace(iteration=train_state.iteration + 1), metrics

    def iterate_game(self, train_state: TrainState) -> tuple[TrainState, Metrics]:
        """Returns the train state after the steps and the updates of the game in an iteration, and metrics."""
        with jax.named_scope("collect"):
            train_state, steps = self.collect(train_state)
        with jax.named_scope("targets"):
            samples = samples_of(self.env, steps, self.targets(steps))
            game = train_state.games[self.game]
            game = game._replace(replay=replay.insert(game.replay, samples, train_state.iteration))
        metrics = episode_metrics(self.env, steps) | search_metrics(steps)
        with jax.named_scope("update"):
            train_state, learned = self.update(train_state.with_game(self.game, game))
        return train_state, metrics | learned

    def collect(self, train_state: TrainState) -> tuple[TrainState, Steps]:
        """Returns the new train state and `rollout_length` steps of every board [rollout_length, num_envs, ...].

        All boards play at the same time, with one search per step, and a finished board restarts in the same step.
        After the last step there is one more search, for the values of the boards that it led to.
        """
        c, env, scale, game = self.config, self.env, reward_scale(self.env), train_state.games[self.game]
        policy, params = self.policy_in_self_play(train_state.learning_params)
        network = PolicyEvaluate(env, policy)

        def step(carry: Any, x: tuple[jax.Array, jax.Array]) -> Any:
            (boards, stats, starts), (key, is_last) = carry, x
            search_key, action_key, step_key, restart_key = jax.random.split(key, 4)
            result = self.search(search_key, network, params, boards)
            action = self.choose(action_key, result, stats.length)
            action, is_random = self.with_random_moves(jax.random.fold_in(action_key, 1), boards, action)
            after = jax.vmap(env.step)(boards, action, jax.random.split(step_key, c.num_envs))
            ended = after.terminated | after.truncated
            stats = EpisodeStats(stats.length + 1, stats.returns + after.rewards)
            steps = Steps(
                state=boards,
                action=action,
                is_random=is_random,
                slots=result.slots,
                weights=result.weights,
                predicted=result.raw_values * scale,
                values=result.policy_values * scale,
                next_values=jnp.zeros_like(result.values),
                rewards=after.rewards * scale,
                terminated=after.terminated,
                truncated=after.truncated,
                next_seat=after.current_player,
                episode_stats=stats,
            )
            stats = EpisodeStats(jnp.where(ended, 0, stats.length), jnp.where(ended[:, None], 0, stats.returns))
            boards, starts = self.restart(restart_key, ended, after, starts)
            new = boards, stats, starts
            return jax.tree.map(lambda old, new: jnp.where(is_last, old, new), carry, new), steps

        key, subkey = jax.random.split(train_state.key)
        num_searches = c.rollout_length + 1
        xs = jax.random.split(subkey, num_searches), np.arange(num_searches) == c.rollout_length
        start = game.boards, game.episode_stats, game.starts
        (boards, stats, starts), searched = jax.lax.scan(step, start, xs)
        steps: Steps = jax.tree.map(lambda x: x[:-1], searched)
        steps = steps._replace(next_values=searched.values[1:])
        if not c.truncation_is_draw:
            steps = steps._replace(next_values=self.with_cut_off_values(network, params, steps))
        game = game._replace(boards=boards, episode_stats=stats, starts=starts)
        return train_state._replace(key=key).with_game(self.game, game), steps

    def targets(self, steps: Steps) -> jax.Array:
        """Returns float32[rollout_length, num_envs, num_players], the value targets of all seats.

        The target of a step with a random action is the search's value of its board, and the targets of earlier steps
        use this value in place of what follows.
        """
        ended = steps.terminated | steps.truncated
        over = ended if self.config.truncation_is_draw else steps.terminated
        discount = discount_of(steps.seat, steps.next_seat, over, self.config.gamma).astype(jnp.float32)
        returns = functools.partial(lambda_returns, td_lambda=self.numbers.td_lambda)
        stops = ended | jnp.roll(steps.is_random, -1, axis=0)  # after the last step there is a stop in any case
        targets = jax.vmap(returns, in_axes=1, out_axes=1)(steps.rewards, discount, steps.next_values, stops)
        return jnp.where(steps.is_random[..., None], steps.values, targets)

    def update(self, train_state: TrainState) -> tuple[TrainState, Metrics]:
        """Returns the train state after `num_updates` gradient steps on the game's replay buffer, and metrics."""
        c, optimizer, samples = self.config, self.optimizer(), train_state.games[self.game].replay
        groups, capacity = num_groups(c.num_envs, c.minibatch_size), samples.slots.shape[1]
        filled = replay.num_filled(samples, c.rollout_length, train_state.iteration + 1)
        stored = replay.grouped(samples, groups)

        def gradient_step(carry: Any, x: tuple[jax.Array, jax.Array]) -> Any:
            (params, average, opt_state), (key, step) = carry, x
            rows_key, symmetry_key, dropout_key = jax.random.split(key, 3)
            rows = replay.draw_rows(rows_key, groups, c.num_envs // groups, capacity, filled, c.minibatch_size)
            minibatch = self.minibatch_of(symmetry_key, take_rows(stored, rows))
            learned, metrics = gradient_of(
                lambda params: self.loss(train_state, params, minibatch, dropout_key), params
            )
            params, opt_state = after_step(optimizer, learned, params, opt_state)
            if average is not None:
                average = optax.incremental_update(params, average, 1 - self.average_decay(step))
            return (params, average, opt_state), metrics

        key, subkey = jax.random.split(train_state.key)
        average = None if train_state.learning is None else train_state.params
        start = train_state.learning_params, average, train_state.opt_state
        turn = train_state.iteration * len(self.games) + self.game  # updates of any game before
        steps = turn * c.num_updates + jnp.arange(c.num_updates, dtype=jnp.int32)
        xs = jax.random.split(subkey, c.num_updates), steps
        (params, average, opt_state), metrics = jax.lax.scan(gradient_step, start, xs)
        metrics = {name: values.mean() for name, values in metrics.items()}
        metrics["learning_rate"] = self.learning_rate(steps[0])
        metrics["replay_samples"] = (filled * c.num_envs).astype(jnp.float32)
        learned = {"params": params} if average is None else {"params": average, "learning": params}
        return train_state._replace(**learned, opt_state=opt_state, key=key), metrics

    def loss(
        self, train_state: TrainState, params: Params, minibatch: Minibatch, dropout_key: jax.Array | None = None
    ) -> tuple[jax.Array, tuple[Metrics, Params]]:
        """Returns the loss of a minibatch; then its metrics, and the network's statistics after it.

        The loss is the mean cross-entropy to the search's policy over its slots, plus value_coef * the mean squared
        error of the values, plus l2_coef * the squared parameters.
        `dropout_key` is for a network with a training mode. `train_state` is the one at the start of the update.
        """
        n, m = self.numbers, minibatch
        seat = jnp.zeros(m.slots.shape[0], jnp.int32)  # the parameters are the same for all seats
        logits, values, statistics = self.policy.apply_in_training(params, m.observation, seat, dropout_key)
        of_slots = jnp.take_along_axis(logits, jnp.maximum(m.slots, 0), axis=1)
        is_action = m.slots >= 0
        log_probs = jnp.maximum(jax.nn.log_softmax(of_slots, where=is_action, axis=1), MASKED_LOGIT)  # 0 log 0 = 0
        targets = m.weights.astype(jnp.float32)
        policy_loss = -jnp.where(is_action, targets * log_probs, 0).sum() / m.slots.shape[0]
        value_loss = jnp.square(values.reshape(m.values.shape) - m.values).mean()
        l2 = sum(jnp.square(leaf).sum() for leaf in jax.tree.leaves(split_statistics(params)[0]))
        loss = policy_loss + n.value_coef * value_loss + n.l2_coef * l2
        return loss, ({"policy_loss": policy_loss, "value_loss": value_loss}, statistics)

    # -- parts of self-play ----------------------------------------------------------------------------------------

    def policy_in_self_play(self, params: Params) -> tuple[Policy, Any]:
        """Returns the policy and its parameters, or a table for its searches where that takes fewer evaluations."""
        c, devices = self.config, max(jax.sharding.get_abstract_mesh().size, 1)  # each computes a whole table
        evaluations = c.num_envs * c.rollout_length * c.simulations // devices
        return table_or_network(self.env, self.policy, params, evaluations, c.self_play_search)

    def search(self, key: jax.Array, network: PolicyEvaluate, params: Params, boards: Any) -> SearchResult:
        """Returns the result of a step's search on every board."""
        return mcts.search(self.env, network, self.config.self_play_search, key, params, boards)

    def choose(self, key: jax.Array, result: SearchResult, length: jax.Array) -> jax.Array:
        """Returns the actions int32[B]: sampled from the search's policy in the first steps, then the search's choice.

        `length` is int32[B], the steps that the games have had.
        """
        if self.config.sampled_plies == 0:
            return result.action
        slot = jax.random.categorical(key, jnp.log(result.weights))
        sampled = jnp.take_along_axis(result.slots, slot[:, None], axis=1)[:, 0].astype(result.action.dtype)
        return jnp.where(length < self.config.sampled_plies, sampled, result.action)

    def with_random_moves(self, key: jax.Array, boards: Any, actions: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Returns the actions int32[B], a share of them replaced by random legal ones, and which are, bool[B]."""
        if self.config.random_moves == 0:
            return actions, jnp.zeros(actions.shape, jnp.bool_)
        return explored(self.env, actions, self.config.random_moves, key, boards)

    def restart(
        self, key: jax.Array, ended: jax.Array, boards: Any, starts: Starts | None
    ) -> tuple[Any, Starts | None]:
        """Returns live boards, new ones where a game `ended` (bool[num_envs]), and the random positions after the step.

        A game starts from the game's own start or, with a share of `random_starts`, from a random position.
        """
        c, env = self.config, self.env
        init_key, which_key, starts_key = jax.random.split(key, 3)
        new = jax.vmap(env.init)(jax.random.split(init_key, c.num_envs))
        if starts is None:
            return choose_boards(ended, new, boards), None
        is_random = jax.random.uniform(which_key, ended.shape) < c.random_starts
        new = choose_boards(is_random, starts.boards, new)
        return choose_boards(ended, new, boards), next_starts(env, starts_key, starts, c.random_plies)

    def with_cut_off_values(self, network: PolicyEvaluate, params: Params, steps: Steps) -> jax.Array:
        """Returns `next_values`, with the network's values of the boards on which a limit cut off a game.

        Such boards are rare, so only they are evaluated, in chunks of num_envs.
        """

        def of_device(params: Params, steps: Steps) -> jax.Array:
            return map_next_boards(self.env, lambda boards: network(params, boards).values, steps, steps.truncated)

        of_steps = on_each_device(of_device, REPLICATED, SHARDED_BY_BOARD, out=SHARDED_BY_BOARD)
        values = of_steps(params, steps) * reward_scale(self.env)
        return jnp.where(steps.truncated[..., None], values, steps.next_values)

    # -- parts of the update ---------------------------------------------------------------------------------------

    def minibatch_of(self, key: jax.Array, samples: Sample) -> Minibatch:
        """Returns samples with leaves [B, ...] as a minibatch, each after a random symmetry of the game."""
        observations, slots = observations_of(self.env, samples.position), samples.slots.astype(jnp.int32)
        images = symmetries(self.env)
        if self.config.symmetries and len(images) > 1:
            which = jax.random.randint(key, (slots.shape[0],), 0, len(images))
            observations, slots = images.of_observations(which, observations), images.of_actions(which, slots)
        return Minibatch(observations, slots, samples.weights, samples.values)
