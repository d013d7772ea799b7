"""Whole runs of every learner: killed and resumed, on four devices, in other modes of JAX, as cells of a sweep."""

import dataclasses
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from tests.helpers.registrations import temporary_registrations
from tests.helpers.run_on_four_devices import first_train_state
from tests.helpers.solved import saved, solved_boxes, solved_positions
from tests.helpers.stored_runs import (
    ROOT,
    arguments_of,
    end,
    environment,
    equal_checkpoints,
    metrics_of,
    start,
    store,
    train_in,
    wait_until_training,
)
from train import agents, alphazero, imitation, klent, ppo
from train.driver.learner import Learner, names_of_numbers
from train.driver.loop import Settings
from train.ops.sharding import keys_to_data
from train.sweep import Sweep, run_sweep
from train.sweep.batched_runs import BatchedRuns

BOXES = "dots_and_boxes(rows=1, cols=2)"
WATCHED = Settings(checkpoint_every=3, evaluate_every=5, evaluation_games=8)
OF_PPO: dict[str, Any] = {
    "env": BOXES,
    "total_steps": 80 * 32,
    "num_envs": 4,
    "rollout_length": 8,
    "update_epochs": 1,
    "num_minibatches": 2,
    "learning_rate": 0.01,
    "channels": (4,),  # on a command line, the game's recipe has others
    "hidden_sizes": (8,),
}
PPO, KLENT = ppo.Config(**OF_PPO), klent.Config(**OF_PPO, opponents=("random",))
ALPHAZERO = alphazero.Config(
    env=BOXES,
    total_steps=60 * 8 * 8,
    num_envs=8,
    rollout_length=8,
    simulations=4,
    random_starts=0.5,
    replay_size=3 * 64,
    num_updates=2,
    minibatch_size=32,
    network="conv",
    channels=(4,),
    hidden_sizes=(8,),
    activation="relu",
    ema=0.9,
)
SEVERAL_BOARDS = dataclasses.replace(
    ALPHAZERO,
    other_envs=("dots_and_boxes(rows=2, cols=2)",),
    total_steps=60 * 2 * 64,
    network="tests.helpers.networks:patch(width=8)",
    channels=(),
    hidden_sizes=(),
    activation=None,
)
STAR = ppo.Config(
    env="chinese_checkers(size=1, num_players=2, max_rounds=5)",
    total_steps=4 * 16 * 64,
    num_envs=16,
    rollout_length=64,  # rows enough for tiles of one seat on each device
    update_epochs=2,
    num_minibatches=2,
    hidden_sizes=(8,),
    anneal_lr=False,
    seed=3,
)
OTHER_VALUES: dict[str, float] = {  # of every setting that can be traced
    "learning_rate": 0.003,
    "final_learning_rate": 0.002,
    "gamma": 0.5,
    "gae_lambda": 0.3,
    "td_lambda": 0.5,
    "clip_coef": 0.001,
    "vf_coef": 2.0,
    "ent_coef": 0.5,
    "value_coef": 2.0,
    "legal_coef": 1.0,
    "l2_coef": 0.1,
    "weight_decay": 0.5,
    "max_grad_norm": 0.01,
    "vf_clip": 0.01,
    "kl_coef": 1.0,
    "final_kl_coef": 1.0,
    "step_kl_coef": 5.0,
    "target_kl": 1e-9,
    "opponent_epsilon": 0.5,
    "entropy_weight": 0.5,
    "kl_weight": 0.5,
}


def ppo_with_all_parts(folder: Path) -> Learner:
    """PPO from another run, near its policy, against that run, a random agent and its own past."""
    other = str(store(folder / "other", ppo.PPO(PPO)))
    of_other: dict[str, Any] = {"init_from": other, "kl_coef": 0.1, "final_kl_coef": 0.01}
    of_other |= {"step_kl_coef": 0.2, "vf_clip": 1.0}
    opponents = (other, "random", "self@every=2(size=2)")
    changes = of_other | {"opponents": opponents, "opponent_epsilon": 0.25, "critic_warmup": 2}
    return ppo.PPO(dataclasses.replace(PPO, **changes))


def of_labels(folder: Path) -> Learner:
    """Imitation of 111 positions with a value and best actions: sixty iterations of five minibatches."""
    table = solved_positions(solved_boxes(1, 2))
    sizes: dict[str, Any] = {"num_minibatches": 5, "batch_size": 16, "hidden_sizes": (8,)}
    sizes["data"] = (saved(table, folder / "table.npz"),)
    config = imitation.Config(env=str(table.env), total_steps=60 * 5 * 16, sharing="shared_encoder", **sizes)
    return imitation.Imitation(imitation.resolve(config))


LEARNERS: dict[str, Callable[[Path], Learner]] = {
    "ppo": ppo_with_all_parts,
    "klent": lambda _: klent.KLENT(KLENT),
    "alphazero": lambda _: alphazero.AlphaZero(ALPHAZERO),
    "alphazero, several boards": lambda _: alphazero.AlphaZero(SEVERAL_BOARDS),
    "imitation": of_labels,
}
of_each_learner = pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS.keys())


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """Removes the registrations of the tests."""
    with temporary_registrations():
        yield


