"""Files of programs: what `Program.save` writes and `load` reads.

A file is a zip archive without compression: ``program.json``, which describes the IR, and one ``.npy`` for
each array that the function closed over, and for the state of each generator. There is no code in it, neither
Python's nor the machine's; random draws are named (`callbacks`). IR that is loaded is checked, since anybody
may have written it, and then planned, encoded and verified as if it had been recorded here.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar, get_args

import numpy as np

from tape import errors, tree
from tape.core.bit_states import KINDS
from tape.program.calls.calling import Leaf
from tape.program.calls.generators import arguments_of
from tape.program.calls.statics import Form
from tape.program.files.callbacks import callback_of, describe_callback, is_portable
from tape.program.files.structures import (
    Damaged,
    calling_of,
    generators_of,
    is_short,
    list_of,
    require,
    structures_of,
)
from tape.program.files.types import dtype_name, dtype_of, is_index, shape_of
from tape.program.ir.check import check
from tape.program.ir.instructions import IR, Guard, Instruction
from tape.program.ir.loops import Loop, all_ir
from tape.program.record.recording import Constant
from tape.transforms.loops.steps import Ending

if TYPE_CHECKING:
    from tape.program.program import Program

Built = TypeVar("Built")

_FORMAT, _VERSION = "tape program", 3
_DESCRIPTION = "program.json"


# ---- saving ------------------------------------------------------------------------------------------


def content_of(program: Program) -> bytes:
    """Return the content of a program's file; see `Program.save`."""
    description, arrays = _described(program)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(_DESCRIPTION, json.dumps(description, separators=(",", ":")))
        for number, array in enumerate(arrays):
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, array, version=(1, 0), allow_pickle=False)
            archive.writestr(f"{number}.npy", buffer.getvalue())
    return file.getvalue()


def _described(program: Program) -> tuple[dict[str, Any], list[np.ndarray]]:
    """Return the description of a program for JSON, and the arrays that are saved beside it."""
    ir = program.ir
    called = sorted({op.name for each in all_ir(ir) for op, _, _ in each.callbacks if not is_portable(op)})
    if called:
        raise errors.UnsupportedError(
            f"{program.name} calls back into Python for {', '.join(called)}, and files hold no code. Write "
            "it with operations that have instructions"
        )
    arrays: list[np.ndarray] = []
    numbers: dict[int, int] = {}  # of an array in the file, by the id of that in the IR

    def attrs_of(instruction: Instruction, ir: IR) -> list[Any]:
        if instruction.op == "constant":
            array = ir.constants[instruction.attrs[0]]
            if id(array) not in numbers:
                numbers[id(array)] = len(arrays)
                arrays.append(_portable(array))
            return [numbers[id(array)]]
        if instruction.op == "literal":
            return [instruction.attrs[1].hex()]
        if instruction.op == "callback":
            return describe_callback(*ir.callbacks[instruction.attrs[0]])
        if instruction.op == "loop":
            (loop,) = instruction.attrs
            numbers_of_loop = [loop.length, loop.constants, loop.states, loop.is_backwards, loop.ends_by]
            return [*numbers_of_loop, described(loop.body), loop.body.inputs, loop.body.outputs]
        return _plain(instruction.attrs)

    def described(ir: IR) -> list[Any]:
        return [[i.op, i.operands, attrs_of(i, ir), i.shape, dtype_name(i.dtype)] for i in ir.instructions]

    instructions = described(ir)
    constants = [_array_kind(array) for array in arrays]
    known = [None if out is None else _known(out.value, arrays) for out in program.known]
    generators = _generators(program, arrays)
    return {
        "format": _FORMAT,
        "version": _VERSION,
        "name": program.name,
        "ints": _dynamic_ints(program.calling.arguments),
        "leaves": [[_leaf_name(leaf), dtype_name(leaf.dtype), leaf.shape] for leaf in program.leaves],
        "instructions": instructions,
        "inputs": ir.inputs,
        "outputs": ir.outputs,
        "guards": [[guard.kind, guard.outcome] for guard in ir.guards],
        "donated": sorted(program.donated),
        "arrays": [_array_kind(array) for array in arrays],
        "constants": len(constants),
        "known": known,
        "generators": generators,
        "reads_layout": program.reads_layout,
        "weak": program.calling.weak,
        "trees": structures_of(program.calling, len(generators)),
    }, arrays


