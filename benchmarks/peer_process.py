"""One side of a comparison, in its own process: uniformly random legal play with restarts, on request.

    python -m benchmarks.peer_process '{"kind": "open_spiel", "game": "checkers", "configuration": "buffer"}'

When it is ready, it prints one line of JSON with facts about itself. Each line of standard input is a number of
seconds: it plays for that long and answers with its steps per second. The next line continues the same games.

The kinds of side:

    jax           `jaxgames` or `pgx`: the loop of benchmarks/loops.py, at the fastest of several batch sizes, on
                  one device and on one device per core; actions of both are drawn by `jaxgames.random_action`
    open_spiel    the loop that users write in Python around one state, in one of OPEN_SPIEL_CONFIGURATIONS
    star_loop     benchmarks/star_loop.cpp
    adapter       a loop of benchmarks/adapters.py
"""

import functools
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

OPEN_SPIEL_CONFIGURATIONS = {
    "methods": "legal_actions_mask() and observation_tensor(), Python lists",
    "buffer": "mask and observation in numpy arrays, written by its Observer",
    "legal": "legal actions only: no mask, no observation",
}  # calls at every step, besides legal_actions() to choose from
TUNING_ROUNDS = 3  # rounds of each candidate, of which the best counts
Play = Callable[[float], float]  # plays for a number of seconds, returns steps per second


class Player(NamedTuple):
    """A side that is ready to play."""

    play: Play
    facts: dict[str, Any]  # for the result: what was compiled, tried and chosen


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("benchmarks.peer_process: expected one JSON object, as in the docstring of benchmarks/peer_process.py")
    arguments: dict[str, Any] = json.loads(sys.argv[1])
    kind = arguments.pop("kind")
    if kind not in KINDS:
        sys.exit(f"benchmarks.peer_process: kind must be one of {', '.join(KINDS)}, not {kind!r}")
    try:
        player = KINDS[kind](**arguments)
    except (ImportError, ValueError) as error:
        print(json.dumps({"error": str(error)}), flush=True)
        return
    print(json.dumps(player.facts), flush=True)
    for line in sys.stdin:
        print(json.dumps(player.play(float(line))), flush=True)


def take_turn(work: Callable[[], int], seconds: float) -> float:
    """Repeats `work`, which returns the steps that it made, until the time is over; at least once. Steps per second."""
    steps, start = 0, time.perf_counter()
    while True:
        steps += work()
        spent = time.perf_counter() - start
        if spent >= seconds:
            return steps / spent


def play_repeatedly(work: Callable[[], int]) -> Play:
    return functools.partial(take_turn, work)


def tuned(play: Play, seconds: float) -> float:
    """The speed by which candidates are compared, in steps per second: the best of a few short rounds."""
    return max(play(seconds) for _ in range(TUNING_ROUNDS))


# -- JAX --------------------------------------------------------------------------------------------------


def jax_side(
    library: str,
    game: str,
    boards: list[int],
    devices: list[int],
    steps: int,
    tuning_seconds: float,
) -> Player:
    """A loop in JAX with the fastest pair of `boards` and `devices`, and about `steps` over all boards in one call."""
    import jax

    import jaxgames
    from benchmarks import loops
    from benchmarks.harness import provide_devices

    jax.config.update("jax_enable_compilation_cache", False)  # compile time is one of the facts
    provide_devices(max(devices))
    jax.block_until_ready(jax.jit(lambda x: x + 1)(0))  # warm up JAX itself: its start-up is not compile time
    if library == "jaxgames":
        bare: Any = jaxgames.make(game)
        playing: Any = jaxgames.auto_reset(bare)
    else:
        bare, playing = loops.pgx_env(game)
    compile_seconds = compile_time(bare, 1024)
    tried: list[dict[str, Any]] = []
    plays: list[Play] = []
    for number in devices:
        for batch in boards:
            length = loops.steps_per_call(steps, batch)
            play = play_repeatedly(loops.rollout(playing, batch, length, number))
            plays.append(play)
            tried.append({"boards": batch, "devices": number, "steps_per_second": round(tuned(play, tuning_seconds))})
    best = max(range(len(tried)), key=lambda index: tried[index]["steps_per_second"])
    chosen = {name: tried[best][name] for name in ("boards", "devices")}
    return Player(plays[best], {**chosen, "compile_seconds": compile_seconds, "tried": tried})


