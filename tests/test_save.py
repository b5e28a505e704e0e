"""Programs in files: what comes back does the same, and no file does harm."""

import io
import json
import random
import struct
import subprocess
import sys
import warnings
import zipfile
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import tape
from tape import errors
from tape.program.files.structures import structures_of
from tape.program.ir.check import check
from tape.program.ir.rewrite import rewrite
from tape.program.program import Program
from tape.program.record.recording import record
from tests import mutated_files
from tests.compiled import alike, called_back
from tests.mutated_files import at_place, check_harmless, parts_of, places_in, replaced, zipped
from tests.op_table import TWO_OF_EACH, a_third, one_of_each
from tests.oracles import gradient_of_sines
from tests.tiers import is_full, rounds, some, takes_long


def functions_of(case):
    """A case, and its gradient by all floats; in the plain tier the gradient alone, if there is one."""
    f, args = case.on(tape.ops), case.args()
    if is_full() or not case.has_derivative:
        yield f
    if case.has_derivative:
        yield gradient_of_sines(f, args)


def recorded(f, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.ConstantResultWarning)
        return record(f, args, {}, "f")


@cache
def recordings_of(case):
    """What is recorded of the functions of a case, by several tests."""
    return [recorded(f, *case.args()) for f in functions_of(case)]


@cache
def irs_of(case):
    return [rewrite(recording) for recording in recordings_of(case)]


def only(compiled):
    (program,) = compiled.programs.values()
    return program


def saved(f, *args, donate=(), **kwargs):
    """The program of a call."""
    compiled = tape.compile(f, donate=donate)
    compiled(*args, **kwargs)
    return only(compiled)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "f.tape"


def reload(program, path):
    program.save(path)
    return tape.load(path)


# ---- round trips -------------------------------------------------------------------------------------


@takes_long
def test_every_operation_comes_back_as_it_was(path):
    """But for rows that read constants with gaps, or in Fortran's order: they are saved in C's."""
    loaded = 0
    for case in a_third(one_of_each(TWO_OF_EACH), 0):
        for recording in recordings_of(case):
            args = tuple(case.args())
            program = Program(recording)
            if program.explain().callbacks:
                with pytest.raises(errors.UnsupportedError, match="calls back into Python for "):
                    program.save(path)
                continue
            other = reload(program, path)
            if case.op != "scipy.linalg.qr_multiply" and "copy(c" not in str(program):
                assert str(other).splitlines()[1:] == str(program).splitlines()[1:]
                if all(array.flags.c_contiguous for array in program.ir.constants):
                    assert len(other) == len(program)
            for a, b in zip(other.run(args), program.run(args), strict=True):
                np.testing.assert_array_equal(a, b)
            loaded += 1
    assert loaded > (150 if is_full() else 50)


@takes_long
def test_every_listing_passes_the_type_checker():
    for case in a_third(one_of_each(TWO_OF_EACH), 1):
        for ir in irs_of(case):
            check(ir)
        for f in functions_of(case):
            check(rewrite(recorded(f, *case.args(np.float32))))


def attributes_unlike(attrs):
    """Other attributes: one more, one less, and one of another type."""
    yield from ((), (*attrs, 0), attrs[:-1])
    for k, attr in enumerate(attrs):
        for other in (None, object(), 1.5, "x", True, 1):
            if type(other) is not type(attr):
                yield (*attrs[:k], other, *attrs[k + 1 :])


@takes_long
def test_attributes_of_other_types_do_not_pass_the_type_checker():
    """Of one instruction for each kind, and for each combination of types of its attributes."""
    seen = set()
    for case in one_of_each(TWO_OF_EACH):
        for ir in irs_of(case):
            for instruction in ir.instructions:
                op, attrs = instruction.op, instruction.attrs
                kind = op, tuple(map(type, attrs))
                if not attrs or kind in seen:
                    continue
                seen.add(kind)
                for instruction.attrs in attributes_unlike(attrs):
                    if not (op == "matmul" and not instruction.attrs):  # whose factor may be missing
                        with pytest.raises(errors.ProgramError):
                            check(ir)
                instruction.attrs = attrs
    assert {"fold", "take", "ravel_index", "add_at", "kernel", "literal"} <= {op for op, _ in seen}


