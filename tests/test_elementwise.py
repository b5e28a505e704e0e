"""Elementwise functions: branches of complex ones, degenerate points, several results, what runs natively."""

import numpy as np
import pytest

import tape
from tape import errors, ops
from tape.core.elementwise import elementwise
from tape.core.table import OPERATIONS
from tests.naive_program import compiled_for
from tests.op_table import arithmetic, bits, elementary, limits, rounding, selection, windows
from tests.oracles import (
    assert_close,
    assert_same,
    derivative,
    difference,
    difference_gradient,
    inner,
    is_float,
    jvp,
    record,
    vjp,
)

# ---- every ufunc ---------------------------------------------------------------------------------

UFUNCS = {value for value in vars(np).values() if isinstance(value, np.ufunc)}


def test_every_elementwise_ufunc_of_numpy_is_known():
    unknown = {ufunc for ufunc in UFUNCS if ufunc.signature is None} - OPERATIONS.keys()
    assert unknown <= {np.isnat}  # of dates


@pytest.mark.parametrize(
    "name", sorted(name for name in vars(ops) if isinstance(getattr(np, name, None), np.ufunc))
)
def test_aliases_are_the_ufunc_they_name(name):
    protocol, function = OPERATIONS[getattr(np, name)], getattr(ops, name)
    assert getattr(protocol, "op", protocol) is getattr(function, "op", function)


REAL = [
    case
    for family in (arithmetic, bits, elementary, limits, rounding, selection, windows)
    for case in family.CASES
    if all(a.dtype.kind != "c" for a in case.args()) and "complex" not in case.name
]
CALLED_BACK = {"apply", "bitwise_count", "frexp"}


@pytest.mark.parametrize("op", sorted({case.op for case in REAL} - CALLED_BACK))
def test_real_ones_are_native_in_programs_with_their_derivatives(op):
    case = max((case for case in REAL if case.op == op), key=lambda case: case.size)

    def gradient(*args):
        return vjp(case.on(ops), args)

    def second(*args):
        return vjp(lambda *args: inner(gradient(*args), weights), args)

    weights = [np.cos(a.size + np.arange(a.size)).reshape(a.shape) for a in case.args() if is_float(a)]

    for f in (case.on(ops), gradient, second) if case.has_derivative else (case.on(ops),):
        _, program = compiled_for(f, *case.args())
        assert [call[0].name for call in program.ir.callbacks] == []


@pytest.mark.parametrize("name", ["add", "exp", "exp2", "relu", "sqrt", "tanh"])
def test_rules_leave_alone_what_they_do_not_need(name):
    op = getattr(ops, name).op
    x = np.array([0.5, 1.0])
    operands = [x] * len(op.vjp)
    out = op(*operands)
    for rule in op.vjp:
        assert_same(rule(x, out, *[None] * len(operands)), rule(x, out, *operands))


# ---- complex numbers -----------------------------------------------------------------------------

QUADRANTS = np.array([1.4 + 0.6j, -1.4 + 0.6j, -1.4 - 0.6j, 1.4 - 0.6j, 0.3 + 0.4j, -0.3 - 0.4j])
HOLOMORPHIC = (
    "arccos arccosh arcsin arcsinh arctan arctanh cos cosh exp exp2 expm1 log log10 log1p log2 "
    "negative positive reciprocal sin sinc sinh sqrt square tan tanh"
)
OTHERS = "absolute angle conjugate imag real sign"


@pytest.mark.parametrize("name", [*HOLOMORPHIC.split(), *OTHERS.split()])
def test_derivatives_are_those_of_the_branch_in_every_quadrant(name):
    f, reference = getattr(ops, name), getattr(np, name)
    rng = np.random.default_rng(0)
    t = rng.normal(size=6) + 1j * rng.normal(size=6)
    assert_close(jvp(f, [QUADRANTS], [t]), difference(reference, [QUADRANTS], [t]))
    out = reference(QUADRANTS)
    seed = t[::-1] if out.dtype.kind == "c" else t[::-1].real
    assert_close(vjp(f, [QUADRANTS], seed)[0], difference_gradient(reference, QUADRANTS, seed))


