"""Normalisations, linear layers and dropout: what each makes zero, degenerate points, errors, PyTorch."""

from itertools import product

import numpy as np
import pytest

import tape
from tape import errors
from tape.ops import nn
from tests.oracles import assert_close, pytorch, vjp

RNG = np.random.default_rng(11)
DTYPES = pytest.mark.parametrize(
    ("dtype", "tolerance"), [(np.float64, 1e-10), (np.float32, 1e-5)], ids=["float64", "float32"]
)


def normal(*shape, dtype=np.float64):
    return RNG.normal(size=shape).astype(dtype)


def torch_like(f, args, seed):
    """Value and gradients by the float arguments, by PyTorch."""
    torch = pytorch()
    leaves = [torch.tensor(a, requires_grad=a.dtype.kind in "fc") for a in args]
    out = f(torch.nn.functional, *leaves)
    wanted = [leaf for leaf in leaves if leaf.requires_grad]
    gradients = torch.autograd.grad(out, wanted, torch.tensor(np.conj(seed)))
    return [out.detach().numpy(), *(g.numpy().conj() for g in gradients)]  # PyTorch's are the conjugates


def assert_as_torch(f, in_torch, args, tolerance):
    """Values and gradients are PyTorch's, eager and compiled, with no callback."""
    seed = normal(*np.shape(f(*args)), dtype=args[0].dtype)
    expected = torch_like(in_torch, args, seed)

    def value_and_gradients(*args):
        return [f(*args), *vjp(f, args, seed)]

    compiled = tape.compile(value_and_gradients)
    recorded = compiled(*args)
    for found in (value_and_gradients(*args), recorded, compiled(*args)):
        for one, other in zip(found, expected, strict=True):
            assert one.dtype == other.dtype
            assert_close(one, other, tolerance)
    (program,) = compiled.programs.values()
    assert not program.explain().callbacks


# ---- against PyTorch -----------------------------------------------------------------------------


@DTYPES
@pytest.mark.parametrize(("shape", "count", "eps"), [((4, 5), 1, 1e-5), ((2, 3, 4), 2, 0.1), ((7,), 1, 1e-3)])
@pytest.mark.parametrize("operands", [0, 1, 2])
def test_layer_norm_is_that_of_torch(dtype, tolerance, shape, count, eps, operands):
    ends = shape[-count:]
    args = [normal(*shape, dtype=dtype), *(normal(*ends, dtype=dtype) for _ in range(operands))]
    assert_as_torch(
        lambda x, *params: nn.layer_norm(x, ends, *params, eps=eps),
        lambda F, x, *params: F.layer_norm(x, ends, *params, eps=eps),
        args, tolerance,
    )  # fmt: skip


@DTYPES
@pytest.mark.parametrize("eps", [None, 0.1])
def test_rms_norm_is_that_of_torch(dtype, tolerance, eps):
    args = [normal(3, 4, 5, dtype=dtype), normal(4, 5, dtype=dtype)]
    assert_as_torch(
        lambda x, w: nn.rms_norm(x, (4, 5), w, eps),
        lambda F, x, w: F.rms_norm(x, (4, 5), w, eps),
        args, tolerance,
    )  # fmt: skip


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.complex128, 1e-10), (np.complex64, 1e-5)])
@pytest.mark.parametrize("eps", [None, 0.1])
def test_rms_norm_of_complex_numbers_is_that_of_torch(dtype, tolerance, eps):
    x, w = (normal(*shape) + 1j * normal(*shape) for shape in ((3, 4, 5), (4, 5)))
    args = [x.astype(dtype), w.astype(dtype)]
    assert_as_torch(
        lambda x, w: nn.rms_norm(x, (4, 5), w, eps),
        lambda F, x, w: F.rms_norm(x, (4, 5), w, eps),
        args, tolerance,
    )  # fmt: skip


