"""Kernels and bytes of a game's step on GPUs and TPUs, counted in programs that are compiled and not run.

    python -m benchmarks.compiled                                  # every game, for h200 and v5e (15 to 60 minutes)
    python -m benchmarks.compiled minichess --target h200 v5e --parts mask
    python -m benchmarks.compiled --check                          # exit status 1 if a game grew by more than a tenth
    python -m benchmarks.compiled --write                          # renews benchmarks/compiled.json and the docs

XLA compiles each part of a step for a described device: an H200, a TPU v5e, or with `--target v6e` a TPU v6e. The
figures of the program:

    kernels     operations that the device starts one after the other
    gathers     of them or inside of them, those that read by an index of each board
    bytes       that the kernels read and write, per board: a model, which `benchmarks/hlo.py` describes
    bound       bytes of the arrays that a part reads and writes, per board
    temporary   memory beside arguments and results, per board
    compiled    seconds of tracing and compiling

The parts are `step`, with restarts, `mask`, `observe`, and `random play`, which is all three with a random action.
Random play reads and writes the board, and writes the mask and the observation. A step reads an action and the board,
and writes the board. `mask` and `observe` read the board and write their result. They need not read all of the board,
so they can be below their bound. The board of a step is the one of `jaxgames.auto_reset`, with the board before the
restart.
"""

import itertools
import json
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

# Before JAX is imported: no device is used, and libtpu does not ask the machine which TPU it has.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TPU_SKIP_MDS_QUERY", "1")
os.environ.setdefault("TPU_ACCELERATOR_TYPE", "v5litepod-4")
os.environ.setdefault("TPU_WORKER_HOSTNAMES", "localhost")
os.environ.setdefault("ALLOW_MULTIPLE_LIBTPU_LOAD", "1")  # by several commands at once

import jax
import jax.numpy as jnp
import tyro
from jax.sharding import SingleDeviceSharding

import jaxgames
from benchmarks import compiled_learners, harness, hlo, targets
from benchmarks.compiled_learners import LearnersArguments, SearchArguments, compile_learners, compile_searches
from benchmarks.harness import Command
from benchmarks.roofline import min_bytes
from benchmarks.targets import PAGE, STORED, TARGETS
from train.driver.tables import with_tables

GAMES = (
    "dots_and_boxes",
    "checkers",
    "chinese_checkers(size=2)",
    "chinese_checkers",
    "chinese_checkers_diamond(size=4, pieces=3)",
    "chinese_checkers_diamond",
    "minichess",
    "minichess(rules=king_capture)",
)
PARTS = ("random play", "step", "mask", "observe")
KEY = ("target", "game", "part")
DECISIVE = ("boards", "jax", *sorted({each.package for each in TARGETS.values()}))  # settings and versions
FIGURES = {"kernels": "kernels", "bytes_per_board": "bytes per board"}  # that --check compares
TABLE = {
    "target": "{target}",
    "game": "`{game}`",
    "part": "{part}",
    "kernels": "{kernels}",
    "gathers": "{gathers}",
    "bytes": "{bytes_per_board:,.0f}",
    "bound": "{bound:,}",
    "of the bound": "{of_bound:.2f} x",
    "temporary": "{temporary_bytes:,.0f}",
    "compiled in": "{compile_seconds:.1f} s",
}


@dataclass(frozen=True)
class Arguments(harness.BenchmarkArguments):
    games: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Games with their parameters; if none is given, every game, in eight settings."""
    target: tuple[str, ...] = ("h200", "v5e")
    """Accelerators to compile for: h200, v5e, v6e. Games may follow."""
    parts: tuple[str, ...] = PARTS
    """Parts to compile: random play, step, mask, observe."""
    boards: int = 65536
    """Boards of the program."""
    write: bool = False
    """Store the rows, in place of those of the same target, game and part, and renew the tables of the docs."""
    check: bool = False
    """Compare with the stored rows; exit status 1 if the kernels or the bytes of one grew by more than a tenth."""
    file: Path = STORED
    """The file of stored rows."""


def measure_compiled(arguments: Arguments) -> dict[str, Any]:
    """Compiles every part of every game for every target; with `write` or `check`, stores or compares the rows."""
    harness.check_positive(arguments, "boards")
    harness.check_among("parts", arguments.parts, PARTS)
    chosen, games = split_words(arguments.target, arguments.games)
    targets.check_targets(chosen)
    envs = {game: jaxgames.auto_reset(jaxgames.make(game)) for game in games}
    keys = list(itertools.product(chosen, games, arguments.parts))
    stored = targets.read_for(arguments, KEY, keys)
    targets.check_packages(chosen)
    progress = harness.Progress(len(keys))
    rows: list[dict[str, Any]] = []
    result: dict[str, Any] = {"rows": rows, "boards": arguments.boards, **targets.versions()}
    if arguments.check and (different := targets.differences(stored, result, DECISIVE)):
        harness.log(f"{arguments.file} was written with other {', '.join(different)}, which can change the figures too")
    for target, game, part in keys:
        rows.append(measure_row(target, game, envs[game], part, arguments.boards))
        harness.save(arguments, result)
        if arguments.write:  # after every row, so that a run that is stopped keeps its rows
            write(arguments.file, stored, result)
        progress.finish(", ".join(harness.format_row(TABLE, in_units_of_table(rows[-1]))))
    harness.log(harness.table(TABLE, map(in_units_of_table, rows)))
    return result | {"grown": targets.grown(stored["rows"], rows, KEY, FIGURES) if arguments.check else []}


def split_words(target: tuple[str, ...], games: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the targets and the games; after `--target`, words that begin with the id of a game are games."""
    ids = jaxgames.list_games()
    chosen = tuple(word for word in target if word.partition("(")[0] not in ids)
    games = (*(word for word in target if word not in chosen), *games)
    return chosen, games or GAMES


