"""Functions of tape as functions of PyTensor's variables, for models of PyMC."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, update_wrapper
from typing import Any

import numpy as np

from tape import errors, tree
from tape.core.streams import without_draws
from tape.interop._flat import Pullbacks, Signature, at_ones, leaves_of, of_its_own
from tape.program import compile
from tape.system.extras import need

_UNKNOWN = 2
"""The length of axes that PyTensor does not know, where shapes are tried out."""


def to_pytensor(f: Callable[..., Any], like: Any = None) -> Callable[..., Any]:
    """Make NumPy code a function of PyTensor's variables, which ``pytensor.grad`` differentiates.

    Parameters
    ----------
    f : callable
        NumPy code as `tape.compile` takes it, without side effects. Arguments and result are trees.
    like : tree, optional
        Arrays of the dtypes and numbers of axes of the result. By default ``f`` is called with ones to find
        them out.

    Returns
    -------
    callable
        Takes PyTensor's variables in place of arrays, other leaves as they are; returns variables. It runs
        compiled, and so does its derivative, by the reverse mode to any order. In a model of PyMC it stands
        wherever an expression does, with ``pymc.Potential`` as a log-density.

    Raises
    ------
    UnsupportedError
        If PyTensor is not installed; by the function, if ``f`` fails at ones and ``like`` is not given, or if
        a variable is complex.
    ConversionError
        When PyTensor runs it: if a result has another dtype or number of axes than ``like``, or than at ones.

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape.interop import to_pytensor
    >>> energy = to_pytensor(lambda x: np.sum(np.sin(x) ** 2))
    >>> import pytensor, pytensor.tensor as pt
    >>> x = pt.dvector()
    >>> gradient = pytensor.function([x], pytensor.grad(energy(x), x))  # doctest: +SKIP
    >>> gradient([0.0, 1.0])  # doctest: +SKIP
    array([0.        , 0.90929743])
    """
    pt = need("pytensor.tensor", "functions of PyTensor variables")

    def types_of(signature: Signature) -> Any:
        example = like
        if like is None:
            kinds = [
                (tuple(_UNKNOWN if n is None else n for n in variable.type.shape), variable.type.dtype)
                for variable in signature.arrays
            ]
            example = at_ones(f, signature, kinds)
        return tree.map(lambda leaf: pt.TensorType(np.result_type(leaf), (None,) * np.ndim(leaf)), example)

    return update_wrapper(_called(pt, f, types_of), f)


def _called(pt: Any, f: Callable[..., Any], types_of: Callable[[Signature], Any]) -> Callable[..., Any]:
    """Return a function of PyTensor's variables, given the types of its results."""
    run = compile(f)

    def wrapped(pull: Callable[..., Any], places: tuple[int, ...]) -> Callable[..., Any]:
        """A gradient has the type of what it is by, and these come first among all variables."""

        def types(signature: Signature) -> Any:
            of = dict(zip(signature.places, signature.arrays, strict=True))
            return [of[place].type.clone(shape=(None,) * of[place].type.ndim) for place in places]

        return _called(pt, without_draws(pull, "the derivative of a function of PyTensor variables"), types)

    pullbacks = Pullbacks(f, wrapped, is_conjugate=False)

    def call(*args: Any, **kwargs: Any) -> Any:
        signature = Signature(args, kwargs, lambda leaf: isinstance(leaf, pt.variable.Variable))
        signature.arrays = [pt.as_tensor_variable(variable) for variable in signature.arrays]
        for variable in signature.arrays:
            if np.dtype(variable.type.dtype).kind == "c":
                raise errors.UnsupportedError(
                    f"{variable} is {variable.type}, and gradients of complex variables are not defined in "
                    "PyTensor. Pass real and imaginary parts"
                )
        types, structure = tree.flatten(types_of(signature))
        if not signature.arrays:
            raise errors.ConversionError(
                f"{getattr(f, '__name__', 'a function')} got no variable of PyTensor's. Call it as it is"
            )
        op = _op(pt)(run, pullbacks, signature, types, structure)
        return tree.unflatten(structure, op(*signature.arrays, return_list=True))

    return call


@cache
def _op(pt: Any) -> Any:
    """Return the class of PyTensor's operations that call functions of tape."""
    graph = need("pytensor.graph.basic", "functions of PyTensor variables")
    gradient = need("pytensor.gradient", "functions of PyTensor variables")
    base = need("pytensor.graph.op", "functions of PyTensor variables").Op

    def is_float(variable: Any) -> bool:
        return np.dtype(variable.type.dtype).kind == "f"

    class TapeCall(base):  # type: ignore[misc, valid-type]
        """A call of a function of tape, of arrays that are variables."""

        def __init__(
            self,
            run: Callable[..., Any],
            pullbacks: Pullbacks,
            signature: Signature,
            types: list[Any],
            structure: Any,
        ) -> None:
            self.run = run
            self.pullbacks = pullbacks
            self.signature = signature
            self.types = types
            self.structure = structure

        def make_node(self, *variables: Any) -> Any:
            return graph.Apply(self, list(variables), [each() for each in self.types])

        def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
            arrays = [np.asarray(x) for x in inputs]
            args, kwargs = self.signature.filled(arrays)
            results = leaves_of(self.run(*args, **kwargs), self.structure)
            for storage, kind, result in zip(output_storage, self.types, results, strict=True):
                array = of_its_own(result, arrays)
                if array.dtype != kind.dtype or array.ndim != kind.ndim:
                    raise errors.ConversionError(
                        f"a result is {errors.describe(array)}, where {kind} was expected. Pass like="
                    )
                storage[0] = array

        def connection_pattern(self, node: Any) -> list[list[bool]]:
            return [[is_float(x) and is_float(out) for out in node.outputs] for x in node.inputs]

        def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
            moving = [k for k, x in enumerate(inputs) if is_float(x)]
            seeds = [
                pt.zeros_like(out) if isinstance(g.type, gradient.DisconnectedType) else g
                for out, g in zip(outputs, cotangents, strict=True)
                if is_float(out)
            ]
            pull = self.pullbacks.of(tuple([self.signature.places[k] for k in moving]))
            found = dict(zip(moving, pull(*self.signature.filled(inputs), seeds), strict=True))
            return [found.get(k, gradient.DisconnectedType()()) for k in range(len(inputs))]

        L_op = pullback  # as PyTensor 2 calls it

    return TapeCall
