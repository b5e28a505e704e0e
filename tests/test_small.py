"""Stacks of small matrices in programs: as accurate as LAPACK, and without result where LAPACK has none."""

import warnings

import mpmath
import numpy as np
import pytest

import tape
from tape import errors, ops
from tests.naive_program import compiled_for
from tests.oracles import assert_close
from tests.tiers import grid

FLOATS = (np.float64, np.float32)
EPS = np.finfo(float).eps
COUNTS = (32, 34, 65, 129)
FUNCTIONS = {
    "det": np.linalg.det,
    "inv": np.linalg.inv,
    "solve": lambda a: np.linalg.solve(a, np.ones((len(a), a.shape[-1], 2), a.dtype)),
    "cholesky": np.linalg.cholesky,
    "upper cholesky": lambda a: np.linalg.cholesky(a, upper=True),
}


def definite(count, n, dtype=float, seed=0):
    roots = np.random.default_rng(seed).normal(size=(count, n, n + 1))
    return (roots @ roots.swapaxes(1, 2) + 0.1 * np.eye(n)).astype(dtype)


def drawn(name, count, n, dtype=float, seed=0):
    if "cholesky" in name:
        return definite(count, n, dtype, seed)
    return np.random.default_rng(seed).normal(size=(count, n, n)).astype(dtype)


def small_program(f, *args):
    compiled, program = compiled_for(f, *args)
    assert not program.explain().callbacks
    assert any(i.op == "kernel" and i.attrs[0].startswith("small") for i in program.ir.instructions)
    return compiled, program


def by_condition(a, found, expected):
    """The largest error of each, in rounding errors times the condition of the matrix."""
    flat, wanted = (np.reshape(x, (len(a), -1)) for x in (found, expected))
    condition = np.linalg.cond(a.astype(float))
    return np.max(np.abs(flat - wanted).max(1) / np.abs(wanted).max(1) / condition) / EPS


# ---- values --------------------------------------------------------------------------------------


@grid(name=FUNCTIONS, n=range(1, 9), count=COUNTS, times=4)
def test_results_are_numpys_up_to_rounding(name, n, count):
    f = FUNCTIONS[name]
    compiled, _ = small_program(f, drawn(name, count, n))
    a = drawn(name, count, n, seed=1)
    assert by_condition(a, compiled(a), f(a)) < 100
    compiled, _ = small_program(f, a.astype(np.float32))
    found = compiled(a.astype(np.float32))
    assert found.dtype == np.float32
    assert by_condition(a, found, f(a.astype(np.float32))) < 2 * np.finfo(np.float32).eps / EPS


HARD = {
    "Hilbert": lambda n, k: np.array([[1.0 / (i + j + 1 + k % 5) for j in range(n)] for i in range(n)]),
    "graded": lambda n, k: definite(1, n, seed=k)[0] * np.outer(10.0 ** -np.arange(n), 10.0 ** -np.arange(n)),
    "near rank 1": lambda n, k: np.ones((n, n)) + 1e-9 * definite(1, n, seed=k)[0],
    "large and small": lambda n, k: definite(1, n, seed=k)[0] * 10.0 ** (3 * (k % 11) - 15),
}


def exact(name, a):
    matrix = mpmath.matrix(a.tolist())
    if name == "det":
        return mpmath.det(matrix)
    if name == "inv":
        return np.array((matrix**-1).tolist(), dtype=object)
    if name == "solve":
        return np.array(mpmath.lu_solve(matrix, mpmath.ones(len(a), 1)).tolist(), dtype=object)
    factor = np.array(mpmath.cholesky(matrix).tolist(), dtype=object)
    return factor.T if name == "upper cholesky" else factor


@grid(name=FUNCTIONS, kind=HARD, n=(2, 3, 5, 8), times=4)
def test_ill_conditioned_matrices_are_as_exact_as_by_lapack(name, kind, n):
    """By 50 digits; no more than some times the error that LAPACK makes, or a few rounding errors."""
    a = np.stack([HARD[kind](n, k) for k in range(33)])
    f = FUNCTIONS[name] if name != "solve" else lambda a: np.linalg.solve(a, np.ones((33, n, 1)))
    compiled, _ = small_program(f, a)
    with mpmath.workdps(50):
        for k in range(0, 33, 8):
            right = np.asarray(exact(name, a[k]))
            scale = float(np.max(np.abs(right)))
            mine, theirs = [float(np.max(np.abs(x - right))) / scale for x in (compiled(a)[k], f(a)[k])]
            assert mine <= 10 * theirs + 10 * EPS + 0.2 * EPS * np.linalg.cond(a[k]), (mine, theirs)


