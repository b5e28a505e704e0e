"""Values within limits."""

import numpy as np

from tests.op_table.case import Case, _domain, call, grid, ints, joined, other_grid, positive, real

infinite = _domain(lambda rng, s: rng.choice([-np.inf, -1.0, 1.0, np.inf, np.nan], s))

CASES = [
    Case("clip both", lambda ns, x: ns.clip(x, -0.5, 0.7), grid(2, 3)),
    Case("clip low", lambda ns, x: ns.clip(x, -0.5, None), grid(2, 3)),
    Case("clip high", lambda ns, x: ns.clip(x, None, 0.7), grid(2, 3)),
    Case("clip min, max", lambda ns, x: ns.clip(x, min=-0.5, max=0.7), grid(3)),
    Case("clip arrays", call("clip"), grid(3, 1), other_grid(4), positive(1, 1)),
    *(Case(f"nan_to_num {joined([s])}", call("nan_to_num"), real(*s)) for s in ((), (2, 3), (0, 3))),
    Case("nan_to_num instead", call("nan_to_num", nan=0.5, posinf=2.0, neginf=-2.0), infinite(2, 5)),
    Case("nan_to_num ints", call("nan_to_num"), ints(3), has_derivative=False),
]
