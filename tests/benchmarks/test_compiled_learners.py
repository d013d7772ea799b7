"""Programs that train and search: what benchmarks.compiled counts in a text."""

from pathlib import Path

import pytest

from benchmarks import hlo
from benchmarks.compiled_learners import DATA_LOOPS, loop_figures, scope_of, unwanted

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
  %leaf = f32[8]{0} while(%x), condition=%below_data, body=%level, metadata={op_name="jit(iterate)/collect/while/body/closed_call/jit(_search)/while/body/descend/while"}
  ROOT %added = f32[8]{0} negate(%leaf)
}

%step (state: (s32[], f32[8])) -> (s32[], f32[8]) {
  %state = (s32[], f32[8]{0}) parameter(0)
  %i = s32[] get-tuple-element(%state), index=0
  %one = s32[] constant(1)
  %next = s32[] add(%i, %one)
  %x = f32[8]{0} get-tuple-element(%state), index=1
  %tree = f32[8]{0} while(%x), condition=%below_data, body=%simulation, metadata={op_name="jit(iterate)/collect/while/body/closed_call/jit(_search)/while"}, backend_config={"known_trip_count":{"n":"3"}}
  %stepped = f32[8]{0} negate(%tree)
  ROOT %pair = (s32[], f32[8]{0}) tuple(%next, %stepped)
}

%update (x: f32[100]) -> f32[100] {
  %g = f32[100]{0} parameter(0)
  %mean = f32[] constant(0)
  %total = (f32[100]{0}, f32[]) all-reduce(%g, %mean), to_apply=%sum, metadata={op_name="jit(iterate)/update/while/body/grad"}
  ROOT %new = f32[100]{0} get-tuple-element(%total), index=0
}

ENTRY %main (x: f32[8], p: f32[100]) -> f32[8] {
  %x = f32[8]{0} parameter(0)
  %p = f32[100]{0} parameter(1)
  %params = f32[100]{0} while(%p), condition=%below_data, body=%update, metadata={op_name="jit(iterate)/update/while"}, backend_config={"known_trip_count":{"n":"5"}}
  %zero = s32[] constant(0)
  %state = (s32[], f32[8]{0}) tuple(%zero, %x)
  %end = (s32[], f32[8]{0}) while(%state), condition=%below_2, body=%step, metadata={op_name="jit(iterate)/collect/while"}
  ROOT %boards = f32[8]{0} get-tuple-element(%end), index=1
}
"""  # noqa: E501  # as compilers write it


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
