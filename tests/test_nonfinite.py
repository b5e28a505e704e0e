"""`tape.find_nonfinite` and ``check=True``: the first NaN or infinity, by operation, place and cure."""

import inspect
import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tape
from tape.errors import NonFiniteError
from tape.inspect.watching.cures import cure
from tape.inspect.watching.finite import all_finite, describe_operand, first_bad
from tests.tiers import rounds

ZERO = np.array([1.0, 0.0])


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


# ---- what is found -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "x", "op", "phase", "value", "advice"),
    [
        (lambda x: np.log(x), ZERO, "log", "forward", -np.inf, "positive"),
        (lambda x: np.sum(1.0 / x), ZERO, "divide", "forward", np.inf, "divides by zero"),
        (lambda x: np.exp(1000 * x), ZERO, "exp", "forward", np.inf, "logsumexp"),
        (lambda x: (x - 2.0) ** 0.5, ZERO, "power", "forward", np.nan, "negative number"),
        (lambda x: x**-1.0, ZERO, "power", "forward", np.inf, "negative power"),
        (lambda x: np.arccos(x + 1.0), ZERO, "arccos", "forward", np.nan, "between -1 and 1"),
        (lambda x: (1e200 * x) * (1e200 * x), ZERO, "multiply", "forward", np.inf, "Scale"),
        (lambda x: np.sqrt(x), ZERO, "sqrt", "backward", np.inf, "sqrt(x + eps)"),
        (lambda x: np.sqrt(np.sum(x * x)), 0 * ZERO, "sqrt", "backward", np.inf, "np.linalg.norm"),
        (lambda x: x**0.5, ZERO, "power", "backward", np.inf, "positive"),
        (lambda x: np.arcsin(x), ZERO, "arcsin", "backward", np.inf, "Clip"),
        (lambda x: np.where(x > 0, np.sqrt(x), 0.0), ZERO, "sqrt", "backward", np.nan, "np.where(ok"),
    ],
)
def test_the_culprit_is_named_with_a_cure(f, x, op, phase, value, advice) -> None:
    found = tape.find_nonfinite(f, x)
    assert found
    assert (found.origin.op, found.origin.phase) == (op, phase)
    np.testing.assert_equal(found.origin.value, value)
    assert advice in str(found)
    assert str(inspect.getsourcelines(f)[1]) in str(found.origin.site)


