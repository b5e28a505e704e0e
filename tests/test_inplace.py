"""Writing in place: views, copies, numbers, memory order, what fails, several traces, arrays beside a Var."""

import copy

import numpy as np
import pytest

import tape
from tape import errors, tree
from tests.oracles import assert_close, assert_same


def smoothed(x):
    u = x.copy()
    for _ in range(3):
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


def smoothed_out_of_place(u):
    for _ in range(3):
        inside = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        u = np.concatenate([u[:1], inside, u[-1:]])
    return u


def test_derivatives_are_those_of_the_same_function_without_writing():
    x = np.linspace(1, 2, 7) ** 3
    for transform in (tape.jacobian, lambda f: tape.jacobian(tape.jacobian(lambda x: f(x) ** 2))):
        assert_close(transform(smoothed)(x), transform(smoothed_out_of_place)(x))
    compiled = tape.compile(tape.value_and_grad(lambda x: (smoothed(x) ** 2).sum()))
    value, gradient = tape.value_and_grad(lambda x: (smoothed_out_of_place(x) ** 2).sum())(x)
    assert_close(compiled(x)[0], value)
    assert_close(compiled(x)[1], gradient)


def test_a_handle_moves_on_and_its_old_node_stays():
    trace = tape.Trace()
    x = trace.param(np.array([1.0, 2.0]))
    y = x
    before = np.exp(x)
    x += 1
    x[0] = 5.0
    assert y is x
    assert_same(x.value, np.array([5.0, 3.0]))
    assert_same(trace.params[0].value, np.array([1.0, 2.0]))
    (gradient,) = trace.backward_param_grads((before * x).sum())
    assert_close(gradient, np.exp([1.0, 2.0]) * [5.0, 3.0] + np.array([0.0, 1.0]) * np.exp(2.0))


def test_writing_to_a_view_reaches_all_that_it_is_a_view_of():
    trace = tape.Trace()
    x = trace.param(np.zeros((3, 4)))
    middle = x[1:].T
    middle[1:3][0] += 1.0
    middle[0, 1] = 2.0
    expected = np.zeros((3, 4))
    expected[1:, 1], expected[2, 0] = 1.0, 2.0
    assert_same(x.value, expected)
    assert_same(middle.value, expected[1:].T)


def test_a_view_is_stale_only_where_elements_of_it_were_written():
    trace = tape.Trace()
    x = trace.param(np.arange(12.0).reshape(3, 4))
    rows, column = list(x), x[:, 2]
    x[1, 0] = 7.0
    assert_same((rows[0] + rows[2]).value, np.array([8.0, 10, 12, 14]))
    assert_same((column * 1).value, np.array([2.0, 6, 10]))
    assert "written to" in repr(rows[1])
    for use in (lambda row: row + 1, np.sum, lambda row: row.value, lambda row: row.__iadd__(1)):
        with pytest.raises(errors.InPlaceError, match=r"Take the view again.*copy\(\)"):
            use(rows[1])
    assert_same(x[1].value, np.array([7.0, 5, 6, 7]))


def test_copies_are_written_to_alone():
    trace = tape.Trace()
    x = trace.param(np.ones((2, 3)))
    copies = [x.copy(), np.copy(x), x.flatten(), x.astype(float), np.tile(x, 1), x[[0, 1]], +x]
    for each in copies:
        each[...] = 0.0
    assert_same(x.value, np.ones((2, 3)))


def test_arrays_stay_as_they_lie_in_memory():
    trace = tape.Trace()
    x = trace.param(np.asfortranarray(np.ones((2, 3))))
    x += np.ones((2, 3))
    x.ravel("F")[0] = 9.0
    x.conj()[1, 2] = 4.0
    assert_same(x.value, np.array([[9.0, 2, 2], [2, 2, 4]]))


def test_numbers_are_not_written_to():
    trace = tape.Trace()
    for number in (trace.param(1.0), trace.param([1.0])[0], trace.param([1.0]).sum()):
        with pytest.raises(errors.InPlaceError, match="number"):
            number[()] = 2.0
    array = trace.param(np.array(1.0))
    array[()] = 2.0
    array += 1
    array[...] *= 2
    assert_same(array.value, np.array(6.0))


