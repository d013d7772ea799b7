"""Every command prints a line of JSON with its keys, and refuses wrong input before it measures."""

import importlib
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from benchmarks import (
    compiled,
    device,
    envs,
    harness,
    search,
    solvers,
    training,
)
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
PEERS = "--boards 2 --rollout-length 2 --search-boards 2 --search-steps 2 --simulations 2 --rounds 1"

# The command line, with PICTURE for a file; the keys of the result; the key of its rows, and the keys of the first row.
COMMANDS: dict[str, tuple[set[str], str, set[str]]] = {
    f"envs --games {BOXES} --batch-sizes 2 --steps 16 --repeats 2 --picture PICTURE": (
        {"rows", "devices_used", "one_core"} | STAMP,
        "rows",
        {"game", "bytes_per_board", "boards", "step", "no restart", "random play", "policy"},
    ),
    f"compiled {BOXES} --target h200 --parts 'random play' mask --boards 4": (
        {"rows", "boards", "grown", "jax-cuda12-plugin", "libtpu"} | STAMP,
        "rows",
        {"target", "game", "part", "kernels", "gathers", "concatenates", "bytes_per_board", "bound"}
        | {"temporary_bytes", "compile_seconds"},
    ),
    "networks sharing --rows 2 --repeats 1": (
        {"microseconds_per_row"} | STAMP,
        "microseconds_per_row",
        {"rows"} | {f"{way}, {to}" for way in ("tiles", "all", "gathered") for to in ("forward", "gradient")},
    ),
    f"search --env {BOXES} --batch-sizes 2 {SEARCH} --repeats 1 --parts simulations --picture PICTURE": (
        {"rows", "hidden_sizes", "versions"} | STAMP,
        "rows",
        {"part", "side", "game", "boards", "simulations", "slots", "microseconds", "bytes_per_node", "network", "ratio"}
        | TIMING,
    ),
    "solvers boxes --boards 1x1": (
        {"rows", "compiled", "numba"} | STAMP,
        "rows",
        {"board", "window", "value", "nodes", "keys", "seconds", "microseconds"},
    ),
    "solvers checkers --depths 1 --positions 2": (
        {"rows", "compiled", "numba"} | STAMP,
        "rows",
        {"depth", "table", "nodes", "nodes_per_second"} | {f"{name}_milliseconds" for name in ("mean", "p99", "max")},
    ),
    f"training_peers --env {BOXES} --pgx-env tic_tac_toe {PEERS}": (
        {"rows", "settings", "versions"} | STAMP,
        "rows",
        {"part", "side", "game", "microseconds", "rules"} | TIMING,
    ),
    "training --games demo --repeats 1 --picture PICTURE": (
        {"learner", "rows"} | STAMP,
        "rows",
        {"game", "env", "whole", "shares", "boards"},
    ),
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
    is_slow = line.startswith(("training", "networks sharing", "envs", "search"))
    return pytest.param(line, marks=pytest.mark.slow) if is_slow else line


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("line", [*map(slow, COMMANDS)])
def test_command_prints_json_with_its_keys(line: str, run_command: RunCommand, tmp_path: Path) -> None:
    keys, name, row_keys = COMMANDS[line]
    result = run_command(line.replace("PICTURE", str(tmp_path / "picture.svg")))
    assert result.keys() == keys
    if name:
        assert result[name][0].keys() == row_keys
    pictures = [file.read_text() for file in tmp_path.rglob("*.svg") if file.is_file()]
    assert len(pictures) == ("PICTURE" in line)
    assert all("<svg" in picture for picture in pictures)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("peers adapters --adapters zoo", ("adapters must be among host", "zoo")),
        ("peers adapters --published no/such/folder", ("published must be a folder",)),
        ("compiled --target h100", ("target must be among h200, v5e, v6e, not h100",)),
        ("compiled --target checkers", ("target must name at least one of h200",)),
        ("compiled --parts init", ("parts must be among random play, step, mask, observe, not init",)),
        ("compiled --boards 0", ("boards must be positive",)),
        ("compiled chess", ("chess",)),
        ("compiled --write --check", ("type one of them",)),
        ("compiled --check --file no.json", ("No such file",)),
        ("compiled --check --target h200 'dots_and_boxes(rows=1)'", ("has no row of h200, dots_and_boxes(rows=1)",)),
        (
            "device --parts games",
            ("parts must be among forms, random play, ppo, search",),
        ),
        ("device --budget 0", ("budget must be positive",)),
        ("networks --boards 0", ("boards must be positive",)),
        ("training_peers --parts dqn", ("parts must be among ppo, alphazero, not dqn",)),
        ("training_peers --boards 3 --rollout-length 3", ("must be a multiple of the 4 minibatches",)),
        ("networks sharing --rows 0", ("rows must be positive",)),
        ("peers --games chess", ("games must be among minichess", "chess")),
        ("peers --rounds 0", ("rounds must be positive",)),
        ("peers --seconds 0", ("seconds must be positive",)),
        ("peers --boards 0", ("boards must be positive",)),
        ("peers --pgx-boards 0", ("pgx_boards must be positive",)),
        ("regression --games 'dots_and_boxes(rows=7)'", ("regression.json has checkers", "renew it with --write")),
        ("regression --games minichess --write", ("would lose", "write all games, or another --file")),
        ("regression --file benchmarks/no.json", ("No such file",)),
        ("regression --rounds 0", ("rounds must be positive",)),
        ("search --hidden-sizes 0", ("hidden_sizes must be positive",)),
        ("search --parts board", ("parts must be among boards", "board")),
        ("search --parts peer --picture x.svg", ("picture needs the part simulations",)),
        ("search --env 'chinese_checkers(num_players=3)'", ("zero-sum game of two seats",)),
        ("solvers boxes --boards 2-2", ("boards must be texts such as 2x3",)),
        ("solvers boxes --boards", ("boards must not be empty",)),
        ("solvers boxes --boards 0x2", ("rows must be an integer from 1",)),
        ("solvers boxes --boards 5x6", ("at most 62 edges",)),
        ("solvers boxes --table-size 3", ("table_size must be",)),
        ("solvers checkers --positions 0", ("positions must be positive",)),
        ("envs --columns steps", ("columns must be among step",)),
        ("envs --batch-sizes 0", ("batch_sizes must be positive",)),
        ("envs --devices 0", ("devices must be positive",)),
        ("envs --devices 1000", ("devices must be at most",)),
        ("envs --columns step --picture x.svg", ("picture needs the column random play",)),
        ("training --games demo chess", ("the games are",)),
        ("training --repeats 0", ("repeats must be positive, not 0",)),
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


def test_every_command_is_tested() -> None:
    modules = [
        importlib.import_module(f"benchmarks.{file.stem}") for file in Path(harness.__file__).parent.glob("*.py")
    ]
    names = {command.name for module in modules for command in getattr(module, "COMMANDS", ())}
    first_words = {" ".join(line.split()[:number]) for line in COMMANDS for number in (1, 2)}
    of_other_files = {"peers adapters", "device", "networks", "peers", "play", "regression"}
    assert names - of_other_files == (names & first_words) - of_other_files
