"""Steps per second of one game by batch size.

    python -m benchmarks.throughput --env "chinese_checkers(size=2, num_players=6)"

The columns, each with restarts of finished boards, a step being one submove of one board:

    step           `env.step` alone, on recorded actions of random legal play
    no restart     the same without `auto_reset`, to see what restarting costs
    random play    step, legal mask, observation written out, and a uniformly random legal action
    policy         random play's work, with the action drawn from the policy network
    ppo            whole iterations of train.ppo: collect, advantages, update

Every step has random keys of its own; what a step computes is read by the next one, so that nothing is optimised
away; each figure is the median of repeats of one compiled program after a warm-up, with the spread beside it.
"""

import dataclasses
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import tyro

import jaxgames
from jaxgames.wrappers import AutoResetState
from train.policy import Params
from train.ppo import Learner, distribution, sample
from train.recipes import recipe

COLUMNS = ("step", "no restart", "random play", "policy", "ppo")


@dataclass(frozen=True)
class Arguments:
    env: str = "chinese_checkers(size=2, num_players=6)"
    """The game, with its parameters."""
    batch_sizes: tuple[int, ...] = (1, 64, 1024, 16384)
    """Boards played at once, a line of the table each."""
    columns: tuple[str, ...] = COLUMNS
    """Which columns to measure."""
    steps: int = 200_000
    """Steps over all boards that one timed call makes, about."""
    repeats: int = 5
    output: Path | None = None
    """A file for the JSON, which is printed in any case."""


class Figure(NamedTuple):
    """One cell of the table."""

    steps_per_second: float  # median of the repeats
    spread: float  # (fastest - slowest) / median
    compile_seconds: float


def main() -> None:
    """The command `python -m benchmarks.throughput`."""
    arguments = tyro.cli(Arguments, prog="python -m benchmarks.throughput", description="Measure steps per second.")
    try:
        result = measure(arguments)
    except ValueError as error:
        sys.exit(f"benchmarks.throughput: {error}")
    if arguments.output is not None:
        arguments.output.write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result))


