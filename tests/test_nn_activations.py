"""Activations far out, at kinks, with settings that do not fit, in programs, and against PyTorch."""

import numpy as np
import pytest

import tape
from tape.errors import DTypeError, OptionError, ShapeError, UnsupportedError
from tape.ops import nn
from tape.program.ir.table import ELEMENTWISE
from tests.oracles import assert_close, derivative, pytorch, vjp

INF = np.inf
FAR = np.array([-INF, -1e300, -1e3, -40.0, 40.0, 1e3, 1e300, INF])
LOW, HIGH = FAR < 0, FAR > 0


def x_or(low, high):
    """Limits far out: numbers, or "x" for the operand."""

    def limits(x):
        return np.where(x < 0, x if low == "x" else low, x if high == "x" else high)

    return limits


FAR_OUT = {  # the value and the slope, on both sides; the second derivative is 0 there
    "gelu": (nn.gelu, x_or(0, "x"), x_or(0, 1)),
    "gelu tanh": (lambda x: nn.gelu(x, "tanh"), x_or(0, "x"), x_or(0, 1)),
    "silu": (nn.silu, x_or(0, "x"), x_or(0, 1)),
    "mish": (nn.mish, x_or(0, "x"), x_or(0, 1)),
    "elu": (lambda x: nn.elu(x, 0.5), x_or(-0.5, "x"), x_or(0, 1)),
    "celu": (lambda x: nn.celu(x, 0.5), x_or(-0.5, "x"), x_or(0, 1)),
    "selu": (nn.selu, lambda x: np.where(x < 0, -1.7580993408473766, 1.0507009873554805 * np.maximum(x, 0)),
             x_or(0, 1.0507009873554805)),
    "logsigmoid": (nn.logsigmoid, x_or("x", 0), x_or(1, 0)),
    "tanhshrink": (nn.tanhshrink, lambda x: x - np.sign(x), x_or(1, 1)),
    "relu6": (nn.relu6, x_or(0, 6), x_or(0, 0)),
    "hardtanh": (nn.hardtanh, x_or(-1, 1), x_or(0, 0)),
    "hardsigmoid": (nn.hardsigmoid, x_or(0, 1), x_or(0, 0)),
    "hardswish": (nn.hardswish, x_or(0, "x"), x_or(0, 1)),
    "hardshrink": (nn.hardshrink, x_or("x", "x"), x_or(1, 1)),
    "softshrink": (nn.softshrink, lambda x: x - 0.5 * np.sign(x), x_or(1, 1)),
    "leaky_relu": (lambda x: nn.leaky_relu(x, 0.25), lambda x: np.where(x < 0, 0.25, 1) * x, x_or(0.25, 1)),
    "threshold": (lambda x: nn.threshold(x, 1.0, -2.0), x_or(-2, "x"), x_or(0, 1)),
}  # fmt: skip


BETWEEN_KINKS = np.array([-7.3, -2.4, -1.3, -0.71, -0.2, 0.13, 0.62, 1.4, 2.2, 4.5, 6.6])


@pytest.mark.parametrize("name", FAR_OUT)
def test_each_derivative_is_the_slope_of_the_one_before(name):
    f, step = FAR_OUT[name][0], 1e-4
    for order in range(3):
        g = derivative(f, order)
        weights = {-2: 1, -1: -8, 1: 8, 2: -1}  # a formula of fourth order
        slope = sum(weight * g(BETWEEN_KINKS + k * step) for k, weight in weights.items()) / (12 * step)
        np.testing.assert_allclose(derivative(f, order + 1)(BETWEEN_KINKS), slope, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", FAR_OUT)
def test_values_and_derivatives_far_out_are_the_limits(name, dtype):
    f, value, slope = FAR_OUT[name]
    far = FAR[np.isinf(FAR) | (np.abs(FAR) < 1e30)].astype(dtype)
    eps = np.finfo(dtype).eps
    expected = (value(far), slope(far), np.zeros(far.shape))
    for order in range(3):
        found = derivative(f, order)(far)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, expected[order], rtol=4 * eps, atol=200 * eps)
        compiled = tape.compile(derivative(f, order))
        for _ in range(2):
            np.testing.assert_allclose(compiled(far), expected[order], rtol=4 * eps, atol=200 * eps)


