"""Every command is tested twice: with programs that are only traced, and, in `make test-all`, with timed programs."""

from collections.abc import Callable
from typing import Any

import jax
import pytest

from benchmarks import harness, random_play
from benchmarks.harness import Timing

TRACED = Timing(steps_per_second=1000.0, spread=0.0, compile_seconds=1.0, memory_bytes=1 << 20)


@pytest.fixture(params=["traced", pytest.param("timed", marks=pytest.mark.slow)])
def programs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """ "traced": programs are traced with the shapes of their arguments, but neither compiled nor run."""
    if request.param == "traced":
        monkeypatch.setattr(harness, "time_program", trace_program)
        monkeypatch.setattr(random_play, "rollout", trace_rollout)
    return request.param


def trace_program(program: Callable[..., Any], arguments: tuple[Any, ...], steps: int, repeats: int) -> Timing:
    assert min(steps, repeats) > 0
    jax.eval_shape(program, jax.random.key(0), *arguments)
    return TRACED


def trace_rollout(playing: Any, batch: int, length: int, devices: int = 1) -> Callable[[], int]:
    keys = jax.random.split(jax.random.key(0), batch)
    program = random_play.play_loop(playing, batch, length, random_play.at_random)
    jax.eval_shape(program, keys[0], jax.eval_shape(jax.vmap(playing.init), keys), None)

    def play() -> int:
        sum(range(1000))  # takes a measurable time
        return batch * length

    return play
