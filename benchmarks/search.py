"""Simulations per second of the tree search, beside mctx over all actions and beside Pgx with mctx.

    python -m benchmarks.search
    python -m benchmarks.search --parts simulations --picture docs/pictures/plots/search_by_simulations.svg

A simulation is one board below one root: selection, a step, the network, the backup. The parts of the table:

    boards        both searches by the number of roots searched at once
    simulations   both searches by simulations: microseconds per simulation of one root
    slots         ours by the number of slots of a node
    two_calls     ours with a tree and in two calls, and mctx, with few simulations
    peer          minichess: ours, mctx over all actions of our boards, and mctx on Pgx's `gardner_chess`

Settings that a part does not vary are `budget` simulations of `batch` roots (`curve_batch` in the part `simulations`)
with the first of the slots. The searches:

    jaxgames      `jaxgames.mcts.search`, over the slots of a config
    mctx          `mctx.gumbel_muzero_policy` over all actions of the same game, with the same rules of selection
    Pgx + mctx    the same function of mctx on a game of Pgx, whose nodes hold Pgx's whole state

All of them search with the same kind of network: dense layers with ReLU of equal hidden sizes and random weights, one
linear layer for logits and value. Roots are positions after random play. Keys differ in every call; without noise at
the root they change nothing.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure

import jaxgames
from benchmarks import harness, loops
from benchmarks.harness import Command
from jaxgames.mcts import Evaluation, SearchConfig, bytes_per_node, search
from jaxgames.sampling import MASKED_LOGIT
from jaxgames.wrappers import seat_discount
from train import plot
from train.driver.commands import progress_over, stamp
from train.driver.tables import table_of

Params = list[tuple[jax.Array, jax.Array]]  # the weights and the bias of each layer
PARTS = ("boards", "simulations", "slots", "two_calls", "peer")
PEER_GAMES = {"jaxgames": "minichess", "mctx": "minichess", "Pgx + mctx": "gardner_chess"}
PLIES = 16  # of random play before the roots
FEW_SIMULATIONS = (12, 24)  # of the part `two_calls`
TABLE = {
    "part": "{part}",
    "game": "`{game}`",
    "search": "{side}",
    "roots": "{boards:,}",
    "simulations": "{simulations:,}",
    "slots": "{slots:,}",  # empty for all actions
    "simulations/s": harness.SPEED,
    "us each": "{microseconds:.1f}",
    "bytes per node": "{bytes_per_node:,}",
    "kernels": "{kernels:,}",
    "compiled in": "{compile_seconds:.1f} s",
    "ratio": "{ratio:.1f}",
}


class Point(NamedTuple):
    """One row of the table."""

    side: str
    game: str
    boards: int
    simulations: int
    slots: int | None  # None: a slot for every action


@dataclass(frozen=True)
class Arguments(harness.BenchmarkArguments):
    env: str = "chinese_checkers_diamond(size=4, pieces=3)"
    """A zero-sum game of two seats, with its parameters; the part `peer` has other games."""
    parts: tuple[str, ...] = PARTS
    """Parts of the table: boards, simulations, slots, two_calls, peer."""
    batch_sizes: tuple[int, ...] = (16, 64, 256, 1024)
    """Roots searched at once, in the part `boards`."""
    simulations: tuple[int, ...] = (16, 32, 64, 128, 256)
    """Simulations, in the part `simulations`."""
    slots: tuple[int, ...] = (20, 8, 64)
    """Slots of a node, in the part `slots`; the other parts have the first. 20 hold all moves of the default game."""
    peer_slots: int = 64
    """Slots of a node in the part `peer`."""
    batch: int = 256
    """Roots searched at once, in the parts `slots` and `peer`."""
    curve_batch: int = 64
    """Roots searched at once, in the part `simulations`, where mctx takes long."""
    budget: int = 32
    """Simulations, in the other parts."""
    hidden_sizes: tuple[int, ...] = (256, 256, 256)
    """Widths of the hidden layers of every network."""
    repeats: int = 5
    kernels: bool = False
    """Also counts the kernels of each program on an H200, those of a loop once. Times are then of the CPU."""
    picture: Path | None = None
    """A file for the curves of the part `simulations`, such as search.svg."""


def measure_search(arguments: Arguments) -> dict[str, Any]:
    numbers = ("batch_sizes", "simulations", "slots", "peer_slots", "batch", "curve_batch", "budget")
    harness.check_positive(arguments, *numbers, "hidden_sizes", "repeats")
    harness.check_among("parts", arguments.parts, PARTS)
    if arguments.picture is not None and "simulations" not in arguments.parts:
        raise ValueError("picture needs the part simulations: add it to parts, or leave picture out")
    game_of_two(arguments.env)
    if arguments.kernels:
        jax.config.update("jax_platforms", "cpu")  # before JAX looks for a GPU
        from benchmarks.compiled import check_package

        check_package("h200")
    points = [(part, point) for part in arguments.parts for point in points_of(part, arguments)]
    rows: list[dict[str, Any]] = []
    result: dict[str, Any] = {"rows": rows, "hidden_sizes": [*arguments.hidden_sizes], **stamp()}
    result["versions"] = {name: harness.package_version(name) for name in ("mctx", "pgx")}
    ours = 1.0  # microseconds of the last row of ours
    for part, point in progress_over(points, "rows"):
        row: dict[str, Any] = {"part": part, **measure_point(point, arguments)}
        ours = row["microseconds"] if point.side == "jaxgames" else ours
        rows.append(row | {"ratio": row["microseconds"] / ours})
        harness.save(arguments, result)
    harness.log(table_of(rows, TABLE))
    return result


def points_of(part: str, arguments: Arguments) -> Iterator[Point]:
    """Yields the rows of a part, ours before the search with which it is compared."""
    batch, budget, slots = arguments.batch, arguments.budget, arguments.slots
    if part == "peer":
        for side, game in PEER_GAMES.items():
            yield Point(side, game, batch, budget, arguments.peer_slots if side == "jaxgames" else None)
    elif part == "slots":
        for number in slots:
            yield Point("jaxgames", arguments.env, batch, budget, number)
    else:
        pairs = {
            "boards": [(boards, budget) for boards in arguments.batch_sizes],
            "simulations": [(arguments.curve_batch, simulations) for simulations in arguments.simulations],
            "two_calls": [(batch, simulations) for simulations in FEW_SIMULATIONS],
        }
        for boards, simulations in pairs[part]:
            yield Point("jaxgames", arguments.env, boards, simulations, slots[0])
            if part == "two_calls":
                yield Point("two calls", arguments.env, boards, simulations, slots[0])
            yield Point("mctx", arguments.env, boards, simulations, None)


def measure_point(point: Point, arguments: Arguments) -> dict[str, Any]:
    config = SearchConfig(simulations=point.simulations, slots=point.slots)
    side = SIDES[point.side](point.game, point.boards, config, arguments.hidden_sizes)
    total = point.boards * point.simulations
    timing = harness.time_program(side.program, (side.params, side.boards), total, arguments.repeats)
    row = {**point._asdict(), **timing._asdict(), "microseconds": timing.microseconds}
    if arguments.kernels:
        from benchmarks import compiled  # it chooses platforms when it is imported

        shapes = jax.eval_shape(lambda: (jax.random.key(0), side.params, side.boards))
        row["kernels"] = compiled.count(compiled.compile_for("h200", side.program, shapes)[1])["kernels"]
    return row | {"bytes_per_node": side.bytes_per_node, "network": [[*weights.shape] for weights, _ in side.params]}


# -- the searches -----------------------------------------------------------------------------------------


class Side(NamedTuple):
    """A search that is ready to be timed."""

    program: Callable[..., Any]  # (key, params, boards) -> the results of the search
    params: Params
    boards: Any
    bytes_per_node: int


def ours(game: str, boards: int, config: SearchConfig, hidden_sizes: tuple[int, ...]) -> Side:
    env = game_of_two(game)

    def program(key: jax.Array, params: Params, states: Any) -> Any:
        return search(env, NetworkEvaluate(env), config, key, params, states)

    roots = positions(jaxgames.auto_reset(env), boards).board
    return Side(program, init_network(env, roots, hidden_sizes), roots, bytes_per_node(env, config))


def two_calls(game: str, boards: int, config: SearchConfig, hidden_sizes: tuple[int, ...]) -> Side:
    side = ours(game, boards, dataclasses.replace(config, search="two_calls"), hidden_sizes)
    return side._replace(bytes_per_node=0)  # it has no tree


def dense(game: str, boards: int, config: SearchConfig, hidden_sizes: tuple[int, ...]) -> Side:
    env = game_of_two(game)
    return mctx_side(env, positions(jaxgames.auto_reset(env), boards).board, config, hidden_sizes)


def pgx(game: str, boards: int, config: SearchConfig, hidden_sizes: tuple[int, ...]) -> Side:
    """Returns mctx on a game of Pgx. Raises ImportError if Pgx is not installed."""
    bare, playing = loops.pgx_env(game)
    return mctx_side(bare, positions(playing, boards), config, hidden_sizes)


SIDES = {"jaxgames": ours, "two calls": two_calls, "mctx": dense, "Pgx + mctx": pgx}


def mctx_side(env: Any, boards: Any, config: SearchConfig, hidden_sizes: tuple[int, ...]) -> Side:
    """Returns mctx on an env with the functions of `jaxgames.Env`."""

    def program(key: jax.Array, params: Params, states: Any) -> Any:
        output = mctx_search(env, config, key, params, states)  # the tree is not kept
        return output.action, output.action_weights, output.search_tree.node_values[:, 0]

    params = init_network(env, boards, hidden_sizes)
    tree = jax.eval_shape(functools.partial(mctx_search, env, config), jax.random.key(0), params, boards).search_tree
    per_tree = ("root_invalid_actions", "extra_data")
    arrays = [getattr(tree, field.name) for field in dataclasses.fields(tree) if field.name not in per_tree]
    total = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(arrays))
    return Side(program, params, boards, total // tree.node_visits.size)


def mctx_search(env: Any, config: SearchConfig, key: jax.Array, params: Any, states: Any) -> Any:
    """Returns the output of mctx with the settings of a config."""
    import mctx

    library: Any = mctx  # a type checker does not know chex's dataclasses

    def evaluate(params: Any, states: Any) -> tuple[jax.Array, jax.Array]:
        logits, value = apply_network(params, jax.vmap(env.observe)(states))
        return jnp.where(jax.vmap(env.legal_action_mask)(states), logits, MASKED_LOGIT), value

    def recurrent(params: Any, key: jax.Array, action: jax.Array, states: Any) -> Any:
        after = jax.vmap(env.step)(states, action)  # finished boards, which mctx steps too, stay as they are
        logits, value = evaluate(params, after)
        output = library.RecurrentFnOutput(
            reward=after.rewards[jnp.arange(len(action)), states.current_player],
            discount=seat_discount(states, after),
            prior_logits=logits,
            value=jnp.where(after.terminated, 0.0, value),
        )
        return output, after

    logits, value = evaluate(params, states)
    return library.gumbel_muzero_policy(
        params,
        key,
        library.RootFnOutput(prior_logits=logits, value=value, embedding=states),
        recurrent,
        num_simulations=config.simulations,
        invalid_actions=~jax.vmap(env.legal_action_mask)(states),
        max_num_considered_actions=config.max_considered,
        gumbel_scale=config.gumbel_scale,
        qtransform=functools.partial(
            library.qtransform_completed_by_mix_value,
            value_scale=config.value_scale,
            maxvisit_init=config.maxvisit_init,
            epsilon=config.value_epsilon,
        ),
    )


def init_network(env: Any, boards: Any, hidden_sizes: tuple[int, ...]) -> Params:
    """Returns the parameters of a network with random weights; its last layer gives the logits and the value."""
    outputs = (jax.eval_shape(jax.vmap(function), boards) for function in (env.observe, env.legal_action_mask))
    inputs, num_actions = (int(np.prod(output.shape[1:])) for output in outputs)
    sizes = (inputs, *hidden_sizes, num_actions + 1)
    keys = jax.random.split(jax.random.key(0), len(sizes) - 1)
    shapes = zip(keys, sizes, sizes[1:], strict=False)
    return [(jax.random.normal(key, (n, m)) / np.sqrt(n), jnp.zeros(m)) for key, n, m in shapes]


def apply_network(params: Params, observation: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Returns logits float32[B, num_actions] and the mover's values float32[B] for observations bool[B, ...]."""
    features = observation.reshape(len(observation), -1).astype(jnp.float32)
    *hidden, (weights, bias) = params
    for matrix, offset in hidden:
        features = jax.nn.relu(features @ matrix + offset)
    out = features @ weights + bias
    return out[:, :-1], jnp.tanh(out[:, -1])


