"""Operations whose ``lower`` rule takes all dtypes of the machine: complex numbers, halves, all integers.

All rules take float64, float32, int64, int32 and bool. Many are right for these alone, as the square of a
complex number is no absolute value; with other dtypes such an operation becomes a callback.
"""

from __future__ import annotations

from tape.ops.elementwise.scipy_ufuncs import COMPONENTS, DECLARED
from tape.program.native.ufuncs import UFUNCS

_ARRAYS = """
    all any astype backwards_cumsum beside broadcast_to cast choose concatenate copy count_nonzero cross
    cumsum diagonal diff diff_back dot einsum embedded_diagonal expand_dims fft fftshift getitem ifft
    ifftshift irfft matmul max mean min nanmean nanstd nanvar norm polyval prod reshape resized rfft roll scan
    scatter set_at add_at squeeze stack std stays stop_gradient sum sum_to swapaxes take take_along_axis
    transpose trimmed var vecdot
"""
_ELEMENTS = """
    angle conjugate frexp imag isclose iscomplex isreal ldexp minus_twice nan_to_num of_parts positive real
    rms_normalized rms_normalized_scale round scaled sigmoid sigmoid_bend sigmoid_partial sinc tanh_partial
    lambertw where
"""
_MATRICES = """
    alike, cholesky, cholesky_pullback, cofactors, det, eigenvalues, eigenvectors, eigh, eigvalsh,
    expm, half, independent, inv, inverse_or_zero, left_singular_vectors, logabsdet, lstsq,
    matrix_power, matrix_rank, over, pinv, q of qr, qr, r of qr, rank, residuals,
    right_singular_vectors, sign of slogdet, singular_values, slogdet, solve,
    solve_triangular, svd, svdvals, vanishing
"""
_OF_ALL_DTYPES = frozenset(
    [
        *UFUNCS,
        *_ARRAYS.split(),
        *_ELEMENTS.split(),
        *[" ".join(name.split()) for name in _MATRICES.split(",")],
    ]
)


def is_of_all_dtypes(name: str) -> bool:
    """Whether the operation of this name is one of them. A ufunc takes what NumPy or SciPy has a loop for.

    Examples
    --------
    >>> from tape.program.ir.dtypes import is_of_all_dtypes
    >>> is_of_all_dtypes("sin"), is_of_all_dtypes("gelu")
    (True, False)
    """
    return name in _OF_ALL_DTYPES or name in DECLARED or name in COMPONENTS
