"""Training beside random play, and where an iteration of train.ppo spends its time.

    python -m benchmarks.training --games demo checkers --picture docs/pictures/ppo_breakdown.svg

One row per game, with the settings of its recipe (`demo` is examples/demo.py) or with more boards at once: environment
steps per second of whole iterations, of random play with equally many boards, and the parts of an iteration, in
microseconds per environment step.

Parts of one compiled program cannot be timed from outside, and the compiler fuses across their borders. So programs
are timed that each do a little more than the one before, in loops of the same shapes. A part is a difference:

    play        random play: mask, observation, a uniformly random action, step, restart
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
    rest        PPO.iterate minus all of the above

`products` is the time of the network's bare matrix products: every dot_general of the programs `forward` and `network`,
on random arrays of the same shapes, and nothing between them. It is a lower bound for a network of this shape.

The compared epochs write out whole minibatches, at the same cost to each. A difference of medians can be negative: by
noise, or where the compiler fuses the larger program better. The table shows it as it is, the picture as zero. Each
program reads or carries on all that it computes, so that nothing is optimised away.
"""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import jax
import jax.numpy as jnp
import optax
from jax.extend.core import jaxprs_in_params
from matplotlib.figure import Figure

import jaxgames
from benchmarks import harness, loops
from benchmarks.harness import Command
from train import ppo
from train.driver.machine import stamp
from train.models.policy import Params, Policy
from train.ops.episodes import Metrics, episode_metrics
from train.ops.masked_categorical import sample_and_log_prob
from train.ops.minibatches import group_boards, num_groups, shuffle, take_rows
from train.ppo import PPO, Config, Minibatch, TrainState, Transition
from train.recipes import DEMO, RECIPES

GAMES = ("demo", *sorted(RECIPES))
PARTS = ("play", "forward", "sample", "store", "advantages", "network", "loss", "optimiser", "shuffle", "rest")
COLOURS = ("#7fb069", "#2f6690", "#c9ada7", "#9a8c98", "#6d6875", "#16425b", "#ca3c25", "#a663cc", "#e6aa68", "#bbbbbb")
SETTINGS: dict[str, dict[str, Any]] = {
    "recipe": {},
    "large": {"num_envs": 2048, "rollout_length": 32, "num_minibatches": 64},
}
TABLE = {
    "game": "{game}",
    "ppo, steps/s": "{ppo:,.0f}",
    "random play, steps/s": "{random_play:,.0f}",
    "ratio": "{ratio:.3f}",
    "products": "{products:.0%}",
    **{part: f"{{parts[{part}]:.2f}} ({{shares[{part}]:.0%}})" for part in PARTS},
}


@dataclass(frozen=True)
class Arguments(harness.BenchmarkArguments):
    games: tuple[str, ...] = GAMES
    """Rows of the table: games with their parameters, and `demo`."""
    setting: Literal["recipe", "large"] = "recipe"
    """The boards, rollout and minibatches of the game's recipe, or 2,048 boards with minibatches of 1,024."""
    repeats: int = 5
    picture: Path | None = None
    """A file for the stacked bars, such as ppo_breakdown.svg."""


def measure_training(arguments: Arguments) -> dict[str, Any]:
    harness.check_positive(arguments, "repeats")
    configs = {game: config_of(game, arguments.setting) for game in arguments.games}
    progress = harness.Progress(len(configs), "game")
    rows: list[dict[str, Any]] = []
    result = {"setting": arguments.setting, "rows": rows, **stamp()}
    for game, config in configs.items():
        rows.append(measure_parts(config, arguments.repeats, game))
        harness.save(arguments, result)
        progress.finish(f"{game}: {rows[-1]['ppo']:,.0f} steps/s")
    harness.log(harness.table(TABLE, map(with_shares, rows)))
    return result


def config_of(game: str, setting: str) -> Config:
    base = Config(**DEMO) if game == "demo" else ppo.config_for(game)
    return dataclasses.replace(base, **SETTINGS[setting])


def with_shares(row: dict[str, Any]) -> dict[str, Any]:
    whole = sum(row["parts"].values())
    shares = {name: size / whole for name, size in row["parts"].items()}
    return row | {"ratio": row["ppo"] / row["random_play"], "products": row["products"] / whole, "shares": shares}


