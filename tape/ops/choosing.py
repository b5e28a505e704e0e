"""Choosing elements by index, by condition or by place."""

__all__: list[str] = []
