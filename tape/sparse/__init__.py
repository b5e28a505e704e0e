"""Derivatives as sparse arrays.

=============  =====================================================================================
sets           sets of inputs, by number, that elements of arrays stand for
dependence     which inputs the nodes of a tape depend on
colouring      which columns are swept together, and where elements are found then
structure      the pattern and the colouring of a derivative
derivatives    sparse_jacobian, sparse_hessian, sparsity
=============  =====================================================================================
"""

from tape.sparse.derivatives import SparseDerivative, sparse_hessian, sparse_jacobian, sparsity

__all__ = ["SparseDerivative", "sparse_hessian", "sparse_jacobian", "sparsity"]