ADVICE = [
    # operation, phase, value, operands, adjoint, dtype, and what is said and what is not
    ("sqrt", "backward", np.nan, [0.0], 0.0, float, "The adjoint is 0 there", "eps"),
    ("sqrt", "backward", np.inf, [0.0], 0.0, float, "sqrt(x + eps)", "The adjoint is 0"),
    ("sqrt", "backward", np.nan, [0.0], 2.0, float, "sqrt(x + eps)", "The adjoint is 0"),
    ("sqrt", "backward", np.nan, [0.0], None, float, "sqrt(x + eps)", "The adjoint is 0"),
    ("sqrt", "tangent", np.inf, [0.0], None, float, "sqrt(x + eps)", "0 or more"),
    ("sqrt", "forward", np.nan, [-1.0], None, float, "0 or more, and got -1.0", "eps"),
    ("sqrt", "forward", np.nan, [None], None, float, "0 or more. Keep", "got"),
    ("sqrt", "forward", np.nan, [], None, float, "0 or more. Keep", "got"),
    (
        "sin",
        "forward",
        np.nan,
        [np.nan],
        None,
        float,
        "Check the operands of sin: it is not finite",
        "derivative",
    ),
    (
        "sin",
        "backward",
        np.nan,
        [np.nan],
        1.0,
        float,
        "Check the operands of sin: its derivative",
        "it is not",
    ),
    ("sin", "backward", np.inf, [1e300], 1.0, float, "beyond the largest float64, 1.8e+308", "use float64"),
    (
        "multiply",
        "forward",
        -np.inf,
        [1e30, 1e30],
        None,
        np.float32,
        "float32, 3.4e+38. Scale the numbers, use float64",
        "Check",
    ),
    ("multiply", "forward", np.inf, [1e30, 1e30], None, np.complex64, "numbers, or use", "Check"),
    ("multiply", "forward", np.inf, [1e30, 1e30], None, int, "Check the operands", "Scale"),
    ("divide", "forward", np.inf, [1.0, 0.0], None, float, "It divides by zero", "Scale"),
    ("divide", "forward", np.inf, [1e300, 1e-300], None, float, "Scale the numbers, or", "divides by zero"),
    ("divide", "forward", np.nan, [0.0, None], None, float, "Check the operands", "divides by zero"),
    ("divide", "forward", np.nan, [], None, float, "Check the operands", "divides by zero"),
    ("reciprocal", "forward", np.inf, [0.0], None, float, "It divides by zero", "Scale"),
    ("remainder", "forward", np.nan, [1.0, 0.0], None, float, "It divides by zero", "Check"),
    ("floor_divide", "forward", np.nan, [0.0, 0.0], None, float, "It divides by zero", "Check"),
    ("power", "forward", np.inf, [0.0, -1.0], None, float, "It is 0 to a negative power", "Scale"),
    ("power", "forward", np.inf, [10.0, 400.0], None, float, "Scale", "power"),
    ("power", "forward", np.nan, [-2.0, 0.5], None, float, "no real power with a fraction", "Check"),
    ("power", "forward", np.inf, [-10.0, 401.0], None, float, "Scale", "fraction"),
    ("power", "forward", np.nan, [2.0, np.nan], None, float, "Check the operands", "fraction"),
    ("power", "forward", np.nan, [-2.0, None], None, float, "Check the operands", "fraction"),
    ("float_power", "forward", np.nan, [-2.0, 0.5], None, float, "no real power with a fraction", "Check"),
    ("power", "forward", np.inf, [0j, -1 + 1j], None, complex, "It is 0 to a negative power", "fraction"),
    ("power", "tangent", np.inf, [0.0, 0.5], None, float, "Keep the base positive", "fraction"),
    ("exp", "forward", np.inf, [1e3], None, float, "beyond 709.8 in float64", "Scale"),
    ("exp", "forward", np.inf, [1e3], None, np.float32, "beyond 88.72 in float32", "Scale"),
    ("exp", "forward", np.inf, [1e3], None, int, "beyond 709 in int64", "Scale"),
    *(
        (name, "forward", np.inf, [1e3], None, float, f"{name} overflows for arguments beyond", "Scale")
        for name in ("exp", "exp2", "expm1", "sinh", "cosh", "logaddexp", "logaddexp2")
    ),
    *(
        (name, "forward", np.nan, [-9.0], None, float, f"argument is {domain}, and got -9.0", "Check")
        for name, domain in (
            ("log", "positive"),
            ("log2", "positive"),
            ("log10", "positive"),
            ("sqrt", "0 or more"),
            ("log1p", "more than -1"),
            ("arcsin", "between -1 and 1"),
            ("arccosh", "1 or more"),
            ("arccos", "between -1 and 1"),
            ("arctanh", "between -1 and 1, both excluded"),
        )
    ),
    *(
        (name, "backward", np.inf, [0.0], 1.0, float, said, "operands of")
        for name, said in (
            ("sqrt", "sqrt(x + eps)"),
            ("cbrt", "cbrt is infinite at 0"),
            ("arccosh", "infinite at 1. Keep"),
            ("arcsin", "Clip the argument"),
            ("arccos", "np.arctan2 of sine"),
            ("power", "(x + eps)**p"),
            ("arctan2", "no derivative at the origin"),
        )
    ),
    ("power", "forward", np.inf, [0.0, 0.0], None, float, "Scale the numbers", "negative power"),
    ("checkpoint(f)", "forward", np.nan, [], None, float, "checkpoint records f as one node", "Check"),
    (
        "custom_vjp(f(x))",
        "backward",
        np.nan,
        [],
        None,
        float,
        "Run tape.find_nonfinite on f(x) itself",
        "Check",
    ),
]


@pytest.mark.parametrize(("op", "phase", "value", "operands", "adjoint", "dtype", "said", "unsaid"), ADVICE)
def test_the_cure_fits_what_has_happened(op, phase, value, operands, adjoint, dtype, said, unsaid) -> None:
    found = cure(op, phase, value, operands, adjoint, np.dtype(dtype))
    assert said in found
    assert unsaid not in found


@pytest.mark.parametrize(
    ("operand", "text"),
    [
        (2.5, "2.5"), (np.zeros((0, 3)), "float64[0, 3]"), (np.ones(2, complex), "complex128[2]"),
        (np.array([True, False]), "bool[2] from 0 to 1"), (np.array([3, -4]), "int64[2] from -4 to 3"),
        (np.array([np.inf, 1 / 3, np.nan]), "float64[3] from 0.333333 to 0.333333"),
        (np.array([np.inf, np.nan]), "float64[2] without finite elements"),
    ],
)  # fmt: skip
def test_operands_in_a_few_words(operand, text) -> None:
    assert describe_operand(operand) == text


