"""Fourier transforms: the names of `numpy.fft`."""

__all__: list[str] = []
