"""benchmarks.throughput: devices, the line of best fit, pictures."""

import os
import subprocess
import sys
from pathlib import Path

import jax
import pytest

import jaxgames
from benchmarks.harness import cores, save_picture
from benchmarks.throughput import draw_by_batch, draw_by_cells, fit, recorded_actions, star_cells

BOXES = "dots_and_boxes(rows=1, cols=1)"


def test_recorded_actions_are_legal_when_replayed() -> None:
    env = jaxgames.auto_reset(jaxgames.make(BOXES))
    actions = recorded_actions(jaxgames.make(BOXES), 2, 30)
    step, mask = jax.jit(jax.vmap(env.step)), jax.jit(jax.vmap(env.legal_action_mask))
    boards = jax.vmap(env.init)(jax.random.split(jax.random.key(5), 2))
    for action in actions:
        assert mask(boards)[[0, 1], action].all()
        boards = step(boards, action)


@pytest.mark.slow  # two starts of JAX
@pytest.mark.skipif(cores() < 2, reason="needs two cores")
def test_boards_are_divided_between_devices(tmp_path: Path) -> None:
    """In a new process, because virtual devices must be requested before JAX starts."""
    sizes = ["--devices", "2", "--batch-sizes", "2", "--steps", "16", "--repeats", "1"]
    env = ["--env", BOXES, "--columns", "step", "random play"]

    def run(*more: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "benchmarks.throughput", *env, *sizes, *more]
        environment = os.environ | {"JAX_PLATFORMS": "cpu"}
        return subprocess.run(command, cwd=Path(__file__).parents[2], env=environment, capture_output=True, text=True)

    file = tmp_path / "result.json"
    done = run("--output", str(file))
    assert done.returncode == 0, done.stderr
    assert '"devices_used": 2' in file.read_text()
    assert "batch sizes must be multiples of devices = 2, not 3" in run("--batch-sizes", "3").stderr


def test_pictures_of_the_same_data_are_the_same_bytes(tmp_path: Path) -> None:
    rows = [{"boards": 1, "size": n, "cells": star_cells(n), "microseconds": n / 10} for n in (2, 3)]
    batches = [{"game": "checkers", "boards": n, "steps_per_second": 1e6} for n in (1, 4)]
    for name in ("first", "second"):
        save_picture(draw_by_cells(rows, [fit(1, rows)]), tmp_path / f"{name}_cells.svg")
        save_picture(draw_by_batch(batches), tmp_path / f"{name}_batch.svg")
    for kind in ("cells", "batch"):
        assert (tmp_path / f"first_{kind}.svg").read_bytes() == (tmp_path / f"second_{kind}.svg").read_bytes()


def test_fit_of_points_on_a_line_is_that_line() -> None:
    line = fit(64, [{"cells": cells, "microseconds": 0.5 + 0.01 * cells} for cells in (37, 73, 121)])
    assert line == pytest.approx({"boards": 64, "microseconds_per_cell": 0.01, "microseconds_at_zero": 0.5})


def test_star_has_as_many_cells_as_the_game() -> None:
    for size in (1, 4, 8):
        assert 6 * star_cells(size) + 1 == jaxgames.make("chinese_checkers", size=size).num_actions
