"""Checks and measures one GPU in at most eight minutes; on a CPU, in a short form with tiny sizes.

    python -m benchmarks.device                                    # the result is in runs/bench/device.json
    python -m benchmarks.device --parts "random play" search --budget 200

The parts, in an order in which a cut costs least:

    forms        whole random games on the CPU, and the same games on the device: masks, observations, states and drawn
                 actions must be equal. `check_env` of every game. PPO must weakly solve a diamond, beside its solution
    random play  steps per second of every game, and of games of Pgx in the same run. `of_copy` is the least number of
                 bytes of a step, times the speed, divided by the speed of a copy
    ppo          trained steps per second, by network and arithmetic. TF32 is an arithmetic of NVIDIA's GPUs
    search       simulations per second, of jaxgames, of mctx over all actions and of mctx on a game of Pgx
    profile      where the slowest game of `random play` spends the time of a step, by kernel
    ppo boards   the part `ppo` with fewer boards

A part is a sequence of groups. The programs of a group are compiled side by side, and then measured one after the
other. The result is written after each group. A part ends at its share of `budget`: rows for which no time is left are
`skipped`. Packages that are not installed are `missing`, and what does not fit into memory is `out_of_memory`. A
measurement that fails has its error in its row, and the command then ends with exit status 1.
"""

import functools
import itertools
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import SingleDeviceSharding

import jaxgames
from benchmarks import harness, loops, search
from benchmarks.envs import min_bytes
from benchmarks.harness import Command, Timed
from jaxgames import solvers
from jaxgames.mcts import SearchConfig
from jaxgames.testing import check_env
from train import ppo
from train.driver.commands import commit, stamp
from train.ops.sharding import keys_to_data

PASSES = 16  # over the copied array in one call, so that the start of the call does not count
KERNELS = 10  # of a profile
PEERS = ("mctx", "pgx")
ROLLOUT_LENGTH = 16  # of PPO, so that an iteration with the most boards takes about a second
PRECISIONS = {  # of matrix products, and of the network's layers
    "float32": ("float32", "float32"),
    "TF32": ("tensorfloat32", "float32"),
    "bfloat16": ("default", "bfloat16"),
}


LEARNED_STRONG_ACTION = 0.85  # seeds and machines give 0.92 to 0.96, random moves about 0.7


class Sizes(NamedTuple):
    games: tuple[str, ...] = loops.GAMES
    peers: tuple[str, ...] = ("gardner_chess", "tic_tac_toe", "connect_four", "hex", "othello")  # of Pgx
    compared: tuple[int, int] = (64, 512)  # boards and steps of the part `forms`
    checked: tuple[int, int] = (8, 64)  # games and steps of `check_env`
    iterations: int = 50  # of PPO on the solved board
    copied_bytes: int = 1 << 30
    boards: tuple[int, ...] = (1 << 16, 1 << 20)  # of random play
    steps: int = 10_000_000  # of random play in a timed call, over all boards; each board makes at least 32
    ppo_games: tuple[str, ...] = ("dots_and_boxes", "checkers", "minichess")
    ppo_boards: tuple[int, ...] = (1 << 16, 1 << 12, 1 << 14)
    hidden_sizes: tuple[tuple[int, ...], ...] = ((64, 64), (256, 256))
    searched: tuple[str, ...] = ("minichess", "chinese_checkers_diamond(size=4, pieces=3)")
    searched_of_pgx: tuple[str, ...] = ("gardner_chess",)
    simulations: tuple[int, ...] = (32, 128, 16)
    roots: int = 1024


FULL = Sizes()
SHORT = Sizes(
    games=("dots_and_boxes", "checkers"),
    peers=("tic_tac_toe",),
    compared=(4, 16),
    checked=(2, 8),
    copied_bytes=1 << 22,
    boards=(64,),
    steps=4096,
    ppo_games=("dots_and_boxes",),
    ppo_boards=(64,),
    hidden_sizes=((64, 64),),
    searched=("chinese_checkers_diamond(size=4, pieces=3)",),
    searched_of_pgx=("tic_tac_toe",),
    simulations=(16,),
    roots=16,
)
SOLVED = "chinese_checkers_diamond(size=3, pieces=3)"