@DTYPES
@pytest.mark.parametrize(
    ("shape", "groups"), [((3, 8), 2), ((2, 6, 5), 3), ((2, 4, 3, 3), 1), ((2, 4, 3, 3), 4)]
)
def test_group_norm_is_that_of_torch(dtype, tolerance, shape, groups):
    args = [normal(*shape, dtype=dtype), normal(shape[1], dtype=dtype), normal(shape[1], dtype=dtype)]
    assert_as_torch(
        lambda x, w, b: nn.group_norm(x, groups, w, b, 0.01),
        lambda F, x, w, b: F.group_norm(x, groups, w, b, 0.01),
        args, tolerance,
    )  # fmt: skip


@DTYPES
@pytest.mark.parametrize("shape", [(3, 2, 5), (2, 3, 4, 3)])
def test_instance_norm_is_that_of_torch(dtype, tolerance, shape):
    args = [normal(*shape, dtype=dtype), normal(shape[1], dtype=dtype), normal(shape[1], dtype=dtype)]
    assert_as_torch(
        lambda x, w, b: nn.instance_norm(x, w, b),
        lambda F, x, w, b: F.instance_norm(x, weight=w, bias=b),
        args, tolerance,
    )  # fmt: skip


@DTYPES
@pytest.mark.parametrize(
    ("shape", "training"), list(product([(5, 3), (4, 2, 3), (2, 3, 2, 3)], [False, True]))
)
def test_batch_norm_is_that_of_torch(dtype, tolerance, shape, training):
    channels = shape[1]
    x, mean, w, b = (normal(*s, dtype=dtype) for s in (shape, (channels,), (channels,), (channels,)))
    var = np.exp(normal(channels, dtype=dtype))
    assert_as_torch(
        lambda x, w, b: nn.batch_norm(x, mean, var, w, b, training),
        lambda F, x, w, b: F.batch_norm(x, *_tensors(mean, var), w, b, training),
        [x, w, b], tolerance,
    )  # fmt: skip
    torch = pytorch()
    running = _tensors(mean.copy(), var.copy())
    torch.nn.functional.batch_norm(torch.tensor(x), *running, training=True, momentum=0.3)
    for found, expected in zip(nn.batch_norm_statistics(x, mean, var, 0.3), running, strict=True):
        assert found.dtype == dtype
        assert_close(found, expected.numpy(), tolerance)


def _tensors(*arrays):
    torch = pytorch()
    return [torch.tensor(a) for a in arrays]


@DTYPES
@pytest.mark.parametrize(("p", "axis"), [(2.0, 1), (1.0, 0), (3.0, -1), (np.inf, 1)])
def test_normalize_is_that_of_torch(dtype, tolerance, p, axis):
    assert_as_torch(
        lambda x: nn.normalize(x, p, axis),
        lambda F, x: F.normalize(x, p, axis),
        [normal(3, 4, dtype=dtype)], tolerance,
    )  # fmt: skip


@DTYPES
@pytest.mark.parametrize(
    ("size", "shape"), [(1, (2, 3, 4)), (2, (1, 5, 2)), (5, (2, 4, 3, 2)), (3, (2, 4, 3))]
)
def test_local_response_norm_is_that_of_torch(dtype, tolerance, size, shape):
    assert_as_torch(
        lambda x: nn.local_response_norm(x, size, 0.3, 0.6, 1.5),
        lambda F, x: F.local_response_norm(x, size, 0.3, 0.6, 1.5),
        [normal(*shape, dtype=dtype)], tolerance,
    )  # fmt: skip


@DTYPES
def test_linear_layers_are_those_of_torch(dtype, tolerance):
    x, w, b = (normal(*s, dtype=dtype) for s in ((2, 4, 3), (5, 3), (5,)))
    assert_as_torch(nn.linear, lambda F, *args: F.linear(*args), [x, w, b], tolerance)
    x, y, w, b = (normal(*s, dtype=dtype) for s in ((4, 3), (4, 2), (5, 3, 2), (5,)))
    assert_as_torch(nn.bilinear, lambda F, *args: F.bilinear(*args), [x, y, w, b], tolerance)