class Pair(NamedTuple):
    first: Any
    second: Any


@dataclass
class Model:
    w: Any


arrays = st.integers(0, 3).map(lambda n: np.arange(n + 1.0))
leaves = arrays | st.floats(-9, 9) | st.integers(-3, 3) | st.booleans() | st.text(max_size=3) | st.none()
trees = st.recursive(
    leaves,
    lambda parts: (
        st.lists(parts, max_size=3)
        | st.tuples(parts, parts)
        | st.dictionaries(st.text(max_size=3) | st.integers(-3, 3), parts, max_size=3)
    ),
    max_leaves=8,
)


@given(trees, trees)
@settings(
    max_examples=rounds(25, plain=10),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_arguments_and_results_are_the_same_trees(path, a, b):
    def f(a, *, b):
        return {"a": a, "b": b, "again": [a, (b, None, 2 * np.ones(2))]}

    program = saved(f, a, b=b)
    other = reload(program, path)
    alike(other(a, b=b), f(a, b=b))
    alike(program(a, b=b), f(a, b=b))


def test_a_training_step_comes_back(path):
    def step(p, x, t, rate):
        def loss(p):
            return np.mean((np.tanh(x @ p["a"] + p["b"]) @ p["c"] - t) ** 2)

        value, grads = tape.value_and_grad(loss)(p)
        return value, {name: w - rate * grads[name] for name, w in p.items()}

    rng = np.random.default_rng(0)
    p = {"a": rng.normal(size=(8, 9)), "b": np.zeros(9), "c": rng.normal(size=(9, 2))}
    x, t = rng.normal(size=(200, 8)), rng.normal(size=(200, 2))
    step_again = reload(saved(step, p, x, t, 0.1), path)
    q = p
    for _ in range(3):
        (value, p), (other, q) = step(p, x, t, 0.1), step_again(q, x, t, 0.1)
        alike(other, value)
        alike(q, p)


def test_numbers_keep_their_kinds(path):
    def f(x, y, z, n):
        return x * y, x + 1, z * 2, np.float32(3), 4, True, "five", y

    args = (np.ones(2, np.float32), 2.5, np.float32(1.5), np.arange(3))
    alike(reload(saved(f, *args), path)(*args), f(*args))


DTYPES = [np.dtype(letter) for letter in "?bBhHiIlLefdFD"]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_numbers_of_every_dtype_come_back_with_it(path, dtype):
    """As arguments, as what a function closes over, and as results that are the same in every call."""
    table, number = np.array([[0, 1, 0], [1, 1, 0]]).astype(dtype), np.array([0, 1]).astype(dtype)[1]
    program = saved(lambda x: (x, table[:, 1:], number), table)
    for _ in range(2):
        alike(program(table), (table, table[:, 1:], number))
        program = reload(program, path)


@pytest.mark.parametrize("value", [True, 3, -(2**4000), 1.5, float("inf"), "text", ""])
def test_results_that_are_plain_values_come_back(path, value):
    out = reload(saved(lambda x: (value, x), np.ones(2)), path)(np.ones(2))[0]
    assert (type(out), out) == (type(value), value)


NO_NUMBERS = [2**4095, -(2**4096), 1j, b"bytes", np.datetime64("2020"), np.array("text")]


@pytest.mark.parametrize("value", NO_NUMBERS)
def test_results_that_are_no_numbers_of_a_file_are_refused(path, value):
    with pytest.raises(errors.UnsupportedError, match="which files cannot hold"):
        saved(lambda x: (value, x), np.ones(2)).save(path)


def test_constants_are_copies(path):
    closed_over = np.asfortranarray(np.arange(6.0).reshape(2, 3))[::-1]
    returned = np.arange(3)
    program = saved(lambda x: (x @ closed_over, returned), np.ones(2))
    program.save(path)
    expected = closed_over.sum(axis=0)
    closed_over *= 2
    other = tape.load(path)
    np.testing.assert_array_equal(other(np.ones(2))[0], expected)
    np.testing.assert_array_equal(program(np.ones(2))[0], 2 * expected)
    other(np.ones(2))[1][:] = 7  # nor are results the program's own
    np.testing.assert_array_equal(other(np.ones(2))[1], np.arange(3))


def test_donated_memory_is_written_to(path):
    program = reload(saved(lambda w, x: w - x, np.ones(3), np.ones(3), donate=0), path)
    w = np.full(3, 5.0)
    assert program(w, np.ones(3)) is w
    np.testing.assert_array_equal(w, 4.0)
    np.testing.assert_array_equal(program(w, w), 0.0)
    w.flags.writeable = False
    with pytest.raises(errors.InPlaceError, match="read-only"):
        program(w, np.ones(3))


def test_structures_of_ones_own_are_saved_flat(path):
    for tree in (Pair(np.ones(2), 3.0), Model(np.ones(2))):
        program = saved(lambda tree, x: (tree, x * 2), tree, np.ones(2))
        other = reload(program, path)
        flat = [np.ones(2), 3.0, np.ones(2)] if isinstance(tree, Pair) else [np.ones(2), np.ones(2)]
        found = other(*flat)
        assert type(found) is list
        for a, b in zip(found, [*flat[:-1], 2 * np.ones(2)], strict=True):
            np.testing.assert_array_equal(a, b)
        with pytest.raises(errors.ShapeError, match="is a program for arguments"):
            other(tree, np.ones(2))


def test_arguments_that_files_cannot_hold_are_saved_flat(path):
    program = saved(lambda x, dtype: x.astype(dtype), np.ones(2), np.float32)
    assert reload(program, path)(np.ones(2))[0].dtype == np.float32


def test_another_process_reads_it(path):
    program = saved(lambda p, n: {"y": np.tanh(p["x"]) * n}, {"x": np.arange(3.0)}, 2)
    program.save(path)
    code = (
        "import sys, numpy as np, tape\n"
        "program = tape.load(sys.argv[1])\n"
        "print(program({'x': np.arange(3.0)}, 2)['y'].tolist())"
    )
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == program({"x": np.arange(3.0)}, 2)["y"].tolist()


# ---- calls that a program is not for -------------------------------------------------------------------


def test_another_path_is_an_error_and_no_wrong_answer(path):
    def f(x):
        return 2 * x if np.sum(x) > 0 else -x

    for program in (saved(f, np.ones(2)), reload(saved(f, np.ones(2)), path)):
        np.testing.assert_array_equal(program(np.ones(2)), [2, 2])
        with pytest.raises(errors.UnsupportedError, match="one path only, on which it reads True"):
            program(-np.ones(2))


def test_arguments_of_another_kind_are_refused(path):
    program = reload(saved(lambda x, s, n: x * s, np.ones(2), 1.5, 3), path)
    for args, kind, what in (
        ((np.ones(3), 1.5, 3), errors.ShapeError, "has shape"),
        ((np.ones(2, np.float32), 1.5, 3), errors.DTypeError, "is float32"),
        (([1.0, 2.0], 1.5, 3), errors.ShapeError, "is a program for arguments"),
        ((1.0, 1.5, 3), errors.DTypeError, "for an array of float64"),
        ((np.ones(2), np.float64(1.5), 3), errors.DTypeError, "for a Python float"),
        ((np.ones(2), 1.5, 4), errors.OptionError, "for 3 only"),
        ((np.ones(2), 1.5, True), errors.OptionError, "for 3 only"),
        ((np.ones(2), 1.5), errors.ShapeError, "is a program for arguments"),
        ((tape.Trace().param(np.ones(2)), 1.5, 3), errors.DTypeError, "of Var"),
    ):
        with pytest.raises(kind, match=what):
            program(*args)
    np.testing.assert_array_equal(program(np.ones((2, 2))[:, 0], 2.0, 3), [2, 2])


def test_numbers_without_a_result_are_told(path):
    solve = reload(saved(lambda a, b: np.linalg.solve(a, b), np.eye(2), np.ones(2)), path)
    with pytest.raises(errors.SingularMatrixError, match="singular"):
        solve(np.zeros((2, 2)), np.ones(2))
    take = reload(saved(lambda x, i: x[i], np.ones(2), np.array([1])), path)
    with pytest.raises(errors.OutOfBoundsError, match="out of range"):
        take(np.ones(2), np.array([2]))


# ---- what cannot be saved ------------------------------------------------------------------------------


def test_what_files_cannot_hold_is_refused(path):
    for f, dtype, what in (
        (lambda x: called_back(x), float, "Python for called_back, and"),
        (lambda x: (x, object()), float, "leaf of the result is <object"),
        (lambda x: np.ones(2), np.longdouble, "are not the same everywhere"),
    ):
        with pytest.raises(errors.UnsupportedError, match=what):
            saved(f, np.ones(2, dtype)).save(path)
    assert not path.exists()


# ---- damaged and hostile files ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def example_file(tmp_path_factory):
    """The bytes of a file with some of everything."""
    table = np.arange(12.0).reshape(3, 4)

    def f(p, i, n, s):
        x = np.concatenate([np.tanh(p["x"] @ table), p["x"].T], axis=1) if s > 0 else p["x"]
        value, grad = tape.value_and_grad(lambda x: np.sum(x[:, i].max(axis=0)) * s / n)(x)
        return {"value": value, "grad": grad, "half": s / 2}, table, 3, "text", np.where(x > s, x, i[0])

    path = tmp_path_factory.mktemp("programs") / "example.tape"
    saved(f, {"x": np.arange(9.0).reshape(3, 3) / 9}, np.array([0, 1]), 2, 1.5).save(path)
    return path.read_bytes()


def test_the_example_is_accepted(example_file, path):
    assert check_harmless(path, example_file)


@takes_long
@pytest.mark.parametrize("change", mutated_files.CHANGES)
def test_changed_files_are_refused_or_harmless(example_file, path, change):
    rng = random.Random(1)
    accepted = sum(check_harmless(path, change(rng, example_file)) for _ in range(rounds(300)))
    assert accepted > rounds(2, plain=0)  # names, numbers and such


def test_files_changed_at_random_crash_no_process():
    accepted, wrong = mutated_files.campaign(rounds(40), first=10**6)
    assert wrong == {}
    assert 0 < accepted < rounds(40)


@given(st.binary(max_size=200))
@example(b"")
@example(b"PK\x05\x06" + bytes(18))
@settings(
    max_examples=rounds(50),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_arbitrary_bytes(path, data):
    assert not check_harmless(path, data)


def test_lists_cut_short_or_doubled(example_file, path):
    parts = parts_of(example_file)
    for place in some(places_in(json.loads(parts["program.json"])), every=3):
        changed = json.loads(parts["program.json"])
        value = at_place(changed, place)
        if type(value) is list and value:
            for new in (value[:-1], value[1:], value + value[-1:], value[::-1]):
                replaced(changed, place, new)
                check_harmless(path, zipped({**parts, "program.json": json.dumps(changed)}))
        elif type(value) is dict:
            for key in value:
                less = {name: part for name, part in value.items() if name != key}
                data = less if not place else (replaced(changed, place, less), changed)[1]
                assert not check_harmless(path, zipped({**parts, "program.json": json.dumps(data)}))


def refused(path, data, match):
    path.write_bytes(data)
    with pytest.raises(errors.ProgramFileError, match=match) as caught:
        tape.load(path)
    assert str(path) in str(caught.value)


def test_bombs(example_file, path):
    parts = parts_of(example_file)
    refused(path, zipped(parts, zipfile.ZIP_DEFLATED), "is compressed")
    description = json.loads(parts["program.json"])
    description["arrays"][0][1] = [2**36]
    refused(path, zipped({**parts, "program.json": json.dumps(description)}), "another shape")
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (2**36,)})
    bomb = {**parts, "program.json": json.dumps(description), "0.npy": header.getvalue()}
    refused(path, zipped(bomb), "too long or too short")
    refused(path, zipped({**parts, "program.json": b"[" * 10**6}), "RecursionError")
    refused(path, zipped({**parts, "more.npy": b""}), "number of parts")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zipfile finds it strange as well
        for name, data in (*parts.items(), ("0.npy", b"")):
            archive.writestr(name, data)
    refused(path, buffer.getvalue(), "the same name")