class Task(NamedTuple):
    """A row of the result."""

    labels: dict[str, Any]  # of the row
    prepare: Callable[[], Callable[[], dict[str, Any]]]  # compiles, and returns what measures the row's figures


Rows = list[dict[str, Any]]
Groups = Iterator[list[Task]]


@dataclass(frozen=True)
class Arguments(harness.BenchmarkArguments):
    output: Path | None = Path("runs/bench/device.json")
    """A .json file for the result, or a folder."""
    parts: tuple[str, ...] = ("forms", "random play", "ppo", "search", "profile", "ppo boards")
    """The parts to run, in any order."""
    budget: float = 450.0
    """Seconds after which no group of measurements begins. A group that has begun is finished."""
    repeats: int = 5


def measure_device(arguments: Arguments) -> dict[str, Any]:
    harness.check_positive(arguments, "budget", "repeats")
    harness.check_among("parts", arguments.parts, PARTS)
    is_short = jax.default_backend() == "cpu"
    start = time.perf_counter()
    rows: Rows = []
    result: dict[str, Any] = {"rows": rows, "is_short": is_short, **versions(), **stamp()}
    longest: dict[str, float] = {}  # seconds of a group, by the first word of its part
    for name, (part, share) in PARTS.items():
        kind, end = name.partition(" ")[0], start + share * arguments.budget
        for group in part(SHORT if is_short else FULL, arguments.repeats, rows) if name in arguments.parts else ():
            began = time.perf_counter()
            if began + longest.get(kind, 0.0) < end:
                new = run_group(group)
                longest[kind] = max(longest.get(kind, 0.0), time.perf_counter() - began)
            else:
                new = [task.labels | {"skipped": True} for task in group]
            rows += [{"part": name} | row for row in new]
            result["seconds"] = round(time.perf_counter() - start, 1)
            harness.save(arguments, result)
            for row in rows[-len(group) :]:
                harness.log(f"[{result['seconds']:.0f} s] {', '.join(map(text_of, row.items()))}")
    return result


def run_group(group: Sequence[Task]) -> Rows:
    """Compiles the tasks of a group side by side, measures them one after the other, and returns their rows."""
    with ThreadPoolExecutor(harness.cores()) as threads:
        prepared = list(threads.map(attempt, [task.prepare for task in group]))
    rows: Rows = []
    for task, (measure, failure) in zip(group, prepared, strict=True):
        figures = failure
        if measure is not None:
            figures, failure = attempt(measure)
        rows.append(task.labels | (figures or failure))
    return rows


def attempt(function: Callable[[], Any]) -> tuple[Any, dict[str, Any]]:
    """Returns the result of a function, or None, and what a row says of its failure."""
    try:
        return function(), {}
    except ModuleNotFoundError as error:
        if error.name in PEERS:
            return None, {"missing": error.name}
        return None, {"error": str(error)}
    except Exception as error:  # whatever it is: the row has its text, and the command fails
        if isinstance(error, jax.errors.JaxRuntimeError) and "RESOURCE_EXHAUSTED" in str(error):
            return None, {"out_of_memory": True}
        return None, {"error": f"{type(error).__name__}: {str(error).partition(os.linesep)[0]}"}


def failure(result: dict[str, Any]) -> str | None:
    """Returns a text on rows with errors, with different results on the device, and of a learner that did not learn."""
    wrong = [
        row
        for row in result["rows"]
        if "error" in row or row.get("different") or row.get("strong_action", 1.0) < LEARNED_STRONG_ACTION
    ]
    lines = [", ".join(map(text_of, row.items())) for row in wrong]
    return "\n  ".join([f"{len(lines)} rows of the result say that something is wrong:", *lines]) if lines else None


def text_of(item: tuple[str, Any]) -> str:
    name, value = item
    return f"{name}: {value:,.4g}" if isinstance(value, float) else f"{name}: {value}"


