"""Hypergeometric functions, differentiable by the argument: DLMF 13.3.15, 13.3.22, 15.5.1 and 16.3.1."""

from __future__ import annotations

from tape.inspect.samples import declare_samples
from tape.ops.elementwise.scipy_ufuncs import Function, scipy_ufunc

__all__ = ["hyp0f1", "hyp1f1", "hyp2f1", "hyperu"]

declare_samples(
    "scipy.special.hyp0f1(1.5, x)",
    "scipy.special.hyp1f1, scipy.special.hyperu(1.5, 2.5, x)",
    "scipy.special.hyp2f1(0.5, 1.5, 2.5, -x)",
)

hyp0f1: Function = scipy_ufunc(
    "hyp0f1",
    "The confluent hypergeometric limit function of v and z, differentiable by z.",
    None,
    lambda d, out, v, z: d * (hyp0f1(v + 1, z) / v),
)
hyp1f1: Function = scipy_ufunc(
    "hyp1f1",
    "The confluent hypergeometric function of the first kind of a, b and z, differentiable by z.",
    None,
    None,
    lambda d, out, a, b, z: d * (hyp1f1(a + 1, b + 1, z) * (a / b)),
)
hyp2f1: Function = scipy_ufunc(
    "hyp2f1",
    "The hypergeometric function of a, b, c and z, differentiable by z.",
    None,
    None,
    None,
    lambda d, out, a, b, c, z: d * (hyp2f1(a + 1, b + 1, c + 1, z) * (a * b / c)),
)
hyperu: Function = scipy_ufunc(
    "hyperu",
    "The confluent hypergeometric function of the second kind of a, b and x, differentiable by x.",
    None,
    None,
    lambda d, out, a, b, x: -(d * (hyperu(a + 1, b + 1, x) * a)),
)