@dataclass(frozen=True)
class NetworkEvaluate:
    """The network as `jaxgames.mcts.Evaluate`, for a zero-sum game of two seats."""

    env: jaxgames.Env[Any]

    def __call__(self, params: Params, states: Any) -> Evaluation:
        logits, value = apply_network(params, jax.vmap(self.env.observe)(states))
        of_seat_0 = jnp.where(states.current_player == 0, value, -value)
        return Evaluation(logits, jnp.stack([of_seat_0, -of_seat_0], axis=1))


def positions(playing: Any, boards: int) -> Any:
    """Returns the boards of random play with restarts after `PLIES` steps."""

    @jax.jit
    def play(key: jax.Array) -> Any:
        init_key, key = jax.random.split(key)
        start = jax.vmap(playing.init)(jax.random.split(init_key, boards))
        return loops.play_loop(playing, boards, PLIES)(key, start, None)[0]

    return play(jax.random.key(0))


def game_of_two(game: str) -> jaxgames.Env[Any]:
    """Returns the game of that text. Raises ValueError unless it is a zero-sum game of two seats, as mctx needs it."""
    env = jaxgames.make(game)
    if env.num_players != 2 or not env.zero_sum:
        raise ValueError(f"env must be a zero-sum game of two seats, which mctx can search too, not {env}")
    return env


# -- tables and pictures ----------------------------------------------------------------------------------


def draw_by_simulations(arguments: Arguments, result: dict[str, Any]) -> Figure:
    """Returns the curves of the part `simulations`, both axes logarithmic."""
    picture, (axes,) = plot.new_picture(6, 3.6)
    rows = [row for row in result["rows"] if row["part"] == "simulations"]
    for number, side in enumerate(dict.fromkeys(row["side"] for row in rows)):
        line = [row for row in rows if row["side"] == side]
        label = f"{side}, {line[0]['slots'] or 'all'} {'slots' if line[0]['slots'] else 'actions'}"
        times = [row["microseconds"] for row in line]
        axes.plot([row["simulations"] for row in line], times, color=f"C{number}", marker="o", label=label)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set(xlabel="simulations", ylabel="microseconds per simulation")
    axes.set_title(f"{arguments.env}, {arguments.curve_batch} roots", fontsize=10)
    axes.legend(fontsize=8, frameon=False)
    return picture


COMMANDS = (Command("search", Arguments, measure_search, draw=draw_by_simulations),)

if __name__ == "__main__":
    harness.run(*COMMANDS)
