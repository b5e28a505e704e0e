"""`hvp`, `gnvp` and `rop`: products of Hessians, Gauss-Newton matrices and Jacobians with vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from tape import errors, ops, tree
from tape.core.node import Handle
from tape.core.trace import Trace
from tape.transforms._derived import derived
from tape.transforms._record import Argnums, Recording, check_callable, dtype_of, float_like, name_of
from tape.transforms.grad import gradient_of
from tape.transforms.jvp import pushed


@derived
def hvp(f: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """Return a function that multiplies the Hessian of ``f`` with a vector: reverse over forward.

    The product is the derivative of the gradient along the vector, also for complex arguments.

    Parameters
    ----------
    f : callable
        Plain NumPy code that returns a scalar.
    argnums : int or tuple of int
        The positional arguments to differentiate with respect to.

    Returns
    -------
    callable
        A function ``(*args, v)`` of the arguments of ``f`` and a vector in the structure of the
        differentiated one (a tuple if ``argnums`` is one). The product has that structure too.

    Raises
    ------
    ShapeError, DTypeError, OutOfBoundsError, SeedError
        As `grad` and `jvp`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.hvp(lambda x: np.sum(x**3))(np.array([1.0, 2.0]), np.array([1.0, 10.0]))
    array([  6., 120.])
    """

    def product(*args: Any, **kwargs: Any) -> Any:
        if not args:
            raise errors.ShapeError(f"hvp: pass the arguments of {name_of(f)}, and the vector last")
        *primals, v = args

        def slope(*primals: Any) -> Any:
            recording = Recording("hvp", f, primals, kwargs, argnums)
            recording.scalar()
            (moved,) = recording.push_forward(recording.tangents(v))
            return moved

        slope.__name__ = name_of(f)
        return gradient_of(slope, argnums, transform="hvp")(*primals)

    return product


@derived
def gnvp(f: Callable[[Any], Any], loss: Callable[[Any], Any] | None = None) -> Callable[[Any, Any], Any]:
    """Return a function that multiplies the Gauss-Newton matrix of ``loss(f(x))`` with a vector.

    The product is ``J.T @ H @ J @ v``.

    Parameters
    ----------
    f : callable
        Plain NumPy code, from a tree to a tree; J is its Jacobian.
    loss : callable, optional
        A function from the result of ``f`` to a scalar; H is its Hessian. By default half the sum of squared
        absolute values, whose Hessian is the identity.

    Returns
    -------
    callable
        A function ``(x, v)`` of two trees of one structure, which the product has too.

    Raises
    ------
    ShapeError, DTypeError, SeedError
        When called, as `jvp`; ShapeError too if ``loss`` does not return a scalar.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.gnvp(lambda x: x**2)(np.array([1.0, 2.0]), np.array([1.0, 1.0]))
    array([ 4., 16.])
    """
    if loss is not None:
        check_callable(loss, "gnvp")

    def product(x: Any, v: Any) -> Any:
        recording = Recording("gnvp", f, (x,))
        recording.check_dtypes()
        moved = recording.push_forward(recording.tangents(v))
        if loss is not None:
            tangent = tree.unflatten(recording.out_structure, moved)
            moved, _ = tree.flatten(hvp(loss)(recording.value, tangent))
        else:  # of half the sum of abs(r)**2 the gradient by r is conj(r)
            moved = [ops.conj(t) if dtype_of(t).kind == "c" else t for t in moved]
        return recording.restore_args(recording.pull_back(moved))

    return product


def rop(f: Callable[[Any], Any], x: Any, v: Any, method: Literal["forward", "double_lop"] = "forward") -> Any:
    """Multiply the Jacobian of a function with a vector: by a forward sweep, or by two reverse sweeps.

    A reverse sweep computes ``Lop(w) = J.T @ w``, which is linear in w; a reverse sweep over that, for
    the derivative by w, computes ``J @ v``. The value of w drops out. ``examples/rop.md`` walks through it.

    Parameters
    ----------
    f : callable
        Plain NumPy code, from a tree to a tree.
    x : tree
        The point.
    v : tree
        The vector, in the structure and shapes of ``x``.
    method : {"forward", "double_lop"}
        The method; both give the same numbers.

    Returns
    -------
    tree
        A tree like the result of ``f``.

    Raises
    ------
    OptionError
        If the method is unknown.
    ShapeError, DTypeError, SeedError
        As `jvp`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> x, v = np.array([0.0, 1.0]), np.array([1.0, 0.0])
    >>> tape.rop(np.sin, x, v), tape.rop(np.sin, x, v, method="double_lop")
    (array([1., 0.]), array([1., 0.]))
    """
    if method not in ("forward", "double_lop"):
        raise errors.OptionError(f"rop: method must be 'forward' or 'double_lop', not {method!r}")
    if method == "forward":
        return pushed("rop", f, x, v)
    recording = Recording("rop", f, (x,))
    recording.check_dtypes()
    values = [recording.plain(out) for out in recording.outs]
    with Trace("w", strict=True) as trace:
        dummies = [trace.param(np.zeros(np.shape(value), float_like(value))) for value in values]
        pulled = recording.pull_back(dummies)
    pairs = zip(pulled, recording.tangents(v), strict=True)
    seeds = {lop.id: t for lop, t in pairs if isinstance(lop, Handle) and lop.trace_ref is trace.ref}
    pairs = zip(trace.pull_back(seeds), values, strict=True)
    moved = [np.zeros(np.shape(value), float_like(value))[()] if r is None else r for r, value in pairs]
    return tree.unflatten(recording.out_structure, moved)
