"""PPO by self-play or against opponents: one policy learns from its own decisions on many boards.

    ppo = PPO(Config(env="chinese_checkers(size=2, num_players=6)"))
    train_state = ppo.init(key)
    train_state, metrics = ppo.iterate(train_state)   # collect, advantages, update: one program, under one jit

`iterate` is pure: use `jax.vmap` to train several seeds, or over the numbers of `PPO(config, numbers)` for several
settings. A subclass changes one thing by overriding one method, such as `loss`. A stored `TrainState` continues with
bit-identical results. The settings are in `train/ppo/config.py`.

    python -m train.ppo --env "chinese_checkers(size=2, num_players=6)" --run-dir runs/first

Source: Schulman et al., Proximal Policy Optimization Algorithms, 2017, arXiv:1707.06347.
"""

import functools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

import jaxgames
from jaxgames._platforms import has_cpu_form
from jaxgames.policies.policy import has_seat_values, is_symmetric, reward_scale, seat_values
from jaxgames.wrappers import split_step_key
from train.models.policy import Params, keep_policy
from train.network_learner import after_step, gradient_of
from train.ops.episodes import EpisodeStats, Metrics, episode_metrics, map_next_boards
from train.ops.masked_categorical import kl_divergence, log_prob_and_entropy, sample_and_log_prob
from train.ops.minibatches import group_boards, masked, masked_mean, num_groups, shuffle, take_rows
from train.ops.optimizers import linear, restarted
from train.ops.sharding import REPLICATED, SHARDED_BY_BOARD, on_each_device
from train.ops.targets import per_seat_advantages
from train.ppo.config import Config, Numbers
from train.ppo.run import Minibatch, Run, TrainState, Transition, minibatch_of


