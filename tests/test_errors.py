"""Bad input: the class of the error, what its message names, and a tape that is as it was."""

import operator
import types
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import integrate, optimize, special

import tape
from tape import errors, nn, ops


class Bench:
    """A trace with some of everything on it, and the lengths of its lists."""

    def __init__(self):
        self.trace = tape.Trace(name="mine")
        self.v = self.trace.param(np.arange(6.0).reshape(2, 3), name="v")
        self.x = self.trace.input(np.arange(3), name="x")
        self.y = self.v * 2.0
        self.row, self.part, self.none, self.mask = self.v[0], self.v[:, :2], self.v[:0], self.v > 0
        self.turned, self.stack = self.v.T, self.v.reshape(3, 2, 1)
        self.square, self.z = self.turned @ self.v, self.row * 1j
        self.other_trace = tape.Trace(name="yours")
        self.other = self.other_trace.param(np.ones(3), name="other")

    def state(self):
        traces = (self.trace, self.other_trace)
        params = [p.id for trace in traces for p in trace.params]
        return params, [(node, id(node.value), node.parents) for trace in traces for node in trace.nodes]

    def check_against(self, before):
        """Nothing was recorded or changed, and the tape still works."""
        assert self.state() == before
        self.trace.replay()
        (grad,) = self.trace.backward_param_grads(self.y * self.v)
        np.testing.assert_array_equal(grad, 4 * self.v.value)


def place_of(function):
    """``test_errors.py:line`` for a function written on one line."""
    return f"test_errors.py:{function.__code__.co_firstlineno}"


BUILTIN = {
    errors.ShapeError: ValueError,
    errors.OptionError: ValueError,
    errors.SeedError: ValueError,
    errors.TraceMismatchError: ValueError,
    errors.UnreachableParamError: ValueError,
    errors.OutOfBoundsError: IndexError,
    errors.DTypeError: TypeError,
    errors.UnsupportedError: TypeError,
    errors.ConversionError: TypeError,
    errors.InPlaceError: TypeError,
    errors.ConvergenceError: ArithmeticError,
    errors.SingularMatrixError: np.linalg.LinAlgError,
    errors.DerivativeError: AssertionError,
    errors.ExpressionError: SyntaxError,
    errors.NonFiniteError: FloatingPointError,
    errors.ProgramError: ValueError,
    errors.ProgramFileError: ValueError,
    errors.CheckpointError: ValueError,
    errors.FileWriteError: OSError,
    errors.MissingAttributeError: AttributeError,
    errors.TraceDroppedError: ReferenceError,
    errors.RankError: RuntimeError,
    errors.ItemsError: RuntimeError,
}

