"""Factorizations of matrices."""

__all__: list[str] = []
