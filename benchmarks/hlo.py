"""Counts the kernels, bytes and gathers of a compiled program, from the text of its HLO.

    program = hlo.parse(compiled.as_text())
    hlo.count(program)                        # Counts(kernels=14, gathers=3, bytes_moved=...)

A kernel is an operation of the entry computation that the device starts by itself: a fusion, a copy, a sort, a transfer
to on-chip memory, ... Operations that cost nothing, such as constants, bitcasts and the ends of asynchronous
operations, are left out. Kernels in the body of a loop count as often as the loop repeats, if the program says how
often that is, and once otherwise. All branches of a conditional count.

The bytes are a model of the traffic between the device and its large memory:

    - Each operand of a kernel is read once, and each of its results is written once.
    - A slice or a gather reads only as many bytes as it returns, also inside of a fusion that reads the operand in no
      other way. An update of a slice and a scatter write only the update.
    - Arrays in a TPU's on-chip memory, S(1) in a layout, are free. So is the padding of its tiles.

A gather counts if its indices depend on a parameter of the program. A compiler can make copies of the others.
"""

import math
import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import starmap
from typing import NamedTuple

FREE = {
    *("parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all", "opt-barrier"),
    *("partition-id", "replica-id", "while", "call", "conditional"),  # what is in the last three counts
}
ARRAY = re.compile(r"\b([a-z]\w*)\[([\d,]*)\]((?:\{[^}]*\})?)")  # type, dimensions, layout
FREE_CALLS = {"AllocateBuffer", "ConcatBitcast"}  # calls of a TPU's compiler that move nothing


class Instruction(NamedTuple):
    """An operation of a computation."""

    name: str
    shape: str  # of the result, as in the text; a tuple is in brackets
    op: str
    operands: tuple[str, ...]  # names
    attributes: str  # the rest of the line

    def attribute(self, name: str) -> str:
        """The word behind `name=`, such as the computation of a fusion; empty if there is none."""
        found = re.search(rf'\b{name}="?%?([\w.\-]+)', self.attributes)
        return found[1] if found else ""

    def attribute_text(self, name: str) -> str:
        """The text between the quotation marks behind `name=`; empty if there is none."""
        found = re.search(rf'\b{name}="([^"]*)"', self.attributes)
        return found[1] if found else ""

    @property
    def is_free(self) -> bool:
        is_free_call = self.op == "custom-call" and self.attribute("custom_call_target") in FREE_CALLS
        return self.op in FREE or self.op.endswith("-done") or is_free_call

    @property
    def called(self) -> list[str]:
        """The computations that a loop, a conditional or a call runs; a fusion is one kernel, and runs none."""
        if self.op == "while":
            return [self.attribute("body")]
        if self.op == "call":
            return [self.attribute("to_apply")]
        if self.op != "conditional":
            return []
        of = re.search(r"\bbranch_computations={([^}]*)}", self.attributes)
        words = of[1] if of else " ".join(self.attribute(f"{word}_computation") for word in ("true", "false"))
        return re.findall(r"[\w.\-]+", words)


class Computation(NamedTuple):
    instructions: dict[str, Instruction]  # by name, operands before their users
    root: str

    @property
    def parameters(self) -> list[str]:
        """Names of the parameters, in order."""
        of_op = [each for each in self.instructions.values() if each.op == "parameter"]
        return [each.name for each in sorted(of_op, key=lambda each: int(each.attributes.partition(")")[0]))]


class Program(NamedTuple):
    computations: dict[str, Computation]
    entry: str


class Counts(NamedTuple):
    kernels: int
    gathers: int  # by indices that depend on a parameter
    bytes_moved: int


# -- reading the text -------------------------------------------------------------------------------------