BAD_INPUT = [
    # shapes
    (lambda b: b.v + np.ones(4), errors.ShapeError, ["add", "float64[2, 3]", "float64[4]"]),
    (lambda b: np.ones((3, 2), np.float32) * b.v, errors.ShapeError, ["multiply", "float32[3, 2]", "[2, 3]"]),
    (lambda b: np.clip(b.v, 0, np.ones(7)), errors.ShapeError, ["clip", "float64[2, 3]", "float64[7]"]),
    (lambda b: np.concatenate([b.v, [[1], [2, 3]]], None), errors.ShapeError, ["no regular array"]),
    (lambda b: np.maximum(b.v, b.part), errors.ShapeError, ["maximum", "[2, 3]", "[2, 2]"]),
    (lambda b: np.where(np.ones(4) > 0, b.v, 0), errors.ShapeError, ["where", "bool[4]", "[2, 3]"]),
    (lambda b: ops.clip(b.v, np.zeros(2), 1), errors.ShapeError, ["clip", "[2, 3]", "[2]"]),
    (lambda b: b.v @ b.v, errors.ShapeError, ["matmul", "float64[2, 3], float64[2, 3]"]),
    (lambda b: b.v @ 2.0, errors.ShapeError, ["matmul", "2.0"]),
    (lambda b: np.dot(b.v, np.ones(2)), errors.ShapeError, ["[2, 3]", "[2]"]),
    (lambda b: np.ones((5, 2, 2)) @ b.stack, errors.ShapeError, ["matmul", "[3, 2, 1]"]),
    (lambda b: np.concatenate([b.v, np.ones((2, 4))]), errors.ShapeError, ["concatenate", "[2, 4]"]),
    (lambda b: ops.concatenate([]), errors.ShapeError, ["concatenate"]),
    (lambda b: np.stack([b.v, b.row]), errors.ShapeError, ["stack", "[2, 3]", "[3]"]),
    (lambda b: ops.stack([]), errors.ShapeError, ["stack"]),
    (lambda b: b.v.reshape(4, 2), errors.ShapeError, ["reshape", "[2, 3]"]),
    (lambda b: b.v.reshape(-1, 4), errors.ShapeError, ["reshape", "[2, 3]"]),
    (lambda b: np.broadcast_to(b.v, (2, 4)), errors.ShapeError, ["broadcast_to", "[2, 3]"]),
    (lambda b: np.squeeze(b.v, 0), errors.ShapeError, ["squeeze", "[2, 3]"]),
    (lambda b: np.split(b.v, 2, axis=1), errors.ShapeError, ["split", "3"]),
    (lambda b: b.v * [[1.0], [2.0, 3.0]], errors.ShapeError, ["regular"]),
    (lambda b: b.trace.param([[1.0], [2.0, 3.0]]), errors.ShapeError, ["array-like"]),
    # axes
    (lambda b: b.v.sum(axis=2), errors.ShapeError, ["sum", "2", "[2, 3]"]),
    (lambda b: b.v.mean(axis=(0, -3)), errors.ShapeError, ["mean", "(0, -3)", "[2, 3]"]),
    (lambda b: b.v.prod(axis=(0, 0)), errors.ShapeError, ["prod", "(0, 0)", "twice"]),
    (lambda b: b.v.var(axis="rows"), errors.ShapeError, ["var", "rows"]),
    (lambda b: ops.softmax(b.v, axis=5), errors.ShapeError, ["softmax", "5", "[2, 3]"]),
    (lambda b: ops.logsumexp(b.v, axis=-3), errors.ShapeError, ["logsumexp", "-3", "[2, 3]"]),
    (lambda b: b.v.argmax(axis=2), errors.ShapeError, ["argmax", "2", "[2, 3]"]),
    (lambda b: np.transpose(b.v, (0, 0)), errors.ShapeError, ["transpose", "[2, 3]"]),
    (lambda b: np.swapaxes(b.v, 0, 2), errors.ShapeError, ["swapaxes", "[2, 3]"]),
    (lambda b: np.expand_dims(b.v, 4), errors.ShapeError, ["expand_dims", "[2, 3]"]),
    (lambda b: np.concatenate([b.v, b.v], axis=2), errors.ShapeError, ["concatenate", "[2, 3]"]),
    (lambda b: np.split(b.v, 1, axis=2), errors.ShapeError, ["split", "2", "[2, 3]"]),
    (lambda b: ops.max(b.none), errors.ShapeError, ["max", "no elements", "[0, 3]"]),
    (lambda b: ops.argmin(b.none), errors.ShapeError, ["argmin", "[0, 3]"]),
    # indices
    (lambda b: b.v[2], errors.OutOfBoundsError, ["getitem", "[2, 3]"]),
    (lambda b: b.v[0, 1, 0], errors.OutOfBoundsError, ["getitem", "[2, 3]"]),
    (lambda b: b.v[:, [0, 3]], errors.OutOfBoundsError, ["getitem", "[2, 3]"]),
    (lambda b: b.v[np.ones(3, bool)], errors.OutOfBoundsError, ["getitem", "[2, 3]"]),
    (lambda b: b.v[1.0], errors.OutOfBoundsError, ["float64"]),
    (lambda b: b.v["rows"], errors.OutOfBoundsError, ["index"]),
    (lambda b: b.v[np.ma.masked_array([0, 1], [0, 1])], errors.OutOfBoundsError, ["masked"]),
    (lambda b: b.v[b.v], errors.OutOfBoundsError, ["float64[2, 3]"]),
    (lambda b: b.trace[99], errors.OutOfBoundsError, ["99", "mine"]),
    (lambda b: b.v[[[0], [0, 1]]], errors.OutOfBoundsError, ["not a regular array"]),
    (lambda b: b.v[: "one"], errors.OutOfBoundsError, ["bound"]),
    (lambda b: np.put(b.none, [0], 1.0), errors.OutOfBoundsError, ["put", "without elements"]),
    (lambda b: np.place(b.v, b.mask.value, []), errors.ShapeError, ["place", "no values"]),
    (lambda b: np.putmask(b.v, [True], 1.0), errors.ShapeError, ["putmask", "1 elements", "6"]),
    (lambda b: np.fill_diagonal(b.row, 1.0), errors.ShapeError, ["fill_diagonal", "no diagonal"]),
    (lambda b: np.vander(b.v), errors.ShapeError, ["vander", "float64[2, 3]", "one axis"]),
    (lambda b: np.polyval(2.0, b.v), errors.ShapeError, ["polyval", "must have an axis"]),
    (lambda b: ops.poly(b.stack), errors.ShapeError, ["poly", "[3, 2, 1]", "square"]),
    (lambda b: np.tensordot(b.square, b.square, ([0, 0], [0, 1])), errors.ShapeError, ["named twice"]),
    (lambda b: np.sum(b.v, where=np.ones((2, 2), bool)), errors.ShapeError, ["sum", "[2, 2]", "[2, 3]"]),
    (lambda b: b.v.astype(float, device="gpu"), errors.OptionError, ["astype", "gpu", "cpu"]),
    (lambda b: b.v.to_device("gpu"), errors.OptionError, ["gpu", "cpu"]),
    (lambda b: b.v.to_device("cpu", stream=1), errors.OptionError, ["stream"]),
    (lambda b: b.trace.jvp(b.y, [b.v]), errors.SeedError, ["tangents", "dict"]),
    (lambda b: b.trace.jvp(b.y, {b.v: np.ma.ones((2, 3))}), errors.SeedError, ["masked array"]),
    (lambda b: np.ediff1d(b.mask), errors.DTypeError, ["ediff1d", "bools"]),
    (lambda b: np.gradient(b.mask), errors.DTypeError, ["gradient", "bools"]),
    (lambda b: ops.softmax_cross_entropy(np.ones((3, 0)), b.x), errors.ShapeError, ["last axis", "[3, 0]"]),
    # dtypes
    (lambda b: b.trace.param(3), errors.DTypeError, ["param", "int64", "float"]),
    (lambda b: b.trace.param([True]), errors.DTypeError, ["param", "bool[1]"]),
    (lambda b: b.trace.param(np.arange(3)), errors.DTypeError, ["param", "int64[3]"]),
    (lambda b: b.trace.param("one"), errors.DTypeError, ["param"]),
    (lambda b: b.trace.param(None), errors.DTypeError, ["param", "object"]),
    (lambda b: b.trace.param(np.array([None, 1.0])), errors.DTypeError, ["param", "object[2]"]),
    (lambda b: b.trace.param(np.ma.masked_array([1.0, 2.0], [0, 1])), errors.DTypeError, ["masked"]),
    (lambda b: b.trace.input("one"), errors.DTypeError, ["input"]),
    (lambda b: b.v * np.array(["a", "b", "c"]), errors.DTypeError, ["[3]"]),
    (lambda b: b.v + None, errors.DTypeError, ["object"]),
    (lambda b: b.v + np.ma.masked_array(np.ones(3), [0, 1, 0]), errors.DTypeError, ["masked"]),
    (lambda b: b.v.astype("U3"), errors.DTypeError, ["<U3"]),
    (lambda b: b.x ** -1, errors.TapeError, ["power", "negative"]),
    (lambda b: b.v & 1, errors.DTypeError, ["bitwise_and", "float64[2, 3]", "1"]),
    (lambda b: ~b.v, errors.DTypeError, ["invert", "float64[2, 3]"]),
    (lambda b: b.trace.backward_param_grads(b.x), errors.DTypeError, ["int64", "derivative"]),
    (lambda b: b.trace.backward(b.mask), errors.DTypeError, ["bool", "derivative"]),
    # sums and orders along an axis
    (lambda b: np.cumsum(b.v, axis=2), errors.ShapeError, ["cumsum", "2", "[2, 3]"]),
    (lambda b: np.cumprod(b.v, axis=b.x), errors.ShapeError, ["cumprod", "name='x'"]),
    (lambda b: np.diff(b.v, n=-1), errors.OptionError, ["diff", "-1"]),
    (lambda b: np.sum(b.v, where=[1, 0, 1]), errors.DTypeError, ["sum", "int64[3]", "bools"]),
    (lambda b: np.sum(b.v, dtype="number"), errors.DTypeError, ["sum", "number"]),
    (lambda b: np.std(b.v, ddof="one"), errors.DTypeError, ["std"]),
    (lambda b: np.sort(b.v, kind="bubble"), errors.OptionError, ["sort", "bubble", "stable"]),
    (lambda b: np.partition(b.v, 7), errors.ShapeError, ["partition", "7", "3"]),
    (lambda b: np.median(b.v, axis=4), errors.ShapeError, ["median", "4", "[2, 3]"]),
    (lambda b: np.quantile(b.v, 1.5), errors.OptionError, ["quantile", "between 0 and 1"]),
    (lambda b: np.percentile(b.v, [50, 101]), errors.OptionError, ["percentile", "between 0 and 100"]),
    (lambda b: np.quantile(b.v, 0.5, method="fast"), errors.OptionError, ["fast", "linear"]),
    (lambda b: np.quantile(b.z, 0.5), errors.DTypeError, ["quantile", "complex128[3]", "real"]),
    (lambda b: np.average(b.v, weights=np.ones(3)), errors.ShapeError, ["average", "[3]", "[2, 3]", "axis"]),
    (lambda b: np.cov(b.v, ddof="one"), errors.OptionError, ["cov", "'one'"]),
    (lambda b: np.corrcoef(b.v, np.ones(4)), errors.ShapeError, ["3 observations", "4"]),
    # choosing, joining, repeating
    (lambda b: np.take(b.v, [7]), errors.OutOfBoundsError, ["take", "7", "5"]),
    (lambda b: np.take(b.v, b.row), errors.OutOfBoundsError, ["take", "float64[3]", "ints"]),
    (lambda b: np.take(b.v, [0], mode="warp"), errors.OptionError, ["warp", "wrap"]),
    (lambda b: np.take_along_axis(b.v, b.x, 1), errors.ShapeError, ["take_along_axis", "[3]", "[2, 3]"]),
    (lambda b: np.choose([0, 5, 1], [b.row, b.row]), errors.OutOfBoundsError, ["choose", "5"]),
    (lambda b: np.select([b.mask], [b.v, b.v]), errors.ShapeError, ["select", "1 conditions", "2 choices"]),
    (lambda b: np.piecewise(b.v, [b.mask], [0, 1, 2]), errors.ShapeError, ["piecewise", "3 functions"]),
    (lambda b: np.hstack([b.v, b.row]), errors.ShapeError, ["hstack", "float64[3]", "float64[2, 3]"]),
    (lambda b: np.insert(b.v, 9, 1.0), errors.OutOfBoundsError, ["insert", "9", "6"]),
    (lambda b: np.delete(b.v, b.row), errors.ConversionError, ["index"]),
    (lambda b: np.pad(b.v, 1, mode="mirror"), errors.OptionError, ["pad", "mirror", "reflect"]),
    (lambda b: np.pad(b.v, -1), errors.ShapeError, ["pad", "-1", "slice"]),
    (lambda b: np.repeat(b.v, [1, 2, 3, 4], 0), errors.ShapeError, ["repeat", "length 2"]),
    (lambda b: np.tile(b.v, 1.5), errors.ShapeError, ["1.5", "int"]),
    (lambda b: np.rot90(b.row), errors.ShapeError, ["rot90", "[3]"]),
    (lambda b: np.meshgrid(b.row, b.row, indexing="yx"), errors.OptionError, ["meshgrid", "yx", "ij"]),
    (lambda b: np.interp(b.row, [0, 1], [0, 1, 2]), errors.ShapeError, ["interp", "[2]", "[3]"]),
    (lambda b: np.convolve(b.v, b.row), errors.ShapeError, ["convolve", "[2, 3]", "vectors"]),
    # products
    (lambda b: np.inner(b.v, np.ones(2)), errors.ShapeError, ["inner", "[2, 3]", "[2]"]),
    (lambda b: np.cross(b.v, np.ones(4)), errors.ShapeError, ["cross", "[4]", "2 or 3"]),
    (lambda b: np.linalg.cross(b.v, np.ones(2)), errors.ShapeError, ["cross", "three", "np.cross"]),
    (lambda b: np.linalg.outer(b.v, b.row), errors.ShapeError, ["outer", "[2, 3]", "[3]", "np.outer"]),
    (lambda b: np.tensordot(b.v, b.v, 5), errors.ShapeError, ["tensordot", "5", "[2, 3]"]),
    (lambda b: np.einsum("ij,jk->ik", b.v, b.v), errors.ShapeError, ["einsum", "'j'", "3 and 2"]),
    (lambda b: np.einsum("ij->ijk", b.v), errors.ShapeError, ["einsum", "ij->ijk", "[2, 3]"]),
    (lambda b: np.einsum("ij", b.v, b.v), errors.ShapeError, ["einsum", "1 operands"]),
    (lambda b: np.einsum(b.v, [0, 1], b.v), errors.ShapeError, ["einsum", "list of ints"]),
    (lambda b: np.linalg.multi_dot([b.v, b.v]), errors.ShapeError, ["multi_dot", "[2, 3]"]),
    # linear algebra, spectra, special functions
    (lambda b: np.linalg.inv(b.v), errors.ShapeError, ["inv", "square", "[2, 3]"]),
    (lambda b: np.linalg.det(b.row), errors.ShapeError, ["det", "[3]", "matrix"]),
    (lambda b: np.linalg.cholesky(b.square), errors.SingularMatrixError, ["cholesky", "float64[3, 3]"]),
    (lambda b: np.linalg.solve(b.square, np.ones(4)), errors.ShapeError, ["solve", "[3, 3]", "[4"]),
    (lambda b: np.linalg.norm(b.v, 3), errors.OptionError, ["norm", "3", "fro"]),
    (lambda b: np.linalg.matrix_power(b.square, 1.5), errors.OptionError, ["matrix_power", "1.5"]),
    (lambda b: np.linalg.eigh(b.square, UPLO="R"), errors.OptionError, ["eigh", "'R'", "'L'"]),
    (lambda b: np.linalg.qr(b.square, "raw"), errors.UnsupportedError, ["qr", "raw", "reduced"]),
    (lambda b: np.fft.fft(b.v, axis=3), errors.ShapeError, ["fft", "3", "[2, 3]"]),
    (lambda b: np.fft.fft(b.v, norm="unitary"), errors.OptionError, ["fft", "unitary", "ortho"]),
    (lambda b: np.fft.rfft(b.z), errors.DTypeError, ["rfft", "complex128[3]"]),
    (lambda b: special.jv(b.row, 1.0), errors.UnsupportedError, ["jv", "first argument"]),
    (lambda b: special.betaln(b.v, np.ones(4)), errors.ShapeError, ["betaln", "[2, 3]", "[4]"]),
    (lambda b: special.obl_cv(b.v, 2.0, 0.5), errors.UnsupportedError, ["scipy.special.obl_cv", "tape.Op("]),
    # cross-entropy
    (lambda b: ops.softmax_cross_entropy(b.v, np.array([0, 3])), errors.OutOfBoundsError, ["3 classes"]),
    (lambda b: ops.softmax_cross_entropy(b.v, np.array([0, -1])), errors.OutOfBoundsError, ["-1"]),
    (lambda b: ops.softmax_cross_entropy(b.v, np.array([0, 1, 2])), errors.ShapeError, ["[2, 3]", "[3]"]),
    (lambda b: ops.softmax_cross_entropy(b.v, np.ones(2)), errors.ShapeError, ["[2, 3]", "[2]"]),
    (lambda b: ops.softmax_cross_entropy(b.x, b.x), errors.DTypeError, ["int64"]),
    (lambda b: ops.softmax_cross_entropy(b.v, b.v.value > 0), errors.DTypeError, ["bool"]),
    (lambda b: ops.softmax_cross_entropy(b.v, [0, 1], "avg"), errors.OptionError, ["reduction", "avg"]),
    # traces, roots
    (lambda b: b.v + b.other, errors.TraceMismatchError, ["mine", "yours", "level 0"]),
    (lambda b: b.other @ b.turned, errors.TraceMismatchError, ["mine", "yours"]),
    (lambda b: np.concatenate([b.row, b.other]), errors.TraceMismatchError, ["mine", "yours"]),
    (lambda b: b.trace.param(b.v), errors.TraceMismatchError, ["mine", "leaf"]),
    (lambda b: b.trace.backward(b.other), errors.TraceMismatchError, ["root", "yours", "mine"]),
    (lambda b: b.trace.backward_param_grads(3.0), errors.TraceMismatchError, ["root", "3.0", "Var"]),
    (lambda b: b.trace.backward_param_grads(b.v.value), errors.TraceMismatchError, ["float64[2, 3]"]),
    (lambda b: b.trace.jvp(None, {b.v: b.v.value}), errors.TraceMismatchError, ["None"]),
    (lambda b: b.trace.jvp(b.y, {b.y: np.ones((2, 3))}), errors.TraceMismatchError, ["no leaf", "mine"]),
    (lambda b: b.trace.jvp(b.y, {b.other: np.ones(3)}), errors.TraceMismatchError, ["other", "mine"]),
    (lambda b: b.trace.jvp(b.y, {"v": 1.0}), errors.TraceMismatchError, ["'v'", "mine"]),
    (lambda b: b.trace.set(b.y, 1.0), errors.TraceMismatchError, ["no leaf", "mine"]),
    (lambda b: b.trace.set(b.v, np.arange(3)), errors.DTypeError, ["param", "int64[3]"]),
    # seeds and tangents
    (lambda b: b.trace.backward(b.y, np.ones(3)), errors.SeedError, ["[3]", "[2, 3]", "broadcast"]),
    (lambda b: b.trace.backward(b.y, 1.0), errors.SeedError, ["seed", "[]", "[2, 3]"]),
    (lambda b: b.trace.backward(b.y, np.ones((2, 3), complex)), errors.SeedError, ["complex128"]),
    (lambda b: b.trace.backward(b.y, np.full((2, 3), "a")), errors.SeedError, ["seed"]),
    (lambda b: b.trace.backward_param_grads(b.y, np.full((2, 3), np.nan)), errors.SeedError, ["NaN"]),
    (lambda b: b.trace.backward_param_grads(b.y, b.y), errors.TraceMismatchError, [".value"]),
    (lambda b: b.trace.jvp(b.y, {b.v: np.ones(3)}), errors.SeedError, ["tangent", "[3]", "[2, 3]"]),
    (lambda b: b.trace.jvp(b.y, {b.v: np.full((2, 3), np.nan)}), errors.SeedError, ["tangent", "NaN"]),
    # what would lose the derivative
    (lambda b: np.packbits(b.v), errors.UnsupportedError, ["np.packbits", "tape.Op("]),
    (lambda b: np.subtract.reduce(b.v), errors.UnsupportedError, ["np.subtract.reduce", "np.subtract."]),
    (lambda b: np.add(b.v, 1, where=b.mask.value), errors.UnsupportedError, ["np.add", "where", "np.where"]),
    (lambda b: np.median(b.v, overwrite_input=True), errors.UnsupportedError, ["median", "overwrite_input"]),
    (lambda b: np.array([b.row, b.row]), errors.ConversionError, ["np.stack"]),
    (lambda b: range(b.y), errors.ConversionError, ["integer"]),
    (lambda b: np.sum(b.v, out=np.zeros(())), errors.InPlaceError, ["np.sum", "out"]),
    (lambda b: np.putmask(np.ones((2, 3)), True, b.v), errors.InPlaceError, ["np.putmask", "like=x"]),
    (lambda b: b.v.resize((3, 2)), errors.InPlaceError, ["name='v'", "np.resize"]),
    (lambda b: b.v.item(), errors.ConversionError, ["item", "v"]),
    (lambda b: np.add.outer(b.v, "a"), errors.DTypeError, ["<U1"]),
    (lambda b: np.asarray(b.v), errors.ConversionError, ["name='v'", ".value"]),
    (lambda b: operator.iadd(b.v, np.ones((2, 2, 3))), errors.ShapeError, ["[2, 2, 3]", "x = x + y"]),
    (lambda b: operator.iadd(b.mask, 1.5), errors.DTypeError, ["float64", "bool", "astype"]),
    (lambda b: tape.apply(b.v, np.sum, np.sum), errors.ShapeError, ["apply", "[2, 3]"]),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "words"), BAD_INPUT, ids=[place_of(row[0]) for row in BAD_INPUT])
