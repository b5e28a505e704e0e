"""Generalised ufuncs in programs: NumPy's results to the last bit, its failures, derivatives as in eager."""

import warnings

import numpy as np
import pytest

import tape
from tape import errors, ops
from tape.program.native import functions
from tape.program.native.gufuncs import GUFUNCS, layout_of, strides_of
from tape.program.native.opcodes import FIELDS, WIDTH, opcode
from tape.program.runtime import pauses, routine
from tests.naive_program import compiled_for
from tests.oracles import assert_close
from tests.tiers import grid, takes_long

FLOATS = (np.float64, np.float32)
DTYPES = (*FLOATS, np.complex128, np.complex64)


def leaves(value):
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, tuple) else [value]


def symmetric(a):
    return (a + np.swapaxes(a, -1, -2)) / 2


def gram(a):
    return a @ np.swapaxes(np.conj(a), -1, -2) + np.eye(a.shape[-1], dtype=a.dtype)


VALUES = {
    "det": np.linalg.det,
    "slogdet": np.linalg.slogdet,
    "inv": np.linalg.inv,
    "eigh": np.linalg.eigh,
    "eigh of the upper triangle": lambda a: np.linalg.eigh(a, "U"),
    "eigvalsh": np.linalg.eigvalsh,
    "eigvalsh of the upper triangle": lambda a: np.linalg.eigvalsh(a, "U"),
    "svd": np.linalg.svd,
    "svd of Hermitian ones": lambda a: np.linalg.svd(a, hermitian=True),
    "svdvals of Hermitian ones": lambda a: np.linalg.svd(a, compute_uv=False, hermitian=True),
    "svd of tall ones": lambda a: np.linalg.svd(a[..., 1:]),
    "thin svd of tall ones": lambda a: np.linalg.svd(a[..., 1:], full_matrices=False),
    "thin svd of wide ones": lambda a: np.linalg.svd(a[..., 1:, :], full_matrices=False),
    "svdvals": np.linalg.svdvals,
    "qr": np.linalg.qr,
    "qr of wide ones": lambda a: np.linalg.qr(a[..., 2:, :]),
    "complete qr of tall ones": lambda a: np.linalg.qr(a[..., 2:], "complete"),
    "r alone": lambda a: np.linalg.qr(a[..., 1:], "r"),
    "matrix_rank": np.linalg.matrix_rank,
    "matrix_rank by a tolerance": lambda a: np.linalg.matrix_rank(a, 0.5),
}
ROUNDED = {
    "nuclear norm": lambda a: np.linalg.norm(a, "nuc", axis=(-2, -1)),
    "pinv": lambda a: np.linalg.pinv(a[..., 1:]),
    "expm": ops.linalg.expm,
    "cond": np.linalg.cond,
    "cond by columns": lambda a: np.linalg.cond(a, 1),
    "matrix_power": lambda a: np.linalg.matrix_power(a, -2),
    "zeroth power": lambda a: np.linalg.matrix_power(a, 0),
    "solve": lambda a: np.linalg.solve(a, a[..., :2].real),
    "cholesky": lambda a: np.linalg.cholesky(gram(a)),
    "upper cholesky": lambda a: np.linalg.cholesky(gram(a), upper=True),
    "triangular system": lambda a: ops.linalg.solve_triangular(a, a[..., 1:], "C", lower=True),
    "triangular system of ones": lambda a: ops.linalg.solve_triangular(a, a, 1, unit_diagonal=True),
}
STACKS = {"one": (), "stack": (3,), "stack of stacks": (2, 1, 3), "stack of one": (1,), "none": (2, 0)}
LAYOUTS = {
    "as it is": lambda a: a,
    "transposed": lambda a: np.swapaxes(a, -1, -2),
    "turned": lambda a: a[..., ::-1, ::-1],
    "computed": lambda a: a * 1.5 + 0.25,
}


def draw(stack, dtype=float, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(*stack, 4, 4)) + 2 * np.eye(4)
    return (a + 1j * rng.normal(size=a.shape) if np.dtype(dtype).kind == "c" else a).astype(dtype)


def assert_no_callbacks(compiled):
    for program in compiled.programs.values():
        assert not program.explain().callbacks


# ---- values --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GUFUNCS)
def test_numpy_has_what_the_table_says(name):
    of = GUFUNCS[name]
    assert of.ufunc is not None  # of this signature
    for types in of.types:
        assert functions.gufunc_of(functions.gufunc_number(name, types)) == (name, types)