def parse(text: str) -> Program:
    """Returns the computations of an optimised program; raises ValueError if the text has no entry computation."""
    computations: dict[str, Computation] = {}
    entry = name = root = ""
    instructions: dict[str, Instruction] = {}
    for line in text.splitlines():
        if header := re.match(r"(ENTRY )?%?([\w.\-]+) .*\{$", line):
            name, root, instructions = header[2], "", {}
            entry = name if header[1] else entry
        elif line.startswith("}"):
            computations[name] = Computation(instructions, root)
        elif found := re.match(r"\s+(ROOT )?%?([\w.\-]+) = (.*)", line):
            instruction = parse_instruction(found[2], found[3])
            instructions[instruction.name] = instruction
            root = instruction.name if found[1] else root
    if not entry:
        raise ValueError("the text has no ENTRY: it is not the text of an optimised program")
    return Program(computations, entry)


def parse_instruction(name: str, text: str) -> Instruction:
    """Returns the instruction of a line, `text` being the part behind "NAME = "."""
    end = closing(text, 0) + 1 if text.startswith("(") else text.index(" ")
    op, _, rest = text[end:].strip().partition("(")
    close = closing("(" + rest, 0) - 1
    operands = tuple(re.findall(r"%([\w.\-]+)", rest[:close]))
    return Instruction(name, text[:end], op, operands, rest if op in ("parameter", "constant") else rest[close + 1 :])


def closing(text: str, start: int) -> int:
    """The place of the bracket that closes the one at `start`."""
    depth = 0
    for place in range(start, len(text)):
        depth += (text[place] == "(") - (text[place] == ")")
        if depth == 0:
            return place
    raise ValueError(f"no bracket closes the one at {start} of: {text[:100]}")


def elements(shape: str) -> list[str]:
    """The shapes in a tuple; a list of one for an array."""
    if not shape.startswith("("):
        return [shape]
    found: list[str] = []
    depth = start = 0
    inner = re.sub(r"/\*.*?\*/", "", shape[1:-1])
    for place, letter in enumerate(inner):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            found.append(inner[start:place].strip())
            start = place + 1
    return [*found, inner[start:].strip()]


def nbytes(shape: str, on_chip: bool = False) -> int:
    """The bytes of an array, or of all arrays of a tuple. Those in on-chip memory count only if `on_chip`."""
    total = 0
    for kind, dims, layout in ARRAY.findall(shape):
        width = re.match(r"[a-z]+(\d+)", kind)
        bits = 8 if kind == "pred" else int(width[1]) if width else 0  # tokens have none
        if on_chip or "S(1)" not in layout:
            total += math.ceil(bits * num_elements(dims) / 8)
    return total


def num_elements(dims: str) -> int:
    """The elements of an array of dimensions such as "65536,121"; one of a number, which has none."""
    return math.prod(int(size) for size in dims.split(",") if size)


# -- counting ---------------------------------------------------------------------------------------------


def walk(program: Program, computation: str = "", times: int = 1) -> Iterator[tuple[Computation, Instruction, int]]:
    """Yields every operation of a computation, by default the entry, and of those that it calls, fusions apart.

    With each comes the computation that it belongs to, and how often it runs.
    """
    of = program.computations[computation or program.entry]
    for instruction in of.instructions.values():
        yield of, instruction, times
        for called in instruction.called:
            yield from walk(program, called, times * (trip_count(program, of, instruction) or 1))


def trip_count(program: Program, of: Computation, loop: Instruction) -> int | None:
    """How often a loop of the computation `of` repeats: what the program says, or the constant of its condition.

    The latter only with a counter that starts at 0 and grows by 1. None for other operations and loops.
    """
    known = re.search(r'known_trip_count":\s*{"n":"(\d+)"', loop.attributes)
    if known or loop.op != "while":
        return int(known[1]) if known else None
    condition, body = (program.computations[loop.attribute(word)] for word in ("condition", "body"))
    test = condition.instructions[condition.root]
    if test.op != "compare" or test.attribute("direction") != "LT":
        return None
    counter, bound = (source(condition, operand) for operand in test.operands)
    if counter.op != "get-tuple-element":
        return None
    place = int(counter.attribute("index"))  # in the tuple that the loop hands on
    start, new = source(of, loop.operands[0], place), source(body, body.root, place)
    if number(start) != 0 or new.op != "add":
        return None
    old, step = (source(body, operand) for operand in new.operands)
    is_counter = old.operands[:1] == (body.parameters[0],) and old.attribute("index") == str(place)
    return number(bound) if is_counter and number(step) == 1 else None