def test_bad_input(call, error, words):
    bench = Bench()
    before = bench.state()
    with pytest.raises(error) as caught:
        call(bench)
    message = str(caught.value)
    assert isinstance(caught.value, errors.TapeError)
    assert isinstance(caught.value, BUILTIN.get(error, Exception))
    for word in words:
        assert word in message
    assert message.endswith(f"{place_of(call)}]")
    bench.check_against(before)


# ---- Vars of a trace that is gone ----------------------------------------------------------------

USES = {
    "add": lambda v: v + 1,
    "radd": lambda v: 1 + v,
    "exp": lambda v: np.exp(v),
    "sum": lambda v: v.sum(),
    "matmul": lambda v: v @ v,
    "concatenate": lambda v: np.concatenate([np.ones(1), v]),
    "getitem": lambda v: v[0],
    "trace": lambda v: v.trace,
    "param": lambda v: tape.Trace().param(v),
    "root": lambda v: tape.Trace().backward(v),
    "with another": lambda v: v + tape.Trace(name="new").param(1.0),
}


@pytest.mark.parametrize("use", USES)
def test_a_var_of_a_dropped_trace_only_has_its_value(use):
    v = tape.Trace().param(np.ones(3), name="orphan")
    with pytest.raises(errors.TraceDroppedError, match="name='orphan'") as caught:
        USES[use](v)
    assert place_of(USES[use]) in str(caught.value)
    np.testing.assert_array_equal(v.value, 1)
    assert (v.shape, v.dtype, v.name) == ((3,), np.float64, "orphan")
    assert "orphan" in repr(v)