@pytest.mark.parametrize("name", ["divmod", "modf", "frexp"])
def test_both_results_are_written(name):
    x = np.array([5.5, -7.25])
    given = (x, 2.0) if name == "divmod" else (x,)
    trace = tape.Trace()
    first, second = trace.param(np.zeros(2)), trace.param(np.zeros(2))
    results = getattr(np, name)(trace.param(x), *given[1:], out=(first, second))
    for out, result, expected in zip((first, second), results, getattr(np, name)(*given), strict=True):
        assert out is result
        np.testing.assert_array_equal(out.value, expected)


def test_what_fails_leaves_all_as_it_was():
    trace = tape.Trace()
    x = trace.param(np.ones((2, 3)))
    row, diagonal = x[0], np.diagonal(x)
    for write in (
        lambda: x.__iadd__(np.ones((4, 2, 3))),
        lambda: x.__setitem__(5, 0.0),
        lambda: x.__setitem__(0, np.ones(2)),
        lambda: row.__setitem__(0, 1j),
        lambda: np.add(x, 1j, out=x),
        lambda: np.sum(x, axis=0, out=x),
        lambda: np.divmod(x, 2, out=(x, np.ones(2))),
        lambda: np.divmod(x, 2, out=(x, row)),
        lambda: np.copyto(diagonal, 1.0),
        lambda: diagonal.sort(),
        lambda: x.__delitem__(0),
        lambda: row.__iadd__("a"),
        lambda: row.__iadd__(None),
        lambda: row.__iadd__([[1.0], [2.0]]),
    ):
        count = len(trace)
        with pytest.raises(errors.TapeError):
            write()
        assert len(trace) == count
    assert_same(x.value, np.ones((2, 3)))
    assert_same((row * 1).value, np.ones(3))


def test_what_was_saved_can_be_restored():
    trace = tape.Trace()
    x = trace.param(np.array([1.0, 2, 3]))
    saved = x.copy()
    x[1:] *= 2
    x[1:] = saved[1:]
    assert_same(x.value, np.array([1.0, 2, 3]))


def test_a_fresh_view_of_a_stale_one_can_be_written_to():
    trace = tape.Trace()
    x = trace.param(np.arange(6.0))
    stale = x[0:4]
    fresh = stale[0:2]
    x[3] = 5.0
    fresh[0] = 1.0
    assert_same(x.value, np.array([1.0, 1, 2, 5, 4, 5]))
    assert_same(stale.value, np.array([1.0, 1, 2, 5]))
    x[1] = 3.0
    with pytest.raises(errors.InPlaceError):
        stale + 1


@pytest.mark.parametrize(
    "added",
    [
        np.uint8(1),
        np.int8(-128),
        True,
        np.array([1, 2, 3], np.uint8),
        2,
        1.5,
        [1.0, 2.0, 3.0],
        (1, 2, 3),
        range(3),
    ],
)
def test_numbers_of_all_kinds_are_added_and_subtracted(added):
    trace = tape.Trace()
    expected = np.arange(4.0)
    x = trace.param(expected.copy())
    for array in (x, expected):
        array[1:] += added
        array[1:] -= added
        array[1:] -= added
    assert_same(x.value, expected)