def test_only_arguments_that_are_not_finite_are_said_to_be_so() -> None:
    args = {"ok": np.ones(2), "bad": np.array([1.0, np.nan]), "count": 3, "text": "nan", "flag": None}
    found = str(tape.find_nonfinite(lambda p: p["bad"] * p["count"] + p["ok"], args))
    assert "args[0]['bad'] holds" in found
    assert "'ok'" not in found
    assert "'count'" not in found


def test_what_a_finding_looks_like() -> None:
    f = tape.grad(lambda x: np.sum(np.sqrt(x)))
    lines = str(tape.find_nonfinite(f, np.array([[4.0, 0.0]]))).splitlines()
    assert lines[0] == (
        "grad(<lambda>): divide (node %3), in the derivative of sqrt, made inf at [0, 1] of float64[1, 2]"
    )
    assert lines[1].startswith(f"  at {__file__}:")
    assert lines[2:] == [
        "    f = tape.grad(lambda x: np.sum(np.sqrt(x)))",
        "                                   ^^^^^^^^^^",
        "  operand 0: 0.5 there, in float64[1, 2] from 0.5 to 0.5",
        "  operand 1: 0.0 there, in float64[1, 2] from 0 to 2",
        "  The derivative of sqrt is infinite at 0. Add a small number under the root, sqrt(x + eps); for a "
        "norm use np.linalg.norm, whose derivative at 0 is 0",
    ]


def test_single_numbers_beside_arrays_are_shown() -> None:
    x = np.array([1.0, -8.0])
    found = tape.find_nonfinite(lambda x: x ** np.sum(x * 0 + 0.25), x)
    assert (found.origin.op, found.origin.index) == ("power", (1,))
    assert "A negative number has no real power with a fraction" in str(found)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.linalg.norm(x),
        lambda x: np.where(x > 0, np.sqrt(np.where(x > 0, x, 1.0)), 0.0),
        lambda x: tape.ops.logsumexp(1000.0 * x),
        lambda x: np.sum(np.abs(x)),
        lambda x: np.where(x > 0, x, -np.inf).max(),
        lambda x: np.exp(np.where(x > 0, x, -np.inf)),
        lambda x: [x.copy(), {"a": x[:0]}],
    ],
)
def test_what_is_finite_is_false_and_infinite_masks_are_no_culprits(f) -> None:
    found = tape.find_nonfinite(f, ZERO)
    if found:  # an infinity that was given
        assert found.origin is None
        assert "constant" in str(found)
    else:
        assert "all values are finite" in str(found)


def test_the_index_and_the_operands_there_are_told() -> None:
    x = np.array([[4.0, 2.0], [0.0, 1.0]])
    found = tape.find_nonfinite(lambda x, y: x / y, np.array([1.0, 3.0]), x)
    assert found.origin.index == (1, 0)
    assert "operand 0: 1.0 there, in float64[2]" in str(found)
    assert "operand 1: 0.0 there, in float64[2, 2]" in str(found)


def test_the_expression_is_underlined() -> None:
    def f(x):
        return np.sin(x) + np.log(x)

    text = str(tape.find_nonfinite(f, 0.0)).splitlines()
    (line,) = [k for k, part in enumerate(text) if "return" in part]
    begin = text[line + 1].index("^")
    assert text[line][begin : begin + text[line + 1].count("^")] == "np.log(x)"


def test_orders_of_derivatives_name_the_operation_whose_rule_it_was() -> None:
    def f(x):
        return x**1.5

    assert not tape.find_nonfinite(f, 0.0)
    for order in (tape.grad(f), tape.grad(tape.grad(f))):
        found = tape.find_nonfinite(order, 0.0)
        assert found.origin.site.text == "return x**1.5"
    assert found.origin.within.node.op.name == "power"
    assert "in the derivative of power" in str(found)


def test_forward_mode_is_looked_at() -> None:
    found = tape.find_nonfinite(lambda x: tape.jvp(np.sqrt, (x,), (np.ones(2),))[1], ZERO, derivative=False)
    assert "forward derivative of sqrt" in str(found)
    with pytest.raises(NonFiniteError, match="forward derivative of sqrt"), tape.debug(check=True):
        tape.jvp(np.sqrt, (ZERO,), (np.ones(2),))