def measure(arguments: Arguments) -> dict[str, Any]:
    """Prints the table as it grows and returns all figures."""
    env = jaxgames.make(arguments.env)
    if min(*arguments.batch_sizes, arguments.repeats, arguments.steps) < 1:
        raise ValueError("batch sizes, repeats and steps must be positive")
    unknown = set(arguments.columns) - set(COLUMNS)
    if unknown:
        raise ValueError(f"columns must be among {', '.join(COLUMNS)}, not {', '.join(unknown)}")
    say(f"{env}: {env.state_bytes} bytes a board; median steps per second (spread), compile time")
    say("   boards " + "".join(f"{column:>32}" for column in arguments.columns))
    rows: list[dict[str, Any]] = []
    for batch in arguments.batch_sizes:
        length = max(8, min(1000, arguments.steps // batch))
        print(f"{batch:>9,} ", end="", file=sys.stderr, flush=True)
        row: dict[str, Any] = {"boards": batch}
        for column in arguments.columns:
            figure = MEASURES[column](env, batch, length, arguments.repeats)
            row[column] = figure._asdict()
            cell = f"{figure.steps_per_second:,.0f} ({figure.spread:.0%}) {figure.compile_seconds:.1f} s"
            print(f"{cell:>32}", end="", file=sys.stderr, flush=True)
        say("")
        rows.append(row)
    return {"env": str(env), "bytes_per_board": env.state_bytes, "rows": rows, **where()}


def timed(program: Callable[..., Any], arguments: tuple[Any, ...], steps: int, repeats: int) -> Figure:
    """Compiles `program(key, *arguments)`, warms it up and times it with a new key a repeat."""
    keys = jax.random.split(jax.random.key(1), repeats + 1)
    begin = time.perf_counter()
    compiled = jax.jit(program).lower(keys[0], *arguments).compile()
    compile_seconds = time.perf_counter() - begin
    jax.block_until_ready(compiled(keys[0], *arguments))
    speeds: list[float] = []
    for key in keys[1:]:
        begin = time.perf_counter()
        jax.block_until_ready(compiled(key, *arguments))
        speeds.append(steps / (time.perf_counter() - begin))
    median = float(np.median(speeds))
    return Figure(median, (max(speeds) - min(speeds)) / median, compile_seconds)


def step_alone(env: jaxgames.Env[Any], batch: int, length: int, repeats: int, *, restart: bool = True) -> Figure:
    """`step`, or `no restart`."""
    actions = recorded_actions(env, batch, length)
    playing = jaxgames.auto_reset(env) if restart else env

    def replay(key: jax.Array, actions: jax.Array) -> Any:
        def body(carry: tuple[Any, jax.Array], step: tuple[jax.Array, jax.Array]) -> Any:
            boards, paid = carry
            boards = jax.vmap(playing.step)(boards, step[1], jax.random.split(step[0], batch))
            return (boards, paid + boards.rewards.sum()), None

        begin = (jax.vmap(playing.init)(jax.random.split(key, batch)), jnp.float32(0))
        return jax.lax.scan(body, begin, (jax.random.split(key, length), actions))[0]

    return timed(replay, (actions,), batch * length, repeats)


def recorded_actions(env: jaxgames.Env[Any], batch: int, length: int) -> jax.Array:
    """int32[length, batch], random legal play with restarts, from the start; games without chance replay it legally."""
    playing = jaxgames.auto_reset(env)

    @jax.jit
    def record(key: jax.Array) -> jax.Array:
        def body(boards: Any, key: jax.Array) -> Any:
            action_key, step_key = jax.random.split(key)
            mask = jax.vmap(playing.legal_action_mask)(boards)
            action = jax.vmap(jaxgames.random_action)(jax.random.split(action_key, batch), mask)
            return jax.vmap(playing.step)(boards, action, jax.random.split(step_key, batch)), action

        init_key, key = jax.random.split(key)
        boards = jax.vmap(playing.init)(jax.random.split(init_key, batch))
        return jax.lax.scan(body, boards, jax.random.split(key, length))[1]

    return record(jax.random.key(0))


def random_play(env: jaxgames.Env[Any], batch: int, length: int, repeats: int) -> Figure:
    """`random play`."""

    def choose(params: None, key: jax.Array, observation: jax.Array, mask: jax.Array, seat: jax.Array) -> jax.Array:
        return jax.vmap(jaxgames.random_action)(jax.random.split(key, batch), mask)

    return _play(env, batch, length, repeats, choose, None)


def policy_play(env: jaxgames.Env[Any], batch: int, length: int, repeats: int) -> Figure:
    """`policy`, with the network of the game's recipe."""
    policy = Learner(recipe(str(env))).policy
    params = policy.init(jax.random.key(0))

    def choose(params: Params, key: jax.Array, observation: jax.Array, mask: jax.Array, seat: jax.Array) -> Any:
        logits, _ = policy.apply(params, observation, seat)
        return sample(key, distribution(logits, mask))

    return _play(env, batch, length, repeats, choose, params)


def _play(
    env: jaxgames.Env[Any], batch: int, length: int, repeats: int, choose: Callable[..., jax.Array], params: Params
) -> Figure:
    playing = jaxgames.auto_reset(env)

    def program(key: jax.Array, boards: AutoResetState[Any], params: Params) -> Any:
        def body(carry: Any, key: jax.Array) -> Any:
            boards, observation, checksum = carry
            action_key, step_key = jax.random.split(key)
            mask = jax.vmap(playing.legal_action_mask)(boards)
            action = choose(params, action_key, observation, mask, boards.current_player)
            checksum += observation.sum(dtype=jnp.float32) + boards.rewards.sum()
            boards = jax.vmap(playing.step)(boards, action, jax.random.split(step_key, batch))
            return (boards, jax.vmap(playing.observe)(boards), checksum), None

        begin = (boards, jax.vmap(playing.observe)(boards), jnp.float32(0))
        return jax.lax.scan(body, begin, jax.random.split(key, length))[0]

    boards = jax.jit(jax.vmap(playing.init))(jax.random.split(jax.random.key(0), batch))
    return timed(program, (boards, params), batch * length, repeats)


def ppo(env: jaxgames.Env[Any], batch: int, length: int, repeats: int) -> Figure:
    """`ppo`, with the game's recipe but for the number of boards and the length of a rollout."""
    config = recipe(str(env))
    length = max(8, config.steps_per_iteration // batch)
    learner = Learner(dataclasses.replace(config, num_boards=batch, rollout_length=length))
    runner = jax.jit(learner.init)(jax.random.key(0))
    return timed(lambda key, runner: learner.iterate(runner._replace(key=key)), (runner,), batch * length, repeats)


MEASURES: dict[str, Callable[[jaxgames.Env[Any], int, int, int], Figure]] = {
    "step": step_alone,
    "no restart": lambda env, batch, length, repeats: step_alone(env, batch, length, repeats, restart=False),
    "random play": random_play,
    "policy": policy_play,
    "ppo": ppo,
}


def where() -> dict[str, Any]:
    """The versions and the hardware that the figures belong to."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        processor = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        processor = platform.processor()
    return {
        "jaxgames": jaxgames.__version__,
        "jax": jax.__version__,
        "python": platform.python_version(),
        "devices": [device.device_kind for device in jax.devices()],
        "processor": processor,
        "cores": os.cpu_count(),
    }


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