# ---- what the user's own code raises -------------------------------------------------------------


class OwnError(Exception):
    """Something only the user knows."""


def failing(error):
    def f(x):
        raise error

    return f


@pytest.mark.parametrize(
    "error", [OwnError("mine"), ValueError("mine"), TypeError("mine"), IndexError("mine")]
)
def test_errors_of_an_applied_function_stay_what_they_are(error):
    bench = Bench()
    before = bench.state()
    with pytest.raises(type(error)) as caught:
        tape.apply(bench.v, failing(error), np.cos)
    assert caught.value is error
    bench.check_against(before)


def test_errors_of_an_applied_derivative_stay_what_they_are():
    bench = Bench()
    error = ValueError("mine")
    y = tape.apply(bench.v, np.sin, failing(error))
    before = bench.state()
    for sweep in (lambda: bench.trace.backward(y), lambda: bench.trace.jvp(y, {bench.v: bench.v.value})):
        with pytest.raises(ValueError, match="mine") as caught:
            sweep()
        assert caught.value is error
    bench.check_against(before)


def test_an_error_inside_a_nested_operation_leaves_both_tapes_alone():
    bench = Bench()
    inner = tape.Trace()
    w = inner.param(bench.v)
    before = bench.state()
    with pytest.raises(errors.ShapeError, match="matmul"):
        _ = w @ w
    assert len(inner) == 1
    bench.check_against(before)