@pytest.mark.parametrize("name", GUFUNCS)
def test_layouts_are_those_of_the_results_of_numpy(name):
    """Shapes, dtypes and strides, for one matrix, for a stack, and for operands that all matrices share."""
    of = GUFUNCS[name]
    lengths = {"m": 4, "n": 4 if of.signature.startswith("(m,m)") else 3, "nrhs": 2, "k": 3}
    free = [lengths[dimension] for dimension in of.free]
    types = of.types[-1]
    for stack, shared in (((), ()), ((2, 3), ()), ((5,), range(1, 3))):
        operands = [
            np.random.default_rng(x)
            .normal(size=(*(() if x in shared else stack), *map(lengths.get, core)))
            .astype(types[x])
            for x, core in enumerate(of.operands)
        ]
        layout = layout_of(name, [x.shape for x in operands], types.split("->")[0], free)
        given = {"out": np.empty((*stack, *free), types[-1])} if free else {}
        with np.errstate(invalid="ignore"):  # not all of them have a result
            results = of.ufunc(*operands, **given)
        arrays = [*operands, *(results if type(results) is tuple else (results,))]
        expected = [(np.shape(x), x.dtype) for x in arrays[len(operands) :]]
        assert layout.results[int(of.overwrites) :] == expected
        strides = strides_of(name, layout.types, layout.lengths, layout.is_stacked)
        inner = [
            x.strides[np.ndim(x) - len(core) :]
            for x, core in zip(arrays, of.operands + of.results, strict=True)
        ]
        assert strides[len(arrays) :] == [step for steps in inner for step in steps]


@takes_long
@grid(name=VALUES, stack=STACKS, layout=LAYOUTS, times=3)
def test_results_are_numpys_to_the_last_bit(name, stack, layout):
    def f(a):
        return VALUES[name](LAYOUTS[layout](a))

    for dtype in DTYPES:
        compiled, _ = compiled_for(f, draw(STACKS[stack], dtype))
        assert_no_callbacks(compiled)
        a = draw(STACKS[stack], dtype, 1)
        for found, expected in zip(leaves(compiled(a)), leaves(f(a)), strict=True):
            assert (found.dtype, np.shape(found)) == (expected.dtype, np.shape(expected))
            np.testing.assert_array_equal(found, expected)


@grid(name=ROUNDED, stack=STACKS, times=2)
def test_compositions_are_numpys_up_to_rounding(name, stack):
    f = ROUNDED[name]
    for dtype in DTYPES:
        compiled, _ = compiled_for(f, draw(STACKS[stack], dtype))
        assert_no_callbacks(compiled)
        a = draw(STACKS[stack], dtype, 1)
        assert_close(compiled(a), f(a), 1e-11 if dtype in (np.float64, np.complex128) else 1e-4)
        assert compiled(a).dtype == f(a).dtype


