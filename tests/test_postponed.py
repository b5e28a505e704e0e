"""Loops that a recording leaves to the program: whoever asks for numbers meanwhile gets those of the loop."""

from __future__ import annotations

import io
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tape
from tape.core.op import Op
from tape.program import steps
from tape.program.record.recording import record
from tests.tiers import takes_long

X = np.linspace(0.2, 1.4, 6)
MATRIX = np.diag(X)


def doubled(x):
    if np.any(x == 0):
        raise ValueError("these are zeros in place of numbers")
    return 2 * x


double = Op(doubled, vjp=[lambda g, out, x: 2 * g], name="double")


def loop(x, n=30):
    """Return what lies far from zeros, and depends on the number of steps."""
    return tape.fori_loop(0, n, lambda i, y: y + 0.1 * np.cos(x * y) + 0.5, x)


def collected(x):
    return tape.scan(lambda y, k: (y * k + x, np.sin(y)), x, np.linspace(0.5, 1, 20))[1]


@pytest.fixture
def run(monkeypatch):
    """Note the loops that are run outside of the program."""
    ran = []

    def run_steps(loop, operands):
        ran.append(loop)
        return steps.run_steps(loop, operands)

    monkeypatch.setitem(tape.core.table.INTERNAL, "run_steps", run_steps)
    return ran


def call(f, *args):
    """Return the result of the first call, after checking it and the next one against plain Python."""
    compiled = tape.compile(f)
    wanted = f(*args)
    for _ in range(2):
        for a, b in zip(tape.tree.leaves(compiled(*args)), tape.tree.leaves(wanted), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9)
    assert compiled.programs
    return compiled


@pytest.mark.parametrize(
    "f",
    [
        loop,
        collected,
        tape.grad(lambda x: np.sum(loop(x) ** 2)),
        tape.value_and_grad(lambda x: np.sum(np.log(collected(x)[-1] ** 2))),
        tape.jacobian(loop),
        tape.hessian(lambda x: np.sum(loop(x, 5) ** 3)),
        tape.vmap(loop),
        lambda x: (1.0 / (y := loop(x)), np.log(y), np.max(y)),
    ],
)
def test_what_asks_for_no_numbers_leaves_loops_to_the_program(f, run):
    assert record(f, (X,), {}, "f", postpones=True).has_postponed
    count = len(run)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # as dividing by the zeros would give
        tape.compile(f)(X)
    assert len(run) == count
    call(f, X)


def after_loop(f):
    return lambda x: f(loop(x))


def in_place(y):
    out = np.zeros(3, like=y)
    out[:] = y[:3]
    return out if out[1] > 1 else -out


ASKERS = {
    "a branch": after_loop(lambda y: y * 2 if y.sum() > 10 else y * 3),
    "an int": after_loop(lambda y: y[: int(y[0] / 4)]),
    "a text": after_loop(lambda y: y * len(f"{int(y[0] * 1000)}")),
    "a mask": after_loop(lambda y: y[y > 15]),
    "integers": after_loop(lambda y: np.arange(40.0)[np.floor(y).astype(int).tolist()] + y),
    "a matrix": after_loop(lambda y: np.linalg.solve(y[:, None] * MATRIX, y)),
    "a function of the user": after_loop(double),
    "a loop that data end": after_loop(lambda y: tape.while_loop(lambda z: z.sum() > 1, lambda z: z / 2, y)),
    "such a loop in a loop": after_loop(
        lambda y: tape.fori_loop(
            0, 4, lambda i, z: tape.while_loop(lambda w: w.sum() > 1, lambda w: w / 2, z + y), y
        )
    ),
    "a weak number": lambda x: 1.0 / tape.fori_loop(0, 9, lambda i, y: y + 1.0, 0.0) * x,
    "writing": after_loop(in_place),
    "an integral": after_loop(lambda y: tape.odeint(lambda z, t: -z, y, np.array([0.0, 1.0]))),
    "a root": after_loop(lambda y: tape.root(lambda z: z**3 - y, y)),
    "a comparison": after_loop(lambda y: y * 2 if np.allclose(y, y[0] * np.ones(6)) else y),
    "a loop of Python": after_loop(lambda y: python_loop(y)),
    "another loop": after_loop(lambda y: loop(y) + collected(y)),
    "a choice": after_loop(lambda y: tape.cond(y[0] > 3, np.sin, np.cos, y)),
}


def python_loop(y):
    for k in range(200):
        y = np.tanh(y) + 0.3 * k * np.sin(y) - y / (k + 1.0)
    return y


@pytest.mark.parametrize("name", ASKERS)
def test_whoever_asks_for_numbers_gets_those_of_the_loop(name):
    f = ASKERS[name]
    call(f, X)
    if name not in ("a mask", "an int", "a text", "integers"):
        call(tape.grad(lambda x: np.sum(f(x) ** 2)), X)


def test_a_text_of_the_recording_has_the_numbers_of_the_loop(capsys):
    def f(x):
        y = loop(x)
        print(y[0], f"{y[1]}")
        return y

    tape.compile(f)(X)
    numbers = loop(X)
    assert str(numbers[0]) in (out := capsys.readouterr().out)
    assert str(numbers[1]) in out


def test_what_a_recording_puts_elsewhere_has_the_numbers_of_the_loop():
    kept = []

    def f(x):
        kept.append(loop(x)[2])
        return x

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tape.compile(f)(X)
    np.testing.assert_allclose(kept[-1], loop(X)[2])


def test_a_tape_that_is_watched_sees_the_numbers_of_the_loop():
    def f(x):
        y = loop(x)
        with tape.Trace(check=True) as tr:
            a = tr.param(y)
            return tr.backward_param_grads(np.sum(np.log(a)))[0]

    np.testing.assert_allclose(tape.compile(f)(X), 1 / loop(X))


