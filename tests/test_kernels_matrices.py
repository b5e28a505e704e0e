"""Products of matrices in tiles: lengths, layouts, totals, memory, and which products they are."""

import ctypes
from itertools import pairwise, product

import numpy as np
import pytest

import tape
from tape.kernels import matrices
from tape.kernels.loading import native
from tape.kernels.matrices import APART, IN_PLACE, NOTHING, product_parameters
from tape.kernels.registry import REGISTRY, needs_of
from tape.program.native.opcodes import WIDTH, opcode
from tape.system.blas import AVX512_FLAGS
from tests.naive_program import program_of
from tests.tiers import some

NAMES = {np.float64: "product_of_doubles", np.float32: "product_of_singles"}
GROUPS = {np.float64: "products of doubles", np.float32: "products of singles"}
CLOSE = {np.float64: {"rtol": 1e-12, "atol": 1e-12}, np.float32: {"rtol": 1e-4, "atol": 1e-4}}
BOTH = pytest.mark.parametrize("dtype", [np.float64, np.float32])
MARGIN = 40  # numbers around the memory of a result


def strides(x):
    """Of a matrix or a stack of them, in elements, with two axes of a stack."""
    steps = [step // x.itemsize for step in x.strides]
    return (*(0,) * (4 - len(steps)), *steps)


def computed(a, b, out, factor=1.0, adds=NOTHING, total=None, parts=1):
    """Run the kernel, its tasks in so many portions from the last to the first."""
    kind = a.dtype.type
    *stack, m, n = out.shape
    lengths = (*(1,) * (2 - len(stack)), *stack, m, n, a.shape[-1])
    of_total = (0, 0, 0, 0) if total is None else strides(np.broadcast_to(total, out.shape))
    parameters = product_parameters(lengths, factor, adds, strides(a), strides(b), strides(out), of_total)
    needs = needs_of(NAMES[kind], parameters)
    table, workspace = np.array(parameters), np.full(needs.workspace + 1, 5, kind)
    address = native(GROUPS[kind]).addresses[NAMES[kind]]
    function = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 10)(address)
    z = 0 if total is None else total.ctypes.data
    ends = np.linspace(0, needs.tasks, parts + 1).astype(int)
    for start, stop in reversed(list(pairwise(ends))):
        function(0, 0, table.ctypes.data, start, stop, a.ctypes.data, b.ctypes.data, z,
                 workspace.ctypes.data, out.ctypes.data)  # fmt: skip
    assert workspace[-1] == 5, "more than the workspace is written to"
    return out


def matrix(rng, rows, columns, dtype, is_turned=False):
    x = rng.standard_normal((columns, rows) if is_turned else (rows, columns)).astype(dtype)
    return x.T if is_turned else x


def framed(shape, dtype):
    """Memory for a result, and all that is around it."""
    whole = np.full(np.prod(shape) + 2 * MARGIN, 7, dtype)
    return whole, whole[MARGIN:-MARGIN].reshape(shape)


LENGTHS = [1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 23, 24, 25, 31, 33, 64, 65, 129]


@BOTH
@pytest.mark.parametrize("turned", list(product([False, True], repeat=2)))
def test_products_of_all_lengths_are_those_of_numpy(dtype, turned):
    rng = np.random.default_rng(0)
    for m, n, k in some(product(LENGTHS, LENGTHS, [1, 2, 5, 13, 64]), every=17):
        a, b = matrix(rng, m, k, dtype, turned[0]), matrix(rng, k, n, dtype, turned[1])
        whole, out = framed((m, n), dtype)
        np.testing.assert_allclose(computed(a, b, out), a @ b, **CLOSE[dtype])
        assert (whole[:MARGIN] == 7).all()
        assert (whole[-MARGIN:] == 7).all()


@BOTH
def test_something_is_added_apart_or_in_place(dtype):
    rng = np.random.default_rng(1)
    for m, n, k in ((5, 7, 3), (32, 10, 32), (70, 40, 6), (1, 70, 9)):
        a, b = matrix(rng, m, k, dtype), matrix(rng, k, n, dtype)
        for shape in ((m, n), (n,), (m, 1), (1, 1)):
            total = rng.standard_normal(shape).astype(dtype)
            found = computed(a, b, np.empty((m, n), dtype), -2.5, APART, total)
            np.testing.assert_allclose(found, total - 2.5 * (a @ b), **CLOSE[dtype])
        out = rng.standard_normal((m, n)).astype(dtype)
        expected = out + a @ b
        np.testing.assert_allclose(computed(a, b, out, 1.0, IN_PLACE), expected, **CLOSE[dtype])


