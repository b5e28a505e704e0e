"""Complex numbers."""

from tests.op_table.case import Case, call, complexes, joined, real, upper

CASES = [
    *(Case(f"{op} {joined([s])}", call(op), complexes(*s))
      for op in ("real", "imag", "conj", "conjugate") for s in ((), (2, 3), (0, 3))),
    *(Case(f"{op} of reals", call(op), real(2, 3)) for op in ("real", "imag", "conjugate")),
    Case("multiply complex", call("multiply"), complexes(2, 3), complexes(3)),
    Case("multiply complex by real", call("multiply"), complexes(2, 3), real(3)),
    Case("divide complex", call("divide"), complexes(2, 3), upper(3)),
    Case("exp complex", call("exp"), complexes(2, 3)),
    Case("log complex", call("log"), upper(2, 3)),
    Case("matmul complex", call("matmul"), complexes(2, 3), complexes(3, 4)),
]  # fmt: skip
