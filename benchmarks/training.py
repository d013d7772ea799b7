"""Where an iteration of train.ppo or train.alphazero spends its time, and its speed by the number of devices.

    python -m benchmarks.training --games demo checkers --picture docs/pictures/ppo_breakdown.svg
    python -m benchmarks.training --learner alphazero --games "chinese_checkers_diamond(size=4, pieces=3)" minichess

One row per game, with the settings of its recipe (`demo` is examples/demo.py) or with more boards at once: microseconds
per environment step of whole iterations, and the shares of their parts.

Parts of one compiled program cannot be timed from outside, and the compiler fuses across their borders. So programs
are timed that each do a little more than the one before, in loops of the same shapes. A part is a difference:

    rules       random play: mask, observation, a uniformly random action, step, restart
    forward     random play that runs the network on every board, minus random play
    sample      play with actions sampled from the policy, with their log-probabilities, minus the program before
    store       PPO.collect (writes out all transitions, counts episodes), minus the program before
    advantages  PPO.iterate without its update, minus PPO.collect: bootstrap values, advantages, metrics
    network     epochs over stored steps that run the network forward and backward, from a gradient as simple as its
                outputs, minus epochs that only gather their minibatches and observe their boards
    loss        epochs with the gradient of PPO.loss (probabilities and entropies of masked actions), minus
                the program before
    optimiser   the same with the optimiser, minus the program before
    shuffle     PPO.update minus the three parts above: permutations, gathered minibatches, their observations and
                masks, metrics
    rest        the iteration minus all of the above

The compared epochs write out whole minibatches, at the same cost to each. The parts of AlphaZero:

    rules       random play, once for every board that a search adds and for the step that is played
    tree        AlphaZero.collect with zeros in place of the network's outputs, minus `rules`
    network     the same with the network, minus the program before
    update      AlphaZero.update
    rest        the iteration minus all of the above: value targets, the replay buffer, metrics

Zeros lead a search to other boards than a network does, so the border between tree and network is not sharp. A
difference of medians can be negative: by noise, or where the compiler fuses the larger program better. The table shows
it as it is, the picture as zero. Each program reads or carries on all that it computes, so that nothing is optimised
away.

    python -m benchmarks.training devices --counts 1 2

measures whole iterations of train.ppo on several devices; on a CPU they are virtual, and a single one uses all cores.
The efficiency is the speed divided by `count` times the speed of one device:

    strong      the same number of boards, divided between more devices
    weak        the same number of boards on each device
"""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import jax
import jax.numpy as jnp
import optax
from matplotlib.figure import Figure

import jaxgames
from benchmarks import harness, loops
from benchmarks.harness import Command
from train import alphazero, plot, ppo
from train.alphazero import AlphaZero
from train.driver.commands import progress_over
from train.driver.machine import stamp
from train.driver.tables import Column, table_of
from train.models.policy import Params, Policy
from train.ops import sharding
from train.ops.episodes import Metrics, episode_metrics
from train.ops.masked_categorical import sample_and_log_prob
from train.ops.minibatches import group_boards, num_groups, shuffle, take_rows
from train.ppo import PPO, Config, Minibatch, TrainState, Transition
from train.recipes import ALPHAZERO, DEMO, RECIPES

GAMES = {
    "ppo": ("demo", *sorted(RECIPES)),
    "alphazero": tuple(sorted({*ALPHAZERO} - {"chinese_checkers"})),  # the star's compiles for minutes
}
COLOURS = ("#7fb069", "#2f6690", "#c9ada7", "#9a8c98", "#6d6875", "#16425b", "#ca3c25", "#a663cc", "#e6aa68", "#bbbbbb")
SETTINGS: dict[str, dict[str, Any]] = {
    "recipe": {},
    "large": {"num_envs": 2048, "rollout_length": 32, "num_minibatches": 64},
}
Time = Callable[..., float]  # (function, *arguments) -> microseconds per step of function(train_state, *arguments)


@dataclass(frozen=True)
class Arguments(harness.BenchmarkArguments):
    learner: Literal["ppo", "alphazero"] = "ppo"
    games: tuple[str, ...] = ()
    """Rows of the table: games with their parameters, and `demo` for PPO; none for all that have a recipe."""
    setting: Literal["recipe", "large"] = "recipe"
    """The settings of the game's recipe; or, for PPO, with 2,048 boards and minibatches of 1,024."""
    repeats: int = 5
    picture: Path | None = None
    """A file for the stacked bars, such as ppo_breakdown.svg."""