def test_an_index_that_is_a_var_names_a_row_to_add_to():
    def f(x):
        x = x.copy()
        x[x.argmax() // 3] += 1
        x[tape.ops.argmin(x) // 3, 1:] *= 2
        return (x * x).sum()

    x = np.arange(6.0).reshape(2, 3)
    check = tape.testing.check_grads
    check(f, (x,), order=2)
    assert_close(tape.compile(f)(x), f(x))


STRIDED = {
    "backwards": (lambda: np.arange(4.0)[::-1], lambda x: x.ravel()),
    "with gaps": (lambda: np.arange(12.0).reshape(3, 4)[:, ::2], lambda x: x.ravel()),
    "copied": (lambda: np.arange(12.0).reshape(3, 4)[:, ::2], lambda x: copy.copy(x).ravel()),
    "order A": (lambda: np.arange(16.0).reshape(4, 4).T, lambda x: x[::2].reshape(-1, order="A")),
    "a copy by reshape": (lambda: np.arange(4.0), lambda x: np.reshape(x, (2, 2), copy=True)),
    "a copy by the method": (lambda: np.arange(4.0), lambda x: x.reshape(2, 2, copy=True)),
    "not clipped": (lambda: np.arange(4.0), lambda x: np.clip(x, None, None)),
    "contiguous": (lambda: np.arange(6.0).reshape(2, 3), lambda x: tape.numpy.ascontiguousarray(x.T)),
    "in Fortran order": (lambda: np.arange(6.0).reshape(2, 3), lambda x: tape.numpy.asarray(x, order="F")),
}


@pytest.mark.parametrize("name", STRIDED)
def test_what_is_a_view_in_numpy_is_one_after_writing(name):
    make, viewed = STRIDED[name]
    plain, trace = make(), tape.Trace()
    x = trace.param(make())
    found = []
    for array in (plain, x):
        array += 1
        part = viewed(array)
        part[...] = np.arange(part.size).reshape(part.shape)
        found.append(np.shares_memory(part, array))
    assert found[0] == found[1]
    assert_same(x.value, plain)


def test_parts_of_complex_numbers_are_written_to_alone():
    z = np.array([3 + np.inf * 1j, 1 + 2j, -1 + 2j])
    trace = tape.Trace()
    x = trace.param(z.copy())
    for array in (x, z):
        array.real[0] = 2.0
        array.imag[1] = np.inf
        array.imag[2:] *= -0.0
        array.real += 1.0
        array.imag = np.array([np.inf, np.inf, -0.0])
    np.testing.assert_array_equal(x.value, z)
    assert np.signbit(x.value.imag[2])


@pytest.mark.parametrize(
    "name", ["all", "any", "argmax", "cumsum", "max", "mean", "prod", "std", "sum", "clip"]
)
def test_methods_write_into_vars(name):
    trace = tape.Trace()
    plain = np.array([[1.0, 2.0], [3.0, 0.5]])
    args = (1.5, 2.5) if name == "clip" else ()
    expected = getattr(plain, name)(*args)
    x, out = trace.param(plain), trace.input(np.zeros_like(expected))
    if expected.ndim:
        assert getattr(x, name)(*args, out=out) is out
        assert_close(out.value, expected)
    else:
        out = trace.input(np.zeros(2, expected.dtype))
        assert getattr(x, name)(axis=0, out=out) is out
        assert_close(out.value, getattr(plain, name)(axis=0))


def test_dtypes_stay_as_numpys_do():
    trace = tape.Trace()
    x, n = trace.param(np.ones(3, np.float32)), trace.input(np.arange(3))
    x += np.full(3, 0.1)
    x[0] = np.float64(0.3)
    n += 2
    n[1] = 3.9
    assert (x.dtype, n.dtype) == (np.float32, np.int64)
    assert_same(n.value, np.array([2, 3, 4]))
    with pytest.raises(errors.DTypeError, match="float64 was to be written over int64"):
        n += 0.5


# ---- several traces --------------------------------------------------------------------------------


def test_stale_views_are_not_returned():
    def f(x):
        view = x[:2]
        x[0] = 5.0
        return view

    for transform in (tape.compile, tape.jacobian):
        with pytest.raises(errors.InPlaceError, match="Take the view again"):
            transform(f)(np.zeros(3))
    trace = tape.Trace()
    x = trace.param(np.zeros(3))
    stale = f(x)
    for sweep in (trace.backward, lambda root: trace.jvp(root, {trace.params[0]: np.ones(3)})):
        with pytest.raises(errors.InPlaceError, match="Take the view again"):
            sweep(stale)


def test_a_pullback_is_not_changed_by_what_is_written_later():
    def f(x):
        out, pull = tape.vjp(lambda y: np.exp(y) * x, x)
        expected = out * 1
        out *= 3
        x[0] = 5.0
        (back,) = pull(np.ones(3))
        return ((back - expected) ** 2).sum()

    assert_close(tape.grad(f)(np.array([0.1, 0.2, 0.3])), np.zeros(3))


def test_outer_arrays_are_not_written_to_from_inside():
    def f(x):
        def inside(y):
            x[0] = y[0]
            return (y * y).sum()

        return tape.grad(inside)(x).sum()

    with pytest.raises(errors.InPlaceError, match="inside of a function"):
        tape.grad(f)(np.ones(2))


def test_arguments_of_the_user_are_never_written_to():
    x = np.ones(3)

    def f(y):
        y *= 2
        y[0] = 0.0
        return (y * y).sum()

    assert_close(tape.grad(f)(x), np.array([0.0, 8.0, 8.0]))
    assert_close(tape.compile(f)(x), 8.0)
    assert_same(x, np.ones(3))


# ---- arrays made beside a Var ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        np.zeros_like,
        np.ones_like,
        np.empty_like,
        lambda x: np.zeros(3, like=x),
        lambda x: np.full(3, 2.0, like=x),
        lambda x: np.arange(3.0, like=x),
        lambda x: np.array([1.0, 2.0, 3.0], like=x),
        lambda x: np.ascontiguousarray([1.0, 2.0, 3.0], like=x),
        lambda x: tape.numpy.zeros(3, like=x),
        lambda x: tape.numpy.empty(3, like=x),
    ],
)
def test_arrays_made_beside_a_var_can_be_written_to(make):
    def f(x):
        out = make(x)
        for i in range(1, 3):
            out[i] = x[i] * x[i - 1]
        return (out[1:] ** 2).sum()

    x = np.array([1.0, 2.0, 3.0])
    assert_close(tape.grad(f)(x), np.array([2 * 1 * 4.0, 2 * 2 * (1 + 9.0), 2 * 3 * 4.0]))
    compiled = tape.compile(tape.grad(f))
    assert_close(compiled(x), tape.grad(f)(x))


