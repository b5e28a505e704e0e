"""Segments of code as operations: how results are packed and restored, and rules that find nothing to do."""

import numpy as np
import pytest

import tape
from tape import errors, tree
from tape.core.results import Results, unpack
from tape.transforms import _segment
from tape.transforms._segment import Packing, Segment, as_scalar, is_differentiated, is_float, refusing_writes

FLOATS = [1.5, 2j, np.float32(1), np.complex64(1), np.zeros(2), np.zeros(2, "c8"), np.zeros((), "f2")]
OTHERS = [1, True, "a", None, np.int64(1), np.True_, np.zeros(2, int), np.zeros(2, bool)]


def test_floats_are_what_derivatives_may_be_taken_by():
    assert all(map(is_float, FLOATS))
    assert not any(map(is_float, OTHERS))
    tr = tape.Trace()
    assert is_float(tr.param(1.0))
    assert not is_float(tr.input(np.arange(3)))
    assert [is_differentiated(x) for x in FLOATS] == [False, False, *[True] * 5]
    assert not any(map(is_differentiated, OTHERS))
    assert is_differentiated(tr.param(np.ones(2)))


def test_only_floats_of_python_become_scalars_of_numpy():
    assert (type(as_scalar(1.5)), type(as_scalar(2j))) == (np.float64, np.complex128)
    for value in (*OTHERS, *FLOATS[2:]):
        assert as_scalar(value) is value


# ---- packing ---------------------------------------------------------------------------------------------

TREE = {
    "a": np.arange(6.0).reshape(2, 3), "b": [1.5, 7, "name"], "c": np.float32(2.5), "d": np.zeros((0, 2)),
    "e": np.arange(2),
}  # fmt: skip
COMPLEX = {"x": np.arange(2.0, dtype=np.float32), "z": np.array(1 + 2j)}
TREES = {
    "a tree": (TREE, 8, np.float64), "complex": (COMPLEX, 3, np.complex128),
    "no floats": ([1, "a"], 0, np.float64), "singles": ((np.ones(2, "f4"), np.float32(3)), 3, np.float32),
    "empty": ((), 0, np.float64),
}  # fmt: skip


def assert_same_leaves(found, expected):
    (found, structure), (expected, same) = tree.flatten(found), tree.flatten(expected)
    assert structure == same
    for one, other in zip(found, expected, strict=True):
        assert np.result_type(one) == np.result_type(other) if is_float(other) else one is other
        assert np.shape(one) == np.shape(other)
        assert np.array_equal(one, other)


@pytest.mark.parametrize("is_joined", [True, False])
@pytest.mark.parametrize("name", TREES)
def test_packed_floats_are_restored(name, is_joined):
    out, size, dtype = TREES[name]
    packing = Packing(out, is_joined=is_joined)
    assert packing.dtype == dtype
    assert not packing.is_single
    packed = packing.pack(packing.parts_of(out, "f"))
    if is_joined:
        assert (packed.shape, packed.dtype) == ((size,), dtype)
    else:
        assert isinstance(packed, Results)
    restored = packing.restore(packed)
    if name == "complex" and is_joined:  # the real part of a complex operand is told from it by its dtype
        np.testing.assert_array_equal(restored["x"], COMPLEX["x"])
    else:
        assert_same_leaves(restored, out)


@pytest.mark.parametrize("is_joined", [True, False])
@pytest.mark.parametrize("out", [np.ones((2, 2)), [3.0], {"a": np.float32(1), "n": 3}])
def test_a_single_float_is_packed_as_it_is(out, is_joined):
    packing = Packing(out, is_joined=is_joined)
    assert packing.is_single
    (part,) = packing.parts_of(out, "f")
    assert packing.pack([part]) is part
    assert packing.unpack(part) == [part]
    assert_same_leaves(packing.restore(part), out)


@pytest.mark.parametrize("lead", [(2,), (3, 2)])
def test_stacks_of_packed_floats_are_unpacked_along_their_last_axis(lead):
    packing = Packing(TREE)
    stack = np.arange(np.prod([*lead, 8.0])).reshape(*lead, 8)
    matrix, number, single, nothing = packing.unpack(stack)
    np.testing.assert_array_equal(matrix, stack[..., :6].reshape(*lead, 2, 3))
    np.testing.assert_array_equal(number, stack[..., 6])
    np.testing.assert_array_equal(single, stack[..., 7])
    assert single.dtype == np.float32
    assert nothing.shape == (*lead, 0, 2)


