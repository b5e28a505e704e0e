"""Checks of derivatives: right ones pass, wrong ones are found and told apart, kinks are called kinks."""

import re

import numpy as np
import pytest

import tape
from tape import errors
from tape.core.op import Op
from tape.testing import check_grads, check_jvp, check_vjp

RNG = np.random.default_rng(3)
X = RNG.uniform(0.5, 1.5, (2, 3))
DTYPES = [np.float16, np.float32, np.float64, np.longdouble]


def slope(x):
    return 3 * x**2


def doubled_at(element):
    """The right factor everywhere but at one element."""

    def factor(x):
        mask = np.ones(np.shape(x))
        mask[element] = 2.0
        return slope(x) * mask

    return factor


def cube(vjp=slope, jvp=slope):
    return Op(
        lambda x: x**3, name="cube", vjp=[lambda g, out, x: g * vjp(x)], jvp=[lambda t, out, x: t * jvp(x)]
    )


def frozen(x):
    """The right value, and no derivative: what a rule computed outside of the operations amounts to."""
    return Op(slope, name="frozen")(x)


def in_a_tree(op):
    return lambda p, s: {"y": op(p["w"]) * p["b"] * s, "z": [p["b"] ** 2]}


ARGS = ({"w": X, "b": 1.5}, np.array([1.0, 2.0, 3.0]))


def report(check, f, args, **options):
    with pytest.raises(errors.DerivativeError) as caught:
        check(f, args, **options)
    assert isinstance(caught.value, AssertionError)
    return str(caught.value)


# ---- right derivatives -------------------------------------------------------------------------------


@pytest.mark.parametrize("check", [check_grads, check_jvp, check_vjp])
def test_right_rules_pass(check):
    assert check(in_a_tree(cube()), ARGS) is None


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_passes(dtype):
    a, b = X.astype(dtype), X[0].astype(dtype)
    check_grads(lambda a, b: np.tanh(a @ b) * np.exp(-b).sum(), (a, b))
    check_vjp(lambda a: np.log(a) / a, (a,))


@pytest.mark.parametrize("scale", [1e-12, 1e-3, 1e3, 1e12])
def test_scales_of_argument_and_result_do_not_matter(scale):
    check_grads(lambda x: scale * np.sin(x), (X,))
    check_grads(lambda x: x**2 / (1 + x), (scale * X,))


@pytest.mark.parametrize("f", [np.log, np.sqrt, lambda x: 1 / x], ids=["log", "sqrt", "reciprocal"])
def test_the_edge_of_the_domain_may_be_near(f):
    check_grads(f, (np.array([0.01, 0.05, 1.0]),))


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_any_order(order):
    check_grads(lambda x: np.exp(x).sum() * x[0], (X[0],), order=order)


def test_derivatives_that_are_constant_or_zero():
    check_grads(lambda x: 3 * x + 1, (X,), order=3)
    check_grads(lambda x, y: x, (X, X))
    check_grads(lambda x: tape.ops.softmax(x).sum(), (X[0],))


def test_what_holds_no_floats_is_data():
    check_grads(lambda x, i, flag: (x[i] ** 2 if flag else x, i), (X, 1, True))


def test_empty_arrays_and_scalars():
    check_grads(lambda x, y: x.sum() * y, (np.zeros(0), 2.0))


def test_a_kink_that_is_out_of_reach_does_not_matter():
    check_grads(lambda x: np.abs(x).sum(), (np.array([1.0, 0.01, -2.0]),))


# ---- wrong derivatives -------------------------------------------------------------------------------


@pytest.mark.parametrize("check", [check_grads, check_vjp])
def test_a_wrong_reverse_rule(check):
    text = report(check, in_a_tree(cube(vjp=doubled_at((1, 2)))), ARGS)
    assert "order 1, reverse mode" in text
    assert "args[0]['w'][1, 2]" in text
    assert "args[0]['w']: 1 of 6 elements off" in text
    assert "args[0]['b']: agrees" in text
    assert "args[1]: agrees" in text
    assert "trusted" not in text