def source(of: Computation, name: str, place: int = 0) -> Instruction:
    """The operation behind copies that makes `name`; if a "tuple" does, the one that makes its element at `place`."""
    found = of.instructions[name]
    while found.op in ("tuple", "copy", "copy-start", "copy-done"):
        found = of.instructions[found.operands[place if found.op == "tuple" else 0]]
    return found


def number(constant: Instruction) -> int | None:
    """The integer that a constant holds; None for other operations and constants."""
    found = re.match(r"(\d+)\)", constant.attributes) if constant.op == "constant" else None
    return int(found[1]) if found else None


def count(program: Program, computation: str = "") -> Counts:
    """Counts a computation, by default the entry. A gather in the body of a loop counts once."""
    name = computation or program.entry
    kernels = moved = 0
    for of, instruction, times in walk(program, name):
        if not instruction.is_free:
            kernels += times
            moved += times * moved_bytes(program, of, instruction)
    gathers, _ = count_gathers(program, name, [True] * len(program.computations[name].parameters))
    return Counts(kernels, gathers, moved)


def count_gathers(program: Program, computation: str, varies: Sequence[bool]) -> tuple[int, bool]:
    """Counts the gathers whose indices depend on a parameter that varies; also returns whether the result varies.

    `varies` has one entry per parameter of the computation.
    """
    of = program.computations[computation]
    known = dict(zip(of.parameters, varies, strict=True))
    gathers = 0
    for name, instruction in of.instructions.items():
        operands = [known[operand] for operand in instruction.operands]
        result = any(operands)
        for each in (instruction.attribute("calls"),) if instruction.op == "fusion" else instruction.called:
            inputs = operands if instruction.op in ("fusion", "call") else [True]
            inner, result = count_gathers(program, each, inputs)
            gathers += inner
        gathers += instruction.op == "gather" and known[instruction.operands[1]]
        known.setdefault(name, result)
    return gathers, known[of.root]


def moved_bytes(program: Program, computation: Computation, kernel: Instruction) -> int:
    """Bytes that a kernel of the computation reads and writes."""
    operands = {operand: computation.instructions[operand] for operand in kernel.operands}
    if kernel.op.endswith("-start"):  # the result names source, destination and context
        parts = elements(kernel.shape)
        destination = parts[0] if kernel.op == "copy-start" else parts[-1] if len(parts) < 3 else parts[1]
        is_read = any(nbytes(operand.shape) for operand in operands.values())
        return nbytes(destination) + is_read * nbytes(destination, on_chip=True)
    if kernel.op == "fusion":
        inner, root = program.computations[kernel.attribute("calls")], ""
        inputs = list(zip(kernel.operands, inner.parameters, strict=True))
    else:  # like a fusion of one operation
        inner, root = Computation({**operands, kernel.name: kernel}, kernel.name), kernel.name
        inputs = [(operand, operand) for operand in operands]
    read = dict.fromkeys(operands, 0)
    for operand, name in inputs:
        read[operand] += read_bytes(program, inner, name)
    total = sum(min(size, nbytes(operands[name].shape)) for name, size in read.items())
    return total + written_bytes(program, inner, root or inner.root, kernel.shape)