def test_loops_over_constants_are_folded_to_their_numbers():
    call(lambda x: x + loop(np.array(X)) + tape.fori_loop(0, 9, lambda i, y: y * 2.0, 1.0), X)


def test_an_error_in_a_loop_is_that_of_plain_python():
    def f(x):
        return tape.scan(lambda y, k: (np.linalg.solve(np.outer(y, y), y), None), x, length=5)[0]

    for run in (f, tape.compile(f)):
        with pytest.raises(np.linalg.LinAlgError):
            run(X)


def test_donated_arguments_may_be_overwritten_by_the_first_call():
    f = tape.compile(loop, donate=0)
    wanted = loop(X)
    for _ in range(2):
        np.testing.assert_allclose(f(X.copy()), wanted)


@takes_long
@given(st.data())
def test_numbers_computed_late_are_those_computed_at_once(data):
    lengths = data.draw(st.lists(st.integers(0, 12), min_size=1, max_size=4))
    turns = data.draw(st.lists(st.booleans(), min_size=len(lengths), max_size=len(lengths)))

    def f(x):
        y, parts = x, []
        for n, is_backwards in zip(lengths, turns, strict=True):
            y, all_y = tape.scan(
                lambda y, k: (np.cos(y) * k + x, y), y, np.linspace(0, 1, n), reverse=is_backwards
            )
            parts.append(np.sum(all_y * np.sqrt(np.abs(y))))
        return y, parts

    for g in (f, tape.grad(lambda x: sum(f(x)[1]) + np.sum(f(x)[0]))):
        late = record(g, (X,), {}, "g", postpones=True)
        at_once = record(g, (X,), {}, "g")
        assert late.has_postponed
        assert not at_once.has_postponed
        for a, b in zip(late.values(), at_once.values(), strict=True):
            np.testing.assert_array_equal(a, b)
        assert [node.value.dtype for node in late.nodes] == [node.value.dtype for node in at_once.nodes]
        assert [node.value.shape for node in late.nodes] == [node.value.shape for node in at_once.nodes]


@pytest.mark.parametrize("name", ["nanmean", "nanvar", "nanmax", "nanmedian", "nanquantile", "nanargmin"])
def test_functions_that_warn_of_what_is_not_a_number_do_not(name):
    def f(x):
        y = loop(x)
        return getattr(np, name)(y, 0.3) if name == "nanquantile" else getattr(np, name)(y)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call(f, X)


def test_long_tapes_behind_a_loop_warn_of_nothing_that_the_code_has_silenced():
    def f(x):
        with np.errstate(all="ignore"):
            z = np.nan_to_num(np.log(-loop(x)))
            for _ in range(1500):
                z = np.sin(z) * 0.5 + x
        return z

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call(f, X)


def test_what_changes_before_a_number_is_asked_for_is_changed_once():
    state = {"calls": 0}

    def f(x):
        state["calls"] += 1
        y = loop(x)
        return y * 2 if y.sum() > 0 else y

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tape.compile(f)(X)
    assert state == {"calls": 1}


def text_of_inner(x):
    texts = []
    tape.grad(lambda v: (texts.append(f"{np.sum(v):.3f}"), np.sum(v))[1])(loop(x))
    return x if "nan" in texts[0] else -x


def saved(x):
    file = io.BytesIO()
    np.save(file, loop(x))
    file.seek(0)
    return x * np.load(file)


@pytest.mark.parametrize(
    "f",
    [
        text_of_inner,
        saved,
        lambda x: x if "nan" in np.array2string(loop(x)) else -x,
        lambda x: x * len(np.array_repr(loop(x))),
        lambda x: tape.fori_loop(0, 3, lambda i, y: -y if f"{y[0]:.1f}" == "nan" else 2 * y, loop(x)),
    ],
)
def test_texts_and_files_have_the_numbers_of_the_loop(f):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_allclose(tape.compile(f)(X), f(X))


def test_what_is_printed_before_a_branch_is_printed_once(capsys):
    def f(x):
        y = loop(x)
        print("the sum is", y.sum())
        return y if y.sum() > 0 else -y

    tape.compile(f)(X)
    assert capsys.readouterr().out.count("the sum is") == 1


def test_settings_that_let_errors_be_raised_raise_in_the_first_call():
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        tape.compile(lambda x: np.log(-loop(x)))(X)


def test_an_end_of_the_recording_that_code_makes_something_else_of_is_one():
    def f(x):
        y = loop(x)
        try:
            z = tape.checkpoint(np.sin)(y)
        except BaseException as error:
            raise SystemExit(3) from error
        return z

    for _ in range(2):
        np.testing.assert_allclose(tape.compile(f)(X), np.sin(loop(X)))


def test_a_function_of_the_user_is_called_once_behind_a_loop():
    calls = []

    def noted(x):
        calls.append(x)
        return 2 * x

    op = Op(noted, vjp=[lambda g, out, x: 2 * g], name="noted")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tape.compile(lambda x: op(loop(x)) if op(loop(x)).sum() > 0 else x)(X)
    assert 2 <= len(calls) <= 4
    np.testing.assert_allclose(calls, [loop(X)] * len(calls))


def test_a_view_whose_place_depends_on_a_loop_shares_what_it_does():
    """Where a view is must be known when what it is of is written to."""

    def f(x):
        rows = np.ones((6, 6)) * (1.0 + 0.0 * np.tanh(x[0]))
        part = rows[np.argmax(loop(x))]
        rows[-1] = loop(x)
        return rows + part

    with pytest.raises(tape.errors.InPlaceError):
        tape.compile(f)(X)
    call(lambda x: loop(x)[np.argmin(loop(x))] * x, X)