# ---- the words -----------------------------------------------------------------------------------


def test_every_exception_is_documented_and_derives_from_a_builtin():
    for name in errors.__all__:
        kind = getattr(errors, name)
        assert kind.__doc__
        if issubclass(kind, Warning):
            continue
        assert issubclass(kind, errors.TapeError)
        if kind is not errors.TapeError:
            assert issubclass(kind, BUILTIN[kind])


def test_the_cause_is_kept():
    bench = Bench()
    with pytest.raises(errors.ShapeError) as caught:
        _ = bench.v @ bench.v
    assert isinstance(caught.value.__cause__, ValueError)


def test_long_operands_are_cut_short():
    with pytest.raises(errors.DTypeError) as caught:
        _ = Bench().v + ("x" * 1000)
    assert len(str(caught.value)) < 400


def test_a_singular_matrix_is_a_linalg_error():
    with pytest.raises(np.linalg.LinAlgError, match=r"solve\(float64\[2, 2\].*Singular") as caught:
        tape.ops.solve(np.ones((2, 2)), np.ones(2))
    assert isinstance(caught.value, errors.SingularMatrixError)


@pytest.mark.parametrize(("length", "shown"), [(38, 40), (39, 40), (400, 40)])
def test_long_values_are_cut_in_messages(length, shown):
    text = "x" * length
    told = errors.describe(text)
    assert told == (repr(text) if length <= 38 else repr(text)[:37] + "...")
    assert len(told) == shown
    assert errors.describe(np.ones((2, 3), np.float32)) == "float32[2, 3]"


