"""Linear algebra: the names of `numpy.linalg`, and functions of `scipy.linalg` that have rules."""

from tape.ops.linalg.decompositions import cho_factor, cholesky, qr
from tape.ops.linalg.determinants import det, slogdet
from tape.ops.linalg.eigenvalues import eig, eigh, eigvals, eigvalsh
from tape.ops.linalg.equations import inv, solve, tensorinv, tensorsolve
from tape.ops.linalg.matrix_functions import expm, matrix_power
from tape.ops.linalg.norms import cond, matrix_norm, norm, vector_norm
from tape.ops.linalg.pseudoinverse import lstsq, matrix_rank, pinv
from tape.ops.linalg.singular import svd, svdvals
from tape.ops.linalg.triangular import cho_solve, solve_triangular
from tape.ops.products.outer import space_cross as cross
from tape.ops.products.outer import vectors_outer as outer
from tape.ops.products.products import matmul, vecdot
from tape.ops.products.tensors import multi_dot, tensordot
from tape.ops.reduction.traces import matrix_trace as trace
from tape.ops.structure.axes import matrix_transpose
from tape.ops.structure.diagonals import matrix_diagonal as diagonal

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
