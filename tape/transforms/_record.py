"""A function recorded on a trace of its own: what all transforms start from.

Arguments and results are trees. Each leaf of a differentiated argument becomes a param; sweeps take
and return lists of leaves.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tape import errors, scope, tree
from tape.checks import check_cotangent
from tape.node import Handle
from tape.trace import Trace

__all__ = ["Recording", "name_of"]

Argnums = int | Sequence[int]


def name_of(f: Callable[..., Any]) -> str:
    """What to call a function in a message."""
    return getattr(f, "__name__", None) or repr(f)


class Recording:
    """One call of a function, on a tape.

    Parameters
    ----------
    f : callable
        The function.
    args : sequence
        Its positional arguments.
    kwargs : dict, optional
        Its keyword arguments; they are not differentiated.
    argnums : int or sequence of int
        The positions of the arguments to differentiate by: trees of floats.
    has_aux : bool
        Whether ``f`` returns a pair, of which the second part is passed on as it is.

    Attributes
    ----------
    trace : Trace
    params : list of Var
        The leaves of the differentiated arguments, argument by argument.
    outs : list
        The leaves of the result: Vars of the trace, or whatever does not depend on the params.
    out_structure
        That of the result.
    aux : Any
        The second part of what ``f`` returned, without Vars of the trace.
    """

    def __init__(
        self,
        f: Callable[..., Any],
        args: Sequence[Any],
        kwargs: dict[str, Any] | None = None,
        argnums: Argnums = 0,
        *,
        has_aux: bool = False,
    ) -> None:
        self.name = name_of(f)
        self.is_single = not isinstance(argnums, (tuple, list))
        self.structures: list[Any] = []
        self.leaf_names: list[str] = []
        self.params: list[Any] = []
        self.aux = None
        arguments = list(args)
        with Trace(self.name) as self.trace:
            for argnum in [argnums] if self.is_single else argnums:  # type: ignore[union-attr]
                position = self._position(argnum, len(arguments))
                arguments[position] = self._params_from(arguments[position], position)
            out = f(*arguments, **(kwargs or {}))
            if has_aux:
                out = self._without_aux(out)
        self.outs, self.out_structure = tree.flatten(out)
        resolve = scope.resolve
        self.outs = [resolve(out) for out in self.outs]

    # ---- what was recorded ---------------------------------------------------------------------

    @property
    def value(self) -> Any:
        """The result of the function, as if nothing had been recorded."""
        return tree.restore(self.out_structure, [self.plain(out) for out in self.outs])

    def plain(self, leaf: Any) -> Any:
        """A leaf without this trace: its value, or a Var of an enclosing trace."""
        is_ours = isinstance(leaf, Handle) and leaf.trace_ref is self.trace.ref
        return leaf.node.value if is_ours else leaf

    def is_recorded(self, leaf: Any) -> bool:
        """Whether a leaf of the result is on the trace, after a warning if it is not."""
        if isinstance(leaf, Handle) and leaf.trace_ref is self.trace.ref:
            return True
        (where,) = [n for n, out in zip(self._out_names(), self.outs, strict=True) if out is leaf][:1]
        warnings.warn(
            f"{where} is {errors.describe(leaf)}, which does not depend on what {self.name} is "
            "differentiated by: its derivative is zero. If it should depend on it, see that it is computed "
            f"with NumPy calls or tape.ops from the arguments [at {errors.user_place()}]",
            errors.ConstantResultWarning,
            stacklevel=errors.user_depth(),
        )
        return False

    def scalar(self, transform: str) -> Any:
        """The one scalar that the function returned."""
        if self.out_structure is not tree.LEAF:
            raise errors.ShapeError(
                f"{transform}: {self.name} returned {self.out_structure}. It must return one scalar; if "
                "the rest is extra output, return a pair with has_aux=True; otherwise use tape.jacobian "
                "or tape.vjp"
            )
        (out,) = self.outs
        if np.shape(out) != ():
            raise errors.ShapeError(
                f"{transform}: {self.name} returned {errors.describe(out)}, not a scalar. Sum it, or use "
                "tape.jacobian, tape.vjp or tape.elementwise_grad"
            )
        self._check_dtype(out, transform)
        return out

    def check_dtypes(self, transform: str) -> None:
        """See that all of the result on the trace are floats."""
        for out in self.outs:
            self._check_dtype(out, transform)

    # ---- sweeps ----------------------------------------------------------------------------------

    def pull_back(self, cotangents: Sequence[Any]) -> list[Any]:
        """The gradients by all params, given an adjoint for every leaf of the result, or None."""
        seeds: dict[int, Any] = {}
        for out, cotangent in zip(self.outs, cotangents, strict=True):
            if cotangent is not None and self.is_recorded(out):
                seeds[out.id] = seeds[out.id] + cotangent if out.id in seeds else cotangent
        gradients = self.trace.pull_back(seeds)
        return [self._as(g, p.node.value) for g, p in zip(gradients, self.params, strict=True)]

    def push_forward(self, tangents: Sequence[Any]) -> list[Any]:
        """The tangents of all leaves of the result, given one for every param, or None."""
        seeds = {p.id: t for p, t in zip(self.params, tangents, strict=True) if t is not None}
        roots = [out.id if self.is_recorded(out) else None for out in self.outs]
        moved = iter(self.trace.push_forward(seeds, [root for root in roots if root is not None]))
        return [
            self._as(None if root is None else next(moved), self.plain(out))
            for root, out in zip(roots, self.outs, strict=True)
        ]

    def _as(self, derivative: Any, value: Any) -> Any:
        """A derivative as the value it is for: zeros if None; on the trace of a Var; a scalar if that is."""
        if isinstance(derivative, Handle):
            return derivative
        if derivative is None:
            derivative = np.zeros(np.shape(value), _float_dtype(value))
        if isinstance(value, Handle):
            return beside(value, derivative)
        if isinstance(value, np.ndarray):
            return np.array(derivative) if derivative is value else np.asarray(derivative)
        return derivative[()]

    # ---- trees -------------------------------------------------------------------------------------

    def restore_args(self, leaves: Sequence[Any]) -> Any:
        """A list with something for every param, as the arguments: a tuple if argnums are several."""
        parts, start = [], 0
        for structure in self.structures:
            stop = start + (1 if structure is tree.LEAF else structure.num_leaves)
            parts.append(tree.restore(structure, leaves[start:stop]))
            start = stop
        return parts[0] if self.is_single else tuple(parts)

    def tangents(self, given: Any, what: str = "tangent") -> list[Any]:
        """Checked tangents: one tree for each differentiated argument."""
        parts = [given] if self.is_single else given
        if not isinstance(parts, (tuple, list)) or len(parts) != len(self.structures):
            raise errors.ShapeError(
                f"{self.name} is differentiated by {len(self.structures)} arguments, and got "
                f"{errors.describe(parts)} as their {what}s. Give a tuple with one for each"
            )
        leaves: list[Any] = []
        for part, structure in zip(parts, self.structures, strict=True):
            flat, given_structure = tree.flatten(part)
            if given_structure != structure:
                raise errors.ShapeError(
                    f"the {what} is a tree {given_structure}, and the argument it is for {structure}. "
                    "Give both the same structure"
                )
            leaves += flat
        return [
            check_cotangent(self.trace, leaf, param.node.value, f"the {what} for {name}")
            for leaf, param, name in zip(leaves, self.params, self.leaf_names, strict=True)
        ]

    def cotangents(self, given: Any) -> list[Any]:
        """Checked cotangents: one tree, as the result."""
        leaves, structure = tree.flatten(given)
        if structure != self.out_structure:
            raise errors.ShapeError(
                f"the cotangent is a tree {structure}, and {self.name} returned {self.out_structure}. "
                "Give both the same structure"
            )
        return [
            check_cotangent(self.trace, leaf, self.plain(out), f"the cotangent for {name}")
            if isinstance(out, Handle)
            else leaf
            for leaf, out, name in zip(leaves, self.outs, self._out_names(), strict=True)
        ]

    # ---- helpers -----------------------------------------------------------------------------------

    def _position(self, argnum: Any, count: int) -> int:
        if isinstance(argnum, bool) or not isinstance(argnum, (int, np.integer)):
            raise errors.OptionError(f"argnums is {argnum!r}. It is an int, or a tuple of ints")
        if not -count <= argnum < count:
            raise errors.OutOfBoundsError(
                f"argnums is {argnum}, and {self.name} was called with {count} positional "
                f"argument{'' if count == 1 else 's'}. They are counted from 0; keyword arguments are "
                "not differentiated"
            )
        return int(argnum) % count

    def _params_from(self, argument: Any, position: int) -> Any:
        leaves, structure = tree.flatten(argument)
        root = f"argument {position} of {self.name}"
        names = tree.names(structure, root) if structure is not tree.LEAF else [root]
        params = []
        for leaf, name in zip(leaves, names, strict=True):
            if isinstance(leaf, Handle):
                leaf = scope.resolve(leaf)
            if type(leaf) is not float and getattr(leaf, "dtype", np.dtype("O")).kind != "f":
                leaf = _as_floats(leaf, name)
            params.append(self.trace.param(leaf))
        self.structures.append(structure)
        self.leaf_names += names
        self.params += params
        return tree.restore(structure, params)

    def _without_aux(self, out: Any) -> Any:
        if not isinstance(out, tuple) or len(out) != 2:
            raise errors.ShapeError(
                f"{self.name} returned {errors.describe(out)}. With has_aux=True it must return a pair: "
                "what is differentiated, and what comes along"
            )
        self.aux = tree.map_leaves(self.plain, out[1])
        return out[0]

    def _out_names(self) -> list[str]:
        root = f"the result of {self.name}"
        return tree.names(self.out_structure, root)

    def _check_dtype(self, out: Any, transform: str) -> None:
        if isinstance(out, Handle) and out.dtype.kind != "f":  # type: ignore[attr-defined]
            raise errors.DTypeError(
                f"{transform}: {self.name} returned {errors.describe(out)}, which has no derivative. "
                "Return floats, or pass this on with has_aux=True"
            )


def beside(value: Any, derivative: Any) -> Any:
    """A derivative at a Var is a Var of the same trace, even where it is constant."""
    if not isinstance(value, Handle) or isinstance(derivative, Handle):
        return derivative
    if scope.region_above(value.trace.level):
        return derivative
    return value.trace.input(derivative)  # type: ignore[attr-defined]


def _as_floats(leaf: Any, name: str) -> Any:
    """A leaf that is neither a Python float nor a float array, if it holds floats all the same."""
    try:
        array = np.asarray(leaf)
    except ValueError as error:
        raise errors.ShapeError(f"{name} is no regular array: {error}") from error
    if array.dtype.kind != "f":
        raise errors.DTypeError(
            f"{name} is {errors.describe(leaf)}. Derivatives are by floats: convert it, e.g. "
            "np.asarray(value, dtype=float), or differentiate by another argument with argnums"
        )
    return array if array.ndim else array[()]


def _float_dtype(value: Any) -> Any:
    dtype = np.result_type(value)
    return dtype if dtype.kind == "f" else np.float64
