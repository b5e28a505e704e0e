"""Complex numbers, halves and all integers in programs: without callbacks, and NumPy's to the last bit."""

import operator

import numpy as np
import pytest

import tape
from tape.program.ir.vectorise import LEAST, VECTORISED
from tests.oracles import assert_same
from tests.tiers import grid, takes_long

SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 2.5, -3.0, 0.5, 1e-30, 1e30]
DTYPES = "FDebBhHILfdil?"
_UNARY = """
    absolute angle arccos arccosh arcsin arcsinh arctan arctanh bitwise_count conjugate cos cosh exp
    exp2 expm1 frexp imag invert iscomplex isfinite isinf isnan isreal log log10 log1p log2 logical_not
    nan_to_num negative positive real reciprocal rint round sign sin sinh sqrt square tan tanh
"""
UNARY = _UNARY.split()
_BINARY = """
    add arctan2 bitwise_and copysign divide equal floor_divide fmax fmin gcd greater_equal hypot
    left_shift less logaddexp logical_and maximum minimum multiply not_equal remainder subtract
"""
BINARY = _BINARY.split()
SHAPES = [(), (7,), (13, 3), (3000,)]
"""The last one is computed in blocks."""


def draw(dtype, shape, seed=0, *, is_special=True):
    """Numbers of a dtype: infinities, NaN and zeros of both signs among them, or integers from end to end."""
    rng, dtype = np.random.default_rng(seed), np.dtype(dtype)
    if dtype.kind in "iu":
        ends = np.iinfo(dtype) if is_special else np.iinfo(np.int8)
        return rng.integers(max(ends.min, np.iinfo(dtype).min), ends.max, shape, endpoint=True, dtype=dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    parts = [rng.choice(SPECIAL, shape) if is_special else rng.normal(size=shape) for _ in range(2)]
    with np.errstate(all="ignore"):
        if dtype.kind != "c":
            return np.asarray(parts[0]).astype(dtype)
        z = np.empty(shape, dtype)
    z.real, z.imag = parts
    return z


def same(found, expected):
    """Whether two results agree to the last bit, but for the bits of NaN."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    if found.dtype.kind == "c":
        return same(found.real, expected.real) and same(found.imag, expected.imag)
    np.testing.assert_array_equal(found, expected)
    if found.dtype.kind == "f":
        is_number = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found)[is_number], np.signbit(expected)[is_number])
    return True


def check(f, *args):
    """Compare a program, which may not call back, with the function; nothing where NumPy refuses."""
    with np.errstate(all="ignore"):
        try:
            expected = f(*args)
        except (TypeError, ValueError):
            return False
        compiled = tape.compile(f)
        compiled(*args)
        found = compiled(*args)
    (program,) = compiled.programs.values()
    assert not program.explain().callbacks
    pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
    return all(same(a, b) for a, b in pairs)


@grid(name=UNARY, dtype=list(DTYPES), times=3)
def test_functions_of_one_operand(name, dtype):
    is_double = np.issubdtype(dtype, np.integer) or dtype == "d"
    is_vectorised = name in VECTORISED and is_double  # with loops of its own if there are many elements
    for shape in SHAPES:
        x = draw(dtype, shape)
        check(getattr(np, name), x.reshape(-1)[: LEAST - 1] if is_vectorised else x)


@grid(name=BINARY, dtype=list(DTYPES), times=3)
def test_functions_of_two_operands(name, dtype):
    for shape in SHAPES:
        x, y = draw(dtype, shape), draw(dtype, shape, 1)
        y = np.abs(y) % y.dtype.type(7) if name == "left_shift" and y.dtype.kind in "iu" else y
        check(getattr(np, name), x, y)


@pytest.mark.parametrize("dtype", [*"FDfdilb?"])
def test_running_sums(dtype):
    x = draw(dtype, (4, 3), is_special=False)
    for axis in (None, 0, -1):
        compiled = tape.compile(lambda x, axis=axis: np.cumsum(x, axis=axis))
        compiled(x)
        np.testing.assert_allclose(compiled(x), np.cumsum(x, axis=axis), rtol=1e-5)
        assert compiled(x).dtype == np.cumsum(x, axis=axis).dtype
        (program,) = compiled.programs.values()
        assert not program.explain().callbacks


@grid(source=list(DTYPES), target=list(DTYPES), times=5)
def test_conversions(source, target):
    kinds = np.dtype(source).kind, np.dtype(target).kind
    is_defined = kinds[0] not in "fc" or kinds[1] not in "iu"  # C leaves open what does not fit
    x = draw(source, (50,), is_special=is_defined)
    if not is_defined and kinds[1] == "u":
        x = np.abs(x.real).astype(source)
    with (
        np.errstate(all="ignore"),
        pytest.warns(np.exceptions.ComplexWarning)
        if kinds == ("c", "f") or (kinds[0] == "c" and kinds[1] in "iu")
        else np.errstate(),
    ):
        assert check(lambda x: np.astype(x, np.dtype(target)), x)
        assert check(lambda x: np.astype(x, np.dtype(target)), x[3])


@pytest.mark.parametrize("source", "efd")
@pytest.mark.parametrize("target", "bBhHilIL")
def test_floats_are_converted_up_to_the_ends_of_what_integers_hold(source, target):
    """Of fractions, the part before the point stays."""
    ends, most = np.iinfo(target), float(np.finfo(source).max)
    last = np.nextafter(np.array(min(float(ends.max) + 1, most), source), 0)
    x = np.array([max(float(ends.min), -most), 0.75, 1.5, last / 2, last], source)
    assert int(x[-1]) <= ends.max
    assert check(lambda x: np.astype(x, np.dtype(target)), x)


@pytest.mark.parametrize("source", [np.float32, np.float64])
def test_halves_are_rounded_once(source):
    """Numbers between, at and near halfway of all halves."""
    with np.errstate(all="ignore"):
        halves = np.arange(2**16, dtype=np.uint16).view(np.float16).astype(np.float64)
        middles = (halves[:-1] + halves[1:]) / 2
        around = [np.nextafter(middles.astype(source), source(end)) for end in (-np.inf, np.inf)]
        x = np.concatenate([halves, middles, *around]).astype(source)
    assert check(lambda x: np.astype(x, np.float16), x)
    assert check(lambda x: np.astype(x, np.float32), np.arange(2**16, dtype=np.uint16).view(np.float16))


REDUCTIONS = {
    "sum": lambda x: np.sum(x),
    "sum rows": lambda x: np.sum(x, 1),
    "sum columns": lambda x: np.sum(x, 0),
    "mean": lambda x: np.mean(x, 0),
    "prod": lambda x: np.prod(x, 0),
    "max": lambda x: np.max(x, 1),
    "min": lambda x: np.min(x),
    "any": lambda x: np.any(x, 0),
    "count_nonzero": lambda x: np.count_nonzero(x, 0),
}


@grid(name=REDUCTIONS, dtype=list("FDebBhHI"), times=4)
def test_reductions(name, dtype):
    for is_special in (False, True):
        for shape in ((6, 5), (40, 300), (1, 3)):
            assert check(REDUCTIONS[name], draw(dtype, shape, is_special=is_special))


@pytest.mark.parametrize("function", [np.sum, np.prod, np.mean, np.max])
@pytest.mark.parametrize("axes", [(0, 2), (0, 1), (1, 2), (0, 1, 2), (0, -2), (2, 0)])
def test_halves_are_reduced_over_any_axes_as_by_numpy(function, axes):
    """Which rounds once, or after each run of neighbours."""
    for shape in ((3, 4, 5), (20, 3, 30)):
        x = np.random.default_rng(0).uniform(0.9, 1.1, shape).astype(np.float16)
        compiled = tape.compile(lambda x: function(x, axis=axes))
        for _ in range(2):
            assert same(compiled(x), function(x, axis=axes))


PARTS = {
    "transpose": lambda x: x.T[1:, ::-2],
    "reshape": lambda x: x.reshape(5, 6)[:, None],
    "concatenate": lambda x: np.concatenate([x, x[::-1]], 1),
    "broadcast": lambda x: np.broadcast_to(x[0], (3, 5)),
    "gather": lambda x: x[np.array([0, 3, -1])],
    "column": lambda x: x[:, 1],
    "where": lambda x: np.where(x.real > 0, x, x.T.reshape(6, 5)),
    "diagonal": lambda x: np.diagonal(x),
    "roll": lambda x: np.roll(x, 2, 1),
    "pad": lambda x: np.pad(x, 1),
    "product": lambda x: x @ x.T,
    "real and imaginary": lambda x: (x.real, x.imag.T),
    "add broadcast": lambda x: x[1:] + x[:1].T[:5],
    "parts of a broadcast": lambda x: ((y := np.broadcast_to(x[0], (3, 5))).real, y.imag, y.imag.T),
    "parts of a number": lambda x: ((y := np.where(x.real > 0, 2 + 3j, 2 + 3j)).real, y.imag, y.real + x),
}


@grid(name=PARTS, dtype=list("FDebBhHIL"), times=4)
def test_parts(name, dtype):
    for is_special in (False, name != "product"):
        assert check(PARTS[name], draw(dtype, (6, 5), is_special=is_special))


POWERS = [2, 3, -1, 0.5, 1]


@grid(power=POWERS, dtype=list("FDe"), times=3)
def test_powers_are_those_of_the_operator(power, dtype):
    for shape in ((1,), (7,)):
        assert check(lambda x: operator.pow(x, power), draw(dtype, shape))
    for number in draw(dtype, (9,)):  # single ones have other zeros and infinities
        assert check(lambda x: operator.pow(x, power), number)


TRANSFORMS = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]


@takes_long
@grid(name=TRANSFORMS, dtype=list("deFDf"), norm=[None, "ortho", "forward"], times=5)
def test_transforms(name, dtype, norm):
    f = getattr(np.fft, name)
    for shape, axis in (((1,), -1), ((8,), -1), ((3, 15), -1), ((2, 7, 3), 1), ((64, 2), 0)):
        for n in (None, 5, 8):
            check(lambda x, n=n, axis=axis: f(x, n, axis, norm), draw(dtype, shape, is_special=False))


@pytest.mark.parametrize("name", ["fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"])
def test_transforms_over_several_axes(name):
    f = getattr(np.fft, name)
    for shape in ((4, 6), (3, 5), (2, 3, 4)):
        x = draw("d", shape, is_special=False)
        assert check(lambda x: f(x), x)
        assert check(lambda x: f(x, (3, 4), axes=(-2, -1), norm="ortho"), x)


def test_transforms_of_nothing():
    assert check(lambda x: np.fft.fft(x), np.zeros((0, 4)))
    assert check(lambda x: np.fft.rfft(x, n=3, axis=0), np.zeros((0, 4)))


def test_derivatives_of_transforms():
    x = draw("d", (4, 6), is_special=False)
    assert check(tape.grad(lambda x: np.sum(np.abs(np.fft.rfftn(x)) ** 2)), x)
    assert check(tape.grad(lambda x: np.sum(np.fft.irfft(np.fft.rfft(x) * 1j, 5) ** 3)), x)


def test_a_guard_reads_complex_numbers_and_bytes():
    @tape.compile
    def f(z, n):
        return z * 2 if z[0] else z + n[0] if int(n[1]) == 3 else z

    for z in ([0j, 1j], [1j, 1j], [complex(0, np.nan), 0]):
        for n in ([1, 3], [255, 4]):
            args = np.array(z), np.array(n, np.uint8)
            same(f(*args), f.__wrapped__(*args))
    assert len(f.programs) > 2


def test_complex_carries_of_loops():
    @tape.compile
    def f(z, c):
        return tape.scan(lambda z, x: (z * z / (1 + abs(z)) + c * x, z.imag), z, np.arange(5.0))

    z, c = draw("D", (3,), is_special=False), 0.3 + 0.1j
    assert check(f.__wrapped__, z, np.complex128(c))


def test_single_complex_numbers_and_misaligned_singles():
    for dtype in "FD":
        assert check(lambda z, x: z * x + z, np.dtype(dtype).type(1 + 2j), draw(dtype, (3,)))
        raw = np.zeros(4 * np.dtype(dtype).itemsize + 4, np.uint8)
        z = raw[4:].view(dtype)[:3]
        z[:] = draw(dtype, (3,), is_special=False)
        assert check(lambda z: np.concatenate([z.real, (z * z).imag]), z)
        if z.flags.aligned:  # else a copy is made in Python
            assert check(lambda x, z=z: x + z, draw(dtype, (3,)))


MASK = np.array([[True, False, True], [False, False, False]])
MASKED = {
    "sum": lambda z: np.sum(z, axis=1, where=MASK),
    "prod": lambda z: np.prod(z, axis=0, where=MASK, initial=2),
    "mean": lambda z: np.mean(z, where=MASK),
    "var": lambda z: np.var(z, where=MASK),
    "std": lambda z: np.std(z, axis=0, where=MASK[:1] | MASK),
    "nansum": lambda z: np.nansum(z, axis=1),
    "nanmean": lambda z: np.nanmean(z),
    "nanvar": lambda z: np.nanvar(z, axis=1),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", MASKED)
def test_masked_reductions_of_complex_numbers(name):
    f = MASKED[name]
    rng = np.random.default_rng(0)
    z = rng.normal(size=(2, 3)) + 1j * rng.normal(size=(2, 3))
    z[0, 1] = np.nan

    def loss(z):
        return np.sum(np.abs(f(z)) ** 2) + np.sum(np.real(f(z)))

    tangent = np.ones((2, 3)) * (0.5 + 1j)
    for derived in (f, tape.grad(loss), lambda z: tape.jvp(loss, (z,), (tangent,))[1]):
        compiled = tape.compile(derived)
        compiled(z)
        (program,) = compiled.programs.values()
        assert not program.explain().callbacks
        np.testing.assert_allclose(compiled(z), derived(z), rtol=1e-12, atol=1e-14)


COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]


@takes_long
@pytest.mark.parametrize("compare", COMPARISONS)
@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint64, np.int64])
def test_comparisons_with_ints_beyond_a_dtype_are_those_of_numpy(compare, dtype):
    limits = np.iinfo(dtype)
    x = np.array([limits.min, 1, limits.max], dtype)
    for i in (-1, limits.min - 1, limits.max, limits.max + 1, 300):
        assert check(lambda x: compare(x, i), x)  # noqa: B023
        assert check(lambda x: compare(i, x), x)  # noqa: B023
        assert check(lambda x: compare(x[1], i), x)  # noqa: B023
    f = tape.compile(compare)
    for i in (5, -1, 300, 5):
        same(f(x, i), compare(x, i))


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int32])
def test_ints_beyond_a_dtype_are_chosen_and_limit_as_in_numpy(dtype):
    x = np.array([0, 1, 2], dtype)
    for i in (-1, 300, 2**40):
        assert check(lambda x: np.where(x > 0, x, i), x)  # noqa: B023
        assert check(lambda x: np.where(x > 0, i, x), x)  # noqa: B023
        assert check(lambda x: np.clip(x, None, i), x) if i > 0 else True  # noqa: B023
    assert check(lambda x: np.clip(x, -(2**40), 2**40), x)


STORED = [
    [np.int64(5), np.int64(300), np.int64(-1), np.int64(2**40)],
    [np.uint64(5), np.uint64(2**63), np.uint64(7)],
    [5, 300, -1, 7, 2**20], [np.int8(5), np.int8(-3)], [5.0, 300.0, -1.0, 2.5], [True, np.bool_(False)],
    [np.float64(5.0), np.float64(300.0), np.float64(np.nan), np.float64(2.7)],
]  # fmt: skip


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint64])
def test_numbers_stored_in_integers_fit_or_are_refused_as_by_numpy(dtype):
    def stored(x, number):
        x = x.copy()
        x[0] = number
        return x

    for numbers in STORED:
        compiled = tape.compile(stored)
        for number in numbers:
            try:
                with np.errstate(invalid="ignore"):
                    expected = stored(np.zeros(2, dtype), number)
            except (OverflowError, ValueError):
                with pytest.raises((OverflowError, ValueError, tape.errors.TapeError)):
                    compiled(np.zeros(2, dtype), number)
            else:
                with np.errstate(invalid="ignore"):
                    np.testing.assert_array_equal(compiled(np.zeros(2, dtype), number), expected)


@pytest.mark.parametrize("power", [np.power, operator.pow], ids=["ufunc", "operator"])
def test_powers_of_bools_have_the_dtype_that_numpy_gives_them(power):
    """Of a bool and the int 2, that of the operator is an int8, which overflows soon; no other is."""
    m = np.array([True, False])
    f = lambda m, k: power(m, k) * 100 * 2  # noqa: E731
    for kind in (int, np.int64, np.int8, float):
        compiled = tape.compile(f)
        for k in map(kind, (3, 2, 1, 2, 3)):
            expected = f(m, k)
            assert_same(compiled(m, k), expected)
            assert_same(tape.vmap(f, in_axes=(0, None))(m[None], k)[0], expected)
            with tape.Trace() as trace:
                assert_same(f(trace.input(m), k).value, expected)
    fixed = tape.compile(lambda m: power(m, 2) * 100 * 2)
    assert_same(fixed(m), f(m, 2))
    assert_same(fixed(~m), f(~m, 2))
