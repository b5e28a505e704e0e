"""Transposition: the derivative rule of one mode from that of the other.

A reverse rule is linear in the adjoint it is given, a forward rule in the tangents, and each is the
transpose of the other. So the rule that there is runs on a trace of its own, with a param for what it is
linear in. That trace is deeper than all others: what the rule was given may be Vars of any of them, and the
sweep is recorded there, which makes the rule so found as good at every order as the one it is made from.
Nothing here knows how rules are declared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tape import errors
from tape.core.nesting import plain_batch
from tape.core.node import Handle, snapshot
from tape.core.results import Results, pack, unpack
from tape.core.trace import Trace


def push_transposed(
    pull: Callable[[Callable[[], Any]], Sequence[Any]], tangents: Sequence[Any], out: Any, name: str
) -> Any:
    """Return the tangent of a result, by its reverse rule.

    Parameters
    ----------
    pull : callable
        ``pull(adjoint)``: the contribution to each operand, in its shape and dtype, None where nothing flows.
        Each call of ``adjoint()`` makes a handle to the adjoint of the result: a rule may write to its own.
    tangents : sequence
        That of each operand; None where it stands still.
    out : array, number or Var
        The result.
    name : str
        Of the operation.

    Returns
    -------
    array, number or Var
        None where nothing flows.

    Raises
    ------
    UnsupportedError
        If the rule is not linear: it does not depend on the adjoint, and is not zero.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.core.transposition import push_transposed
    >>> x = np.array([1.0, 2.0])
    >>> push_transposed(lambda adjoint: [adjoint() * 2 * x], [np.array([1.0, 10.0])], x * x, "square")
    array([ 2., 40.])
    """
    with Trace(name, strict=True) as trace:
        results = unpack(out)
        is_single = len(results) == 1  # if it is of integers, that is an error
        dummies = [
            trace.param(_like(part)) if is_single or part.dtype.kind in "fc" else None for part in results
        ]
        with np.errstate(all="ignore"):  # its number is of no interest
            contributions = pull(lambda: pack([None if d is None else d.again() for d in dummies], out))
    seeds: dict[int, Any] = {}
    for contribution, tangent in zip(contributions, tangents, strict=True):
        if tangent is None or not _is_on(trace, contribution, f"the vjp rule of {name}"):
            continue
        so_far = seeds.get(contribution.id)
        seeds[contribution.id] = tangent if so_far is None else so_far + tangent
    found = iter(trace.pull_back(seeds))
    return pack([None if dummy is None else next(found) for dummy in dummies], out)


def pull_transposed(
    push: Callable[[list[Any]], Any], g: Any, operands: Sequence[Any], wanted: Sequence[bool], name: str
) -> list[Any]:
    """Return the contribution to each operand, by the forward rule.

    Parameters
    ----------
    push : callable
        ``push(tangents)``: the tangent of the result, in its shape and dtype, from one for each operand,
        None for those that are not wanted.
    g : array, number or Var
        The adjoint of the result.
    operands : sequence
        Arrays, numbers or Vars.
    wanted : sequence of bool
        For which of them; there is none for what holds no floats.
    name : str
        Of the operation.

    Returns
    -------
    list
        None where nothing flows.

    Raises
    ------
    UnsupportedError
        If the rule is not linear: it does not depend on the tangents, and is not zero.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.core.transposition import pull_transposed
    >>> x = np.array([1.0, 2.0])
    >>> pull_transposed(lambda tangents: tangents[0] * 2 * x, np.ones(2), [x], [True], "square")
    [array([2., 4.])]
    """
    with Trace(name, strict=True) as trace:
        is_moving = [w and np.result_type(x).kind in "fc" for x, w in zip(operands, wanted, strict=True)]
        dummies = [
            trace.param(_like(x)) if moves else None for x, moves in zip(operands, is_moving, strict=True)
        ]
        with np.errstate(all="ignore"):
            moved = push([snapshot(dummy) for dummy in dummies])
    seeds: dict[int, Any] = {}
    moves, adjoints = (moved, g) if type(moved) is Results else ([moved], [g])
    for part, adjoint in zip(moves, adjoints, strict=True):
        if adjoint is not None and _is_on(trace, part, f"the jvp rule of {name}"):
            seeds[part.id] = seeds[part.id] + adjoint if part.id in seeds else adjoint
    if not seeds:
        return [None for _ in operands]
    gradients = iter(trace.pull_back(seeds))
    return [None if dummy is None else next(gradients) for dummy in dummies]


def _like(value: Any) -> Any:
    """Ones: rules that look for zeros, to save work or to divide safely, take the way that others take."""
    return np.ones(np.shape(value), np.result_type(value))[()]


def _is_on(trace: Trace, value: Any, rule: str) -> bool:
    """Whether a rule's result depends on what the rule is linear in; otherwise it can only be zero."""
    if isinstance(value, Handle) and value.trace_ref is trace.ref:
        return True
    if value is not None and np.any(plain_batch(value)):
        raise errors.UnsupportedError(
            f"{rule} returned {errors.describe(value)}, which does not depend on its first argument: it is "
            "not linear and has no transpose. Compute with that argument in NumPy calls, or declare both"
        )
    return False
