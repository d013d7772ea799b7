"""Finds games that have become slow: their random play, as a ratio to a reference loop in the same run.

    python -m benchmarks.regression            # compares with benchmarks/regression.json; exit status 1 if a game lost
                                               # more than a quarter of its ratio
    python -m benchmarks.regression --write    # renews benchmarks/regression.json: on a quiet machine, after a change
                                               # that is meant to change speed

The reference consists of the same operations as the games: words of bits, gathers of bytes, one random number per step,
and arrays that are written out. So a ratio is about the same on a fast machine and on a slow one. The reference uses
nothing of jaxgames, so no change there moves it. Both play 1,024 boards on one core, take turns, and are timed in CPU
time, which leaves out everything else that the machine does. A game that seems to have lost is measured again, and its
best ratio counts.
"""

import json
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxgames
from benchmarks import harness, loops
from benchmarks.harness import Command
from train.driver.commands import progress_over, stamp

BOARDS = 1024
MAX_LOSS = 0.25  # the part of its ratio that a game may lose
ATTEMPTS = 3  # measurements of a game before it counts as slower
RATIOS_FILE = Path(__file__).with_name("regression.json")


@dataclass(frozen=True)
class Arguments(harness.BenchmarkArguments):
    games: tuple[str, ...] = loops.GAMES
    """Games to measure."""
    rounds: int = 15
    """Turns of a game and of the reference; the ratio is the median over them."""
    length: int = 64
    """Steps of each board in a turn."""
    write: bool = False
    """Renew the recorded ratios instead of comparing with them."""
    file: Path = RATIOS_FILE
    """The file of recorded ratios."""


def measure_regression(arguments: Arguments) -> dict[str, Any]:
    """Measures the ratio of every game, and lists the games that have lost; with `write`, records the ratios."""
    harness.keep_to_one_core()
    harness.check_positive(arguments, "rounds", "length")
    envs = {game: jaxgames.make(game) for game in arguments.games}
    recorded = recorded_ratios(arguments.file) if arguments.file.exists() or not arguments.write else {}
    dropped, new = recorded.keys() - envs.keys(), envs.keys() - recorded.keys()
    if arguments.write and dropped:
        raise ValueError(f"{arguments.file} would lose {', '.join(dropped)}: write all games, or another --file")
    if not arguments.write and new:
        raise ValueError(f"{arguments.file} has {', '.join(recorded)}, not {', '.join(new)}: renew it with --write")
    reference = reference_loop(arguments.length)
    ratios: dict[str, float] = {}
    lost: list[str] = []
    for game, env in progress_over(envs.items(), "games"):
        play = loops.rollout(jaxgames.auto_reset(env), BOARDS, arguments.length)
        target = 0.0 if arguments.write else recorded[game]
        ratio = measure_ratio(play, reference, arguments.rounds)
        for _ in range(ATTEMPTS - 1):
            if not has_lost(ratio, target):
                break
            harness.log(f"{game}: {ratio:.3f} of the reference, {target:.3f} recorded; measured once more")
            ratio = max(ratio, measure_ratio(play, reference, arguments.rounds))
        if has_lost(ratio, target):
            lost.append(game)
        ratios[game] = round(ratio, 4)
        before = f", {ratio / recorded[game]:.2f} of the recorded ratio" if game in recorded else ""
        harness.log(f"{game}: {ratio:.3f} of the reference{before}{', LOST' if game in lost else ''}")
    speed = statistics.median(BOARDS * arguments.length / cpu_seconds(reference) for _ in range(arguments.rounds))
    result = {"ratios": ratios, "reference_steps_per_cpu_second": round(speed), **stamp()}
    if arguments.write:
        arguments.file.write_text(json.dumps(result, indent=2) + "\n")
    return result | {"lost": lost}


def recorded_ratios(file: Path) -> dict[str, float]:
    """The ratios in a file; raises ValueError or OSError where there are none."""
    ratios = json.loads(file.read_text()).get("ratios")
    if not ratios:
        raise ValueError(f"{file} holds no ratios: name another --file, or remove it and renew it with --write")
    return ratios


def has_lost(ratio: float, recorded: float) -> bool:
    return ratio < (1 - MAX_LOSS) * recorded


def measure_ratio(play: Callable[[], object], reference: Callable[[], object], rounds: int) -> float:
    """The speed of a game divided by the speed of the reference: the median over rounds in which they take turns."""
    spent = [(cpu_seconds(reference), cpu_seconds(play)) for _ in range(rounds)]
    return statistics.median(of_reference / of_game for of_reference, of_game in spent)


def cpu_seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def reference_loop(length: int) -> Callable[[], object]:
    """Returns a function that makes `length` steps of 1,024 imaginary boards.

    A board is 8 words of bits and 128 bytes, and writes out 512 bytes per step. A step moves a byte to a random place,
    permutes the bytes by a fixed permutation, shifts and counts bits, and reads what the last step wrote out at a
    random place.
    """
    permutation = np.random.default_rng(0).permutation(128).astype(np.int32)
    near = np.random.default_rng(1).integers(0, 128, (128, 4)).astype(np.int32)

    def step(words: jax.Array, cells: jax.Array, written: jax.Array, key: jax.Array) -> Any:
        draw = jax.random.bits(key)
        for shift in (1, 3, 7, 11):
            words = words ^ ((words << shift) & ~(words >> (shift + 1))) + draw
        count = jax.lax.population_count(words).sum().astype(jnp.int32)
        place = (draw >> 7).astype(jnp.int32) & 127
        cells = cells.at[place].set((cells[(place + count) & 127] + 1) & 7)[permutation]
        bits = (words[:, None] >> np.arange(16, dtype=np.uint32)).reshape(-1) & 1  # 128, one per cell
        seen = (cells[near] == 0) & (bits[:, None] > 0)
        return words, cells, seen, written.reshape(-1)[draw.astype(jnp.int32) & 511].astype(jnp.int32) + count

    def program(key: jax.Array, state: Any) -> Any:
        def body(state: Any, key: jax.Array) -> Any:
            words, cells, written, checksum = state
            keys = jax.random.split(key, BOARDS)
            words, cells, written, read = jax.vmap(step)(words, cells, written, keys)
            return (words, cells, written, checksum + read), None

        return jax.lax.scan(body, state, jax.random.split(key, length))[0]

    words = jax.random.bits(jax.random.key(0), (BOARDS, 8))
    cells = jnp.zeros((BOARDS, 128), jnp.int8)
    state = (words, cells, jnp.zeros((BOARDS, 128, 4), jnp.bool_), jnp.zeros(BOARDS, jnp.int32))
    key = jax.random.key(1)
    compiled = jax.jit(program).lower(key, state).compile()

    def work() -> None:
        nonlocal key, state
        key, subkey = jax.random.split(key)
        state = jax.block_until_ready(compiled(subkey, state))

    work()
    return work


def failure(result: dict[str, Any]) -> str | None:
    lost = ", ".join(result["lost"])
    return f"lost more than {MAX_LOSS:.0%} of their recorded ratio: {lost}" if lost else None


COMMANDS = (Command("regression", Arguments, measure_regression, failure=failure),)

if __name__ == "__main__":
    harness.run(*COMMANDS)
