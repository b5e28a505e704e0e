"""Linear algebra: the names of `numpy.linalg`, and those of `scipy.linalg` that have rules."""

from tape.ops.axes import matrix_transpose
from tape.ops.decompositions import cho_factor, cholesky, qr
from tape.ops.determinants import det, slogdet
from tape.ops.diagonals import matrix_diagonal as diagonal
from tape.ops.diagonals import matrix_trace as trace
from tape.ops.eigenvalues import eig, eigh, eigvals, eigvalsh
from tape.ops.equations import cho_solve, inv, solve, solve_triangular, tensorinv, tensorsolve
from tape.ops.matrix_functions import expm, matrix_power
from tape.ops.norms import cond, matrix_norm, norm, vector_norm
from tape.ops.products import matmul, vecdot
from tape.ops.pseudoinverse import lstsq, matrix_rank, pinv
from tape.ops.singular import svd, svdvals
from tape.ops.tensors import cross, multi_dot, outer, tensordot

__all__ = [
    "cho_factor",
    "cho_solve",
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "expm",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vecdot",
    "vector_norm",
]
