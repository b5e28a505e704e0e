"""Fourier transforms."""

from typing import Any

from tests.op_table.case import Case, Domain, complexes, real, told


def fft(name: str, domain: Domain, *shape: int, **options: Any) -> Case:
    kind = "complex" if domain is complexes else "real"
    title = f"fft.{name} {kind} {told(shape=shape, **options)}"
    return Case(title, lambda ns, x: getattr(ns.fft, name)(x, **options), domain(*shape))


CASES = [
    fft("fft", complexes, 2, 3),
    fft("fft", real, 4),
    fft("fft", complexes, 3, 2, axis=0, n=4, norm="ortho"),
    fft("fft", real, 3, n=2, norm="forward"),
    fft("fft", complexes, 0, 3),
    fft("ifft", complexes, 2, 3),
    fft("ifft", real, 3, 2, axis=0, n=4, norm="forward"),
    fft("rfft", real, 2, 4),
    fft("rfft", real, 5, 2, axis=0),
    fft("rfft", real, 1),
    fft("rfft", real, 3, n=6, norm="ortho"),
    fft("rfft", real, 4, n=3, norm="forward"),
    fft("irfft", complexes, 2, 3),
    fft("irfft", complexes, 3, n=5),
    fft("irfft", complexes, 3, 2, axis=0, n=3, norm="ortho"),
    fft("irfft", complexes, 2, n=1),
    fft("irfft", complexes, 2, n=6, norm="forward"),
    fft("hfft", complexes, 2, 3),
    fft("hfft", complexes, 3, n=5, norm="ortho"),
    fft("ihfft", real, 2, 4),
    fft("ihfft", real, 3, n=5, norm="forward"),
    fft("fft2", complexes, 2, 2, 3),
    fft("fft2", real, 2, 3, s=(3, 2)),
    fft("ifft2", complexes, 2, 3, norm="ortho"),
    fft("fftn", complexes, 2, 3, 2),
    fft("fftn", real, 2, 3, 2, axes=(0, -1), s=(-1, 3)),
    fft("fftn", complexes, 2, 3, axes=(0, 0)),
    fft("ifftn", complexes, 2, 3, norm="forward"),
    fft("rfft2", real, 2, 4),
    fft("rfft2", real, 3, 3, s=(2, 4)),
    fft("irfft2", complexes, 2, 3),
    fft("rfftn", real, 2, 3, 2),
    fft("rfftn", real, 3, 2, 2, axes=(2, 0), norm="ortho"),
    fft("irfftn", complexes, 2, 2, 2),
    fft("irfftn", complexes, 2, 3, s=(3, 3), axes=(0, 1), norm="ortho"),
    *(fft(name, real, 2, 5, **axes) for name in ("fftshift", "ifftshift") for axes in ({}, {"axes": 1})),
    fft("fftshift", complexes, 3, 2, axes=(0,)),
]  # fmt: skip
