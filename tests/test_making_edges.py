"""Where programs are made and where plain Python runs, what fits them, and which sweeps are looked at."""

import warnings
from functools import partial

import numpy as np
import pytest

import tape
from tape import errors, ops
from tape.core.rules import TransposedJvp
from tape.program import sweeps
from tape.program.program import Program
from tape.program.record.recording import record
from tape.program.specialise import (
    Path,
    Results,
    Specialisation,
    copy_of,
    signature_of,
    static_leaf,
)

X = np.array([1.0, 2.0])


def counted(compiled, calls):
    """How many programs there are after each call, which returns what the plain function does."""
    found = []
    for args in calls:
        np.testing.assert_allclose(compiled(*args), compiled.__wrapped__(*args), rtol=1e-13)
        found.append(len(compiled.programs))
    return found


# ---- how many paths ----------------------------------------------------------------------------------------


def steps(x, n):
    while n > 0:
        x, n = x * 1.5, n - 1
    return x


@pytest.mark.parametrize("most", [1, 2, 3, 5])
def test_ints_that_paths_depend_on_are_static_from_the_last_path_on(most):
    compiled = tape.compile(steps, max_paths=most)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = counted(compiled, [(X, n) for n in range(1, most + 4)])
    assert found == [1, *range(1, most + 1), 1, 2]  # the first of them is data from the second call on


@pytest.mark.parametrize("most", [1, 2, 3])
def test_as_many_paths_as_are_allowed_and_one_more(most):
    compiled = tape.compile(steps, max_paths=most)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert counted(compiled, [(X, float(n)) for n in range(1, most + 1)])[-1] == most
    with pytest.warns(errors.PathLimitWarning, match=f"steps has branched in {most} ways"):
        assert counted(compiled, [(X, float(most + 1))]) == [most]
    assert counted(compiled, [(X, float(n)) for n in range(1, most + 3)])[-1] == most


@pytest.mark.parametrize("changes", range(6))
def test_a_function_may_change_what_it_uses_in_a_few_calls(changes):
    kept = []

    def f(x):
        if len(kept) < changes:
            kept.append(None)
        return x * (1 + len(kept))

    compiled = tape.compile(f)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for k in range(8):
            np.testing.assert_array_equal(compiled(X), X * (1 + min(k + 1, changes)))
    is_plain = changes > 3
    assert len(compiled.programs) == (not is_plain)
    assert [each.category for each in told] == [errors.NotCompiledWarning] * is_plain


# ---- what recordings raise ---------------------------------------------------------------------------------


def test_errors_of_recordings_say_so_and_those_of_python_come_first():
    def reads(x):
        return x * float(x[0])

    with pytest.raises(errors.ConversionError) as caught:
        tape.compile(reads)(X)
    assert caught.value.__notes__[-1] == "while reads was recorded by tape.compile"
    mixed = tape.compile(lambda x: ops.reshape(x, (3,)))
    with pytest.raises(errors.TapeError):
        mixed(X)
    with pytest.raises(ValueError, match=r"shapes|broadcast") as caught:
        tape.compile(lambda x, y: np.add(x, y))(np.ones(2), np.ones(3))
    assert not isinstance(caught.value, errors.TapeError)


@pytest.mark.parametrize("error", [KeyError, ZeroDivisionError])
def test_errors_of_the_code_are_raised_as_they_are_and_nothing_is_kept(error):
    calls = []

    def f(x, n):
        calls.append(n)
        if n == 2:
            raise error("two")
        return x * n

    compiled = tape.compile(f)
    for n in (2, 1.0, 2, 2.0):
        if n == 2:
            with pytest.raises(error, match="two"):
                compiled(X, n)
        else:
            np.testing.assert_array_equal(compiled(X, n), X * n)


# ---- results -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["C", "F"])
def test_constant_results_are_copies_that_lie_in_memory_alike(order):
    matrix = np.asarray(np.arange(6.0).reshape(2, 3), order=order)
    for value in (matrix, matrix[:, ::2], matrix.astype(">f8")):
        found = copy_of(value)
        np.testing.assert_array_equal(found, value)
        assert found.dtype.isnative
        assert not np.shares_memory(found, value)
        assert found.flags.c_contiguous == (value.copy("K").flags.c_contiguous)
    numbers = [1, 2.5, "name", None, np.float32(2)]
    assert [copy_of(value) for value in numbers] == numbers
    assert type(copy_of(np.float32(2))) is np.float32


