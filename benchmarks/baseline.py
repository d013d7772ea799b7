"""Whether a game has become slow: its random play, as a ratio to a reference loop in the same run.

    python -m benchmarks.baseline              compares with benchmarks/baseline.json; the exit status is 1 if a game
                                               has lost more than a quarter of its ratio, and the game is named
    python -m benchmarks.baseline --write      renews benchmarks/baseline.json: on a quiet machine, after a change that
                                               is meant to change speed

A ratio says the same on a fast machine and on a slow one as far as the reference is made of what games are made of:
words of bits, gathers of bytes, one random draw a step, and arrays that are written out. It knows nothing of jaxgames,
so no change there moves it. Both play 1,024 boards on one core and are clocked in CPU time, in turns, which leaves out
what else the machine does. A game that seems to have lost is measured again, and its best ratio counts.
"""

import datetime
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import tyro

import jaxgames
from benchmarks.contestant import rollout
from benchmarks.throughput import GAMES, Playing, keep, say, where

BOARDS = 1024
LOSS = 0.25  # of its ratio, that a game may lose
ATTEMPTS = 3
FILE = Path(__file__).with_name("baseline.json")


@dataclass(frozen=True)
class Arguments:
    games: tuple[str, ...] = GAMES
    """What to measure."""
    rounds: int = 15
    """Turns of a game and of the reference; the ratio is the median over them."""
    length: int = 64
    """Steps of each board in a turn."""
    write: bool = False
    """Renew the file instead of comparing with it."""
    file: Path = FILE
    """Where the ratios are kept."""
    output: Path | None = None
    """A file for the JSON of this run."""


def main() -> None:
    """The command `python -m benchmarks.baseline`."""
    arguments = tyro.cli(Arguments, prog="python -m benchmarks.baseline", description="Has a game become slow?")
    keep_to_one_core()
    try:
        result, lost = run(arguments)
    except (ValueError, OSError) as error:
        sys.exit(f"benchmarks.baseline: {error}")
    keep(result, arguments.output)
    if arguments.write:
        keep(result, arguments.file)
    print(json.dumps(result))
    if lost:
        sys.exit(f"benchmarks.baseline: lost more than {LOSS:.0%} of their recorded ratio: {', '.join(lost)}")


def keep_to_one_core() -> None:
    """Before JAX starts: it then has no threads to share work out to, whose waiting would count as work, and no device
    whose time is not the processor's."""
    jax.config.update("jax_platforms", "cpu")
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def run(arguments: Arguments) -> tuple[dict[str, Any], list[str]]:
    """The ratios of this run with where they were measured, and the games that have lost; none if they are written."""
    if min(arguments.rounds, arguments.length) < 1:
        raise ValueError("rounds and length must be positive")
    envs = {game: jaxgames.make(game) for game in arguments.games}
    stored = stored_ratios(arguments.file) if arguments.file.exists() or not arguments.write else {}
    dropped, missing = stored.keys() - envs.keys(), envs.keys() - stored.keys()
    if arguments.write and dropped:
        raise ValueError(f"{arguments.file} would lose {', '.join(dropped)}: write all games, or another --file")
    if not arguments.write and missing:
        raise ValueError(f"{arguments.file} has {', '.join(stored)}, not {', '.join(missing)}: renew it with --write")
    recorded = {} if arguments.write else stored
    reference, lost = reference_loop(arguments.length), list[str]()
    ratios: dict[str, float] = {}
    for game, env in envs.items():
        play = rollout(Playing(env), BOARDS, arguments.length)
        ratio = measure(play, reference, arguments.rounds)
        if not arguments.write:
            for _ in range(ATTEMPTS - 1):
                if not has_lost(ratio, recorded[game]):
                    break
                say(f"{game:>32}: {ratio:.3f} of the reference, {recorded[game]:.3f} recorded; once more")
                ratio = max(ratio, measure(play, reference, arguments.rounds))
            if has_lost(ratio, recorded[game]):
                lost.append(game)
        ratios[game] = round(ratio, 4)
        before = f", {ratio / recorded[game]:.2f} of the recorded ratio" if game in recorded else ""
        say(f"{game:>32}: {ratio:.3f} of the reference{before}{', LOST' if game in lost else ''}")
    speed = statistics.median(BOARDS * arguments.length / cpu_seconds(reference) for _ in range(arguments.rounds))
    date = datetime.date.today().isoformat()
    return {"ratios": ratios, "reference_steps_per_cpu_second": round(speed), "date": date, **where()}, lost


def stored_ratios(file: Path) -> dict[str, float]:
    """What the file says. Raises ValueError or OSError if it says nothing."""
    ratios = json.loads(file.read_text()).get("ratios")
    if not ratios:
        raise ValueError(f"{file} holds no ratios: name another --file, or remove it and --write it anew")
    return ratios


def has_lost(ratio: float, recorded: float) -> bool:
    return ratio < (1 - LOSS) * recorded


def measure(play: Callable[[], object], reference: Callable[[], object], rounds: int) -> float:
    """The game's speed over the reference's: median over rounds in which they take turns."""
    spent = [(cpu_seconds(reference), cpu_seconds(play)) for _ in range(rounds)]
    return statistics.median(theirs / own for theirs, own in spent)


def cpu_seconds(work: Callable[[], object]) -> float:
    begin = time.process_time()
    work()
    return time.process_time() - begin


def reference_loop(length: int) -> Callable[[], object]:
    """So many steps of 1,024 imaginary boards: 8 words of bits and 128 bytes each, 512 bytes written out a step.

    A step moves a byte to a drawn place, turns the board by a known permutation, shifts and counts bits, and reads the
    bytes that the last step wrote out at a drawn place.
    """
    turned = np.random.default_rng(0).permutation(128).astype(np.int32)
    near = np.random.default_rng(1).integers(0, 128, (128, 4)).astype(np.int32)

    def step(words: jax.Array, cells: jax.Array, written: jax.Array, key: jax.Array) -> Any:
        draw = jax.random.bits(key)
        for shift in (1, 3, 7, 11):
            words = words ^ ((words << shift) & ~(words >> (shift + 1))) + draw
        count = jax.lax.population_count(words).sum().astype(jnp.int32)
        place = (draw >> 7).astype(jnp.int32) & 127
        cells = cells.at[place].set((cells[(place + count) & 127] + 1) & 7)[turned]
        bits = (words[:, None] >> np.arange(16, dtype=np.uint32)).reshape(-1) & 1  # 128, a bit a cell
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


if __name__ == "__main__":
    main()