def test_parts_that_claim_to_be_longer_than_the_file(example_file, path):
    size = len(parts_of(example_file)["0.npy"])
    for claimed in (2**31, 2**32 - 2):
        data = example_file.replace(struct.pack("<LL", size, size), struct.pack("<LL", claimed, claimed))
        assert data != example_file
        refused(path, data, "overlap")


def test_arrays_of_objects_are_no_arrays(example_file, path):
    parts = parts_of(example_file)
    buffer = io.BytesIO()
    np.save(buffer, np.array([print, None], object), allow_pickle=True)
    refused(path, zipped({**parts, "0.npy": buffer.getvalue()}), "another shape or dtype")
    description = json.loads(parts["program.json"])
    description["arrays"][0] = ["|O", [2]]
    changed = {**parts, "program.json": json.dumps(description), "0.npy": buffer.getvalue()}
    refused(path, zipped(changed), "no dtype")


def test_other_formats_and_versions(example_file, path):
    parts = parts_of(example_file)
    for key, value, match in (("version", 2, "has version 2"), ("format", "else", "something else")):
        description = {**json.loads(parts["program.json"]), key: value}
        refused(path, zipped({**parts, "program.json": json.dumps(description)}), match)
    refused(path, zipped({"other": b""}), "KeyError")
    refused(path, b"not a zip", "BadZipFile")
    with pytest.raises(FileNotFoundError):
        tape.load(path.parent / "missing")