@grid(threads=[1, 2, 3], times=2)
def test_long_stacks_pause_and_give_the_same(monkeypatch, threads):
    """In portions of a row."""
    monkeypatch.setattr(pauses, "BETWEEN", 1e5)
    monkeypatch.setattr(routine, "num_threads", lambda: threads)
    a = draw((40,))
    for f in (np.linalg.slogdet, np.linalg.qr, np.linalg.eigvalsh):
        compiled, program = compiled_for(f, a)
        assert min(_fields(program, "gufunc", "portion")) < 40
        for found, expected in zip(leaves(compiled(a)), leaves(f(a)), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_whole_matrices_of_results_need_no_copies():
    """Eigenvalues and vectors are read where the function has put them."""
    _, program = compiled_for(lambda a: np.sum(np.linalg.eigh(a)[1] @ a), np.eye(3))
    assert not {"concatenate", "slice"} & {instruction.op for instruction in program.ir.instructions}
    assert "eigh_lo(" in str(program)


def test_a_numpy_without_the_function_calls_back(monkeypatch):
    monkeypatch.setitem(functions._numbers, ("det", "d->d"), -1)
    compiled, program = compiled_for(np.linalg.det, np.eye(2))
    assert program.explain().callbacks == {"det": 1}
    assert compiled(2 * np.eye(2)) == 4


def test_residuals_are_there_or_not_as_the_rank_says():
    """Their number is a guard; so deficient matrices take another program."""
    y = draw(())

    def f(a):
        return np.linalg.lstsq(a, y[:, :2])

    compiled, _ = compiled_for(f, draw(())[:, :3])
    for a in (draw((), seed=1)[:, :3], np.ones((4, 3)), draw((), seed=2)[:, :3]):
        for found, expected in zip(compiled(a), f(a), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12, strict=True)
    assert_no_callbacks(compiled)
    assert len(compiled.programs) == 2


def test_fits_warn_where_numpy_warns():
    x, y = np.linspace(0, 1, 9), np.sin(np.arange(9.0))
    compiled, _ = compiled_for(lambda x, y: np.polyfit(x, y, 2, cov=True), x, y)
    assert_no_callbacks(compiled)
    for found, expected in zip(compiled(x, y), np.polyfit(x, y, 2, cov=True), strict=True):
        assert_close(found, expected)
    fitted, _ = compiled_for(lambda x, y: np.polyfit(x, y, 2), x, y)
    with pytest.warns(np.exceptions.RankWarning):
        assert_close(fitted(np.ones(9), y), ops.polyfit(np.zeros(9) + 1, y, 2))


def test_ints_are_computed_in_double_precision():
    a = np.array([[4, 1], [2, 5]])
    for f in (np.linalg.det, np.linalg.svdvals, ops.linalg.expm):
        compiled, _ = compiled_for(f, a)
        assert_no_callbacks(compiled)
        np.testing.assert_allclose(compiled(a), f(a), rtol=1e-12)


# ---- threads -------------------------------------------------------------------------------------


def _fields(program, name, field):
    """Return a field of all rows of a kind."""
    code, at = program.code, 1 + FIELDS[name].index(field)
    return [code[row * WIDTH + at] for row in range(len(program)) if code[row * WIDTH] == opcode(name)]


def _systems(a):
    gram = a @ a.swapaxes(-1, -2) + np.eye(a.shape[-1])
    factor = np.linalg.cholesky(gram)
    return factor, np.linalg.solve(gram, a), ops.linalg.solve_triangular(factor, a, lower=True)


SHARED = {
    "det": (np.linalg.det, "gufunc"), "inv": (np.linalg.inv, "gufunc"), "svd": (np.linalg.svd, "gufunc"),
    "slogdet": (np.linalg.slogdet, "gufunc"), "eigh": (np.linalg.eigh, "gufunc"),
    "qr": (np.linalg.qr, "gufunc"), "fft": (np.fft.fft, "gufunc"), "irfft": (np.fft.irfft, "gufunc"),
    "gesv": (_systems, "gesv"), "potrf": (_systems, "potrf"), "trsm": (_systems, "trsm"),
}  # fmt: skip


@grid(name=SHARED, times=4)
def test_any_number_of_threads_gives_the_same(monkeypatch, name):
    f, kind = SHARED[name]
    a = np.random.default_rng(0).normal(size=(301, 12, 12))
    results = []
    for threads in (1, 2, 3, 7):
        monkeypatch.setattr(routine, "num_threads", lambda threads=threads: threads)
        compiled, program = compiled_for(f, a)
        assert max(_fields(program, kind, "worth")) > 1
        results.append(leaves(compiled(a)))
    for found in results[1:]:
        for one, other in zip(found, results[0], strict=True):
            np.testing.assert_array_equal(one, other)


@grid(threads=[1, 2, 3], times=2)
def test_a_matrix_without_result_stops_any_thread(monkeypatch, threads):
    monkeypatch.setattr(routine, "num_threads", lambda: threads)
    a = np.random.default_rng(0).normal(size=(301, 12, 12))
    compiled, _ = compiled_for(np.linalg.inv, a)
    for at in (0, 150, 300):
        wrong = a.copy()
        wrong[at] = 0
        with pytest.raises(np.linalg.LinAlgError):
            compiled(wrong)
        np.testing.assert_array_equal(compiled(a), np.linalg.inv(a))


# ---- failures ------------------------------------------------------------------------------------

ODD = {
    "zero": np.zeros((4, 4)),
    "ones": np.ones((4, 4)),
    "rank 3": np.diag([1.0, 2.0, 3.0, 0.0]),
    "equal values": np.eye(4),
    "nearly singular": np.diag([1.0, 1.0, 1.0, 1e-9]),
    "small": 1e-30 * draw(()),
    "NaN": np.full((4, 4), np.nan),
    "one NaN": np.where(np.arange(16).reshape(4, 4) == 4, np.nan, draw(())),
}


def outcome(f, a):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return leaves(f(a))
        except np.linalg.LinAlgError as error:
            return type(error), str(error).partition(" [at")[0]


def total(*results):
    return sum(np.sum(np.sin(result)) for result in results)


DERIVATIVES = {
    "det": lambda a: np.sum(np.linalg.det(a)),
    "slogdet": lambda a: total(*np.linalg.slogdet(a)),
    "inv": lambda a: total(np.linalg.inv(a)),
    "eigh": lambda a: total(*np.linalg.eigh(symmetric(a))),
    "eigvalsh": lambda a: total(np.linalg.eigvalsh(a)),
    "svd": lambda a: total(*np.linalg.svd(a)),
    "thin svd": lambda a: total(*np.linalg.svd(a[..., 1:], full_matrices=False)),
    "svdvals": lambda a: total(np.linalg.svdvals(a)),
    "qr": lambda a: total(*np.linalg.qr(a)),
    "complete qr": lambda a: total(*np.linalg.qr(a[..., 1:], "complete")),
    "pinv": lambda a: total(np.linalg.pinv(a[..., 1:])),
    "cond": lambda a: total(np.linalg.cond(a)),
    "expm": lambda a: total(ops.linalg.expm(a / 4)),
}


@grid(name={**VALUES, **{f"gradient of {name}": tape.grad(f) for name, f in DERIVATIVES.items()}},
      stack=("one", "stack"), times=1)  # fmt: skip
def test_matrices_without_result_are_those_of_eager(name, stack):
    """The same numbers, or the same error, whichever of a stack it is; what comes after is right again."""
    f = VALUES.get(name) or tape.grad(DERIVATIVES[name.removeprefix("gradient of ")])
    good = draw(STACKS[stack])
    compiled, _ = compiled_for(f, good)
    usual = leaves(compiled(good))
    for kind, matrix in ODD.items():
        for at in range(len(good)) if stack == "stack" else [()]:
            a = good.copy()
            a[at] = matrix
            found, expected = outcome(compiled, a), outcome(f, a)
            if isinstance(expected, tuple):
                assert found == expected, kind
            else:
                assert type(found) is list, (kind, found)
                for x, y in zip(found, expected, strict=True):
                    atol = 1e-11 * np.max(np.abs(y), initial=1, where=np.isfinite(y))
                    np.testing.assert_allclose(x, y, rtol=1e-9, atol=atol, err_msg=kind)
    for x, y in zip(leaves(compiled(good)), usual, strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("name", ["inv", "eigh", "svdvals", "qr"])
def test_flags_that_earlier_instructions_set_are_no_failures(name):
    """Of an invalid operation in the same program, and in the same thread before."""
    a = draw(())
    compiled, _ = compiled_for(lambda a, x: (np.log(x), VALUES[name](a)), a, 1.0)
    assert_no_callbacks(compiled)
    expected = leaves(VALUES[name](a))
    for _ in range(2):
        with np.errstate(invalid="ignore"):
            nan, *found = leaves(compiled(a, -1.0))
        assert np.isnan(nan)
        for x, y in zip(found, expected, strict=True):
            np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("f", [np.linalg.inv, tape.grad(lambda a: np.sum(np.linalg.eigh(a)[1]))])
def test_programs_from_files_raise(f, tmp_path):
    a = draw(())
    a = a + a.T
    compiled, program = compiled_for(f, a)
    program.save(tmp_path / "f.tape")
    loaded = tape.load(tmp_path / "f.tape")
    np.testing.assert_array_equal(loaded(a), compiled(a))
    for bad in (np.zeros((4, 4)), np.full((4, 4), np.nan))[: 1 if f is np.linalg.inv else 2]:
        with pytest.raises(errors.SingularMatrixError):
            loaded(bad)


# ---- derivatives ---------------------------------------------------------------------------------

WAYS = {
    "gradient": lambda f, a, v: tape.grad(f)(a),
    "forward": lambda f, a, v: tape.jvp(f, (a,), (v,))[1],
    "second": lambda f, a, v: tape.hvp(f)(a, v),
    "hessian": lambda f, a, v: tape.hessian(f)(a) if a.ndim == 2 else tape.grad(f)(a),
}


@takes_long
@grid(name=DERIVATIVES, way=WAYS, stack=("one", "stack"), times=2)
def test_derivatives_need_no_python(name, way, stack):
    for dtype in FLOATS:
        a, v = draw(STACKS[stack], dtype), draw(STACKS[stack], dtype, 1)

        def f(a, v):
            return WAYS[way](DERIVATIVES[name], a, v)

        compiled, _ = compiled_for(f, a, v)
        assert_no_callbacks(compiled)
        assert_close(compiled(a, v), f(a, v), 1e-9 if dtype is np.float64 else 1e-3)


@grid(n=(1, 2, 31, 32, 33, 70), stack=STACKS, upper=(False, True), times=2)
def test_factors_are_pulled_back_block_by_block(n, stack, upper):
    """To the triangle that was read; elements of the adjoint in the other do not matter."""
    rng = np.random.default_rng(n)
    weights = rng.normal(size=(n, n))

    def f(a):
        return np.sum(weights * np.sin(np.linalg.cholesky(a, upper=upper)))

    for dtype in FLOATS:
        roots = rng.normal(size=(*STACKS[stack], n, n + 2))
        a = (roots @ np.swapaxes(roots, -1, -2) / n + np.eye(n)).astype(dtype)
        compiled, program = compiled_for(tape.grad(f), a)
        assert_no_callbacks(compiled)
        assert ("cholesky_pullback" in str(program)) == (a.size > 0)
        assert_close(compiled(a), tape.grad(f)(a), 1e-12 if dtype is np.float64 else 1e-4)


@pytest.mark.parametrize("threads", [1, 2])
def test_steps_of_loops_factorize(monkeypatch, threads):
    monkeypatch.setattr(routine, "num_threads", lambda: threads)

    def f(start, xs):
        def step(a, x):
            q, r = np.linalg.qr(a + x)
            values, vectors = np.linalg.eigh(symmetric(r))
            a = q * values + vectors + np.linalg.inv(a + x)
            return a / np.linalg.svdvals(a)[0], np.linalg.slogdet(a)[1]

        last, logs = tape.scan(step, start, xs)
        return np.sum(last) + np.sum(logs)

    args = draw(()), draw((12,), seed=1)
    gradient = tape.grad(f, argnums=(0, 1))
    compiled, program = compiled_for(gradient, *args)
    assert_no_callbacks(compiled)
    assert program.explain().loops
    for found, expected in zip(compiled(*args), gradient(*args), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)


def test_a_step_without_result_raises_as_in_eager():
    def f(xs):
        return tape.scan(lambda c, x: (c @ np.linalg.inv(x), None), np.eye(4), xs)[0]

    xs = draw((5,))
    compiled, _ = compiled_for(f, xs)
    bad = xs.copy()
    bad[3] = 0
    assert outcome(compiled, bad) == outcome(f, bad)
    np.testing.assert_allclose(compiled(xs), f(xs), rtol=1e-10)


def loss(f):
    """A real function of all results of another one."""

    def of_all(a):
        total = 0.0
        for k, part in enumerate(leaves(f(a))):
            weights = np.cos(np.arange(part.size) + k).reshape(part.shape)
            total = total + np.sum(np.abs(part) ** 2 * weights) + np.sum(np.real(part))
        return total

    return of_all


DERIVED = {
    **{name: VALUES[name] for name in VALUES if "rank" not in name and "complete" not in name},
    **{name: ROUNDED[name] for name in ROUNDED if "zeroth" not in name},
    "lstsq": lambda a: np.linalg.lstsq(a[:, 1:], a[:, :1])[0] if a.ndim == 2 else a,
}


@grid(name=DERIVED, stack=["one", "stack", "none"], mode=["rev", "fwd", "second"], times=1)
def test_derivatives_of_complex_matrices_are_those_of_eager(name, stack, mode):
    f = loss(DERIVED[name])
    derivative = {
        "rev": tape.grad(f),
        "fwd": lambda a: tape.jvp(f, (a,), (a * 0.1 + 0.3j,))[1],
        "second": tape.grad(lambda a: np.sum(np.abs(tape.grad(f)(a)) ** 2)),
    }[mode]
    compiled, _ = compiled_for(derivative, draw(STACKS[stack], complex))
    assert_no_callbacks(compiled)
    a = draw(STACKS[stack], complex, 1)
    assert_close(compiled(a), derivative(a), 1e-8)


def test_complex_numbers_computed_from_real_ones_keep_their_imaginary_parts():
    for f in (np.linalg.svdvals, np.linalg.eigvalsh, np.linalg.cond, np.linalg.matrix_rank):
        compiled, _ = compiled_for(lambda x, f=f: f(np.outer(np.exp(1j * x), np.exp(2j * x)) + np.eye(3)), X)
        assert_close(compiled(X), f(np.outer(np.exp(1j * X), np.exp(2j * X)) + np.eye(3)))


X = np.array([0.5, 1.0, 2.0])


def test_triangles_that_are_not_finite_are_solved_as_in_eager():
    a = np.tril(draw((), complex))
    compiled, _ = compiled_for(lambda a: ops.linalg.solve_triangular(a, np.ones(4), lower=True), a)
    a[3, 3] = np.nan
    found = compiled(a)
    assert np.isnan(found[3])
    np.testing.assert_array_equal(found, ops.linalg.solve_triangular(a, np.ones(4), lower=True))


def test_determinants_of_infinite_matrices_have_derivatives_of_nan():
    a = np.array([[np.inf, 1.0], [1.0, 2.0]])
    with np.errstate(invalid="ignore"):
        assert np.isnan(tape.grad(np.linalg.det)(a)).any()
