"""Structure at the edges of its arguments: NumPy's values, derivatives, programs and batches."""

import numpy as np
import pytest

from tape import ops
from tests.edges import check
from tests.tiers import takes_long

X = np.arange(1.0, 7.0).reshape(2, 3) / 7
Y = np.cos(X) + 2
CUBE = np.sin(np.arange(24.0)).reshape(2, 3, 4)
ROW = np.array([0.5, -1.5, 2.5, 3.5])
Z = X - 0.25j * Y
NONE, THIN = np.zeros(0), np.zeros((2, 0))
N = np.array([[3, 0, -2], [0, 5, 0]])
NUMBER = np.array(1.5)


def written(*, at, add=False):
    """A function that writes values into a copy of an array, or adds them, at an index."""

    def write(x, v, *index):
        x = np.copy(x)
        where = at(*index) if callable(at) else at
        if add:
            x[where] += v
        else:
            x[where] = v
        return x

    return write


JOINING = {
    "three axes of blocks": (lambda x, y: np.block([[[x, y]], [[y, x]]]), CUBE, CUBE),
    "blocks along the first of three axes": (lambda x, y: np.block([[[x], [y]], [[y], [x]]]), CUBE, CUBE),
    "blocks of several widths": (
        lambda x, y: np.block([[[x, y[..., :1]], [y, x[..., :1]]], [[y, x[..., :1]], [x, y[..., :1]]]]),
        CUBE, CUBE),
    "a row above a matrix": (lambda x, v: np.block([[v], [x]]), X, ROW[:3]),
    "a block of a number": (lambda x: np.block(x), NUMBER),
    "a list of numbers": (lambda x, y: np.block([x, y, x]), NUMBER, NUMBER + 1),
    "blocks of deeper arrays": (lambda x, v: np.block([x, v]), CUBE, np.ones((2, 3, 1))),
    "concatenate last": (lambda x, y: np.concatenate([x, y[:, :1], x], axis=-1), X, Y),
    "concatenate first of -2": (lambda x, y: np.concatenate([x, y], axis=-2), CUBE, CUBE),
    "concatenate flat": (lambda x, y, z: np.concatenate([x, y, z], axis=None), CUBE, NUMBER, THIN),
    "concatenate nothing": (lambda x, y: np.concatenate([x, y], axis=1), X, THIN),
    "concatenate with ints": (lambda x, n: np.concatenate([n, x, n], axis=1), X, N),
    "concatenate with complex": (lambda x, z: np.concatenate([x, z]), X, Z),
    "concatenate single with double": (
        lambda x, y: np.concatenate([x, y], 1), X.astype(np.float32), Y, {"slopes": False}),
    "concatenate in a dtype along -1": (lambda x, n: np.concatenate([n, x], -1, dtype=np.float64), X, N),
    "concatenate in a dtype flat": (lambda x, n: np.concatenate([n, x], None, dtype=np.float64), X, N),
    "stack in front": (lambda x, y: np.stack([x, y]), X, Y),
    "stack in the middle": (lambda x, y: np.stack([x, y, x], 1), X, Y),
    "stack at -1": (lambda x, y: np.stack([x, y], -1), X, Y),
    "stack at -2": (lambda x, y: np.stack([x, y], -2), X, Y),
    "stack at -3": (lambda x, y: np.stack([x, y], -3), X, Y),
    "stack numbers": (lambda x, y: np.stack([x, y, x], -1), NUMBER, NUMBER + 1),
    "stack with ints": (lambda x, n: np.stack([n, x]), X, N),
    "stack one": (lambda x: np.stack([x], 2), X),
    "hstack numbers": (lambda x, y: np.hstack([x, y]), NUMBER, NUMBER + 1),
    "hstack three axes": (lambda x, y: np.hstack([x, y[:, :1]]), CUBE, CUBE),
    "vstack numbers": (lambda x, y: np.vstack([x, y]), NUMBER, NUMBER + 1),
    "vstack rows": (lambda x, y: np.vstack([x[0], y]), X, Y),
    "vstack three axes": (lambda x, y: np.vstack([x, y[:1]]), CUBE, CUBE),
    "dstack numbers": (lambda x, y: np.dstack([x, y]), NUMBER, NUMBER + 1),
    "dstack rows": (lambda x, y: np.dstack([x[0], y[0]]), X, Y),
    "dstack matrices": (lambda x, y: np.dstack([x, y]), X, Y),
    "dstack three axes": (lambda x, y: np.dstack([x, y[..., :1]]), CUBE, CUBE),
    "dstack four axes": (lambda x, y: np.dstack([x[None], y[None]]), CUBE, CUBE),
    "column_stack numbers": (lambda x, y: np.column_stack([x, y]), NUMBER, NUMBER + 1),
    "column_stack rows and matrices": (lambda x, y: np.column_stack([x[:, 0], y, x[:, 1]]), X, Y),
    "column_stack three axes": (lambda x, y: np.column_stack([x, y[:, 1:]]), CUBE, CUBE),
    "append numbers": (lambda x, y: np.append(x, y), NUMBER, X),
    "append along -1": (lambda x, y: np.append(x, y[:, :2], -1), X, Y),
    "split unequally": (lambda x: np.array_split(x, 3), ROW),
    "split into more than there are": (lambda x: np.array_split(x, 6), ROW),
    "split at cuts beyond": (lambda x: np.split(x, [1, 3, 9]), ROW),
    "split at cuts from behind": (lambda x: np.split(x, [-3, -1]), ROW),
    "split at cuts in wrong order": (lambda x: np.split(x, [3, 1]), ROW),
    "split along -1": (lambda x: np.split(x, 2, -1), CUBE),
    "split into one": (lambda x: np.split(x, 1, 1), CUBE),
    "hsplit a row": (lambda x: np.hsplit(x, 2), ROW),
    "hsplit": (lambda x: np.hsplit(x, [1]), CUBE),
    "vsplit": (lambda x: np.vsplit(x, 2), CUBE),
    "dsplit": (lambda x: np.dsplit(x, [1, 2]), CUBE),
    "unstack": (lambda x: np.unstack(x), X),
    "unstack last": (lambda x: np.unstack(x, axis=-1), X),
    "unstack middle": (lambda x: np.unstack(x, axis=1), CUBE),
    "unstack nothing in": (lambda x: np.unstack(x, axis=0), THIN),
}  # fmt: skip