def measure_training(arguments: Arguments) -> dict[str, Any]:
    harness.check_positive(arguments, "repeats")
    games = arguments.games or GAMES[arguments.learner]
    learners = {game: learner_of(arguments.learner, game, arguments.setting) for game in games}
    rows: list[dict[str, Any]] = []
    result = {"learner": arguments.learner, "setting": arguments.setting, "rows": rows, **stamp()}
    for game, learner in progress_over(learners.items(), "games"):
        rows.append(measure_parts(learner, arguments.repeats, game))
        harness.save(arguments, result)
    harness.log(table_of(rows, columns(rows[0]["shares"])))
    return result


def columns(parts: Sequence[str]) -> dict[str, Column]:
    """The columns of the table of rows with these parts."""
    shares = {part: f"{{shares[{part}]:.0%}}" for part in parts}
    return {"game": "`{game}`", "microseconds per step": "{whole:.0f}", **shares}


def learner_of(name: str, game: str, setting: str) -> PPO | AlphaZero:
    if name == "alphazero":
        return AlphaZero(alphazero.config_for(game))
    base = Config(**DEMO) if game == "demo" else ppo.config_for(game)
    return PPO(dataclasses.replace(base, **SETTINGS[setting]))


def measure_parts(learner: PPO | AlphaZero, repeats: int, game: str) -> dict[str, Any]:
    """The row of a game: microseconds per step of an iteration, and the share of every part."""
    config, train_state = learner.config, jax.jit(learner.init)(jax.random.key(0))

    def time(function: Callable[..., Any], *arguments: Any) -> float:
        """The train state has a new key in each repeat."""

        def program(key: jax.Array, state: Any, *arguments: Any) -> Any:
            return function(state._replace(key=key), *arguments)

        return harness.time_program(
            program, (train_state, *arguments), config.steps_per_iteration, repeats
        ).microseconds

    whole = time(learner.iterate)
    if isinstance(learner, PPO):
        parts = ppo_parts(learner, train_state, time, repeats)
    else:
        parts = alphazero_parts(learner, time, repeats)
    shares = {part: spent / whole for part, spent in (parts | {"rest": whole - sum(parts.values())}).items()}
    return {"game": game, "env": config.env, "whole": whole, "shares": shares, "boards": config.num_envs}


# -- PPO --------------------------------------------------------------------------------------------------


def ppo_parts(learner: PPO, train_state: TrainState, time: Time, repeats: int) -> dict[str, float]:
    """Returns microseconds per step of every part but the rest."""
    (steps, advantages, targets), _ = jax.jit(functools.partial(collect_for_update, learner))(train_state)
    playing = measure_collection(learner, train_state, time, repeats)
    learning = measure_epochs(learner, train_state, (steps, advantages, targets), time)
    parts = [after - before for series in ([0.0, *playing], learning) for before, after in itertools.pairwise(series)]
    shuffled = time(learner.update, steps, advantages) - sum(parts[len(playing) :])
    names = ("rules", "forward", "sample", "store", "advantages", "network", "loss", "optimiser", "shuffle")
    return dict(zip(names, [*parts, shuffled], strict=True))


def measure_collection(learner: PPO, train_state: TrainState, time: Time, repeats: int) -> list[float]:
    """Microseconds per step of five programs, each with one more part, from random play to all but the update."""
    config, env, policy = learner.config, learner.env, learner.policy

    def evaluate(params: Params, key: jax.Array, observation: jax.Array, mask: jax.Array, seat: jax.Array) -> Any:
        """A random action; the network's outputs only go into the checksum."""
        action = jax.vmap(jaxgames.random_action)(jax.random.split(key, len(mask)), mask)
        logits, value = policy.apply(params, observation, seat)
        return action, loops.probe(logits, action) + value.sum()

    def sample(params: Params, key: jax.Array, observation: jax.Array, mask: jax.Array, seat: jax.Array) -> Any:
        """An action sampled from the policy; its log-probability and the value go into the checksum."""
        logits, value = policy.apply(params, observation, seat)
        action, log_prob = sample_and_log_prob(key, logits, mask)
        return action, log_prob.sum() + value.sum()

    rollout = (config.num_envs, config.rollout_length, repeats)
    playing = [
        loops.measure_play(env, *rollout, choose, train_state.params).microseconds
        for choose in (None, evaluate, sample)
    ]
    return [*playing, time(learner.collect), time(functools.partial(collect_for_update, learner))]


