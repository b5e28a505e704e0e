"""Sums of products, in the notation of Einstein."""

__all__: list[str] = []
