"""One side of a comparison, in a process of its own: uniformly random legal play with restarts, on request.

    python -m benchmarks.contestant '{"kind": "open_spiel", "game": "checkers", "asking": "buffer"}'

Writes a line of JSON with what is to be known about it as soon as it is ready. Then it reads numbers of seconds from
stdin, one a line, plays on for that long and answers each with its steps per second. Boards are kept between requests,
so positions are those of whole games. The kinds:

    jax           `jaxgames` or `pgx`: the loop of benchmarks.throughput, at the best of several batch sizes, on one
                  device and on one a core; both draw their actions with `jaxgames.random_action`
    open_spiel    the loop that one writes in Python around one state, in one of the ways of ASKING
    star_loop     benchmarks/star_loop.cpp
"""

import json
import random
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

LEAST = 32  # steps of each board in a call: it begins with new memory, which must not count
ASKING = {
    "methods": "legal_actions_mask() and observation_tensor(), Python lists",
    "buffer": "mask and observation in numpy arrays, written by its Observer",
    "legal": "legal actions only: no mask, no observation",
}  # of OpenSpiel at every step, besides legal_actions() to choose from
Play = Callable[[float], float]  # plays for so many seconds, returns steps per second
Ready = tuple[Play, dict[str, Any]]  # and what is to be known


def main() -> None:
    """The command `python -m benchmarks.contestant`."""
    if len(sys.argv) != 2:
        sys.exit("benchmarks.contestant: expected one word of JSON, as in the docstring of benchmarks/contestant.py")
    words: dict[str, Any] = json.loads(sys.argv[1])
    kind = words.pop("kind")
    if kind not in KINDS:
        sys.exit(f"benchmarks.contestant: kind must be one of {', '.join(KINDS)}, not {kind!r}")
    play, facts = KINDS[kind](**words)
    print(json.dumps(facts), flush=True)
    for line in sys.stdin:
        print(json.dumps(play(float(line))), flush=True)


def clocked(work: Callable[[], int]) -> Play:
    """Repeats `work`, which returns the steps that it made, until the time is over."""

    def play(seconds: float) -> float:
        steps, begin = 0, time.perf_counter()
        while True:
            steps += work()
            spent = time.perf_counter() - begin
            if spent >= seconds:
                return steps / spent

    return play


# -- JAX --------------------------------------------------------------------------------------------------