SHAPES = {
    "reshape -1 in the middle": (lambda x: np.reshape(x, (4, -1, 2)), CUBE),
    "reshape by an int": (lambda x: np.reshape(x, 24), CUBE),
    "reshape nothing": (lambda x: np.reshape(x, (0, 5)), THIN),
    "reshape in Fortran order": (lambda x: np.reshape(x, (4, -1), order="F"), CUBE),
    "reshape a matrix in Fortran order": (lambda x: np.reshape(x, (3, 2), order="F"), X),
    "reshape of a turned matrix in order A": (lambda x: np.reshape(x.T, (2, 3), order="A"), X),
    "reshape with a copy": (lambda x: np.reshape(x, 6, copy=True), X),
    "ravel in Fortran order": (lambda x: np.ravel(x, "F"), CUBE),
    "ravel a turned matrix": (lambda x: np.ravel(x.T), X),
    "ravel a turned matrix in order A": (lambda x: np.ravel(x.T, "A"), X),
    "ravel a turned matrix in order K": (lambda x: np.ravel(x.T, "K"), X),
    "ravel in order K": (lambda x: np.ravel(x.transpose(1, 0, 2), "K"), CUBE),
    "ravel a number": (lambda x: np.ravel(x), NUMBER),
    "expand a number": (lambda x: np.expand_dims(x, (0, 1)), NUMBER),
    "expand at several": (lambda x: np.expand_dims(x, (0, -1, 2)), X),
    "expand at -2": (lambda x: np.expand_dims(x, -2), X),
    "expand at -1": (lambda x: np.expand_dims(x, -1), X),
    "squeeze all": (lambda x: np.squeeze(x), CUBE[:1, None]),
    "squeeze nothing": (lambda x: np.squeeze(x), CUBE),
    "squeeze one of them": (lambda x: np.squeeze(x, 1), CUBE[:1, None]),
    "squeeze the last": (lambda x: np.squeeze(x, -1), X[..., None]),
    "squeeze two": (lambda x: np.squeeze(x, (-1, 0)), X[None, ..., None]),
    "broadcast a number": (lambda x: np.broadcast_to(x, (2, 3)), NUMBER),
    "broadcast to more axes": (lambda x: np.broadcast_to(x, (4, 2, 3)), X),
    "broadcast length one": (lambda x: np.broadcast_to(x, (2, 3)), X[:, :1]),
    "broadcast to nothing": (lambda x: np.broadcast_to(x, (0, 3)), X[:1]),
    "broadcast_arrays": (lambda x, v: np.broadcast_arrays(x, v), X[:, :1], ROW),
    "broadcast_arrays with a number": (lambda x, v: np.broadcast_arrays(x, v), X, NUMBER),
    "transpose": (lambda x: np.transpose(x), CUBE),
    "transpose by order": (lambda x: np.transpose(x, (1, 2, 0)), CUBE),
    "transpose from behind": (lambda x: np.transpose(x, (-1, 0, -2)), CUBE),
    "transpose a row by a number": (lambda x: np.transpose(x, 0), ROW),
    "transpose a row": (lambda x: np.transpose(x), ROW),
    "matrix_transpose": (lambda x: np.matrix_transpose(x), CUBE),
    "swapaxes": (lambda x: np.swapaxes(x, 0, 2), CUBE),
    "swapaxes from behind": (lambda x: np.swapaxes(x, -1, 0), CUBE),
    "swapaxes with itself": (lambda x: np.swapaxes(x, 1, -2), CUBE),
    "moveaxis": (lambda x: np.moveaxis(x, 0, -1), CUBE),
    "moveaxis two": (lambda x: np.moveaxis(x, [0, 2], [1, 0]), CUBE),
    "rollaxis": (lambda x: np.rollaxis(x, 2), CUBE),
    "rollaxis to the end": (lambda x: np.rollaxis(x, 0, 3), CUBE),
    "rollaxis from behind": (lambda x: np.rollaxis(x, -1, 1), CUBE),
    "atleast_1d": (lambda x: np.atleast_1d(x), NUMBER),
    "atleast_2d a row": (lambda x: np.atleast_2d(x), ROW),
    "atleast_3d a number": (lambda x: np.atleast_3d(x), NUMBER),
    "atleast_3d a row": (lambda x: np.atleast_3d(x), ROW),
    "atleast_3d a matrix": (lambda x: np.atleast_3d(x), X),
    "atleast_2d several": (lambda x, v: np.atleast_2d(x, v), X, ROW),
    "astype complex": (lambda x: np.astype(x, complex), X),
    "astype the same": (lambda x: np.astype(x, np.float64, copy=False), X),
    "copy": (lambda x: np.copy(x, "F"), CUBE),
    "copy of a number": (lambda x: np.copy(x), NUMBER),
    "copy in order A": (lambda x: np.copy(x.T, "A"), X),
    "flip": (lambda x: np.flip(x), CUBE),
    "flip along -1": (lambda x: np.flip(x, -1), CUBE),
    "flip along two": (lambda x: np.flip(x, (0, -1)), CUBE),
    "flip along none": (lambda x: np.flip(x, ()), CUBE),
    "flip a number": (lambda x: np.flip(x), NUMBER),
    "flipud a row": (lambda x: np.flipud(x), ROW),
    "fliplr": (lambda x: np.fliplr(x), CUBE),
    **{f"rot90 {k}": (lambda x, k=k: np.rot90(x, k), X) for k in (-1, 0, 1, 2, 5)},
    **{f"rot90 {k} of a plane": (lambda x, k=k: np.rot90(x, k, (2, 0)), CUBE) for k in (1, 3)},
    "rot90 from behind": (lambda x: np.rot90(x, 1, (-2, -1)), CUBE),
    "roll flat": (lambda x: np.roll(x, 2), X),
    "roll backwards": (lambda x: np.roll(x, -1, 1), X),
    "roll more than once": (lambda x: np.roll(x, 7, 1), X),
    "roll not": (lambda x: np.roll(x, 3, -1), X),
    "roll along two": (lambda x: np.roll(x, (1, -2), (0, 2)), CUBE),
    "roll twice along one": (lambda x: np.roll(x, (1, 1), (2, 2)), CUBE),
    "roll two by one shift": (lambda x: np.roll(x, 1, (0, 1)), CUBE),
    "roll one by two shifts": (lambda x: np.roll(x, (1, 2), 2), CUBE),
    "roll nothing": (lambda x: np.roll(x, 1, 1), THIN),
    "roll a number": (lambda x: np.roll(x, 1), NUMBER),
    "roll by a value": (lambda x, n: np.roll(x, n, 1), X, np.array(2)),
    "roll nothing by a value": (lambda x, n: np.roll(x, n, 1), THIN, np.array(2)),
    "repeat flat": (lambda x: np.repeat(x, 2), X),
    "repeat along -1": (lambda x: np.repeat(x, 2, -1), X),
    "repeat each": (lambda x: np.repeat(x, [2, 0, 1], 1), X),
    "repeat by one count in a list": (lambda x: np.repeat(x, [3], 0), X),
    "repeat never": (lambda x: np.repeat(x, 0, 0), X),
    "repeat by bools": (lambda x: np.repeat(x, [True, False], 0), X),
    "repeat a number": (lambda x: np.repeat(x, 3), NUMBER),
    "tile with more axes": (lambda x: np.tile(x, (2, 1, 3)), X),
    "tile with fewer axes": (lambda x: np.tile(x, 2), CUBE),
    "tile once": (lambda x: np.tile(x, (1, 1)), X),
    "tile never": (lambda x: np.tile(x, (0, 2)), X),
    "tile a number": (lambda x: np.tile(x, (2, 2)), NUMBER),
    "resize to fewer": (lambda x: np.resize(x, 4), X),
    "resize to as many": (lambda x: np.resize(x, (3, 2)), X),
    "resize to more": (lambda x: np.resize(x, (3, 5)), X),
    "resize to twice as many": (lambda x: np.resize(x, (3, 4)), X),
    "resize to nothing": (lambda x: np.resize(x, (0, 3)), X),
    "resize a number": (lambda x: np.resize(x, (2, 2)), NUMBER),
}  # fmt: skip

