"""Whole runs of imitation: progress, killed and resumed, on four devices, in a sweep, and as agents."""

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

from tests.helpers.commands import last_json, run_command
from tests.helpers.labelled import saved, solved_positions
from tests.helpers.solved import solved_boxes
from tests.helpers.stored_runs import (
    ROOT,
    check_killed_run_continues,
    environment,
    metrics_of,
    train_in,
)
from train import evaluate, plot
from train.driver.loop import Settings
from train.imitation import Imitation
from train.imitation.config import Config
from train.ops.sharding import keys_to_data
from train.sweep import Sweep, run_sweep

OTHER = {  # another value of every traced setting
    "learning_rate": 0.003,
    "weight_decay": 0.5,
    "l2_coef": 0.1,
    "value_coef": 2.0,
    "legal_coef": 1.0,
    "label_smoothing": 0.3,
    "max_grad_norm": 0.01,
}
WATCHED = Settings(checkpoint_every=3, evaluate_every=5, evaluation_games=8)


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Config:
    """Sixty iterations of five minibatches, on 111 positions with a value and best actions."""
    table = solved_positions(solved_boxes(1, 2))
    return Config(
        env=str(table.env),
        data=saved(table, tmp_path_factory.mktemp("data") / "table.npz"),
        total_steps=60 * 5 * 16,
        num_minibatches=5,
        batch_size=16,
        hidden_sizes=(8,),
        sharing="shared_encoder",
    )


def test_run_writes_a_line_per_iteration_and_plays_afterwards(
    config: Config, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    config = dataclasses.replace(config, total_steps=2 * 5 * 16)
    result = train_in(folder, Imitation(config), Settings(evaluate_every=0))
    assert result["finished"]
    assert "win_rate" not in result
    lines = [line for line in capsys.readouterr().err.splitlines() if "top_1/validation" in line]
    assert len(lines) == 2
    assert "win rate" not in lines[0]
    assert "s left" in lines[0]
    rows = metrics_of(folder)
    assert f"top_1/validation {rows[0]['top_1/validation']:.4f}" in lines[0]
    assert run_command(evaluate.main, folder, "--games", 4, "--temperature", 0) is None
    assert last_json(capsys)["games"] == 4
    assert run_command(plot.main, folder, "--columns", "top_1/train", "top_1/validation") is None
    assert (folder / "learning_curve.png").exists()


@pytest.mark.slow
def test_killed_run_continues_to_the_bits_of_one_that_was_not(config: Config, tmp_path: Path) -> None:
    check_killed_run_continues(Imitation(config), WATCHED, tmp_path)


@pytest.mark.slow
def test_run_on_four_devices_equals_the_run_on_one(config: Config, tmp_path: Path) -> None:
    """Each device has all positions, and computes a quarter of each minibatch: positions are not sent."""
    iterations = 3
    arguments = ["imitation", json.dumps(dataclasses.asdict(config)), str(tmp_path), str(iterations)]
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=4"
    program = [sys.executable, str(ROOT / "tests/helpers/run_on_four_devices.py"), *arguments]
    done = subprocess.run(
        program, env=environment(XLA_FLAGS=flags), capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "found.json").read_text())
    learner = Imitation(config)
    data, train_state = jax.device_put(learner.load_data()), jax.jit(learner.init)(jax.random.key(config.seed))
    assert {name for name, _ in found["collectives"]} == {"all-reduce"}
    num_params = sum(leaf.size for leaf in jax.tree.leaves(train_state.params))
    assert max(size for _, size in found["collectives"]) < num_params + 16  # gradients, and sums of the loss

    iterate = jax.jit(learner.iterate)
    metrics_of_four = dict(np.load(tmp_path / "metrics.npz"))
    for iteration in range(iterations):
        train_state, metrics = iterate(train_state, data)
        for name, number in metrics.items():
            np.testing.assert_allclose(
                metrics_of_four[name][iteration], number, rtol=1e-3, atol=1e-5, err_msg=name, equal_nan=True
            )
    last = np.load(tmp_path / "last.npz").values()
    for a, b in zip(jax.tree.leaves(jax.device_get(keys_to_data(train_state))), last, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)  # sums are taken in another order


@pytest.mark.slow
def test_cell_of_a_sweep_is_its_single_run_and_traced_settings_have_an_effect(config: Config, tmp_path: Path) -> None:
    """One program has cells with other values of one traced setting each, and a cell with all of them."""
    config = dataclasses.replace(config, total_steps=4 * config.steps_per_iteration)
    changed = {"none": {}, "all": OTHER, **{name: {name: value} for name, value in OTHER.items()}}
    cells = {f"changed={name}/seed=0": Imitation(dataclasses.replace(config, **each)) for name, each in changed.items()}
    sweep = Sweep("imitation", {}, 0, 1, cells)
    assert {*OTHER} == {*Imitation.traced_settings}
    assert len(sweep.groups()) == 1
    run_sweep(sweep, dataclasses.replace(WATCHED, run_dir=tmp_path / "sweep"))
    train_in(tmp_path / "single", Imitation(dataclasses.replace(config, **OTHER)), WATCHED)
    rows = {name: metrics_of(tmp_path / "sweep" / f"changed={name}" / "seed=0") for name in changed}
    for row, of_single in zip(rows["all"], metrics_of(tmp_path / "single"), strict=True):
        assert row.keys() == of_single.keys()
        for name, number in of_single.items():
            assert row[name] == (None if number is None else pytest.approx(number, rel=1e-4, abs=1e-5)), name
    assert len({json.dumps(each) for each in rows.values()}) == len(changed)