@pytest.mark.parametrize("name", FAR_OUT)
def test_the_largest_numbers_do_not_overflow(name):
    f, value, slope = FAR_OUT[name]
    np.testing.assert_allclose(f(FAR), value(FAR), atol=1e-14)
    np.testing.assert_allclose(derivative(f, 1)(FAR), slope(FAR), atol=1e-14)


def test_softsign_tends_to_the_sign():
    for order, expected in enumerate((np.sign(FAR), 0 * LOW, 0 * LOW)):
        np.testing.assert_allclose(derivative(nn.softsign, order)(FAR), expected, atol=0.03)
    np.testing.assert_array_equal(nn.softsign(FAR[[0, 1, -2, -1]]), [-1, -1, 1, 1])


AT_KINKS = {
    "relu6": (nn.relu6, {0: 0, 6: 0}),
    "hardtanh": (nn.hardtanh, {-1: 0, 1: 0}),
    "hardsigmoid": (nn.hardsigmoid, {-3: 0, 3: 0}),
    "hardswish": (nn.hardswish, {-3: 0, 3: 1}),
    "hardshrink": (nn.hardshrink, {-0.5: 0, 0.5: 0}),
    "softshrink": (nn.softshrink, {-0.5: 0, 0.5: 0}),
    "leaky_relu": (nn.leaky_relu, {0: 0.01}),
    "prelu": (lambda x: nn.prelu(x, np.array([0.25])), {0: 0.25}),
    "elu": (lambda x: nn.elu(x, 0.5), {0: 0.5}),
    "selu": (nn.selu, {0: 1.7580993408473766}),
    "threshold": (lambda x: nn.threshold(x, 1.0, 0.0), {1: 0}),
}


@pytest.mark.parametrize("name", AT_KINKS)
def test_derivatives_at_kinks_are_those_documented(name):
    f, slopes = AT_KINKS[name]
    (found,) = vjp(f, [np.array(list(slopes), float)])
    np.testing.assert_allclose(found, list(slopes.values()), rtol=1e-15)


def test_ints_become_floats():
    x = np.array([1, 2, 3], np.uint8)  # of which the negative wraps around
    for f in (nn.gelu, nn.silu, nn.mish, nn.elu, nn.logsigmoid, nn.softsign, nn.relu6, nn.hardswish):
        np.testing.assert_array_equal(f(x), f(x.astype(float)))
        np.testing.assert_allclose(tape.compile(f)(x.astype(np.int32)), f(x.astype(float)), rtol=1e-15)


@pytest.mark.parametrize("f", [nn.sigmoid, nn.silu, nn.softsign, nn.glu], ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_activations_of_complex_numbers_are_the_same_in_programs(f, dtype):
    z = np.array([1 + 2j, -3 - 1j, 800 + 1j, -800 + 1j], dtype)
    compiled = tape.compile(f)
    compiled(z)
    (program,) = compiled.programs.values()
    assert not program.explain().callbacks
    assert compiled(z).dtype == dtype
    assert_close(compiled(z), f(z), 1e-14 if dtype is np.complex128 else 1e-6)


@pytest.mark.parametrize("f", [nn.sigmoid, nn.softplus])
@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int64])
def test_sigmoid_and_softplus_of_ints_do_not_wrap_around(f, dtype):
    x = np.array([0, 1], bool) if dtype is bool else np.array([np.iinfo(dtype).min, 1, 5], dtype)
    compiled = tape.compile(f)
    for found in (f(x), compiled(x), compiled(x)):
        assert found.dtype == f(x).dtype
        expected = f(x.astype(float)).astype(found.dtype)
        np.testing.assert_allclose(found, expected, rtol=4 * np.finfo(found.dtype).eps)