CORNERS = {
    **{
        f"diagonal {k} {a} {b}": (lambda x, k=k, a=a, b=b: np.diagonal(x, k, a, b), CUBE)
        for k, a, b in ((0, 0, 1), (1, 2, 1), (-1, 1, 2), (2, 0, 2), (-1, -2, -1), (3, 1, 2), (4, 1, 2),
            (-3, 1, 2),
                        (-2, 1, 0), (0, 2, 0))
    },
    **{f"diag {k}": (lambda x, k=k: np.diag(x, k), X) for k in (-3, -1, 0, 2, 3)},
    **{f"diag of a row {k}": (lambda x, k=k: np.diag(x, k), ROW) for k in (-2, 0, 1)},
    "diag of nothing": (lambda x: np.diag(x, 2), NONE),
    "diagflat": (lambda x: np.diagflat(x, -1), X),
    "diagflat of a number": (lambda x: np.diagflat(x, 1), NUMBER),
    "linalg.diagonal": (lambda x: np.linalg.diagonal(x, offset=1), CUBE),
    **{f"tril {k}": (lambda x, k=k: np.tril(x, k), CUBE) for k in (-3, -1, 2)},
    **{f"triu {k}": (lambda x, k=k: np.triu(x, k), CUBE) for k in (-3, -1, 0, 2)},
    "tril of a row": (lambda x: np.tril(x), ROW),
    "triu of a row": (lambda x: np.triu(x, 1), ROW),
    "tril of infinities": (
        lambda x, y: np.tril(x * np.array([1.0, np.inf, np.inf])) + y, X, X, {"slopes": False}),
    "linspace": (lambda x, y: np.linspace(x, y, 5), X, Y),
    "linspace from numbers": (lambda x, y: np.linspace(x, y, 4), NUMBER, NUMBER + 2),
    "linspace without end": (lambda x, y: np.linspace(x, y, 5, endpoint=False), X, Y),
    "linspace of one": (lambda x, y: np.linspace(x, y, 1), X, Y),
    "linspace of one without end": (lambda x, y: np.linspace(x, y, 1, False), X, Y),
    "linspace of two": (lambda x, y: np.linspace(x, y, 2), X, Y),
    "linspace of none": (lambda x, y: np.linspace(x, y, 0), X, Y),
    "linspace last": (lambda x, y: np.linspace(x, y, 3, axis=-1), X, Y),
    "linspace in the middle": (lambda x, y: np.linspace(x, y, 3, axis=1), X, Y),
    "linspace at -2": (lambda x, y: np.linspace(x, y, 3, axis=-2), X, Y),
    "linspace from a row": (lambda x, v: np.linspace(v, x, 3, axis=1), X, ROW[:3]),
    "linspace in single precision": (
        lambda x, y: np.linspace(x, y, 4, dtype=np.float32), X, Y, {"slopes": False, "tolerance": 1e-6}),
    "linspace with its step": (lambda x, y: np.linspace(x, y, 4, retstep=True), X, Y),
    "linspace without end with its step": (lambda x, y: np.linspace(x, y, 4, False, True), X, Y),
    "linspace of one with its step": (lambda x, y: np.linspace(x, y, 1, False, True), X, Y),
    "linspace complex": (lambda x, z: np.linspace(x, z, 3), X, Z),
    "linspace of ints": (lambda x, n: np.linspace(n, x, 3), X, N),
    "logspace": (lambda x, y: np.logspace(x, y, 3), X, Y),
    "logspace without end": (lambda x, y: np.logspace(x, y, 3, False), X, Y),
    "logspace in base 2": (lambda x, y: np.logspace(x, y, 3, base=2.0), X, Y),
    "logspace in bases": (lambda x, y, b: np.logspace(x, y, 4, base=b), X, Y, np.array([1.5, 2.0, 3.0])),
    "logspace in bases last": (
        lambda x, y, b: np.logspace(x, y, 4, base=b, axis=-1), NUMBER, NUMBER + 1, np.array([1.5, 2.0])),
    "geomspace": (lambda x, y: np.geomspace(x, y, 4), X, Y),
    "geomspace without end": (lambda x, y: np.geomspace(x, y, 4, False), X, Y),
    "geomspace of one": (lambda x, y: np.geomspace(x, y, 1), X, Y),
    "geomspace last": (lambda x, y: np.geomspace(x, y, 3, axis=-1), X, Y),
    "geomspace in the middle": (lambda x, y: np.geomspace(x, y, 3, axis=1), X, Y),
    "geomspace of negative numbers": (lambda x, y: np.geomspace(-x, -y, 4), X, Y),
    "meshgrid": (lambda x, y: np.meshgrid(x, y), ROW, Y[0]),
    "meshgrid ij": (lambda x, y: np.meshgrid(x, y, indexing="ij"), ROW, Y[0]),
    "meshgrid of three": (lambda x, y, z: np.meshgrid(x, y, z), ROW, Y[0], X[0, :2]),
    "meshgrid of three ij": (lambda x, y, z: np.meshgrid(x, y, z, indexing="ij"), ROW, Y[0], X[0, :2]),
    "meshgrid sparse": (lambda x, y, z: np.meshgrid(x, y, z, sparse=True), ROW, Y[0], X[0, :2]),
    "meshgrid sparse without copy": (lambda x, y: np.meshgrid(x, y, sparse=True, copy=False), ROW, Y[0]),
    "meshgrid without copy": (lambda x, y: np.meshgrid(x, y, copy=False), ROW, Y[0]),
    "meshgrid of one": (lambda x: np.meshgrid(x), ROW),
    "meshgrid of a number": (lambda x, y: np.meshgrid(x, y), NUMBER, ROW),
    "full_like": (lambda x, y: np.full_like(x, y), X, NUMBER),
    "full_like a row": (lambda x, y: np.full_like(x, y[0]), X, Y),
    "full_like of a shape": (lambda x, y: np.full_like(x, y, shape=(4, 2)), X, NUMBER),
    "full_like of a length": (lambda x, y: np.full_like(x, y, shape=4), X, NUMBER),
    "full_like complex": (lambda x, y: np.full_like(x, y, dtype=complex), X, NUMBER),
    "full_like of ints": (lambda n, y: ops.full_like(n, y, dtype=float), N, NUMBER),
    "zeros_like written": (lambda x: written(at=np.s_[1])(np.zeros_like(x), x[0]), X),
    "ones_like written": (lambda x: written(at=np.s_[:, 1])(np.ones_like(x), x[:, 0]), X),
    "zeros_like of a shape": (lambda x: written(at=np.s_[1])(np.zeros_like(x, shape=(4, 3)), x[0]), X),
    "ones_like of a dtype": (lambda x: np.ones_like(x, dtype=complex) * x, X),
}  # fmt: skip