def measure_parts(config: Config, repeats: int, game: str) -> dict[str, Any]:
    """The row of a game: steps per second of training and of random play, and microseconds per step of every part."""
    learner = PPO(config)
    policy = learner.policy
    train_state = jax.jit(learner.init)(jax.random.key(0))
    params = train_state.params
    collected, _ = jax.jit(functools.partial(collect_for_update, learner))(train_state)

    playing = measure_collection(learner, train_state, repeats)
    learning = measure_epochs(learner, train_state, collected, repeats)
    updating = measure_from(learner, train_state, repeats, learner.update, *collected[:2])
    whole = measure_from(learner, train_state, repeats, learner.iterate)

    parts = [after - before for series in ([0.0, *playing], learning) for before, after in itertools.pairwise(series)]
    parts += [updating - sum(parts[len(playing) :]), whole - playing[-1] - updating]
    minibatch = take_minibatch(
        learner, group_minibatches(config, collected), minibatch_rows(config, jax.random.key(0))[0]
    )
    boards = minibatch.observation[: config.num_envs], minibatch.seat[: config.num_envs]
    return {
        "game": game,
        "env": config.env,
        "ppo": 1e6 / whole,
        "random_play": 1e6 / playing[0],
        "products": measure_products(policy.apply, (params, *boards), repeats)
        + config.update_epochs * measure_products(network_gradient(policy), (params, minibatch), repeats),
        "parts": dict(zip(PARTS, parts, strict=True)),
        "boards": config.num_envs,
        "rollout_length": config.rollout_length,
    }


def measure_from(
    learner: PPO, train_state: TrainState, repeats: int, function: Callable[..., Any], *arguments: Any
) -> float:
    """Microseconds per step of `function(train_state, *arguments)`; the train state has a new key in each repeat."""

    def program(key: jax.Array, state: TrainState, *arguments: Any) -> Any:
        return function(state._replace(key=key), *arguments)

    steps = learner.config.steps_per_iteration
    return harness.time_program(program, (train_state, *arguments), steps, repeats).microseconds


def measure_collection(learner: PPO, train_state: TrainState, repeats: int) -> list[float]:
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
    longer = (learner.collect, functools.partial(collect_for_update, learner))
    return playing + [measure_from(learner, train_state, repeats, function) for function in longer]


def measure_epochs(learner: PPO, train_state: TrainState, collected: Any, repeats: int) -> list[float]:
    """Microseconds per step of four loops of epochs, each with one more part, from bare gathering to the optimiser."""
    config, params = learner.config, train_state.params
    batch = group_minibatches(config, collected)
    loss_gradient = jax.grad(functools.partial(learner.loss, train_state), has_aux=True)
    plain = optax.scale(-1e-9)
    pairs = (
        (no_gradient, plain),
        (network_gradient(learner.policy), plain),
        (loss_gradient, plain),
        (loss_gradient, learner.optimizer()),
    )
    times: list[float] = []
    for gradient, optimizer in pairs:
        program, start = make_epochs(learner, gradient, optimizer), (params, optimizer.init(params))
        timing = harness.time_program(program, (start, batch), config.steps_per_iteration, repeats)
        times.append(timing.microseconds)
    return times


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


