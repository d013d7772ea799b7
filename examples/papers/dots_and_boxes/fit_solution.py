"""Fits a network to the exact solution of a small board of Dots and Boxes, and measures it on positions kept apart.

    python -m examples.papers.dots_and_boxes.fit_solution
    python -m examples.papers.dots_and_boxes.fit_solution \\
        --network "resnet(blocks=4, channels=32, bottleneck=32, pool=True, value=linear)"
    python -m examples.papers.dots_and_boxes.fit_solution --other-boards "dots_and_boxes(rows=2, cols=4, reward=boxes)"

The network learns the margin to go and the best edges of sets of drawn edges. Half of the sets are random, with any
number of edges. The other half are reached by play, in which each edge is a best one or a random one. The owners of
complete boxes are random: they do not change the margin to go.

One set in ten is kept for the measurement, together with its mirrored and rotated images. Everything is computed on the
device. The last line on standard output is JSON. It has the mean absolute error of the value in boxes, and the share of
positions whose most probable edge is a best one, also by number of drawn edges. A network whose parameters fit every
board is also measured on `other_boards`, without any training on them. A finished fit is not repeated.
"""

import dataclasses
import functools
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

import jaxgames
from examples.papers._experiment import Column, Experiment, Report, command, table_of
from jaxgames import solvers
from jaxgames._progress import Progress
from jaxgames.games.dots_and_boxes.rules import NOBODY, DotsAndBoxes, DotsAndBoxesState, boxes
from jaxgames.games.dots_and_boxes.solution import table_shape, worth_of_edges
from jaxgames.policies.policy import reward_scale
from jaxgames.sampling import random_action
from train.driver.metrics import rounded
from train.models.policy import Params, Policy
from train.ops.symmetries import symmetries

HELD_OUT = 10  # one set of edges in ten is kept for the measurement
HASH = np.uint32(2_654_435_761)  # 2^32 / golden ratio
CHUNK = 1000  # positions that are measured at once
COLUMNS: dict[str, Column] = {
    "board": "{board}",
    "error, random": "{random[error]:.3f}",
    "error, played": "{played[error]:.3f}",
    "best moves, random": "{random[best_moves]:.3f}",
    "best moves, played": "{played[best_moves]:.3f}",
}
QUICK: dict[str, Any] = {
    "env": "dots_and_boxes(rows=1, cols=2, reward=boxes)",
    "network": "graph(rounds=2, width=16)",
    "steps": 20,
    "positions": CHUNK,
}


@dataclass(frozen=True)
class Arguments(Experiment):
    output: Path = Path("runs/papers/dots_and_boxes/fit_solution")
    env: str = "dots_and_boxes(rows=3, cols=3, reward=boxes)"
    """The board, which must have at most 32 edges and reward=boxes."""
    network: str = "graph"
    """The network, with its parameters."""
    other_boards: tuple[str, ...] = ()
    """Boards on which the fitted network is measured too."""
    steps: int = 16_000
    """Gradient steps."""
    batch: int = 64
    """Positions of a gradient step."""
    learning_rate: float = 1e-3
    """Learning rate of Adam at the start; it falls linearly to 0."""
    steps_per_call: int = 100
    """Gradient steps of one call of the compiled program."""
    positions: int = 100_000
    """Positions that are drawn for each measurement and each kind of set; a tenth of them is measured."""
    seed: int = 0


class Labelled(NamedTuple):
    """Positions [B] with their exact values."""

    state: DotsAndBoxesState
    margin: jax.Array  # float32[B], the margin to go
    best: jax.Array  # bool[B, num_edges]
    held_out: jax.Array  # bool[B]


class Fit(NamedTuple):
    """The state of the fit between two gradient steps."""

    params: Params
    opt_state: Any
    games: jax.Array  # bool[batch / 2, num_edges], the drawn edges of the games that supply half of the positions