@pytest.mark.parametrize("name", HOLOMORPHIC.split())
def test_holomorphic_rules_are_products_with_one_derivative(name):
    t = QUADRANTS[::-1] * 1j
    slope = jvp(getattr(ops, name), [QUADRANTS], [np.ones(6, complex)])
    assert_close(jvp(getattr(ops, name), [QUADRANTS], [t]), slope * t, 1e-14)
    assert_close(vjp(getattr(ops, name), [QUADRANTS], t)[0], slope * t, 1e-14)


@pytest.mark.parametrize("f", [ops.absolute, ops.sign, ops.angle, lambda z: ops.angle(z, deg=True)])
def test_at_zero_complex_numbers_stand_still(f):
    z = np.array([0j, 1 + 1j])
    out = f(z)
    assert vjp(f, [z], np.ones(2, out.dtype))[0][0] == 0
    assert jvp(f, [z], [np.array([1 + 2j, 0])])[0] == 0
    bend = vjp(lambda z: ops.sum(ops.real(vjp(f, [z], np.ones(2, out.dtype))[0])), [z])[0]
    assert np.isfinite(bend).all()


def test_complex_powers_of_negative_numbers_have_derivatives():
    def f(y):
        return np.array([-2.0, -0.5]) ** y

    y = np.array([0.5 + 0.2j, -1 + 1j])
    (grad,) = vjp(f, [y], np.ones(2, complex))
    assert_close(grad, f(y) * np.log(np.array([-2.0, -0.5]) + 0j))


def test_real_parts_where_imaginary_ones_are_close_to_zero():
    for z in (np.array([1 + 1e-16j, 2]), np.array([1 + 1e-16j, 2 + 1j]), np.array([1.0, 2.0])):
        out = record(np.real_if_close, [z])[2]
        assert_same(out.value, np.real_if_close(z))
        assert_close(vjp(np.real_if_close, [z], np.ones(2, out.dtype))[0], np.ones(2))
    assert_same(ops.real_if_close(np.array([1 + 0.1j]), tol=0.5), np.array([1.0]))
    assert_same(ops.real_if_close(1 + 0j), np.real_if_close(1 + 0j)[()])


# ---- degenerate points ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "args", "slopes"),
    [
        (np.hypot, (0.0, 0.0), (0, 0)),
        (np.arctan2, (0.0, 0.0), (0, 0)),
        (np.arctan2, (0.0, -0.0), (0, 0)),
        (np.logaddexp, (-np.inf, -np.inf), (0, 0)),
        (np.logaddexp, (-np.inf, 3.0), (0, 1)),
        (np.logaddexp, (3.0, -np.inf), (1, 0)),
        (np.logaddexp, (np.inf, 3.0), (1, 0)),
        (np.logaddexp, (1e4, 1e4), (0.5, 0.5)),
        (np.logaddexp2, (-np.inf, -np.inf), (0, 0)),
        (np.logaddexp2, (-np.inf, 3.0), (0, 1)),
        (np.logaddexp2, (1e4, 1e4), (0.5, 0.5)),
        (np.copysign, (0.0, -2.0), (0, 0)),
        (np.copysign, (-3.0, -0.0), (1, 0)),
        (np.heaviside, (0.0, 0.5), (0, 1)),
        (np.heaviside, (1.0, 0.5), (0, 0)),
        (np.maximum, (2.0, 2.0), (0.5, 0.5)),
        (np.fmax, (2.0, 2.0), (0.5, 0.5)),
        (np.fmax, (np.nan, 2.0), (0, 1)),
        (np.fmin, (2.0, np.nan), (1, 0)),
        (np.fmin, (np.nan, np.nan), (0, 0)),
        (np.power, (0.0, 2.0), (0, 0)),
        (np.power, (0.0, 1.0), (1, 0)),
        (np.power, (0.0, 0.0), (0, 0)),
        (np.float_power, (0.0, 0.0), (0, 0)),
        (np.remainder, (6.0, 2.0), (1, -3)),
        (np.remainder, (-7.0, 2.0), (1, 4)),
        (np.remainder, (-1.0, np.inf), (1, 1)),
        (np.fmod, (-7.0, 2.0), (1, 3)),
        (np.fmod, (1.0, np.inf), (1, 0)),
    ],
)
def test_two_variables(f, args, slopes):
    args = [np.array([x]) for x in args]
    assert_same(np.concatenate(vjp(f, args)), np.array(slopes, float))
    units = (np.ones(1), np.zeros(1)), (np.zeros(1), np.ones(1))
    assert_same(np.concatenate([jvp(f, args, unit) for unit in units]), np.array(slopes, float))
    total = vjp(lambda *xs: ops.sum(sum(vjp(f, xs))), args)
    assert np.isfinite(total).all() or not np.isfinite(args).all() or f in (np.power, np.float_power)


