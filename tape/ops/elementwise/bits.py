"""Bits and divisors of integers. Nothing here has a derivative."""

from __future__ import annotations

import numpy as np

from tape.core.elementwise import elementwise
from tape.inspect.samples import declare_samples

__all__ = [
    "bitwise_and",
    "bitwise_count",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "gcd",
    "invert",
    "lcm",
    "left_shift",
    "right_shift",
]

declare_samples(
    "np.bitwise_and, np.gcd, np.lcm, np.left_shift, np.right_shift(n, np.floor(4 * u).astype(int))",
    "np.bitwise_count(np.floor(4 * u).astype(int))",
    "np.bitwise_or, np.bitwise_xor(np.floor(4 * u).astype(int), n)",
    "np.invert(x > 0.5)",
)

bitwise_and = elementwise(np.bitwise_and)
bitwise_or = elementwise(np.bitwise_or)
bitwise_xor = elementwise(np.bitwise_xor)
invert = bitwise_not = bitwise_invert = elementwise(np.invert)
left_shift = bitwise_left_shift = elementwise(np.left_shift)
right_shift = bitwise_right_shift = elementwise(np.right_shift)
gcd = elementwise(np.gcd)
lcm = elementwise(np.lcm)

bitwise_count = elementwise(np.bitwise_count, doc="The number of ones in the absolute value.")