def versions() -> dict[str, Any]:
    """The versions that decide the figures, beside those of `stamp`."""
    driver = Path("/proc/driver/nvidia/version")
    return {
        "commit": commit(),
        "driver": driver.read_text().splitlines()[0] if driver.exists() else None,
        "platform": jax.devices()[0].client.platform_version,
        "xla_flags": os.environ.get("XLA_FLAGS", ""),
        "forms": os.environ.get("JAXGAMES_FORMS", "auto"),
        **{package: harness.package_version(package) for package in PEERS},
    }


def timed(
    labels: dict[str, Any],
    make: Callable[[], Timed],
    repeats: int,
    unit: str,
    more: Callable[[float], dict[str, Any]] = lambda speed: {},
) -> Task:
    """A task that measures a program; `unit` names what it makes, such as "steps", `more` adds figures to a speed."""

    def prepare() -> Callable[[], dict[str, Any]]:
        compiled = harness.compile_program(make())

        def measure() -> dict[str, Any]:
            timing = harness.time_compiled([compiled], repeats)[0].timing._asdict()
            speed = timing.pop("steps_per_second")
            return {f"{unit}_per_second": speed, **timing, **more(speed)}

        return measure

    return Task(labels, prepare)


# -- forms --------------------------------------------------------------------------------------------------


def forms(sizes: Sizes, repeats: int, rows: Rows) -> Groups:
    yield [Task({"game": game, "what": "forms"}, functools.partial(compare, game, sizes)) for game in sizes.games]
    yield [Task({"game": game, "what": "contract"}, functools.partial(check, game, sizes)) for game in sizes.games]
    yield [Task({"game": SOLVED, "what": "solved"}, functools.partial(solve, sizes))]


def compare(game: str, sizes: Sizes) -> Callable[[], dict[str, Any]]:
    """Plays random games on the CPU, and replays their actions on the default device; on a CPU, by the same program."""
    boards, steps = sizes.compared
    devices = (jax.devices("cpu")[0], jax.devices()[0])
    program = functools.partial(play_recorded, jaxgames.make(game), boards)
    key, blank, live = jax.random.key(0), np.zeros((steps, boards), np.int32), np.bool_(False)
    shapes = jax.eval_shape(lambda *each: each, key, blank, live)
    places = [SingleDeviceSharding(device) for device in devices]
    made = [jax.jit(program, in_shardings=place, out_shardings=place).lower(*shapes).compile() for place in places]

    def measure() -> dict[str, Any]:
        here = jax.device_get(made[0](*jax.device_put((key, blank, live), devices[0])))
        recorded = here["random_legal_action"]
        there = jax.device_get(made[1](*jax.device_put((key, recorded, np.bool_(True)), devices[1])))
        pairs = zip(jax.tree.leaves_with_path(here), jax.tree.leaves(there), strict=True)
        different = [jax.tree_util.keystr(path) for (path, ours), theirs in pairs if not np.array_equal(ours, theirs)]
        return {"boards": boards, "steps": steps, "finished": int(here["finished"].sum()), "different": different}

    return measure


def play_recorded(env: jaxgames.Env[Any], boards: int, key: jax.Array, actions: jax.Array, replay: Any) -> Any:
    """Returns what whole random games hold at each step; with `replay` they take the actions int32[steps, boards]."""

    def step(states: Any, given: tuple[jax.Array, jax.Array]) -> Any:
        key, action = given
        mask = jax.vmap(env.legal_action_mask)(states)
        keys = jax.random.split(key, boards)
        drawn = jax.vmap(env.random_legal_action)(states, keys)
        seen = {
            "mask": mask,
            "observation": jax.vmap(env.observe)(states),
            "random_action": jax.vmap(jaxgames.random_action)(keys, mask),
            "random_legal_action": drawn,
            "state": keys_to_data(states),
        }
        return jax.vmap(env.step)(states, jnp.where(replay, action, drawn)), seen

    init_key, key = jax.random.split(key)
    states = jax.vmap(env.init)(jax.random.split(init_key, boards))
    states, seen = jax.lax.scan(step, states, (jax.random.split(key, len(actions)), actions))
    return seen | {"finished": states.terminated | states.truncated}


def check(game: str, sizes: Sizes) -> Callable[[], dict[str, Any]]:
    games, steps = sizes.checked
    check_env(jaxgames.make(game), games=games, steps=steps)
    return lambda: {"games": games, "steps": steps}