# -- killed and resumed --------------------------------------------------------------------------------------------


@pytest.mark.slow
@of_each_learner
def test_killed_run_continues_to_the_bits_of_one_that_was_not(make: Callable[[Path], Learner], tmp_path: Path) -> None:
    """It needs no checkpoint of the other runs that it started from or played against.

    While it trains, no other process can have its folder, and after that any can.
    """
    learner, whole, killed = make(tmp_path), tmp_path / "whole", tmp_path / "killed"
    train_in(whole, learner, WATCHED)
    module, arguments = f"train.{learner.name}", arguments_of(learner.config, WATCHED, killed)
    process = start(module, arguments)
    wait_until_training(killed, process)
    with pytest.raises(BlockingIOError, match=f"in use by process {process.pid} on {socket.gethostname()}"):
        agents.open_run(killed).lock()
    process.send_signal(signal.SIGKILL)
    assert end(process)[0] == -signal.SIGKILL
    assert not (killed / "result.json").exists(), "over before the signal came"
    shutil.rmtree(tmp_path / "other" / "checkpoints", ignore_errors=True)
    status, out, err = end(start(module, [*arguments, "--resume"]))
    assert status == 0, err
    assert json.loads(out.splitlines()[-1])["finished"]
    assert equal_checkpoints(whole, killed)
    assert metrics_of(whole) == metrics_of(killed)
    shutil.rmtree(tmp_path / "other", ignore_errors=True)
    assert agents.make(str(killed), learner.env).on_device  # a run plays without the runs that it was trained with


# -- four devices --------------------------------------------------------------------------------------------------


def star(**changes: Any) -> Callable[[Path], Learner]:
    return lambda _: ppo.PPO(dataclasses.replace(STAR, **changes))


def slow_on_several_boards(folder: Path) -> Learner:
    """The second board is searched after an update: Adam's first steps would make rounding errors as large as others.

    Its moments still compare the gradients.
    """
    slow = {"learning_rate": 1e-7, "final_learning_rate": 1e-7}
    return alphazero.AlphaZero(dataclasses.replace(SEVERAL_BOARDS, **slow))


ALPHA_MINI = "alpha_mini(channels=4)"  # its statistics and what it drops depend on the whole minibatch
OPPONENTS = ("first(epsilon=0.5)", "random", "self@every=1(size=2)")  # each device plays on its own boards
ON_FOUR_DEVICES: dict[str, tuple[Callable[[Path], Learner], int, tuple[float, int] | None]] = {
    # A learner, iterations, and (a, b): the largest array that devices send has at most a * parameters + b numbers.
    "ppo, independent": (star(sharing="independent"), 3, (1, 10)),  # sorts rows by seat, which is the hard case
    "ppo, shared_encoder": (star(sharing="shared_encoder"), 3, (1, 10)),
    "ppo, opponents": (star(num_envs=64, opponents=OPPONENTS, opponent_epsilon=0.25), 3, (1, 10)),
    "ppo, alpha_mini, independent": (star(network=ALPHA_MINI, sharing="independent"), 3, (2, 0)),
    "alphazero": (LEARNERS["alphazero"], 1, None),  # the compiler divides the search, and may gather rows
    "alphazero, several boards": (slow_on_several_boards, 1, None),
    "imitation": (of_labels, 3, (1, 15)),
}


@pytest.mark.slow  # each case is a start of JAX
@pytest.mark.parametrize(("make", "iterations", "limit"), ON_FOUR_DEVICES.values(), ids=ON_FOUR_DEVICES.keys())
def test_run_on_four_devices_equals_the_run_on_one(
    make: Callable[[Path], Learner], iterations: int, limit: tuple[float, int] | None, tmp_path: Path
) -> None:
    """Boards and replay are divided, and only sums are sent: gradients, and some means."""
    learner = make(tmp_path)
    arguments = [learner.name, json.dumps(dataclasses.asdict(learner.config)), str(tmp_path), str(iterations)]
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=4"
    program = [sys.executable, str(ROOT / "tests/helpers/run_on_four_devices.py"), *arguments]
    done = subprocess.run(
        program, env=environment(XLA_FLAGS=flags), capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "found.json").read_text())
    if learner.name != "imitation":  # which has no boards
        assert found["boards_of_devices"] == [learner.config.num_envs // 4]
        assert found["devices_of_boards"] == [4]
    train_state = first_train_state(learner)
    if limit is not None:
        assert {name for name, _ in found["collectives"]} == {"all-reduce"}  # no rows are gathered
        num_parameters = sum(leaf.size for leaf in jax.tree.leaves(train_state.params))
        assert max(size for _, size in found["collectives"]) <= limit[0] * num_parameters + limit[1]

    iterate, data = jax.jit(learner.iterate), jax.device_put(learner.load_data())
    metrics_of_four = dict(np.load(tmp_path / "metrics.npz"))
    for iteration in range(iterations):
        train_state, metrics = iterate(train_state, *data)
        assert metrics.keys() == metrics_of_four.keys()
        for name, number in metrics.items():
            np.testing.assert_allclose(metrics_of_four[name][iteration], number, rtol=1e-3, atol=1e-5, err_msg=name)
    rtol, atol = (1e-4, 1e-6) if learner.name == "ppo" else (1e-3, 1e-5)  # sums are taken in another order
    last = np.load(tmp_path / "last.npz").values()
    for a, b in zip(jax.tree.leaves(jax.device_get(keys_to_data(train_state))), last, strict=True):
        assert a.dtype == b.dtype
        if np.issubdtype(a.dtype, np.floating):
            np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)
        else:
            np.testing.assert_array_equal(a, b)


