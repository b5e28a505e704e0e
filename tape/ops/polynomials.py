"""Polynomials given by their coefficients."""

__all__: list[str] = []
