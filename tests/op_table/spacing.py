"""Numbers between two ends."""

from tests.op_table.case import Case, complexes, positive, real, upper

CASES = [
    Case("linspace 0d", lambda ns, a, b: ns.linspace(a, b, 5), real(), real()),
    Case("linspace broadcast", lambda ns, a, b: ns.linspace(a, b, 3, axis=-1), real(2, 1), real(3)),
    Case("linspace axis=1", lambda ns, a, b: ns.linspace(a, b, 3, endpoint=False, axis=1), real(2), real()),
    Case("linspace one", lambda ns, a: ns.linspace(a, 2.0, 1), real(3)),
    Case("linspace none", lambda ns, a: ns.linspace(1.0, a, 0), real()),
    Case("linspace step", lambda ns, a, b: ns.multiply(*ns.linspace(a, b, 4, retstep=True)), real(), real()),
    Case("linspace complex", lambda ns, a, b: ns.linspace(a, b, 3), complexes(2), real()),
    Case("linspace integers", lambda ns, a: ns.linspace(a, 9, 4, dtype=int), positive(2),
         has_derivative=False),
    Case("logspace", lambda ns, a, b: ns.logspace(a, b, 4), real(), real()),
    Case("logspace base", lambda ns, a, b, c: ns.logspace(a, b, 3, base=c, axis=-1),
         real(), real(), positive(2)),
    Case("geomspace", lambda ns, a, b: ns.geomspace(a, b, 4, dtype=a.dtype), positive(), positive(2)),
    Case("geomspace negative", lambda ns, a, b: ns.geomspace(-a, -b, 3, False, a.dtype, 1),
         positive(2), positive(2)),
    Case("geomspace complex", lambda ns, a, b: ns.geomspace(a, b, 4, dtype=a.dtype), upper(2), upper()),
    Case("geomspace to float64 ints", lambda ns, a: ns.geomspace(a, 8.0, 3), positive()),
    Case("logspace dtype", lambda ns, a: ns.logspace(a, 1.0, 3, dtype=a.dtype), real()),
]  # fmt: skip
