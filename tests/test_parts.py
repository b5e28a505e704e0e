"""Writing to parts of arrays in programs: in place, read back without the array, never a wrong number."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tape
from tape import errors, ops
from tape.ops.updates.at import At
from tape.program.ir.parts import _along_an_axis, _inside, _is_apart
from tests import naive_program
from tests.naive_program import compiled_for, counts, program_of
from tests.oracles import assert_close, assert_same
from tests.test_writing import calls
from tests.tiers import rounds, takes_long

quick = settings(max_examples=rounds(40))
RNG = np.random.default_rng(6)
X, V = RNG.normal(size=(4, 6)), RNG.normal(size=6)


def copied(program):
    """How many writes to a part copy the array first."""
    plan = program.plan
    return sum(
        plan.places[id][:2] != plan.places[instruction.operands[0]][:2]
        for id, instruction in enumerate(plan.instructions)
        if instruction.op in ("put", "add_at")
    )


def check(f, *args):
    """Compiled equals eager, natively, and the IR equals the interpreter of IR."""
    compiled, program = compiled_for(f, *args)
    assert "callback" not in counts(program.ir)
    found = tape.tree.flatten(compiled(*args))[0]
    for a, b in zip(found, tape.tree.flatten(f(*args))[0], strict=True):
        assert_close(a, b, 1e-13)
    for a, b in zip(found, naive_program.run(program.ir, args), strict=True):
        assert_close(a, b, 1e-13)
    return program


# ---- values --------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", ["set_at", "add_at"])
@quick
@given(call=calls())
def test_compiled_equals_eager_at_any_index(op, call):
    x, v, index = call
    if x.size == 0:
        return
    f = lambda x, v: getattr(ops, op)(x, v, index)  # noqa: E731
    assert_close(compiled_for(f, x, v)[0](x, v), f(x, v), 1e-14)
    gradient = tape.grad(lambda x, v: np.sum(f(x, v) ** 2), (0, 1))
    for found, expected in zip(compiled_for(gradient, x, v)[0](x, v), gradient(x, v), strict=True):
        assert_close(found, expected, 1e-13)


NATIVE = {
    "int": (1, V),
    "negative step": ((slice(None, None, -2), slice(1, 3)), np.ones((2, 1))),
    "whole, turned": (slice(None, None, -1), X.copy()),
    "broadcast": (..., 3.0),
    "None": ((0, None, slice(2, 4)), np.ones((1, 2))),
    "rows": (np.array([2, 0, 2]), RNG.normal(size=(3, 6))),
    "columns of some rows": ((slice(1, 3), np.array([5, 5, -1])), RNG.normal(size=(2, 3))),
    "elements": ((np.array([1, 1, 0]), np.array([5, -1, 2])), RNG.normal(size=3)),
    "mask": (X > 0, 7.0),
    "mask of rows": (np.array([True, False, True, True]), V),
}


@pytest.mark.parametrize("told", NATIVE)
@pytest.mark.parametrize("op", ["set_at", "add_at"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_runs_without_python(told, op, dtype):
    index, v = NATIVE[told]
    x, v = X.astype(dtype), np.asarray(v, dtype)
    f = lambda x, v: getattr(ops, op)(x, v, index)  # noqa: E731
    check(f, x, v)
    gradient = tape.grad(lambda x, v: np.sum(f(x, v) * f(x, v)), (0, 1))
    compiled, program = compiled_for(gradient, x, v)
    assert "callback" not in counts(program.ir)
    for found, expected in zip(compiled(x, v), gradient(x, v), strict=True):
        assert found.dtype == dtype
        assert_close(found, expected, 1e-5 if dtype == np.float32 else 1e-13)


@pytest.mark.parametrize("dtype", [np.int64, np.int32, bool])
def test_integers_and_bools_are_written_to_slices(dtype):
    x = np.arange(6).astype(dtype)
    f = lambda x, v: ops.set_at(x, v, slice(1, 5, 2))  # noqa: E731
    assert_same(check(f, x, x[:2])(x, x[:2]), f(x, x[:2]))


def test_an_index_that_changes_is_checked_at_every_call():
    f = lambda x, v, i: ops.set_at(x, v, i)  # noqa: E731
    x, v = np.zeros(5), np.arange(3.0)
    compiled, _ = compiled_for(f, x, v, np.array([0, 1, 2]))
    assert_same(compiled(x, v, np.array([4, -1, 4])), f(x, v, np.array([4, -1, 4])))
    with pytest.raises(errors.OutOfBoundsError):
        compiled(x, v, np.array([0, 5, 1]))
    assert_same(x, np.zeros(5))


# ---- what is left of them ------------------------------------------------------------------------

LEFT = {
    "read back": (lambda x, v: ops.set_at(x, v, 1)[1] * 2, {"multiply": 1}),
    "read back in part": (lambda x, v: ops.set_at(x, v, 1)[1, 3:1:-1] * 2, {"multiply": 1}),
    "read elsewhere": (lambda x, v: ops.set_at(x, v, 1)[2:] * 2, {"multiply": 1}),
    "read between": (lambda x, v: ops.set_at(x, v, slice(0, None, 2))[1::2] * 2, {"multiply": 1}),
    "read both": (lambda x, v: ops.set_at(x, v, 1)[1:3] * 2, {"put": 1, "multiply": 1}),
    "read what was added": (lambda x, v: ops.add_at(x, v, 1)[1] * 2, {"add": 1, "multiply": 1}),
    "all of it": (lambda x, v: ops.set_at(x, v, ...) * 2, {"multiply": 1}),
    "nothing": (lambda x, v: ops.set_at(x, v, slice(0, 0)) * 2, {"multiply": 1}),
    "over another": (lambda x, v: ops.set_at(ops.set_at(x, v * 2, 1), v, slice(0, 2)), {"put": 1}),
    "over a sum": (lambda x, v: ops.set_at(ops.add_at(x, v * 2, 1), v, slice(0, 2)), {"put": 1}),
    "beside another": (lambda x, v: ops.set_at(ops.set_at(x, v, 1), v, 0), {"put": 2}),
    "over what is used": (
        lambda x, v: [(y := ops.set_at(x, v, 1)) * 2, ops.set_at(y, v * 2, 1)],
        {"put": 2, "multiply": 2},
    ),
}


@pytest.mark.parametrize("told", LEFT)
def test_what_need_not_be_written_is_not(told):
    f, left = LEFT[told]
    program = program_of(f, X, V)
    assert counts(program.ir) == left
    for found, expected in zip(program(X, V), f(X, V), strict=True):
        assert_same(found, expected)


NESTED = {
    "behind": (lambda x, v: np.concatenate([np.concatenate([x[0], v]), v]), 3),
    "in front and behind": (
        lambda x, v: np.concatenate([np.concatenate([x[0], v]), v, np.concatenate([v, v, x[1]])]), 6),
    "twice": (lambda x, v: np.concatenate([v, np.concatenate([v, np.concatenate([v, x[0]])])]), 4),
    "also a result": (lambda x, v: [(y := np.concatenate([x, x])), np.concatenate([y, x])], 2),
    "along another axis": (
        lambda x, v: np.concatenate([np.concatenate([x[None], x[None]], axis=0), x[:2, None]], axis=1), 2),
}  # fmt: skip
"""Functions, and of how many arrays the last one is joined."""


@pytest.mark.parametrize("told", NESTED)
def test_what_is_joined_to_a_joined_array_is_joined_at_once(told):
    f, count = NESTED[told]
    program = program_of(f, X, V)
    joined = [of for of in program.ir.instructions if of.op == "concatenate"]
    assert len(joined[-1].operands) == count
    assert len(joined) == 1 + (told in ("also a result", "along another axis"))
    for found, expected in zip(program(X, V), f(X, V), strict=True):
        assert_same(found, expected)


AGAIN = {
    "rows": (lambda x: np.concatenate([x[:1], x[1:3], x[3:]]), True),
    "columns": (lambda x: np.concatenate([x[:, :2], x[:, 2:]], axis=1), True),
    "transposed": (lambda x: np.concatenate([x[:, :2].T, x[:, 2:].T]), True),
    "rows from the last on": (lambda x: np.concatenate([x[3:1:-1], x[1::-1]]), True),
    "a part": (lambda x: np.concatenate([x[1:3, 2:4], x[1:3, 4:5]], axis=1), True),
    "columns derived apart": (lambda x: np.concatenate(tape.jacobian(
        lambda u, v: x @ np.concatenate([u, v]), (0, 1))(x[0, :2], x[0, 2:]), axis=1), True),
    "with a gap": (lambda x: np.concatenate([x[:1], x[2:]]), False),
    "turned": (lambda x: np.concatenate([x[1:], x[:1]]), False),
    "other columns": (lambda x: np.concatenate([x[:1, :3], x[1:, 3:]]), False),
    "other steps": (lambda x: np.concatenate([x[:2:2], x[1:3]]), False),
    "of two arrays": (lambda x: np.concatenate([x[:2], (x * 2.0)[2:]]), False),
    "one transposed": (lambda x: np.concatenate([x[:3, :2], x[:3, 2:5].T], axis=1), False),
    "along the other axis": (lambda x: np.concatenate([x[:2, :3], x[2:, :3]], axis=1), False),
}  # fmt: skip
"""Functions, and whether what they join are neighbouring parts of one array."""


@pytest.mark.parametrize("told", AGAIN)
def test_neighbours_are_not_joined_again(told):
    f, are_neighbours = AGAIN[told]
    compiled, program = compiled_for(f, X)
    assert ("concatenate" not in counts(program.ir)) is are_neighbours
    assert_same(compiled(X), f(X))


def test_an_array_that_grows_in_a_loop_is_joined_once():
    def f(x):
        y = x[:1]
        for k in range(1, 200):
            y = np.concatenate([y, np.sin(x[k : k + 1]) * y[-1:]])
        return y

    x = RNG.normal(size=200)
    (joined,) = [of for of in check(f, x).ir.instructions if of.op == "concatenate"]
    assert len(joined.operands) == 200


def test_a_loop_over_elements_copies_the_array_once():
    def f(x):
        for i in range(1, 100):
            x = ops.set_at(x, np.sin(ops.getitem(x, i - 1)), i)
        return x

    x = RNG.normal(size=100)
    program = check(f, x)
    assert counts(program.ir) == {"sin": 99, "put": 99}
    assert copied(program) == 1


def test_a_loop_that_reads_other_parts_too_copies_the_array_once():
    def f(x):
        for i in range(2, 50):
            x = ops.set_at(x, np.sum(x[i - 2 : i]) * x[i + 1], i)
        return x

    x = RNG.normal(size=51)
    assert copied(check(f, x)) == 1
    assert copied(check(tape.grad(lambda x: np.sum(f(x) ** 2)), x)) == 1


def test_a_loop_into_zeros_is_arithmetic_on_numbers_in_reverse():
    def f(v):
        x = np.zeros(20)
        for i in range(20):
            x = ops.set_at(x, v, i)
            v = np.sin(v)
        return x[10] * x[19]

    program = check(tape.grad(f), np.array(0.7))
    assert not {"put", "add_at"} & counts(program.ir).keys()


def test_what_is_still_read_is_not_written_over():
    f = lambda x: [(y := ops.exp(x)), (z := ops.set_at(y, 0.0, 1)), y + z]  # noqa: E731
    assert copied(check(f, X)) == 1


def test_writing_an_array_into_itself():
    f = lambda x: ops.set_at(y := ops.exp(x), y[:-1], slice(1, None))  # noqa: E731
    g = lambda x: ops.set_at(y := ops.exp(x), y[::-1], ...)  # noqa: E731
    h = lambda x: ops.set_at(y := ops.exp(x), y[:1], slice(3, None))  # noqa: E731
    for function in (f, g, h):
        check(function, X)
    assert copied(program_of(h, X)) == 0


def test_arguments_are_left_alone():
    f = lambda x, v: ops.set_at(x, v, 1)  # noqa: E731
    compiled, _ = compiled_for(f, X, V)
    x = X.copy()
    compiled(x, V)
    assert_same(x, X)


def test_updates_and_in_place_functions_run_without_python():
    from tape.ops.updates.overwriting import copied_to, diagonal_filled, put_masked

    check(lambda x, v: At(x)[1:3].multiply(v), X, V)
    check(lambda x, v: At(x)[0, ::2].max(v[:3]), X, V)
    check(lambda x, v: At(x)[np.array([0, 3])].add(v), X, V)
    check(lambda x, v: copied_to(x, v, where=X > 0), X, V)
    check(lambda x, v: put_masked(x, X > 0, v[:3]), X, V)
    check(lambda x, v: diagonal_filled(x, v[:2]), X, V)


# ---- random programs -----------------------------------------------------------------------------

BOUNDS = st.integers(0, 6)
SLICES = st.builds(slice, BOUNDS, BOUNDS, st.sampled_from([1, 1, 2, 3])) | st.builds(
    slice, BOUNDS, st.none(), st.sampled_from([-1, -2])
)
STEPS = st.lists(
    st.tuples(st.sampled_from(["set", "add", "copy", "number", "use", "map"]), SLICES, SLICES), max_size=8
)


@takes_long
@settings(max_examples=rounds(150))
@given(STEPS, SLICES)
def test_random_writes_and_reads(steps, last):
    def f(x, v):
        kept = [x]
        for kind, part, other in steps:
            size = len(range(*part.indices(6)))
            if kind == "set":
                x = ops.set_at(x, np.sin(v[:size]), part)
            elif kind == "add":
                x = ops.add_at(x, v[:size] * 2, part)
            elif kind == "number":
                x = ops.set_at(x, np.sum(x[other]), part)
            elif kind == "copy":
                count = min(size, len(range(*other.indices(6))))
                x = ops.set_at(x, x[other][:count], np.arange(6)[part][:count].tolist())
                x = ops.set_at(x, x[other][:1], part) if count else x
            elif kind == "map":
                x = np.sin(x)
            else:
                kept.append(x[other] * 3)
        kept.append(x[last])
        return sum((np.sum(k * np.arange(1.0, 1 + len(k))) for k in kept), start=0.0), x

    x, v = X[0], V
    compiled, _ = compiled_for(f, x, v)
    for found, expected in zip(compiled(x, v), f(x, v), strict=True):
        assert_close(found, expected, 1e-13)
    gradient = tape.grad(lambda x, v: f(x, v)[0] + np.sum(f(x, v)[1] ** 2), (0, 1))
    for found, expected in zip(compiled_for(gradient, x, v)[0](x, v), gradient(x, v), strict=True):
        assert_close(found, expected, 1e-12)


@given(st.tuples(SLICES, SLICES), st.tuples(SLICES, SLICES))
@settings(max_examples=rounds(200))
def test_parts_apart_and_inside_each_other(one, other):
    from tape.program.ir.parts import _inside, _is_apart

    def part(slices):
        return [(s.indices(6)[0], s.indices(6)[2], len(range(*s.indices(6)))) for s in slices]

    numbers = np.arange(36).reshape(6, 6)
    here, there = numbers[one], numbers[other]
    if not here.size or not there.size:
        return
    shared = np.intersect1d(here, there)
    assert not (_is_apart(part(one), part(other)) and shared.size)
    inner = _inside(part(one), part(other))
    assert (inner is not None) == (shared.size == here.size)
    if inner is not None:
        index = tuple(np.arange(count) * step + start for start, step, count in inner)
        assert_same(there[np.ix_(*index)], here)


def test_parts_apart_are_told_apart_along_one_axis():
    for parts in ([(0, 2, 3)], [(1, 2, 3)]), ([(0, 1, 2)], [(2, 1, 2)]), ([(5, -1, 2)], [(3, -1, 2)]):
        assert _is_apart(*parts)
    assert all(_is_apart([(i, 1, 1)], [(j, 1, 1)]) for i, j in pairwise(range(5)))


# ---- parts, against lists of their elements ------------------------------------------------------

AXES = [
    (start, step, count)
    for start in range(6)
    for step in (-3, -2, -1, 1, 2, 3)
    for count in range(1, 5)
    if 0 <= start + step * (count - 1) < 8
]


def elements(axis):
    start, step, count = axis
    return [start + step * k for k in range(count)]


def test_where_a_part_is_within_another():
    for whole in AXES:
        there = elements(whole)
        for part in AXES:
            here, found = elements(part), _inside([part], [whole])
            if found is None:
                assert not set(here) <= set(there), (part, whole)
            else:
                assert [there[k] for k in elements(*found)] == here, (part, whole)


def test_parts_are_apart_if_they_have_no_element_in_common():
    """And seldom taken not to be: only if both are long, and interleaved."""
    for one in AXES:
        here = set(elements(one))
        for other in AXES:
            there = set(elements(other))
            is_apart = _is_apart([one], [other])
            assert not (is_apart and here & there), (one, other)
            if not here & there and not is_apart:
                assert min(len(here), len(there)) > 1
                assert max(min(here), min(there)) <= min(max(here), max(there))
                assert abs(one[1]) != abs(other[1])
    assert _is_apart([(0, 1, 0)], [(0, 1, 4)])
    assert _is_apart([(0, 1, 4), (0, 1, 1)], [(0, 1, 4), (1, 1, 1)])
    assert not _is_apart([(0, 1, 4), (0, 1, 2)], [(0, 1, 4), (1, 1, 1)])


@pytest.mark.parametrize("shape", [(6,), (2, 6), (6, 2), (1, 6), (6, 1, 1)])
def test_parts_that_follow_each_other_are_along_an_axis(shape):
    """All of it, or a part with a gap on either side."""
    axis = shape.index(6)

    def part(start, count, step=1, others=0):
        return [(start, step, count) if k == axis else (others, 1, n) for k, n in enumerate(shape)]

    whole = axis, (0, 0)
    assert _along_an_axis([part(0, 2), part(2, 3), part(5, 1)], shape) == whole
    assert _along_an_axis([part(5, 1, -1), part(0, 2), part(2, 3)], shape) == whole
    assert _along_an_axis([part(0, 6)], shape) is not None
    assert _along_an_axis([part(0, 2), part(2, 3)], shape) == (axis, (0, 1))
    assert _along_an_axis([part(3, 1), part(2, 1)], shape) == (axis, (2, 2))
    assert _along_an_axis([part(1, 5)], shape) == (axis, (1, 0))
    for wrong in (
        [part(0, 2), part(3, 3)], [part(0, 3), part(2, 4)], [part(1, 2), part(4, 1)],
        [part(0, 2), part(5, 4, -1)], [part(0, 2), part(0, 2), part(2, 4)], [part(1, 2, 2)],
    ):  # fmt: skip
        assert _along_an_axis(wrong, shape) is None
    if len(shape) > 1:
        assert _along_an_axis([part(0, 3), part(3, 3, others=1)], shape) is None


@pytest.mark.parametrize("dtype", [float, np.float32, complex, int])
@pytest.mark.parametrize(
    "index", [slice(2, 5), slice(3), slice(4, None), 2, (slice(None), slice(1, 3)), (0, 2)]
)
def test_derivatives_of_slices_have_zeros_around_them(dtype, index):
    """Of the signs that adding to zeros gives them, however long the rest is."""
    for shape in ((9, 4), (9, 400)):
        x = (np.arange(np.prod(shape)).reshape(shape) - 7).astype(dtype)

        def f(g, shape=shape):
            part = tape.ops.add_at(np.zeros(shape, dtype), g, index)
            return part, part * 2

        compiled = tape.compile(f)
        for g in (x[index], np.zeros_like(x[index]) * np.asarray(-1, dtype), x[index] * 3):
            for _ in range(2):
                for found, wanted in zip(compiled(g), f(g), strict=True):
                    np.testing.assert_array_equal(found, wanted)
                    for one, other in ((found.real, wanted.real), (found.imag, wanted.imag)):
                        np.testing.assert_array_equal(np.signbit(one), np.signbit(other))


@pytest.mark.parametrize(
    "index", [slice(2, 5), slice(None, None, 2), 2, (slice(None), 1), (slice(None), slice(1, 3))]
)
def test_adjoints_of_a_slice_have_the_signs_that_they_have_without_programs(index):
    """It is added to zeros, which makes negative ones positive."""
    gradient = tape.grad(lambda x, g: np.sum(x[index] * g))
    compiled = tape.compile(gradient)
    x = np.ones((9, 4))
    for g in (-0.0, 0.0, 2.0, -0.0):
        found, wanted = compiled(x, np.float64(g)), gradient(x, np.float64(g))
        np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))
        assert not np.signbit(found).any()


@pytest.mark.parametrize("x", [[-0.0, 0.0, 1.0, 0.0], [1.0, -0.5, -0.0], [0.0, 0.5, -0.75]])
def test_second_derivatives_of_products_have_the_signs_that_they_have_without_programs(x):
    """Parts of them are slices of slices."""

    def f(x):
        return tape.hvp(np.prod)(x, x)

    compiled = tape.compile(f)
    x = np.array(x)
    for _ in range(3):
        np.testing.assert_array_equal(np.signbit(compiled(x)), np.signbit(f(x)))
