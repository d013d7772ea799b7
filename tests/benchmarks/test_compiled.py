"""benchmarks.compiled: its counts, its rows, and what it stores and compares."""

import json
from pathlib import Path
from typing import Any

import jax
import pytest

import jaxgames
from benchmarks import compiled
from benchmarks.compiled import bound, count, grown
from tests.benchmarks.conftest import RunCommand

GAME = "dots_and_boxes(rows=1, cols=2)"
LINE = f"compiled '{GAME}' --target h200 --parts mask observe --boards 8"

PROGRAM = """HloModule jit_play, is_scheduled=true, entry_computation_layout={(s32[8]{0})->(pred[8,5]{1,0})}

%add (x: s32[], y: s32[]) -> s32[] {
  %x = s32[] parameter(0)
  %y = s32[] parameter(1)
  ROOT %sum = s32[] add(%x, %y)
}

%fused (p: pred[8,1], q: s8[9], i: s32[8,1]) -> (pred[8,5], s8[8]) {
  %p = pred[8,1]{1,0} parameter(0)
  %five = pred[8,5]{1,0} concatenate(%p, %p, %p, %p, /*index=4*/%p), dimensions={1}, metadata={op_name="stack"}
  %four = pred[8,4]{1,0} concatenate(%p, %p, %p, %p), dimensions={1}
  %rows = pred[40,1]{1,0} concatenate(%p, %p, %p, %p, /*index=4*/%p), dimensions={0}
  %q = s8[9]{0} parameter(1)
  %i = s32[8,1]{1,0} parameter(2)
  %found = s8[8]{0} gather(%q, %i), offset_dims={}, slice_sizes={1}
  ROOT %both = (pred[8,5]{1,0}, s8[8]{0}) tuple(%five, %found)
}

ENTRY %main (p.1: pred[8,1], q.1: s8[9], i.1: s32[8,1]) -> (pred[8,5], s8[8]) {
  %p.1 = pred[8,1]{1,0} parameter(0)
  %q.1 = s8[9]{0} parameter(1)
  %i.1 = s32[8,1]{1,0} parameter(2)
  %both.1 = (pred[8,5]{1,0}, s8[8]{0}) fusion(%p.1, %q.1, %i.1), kind=kLoop, calls=%fused
  %five.1 = pred[8,5]{1,0} get-tuple-element(%both.1), index=0
  %start = (pred[8,5]{1,0:T(8,128)S(1)}, pred[8,5]{1,0}, u32[]) copy-start(%five.1)
  %done = pred[8,5]{1,0:T(8,128)S(1)} copy-done(%start)
  %free = pred[8,5]{1,0} custom-call(%done), custom_call_target="ConcatBitcast"
  ROOT %copy = pred[8,5]{1,0} copy(%done)
}
"""


def row(kernels: int, bytes_per_board: float, part: str = "mask", concatenates: int = 0) -> dict[str, Any]:
    figures = {"kernels": kernels, "gathers": 0, "concatenates": concatenates, "bytes_per_board": bytes_per_board}
    return {"target": "h200", "game": GAME, "part": part, **figures}


def test_program_has_the_counts_of_its_text() -> None:
    """A fusion, the start of a transfer and a copy; of the transfer 40 bytes are outside of on-chip memory.

    The fusion reads 8 + 9 + 32 bytes and writes 40 + 8, the copy reads from on-chip memory and writes 40. Of the three
    concatenates one has more than four parts along the minor axis.
    """
    counts = count(PROGRAM)
    assert (counts["kernels"], counts["gathers"], counts["concatenates"]) == (3, 1, 1)
    assert counts["bytes"] == (8 + 9 + 32) + (40 + 8) + 40 + 40


def test_kernels_of_a_loop_count_once() -> None:
    looped = PROGRAM.replace("ENTRY %main", "%main") + (
        "ENTRY %outer (a: pred[8,5]) -> pred[8,5] {\n"
        "  %a = pred[8,5]{1,0} parameter(0)\n"
        "  ROOT %loop = pred[8,5]{1,0} while(%a), condition=%add, body=%main\n"
        "}\n"
    )
    assert count(looped) == count(PROGRAM)


def test_bounds_are_arrays_that_a_part_reads_and_writes() -> None:
    """A row of two boxes has 7 edges and is observed as 3 x 5 places of 3 planes."""
    game = jaxgames.make(GAME)
    env = jaxgames.auto_reset(game)
    assert bound(env, "mask") == game.state_bytes + 7
    assert bound(env, "observe") == game.state_bytes + 45
    assert bound(env, "step") == 2 * env.state_bytes + 4
    assert bound(env, "random play") == 2 * env.state_bytes + 7 + 45


def test_check_fails_if_a_figure_is_a_tenth_above_the_stored_one(
    run_command: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This CPU stands for the device. Every board writes 45 bytes of observation or 7 of mask, from 7 edges."""
    monkeypatch.setattr(compiled, "check_package", lambda target: None)
    monkeypatch.setattr(compiled, "described_device", lambda target: jax.devices()[0])
    file = tmp_path / "compiled.json"
    mask, observe = run_command(f"{LINE} --write --file {file}")["rows"]
    assert mask["bytes_per_board"] >= 7 + 7
    assert observe["bytes_per_board"] >= 7 + 45
    stored = json.loads(file.read_text())
    assert run_command(f"{LINE} --check --file {file}")["grown"] == []
    stored["rows"][1]["kernels"] *= 0.9  # of observe
    file.write_text(json.dumps(stored))
    with pytest.raises(SystemExit, match=r"grew by more than 10%:\n  h200, .*cols=2\), observe: \d+ kernels, stored"):
        run_command(f"{LINE} --check --file {file}")


def test_figure_has_grown_above_eleven_tenths() -> None:
    stored = [row(10, 100.0), row(10, 100.0, "step")]
    assert grown(stored, [row(11, 110.0), row(10, 90.0, "step")]) == []
    found = grown(stored, [row(12, 110.0), row(10, 111.0, "step", concatenates=1)])
    figures = ["mask: 12 kernels, stored 10", "step: 1 concatenates, stored 0", "step: 111 bytes per board, stored 100"]
    assert found == [f"h200, {GAME}, {figure}" for figure in figures]
