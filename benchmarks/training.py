"""Training beside random play, and where an iteration of train.ppo spends its time.

    python -m benchmarks.training --games demo checkers --picture docs/pictures/ppo_breakdown.svg

One row per game, with the settings of its recipe (`demo`: those of examples/demo.py) or with more boards at once:
environment steps per second of whole iterations, of random play with equally many boards, and the parts of an
iteration, in microseconds per environment step.

Parts of one compiled program cannot be timed from outside, and the compiler fuses across their borders. So programs
are timed that each do a little more than the one before, in loops of the same shapes. A part is a difference:

    play        random play: mask, observation, a uniformly random action, step, restart
    forward     random play that runs the network on every board, minus random play
    sample      play with actions sampled from the policy, with their log-probabilities, minus the program before
    store       Learner._collect (writes out all transitions, counts episodes), minus the program before
    advantages  Learner.iterate without its update, minus Learner._collect: bootstrap values, advantages, metrics
    network     epochs over stored steps that run the network forward and backward, from a gradient as simple as its
                outputs, minus epochs that only gather their minibatches
    loss        epochs with the gradient of Learner._loss (probabilities and entropies of masked actions), minus the
                program before
    optimiser   the same with the optimiser, minus the program before
    shuffle     Learner._update minus the three parts above: permutations, gathered minibatches, metrics
    rest        Learner.iterate minus all of the above

`products` is the time of the network's bare matrix products: every dot_general of the programs `forward` and `network`,
on random arrays of the same shapes, and nothing between them. It is a lower bound for a network of this shape.

The compared epochs write out whole minibatches, at the same cost to each. A difference of medians can be negative: by
noise, or where the compiler fuses the larger program better. The table shows it as it is, the picture as zero. Each
program reads or carries on all that it computes, so that nothing is optimised away.
"""
# pyright: reportPrivateUsage=false
# (the parts of an iteration are its private functions)

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import jax
import jax.numpy as jnp
import optax
from jax.extend.core import jaxprs_in_params
from matplotlib.figure import Figure

import jaxgames
from benchmarks import harness
from benchmarks.random_play import measure_play, measure_random_play, probe
from train.choice import draw
from train.policy import Params
from train.ppo import Config, Learner, Runner, Transition, rows_of_groups
from train.recipes import DEMO, RECIPES, recipe

GAMES = ("demo", *sorted(RECIPES))
PARTS = ("play", "forward", "sample", "store", "advantages", "network", "loss", "optimiser", "shuffle", "rest")
COLOURS = ("#7fb069", "#2f6690", "#c9ada7", "#9a8c98", "#6d6875", "#16425b", "#ca3c25", "#a663cc", "#e6aa68", "#bbbbbb")
SETTINGS: dict[str, dict[str, Any]] = {
    "recipe": {},
    "large": {"num_boards": 2048, "rollout_length": 32, "minibatches": 64},
}


HEADER = ("game", "ppo, steps/s", "random play, steps/s", "ratio", "products", *PARTS)


@dataclass(frozen=True)
class Arguments(harness.BenchmarkArguments):
    games: tuple[str, ...] = GAMES
    """Rows of the table: games with their parameters, and `demo`."""
    setting: Literal["recipe", "large"] = "recipe"
    """The boards, rollout and minibatches of the game's recipe, or 2,048 boards with minibatches of 1,024."""
    repeats: int = 5
    picture: Path | None = None
    """A file for the stacked bars, such as ppo_breakdown.svg."""


def main() -> None:
    """The command `python -m benchmarks.training`."""
    arguments = harness.parse_arguments("training", Arguments)
    result = harness.run_command("training", arguments, measure_training)
    if arguments.picture is not None:
        harness.save_picture(draw_bars(result["rows"]), arguments.picture)


def measure_training(arguments: Arguments) -> dict[str, Any]:
    """Measures all games; the JSON is written after every row, so that a later failure loses nothing."""
    if arguments.repeats < 1:
        raise ValueError(f"repeats must be positive, not {arguments.repeats}")
    configs = {game: config_of(game, arguments.setting) for game in arguments.games}
    progress = harness.Progress(len(configs), "game")
    rows: list[dict[str, Any]] = []
    result = {"setting": arguments.setting, "rows": rows, **harness.stamp()}
    for game, config in configs.items():
        rows.append(measure_parts(config, arguments.repeats, game))
        harness.write_json("training", arguments, result)
        progress.finish(f"{game}: {rows[-1]['ppo']:,.0f} steps/s")
    harness.log(harness.markdown_table(HEADER, map(cells, rows)))
    return result


def config_of(game: str, setting: str) -> Config:
    """The settings of a row."""
    base = Config(**DEMO) if game == "demo" else recipe(game)
    return dataclasses.replace(base, **SETTINGS[setting])


def cells(row: dict[str, Any]) -> list[str]:
    """A row of the table as text; a part with its share of the iteration."""
    whole = sum(row["parts"].values())
    parts = [f"{row['parts'][name]:.2f} ({row['parts'][name] / whole:.0%})" for name in PARTS]
    ratio, products = f"{row['ppo'] / row['random_play']:.3f}", f"{row['products'] / whole:.0%}"
    return [row["game"], f"{row['ppo']:,.0f}", f"{row['random_play']:,.0f}", ratio, products, *parts]


class Collector(Learner):
    """A learner whose iteration ends before the update, with what the update would have been given."""

    def _update(self, runner: Runner, steps: Transition, advantages: jax.Array) -> tuple[Runner, dict[str, Any]]:
        return runner, {"given": (steps, advantages, advantages + steps.value)}


