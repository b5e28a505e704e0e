"""Padding."""

from tests.op_table.case import Case, complexes, grid, real


def pad(mode: str, *shape: int, width=((1, 2), (0, 3)), domain=real, **options) -> Case:
    told = " ".join(f"{key}={value}" for key, value in options.items()).replace(", ", ",")
    return Case(f"pad {mode} {shape} {told}".replace(", ", ","),
                lambda ns, x: ns.pad(x, width, mode, **options), domain(*shape))  # fmt: skip


CASES = [
    Case("pad", lambda ns, x: ns.pad(x, 1), real(2, 3)),
    Case("pad 0d", lambda ns, x: ns.pad(x, 1), real()),
    Case("pad not at all", lambda ns, x: ns.pad(x, 0, "edge"), real(3)),
    Case("pad empty", lambda ns, x: ns.pad(x, (2, 1)), real(0)),
    Case("pad values", lambda ns, x, v: ns.pad(x, 2, constant_values=v), real(2, 3), real()),
    Case("pad pairs", lambda ns, x, v, w: ns.pad(x, 1, constant_values=((v, 2.0), w)),
         real(2, 3), real(), real(2)),
    Case("pad ramp values", lambda ns, x, v: ns.pad(x, 2, "linear_ramp", end_values=v), real(3), real(2)),
    pad("constant", 2, 3, constant_values=(3.0, 4.0)),
    pad("edge", 2, 3, domain=complexes),
    pad("linear_ramp", 2, 3, end_values=1.5),
    pad("maximum", 2, 3, domain=grid),
    pad("minimum", 2, 4, domain=grid, stat_length=((1, 2), (3, 2))),
    pad("mean", 2, 3),
    pad("median", 3, 4, domain=grid, stat_length=3),
    pad("reflect", 3, 2),
    pad("reflect", 1, 4, reflect_type="odd"),
    pad("symmetric", 2, 3, width=(5, 1), reflect_type="odd"),
    pad("symmetric", 3, width=4, domain=complexes),
    pad("wrap", 2, 3),
    pad("wrap", 2, width=5),
]  # fmt: skip