TAKING = {
    "take flat": (lambda x: np.take(x, [[5, 0], [-1, -6]]), X),
    "take along -1": (lambda x: np.take(x, [2, -3, 0], -1), X),
    "take one": (lambda x: np.take(x, 1, 0), X),
    "take none": (lambda x: np.take(x, np.zeros(0, int), 1), X),
    "take wrapping": (lambda x: np.take(x, [-4, 4, 9], 1, mode="wrap"), X),
    "take clipping": (lambda x: np.take(x, [-4, 4, 1], 1, mode="clip"), X),
    "take by data": (lambda x, n: np.take(x, n, 1), X, np.array([[0, -1], [2, 2]])),
    "take by data wrapping": (lambda x, n: np.take(x, n, 1, mode="wrap"), X, np.array([[3, -4], [2, 2]])),
    "take by data clipping": (lambda x, n: np.take(x, n, mode="clip"), X, np.array([[3, -4], [7, 2]])),
    "take from a number": (lambda x: np.take(x, [0, 0], 0), NUMBER),
    "take from a number from behind": (lambda x: np.take(x, [0, -1], -1), NUMBER),
    "take_along_axis": (lambda x, n: np.take_along_axis(x, n, 1), X, np.array([[0, -1], [2, 2]])),
    "take_along_axis first": (lambda x, n: np.take_along_axis(x, n, 0), X, np.array([[0, -1, 1]])),
    "take_along_axis middle": (lambda x, n: np.take_along_axis(x, n, -2), CUBE, np.array([[[0, -1, 1, 2]]])),
    "take_along_axis flat": (lambda x, n: np.take_along_axis(x, n, None), X, np.array([0, -1, 3])),
    "take_along_axis of length one": (lambda x, n: np.take_along_axis(x, n, 1), X, np.array([[-1, 0]])),
    "take_along_axis from one row": (
        lambda x, n: np.take_along_axis(x, n, 1), X[:1], np.array([[-1, 0], [1, 2]])),
    "choose": (lambda x, y, n: np.choose(n, [x, y]), X, Y, np.array([[0, 1, 1], [1, 0, 0]])),
    "choose among numbers": (
        lambda x, n: np.choose(n, [x, 2.0, x * x]), NUMBER, np.array([[0, 1, 2], [2, 0, 0]])),
    "choose wrapping": (
        lambda x, y, n: np.choose(n, [x, y], mode="wrap"), X, Y, np.array([[-1, 4, 1], [3, 0, 0]])),
    "choose clipping": (
        lambda x, y, n: np.choose(n, [x, y], mode="clip"), X, Y, np.array([[-1, 4, 1], [3, 0, 0]])),
    "choose by a number": (lambda x, y: np.choose(1, [x, y]), X, Y),
    "choose from rows of an array": (lambda x, n: np.choose(n, x), X, np.array([1, 0, 1])),
    "choose broadcasting": (lambda x, v, n: np.choose(n, [x, v]), X, ROW[:3], np.array([[1], [0]])),
    "choose with ints": (lambda x, n, m: np.choose(n, [x, m]), X, np.array([[0, 1, 1], [1, 0, 0]]), N),
    "select": (lambda x, y: np.select([N > 0, N < 0], [x, y], x * y), X, Y),
    "select the first that holds": (lambda x, y: np.select([N > -5, N < 9], [x, y]), X, Y),
    "select by default zero": (lambda x: np.select([N > 0], [x]), X),
    "select with a number": (lambda x, y: np.select([N > 0, N < 0], [x, 2.0], y), X, NUMBER),
    "select promoting": (lambda x, z: np.select([N > 0, N < 0], [x, z], N), X, Z),
    "compress": (lambda x: np.compress([True, False, True], x, 1), X),
    "compress flat": (lambda x: np.compress([False, True, True], x), X),
    "compress too short": (lambda x: np.compress([False, True], x, -1), X),
    "compress too long but False": (lambda x: np.compress([False, True, False, False], x, 1), X),
    "extract": (lambda x: np.extract(N > 0, x), X),
    "trim_zeros": (
        lambda x: np.trim_zeros(x), np.array([0.0, 0.0, 1.5, 0.0, 2.5, 0.0]), {"batch": False,
        "slopes": False}),
    "trim_zeros in front": (
        lambda x: np.trim_zeros(x, "f"), np.array([0.0, 1.5, 0.0, 2.5, 0.0]), {"batch": False,
        "slopes": False}),
    "trim_zeros behind": (
        lambda x: np.trim_zeros(x, "b"), np.array([0.0, 1.5, 0.0, 2.5, 0.0]), {"batch": False,
        "slopes": False}),
    "trim_zeros of a matrix": (
        lambda x: np.trim_zeros(x), np.array([[0.0, 0, 0, 0], [0, 1.5, 2.5, 0], [0, 0, 0, 0]]),
        {"batch": False, "slopes": False}),
    "trim_zeros along one axis": (
        lambda x: np.trim_zeros(x, axis=-1), np.array([[0.0, 0, 0, 0], [0, 1.5, 2.5, 0]]), {"batch": False,
        "slopes": False}),
    "trim_zeros along axes": (
        lambda x: np.trim_zeros(x, "F", axis=(0, 1)), np.array([[0.0, 0, 0, 0], [0, 1.5, 2.5, 0]]),
        {"batch": False, "slopes": False}),
    "piecewise": (
        lambda x: np.piecewise(x, [x > 0.5, x < 0.22], [lambda v: v * v, -1.0]), X, {"batch": False}),
    "piecewise otherwise": (
        lambda x: np.piecewise(x, [x > 0.5, x < 0.22], [lambda v: v * v, -1.0, np.exp]), X, {"batch": False}),
    "piecewise of one condition": (
        lambda x: np.piecewise(x, x > 0.5, [lambda v, a, b: a * v + b, 2.0], 3.0, b=1.0), X[0],
        {"batch": False}),
    "piecewise where the last one counts": (
        lambda x: np.piecewise(x, [x > 0.1, x > 0.5], [np.sin, np.cos]), X, {"batch": False}),
    "piecewise of a number": (lambda x: np.piecewise(x, [x > 0], [np.sin, np.cos]), NUMBER, {"batch": False}),
    "piecewise of a number by bools": (
        lambda x: np.piecewise(x, [False, True], [np.sin, np.cos]), NUMBER, {"batch": False}),
    "piecewise by numbers": (
        lambda x: np.piecewise(x, [N[0], N[1]], [np.sin, np.cos]), X[0], {"batch": False}),
    "piecewise never": (lambda x: np.piecewise(x, [x > 9], [np.sin, np.cos]), X, {"batch": False}),
    "apply_along_axis": (lambda x: np.apply_along_axis(lambda v: v[::-1] * v, 1, x), CUBE),
    "apply_along_axis first": (lambda x: np.apply_along_axis(lambda v: np.outer(v, v), 0, x), CUBE),
    "apply_along_axis last": (
        lambda x: np.apply_along_axis(lambda v, a: np.stack([v * a, v]), -1, x, 2.0), CUBE),
    "apply_along_axis to numbers": (lambda x: np.apply_along_axis(lambda v: v[0] * v[1], 1, x), CUBE),
    "apply_along_axis of a row": (lambda x: np.apply_along_axis(lambda v: v * v[0], 0, x), ROW),
    "apply_over_axes": (lambda x: np.apply_over_axes(np.sum, x, [0, -1]), CUBE),
    "apply_over_axes one": (lambda x: np.apply_over_axes(np.sum, x, 1), CUBE),
    "apply_over_axes keeping": (lambda x: np.apply_over_axes(np.cumsum, x, (0, 2)), CUBE),
}  # fmt: skip

