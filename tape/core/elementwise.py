"""Declaring elementwise operations, which are most of all: a forward function and its partial derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tape import errors
from tape.core import batch_rules, pattern_rules, series
from tape.core.node import Handle
from tape.core.op import Op
from tape.core.pattern_rules import PatternRule
from tape.core.record import recorder_of
from tape.kernels.fused import fused


def elementwise(
    forward: Callable[..., Any],
    *partials: Callable[..., Any] | None,
    taylor: Callable[..., Any] | None = None,
    lower: Callable[..., Any] | None = None,
    name: str | None = None,
    numpy: Callable[..., Any] | None = None,
    doc: str | None = None,
    view: Callable[..., Any] | None = None,
    pattern: PatternRule = pattern_rules.elementwise,
) -> Callable[..., Any]:
    """Declare an elementwise operation, with broadcasting.

    Parameters
    ----------
    forward : callable
        On plain arrays; a ufunc is its own NumPy counterpart.
    *partials : callable
        ``rule(d, out, *operands)`` for each operand: the derivative ``d`` (a tangent of the operand,
        or an adjoint of the result) times the partial derivative; None for an operand without one.
        Rules are written with operations. What a rule adds to an operand is summed over the axes
        that were broadcast. No rules at all, or none but None: the derivative is zero almost everywhere.
    taylor, lower, name, numpy, doc, view, pattern
        As for `Op`; a ufunc is its own ``lower`` rule.

    Returns
    -------
    callable
        A function of the operands. Its attribute ``op`` is the `Op`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape.core.elementwise import elementwise
    >>> cube = elementwise(lambda x: x**3, lambda d, out, x: d * 3 * x * x, name="cube")
    >>> tr = tape.Trace()
    >>> tr.backward_param_grads(cube(tr.param(1.0)))
    [array(3.)]
    """
    ufunc = forward if isinstance(forward, np.ufunc) else None
    if ufunc is not None and partials and len(partials) != ufunc.nin:
        raise errors.OptionError(
            f"{ufunc.__name__} has {ufunc.nin} operands and {len(partials)} partials. Give one for "
            "each, None for an operand without one"
        )
    rules = partials if any(partials) else None
    counterpart = numpy if isinstance(numpy, np.ufunc) else ufunc
    if lower is None and counterpart is not None:
        lower = _lower_ufunc(counterpart.__name__)
    op = Op(
        forward,
        vjp=rules,
        jvp=rules,
        taylor=taylor,
        batch=batch_rules.elementwise,
        pattern=pattern,
        lower=lower,
        name=name,
        doc=doc,
        view=view,
        widens=True,
    )
    return recorder_of(op, ufunc.nin if ufunc else len(partials), numpy or ufunc)


def fused_elementwise(body: Callable[[Any, Any], Any], *partials: Any) -> Callable[[Any, Any], Any]:
    """Elementwise arithmetic of two operands, linear in the first, in one pass; one node on a tape.

    Parameters
    ----------
    body : callable
        As for `tape.kernels.fused.fused`.
    *partials : callable
        As for `elementwise`.

    Returns
    -------
    callable
        A function of two operands.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.core.elementwise import fused_elementwise
    >>> def shrunk(x, y):
    ...     return x - x * y
    >>> shrink = fused_elementwise(shrunk, lambda d, out, x, y: shrink(d, y), lambda d, out, x, y: -(d * x))
    >>> shrink(np.array([2.0]), np.array([0.25]))
    array([1.5])
    """

    def otherwise(x: Any, y: Any) -> Any:
        return record(x, y) if isinstance(x, Handle) or isinstance(y, Handle) else body(x, y)

    call = fused(body, otherwise)
    rule = series.of_body(body)
    record = elementwise(
        call,
        *partials,
        taylor=rule,
        lower=lambda b, x, y: body(x, y),
        name=body.__name__.strip("_"),
        pattern=pattern_rules.scalings,
    )
    return call


def _lower_ufunc(name: str) -> Callable[..., Any]:
    return lambda b, *operands: b.elementwise(name, *operands)