def test_each_call_returns_its_own_constants():
    made = np.arange(3.0)
    compiled = tape.compile(lambda x: (x * 2, made, [1, "a"], 2.5, x[0] > 9.0))
    for _ in range(3):
        _, constant, others, number, answer = compiled(X)
        np.testing.assert_array_equal(constant, [0, 1, 2])
        assert (others, number, bool(answer)) == ([1, "a"], 2.5, False)
        constant += 1
        others.append(2)
    np.testing.assert_array_equal(made, [0, 1, 2])


def test_results_are_restored_from_leaves_numbers_and_constants():
    recorded = record(lambda x, k: {"a": x + 1, "b": k * 2.0, "c": 7}, (X, 3.0), {}, "f")
    results = Results(recorded)
    leaves = [X, np.float64(6.0), None]
    found = results.restore(leaves)
    assert type(found["b"]) is float
    assert (found["b"], found["c"]) == (6.0, 7)
    assert found["a"] is X


def path_of(f, *args):
    recorded = record(f, args, {}, "f")
    return Path(recorded, Program(recorded))


def test_paths_are_the_same_if_outcomes_constants_and_instructions_are():
    one = path_of(lambda x: (x * 2, 5.0, np.ones(2)), X)
    assert one.is_same_as(one)
    assert one.is_same_as(path_of(lambda x: (x * 2, 5.0, np.ones(2)), X))
    others = [
        lambda x: (x * 3, 5.0, np.ones(2)), lambda x: (x * 2, 6.0, np.ones(2)), lambda x: (x * 2, 5.0),
        lambda x: (x * 2, 5.0, np.zeros(2)), lambda x: (x * 2, 5.0, np.ones(2), 4.0), lambda x: x * 2,
        lambda x: (x * 2, 5.0, np.ones(2, "f4")), lambda x: (x * 2 if x[0] > 0 else x, 5.0, np.ones(2)),
    ]  # fmt: skip
    for other in others:
        assert not one.is_same_as(path_of(other, X))
        assert not path_of(other, X).is_same_as(one)


# ---- what a specialisation takes ---------------------------------------------------------------------------

SIGNATURES = tuple(signature_of(leaf) for leaf in (np.ones((2, 3)), 1.5, np.float32(2), np.ones(2, bool)))
FITTING = [np.zeros((2, 3)), 2.5, np.float32(1), np.zeros(2, bool)]


def test_signatures_are_types_and_of_arrays_dtype_and_shape():
    assert SIGNATURES[0] == (np.ndarray, np.dtype(float), (2, 3))
    assert SIGNATURES[1:3] == ((float, None, None), (np.float32, None, None))
    with pytest.raises(errors.DTypeError, match="an argument of a compiled function is a masked array"):
        signature_of(np.ma.zeros(2))


@pytest.mark.parametrize(
    ("k", "other"),
    [
        (0, np.zeros((3, 2))), (0, np.zeros((2, 3), np.float32)), (0, np.zeros((2, 3), ">f8")), (0, 2.5),
        (0, np.ma.zeros((2, 3))), (1, 2), (1, np.float64(2.5)), (1, True), (1, np.zeros(())), (2, 1.0),
        (2, np.float64(1)), (3, np.zeros(2)), (3, np.zeros(3, bool)),
    ],
)  # fmt: skip
def test_leaves_fit_that_are_of_all_the_types(k, other):
    known = Specialisation(None, SIGNATURES, frozenset())
    assert known.fits(FITTING)
    leaves = list(FITTING)
    leaves[k] = other
    assert not known.fits(leaves)
    assert known.may_take(leaves) == (type(other) not in (int, bool))


def test_as_many_leaves_fit_as_there_are_signatures():
    known = Specialisation(None, SIGNATURES, frozenset())
    for leaves in (FITTING[:3], [*FITTING, 1.0], []):
        assert not known.fits(leaves)
        assert not known.may_take(leaves)
    assert known.may_take(FITTING)
    assert not known.may_take([*FITTING[:3], "name"])
    assert Specialisation(None, (), frozenset()).fits([])
    swapped = np.zeros(2, ">f8")
    assert not Specialisation(None, (signature_of(swapped),), frozenset()).fits([swapped])
    assert known.rebound() is None