# ---- properties ----------------------------------------------------------------------------------


NORMALISATIONS = {
    "layer_norm": lambda x: nn.layer_norm(x, 4),
    "rms_norm": lambda x: nn.rms_norm(x, 4),
    "group_norm": lambda x: nn.group_norm(x, 3),
    "instance_norm": nn.instance_norm,
    "batch_norm": lambda x: nn.batch_norm(x, training=True),
}
each = pytest.mark.parametrize("name", NORMALISATIONS)


@each
def test_elements_that_are_all_equal_have_finite_derivatives(name):
    x = np.full((2, 3, 4), 0.0 if name == "rms_norm" else 2.5)
    value, (gradient,) = NORMALISATIONS[name](x), vjp(NORMALISATIONS[name], [x], normal(2, 3, 4))
    assert_close(value, np.zeros(x.shape))
    assert np.all(np.isfinite(gradient))


@each
def test_the_scale_of_what_is_normalised_does_not_matter(name):
    rng = np.random.default_rng(0)
    x, seed = rng.permuted(np.tile(np.linspace(-2, 2, 4), (2, 3, 1)), axis=-1), rng.normal(size=(2, 3, 4))
    value, (gradient,) = NORMALISATIONS[name](x), vjp(NORMALISATIONS[name], [x], seed)
    assert_close(NORMALISATIONS[name](1e4 * x), value, 1e-4)
    assert abs(np.sum(gradient * x)) < 1e-3  # a direction in which nothing changes, but for eps


@each
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_dtypes_are_kept(name, dtype):
    x = (
        np.random.default_rng(0).normal(size=(2, 3, 4)).astype(dtype)
    )  # no row next to eps, which is float16's
    value, (gradient,) = NORMALISATIONS[name](x), vjp(NORMALISATIONS[name], [x])
    assert value.dtype == gradient.dtype == dtype
    assert_close(value, NORMALISATIONS[name](x.astype(np.float64)), 20 * np.finfo(dtype).eps)


def test_a_large_offset_is_taken_off_before_anything_is_squared():
    x = normal(3, 8)
    assert_close(nn.layer_norm(x + 1e6, 8), nn.layer_norm(x, 8), 1e-8)


def test_zeros_stay_zeros_when_normalised_to_length_one():
    x = np.array([[0.0, 0.0], [3.0, 4.0]])
    (gradient,) = vjp(nn.normalize, [x], np.ones((2, 2)))
    assert_close(nn.normalize(x), np.array([[0.0, 0.0], [0.6, 0.8]]))
    assert np.all(np.isfinite(gradient))


# ---- dropout -------------------------------------------------------------------------------------


def test_what_is_dropped_has_no_influence_even_if_it_is_infinite():
    x, mask = np.array([np.inf, np.nan, 2.0]), np.array([False, False, True])
    np.testing.assert_array_equal(nn.dropout(x, 0.75, mask), [0.0, 0.0, 8.0])
    np.testing.assert_array_equal(vjp(lambda x: nn.dropout(x, 0.75, mask), [x])[0], [0.0, 0.0, 4.0])


def test_masks_drop_as_often_as_they_should():
    rng = np.random.default_rng(3)
    for p in (0.0, 0.1, 0.5, 1.0):
        mask = nn.dropout_mask(rng, (400, 500), p)
        assert mask.dtype == bool
        assert abs(1 - mask.mean() - p) < 0.005
    x = normal(400, 500)
    kept = nn.dropout(x, 0.3, nn.dropout_mask(rng, x.shape, 0.3))
    assert abs(np.mean(kept - x)) < 0.02


def test_a_mask_is_an_argument_of_compiled_functions():
    f = tape.compile(tape.grad(lambda x, mask: np.sum(nn.dropout(x, 0.5, mask) ** 2)))
    x = normal(4)
    for mask in (np.array([True, False, True, True]), np.zeros(4, bool)):
        assert_close(f(x, mask), 8 * x * mask)


