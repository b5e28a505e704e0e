"""`jvp`, `linearize` and `directional_derivative`: forward sweeps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tape import errors, tree
from tape.core import forward
from tape.core.node import Handle
from tape.core.trace import Trace
from tape.transforms._derived import WithTape, derived
from tape.transforms._record import Recording, copied, name_of


def jvp(
    f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], *, has_aux: bool = False
) -> tuple[Any, ...]:
    """Compute the value of a function and its derivative along tangents: the Jacobian times a vector.

    Parameters
    ----------
    f : callable
        Plain NumPy code; arguments and result are trees.
    primals : tuple or list
        Its arguments: floats or complex numbers, arrays of these, or trees of them.
    tangents : tuple or list
        The tangent of each, in its structure and shapes.
    has_aux : bool
        Whether ``f`` returns a pair: the result to differentiate, and auxiliary data of any kind.

    Returns
    -------
    out : tree
        The result of ``f``.
    tangent : tree
        Its tangent, in its structure, shapes and dtypes.
    aux : Any
        The auxiliary data, with ``has_aux`` only.

    Raises
    ------
    DTypeError
        If a primal holds integers.
    ShapeError, SeedError
        If primals and tangents do not fit.

    Warns
    -----
    ConstantResultWarning
        If the result of ``f`` does not depend on the arguments; its derivative is zero.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.jvp(np.sin, (0.0,), (2.0,))
    (np.float64(0.0), np.float64(2.0))
    """
    recording = _recorded(f, primals, "jvp", has_aux=has_aux)
    moved = recording.push_forward(recording.tangents(tangents))
    tangent = tree.unflatten(recording.out_structure, moved)
    return (recording.value, tangent, recording.aux) if has_aux else (recording.value, tangent)


def linearize(f: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """Record a function once, for any number of products with its Jacobian.

    The forward sweep is itself recorded: values that do not depend on the tangents are computed once.

    Parameters
    ----------
    f : callable
        Plain NumPy code; arguments and result are trees.
    *primals : tree
        Its arguments: floats or complex numbers, arrays of these, or trees of them.

    Returns
    -------
    out : tree
        The result of ``f``.
    linear_map : callable
        ``linear_map(*tangents)`` returns its tangent, given a tangent for each of the primals.

    Raises
    ------
    DTypeError
        If a primal holds integers.
    ShapeError, SeedError
        By ``linear_map``, if the tangents do not fit.

    Examples
    --------
    >>> import numpy as np, tape
    >>> out, linear_map = tape.linearize(np.sin, 0.0)
    >>> float(linear_map(1.0)), float(linear_map(10.0))
    (1.0, 10.0)
    """
    recording = _recorded(f, copied(primals), "linearize")
    with Trace(f"linearize({name_of(f)})", strict=True) as linear, np.errstate(all="ignore"):
        dummies = [linear.param(np.zeros(p.shape, p.dtype)) for p in recording.params]
        moved = recording.push_forward(dummies)  # only what is linear in these is recorded
    is_moving = [isinstance(part, Handle) and part.trace_ref is linear.ref for part in moved]
    roots = [part.id for part, moves in zip(moved, is_moving, strict=True) if moves]
    recording.forget()
    forward.forget_values(linear.nodes)

    def linear_map(*tangents: Any) -> Any:
        checked = recording.tangents(tangents)
        linear.held.settle()
        leaves = {dummy.id: t for dummy, t in zip(dummies, checked, strict=True)}
        found = iter(forward.rerun(linear.nodes, leaves, roots, where=linear))
        parts = [next(found) if moves else copied(part) for part, moves in zip(moved, is_moving, strict=True)]
        return tree.unflatten(recording.out_structure, recording.owned(parts, checked))

    return recording.value, WithTape(linear_map, f"linearize({name_of(f)})")


@derived
def directional_derivative(f: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """Return a function that computes the derivative of ``f`` along a direction.

    Parameters
    ----------
    f : callable
        Plain NumPy code of one argument; argument and result are trees.

    Returns
    -------
    callable
        A function ``(x, direction)`` of two trees of one structure; it returns a tree like the result of
        ``f``.

    Raises
    ------
    ShapeError, DTypeError, SeedError
        When called, as `jvp`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> slope = tape.directional_derivative(lambda x: x[0] * x[1])
    >>> float(slope(np.array([2.0, 3.0]), np.array([1.0, 0.0])))
    3.0
    """

    def derivative(x: Any, direction: Any) -> Any:
        return pushed("directional_derivative", f, x, direction)

    return derivative


def pushed(transform: str, f: Callable[..., Any], x: Any, direction: Any) -> Any:
    """Return the tangent of a function of one argument; messages name the given transform."""
    recording = _recorded(f, (x,), transform)
    return tree.unflatten(recording.out_structure, recording.push_forward(recording.tangents((direction,))))


def _recorded(f: Callable[..., Any], primals: Any, transform: str, *, has_aux: bool = False) -> Recording:
    if not isinstance(primals, (tuple, list)):
        raise errors.ShapeError(
            f"{transform}: the primals are {errors.describe(primals)}. Give a tuple with one for each "
            "argument"
        )
    recording = Recording(transform, f, primals, argnums=tuple(range(len(primals))), has_aux=has_aux)
    recording.check_dtypes()
    return recording
