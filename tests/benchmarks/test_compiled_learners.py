"""Programs that train and search: what benchmarks.compiled counts in a text."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import compiled_learners, hlo, targets
from benchmarks.compiled_learners import DATA_LOOPS, loop_figures, scope_of, unwanted
from tests.benchmarks.conftest import RunCommand

ROOT = Path(__file__).parents[2]
GRADIENT = 400  # bytes
# An iteration of two steps, each with three simulations; then five gradient steps, which devices sum.
TEXT = """HloModule iterate, is_scheduled=true

%sum (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %c = f32[] add(%a, %b)
}

%below_2 (state: (s32[], f32[8])) -> pred[] {
  %state = (s32[], f32[8]{0}) parameter(0)
  %i = s32[] get-tuple-element(%state), index=0
  %two = s32[]{:T(128)} constant(2)
  ROOT %less = pred[] compare(%i, %two), direction=LT
}

%below_data (i: s32[], n: s32[]) -> pred[] {
  %i = s32[] parameter(0)
  %n = s32[] parameter(1)
  ROOT %less = pred[] compare(%i, %n), direction=LT
}

%level (x: f32[8]) -> f32[8] {
  %x = f32[8]{0} parameter(0)
  ROOT %deeper = f32[8]{0} negate(%x)
}

%simulation (x: f32[8]) -> f32[8] {
  %x = f32[8]{0} parameter(0)
  %leaf = f32[8]{0} while(%x), condition=%below_data, body=%level, \
metadata={op_name="jit(iterate)/collect/while/body/closed_call/jit(_search)/while/body/descend/while"}
  ROOT %added = f32[8]{0} negate(%leaf)
}

%step (state: (s32[], f32[8])) -> (s32[], f32[8]) {
  %state = (s32[], f32[8]{0}) parameter(0)
  %i = s32[] get-tuple-element(%state), index=0
  %one = s32[] constant(1)
  %next = s32[] add(%i, %one)
  %x = f32[8]{0} get-tuple-element(%state), index=1
  %tree = f32[8]{0} while(%x), condition=%below_data, body=%simulation, \
metadata={op_name="jit(iterate)/collect/while/body/closed_call/jit(_search)/while"}, \
backend_config={"known_trip_count":{"n":"3"}}
  %stepped = f32[8]{0} negate(%tree)
  ROOT %pair = (s32[], f32[8]{0}) tuple(%next, %stepped)
}

%update (x: f32[100]) -> f32[100] {
  %g = f32[100]{0} parameter(0)
  %mean = f32[] constant(0)
  %total = (f32[100]{0}, f32[]) all-reduce(%g, %mean), to_apply=%sum, \
metadata={op_name="jit(iterate)/update/while/body/grad"}
  ROOT %new = f32[100]{0} get-tuple-element(%total), index=0
}

ENTRY %main (x: f32[8], p: f32[100]) -> f32[8] {
  %x = f32[8]{0} parameter(0)
  %p = f32[100]{0} parameter(1)
  %params = f32[100]{0} while(%p), condition=%below_data, body=%update, \
metadata={op_name="jit(iterate)/update/while"}, backend_config={"known_trip_count":{"n":"5"}}
  %zero = s32[] constant(0)
  %state = (s32[], f32[8]{0}) tuple(%zero, %x)
  %end = (s32[], f32[8]{0}) while(%state), condition=%below_2, body=%step, \
metadata={op_name="jit(iterate)/collect/while"}
  ROOT %boards = f32[8]{0} get-tuple-element(%end), index=1
}
"""


def with_line(line: str) -> hlo.Program:
    """The program with a further line in the body of its loop of gradient steps."""
    return hlo.parse(TEXT.replace("  ROOT %new =", f"  {line}\n  ROOT %new ="))


def test_loops_are_found_with_their_lengths() -> None:
    """The text says some lengths, the condition says one, and the length of a descent depends on data."""
    loops = hlo.loops(hlo.parse(TEXT))
    assert [(loop.body, loop.trip_count) for loop in loops] == [
        ("update", 5),
        ("step", 2),
        ("simulation", 3),
        ("level", None),
    ]
    assert [scope_of(loop) for loop in loops if loop.trip_count is None] == ["descend"]


def test_kernels_are_counted_per_step_and_per_simulation() -> None:
    """A simulation has a level and a kernel of its own, of 64 bytes each; a step has three, one more and a counter."""
    figures = loop_figures(hlo.parse(TEXT))
    assert (figures["kernels_per_simulation"], figures["bytes_per_simulation"]) == (2, 2 * 64)
    assert (figures["kernels_per_step"], figures["bytes_per_step"]) == (8, 7 * 64 + 3 * 4)
    without_search = hlo.parse(TEXT.replace("jit(_search)", "jit(other)"))
    assert loop_figures(without_search)["kernels_per_simulation"] is None


def test_collectives_count_as_often_as_their_loop_repeats() -> None:
    (found,) = hlo.collectives(hlo.parse(TEXT))
    assert (found.op, found.size, found.times) == ("all-reduce", GRADIENT + 4, 5)
    in_condition = "  %any = s32[] all-reduce(%n), to_apply=%sum\n  ROOT %less = pred[] compare(%i, %n), direction=LT"
    text = TEXT.replace("  ROOT %less = pred[] compare(%i, %n), direction=LT", in_condition)
    small = [each.times for each in hlo.collectives(hlo.parse(text)) if each.size == 4]
    assert small == [5, 6, 6]  # of gradient steps, simulations, and levels, which count once per simulation
    start = "%s = f32[100]{0} all-gather-start(%g), dimensions={0}"
    assert [each.op for each in hlo.collectives(with_line(start))] == ["all-reduce", "all-gather"]


def test_gradients_and_named_loops_are_wanted() -> None:
    assert unwanted(hlo.parse(TEXT), GRADIENT) == []


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ('%h = f32[] custom-call(%g), custom_call_target="xla_python_callback"', "calls the host: xla_python"),
        ("%h = ((f32[2]), token[]) infeed(%g)", "calls the host: infeed"),
        ("%h = f32[] conditional(%g, %g, %g), branch_computations={%level, %level}", "has 1 conditionals"),
        (
            '%h = f32[] while(%g), condition=%below_data, body=%level, metadata={op_name="jit(iterate)/sort/while"}',
            "has a loop whose length depends on data: jit(iterate)/sort/while",
        ),
        (
            '%b = f32[99999]{0} constant({...})\n  %h = f32[99999]{0} all-reduce(%b), metadata={op_name="tree"}',
            "sends more than gradients and means: all-reduce of 399,996 bytes, tree",
        ),
        (
            '%b = f32[16500]{0} constant({...})\n  %h = f32[33000]{0} all-gather(%b), metadata={op_name="rows"}',
            "sends more than gradients and means: all-gather of 66,000 bytes, rows",
        ),
    ],
)  # fmt: skip
def test_what_training_should_not_do_is_named(line: str, text: str) -> None:
    (found,) = unwanted(with_line(line), GRADIENT)
    assert found.startswith(text)


def test_every_named_loop_is_a_scope_of_the_sources() -> None:
    sources = "".join(path.read_text() for folder in ("jaxgames", "train") for path in (ROOT / folder).rglob("*.py"))
    assert all(f'named_scope("{scope}")' in sources for scope in DATA_LOOPS)


# -- stored rows ------------------------------------------------------------------------------------------

LEARNERS = "compiled learners 'dots_and_boxes(rows=1, cols=2)' --learners ppo --boards 64 --rollout-length 8"
SEARCH = "compiled search 'dots_and_boxes(rows=1, cols=2)' --target h200"


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The figures of every learner that is compiled from now on; a search has none."""
    figures: dict[str, Any] = {
        "argument_bytes": 1000,
        "kernels_per_step": 10,
        "kernels_per_simulation": 20,
        "temporary_bytes": 1000,
        "collectives": [{"op": "all-reduce", "bytes": 10, "times": 4}],
        "compile_seconds": 1.0,
    }
    searched = {"kernels": 1, "kernels_per_level": 1, "bytes_per_root": 1, "temporary_bytes": 1}
    monkeypatch.setattr(targets, "check_packages", lambda names: None)
    monkeypatch.setattr(compiled_learners, "learner_row", lambda *each: (dict(figures), []))
    monkeypatch.setattr(
        compiled_learners,
        "search_row",
        lambda target, game, search, _: {"target": target, "game": game, "search": search, **searched},
    )
    return figures


