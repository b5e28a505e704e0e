"""`verify`: proves that no row of a program touches memory outside its slots, whatever the array contains.

The machine checks nothing, so everything is checked here, before the first run: rows of one kind together,
each rule on whole columns of the instruction array. A compiled loop over the rows would be faster still, but
took six seconds to compile.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np

from tape import errors
from tape.program.native.opcodes import WIDTH, opcode
from tape.program.runtime import verify_arrays, verify_elementwise, verify_loops, verify_matrices
from tape.program.runtime.checks import LAST_ELEMENTWISE, MOST, NAMES, Checks
from tape.program.runtime.extents import ADVICE, Claims, Rows
from tape.program.runtime.slots import Body, Slot

_RULES: dict[str, Callable[[Checks, Rows], None]] = {
    name: getattr(module, name)
    for module in (verify_elementwise, verify_arrays, verify_loops, verify_matrices)
    for name in module.__all__
}
_FIRST = ("blocks", "loop")  # they say what the rows after them belong to


def verify(
    code: np.ndarray,
    rows: int,
    slots: Sequence[Slot],
    callbacks: Collection[int] = (),
    bodies: Sequence[Body] = (),
) -> Claims:
    """Raise unless a program stays in its memory; return the memory that its rows touch.

    A program that passes reads and writes inside its slots, writes to no slot that is read-only, and
    terminates: memory limits how long a row runs.

    Parameters
    ----------
    code : numpy.ndarray
        int64, shape (numbers,): ``rows`` rows of `WIDTH` numbers, then tables.
    rows : int
        How many rows.
    slots : sequence of Slot
        By number.
    callbacks : collection of int
        Numbers that rows which call Python may have.
    bodies : sequence of Body
        Those of loops, by number: routines that have been verified.

    Returns
    -------
    Claims

    Raises
    ------
    ProgramError
        For the first flaw that is found, with row, field and reason.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.program.native.opcodes import WIDTH, opcode, packed
    >>> from tape.program.runtime.slots import Slot
    >>> from tape.program.runtime.verify import verify
    >>> slots = [Slot(64, 64, True), Slot(0, 64, True), Slot(16, 16, False)]
    >>> code = np.zeros(WIDTH, np.int64)
    >>> code[:4] = opcode("copy"), 16, packed(2, 0), packed(0, 48)
    >>> claims = verify(code, 1, slots)
    >>> code[3] = packed(0, 56)
    >>> verify(code, 1, slots)
    Traceback (most recent call last):
        ...
    tape.errors.ProgramError: row 0 (copy), out: it reaches bytes 56 to 72 of slot 0, which has 64. ...
    """
    is_array = isinstance(code, np.ndarray) and code.dtype == np.int64 and code.ndim == 1
    if not is_array or not code.flags.c_contiguous or not 0 <= rows <= len(code) // WIDTH:
        raise errors.ProgramError(
            f"a program of {rows} rows cannot be in {errors.describe(code)}: it takes an int64 array. "
            + ADVICE
        )
    checks = Checks(code, rows, slots, callbacks, bodies)
    groups = _groups(checks.words)
    for group in groups:
        if opcode(group.name) <= LAST_ELEMENTWISE:
            counts = group.between("count", 1, MOST)
            checks.elements[group.numbers] = checks.near[group.numbers] = counts
    for group in sorted(groups, key=lambda group: group.name not in _FIRST):
        _RULES[group.name](checks, group)
    checks.claims.check()
    return checks.claims


def _groups(words: np.ndarray) -> list[Rows]:
    """Return the rows of each kind together, in the order of the kinds."""
    kinds = words[:, 0]
    is_known = (kinds >= 0) & (kinds < len(NAMES))
    if not is_known.all():
        row = int(np.argmin(is_known))
        raise errors.ProgramError(f"row {row}: no opcode {kinds[row]}. {ADVICE}")
    order = np.argsort(kinds, kind="stable")
    starts = np.searchsorted(kinds[order], range(len(NAMES) + 1))
    columns = np.ascontiguousarray(words[order].T)
    return [
        Rows(name, order[start:stop], columns[:, start:stop])
        for name, start, stop in zip(NAMES, starts[:-1], starts[1:], strict=True)
        if start < stop
    ]
