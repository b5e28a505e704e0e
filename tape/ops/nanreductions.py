"""Reductions that leave NaN out."""

__all__: list[str] = []
