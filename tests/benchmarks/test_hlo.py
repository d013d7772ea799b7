"""benchmarks.hlo counts what a program does: in texts whose bytes are known, and in programs for the CPU."""

import jax
import jax.numpy as jnp
import pytest

from benchmarks import hlo
from benchmarks.hlo import Counts

ADD = """
%add (a: f32[8], b: f32[8]) -> f32[8] {
  %a = f32[8]{0} parameter(0)
  %b = f32[8]{0} parameter(1)
  ROOT %sum = f32[8]{0} add(%a, %b)
}
"""
X = "%x = f32[8]{0} parameter(0)"
ROWS = "%rows = s32[4,1]{1,0} constant({...})"
TABLE = "%table = f32[100,8]{1,0} parameter(0)"
INDEX = "%index = s32[4,1]{1,0} parameter(1)"
GATHER = "gather({}, {}), offset_dims={{1}}, collapsed_slice_dims={{0}}, start_index_map={{0}}, slice_sizes={{1,8}}"


def count(*lines: str, called: str = "") -> Counts:
    """Counts a program whose entry has these lines, and that calls the computations of the text `called`."""
    body = "\n".join(f"  {line}" for line in lines)
    return hlo.count(
        hlo.parse(f"HloModule known, is_scheduled=true\n{called}\nENTRY %main (x: f32[8]) -> f32[8] {{\n{body}\n}}\n")
    )


def test_every_operand_is_read_once_and_every_result_is_written_once() -> None:
    """The second fusion takes its operand twice: 3 * 32 bytes, then 2 * 32."""
    counts = count(
        X,
        "%c = f32[8]{0} constant({...})",
        "%first = f32[8]{0} fusion(%x, %c), kind=kLoop, calls=%add",
        "ROOT %second = f32[8]{0} fusion(%first, %first), kind=kLoop, calls=%add",
        called=ADD,
    )
    assert counts == Counts(kernels=2, gathers=0, bytes_moved=5 * 32)


def test_free_operations_are_no_kernels() -> None:
    counts = count(
        X,
        "%pair = (f32[8]{0}, f32[8]{0}) tuple(%x, %x)",
        "%one = f32[8]{0} get-tuple-element(%pair), index=1",
        "%view = f32[2,4]{1,0} bitcast(%one)",
        '%buffer = f32[8]{0} custom-call(), custom_call_target="AllocateBuffer"',
        "ROOT %copy = f32[2,4]{1,0} copy(%view)",
    )
    assert counts == Counts(kernels=1, gathers=0, bytes_moved=64)


@pytest.mark.parametrize(
    ("shape", "size"),
    [
        ("pred[3,5]{1,0}", 15),
        ("s4[3]{0}", 2),
        ("bf16[2,2]{1,0}", 8),
        ("f8e4m3fn[6]{0}", 6),
        ("u64[]", 8),
        ("f32[0,4]{1,0}", 0),
        ("token[]", 0),
        ("(s8[4]{0}, /*index=1*/(f32[2]{0:T(128)}, u32[]{:S(2)}))", 16),
        ("f32[1024]{0:T(1024)S(1)}", 0),
    ],
)
def test_bytes_of_shapes(shape: str, size: int) -> None:
    """Arrays in a TPU's on-chip memory, S(1), have none."""
    assert hlo.nbytes(shape) == size


@pytest.mark.parametrize(
    ("lines", "moved"),
    [
        (("ROOT %s = f32[8]{0} slice(%table), slice={[3:4], [0:8]}",), 64),
        (("%c = s32[] constant(3)", "ROOT %s = f32[2,8]{1,0} dynamic-slice(%table, %c, %c)"), 64 + 64 + 4),
        ((ROWS, f"ROOT %g = f32[4,8]{{1,0}} {GATHER.format('%table', '%rows')}"), 272),
        (
            ("%row = f32[1,8]{1,0} constant({...})", "%c = s32[] constant(3)",
             "ROOT %u = f32[100,8]{1,0} dynamic-update-slice(%table, %row, %c, %c)"),
            32 + 4 + 32,
        ),
    ],
)  # fmt: skip
def test_slice_counts_as_the_slice(lines: tuple[str, ...], moved: int) -> None:
    """The table has 3,200 bytes. An index of 4 bytes, or of 16, is read whole."""
    assert count(TABLE, *lines) == Counts(1, 0, moved)


