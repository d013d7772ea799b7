"""Kernels and bytes of a game's step on GPUs and TPUs, counted in programs that are compiled and not run.

    python -m benchmarks.compiled                                  # every game, for h200 and v5e (15 to 60 minutes)
    python -m benchmarks.compiled minichess --target h200 v5e --parts mask
    python -m benchmarks.compiled --check                          # exit status 1 if a game grew by more than a tenth
    python -m benchmarks.compiled --write                          # renews benchmarks/compiled.json

XLA compiles each part of a step for a described device: an H200, a TPU v5e, or with `--target v6e` a TPU v6e. It needs
no driver, and the packages of `make compiled`. The figures of the optimised program:

    kernels         operations that the device starts one after the other: fusions, copies, sorts, ...
    gathers         reads by an index, in kernels or inside of them
    concatenates    inside of kernels, of more than MAX_PARTS parts along the axis whose elements are neighbours in
                    memory: on a GPU a branch for each part, which the threads of a warp take one after the other
    bytes           of what the kernels read and write, per board: each operand once, each result once
    bound           bytes of the arrays that a part reads and writes, per board
    temporary       memory beside arguments and results, per board
    compiled        seconds of tracing and compiling

Kernels in the body of a loop count once. Arrays in a TPU's on-chip memory, S(1) in a layout, have no bytes.

The parts are `step`, with restarts, `mask`, `observe`, and `random play`, which is all three with a random action.
Random play reads and writes the board, and writes the mask and the observation. A step reads an action and the board,
and writes the board. `mask` and `observe` read the board and write their result. They need not read all of the board,
so they can be below their bound.
"""

import importlib.util
import itertools
import json
import math
import os
import re
import time
from collections import Counter
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
from jax.experimental import topologies
from jax.sharding import SingleDeviceSharding

import jaxgames
from benchmarks import harness
from benchmarks.envs import min_bytes
from benchmarks.harness import Command
from train.driver.commands import progress_over, stamp
from train.driver.tables import table_of

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
PACKAGES = {  # that compile for a target: their names, and their modules
    "h200": ("jax-cuda12-plugin", "jax_plugins.xla_cuda12"),
    "v5e": ("libtpu", "libtpu"),
    "v6e": ("libtpu", "libtpu"),
}
INSTALL = 'python -m pip install -e ".[train,search,aot]"'
STORED = Path(__file__).with_name("compiled.json")
DECISIVE = ("boards", "jax", *sorted({package for package, _ in PACKAGES.values()}))  # settings and versions
FIGURES = ("kernels", "gathers", "concatenates", "bytes_per_board")  # that --check compares
MAX_GROWTH = 0.1  # of a stored figure, before --check fails
MAX_PARTS = 4  # of a concatenate that does not count
TABLE = {
    "target": "{target}",
    "game": "`{game}`",
    "part": "{part}",
    "kernels": "{kernels}",
    "gathers": "{gathers}",
    "concatenates": "{concatenates}",
    "bytes": "{bytes_per_board:,.0f}",
    "bound": "{bound:,}",
    "temporary": "{temporary_bytes:,.0f}",
    "compiled in": "{compile_seconds:.1f} s",
}
H200 = """
gpu_device_info {
  cuda_compute_capability { major: 9 minor: 0 }
  core_count: 132
  fpus_per_core: 128
  clock_rate_ghz: 1.98
  threads_per_warp: 32
  threads_per_block_limit: 1024
  threads_per_core_limit: 2048
  registers_per_block_limit: 65536
  registers_per_core_limit: 65536
  shared_memory_per_block: 49152
  shared_memory_per_block_optin: 232448
  shared_memory_per_core: 233472
  block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535
  block_dim_limit_z: 65535
  l2_cache_size: 52428800
  memory_bandwidth: 4800000000000
  device_memory_size: 150000000000
}
platform_name: "CUDA"
dnn_version_info { major: 9 minor: 8 patch: 0 }
device_description_str: "NVIDIA H200"
"""


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
    """Store the rows, in place of those of the same target, game and part."""
    check: bool = False
    """Compare with the stored rows; exit status 1 if a figure of one grew by more than a tenth."""
    file: Path = STORED
    """The file of stored rows."""


