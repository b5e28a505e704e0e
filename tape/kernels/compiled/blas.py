"""Products of matrices by BLAS, for kernels: what Fortran reads by address is at the start of a workspace."""

from __future__ import annotations

from tape.kernels.compiled._jit import inner
from tape.kernels.compiled.pointers import call13, float32s, float64s, set_int64

PLAIN, TURNED = ord("N"), ord("T")
"""The letters by which BLAS is told that a matrix is as it is, or is read as its transpose."""

BOTH_PLAIN = PLAIN | PLAIN << 8


@inner
def set_scales(itemsize, workspace, first, second):  # type: ignore[no-untyped-def]
    """Write the two numbers that `gemm` may multiply by; the first one is that of products."""
    if itemsize == 8:
        float64s(workspace)[0] = first
        float64s(workspace + 8)[0] = second
    else:
        float32s(workspace)[0] = first
        float32s(workspace + 8)[0] = second


@inner
def gemm(blas, workspace, letters, m, n, k, a, lda, b, ldb, c, ldc, scale):  # type: ignore[no-untyped-def]
    """``c = first * a @ b + t * c`` as Fortran sees matrices, columns first; t is the scale so numbered."""
    set_int64(workspace + 16, m)
    set_int64(workspace + 24, n)
    set_int64(workspace + 32, k)
    set_int64(workspace + 40, lda)
    set_int64(workspace + 48, ldb)
    set_int64(workspace + 56, ldc)
    set_int64(workspace + 64, letters)
    call13(
        blas,
        (
            workspace + 64, workspace + 65, workspace + 16, workspace + 24, workspace + 32, workspace,
            a, workspace + 40, b, workspace + 48, workspace + 8 * scale, c, workspace + 56,
        ),
    )  # fmt: skip
