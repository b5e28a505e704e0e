"""Var: it behaves like the ndarray it holds, records what can be differentiated and refuses the rest."""

import copy
import operator
import pickle

import numpy as np
import pytest

import tape
from tape import errors
from tests.oracles import assert_close, vjp


@pytest.fixture
def trace():
    return tape.Trace()


@pytest.fixture
def v(trace):
    return trace.param(np.array([[1.5, 0.5, 2.5], [0.25, 3.0, 1.0]]), name="v")


def assert_same(out, expected):
    """A recorded result equals what NumPy makes of the plain array."""
    assert isinstance(out, tape.Var)
    assert out.dtype == np.result_type(expected)
    np.testing.assert_array_equal(out.value, expected, strict=np.ndim(expected) > 0)


# ---- operators -----------------------------------------------------------------------------------

ARITHMETIC = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow]
COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]
OTHERS = [
    2, 0.5, np.float64(0.5), np.float32(0.5), np.int64(2), np.array(2.0), np.array([1.0, 2.0, 0.5]),
    np.array([[2], [3]]), [1.0, 2.0, 0.5], (1, 2, 3), [[0.25], [0.5]], True,
]  # fmt: skip


@pytest.mark.parametrize("other", OTHERS, ids=repr)
@pytest.mark.parametrize("op", [*ARITHMETIC, *COMPARISONS])
def test_operators_on_both_sides(v, op, other):
    assert_same(op(v, other), op(v.value, np.asarray(other) if isinstance(other, (list, tuple)) else other))
    assert_same(op(other, v), op(np.asarray(other) if isinstance(other, (list, tuple)) else other, v.value))
    assert len(v.trace) == 3


@pytest.mark.parametrize("op", [*ARITHMETIC, *COMPARISONS])
def test_operators_between_vars(v, op):
    assert_same(op(v, v), op(v.value, v.value))
    assert_same(op(v, v[0]), op(v.value, v.value[0]))


@pytest.mark.parametrize("op", ARITHMETIC)
def test_gradients_flow_from_both_sides(op):
    x, y = np.array([1.5, 2.0]), np.array([0.5, 3.0])
    left, right = vjp(op, [x, y])
    assert_close(vjp(lambda v: op(v, y), [x])[0], left, 0)
    assert_close(vjp(lambda v: op(x, v), [y])[0], right, 0)
    assert_close(vjp(lambda v: op(list(x), v), [y])[0], right, 0)


def test_matmul_on_both_sides(v):
    a = np.arange(6.0).reshape(3, 2)
    assert_same(v @ a, v.value @ a)
    assert_same(a @ v, a @ v.value)
    assert_same(a.tolist() @ v, a @ v.value)
    assert_same(v @ a.tolist(), v.value @ a)
    assert_same(v.dot(a), v.value.dot(a))


def test_unary_operators(v):
    for op in (operator.neg, operator.pos, operator.abs):
        assert_same(op(v), op(v.value))


def test_logic_of_masks(v):
    m, plain = v > 1, v.value > 1
    k = np.array([True, False, True])
    for op in (operator.and_, operator.or_, operator.xor):
        assert_same(op(m, k), op(plain, k))
        assert_same(op(k, m), op(k, plain))
        assert_same(op(True, m), op(True, plain))
    assert_same(~m, ~plain)
    assert (m & k).node.vjp is None


def test_augmented_assignment_of_a_number_makes_a_new_var(trace):
    x = number = trace.param(1.5)
    x += 1
    assert (x is not number, float(x), float(number)) == (True, 2.5, 1.5)


# ---- what it is ----------------------------------------------------------------------------------


def test_attributes_are_those_of_the_value(v):
    assert (v.shape, v.dtype, v.ndim, v.size, v.name) == ((2, 3), np.float64, 2, 6, "v")
    assert len(v) == 2
    assert_same(v.T, v.value.T)
    assert [row.value.tolist() for row in v] == v.value.tolist()
    first, second = v
    assert_same(first * second, v.value[0] * v.value[1])
    assert v.trace.nodes[v.id] is v.node