@pytest.mark.parametrize("f", [np.hypot, np.arctan2])
def test_at_the_origin_all_derivatives_are_zero(f):
    def along(s):
        return f(s, 2 * s)

    for order in range(1, 4):
        assert_same(derivative(along, order)(np.zeros(2)), np.zeros(2))


def test_logaddexp_bends_like_a_sigmoid_where_both_are_alike():
    x = np.array([-3.0, 0.0, 700.0])
    slope = tape.grad(lambda x, y: np.sum(np.logaddexp(x, y)))
    bend = tape.grad(lambda y: np.sum(slope(x, y)))(x)
    assert_close(bend, np.full(3, -0.25), 1e-14)


@pytest.mark.parametrize("order", range(7))
def test_derivatives_of_sinc_are_integrals_of_cosines(order):
    """With ``sinc(x)`` the integral of ``cos(pi s x)`` for s from 0 to 1, by Gauss and Legendre."""
    reach = max(1, order / 2) / np.pi  # where one formula takes over from the other
    x = np.array([0.0, 1e-300, 1e-9, 1e-3, 0.1, 1.0, 2.5, reach * (1 - 1e-12), reach * (1 + 1e-12), -reach])
    nodes, weights = np.polynomial.legendre.leggauss(60)
    s = (nodes[:, None] + 1) / 2
    waves = (np.pi * s) ** order * np.cos(np.pi * (s * x + order / 2))
    assert_close(derivative(np.sinc, order)(x), weights @ waves / 2, 1e-13)


# ---- several results -----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize(("f", "count"), [(np.divmod, 2), (np.modf, 1), (np.frexp, 1)])
def test_several_results_are_tuples_of_what_numpy_gives(f, count, dtype):
    args = [np.array([-7, 5, 3, -1], dtype), np.array([2, 3, -2, 4], dtype)][:count]
    trace = tape.Trace()
    found = f(*(trace.input(a) for a in args))
    assert type(found) is tuple
    for mine, theirs in zip(found, f(*args), strict=True):
        assert_same(mine.value, theirs)


def test_what_is_taken_apart_comes_together():
    x = np.array([-2.75, 0.0, 0.4, 5.5])

    def by_quotient(x):
        quotient, remainder = np.divmod(x, 0.75)
        return 0.75 * quotient + remainder

    def by_whole(x):
        return sum(np.modf(x))

    def by_mantissa(x):
        return np.ldexp(*np.frexp(x))

    for f in (by_quotient, by_whole, by_mantissa):
        assert_same(f(x), x)
        assert_same(vjp(f, [x])[0], np.ones(4))


def test_infinities_taken_apart():
    x = np.array([np.inf, -np.inf, np.nan])
    for part in range(2):
        assert_same(record(lambda v, k=part: np.modf(v)[k], [x])[2].value, np.modf(x)[part])
    compiled, _ = compiled_for(lambda x: np.modf(x)[0], x)
    assert_same(compiled(x), np.modf(x)[0])


def test_a_call_that_fails_leaves_nothing_behind():
    trace = tape.Trace()
    x, z = trace.param(np.ones(3)), trace.param(np.ones(3, complex))
    before = len(trace.nodes)
    for f in (np.divmod, np.clip):
        with pytest.raises(errors.ShapeError, match=r"\[3\].*\[2\]"):
            f(x, *[np.ones(2)] * (1 if f is np.divmod else 2))
    for g in (np.floor, np.arctan2, np.divmod, np.modf, np.frexp, np.isposinf, np.cbrt, np.i0):
        with pytest.raises(errors.DTypeError):
            g(z, z) if g in (np.arctan2, np.divmod) else g(z)
    assert len(trace.nodes) == before


# ---- keywords ------------------------------------------------------------------------------------


def test_bounds_by_two_names_are_refused():
    with pytest.raises(errors.OptionError, match="two names"):
        ops.clip(np.ones(3), 0.0, max=2.0)