def report(arguments: Arguments) -> Report:
    """Fits and measures the network, unless the result is stored."""
    names = ("env", "network", "steps", "batch", "learning_rate", "steps_per_call", "positions", "seed")
    key = {name: getattr(arguments, name) for name in names} | {"boards": ", ".join(arguments.other_boards)}
    result = arguments.once(key, lambda: {"fit": fit_solution(arguments)}, file="fits")["fit"]
    boards = {f"{arguments.env}, kept apart": result["held_out"], **result["other_boards"]}
    return Report(result, table_of(({"board": board, **of_kinds} for board, of_kinds in boards.items()), COLUMNS))


def fit_solution(arguments: Arguments) -> dict[str, Any]:
    env = board_of(arguments.env)
    policy = Policy.of(env, "shared", arguments.network)
    others = [board_of(board) for board in arguments.other_boards]
    if others and not policy.network.any_board:
        raise ValueError(f"{arguments.network} has other parameters on each board: leave --other-boards out")
    if min(arguments.steps, arguments.batch // 2, arguments.steps_per_call, arguments.positions // CHUNK) < 1:
        raise ValueError(f"steps and steps_per_call must be at least 1, batch 2 and positions {CHUNK}")
    table, start = solved(env), time.process_time()
    params = fitted(arguments, env, policy, table)
    seconds = time.process_time() - start
    key = jax.random.fold_in(jax.random.key(arguments.seed), 1)
    result: dict[str, Any] = {
        "env": arguments.env,
        "network": arguments.network,
        "weights": sum(leaf.size for leaf in jax.tree.leaves(params)),
        "steps": arguments.steps,
        "batch": arguments.batch,
        "cpu_seconds": seconds,
        "held_out": measure(env, policy, params, table, key, arguments.positions),
        "other_boards": {},
    }
    for name, other in zip(arguments.other_boards, others, strict=True):
        same = Policy.of(other, "shared", arguments.network)
        result["other_boards"][name] = measure(other, same, params, solved(other), key, arguments.positions)
    return rounded(result)


def board_of(text: str) -> DotsAndBoxes:
    """Returns the board. Raises ValueError unless its values are margins to go."""
    env = jaxgames.make(text)
    if not isinstance(env, DotsAndBoxes) or env.reward != "boxes":
        raise ValueError(f"{text} is not dots_and_boxes with reward=boxes, whose values are margins to go")
    return env


def solved(env: DotsAndBoxes) -> jax.Array:
    """Returns int8[rows, columns], the margin to go of every set of drawn edges."""
    solution: Any = solvers.solve(env)
    return jnp.asarray(solution.table.reshape(table_shape(env)))


# -- positions -----------------------------------------------------------------------------------------------------


def random_sets(env: DotsAndBoxes, key: jax.Array, number: int) -> jax.Array:
    """Returns bool[number, num_edges]: random sets of 0 to num_edges - 1 edges, each number equally often."""
    order_key, count_key = jax.random.split(key)
    rank = jax.random.uniform(order_key, (number, env.num_edges)).argsort(1)
    return rank < jax.random.randint(count_key, (number, 1), 0, env.num_edges)


def after_a_move(env: DotsAndBoxes, key: jax.Array, drawn: jax.Array, best: jax.Array) -> jax.Array:
    """Returns bool[B, num_edges], the sets after one move: a best edge or a random one, equally often.

    After the last edge, a game restarts.
    """

    def moved(key: jax.Array, drawn: jax.Array, best: jax.Array) -> jax.Array:
        which_key, edge_key = jax.random.split(key)
        edge = random_action(edge_key, jnp.where(jax.random.bernoulli(which_key), best, ~drawn))
        after = drawn | (np.arange(env.num_edges) == edge)
        return after & ~after.all()

    return jax.vmap(moved)(jax.random.split(key, len(drawn)), drawn, best)


def played_sets(env: DotsAndBoxes, table: jax.Array, key: jax.Array, number: int) -> jax.Array:
    """Returns bool[number, num_edges]: sets reached by 0 to num_edges - 1 such moves."""
    count_key, key = jax.random.split(key)
    moves = jax.random.randint(count_key, (number, 1), 0, env.num_edges)

    def step(i: jax.Array, drawn: jax.Array) -> jax.Array:
        after = after_a_move(env, jax.random.fold_in(key, i), drawn, best_edges(env, table, drawn)[1])
        return jnp.where(i < moves, after, drawn)

    return jax.lax.fori_loop(0, env.num_edges - 1, step, jnp.zeros((number, env.num_edges), jnp.bool_))


def best_edges(env: DotsAndBoxes, table: jax.Array, drawn: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Returns the margins to go int8[B] and the best edges bool[B, num_edges], of sets with an open edge."""
    worth = jax.vmap(functools.partial(worth_of_edges, env, table))(drawn)
    worth = jnp.where(drawn, jnp.int8(-128), worth)
    margin = worth.max(1)
    return margin, worth == margin[:, None]


def labelled(env: DotsAndBoxes, table: jax.Array, key: jax.Array, drawn: jax.Array) -> Labelled:
    """Returns the positions with these drawn edges, bool[B, num_edges], and their exact values."""
    margin, best = best_edges(env, table, drawn)
    complete = jnp.stack([drawn[:, np.array(box)].all(1) for box in boxes(env)], axis=1)
    owner = jnp.where(complete, jax.random.bernoulli(key, shape=complete.shape).astype(jnp.int8), jnp.int8(NOBODY))
    rows = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (len(drawn), *leaf.shape)), env.init())
    state = dataclasses.replace(rows, edges=drawn, owner=owner)
    return Labelled(state, margin.astype(jnp.float32), best, is_held_out(env, drawn))


def is_held_out(env: DotsAndBoxes, drawn: jax.Array) -> jax.Array:
    """Returns bool[B], whether a set of edges is kept for the measurement; equal for all its images."""
    bit = np.uint32(1) << symmetries(env).action.astype(np.uint32)  # of each edge in each image
    first = (drawn[:, None] * bit).sum(-1, dtype=jnp.uint32).min(1)
    return (((first + 1) * HASH) >> 16) % HELD_OUT == 0


# -- fit and measurement -------------------------------------------------------------------------------------------


def fitted(arguments: Arguments, env: DotsAndBoxes, policy: Policy, table: jax.Array) -> Params:
    """Returns the parameters after all gradient steps."""
    params_key, games_key, key = jax.random.split(jax.random.key(arguments.seed), 3)
    schedule = optax.linear_schedule(arguments.learning_rate, 0.0, arguments.steps)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(schedule))
    params = jax.jit(policy.init)(params_key)
    games = jax.jit(functools.partial(played_sets, env, number=arguments.batch // 2))(table, games_key)
    fit = Fit(params, optimizer.init(params), games)

    @jax.jit
    def advance(fit: Fit, table: jax.Array, keys: jax.Array) -> tuple[Fit, tuple[jax.Array, jax.Array]]:
        return jax.lax.scan(functools.partial(gradient_step, env, policy, optimizer, table), fit, keys)

    with Progress(total=arguments.steps, unit="steps") as bar:
        while bar.count < arguments.steps:
            number = min(arguments.steps_per_call, arguments.steps - bar.count)
            fit, (errors, hits) = advance(fit, table, jax.random.split(jax.random.fold_in(key, bar.count), number))
            bar.describe(f"error {float(errors.mean()):.3f} boxes, best edges {float(hits.mean()):.3f}")
            bar.update(number)
    return fit.params


def gradient_step(
    env: DotsAndBoxes, policy: Policy, optimizer: Any, table: jax.Array, fit: Fit, key: jax.Array
) -> tuple[Fit, tuple[jax.Array, jax.Array]]:
    """Returns the fit after one step on half random and half played sets; then the error and the share of hits."""
    sets_key, owner_key, move_key = jax.random.split(key, 3)
    half = len(fit.games)
    drawn = jnp.concatenate([fit.games, random_sets(env, sets_key, half)])
    positions = labelled(env, table, owner_key, drawn)
    counted = (~positions.held_out).astype(jnp.float32)

    def loss(params: Params) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
        logits, margin = outputs(env, policy, params, positions.state)
        log_probs = jax.nn.log_softmax(logits, where=~drawn)
        of_best = jnp.where(positions.best, log_probs, 0).sum(1) / positions.best.sum(1)
        of_margin = optax.huber_loss(margin, positions.margin)
        error, hit = errors_of(positions, logits, margin)
        total, error, hit = (jnp.average(x, weights=counted) for x in (of_margin - of_best, error, hit))
        return total, (error, hit)

    (_, metrics), gradient = jax.value_and_grad(loss, has_aux=True)(fit.params)
    updates, opt_state = optimizer.update(gradient, fit.opt_state, fit.params)
    games = after_a_move(env, move_key, fit.games, positions.best[:half])
    params: Params = optax.apply_updates(fit.params, updates)
    return Fit(params, opt_state, games), metrics


def outputs(env: DotsAndBoxes, policy: Policy, params: Params, state: DotsAndBoxesState) -> tuple[jax.Array, jax.Array]:
    """Returns logits float32[B, num_edges] and margins to go in boxes, float32[B]."""
    logits, values = policy.apply(params, jax.vmap(env.observe)(state), state.current_player)
    return logits, values / reward_scale(env)


def errors_of(positions: Labelled, logits: jax.Array, margin: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Returns float32[B] twice: the error of the margin, and 1 where the most probable edge is a best one."""
    chosen = jnp.where(positions.state.edges, -jnp.inf, logits).argmax(1)
    hit = jnp.take_along_axis(positions.best, chosen[:, None], axis=1)[:, 0]
    return jnp.abs(margin - positions.margin), hit.astype(jnp.float32)


def measure(
    env: DotsAndBoxes, policy: Policy, params: Params, table: jax.Array, key: jax.Array, positions: int
) -> dict[str, Any]:
    """Returns the error and the share of best moves on sets that are kept apart, by kind of set."""

    @jax.jit
    def of_chunk(table: jax.Array, params: Params, key: jax.Array) -> dict[str, tuple[jax.Array, ...]]:
        random_key, played_key, owner_key = jax.random.split(key, 3)
        sets = {"random": random_sets(env, random_key, CHUNK), "played": played_sets(env, table, played_key, CHUNK)}
        results: dict[str, tuple[jax.Array, ...]] = {}
        for kind, drawn in sets.items():
            rows = labelled(env, table, owner_key, drawn)
            results[kind] = (*errors_of(rows, *outputs(env, policy, params, rows.state)), rows.held_out, drawn.sum(1))
        return results

    chunks = [of_chunk(table, params, chunk_key) for chunk_key in jax.random.split(key, positions // CHUNK)]
    joined = jax.tree.map(lambda *parts: np.concatenate(parts), *chunks)
    return {kind: summary(*arrays) for kind, arrays in joined.items()}


def summary(error: np.ndarray, hit: np.ndarray, held_out: np.ndarray, count: np.ndarray) -> dict[str, Any]:
    """Returns the means over the positions that are kept apart, and those by number of drawn edges."""
    by_edges = {int(n): held_out & (count == n) for n in np.unique(count[held_out])}
    return {
        "positions": int(held_out.sum()),
        "error": float(error[held_out].mean()),
        "best_moves": float(hit[held_out].mean()),
        "error_by_edges": {n: float(error[chosen].mean()) for n, chosen in by_edges.items()},
        "best_moves_by_edges": {n: float(hit[chosen].mean()) for n, chosen in by_edges.items()},
    }


main = command(Arguments, QUICK, report)

if __name__ == "__main__":
    main()
