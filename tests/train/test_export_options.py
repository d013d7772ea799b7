"""Options of train.export: parameters in fewer bits, and another board than that of the run."""

from pathlib import Path

import jax
import numpy as np
import pytest

import jaxgames
from jaxgames import agents
from jaxgames.policies import file as exported
from tests.helpers.commands import error_of, last_json, run_command
from tests.helpers.stored_runs import store
from tests.train.conftest import Runs
from train import export
from train.alphazero import AlphaZero, Config
from train.pretrained import stored_parts

ONE_BOX, TWO_BOXES = "dots_and_boxes(rows=1, cols=1)", "dots_and_boxes(rows=1, cols=2)"


@pytest.mark.slow
def test_fewer_bits_make_a_smaller_file_and_hardly_change_the_policy(
    untrained: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes: list[int] = []
    for bits, difference in ((32, 1e-6), (16, 1e-3), (8, 1e-2)):
        run_command(export.main, untrained.first, "--output", tmp_path / "file", "--platforms", "cpu", "--bits", bits)
        result = last_json(capsys)
        sizes.append(sum(leaf.nbytes for leaf in exported.read(tmp_path / "file")[1].params))
        assert result["probability_difference"] <= difference
    assert sizes[0] == 2 * sizes[1]
    assert sizes[1] > sizes[2]


def test_parameter_that_is_too_large_for_half_precision_is_refused() -> None:
    number, halved = stored_parts({"n": np.int32(9), "w": np.full(2, 6e4, np.float32)}, 16)
    assert (number[0].dtype, halved[0].dtype) == (np.int32, np.float16)
    for value in (1e5, np.nan):
        with pytest.raises(ValueError, match="too large for half precision: export the run with --bits 32"):
            stored_parts({"w": np.full(2, value, np.float32)}, 16)


def test_eight_bits_are_within_half_a_step_of_every_weight() -> None:
    rng = np.random.default_rng(0)
    matrix = (rng.normal(size=(50, 7)) * [1e-9, 1e-5, 1e-3, 0.1, 1, 1e4, 0]).astype(np.float32)
    (whole, scales), (vector,) = stored_parts([matrix, matrix[0]], 8)
    assert (whole.dtype, scales.dtype, vector.dtype) == (np.int8, np.float32, np.float16)
    assert scales.shape == (1, 7)
    steps = np.abs(matrix).max(0) / 127
    assert (np.abs(whole * scales - matrix) <= 0.501 * steps).all()


@pytest.mark.slow
def test_network_for_every_board_is_exported_for_another_one(untrained: Runs, tmp_path: Path) -> None:
    config = Config(env=ONE_BOX, network="graph(width=4, rounds=1)", num_envs=2, rollout_length=4, simulations=1)
    store(tmp_path / "run", AlphaZero(config))
    arguments = ("--env", TWO_BOXES, "--output", tmp_path / "file", "--platforms", "cpu", "--boards", 8)
    assert run_command(export.main, tmp_path / "run", *arguments) is None
    env = jaxgames.make(TWO_BOXES)
    states = jax.vmap(env.init)(jax.random.split(jax.random.key(0), 3))
    actions = jax.jit(agents.make(f"exported({tmp_path / 'file'})", env).act)(jax.random.key(0), states)
    assert ((actions >= 0) & (actions < env.num_actions)).all()
    assert "only a run with a network for any board" in error_of(export.main, untrained.first, *arguments)
