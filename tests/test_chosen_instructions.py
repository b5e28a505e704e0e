"""Which instructions and kernels a program has: on either side of sizes and for each kind of operand."""

import numpy as np
import pytest
import scipy.linalg

import tape
from tape import ops
from tape.program.program import Program
from tape.program.record.recording import record
from tests.naive_program import compiled_for

RNG = np.random.default_rng(5)
FREE = {"input", "constant", "literal", "reshape", "transpose", "broadcast", "slice", "again", "part"}


def listed(program):
    """The instructions and kernels that there are, but for where values come from and views."""
    every = [of for of in program.ir.instructions if of.op not in FREE]
    return sorted([of.attrs[0] if of.op in ("kernel", "fold", "scan") else of.op for of in every])


def names(program):
    """Each of them once."""
    return {*listed(program)}


def rows(*shape, dtype=float):
    """Numbers that differ, in no order."""
    return (RNG.permutation(int(np.prod(shape))).reshape(shape) / 7).astype(dtype)


def squares(count, n, dtype=float):
    return (RNG.normal(size=(count, n, n)) + n * np.eye(n)).astype(dtype)


# A function, its arguments, and the instructions and kernels that compute it.
A, B, C = rows(6, 7), rows(7, 5) - 3, rows(6, 5)
A4, B4 = A.astype("f4"), B.astype("f4")
CHOSEN = {
    "argsort": (lambda x: np.argsort(x), [rows(4096)], "argsort"),
    "stable argsort": (lambda x: np.argsort(x, kind="stable"), [rows(4095)], "stable_argsort"),
    "stable argsort of long rows": (
        lambda x: np.argsort(x, kind="stable"), [rows(4096)], "argsort stable_order"),
    "stable argsort of long integers": (
        lambda x: np.argsort(x, kind="stable"), [rows(4096, dtype=int)], "stable_argsort"),
    "stable argsort along a short axis": (
        lambda x: np.argsort(x, axis=0, kind="stable"), [rows(2, 4096)], "stable_argsort"),
    "sort": (lambda x: np.sort(x), [rows(3, 4)], "sort"),
    "sort of one": (lambda x: np.sort(x, axis=0) + 1, [rows(1, 4)], "add"),
    "argsort of one": (lambda x: np.argsort(x, axis=0) + x, [rows(1, 4)], "add"),
    "partition of short rows": (lambda x: np.partition(x, 3)[3], [rows(512)], "sort"),
    "partition": (lambda x: np.partition(x, 3)[3], [rows(513)], "take ranked partition_order"),
    "partition by four": (
        lambda x: np.partition(x, (1, 2, 3, 4))[2], [rows(513)], "take ranked partition_order"),
    "partition by five": (lambda x: np.partition(x, (1, 2, 3, 4, 5))[2], [rows(513)], "sort"),
    "partition by four names of two": (
        lambda x: np.partition(x, (1, 2, -512, -511, 3, 4))[2], [rows(513)], "take ranked partition_order"),
    "partition of bools": (lambda x: np.partition(x, 3)[3], [rows(513) > 30], "sort"),
    "solve one": (lambda a, b: np.linalg.solve(a, b), [squares(1, 3)[0], rows(3)], "solve"),
    "solve few": (lambda a, b: np.linalg.solve(a, b), [squares(31, 8), rows(31, 8, 8)], "solve"),
    "solve many": (lambda a, b: np.linalg.solve(a, b), [squares(32, 8), rows(32, 8, 8)], "small_solve"),
    "solve many of nine": (lambda a, b: np.linalg.solve(a, b), [squares(32, 9), rows(32, 9, 8)], "solve"),
    "solve many for nine": (lambda a, b: np.linalg.solve(a, b), [squares(32, 8), rows(32, 8, 9)], "solve"),
    "solve complex": (
        lambda a, b: np.linalg.solve(a, b), [squares(1, 3)[0] + 1j, rows(3)],
        "concatenate complexes numpy_solve"),
    "solve for complex": (
        lambda a, b: np.linalg.solve(a, b), [squares(1, 3)[0], rows(3) + 1j],
        "concatenate complexes numpy_solve"),
    "cholesky of few": (
        lambda a: np.linalg.cholesky(a @ np.swapaxes(a, 1, 2)), [squares(31, 3)], "matmul cholesky"),
    "cholesky of many": (
        lambda a: np.linalg.cholesky(a @ np.swapaxes(a, 1, 2)), [squares(32, 3)], "matmul small_cholesky"),
    "det of few": (lambda a: np.linalg.det(a), [squares(31, 3)], "det"),
    "det of many": (lambda a: np.linalg.det(a), [squares(32, 8)], "small_det"),
    "det of many of nine": (lambda a: np.linalg.det(a), [squares(32, 9)], "det"),
    "inv of many": (lambda a: np.linalg.inv(a), [squares(32, 8)], "small_inv"),
    "inv of many complex": (lambda a: np.linalg.inv(a), [squares(32, 8) + 1j], "inv"),
    # products with their scales and sums
    "product": (lambda a, b, c: 2.0 * (a @ b), [A, B, C], "matmul"),
    "scaled factors": (lambda a, b, c: (2.0 * a) @ (b * 3.0), [A, B, C], "matmul"),
    "most scale": (lambda a, b, c: (1e6 * a) @ b, [A, B, C], "matmul"),
    "more scale": (lambda a, b, c: (1.1e6 * a) @ b, [A, B, C], "multiply matmul"),
    "least scale": (lambda a, b, c: (1e-6 * a) @ b, [A, B, C], "matmul"),
    "less scale": (lambda a, b, c: (0.9e-6 * a) @ b, [A, B, C], "multiply matmul"),
    "two large scales": (lambda a, b, c: (1e4 * a) @ (1e4 * b), [A, B, C], "multiply matmul"),
    "negative scale": (lambda a, b, c: (-1e6 * a) @ b, [A, B, C], "matmul"),
    "no scale": (lambda a, b, c: (0.0 * a) @ b, [A, B, C], "multiply matmul"),
    "scaled factor that is used": (lambda a, b, c: [(2.0 * a) @ b, 2.0 * a], [A, B, C], "multiply matmul"),
    "scaled factor of two": (
        lambda a, b, c: (2.0 * a) @ b + (2.0 * a) @ (b + 1), [A, B, C], "add matmul matmul_add"),
    "scaled view": (lambda a, b, c: (2.0 * a).T @ c, [A, B, C], "matmul"),
    "row of scales": (lambda a, b, c: (a[:1] * a) @ b, [A, B, C], "multiply matmul"),
    "small scale of singles": (lambda a, b: (a @ b) * np.float32(1e-37), [A4, B4], "matmul"),
    "too small a scale of singles": (lambda a, b: (a @ b) * np.float32(1e-39), [A4, B4], "matmul multiply"),
    "scale of a vector": (lambda a, b, c: 2.0 * (a @ b[:, 0]), [A, B, C], "matmul multiply"),
    "scaled matrix and vector": (lambda a, b, c: (2.0 * a) @ b[:, 0], [A, B, C], "matmul multiply"),
    "sum": (lambda a, b, c: c + a @ b, [A, B, C], "matmul_add"),
    "sum behind": (lambda a, b, c: a @ b + c, [A, B, C], "matmul_add"),
    "difference": (lambda a, b, c: c - a @ b, [A, B, C], "matmul_add"),
    "difference behind": (lambda a, b, c: a @ b - c, [A, B, C], "matmul subtract"),
    "scaled sum": (lambda a, b, c: c - 2.0 * (a @ b), [A, B, C], "matmul_add"),
    "row and product": (lambda a, b, c: c[0] + a @ b, [A, B, C], "matmul_add"),
    "stack and product": (
        lambda a, b, c: np.stack([c, c]) + a @ b, [A, B, C], "matmul add concatenate"),
    "product that is used": (lambda a, b, c: [c + a @ b, a @ b], [A, B, C], "matmul add"),
    "sum and a vector": (lambda a, b, c: c[:, 0] + a @ b[:, 0], [A, B, C], "matmul add"),
    "product of results": (lambda a, b, c: (a @ b) * c, [A, B, C], "matmul multiply"),
    "maximum of results": (lambda a, b, c: np.maximum(a @ b, c), [A, B, C], "matmul maximum"),
    # stacks of products with vectors
    "stack of dot products": (
        lambda x, y: x @ y, [rows(5, 1, 99), rows(5, 99, 1)], "sum_product"),
    "dot products of all pairs": (
        lambda x, y: x @ y, [rows(5, 1, 1, 64), rows(6, 64, 1)], "multiply sum"),
    "longer dot products of all pairs": (
        lambda x, y: x @ y, [rows(5, 1, 1, 65), rows(6, 65, 1)], "matmul"),
    "small matrices and vectors": (
        lambda x, y: x @ y, [rows(5, 8, 8), rows(5, 8, 1)], "multiply sum"),
    "larger matrices and vectors": (lambda x, y: x @ y, [rows(5, 5, 13), rows(5, 13, 1)], "matmul"),
    "vectors and matrices": (lambda x, y: x @ y, [rows(5, 1, 3), rows(5, 3, 3)], "matmul"),
    "one matrix for vectors": (lambda x, y: x @ y, [rows(30, 40), rows(5, 40, 1)], "matmul"),
    "one vector for matrices": (lambda x, y: x @ y, [rows(5, 3, 4), rows(4, 1)], "matmul"),
    "one vector for vectors": (lambda x, y: x @ y, [rows(1, 40), rows(5, 40, 1)], "matmul"),
    "small outer products": (lambda x, y: x @ y, [rows(5, 4, 1), rows(5, 1, 8)], "add multiply"),
    "larger outer products": (lambda x, y: x @ y, [rows(5, 3, 1), rows(5, 1, 11)], "matmul"),
    "one outer product": (lambda x, y: x @ y, [rows(4, 1), rows(1, 8)], "matmul"),
    "matrix and vector": (lambda x, y: x @ y, [rows(3, 3), rows(3, 1)], "matmul"),
    "integers": (lambda x, y: x @ y, [rows(5, 1, 9, dtype=int), rows(5, 9, 1, dtype=int)], "numpy_matmul"),
    # sums of products
    "sum of product": (lambda x, y: np.sum(x * y), [rows(2048), rows(2048)], "sum_product"),
    "sum of product with one": (
        lambda x, y: np.sum((x - 1) * y), [rows(2048), rows(2048)], "subtract sum_product"),
    "sum of longer product": (lambda x, y: np.sum(x * y), [rows(2049), rows(2049)], "sum_product"),
    "sum of longer product with one": (
        lambda x, y: np.sum((x - 1) * y), [rows(2049), rows(2049)], "subtract multiply sum"),
    "sum of longer product of what is used": (
        lambda x, y: [np.sum((x - 1) * y), x - 1], [rows(2049), rows(2049)], "subtract sum_product"),
    "sum of longer square": (
        lambda x, y: np.sum((x - 1) * (x - 1)), [rows(2049), rows(2049)], "subtract multiply sum"),
    "sum of short square": (
        lambda x, y: np.sum((x - 1) * (x - 1)), [rows(8), rows(8)], "subtract sum_product"),
    "sum of product of integers": (
        lambda x, y: np.sum(x * y), [rows(8, dtype=int), rows(8, dtype=int)], "multiply sum"),
    "maximum of product": (lambda x, y: np.max(x * y), [rows(8), rows(8)], "multiply max"),
    "sum of product of rows": (lambda x, y: np.sum(x * y, axis=1), [rows(3, 8), rows(8)], "multiply sum"),
    "sum of product that is used": (lambda x, y: [np.sum(x * y), x * y], [rows(8), rows(8)], "multiply sum"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHOSEN)
def test_instructions_that_are_chosen(name):
    f, args, left = CHOSEN[name]
    compiled, program = compiled_for(f, *args)
    found, expected = compiled(*args), f(*args)
    for one, other in zip(*[x if isinstance(x, list) else [x] for x in (found, expected)], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4 if one.dtype == "f4" else 1e-9, atol=0)
    assert names(program) == {*left.split()}


# ---- triangular systems ------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit_diagonal", [False, True])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("dtypes", [("f8", "f8"), ("c16", "f8"), ("f8", "c16"), ("c16", "c16"), ("f4", "c8")])
def test_triangular_systems_read_one_triangle(dtypes, lower, unit_diagonal):
    """Compiled as SciPy, of matrices with other numbers in the other triangle."""
    a, b = squares(1, 4)[0] + 1, RNG.normal(size=(4, 2))
    a, b = (
        (x + 0.5j * x[::-1] if dtype[0] == "c" else x).astype(dtype)
        for x, dtype in zip((a, b), dtypes, strict=True)
    )
    for trans in (0, 1):
        f = lambda a, b: ops.linalg.solve_triangular(a, b, trans, lower, unit_diagonal)  # noqa: B023, E731
        compiled, program = compiled_for(f, a, b)
        expected = scipy.linalg.solve_triangular(a, b, trans=trans, lower=lower, unit_diagonal=unit_diagonal)
        found = compiled(a, b)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-3 if "4" in dtypes[0] else 1e-10, atol=1e-6)
        assert "callback" not in names(program)