def _plain(value: Any) -> Any:
    """Convert tuples and numbers to JSON."""
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    return value.item() if isinstance(value, np.generic) else value


def _portable(array: np.ndarray) -> np.ndarray:
    """Return a copy in C order and in the byte order of files."""
    return np.array(array, dtype=dtype_name(array.dtype), order="C", subok=False)


def _array_kind(array: np.ndarray) -> list[Any]:
    return [dtype_name(array.dtype), array.shape]


def _leaf_name(leaf: Leaf) -> str:
    return "array" if leaf.is_array else "float" if leaf.kind is float else "scalar"


def _dynamic_ints(form: Form) -> list[int]:
    """Return which of the dynamic leaves are ints of Python."""
    dynamic = [k for k in range(tree.size(form.structure)) if k not in form.fixed]
    return [number for number, k in enumerate(dynamic) if k in form.ints]


def _generators(program: Program, arrays: list[np.ndarray]) -> list[list[Any]]:
    """Describe the generators of a program; those that are not arguments are saved in their present state."""
    generators = program.generators
    if generators is None:
        return []
    given = arguments_of(program.calling.arguments.fixed)
    described: list[list[Any]] = []
    for number, (kind, state) in enumerate(zip(generators.kinds, generators.states(), strict=True)):
        if number not in given:
            arrays.append(_portable(state))
        described.append([kind, None if number in given else len(arrays) - 1])
    return described