# ---- errors that C code puts in the place of ours ----------------------------------------------------


def stores_a_number(a):
    z = np.zeros(3)
    z[0] = a
    return z.sum()


def adds_a_number(a):
    z = np.zeros(3)
    z[1] += a
    return z.sum()


def stores_an_array(a):
    z = np.zeros(3)
    z[1:] = a * np.ones(2)
    return z.sum()


TRANSFORMED = {
    "grad": tape.grad,
    "jvp": lambda f: lambda a: tape.jvp(f, (a,), (1.0,)),
    "hessian": tape.hessian,
    "checkpoint": lambda f: tape.grad(tape.checkpoint(f)),
    "compile": tape.compile,
    "compiled grad": lambda f: tape.compile(tape.grad(f)),
    "vmap": lambda f: lambda a: tape.vmap(tape.grad(f))(np.array([a, a])),
}


@pytest.mark.parametrize("transform", TRANSFORMED)
@pytest.mark.parametrize("f", [stores_a_number, adds_a_number, stores_an_array])
def test_writing_to_a_plain_array_says_what_to_do(f, transform):
    with pytest.raises(
        errors.InPlaceError, match=r"np\.zeros\(shape, like=x\).* \[at .*test_errors"
    ) as caught:
        TRANSFORMED[transform](f)(2.0)
    names = [entry.name for entry in caught.traceback]
    assert f.__name__ in names  # the line of the user is in the traceback


