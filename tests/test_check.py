"""What the type checker of instructions says of a listing that has been tampered with."""

import numpy as np
import pytest

from tape import errors
from tape.program.check import check
from tape.program.record import record
from tape.program.rewrite import rewrite


def test_what_the_type_checker_says():
    args = (np.ones((2, 3)), np.ones((3, 4)))
    listing = rewrite(record(lambda x, y: np.sum(np.exp(x) @ y, axis=0), args, {}, "f"))
    check(listing)
    by_op = {instruction.op: instruction for instruction in listing.instructions}
    for op, changes, match in (
        ("exp", {"operands": (9,)}, "does not come before it"),
        ("exp", {"operands": (True,)}, "does not come before it"),
        ("exp", {"dtype": np.dtype(int)}, "does not take float64"),
        ("exp", {"attrs": (1,)}, "no attributes"),
        ("exp", {"op": "explode"}, "no such instruction"),
        ("matmul", {"shape": (2, 3)}, "says float64.2, 3., and makes float64.2, 4."),
        ("matmul", {"operands": (0, 0)}, "do not fit together"),
        ("fold", {"attrs": ("median", (0,))}, "no median of float64"),
        ("fold", {"attrs": ("sum", (0, 2))}, "do not follow each other"),
        ("fold", {"attrs": ("sum", (2,))}, "other axes than"),
        ("fold", {"shape": (-4,)}, "its shape is none"),
        ("fold", {"shape": (2**30, 2**30)}, "its shape is none"),
    ):
        instruction = by_op[op]
        old = {name: getattr(instruction, name) for name in changes}
        for name, value in changes.items():
            setattr(instruction, name, value)
        with pytest.raises(errors.ProgramError, match=match):
            check(listing)
        for name, value in old.items():
            setattr(instruction, name, value)
    for name, value, match in (
        ("outputs", [99], "no instruction with a value"),
        ("inputs", [1, 0], "input 0 is elsewhere"),
        ("guards", [None], "guards are not in order"),
    ):
        old = getattr(listing, name)
        setattr(listing, name, value)
        with pytest.raises(errors.ProgramError, match=match):
            check(listing)
        setattr(listing, name, old)
    check(listing)