@pytest.mark.parametrize(
    "make",
    [
        lambda m, x: np.array(m, like=x),
        lambda m, x: np.asarray(m, like=x),
        lambda m, x: np.ascontiguousarray(m.T, like=x),
        lambda m, x: np.full(m.shape, m[0], like=x),
    ],
)
def test_arrays_from_outside_can_be_written_to_beside_a_var(make):
    """Arguments that are not differentiated: Vars in a compiled function, or of another derivative."""

    def f(x, m):
        out = make(m, x)
        out[1] = out[0] * x
        return np.sum(out**3)

    def outer(m, x):
        return np.sum(tape.grad(f)(x, m) * np.arange(1.0, 4.0))

    x, m = np.array([1.0, -2.0, 3.0]), np.arange(9.0).reshape(3, 3) - 3.5
    expected = tape.grad(f)(x, m)
    assert_close(expected, 3 * make(m, x)[0] ** 3 * x**2)
    compiled = tape.compile(tape.grad(f))
    for k in range(3):
        assert_close(compiled(k * x, m), k**2 * expected)
    check = tape.grad(outer)(m, x)
    by_step = [(outer(m + 1e-5 * d, x) - outer(m - 1e-5 * d, x)) / 2e-5 for d in np.eye(9).reshape(9, 3, 3)]
    np.testing.assert_allclose(np.ravel(check), by_step, rtol=1e-6, atol=1e-6)
    assert_close(tape.vmap(lambda x: tape.grad(f)(x, m))(np.stack([x, 2 * x]))[1], 4 * expected)


def test_what_is_a_number_in_numpy_is_none_that_can_be_written_to():
    x, square = np.float64(2.0), np.array([[2.0, 1.0], [0.5, 3.0]])
    with tape.Trace() as trace:
        number, matrix = trace.param(x), trace.param(square)
        for p in (None, 2, -2, 1, "fro", np.inf):
            found = np.linalg.cond(matrix, p)
            assert type(found.value) is np.float64
            with pytest.raises(errors.InPlaceError, match="is a number"):
                found[...] = 1.0
        assert type(np.linalg.multi_dot([matrix[0], matrix, matrix[0]]).value) is np.float64
        copied = np.copy(number)
        assert type(copied.value) is np.ndarray
        copied[...] = 3.0 * number
        copied += 1.0
        assert_same(np.asarray(copied.value), np.asarray(7.0))
        assert_same(trace.backward_param_grads(copied, unreached="zero")[0], np.asarray(3.0))
        for same in (number.copy(), copy.copy(number), copy.deepcopy(number)):
            assert type(same.value) is np.float64
            same += 1.0  # another number, as of NumPy's
        assert float(number.value) == 2.0

    def f(x):
        y = np.copy(x)
        y[...] = y * x
        return y

    assert_same(np.asarray(tape.grad(f)(x)), np.asarray(4.0))
    assert_same(np.asarray(tape.compile(f)(x)), np.asarray(4.0))
    assert_same(
        np.asarray(tape.jacobian(lambda x: f(x[0]), mode="fwd")(np.array([2.0, 1.0]))), np.array([4.0, 0.0])
    )