def measure_compiled(arguments: Arguments) -> dict[str, Any]:
    """Compiles every part of every game for every target; with `write` or `check`, stores or compares the rows."""
    harness.check_positive(arguments, "boards")
    harness.check_among("parts", arguments.parts, PARTS)
    chosen, games = split_words(arguments.target, arguments.games)
    harness.check_among("target", chosen, PACKAGES)
    if not chosen:
        raise ValueError(f"target must name at least one of {', '.join(PACKAGES)}")
    envs = {game: jaxgames.auto_reset(jaxgames.make(game)) for game in games}
    keys = list(itertools.product(chosen, games, arguments.parts))
    stored = read_stored(arguments, keys)
    for target in chosen:
        check_package(target)
    rows: list[dict[str, Any]] = []
    versions = {package: harness.package_version(package) for package, _ in PACKAGES.values()}
    result: dict[str, Any] = {"rows": rows, "boards": arguments.boards, **stamp(), **versions}
    different = ", ".join(name for name in DECISIVE if stored and stored.get(name) != result[name])
    if different and arguments.write and set(map(key_of, stored["rows"])) - set(keys):
        raise ValueError(f"{arguments.file} has rows of other {different}: write all rows, or another --file")
    if different and arguments.check:
        harness.log(f"{arguments.file} was written with other {different}, which can change the figures too")
    for target, game, part in progress_over(keys, "rows"):
        rows.append(measure_row(target, game, envs[game], part, arguments.boards))
        harness.save(arguments, result)
        if arguments.write:  # after every row, so that a run that is stopped keeps its rows
            new = {key_of(row): row for row in (*stored.get("rows", ()), *rows)}
            arguments.file.write_text(json.dumps(result | {"rows": [new[key] for key in sorted(new)]}, indent=1) + "\n")
    harness.log(table_of(rows, TABLE))
    return result | {"grown": grown(stored["rows"], rows) if arguments.check else []}


