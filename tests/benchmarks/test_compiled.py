"""benchmarks.compiled: its rows, what it stores and compares, and the tables of the docs."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import jax
import pytest

import jaxgames
from benchmarks import compiled_learners, targets
from benchmarks.compiled import FIGURES, GAMES, KEY, PARTS, Arguments, bound, page_tables, split_words
from benchmarks.targets import PAGE, STORED, TARGETS
from tests.benchmarks.conftest import RunCommand
from train.driver.tables import with_tables

GAME = "dots_and_boxes(rows=1, cols=2)"
LINE = f"compiled '{GAME}' --target h200 --parts mask observe --boards 8"


@pytest.fixture
def on_this_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """This CPU stands for the devices."""
    monkeypatch.setattr(targets, "check_packages", lambda names: None)
    monkeypatch.setattr(targets, "described_devices", lambda target: jax.devices())


def row(kernels: int, bytes_per_board: float, part: str = "mask") -> dict[str, Any]:
    return {"target": "h200", "game": GAME, "part": part, "kernels": kernels, "bytes_per_board": bytes_per_board}


def test_bounds_are_arrays_that_a_part_reads_and_writes() -> None:
    """A row of two boxes has 7 edges and is observed as 3 x 5 places of 3 planes."""
    game = jaxgames.make(GAME)
    env = jaxgames.auto_reset(game)
    assert bound(env, "mask") == game.state_bytes + 7
    assert bound(env, "observe") == game.state_bytes + 45
    assert bound(env, "step") == 2 * env.state_bytes + 4
    assert bound(env, "random play") == 2 * env.state_bytes + 7 + 45


@pytest.mark.usefixtures("on_this_cpu")
def test_observation_is_written_by_the_compiled_program(run_command: RunCommand) -> None:
    """However it is compiled, every board writes 45 bytes of observation and 7 of mask, and has a kernel for it."""
    mask, observe = run_command(LINE)["rows"]
    assert (mask["part"], observe["part"]) == ("mask", "observe")
    assert mask["bytes_per_board"] >= 7 + 7  # it also reads 7 edges
    assert observe["bytes_per_board"] >= 7 + 45
    assert min(mask["kernels"], observe["kernels"]) >= 1
    assert mask["gathers"] == 0


@pytest.mark.usefixtures("on_this_cpu")
def test_check_fails_if_a_figure_is_a_tenth_above_the_stored_one(
    run_command: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "compiled.json"
    written = run_command(f"{LINE} --write --file {file}")
    stored = json.loads(file.read_text())
    assert stored["rows"] == written["rows"]
    assert run_command(f"{LINE} --check --file {file}")["grown"] == []
    stored["rows"][1]["kernels"] *= 0.9  # of observe
    file.write_text(json.dumps(stored))
    with pytest.raises(SystemExit, match=r"grew by more than 10%:\n  h200, .*cols=2\), observe: \d+ kernels, stored"):
        run_command(f"{LINE} --check --file {file}")


@pytest.mark.usefixtures("on_this_cpu")
def test_write_keeps_other_rows_of_the_same_versions(run_command: RunCommand, tmp_path: Path) -> None:
    file = tmp_path / "compiled.json"
    run_command(f"{LINE} --write --file {file}")
    run_command(f"compiled '{GAME}' --target v5e --parts mask --boards 8 --write --file {file}")
    stored = json.loads(file.read_text())
    assert [(each["target"], each["part"]) for each in stored["rows"]] == [
        ("h200", "mask"),
        ("h200", "observe"),
        ("v5e", "mask"),
    ]
    file.write_text(json.dumps(stored | {"jax": "0.0.1"}))
    with pytest.raises(SystemExit, match="has rows of other jax: write all rows, or another --file"):
        run_command(f"{LINE} --write --file {file}")


def grown(stored: list[dict[str, Any]], rows: list[dict[str, Any]]) -> list[str]:
    return targets.grown(stored, rows, KEY, FIGURES)


def test_figure_has_grown_above_eleven_tenths() -> None:
    assert grown([row(10, 100.0)], [row(11, 110.0)]) == []
    assert grown([row(10, 100.0)], [row(12, 110.0)]) == [f"h200, {GAME}, mask: 12 kernels, stored 10"]
    assert grown([row(10, 100.0)], [row(10, 111.0)]) == [f"h200, {GAME}, mask: 111 bytes per board, stored 100"]
    assert grown([row(1, 1.0, "step"), row(10, 100.0)], [row(10, 90.0)]) == []


def test_games_may_follow_the_targets() -> None:
    assert split_words(("h200", "v5e", "checkers", GAME), ()) == (("h200", "v5e"), ("checkers", GAME))
    assert split_words(("h200",), ("minichess",)) == (("h200",), ("minichess",))
    assert split_words(("v6e",), ()) == (("v6e",), GAMES)


@pytest.mark.parametrize("target", TARGETS)
def test_missing_package_is_named_with_what_to_type(
    target: str, run_command: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    expected = rf'the target {target} needs the package {TARGETS[target].package}: type python -m pip install -e ".*aot'
    with pytest.raises(SystemExit, match=expected):
        run_command(f"compiled dots_and_boxes --target {target}")


def test_every_game_has_stored_rows() -> None:
    rows = json.loads(STORED.read_text())["rows"]
    assert {(each["target"], each["game"], each["part"]) for each in rows} >= {
        (target, game, part) for target in Arguments().target for game in GAMES for part in PARTS
    }


def test_tables_of_the_docs_are_made_from_the_stored_rows() -> None:
    rows = json.loads(STORED.read_text())["rows"]
    tables = page_tables(rows) | compiled_learners.page_tables()
    page = PAGE.read_text()
    assert with_tables(page, tables) == page, "type python -m benchmarks.compiled --write, or learners or search"
    assert all(table in page for table in tables.values())
