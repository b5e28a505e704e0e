"""Norms of vectors and matrices."""

__all__: list[str] = []