def test_the_numbers_in_the_place_of_nan():
    x = np.array([np.nan, np.inf, -np.inf, 1.0])
    for options in ({}, {"nan": 7.0}, {"posinf": 1.0, "neginf": -2.0}, {"nan": np.arange(4.0)}):
        out = record(lambda v, options=options: np.nan_to_num(v, **options), [x])[2]
        assert_same(out.value, np.nan_to_num(x, **options))
    trace = tape.Trace()
    v = trace.param(x)
    with pytest.raises(errors.InPlaceError, match="copy"):
        np.nan_to_num(v, copy=False)
    with pytest.raises(errors.UnsupportedError, match=r"np\.where"):
        ops.nan_to_num(x, nan=v)


def test_decimals_must_be_whole():
    with pytest.raises(errors.DTypeError):
        ops.round(np.ones(2), 1.5)


@pytest.mark.parametrize("decimals", [-2, -1, 0, 1, 3])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.complex128, np.int64, np.int32])
def test_rounding_is_that_of_numpy(dtype, decimals):
    x = np.array([-54.55, 0.5, 1.5, 2.25, 50.0]).astype(dtype)
    expected = np.round(x, decimals)
    assert_same(record(lambda v: np.round(v, decimals), [x])[2].value, expected)
    if x.dtype.kind in "fi" and x.dtype.itemsize >= 4:
        compiled, _ = compiled_for(lambda v: np.round(v, decimals), x)
        assert_same(compiled(x), expected)


# ---- operands that are neither Vars nor arrays ---------------------------------------------------------

BINARY = [ops.add, ops.subtract, ops.multiply, ops.divide, ops.power, ops.maximum, ops.arctan2, ops.matmul]
binary = pytest.mark.parametrize("op", BINARY, ids=lambda op: op.__name__)


@binary
@pytest.mark.parametrize("make", [list, tuple], ids=["list", "tuple"])
def test_lists_beside_a_var_are_arrays(op, make):
    x, y = np.array([1.5, 2.0]), np.array([0.5, 3.0])
    for recorded, expected in (
        (lambda x: op(x, make(y.tolist())), lambda x: op(x, y)),
        (lambda x: op(make(y.tolist()), x), lambda x: op(y, x)),
    ):
        _, _, out = record(recorded, [x])
        assert_same(out.value, expected(x))
        assert all(not isinstance(operand, (list, tuple)) for operand in out.node.operands)
        for found, wanted in zip(vjp(recorded, [x]), vjp(expected, [x]), strict=True):
            assert_same(found, wanted)
    assert_same(op(make(x.tolist()), make(y.tolist())), op(x, y))


@binary
@pytest.mark.parametrize(
    ("other", "what"),
    [
        (np.array([1.0, None]), "object"),
        (np.array(["a", "b"]), "<U1"),
        (np.array(["2020-01-01", "2020-01-02"], "datetime64[D]"), "datetime64"),
        (np.ma.masked_array([1.0, 2.0], [True, False]), "masked array"),
        ([1.0, None], "object"),
        ([[1.0], [1.0, 2.0]], "no regular array"),
    ],
    ids=["objects", "strings", "dates", "masked", "list of objects", "ragged list"],
)
def test_what_holds_no_numbers_is_refused_beside_vars_and_arrays(op, other, what):
    x = np.array([1.5, 2.0])
    v = tape.Trace().param(x)
    for call in (lambda: op(v, other), lambda: op(other, v), lambda: op(x, other), lambda: op(other, x)):
        with pytest.raises(errors.TapeError, match=what):
            call()


def test_a_ufunc_needs_a_partial_for_each_operand():
    slope = lambda d, out, *operands: d  # noqa: E731
    for ufunc, wrong in ((np.add, [slope]), (np.add, [slope] * 3), (np.sin, [slope, None])):
        with pytest.raises(errors.OptionError, match=f"has {ufunc.nin} operands and {len(wrong)} partials"):
            elementwise(ufunc, *wrong)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_slope_of_an_angle_neither_overflows_nor_underflows_nor_warns(dtype):
    """At lengths whose squares do, alone and in company."""
    limits = np.finfo(dtype)
    lengths = np.array([limits.max / 4, limits.tiny * 16, 1.0], dtype)
    for length in (*lengths[:, None], lengths):
        by_y, by_x = tape.grad(lambda y, x: np.sum(np.arctan2(y, x)), (0, 1))(length, -length)
        assert_close(by_y * length, np.full(length.shape, -0.5, dtype), 1e-6)
        assert_close(by_x * length, np.full(length.shape, -0.5, dtype), 1e-6)