# ---- what programs leave to NumPy, and what they may overwrite ---------------------------------------------


def test_powers_of_integers_whose_exponents_are_not_known_are_those_of_numpy():
    compiled = tape.compile(lambda x, y: x**y)
    for y in (np.array([0, 1, 5]), np.array([3, 2, 0])):
        np.testing.assert_array_equal(compiled(np.array([2, 3, -2]), y), np.array([2, 3, -2]) ** y)
    with pytest.raises(ValueError, match="negative"):
        compiled(np.array([2, 3, -2]), np.array([1, -1, 2]))
    for exponent in (0, 1, 2, 5):
        f = lambda x: x**exponent  # noqa: B023, E731
        np.testing.assert_array_equal(tape.compile(f)(np.array([2, 3, -2])), np.array([2, 3, -2]) ** exponent)


def test_an_argument_is_given_to_one_result_only():
    """Two results of its type, and one argument that may be overwritten."""
    x, y = rows(8), rows(8)
    compiled = tape.compile(lambda x, y: (np.sin(x) + y, np.cos(x) * y, np.exp(x)), donate=[0])
    for _ in range(3):
        expected = np.sin(x) + y, np.cos(x) * y, np.exp(x)
        found = compiled(x.copy(), y)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-14)
        assert not any(np.shares_memory(one, other) for one in found for other in found if one is not other)


ROUNDED = {
    "sum of product": (lambda x, y: np.sum(x * y), "multiply numpy_fold"),
    "scaled twice": (lambda x, y: x * 3.0 * 5.0, "multiply multiply"),
    "product of scaled": (lambda x, y: (2.0 * x) @ (y * 3.0), "multiply multiply numpy_matmul"),
    "sum and product": (lambda x, y: x + x @ y, "add numpy_matmul"),
    "twice": (lambda x, y: x + x, "add"),
    "quotient by a row": (lambda x, y: x / y[0], "divide"),
    "negative product": (lambda x, y: -(x * y), "multiply negative"),
}  # fmt: skip


@pytest.mark.parametrize("name", ROUNDED)
def test_programs_that_round_as_numpy_does_compute_what_is_written(name):
    f, left = ROUNDED[name]
    x, y = RNG.normal(size=(2, 5, 5))
    program = Program(record(f, (x, y), {}, "f"), as_numpy=True)
    np.testing.assert_array_equal(program(x, y), f(x, y))
    assert listed(program) == left.split()
