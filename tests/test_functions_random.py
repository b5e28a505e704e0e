"""Properties of NumPy's functions over random shapes, axes, options and dtypes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tape
from tests.compiled import alike
from tests.oracles import LAYOUTS, assert_close, assert_same, difference, inner, jvp, laid_out, record, vjp
from tests.tiers import rounds

quick = settings(max_examples=20, derandomize=True)

SMALL = hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4)
SEEDS = st.integers(0, 2**16)


def apart(shape, seed):
    """Numbers 0.4 apart in random order and memory layout, none nearer to 0 than 0.1."""
    rng = np.random.default_rng(seed)
    size = int(np.prod(shape))
    x = 0.4 * (rng.permutation(size).reshape(shape) - float(size // 2)) + 0.1
    return laid_out(x, LAYOUTS[seed % len(LAYOUTS)])


def axes_of(ndim):
    """Any axis, tuple of axes, or None."""
    one = st.integers(-ndim, ndim - 1)
    several = st.lists(st.integers(0, ndim - 1), unique=True).map(tuple)
    return st.one_of(st.none(), one, several)


def check(f, x, seed=0):
    """The value is the plain one, and both modes give its directional derivative."""
    expected = f(x)
    assert_same(record(f, [x])[2].value, expected)
    rng = np.random.default_rng(seed)
    adjoint, direction = rng.uniform(-1, 1, np.shape(expected)), rng.uniform(-1, 1, x.shape)
    tangent = jvp(f, [x], [direction])
    assert_close(tangent, difference(f, [x], [direction]), 1e-8)
    (gradient,) = vjp(f, [x], adjoint)
    assert gradient.dtype == x.dtype
    pushed = np.sum(adjoint * tangent)
    assert abs(inner([gradient], [direction]) - pushed) <= 1e-12 * max(1, abs(pushed))


# ---- reductions ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "mean", "var", "std"])
@quick
@given(st.data())
def test_reductions_with_any_options(name, data):
    shape = data.draw(SMALL)
    seed = data.draw(SEEDS)
    options = {"axis": data.draw(axes_of(len(shape))), "keepdims": data.draw(st.booleans())}
    if name in ("sum", "prod", "max", "min"):
        options["initial"] = data.draw(st.sampled_from([-0.1, 2, 100.3]))
        if data.draw(st.booleans()):
            options["where"] = np.random.default_rng(seed).uniform(size=shape) < 0.6
    if name == "prod":
        check(lambda x: np.prod(1 + x / 10, **options), apart(shape, seed), seed)
    else:
        check(lambda x: getattr(np, name)(x, **options), apart(shape, seed), seed)


@pytest.mark.parametrize(
    "name", ["sum", "prod", "max", "min", "mean", "var", "std", "median", "cumsum", "cumprod"]
)
@quick
@given(hnp.arrays(bool, st.integers(2, 9), elements=st.booleans()), SEEDS)
def test_what_skips_nan_has_the_gradient_of_the_rest(name, is_missing, seed):
    is_missing[0] = False
    x = apart(is_missing.shape, seed)
    x[is_missing] = np.nan
    kept = x[~is_missing]

    skipping, plain = getattr(np, "nan" + name), getattr(np, name)
    if name.startswith("cum"):  # a missing element repeats the running total
        weights = np.add.reduceat(np.ones(x.size), np.flatnonzero(~is_missing))
        found = tape.grad(lambda v: np.sum(np.square(skipping(v))))(x)
        expected = tape.grad(lambda v: np.sum(weights * np.square(plain(v))))(kept)
    else:
        found, expected = tape.grad(skipping)(x), tape.grad(plain)(kept)
    assert_close(found[~is_missing], expected, 1e-12)
    assert not np.any(found[is_missing])


METHODS = (
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen",
    "weibull", "linear", "median_unbiased", "normal_unbiased", "lower", "higher", "midpoint", "nearest",
)  # fmt: skip


@quick
@given(st.data())
def test_quantiles_by_any_method(data):
    shape = data.draw(SMALL)
    seed = data.draw(SEEDS)
    q = np.random.default_rng(seed).uniform(0.02, 0.98, data.draw(st.sampled_from([(), (1,), (2, 2)])))
    axis, method = data.draw(axes_of(len(shape))), data.draw(st.sampled_from(METHODS))
    keepdims = data.draw(st.booleans())
    check(lambda x: np.quantile(x, q, axis=axis, method=method, keepdims=keepdims), apart(shape, seed), seed)


# ---- what only moves elements --------------------------------------------------------------------


@st.composite
def moves(draw):
    """A shape and a function that only moves, repeats or leaves out elements of an array."""
    shape = draw(SMALL)
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    length = shape[axis]
    number = draw(st.integers(-length, length - 1))
    widths = draw(st.tuples(*[st.tuples(st.integers(0, 6), st.integers(0, 6)) for _ in shape]))
    counts = draw(st.lists(st.integers(0, 3), min_size=length, max_size=length))
    mode = draw(st.sampled_from(["edge", "reflect", "symmetric", "wrap"]))
    functions = {
        "roll": lambda x: np.roll(x, 2 * number, axis),
        "flip": lambda x: np.flip(x, axis),
        "rot90": lambda x: np.rot90(x, number, (axis, axis - 1)) if x.ndim > 1 else x[::-1],
        "tile": lambda x: np.tile(x, (2, abs(number))),
        "repeat": lambda x: np.repeat(x, counts, axis),
        "pad": lambda x: np.pad(x, widths, mode),
        "delete": lambda x: np.delete(x, [number, 0], axis),
        "insert": lambda x: np.insert(x, number, np.take(x, 0, axis), axis),
        "insert several": lambda x: np.insert(x, [number, 0], np.take(x, [0, -1], axis), axis),
        "append": lambda x: np.append(x, np.flip(x), axis=None),
        "concatenate": lambda x: np.concatenate([x, np.flip(x, axis)], axis),
        "stack": lambda x: np.stack([x, x[::-1]], axis),
        "block": lambda x: np.block([[x], [x]]),
        "take": lambda x: np.take(x, [[number, 7], [-9, 0]], axis, mode="wrap"),
        "take_along_axis": lambda x: np.take_along_axis(x, np.full((1,) * x.ndim, number), axis),
        "split": lambda x: np.array_split(x, 2, axis)[0],
        "resize": lambda x: np.resize(x, (3, 5)),
        "moveaxis": lambda x: np.moveaxis(x, axis, 0),
        "ravel": lambda x: np.ravel(x, "F"),
        "diagonal": lambda x: np.diagonal(np.atleast_2d(x), number),
        "compress": lambda x: np.compress(np.array(counts) > 0, x, axis),
        "meshgrid": lambda x: np.meshgrid(x[..., 0], np.ravel(x))[1],
        "broadcast": lambda x: np.broadcast_to(x, (2, *x.shape)),
    }
    name = draw(st.sampled_from(sorted(functions)))
    return shape, functions[name]


@settings(quick, max_examples=rounds(120))
@given(moves(), SEEDS)
def test_moved_elements_send_their_adjoints_back(move, seed):
    shape, f = move
    x = apart(shape, seed)
    origins = f(np.arange(x.size).reshape(shape))
    assert_same(record(f, [x])[2].value, f(x))
    adjoint = np.random.default_rng(seed).uniform(-1, 1, origins.shape)
    expected = np.bincount(origins.ravel(), adjoint.ravel(), x.size).reshape(shape)
    assert_close(vjp(f, [x], adjoint)[0], expected, 1e-13)
    assert_close(jvp(f, [x], [x**2]), (x**2).ravel()[origins], 1e-13)


# ---- sums of products ----------------------------------------------------------------------------


@settings(quick, max_examples=rounds(60))
@given(
    st.lists(st.text("ijk", max_size=3), min_size=1, max_size=3),
    st.permutations("ijk"),
    st.integers(0, 3),
    st.sampled_from([(), (2,), (1, 2)]),
    SEEDS,
)
def test_einsum_is_linear_in_each_operand(terms, order, kept, batch, seed):
    sizes = {"i": 2, "j": 3, "k": 1 + seed % 3}
    letters = [c for c in order if any(c in term for term in terms)]
    script = ",".join(term + "..." for term in terms) + "->..." + "".join(letters[:kept])
    rng = np.random.default_rng(seed)
    shapes = [(*(sizes[c] for c in term), *batch[n % 2 :]) for n, term in enumerate(terms)]
    operands = [rng.uniform(-1, 1, shape) for shape in shapes]
    directions = [rng.uniform(-1, 1, operand.shape) for operand in operands]

    def product(*operands):
        return np.einsum(script, *operands)

    expected = sum(
        product(*operands[:k], direction, *operands[k + 1 :]) for k, direction in enumerate(directions)
    )
    assert_close(jvp(product, operands, directions), expected, 1e-12)
    adjoint = rng.uniform(-1, 1, expected.shape)
    pulled = inner(vjp(product, operands, adjoint), directions)
    assert abs(pulled - np.sum(adjoint * expected)) <= 1e-11 * max(1, abs(pulled))


# ---- dtypes --------------------------------------------------------------------------------------


BESIDE_INTEGERS = [
    np.add,
    np.subtract,
    np.multiply,
    np.divide,
    np.hypot,
    np.logaddexp,
    np.logaddexp2,
    np.maximum,
    np.fmin,
    np.copysign,
    np.heaviside,
    np.remainder,
    np.fmod,
    np.arctan2,
    lambda x, n: x**n + n[:1] ** x,
    np.outer,
    np.kron,
    np.dot,
    np.cross,
    np.convolve,
    np.polyval,
    np.polymul,
    np.gradient,
    np.cov,
    np.append,
    lambda x, n: np.where(n > 1, n, x),
    lambda x, n: np.average(x, weights=n),
    lambda x, n: np.interp(x, [0.0, 1.0, 2.0], n),
    lambda x, n: np.interp(90 * x, np.sort(n), x),
    lambda x, n: np.interp(n, [-50.0, 50.0, 300.0], x),
    lambda x, n: np.interp(n, np.sort(n) / 2, x),
    lambda q, n: np.quantile(n, q / 2),
    lambda x, n: np.einsum("i,j,j", x, x, n),
]


@pytest.mark.parametrize("f", BESIDE_INTEGERS)
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_integers_beside_floats_count_as_floats(f, dtype):
    x, ends = np.array([0.7, 1.3, 1.9]), np.iinfo(dtype)
    n = np.array([ends.max, 100, ends.min or 1], dtype)
    found, wide = (vjp(lambda v, n=n: f(v, n), [x])[0] for n in (n, n.astype(float)))
    assert_close(found, wide, 1e-12)


# ---- compiled ------------------------------------------------------------------------------------

OF_DATA = [
    lambda x: np.sort(x)[::-1] * np.argmax(x),
    lambda x: np.take(x, np.argsort(x)[:3]) ** 2,
    lambda x: np.partition(x, 2)[:3] * np.median(x),
    lambda x: np.quantile(x, [0.3, 0.8]) * np.ptp(x),
    lambda x: np.nanmean(np.where(x > 0, x, np.nan)) * x,
    lambda x: np.nancumsum(np.where(x > 0, x, np.nan)) * x,
    lambda x: np.max(x, where=x < 0.5, initial=-9) * x,
    lambda x: np.select([x < -0.5, x < 0.5], [x * x, np.sin(x)], 3 * x),
    lambda x: np.piecewise(x, [x < 0], [np.sin, np.cos]),
    lambda x: np.choose(np.where(x > 0, 1, 0), [x, 2 * x]),
    lambda x: np.interp(x, np.sort(x), x),
    lambda x: np.clip(x, x.min() / 2, x.max() / 2),
    lambda x: np.unwrap(9 * x),
    lambda x: np.cumprod(np.where(x > 0, x, 0)),
    lambda x: np.unique(x) * 2,
    lambda x: np.pad(x, 2, "median") * np.cov(x, x**2)[0, 1],
    lambda x: np.maximum.accumulate(x) * np.std(x, where=x > -9),
]


@pytest.mark.parametrize("f", OF_DATA)
def test_compiled_functions_follow_the_data(f):
    step = tape.value_and_grad(lambda x: np.sum(np.sin(f(x))))
    compiled = tape.compile(step)
    for seed in range(6):
        x = apart((7,), seed)
        alike(compiled(x), step(x))
