"""Each operation as the first thing that a process does with tape: nothing else has imported what it needs.

``python -m tests.first_calls PART PARTS`` runs a part of all operations, each in a fork of a process that has
imported tape and the table of operations alone: a value, a gradient or a tangent in turns. With ``--full`` it
is every third case of them. `tests.test_first_calls` starts it.
"""

import os
import sys
import traceback
import warnings

import numpy as np

import tape
from tests.op_table import CASES
from tests.op_table.case import Case


def call(case: Case, way: int) -> None:
    """Compute a value, a gradient on a tape, or a tangent, of a sum of absolute squares."""
    args = case.args()
    f = case.on(tape.ops)
    if way == 0 or not case.has_derivative:
        f(*args)
        return
    active = [k for k, arg in enumerate(args) if arg.dtype.kind in "fc"]

    def total(*floats):
        given = dict(zip(active, floats, strict=True))
        out = f(*[given.get(k, arg) for k, arg in enumerate(args)])
        return (out * out.conj()).real.sum()

    floats = tuple(args[k] for k in active)
    if way == 1:
        trace = tape.Trace()
        trace.backward_param_grads(total(*map(trace.param, floats)), unreached="zero")
    else:
        tape.jvp(total, floats, tuple(map(np.ones_like, floats)))


def run(case: Case, way: int) -> bool:
    """Call in a fork; return whether nothing was raised."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1] == 0
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            call(case, way)
    except BaseException:
        print(f"{case}, {('a value', 'a gradient', 'a tangent')[way]}:", file=sys.stderr)
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def main(part: int, parts: int, is_full: bool) -> bool:
    """Return whether all calls of a part of the cases are fine: a third of all, or one of each operation."""
    groups: dict[str, list[Case]] = {}
    for case in CASES:
        groups.setdefault(case.op, []).append(case)
    cases = [
        case
        for k, group in enumerate(groups.values())
        for case in (group[k % 3 :: 3] if is_full and len(group) > 2 else group[k % len(group) :][:1])
    ]
    results = [run(case, k % 3) for k, case in enumerate(cases[part::parts])]
    return all(results)


if __name__ == "__main__":
    assert "tape.program" not in sys.modules, "something imports all of tape"
    sys.exit(not main(int(sys.argv[1]), int(sys.argv[2]), "--full" in sys.argv))