def read_bytes(program: Program, fused: Computation, parameter: str) -> int:
    """Bytes of a parameter that a fused computation reads; whether they are in on-chip memory is left open."""
    total = 0
    for user in fused.instructions.values():
        if parameter not in user.operands:
            continue
        place = user.operands.index(parameter)
        if user.op == "bitcast":
            total += read_bytes(program, fused, user.name)
        elif user.op == "fusion":
            nested = program.computations[user.attribute("calls")]
            total += read_bytes(program, nested, nested.parameters[place])
        elif user.op in ("slice", "dynamic-slice", "gather") and place == 0:
            total += nbytes(user.shape, on_chip=True)
        elif user.op not in ("dynamic-update-slice", "scatter") or place > 0:
            return nbytes(fused.instructions[parameter].shape, on_chip=True)
    return total


def written_bytes(program: Program, fused: Computation, name: str, shape: str) -> int:
    """Bytes that a fused computation writes for its result `name`, whose shape in memory is `shape`."""
    result = fused.instructions[name]
    if result.op == "tuple":
        return sum(starmap(partial(written_bytes, program, fused), zip(result.operands, elements(shape), strict=True)))
    if nbytes(shape) == 0 or result.op == "parameter":
        return nbytes(shape)
    if result.op == "bitcast":
        return written_bytes(program, fused, result.operands[0], shape)
    if result.op == "fusion" and result.attribute("calls"):
        nested = program.computations[result.attribute("calls")]
        return written_bytes(program, nested, nested.root, shape)
    if result.op in ("dynamic-update-slice", "scatter"):
        update = result.operands[1] if result.op == "dynamic-update-slice" else result.operands[-1]
        return min(nbytes(fused.instructions[update].shape, on_chip=True), nbytes(shape))
    return nbytes(shape)


# -- what a whole program does ----------------------------------------------------------------------------

COLLECTIVES = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute", "collective-broadcast")
HOST_OPS = ("infeed", "outfeed", "send", "recv")
HOST_CALL = re.compile(r"callback|python|host", re.IGNORECASE)  # in the name of what a custom call runs


class Loop(NamedTuple):
    name: str  # the place in the traced program, such as "jit(iterate)/collect/while"
    body: str  # its computation
    trip_count: int | None  # None: it depends on data


def loops(program: Program) -> list[Loop]:
    """Returns the loops of a program, an outer one before those in its body."""
    return [
        Loop(each.attribute_text("op_name"), each.attribute("body"), trip_count(program, of, each))
        for of, each, _ in walk(program)
        if each.op == "while"
    ]


def host_calls(program: Program) -> list[str]:
    """Returns the operations that wait for the host: transfers from and to it, and calls of its functions."""
    return [
        each.attribute("custom_call_target") or each.op
        for computation in program.computations.values()
        for each in computation.instructions.values()
        if each.op in HOST_OPS
        or (each.op == "custom-call" and HOST_CALL.search(each.attribute_text("custom_call_target")))
    ]


def num_conditionals(program: Program) -> int:
    return sum(each.op == "conditional" for _, each, _ in walk(program))


class Collective(NamedTuple):
    """A transfer between devices."""

    op: str
    name: str  # the place in the traced program
    size: int  # bytes of its operands on one device
    times: int  # how often it runs


def collectives(program: Program) -> list[Collective]:
    """Returns the transfers between devices, also those inside of fusions; loops of unknown length count once."""
    found: list[Collective] = []

    def search(of: Computation, instruction: Instruction, times: int) -> None:
        op = instruction.op.removesuffix("-start")
        if op in COLLECTIVES:
            shapes = [of.instructions[operand].shape for operand in instruction.operands]
            size = sum(nbytes(shape, on_chip=True) for shape in shapes)
            found.append(Collective(op, instruction.attribute_text("op_name"), size, times))
        if op in ("fusion", "async"):
            inner = program.computations[instruction.attribute("calls")]
            for each in inner.instructions.values():
                search(inner, each, times)

    for of, instruction, times in walk(program):
        search(of, instruction, times)
        if instruction.op == "while":
            condition = program.computations[instruction.attribute("condition")]
            for each in condition.instructions.values():
                search(condition, each, times * (trip_count(program, of, instruction) or 1))
    return found