IN = np.array([[0, 2], [1, 0]])
MASK = np.array([[True, False, True], [False, False, True]])
INDEXING = {
    "row": (lambda x: x[-1], X), "an empty list": (lambda x: x[[]], X),
    "element": (lambda x: x[1, -1], X),
    "column kept": (lambda x: x[:, 1:2], X),
    "backwards": (lambda x: x[::-1, ::-2], X),
    "beyond": (lambda x: x[5:, -9:2], X),
    "new axes": (lambda x: x[None, ..., None, 0], X),
    "ellipsis in front": (lambda x: x[..., 1], CUBE),
    "arrays": (lambda x, n: x[n, n], CUBE, IN % 2),
    "arrays apart": (lambda x, n: x[n, :, n], CUBE, IN % 2),
    "array and int": (lambda x, n: x[n, 1], CUBE, IN % 2),
    "array and int apart": (lambda x, n: x[n, :, 1], CUBE, IN % 2),
    "int and array behind": (lambda x, n: x[:, 0, n], CUBE, IN),
    "array behind ellipsis": (lambda x, n: x[..., n], CUBE, IN),
    "array before ellipsis": (lambda x, n: x[n, ...], CUBE, IN % 2),
    "array in the middle": (lambda x, n: x[:, n], CUBE, IN),
    "array in the middle with new axis": (lambda x, n: x[None, :, n, 1:], CUBE, IN),
    "array after new axis": (lambda x, n: x[:, None, n], CUBE, IN),
    "two arrays in the middle": (lambda x, n: x[:, n, n + 1], CUBE, IN),
    "arrays that broadcast": (lambda x, n: x[:, n[:, :1], n[0]], CUBE, IN),
    "negative array": (lambda x, n: x[-1 - n], X, IN % 2),
    "empty array": (lambda x, n: x[:, n], CUBE, np.zeros((2, 0), int)),
    "mask": (lambda x, m: x[m], X, MASK),
    "mask of an axis": (lambda x, m: x[:, m], X, MASK[0]),
    "mask of rows": (lambda x, m: x[m], CUBE, MASK[0, :2]),
    "mask of two axes": (lambda x, m: x[m], CUBE, MASK),
    "mask behind": (lambda x, m: x[..., m], X, MASK[0]),
    "mask and array": (lambda x, m, n: x[n, m], X, MASK[0], np.array([1, 0])),
    "nothing holds": (lambda x, m: x[m], X, MASK & False),
    "bool of Python": (lambda x: x[True], X),
    "ix_": (lambda x: x[np.ix_([1, 0], [2, 0, 0])], X),
    "ix_ of bools": (lambda x: x[np.ix_([True, False], [False, True, True])], X),
    "ix_ of three": (lambda x: x[np.ix_([1], [2, 0], [0, 3])], CUBE),
}  # fmt: skip