# ---- errors --------------------------------------------------------------------------------------

X = np.ones((2, 6, 3))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: nn.layer_norm(X, 4), errors.ShapeError, r"normalized_shape \[4\].*\[2, 6, 3\]"),
        (lambda: nn.layer_norm(X, (2, 6, 3, 1)), errors.ShapeError, "normalized_shape"),
        (lambda: nn.layer_norm(X, 3.0), errors.ShapeError, "must be ints"),
        (lambda: nn.layer_norm(X, 3, weight=np.ones(4)), errors.ShapeError, r"weight.*\[4\].*\[3\]"),
        (lambda: nn.layer_norm(X, 3, eps=-1.0), errors.OptionError, "eps"),
        (lambda: nn.layer_norm(np.ones(3, int), 3), errors.DTypeError, "int64"),
        (lambda: nn.layer_norm(X + 1j, 3), errors.DTypeError, "complex"),
        (lambda: nn.rms_norm(np.ones(3, int), 3), errors.DTypeError, "int64.*must be floats"),
        (lambda: nn.group_norm(X, 4), errors.OptionError, "6 channels.*4 groups"),
        (lambda: nn.group_norm(X, 0), errors.OptionError, "num_groups=0"),
        (lambda: nn.group_norm(np.ones(3), 1), errors.ShapeError, "2 axes"),
        (lambda: nn.instance_norm(np.ones((2, 3))), errors.ShapeError, "3 axes"),
        (lambda: nn.batch_norm(X), errors.OptionError, "running_mean"),
        (lambda: nn.batch_norm(X, np.ones(2), np.ones(6)), errors.ShapeError, r"running_mean.*\[2\].*\[6\]"),
        (lambda: nn.batch_norm(np.ones((1, 3)), training=True), errors.ShapeError, "one element"),
        (lambda: nn.batch_norm_statistics(X, np.ones(6), np.ones(6), 1.5), errors.OptionError, "momentum"),
        (lambda: nn.normalize(X, axis=3), errors.ShapeError, "axis"),
        (lambda: nn.local_response_norm(X, 0), errors.OptionError, "size"),
        (lambda: nn.linear(X, np.ones((3, 4))), errors.ShapeError, r"\[2, 6, 3\].*\[3, 4\]"),
        (lambda: nn.linear(X, np.ones((4, 3)), np.ones(3)), errors.ShapeError, "bias"),
        (lambda: nn.bilinear(X, X, np.ones((2, 3, 4))), errors.ShapeError, "bilinear"),
        (lambda: nn.dropout(X, 0.5, np.ones((2, 5, 3))), errors.ShapeError, r"\[2, 5, 3\].*\[2, 6, 3\]"),
        (lambda: nn.dropout(X, 0.5, np.ones((4, 2, 6, 3))), errors.ShapeError, r"\[4, 2, 6, 3\]"),
        (lambda: nn.dropout(X, 1.5, X), errors.OptionError, "p=1.5"),
        (lambda: nn.dropout(X, 0.5), errors.OptionError, "no mask"),
        (lambda: nn.dropout(X, 0.5, 0.5), errors.OptionError, r"the mask is 0.5.*dropout\(x, p, mask\)"),
        (lambda: nn.dropout(X, 0.5, np.array(1.0)), errors.OptionError, "the mask is"),
        (lambda: nn.dropout(X, X), errors.OptionError, "p is float64.*The mask comes after it"),
        (lambda: nn.dropout(X[0, 0, 0], True), errors.OptionError, "p is True"),
        (lambda: nn.dropout_mask(np.random.default_rng(0), 3, -0.1), errors.OptionError, "p=-0.1"),
    ],
)  # fmt: skip
def test_errors_are_raised_at_the_call(call, error, words):
    with pytest.raises(error, match=words):
        call()


