"""Systems of equations in programs: kernels, layouts and stacks, matrices without result, memory, files."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tape
from tape import errors, ops
from tape.program.ir.builder import Builder
from tape.program.ir.check import check as soundness
from tape.program.native.opcodes import ARENA
from tape.system.blas import blas_function, lapack_function
from tests.naive_program import compiled_for, counts
from tests.test_machine_kernels import FLOATS, Fenced, address, kernel, quick, table
from tests.test_program import check
from tests.tiers import grid

# ---- kernels -------------------------------------------------------------------------------------

_solve, _cholesky, _triangular_solve = map(kernel, ("solve", "cholesky", "triangular_solve"))

systems = given(
    dtype=st.sampled_from(FLOATS), batch=st.integers(1, 3), n=st.integers(1, 6) | st.just(40),
    columns=st.integers(1, 3), seed=st.integers(0, 99),
)  # fmt: skip


def function(of, name, dtype):
    return of(("d" if dtype is np.float64 else "s") + name)


def one(dtype):
    """As a number in a row."""
    return int.from_bytes(np.array(1, dtype).tobytes(), "little")


def assert_solved(found, expected):
    atol = 100 * np.finfo(found.dtype).eps * np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol)


def dominant(dtype, batch, n, seed):
    """Matrices that every algorithm does well with."""
    return np.random.default_rng(seed).uniform(-1, 1, (batch, n, n)).astype(dtype) + 2 * n * np.eye(
        n, dtype=dtype
    )


def right_hand_sides(dtype, batch, n, columns, seed):
    out = Fenced((batch, columns, n), dtype)
    out.array[...] = np.random.default_rng(seed + 1).normal(size=out.array.shape)
    return out


@quick
@systems
def test_solutions_are_numpys(dtype, batch, n, columns, seed):
    a, x = dominant(dtype, batch, n, seed), right_hand_sides(dtype, batch, n, columns, seed)
    expected = np.linalg.solve(a, x.array.swapaxes(1, 2)).swapaxes(1, 2)
    turned, pivots, info = Fenced(a.shape, dtype), Fenced(n, np.int64), Fenced(1, np.int64)
    turned.array[...] = a.swapaxes(1, 2)
    sizes = table([n, columns])
    solved = _solve(
        function(lapack_function, "gesv", dtype), batch, address(sizes), a.itemsize, address(turned.array),
        address(pivots.array), address(x.array), address(info.array),
    )  # fmt: skip
    assert solved == 1
    assert_solved(x.done(), expected)
    for memory in (turned, pivots, info):
        memory.done()


@quick
@systems
def test_factors_are_numpys(dtype, batch, n, columns, seed):
    a, x, info = dominant(dtype, batch, n, seed), Fenced((batch, n, n), dtype), Fenced(1, np.int64)
    for is_upper in (False, True):
        x.array[...] = a
        numbers = table([n, ord("L" if is_upper else "U")])
        potrf = function(lapack_function, "potrf", dtype)
        at = address(numbers)
        assert _cholesky(potrf, batch, at, at + 8, a.itemsize, address(x.array), address(info.array)) == 1
        assert_solved(x.done(), np.linalg.cholesky(a, upper=is_upper))
        info.done()


@quick
@systems
def test_triangular_solutions_are_numpys(dtype, batch, n, columns, seed):
    a = dominant(dtype, batch, n + 1, seed)  # of which parts are taken
    part = a[:, :n, :n]
    for triangle in "UL":
        for turned in "TN":
            for diagonal in "NU":
                x = right_hand_sides(dtype, batch, n, columns, seed)
                matrix = np.triu(part) if triangle == "L" else np.tril(part)  # Fortran's are the transposes
                if diagonal == "U":
                    matrix[:, range(n), range(n)] = 1
                matrix = matrix if turned == "T" else matrix.swapaxes(1, 2)
                expected = np.linalg.solve(matrix, x.array.swapaxes(1, 2)).swapaxes(1, 2)
                letters = int.from_bytes(f"L{triangle}{turned}{diagonal}".encode(), "little")
                numbers = table([n, columns, n + 1, letters, one(dtype)])
                trsm = function(blas_function, "trsm", dtype)
                at = address(numbers)
                args = trsm, batch, at, a.itemsize, a.strides[0], address(part), address(x.array)
                assert _triangular_solve(*args) == 1
                if diagonal == "N" or n < 7:  # ones are little on the diagonal of a large matrix
                    assert_solved(x.done(), expected)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("bad", range(3))
def test_the_first_matrix_without_result_is_noticed(dtype, bad):
    n, itemsize = 3, np.dtype(dtype).itemsize
    a = np.tile(2 * np.eye(n, dtype=dtype), (3, 1, 1))
    a[bad, 1, 1] = -0.0
    x, pivots, info = np.ones((3, 2, n), dtype), np.zeros(n, np.int64), np.zeros(1, np.int64)
    letters = int.from_bytes(b"LUTN", "little")
    numbers = table([n, 2, n, letters, one(dtype)])
    at = address(numbers)
    trsm = function(blas_function, "trsm", dtype)
    assert not _triangular_solve(trsm, 3, at, itemsize, a.strides[0], address(a), address(x))
    np.testing.assert_array_equal(x[:bad], 0.5)
    np.testing.assert_array_equal(x[bad:], 1)
    size = table([n, ord("U")])
    copy, potrf = a.copy(), function(lapack_function, "potrf", dtype)
    assert not _cholesky(potrf, 3, address(size), address(size) + 8, itemsize, address(copy), address(info))
    copy, gesv = a.copy(), function(lapack_function, "gesv", dtype)
    args = address(copy), address(pivots), address(x), address(info)
    assert not _solve(gesv, 3, at, itemsize, *args)


# ---- programs ------------------------------------------------------------------------------------

FUNCTIONS = {
    "solve": ops.solve,
    "cholesky": lambda a, b: ops.linalg.cholesky(a),
    "upper cholesky": lambda a, b: ops.linalg.cholesky(a, upper=True),
    "triangular": lambda a, b: ops.linalg.solve_triangular(a, b),
    "lower": lambda a, b: ops.linalg.solve_triangular(a, b, lower=True),
    "transposed": lambda a, b: ops.linalg.solve_triangular(a, b, "T"),
    "lower transposed": lambda a, b: ops.linalg.solve_triangular(a, b, 1, True),
    "unit": lambda a, b: ops.linalg.solve_triangular(a / 8, b, unit_diagonal=True),
}
every_function = pytest.mark.parametrize("name", FUNCTIONS)
STACKS = [((), ()), ((3,), (3,)), ((3,), ()), ((), (3,)), ((2, 1), (3,)), ((1, 1), (1,))]
LAYOUTS = {
    "as it is": lambda x: x,
    "transposed": lambda x: ops.swapaxes(x, -1, -2),
    "turned": lambda x: ops.flip(x, (-1, -2)),
    "part": lambda x: ops.concatenate([x, x], -1)[..., : x.shape[-1]],
}


WAYS = [("as it is", *pair) for pair in STACKS] + [(layout, (3,), (3,)) for layout in LAYOUTS]


@grid(name=FUNCTIONS, way=dict.fromkeys(WAYS), ids=str, times=3)
def test_stacks_and_layouts(name, way):
    """Native instructions for all of them, and for both dtypes."""
    layout, stack, other = way
    rng = np.random.default_rng(0)

    def f(a, b):
        return FUNCTIONS[name](LAYOUTS[layout](a), LAYOUTS[layout](ops.swapaxes(b, -1, -2)))

    for dtype in FLOATS:
        a = (rng.uniform(-1, 1, (*stack, 4, 4)) + 8 * np.eye(4)).astype(dtype)
        b = rng.normal(size=(*other, 2, 4)).astype(dtype)
        if layout == "transposed":
            b = b.swapaxes(-1, -2).copy()
        args = [a, b]
        compiled = check(f, args, [2 * a, -b])
        (program,) = compiled.programs.values()
        assert not program.explain().callbacks


@pytest.mark.parametrize(
    ("stack", "other"),
    [((2, 1, 3), (1, 5, 1)), ((2, 5, 3), (3,)), ((2, 5, 3), ()), ((1, 2, 1, 3), (5, 1, 2, 1))],
)
def test_products_of_stacks_with_many_axes(stack, other):
    """The machine counts two of them."""
    rng = np.random.default_rng(0)
    args = rng.normal(size=(*stack, 2, 4)), rng.normal(size=(*other, 4, 3))
    compiled = check(lambda x, y: x @ y, args)
    (program,) = compiled.programs.values()
    assert not program.explain().callbacks


def test_one_matrix_is_factorized_once():
    """Whatever there is on the right."""
    a, b = 3 * np.eye(2), np.ones((5, 4, 2, 3))
    _, program = compiled_for(lambda a, b: ops.solve(a, b), a, b)
    (shape,) = (i.shape for i in program.ir.instructions if i.op == "solve")
    assert shape == (60, 2)


SINGULAR = {
    "solve": lambda a: ops.solve(a, np.ones((3, 2))),
    "cholesky": ops.linalg.cholesky,
    "triangular": lambda a: ops.linalg.solve_triangular(a, np.ones((3, 2))),
}


@pytest.mark.parametrize("at", range(3))
@pytest.mark.parametrize("name", SINGULAR)
def test_matrices_without_result_raise_as_in_eager(name, at, tmp_path):
    """Whichever of a stack it is; and what comes after is right again."""
    f = SINGULAR[name]
    good = np.tile(2.0 * np.eye(3), (3, 1, 1))
    bad = good.copy()
    bad[at, 1] = 0
    compiled, program = compiled_for(lambda a: f(a) + 1, good)
    expected = compiled(good)
    messages = []
    for call in (f, compiled):
        with pytest.raises(errors.SingularMatrixError) as raised:
            call(bad)
        messages.append(str(raised.value).partition(" [at")[0])
    assert messages[0] == messages[1]
    np.testing.assert_array_equal(compiled(good), expected)
    path = tmp_path / "f.tape"
    program.save(path)
    loaded = tape.load(path)
    assert str(loaded) == str(program)
    np.testing.assert_array_equal(loaded(good), expected)
    with pytest.raises(errors.SingularMatrixError, match=r"singular|not positive definite"):
        loaded(bad)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.complex64])
@pytest.mark.parametrize("stack", [(), (2,), (3, 1)], ids=str)
def test_small_and_empty_matrices_have_numpys_determinants_and_exponentials(dtype, stack):
    def f(a, one):
        inverse = np.linalg.inv(a)
        return np.linalg.det(a), *np.linalg.slogdet(a), inverse, tape.scipy.linalg.expm(one)

    a, one = np.zeros((*stack, 0, 0), dtype), np.full((*stack, 1, 1), 0.3, dtype)
    compiled, program = compiled_for(f, a, one)
    assert not program.explain().callbacks
    expected = [np.linalg.det(a), *np.linalg.slogdet(a), a, np.exp(one)]
    for found, wanted in zip(compiled(a, one), expected, strict=True):
        assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize("shape", [(2, 0), (0, 3)], ids=str)
@pytest.mark.parametrize("function", [np.linalg.solve, ops.linalg.solve_triangular])
def test_systems_without_elements_have_solutions_without_elements(function, shape):
    a, b = np.eye(shape[0]), np.zeros(shape)
    found = tape.compile(lambda a, b: [function(a, b), tape.grad(lambda b: np.sum(function(a, b)))(b)])(a, b)
    assert [(x.shape, x.dtype) for x in found] == [(shape, float)] * 2


def test_systems_of_halves_are_solved_in_wider_numbers():
    a, b = np.array([[2, 1], [0, 4]], np.float16), np.array([3, 8], np.float16)
    found = tape.compile(np.linalg.solve)(a, b)
    assert (found.dtype, found.tolist()) == (np.float16, [0.5, 2.0])


@pytest.mark.parametrize("scale", [1.0, 1e3, 1e8])
@pytest.mark.parametrize("at", [(0, 2), (2, 0), (2, 2)])
def test_exponentials_of_large_triangular_matrices_are_scipys(at, scale):
    part = np.tril if at == (2, 0) else np.triu
    a = part(-np.abs(np.random.default_rng(0).normal(size=(2, 3, 3))))
    compiled = tape.compile(ops.linalg.expm)
    compiled(a)
    a[1][at] *= scale  # those of the first call are small
    found, expected = compiled(a), ops.linalg.expm(a)
    np.testing.assert_allclose(np.linalg.diagonal(found), np.linalg.diagonal(expected), rtol=1e-13)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13 * np.max(np.abs(expected)))


@every_function
def test_what_is_computed_on_the_way_is_overwritten(name):
    """One array is enough for a matrix and its factor, or for right-hand sides and solutions."""
    a, b = 8 * np.eye(50) + np.ones((50, 50)), np.ones((50, 50))
    _, program = compiled_for(lambda a, b: np.sin(FUNCTIONS[name](a * 1.5, b * 2)) * 0.5 + a, a, b)
    assert "callback" not in counts(program.ir)
    assert program.plan.slots[ARENA] <= (1 if "cholesky" in name else 3) * a.nbytes + 1024


@every_function
def test_arguments_are_left_alone_and_donated_ones_may_not_be(name):
    a = np.random.default_rng(0).uniform(-1, 1, (3, 3)) + 8 * np.eye(3)
    b = np.ones((3, 3))
    compiled, _ = compiled_for(FUNCTIONS[name], a, b)
    kept = a.copy(), b.copy()
    expected = FUNCTIONS[name](a, b)
    for _ in range(2):
        assert_solved(compiled(a, b), expected)
        np.testing.assert_array_equal(a, kept[0])
        np.testing.assert_array_equal(b, kept[1])
    donating = tape.compile(FUNCTIONS[name], donate=(0, 1))
    for _ in range(3):
        assert_solved(donating(a.copy(), b.copy()), expected)


FLAWS = [
    ("scan", {"attrs": ("median", 0, False)}, "no cumulative median of float64"),
    ("scan", {"attrs": ("sum", 2, False)}, "axis is not one of its operand"),
    ("scan", {"attrs": ("sum", 0, 1)}, "must be a kind, an axis and a direction"),
    ("scan", {"attrs": ("linear", 0, False)}, "it takes 2 operands, and has 1"),
    ("scan", {"operands": (0, 0)}, "it takes 1 operands, and has 2"),
    ("scan", {"attrs": ("linear", 0, False), "operands": (0, 1)}, "must be of one type"),
    ("solve", {"attrs": (True,)}, "takes no attributes"),
    ("solve", {"operands": (2, 0)}, "are no system of equations"),
    ("solve", {"operands": (1, 0)}, "are no system of equations"),
    ("triangular_solve", {"attrs": (True, False, 2)}, r"must be \d bools"),
    ("triangular_solve", {"attrs": ()}, r"must be \d bools"),
    ("cholesky", {"attrs": (0,)}, r"must be \d bools"),
    ("cholesky", {"operands": (1,)}, "are no system of equations"),
    ("cholesky", {"dtype": np.dtype(np.float32)}, "declared float32"),
]


@pytest.mark.parametrize(("op", "changes", "words"), FLAWS)
def test_instructions_that_do_not_fit_their_operands_are_refused(op, changes, words):
    b = Builder()
    a, right = b.input((3, 3), np.dtype(float)), b.input((3, 2), np.dtype(float))
    b.input((2, 3, 3), np.dtype(float))
    for value in (b.scan("sum", a, 0), b.solve(a, right), b.triangular_solve(a, right, True, False, False)):
        b.ir.outputs.append(value.id)
    b.ir.outputs.append(b.cholesky(a).id)
    soundness(b.ir)
    instruction = next(i for i in b.ir.instructions if i.op == op)
    for name, value in changes.items():
        setattr(instruction, name, value)
    with pytest.raises(errors.ProgramError, match=words):
        soundness(b.ir)


# ---- scans ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(1000,), (7, 5), (3, 4, 5)], ids=str)
@pytest.mark.parametrize(
    ("f", "dtype"),
    [(f, dtype) for f in (ops.cumsum, ops.cumprod) for dtype in FLOATS]
    + [(ops.cumsum, dtype) for dtype in (np.int64, np.int32, np.bool_)],
)
def test_running_sums_and_products_are_numpys_to_the_last_bit(f, dtype, shape):
    x = np.random.default_rng(0).normal(1, 0.3, shape).astype(dtype)
    for axis in range(-len(shape), len(shape)):
        compiled, program = compiled_for(lambda x, axis=axis: f(x, axis), x)
        assert counts(program.ir)["scan"] == 1
        for layout in (x, x[::-1], np.asfortranarray(x)):
            found, expected = compiled(layout), f(layout, axis)
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)


def test_recurrences_are_one_instruction():
    """So that the gradient of a running product takes a few."""
    x = np.linspace(0.5, 1.5, 11)
    _, program = compiled_for(tape.grad(lambda x: np.sum(np.cumprod(x) ** 2)), x)
    assert counts(program.ir)["scan"] == 2
    assert "callback" not in counts(program.ir)


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_factors_of_small_matrices_at_the_limits_of_doubles_are_numpys(n, upper):
    """Beyond these the small kernel asks LAPACK, for the factor and for whether there is one."""
    rng = np.random.default_rng(0)
    stack = np.array([a @ a.T + np.eye(n) for a in rng.normal(size=(70, n, n))])
    compiled = tape.compile(lambda a: np.linalg.cholesky(a, upper=upper) + 1)
    compiled(stack)
    for size in (1e-300, 1e-308, 1e300):
        ends = stack.copy()
        ends[4] = np.eye(n) * size
        np.testing.assert_array_equal(compiled(ends)[4], np.linalg.cholesky(ends, upper=upper)[4] + 1)
        expected = np.linalg.cholesky(ends, upper=upper) + 1
        np.testing.assert_allclose(compiled(ends), expected, rtol=1e-13, atol=1e-14)
        ends[4, n // 2, n // 2] *= -1
        with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
            compiled(ends)