# ---- what is written over a Var comes from elsewhere -------------------------------------------------


def test_an_outer_var_is_written_over_an_inner_one():
    x, y = np.array([1.0, 2.0]), np.array([3.0, 5.0])

    def inner_gradient(y):
        def f(x):
            out = x * 1.0
            np.multiply(y, 3.0, out=out)  # no Var of the inner trace
            return np.sum(out * x)

        return tape.grad(f)(x)

    assert_close(inner_gradient(y), 3 * y)
    assert_close(tape.jacobian(inner_gradient)(y), 3 * np.eye(2))


@pytest.mark.parametrize("new", [[7.0, 8.0], np.array([7, 8]), np.array([7.0, 8.0])])
def test_plain_arrays_are_written_over_a_var(new):
    trace = tape.Trace()
    x = trace.param(np.array([1.0, 2.0]))
    out = x * x
    np.add(new, 1, out=out)
    assert_same(out.value, np.array([8.0, 9.0]))
    (gradient,) = trace.backward_param_grads(np.sum(out * x))
    assert_close(gradient, np.array([8.0, 9.0]))


def test_what_is_already_a_var_of_the_trace_is_not_recorded_again():
    trace = tape.Trace()
    x = trace.param(np.array([1.0, 2.0]))
    out = x * x
    np.exp(x, out=out)
    out *= x
    assert [node.op.name for node in trace.nodes if node.op is not None] == ["multiply", "exp", "multiply"]


@pytest.mark.parametrize("by_name", [False, True])
@pytest.mark.parametrize("factor", [1.0, 1j])
def test_adding_to_a_part_is_one_sum_at_an_index(by_name, factor):
    trace = tape.Trace()
    x = trace.param(factor * np.arange(4.0)) * 1.0
    before = len(trace)
    if by_name:
        part = x[1:3]
        part += factor * np.array([2.0, 3.0])
    else:
        x[1:3] += factor * np.array([2.0, 3.0])  # the part, and then an assignment of it
    assert [node.op.name for node in trace.nodes[before:]] == ["getitem", "add_at", "getitem"]
    assert_same(x.value, factor * np.array([0.0, 3.0, 5.0, 3.0]))


@pytest.mark.parametrize("index", [(), ..., None, True])
def test_writing_to_a_number_leaves_a_number(index):
    """Of NumPy's scalars, as all results without axes are."""
    trace = tape.Trace()
    x, v = trace.param(2.0), trace.param(3.0)
    for operands in ((x, v), (x, 3.0), (2.0, 3.0), (np.array(2.0), np.float64(3.0))):
        for function in (tape.ops.set_at, tape.ops.add_at):
            made = function(*operands, index)
            value = made.value if isinstance(made, tape.Var) else made
            assert type(value) is np.float64
            assert value == (3.0 if function is tape.ops.set_at else 5.0)


BOOLS = [
    True, False, np.True_, (None, True), (True, 0), (0, True), (np.True_, ...), (slice(1, 3), True),
    (True, [0, 2]),
]  # fmt: skip


@pytest.mark.parametrize("index", BOOLS, ids=str)
def test_a_bool_in_an_index_is_a_mask_without_axes(index):
    """NumPy reads by it what is no view."""
    x = np.arange(6.0).reshape(3, 2)
    v = np.full(np.shape(x[index]), 10.0) + np.arange(np.size(x[index])).reshape(np.shape(x[index]))
    written, added = x.copy(), x.copy()
    written[index] = v
    np.add.at(added, index, v)

    def both(x, v):
        y = x * 1.0
        y[index] += v
        return tape.ops.set_at(x, v, index), tape.ops.add_at(x, v, index), y

    for f in (both, tape.compile(both)):
        for found, expected in zip(f(x, v), (written, added, added), strict=True):
            np.testing.assert_array_equal(found, expected)
    by_both = [tape.jacobian(lambda x, v: both(x, v)[:2], (0, 1), mode=mode)(x, v) for mode in ("fwd", "rev")]
    for a, b in zip(*(tree.flatten(each)[0] for each in by_both), strict=True):
        np.testing.assert_array_equal(a, b)
    of_set, of_add = by_both[0]
    np.testing.assert_array_equal(np.sum(of_add[1]), np.size(v))
    np.testing.assert_array_equal(np.sum(of_set[0]), x.size - np.size(v))