SHAPED = {
    "layer_norm": (lambda **p: nn.layer_norm(X, 3, **p), {"weight": (3,), "bias": (3,)}),
    "rms_norm": (lambda **p: nn.rms_norm(X, (6, 3), **p), {"weight": (6, 3)}),
    "group_norm": (lambda **p: nn.group_norm(X, 2, **p), {"weight": (6,), "bias": (6,)}),
    "instance_norm": (lambda **p: nn.instance_norm(X, **p), {"weight": (6,), "bias": (6,)}),
    "batch_norm": (
        lambda **p: nn.batch_norm(X, **p),
        {"running_mean": (6,), "running_var": (6,), "weight": (6,), "bias": (6,)},
    ),
    "batch_norm_statistics": (
        lambda **p: nn.batch_norm_statistics(X, **p), {"running_mean": (6,), "running_var": (6,)},
    ),
    "linear": (lambda **p: nn.linear(X, np.ones((4, 3)), **p), {"bias": (4,)}),
    "bilinear": (lambda **p: nn.bilinear(X, X, np.ones((4, 3, 3)), **p), {"bias": (4,)}),
}  # fmt: skip


@pytest.mark.parametrize(("name", "wrong"), [(name, wrong) for name in SHAPED for wrong in SHAPED[name][1]])
def test_parameters_of_other_shapes_are_named(name, wrong):
    call, shapes = SHAPED[name]
    right = {key: np.ones(shape) for key, shape in shapes.items()}
    call(**right)
    lengths = rf"\[{', '.join(map(str, shapes[wrong]))}\]"
    for other in (np.ones((*shapes[wrong], 1)), np.ones(())):
        with pytest.raises(errors.ShapeError, match=rf"^{name}: {wrong} has .*must have {lengths}"):
            call(**{**right, wrong: other})


def test_momentum_goes_from_nothing_to_all_of_the_new():
    x, mean, var = normal(4, 3), normal(3), np.exp(normal(3))
    for found, expected in zip(nn.batch_norm_statistics(x, mean, var, 0), (mean, var), strict=True):
        assert_close(found, expected)
    new = np.mean(x, axis=0), np.var(x, axis=0, ddof=1)
    for found, expected in zip(nn.batch_norm_statistics(x, mean, var, 1), new, strict=True):
        assert_close(found, expected)
    for momentum in (-1e-9, 1 + 1e-9):
        with pytest.raises(errors.OptionError, match="momentum"):
            nn.batch_norm_statistics(x, mean, var, momentum)


OF_SQUARES = {
    "layer_norm": lambda x: nn.layer_norm(x, (3,)),
    "rms_norm": lambda x: nn.rms_norm(x, (3,)),
    "group_norm": lambda x: nn.group_norm(x, 1),
    "normalize": nn.normalize,
    "cosine_similarity": lambda x: nn.cosine_similarity(x, x[::-1] + 1),
    "pairwise_distance": lambda x: nn.pairwise_distance(x, 0 * x),
    "pdist": nn.pdist,
    "triplet_margin_loss": lambda x: nn.triplet_margin_loss(x, 0 * x, x * 0.5),
}


@pytest.mark.parametrize("how", [lambda f: f, tape.compile], ids=["eager", "compiled"])
@pytest.mark.parametrize("f", OF_SQUARES.values(), ids=OF_SQUARES.keys())
def test_squares_of_halves_do_not_overflow(f, how):
    """Of numbers whose squares are above 65504 the results are those of floats, rounded."""
    x = np.array([[60.0, -60.0, 900.0], [-500.0, 20.0, 700.0]])

    def weighed(x):
        out = f(x)
        return np.sum(out * np.linspace(0.5, 1, np.size(out), dtype=out.dtype).reshape(np.shape(out)))

    for g in (f, tape.grad(weighed)):
        found, expected = how(g)(x.astype(np.float16)), g(x)
        assert found.dtype == np.float16
        np.testing.assert_allclose(found, expected, rtol=0.02, atol=2e-3)