def test_solvers_of_scipy_that_lose_an_error_name_their_counterpart():
    with pytest.raises(errors.ConversionError, match=r"tape\.scipy\.optimize\.brentq"):
        tape.grad(lambda a: optimize.brentq(lambda x: x * x - a, 0, 5))(2.0)


@pytest.mark.parametrize("solver", [optimize.brentq, optimize.bisect, optimize.ridder])
def test_an_error_that_a_solver_leaves_pending_is_raised_in_the_end(solver):
    """The function is called once more, and reads attributes of Vars, before SciPy looks at the error."""
    with pytest.raises(errors.ConversionError, match="plain number"):
        tape.grad(lambda a: solver(lambda x: np.exp(x) - a[0] * a.size / len(a.shape), 0, 5))(np.array([2.0]))


def test_errors_that_a_user_chains_to_ours_stay_theirs():
    def f(a):
        try:
            return np.sum(a @ np.ones(7))
        except errors.ShapeError as error:
            raise ValueError("mine") from error

    with pytest.raises(ValueError, match=r"^mine$"):
        tape.grad(f)(np.ones(3))


def test_the_place_is_a_line_of_the_user_not_of_an_installed_package(trace):
    pandas = pytest.importorskip("pandas")
    x = trace.param([1.0, 2.0])
    trace.is_strict = True
    with pytest.raises(errors.TapeError, match=r"\[at .*test_errors\.py:\d+\]$"):
        pandas.Series(x)


