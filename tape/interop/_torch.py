"""Functions of tape as functions of PyTorch's tensors."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, update_wrapper
from typing import Any

from tape import errors, tree
from tape.core.streams import Noting
from tape.interop._flat import Pullbacks, Signature, is_inexact, of_its_own
from tape.program import compile
from tape.system.extras import need
from tape.transforms._record import name_of
from tape.transforms._returned import several_as_tuples


def to_torch(f: Callable[..., Any]) -> Callable[..., Any]:
    """Make NumPy code a function of PyTorch's tensors, which autograd differentiates.

    Parameters
    ----------
    f : callable
        NumPy code as `tape.compile` takes it. Arguments and result are trees.

    Returns
    -------
    callable
        Takes tensors on the CPU in place of arrays, and returns tensors. It runs compiled, and so does its
        derivative; the derivative is such a function, too, so that ``create_graph=True`` works to any order.
        Leaves that are no tensors are passed as they are.

    Raises
    ------
    UnsupportedError
        If PyTorch is not installed; by the function, if a tensor is on another device, or of a dtype that
        NumPy has not.

    Notes
    -----
    Gradients of complex numbers are those of PyTorch, the conjugates of tape's. ``torch.func`` needs rules
    for batches that this has not: use `tape.vmap` inside of ``f``.

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape.interop import to_torch
    >>> energy = to_torch(lambda x: np.sum(np.sin(x) ** 2))
    >>> import torch
    >>> x = torch.tensor([0.0, 1.0], requires_grad=True)
    >>> energy(x).backward()
    >>> x.grad
    tensor([0.0000, 0.9093])
    """
    torch = need("torch", "functions of tensors")
    run, function = compile(f), _function(torch)
    pullbacks = Pullbacks(f, lambda pull, places: to_torch(pull), is_conjugate=True)

    def call(*args: Any, **kwargs: Any) -> Any:
        signature = Signature(args, kwargs, lambda leaf: isinstance(leaf, torch.Tensor))
        for tensor in signature.arrays:
            if tensor.device.type != "cpu":
                raise errors.UnsupportedError(
                    f"a tensor on {tensor.device} cannot be computed with here. Pass tensor.cpu()"
                )
        state = _Call(run, pullbacks, signature)
        results = function.apply(state, *signature.arrays)
        return tree.unflatten(state.structure, list(results))

    return update_wrapper(call, f)


class _Call:
    """What a call of a function of tensors needs beside the tensors."""

    def __init__(self, run: Callable[..., Any], pullbacks: Pullbacks, signature: Signature) -> None:
        self.run = run
        self.pullbacks = pullbacks
        self.signature = signature
        self.structure: Any = None
        """That of the result, once it is there."""
        self.drawn = Noting(name_of(run))
        """The random numbers that the call draws, and its derivative draws again."""


@cache
def _function(torch: Any) -> Any:
    """Return the `torch.autograd.Function` of all calls."""

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, call: _Call, *tensors: Any) -> Any:
            ctx.call = call
            ctx.save_for_backward(*tensors)
            arrays = [_array(tensor) for tensor in tensors]
            args, kwargs = call.signature.filled(arrays)
            with call.drawn:
                leaves, call.structure = tree.flatten(several_as_tuples(call.run(*args, **kwargs)))
            results = [torch.from_numpy(of_its_own(leaf, arrays)) for leaf in leaves]
            ctx.is_inexact = [is_inexact(leaf) for leaf in leaves]
            ctx.mark_non_differentiable(
                *[out for out, inexact in zip(results, ctx.is_inexact, strict=True) if not inexact]
            )
            return tuple(results)

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            tensors = ctx.saved_tensors
            needed = ctx.needs_input_grad[1:]
            signature = ctx.call.signature
            places = tuple(
                [place for place, is_needed in zip(signature.places, needed, strict=True) if is_needed]
            )
            seeds = [g for g, inexact in zip(cotangents, ctx.is_inexact, strict=True) if inexact]
            with ctx.call.drawn.again():
                found = iter(ctx.call.pullbacks.of(places)(*signature.filled(tensors), seeds))
            return None, *[next(found) if is_needed else None for is_needed in needed]

    return Function


def _array(tensor: Any) -> Any:
    try:
        return tensor.detach().resolve_conj().resolve_neg().numpy()
    except TypeError as error:
        raise errors.UnsupportedError(f"{error}. Convert it, by tensor.to(torch.float32)") from error
