"""Polynomials by their coefficients: arithmetic, roots, fitting and Vandermonde matrices."""