def test_numbers_and_lists_are_arrays():
    assert nn.silu(0.5) == nn.silu(np.float64(0.5))
    for f in (nn.gelu, nn.tanhshrink, nn.glu, nn.relu6, nn.leaky_relu):
        np.testing.assert_array_equal(f([0.5, -1.5]), f(np.array([0.5, -1.5])))


def test_the_slope_of_leaky_relu_may_be_learned():
    x = np.array([-2.0, -1.0, 3.0])
    by_x, by_slope = vjp(nn.leaky_relu, [x, np.float64(0.5)])
    np.testing.assert_array_equal(by_x, [0.5, 0.5, 1])
    np.testing.assert_array_equal(by_slope, -3.0)


@pytest.mark.parametrize(
    ("f", "error", "words"),
    [
        (lambda x: nn.gelu(x, "erf"), OptionError, "'none' or 'tanh'"),
        (lambda x: nn.gelu(1j * x), DTypeError, "real numbers"),
        (lambda x: nn.elu(x, "steep"), OptionError, "elu: alpha"),
        (lambda x: nn.elu(x, x), UnsupportedError, "elu: alpha is a Var"),
        (lambda x: nn.celu(x, 0), OptionError, "relu, the limit"),
        (lambda x: nn.softplus(x, 0), OptionError, "beta is 0"),
        (lambda x: nn.gumbel_softmax(x, x, tau=0), OptionError, "tau=0.0. It must be positive"),
        (
            lambda x: nn.gumbel_softmax(x, x, np.array([[1.0], [-1.0]])),
            OptionError,
            r"-1.\]\]. It must be pos",
        ),
        (lambda x: nn.dropout_mask(np.random.default_rng(0), (2, -3)), ShapeError, "must not be negative"),
        (lambda x: nn.dropout_mask(None, 2), OptionError, "rng=None"),
        (lambda x: nn.hardtanh(x, 2, 1), OptionError, "Swap"),
        (lambda x: nn.hardshrink(x, -1), OptionError, "must not be negative"),
        (lambda x: nn.softshrink(x, np.nan), OptionError, "must not be negative"),
        (lambda x: nn.leaky_relu(x, np.ones(3)), ShapeError, "prelu"),
        (lambda x: nn.prelu(x, np.ones(3)), ShapeError, "one for each channel"),
        (lambda x: nn.prelu(x, np.ones((1, 1))), ShapeError, "one for each channel"),
        (nn.glu, ShapeError, "odd length"),
        (lambda x: nn.glu(x, 1), ShapeError, "no axis 1"),
    ],
)
def test_what_does_not_fit_is_an_error_that_leaves_nothing_behind(f, error, words):
    trace = tape.Trace()
    x = trace.param(np.ones(3))
    with pytest.raises(error, match=words):
        f(x)
    assert len(trace.nodes) <= 2  # 1j * x is one


# ---- programs ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FAR_OUT)
def test_value_and_gradient_are_elementwise_instructions(name):
    f = FAR_OUT[name][0]
    compiled = tape.compile(lambda x, g: tape.vjp(f, x)[1](g))
    x = np.linspace(-3, 3, 512)
    compiled(x, x)
    (program,) = compiled.programs.values()
    instructions = program.plan.instructions
    assert not program.explain().callbacks
    assert all(i.op in ELEMENTWISE or i.op in ("pair", "input", "literal") for i in instructions)