@pytest.mark.parametrize("columns", [1, 3, 8, 9])
@pytest.mark.parametrize(
    "stacks", [((40,), (40,)), ((5, 8), (5, 8)), ((5, 8), (8,)), ((40,), (1,)), ((1,), (40,))]
)
def test_right_hand_sides(stacks, columns):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(*stacks[0], 3, 3)), rng.normal(size=(*stacks[1], 3, columns))
    for args in ((a, b), (a.swapaxes(-1, -2), b[..., ::-1, :])):
        compiled, program = compiled_for(np.linalg.solve, *args)
        assert not program.explain().callbacks
        np.testing.assert_allclose(compiled(*args), np.linalg.solve(*args), rtol=1e-9)


# ---- matrices that LAPACK decides on -----------------------------------------------------------------

ODD = {
    "zero": lambda n: np.zeros((n, n)),
    "ones": lambda n: np.ones((n, n)),
    "counted": lambda n: np.arange(1.0, n * n + 1).reshape(n, n),
    "dependent": lambda n: np.diag(np.arange(n) / 7.0),
    "NaN": lambda n: np.full((n, n), np.nan),
    "infinite": lambda n: np.diag([np.inf] * n),
    "tiny": lambda n: 1e-300 * definite(1, n)[0],
    "huge": lambda n: 1e300 * definite(1, n)[0],
    "of all sizes": lambda n: np.diag(10.0 ** (200 * (-1.0) ** np.arange(n))),
    "subnormal": lambda n: 5e-320 * np.eye(n),
    "indefinite": lambda n: np.diag([1.0] * (n - 1) + [-1.0]),
    "hardly definite": lambda n: np.ones((n, n)) + 1e-15 * np.eye(n),
    "permuted": lambda n: np.eye(n)[::-1],
}


def outcome(f, a):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return f(a)
        except np.linalg.LinAlgError as error:
            return type(error)


@grid(name=FUNCTIONS, kind=ODD, n=(2, 3, 6), times=2)
def test_matrices_without_result_are_those_of_numpy(name, kind, n):
    f, good = FUNCTIONS[name], drawn(name, 70, n)
    compiled, _ = small_program(f, good)
    for at in (0, 64, 69):
        a = good.copy()
        a[at] = ODD[kind](n)
        found, expected = outcome(compiled, a), outcome(f, a)
        if isinstance(expected, type):
            assert found is expected
            continue
        largest = np.max(np.abs(expected[at]), initial=0, where=np.isfinite(expected[at]))
        atol = 1e-12 * max(largest, min(np.max(np.abs(a[at])), 1e9) ** n if name == "det" else 0)
        np.testing.assert_allclose(found[at], expected[at], rtol=1e-11, atol=atol)
        rest = np.arange(70) != at
        assert by_condition(good[rest], found[rest], expected[rest]) < 100
    assert by_condition(good, compiled(good), f(good)) < 100


@pytest.mark.parametrize(("name", "words"), [("inv", "singular"), ("cholesky", "not positive definite")])
def test_programs_from_files_raise(name, words, tmp_path):
    good = definite(40, 3)
    compiled, program = small_program(FUNCTIONS[name], good)
    program.save(tmp_path / "f.tape")
    loaded = tape.load(tmp_path / "f.tape")
    np.testing.assert_array_equal(loaded(good), compiled(good))
    good[7] = 0
    with pytest.raises(errors.SingularMatrixError, match=words):
        loaded(good)


# ---- derivatives ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS)
def test_derivatives_of_stacks(dtype):
    def loss(a, b):
        factor = np.linalg.cholesky(a)
        return np.sum(np.linalg.solve(a, b) ** 2) + np.sum(np.linalg.inv(factor)) + np.sum(np.linalg.det(a))

    a, b = definite(50, 3, dtype), np.random.default_rng(0).normal(size=(50, 3, 1)).astype(dtype)
    gradient = tape.grad(loss, argnums=(0, 1))
    compiled, _ = small_program(gradient, a, b)
    for found, expected in zip(compiled(a, b), gradient(a, b), strict=True):
        assert_close(found, expected, 1e-9 if dtype is np.float64 else 1e-3)


def test_few_matrices_are_left_to_lapack():
    for a in (definite(31, 3), definite(40, 9)):
        _, program = compiled_for(ops.linalg.inv, a)
        assert "inv(" in str(program)
        assert "small" not in str(program)