def minibatch_rows(config: Config, key: jax.Array) -> jax.Array:
    """The rows of the minibatches of an epoch, as `PPO.update` shuffles them."""
    groups = num_groups(config.num_envs, config.minibatch_size)
    return shuffle(key, groups, config.steps_per_iteration // groups, config.num_minibatches, config.minibatch_size)


def take_minibatch(learner: PPO, batch: Any, rows: jax.Array) -> Minibatch:
    """A minibatch, as `PPO.update` takes them."""
    return ppo.minibatch_of(learner.env, *take_rows(batch, rows))


def make_epochs(
    learner: PPO, gradient: Callable[..., Any], optimizer: optax.GradientTransformation
) -> Callable[..., Any]:
    """The loops of `PPO.update` around any gradient; each minibatch is written out whole."""
    config = learner.config

    def program(key: jax.Array, learnt: tuple[Params, Any], batch: Any) -> Any:
        def epoch(carry: Any, key: jax.Array) -> Any:
            return jax.lax.scan(gradient_step, carry, minibatch_rows(config, key))

        def gradient_step(carry: Any, rows: jax.Array) -> Any:
            params, opt_state, before, checksum = carry
            checksum += sum(loops.probe(leaf, rows.reshape(-1)) for leaf in jax.tree.leaves(before))
            minibatch = take_minibatch(learner, batch, rows)
            change, _ = gradient(params, minibatch)
            if change is not None:
                change, opt_state = optimizer.update(change, opt_state, params)
                params = optax.apply_updates(params, change)
            return (params, opt_state, minibatch, checksum), None

        blank = jax.tree.map(jnp.zeros_like, take_minibatch(learner, batch, minibatch_rows(config, key)[0]))
        start = (*learnt, blank, jnp.float32(0))
        return jax.lax.scan(epoch, start, jax.random.split(key, config.update_epochs))[0]

    return program


def no_gradient(params: Params, minibatch: Minibatch) -> tuple[None, None]:
    """The gradient of epochs that only gather their minibatches."""
    return None, None


def network_gradient(policy: Policy) -> Callable[..., Any]:
    """The gradient of half the squares of logits and values: the network's outputs are propagated back through it."""

    def squares(params: Params, minibatch: Minibatch) -> tuple[jax.Array, None]:
        logits, value = policy.apply(params, minibatch.observation, minibatch.seat)
        return 0.5 * (jnp.square(logits).sum() + jnp.square(value).sum()), None

    return jax.grad(squares, has_aux=True)


# -- bare matrix products --------------------------------------------------------------------------------------


def measure_products(function: Callable[..., Any], arguments: tuple[Any, ...], repeats: int) -> float:
    """Microseconds per row of the last of `arguments` for the matrix products of `function` and nothing else."""
    products = list(dot_generals(jax.make_jaxpr(function)(*arguments).jaxpr))
    rows, times = len(jax.tree.leaves(arguments[-1])[0]), 10
    keys = iter(jax.random.split(jax.random.key(0), 2 * len(products)))
    pairs = [[jax.random.normal(next(keys), x.aval.shape) for x in product.invars] for product in products]

    def program(key: jax.Array, pairs: list[list[jax.Array]]) -> Any:
        def once(pairs: list[list[jax.Array]], before: list[jax.Array], place: jax.Array) -> list[jax.Array]:
            """The smaller factor depends on the last result, so that no product is computed only once."""
            results: list[jax.Array] = []
            for product, (left, right), last in zip(products, pairs, before, strict=True):
                hint = 1e-9 * last.reshape(-1)[place % last.size]
                factors = (left, right + hint) if right.size <= left.size else (left + hint, right)
                results.append(product.primitive.bind(*factors, **product.params))
            return results

        start = [jnp.zeros(product.outvars[0].aval.shape) for product in products]
        places = jax.random.randint(key, (times,), 0, 1 << 30)
        return jax.lax.scan(lambda before, place: (once(pairs, before, place), None), start, places)[0]

    return harness.time_program(program, (pairs,), times * rows, repeats).microseconds


def dot_generals(jaxpr: Any) -> Iterator[Any]:
    """The equations that are matrix products, of a traced function and of the functions that it calls."""
    for equation in jaxpr.eqns:
        if equation.primitive.name == "dot_general":
            yield equation
        for inner in jaxprs_in_params(equation.params):
            yield from dot_generals(inner)


# -- picture ---------------------------------------------------------------------------------------------------


def draw_bars(arguments: Arguments, result: dict[str, Any]) -> Figure:
    """One bar per game, divided into the parts of an iteration; a line marks the bare products."""
    rows = result["rows"]
    picture, (axes,) = harness.new_picture(9, 0.6 * len(rows) + 1.6)
    axes.grid(visible=False)
    names = [row["game"] for row in rows]
    totals = [sum(max(0.0, size) for size in row["parts"].values()) for row in rows]
    start = [0.0] * len(rows)
    for part, colour in zip(PARTS, COLOURS, strict=True):
        shares = [100 * max(0.0, row["parts"][part]) / total for row, total in zip(rows, totals, strict=True)]
        axes.barh(names, shares, left=start, color=colour, label=part)
        start = [left + share for left, share in zip(start, shares, strict=True)]
    products = [100 * row["products"] / total for row, total in zip(rows, totals, strict=True)]
    axes.plot(products, names, linestyle="", marker="|", markersize=24, color="black", label="bare products")
    axes.invert_yaxis()
    axes.set(xlim=(0, 100), xlabel="% of a PPO iteration")
    picture.legend(loc="outside lower center", ncols=6, frameon=False, markerscale=0.4)
    return picture


COMMANDS = (Command("training", Arguments, measure_training, draw=draw_bars),)

if __name__ == "__main__":
    harness.run(*COMMANDS)