LEAF, NONE = ["leaf"], ["none"]


def call_of(*args, kwargs=()):
    return ["tuple", [["tuple", list(args)], ["dict", [list(item) for item in kwargs]]]]


TWO, CALL = ["list", [LEAF, LEAF]], call_of(LEAF, LEAF)
TREES = {  # of arguments and result, with two leaves each
    "positional and by keyword": ([call_of(LEAF, NONE, kwargs=[("k", LEAF)]), ["tuple", [LEAF, LEAF]]], None),
    "nested": ([call_of(["list", [LEAF, ["dict", [[3, LEAF]]]]]), ["dict", [["a", LEAF], [1, LEAF]]]], None),
    "fixed": ([call_of(LEAF, LEAF, ["fixed", 3], ["fixed", True], ["fixed", "a"]), TWO], None),
    "one argument too few": ([call_of(LEAF), TWO], "another number of leaves"),
    "one argument too many": ([call_of(LEAF, LEAF, LEAF), TWO], "another number of leaves"),
    "fixed in place of one": ([call_of(LEAF, ["fixed", 1]), TWO], "another number of leaves"),
    "fixed list": ([call_of(LEAF, LEAF, ["fixed", [1]]), TWO], "has no such type"),
    "fixed float": ([call_of(LEAF, LEAF, ["fixed", 1.5]), TWO], "has no such type"),
    "no call, a list": ([["list", CALL[1]], TWO], "not those of a call"),
    "no call, no keywords": ([["tuple", [["tuple", [LEAF, LEAF]]]], TWO], "not those of a call"),
    "no call, keywords first": ([["tuple", CALL[1][::-1]], TWO], "not those of a call"),
    "keyword that is a number": ([call_of(LEAF, kwargs=[(1, LEAF)]), TWO], "not those of a call"),
    "a result too few": ([CALL, LEAF], "tree of the result"),
    "a result too many": ([CALL, ["list", [LEAF] * 3]], "tree of the result"),
    "a fixed result": ([CALL, ["list", [LEAF, ["fixed", 1]]]], "tree of the result"),
    "key twice": ([CALL, ["dict", [["a", LEAF], ["a", LEAF]]]], "there twice"),
    "key that is none": ([CALL, ["dict", [[None, LEAF], ["a", LEAF]]]], "a key is malformed"),
    "key that is a bool": ([CALL, ["dict", [[True, LEAF], ["a", LEAF]]]], "a key is malformed"),
    "unknown kind": ([CALL, ["set", [LEAF, LEAF]]], "a branch has no such kind"),
    "kind without parts": ([CALL, ["list"]], "a list is missing"),
    "leaf with parts": ([CALL, ["list", [LEAF, ["leaf", 1]]]], "a list is missing"),
    "none with parts": ([call_of(LEAF, LEAF, ["none", 1]), TWO], "a list is missing"),
    "fixed without a value": ([call_of(LEAF, LEAF, ["fixed"]), TWO], "a list is missing"),
    "key without a value": ([CALL, ["dict", [["a", LEAF], ["b"]]]], "a list is missing"),
    "one tree": ([CALL], "a list is missing"),
}  # fmt: skip