def test_later_results_are_those_of_the_first_run():
    packing = Packing({"a": np.ones(2), "n": 1, "b": 2.0})
    again = np.full(2, 3.0)
    parts = packing.parts_of({"a": again, "n": 5, "b": 4.0}, "f")
    np.testing.assert_array_equal(parts[0], again)
    assert not np.shares_memory(parts[0], again)
    for out, error, words in [
        ({"a": again, "n": 1}, errors.ShapeError, r"f returned a tree .* before\. It must"),
        ([again, 1, 2.0], errors.ShapeError, "f returned a tree"),
        (again, errors.ShapeError, "It must always return the same structure"),
        ({"a": np.ones(3), "n": 1, "b": 2.0}, errors.ShapeError, r"of shape \[3\], and \[2\] before"),
        ({"a": again, "n": 1, "b": np.ones(1)}, errors.ShapeError, r"of shape \[1\], and \[\] before"),
        ({"a": again * 1j, "n": 1, "b": 2.0}, errors.DTypeError, "where float64 is needed"),
        ({"a": again, "n": 1, "b": 2j}, errors.DTypeError, "where float64 is needed"),
    ]:  # fmt: skip
        with pytest.raises(error, match=words):
            packing.parts_of(out, "f")
    wide = Packing(np.ones(2, complex))
    assert wide.parts_of(np.ones(2), "f")[0].dtype == float  # a complex one may become real


# ---- what code may do ------------------------------------------------------------------------------------


def test_only_writes_to_what_is_read_only_are_explained():
    read_only = np.zeros(2)
    read_only.flags.writeable = False
    with (
        pytest.raises(errors.InPlaceError, match="f writes into an array it was given"),
        refusing_writes("f"),
    ):
        read_only[0] = 1.0
    for error in (ValueError("other"), KeyError("read-only"), errors.ShapeError("read-only")):
        with pytest.raises(type(error)) as caught, refusing_writes("f"):
            raise error
        assert caught.value is error


def test_results_may_be_written_to():
    x = np.ones(3)
    f = tape.checkpoint(lambda x, y: (x, y * 2.0, x.T))
    same, double, _ = f(x, x)
    for array in (same, double):
        assert array.flags.writeable
        array += 1.0
    np.testing.assert_array_equal(x, np.ones(3))
    tr = tape.Trace()
    given = np.zeros((2, 3), int)
    _, same, turned = tape.checkpoint(lambda x, y: (x * 2.0, y, y.T))(tr.param(x), given)
    same += 1
    turned += 2
    np.testing.assert_array_equal(given, np.zeros((2, 3)))


def test_numbers_of_python_are_no_operands_of_derivatives_in_programs():
    seen = []

    def f(x, k):
        seen.append([(is_float(each), is_differentiated(each)) for each in (x, k)])
        return x * k

    tape.compile(f)(X, 2.0)
    assert seen == [[(True, True), (True, False)]]


def test_a_segment_has_the_operands_that_it_reads():
    tr = tape.Trace()
    x, w = tr.param(np.ones(2)), tr.param(np.full(2, 3.0))
    segment = Segment(lambda x, k: {"a": x * w * k, "n": 4}, (x, 2.0), {}, "f")
    assert segment.places == [0]
    assert [np.asarray(one.value).tolist() for one in segment.operands] == [[1, 1], [3, 3]]
    assert segment.trace is tr.ref
    assert [np.asarray(one.value).tolist() for one in segment.captured_vars()] == [[3, 3]]
    np.testing.assert_array_equal(segment.run(np.ones(2), np.ones(2)), [2, 2])
    first = segment.forward(np.ones(2), np.full(2, 3.0))
    np.testing.assert_array_equal(first, [6, 6])
    again = []
    segment.listeners.append(lambda: again.append(1))
    np.testing.assert_array_equal(segment.forward(np.ones(2), np.full(2, 5.0)), [10, 10])
    assert again == [1]  # it has run once more
    plain = Segment(lambda x: x * 2.0, (np.ones(2),), {}, "f")
    assert (plain.operands, plain.trace, plain.places) == ([], None, [])


# ---- rules that run code again -----------------------------------------------------------------------------

X, Y = np.array([1.0, 2.0]), np.array([3.0, 5.0])


def several(x, y):
    return Results([x * y, np.float64(7.0), np.sin(x), x * y])