def test_without_the_derivative_only_the_function_counts() -> None:
    assert tape.find_nonfinite(np.sqrt, ZERO)
    assert not tape.find_nonfinite(np.sqrt, ZERO, derivative=False)


def test_nan_that_is_given_is_said_to_be_given() -> None:
    found = tape.find_nonfinite(lambda p: p["a"] * 2, {"a": np.array([1.0, np.nan]), "b": 1.0})
    assert found.origin is None
    assert found.given == ("args[0]['a'] holds nan at [1], float64[2] from 1 to 1",)
    assert not tape.find_nonfinite(lambda x: np.nansum(x), np.array([1.0, np.nan]))
    found = tape.find_nonfinite(lambda x: x * np.inf, 2.0)
    assert "operand 1 of <op multiply>" in str(found)


def test_finite_contributions_that_add_up_to_infinity_are_no_finite_gradient() -> None:
    def f(p):
        return p["a"] * 1.7e308 + p["a"] * 1.7e308

    assert np.isinf(tape.grad(f)({"a": 0.01})["a"])
    found = tape.find_nonfinite(f, {"a": 0.01})
    assert found
    assert found.results == ("the gradient by args[0]['a'] holds inf",)
    assert "add up" in str(found)


def test_what_is_computed_off_the_tape_is_not_said_to_be_finite() -> None:
    for f, x in ((np.log, np.array([1, 0])), (lambda x: {"a": x, "b": np.log(np.zeros(2))}, 1.0)):
        found = tape.find_nonfinite(f, x)
        assert found
        assert found.origin is None
        assert "holds -inf" in str(found)


def test_traces_and_gradients_inside_are_looked_at() -> None:
    def step(w):
        tr = tape.Trace()
        p = tr.param(w)
        return tr.backward_param_grads(np.sum(np.sqrt(p)))

    found = tape.find_nonfinite(step, ZERO)
    assert found.origin.site.text == "return tr.backward_param_grads(np.sum(np.sqrt(p)))"


def test_an_error_that_the_function_swallows_is_found_all_the_same() -> None:
    def f(x):
        try:
            return np.log(x)
        except ArithmeticError:
            return x

    assert tape.find_nonfinite(f, 0.0).origin.op == "log"


def test_errors_of_the_function_are_its_own() -> None:
    with pytest.raises(tape.errors.ShapeError):
        tape.find_nonfinite(lambda x: x + np.ones(3), ZERO)


def test_a_function_that_is_one_node_is_the_next_to_look_at() -> None:
    def inner(x):
        return np.log(x)

    text = str(tape.find_nonfinite(tape.checkpoint(inner), ZERO))
    assert "Run tape.find_nonfinite on inner itself" in text
    assert "log" in str(tape.find_nonfinite(inner, ZERO))


# ---- programs ------------------------------------------------------------------------------------------


def test_a_compiled_function_is_looked_at_as_the_code_it_is_of() -> None:
    compiled = tape.compile(tape.grad(lambda x: np.sum(np.sqrt(x))))
    compiled(ZERO)
    assert "sqrt" in str(tape.find_nonfinite(compiled, ZERO))
    assert not tape.find_nonfinite(compiled, ZERO + 1)


def test_a_program_names_the_instruction_that_its_listing_shows() -> None:
    compiled = tape.compile(tape.grad(lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0.0))))
    compiled(ZERO)
    (program,) = compiled.programs.values()
    found = tape.find_nonfinite(program, ZERO)
    line = found.origin.made_by
    id, made = line.split(" = ")
    assert any(
        row.split() == [id, *made.split(), *row.split()[1 + len(made.split()) :]]
        for row in str(program).splitlines()
    )
    assert found.origin.index == (1,)
    assert not tape.find_nonfinite(program, ZERO + 1)


@pytest.mark.parametrize(
    ("f", "name"),
    [(np.sum, "sum"), (np.prod, "prod"), (np.cumsum, "scan"), (np.exp, "exp"), (lambda x: x * x, "multiply")],
)
def test_a_program_names_the_operation(f, name) -> None:
    compiled = tape.compile(f)
    compiled(ZERO)
    (program,) = compiled.programs.values()
    origin = tape.find_nonfinite(program, np.full(2, 1.2e308)).origin
    assert origin.op == name
    assert (origin.phase, origin.site, origin.operands[0][0]) == ("forward", None, 1.2e308)