ORDERED = {
    "row": np.s_[-1], "element": np.s_[1, -1], "slice": np.s_[:, ::2], "backwards": np.s_[::-1, 1:],
    "all": np.s_[...], "new axis": np.s_[None, :, 1], "bool": np.s_[True], "nothing": np.s_[2:],
}  # fmt: skip
BY_ARRAYS = {
    "rows": (lambda n: n, IN[0] * 0 + 1), "two times the same": (lambda n: n, np.array([1, 1, 0])),
    "from behind": (lambda n: (slice(None), n), np.array([-1, 0, 2])),
    "elements": (lambda n: (n, n + 1), IN % 2), "elements twice": (lambda n: (n, 2 * n), np.array([0, 1, 0])),
    "array and int": (lambda n: (1, n), np.array([2, 0])), "apart": (lambda n: (n[:1], slice(None)), IN[0]),
    "mask": (lambda m: m, MASK), "mask of columns": (lambda m: (slice(None), m), MASK[0]),
    "mask of rows": (lambda m: (m, ...), MASK[1, 1:]), "nothing holds": (lambda m: m, MASK & False),
}  # fmt: skip

WRITING = {
    **{
        f"{what} {add} {size}": (
            written(at=at, add=add), X,
                np.sin(np.arange(np.size(X[at]))).reshape(np.shape(X[at])) if size else NUMBER)
        for what, at in ORDERED.items() for add, size in ((False, 1), (True, 0))
    },
    **{
        f"{what} {add} {size}": (
            written(at=at, add=add), X,
            np.sin(np.arange(np.size(X[at(n)]))).reshape(np.shape(X[at(n)])) if size else NUMBER, n)
        for what, (at, n) in BY_ARRAYS.items() for add, size in ((False, 1), (True, 1), (False, 0))
    },
    "a row into rows": (written(at=lambda n: n), X, ROW[:3], np.array([1, 0])),
    "a column into columns": (written(at=lambda n: (slice(None), n)), X, ROW[:2, None], np.array([1, 0])),
    "ones in front": (written(at=np.s_[1]), X, ROW[None, None, :3]),
    "ones in front by an array": (written(at=lambda n: n), X, ROW[None, None, :3], np.array([1, 0])),
    "ones in front by a mask": (written(at=lambda m: m), X, ROW[:1], MASK),
    "ones in front by a mask of rows": (written(at=lambda m: m), X, ROW[None, :3], np.array([True, True])),
    "ints": (written(at=np.s_[1]), X, np.array([1, 2, 3])),
    "into complex": (written(at=np.s_[1]), Z, X[0]),
    "added into complex": (written(at=np.s_[1], add=True), Z, X[0]),
    "a middle axis by an array": (written(at=lambda n: (slice(None), n)), CUBE, CUBE[:, :2] * 2,
        np.array([2, 0])),
    "arrays apart": (written(at=lambda n: (n, slice(None), n)), CUBE, CUBE[:, :, 0] * 2, np.array([1, 0])),
    "arrays apart added": (
        written(at=lambda n: (n, slice(None), n), add=True), CUBE, CUBE[:, :, 0] * 2, np.array([1, 0])),
}  # fmt: skip

