"""Sums, products and extremes up to each element, and differences between neighbours."""

__all__: list[str] = []
