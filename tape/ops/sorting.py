"""Sorting, searching, and sets."""

__all__: list[str] = []
