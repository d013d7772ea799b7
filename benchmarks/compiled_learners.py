"""Memory, kernels and transfers of training and search on GPUs and TPUs, counted in programs that are not run.

    python -m benchmarks.compiled learners                          # one H200, and 64 chips of a TPU v5e
    python -m benchmarks.compiled learners minichess --learners ppo --places h200
    python -m benchmarks.compiled learners --check                  # exit status 1 too if a figure grew by a tenth
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
from jax.sharding import AxisType, Mesh, NamedSharding, SingleDeviceSharding

from benchmarks import harness, hlo, targets
from benchmarks.search import SIDES
from benchmarks.targets import PAGE
from jaxgames.mcts import SearchConfig
from train import alphazero, ppo
from train.driver.learner import Learner
from train.driver.loop import lower_iteration
from train.driver.memory import num_bytes
from train.driver.tables import with_tables
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
KEY = ("place", "learner", "game", "boards", "rollout_length")
FIGURES = {  # that --check compares
    "kernels_per_step": "kernels per step",
    "kernels_per_simulation": "kernels per simulation",
    "temporary_bytes": "temporary bytes",
    "collective_bytes": "bytes of collectives",
}
STORED = {name: Path(__file__).with_name(f"compiled_{name}.json") for name in ("learners", "search")}
SEARCH_KEY = ("target", "game", "search")
SEARCH_SETTINGS = ("roots", "simulations", "slots", "hidden_sizes")
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
    """Devices to compile for: h200, one GPU; v5e-64, 64 TPU chips."""
    boards: int = 65536
    """Boards of the run, over all devices."""
    rollout_length: int = 32
    """Steps of each board in an iteration."""
    write: bool = False
    """Store the rows, in place of rows of the same key, and renew the table of the docs."""
    check: bool = False
    """Compare with the stored rows; exit status 1 if kernels, temporary or sent bytes grew by more than a tenth."""
    file: Path = STORED["learners"]
    """The file of stored rows."""


def compile_learners(arguments: LearnersArguments) -> dict[str, Any]:
    harness.check_positive(arguments, "boards", "rollout_length")
    harness.check_among("learners", arguments.learners, LEARNERS)
    harness.check_among("places", arguments.places, PLACES)
    cases = [
        (place, name, game) for place in arguments.places for name in arguments.learners for game in arguments.games
    ]
    size = (arguments.boards, arguments.rollout_length)
    stored = targets.read_for(arguments, KEY, [(*case, *size) for case in cases])
    learners = {case: make_learner(*case[1:], *size) for case in cases}
    targets.check_packages(tuple(PLACES[place][0] for place in arguments.places))
    progress = harness.Progress(len(cases))
    rows: list[dict[str, Any]] = []
    result: dict[str, Any] = {"rows": rows, **targets.versions()}
    for (place, name, game), learner in learners.items():
        row, unwanted = learner_row(learner, *PLACES[place])
        of = dict(zip(KEY, (place, name, game, *size), strict=True)) | {"compiler": targets.compiler(PLACES[place][0])}
        rows.append(of | row | {"unwanted": unwanted})
        harness.save(arguments, result)
        if arguments.write:
            store("learners", arguments.file, targets.merged(arguments.file, stored, result, KEY, ()))
        progress.finish(", ".join(harness.format_row(TABLE, in_units_of_table(rows[-1]))))
    harness.log(harness.table(TABLE, map(in_units_of_table, rows)))
    return result | {"grown": grown(stored["rows"], rows) if arguments.check else []}


def grown(stored: list[dict[str, Any]], rows: list[dict[str, Any]]) -> list[str]:
    """Returns texts on what grew by more than a tenth, and logs which compilers differ."""
    before = targets.by_key(stored, KEY)
    compilers = {(row["compiler"], before[key]["compiler"]) for key, row in targets.by_key(rows, KEY).items()}
    for new, old in sorted(compilers):
        if new != old:
            harness.log(f"compiled with {new}, stored rows with {old}, which can change the figures too")
    return targets.grown(map(in_units_of_table, stored), map(in_units_of_table, rows), KEY, FIGURES)


def make_learner(name: str, game: str, boards: int, rollout_length: int) -> Learner:
    settings: dict[str, Any] = {"num_envs": boards, "rollout_length": rollout_length}
    if name == "alphazero":
        settings["replay_size"] = boards * rollout_length  # the least that a run can have
    return LEARNERS[name](game, **settings)


def learner_row(learner: Learner, target: str, chips: str) -> tuple[dict[str, Any], list[str]]:
    """Returns the figures of an iteration, and texts on what it does that it should not."""
    mesh = Mesh(np.array(targets.described_devices(target, chips)), ("boards",), axis_types=(AxisType.Auto,))
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
        "collective_bytes": moved,
        "collective_megabytes": moved / 1e6,
    }


def failure(result: dict[str, Any]) -> str | None:
    texts = [
        f"{row['learner']}, {row['game']}, {row['place']}: {text}" for row in result["rows"] for text in row["unwanted"]
    ]
    failures = ["\n  ".join(["programs do what they should not:", *texts])] if texts else []
    return "\n".join([*failures, *filter(None, [targets.growth_failure(result)])]) or None


# -- what is stored ---------------------------------------------------------------------------------------


def store(name: str, file: Path, result: dict[str, Any]) -> None:
    """Writes a result, and its table to the docs if the file is the one that they show."""
    file.write_text(json.dumps(result, indent=1) + "\n")
    if file == STORED[name]:
        PAGE.write_text(with_tables(PAGE.read_text(), page_tables()))


def page_tables() -> dict[str, str]:
    """Returns the tables in Markdown of the results that are stored; of learners, the rows of full size."""
    rows = {name: json.loads(file.read_text())["rows"] for name, file in STORED.items()}
    size = (LearnersArguments.boards, LearnersArguments.rollout_length)
    full = [row for row in rows["learners"] if (row["boards"], row["rollout_length"]) == size]
    return {
        "learners": harness.table(TABLE, map(in_units_of_table, full)),
        "search": harness.table(SEARCH_TABLE, rows["search"]),
    }


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
    """Store the rows, in place of rows of the same target, game and search, and renew the table of the docs."""
    file: Path = STORED["search"]
    """The file of stored rows."""


def compile_searches(arguments: SearchArguments) -> dict[str, Any]:
    harness.check_positive(arguments, "roots", "simulations", "slots", "hidden_sizes")
    harness.check_among("searches", arguments.searches, SIDES)
    targets.check_targets(arguments.target)
    targets.check_packages(arguments.target)
    cases = [(t, game, name) for t in arguments.target for game in arguments.games for name in arguments.searches]
    progress = harness.Progress(len(cases))
    stored = targets.read_stored(arguments.file) if arguments.write and arguments.file.exists() else {}
    rows: list[dict[str, Any]] = []
    settings = vars(arguments) | {"hidden_sizes": list(arguments.hidden_sizes)}
    result: dict[str, Any] = {"rows": rows, **{name: settings[name] for name in SEARCH_SETTINGS}, **targets.versions()}
    for case in cases:
        rows.append(search_row(*case, arguments))
        harness.save(arguments, result)
        if arguments.write:
            store("search", arguments.file, targets.merged(arguments.file, stored, result, SEARCH_KEY, SEARCH_SETTINGS))
        progress.finish(", ".join(harness.format_row(SEARCH_TABLE, rows[-1])))
    harness.log(harness.table(SEARCH_TABLE, rows))
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
        "compiler": targets.compiler(target),
        "kernels": counts.kernels,
        "kernels_per_level": sum(hlo.count(program, loop.attribute("body")).kernels for loop in inner),
        "bytes_per_root": round(counts.bytes_moved / arguments.roots),
        "temporary_bytes": round(compiled.memory_analysis().temp_size_in_bytes / arguments.roots),
        "compile_seconds": round(seconds, 1),
    }
