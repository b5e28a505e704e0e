"""Clipping of gradients, by value and by norm: pure functions on trees, eager and in programs."""

from __future__ import annotations

from typing import Any

import numpy as np

from tape import errors, tree
from tape.core.nesting import batch_below, traced
from tape.optim import _checks


def clip_by_value(grads: Any, limit: float) -> Any:
    """Return gradients with every element between ``-limit`` and ``limit``.

    Parameters
    ----------
    grads : tree of numpy.ndarray or Var
        Floats of any shapes; dtypes are kept.
    limit : float
        Zero or positive.

    Returns
    -------
    tree
        NaN stays NaN.

    Raises
    ------
    OptionError
        If ``limit`` is out of range.
    DTypeError
        If a gradient is complex.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.optim.clip_by_value({"w": np.array([-3.0, 0.5])}, 1.0)
    {'w': array([-1. ,  0.5])}
    """
    limit = _checks.setting("limit", limit)
    if any(np.iscomplexobj(leaf) for leaf in tree.leaves(grads)):
        raise errors.DTypeError(
            "clip_by_value takes real gradients: complex numbers have no order. Use clip_by_global_norm"
        )
    return tree.map(lambda g: np.clip(g, -limit, limit), grads)


def clip_by_global_norm(grads: Any, max_norm: float) -> tuple[Any, Any]:
    """Scale all gradients by one factor, so that the norm of all elements is at most ``max_norm``.

    Parameters
    ----------
    grads : tree of numpy.ndarray or Var
        Floats or complex numbers of any shapes; dtypes are kept.
    max_norm : float
        Zero or positive.

    Returns
    -------
    grads : tree
        The gradients themselves if their norm is not above ``max_norm``.
    norm : float or Var
        Their Euclidean norm before, in float64, where small elements of float32 do not vanish.

    Raises
    ------
    NonFiniteError
        If the norm is NaN or infinite, where every scaled gradient would be NaN or zero; in compiled
        functions and loops too. Inside `tape.vmap`, if that of any example is.
    OptionError
        If ``max_norm`` is out of range.

    Notes
    -----
    Inside `tape.vmap` the gradients of each example are scaled by a factor of their own, as differentially
    private training does.

    Examples
    --------
    >>> import numpy as np, tape
    >>> grads, norm = tape.optim.clip_by_global_norm([np.array([3.0]), np.array([4.0])], 1.0)
    >>> grads, float(norm)
    ([array([0.6]), array([0.8])], 5.0)
    """
    max_norm = _checks.setting("max_norm", max_norm)
    leaves = tree.leaves(grads)
    if not leaves:
        raise errors.TapeError("the tree of gradients is empty. Pass at least one array")
    wide = [
        np.asarray(leaf)
        if type(leaf) in (float, complex)
        else leaf.astype(np.complex128 if leaf.dtype.kind == "c" else np.float64)
        for leaf in leaves
    ]
    total = sum(np.sum(np.square(part)) for leaf in wide for part in _parts(leaf))
    is_some = total > 0  # the derivative is 0 where all gradients are, as that of `np.linalg.norm`
    norm = np.where(is_some, np.sqrt(np.where(is_some, total, 1.0)), total)[()]
    _check_finite(norm)
    is_above = norm > max_norm
    factor = np.where(is_above, max_norm / np.where(is_above, norm, 1.0), 1.0)
    return tree.map(lambda g: g * factor.astype(np.result_type(g)), grads), norm


def _parts(leaf: Any) -> list[Any]:
    """Return an array, or the real and imaginary part of one."""
    return [np.real(leaf), np.imag(leaf)] if leaf.dtype.kind == "c" else [leaf]


def _check_finite(norm: Any) -> None:
    """Raise if a norm, or that of any example of a batch, is not finite."""
    if batch_below(norm) is None:
        is_finite = np.isfinite(norm)
    else:  # no example can raise alone
        norm = traced(norm)
        is_finite = np.all(np.isfinite(norm))
    if not is_finite:
        raise errors.NonFiniteError(
            f"the norm of the gradients is {norm}. Skip the step, or find the cause with tape.find_nonfinite"
        )
