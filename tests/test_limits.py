"""The least and the most that arguments may be: the last value taken, and the first one refused."""

import numpy as np
import pytest

import tape
import tape.nn as nn
from tape import errors, ops

X = np.arange(12.0).reshape(3, 4) / 7
V = np.array([0.3, 0.1, 0.7, 0.2])
IMAGE = np.arange(32.0).reshape(1, 2, 4, 4) / 9
CLASSES = np.array([0, 2, 1])


def conv(x, **options):
    return nn.conv2d(x, np.ones((2, 2, 4, 4)), **options)


LIMITS = {
    # what it is: a function, the last values that it takes, the first that it refuses
    "repeat count": (lambda n: ops.repeat(V, n), [0], [-1]),
    "repeat counts": (lambda n: ops.repeat(V, n), [[0, 1, 2, 3], [2]], [[0, 1, 2, -1], [1, 2],
        [[1, 2, 3, 4]]]),
    "tile": (lambda n: ops.tile(V, n), [0, (0, 2)], [-1, (2, -1)]),
    "pad width": (lambda n: ops.pad(V, n), [0, (0, 1)], [-1, (1, -1)]),
    "pad stat_length": (lambda n: ops.pad(V, 1, "mean", stat_length=n), [1, 4, 5], [0, -1]),
    "pad reflect": (lambda n: ops.pad(V, n, "reflect"), [3, 7], []),
    "split": (lambda n: ops.split(V, n), [1, 4], [0, 3, 5, -1]),
    "array_split": (lambda n: ops.array_split(V, n), [1, 5], [0, -1]),
    "dsplit axes": (lambda x: ops.dsplit(x, 1), [np.ones((1, 1, 1))], [np.ones((1, 1))]),
    "hsplit axes": (lambda x: ops.hsplit(x, 1), [V], [1.0]),
    "vsplit axes": (lambda x: ops.vsplit(x, 1), [X], [V]),
    "fliplr axes": (ops.fliplr, [X], [V]),
    "flipud axes": (ops.flipud, [V], [1.0]),
    "rot90 axes": (ops.rot90, [X], [V]),
    "apply_along_axis": (lambda i: ops.apply_along_axis(np.sort, i, X), [-2, 1], [-3, 2]),
    "choose": (lambda n: ops.choose([0, 1], [V[:2]] * n), [2, 3], [1, 0]),
    "concatenate axis": (lambda i: ops.concatenate([X, X], i), [-2, 1], [-3, 2]),
    "stack axis": (lambda i: ops.stack([X, X], i), [-3, 2], [-4, 3]),
    "expand_dims axis": (lambda i: ops.expand_dims(X, i), [-3, 2], [-4, 3]),
    "roll axis": (lambda i: ops.roll(X, 1, i), [-2, 1], [-3, 2]),
    "take": (lambda i: ops.take(V, i), [-4, 3], [-5, 4]),
    "getitem": (lambda i: ops.getitem(V, i), [-4, 3], [-5, 4]),
    "insert": (lambda i: ops.insert(V, i, 1.0), [-4, 4], [-5, 5]),
    "delete": (lambda i: ops.delete(V, i), [-4, 3], [-5, 4]),
    "partition": (lambda k: ops.partition(V, k), [-4, 3], [-5, 4]),
    "diff": (lambda n: ops.diff(V, n), [0, 4, 5], [-1]),
    "gradient": (lambda n: ops.gradient(V[:n]), [2], [1]),
    "gradient edge_order": (lambda n: ops.gradient(V[:n], edge_order=2), [3], [2]),
    "polyfit degree": (lambda n: ops.polyfit(V, V, n), [0, 3], [-1]),
    "polyfit cov": (lambda n: ops.polyfit(V, V, n, cov=True)[1], [0, 2], [3]),
    "polyfit unscaled cov": (lambda n: ops.polyfit(V, V, n, cov="unscaled")[1], [0, 3], []),
    "polyder": (lambda m: ops.polyder(V, m), [0, 3, 4], [-1]),
    "polyint": (lambda m: ops.polyint(V, m), [0, 2], [-1]),
    "polyint constants": (lambda n: ops.polyint(V, 2, k=[1.0] * n), [1, 2], [0]),
    "vander": (lambda n: ops.vander(V, n), [0, 1], [-1]),
    "cov axes": (ops.cov, [X, V], [X[None]]),
    "cov weights": (lambda n: ops.cov(X, aweights=[n, 1.0, 1.0, 1.0]), [0.0], [-0.1]),
    "cumulative_sum axes": (ops.cumulative_sum, [V], [X]),
    "quantile": (lambda q: ops.quantile(V, q), [0.0, 1.0], [-1e-9, 1 + 1e-9]),
    "percentile": (lambda q: ops.percentile(V, q), [0.0, 100.0], [-1e-9, 100 + 1e-9]),
    "fft points": (lambda n: ops.fft.fft(V, n), [1], [0, -1]),
    "fft axis": (lambda i: ops.fft.fft(X, axis=i), [-2, 1], [-3, 2]),
    "irfft points": (lambda n: ops.fft.irfft(V, n), [1], [0]),
    "irfft elements": (lambda n: ops.fft.irfft(V[:n]), [2], [1]),
    "hfft elements": (lambda n: ops.fft.hfft(V[:n]), [2], [1]),
    "rfftn axes": (lambda i: ops.fft.rfftn(X, axes=i), [(-2, 1), (1,)], [(0, 2), (-3,)]),
    "inv axes": (ops.linalg.inv, [np.eye(2)], [V, X]),
    "tensorinv": (lambda i: ops.linalg.tensorinv(np.eye(4).reshape(2, 2, 4), i), [2], [0, -1]),
    "multi_dot": (lambda n: ops.linalg.multi_dot([np.eye(2)] * n), [2], [1]),
    "cross": (lambda n: ops.cross(V[:n], V[:n]), [3], [1, 4]),
    "matrix_power": (lambda n: ops.linalg.matrix_power(np.eye(2), n), [0, 1, -1], [0.5]),
    "norm axes": (lambda i: ops.linalg.norm(X, axis=i), [(0, 1), -2], [(0, 0), 2]),
    "tensordot axes": (lambda n: ops.tensordot(X, X.T, n), [0, 1], [3]),
    "poly axes": (ops.roots, [V], [X]),
    "unravel_index": (lambda i: ops.unravel_index(i, (2, 3)), [0, 5], [6, -1]),
    "searchsorted": (lambda x: ops.searchsorted(x, 0.5), [V], [X]),
    "histogram bins": (lambda n: ops.histogram(V, n)[0], [1], [0]),
    "trapezoid": (lambda n: ops.trapezoid(V[:n]), [1, 0], []),
    "linspace": (lambda n: tape.numpy.linspace(0.0, 1.0, n), [0, 1], []),
    # layers
    "hardtanh": (lambda a: nn.hardtanh(V, a, 1.0), [1.0], [1.0 + 1e-9]),
    "softshrink": (lambda a: nn.softshrink(V, a), [0.0], [-1e-9]),
    "prelu": (lambda n: nn.prelu(X, np.ones(n)), [1, 4], [2, 3]),
    "one_hot": (lambda n: nn.one_hot(CLASSES, n), [3], [2, 0]),
    "label_smoothing": (lambda a: nn.cross_entropy(X, CLASSES, label_smoothing=a), [0.0, 1.0],
        [-1e-9, 1 + 1e-9]),
    "class": (lambda k: nn.cross_entropy(X, [0, 1, k]), [0, 3, -100], [4, -1]),
    "stride": (lambda n: nn.max_pool2d(IMAGE, 2, n), [1, 5], [0, -1]),
    "pool padding": (lambda n: nn.max_pool2d(IMAGE, 3, padding=n), [0, 1], [-1, 2]),
    "pool window": (lambda n: nn.avg_pool2d(IMAGE, n), [1, 4], [0, 5]),
    "conv padding": (lambda n: conv(IMAGE, padding=n), [0, 7], [-1]),
    "conv window": (lambda n: conv(IMAGE[:, :, :n]), [4], [3]),
    "conv dilation": (lambda n: conv(IMAGE, dilation=n, padding=3), [1, 3], [0, 4]),
    "groups": (lambda n: nn.conv1d(X, np.ones((3, 3 // n, 1)), groups=n), [1, 3], []),
    "output_padding": (lambda n: nn.conv_transpose1d(X, np.ones((3, 1, 2)), stride=3, output_padding=n),
        [0, 2], [3, -1]),
    "momentum": (lambda a: nn.batch_norm_statistics(X, V, V, a), [0.0, 1.0], [-1e-9, 1 + 1e-9]),
    "glu axis": (lambda i: nn.glu(np.ones((2, 4)), i), [-2, 1], [-3, 2]),
    "huber delta": (lambda a: nn.huber_loss(V, V, delta=a), [1e-9], [0.0]),
    "smooth_l1 beta": (lambda a: nn.smooth_l1_loss(V, V, beta=a), [0.0], [-1e-9]),
    "eps": (lambda a: nn.layer_norm(X, (4,), eps=a), [0.0], [-1e-9]),
    "num_groups": (lambda n: nn.group_norm(X[None], n), [1, 3], [0, 2, -1]),
    "local_response_norm": (lambda n: nn.local_response_norm(X[None], n), [1, 5], [0]),
    "triplet p": (lambda p: nn.triplet_margin_loss(X, X + 1, X - 1, p=p), [1e-3], [0.0]),
    "padding_idx": (lambda i: nn.embedding(CLASSES, X, padding_idx=i), [-3, 2], [-4, 3]),
    "embedding": (lambda i: nn.embedding([i], X), [0, 2], [3, -1]),
    "dropout": (lambda p: nn.dropout(V, p, mask=V > 0), [0.0, 1.0], [-1e-9, 1 + 1e-9]),
    "binary_cross_entropy": (lambda a: nn.binary_cross_entropy(np.array([a]), np.array([1.0])),
        [0.0, 1.0], [-1e-9, 1 + 1e-9]),
    "attention axes": (lambda x: nn.scaled_dot_product_attention(x, x, x), [X], [V]),
    # transforms
    "max_steps": (lambda n: tape.fixed_point(lambda x: 0.0 * x, np.zeros(1), max_steps=n),
        [2, np.int64(9)], [0, -1, 1.5]),
    "tol": (lambda a: tape.fixed_point(lambda x: 0.5 * x, 1.0, tol=a), [1e-3, np.float64(1e-3)], ["x"]),
    "rtol": (lambda a: tape.odeint(lambda y, t: -y, 1.0, [0.0, 0.1], rtol=a), [1e-9, np.float64(1e-3)],
        [0, -1.0, "x"]),
    "atol": (lambda a: tape.odeint(lambda y, t: -y, 1.0, [0.0, 0.1], atol=a), [1e-9, 1], [0.0, None]),
    "odeint times": (lambda t: tape.odeint(lambda y, t: -y, 1.0, t), [[0.0], [0.0, 1.0], [1.0, 0.0]],
        [[0.0, 0.0], [0, 1, 0.5], []]),
    "steps": (lambda n: tape.checkpoint_loop(lambda x, k: x, 1.0, n, 1), [0, 1], [-1, 0.5]),
    "snapshots": (lambda n: tape.checkpoint_loop(lambda x, k: x, 1.0, 3, n), [1, 5], [0, 0.5]),
    "taylor order": (lambda k: tape.taylor(np.sin, 1.0, 1.0, k), [0, 170], [-1, 171]),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", LIMITS)
def test_the_last_value_is_taken_and_the_first_beyond_refused(name):
    f, taken, refused = LIMITS[name]
    for value in taken:
        f(value)
    for value in refused:
        with pytest.raises(errors.TapeError):
            f(value)