def measure_epochs(learner: PPO, train_state: TrainState, collected: Any, time: Time) -> list[float]:
    """Microseconds per step of four loops of epochs, each with one more part, from bare gathering to the optimiser."""
    params, batch = train_state.params, group_minibatches(learner.config, collected)
    loss_gradient = jax.grad(functools.partial(learner.loss, train_state), has_aux=True)
    plain = optax.scale(-1e-9)
    pairs = (
        (no_gradient, plain),
        (network_gradient(learner.policy), plain),
        (loss_gradient, plain),
        (loss_gradient, learner.optimizer()),
    )
    return [
        time(make_epochs(learner, gradient, optimizer), (params, optimizer.init(params)), batch)
        for gradient, optimizer in pairs
    ]


def collect_for_update(
    learner: PPO, train_state: TrainState
) -> tuple[tuple[Transition, jax.Array, jax.Array], tuple[TrainState, Metrics]]:
    """An iteration that ends before the update: its steps, advantages and targets; then the state and the metrics."""
    train_state, steps = learner.collect(train_state)
    steps, advantages = learner.advantages(train_state.params, steps)
    metrics = episode_metrics(learner.env, steps)
    return (steps, advantages, advantages + steps.value), (train_state, metrics)


def group_minibatches(config: Config, collected: Any) -> Any:
    """The batch as `PPO.update` groups it."""
    return group_boards(collected, num_groups(config.num_envs, config.minibatch_size))