def solve(sizes: Sizes) -> Callable[[], dict[str, Any]]:
    """Trains PPO on a diamond of nine cells, and compares its greedy policy with the exact solution."""
    config = ppo.config_for(
        SOLVED,
        total_steps=sizes.iterations * 64 * 32,
        num_envs=64,
        rollout_length=32,
        channels=(),
        hidden_sizes=(64, 64),
        learning_rate=3e-3,
        num_minibatches=4,
        update_epochs=4,
        gamma=1.0,
        ent_coef=0.05,
    )
    learner, env = ppo.PPO(config), jaxgames.make(SOLVED)
    state = jax.jit(learner.init)(jax.random.key(0))
    iterate = jax.jit(learner.iterate).lower(state).compile()

    def measure() -> dict[str, Any]:
        trained = state
        for _ in range(sizes.iterations):
            trained, _ = iterate(trained)
        agent = learner.agent(trained.params, temperature=0.0)
        act = jax.jit(lambda boards: agent.act(jax.random.key(0), boards))
        measures = solvers.strength.measure(env, act, solvers.solve(env))
        return {"iterations": sizes.iterations} | {name: measures[name] for name in ("weak_solved", "strong_action")}

    return measure


# -- random play --------------------------------------------------------------------------------------------


def random_play(sizes: Sizes, repeats: int, rows: Rows) -> Groups:
    def copy() -> Timed:
        def program(key: jax.Array, x: jax.Array) -> jax.Array:
            return jax.lax.fori_loop(0, PASSES, lambda _, x: x + 1, x)

        return Timed(program, (jnp.zeros(sizes.copied_bytes // 4, jnp.float32),), 2 * PASSES * sizes.copied_bytes)

    yield [timed({"what": "copy"}, copy, repeats, "bytes")]
    of_copy = next((row["bytes_per_second"] for row in rows if "bytes_per_second" in row), None)
    for boards in sizes.boards:
        for library, games in (("jaxgames", sizes.games), ("Pgx", sizes.peers)):
            yield [play(library, game, boards, sizes.steps, repeats, of_copy) for game in games]


def play(library: str, game: str, boards: int, steps: int, repeats: int, copy: float | None) -> Task:
    """A task for random play; `copy` is the speed of a copy in bytes per second, if it is known."""
    length = loops.steps_per_call(steps, boards)

    def make() -> Timed:
        playing = jaxgames.auto_reset(jaxgames.make(game)) if library == "jaxgames" else loops.pgx_env(game)[1]
        start = jax.jit(jax.vmap(playing.init))(jax.random.split(jax.random.key(0), boards))
        return Timed(loops.play_loop(playing, boards, length), (start, None), boards * length)

    def share(speed: float) -> dict[str, Any]:
        if library != "jaxgames":
            return {}
        least = min_bytes(jaxgames.make(game))
        return {"min_bytes": least, "of_copy": copy and speed * least / copy}

    return timed({"library": library, "game": game, "boards": boards}, make, repeats, "steps", share)


# -- ppo ----------------------------------------------------------------------------------------------------


def train_ppo(chosen: slice, sizes: Sizes, repeats: int, rows: Rows) -> Groups:
    for boards, game in itertools.product(sizes.ppo_boards[chosen], sizes.ppo_games):
        pairs = itertools.product(sizes.hidden_sizes, PRECISIONS)
        yield [train(game, boards, hidden, precision, repeats) for hidden, precision in pairs]


def train(game: str, boards: int, hidden: tuple[int, ...], precision: str, repeats: int) -> Task:
    """A task for whole iterations of PPO."""
    products, dtype = PRECISIONS[precision]
    settings = {"num_envs": boards, "rollout_length": ROLLOUT_LENGTH, "hidden_sizes": hidden, "compute_dtype": dtype}

    def make() -> Timed:
        config = ppo.config_for(game, preset="accelerator", network="mlp", **settings)
        learner = ppo.PPO(config)
        state = jax.jit(learner.init)(jax.random.key(0))

        def program(key: jax.Array, state: Any) -> Any:
            with jax.default_matmul_precision(products):
                return learner.iterate(state._replace(key=key))

        return Timed(program, (state,), config.steps_per_iteration)

    labels = {"game": game, "boards": boards, "hidden_sizes": [*hidden], "precision": precision}
    return timed(labels, make, repeats, "steps")


# -- search -------------------------------------------------------------------------------------------------


def search_trees(sizes: Sizes, repeats: int, rows: Rows) -> Groups:
    pairs = [(side, game) for game in sizes.searched for side in ("jaxgames", "mctx")]
    pairs += [("Pgx + mctx", game) for game in sizes.searched_of_pgx]
    for simulations in sizes.simulations:
        yield [look_ahead(side, game, sizes.roots, simulations, repeats) for side, game in pairs]


def look_ahead(side: str, game: str, roots: int, simulations: int, repeats: int) -> Task:
    """A task for a search from random positions, by a network of three layers of 256."""
    config = SearchConfig(simulations=simulations, slots=64 if side == "jaxgames" else None)

    def make() -> Timed:
        made = search.SIDES[side](game, roots, config, (256, 256, 256))
        return Timed(made.program, (made.params, made.boards), roots * simulations)

    labels = {"library": side, "game": game, "boards": roots, "simulations": simulations}
    return timed(labels, make, repeats, "simulations")


# -- profile ------------------------------------------------------------------------------------------------


def profile(sizes: Sizes, repeats: int, rows: Rows) -> Groups:
    measured = [row for row in rows if row.get("library") == "jaxgames" and "steps_per_second" in row]
    slowest = min(measured, key=lambda row: row["steps_per_second"])["game"] if measured else sizes.games[0]
    boards, length = sizes.boards[0], loops.MIN_STEPS_PER_CALL

    def prepare() -> Callable[[], dict[str, Any]]:
        playing = jaxgames.auto_reset(jaxgames.make(slowest))
        start = jax.jit(jax.vmap(playing.init))(jax.random.split(jax.random.key(0), boards))
        key = jax.random.key(1)
        loop = jax.jit(loops.play_loop(playing, boards, length)).lower(key, start, None).compile()

        def measure() -> dict[str, Any]:
            jax.block_until_ready(loop(key, start, None))
            with tempfile.TemporaryDirectory() as folder:
                with jax.profiler.trace(folder):
                    jax.block_until_ready(loop(key, start, None))
                times = kernel_times(Path(folder))
            total = times.total()
            kernels = [
                {"kernel": name, "microseconds_per_step": time / 1e3 / length, "share": round(time / total, 3)}
                for name, time in times.most_common(KERNELS)
            ]
            return {"microseconds_per_step": total / 1e3 / length, "kernels": kernels}

        return measure

    yield [Task({"game": slowest, "boards": boards}, prepare)]


def kernel_times(folder: Path) -> Counter[str]:
    """Nanoseconds of every kernel in a trace of JAX's profiler; on a CPU, of every operation that holds no other.

    Raises ValueError if the trace has none.
    """
    (file,) = folder.rglob("*.xplane.pb")
    planes = list(jax.profiler.ProfileData.from_file(str(file)).planes)
    on_device = [plane for plane in planes if plane.name.startswith("/device:")]
    times: Counter[str] = Counter()
    for line in (line for plane in on_device or planes for line in plane.lines):
        if on_device and not line.name.startswith(("Stream", "XLA Ops")):
            continue
        for event in line.events:
            if on_device or ("hlo_op" in dict(event.stats) and not event.name.startswith(("while", "call"))):
                times[event.name] += event.duration_ns
    if not times:
        raise ValueError(f"the trace has no kernels; its planes are {', '.join(plane.name for plane in planes)}")
    return times


PARTS = {  # with the share of the budget at which each ends
    "forms": (forms, 0.2),
    "random play": (random_play, 0.45),
    "ppo": (functools.partial(train_ppo, slice(0, 1)), 0.65),
    "search": (search_trees, 0.8),
    "profile": (profile, 0.85),
    "ppo boards": (functools.partial(train_ppo, slice(1, None)), 1.0),
}
COMMANDS = (Command("device", Arguments, measure_device, failure=failure),)

if __name__ == "__main__":
    harness.run(*COMMANDS)