@BOTH
def test_stacks_are_broadcast_and_bits_do_not_depend_on_portions(dtype):
    rng = np.random.default_rng(2)
    a = rng.standard_normal((3, 1, 90, 6)).astype(dtype)
    b = rng.standard_normal((4, 11, 6)).astype(dtype).swapaxes(1, 2)  # (4, 6, 11), transposed
    stacks = [np.broadcast_to(x, (3, 4, *x.shape[-2:])) for x in (a, b)]
    out = computed(*stacks, np.empty((3, 4, 90, 11), dtype))
    np.testing.assert_allclose(out, a @ b, **CLOSE[dtype])
    for parts in (2, 5, 24):
        np.testing.assert_array_equal(computed(*stacks, np.empty_like(out), parts=parts), out)


@BOTH
@pytest.mark.parametrize("m", [1, 7, 8, 21, 65, 130])
@pytest.mark.parametrize("n", [127, 128, 255, 257, 530])
def test_wide_factors_are_packed_and_tasks_have_rows_and_columns(dtype, m, n):
    rng = np.random.default_rng(m * n)
    a, b = matrix(rng, m, 19, dtype), matrix(rng, 19, n, dtype)
    for total in (None, rng.standard_normal((m, n)), rng.standard_normal((m, 1)), rng.standard_normal(n)):
        expected, given = a @ b, {}
        if total is not None:
            given = {"adds": APART, "total": total.astype(dtype)}
            expected = expected + given["total"]
        whole, out = framed((m, n), dtype)
        np.testing.assert_allclose(computed(a, b, out, **given), expected, **CLOSE[dtype])
        assert (whole[:MARGIN] == 7).all()
        assert (whole[-MARGIN:] == 7).all()
        np.testing.assert_array_equal(computed(a, b, np.empty_like(out), **given, parts=3), out)


def test_nan_and_infinity_stay_where_they_are():
    a, b = np.ones((9, 5)), np.ones((5, 11))
    a[8, 2], b[1, 10] = np.nan, np.inf
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(computed(a, b, np.empty((9, 11))), a @ b)


def test_parameters_that_leave_gaps_or_overlap_are_refused():
    def refused(words, **changes):
        fields = {
            "lengths": (2, 2, 3, 4, 5), "factor": 1.0, "adds": NOTHING, "a": (30, 15, 5, 1),
            "b": (0, 0, 4, 1), "out": (24, 12, 4, 1),
        }  # fmt: skip
        assert needs_of("product_of_doubles", product_parameters(**fields)).operands == (60, 20)
        with pytest.raises(ValueError, match=words):
            needs_of("product_of_doubles", product_parameters(**fields | changes))

    refused("not positive", lengths=(2, 2, 3, 0, 5))
    refused("negative", a=(30, 15, -5, 1))
    refused("negative", adds=3)
    refused("gaps", out=(24, 12, 5, 1))
    refused("gaps", out=(12, 12, 4, 1))
    refused("apart", out=(24, 12, 1, 3))
    refused("apart", adds=APART, total=(0, 0, 1, 3))


def test_extents_reach_to_the_last_element():
    parameters = product_parameters(
        (2, 1, 3, 4, 5), 1.0, APART, (100, 0, 7, 1), (0, 0, 1, 9), (12, 0, 4, 1), (0, 0, 1, 0)
    )
    needs = needs_of("product_of_singles", parameters)
    assert needs.operands == (100 + 2 * 7 + 4 + 1, 4 + 3 * 9 + 1, 3)
    assert needs.out == 24
    assert needs.workspace == 5 * 4
    assert REGISTRY["product_of_singles"].dtypes != REGISTRY["product_of_doubles"].dtypes


def kinds(program):
    """The names of the machine's rows for products."""
    found = program.code[: program.rows * WIDTH : WIDTH].tolist()
    return [name for name in ("gemm", "kernel", "numpy_matmul") for kind in found if kind == opcode(name)]


@pytest.fixture(autouse=True)
def in_one_thread(monkeypatch):
    monkeypatch.setenv("TAPE_NUM_THREADS", "1")


@pytest.fixture
def without_small_kernels(monkeypatch):
    monkeypatch.setattr(matrices, "has_small_kernels", lambda: False)
    monkeypatch.setattr(matrices, "has_older_kernels", lambda: True)
    monkeypatch.setattr(matrices, "cpu_flags", frozenset)


@pytest.fixture
def with_small_kernels(monkeypatch):
    monkeypatch.setattr(matrices, "has_small_kernels", lambda: True)
    monkeypatch.setattr(matrices, "cpu_flags", lambda: AVX512_FLAGS)