def split_words(target: tuple[str, ...], games: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the targets and the games; after `--target`, words that begin with the id of a game are games."""
    ids = jaxgames.list_games()
    chosen = tuple(word for word in target if word.partition("(")[0] not in ids)
    games = (*(word for word in target if word not in chosen), *games)
    return chosen, games or GAMES


def measure_row(target: str, game: str, env: jaxgames.Env[Any], part: str, boards: int) -> dict[str, Any]:
    """Returns the figures of one part of a game, compiled for one device of a target."""
    start = time.perf_counter()
    compiled, text = compile_for(target, *programs(env, boards)[part])
    seconds = time.perf_counter() - start
    counts = count(text)
    return {
        "target": target,
        "game": game,
        "part": part,
        **{name: counts[name] for name in ("kernels", "gathers", "concatenates")},
        "bytes_per_board": round(counts["bytes"] / boards, 2),
        "bound": bound(env, part),
        "temporary_bytes": round(compiled.memory_analysis().temp_size_in_bytes / boards, 2),
        "compile_seconds": round(seconds, 2),
    }


def compile_for(target: str, function: Callable[..., Any], shapes: tuple[Any, ...]) -> tuple[Any, str]:
    """Returns a function compiled for one device of a target, and the text of the program."""
    place = SingleDeviceSharding(described_device(target))
    compiled: Any = jax.jit(function, in_shardings=place, out_shardings=place).lower(*shapes).compile()
    try:
        return compiled, compiled.as_text()
    except jax.errors.JaxRuntimeError as error:  # a libtpu newer than JAX writes what JAX cannot read
        raise ValueError(f"JAX cannot read the program for {target}: type {INSTALL} for a libtpu that fits") from error


def described_device(target: str) -> Any:
    if target == "h200":
        return topologies.get_topology_desc(
            platform="cuda", topology_name="", topology="1x1x1", target_config=H200
        ).devices[0]
    return topologies.get_topology_desc(platform="tpu", topology_name=f"{target}:2x2").devices[0]


def check_package(target: str) -> None:
    """Raises ValueError, which says what to type, if the package that compiles for a target is missing."""
    package, module = PACKAGES[target]
    try:
        found = importlib.util.find_spec(module)
    except ModuleNotFoundError:  # jax_plugins itself
        found = None
    if found is None:
        raise ValueError(f"the target {target} needs the package {package}: type {INSTALL}")


def programs(env: jaxgames.Env[Any], boards: int) -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    """Returns the function of every part, for many boards at once, with the shapes of its arguments."""
    keys = jax.eval_shape(lambda: jax.random.split(jax.random.key(0), boards))
    states = jax.eval_shape(jax.vmap(env.init), keys)
    mask, observe, step = jax.vmap(env.legal_action_mask), jax.vmap(env.observe), jax.vmap(env.step)

    def play(states: Any, keys: jax.Array) -> Any:
        legal, observation = mask(states), observe(states)
        actions = jax.vmap(env.random_legal_action)(states, keys)
        return step(states, actions), legal, observation

    return {
        "random play": (play, (states, keys)),
        "step": (step, (states, jax.ShapeDtypeStruct((boards,), jnp.int32))),
        "mask": (mask, (states,)),
        "observe": (observe, (states,)),
    }


def bound(env: jaxgames.Env[Any], part: str) -> int:
    """Bytes that a part has to move for one board; `env` is one of `jaxgames.auto_reset`."""
    board = env.unwrapped.state_bytes  # mask and observe read no other
    return {
        "random play": min_bytes(env),
        "step": 2 * env.state_bytes + 4,
        "mask": board + env.num_actions,
        "observe": board + math.prod(env.observation_shape),
    }[part]


# -- the text of a program ----------------------------------------------------------------------------------

COMPUTATION = re.compile(r"^(ENTRY )?%?([\w.\-]+) [^\n]*\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
INSTRUCTION = re.compile(  # name, shape of the result, operation, operands, attributes
    r"^ +(?:ROOT )?%([\w.\-]+) = (.*?) ([\w\-]+)\((.*?)\)(.*)$", re.MULTILINE
)
ARRAY = re.compile(r"\b([a-z]\w*)\[([\d,]*)\]((?:\{[^}]*\})?)")  # type, dimensions, layout
FREE = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all", "opt-barrier", "while"}
FREE_CALL = re.compile(r'custom_call_target="(AllocateBuffer|ConcatBitcast)"')  # of a TPU, which move nothing


def count(text: str) -> Counter[str]:
    """Counts the kernels, gathers, concatenates and bytes of an optimised program, whose text this is."""
    counts: Counter[str] = Counter()
    bodies = set(re.findall(r"\bbody=%?([\w.\-]+)", text))
    for entry, name, lines in COMPUTATION.findall(text):
        is_run = bool(entry) or name in bodies  # by the device; the others are inside of a kernel
        sizes: dict[str, int] = {}
        for instruction, shape, operation, operands, attributes in INSTRUCTION.findall(lines):
            names = re.findall(r"%([\w.\-]+)", operands)
            sizes[instruction] = num_bytes(shape)
            counts["gathers"] += operation == "gather"
            if operation == "concatenate" and not is_run and len(names) > MAX_PARTS:
                counts["concatenates"] += is_along_minor(shape, attributes)
            if not is_run or operation in FREE or FREE_CALL.search(attributes):
                continue
            if operation.endswith("-done"):  # a copy or slice, from or to on-chip memory
                counts["bytes"] += num_bytes(shape, on_chip=True)
                continue
            counts["kernels"] += 1
            if not operation.endswith("-start"):
                counts["bytes"] += sizes[instruction] + sum(sizes[each] for each in {*names})
    if not counts["kernels"]:
        raise ValueError("the text has no kernels: it is not the text of an optimised program")
    return counts


def num_bytes(shape: str, on_chip: bool = False) -> int:
    """The bytes of an array, or of all arrays of a tuple. Arrays in on-chip memory have some only if `on_chip`."""
    total = 0
    for kind, dims, layout in ARRAY.findall(shape):
        width = re.match(r"[a-z]+(\d+)", kind)
        bits = 8 if kind == "pred" else int(width[1]) if width else 0  # tokens have none
        elements = math.prod(int(size) for size in dims.split(",") if size)
        total += 0 if "S(1)" in layout and not on_chip else math.ceil(bits * elements / 8)
    return total


def is_along_minor(shape: str, attributes: str) -> bool:
    """Returns whether a concatenate joins its parts along the axis whose elements are neighbours in memory."""
    along, minor = re.search(r"dimensions=\{(\d+)\}", attributes), re.search(r"\{(\d+)", shape)
    return along is not None and minor is not None and along[1] == minor[1]


# -- the stored rows ----------------------------------------------------------------------------------------


def key_of(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["target"], row["game"], row["part"]


def read_stored(arguments: Arguments, keys: list[tuple[str, str, str]]) -> dict[str, Any]:
    """Returns the stored result that the arguments `write` or `check` need; empty if there is none to keep.

    Raises ValueError if both are set, or if a row is missing that `check` compares with.
    """
    if arguments.write and arguments.check:
        raise ValueError("write renews the rows that check compares with: type one of them")
    needed = arguments.check or (arguments.write and arguments.file.exists())
    stored = json.loads(arguments.file.read_text()) if needed else {}
    kept = set(map(key_of, stored.get("rows", ())))
    if arguments.check and (missing := [key for key in keys if key not in kept]):
        raise ValueError(f"{arguments.file} has no row of {', '.join(missing[0])}: renew it with --write")
    return stored


def grown(stored: list[dict[str, Any]], rows: list[dict[str, Any]]) -> list[str]:
    """Returns one text per figure that is more than a tenth above its stored one."""
    before = {key_of(row): row for row in stored}
    return [
        f"{', '.join(key_of(row))}: {row[name]:,.0f} {name.replace('_', ' ')}, stored {before[key_of(row)][name]:,.0f}"
        for row in rows
        for name in FIGURES
        if row[name] > (1 + MAX_GROWTH) * before[key_of(row)][name]
    ]


def growth_failure(result: dict[str, Any]) -> str | None:
    grown = result["grown"]
    return f"grew by more than {MAX_GROWTH:.0%}:\n  " + "\n  ".join(grown) if grown else None


COMMANDS = (Command("compiled", Arguments, measure_compiled, failure=growth_failure),)

if __name__ == "__main__":
    harness.run(*COMMANDS)