def _known(value: Any, arrays: list[np.ndarray]) -> list[Any]:
    """Describe a leaf of the result that is the same in every call."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        arrays.append(_portable(value))
        return ["array", len(arrays) - 1]
    if isinstance(value, np.generic) and value.dtype.kind in "biufc":
        arrays.append(_portable(np.asarray(value)))
        return ["scalar", len(arrays) - 1]
    if type(value) in (bool, int, float, str) and is_short(value):
        return ["value", value]
    raise errors.UnsupportedError(
        f"a leaf of the result is {errors.describe(value)}, of {type(value).__name__}, which files cannot "
        "hold. Return it from another function"
    )


# ---- loading -----------------------------------------------------------------------------------------


def read(file: BinaryIO, name: str, build: Callable[..., Built]) -> Built:
    """Build a program from a file of any origin.

    Parameters
    ----------
    file : binary file
        It need not be trusted.
    name : str
        Of the file, for messages.
    build : callable
        `Program.of_ir`.

    Raises
    ------
    ProgramFileError
        If the file is damaged, holds something else, or was made by another version.
    """
    try:
        return build(*_contents(file))
    except errors.ProgramFileError:
        raise
    except Damaged as flaw:
        reason = str(flaw)
    except errors.ProgramError as error:
        reason = error.args[0]
    except Exception as error:  # whatever the readers of zip, JSON and arrays raise
        reason = f"{type(error).__name__}: {error}"
    raise errors.ProgramFileError(
        f"{name} is not a program that tape has saved, or it is damaged: {reason}. Save it again"
    )


def _contents(file: BinaryIO) -> tuple[Any, ...]:
    """Return what `Program.of_ir` takes, checked."""
    with zipfile.ZipFile(file) as archive:
        _check_archive(archive, file.seek(0, io.SEEK_END))
        description = json.loads(archive.read(_DESCRIPTION))
        require(
            isinstance(description, dict) and description.get("format") == _FORMAT,
            "its format is that of something else",
        )
        version = description.get("version")
        require(
            version == _VERSION,
            f"it has version {errors.describe(version)}, and this version of tape reads {_VERSION}",
        )
        arrays = _arrays(archive, list_of(description["arrays"]))
    name = description["name"]
    require(isinstance(name, str), "the name is not text")
    leaves = [_leaf(leaf) for leaf in list_of(description["leaves"])]
    count = description["constants"]
    require(is_index(count, len(arrays) + 1), "the number of constants is wrong")
    ir = _ir(description, arrays[:count])
    check(ir)
    _check_leaves(ir, leaves)
    known = [_known_from(entry, arrays) for entry in list_of(description["known"])]
    require(sum(out is None for out in known) == len(ir.outputs), "the number of results is wrong")
    donated = _numbers(description["donated"], len(leaves))
    require(all(leaves[k].is_array for k in donated), "a donated leaf is not an array")
    weak = tuple(_numbers(description["weak"], len(known)))
    ints = frozenset(_numbers(description["ints"], len(leaves)))
    require(all(leaves[k].kind is np.int64 for k in ints), "an int is passed as something else")
    kinds, states = _generators_from(description["generators"], arrays)
    calling = calling_of(description["trees"], len(leaves), len(known), weak, ints, kinds)
    _check_weak(ir, known, weak)
    generators = generators_of(calling, kinds, states, leaves)
    reads_layout = description["reads_layout"]
    require(isinstance(reads_layout, bool), "whether it depends on memory layout is not said")
    return ir, leaves, known, calling, frozenset(donated), name, generators, reads_layout


def _numbers(value: Any, count: int) -> list[int]:
    """Return positions in a list, which must be in order, each once."""
    numbers = list_of(value)
    require(all(is_index(number, count) for number in numbers), "a position is out of range")
    require(numbers == sorted(set(numbers)), "positions are not in order")
    return numbers


def _check_archive(archive: zipfile.ZipFile, size: int) -> None:
    """Check that nothing is compressed and no parts overlap: reading takes no more memory than the file."""
    infos = archive.infolist()
    for info in infos:
        require(info.compress_type == zipfile.ZIP_STORED, f"{info.filename} is compressed")
        require(info.file_size == info.compress_size, f"{info.filename} has two sizes")
    require(sum(info.file_size for info in infos) <= size, "its parts overlap")
    require(len({info.filename for info in infos}) == len(infos), "two parts have the same name")


def _arrays(archive: zipfile.ZipFile, kinds: list[Any]) -> list[np.ndarray]:
    require(len(archive.infolist()) == len(kinds) + 1, "the number of parts is wrong")
    return [_array(archive.read(f"{number}.npy"), kind) for number, kind in enumerate(kinds)]


def _array(data: bytes, kind: Any) -> np.ndarray:
    """Read an array, after checking that the file has as many bytes as its shape needs."""
    name, lengths = list_of(kind, 2)
    dtype, shape = dtype_of(name), shape_of(lengths)
    stream = io.BytesIO(data)
    require(np.lib.format.read_magic(stream) == (1, 0), "an array has another version of the format")
    found = np.lib.format.read_array_header_1_0(stream)
    require(found == (shape, False, np.dtype(name)), "an array has another shape or dtype than described")
    body = data[stream.tell() :]
    require(len(body) == math.prod(shape) * dtype.itemsize, "an array is too long or too short")
    array = np.empty(shape, dtype)
    array[...] = np.frombuffer(body, name).reshape(shape)
    return array


def _leaf(entry: Any) -> Leaf:
    kind, name, shape = list_of(entry, 3)
    require(kind in ("array", "float", "scalar"), "a leaf has no such kind")
    dtype = dtype_of(name)
    require(kind != "float" or name == "<f8", "a Python float has another dtype than float64")
    require(kind == "array" or shape == [], "a number has axes")
    require(dtype.kind in "biufc", f"no arguments have dtype {dtype}")
    return Leaf(
        np.ndarray if kind == "array" else float if kind == "float" else dtype.type, shape_of(shape), dtype
    )


def _ir(description: dict[str, Any], constants: list[np.ndarray]) -> IR:
    ends = list_of(description["inputs"]), list_of(description["outputs"])
    ir = _ir_of(description["instructions"], *ends, constants)
    ir.guards = [_guard(*list_of(entry, 2)) for entry in list_of(description["guards"])]
    return ir


def _guard(kind: Any, outcome: Any) -> Guard:
    return Guard(kind, tuple(outcome) if isinstance(outcome, list) else outcome)


def _ir_of(entries: Any, inputs: list[Any], outputs: list[Any], arrays: list[np.ndarray]) -> IR:
    ir = IR(inputs=inputs, outputs=outputs)
    own: dict[int, int] = {}  # numbers of its constants, by those in the file
    for entry in list_of(entries):
        op, operands, attrs, shape, name = list_of(entry, 5)
        dtype = dtype_of(name)
        if op == "literal":
            known: tuple[Any, ...] = (dtype.char, bytes.fromhex(list_of(attrs, 1)[0]))
        elif op == "callback":
            ir.callbacks.append(callback_of(attrs))
            known = (len(ir.callbacks) - 1,)
        else:
            known = (_loop(attrs, arrays),) if op == "loop" else _tuples(attrs)
        if op == "constant":
            require(len(known) == 1 and is_index(known[0], len(arrays)), "a constant is out of range")
            if known[0] not in own:
                own[known[0]] = len(own)
                ir.constants.append(arrays[known[0]])
            known = (own[known[0]],)
        ir.instructions.append(Instruction(op, tuple(list_of(operands)), known, tuple(list_of(shape)), dtype))
    return ir


def _loop(entry: Any, arrays: list[np.ndarray]) -> Loop:
    length, constants, states, is_backwards, ends_by, instructions, inputs, outputs = list_of(entry, 8)
    require(all(is_index(number, 1 << 40) for number in (length, constants, states)), "a loop has no length")
    require(type(is_backwards) is bool, "a loop has no direction")
    require(ends_by in get_args(Ending), "a loop has no end")
    body = _ir_of(instructions, list_of(inputs), list_of(outputs), arrays)
    check(body)  # before anything asks what its inputs are
    return Loop(body, length, constants, states, is_backwards, ends_by)


def _tuples(attrs: Any) -> tuple[Any, ...]:
    return tuple([_tuples(attr) if type(attr) is list else attr for attr in list_of(attrs)])


def _check_leaves(ir: IR, leaves: Sequence[Leaf]) -> None:
    """Check that every input of the IR has the type of its leaf."""
    require(len(leaves) == len(ir.inputs), "the number of inputs is wrong")
    for id, leaf in zip(ir.inputs, leaves, strict=True):
        if id is not None:
            instruction = ir.instructions[id]
            fits = (instruction.shape, instruction.dtype) == (leaf.shape, leaf.dtype)
            require(fits and instruction.dtype.kind in "biufc", "an input has another type than its leaf")


def _known_from(entry: Any, arrays: Sequence[np.ndarray]) -> Constant | None:
    if entry is None:
        return None
    kind, value = list_of(entry, 2)
    if kind == "value":
        require(type(value) in (bool, int, float, str), "a constant result is malformed")
        return Constant(value)
    require(kind in ("array", "scalar") and is_index(value, len(arrays)), "a constant result is malformed")
    return Constant(arrays[value] if kind == "array" else arrays[value][()])


def _generators_from(entries: Any, arrays: Sequence[np.ndarray]) -> tuple[list[str], list[np.ndarray | None]]:
    """Return the kind of each generator, and the state of those that are not arguments."""
    kinds, states = [], []
    for kind, number in (list_of(entry, 2) for entry in list_of(entries)):
        require(type(kind) is str and kind in KINDS, "a generator has no such kind")
        require(number is None or is_index(number, len(arrays)), "the state of a generator is missing")
        kinds.append(kind)
        states.append(None if number is None else arrays[number])
    return kinds, states


def _check_weak(ir: IR, known: Sequence[Constant | None], weak: Sequence[int]) -> None:
    """Check that results which become Python numbers are computed, and are single numbers."""
    computed = iter(ir.outputs)
    outputs = [next(computed) if out is None else None for out in known]
    for k in weak:
        id = outputs[k]
        require(id is not None, "a Python number in the result is not computed")
        assert id is not None
        out = ir.instructions[id]
        require(
            out.shape == () and out.dtype.kind in "bifc",
            "a Python number in the result is not a single number",
        )
