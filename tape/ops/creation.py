"""Arrays made from others, or from numbers that are differentiated."""

__all__: list[str] = []
