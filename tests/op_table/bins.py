"""The edges of the bins of histograms."""

from tests.op_table.case import Case, grid

CASES = [
    Case("histogram_bin_edges", lambda ns, x: ns.histogram_bin_edges(x, 3), grid(5)),
]  # fmt: skip