def test_fusion_that_only_slices_an_operand_reads_the_slice() -> None:
    """A row of 32 bytes is read, once more through a bitcast, and a row is written back in place."""
    called = """
%update (t: f32[100,8], i: s32[]) -> f32[100,8] {
  %t = f32[100,8]{1,0} parameter(0)
  %i = s32[] parameter(1)
  %row = f32[1,8]{1,0} dynamic-slice(%t, %i, %i)
  %flat = f32[800]{0} bitcast(%t)
  %part = f32[8]{0} slice(%flat), slice={[0:8]}
  %wide = f32[1,8]{1,0} bitcast(%part)
  %sum = f32[1,8]{1,0} add(%row, %wide)
  ROOT %new = f32[100,8]{1,0} dynamic-update-slice(%t, %sum, %i, %i)
}
"""
    line = "ROOT %f = f32[100,8]{1,0} fusion(%table, %i), kind=kLoop, calls=%update"
    assert count(TABLE, "%i = s32[] parameter(1)", line, called=called) == Counts(1, 0, 32 + 32 + 4 + 32)
    whole = called.replace("slice(%flat), slice={[0:8]}", "reduce(%flat, %i), to_apply=%sum")
    assert count(TABLE, "%i = s32[] parameter(1)", line, called=whole) == Counts(1, 0, 3200 + 4 + 32)


def test_asynchronous_operation_counts_at_its_start() -> None:
    """A copy of 32 bytes to on-chip memory reads them, its way back writes them, and a slice reads 8 bytes."""
    counts = count(
        X,
        "%in = (f32[8]{0:S(1)}, f32[8]{0}, u32[]{:S(2)}) copy-start(%x)",
        "%on_chip = f32[8]{0:S(1)} copy-done(%in)",
        "%twice = f32[8]{0:S(1)} fusion(%on_chip, %on_chip), kind=kLoop, calls=%add",
        "%out = (f32[8]{0}, f32[8]{0:S(1)}, u32[]{:S(2)}) copy-start(%twice)",
        "%back = f32[8]{0} copy-done(%out)",
        "%sliced = ((f32[8]{0}), f32[2]{0:S(1)}, s32[]{:S(2)}) slice-start(%back), slice={[0:2]}",
        "ROOT %part = f32[2]{0:S(1)} slice-done(%sliced)",
        called=ADD,
    )
    assert counts == Counts(kernels=4, gathers=0, bytes_moved=32 + 32 + 8)


def test_kernels_in_the_body_of_a_loop_count_as_often_as_it_repeats() -> None:
    body = """
%is_less (x: f32[8]) -> pred[] {
  %x = f32[8]{0} parameter(0)
  ROOT %p = pred[] custom-call(%x), custom_call_target="unknown"
}
%body (x: f32[8]) -> f32[8] {
  %x = f32[8]{0} parameter(0)
  ROOT %next = f32[8]{0} negate(%x)
}
"""
    line = "ROOT %loop = f32[8]{0} while(%x), condition=%is_less, body=%body"
    assert count(X, line, called=body) == Counts(1, 0, 64)
    assert count(X, f'{line}, backend_config={{"known_trip_count":{{"n":"5"}}}}', called=body) == Counts(5, 0, 5 * 64)


LOOP = """
%below_7 (state: (s32[], s32[])) -> pred[] {
  %state = (s32[], s32[]) parameter(0)
  %n = s32[] constant(7)
  %i = s32[] get-tuple-element(%state), index=1
  ROOT %p = pred[] compare(%i, %n), direction=LT
}
%body (state: (s32[], s32[])) -> (s32[], s32[]) {
  %state = (s32[], s32[]) parameter(0)
  %other = s32[] get-tuple-element(%state), index=0
  %i = s32[] get-tuple-element(%state), index=1
  %one = s32[] constant(1)
  %held = s32[] copy(%i)
  %next = s32[] add(%held, %one)
  %copy = s32[] copy(%next)
  ROOT %new = (s32[], s32[]) tuple(%other, %copy)
}
ENTRY %main (x: s32[]) -> (s32[], s32[]) {
  %x = s32[] parameter(0)
  %zero = s32[] constant(0)
  %copy = s32[] copy(%zero)
  %state = (s32[], s32[]) tuple(%x, %copy)
  ROOT %end = (s32[], s32[]) while(%state), condition=%below_7, body=%body
}
"""