@pytest.mark.parametrize("check", [check_grads, check_jvp])
def test_a_wrong_forward_rule(check):
    text = report(check, in_a_tree(cube(jvp=doubled_at((0, 1)))), ARGS)
    assert "order 1, forward mode" in text
    assert "by args[0]['w'][0, 1], of result['y'][0, 1]" in text


def test_expected_and_got():
    text = report(check_grads, lambda x: cube(vjp=doubled_at(1))(x).sum(), (np.array([1.0, 2.0]),))
    expected, got = re.search(r"expected (\S+) \(by differences\), got (\S+):", text).groups()
    assert float(expected) == pytest.approx(12.0, rel=1e-8)
    assert float(got) == 24.0


@pytest.mark.parametrize(
    ("rules", "path"),
    [
        ({"vjp": frozen}, "order 2, forward mode over reverse mode"),
        ({"jvp": frozen}, "order 2, forward mode over forward mode"),
    ],
)
def test_a_rule_that_is_wrong_at_second_order_only(rules, path):
    op = cube(**rules)
    check_grads(in_a_tree(op), ARGS, order=1)
    text = report(check_grads, in_a_tree(op), ARGS)
    assert path in text
    assert "args[0]['w'][" in text


def test_only_the_modes_asked_for():
    check_grads(in_a_tree(cube(jvp=doubled_at(0))), ARGS, order=1, modes=("rev",))
    check_grads(in_a_tree(cube(vjp=doubled_at(0))), ARGS, modes=("fwd",))
    report(check_grads, in_a_tree(cube(vjp=frozen)), ARGS, modes=("rev",))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_an_error_of_a_hundredth_is_found(dtype, mode):
    op = cube(*([lambda x: 1.01 * slope(x)] * 2))
    assert "order 1" in report(check_grads, op, (X.astype(dtype),), modes=(mode,))


def test_a_rule_that_gives_nan():
    text = report(check_grads, cube(vjp=lambda x: x * np.nan), (X,))
    assert "got nan" in text


def test_one_element_of_many():
    text = report(check_grads, cube(vjp=doubled_at(777)), (RNG.uniform(1, 2, 1000),), modes="rev")
    assert "args[0][777]" in text
    assert re.search(r"1 of \d+ elements off \(\d+ of its 1000 were checked\)", text)


def test_how_many_elements_are_off_and_by_how_much_is_told():
    op, other = cube(vjp=doubled_at([0, 2])), cube(vjp=lambda x: (1 + 1e-6) * slope(x))
    x = np.array([1.0, 2.0, 3.0])
    text = report(check_vjp, lambda x, y, z: np.sum(op(x) + other(y) + z), (x, x, x))
    lines = [line.strip() for line in text.splitlines()]
    assert lines[1] == "worst: by args[0][2], of result"  # whose slope is 27
    assert re.fullmatch(
        r"expected 27(\.0+\d)? \(by differences\), got 54: off by 27, allowed is \S+", lines[2]
    )
    assert lines[3] == "args[0]: 2 of 3 elements off, by 27 or less"
    times = re.fullmatch(r"args\[1\]: off, by (\S+) times what is allowed", lines[4]).group(1)
    assert 50 < float(times) <= 100
    assert lines[5].startswith("args[2]: agrees")


def test_every_argument_that_is_off_is_told():
    op = cube(vjp=lambda x: 2 * slope(x))
    text = report(check_grads, lambda x, y, z: op(x) + 10 * op(y) + z, (X, X, X), modes=("rev",))
    assert re.search(r"args\[0\]: off", text) or re.search(r"args\[1\]: off", text)
    assert "args[2]: agrees" in text


@pytest.mark.parametrize(
    ("check", "rules", "who"),
    [
        (check_vjp, {"jvp": lambda x: slope(x) * (1 + 1e-9)}, "the forward mode differs from it"),
        (check_jvp, {"vjp": lambda x: slope(x) * (1 + 1e-9)}, "the reverse mode differs from it"),
    ],
)
def test_modes_that_do_not_fit_each_other(check, rules, who):
    """By less than what differences can tell."""
    check_grads(cube(**rules), (X,), order=1)
    text = report(check, cube(**rules), (X,))
    assert who in text
    assert "<w, J v> is not <J.T w, v>" in text


