"""Diagonals and triangles."""

from tests.op_table.case import Case, call, complexes, real

CASES = [
    Case("diagonal (3,3)", call("diagonal"), real(3, 3)),
    Case("diagonal above", call("diagonal", offset=1), real(2, 4)),
    Case("diagonal axes below", call("diagonal", offset=-1, axis1=2, axis2=-3), real(2, 3, 4)),
    Case("diagonal beyond", call("diagonal", offset=5), real(2, 3)),
    Case("diagonal empty", call("diagonal"), real(0, 3)),
    Case("diagonal complex", call("diagonal"), complexes(2, 2)),
    Case("diag of vector", call("diag", k=-1), real(3)),
    Case("diag of matrix", call("diag", k=1), real(3, 4)),
    Case("diag of complex", call("diag"), complexes(2)),
    Case("diagflat (2,2)", call("diagflat", k=1), real(2, 2)),
    Case("diagflat 0d", call("diagflat"), real()),
    Case("tril (2,3,3)", call("tril"), real(2, 3, 3)),
    Case("tril above", call("tril", k=1), complexes(2, 4)),
    Case("tril of vector", call("tril", k=-1), real(3)),
    Case("triu (3,2)", call("triu"), real(3, 2)),
    Case("triu below", call("triu", k=-1), complexes(3, 3)),
    Case("triu empty", call("triu"), real(0, 3)),
]
