"""Dropout and its masks."""

import numpy as np

from tests.op_table.case import Case, bools, complexes, ints, real

CASES = [
    Case("nn.dropout", lambda ns, x, mask: ns.nn.dropout(x, 0.5, mask), real(2, 3), bools(2, 3)),
    Case("nn.dropout broadcast", lambda ns, x, mask: ns.nn.dropout(x, 0.2, mask), real(2, 3, 2), bools(3, 1)),
    Case("nn.dropout numbers", lambda ns, x, mask: ns.nn.dropout(x, 0.5, mask), complexes(4), ints(4)),
    Case("nn.dropout all", lambda ns, x, mask: ns.nn.dropout(x, 1.0, mask), real(2), bools(2)),
    Case("nn.dropout empty", lambda ns, x, mask: ns.nn.dropout(x, 0.5, mask), real(0, 3), bools(3)),
    Case("nn.alpha_dropout", lambda ns, x, mask: ns.nn.alpha_dropout(x, 0.3, mask), real(2, 3), bools(2, 3)),
    Case("nn.alpha_dropout all", lambda ns, x, mask: ns.nn.alpha_dropout(x, 1.0, mask), real(2), bools(2)),
    Case("nn.dropout_mask", lambda ns, x: x * ns.nn.dropout_mask(np.random.default_rng(0), (2, 3), 0.3),
         real(2, 3)),
]  # fmt: skip