@pytest.fixture(scope="module")
def two_of_each(tmp_path_factory):
    """The parts of a file of a program that takes two arrays and returns two."""
    path = tmp_path_factory.mktemp("programs") / "two.tape"
    saved(lambda x, y: (x * 2, y * 3), np.ones(2), np.ones(3)).save(path)
    return parts_of(path.read_bytes())


def with_fields(parts, **changes):
    """A file with these parts whose description says something else."""
    description = {**json.loads(parts["program.json"]), **changes}
    return zipped({**parts, "program.json": json.dumps(description)})


@pytest.mark.parametrize("name", TREES)
def test_trees_that_nobody_has_saved_are_refused(two_of_each, path, name):
    trees, reason = TREES[name]
    data = with_fields(two_of_each, trees=trees)
    if reason is None:
        path.write_bytes(data)
        assert structures_of(tape.load(path).calling) == trees
    else:
        refused(path, data, reason)


def changed_at(value, place, new):
    """A JSON value with something else in a place."""
    changed = json.loads(json.dumps(value))
    replaced(changed, place, new)
    return changed


WRONG_FIELDS = [
    ("name", (), 3, "the name is not text"),
    ("leaves", (0,), ["text", "<f8", []], "a leaf has no such kind"),
    ("leaves", (0,), ["float", "<f4", []], "another dtype than float64"),
    ("leaves", (0, 0), "scalar", "a number has axes"),
    ("leaves", (0, 1), "<f9", "no dtype"),
    ("leaves", (0, 1), 8, "no dtype"),
    ("leaves", (0, 1), "|b1", "no arguments have dtype|another type than its leaf"),
    ("leaves", (0, 1), "<f4", "another type than its leaf"),
    ("leaves", (0, 2), [3], "another type than its leaf"),
    ("leaves", (0, 2), [-2], "a shape is not a list of lengths"),
    ("leaves", (0, 2), [2.0], "a shape is not a list of lengths"),
    ("leaves", (0, 2), [True], "a shape is not a list of lengths"),
    ("leaves", (), [["array", "<f8", [2]]], "the number of inputs is wrong"),
    ("constants", (), -1, "the number of constants is wrong"),
    ("constants", (), 1, "the number of constants is wrong"),
    ("constants", (), False, "the number of constants is wrong"),
    ("donated", (), [2], "a position is out of range"),
    ("donated", (), [-1], "a position is out of range"),
    ("donated", (), [True], "a position is out of range"),
    ("donated", (), {}, "a list is missing"),
    ("outputs", (), "", "a list is missing"),
    ("guards", (), {}, "a list is missing"),
    ("instructions", (0, 1), {}, "a list is missing"),
    ("instructions", (0, 3), "", "a list is missing"),
    ("donated", (), [1, 0], "positions are not in order"),
    ("donated", (), [0, 0], "positions are not in order"),
    ("weak", (), [2], "a position is out of range"),
    ("weak", (), [0], "not a single number"),
    ("known", (), [None], "the number of results is wrong"),
    ("known", (), [None, None, None], "the number of results is wrong"),
    ("known", (1,), ["value", 3], "the number of results is wrong"),
    ("known", (1,), ["value", [3]], "a constant result is malformed"),
    ("known", (1,), ["array", 0], "a constant result is malformed"),
    ("known", (1,), ["arrays", 0], "a constant result is malformed"),
    ("arrays", (), [["<f8", []]], "the number of parts is wrong"),
]


