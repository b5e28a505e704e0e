"""Linear algebra."""

from tests.op_table.case import Case, call, real, regular

CASES = [
    Case("solve vector", call("solve"), regular(3, 3), real(3)),
    Case("solve matrix", call("solve"), regular(3, 3), real(3, 2)),
    Case("solve stack", call("solve"), regular(2, 3, 3), real(2, 3, 2)),
    Case("solve broadcast", call("solve"), regular(2, 1, 3, 3), real(4, 3, 2)),
    Case("solve one matrix", call("solve"), regular(3, 3), real(2, 3, 1)),
    Case("solve stack vector", call("solve"), regular(2, 3, 3), real(3)),
]  # fmt: skip