# ---- names of other libraries ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("owner", "name", "here"),
    [
        (tape, "jit", "tape.compile"),
        (tape, "jacfwd", "tape.jacobian"),
        (tape, "GradientTape", "tape.Trace"),
        (tape, "tree_map", "tape.tree.map"),
        (nn, "Module", "dataclass"),
        (nn, "ReLU", "tape.nn.relu"),
        (nn, "MSELoss", "tape.nn.mse_loss"),
        (nn, "CrossEntropyLoss", "tape.nn.cross_entropy"),
        (nn.LayerNorm(2), "parameters", "tape.tree.leaves"),
        (nn.LayerNorm(2), "state_dict", "tape.nn.state_dict"),
        (tape.optim.SGD([np.ones(2)], lr=0.1), "zero_grad", "step"),
    ],
)
def test_names_of_other_libraries_lead_to_what_is_here(owner, name, here):
    assert not hasattr(owner, name)
    with pytest.raises(errors.MissingAttributeError, match=here):
        getattr(owner, name)
    with pytest.raises(AttributeError):
        getattr(owner, "no_such_" + name)


@pytest.mark.parametrize(("bits", "write"), [(4094, repr), (4095, hex), (20000, hex)])
@pytest.mark.parametrize("sign", [1, -1])
def test_integers_that_python_does_not_write_are_in_messages_all_the_same(bits, write, sign):
    number = sign * 2**bits
    assert errors.describe(number) == f"{write(number)[:37]}..."
    with pytest.raises(errors.DTypeError, match=r"grad: .* is -?[0-9a-fx]+\.\.\.\. Only floats"):
        tape.grad(lambda x: x * 2)(number)


def test_keys_of_programs_lead_to_the_programs():
    f = tape.compile(lambda x: 2 * x)
    assert f.explain() == "<lambda> has no program yet. Call it first"
    f(1.0)
    (key,) = f.programs
    with pytest.raises(errors.MissingAttributeError, match=r"programs\[key\]"):
        key.explain()
    with pytest.raises(AttributeError, match=r"^_private$"):
        _ = key._private
    assert repr(f) == "<compiled <lambda>: 1 program>"
    assert repr(f.programs[key].explain()) == str(f.programs[key].explain())
    assert "instructions" in repr(f.programs[key].profile(1.0, repeats=1))


def test_functions_of_random_numbers_lead_to_those_with_derivatives():
    for draw in (lambda a: np.random.default_rng(0).normal(a), lambda a: np.random.normal(a)):  # noqa: NPY002
        with pytest.raises(errors.ConversionError, match=r"np\.random\.\w+\.normal.*tape\.random"):
            tape.grad(draw)(2.0)


def test_functions_of_scipy_are_named_as_users_import_them():
    def last(a):
        return integrate.solve_ivp(lambda t, y: -a * y, (0, 1), [1.0]).y[0, -1]

    with pytest.raises(errors.ConversionError, match=r"Call tape\.scipy\.integrate\.solve_ivp"):
        tape.grad(last)(2.0)


def test_a_slope_that_takes_the_time_first_is_called_by_name():
    y0, times = np.array([1.0, 2.0]), np.array([0.0, 1.0])
    with pytest.raises(errors.ShapeError, match=r"slope\(y, t, \*args\) returned an array of shape \[\]"):
        tape.odeint(slope, y0, times)
    with pytest.raises(errors.ShapeError, match=r"returned a tree \[\*, \*\], and one array before"):
        tape.odeint(lambda y, t: [y[0], y[1]], y0, times)


def slope(t, y):
    return -y


def test_objects_that_raise_when_they_are_asked_what_they_are_are_no_arrays(trace):
    class WithNames(dict):
        __getattr__ = dict.__getitem__

    thing = WithNames(a=np.ones(2))
    assert errors.describe(thing) == repr(thing)
    for use in (
        lambda: tape.grad(lambda d: np.sum(d.a))(thing),
        lambda: tape.compile(lambda d: d.a * 2)(thing),
        lambda: trace.param(1.0) * thing,
    ):
        with pytest.raises(errors.TapeError):
            use()


def test_code_that_is_made_here_is_no_place_in_an_error():
    f = tape.compile(lambda o, x: x * o.k)
    thing = types.SimpleNamespace(k=2.0)
    for _ in range(3):
        with pytest.raises(errors.UnsupportedError, match=r"\[at .*test_errors\.py:\d+\]$"):
            f([thing], np.ones(2))


def test_names_of_floats_lead_on_in_compiled_functions():
    with pytest.raises(errors.MissingAttributeError, match="'is_integer'"):
        tape.compile(lambda r, x: x * r.is_integer())(2.0, np.ones(2))


def test_fields_that_are_properties_are_refused():
    @dataclass
    class Scaled:
        x: float

    Scaled.x = property(lambda self: self._x, lambda self, x: setattr(self, "_x", 2 * x))
    with pytest.raises(errors.UnsupportedError, match=r"'x' of .*Scaled is a property"):
        tape.grad(lambda p: p.x**2)(Scaled(1.0))