def compile_time(env: Any, batch: int) -> float:
    """Seconds to trace and compile a batched step with mask and observation, without restarts."""
    import jax

    def step(boards: Any, action: jax.Array, keys: jax.Array) -> Any:
        boards = jax.vmap(env.step)(boards, action, keys)
        return boards, jax.vmap(env.legal_action_mask)(boards), jax.vmap(env.observe)(boards)

    keys = jax.random.split(jax.random.key(0), batch)
    boards = jax.eval_shape(jax.vmap(env.init), keys)
    action = jax.ShapeDtypeStruct((batch,), "int32")
    start = time.perf_counter()
    jax.jit(step).lower(boards, action, keys).compile()
    return time.perf_counter() - start


# -- OpenSpiel --------------------------------------------------------------------------------------------


def open_spiel_side(game: str, configuration: str, tuning_seconds: float) -> Player:
    """A loop of OpenSpiel; `buffer` takes the faster of two ways to the mask: OpenSpiel's list, or a numpy array."""
    import pyspiel

    loaded: Any = pyspiel.load_game(game)
    if configuration != "buffer":
        lists = configuration == "methods"
        return Player(play_repeatedly(open_spiel_loop(loaded, lists, lists, False, False)), {})
    ways = {
        "list": play_repeatedly(open_spiel_loop(loaded, True, False, False, True)),
        "array": play_repeatedly(open_spiel_loop(loaded, False, False, True, True)),
    }
    speeds = {name: tuned(play, tuning_seconds) for name, play in ways.items()}
    best = max(speeds, key=lambda name: speeds[name])
    return Player(ways[best], {"mask": best})


def open_spiel_loop(game: Any, mask_list: bool, tensor_list: bool, mask_array: bool, buffer: bool) -> Callable[[], int]:
    """Returns a function that makes a thousand steps of one state, with the chosen outputs at every step."""
    import numpy as np
    from open_spiel.python.observation import make_observation

    observer: Any = make_observation(game) if buffer else None
    num_actions, draw, steps = game.num_distinct_actions(), random.Random(0).random, 1000
    state = game.new_initial_state()

    def work() -> int:
        nonlocal state
        for _ in range(steps):
            legal = state.legal_actions()
            if mask_list:
                state.legal_actions_mask()
            if mask_array:
                mask = np.zeros(num_actions, np.bool_)
                mask[legal] = True
            if tensor_list:
                state.observation_tensor()
            if buffer:
                observer.set_from(state, state.current_player())
            state.apply_action(legal[int(draw() * len(legal))])
            if state.is_terminal():
                state = game.new_initial_state()
        return steps

    return work


# -- C++ --------------------------------------------------------------------------------------------------


def star_loop_side(size: int) -> Player:
    """The compiled benchmarks/star_loop.cpp on a star of that size."""
    binary = compiled_star_loop(Path(tempfile.mkdtemp()))
    process = subprocess.Popen([binary, str(size)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def play(seconds: float) -> float:
        assert process.stdin is not None
        assert process.stdout is not None
        print(seconds, "seconds", file=process.stdin, flush=True)
        speed, _ = process.stdout.readline().split()
        return float(speed)

    return Player(play, {})


def compiled_star_loop(folder: Path) -> Path:
    """The C++ loop, compiled for this machine. Raises ValueError where the compiler fails."""
    binary, source = folder / "star_loop", Path(__file__).with_name("star_loop.cpp")
    done = subprocess.run(["g++", "-O3", "-march=native", "-o", binary, source])
    if done.returncode != 0:
        raise ValueError(f"g++ stopped with exit status {done.returncode}; its message is above")
    return binary


# -- adapters ---------------------------------------------------------------------------------------------


def adapter_side(name: str, game: str, boards: int, is_async: bool, folder: str) -> Player:
    """A loop of `adapters.make_play`; with `is_async`, programs for a CPU run in another thread."""
    import jax

    import jaxgames
    from benchmarks import adapters

    jax.config.update("jax_cpu_enable_async_dispatch", is_async)  # has an effect before JAX starts
    play = adapters.make_play(name, jaxgames.make(game), boards, folder)
    play()  # compiles
    return Player(play_repeatedly(play), {})


KINDS: dict[str, Callable[..., Player]] = {
    "jax": jax_side,
    "open_spiel": open_spiel_side,
    "star_loop": star_loop_side,
    "adapter": adapter_side,
}


if __name__ == "__main__":
    main()