def measure_row(target: str, game: str, env: jaxgames.Env[Any], part: str, boards: int) -> dict[str, Any]:
    """Returns the figures of one part of a game, compiled for one device of a target."""
    place = SingleDeviceSharding(targets.described_devices(target)[0])
    function, shapes = programs(env, boards)[part]
    compiled, seconds = targets.timed(
        lambda: jax.jit(function, in_shardings=place, out_shardings=place).lower(*shapes).compile()
    )
    try:
        text = compiled.as_text()
    except jax.errors.JaxRuntimeError as error:  # a libtpu newer than JAX writes what JAX cannot read
        raise ValueError(
            f"JAX cannot read the program for {target}: type {targets.INSTALL} for a libtpu that fits"
        ) from error
    counts = hlo.count(hlo.parse(text))
    return {
        "target": target,
        "game": game,
        "part": part,
        "kernels": counts.kernels,
        "gathers": counts.gathers,
        "bytes_per_board": round(counts.bytes_moved / boards, 2),
        "bound": bound(env, part),
        "temporary_bytes": round(compiled.memory_analysis().temp_size_in_bytes / boards, 2),
        "compile_seconds": round(seconds, 2),
    }


def programs(env: jaxgames.Env[Any], boards: int) -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    """Returns the function of every part, for many boards at once, with the shapes of its arguments."""
    keys = jax.eval_shape(lambda: jax.random.split(jax.random.key(0), boards))
    states = jax.eval_shape(jax.vmap(env.init), keys)
    mask, observe, step = jax.vmap(env.legal_action_mask), jax.vmap(env.observe), jax.vmap(env.step)

    def play(states: Any, keys: jax.Array) -> Any:
        legal, observation = mask(states), observe(states)
        actions = jax.vmap(jaxgames.random_action)(keys, legal)
        return step(states, actions), legal, observation

    return {
        "random play": (play, (states, keys)),
        "step": (step, (states, jax.ShapeDtypeStruct((boards,), jnp.int32))),
        "mask": (mask, (states,)),
        "observe": (observe, (states,)),
    }


def bound(env: jaxgames.Env[Any], part: str) -> int:
    """Bytes that a part has to move for one board; `env` is one of `jaxgames.auto_reset`."""
    board = env.unwrapped.state_bytes  # pyright: ignore[reportAttributeAccessIssue]  # mask and observe read no other
    return {
        "random play": min_bytes(env),
        "step": 2 * env.state_bytes + 4,
        "mask": board + env.num_actions,
        "observe": board + math.prod(env.observation_shape),
    }[part]


def in_units_of_table(row: dict[str, Any]) -> dict[str, Any]:
    return row | {"of_bound": row["bytes_per_board"] / row["bound"]}


# -- the stored rows --------------------------------------------------------------------------------------


def write(file: Path, stored: dict[str, Any], result: dict[str, Any]) -> None:
    """Writes the rows, and those of `stored` that are not among them.

    Raises ValueError if rows of other versions would stay.
    """
    new = targets.merged(file, stored, result, KEY, DECISIVE)
    file.write_text(json.dumps(new, indent=1) + "\n")
    if file == STORED:
        PAGE.write_text(with_tables(PAGE.read_text(), page_tables(new["rows"])))


# -- the tables of the docs -------------------------------------------------------------------------------

PAGE_TABLE = {
    "game": "`{game}`",
    "kernels": "{kernels}",
    "of step, mask, observe": "{step}, {mask}, {observe}",
    "gathers": "{gathers}",
    "bytes per board": "{bytes_per_board:,.0f}",
    "of the bound": "{of_bound:.2f} x",
    "temporary bytes": "{temporary_bytes:,.0f}",
    "slowest part compiled in": "{slowest:.0f} s",
}


def page_tables(rows: list[dict[str, Any]]) -> dict[str, str]:
    """Returns a table in Markdown for each target: the rows of random play, with figures of the other parts."""
    stored = targets.by_key(rows, KEY)

    def page_row(target: str, game: str) -> dict[str, Any]:
        parts = {part: stored[target, game, part] for part in PARTS}
        kernels = {part: row["kernels"] for part, row in parts.items()}
        slowest = max(row["compile_seconds"] for row in parts.values())
        return in_units_of_table(parts["random play"]) | kernels | {"slowest": slowest}

    def page_table(target: str) -> str:
        complete = [game for game in GAMES if all((target, game, part) in stored for part in PARTS)]
        return harness.table(PAGE_TABLE, (page_row(target, game) for game in complete))

    return {target: page_table(target) for target in dict.fromkeys(row["target"] for row in rows)}


COMMANDS = (
    Command("compiled", Arguments, measure_compiled, failure=targets.growth_failure),
    Command("compiled learners", LearnersArguments, compile_learners, failure=compiled_learners.failure),
    Command("compiled search", SearchArguments, compile_searches),
)

if __name__ == "__main__":
    harness.run(*COMMANDS)