@pytest.mark.parametrize(
    ("old", "new", "trips"),
    [
        ("", "", 7),
        ("tuple(%x, %copy)", "tuple(%copy, %x)", None),  # starts at an argument
        ("constant(0)", "constant(2)", None),
        ("constant(1)", "constant(2)", None),
        ("add(%held, %one)", "add(%other, %one)", None),
        ("add(%held, %one)", "subtract(%held, %one)", None),
        ("tuple(%other, %copy)", "tuple(%copy, %other)", None),  # the next value comes from elsewhere
        ("compare(%i, %n), direction=LT", "compare(%i, %n), direction=NE", None),
        ("ROOT %p = pred[] compare(%i, %n)", "%m = s32[] negate(%i)\n  ROOT %p = pred[] compare(%m, %n)", None),
    ],
)
def test_length_of_a_loop_is_known_only_if_it_counts_from_0(old: str, new: str, trips: int | None) -> None:
    """Other loops end when their data say so."""
    assert old in LOOP
    (loop,) = hlo.loops(hlo.parse(LOOP.replace(old, new) if old else LOOP))
    assert loop.trip_count == trips


@pytest.mark.parametrize(
    ("index", "gathers"),
    [
        ("%i = s32[4,1]{1,0} constant({...})", 0),
        ("%i = s32[4,1]{1,0} iota(), iota_dimension=0", 0),
        ("%i = s32[4,1]{1,0} copy(%index)", 1),
        ("%i = s32[4,1]{1,0} fusion(%index), kind=kLoop, calls=%chosen", 1),
        ("%i = s32[4,1]{1,0} fusion(%index), kind=kLoop, calls=%fixed", 0),
    ],
)
@pytest.mark.parametrize("in_fusion", [False, True])
def test_gather_counts_if_its_indices_depend_on_a_parameter(index: str, gathers: int, in_fusion: bool) -> None:
    """The table is a parameter in all cases."""
    called = f"""
%chosen (j: s32[4,1]) -> s32[4,1] {{
  %j = s32[4,1]{{1,0}} parameter(0)
  ROOT %minus = s32[4,1]{{1,0}} negate(%j)
}}
%fixed (j: s32[4,1]) -> s32[4,1] {{
  %j = s32[4,1]{{1,0}} parameter(0)
  ROOT %rows = s32[4,1]{{1,0}} constant({{...}})
}}
%look_up (i: s32[4,1], t: f32[100,8]) -> f32[4,8] {{
  %j = s32[4,1]{{1,0}} parameter(0)
  %t = f32[100,8]{{1,0}} parameter(1)
  ROOT %found = f32[4,8]{{1,0}} {GATHER.format("%t", "%j")}
}}
"""
    gather = "fusion(%i, %table), kind=kCustom, calls=%look_up" if in_fusion else GATHER.format("%table", "%i")
    assert count(TABLE, INDEX, index, f"ROOT %g = f32[4,8]{{1,0}} {gather}", called=called).gathers == gathers


def test_text_without_an_entry_is_refused() -> None:
    with pytest.raises(ValueError, match="no ENTRY"):
        hlo.parse(ADD)


def test_program_for_the_cpu_moves_its_arguments_and_results() -> None:
    """One sum of two arrays of 4,000 bytes; then a sort of them, which is a second kernel."""
    x = jnp.zeros(1000, jnp.float32)

    def text(*arguments: jax.Array) -> str:
        return jax.jit(lambda *each: sum(each[1:], each[0])).lower(*arguments).compile().as_text() or ""

    assert hlo.count(hlo.parse(text(x, x))) == Counts(1, 0, 12_000)
    sort = jax.jit(lambda x, y: jnp.sort(x + y, stable=False)).lower(x, x).compile().as_text() or ""
    counts = hlo.count(hlo.parse(sort))
    assert counts.kernels == 2
    assert counts.bytes_moved == 12_000 + 8_000