@dataclass(frozen=True)
class PPO(Run):
    """The algorithm; `train/ppo/run.py` has the other members that `train.driver` reads."""

    def iterate(self, train_state: TrainState) -> tuple[TrainState, Metrics]:
        """Returns the train state after one iteration, and metrics that are reduced on the device."""
        with jax.named_scope("collect"):
            train_state, steps = self.collect(train_state)
        with jax.named_scope("advantages"):
            steps, advantages = self.advantages(train_state.params, steps)
        metrics = episode_metrics(self.env, steps)
        with jax.named_scope("update"):
            train_state, learned = self.update(train_state, self.with_reference(train_state, steps), advantages)
        return self.with_snapshot(train_state._replace(iteration=train_state.iteration + 1)), metrics | learned

    def collect(self, train_state: TrainState) -> tuple[TrainState, Transition]:
        """Returns the new train state and the steps of all boards, leaves [rollout_length, num_envs, ...].

        A finished board restarts in the same step. The learner plays every seat, or with opponents only its own.
        """
        c, env, restarting = self.config, self.env, jaxgames.auto_reset(self.env)
        players, scale = self.opponents.players(train_state.opponents.agents), reward_scale(env)

        def step(carry: Any, key: jax.Array) -> Any:
            boards, stats, games = carry
            action_key, step_key, opponents_key, games_key = jax.random.split(key, 4)
            state = boards.board
            mask = jax.vmap(env.legal_action_mask)(state)
            logits, value = self.outputs(train_state.params, state)
            action, log_prob = sample_and_log_prob(action_key, logits, mask)
            action = players.replace(action, opponents_key, games, state, mask, self.numbers.opponent_epsilon)
            step_keys = jax.random.split(step_key, c.num_envs)
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
            return (boards, stats, self.opponents.redraw(games, games_key, ~live)), transition

        key, subkey = jax.random.split(train_state.key)
        start = train_state.boards, train_state.episode_stats, train_state.opponents.games
        (boards, stats, games), steps = jax.lax.scan(step, start, jax.random.split(subkey, c.rollout_length))
        opponents = train_state.opponents._replace(games=games)
        return train_state._replace(boards=boards, episode_stats=stats, key=key, opponents=opponents), steps

    def advantages(self, params: Params, steps: Transition) -> tuple[Transition, jax.Array]:
        """Returns the steps of a rollout with `has_target`, and advantages float32[rollout_length, num_envs].

        Where a rollout or a game is cut off, a policy may have no value of the seats that are not to move; see
        `jaxgames.policies.policy`. Then their last decisions have no target.
        """
        bootstrap = on_each_device(self.bootstrap_values, REPLICATED, SHARDED_BY_BOARD, out=SHARDED_BY_BOARD)
        columns = steps.rewards, steps.value, steps.seat, steps.terminated, steps.truncated, *bootstrap(params, steps)
        n = self.numbers
        estimate = functools.partial(per_seat_advantages, gamma=n.gamma, gae_lambda=n.gae_lambda)
        advantages, has_target = jax.vmap(estimate, in_axes=1, out_axes=1)(*columns)
        return steps if is_symmetric(self.env) else steps._replace(has_target=has_target), advantages

    def bootstrap_values(self, params: Params, steps: Transition) -> tuple[jax.Array, jax.Array]:
        """Returns the values of all seats on the boards to bootstrap from, and whether the policy has them.

        Both are [rollout_length, num_envs, num_players], float32 and bool. The boards are truncated ones, and live ones
        at the end of the rollout. These are few, so only they are evaluated; other entries are not used.
        """
        env = self.env

        def of_boards(states: Any) -> jax.Array:
            mover = states.current_player
            values = self.outputs(params, states)[1]
            is_mover = mover[:, None] == jnp.arange(env.num_players)
            is_valued = is_mover | has_seat_values(env, values.shape[1:])
            of_seats = jnp.where(is_valued, seat_values(env, values, mover), 0)
            return jnp.stack([of_seats, is_valued.astype(of_seats.dtype)], axis=1)

        cut_off = steps.truncated.at[-1].set(~steps.terminated[-1])
        both = map_next_boards(env, of_boards, steps, cut_off).reshape(*cut_off.shape, 2, env.num_players)
        return both[:, :, 0], both[:, :, 1] > 0

    def update(self, train_state: TrainState, steps: Transition, advantages: jax.Array) -> tuple[TrainState, Metrics]:
        """Returns the train state after `update_epochs` passes over steps [rollout_length, num_envs], and metrics."""
        c, optimizer = self.config, self.optimizer()
        targets = advantages + steps.value
        observe = functools.partial(minibatch_of, self.env)
        observes_once = has_cpu_form()  # which takes less time; elsewhere in every minibatch, which takes less memory
        stored: Any = steps, advantages, targets
        groups = num_groups(c.num_envs, c.minibatch_size)
        batch = group_boards(jax.vmap(observe)(*stored) if observes_once else stored, groups)

        def epoch(carry: Any, key: jax.Array) -> Any:
            dropout_keys = None
            if self.policy.network.training_mode:
                key, dropout_key = jax.random.split(key)
                dropout_keys = jax.random.split(dropout_key, c.num_minibatches)
            size = c.steps_per_iteration // groups
            rows = shuffle(key, groups, size, c.num_minibatches, c.minibatch_size)
            return jax.lax.scan(gradient_step, carry, (rows, dropout_keys))

        def gradient_step(carry: tuple[Params, Any], x: tuple[jax.Array, jax.Array | None]) -> Any:
            (params, opt_state), (rows, dropout_key) = carry, x
            taken = take_rows(batch, rows)
            minibatch: Minibatch = taken if observes_once else observe(*taken)
            learned, metrics = gradient_of(
                lambda params: self.loss(train_state, params, minibatch, dropout_key), params
            )
            learned = self.in_warmup(train_state.iteration, params, learned)
            num_steps = jax.tree.map(lambda mask: mask.sum(dtype=jnp.float32), minibatch.learner_mask)
            return after_step(optimizer, learned, params, opt_state), (metrics, num_steps)

        key, subkey = jax.random.split(train_state.key)
        start = train_state.params, self.after_warmup(train_state.iteration, train_state.opt_state)
        keys = jax.random.split(subkey, c.update_epochs)
        (params, opt_state), (metrics, num_steps) = jax.lax.scan(epoch, start, keys)
        metrics = jax.tree.map(lambda x: jnp.average(x, weights=num_steps), metrics)
        mask = steps.learner_mask
        metrics["explained_variance"] = 1 - jnp.var(advantages, where=mask) / (jnp.var(targets, where=mask) + 1e-8)
        return self.with_step_kl(train_state._replace(params=params, opt_state=opt_state, key=key), metrics)

    def loss(
        self, train_state: TrainState, params: Params, minibatch: Minibatch, dropout_key: jax.Array | None = None
    ) -> tuple[jax.Array, tuple[Metrics, Params]]:
        """Returns the loss of a minibatch; then its metrics, and the network's statistics after it.

        The loss is clipped policy loss + vf_coef * value loss - ent_coef * entropy, and with `step_kl_coef` or
        `kl_coef` this weight times the divergence from the policy that collected the steps (the mean of
        ratio - 1 - log ratio) or that the run started from. All are means over the learner's steps. `train_state` is
        from before the update, `dropout_key` for a network with a training mode.
        """
        n, m, mask = self.numbers, minibatch, minibatch.learner_mask
        logits, value, statistics = self.policy.apply_in_training(params, m.observation, m.seat, dropout_key, mask)
        log_prob, entropy = log_prob_and_entropy(logits, m.mask, m.action)
        log_ratio = masked(mask, log_prob - m.log_prob)
        ratio = jnp.exp(log_ratio)
        clipped_ratio = jnp.clip(ratio, 1 - n.clip_coef, 1 + n.clip_coef)
        scale = m.advantage.std(where=mask) + 1e-8
        advantage = masked(mask, (m.advantage - m.advantage.mean(where=mask)) / scale)
        policy_loss = -masked_mean(mask, jnp.minimum(ratio * advantage, clipped_ratio * advantage))
        squared_error = jnp.square(masked(mask, value - m.target))
        if n.vf_clip is not None:
            squared_error = jnp.minimum(squared_error, n.vf_clip)
        value_loss, entropy = 0.5 * masked_mean(mask, squared_error), masked_mean(mask, entropy)
        loss = policy_loss + n.vf_coef * value_loss - n.ent_coef * entropy
        divergence = masked_mean(mask, ratio - 1 - log_ratio)
        if train_state.step_kl_coef is not None:
            loss += train_state.step_kl_coef * divergence
        metrics = {
            "policy_loss": policy_loss,
            "value_loss": value_loss,
            "entropy": entropy,
            "approx_kl": divergence,
            "clip_fraction": masked_mean(mask, (jnp.abs(ratio - 1) > n.clip_coef).astype(jnp.float32)),
        }
        if m.reference_logits is not None:
            metrics["reference_kl"] = masked_mean(mask, kl_divergence(logits, m.reference_logits, m.mask))
            metrics["kl_coef"] = self.kl_coef_after(train_state.iteration)
            loss += metrics["kl_coef"] * metrics["reference_kl"]
        return loss, (metrics, statistics)

    # -- optional parts: penalties for leaving another policy, the critic's warm-up --------------------------------

    def with_reference(self, train_state: TrainState, steps: Transition) -> Transition:
        """Returns the steps of a rollout with the logits of the reference policy; as they are without `kl_coef`."""
        params = train_state.reference_params
        if params is None:
            return steps
        return steps._replace(reference_logits=jax.lax.map(lambda boards: self.outputs(params, boards)[0], steps.state))

    def kl_coef_after(self, iteration: jax.Array) -> jax.Array:
        """Returns float32[], the weight of the divergence in the iteration after `iteration` others (int32[])."""
        first, last = self.numbers.kl_coef, self.numbers.final_kl_coef
        return linear(first, first if last is None else last, iteration, self.config.num_iterations)

    def with_step_kl(self, train_state: TrainState, metrics: Metrics) -> tuple[TrainState, Metrics]:
        """Returns the train state with the next weight `step_kl_coef` (section 4, factors of RLlib), and metrics."""
        coef, target = train_state.step_kl_coef, self.numbers.target_kl
        if coef is None:
            return train_state, metrics
        kl = metrics["approx_kl"]
        factor = jnp.where(kl > 2 * target, 1.5, jnp.where(kl < 0.5 * target, 0.5, 1))
        return train_state._replace(step_kl_coef=coef * factor), metrics | {"step_kl_coef": coef}

    def in_warmup(self, iteration: jax.Array, params: Params, learned: Params) -> Params:
        """Returns what `gradient_of` returns; in the first `critic_warmup` iterations, the policy does not change.

        There its gradient is 0, so that it is no part of the global norm or of Adam's moments.
        """
        if self.config.critic_warmup == 0:
            return learned
        return keep_policy(self.policy, iteration < self.config.critic_warmup, params, learned)

    def after_warmup(self, iteration: jax.Array, opt_state: Any) -> Any:
        """Returns the state of the optimizer; in the iteration after the warm-up, without the critic's moments."""
        return restarted(opt_state, iteration == self.config.critic_warmup) if self.config.critic_warmup else opt_state


def train(config: Config, key: jax.Array, numbers: Numbers | None = None) -> tuple[TrainState, Metrics]:
    """Returns `train` of the learner with these settings. Put it under jit."""
    return PPO(config, numbers).train(key)
