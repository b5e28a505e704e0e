"""Functions of filters and windows."""

from tests.op_table.case import Case, call, joined, real, zeros_at

CASES = [
    *(Case(f"{op} {joined([s])}", call(op), real(*s)) for op in ("sinc", "i0") for s in ((), (2, 3), (0, 3))),
    Case("sinc zeros", call("sinc"), zeros_at(0, 2)(3)),
    Case("i0 zeros", call("i0"), zeros_at(0, 2)(3)),
]