def test_scalars_convert(trace):
    x, n = trace.param(2.5), trace.input(3)
    assert (float(x), int(x), bool(x), x.item()) == (2.5, 2, True, 2.5)
    assert not trace.param(0.0)
    assert float(trace.param([[2.5]])) == 2.5
    assert [10, 20, 30, 40][n] == 40
    assert list(range(n)) == [0, 1, 2]
    assert f"{x:.3f}|{x:>8}|{x}" == f"2.500|     2.5|{x!r}"
    with pytest.raises(errors.ConversionError, match="no integer"):
        operator.index(x)
    with pytest.raises(TypeError, match="no axes"):
        len(x)
    assert not np.iterable(x)


def test_scalars_convert_below_all_nesting():
    outer = tape.Trace()
    inner = tape.Trace()
    y = inner.param(outer.param(2.5))
    assert (float(y), int(y), bool(y), y.item(), f"{y:.1f}") == (2.5, 2, True, 2.5, "2.5")
    assert bool(y > 2)


def test_arrays_do_not_convert_to_scalars(v):
    for convert in (float, int):
        with pytest.raises(errors.ConversionError, match=r"6 elements"):
            convert(v)
    with pytest.raises(errors.ConversionError, match=r"ambiguous.*np\.where"):
        bool(v > 0)
    with pytest.raises(errors.ConversionError):
        _ = f"{v:.2f}"
    assert v.item(0, 1) == 0.5


def test_repr_says_value_name_and_id(trace, v):
    assert repr(trace.param(2.0, name="b")) == "Var(2.0, name='b', id=1)"
    assert "id=2" in repr(v * 2)
    assert len(repr(trace.param(np.zeros((100, 100))))) < 80


def test_vars_are_keys_by_identity(v):
    w = v + 0
    assert {v: 1, w: 2}[v] == 1
    assert hash(v) != hash(w)
    assert hash(v) == hash(v)


# ---- methods -------------------------------------------------------------------------------------

