"""Interpolation, convolution and correlation."""

__all__: list[str] = []
