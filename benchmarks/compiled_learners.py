"""What training and search cost on accelerators that are not here: compiled for them and never run.

    python -m benchmarks.compiled learners                          # one H200, and 64 chips of a TPU v5e
    python -m benchmarks.compiled learners minichess --learners ppo --places h200
    python -m benchmarks.compiled search                            # our search beside mctx's

`learners` compiles the iteration that `python -m train.ppo` and `train.alphazero` run, with the same shardings. Per
row:

    memory        bytes on one device: train state, and temporary arrays
    kernels       in the loop over the steps of a rollout, per step; with AlphaZero of one simulation too
    collectives   transfers between devices in an iteration, and their bytes on one device
    mean          bytes of the transfers that are not of the gradients, per gradient step

It fails if a program calls the host, has a conditional, or has a loop whose length depends on data and that is not
among DATA_LOOPS, and if devices exchange more than gradients and SMALL bytes of means at once. A loop whose length
depends on data counts as one repetition.

`search` compiles `benchmarks.search`: kernels and bytes of one simulation of all roots, and bytes per root. `levels`
are kernels that a simulation repeats for every level of the tree.
"""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import jax
import numpy as np
import tyro
from jax.sharding import Mesh, NamedSharding, SingleDeviceSharding

from benchmarks import harness, hlo, targets
from benchmarks.search import SIDES
from benchmarks.targets import PAGE
from jaxgames.mcts import SearchConfig
from train import alphazero, ppo
from train.driver.learner import Learner
from train.driver.loop import lower_iteration
from train.driver.memory import num_bytes
from train.ops import sharding

LEARNERS: dict[str, Callable[..., Learner]] = {
    "ppo": lambda env, **settings: ppo.PPO(ppo.config_for(env, **settings)),
    "alphazero": lambda env, **settings: alphazero.AlphaZero(alphazero.config_for(env, **settings)),
}
PLACES = {"h200": ("h200", ""), "v5e-64": ("v5e", "8x8")}  # target and topology
DATA_LOOPS = {  # scopes of the traced program
    "descend": "levels of the tree, to the deepest leaf of all boards",
    "back_up": "the same levels",
    "chosen_rows": "chunks of rare boards, such as truncated ones",
}
SMALL = 1 << 16  # bytes
TABLE = {
    "learner": "{learner}",
    "game": "`{game}`",
    "compiled for": "{place}",
    "train state": "{state_megabytes:,.0f} MB",
    "temporary": "{temporary_megabytes:,.0f} MB",
    "kernels per step": "{kernels_per_step:,}",
    "per simulation": "{kernels_per_simulation:,}",
    "collectives": "{num_collectives:,}",
    "bytes": "{collective_megabytes:,.1f} MB",
    "compiled in": "{compile_seconds:.0f} s",
}
SEARCH_TABLE = {
    "compiled for": "{target}",
    "game": "`{game}`",
    "search": "{search}",
    "kernels per simulation": "{kernels}",
    "levels": "{kernels_per_level}",
    "bytes per root": "{bytes_per_root:,.0f}",
    "temporary bytes per root": "{temporary_bytes:,.0f}",
}


@dataclass(frozen=True)
class LearnersArguments(harness.BenchmarkArguments):
    games: Annotated[tuple[str, ...], tyro.conf.Positional] = ("chinese_checkers(size=2, num_players=6)", "minichess")
    """Games with their parameters; network and settings come from their recipes."""
    learners: tuple[str, ...] = tuple(LEARNERS)
    """Learners: ppo, alphazero."""
    places: tuple[str, ...] = tuple(PLACES)
    """What to compile for: h200, one of them; v5e-64, a slice of 8 x 8 chips."""
    boards: int = 65536
    """Boards of the run, over all devices."""
    rollout_length: int = 32
    """Steps of each board in an iteration."""
    write: bool = False
    """Store the result, and renew the table of the docs."""


def compile_learners(arguments: LearnersArguments) -> dict[str, Any]:
    harness.check_positive(arguments, "boards", "rollout_length")
    harness.check_among("learners", arguments.learners, LEARNERS)
    harness.check_among("places", arguments.places, PLACES)
    cases = [
        (place, name, game) for place in arguments.places for name in arguments.learners for game in arguments.games
    ]
    learners = {case: make_learner(*case[1:], arguments.boards, arguments.rollout_length) for case in cases}
    targets.check_packages(tuple(PLACES[place][0] for place in arguments.places))
    progress = harness.Progress(len(cases))
    rows: list[dict[str, Any]] = []
    result: dict[str, Any] = {"rows": rows, "boards": arguments.boards, **harness.stamp()}
    for (place, name, game), learner in learners.items():
        row, unwanted = learner_row(learner, *PLACES[place])
        rows.append({"learner": name, "game": game, "place": place, **row, "unwanted": unwanted})
        harness.save(arguments, result)
        progress.finish(", ".join(harness.format_row(TABLE, in_units_of_table(rows[-1]))))
    harness.log(harness.table(TABLE, map(in_units_of_table, rows)))
    store("learners", result, arguments.write)
    return result