EDITING = {
    **{
        f"insert {obj} {axis}": (lambda x, v, obj=obj, axis=axis: np.insert(x, obj, v, axis), X, NUMBER)
        for obj in (-1, [1], [1, 1], slice(0, 2)) for axis in (-1, None)
    },
    "insert a row": (lambda x, v: np.insert(x, 1, v, 0), X, ROW[:3]),
    "insert a column": (lambda x, v: np.insert(x, 1, v, 1), X, ROW[:2]),
    "insert in the middle of three": (lambda x, v: np.insert(x, 1, v, 1), CUBE, CUBE[:, 0]),
    "insert rows": (lambda x, v: np.insert(x, [0, 2], v, 0), X, Y),
    "insert several before one": (lambda x, v: np.insert(x, [1], v, 0), X, Y),
    "insert by bools": (lambda x, v: np.insert(x, np.array([True, False, True]), v, 1), X, NUMBER),
    "insert ints": (lambda x: np.insert(x, 1, 3, 0), X),
    "insert into a row": (lambda x, v: np.insert(x, [1, 3], v), ROW, Y[0, :2]),
    **{
        f"delete {obj} {axis}": (lambda x, obj=obj, axis=axis: np.delete(x, obj, axis), X)
        for obj in (-1, [0, 1], [], slice(None, None, 2)) for axis in (-1, None)
    },
    "delete by bools": (lambda x: np.delete(x, np.array([True, False, True]), 1), X),
    "delete the middle": (lambda x: np.delete(x, 1), ROW),
    "delete four pieces": (lambda x: np.delete(x, [1, 3, 5]), X),
    "delete every second of many": (lambda x: np.delete(x, np.s_[::2]), CUBE[0]),
}  # fmt: skip