def stored_keys(file: Path, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in json.loads(file.read_text())["rows"]]


@pytest.mark.usefixtures("figures")
def test_write_keeps_learners_of_other_places_and_sizes(run_command: RunCommand, tmp_path: Path) -> None:
    file = tmp_path / "learners.json"
    run_command(f"{LEARNERS} --places v5e-64 --write --file {file}")
    run_command(f"{LEARNERS} --places h200 --write --file {file}")
    run_command(f"{LEARNERS} --places h200 --boards 128 --write --file {file}")
    run_command(f"{LEARNERS} --places h200 --write --file {file}")
    assert stored_keys(file, "place", "boards") == [("h200", 64), ("h200", 128), ("v5e-64", 64)]


@pytest.mark.usefixtures("figures")
def test_write_keeps_other_searches_of_the_same_settings(run_command: RunCommand, tmp_path: Path) -> None:
    file = tmp_path / "search.json"
    run_command(f"{SEARCH} --searches mctx --write --file {file}")
    run_command(f"{SEARCH} --searches jaxgames --write --file {file}")
    assert stored_keys(file, "search") == [("jaxgames",), ("mctx",)]
    with pytest.raises(SystemExit, match="has rows of other roots, slots: write all rows, or another --file"):
        run_command(f"{SEARCH} --searches mctx --roots 8 --slots 4 --write --file {file}")
    assert stored_keys(file, "search") == [("jaxgames",), ("mctx",)]


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("kernels_per_step", 12, "12 kernels per step, stored 10"),
        ("kernels_per_simulation", 23, "23 kernels per simulation, stored 20"),
        ("temporary_bytes", 1101, "1,101 temporary bytes, stored 1,000"),
        ("collectives", [{"op": "all-reduce", "bytes": 9, "times": 5}], "45 bytes of collectives, stored 40"),
    ],
)
def test_check_fails_if_a_learner_grew(
    name: str, value: Any, text: str, run_command: RunCommand, tmp_path: Path, figures: dict[str, Any]
) -> None:
    file = tmp_path / "learners.json"
    line = f"{LEARNERS} --places h200 --file {file}"
    run_command(f"{line} --write")
    assert run_command(f"{line} --check")["grown"] == []
    figures[name] = value
    with pytest.raises(SystemExit, match=rf"grew by more than 10%:\n  h200, ppo, .*, 64, 8: {text}$"):
        run_command(f"{line} --check")


@pytest.mark.usefixtures("figures")
def test_check_names_the_row_that_is_missing(run_command: RunCommand, tmp_path: Path) -> None:
    file = tmp_path / "learners.json"
    run_command(f"{LEARNERS} --places h200 --write --file {file}")
    with pytest.raises(SystemExit, match=r"has no row of v5e-64, ppo, .*, 64, 8: renew it with --write"):
        run_command(f"{LEARNERS} --places v5e-64 --check --file {file}")