def test_what_is_pulled_through_is_the_sum_of_what_has_an_adjoint():
    g = np.array([1.0, 10.0])
    pull = lambda g, f=several: _segment.pull_through(f, g, [X, Y], "f")  # noqa: E731
    by_x, by_y = pull(Results([g, None, None, None]))
    np.testing.assert_allclose(by_x, g * Y)
    np.testing.assert_allclose(by_y, g * X)
    by_x, by_y = pull(Results([g, np.float64(2.0), g, None]))
    np.testing.assert_allclose(by_x, g * Y + g * np.cos(X))
    assert pull(Results([None, np.float64(1.0), None, None])) == [None, None]
    assert pull(Results([None] * 4)) == [None, None]
    (by_x, none) = _segment.pull_through(lambda x, k: x * k, g, [X, 2.0], "f")
    np.testing.assert_allclose(by_x, 2 * g)
    assert none is None  # a number of Python's is data


def test_one_value_that_is_returned_twice_gets_both_adjoints():
    def f(x):
        y = x * x
        return Results([y, y])

    g = np.array([1.0, 10.0])
    (by_x,) = _segment.pull_through(f, Results([g, 2 * g]), [X], "f")
    np.testing.assert_allclose(by_x, 3 * g * 2 * X)
    (by_x,) = _segment.pull_through(f, Results([None, 2 * g]), [X], "f")
    np.testing.assert_allclose(by_x, 2 * g * 2 * X)


def test_what_is_pushed_through_moves_what_depends_on_it():
    t = np.array([1.0, 10.0])
    moved = _segment.push_through(several, [t, None], [X, Y], "f")
    assert isinstance(moved, Results)
    one, none, sine, same = unpack(moved)
    np.testing.assert_allclose(one, t * Y)
    np.testing.assert_allclose(sine, t * np.cos(X))
    np.testing.assert_allclose(same, one)
    assert none is None
    single = _segment.push_through(lambda x, y: x * y, [None, t], [X, Y], "f")
    np.testing.assert_allclose(single, X * t)
    assert _segment.push_through(lambda x, y: np.ones(2), [t, t], [X, Y], "f") is None


def test_series_go_through_all_results():
    v = np.array([1.0, 10.0])
    series = [[X, v, None], [Y, None, None]]
    out, first, second = _segment.expand_through(lambda x, y: x * x * y, "out", series, "f")
    assert out == "out"
    np.testing.assert_allclose(first, 2 * X * v * Y)
    np.testing.assert_allclose(second, v * v * Y)
    _, first, second = _segment.expand_through(several, "out", series, "f")
    np.testing.assert_allclose(unpack(first)[0], v * Y)
    np.testing.assert_allclose(unpack(first)[2], v * np.cos(X))
    np.testing.assert_allclose(unpack(second)[2], -v * v * np.sin(X) / 2)
    assert [unpack(part)[1] for part in (first, second)] == [None, None]
    still = _segment.expand_through(lambda x, y: np.ones(2), "out", series, "f")
    assert still == ["out", None, None]


def test_results_of_rules_are_of_no_trace_that_is_being_swept():
    tr = tape.Trace()
    x = tr.param(X)
    segment = Segment(lambda x: x * 2.0, (x,), {}, "f")
    results = [X, 1.0, None]
    assert segment.checked(results) is results
    with pytest.raises(errors.UnsupportedError, match=r"f has computed with Vars of .* Pass them"):
        segment.checked([X, x * 2.0])
    other = tape.Trace()
    assert len(segment.checked([other.param(X)])) == 1


def test_arrays_of_floats_are_not_frozen_in_programs():
    """Of code that reads a number, and so is called by the program."""
    f = tape.checkpoint(lambda x: (np.sin(x) * float(x[0]), "name", None))
    compiled = tape.compile(lambda x: f(x)[0])
    for x in (X, Y):
        np.testing.assert_allclose(compiled(x), np.sin(x) * x[0])
    (program,) = compiled.programs.values()
    assert program.explain().callbacks


@pytest.mark.parametrize("value", [3, np.int64(3), np.True_, np.arange(2)])
def test_results_that_would_be_frozen_are_refused_in_programs_and_batches(value):
    f = tape.checkpoint(lambda x: (np.sin(x), value))
    assert tape.grad(lambda x: f(x)[0])(1.0) == np.cos(1.0)
    with pytest.raises(errors.UnsupportedError, match="which is not a float and would be frozen"):
        tape.vmap(lambda x: f(x)[0])(X)
    names = tape.checkpoint(lambda x: (np.sin(x), "name", None))
    for x in (X, np.stack([X, Y])):
        np.testing.assert_allclose(tape.vmap(lambda x: names(x)[0])(x), np.sin(x))