PADDING = {
    **{
        f"{mode} {width}": (lambda x, mode=mode, width=width: np.pad(x, width, mode), X)
        for mode in ("constant", "edge", "linear_ramp", "reflect", "symmetric", "wrap", "maximum", "mean",
            "median",
                     "minimum")
        for width in (((0, 2), (3, 0)), ((4, 3), (7, 6)))
    },
    "values": (lambda x, v: np.pad(x, 2, constant_values=v), X, NUMBER),
    "a pair of values": (lambda x, v, w: np.pad(x, 1, constant_values=(v, w)), X, NUMBER, NUMBER * 2),
    "values for each axis": (lambda x, v: np.pad(x, 1, constant_values=v), X, Y[:, :2]),
    "end values": (
        lambda x, v, w: np.pad(x, ((2, 1), (0, 3)), "linear_ramp", end_values=(v, w)), X, NUMBER, NUMBER * 2),
    **{
        f"{mode} odd {width}": (
            lambda x, mode=mode, width=width: np.pad(x, width, mode, reflect_type="odd"), X)
        for mode in ("reflect", "symmetric") for width in (((0, 3), (5, 0)), ((3, 2), (5, 4)))
    },
    "reflect a single element": (lambda x: np.pad(x, ((2, 1), (0, 0)), "reflect"), X[:1]),
    "reflect a single element oddly": (
        lambda x: np.pad(x, ((2, 1), (0, 0)), "reflect", reflect_type="odd"), X[:1]),
    "symmetric a single element": (lambda x: np.pad(x, ((2, 1), (0, 0)), "symmetric"), X[:1]),
    "wrap a single element": (lambda x: np.pad(x, ((2, 1), (0, 0)), "wrap"), X[:1]),
    **{
        f"{mode} of {length}": (
            lambda x, mode=mode, length=length: np.pad(x, 2, mode, stat_length=length), CUBE[0])
        for mode, length in (("maximum", 1), ("mean", (1, 2)), ("minimum", ((3, 1), (2, 9))))
    },
    "of ints in single precision": (lambda x, n: np.pad(n, 1, "mean") * x[0, 0], X, N),
}  # fmt: skip

ALL = {
    f"{family}: {name}": call
    for family, calls in {
        "joining": JOINING, "shape": SHAPES, "corners": CORNERS, "taking": TAKING, "indexing": INDEXING,
        "writing": WRITING, "editing": EDITING, "padding": PADDING,
    }.items()
    for name, call in calls.items()
}  # fmt: skip


OTHERWISE = {
    "corners: linspace complex": {"linspace"},
    "indexing: arrays apart": {"each getitem"},
    "indexing: array and int apart": {"each getitem"},
    "indexing: mask and array": {"getitem", "scatter"},
    "indexing: nothing holds": {"scatter"},
    "indexing: bool of Python": {"getitem", "scatter", "each getitem"},
    "writing: bool False 1": {"getitem", "set_at", "each set_at"},
    "writing: bool True 0": {"getitem", "set_at", "scatter", "each getitem", "each set_at"},
    **{f"writing: mask of columns {row}": {"set_at"} for row in ("False 1", "True 1", "False 0")},
    **{f"writing: nothing holds {row}": {"set_at", "scatter"} for row in ("False 1", "True 1")},
    "writing: arrays apart": {"each set_at"},
    "writing: arrays apart added": {"each getitem", "each set_at"},
    **{
        f"padding: median {width}": {"each interpolation"}
        for width in ("((0, 2), (3, 0))", "((4, 3), (7, 6))")
    },
}
"""Calls of which programs have no instructions, or batches no rule, for some operations, and for which."""


@takes_long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ALL)
def test_edges_of_structure(name):
    f, *args = ALL[name]
    options = args.pop() if isinstance(args[-1], dict) else {}
    assert check(f, *args, **options) <= OTHERWISE.get(name, set())