def test_a_program_says_what_it_was_given() -> None:
    compiled = tape.compile(lambda x: 2 * x)
    compiled(ZERO)
    (program,) = compiled.programs.values()
    assert tape.find_nonfinite(program, ZERO * np.nan).given == (
        "in0 holds nan at [0], float64[2] without finite elements",
    )


def test_a_result_that_nothing_explains_is_told_of():
    """Here the infinity is in an array of a callback, which a program does not see."""
    far = np.array([np.inf, 1.0])
    compiled = tape.compile(lambda x: tape.apply(x, lambda x: x + far, lambda x: 1.0 + 0 * x))
    compiled(ZERO)
    (program,) = compiled.programs.values()
    assert tape.find_nonfinite(program, ZERO)


def test_a_program_of_a_tape_takes_its_present_leaves() -> None:
    tr = tape.Trace(name="mine")
    w = tr.param(ZERO.copy())
    program = tr.compile(np.sum(np.sqrt(w)))
    assert "mine" in str(tape.find_nonfinite(program))
    tr.set(w, ZERO + 1)
    assert not tape.find_nonfinite(program)


def test_programs_with_guards_and_callbacks() -> None:
    @tape.compile
    def f(x):
        if np.sum(x) > 0:
            return np.log(np.linalg.eigvalsh(np.outer(x, x)))
        return x

    f(ZERO)
    (program,) = f.programs.values()
    assert "log" in str(tape.find_nonfinite(program, ZERO))
    with pytest.raises(tape.errors.UnsupportedError, match="branch"):
        tape.find_nonfinite(program, -ZERO)


# ---- check=True ----------------------------------------------------------------------------------------


def test_a_trace_that_checks_raises_at_the_line() -> None:
    tr = tape.Trace(check=True)
    x = tr.param(ZERO)
    with pytest.raises(NonFiniteError, match=r"log .* made -inf at \[1\]") as failure:
        np.log(x)
    assert __file__ in str(failure.value)
    assert len(tr) == 1
    y = np.sum(np.sqrt(x))
    with pytest.raises(NonFiniteError, match="derivative of sqrt"):
        tr.backward_param_grads(y)
    with pytest.raises(FloatingPointError):
        tr.backward(y)
    with pytest.raises(NonFiniteError, match="forward derivative"):
        tr.jvp(y, {x: np.ones(2)})


def test_what_was_infinite_already_passes() -> None:
    tr = tape.Trace(check=True)
    x = tr.param(np.array([np.inf, np.nan]))
    y = (x * 2.0 + np.array([-np.inf, 1.0])).sum()
    tr.backward_param_grads(y)


def test_operations_with_several_results_are_looked_at() -> None:
    """Their tangents and adjoints are several, too."""
    op = tape.Op(
        lambda x: (np.sin(x), np.sqrt(x)),
        name="several",
        vjp=lambda g, out, x: [sum(part * d for part, d in zip(g, (np.cos(x), 0.5 / out[1]), strict=True))],
        jvp=lambda tangents, out, x: (tangents[0] * np.cos(x), tangents[0] * 0.5 / out[1]),
    )
    for start, is_finite in ((1.0, True), (0.0, False)):
        tr = tape.Trace(check=True)
        x = tr.param(np.array([start, 2.0]))
        a, b = op(x)
        y = np.sum(a * b) + np.sum(b)
        for derivative in (lambda: tr.jvp(y, {x: np.ones(2)}), lambda: tr.backward_param_grads(y)[0]):  # noqa: B023
            if is_finite:
                assert np.isfinite(derivative()).all()
            else:
                with pytest.raises(NonFiniteError, match="several"), np.errstate(all="ignore"):
                    derivative()


def test_what_is_given_along_or_back_is_no_origin_either() -> None:
    """A tangent or an adjoint that is infinite to begin with."""
    tr = tape.Trace(check=True)
    x = tr.param(np.array([1.0, 2.0]))
    y = np.sin(x) * x
    assert not np.isfinite(tr.jvp(y, {x: np.array([np.inf, 0.0])})).all()
    (gradient,) = tr.pull_back({y.id: np.array([0.0, np.inf])})
    assert not np.isfinite(gradient).all()


def test_nan_made_out_of_infinities_is_an_origin() -> None:
    tr = tape.Trace(check=True)
    x = tr.param(np.array([np.inf]))
    with pytest.raises(NonFiniteError, match=r"subtract .* made nan"):
        x - x