def make_epochs(
    learner: PPO, gradient: Callable[..., Any], optimizer: optax.GradientTransformation
) -> Callable[..., Any]:
    """The loops of `PPO.update` around any gradient; each minibatch is written out whole."""
    config = learner.config

    def rows_of(key: jax.Array) -> jax.Array:
        groups = num_groups(config.num_envs, config.minibatch_size)
        return shuffle(key, groups, config.steps_per_iteration // groups, config.num_minibatches, config.minibatch_size)

    def epochs(train_state: TrainState, learnt: tuple[Params, Any], batch: Any) -> Any:
        def take(rows: jax.Array) -> Minibatch:
            return ppo.minibatch_of(learner.env, *take_rows(batch, rows))

        def epoch(carry: Any, key: jax.Array) -> Any:
            return jax.lax.scan(gradient_step, carry, rows_of(key))

        def gradient_step(carry: Any, rows: jax.Array) -> Any:
            params, opt_state, before, checksum = carry
            checksum += sum(loops.probe(leaf, rows.reshape(-1)) for leaf in jax.tree.leaves(before))
            minibatch = take(rows)
            change, _ = gradient(params, minibatch)
            if change is not None:
                change, opt_state = optimizer.update(change, opt_state, params)
                params = optax.apply_updates(params, change)
            return (params, opt_state, minibatch, checksum), None

        blank = jax.tree.map(jnp.zeros_like, take(rows_of(train_state.key)[0]))
        start = (*learnt, blank, jnp.float32(0))
        return jax.lax.scan(epoch, start, jax.random.split(train_state.key, config.update_epochs))[0]

    return epochs


def no_gradient(params: Params, minibatch: Minibatch) -> tuple[None, None]:
    """The gradient of epochs that only gather their minibatches."""
    return None, None


def network_gradient(policy: Policy) -> Callable[..., Any]:
    """The gradient of half the squares of logits and values: the network's outputs are propagated back through it."""

    def squares(params: Params, minibatch: Minibatch) -> tuple[jax.Array, None]:
        logits, value = policy.apply(params, minibatch.observation, minibatch.seat)
        return 0.5 * (jnp.square(logits).sum() + jnp.square(value).sum()), None

    return jax.grad(squares, has_aux=True)


# -- AlphaZero --------------------------------------------------------------------------------------------


class Zeros(Policy):
    """A policy whose network is not run: all of its outputs are zeros."""

    def apply(self, params: Params, observation: jax.Array, seat: jax.Array) -> tuple[jax.Array, jax.Array]:
        logits, values = jax.eval_shape(super().apply, params, observation, seat)
        return jnp.zeros(logits.shape, logits.dtype), jnp.zeros(values.shape, values.dtype)


class WithoutNetwork(AlphaZero):
    """AlphaZero with zeros in place of the outputs of its network."""

    def make_policy(self, env: jaxgames.Env[Any]) -> Policy:
        policy = super().make_policy(env)
        return Zeros(**{field.name: getattr(policy, field.name) for field in dataclasses.fields(policy)})


def alphazero_parts(learner: AlphaZero, time: Time, repeats: int) -> dict[str, float]:
    """Returns microseconds per step of every part but the rest."""
    config = learner.config
    if config.other_envs or config.first_simulations is not None or config.fast_searches:
        raise ValueError("expected one game, and the same search in every step")

    def collecting(learner: AlphaZero) -> float:
        def collect(train_state: Any) -> Any:
            train_state, steps = learner.collect(train_state)
            return train_state.games[0].boards, steps

        return time(collect)

    play = loops.measure_play(learner.env, config.num_envs, config.rollout_length, repeats).microseconds
    searches = (config.rollout_length + 1) / config.rollout_length  # for every step: one more gives the last values
    rules = (config.simulations * searches + 1) * play
    with_zeros, with_network = collecting(WithoutNetwork(config)), collecting(learner)
    parts = {"rules": rules, "tree": with_zeros - rules, "network": with_network - with_zeros}
    return parts | {"update": time(learner.update)}


# -- devices ----------------------------------------------------------------------------------------------

DEVICES_TABLE = {
    "scaling": "{scaling}",
    "devices": "{count}",
    "boards": "{boards:,}",
    "steps/s (spread)": harness.SPEED,
    "efficiency": "{efficiency:.2f}",
}


@dataclass(frozen=True)
class DevicesArguments(harness.BenchmarkArguments):
    env: str = "chinese_checkers(size=2, num_players=6)"
    """The game, with its parameters; the network and the epochs come from its recipe."""
    boards: int = 256
    """Boards of one device; in strong scaling, of all devices together."""
    rollout_length: int = 64
    counts: tuple[int, ...] = (1, 2, 4)
    """Numbers of devices; the first must be 1."""
    repeats: int = 5


def measure_devices(arguments: DevicesArguments) -> dict[str, Any]:
    harness.check_positive(arguments, "boards", "rollout_length", "counts", "repeats")
    if arguments.counts[:1] != (1,):
        raise ValueError(f"counts must begin with 1, not be {arguments.counts}")
    harness.provide_devices(max(arguments.counts))
    rows: list[dict[str, Any]] = []
    for scaling, count in progress_over(itertools.product(("strong", "weak"), arguments.counts), "rows"):
        boards = arguments.boards * (count if scaling == "weak" else 1)
        learner = PPO(ppo.config_for(arguments.env, num_envs=boards, rollout_length=arguments.rollout_length))
        mesh = sharding.mesh_for(count, learner.batch_sizes)
        train_state = sharding.shard(jax.jit(learner.init)(jax.random.key(0)), mesh, learner.partition_specs)
        with jax.set_mesh(mesh):
            timing = harness.time_iterations(
                learner, train_state, learner.config.steps_per_iteration, arguments.repeats
            )
        row = {"scaling": scaling, "count": count, "boards": boards, **timing._asdict()}
        one = rows[0]["steps_per_second"] if rows else timing.steps_per_second
        rows.append(row | {"efficiency": timing.steps_per_second / (count * one)})
    harness.log(table_of(rows, DEVICES_TABLE))
    return {"env": arguments.env, "rollout_length": arguments.rollout_length, "rows": rows, **stamp()}


# -- picture ----------------------------------------------------------------------------------------------


def draw_bars(arguments: Arguments, result: dict[str, Any]) -> Figure:
    """One bar per game, divided into the parts of an iteration."""
    rows = result["rows"]
    picture, (axes,) = plot.new_picture(9, 0.6 * len(rows) + 1.6)
    axes.grid(visible=False)
    totals = [sum(max(0.0, share) for share in row["shares"].values()) for row in rows]
    start = [0.0] * len(rows)
    for part, colour in zip(rows[0]["shares"], COLOURS, strict=False):
        shares = [100 * max(0.0, row["shares"][part]) / total for row, total in zip(rows, totals, strict=True)]
        axes.barh([row["game"] for row in rows], shares, left=start, color=colour, label=part)
        start = [left + share for left, share in zip(start, shares, strict=True)]
    axes.invert_yaxis()
    axes.set(xlim=(0, 100), xlabel="% of an iteration")
    picture.legend(loc="outside lower center", ncols=6, frameon=False)
    return picture


COMMANDS = (
    Command("training", Arguments, measure_training, draw=draw_bars),
    Command("training devices", DevicesArguments, measure_devices),
)

if __name__ == "__main__":
    harness.run(*COMMANDS)
