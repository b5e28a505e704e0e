"""Functions of tape as functions of JAX's arrays, by callbacks."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any

import numpy as np

from tape import errors, tree
from tape.core.streams import without_draws
from tape.interop._flat import Pullbacks, Signature, at_ones, leaves_of
from tape.program import compile
from tape.system.extras import need


def to_jax(f: Callable[..., Any], like: Any = None) -> Callable[..., Any]:
    """Make NumPy code a function of JAX's arrays, which ``jax.grad`` differentiates and ``jax.jit`` takes.

    Parameters
    ----------
    f : callable
        NumPy code as `tape.compile` takes it, without side effects. Arguments and result are trees.
    like : tree, optional
        Arrays, or ``jax.ShapeDtypeStruct``, of the shapes and dtypes of the result. By default ``f`` is
        called with ones to find them out, once for each kind of arguments.

    Returns
    -------
    callable
        Takes JAX's arrays in place of NumPy's; other leaves are passed as they are. A call is a
        ``jax.pure_callback`` on the CPU: it runs compiled, and so does its derivative, by the reverse mode to
        any order. ``jax.vmap`` runs it for one example after the other.

    Raises
    ------
    UnsupportedError
        If JAX is not installed; by the function, if ``f`` fails at ones and ``like`` is not given; by its
        derivative, if ``f`` draws random numbers, which would be others then.
    ConversionError
        By the function, if a result has another structure, shape or kind of numbers than at ones or in
        ``like``; JAX raises an error of its own with this message.

    Notes
    -----
    Without ``jax_enable_x64`` JAX has no float64, and results are rounded to float32.

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape.interop import to_jax
    >>> import jax
    >>> energy = to_jax(lambda x: np.sum(np.sin(x) ** 2))
    >>> jax.jit(jax.grad(energy))(jax.numpy.array([0.0, 1.0]))
    Array([0.       , 0.9092974], dtype=float32)
    """
    jax = need("jax", "functions of JAX arrays")
    known: dict[Any, Any] = {}

    def shapes_of(signature: Signature) -> Any:
        if like is not None:
            return like
        kinds = tuple((array.shape, array.dtype) for array in signature.arrays)
        key = None if signature.key is None else (signature.key, kinds)
        if key is not None and key in known:
            return known[key]
        example = at_ones(f, signature, kinds)
        shapes = tree.map(lambda leaf: jax.ShapeDtypeStruct(np.shape(leaf), np.result_type(leaf)), example)
        return shapes if key is None else known.setdefault(key, shapes)

    return update_wrapper(_called_back(jax, f, shapes_of), f)


def _called_back(
    jax: Any, f: Callable[..., Any], shapes_of: Callable[[Signature], Any]
) -> Callable[..., Any]:
    """Return a function of JAX's arrays, given the shapes and dtypes of its results."""
    run = compile(f)

    def wrapped(pull: Callable[..., Any], places: tuple[int, ...]) -> Callable[..., Any]:
        """A gradient has the shape and dtype of what it is by, and these come first among all arrays."""

        def shapes(signature: Signature) -> Any:
            of = dict(zip(signature.places, signature.arrays, strict=True))
            return [jax.ShapeDtypeStruct(of[place].shape, of[place].dtype) for place in places]

        return _called_back(jax, without_draws(pull, "the derivative of a function of JAX arrays"), shapes)

    pullbacks = Pullbacks(f, wrapped, is_conjugate=False)

    def call(*args: Any, **kwargs: Any) -> Any:
        signature = Signature(args, kwargs, lambda leaf: isinstance(leaf, jax.Array))
        signature.arrays = [jax.numpy.asarray(array) for array in signature.arrays]  # with shapes and dtypes
        leaves, structure = tree.flatten(shapes_of(signature))
        outs = [
            jax.ShapeDtypeStruct(leaf.shape, jax.dtypes.canonicalize_dtype(leaf.dtype)) for leaf in leaves
        ]

        def computed(*arrays: Any) -> list[np.ndarray]:
            given, keywords = signature.filled([np.array(array) for array in arrays])
            results = leaves_of(run(*given, **keywords), structure)
            return [_converted(result, out) for result, out in zip(results, outs, strict=True)]

        @jax.custom_vjp
        def called(*arrays: Any) -> Any:
            return jax.pure_callback(computed, outs, *arrays, vmap_method="sequential")

        def forward(*arrays: Any) -> Any:
            return called(*arrays), arrays

        def backward(arrays: Any, cotangents: Any) -> Any:
            moving = [k for k, array in enumerate(arrays) if array.dtype.kind in "fc"]
            seeds = [g for g, out in zip(cotangents, outs, strict=True) if out.dtype.kind in "fc"]
            pull = pullbacks.of(tuple([signature.places[k] for k in moving]))
            found = dict(zip(moving, pull(*signature.filled(arrays), seeds), strict=True))
            zeros = [np.zeros(array.shape, jax.dtypes.float0) for array in arrays]
            return tuple(found.get(k, zero) for k, zero in enumerate(zeros))

        called.defvjp(forward, backward)
        return tree.unflatten(structure, called(*signature.arrays))

    return call


def _converted(result: Any, out: Any) -> np.ndarray:
    """Return a result in the dtype that JAX expects, of the same kind or a wider one."""
    array = np.asarray(result)
    if array.shape != out.shape or not np.can_cast(array.dtype, out.dtype, "same_kind"):
        raise errors.ConversionError(
            f"a result is {errors.describe(array)}, where {out.dtype}{list(out.shape)} was expected, as at "
            "ones or in like=. Return the same shapes and dtypes for all data, or pass like="
        )
    return array.astype(out.dtype, copy=False)
