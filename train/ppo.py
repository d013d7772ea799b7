"""PPO by self-play: one policy plays every seat of thousands of boards and learns from all of them.

    runner = learner.init(key)
    runner, metrics = learner.iterate(runner)       # collect, advantages, update: one program, under one jit

`Learner.iterate` is pure, so seeds are a `jax.vmap` of it, and a run goes on from a stored `Runner` to the same bits.

    python -m train.ppo --env "chinese_checkers(size=2, num_players=6)" --run-dir runs/first

Source: Schulman et al., Proximal Policy Optimization Algorithms, 2017, arXiv:1707.06347.
"""

import functools
import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple, get_args

import jax
import jax.numpy as jnp
import optax

import jaxgames
from jaxgames.wrappers import AutoResetState
from train.advantages import per_seat_advantages
from train.choice import draw, log_prob_and_entropy
from train.devices import BY_BOARD, COPIED, on_each_device
from train.policy import Params, Policy, Sharing


@dataclass(frozen=True)
class Config:
    """Settings of a run; they are stored in its folder."""

    env: str = "chinese_checkers(size=2, num_players=6)"
    """The game, with its parameters."""
    sharing: Sharing = "shared"
    """What the seats share: everything, the encoder, or nothing."""
    total_steps: int = 400_000
    """Environment steps of the whole run, rounded up to whole iterations; a submove of any seat is a step."""
    seed: int = 0
    num_boards: int = 20
    """Boards played at once."""
    rollout_length: int = 200
    """Steps of each board in an iteration."""
    epochs: int = 10
    """Passes over an iteration's steps."""
    minibatches: int = 16
    """Parts that a pass is cut into, a gradient step each."""
    learning_rate: float = 3e-4
    anneal: bool = True
    """Whether the learning rate falls linearly to zero over the run."""
    discount: float = 0.99
    """Gamma, per decision of a seat."""
    trace_decay: float = 0.8
    """Lambda of the advantage estimate."""
    clip: float = 0.3
    """How far the probability of an action may move from the old one before its gradient is cut."""
    value_weight: float = 0.5
    entropy_weight: float = 0.1
    max_grad_norm: float = 0.5
    channels: tuple[int, ...] = ()
    """Channels of the encoder's 3 x 3 convolutions, for boards that are grids; none if empty."""
    hidden: tuple[int, ...] = (64, 64)
    """Widths of the encoder's dense layers, behind the convolutions."""
    temperature: float = 1.0
    """Of the policy when it plays after training: 1 draws from it, less sharpens it, 0 plays its likeliest action."""

    def __post_init__(self) -> None:
        for name in ("channels", "hidden"):  # lists where the settings come from JSON
            object.__setattr__(self, name, tuple(getattr(self, name)))
        jaxgames.make(self.env)
        if self.sharing not in get_args(Sharing):
            raise ValueError(f"sharing must be one of {', '.join(get_args(Sharing))}, not {self.sharing!r}")
        if not self.hidden or min(self.hidden) < 1:
            raise ValueError(f"hidden must be one or more positive widths, not {self.hidden}")
        if any(width < 1 for width in self.channels):
            raise ValueError(f"channels must be positive numbers, not {self.channels}")
        counts = ("total_steps", "num_boards", "rollout_length", "epochs", "minibatches")
        for name in (*counts, "learning_rate", "clip", "max_grad_norm"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be positive, not {getattr(self, name)}")
        for name in ("value_weight", "entropy_weight", "temperature"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} must be 0 or more, not {getattr(self, name)}")
        for name in ("discount", "trace_decay"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must be from 0 to 1, not {getattr(self, name)}")
        if self.minibatches > self.steps_per_iteration:
            raise ValueError(f"minibatches must be at most num_boards * rollout_length = {self.steps_per_iteration}")

    @property
    def steps_per_iteration(self) -> int:
        return self.num_boards * self.rollout_length

    @property
    def minibatch_size(self) -> int:
        return self.steps_per_iteration // self.minibatches

    @property
    def num_iterations(self) -> int:
        return -(-self.total_steps // self.steps_per_iteration)


class Runner(NamedTuple):
    """All that a run is between two iterations."""

    params: Params
    opt_state: Any  # optax's
    boards: AutoResetState[Any]  # [num_boards]
    tally: "Tally"  # [num_boards]
    key: jax.Array
    iteration: jax.Array  # int32[]


class Tally(NamedTuple):
    """What the games in progress have come to so far."""

    length: jax.Array  # int32[], steps
    returns: jax.Array  # float32[num_players]


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
    final: jaxgames.State  # the board that the step led to, before any restart
    tally: Tally  # of the game that the step belongs to, the step included


@dataclass(frozen=True)
class Learner:
    """The pure functions of a run; static under jit."""

    config: Config
    env: jaxgames.Env[Any] = field(init=False)
    policy: Policy = field(init=False)

    def __post_init__(self) -> None:
        env = jaxgames.make(self.config.env)
        object.__setattr__(self, "env", env)
        policy = Policy.of(env, self.config.sharing, self.config.hidden, self.config.channels)
        object.__setattr__(self, "policy", policy)

    def init(self, key: jax.Array) -> Runner:
        c = self.config
        key, params_key, boards_key = jax.random.split(key, 3)
        params = self.policy.init(params_key)
        boards = jax.vmap(jaxgames.auto_reset(self.env).init)(jax.random.split(boards_key, c.num_boards))
        tally = Tally(jnp.zeros(c.num_boards, jnp.int32), jnp.zeros((c.num_boards, self.env.num_players), jnp.float32))
        return Runner(params, self._optimizer.init(params), boards, tally, key, jnp.int32(0))

    def iterate(self, runner: Runner) -> tuple[Runner, dict[str, jax.Array]]:
        """One iteration: the runner after it, and metrics (float32[] each) reduced on the device."""
        c = self.config
        runner, steps = self._collect(runner)  # [rollout_length, num_boards]
        bootstrap = on_each_device(self._bootstrap, COPIED, BY_BOARD, out=BY_BOARD)(runner.params, steps)
        advantages = jax.vmap(
            functools.partial(per_seat_advantages, discount=c.discount, trace_decay=c.trace_decay),
            in_axes=1,
            out_axes=1,
        )(steps.rewards, steps.value, steps.seat, steps.terminated, steps.truncated, bootstrap)
        metrics = self._rollout_metrics(steps)
        steps = steps._replace(final=None, tally=None)  # pyright: ignore[reportArgumentType]  # the update needs neither
        runner, update_metrics = self._update(runner, steps, advantages)
        return runner._replace(iteration=runner.iteration + 1), metrics | update_metrics

    # -- collect -----------------------------------------------------------------------------------

    def _collect(self, runner: Runner) -> tuple[Runner, Transition]:
        env = jaxgames.auto_reset(self.env)

        def step(carry: tuple[AutoResetState[Any], Tally], key: jax.Array):
            boards, tally = carry
            action_key, step_key = jax.random.split(key)
            observation = jax.vmap(env.observe)(boards)
            mask = jax.vmap(env.legal_action_mask)(boards)
            seat = boards.current_player
            logits, value = self.policy.apply(runner.params, observation, seat)
            action, log_prob = draw(action_key, logits, mask)
            boards = jax.vmap(env.step)(boards, action, jax.random.split(step_key, self.config.num_boards))
            tally = Tally(tally.length + 1, tally.returns + boards.rewards)
            transition = Transition(
                observation=observation,
                mask=mask,
                seat=seat,
                action=action,
                log_prob=log_prob,
                value=value,
                rewards=boards.rewards * self._reward_scale,
                terminated=boards.terminated,
                truncated=boards.truncated,
                final=boards.final,
                tally=tally,
            )
            live = ~(boards.terminated | boards.truncated)
            tally = Tally(tally.length * live, tally.returns * live[:, None])
            return (boards, tally), transition

        key, subkey = jax.random.split(runner.key)
        keys = jax.random.split(subkey, self.config.rollout_length)
        (boards, tally), steps = jax.lax.scan(step, (runner.boards, runner.tally), keys)
        return runner._replace(boards=boards, tally=tally, key=key), steps

    # -- advantages --------------------------------------------------------------------------------

    def _bootstrap(self, params: Params, steps: Transition) -> jax.Array:
        """float32[rollout_length, num_boards, num_players], every seat's value where a game was cut off.

        Truncations are few, so the boards that were truncated are gathered and valued in chunks, as many as it takes.
        """
        shape = steps.truncated.shape
        boards = jax.tree.map(lambda x: x.reshape(x.shape[0] * x.shape[1], *x.shape[2:]), steps.final)
        cut_off = steps.truncated.at[-1].set(~steps.terminated[-1]).reshape(-1)
        chunk = shape[1]
        order = jnp.argsort(~cut_off, stable=True)  # those cut off first
        seats = jnp.arange(self.env.num_players, dtype=jnp.int32)

        def value_chunk(carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            begin, values = carry
            rows = jax.lax.dynamic_slice(order, (begin,), (chunk,))
            some = jax.tree.map(lambda x: x[rows], boards)
            views = jax.vmap(lambda board: jax.vmap(lambda seat: self.env.observe(board, seat))(seats))(some)
            _, of_seats = self.policy.apply(
                params, views.reshape(-1, *self.env.observation_shape), jnp.tile(seats, chunk)
            )
            return begin + chunk, values.at[rows].set(of_seats.reshape(chunk, -1))

        values = jnp.zeros((cut_off.size, self.env.num_players), jnp.float32)
        num_cut_off = cut_off.sum(dtype=jnp.int32)
        _, values = jax.lax.while_loop(lambda carry: carry[0] < num_cut_off, value_chunk, (jnp.int32(0), values))
        return values.reshape(*shape, -1)

    # -- update ------------------------------------------------------------------------------------

    def _update(self, runner: Runner, steps: Transition, advantages: jax.Array) -> tuple[Runner, dict[str, jax.Array]]:
        """Steps and advantages are [rollout_length, num_boards]."""
        optimizer = self._optimizer
        targets = advantages + steps.value
        batch = self._grouped((steps, advantages, targets))

        def epoch(carry: tuple[Params, Any], key: jax.Array) -> Any:
            return jax.lax.scan(minibatch, carry, self._order(key))

        def minibatch(carry: tuple[Params, Any], rows: jax.Array) -> Any:
            params, opt_state = carry
            gradient, metrics = jax.grad(self._loss, has_aux=True)(params, *rows_of_groups(batch, rows))
            updates, opt_state = optimizer.update(gradient, opt_state, params)
            return (optax.apply_updates(params, updates), opt_state), metrics

        key, subkey = jax.random.split(runner.key)
        (params, opt_state), metrics = jax.lax.scan(
            epoch, (runner.params, runner.opt_state), jax.random.split(subkey, self.config.epochs)
        )
        metrics = jax.tree.map(jnp.mean, metrics)
        metrics["explained_variance"] = 1 - jnp.var(advantages) / (jnp.var(targets) + 1e-8)
        return runner._replace(params=params, opt_state=opt_state, key=key), metrics

    @property
    def _groups(self) -> int:
        """Boards are shuffled in groups, as many as divide both the boards and a minibatch: every group gives the same
        number of steps to each minibatch. Where groups lie on different devices no step has to leave its device."""
        return math.gcd(self.config.num_boards, self.config.minibatch_size)

    def _grouped(self, steps: Any) -> Any:
        """Leaves [rollout_length, num_boards, ...] as [groups, steps of a group, ...]."""
        return jax.tree.map(lambda x: x.swapaxes(0, 1).reshape(self._groups, -1, *x.shape[2:]), steps)

    def _order(self, key: jax.Array) -> jax.Array:
        """int32[minibatches, groups, steps of a group in a minibatch], places in their groups, shuffled."""
        c, groups = self.config, self._groups
        length, part = c.steps_per_iteration // groups, c.minibatch_size // groups
        order = jax.vmap(lambda key: jax.random.permutation(key, length))(jax.random.split(key, groups))
        return order[:, : c.minibatches * part].reshape(groups, c.minibatches, part).swapaxes(0, 1)

    def _loss(
        self,
        params: Params,
        steps: Transition,
        advantages: jax.Array,
        targets: jax.Array,
    ) -> tuple[jax.Array, dict[str, jax.Array]]:
        c = self.config
        logits, value = self.policy.apply(params, steps.observation, steps.seat)
        log_prob, entropy = log_prob_and_entropy(logits, steps.mask, steps.action)
        log_ratio = log_prob - steps.log_prob
        ratio = jnp.exp(log_ratio)
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        policy_loss = -jnp.minimum(ratio * advantages, jnp.clip(ratio, 1 - c.clip, 1 + c.clip) * advantages).mean()
        value_loss = 0.5 * jnp.square(value - targets).mean()
        entropy = entropy.mean()
        loss = policy_loss + c.value_weight * value_loss - c.entropy_weight * entropy
        return loss, {
            "policy_loss": policy_loss,
            "value_loss": value_loss,
            "entropy": entropy,
            "kl": (ratio - 1 - log_ratio).mean(),
            "clipped": (jnp.abs(ratio - 1) > c.clip).mean(dtype=jnp.float32),
        }

    @property
    def _optimizer(self) -> optax.GradientTransformation:
        c = self.config
        rate = (
            optax.linear_schedule(c.learning_rate, 0.0, c.num_iterations * c.epochs * c.minibatches)
            if c.anneal
            else c.learning_rate
        )
        optimizer = optax.chain(optax.clip_by_global_norm(c.max_grad_norm), optax.adam(rate, eps=1e-5))
        if c.sharing == "independent":  # each seat's gradient is clipped by its own norm
            init, update = jax.vmap(optimizer.init), jax.vmap(optimizer.update)
            return optax.GradientTransformation(init, update)  # pyright: ignore[reportArgumentType]  # vmap hides the signature
        return optimizer

    @property
    def _reward_scale(self) -> float:
        """Brings rewards to the size of 1, whatever the game pays, so that one set of weights fits all games."""
        return 1.0 / max(abs(bound) for bound in self.env.reward_range)

    def _rollout_metrics(self, steps: Transition) -> dict[str, jax.Array]:
        """Over the games that ended in the rollout; NaN where none did."""
        ended = steps.terminated | steps.truncated
        games = ended.sum(dtype=jnp.float32)
        return {
            "games": games,
            "game_length": (steps.tally.length * ended).sum() / games,
            "truncated_rate": steps.truncated.sum() / games,
            **{
                f"return_seat_{seat}": (steps.tally.returns[..., seat] * ended).sum() / games
                for seat in range(self.env.num_players)
            },
        }


def train(config: Config, key: jax.Array) -> tuple[Runner, dict[str, jax.Array]]:
    """A whole run from a key: the last runner, and metrics with a leading axis of iterations. Put it under jit."""
    learner = Learner(config)
    return jax.lax.scan(lambda runner, _: learner.iterate(runner), learner.init(key), length=config.num_iterations)


def rows_of_groups(batch: Any, rows: jax.Array) -> Any:
    """Leaves [groups, n, ...] as [groups * k, ...], of each group the rows int32[groups, k]."""

    def chosen(x: jax.Array) -> jax.Array:
        return jax.vmap(lambda x, rows: x[rows])(x, rows).reshape(rows.size, *x.shape[2:])

    return jax.tree.map(chosen, batch)


if __name__ == "__main__":
    from train.loop import main

    main()
