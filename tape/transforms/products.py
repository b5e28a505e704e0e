"""`hvp`, `gnvp` and `rop`: products of second derivatives and of Jacobians with vectors."""

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

__all__ = ["gnvp", "hvp", "rop"]


@derived
def hvp(f: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The Hessian of a function times a vector, without the Hessian: reverse over forward.

    It is how the gradient moves along the vector; in this sense there is one by complex arguments too.

    Parameters
    ----------
    f : callable
        Plain NumPy code that returns a scalar.
    argnums : int or tuple of int
        Which positional arguments to differentiate by.

    Returns
    -------
    callable
        ``(*args, v)``: the arguments of ``f``, and the vector in the structure of the differentiated
        one (a tuple if ``argnums`` is one). The product has that structure too.

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
            raise errors.ShapeError(f"hvp: call it with the arguments of {name_of(f)}, and the vector last")
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
    """The Gauss-Newton matrix of ``loss(f(x))`` times a vector: ``J.T @ H @ J @ v``.

    Parameters
    ----------
    f : callable
        Plain NumPy code, from a tree to a tree; J is its Jacobian.
    loss : callable, optional
        From what ``f`` returns to a scalar; H is its Hessian. By default half the sum of squares of
        absolute values, of which H is the identity.

    Returns
    -------
    callable
        ``(x, v)``, both of one structure, as is the product.

    Raises
    ------
    ShapeError, DTypeError, SeedError
        When called, as `jvp`; ShapeError too if ``loss`` returns no scalar.

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
            tangent = tree.restore(recording.out_structure, moved)
            moved, _ = tree.flatten(hvp(loss)(recording.value, tangent))
        else:  # of half the sum of abs(r)**2 the gradient by r is conj(r)
            moved = [ops.conj(t) if dtype_of(t).kind == "c" else t for t in moved]
        return recording.restore_args(recording.pull_back(moved))

    return product


def rop(f: Callable[[Any], Any], x: Any, v: Any, method: Literal["forward", "double_lop"] = "forward") -> Any:
    """The Jacobian of a function times a vector: by a forward sweep, or by two reverse sweeps.

    A reverse sweep computes ``Lop(w) = J.T @ w``, which is linear in w; a reverse sweep over that, for
    the derivative by w, computes ``J @ v``. The value of w drops out. ``examples/rop.md`` walks through it.

    Parameters
    ----------
    f : callable
        Plain NumPy code, from a tree to a tree.
    x : tree
        Where.
    v : tree
        The vector, in the structure and shapes of ``x``.
    method : {"forward", "double_lop"}
        How. The numbers are the same.

    Returns
    -------
    tree
        As ``f`` returns.

    Raises
    ------
    OptionError
        If there is no such method.
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
        raise errors.OptionError(f"method is 'forward' or 'double_lop', not {method!r}")
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
    return tree.restore(recording.out_structure, moved)