@pytest.mark.parametrize(("field", "place", "new", "reason"), WRONG_FIELDS)
def test_fields_that_nobody_has_saved_are_refused(two_of_each, path, field, place, new, reason):
    old = json.loads(two_of_each["program.json"])[field]
    refused(path, with_fields(two_of_each, **{field: changed_at(old, place, new) if place else new}), reason)


def test_donated_leaves_of_a_file_are_arrays_and_may_be_all_of_them(path):
    saved(lambda x, s: x * s, np.ones(2), 1.5).save(path)
    parts = parts_of(path.read_bytes())
    path.write_bytes(with_fields(parts, donated=[0]))
    assert tape.load(path).donated == {0}
    refused(path, with_fields(parts, donated=[0, 1]), "a donated leaf is not an array")


def test_arrays_that_say_something_else_than_the_description_are_refused(path):
    saved(lambda x: x * np.arange(3.0), np.ones(3)).save(path)
    parts = parts_of(path.read_bytes())
    path.write_bytes(zipped(parts))
    np.testing.assert_array_equal(tape.load(path)(np.ones(3)), np.arange(3.0))
    body = parts["0.npy"]
    for other, reason in (
        (body[:-1], "too long or too short"),
        (body + b"0", "too long or too short"),
        (with_header(np.arange(3.0), version=(2, 0)), "another version of the format"),
        (with_header(np.arange(4.0)), "another shape or dtype"),
        (with_header(np.arange(3)), "another shape or dtype"),
        (with_header(np.arange(3.0, dtype=">f8")), "another shape or dtype"),
    ):
        refused(path, zipped({**parts, "0.npy": other}), reason)