def test_a_replay_is_looked_at_and_changes_nothing_where_it_raises() -> None:
    tr = tape.Trace(check=True)
    x = tr.param(1.0)
    y = np.log(x)
    tr.set(x, -1.0)
    with pytest.raises(NonFiniteError, match=r"log \(node %1\) made nan"):
        tr.replay()
    assert float(y) == 0.0
    tr.set(x, 2.0)
    tr.replay()
    assert float(y) == np.log(2.0)


def test_the_operand_is_named_even_where_both_are_one_node() -> None:
    x, y = np.array(-1.0), np.array(-1.0)
    together = tape.find_nonfinite(lambda x: x**x, x)
    apart = tape.find_nonfinite(lambda x, y: x**y, x, y)
    assert together.origin.operand == apart.origin.operand == 1


# ---- looking at arrays ---------------------------------------------------------------------------------

_DTYPES = st.sampled_from(["f2", "f4", "f8", "c8", "c16", "i4", "?"])


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("size", [1, 20, 1000, 10_000])
def test_looking_at_large_numbers_warns_of_nothing(dtype, size) -> None:
    array = np.full(size, np.finfo(dtype).max, dtype)
    with np.errstate(all="raise"):
        assert all_finite(array)


@settings(max_examples=rounds(200))
@given(_DTYPES, st.integers(0, 40), st.sampled_from([1.0, 1e30, 1e200]), st.data())
def test_all_finite_says_what_numpy_says(dtype, size, scale, data) -> None:
    with np.errstate(all="ignore"):
        array = (np.linspace(-1, 1, size) * scale).astype(dtype)
    if size and array.dtype.kind in "fc" and data.draw(st.booleans()):
        array[data.draw(st.integers(0, size - 1))] = data.draw(st.sampled_from([np.nan, np.inf, -np.inf]))
    for view in (array, array[::2], array.reshape(1, -1).T):
        expected = bool(np.isfinite(view).all())
        assert all_finite(view) == expected
        index = first_bad(view, ())
        assert (index is None) == expected
        if index is not None:
            assert not np.isfinite(view[index])


def test_nested_values_and_numbers_are_looked_at() -> None:
    tr = tape.Trace()
    assert all_finite(tr.param(1.0))
    assert not all_finite(tr.param(np.nan))
    assert not all_finite(np.float32(np.inf))
    assert all_finite(3)
    assert not all_finite(complex(0, np.inf))


HEADLINES = {
    "unary": (lambda x: np.sqrt(x), r"the derivative of sqrt \(node %\d\) made inf at \[1\] of float64\[2\]"),
    "number": (lambda x: np.log(x[1]), r"log \(node %\d\) made -inf"),
    "first": (
        lambda x: (x * 1e-200) / 1e-320,
        r"the derivative of divide \(node %\d\) made inf for operand 0 at .*",
    ),
    "second": (
        lambda x: np.power(0.5 * x + 0.5, 2.0) * np.power(np.ones(2), np.sqrt(x)),
        r"the derivative of sqrt \(node %\d\) made nan at \[1\] of float64\[2\]",
    ),
    "by an exponent": (
        lambda x: np.power(np.array([1.0, -1.0]), x),
        r"the derivative of power \(node %\d\) made nan for operand 1 at \[1\] of float64\[2\]",
    ),
}


@pytest.mark.parametrize("name", HEADLINES)
def test_the_headline_names_an_operand_where_there_are_several(name) -> None:
    f, pattern = HEADLINES[name]
    found = tape.find_nonfinite(f, ZERO + (name == "by an exponent"))
    assert re.fullmatch(pattern, found.origin.headline)


def test_numpys_own_errors_are_turned_off_while_all_is_checked() -> None:
    with np.errstate(all="raise"):
        with pytest.raises(NonFiniteError, match="log"), tape.debug(check=True):
            tape.grad(lambda x: np.sum(np.log(x)))(ZERO)
        with pytest.raises(FloatingPointError), tape.debug():
            tape.grad(lambda x: np.sum(np.log(x)))(ZERO)


def test_operands_that_do_not_belong_to_an_element_are_described_as_a_whole() -> None:
    scales = np.array([[1.0, 2.0], [3.0, 4.0], [0.0, 0.0]])
    found = tape.find_nonfinite(lambda x: scales @ (1e307 * (x + 5.0)), ZERO)
    assert found.origin.index == (1,)
    assert found.origin.circumstances == [
        "operand 0: float64[3, 2] from 0 to 4", "operand 1: float64[2] from 5e+307 to 6e+307",
    ]  # fmt: skip