@pytest.mark.parametrize(("f", "shared", "most"), [(nn.gelu, "normal_cdf", 7), (nn.silu, "exp", 14)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_gradient_shares_what_takes_time_with_the_value(f, shared, most, dtype):
    def value_and_pulled(x, g):
        value, pull = tape.vjp(f, x)
        return value, pull(g)

    compiled = tape.compile(value_and_pulled)
    x = np.linspace(-3, 3, 512, dtype=dtype)
    compiled(x, x)
    (program,) = compiled.programs.values()
    ops = [i.op.removeprefix("vector_") for i in program.plan.instructions if i.op in ELEMENTWISE]
    assert [op for op in ops if op.startswith(("exp", "special", "tanh", "normal_cdf"))] == [shared]
    assert len(ops) <= most


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_gelu_in_programs_is_right_everywhere(dtype):
    x = np.linspace(-45, 45, 9001).astype(dtype)
    compiled = tape.compile(lambda x: (nn.gelu(x), vjp(nn.gelu, [x])[0]))
    compiled(x)
    exact = x.astype(float)
    for found, expected in zip(compiled(x), (nn.gelu(exact), vjp(nn.gelu, [exact])[0]), strict=True):
        eps = np.finfo(dtype).eps
        np.testing.assert_allclose(found, expected, rtol=4 * eps, atol=16 * eps)


# ---- PyTorch ---------------------------------------------------------------------------------------

TORCH = {
    "gelu": [{}, {"approximate": "tanh"}],
    "silu": [{}],
    "mish": [{}],
    "elu": [{}, {"alpha": 0.7}],
    "selu": [{}],
    "celu": [{}, {"alpha": 0.5}],
    "leaky_relu": [{}, {"negative_slope": 0.2}],
    "relu6": [{}],
    "hardtanh": [{}, {"min_val": -2.0, "max_val": 0.5}],
    "hardsigmoid": [{}],
    "hardswish": [{}],
    "hardshrink": [{}, {"lambd": 1.0}],
    "softshrink": [{}, {"lambd": 1.0}],
    "tanhshrink": [{}],
    "softsign": [{}],
    "logsigmoid": [{}],
    "threshold": [{"threshold": 0.5, "value": -1.0}],
    "relu": [{}],
    "sigmoid": [{}],
    "softplus": [{}, {"beta": 2.0, "threshold": 3.0}],
    "tanh": [{}],
}


SINGLE = ("hardsigmoid",)
"""Functions whose slope PyTorch has in float32 even for float64: 1 / 6 here."""


def assert_as_in_torch(torch, ours, theirs, dtype, *args, tolerance=None):
    """Equal values, and equal gradients of a weighted sum, by all arguments.

    Of a complex dtype, arguments that are real stay so. PyTorch's gradients by complex numbers, and its
    seeds, are the conjugates of tape's.
    """
    is_double = dtype in (np.float64, np.complex128)
    tolerance = tolerance or (1e-10 if is_double else 1e-5)
    real = np.float64 if is_double else np.float32
    args = [a.astype(real if a.dtype.kind == "f" else dtype) for a in args]
    tensors = [torch.tensor(a, requires_grad=True) for a in args]
    out = theirs(*tensors)
    expected = out.detach().numpy()
    angles = np.arange(out.numel()).reshape(out.shape)
    seed = (np.exp(1j * angles) if np.iscomplexobj(expected) else np.cos(angles)).astype(expected.dtype)
    out.backward(torch.tensor(seed))
    assert ours(*args).dtype == expected.dtype
    np.testing.assert_allclose(ours(*args), expected, rtol=tolerance, atol=tolerance)
    for found, tensor in zip(vjp(ours, args, np.conj(seed)), tensors, strict=True):
        np.testing.assert_allclose(found, tensor.grad.numpy().conj(), rtol=tolerance, atol=tolerance)


POINTS = np.concatenate([np.linspace(-8, 8, 101), [-30.0, 30.0, -3, -1, -0.5, 0, 0.5, 1, 3, 6]])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", TORCH)
def test_values_and_gradients_are_those_of_pytorch(name, dtype):
    torch = pytorch()
    for options in TORCH[name]:
        assert_as_in_torch(
            torch,
            lambda x, options=options: getattr(nn, name)(x, **options),
            lambda x, options=options: getattr(torch.nn.functional, name)(x, **options),
            dtype,
            POINTS,
            tolerance=1e-7 if name in SINGLE and dtype == np.float64 else None,
        )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("eps", [None, 0.0, 0.2, 0.5])
def test_logit_is_that_of_pytorch(dtype, eps):
    torch = pytorch()
    inside, at = np.linspace(0.01, 0.99, 9), np.array([0.0, 1.0, -0.5, 1.5, np.nan])
    assert_as_in_torch(torch, lambda x: nn.logit(x, eps), lambda x: torch.logit(x, eps), dtype, inside)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(
            nn.logit(at.astype(dtype), eps), torch.logit(torch.tensor(at.astype(dtype)), eps).numpy()
        )


def test_logit_checks_its_operands():
    for eps in (-0.1, 0.6, "small", np.nan):
        with pytest.raises(OptionError, match="logit: eps"):
            nn.logit(0.5, eps)
    with pytest.raises(DTypeError, match="logit"):
        nn.logit(1j)


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_complex_activations_are_those_of_pytorch(dtype):
    torch = pytorch()
    rng = np.random.default_rng(1)
    z = 3 * (rng.normal(size=(4, 5)) + 1j * rng.normal(size=(4, 5)))
    for name in ("sigmoid", "softsign", "tanh", "tanhshrink"):
        theirs = getattr(torch.nn.functional, name)
        assert_as_in_torch(torch, getattr(nn, name), theirs, dtype, z)
        assert_as_in_torch(torch, getattr(nn, name), theirs, dtype, np.append(z[:, 0], 0))
    # PyTorch has values of silu, without a gradient: that of what it is made of
    values = torch.nn.functional.silu(torch.tensor(z.astype(dtype))).numpy()
    np.testing.assert_allclose(
        nn.silu(z.astype(dtype)), values, rtol=1e-10 if dtype == np.complex128 else 1e-5
    )
    assert_as_in_torch(torch, nn.silu, lambda z: z * torch.sigmoid(z), dtype, z)


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("wrapped", [lambda f: f, tape.compile], ids=["eager", "compiled"])
def test_sigmoid_and_silu_of_complex_numbers_do_not_overflow(wrapped, dtype):
    z = np.array([-2000 + 1j, 2000 + 3j, -INF, INF], dtype)
    f = wrapped(lambda z: (nn.sigmoid(z), tape.grad(lambda z: np.sum(np.real(nn.sigmoid(z))))(z)))
    for _ in range(2):
        value, slope = f(z)
        assert_close(value, np.array([0, 1, 0, 1], dtype), 1e-15)
        assert np.array_equal(slope, np.zeros(4, dtype))
    g = wrapped(lambda z: (nn.silu(z), tape.grad(lambda z: np.sum(np.real(nn.silu(z))))(z)))
    for _ in range(2):
        value, slope = g(z[:2])
        assert_close(value, np.array([0, z[1]], dtype), 1e-15)
        assert_close(slope, np.array([0, 1], dtype), 1e-15)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_prelu_and_glu_are_those_of_pytorch(dtype):
    torch = pytorch()
    rng = np.random.default_rng(0)
    for shape, weights in (((5,), (1,)), ((4, 3), (3,)), ((2, 3, 4, 5), (3,)), ((2, 3, 4), (1,))):
        x, weight = rng.normal(size=shape), rng.normal(size=weights)
        assert_as_in_torch(torch, nn.prelu, torch.nn.functional.prelu, dtype, x, weight)
    glu = torch.nn.functional.glu
    for axis in (0, 1, -1):
        x = rng.normal(size=(4, 6, 2))
        assert_as_in_torch(torch, lambda x, a=axis: nn.glu(x, a), lambda x, a=axis: glu(x, a), dtype, x)


@pytest.mark.parametrize(
    "x", [0.5, -0.5, np.array(-2.0), np.array([-1.0, 2.0]), np.zeros((0, 3)), -np.ones((2, 3, 4))]
)
@pytest.mark.parametrize("weight", [0.25, np.array(0.25), np.array([0.25])])
def test_one_weight_changes_no_shape(x, weight):
    out = tape.nn.prelu(x, weight)
    assert np.shape(out) == np.shape(x)
    assert_close(out, np.where(np.asarray(x) < 0, 0.25 * np.asarray(x), x), 1e-15)
    by_x, by_weight = tape.grad(lambda x, weight: np.sum(tape.nn.prelu(x, weight)), argnums=(0, 1))(x, weight)
    assert np.shape(by_x) == np.shape(x)
    assert np.shape(by_weight) == np.shape(weight)
    assert_close(np.sum(by_weight), np.sum(np.minimum(x, 0.0)), 1e-15)