def make_learner(name: str, game: str, boards: int, rollout_length: int) -> Learner:
    settings: dict[str, Any] = {"num_envs": boards, "rollout_length": rollout_length}
    if name == "alphazero":
        settings["replay_size"] = boards * rollout_length  # the least that a run can have
    return LEARNERS[name](game, **settings)


def learner_row(learner: Learner, target: str, chips: str) -> tuple[dict[str, Any], list[str]]:
    """Returns the figures of an iteration, and texts on what it does that it should not."""
    mesh = Mesh(np.array(targets.described_devices(target, chips)), ("boards",))
    compiled, seconds = targets.timed(lambda: compile_iteration(learner, mesh))
    program = hlo.parse(compiled.as_text())
    memory = compiled.memory_analysis()
    shapes = jax.eval_shape(learner.init, jax.random.key(0))
    gradient = sum(map(num_bytes, jax.tree.leaves(shapes.params)))
    exchanged = hlo.collectives(program)
    row = {
        "devices": mesh.size,
        "argument_bytes": memory.argument_size_in_bytes,
        "output_bytes": memory.output_size_in_bytes - memory.alias_size_in_bytes,  # beside the memory of arguments
        "temporary_bytes": memory.temp_size_in_bytes,
        "gradient_bytes": gradient,
        **loop_figures(program),
        "collectives": [
            {"op": op, "bytes": size, "times": times} for (op, size), times in sorted(totals(exchanged).items())
        ],
        "data_loops": dict(Counter(scope_of(loop) for loop in hlo.loops(program) if loop.trip_count is None)),
        "compile_seconds": round(seconds, 1),
    }
    return row, unwanted(program, gradient)


def compile_iteration(learner: Learner, mesh: Mesh) -> Any:
    """Returns the compiled iteration of a learner, for a train state that is divided over the mesh as in training."""

    def place(shard: NamedSharding, part: Any) -> Any:
        return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=shard), part)

    shapes = jax.eval_shape(learner.init, jax.random.key(0))
    shards = sharding.shardings(mesh, learner.partition_specs)
    sharding.check_divisible(learner.batch_sizes, mesh.size)
    return lower_iteration(learner, mesh, jax.tree.map(place, shards, shapes)).compile()


def loop_figures(program: hlo.Program) -> dict[str, Any]:
    """Kernels and bytes in the loop over the steps of a rollout, and in the search's loop over simulations."""
    figures: dict[str, Any] = {}
    for unit, end in (("step", "collect/while"), ("simulation", "jit(_search)/while")):
        bodies = [loop.body for loop in hlo.loops(program) if loop.name.endswith(end) and loop.trip_count is not None]
        counts = hlo.count(program, bodies[0]) if bodies else None
        figures[f"kernels_per_{unit}"] = counts and counts.kernels
        figures[f"bytes_per_{unit}"] = counts and counts.bytes_moved
    return figures


def scope_of(loop: hlo.Loop) -> str:
    """The scope of DATA_LOOPS that a loop belongs to; its whole name if there is none."""
    return next((scope for scope in DATA_LOOPS if f"/{scope}/" in loop.name), loop.name)


def unwanted(program: hlo.Program, gradient_bytes: int) -> list[str]:
    """Returns texts on what a training program should not do; empty if there is nothing."""
    texts = [f"calls the host: {name}" for name in hlo.host_calls(program)]
    if conditionals := hlo.num_conditionals(program):
        texts.append(f"has {conditionals} conditionals")
    texts += [
        f"has a loop whose length depends on data: {loop.name}"
        for loop in hlo.loops(program)
        if loop.trip_count is None and scope_of(loop) not in DATA_LOOPS
    ]
    texts += [
        f"sends more than gradients and means: {each.op} of {each.size:,} bytes, {each.name}"
        for each in hlo.collectives(program)
        if each.size > SMALL and not (each.op == "all-reduce" and each.size <= gradient_bytes + SMALL)
    ]
    return texts


def totals(exchanged: list[hlo.Collective]) -> Counter[tuple[str, int]]:
    """How often an iteration makes each transfer, by its operation and its bytes."""
    times: Counter[tuple[str, int]] = Counter()
    for each in exchanged:
        times[each.op, each.size] += each.times
    return times