# ---- complex numbers ---------------------------------------------------------------------------------


@pytest.mark.parametrize("check", [check_grads, check_jvp, check_vjp])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_derivatives_by_both_parts_of_complex_numbers(check, dtype):
    z = np.array([1.0 + 2.0j, 0.5 + 0.7j], dtype)
    check(lambda z: {"a": np.exp(z) * z, "b": np.abs(z)}, (z,))
    check(lambda z: np.conj(z) * np.log(np.imag(z)), (z,))  # of real parts, too, and where these are defined


@pytest.mark.parametrize(("part", "other"), [(np.real, np.imag), (np.imag, np.real)])
def test_the_part_of_a_complex_number_that_is_off_is_named(part, other):
    z, name = X + 2j * X, part.__name__
    op = cube(*[doubled_at((1, 0))] * 2)
    text = report(check_vjp, lambda z: op(part(z)) + other(z), (z,))
    assert f"the derivative by args[0].{name} is wrong" in text
    assert f"args[0].{name}[1, 0], of" in text
    assert f"args[0].{other.__name__}: agrees" in text
    unit = {"real": 1.0, "imag": 1j}
    text = report(check_jvp, lambda x: {"y": unit[name] * op(x) + unit[other.__name__] * x}, (X,))
    assert f"by args[0][1, 0], of result['y'].{name}[1, 0]" in text


# ---- options ---------------------------------------------------------------------------------------------


ALL = {"check_grads": lambda *args, **options: check_grads(*args, 1, **options), "check_jvp": check_jvp,
       "check_vjp": check_vjp}  # fmt: skip


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    ("dtype", "allowed"), [(np.float16, 5e-2), (np.float32, 5e-4), (np.float64, 1e-8), (np.longdouble, 1e-8)]
)
def test_how_much_a_derivative_may_be_off(name, dtype, allowed):
    """By default as documented, for each dtype; the rounding errors of differences are added."""
    check, x = ALL[name], np.array([1.0, 1.5], dtype)

    def off_by(share):
        return cube(*[lambda x: (1 + share) * slope(x)] * 2)

    check(off_by(0.3 * allowed), (x,))
    wrong = off_by(20 * allowed)
    report(check, wrong, (x,))
    check(wrong, (x,), rtol=40 * allowed)
    check(wrong, (x,), atol=1000 * allowed)  # slopes are up to 7
    report(check, wrong, (x,), atol=0.1 * allowed)
    if allowed < 1e-7:  # differences of narrow floats are not so exact
        report(check, off_by(0.3 * allowed), (x,), rtol=0.1 * allowed)


def moved_to(check, x, result=1.0, **options):
    """How a function is called: the differences from its argument."""
    moves = []

    def f(moved):
        if isinstance(moved, np.ndarray):
            moves.append(moved.astype(float) - x)
        return moved * np.asarray(result)[()]

    check(f, (x,), **options)
    return np.array(moves)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    ("dtype", "result", "step"),
    [
        (np.float16, np.float16(1), 2.0**-2),
        (np.float32, np.float32(1), 2.0**-3),
        (np.float64, np.float64(1), 2.0**-7),
        (np.longdouble, np.longdouble(1), 2.0**-7),
        (np.float32, np.float64(1), 2.0**-3),
        (np.float16, np.float64(1), 2.0**-2),
        (np.float64, np.complex128(1j), 2.0**-7),
    ],
)
def test_arguments_move_by_four_steps_or_less(name, dtype, result, step):
    """The default depends on the coarsest dtype; a step that is given is taken as it is."""
    x = np.linspace(0.5, 1.5, 50).astype(dtype)
    for options, expected in (({}, step), ({"step": 2.0**-5}, 2.0**-5), ({"step": 0.3}, 0.3)):
        furthest = np.max(np.abs(moved_to(ALL[name], x, result, **options)))
        assert 3.5 * expected < furthest <= 4.2 * expected  # rounded to what is exact


def test_a_result_that_is_coarser_than_the_arguments_says_the_step():
    def f(x):
        if isinstance(x, np.ndarray):
            moves.append(np.max(np.abs(x - start)))
        return x.astype(np.float32)

    start, moves = np.linspace(0.5, 1.5, 50), []
    check_grads(f, (start,), 1)
    assert 3.5 / 8 < max(moves) <= 4.01 / 8