def with_header(array, version=(1, 0)):
    """What `numpy.save` writes."""
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, version=version)
    return buffer.getvalue()


@pytest.mark.parametrize("attrs", [[], [0, 0], [0, 1], [1], [-1], [True], ["0"], [None]])
def test_a_constant_is_one_of_those_in_the_file(path, attrs):
    saved(lambda x: x * np.arange(3.0), np.ones(3)).save(path)
    parts = parts_of(path.read_bytes())
    entries = json.loads(parts["program.json"])["instructions"]
    (at,) = (k for k, entry in enumerate(entries) if entry[0] == "constant")
    entries[at][2] = attrs
    refused(path, with_fields(parts, instructions=entries), "a constant is out of range")


WRONG_LOOPS = [
    *[(k, number, "a loop has no length") for k in range(3) for number in (-1, 2.0, True, None, 1 << 40)],
    *[(3, direction, "a loop has no direction") for direction in (0, 1, None, "backwards")],
    *[(4, end, "a loop has no end") for end in ("never", None, 1, ["length"])],
    *[(k, {}, "a list is missing") for k in (5, 6, 7)],
    (6, [0], "its attribute 1 is out of range: there are 1"),
]


@pytest.fixture(scope="module")
def looped(tmp_path_factory):
    """The parts of a file of a program with a loop, and the place of that among its instructions."""
    path = tmp_path_factory.mktemp("programs") / "loop.tape"
    saved(lambda x: tape.fori_loop(0, 5, lambda k, s: s * 1.5 + x, x), np.ones(3)).save(path)
    parts = parts_of(path.read_bytes())
    entries = json.loads(parts["program.json"])["instructions"]
    (at,) = [k for k, entry in enumerate(entries) if entry[0] == "loop"]
    return parts, entries, at


@pytest.mark.parametrize(("place", "new", "reason"), WRONG_LOOPS)
def test_loops_that_nobody_has_saved_are_refused(looped, path, place, new, reason):
    parts, entries, at = looped
    path.write_bytes(zipped(parts))
    assert tape.load(path)(np.zeros(3)).shape == (3,)
    refused(path, with_fields(parts, instructions=changed_at(entries, (at, 2, place), new)), reason)
    short = changed_at(entries, (at, 2), entries[at][2][:place])
    refused(path, with_fields(parts, instructions=short), "a list is missing")


def test_results_that_are_no_single_number_cannot_be_python_floats(path):
    args = np.ones(2), 1.5
    saved(lambda x, s: (x * s, s * 2, x > 0, np.sum(x), "text", s * 3), *args).save(path)
    parts = parts_of(path.read_bytes())
    description = json.loads(parts["program.json"])
    assert description["weak"] == [1, 5]
    for weak in ([1], [5], [3, 5], [0], [2], [4], [0, 1]):
        changed = zipped({**parts, "program.json": json.dumps({**description, "weak": weak})})
        if {1, 3, 5}.issuperset(weak):
            path.write_bytes(changed)
            results = tape.load(path)(*args)
            assert [k for k, result in enumerate(results) if type(result) is float] == weak
        else:
            refused(path, changed, "a Python number in the result is not")
