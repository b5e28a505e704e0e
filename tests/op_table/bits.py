"""Integers: bits and divisors."""

from tests.op_table.case import Case, binary, bools, call, classes, ints, unary

CASES = [
    *(case for op in ("bitwise_and", "bitwise_or", "bitwise_xor")
      for case in binary(op, ints, ints, has_derivative=False)),
    *unary("invert", bools, has_derivative=False),
    *(Case(op, call(op), ints(2, 3), has_derivative=False)
      for op in ("bitwise_count", "bitwise_invert", "bitwise_not", "invert")),
    *(Case(op, call(op), ints(2, 3), classes(3), has_derivative=False)
      for op in ("bitwise_left_shift", "bitwise_right_shift", "gcd", "lcm", "left_shift", "right_shift")),
    Case("bitwise_count 0d", call("bitwise_count"), ints(), has_derivative=False),
]  # fmt: skip
