"""Training beside random play, and where an iteration of train.ppo spends its time.

    python -m benchmarks.training --games demo checkers --picture docs/pictures/ppo_breakdown.svg

A line a game, with the settings of its recipe (`demo`: those of examples/demo.py) or with more boards at once:
environment steps per second of whole iterations, of random play with as many boards, and what an iteration consists of,
in microseconds per environment step.

Parts of one compiled program cannot be timed from outside, and the compiler fuses across their borders. So programs
are timed that each do a little more than the one before, in loops of the same shapes, and a part is the difference:

    play        random play: mask, observation, a uniformly random action, step, restart
    forward     random play that asks the network about every board, less random play
    draw        play with actions drawn from the policy, with their log-probabilities, less the one before
    store       train.ppo.collect, less the one before: everything written out, the running episode_stats
    advantages  PPO.iterate without its update, less train.ppo.collect: bootstrap values, advantages, metrics
    network     epochs over stored steps that run the network forward and backward, from a gradient as simple as its
                outputs, less epochs that only gather their minibatches
    loss        epochs with the gradient of train.ppo.ppo_loss (probabilities and entropies of masked actions), less the
                one before
    optimiser   the same with the optimiser, less the one before
    shuffle     train.ppo.update, less the three above: permutations, gathered minibatches, metrics
    rest        PPO.iterate, less all of the above

`products` are the matrix products of `forward` and `network` alone: every dot_general of their programs, on random
arrays of the same shapes and nothing between them. What a network of this shape must cost, if all else were free.

Minibatches are written out whole in the epochs that are compared, which costs them all the same. A difference of
medians can come out below zero by noise, and where the compiler fuses better than a prefix of the program lets it; it
is given as it is, and drawn as zero. Each program reads or carries on whatever it computes, so that nothing is
optimised away.
"""

import dataclasses
import functools
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import jax
import jax.numpy as jnp
import optax
import tyro
from jax.extend.core import jaxprs_in_params
from matplotlib.figure import Figure

import jaxgames
from benchmarks.sweep import save
from benchmarks.throughput import element, keep, play, random_play, say, timed, where
from train.models.policy import Params
from train.ops.masked_categorical import sample_and_log_prob
from train.ops.minibatches import group_boards, num_groups, shuffle, take_rows
from train.ppo import (
    PPO,
    Config,
    TrainState,
    Transition,
    collect,
    config_for,
    estimate_advantages,
    make_optimizer,
    ppo_loss,
    update,
)
from train.recipes import DEMO, RECIPES

GAMES = ("demo", *sorted(RECIPES))
PARTS = ("play", "forward", "draw", "store", "advantages", "network", "loss", "optimiser", "shuffle", "rest")
COLOURS = ("#7fb069", "#2f6690", "#c9ada7", "#9a8c98", "#6d6875", "#16425b", "#ca3c25", "#a663cc", "#e6aa68", "#bbbbbb")
SETTINGS: dict[str, dict[str, Any]] = {
    "recipe": {},
    "large": {"num_envs": 2048, "rollout_length": 32, "num_minibatches": 64},
}


@dataclass(frozen=True)
class Arguments:
    games: tuple[str, ...] = GAMES
    """A line each: ids or games with parameters, and `demo`."""
    setting: Literal["recipe", "large"] = "recipe"
    """The boards, rollout and minibatches of the game's recipe, or 2,048 boards with minibatches of 1,024."""
    repeats: int = 5
    output: Path | None = None
    """A file for the JSON, which is printed in any case."""
    picture: Path | None = None
    """A file for the stacked bars, such as breakdown.svg."""


def main() -> None:
    """The command `python -m benchmarks.training`."""
    arguments = tyro.cli(Arguments, prog="python -m benchmarks.training", description=__doc__)
    try:
        if arguments.repeats < 1:
            raise ValueError(f"repeats must be positive, not {arguments.repeats}")
        configs = {game: config(game, arguments.setting) for game in arguments.games}
    except ValueError as error:
        sys.exit(f"benchmarks.training: {error}")
    say("| game | ppo, steps/s | random play, steps/s | ratio | products | " + " | ".join(PARTS) + " |")
    say("|" + "---|" * (5 + len(PARTS)))
    rows: list[dict[str, Any]] = []
    result = {"setting": arguments.setting, "rows": rows, **where()}
    for game, settings in configs.items():
        rows.append(measure(settings, arguments.repeats, game))
        say(line(rows[-1]))
        keep(result, arguments.output)  # what is measured stays, should the rest fail
    if arguments.picture is not None:
        draw_bars(rows, arguments.picture)
    print(json.dumps(result))


def config(game: str, setting: str) -> Config:
    base = Config(**DEMO) if game == "demo" else config_for(game)
    return dataclasses.replace(base, **SETTINGS[setting])


