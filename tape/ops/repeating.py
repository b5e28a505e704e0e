"""Repeating and padding."""

__all__: list[str] = []