def jax_loop(
    library: str, game: str, boards: list[int], devices: list[int], steps: int, tuning_seconds: float
) -> Ready:
    """The best pair of `boards` and `devices`; about `steps` over all boards in one call, at least LEAST of each."""
    import jax

    from benchmarks.throughput import provide

    jax.config.update("jax_enable_compilation_cache", False)  # the compile time is a figure
    provide(max(devices))
    jax.block_until_ready(jax.jit(lambda x: x + 1)(0))  # what JAX does once is nobody's compile time
    bare, playing = (jaxgames_env if library == "jaxgames" else pgx_env)(game)
    compile_seconds = compile_time(bare, 1024)
    tried: list[dict[str, Any]] = []
    best: tuple[float, Play, int, int] | None = None
    for number in devices:
        for batch in boards:
            play = clocked(rollout(playing, batch, max(LEAST, min(1000, steps // batch)), number))
            speed = max(play(tuning_seconds) for _ in range(3))
            tried.append({"boards": batch, "devices": number, "steps_per_second": round(speed)})
            if best is None or speed > best[0]:
                best = speed, play, batch, number
    assert best is not None
    return best[1], {"boards": best[2], "devices": best[3], "compile_seconds": compile_seconds, "tried": tried}


def jaxgames_env(game: str) -> tuple[Any, Any]:
    import jaxgames
    from benchmarks.throughput import Playing

    env = jaxgames.make(game)
    return env, Playing(env)


def pgx_env(game: str) -> tuple[Any, Any]:
    """A game of Pgx with the functions of ours, without restarts and with Pgx's own."""
    import pgx
    from pgx.experimental import auto_reset

    env: Any = pgx.make(game)  # pyright: ignore[reportArgumentType]  # a name from outside

    class Bare:
        init = staticmethod(env.init)
        step = staticmethod(env.step)

        @staticmethod
        def observe(state: Any) -> Any:
            return state.observation  # written by the step

        @staticmethod
        def legal_action_mask(state: Any) -> Any:
            return state.legal_action_mask

    class Playing(Bare):
        step = staticmethod(auto_reset(env.step, env.init))

    return Bare, Playing


def compile_time(env: Any, batch: int) -> float:
    """Seconds from nothing to a compiled batched step with mask and observation, without restarts."""
    import jax

    def step(boards: Any, action: jax.Array, keys: jax.Array) -> Any:
        boards = jax.vmap(env.step)(boards, action, keys)
        return boards, jax.vmap(env.legal_action_mask)(boards), jax.vmap(env.observe)(boards)

    keys = jax.random.split(jax.random.key(0), batch)
    boards = jax.eval_shape(jax.vmap(env.init), keys)
    action = jax.ShapeDtypeStruct((batch,), "int32")
    begin = time.perf_counter()
    jax.jit(step).lower(boards, action, keys).compile()
    return time.perf_counter() - begin


def rollout(playing: Any, batch: int, length: int, devices: int = 1) -> Callable[[], int]:
    """Random play of a batch over devices, `length` steps of a board a call, going on where the last call stopped."""
    import jax

    from benchmarks.throughput import COPIED, ROWS, at_random, over_devices, play_loop

    boards = jax.jit(jax.vmap(playing.init))(jax.random.split(jax.random.key(0), batch))
    loop = play_loop(playing, batch // devices, length, at_random)
    program, (boards, nothing) = over_devices(loop, (boards, None), (ROWS, COPIED), devices)
    key = jax.random.key(1)
    # said, because JAX would not divide a leaf without elements, and the boards come in again
    divided = jax.tree.leaves(boards)[0].sharding if devices > 1 else None
    compiled = jax.jit(program, out_shardings=divided).lower(key, boards, nothing).compile()

    def work() -> int:
        nonlocal key, boards
        key, subkey = jax.random.split(key)
        boards, *_ = jax.block_until_ready(compiled(subkey, boards, nothing))
        return batch * length

    work()
    return work


# -- OpenSpiel --------------------------------------------------------------------------------------------


def open_spiel(game: str, asking: str, tuning_seconds: float) -> Ready:
    """`buffer` is at the better of two ways to the mask: asked for as a list, or set in an array."""
    import pyspiel

    loaded: Any = pyspiel.load_game(game)
    if asking != "buffer":
        return clocked(open_spiel_loop(loaded, asking == "methods", asking == "methods", False, False)), {}
    ways = {
        "list": clocked(open_spiel_loop(loaded, True, False, False, True)),
        "array": clocked(open_spiel_loop(loaded, False, False, True, True)),
    }
    speeds = {name: max(play(tuning_seconds) for _ in range(3)) for name, play in ways.items()}
    best = max(speeds, key=lambda name: speeds[name])
    return ways[best], {"mask": best}


def open_spiel_loop(game: Any, mask_list: bool, tensor_list: bool, mask_array: bool, buffer: bool) -> Callable[[], int]:
    """A thousand steps of one state with what is asked for at each."""
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


def star_loop(binary: str, size: int) -> Ready:
    process = subprocess.Popen([binary, str(size)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def play(seconds: float) -> float:
        assert process.stdin is not None
        assert process.stdout is not None
        print(seconds, "seconds", file=process.stdin, flush=True)
        speed, _ = process.stdout.readline().split()
        return float(speed)

    return play, {}


KINDS: dict[str, Callable[..., Ready]] = {"jax": jax_loop, "open_spiel": open_spiel, "star_loop": star_loop}


if __name__ == "__main__":
    main()