def measure_parts(config: Config, repeats: int, game: str) -> dict[str, Any]:
    """Steps per second of training and of random play, and microseconds per step of every part."""
    learner, collector = Learner(config), Collector(config)
    runner = jax.jit(learner.init)(jax.random.key(0))
    policy, steps = learner.policy, config.steps_per_iteration

    def spent(program: Callable[..., Any], *arguments: Any) -> float:
        return 1e6 / harness.time_program(program, arguments, steps, repeats).steps_per_second

    def from_key(iteration: Callable[[Runner], Any]) -> Callable[..., Any]:
        return lambda key, runner: iteration(runner._replace(key=key))

    def seen(
        params: Params, key: jax.Array, observation: jax.Array, mask: jax.Array, seat: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """A random action, whatever the network says of the board."""
        action = jax.vmap(jaxgames.random_action)(jax.random.split(key, len(seat)), mask)
        logits, value = policy.apply(params, observation, seat)
        return action, probe(logits, action) + value.sum()

    def drawn(
        params: Params, key: jax.Array, observation: jax.Array, mask: jax.Array, seat: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        logits, value = policy.apply(params, observation, seat)
        action, log_prob = draw(key, logits, mask)
        return action, log_prob.sum() + value.sum()

    rollout = (config.num_boards, config.rollout_length, repeats)
    playing = [1e6 / measure_random_play(learner.env, *rollout).steps_per_second]
    playing += [
        1e6 / measure_play(learner.env, *rollout, choose, runner.params).steps_per_second for choose in (seen, drawn)
    ]
    playing.append(spent(from_key(learner._collect), runner))
    playing.append(spent(from_key(collector.iterate), runner))

    given = jax.jit(collector.iterate)(runner)[1]["given"]
    batch = learner._grouped(given)
    state, plain = runner.opt_state, optax.scale(-1e-9)
    learning: list[float] = []
    for gradient, optimizer, opt_state in (
        (nothing, plain, plain.init(runner.params)),
        (through_the_network(learner), plain, plain.init(runner.params)),
        (jax.grad(learner._loss, has_aux=True), plain, plain.init(runner.params)),
        (jax.grad(learner._loss, has_aux=True), learner._optimizer, state),
    ):
        learning.append(spent(epochs(learner, gradient, optimizer), (runner.params, opt_state), batch))
    updating = spent(lambda key, runner, *batch: learner._update(runner._replace(key=key), *batch), runner, *given[:2])
    whole = spent(from_key(learner.iterate), runner)

    parts = [after - before for series in ([0.0, *playing], learning) for before, after in pairwise(series)]
    parts += [updating - sum(parts[len(playing) :]), whole - playing[-1] - updating]
    part = rows_of_groups(batch, learner._order(jax.random.key(0))[0])
    board = part[0].observation[: config.num_boards], part[0].seat[: config.num_boards]
    return {
        "game": game,
        "env": config.env,
        "ppo": 1e6 / whole,
        "random_play": 1e6 / playing[0],
        "products": bare_products(policy.apply, (runner.params, *board), repeats)
        + config.epochs * bare_products(through_the_network(learner), (runner.params, *part), repeats),
        "parts": dict(zip(PARTS, parts, strict=True)),
        "boards": config.num_boards,
        "rollout_length": config.rollout_length,
    }


def epochs(
    learner: Learner, gradient: Callable[..., Any], optimizer: optax.GradientTransformation
) -> Callable[..., Any]:
    """The loops of `Learner._update` around any gradient; each minibatch is written out whole."""
    config = learner.config

    def program(key: jax.Array, learnt: tuple[Params, Any], batch: Any) -> Any:
        def epoch(carry: Any, key: jax.Array) -> Any:
            return jax.lax.scan(minibatch, carry, learner._order(key))

        def minibatch(carry: Any, rows: jax.Array) -> Any:
            params, opt_state, before, checksum = carry
            checksum += sum(probe(leaf, rows.reshape(-1)) for leaf in jax.tree.leaves(before))
            part = rows_of_groups(batch, rows)
            change, _ = gradient(params, *part)
            if change is not None:
                change, opt_state = optimizer.update(change, opt_state, params)
                params = optax.apply_updates(params, change)
            return (params, opt_state, part, checksum), None

        blank = jax.tree.map(jnp.zeros_like, rows_of_groups(batch, learner._order(key)[0]))
        start = (*learnt, blank, jnp.float32(0))
        return jax.lax.scan(epoch, start, jax.random.split(key, config.epochs))[0]

    return program


def nothing(params: Params, *part: Any) -> tuple[None, None]:
    """A gradient that is not there."""
    return None, None


def through_the_network(learner: Learner) -> Callable[..., Any]:
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

    return 1e6 / harness.time_program(program, (pairs,), times * rows, repeats).steps_per_second


def dot_generals(jaxpr: Any) -> Iterator[Any]:
    """The equations of a traced function, and of those it calls, that are matrix products."""
    for equation in jaxpr.eqns:
        if equation.primitive.name == "dot_general":
            yield equation
        for inner in jaxprs_in_params(equation.params):
            yield from dot_generals(inner)


# -- picture ---------------------------------------------------------------------------------------------------


def draw_bars(rows: list[dict[str, Any]]) -> Figure:
    """One bar per game, divided into the parts of an iteration; a line marks the bare products."""
    figure = Figure(figsize=(9, 0.6 * len(rows) + 1.6), layout="constrained")
    axes: Any = figure.subplots()
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
    figure.legend(loc="outside lower center", ncols=6, frameon=False, markerscale=0.4)
    return figure


if __name__ == "__main__":
    main()
