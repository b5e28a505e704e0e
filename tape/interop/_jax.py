"""Functions of tape as functions of JAX's arrays, by callbacks."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any

import numpy as np

from tape import errors, tree
from tape.interop._flat import Pullbacks, Signature
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
        If JAX is not installed; by the function, if ``f`` fails at ones and ``like`` is not given.

    Notes
    -----
    Without ``jax_enable_x64`` JAX has no float64, and results are rounded to float32.

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape.interop import to_jax
    >>> import jax  # doctest: +SKIP
    >>> energy = to_jax(lambda x: np.sum(np.sin(x) ** 2))  # doctest: +SKIP
    >>> jax.jit(jax.grad(energy))(jax.numpy.array([0.0, 1.0]))  # doctest: +SKIP
    Array([0.       , 0.9092974], dtype=float32)
    """
    jax = need("jax", "functions of JAX arrays")
    run, pullbacks = compile(f), Pullbacks(f, is_conjugate=False)
    shapes: dict[Any, Any] = {}

    def specification(signature: Signature) -> tuple[list[Any], Any]:
        """Return the shapes and dtypes of the leaves of a result, and its structure."""
        kinds = tuple((array.shape, array.dtype) for array in signature.arrays)
        key = (signature.key, kinds) if signature.key is not None else None
        if key is not None and key in shapes:
            return shapes[key]
        example = like
        if like is None:
            args, kwargs = signature.filled([np.ones(shape, dtype) for shape, dtype in kinds])
            try:
                example = f(*args, **kwargs)
            except Exception as error:
                raise errors.UnsupportedError(
                    f"{getattr(f, '__name__', 'a function')} fails at ones, which were to tell the shapes "
                    f"of its result: {error}. Pass like="
                ) from error
        leaves, structure = tree.flatten(example)
        found = (
            [
                jax.ShapeDtypeStruct(
                    np.shape(leaf),
                    jax.dtypes.canonicalize_dtype(getattr(leaf, "dtype", None) or np.result_type(leaf)),
                )
                for leaf in leaves
            ],
            structure,
        )
        if key is not None:
            shapes[key] = found
        return found

    def call(*args: Any, **kwargs: Any) -> Any:
        signature = Signature(args, kwargs, lambda leaf: isinstance(leaf, jax.Array))
        signature.arrays = [jax.numpy.asarray(array) for array in signature.arrays]  # with shapes and dtypes
        outs, structure = specification(signature)

        def computed(*arrays: Any) -> list[np.ndarray]:
            given, keywords = signature.filled([np.array(array) for array in arrays])
            leaves = tree.flatten(run(*given, **keywords))[0]
            return [np.asarray(leaf, out.dtype) for leaf, out in zip(leaves, outs, strict=True)]

        @jax.custom_vjp
        def called(*arrays: Any) -> Any:
            return jax.pure_callback(computed, outs, *arrays, vmap_method="sequential")

        def forward(*arrays: Any) -> Any:
            return called(*arrays), arrays

        def backward(arrays: Any, cotangents: Any) -> Any:
            wrt = tuple(k for k, array in enumerate(arrays) if array.dtype.kind in "fc")
            seeds = [g for g, out in zip(cotangents, outs, strict=True) if out.dtype.kind in "fc"]
            moving = [jax.ShapeDtypeStruct(arrays[k].shape, arrays[k].dtype) for k in wrt]
            pull = to_jax(pullbacks.of(signature, wrt), like=moving)
            found = dict(zip(wrt, pull(list(arrays), seeds), strict=True))
            zeros = [np.zeros(array.shape, jax.dtypes.float0) for array in arrays]
            return tuple(found.get(k, zero) for k, zero in enumerate(zeros))

        called.defvjp(forward, backward)
        return tree.unflatten(structure, called(*signature.arrays))

    return update_wrapper(call, f)
