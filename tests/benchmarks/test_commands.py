"""Every command prints a line of JSON with its keys, and refuses wrong input before it measures."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from benchmarks import compiled, device, envs, harness, search, solvers, training
from tests.benchmarks.conftest import RunCommand, blank_positions
from train.ppo import PPO, Config

BOXES = "'dots_and_boxes(rows=1, cols=1)'"
TINY = Config(
    env="dots_and_boxes(rows=1, cols=1)",
    num_envs=2,
    rollout_length=8,
    update_epochs=1,
    num_minibatches=2,
    hidden_sizes=(5,),
)
STAMP = {"date", "jaxgames", "jax", "python", "devices", "processor", "cores"}
TIMING = {"steps_per_second", "spread", "compile_seconds", "memory_bytes"}
SEARCH = "--simulations 2 --slots 4 --batch 2 --curve-batch 2 --budget 2 --peer-slots 4 --hidden-sizes 5"
NETWORKS = "--networks 'mlp(hidden_sizes=[2])' alpha_mini"
PEERS = "--boards 2 --rollout-length 2 --search-boards 2 --search-steps 2 --simulations 2 --rounds 1"

# The command line, with PICTURE for a file, and the keys of the first row of its result.
ROWS: dict[str, set[str]] = {
    f"envs --games {BOXES} --batch-sizes 2 --steps 16 --repeats 2 --picture PICTURE": (
        {"game", "bytes_per_board", "boards", "step", "no restart", "random play", "policy"}
    ),
    f"compiled {BOXES} --target h200 --parts 'random play' mask --boards 4": (
        {"target", "game", "part", "kernels", "gathers", "concatenates", "bytes_per_board", "bound"}
        | {"temporary_bytes", "compile_seconds"}
    ),
    f"networks {NETWORKS} --boards 2 --rollout-length 2 --repeats 1 --games {BOXES}": (
        {"game", "network", "weights", "microseconds", "relative"}  # without alpha_mini, which cannot play the game
    ),
    f"search --env {BOXES} --batch-sizes 2 {SEARCH} --repeats 1 --parts simulations --picture PICTURE": (
        {"part", "side", "game", "boards", "simulations", "slots", "microseconds", "bytes_per_node", "network", "ratio"}
        | TIMING
    ),
    "solvers boxes --boards 1x1": {"board", "window", "value", "nodes", "keys", "seconds", "microseconds"},
    "solvers checkers --depths 1 --positions 2": (
        {"depth", "table", "nodes", "nodes_per_second"} | {f"{name}_milliseconds" for name in ("mean", "p99", "max")}
    ),
    f"training_peers --env {BOXES} --pgx-env tic_tac_toe {PEERS}": (
        {"part", "side", "game", "microseconds", "rules"} | TIMING
    ),
    "training --games demo --repeats 1 --picture PICTURE": {"game", "env", "whole", "shares", "boards"},
}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, programs: str, plain_python: None) -> None:
    """Small networks and games, solvers in plain Python, and this CPU in place of described devices."""
    monkeypatch.setattr(compiled, "check_package", lambda target: None)
    monkeypatch.setattr(compiled, "described_device", lambda target: jax.devices()[0])
    monkeypatch.setattr(envs, "config_for", lambda env: TINY)
    monkeypatch.setattr(training, "learner_of", lambda name, game: PPO(TINY))
    if programs == "traced":
        monkeypatch.setattr(search, "positions", blank_positions)
        monkeypatch.setattr(envs, "recorded_actions", lambda env, *shape: jnp.zeros(shape[::-1], jnp.int32))


def slow(line: str) -> Any:
    """A command line, marked as slow where it traces for seconds."""
    is_slow = line.startswith(("training", "networks", "envs", "search"))
    return pytest.param(line, marks=pytest.mark.slow) if is_slow else line


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("line", [*map(slow, ROWS)])
def test_command_prints_json_with_its_keys(line: str, run_command: RunCommand, tmp_path: Path) -> None:
    result = run_command(line.replace("PICTURE", str(tmp_path / "picture.svg")))
    assert result.keys() >= STAMP
    assert result["rows"][0].keys() == ROWS[line]
    pictures = [file.read_text() for file in tmp_path.rglob("*.svg") if file.is_file()]
    assert len(pictures) == ("PICTURE" in line)
    assert all("<svg" in picture for picture in pictures)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("peers adapters --published no/such/folder", ("published must be a folder",)),
        ("peers --games chess", ("games must be among minichess", "chess")),
        ("peers --rounds 0", ("rounds must be positive",)),
        ("compiled --target h100", ("target must be among h200, v5e, v6e, not h100",)),
        ("compiled --write --check", ("type one of them",)),
        ("compiled --check --target h200 'dots_and_boxes(rows=1)'", ("has no row of h200, dots_and_boxes(rows=1)",)),
        ("training_peers --boards 3 --rollout-length 3", ("must be a multiple of the 4 minibatches",)),
        ("regression --games 'dots_and_boxes(rows=7)'", ("regression.json has checkers", "renew it with --write")),
        ("regression --games minichess --write", ("would lose", "write all games, or another --file")),
        ("search --parts peer --picture x.svg", ("picture needs the part simulations",)),
        ("search --env 'chinese_checkers(num_players=3)'", ("zero-sum game of two seats",)),
        ("solvers boxes --boards 2-2", ("boards must be texts such as 2x3",)),
        ("solvers boxes --boards", ("boards must not be empty",)),
        ("solvers boxes --boards 5x6", ("at most 62 edges",)),
        ("envs --devices 1000", ("devices must be at most",)),
        ("envs --columns step --picture x.svg", ("picture needs the column random play",)),
        ("training --games demo chess", ("the games are",)),
    ],
)
def test_wrong_input_is_refused_before_anything_is_measured(
    line: str, words: tuple[str, ...], run_command: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, function in (
        (harness, "keep_to_one_core"),
        (harness, "time_program"),
        (device, "run_group"),
        (solvers, "positions"),
        (compiled, "measure_row"),
        (training, "measure_parts"),
    ):
        monkeypatch.setattr(module, function, pytest.fail if function != "keep_to_one_core" else lambda: None)
    monkeypatch.setattr(solvers, "HAS_NUMBA", False)
    with pytest.raises(SystemExit) as caught:
        run_command(line)
    message = str(caught.value)
    assert message.startswith(f"benchmarks.{line.split()[0]}")
    assert all(word in message for word in words), message