def line(row: dict[str, Any]) -> str:
    """A row of the Markdown table; a part with its share of the iteration."""
    whole = sum(row["parts"].values())
    parts = [f"{row['parts'][name]:.2f} ({row['parts'][name] / whole:.0%})" for name in PARTS]
    ratio = row["ppo"] / row["random_play"]
    cells = [f"{row['ppo']:,.0f}", f"{row['random_play']:,.0f}", f"{ratio:.3f}", f"{row['products'] / whole:.0%}"]
    return "| " + " | ".join([row["game"], *cells, *parts]) + " |"


def collect_for_update(
    learner: PPO, train_state: TrainState
) -> tuple[TrainState, tuple[Transition, jax.Array, jax.Array]]:
    """An iteration that ends before the update: the state to update, and the steps, advantages and targets."""
    config, env, policy = learner.config, learner.env, learner.policy
    train_state, steps = collect(config, env, policy, train_state)
    advantages = estimate_advantages(config, env, policy, train_state.params, steps)
    steps = steps._replace(next_state=None, episode_stats=None)  # pyright: ignore[reportArgumentType]  # not for the update
    return train_state, (steps, advantages, advantages + steps.value)


def group(config: Config, given: Any) -> Any:
    return group_boards(given, num_groups(config.num_envs, config.minibatch_size))