def test_leaves_that_may_not_be_static():
    for value in (1, "a", None, np.dtype(float), len):
        assert static_leaf(value) is value
    with pytest.raises(errors.DTypeError, match=r"is ndarray .* Pass arrays of numbers or bools"):
        static_leaf(np.array(["a"]))
    for generator in (np.random.default_rng(0), np.random.RandomState(0)):
        with pytest.raises(errors.UnsupportedError, match="generator of random numbers"):
            static_leaf(generator)


# ---- sweeps that are looked at -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "treatment"),
    [
        ({"all": "ignore"}, "ignore"), ({"all": "warn"}, "warn"),
        ({"all": "ignore", "divide": "warn"}, "warn"),
        ({"all": "warn", "under": "ignore"}, "warn"), ({"all": "ignore", "over": "raise"}, "raise"),
        ({"all": "print"}, "raise"), ({"all": "ignore", "invalid": "call"}, "raise"),
        ({"all": "raise"}, "raise"),
    ],
)  # fmt: skip
def test_what_numpy_is_to_do_is_read_anew(settings, treatment):
    for _ in range(2):
        with np.errstate(all="ignore"):
            assert sweeps._treatment() == "ignore"
        with np.errstate(**settings):
            assert sweeps._treatment() == treatment
            with np.errstate(all="raise"):
                assert sweeps._treatment() == "raise"
            assert sweeps._treatment() == treatment


def test_the_price_of_a_program_grows_with_the_tape(monkeypatch):
    monkeypatch.setattr(sweeps, "_mode", "1")
    assert [sweeps._price(count) for count in (0, 1, 100)] == pytest.approx([3e-3, 3.12e-3, 15e-3])
    monkeypatch.setattr(sweeps, "_mode", "always")
    assert sweeps._price(100) == 0


def _ours(g, out, x):
    return g


def _in(module):
    rule = lambda g, out, x: g  # noqa: E731
    rule.__module__ = module
    return rule


@pytest.mark.parametrize(
    ("rules", "is_known"),
    [
        ([_in("tape.ops.x")], True), (_in("tape.ops.x"), True), ([_in("tape.ops.x"), None], True),
        ([None], True), ([_in("tape.ops.x"), _ours], False), ([_ours, None], False), (_ours, False),
        ([partial(partial(_in("tape.ops.x"), out=1), x=2)], True), ([partial(_ours, out=1)], False),
        ([_in("tape.ops.special.x")], False), ([_in("tape.ops.specials")], True), ([_in("tapes.x")], False),
        ([_in(None)], False), ([partial(_in(None))], False),
    ],
)  # fmt: skip
def test_rules_of_the_library_are_known(rules, is_known):
    def op(**changes):
        made = tape.Op(np.sin, vjp=[lambda g, out, x: g], name="f")
        for name, value in {"vjp": rules, **changes}.items():
            setattr(made, name, value)
        return made

    assert sweeps._is_known(op()) == is_known
    assert not sweeps._is_known(op(explains_errors=False))
    for name in sweeps._BRANCHING:
        assert not sweeps._is_known(op(name=name))


def test_of_transposed_rules_the_others_are_looked_at():
    op = tape.Op(np.sin, jvp=[_ours], name="f")
    assert isinstance(op.vjp, TransposedJvp)
    assert not sweeps._is_known(op)
    op.jvp = [_in("tape.ops.x")]
    assert sweeps._is_known(op)


@pytest.mark.parametrize(
    ("f", "is_known"),
    [
        (np.sin, True), (np.cumsum, True), (lambda x: x @ x, True), (lambda x: np.arctan2(x, x), False),
        (np.prod, False), (lambda x: ops.linalg.expm(x * np.eye(2)), False), (ops.special.gamma, False),
    ],
)  # fmt: skip
def test_operations_whose_sweeps_may_be_programs(f, is_known):
    tr = tape.Trace()
    assert sweeps._is_known(f(tr.param(X)).node.op) == is_known