@BOTH
@pytest.mark.usefixtures("without_small_kernels")
def test_programs_compute_small_products_in_tiles(dtype):
    rng = np.random.default_rng(3)
    a, b, c = (rng.standard_normal((2, 8, 8)).astype(dtype) for _ in range(3))

    def f(a, b, c):
        return [
            a @ b, c - a @ b, a @ b.swapaxes(1, 2) + 1.5, a[0] @ b[0].T + c[0, :1], 0.5 * (a[0].T @ b[1]),
            (a[0] @ b[0]).T @ c[0],
        ]  # fmt: skip

    program = program_of(f, a, b, c)
    for found, expected in zip(program(a, b, c), f(a, b, c), strict=True):
        np.testing.assert_allclose(found, expected, **CLOSE[dtype])
    assert "gemm" not in kinds(program)
    assert kinds(program).count("kernel") >= 6


@pytest.mark.usefixtures("without_small_kernels")
def test_large_products_and_those_with_vectors_stay_with_blas():
    large, column = np.ones((160, 160)), np.ones((160, 1))
    assert kinds(program_of(lambda a: a @ a, large)) == ["gemm"]
    assert kinds(program_of(lambda a: a[:7] @ a, large)) == ["kernel"]
    assert kinds(program_of(lambda a, b: a @ b, large, column)) == ["numpy_matmul"]
    assert kinds(program_of(lambda a, b: b.T @ a, large, column)) == ["numpy_matmul"]


@pytest.mark.usefixtures("with_small_kernels")
def test_where_blas_has_small_kernels_it_keeps_what_it_does_well():
    a, bias = np.ones((16, 16)), np.ones(16)
    assert kinds(program_of(lambda a: a @ a, a)) == ["gemm"]
    assert kinds(program_of(lambda a: a @ a.T, a)) == ["kernel"]
    assert kinds(program_of(lambda a, b: a @ a + b, a, bias)) == ["gemm"]
    for n, kind in ((16, "kernel"), (17, "gemm")):
        columns, rows = np.ones((3, 32, 1)), np.ones((3, 1, n))
        assert kinds(program_of(lambda a, b: a @ b, columns, rows)) == [kind]
    for m, k, n in ((300, 1000, 10), (16, 256, 1024), (128, 784, 256)):
        assert kinds(program_of(lambda a, b: a @ b, np.ones((m, k)), np.ones((k, n)))) == ["kernel"]
    assert kinds(program_of(lambda a: a @ a, np.ones((330, 330)))) == ["gemm"]


@pytest.mark.usefixtures("with_small_kernels")
def test_threads_share_what_blas_would_compute_alone(monkeypatch):
    """Small products of a stack, and rows of large ones."""
    monkeypatch.setenv("TAPE_NUM_THREADS", "2")
    for count, kind in ((300, "kernel"), (100, "gemm")):
        stack = np.ones((count, 16, 16))
        assert kinds(program_of(lambda a: a @ a, stack)) == [kind]
    monkeypatch.setattr(matrices, "openblas_threads", lambda: 2)
    for m, n, threads, rows in ((330, 330, 2, 176), (330, 330, 1, 0), (127, 300, 2, 0), (128, 40, 2, 0)):
        assert matrices.rows_to_share(m, n, 330, threads) == rows
    monkeypatch.setattr(matrices, "openblas_threads", lambda: 3)
    assert matrices.rows_to_share(330, 330, 330, 2) == 0
    assert matrices.rows_to_share(330, 330, 70, 2) == 176
    monkeypatch.setattr(matrices, "openblas_function", lambda name: 0)  # BLAS keeps its threads
    assert matrices.rows_to_share(330, 330, 330, 2) == 0


@BOTH
@pytest.mark.usefixtures("with_small_kernels")
@pytest.mark.parametrize("threads", ["1", "2", "3"])
def test_products_by_rows_are_those_of_numpy(monkeypatch, dtype, threads):
    monkeypatch.setenv("TAPE_NUM_THREADS", threads)
    monkeypatch.setattr(matrices, "are_worth", lambda *given: False)
    rng = np.random.default_rng(6)
    a, b, c = (rng.standard_normal(shape).astype(dtype) for shape in ((2, 150, 140), (140, 130), (150, 130)))

    def f(a, b, c):
        left = np.stack([x.T for x in np.stack([x.T for x in a])])
        return [a @ b, a[0].T @ c, c - a @ b, 0.5 * (a[1] @ b) + c, b @ c.T, b.T @ a[0].T, left @ b]

    program = program_of(f, a, b, c)
    first = program(a, b, c)
    for found, expected in zip(first, f(a, b, c), strict=True):
        np.testing.assert_allclose(found, expected, rtol=CLOSE[dtype]["rtol"], atol=20 * CLOSE[dtype]["atol"])
    first = [result.copy() for result in first]
    for _ in range(5):
        for found, again in zip(program(a, b, c), first, strict=True):
            np.testing.assert_array_equal(found, again)
    assert ("gemm" in kinds(program)) == (threads == "1")