def rows_of_minibatches(config: Config, key: jax.Array) -> jax.Array:
    groups = num_groups(config.num_envs, config.minibatch_size)
    return shuffle(key, groups, config.steps_per_iteration // groups, config.num_minibatches, config.minibatch_size)


def measure(config: Config, repeats: int, game: str) -> dict[str, Any]:
    """Steps per second of training and of random play, and microseconds a step of every part."""
    learner = PPO(config)
    collecting = functools.partial(collect_for_update, learner)
    loss = functools.partial(ppo_loss, config, learner.policy)
    train_state = jax.jit(learner.init)(jax.random.key(0))
    policy, steps = learner.policy, config.steps_per_iteration

    def spent(program: Callable[..., Any], *arguments: Any) -> float:
        return 1e6 / timed(program, arguments, steps, repeats).steps_per_second

    def from_key(iteration: Callable[[TrainState], Any]) -> Callable[..., Any]:
        return lambda key, train_state: iteration(train_state._replace(key=key))

    def seen(
        params: Params, key: jax.Array, observation: jax.Array, mask: jax.Array, seat: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """A random action, whatever the network says of the board."""
        action = jax.vmap(jaxgames.random_action)(jax.random.split(key, len(seat)), mask)
        logits, value = policy.apply(params, observation, seat)
        return action, element(logits, action) + value.sum()

    def drawn(
        params: Params, key: jax.Array, observation: jax.Array, mask: jax.Array, seat: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        logits, value = policy.apply(params, observation, seat)
        action, log_prob = sample_and_log_prob(key, logits, mask)
        return action, log_prob.sum() + value.sum()

    rollout = (config.num_envs, config.rollout_length, repeats)
    playing = [1e6 / random_play(learner.env, *rollout).steps_per_second]
    playing += [
        1e6 / play(learner.env, *rollout, choose, train_state.params).steps_per_second for choose in (seen, drawn)
    ]
    playing.append(spent(from_key(functools.partial(collect, config, learner.env, learner.policy)), train_state))
    playing.append(spent(from_key(collecting), train_state))

    given = jax.jit(collecting)(train_state)[1]
    batch = group(config, given)
    state, plain = train_state.opt_state, optax.scale(-1e-9)
    learning: list[float] = []
    for gradient, optimizer, opt_state in (
        (nothing, plain, plain.init(train_state.params)),
        (through_the_network(learner), plain, plain.init(train_state.params)),
        (jax.grad(loss, has_aux=True), plain, plain.init(train_state.params)),
        (jax.grad(loss, has_aux=True), make_optimizer(config), state),
    ):
        learning.append(spent(epochs(learner, gradient, optimizer), (train_state.params, opt_state), batch))
    updating = spent(
        lambda key, train_state, *batch: update(config, policy, train_state._replace(key=key), *batch),
        train_state,
        *given[:2],
    )
    whole = spent(from_key(learner.iterate), train_state)

    parts = [after - before for series in ([0.0, *playing], learning) for before, after in pairwise(series)]
    parts += [updating - sum(parts[len(playing) :]), whole - playing[-1] - updating]
    part = take_rows(batch, rows_of_minibatches(config, jax.random.key(0))[0])
    board = part[0].observation[: config.num_envs], part[0].seat[: config.num_envs]
    return {
        "game": game,
        "env": config.env,
        "ppo": 1e6 / whole,
        "random_play": 1e6 / playing[0],
        "products": bare_products(policy.apply, (train_state.params, *board), repeats)
        + config.update_epochs * bare_products(through_the_network(learner), (train_state.params, *part), repeats),
        "parts": dict(zip(PARTS, parts, strict=True)),
        "boards": config.num_envs,
        "rollout_length": config.rollout_length,
    }


def epochs(learner: PPO, gradient: Callable[..., Any], optimizer: optax.GradientTransformation) -> Callable[..., Any]:
    """The loops of `train.ppo.update` around any gradient; each minibatch is written out whole."""
    config = learner.config

    def program(key: jax.Array, learnt: tuple[Params, Any], batch: Any) -> Any:
        def epoch(carry: Any, key: jax.Array) -> Any:
            return jax.lax.scan(minibatch, carry, rows_of_minibatches(config, key))

        def minibatch(carry: Any, rows: jax.Array) -> Any:
            params, opt_state, before, checksum = carry
            checksum += sum(element(leaf, rows.reshape(-1)) for leaf in jax.tree.leaves(before))
            part = take_rows(batch, rows)
            change, _ = gradient(params, *part)
            if change is not None:
                change, opt_state = optimizer.update(change, opt_state, params)
                params = optax.apply_updates(params, change)
            return (params, opt_state, part, checksum), None

        blank = jax.tree.map(jnp.zeros_like, take_rows(batch, rows_of_minibatches(config, key)[0]))
        start = (*learnt, blank, jnp.float32(0))
        return jax.lax.scan(epoch, start, jax.random.split(key, config.update_epochs))[0]

    return program


def nothing(params: Params, *part: Any) -> tuple[None, None]:
    """A gradient that is not there."""
    return None, None


def through_the_network(learner: PPO) -> Callable[..., Any]:
    """The gradient of the squares of logits and values: what comes back through the network is what went out of it."""

    def squares(params: Params, steps: Transition, advantages: jax.Array, targets: jax.Array) -> tuple[jax.Array, None]:
        logits, value = learner.policy.apply(params, steps.observation, steps.seat)
        return 0.5 * (jnp.square(logits).sum() + jnp.square(value).sum()), None

    return jax.grad(squares, has_aux=True)


# -- bare matrix products --------------------------------------------------------------------------------------


def bare_products(function: Callable[..., Any], arguments: tuple[Any, ...], repeats: int) -> float:
    """Microseconds for each row of the last of `arguments` in the matrix products of `function`, and nothing else."""
    products = list(dot_generals(jax.make_jaxpr(function)(*arguments).jaxpr))
    rows, times = len(jax.tree.leaves(arguments[-1])[0]), 10
    keys = iter(jax.random.split(jax.random.key(0), 2 * len(products)))
    pairs = [[jax.random.normal(next(keys), x.aval.shape) for x in product.invars] for product in products]

    def program(key: jax.Array, pairs: list[list[jax.Array]]) -> Any:
        def once(pairs: list[list[jax.Array]], before: list[jax.Array], place: jax.Array) -> list[jax.Array]:
            """The smaller factor hangs on the result before, so that no product is the same twice."""
            results: list[jax.Array] = []
            for product, (left, right), last in zip(products, pairs, before, strict=True):
                hint = 1e-9 * last.reshape(-1)[place % last.size]
                factors = (left, right + hint) if right.size <= left.size else (left + hint, right)
                results.append(product.primitive.bind(*factors, **product.params))
            return results

        start = [jnp.zeros(product.outvars[0].aval.shape) for product in products]
        places = jax.random.randint(key, (times,), 0, 1 << 30)
        return jax.lax.scan(lambda before, place: (once(pairs, before, place), None), start, places)[0]

    return 1e6 / timed(program, (pairs,), times * rows, repeats).steps_per_second


def dot_generals(jaxpr: Any) -> Iterator[Any]:
    """The equations of a traced function, and of those it calls, that are matrix products."""
    for equation in jaxpr.eqns:
        if equation.primitive.name == "dot_general":
            yield equation
        for inner in jaxprs_in_params(equation.params):
            yield from dot_generals(inner)


# -- picture ---------------------------------------------------------------------------------------------------


def draw_bars(rows: list[dict[str, Any]], path: Path) -> None:
    """Writes one bar a game, as wide as an iteration, cut into its parts; a line marks the bare products."""
    figure = Figure(figsize=(9, 0.6 * len(rows) + 1.6), layout="constrained")
    axes: Any = figure.subplots()
    names = [row["game"] for row in rows]
    begin = [0.0] * len(rows)
    for part, colour in zip(PARTS, COLOURS, strict=True):
        sizes = [max(0.0, row["parts"][part]) for row in rows]
        shares = [100 * size / whole for size, whole in zip(sizes, map(_total, rows), strict=True)]
        axes.barh(names, shares, left=begin, color=colour, label=part)
        begin = [left + share for left, share in zip(begin, shares, strict=True)]
    products = [100 * row["products"] / _total(row) for row in rows]
    axes.plot(products, names, linestyle="", marker="|", markersize=24, color="black", label="bare products")
    axes.invert_yaxis()
    axes.set(xlim=(0, 100), xlabel="% of a PPO iteration")
    figure.legend(loc="outside lower center", ncols=6, frameon=False, markerscale=0.4)
    save(figure, path)


def _total(row: dict[str, Any]) -> float:
    return sum(max(0.0, size) for size in row["parts"].values())


if __name__ == "__main__":
    main()