METHODS = {
    "sum": lambda x: [
        x.sum(),
        x.sum(0),
        x.sum(axis=(0, 1), keepdims=True),
        x.sum(1, where=[True, False, True]),
    ],
    "mean": lambda x: [x.mean(), x.mean(-1)],
    "max": lambda x: [x.max(), x.max(axis=1)],
    "min": lambda x: [x.min(), x.min(axis=1, keepdims=True)],
    "prod": lambda x: [x.prod(), x.prod(0)],
    "var": lambda x: [x.var(), x.var(axis=0, ddof=1)],
    "std": lambda x: [x.std(), x.std(axis=0, ddof=1, keepdims=True)],
    "argmax": lambda x: [x.argmax(), x.argmax(1)],
    "argmin": lambda x: [x.argmin(), x.argmin(axis=0)],
    "reshape": lambda x: [
        x.reshape(3, 2),
        x.reshape((3, 2)),
        x.reshape(-1),
        x.reshape([6, 1]),
        x.reshape(np.int64(6)),
    ],
    "ravel": lambda x: [x.ravel(), x.flatten(), x.flatten("F")],
    "transpose": lambda x: [x.transpose(), x.transpose(1, 0), x.transpose(None), x.transpose((0, 1)), x.T],
    "swapaxes": lambda x: [x.swapaxes(0, 1)],
    "squeeze": lambda x: [x[:, :1].squeeze(), x[:, :1].squeeze(1)],
    "astype": lambda x: [x.astype(np.float32), x.astype(int), x.astype("float64")],
    "clip": lambda x: [x.clip(0.5, 2), x.clip(0.5), x.clip(max=2), x.clip(min=1)],
    "dot": lambda x: [x.dot(np.ones(3)), x.dot(x.T)],
    "all": lambda x: [(x > 1).all(0)],
    "any": lambda x: [(x > 1).any(axis=1, keepdims=True)],
    "argpartition": lambda x: [x.argpartition(1)],
    "argsort": lambda x: [x.argsort(0)],
    "choose": lambda x: [(x > 1).astype(int).choose([x, -x])],
    "compress": lambda x: [x.compress([True, False], axis=0)],
    "conj": lambda x: [x.conj()],
    "copy": lambda x: [x.copy()],
    "cumprod": lambda x: [x.cumprod(1)],
    "cumsum": lambda x: [x.cumsum(axis=0, dtype=np.float32)],
    "diagonal": lambda x: [x.diagonal(1)],
    "flatten": lambda x: [x.flatten("F")],
    "nonzero": lambda x: [(x > 1).nonzero()[1]],
    "repeat": lambda x: [x.repeat(2, axis=1)],
    "round": lambda x: [x.round(1)],
    "searchsorted": lambda x: [x[0].searchsorted(1.0)],
    "take": lambda x: [x.take([0, 0], 1)],
    "real": lambda x: [x.real],
    "imag": lambda x: [x.imag],
    "mT": lambda x: [x.mT],
    "floor_divide": lambda x: [x // 0.3 + 2.0 // x],
    "remainder": lambda x: [x % 0.3 + 2.0 % x],
    "divmod": lambda x: [divmod(x, 0.3)[1] + divmod(2.0, x)[0]],
    "shifts": lambda x: [(x > 1).astype(int) << 2],
    "other shifts": lambda x: [8 >> (x > 1).astype(int)],
    "rounding": lambda x: [round(x[0, 0], 1)],
    "where": lambda x: [np.where(x > 1)[1]],
    "getitem": lambda x: [x[0], x[..., None], x[:, ::-1], x[[0, 0]], x[x > 1], x[1, 2], x[-1][[1]]],
}


@pytest.mark.parametrize("method", METHODS)
def test_methods_are_those_of_an_array(v, method):
    for out, expected in zip(METHODS[method](v), METHODS[method](v.value), strict=True):
        assert_same(out, expected)


# ---- NumPy functions -----------------------------------------------------------------------------

RECORDED = {
    "tanh": lambda x: np.tanh(x),
    "exp": lambda x: np.exp(x[0]),
    "sum": lambda x: np.sum(x, axis=0, keepdims=True),
    "sum positional": lambda x: np.sum(x, 1),
    "add.reduce": lambda x: np.add.reduce(x),
    "add.reduce axis": lambda x: np.add.reduce(x, axis=None),
    "add.reduce keepdims": lambda x: np.add.reduce(x, axis=1, keepdims=True),
    "multiply.reduce": lambda x: np.multiply.reduce(x, axis=-1),
    "maximum.reduce": lambda x: np.maximum.reduce(x),
    "minimum.reduce": lambda x: np.minimum.reduce(x, axis=(0, 1)),
    "amax": lambda x: np.amax(x, axis=0),
    "concatenate": lambda x: np.concatenate([x, np.ones((1, 3))]),
    "concatenate arrays first": lambda x: np.concatenate((np.ones((2, 1)), x), axis=1),
    "stack": lambda x: np.stack([x, x]),
    "where": lambda x: np.where(x > 1, x, 0.0),
    "where arrays": lambda x: np.where(np.array([True, False, True]), 1.0, x),
    "clip": lambda x: np.clip(x, 0.5, 2.0),
    "maximum": lambda x: np.maximum(1.0, x),
    "dot": lambda x: np.dot(np.ones(2), x),
    "matmul": lambda x: np.matmul(x, x.T),
    "reshape": lambda x: np.reshape(x, (3, 2)),
    "reshape NumPy int": lambda x: np.reshape(x, np.int64(-1)),
    "transpose": lambda x: np.transpose(x, (1, 0)),
    "broadcast_to NumPy int": lambda x: np.broadcast_to(x[0, 0], np.int64(2)),
    "broadcast_to": lambda x: np.broadcast_to(x, (2, 2, 3)),
    "expand_dims": lambda x: np.expand_dims(x, (0, -1)),
    "var": lambda x: np.var(x, axis=0, ddof=1),
    "astype": lambda x: np.astype(x, np.float32),
    "power": lambda x: np.power(x, 2),
    "absolute": lambda x: np.abs(x),
    "isnan": lambda x: np.isnan(x),
    "logical_not": lambda x: np.logical_not(x > 1),
    "true_divide": lambda x: np.true_divide(x, 2),
    "argmax": lambda x: np.argmax(x, axis=1),
    "list comparison": lambda x: np.equal([1, 2, 3], x),
}


@pytest.mark.parametrize("name", RECORDED)
def test_numpy_functions_record(v, name):
    assert_same(RECORDED[name](v), RECORDED[name](v.value))


def test_split_gives_vars(v):
    for part, expected in zip(np.split(v, 3, axis=1), np.split(v.value, 3, axis=1), strict=True):
        assert_same(part, expected)


def test_questions_about_arrays_are_answered_not_recorded(v):
    plain = v.value
    assert (np.shape(v), np.ndim(v), np.size(v), np.result_type(v)) == ((2, 3), 2, 6, np.float64)
    assert np.result_type(v, np.float32) == np.float64
    np.testing.assert_array_equal(np.full_like(v, 7), np.full((2, 3), 7.0))
    assert np.allclose(v, plain)
    assert np.array_equal(v, plain)
    assert np.isrealobj(v)
    assert np.shares_memory(v, plain)
    assert np.array2string(v) == np.array2string(plain)
    assert np.array2string(a=v) == np.array2string(plain)
    assert len(v.trace) == 1


# ---- what would lose the derivative, or write into a recorded value ------------------------------

CONVERSIONS = {
    "asarray": lambda x: np.asarray(x),
    "array": lambda x: np.array(x),
    "array of a list": lambda x: np.array([x, x]),
    "asarray of a row": lambda x: np.asarray([x[0, 0], 1.0]),
    "float64": lambda x: np.float64(x),
    "setting an element": lambda x: np.zeros((2, 3)).__setitem__(slice(None), x),
}


@pytest.mark.parametrize("name", CONVERSIONS)
def test_conversion_is_refused(v, name):
    with pytest.raises(errors.ConversionError, match=r"\.value") as caught:
        CONVERSIONS[name](v)
    assert isinstance(caught.value, TypeError)


def add_in_place(array, x):
    array += x


IN_PLACE = {
    "out": lambda x: np.add(x, 1, out=np.zeros((2, 3))),
    "out of a reduction": lambda x: np.add.reduce(x, out=np.zeros(3)),
    "array += v": lambda x: add_in_place(np.ones((2, 3)), x),
    "array *= v": lambda x: operator.imul(np.ones((2, 3)), x),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_writing_in_place_is_refused(v, name):
    with pytest.raises(errors.InPlaceError) as caught:
        IN_PLACE[name](v)
    assert isinstance(caught.value, TypeError)
    assert len(v.trace) == 1


def test_np_sum_into_out_is_refused(v):
    with pytest.raises(errors.TapeError, match="out"):
        np.sum(v, axis=0, out=np.zeros(3))
    assert len(v.trace) == 1


# ---- no derivative is lost on the way out --------------------------------------------------------


def test_writing_a_var_into_an_array_is_refused(trace):
    x, out = trace.param([1.0, 2.0]), np.zeros(2)

    def add_in_place():
        out[0] += x[0]

    for write in (lambda: out.__setitem__(slice(None), x), add_in_place):
        with pytest.raises((errors.TapeError, ValueError)):
            write()
    with pytest.raises(ValueError, match="array element") as caught:  # NumPy's, chained to
        out[0] = x[0]
    assert isinstance(caught.value.__cause__, errors.InPlaceError)
    with pytest.raises(ValueError, match="single item"):
        out.flat[1] = x[1]
    assert not out.any()
    out[0] = trace.input(3.0)  # has no derivative to lose
    out[1] = float(x[0])
    np.testing.assert_array_equal(out, np.array([3.0, 1.0]))


def test_copies_of_a_var_stand_for_the_same_node(trace):
    x = trace.param(1.0)
    for other in (copy.copy(x), copy.deepcopy([x])[0]):
        assert other is not x
        assert other.node is x.node
    with pytest.raises(errors.ConversionError, match="pickled"):
        pickle.dumps(x)


def test_missing_attributes_say_what_to_do(trace):
    x = trace.param([1.0])
    with pytest.raises(errors.MissingAttributeError, match=r"'tobytes'.*\.value\.tobytes"):
        x.tobytes()
    assert not hasattr(x, "nonsense")


def test_comparing_with_none_is_false(trace):
    x = trace.param([1.0])
    nothing = None
    assert (x == nothing, x != nothing, x in [nothing]) == (False, True, False)


def test_numpy_options_may_say_what_is_so_anyway(trace):
    x = trace.param(np.arange(6.0).reshape(2, 3))
    for value, expected in [
        (np.sum(x, 0, None, None, True), x.sum(0, keepdims=True)),
        (np.sum(x, axis=0, dtype=None, out=None), x.sum(0)),
        (np.max(x, 0, None), x.max(0)),
        (np.var(x, 0, None, None, 1), x.var(0, ddof=1)),
        (np.reshape(x, (3, 2), order="C"), x.reshape(3, 2)),
        (np.clip(x, 1, 2, None), x.clip(1, 2)),
        (np.concatenate([x, x], 0, None), np.concatenate([x, x])),
    ]:
        np.testing.assert_array_equal(value.value, expected.value)
    with pytest.raises(errors.InPlaceError, match="out"):
        np.sum(x, 0, np.float32, np.zeros(3))


def test_every_method_of_arrays_is_there_or_says_why_not(v):
    """By name: what computes is an operation, what writes is refused, what exports needs a plain array."""
    exported = {"base", "byteswap", "ctypes", "data", "dump", "dumps", "flags", "flat", "getfield"}
    exported |= {"setfield", "setflags", "strides", "tobytes", "tofile", "view"}
    public = {name for name in dir(np.ndarray) if not name.startswith("_")}
    assert {name for name in public if not hasattr(type(v), name)} == exported


def test_resizing_in_place_is_refused(v):
    with pytest.raises(errors.InPlaceError, match=r"np\.resize"):
        v.resize((3, 2))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(np.arange(2.0), initial=x),
        lambda x: np.max(np.arange(2.0), initial=x),
        lambda x: np.var(np.arange(5.0), ddof=x),
        lambda x: np.interp(np.ones(2), np.arange(2.0), np.arange(2.0), left=x),
    ],
)
def test_numbers_that_numpy_takes_unasked_are_refused(f):
    """NumPy hands a call on because of some of its arguments only; the others it would turn into numbers."""
    with tape.Trace() as trace, pytest.raises((errors.ConversionError, ValueError)) as caught:
        f(trace.param(2.0))
    error = caught.value if isinstance(caught.value, errors.ConversionError) else caught.value.__cause__
    assert "tape.ops" in str(error)


def test_a_var_is_where_arrays_are(trace):
    v = trace.param(np.ones(2))
    assert v.__dlpack_device__() == np.ones(2).__dlpack_device__()
    with pytest.raises(errors.ConversionError):
        v.__dlpack__()


def test_what_asks_for_nothing_that_a_var_has_not_got_is_answered(trace, v):
    assert v.to_device("cpu") is v
    assert v.itemsize == 8
    assert complex(trace.param(2.0)) == 2 + 0j


def test_methods_that_write_are_those_of_arrays(trace):
    x = np.array([3.0, 1.0, 2.0, 0.0])
    v, expected = trace.param(x) * 1.0, x.copy()
    v.partition(2)
    expected.partition(2)
    assert_same(v, expected)
    v.put([0, -1], [7.0, 8.0])
    expected.put([0, -1], [7.0, 8.0])
    assert_same(v, expected)


def test_the_method_of_arrays_that_a_trace_hides_is_an_error_that_says_so():
    for f in (tape.grad(lambda a: a.trace()), tape.compile(lambda a: a.trace(offset=1))):
        with pytest.raises(errors.UnsupportedError, match=r"Call np\.trace\(v\)"):
            f(np.eye(2))