# -- other modes of JAX --------------------------------------------------------------------------------------------

OTHER_PARTS: dict[str, Any] = {"compute_dtype": "bfloat16", "opponents": ("greedy", "self@every=1")}
IN_OTHER_MODES: dict[str, Callable[[Path], Learner]] = {
    "ppo": lambda _: ppo.PPO(dataclasses.replace(PPO, **OTHER_PARTS, step_kl_coef=0.1, vf_clip=1.0)),
    "alphazero": LEARNERS["alphazero"],
    "imitation": of_labels,
}
MODES = {"x64": jax.enable_x64(True), "strict": jax.numpy_dtype_promotion("strict")}
FAST = {("ppo", "strict"), ("alphazero", "x64")}  # others trace for seconds, too


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        pytest.param(name, mode, marks=[pytest.mark.slow] * ((name, mode) not in FAST))
        for name in IN_OTHER_MODES
        for mode in MODES
    ],
)
def test_program_has_the_same_types_in_other_modes(name: str, mode: str, tmp_path: Path) -> None:
    learner = IN_OTHER_MODES[name](tmp_path)
    expected = jax.tree.map(lambda leaf: leaf.dtype, jax.eval_shape(learner.init, jax.random.key(0)))
    with MODES[mode]:
        start = jax.eval_shape(learner.init, jax.random.key(0))
        end, metrics = jax.eval_shape(learner.iterate, start, *learner.load_data())
    assert {leaf.dtype for leaf in metrics.values()} == {np.dtype("float32")}
    for train_state in (start, end):
        assert jax.tree.map(lambda leaf: leaf.dtype, train_state) == expected


# -- cells of a sweep ----------------------------------------------------------------------------------------------


def test_cell_of_a_sweep_starts_as_its_single_run() -> None:
    """Also where a number, such as step_kl_coef, is a part of the first train state. All numbers have other values."""
    numbers = [agents.learner_type(name).config_type.numbers_type for name in agents.LEARNERS]
    assert {field.name for each in numbers for field in dataclasses.fields(each)} == OTHER_VALUES.keys()
    small: dict[str, Any] = {"network": "mlp", "channels": (), "step_kl_coef": 0.2, "vf_clip": 1.0}
    config = dataclasses.replace(PPO, **small)
    given = [name for name in names_of_numbers(ppo.PPO(config)) if getattr(config, name)]
    changed = dataclasses.replace(config, seed=1, **{name: OTHER_VALUES[name] for name in given})
    learners = (ppo.PPO(config), ppo.PPO(changed))
    runs = jax.jit(BatchedRuns(learners).init)(jax.random.key(9)).runs
    for index, learner in enumerate(learners):
        single = learner.init(jax.random.key(learner.config.seed))
        of_cell = jax.tree.map(lambda leaf, index=index: leaf[index], keys_to_data(runs))
        jax.tree.map(np.testing.assert_array_equal, of_cell, keys_to_data(single))


@pytest.mark.slow
@of_each_learner
def test_cell_of_a_sweep_is_its_single_run(make: Callable[[Path], Learner], tmp_path: Path) -> None:
    """One program has cells with another value of one number each, and a cell with all of them."""
    learner = make(tmp_path)
    config = dataclasses.replace(learner.config, total_steps=4 * learner.config.steps_per_iteration)
    of_learner = type(learner)
    other = {name: OTHER_VALUES[name] for name in names_of_numbers(learner)}
    changed = {"none": {}, "all": other, **{name: {name: value} for name, value in other.items()}}
    cells = {
        f"changed={name}/seed=0": of_learner(dataclasses.replace(config, **changes))
        for name, changes in changed.items()
    }
    sweep = Sweep(learner.name, {}, 0, 1, cells)
    assert len(sweep.groups()) == 1
    run_sweep(sweep, dataclasses.replace(WATCHED, run_dir=tmp_path / "sweep"))
    train_in(tmp_path / "single", cells["changed=all/seed=0"], WATCHED)
    rows = {name: metrics_of(tmp_path / "sweep" / f"changed={name}" / "seed=0") for name in changed}
    for row, of_single in zip(rows["all"], metrics_of(tmp_path / "single"), strict=True):
        assert row.keys() == of_single.keys()
        for name, value in of_single.items():
            close = pytest.approx(value, rel=1e-4, abs=1e-5) if isinstance(value, float) else value
            assert row[name] == close, name
    assert len({json.dumps(of_cell) for of_cell in rows.values()}) == len(changed)