def test_rows_are_of_matrices_that_blas_takes():
    fields = {
        "lengths": (1, 2, 30, 4, 5), "factor": 1.0, "adds": NOTHING, "a": (0, 150, 5, 1),
        "b": (0, 0, 4, 1), "out": (0, 120, 4, 1),
    }  # fmt: skip

    def needs(rows=16, **changes):
        return needs_of("product_by_rows", (*product_parameters(**fields | changes), rows))

    assert needs().tasks == 4
    assert needs(8).tasks == 8
    assert needs().operands == (300, 20)
    assert needs(a=(0, 150, 1, 30)).operands == (300, 20)  # transposed
    for rows, changes in (
        (0, {}), (16, {"adds": APART}), (16, {"a": (0, 300, 10, 2)}), (16, {"b": (0, 0, 3, 1)}),
        (16, {"a": (0, 150, 1, 29)}), (16, {"lengths": (1, 2, 30, 1, 5)}),
        (16, {"out": (0, 120, 1, 30)}),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"gaps|no rows|transposed|apart"):
            needs(rows, **changes)


def test_beside_other_libraries_tiles_are_for_small_products(monkeypatch):
    monkeypatch.setattr(matrices, "has_small_kernels", lambda: False)
    monkeypatch.setattr(matrices, "has_older_kernels", lambda: False)
    for n, kind in ((64, "kernel"), (65, "gemm")):
        assert kinds(program_of(lambda a: a @ a, np.ones((n, n)))) == [kind]


def test_where_blas_does_not_use_avx512_nearly_all_is_in_tiles(monkeypatch):
    monkeypatch.setattr(matrices, "has_small_kernels", lambda: False)
    monkeypatch.setattr(matrices, "has_older_kernels", lambda: True)
    monkeypatch.setattr(matrices, "cpu_flags", lambda: AVX512_FLAGS)
    a = np.ones((300, 300))
    assert kinds(program_of(lambda a: a @ a, a)) == ["kernel"]
    assert kinds(program_of(lambda a: a[:, :2] @ a[:2], a)) == ["gemm"]  # hardly more than writing
    for n, kind in ((500, "kernel"), (512, "gemm")):  # rows of a page
        assert kinds(program_of(lambda a, b: a @ b, a[:, :10], np.ones((10, n)))) == [kind]


@pytest.mark.usefixtures("without_small_kernels")
def test_a_network_is_saved(tmp_path):
    rng = np.random.default_rng(4)
    w, x = rng.standard_normal((6, 9)), rng.standard_normal((20, 6))

    def loss(w, x):
        return tape.value_and_grad(lambda w: (np.tanh(x @ w) ** 2).sum())(w)

    program = program_of(loss, w, x)
    program.save(tmp_path / "network")
    for found, expected in zip(tape.load(tmp_path / "network")(w, x), program(w, x), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_flat_products_are_shared_among_threads_and_have_the_same_bits():
    a, b = np.random.default_rng(5).standard_normal((9000, 12)), np.ones((12, 60))
    program = program_of(lambda a, b: a @ b, a, b)
    found = []
    for program.threads in (1, 2, 4):
        program._pool.clear()  # whose memory is for as many threads as there were
        found.append(program(a, b).copy())
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


@pytest.mark.parametrize("n", [2, 3, 5, 8])
@pytest.mark.parametrize("special", [np.nan, np.inf])
def test_small_matrices_with_elements_that_are_not_finite_are_left_to_lapack(special, n):
    """Wherever that is, and whatever comes behind it."""
    matrices = np.random.default_rng(0).normal(size=(n * n + 64, n, n)) + 3 * np.eye(n)
    for place in range(n * n):
        matrices[place].flat[place] = special
    matrices[0] = np.diag(np.diag(matrices[0]))
    right = np.zeros((n, 2))
    for f in (np.linalg.inv, np.linalg.det, lambda a: np.linalg.solve(a, right)):
        compiled = tape.compile(f)
        with np.errstate(all="ignore"):
            compiled(matrices)
            np.testing.assert_allclose(compiled(matrices), f(matrices), rtol=1e-9, atol=1e-12)