@pytest.mark.parametrize("name", ALL)
def test_directions_are_those_of_the_seed(name):
    first, same, other = (moved_to(ALL[name], X, seed=seed) for seed in (4, 4, 5))
    assert np.array_equal(first, same)
    assert not np.array_equal(first, other)


# ---- where differences cannot tell -------------------------------------------------------------------


@pytest.mark.parametrize("f", [tape.ops.relu, np.floor], ids=["relu", "floor"])
@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_a_kink_or_jump_is_called_one(f, mode):
    text = report(check_grads, lambda x: {"y": f(x) + x}, (np.array([1.5, 0.0, 2.5]),), modes=(mode,))
    assert "args[0][1]" in text
    assert "cannot be trusted" in text


def test_a_kink_nearby_is_called_one():
    text = report(check_grads, lambda x: np.abs(x).sum(), (np.array([1.0, 1e-5]),))
    assert "cannot be trusted" in text


def test_a_random_function_is_called_one():
    text = report(check_grads, lambda x: x * RNG.normal(), (X,))
    assert "different results" in text


def test_the_report_does_not_depend_on_chance():
    f = in_a_tree(cube(vjp=doubled_at((1, 2))))
    one, other = (report(check_grads, f, ARGS, seed=5) for _ in range(2))
    assert one == other


@pytest.mark.parametrize("check", [check_grads, check_jvp, check_vjp])
def test_a_report_warns_of_nothing_where_no_error_is_allowed_and_some_elements_are_right(check):
    text = report(check, cube(vjp=doubled_at(0)), (np.array([1.0, 0.0, 3.0]),), rtol=0.0)
    assert "args[0][0]" in text


# ---- what makes no sense -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "options", "error", "message"),
    [
        (X, {}, errors.OptionError, "(x,)"),
        ((X,), {"order": 0}, errors.OptionError, "order is 0"),
        ((X,), {"order": True}, errors.OptionError, "order is True. It must be an int, 1 or more"),
        ((X,), {"order": 1.0}, errors.OptionError, "order is 1.0"),
        (
            (X,),
            {"modes": ("forward",)},
            errors.OptionError,
            "modes is ['forward']. It must hold 'fwd', 'rev'",
        ),
        ((X,), {"modes": ()}, errors.OptionError, "modes is []"),
        ((X,), {"modes": ("fwd", "both")}, errors.OptionError, "modes is ['fwd', 'both']"),
        ((X,), {"step": -1.0}, errors.OptionError, "step is -1.0. It must be a positive number"),
        ((X,), {"step": 0}, errors.OptionError, "step is 0. It must be a positive number"),
        ((X,), {"step": np.inf}, errors.OptionError, "step is inf. It must be a positive number"),
        ((X,), {"step": np.nan}, errors.OptionError, "step is nan. It must be a positive number"),
        ((3,), {}, errors.DTypeError, "no argument holds floats"),
    ],
)
def test_what_is_refused(args, options, error, message):
    with pytest.raises(error, match=re.escape(message)):
        check_grads(lambda x: x * 1.0, args, **options)


@pytest.mark.parametrize("check", [check_grads, check_vjp, check_jvp])
def test_errors_name_the_check_that_was_called(check):
    name = check.__name__
    with pytest.raises(errors.DTypeError, match=rf"^{name}\(square\): no argument holds floats"):
        check(np.square, (3,))
    with pytest.raises(errors.DTypeError, match=rf"^{name}\(isnan\): no result holds floats"):
        check(np.isnan, (X,))
    with pytest.raises(errors.OptionError, match=f"^{name}: step is -1.0"):
        check(np.square, (X,), step=-1.0)


def test_a_result_without_floats_is_refused():
    with pytest.raises(errors.DTypeError, match="no result holds floats"):
        check_grads(lambda x: x > 0, (X,))


def test_nothing_is_written_to():
    x = X.copy()
    x.flags.writeable = False
    check_grads(np.sin, (x,))
    np.testing.assert_array_equal(x, X)