def in_units_of_table(row: dict[str, Any]) -> dict[str, Any]:
    times = [each["times"] for each in row["collectives"]]
    moved = sum(each["bytes"] * each["times"] for each in row["collectives"])
    return row | {
        "state_megabytes": row["argument_bytes"] / 1e6,
        "temporary_megabytes": row["temporary_bytes"] / 1e6,
        "num_collectives": sum(times),
        "collective_megabytes": moved / 1e6,
    }


def failure(result: dict[str, Any]) -> str | None:
    texts = [
        f"{row['learner']}, {row['game']}, {row['place']}: {text}" for row in result["rows"] for text in row["unwanted"]
    ]
    return "\n  ".join(["programs do what they should not:", *texts]) if texts else None


# -- what is stored ---------------------------------------------------------------------------------------

STORED = {name: Path(__file__).with_name(f"compiled_{name}.json") for name in ("learners", "search")}


def store(name: str, result: dict[str, Any], write: bool) -> None:
    """Writes a result to its file, and its table to the docs, if `write`."""
    if write:
        STORED[name].write_text(json.dumps(result, indent=1) + "\n")
        PAGE.write_text(harness.with_tables(PAGE.read_text(), page_tables()))


def page_tables() -> dict[str, str]:
    """Returns the tables in Markdown of the results that are stored."""
    rows = {name: json.loads(file.read_text())["rows"] for name, file in STORED.items() if file.exists()}
    columns = {"learners": TABLE, "search": SEARCH_TABLE}
    tabled = {name: map(in_units_of_table, rows[name]) if name == "learners" else rows[name] for name in rows}
    return {name: harness.table(columns[name], tabled[name]) for name in rows}


# -- search -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SearchArguments(harness.BenchmarkArguments):
    games: Annotated[tuple[str, ...], tyro.conf.Positional] = (
        "chinese_checkers_diamond(size=4, pieces=3)",
        "minichess",
    )
    """Zero-sum games of two seats."""
    target: tuple[str, ...] = ("h200", "v5e")
    """Accelerators to compile for: h200, v5e, v6e."""
    searches: tuple[str, ...] = ("jaxgames", "mctx")
    """Searches: jaxgames, mctx over all actions."""
    roots: int = 1024
    simulations: int = 32
    slots: int = 64
    """Slots of a node of ours; a game with fewer actions has as many."""
    hidden_sizes: tuple[int, ...] = (256, 256, 256)
    write: bool = False
    """Store the result, and renew the table of the docs."""


def compile_searches(arguments: SearchArguments) -> dict[str, Any]:
    harness.check_positive(arguments, "roots", "simulations", "slots", "hidden_sizes")
    harness.check_among("searches", arguments.searches, SIDES)
    targets.check_targets(arguments.target)
    targets.check_packages(arguments.target)
    cases = [(t, game, name) for t in arguments.target for game in arguments.games for name in arguments.searches]
    progress = harness.Progress(len(cases))
    rows: list[dict[str, Any]] = []
    for case in cases:
        rows.append(search_row(*case, arguments))
        harness.save(arguments, {"rows": rows})
        progress.finish(", ".join(harness.format_row(SEARCH_TABLE, rows[-1])))
    harness.log(harness.table(SEARCH_TABLE, rows))
    names = ("roots", "simulations", "slots", "hidden_sizes")
    result = {"rows": rows} | {name: getattr(arguments, name) for name in names} | harness.stamp()
    store("search", result, arguments.write)
    return result


def search_row(target: str, game: str, name: str, arguments: SearchArguments) -> dict[str, Any]:
    """Returns the figures of the loop over simulations of one search."""
    config = SearchConfig(simulations=arguments.simulations, slots=arguments.slots if name == "jaxgames" else None)
    side = SIDES[name](game, arguments.roots, config, arguments.hidden_sizes)
    place = SingleDeviceSharding(targets.described_devices(target)[0])
    shapes = jax.eval_shape(lambda *each: each, jax.random.key(0), side.params, side.boards)
    compiled, seconds = targets.timed(
        lambda: jax.jit(side.program, in_shardings=place, out_shardings=place).lower(*shapes).compile()
    )
    program = hlo.parse(compiled.as_text())
    body = next(loop.body for loop in hlo.loops(program) if loop.trip_count == arguments.simulations)
    counts = hlo.count(program, body)
    inner = [
        each
        for of, each, _ in hlo.walk(program, body)
        if each.op == "while" and hlo.trip_count(program, of, each) is None
    ]
    return {
        "target": target,
        "game": game,
        "search": name,
        "kernels": counts.kernels,
        "kernels_per_level": sum(hlo.count(program, loop.attribute("body")).kernels for loop in inner),
        "bytes_per_root": round(counts.bytes_moved / arguments.roots),
        "temporary_bytes": round(compiled.memory_analysis().temp_size_in_bytes / arguments.roots),
        "compile_seconds": round(seconds, 1),
    }
