"""A function recorded on a trace of its own, from which all transforms start.

Arguments and results are trees. Each leaf of a differentiated argument becomes a param; sweeps take
and return lists of leaves.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from tape import errors, tree
from tape.conversion.foreign import complaint
from tape.core.cotangents import check_cotangent
from tape.core.dispatch import interceptor, lift, recorder, resolve
from tape.core.interpreter import OPEN
from tape.core.node import Handle, snapshot
from tape.core.trace import Trace
from tape.ops.structure.layout import in_c_order, of_kind
from tape.transforms._returned import several_as_tuples
from tape.transforms._shorten import shortened

Argnums = int | tuple[int, ...] | list[int]

_SETTING = "; declare a setting in a dataclass with field(metadata={'static': True})"

_FLOATS = frozenset(map(np.dtype, (np.float64, np.float32, np.complex128, np.complex64)))

SCALARS = frozenset({np.float64, np.float32})
"""What nearly all scalar functions return: real floats."""


def name_of(f: Callable[..., Any]) -> str:
    """Return the name of a function for messages."""
    if isinstance(f, partial):
        return name_of(f.func)
    return getattr(f, "__name__", None) or type(f).__name__


def check_callable(f: Any, transform: str) -> None:
    """Check that a transform was given a function.

    Raises
    ------
    UnsupportedError
        If ``f`` is not callable.
    """
    if not callable(f):
        raise errors.UnsupportedError(
            f"{transform} expects a function, and got {errors.describe(f)}, of {type(f)}. Give it a callable"
        )


def dtype_of(value: Any) -> np.dtype[Any]:
    """Return the dtype of an array, a number or a Var."""
    return value.dtype if hasattr(value, "dtype") else np.asarray(value).dtype


def float_like(value: Any) -> np.dtype[Any]:
    """Return the dtype of a derivative: that of the value, float64 if it holds integers."""
    dtype = dtype_of(value)
    return dtype if dtype.kind in "fc" else np.dtype(np.float64)


def copied(primals: Any) -> Any:
    """Return arguments of which derivatives are asked for later: arrays may be written into meanwhile."""
    if OPEN and recorder() is not None:
        return primals  # read anew in each call
    return tree.map(lambda leaf: leaf.copy() if type(leaf) is np.ndarray else leaf, primals)


class Recording:
    """One call of a function, on a tape.

    Parameters
    ----------
    transform : str
        Name of the transform, for messages.
    f : callable
        The function.
    args : sequence
        Its positional arguments.
    kwargs : dict, optional
        Its keyword arguments; they are not differentiated.
    argnums : int or sequence of int
        The positions of the arguments to differentiate by: trees of floats or complex numbers.
    has_aux : bool
        Whether ``f`` returns a pair, whose second part is passed on unchanged.
    name : str, optional
        Of the function, in messages.

    Attributes
    ----------
    trace : Trace
    params : list of Var
        The leaves of the differentiated arguments, argument by argument.
    structures : list
        Of each differentiated argument.
    outs : list
        The leaves of the result: Vars of the trace, or values that do not depend on the params.
    out_structure
        That of the result.
    aux : Any
        The second part of what ``f`` returned, without Vars of the trace.
    """

    def __init__(
        self,
        transform: str,
        f: Callable[..., Any],
        args: Sequence[Any],
        kwargs: dict[str, Any] | None = None,
        argnums: Argnums = 0,
        *,
        has_aux: bool = False,
        name: str | None = None,
    ) -> None:
        check_callable(f, transform)
        self.transform = transform
        self.name = name or name_of(f)
        self.is_single = not isinstance(argnums, (tuple, list))
        self._positions = self._checked(argnums, len(args))
        self.structures: list[Any] = []
        self.params: list[Any] = []
        self.aux = None
        self._roots: list[int | None] | None = None
        arguments = list(args)
        with Trace(self.name, strict=True) as self.trace:
            for position in self._positions:
                arguments[position] = self._params_from(arguments[position], position)
            out = f(*arguments, **(kwargs or {}))
            if has_aux:
                out = self._without_aux(out)
        self.trace.is_strict = False  # recording is over: a Var that escaped may be printed
        self.outs, self.out_structure = tree.flatten(several_as_tuples(out))
        if OPEN:
            self.outs = [resolve(out) for out in self.outs]
            if self.trace.watching is None and (program := recorder()) is not None:
                self._shorten(program)

    # ---- what was recorded ---------------------------------------------------------------------

    @property
    def value(self) -> Any:
        """The result of the function, with plain values, copied, in place of Vars of this trace."""
        return tree.unflatten(
            self.out_structure,
            [self._apart(out) if self._is_ours(out) else self._unrecorded(out) for out in self.outs],
        )

    @staticmethod
    def _apart(out: Any) -> Any:
        value = out.node.value
        return value.copy() if type(value) is np.ndarray else in_c_order(snapshot(value))

    def _unrecorded(self, leaf: Any) -> Any:
        """Return a copy of a leaf, or of its value: the function may hold the array itself."""
        value = self.plain(leaf)
        return np.array(value, order="C") if type(value) is np.ndarray else value

    def plain(self, leaf: Any) -> Any:
        """Return a leaf without this trace: its value, or a Var of an enclosing trace."""
        return snapshot(leaf.node.value if self._is_ours(leaf) else leaf)

    @property
    def roots(self) -> list[int | None]:
        """The node of each leaf of the result; None, after a warning, for those that are not recorded."""
        if self._roots is None:
            self._roots = [out.id if self._is_ours(out) else None for out in self.outs]
            for k, root in enumerate(self._roots):
                if root is None:
                    self._warn(self.outs[k], self._out_names()[k])
        return self._roots

    def scalar(self) -> Any:
        """Return the scalar that the function returned; raise if it returned anything else."""
        if self.out_structure is not tree.LEAF:
            raise errors.ShapeError(
                f"{self.transform}: {self.name} returned {tree.describe(self.out_structure)}. It must return "
                "one scalar; return auxiliary output as the second part of a pair, with has_aux=True; "
                "otherwise use tape.jacobian or tape.vjp"
            )
        (out,) = self.outs
        if self._is_ours(out) and type(out.node.value) in SCALARS:
            return out
        self.check_dtypes()
        self.check_real()
        if np.shape(self.plain(out)) != ():
            raise errors.ShapeError(
                f"{self.transform}: {self.name} returned {errors.describe(out)}, not a scalar. Sum it, or "
                "use tape.jacobian, tape.vjp or tape.elementwise_grad"
            )
        return out

    def check_dtypes(self) -> None:
        """Check that the result holds numbers, and its recorded leaves floats or complex numbers."""
        for out in self.outs:
            if self._is_ours(out):
                if out.node.value.dtype not in _FLOATS and out.dtype.kind not in "fc":
                    raise errors.DTypeError(
                        f"{self.transform}: {self.name} returned {errors.describe(out)}, which has no "
                        "derivative. Return floats, or return it as auxiliary data with has_aux=True"
                    )
            elif not isinstance(out, Handle) and np.asarray(out).dtype.kind not in "biufc":
                raise errors.DTypeError(
                    f"{self.transform}: {self.name} returned {errors.describe(out)}, which is not an array "
                    "of numbers. Return floats (np.stack joins Vars), or return it as auxiliary data with "
                    "has_aux=True"
                )

    def check_real(self) -> None:
        """Check that no result is complex: only real results have a gradient."""
        for out in self.outs:
            if dtype_of(self.plain(out)).kind == "c":
                raise errors.DTypeError(
                    f"{self.transform}: {self.name} returned {errors.describe(out)}, and a complex result "
                    "has no gradient. Return its np.real, np.imag or np.abs; or use tape.vjp, with a seed, "
                    "or tape.jacobian, with holomorphic=True if the argument is complex too"
                )

    def check_real_arguments(self, instead: str) -> None:
        """Check that the differentiated arguments are real."""
        for k, param in enumerate(self.params):
            if param.dtype.kind == "c":
                raise errors.DTypeError(
                    f"{self.transform}: {self._arg_names()[k]} is {errors.describe(param)}. {instead}"
                )

    def _shorten(self, program: Any) -> None:
        """Go on with a shorter tape, of which a program is about to hold the sweep."""
        ours = [k for k, out in enumerate(self.outs) if self._is_ours(out)]
        roots = [self.outs[k] for k in ours]
        found = shortened(self.trace, self.params, roots, program.notes)
        self.params = list(found[: len(self.params)])
        for k, root in zip(ours, found[len(self.params) :], strict=True):
            self.outs[k] = root

    # ---- sweeps ----------------------------------------------------------------------------------

    def pull_back(self, cotangents: Sequence[Any], *, consume: bool = False) -> list[Any]:
        """Return the gradients of all params, given an adjoint for every leaf of the result.

        With ``consume`` the sweep frees the tape as it goes.
        """
        seeds: dict[int, Any] = {}
        for root, cotangent in zip(self.roots, cotangents, strict=True):
            if root is not None:
                cotangent = lift(cotangent)
                seeds[root] = seeds[root] + cotangent if root in seeds else cotangent
        gradients = self.trace.pull_back(seeds, consume=consume)
        return [
            g if type(g) is np.ndarray is type(p.node.value) else self._as(g, p.node.value)
            for g, p in zip(gradients, self.params, strict=True)
        ]

    def push_forward(self, tangents: Sequence[Any]) -> list[Any]:
        """Return the tangents of all leaves of the result, given one for every param."""
        seeds = {p.id: lift(t) for p, t in zip(self.params, tangents, strict=True)}
        moved = iter(self.trace.push_forward(seeds, [root for root in self.roots if root is not None]))
        parts = [None if root is None else next(moved) for root in self.roots]
        return self.owned(parts, tangents)

    def owned(self, parts: Sequence[Any], given: Sequence[Any]) -> list[Any]:
        """Return tangents of the result as arrays in C order that share no memory with the given ones."""
        taken = set(map(id, given))
        results = []
        for part, out in zip(parts, self.outs, strict=True):
            if type(part) is np.ndarray and (part.base is not None or id(part) in taken):
                part = part.copy()
            taken.add(id(part))
            results.append(self._as(in_c_order(snapshot(part)), self.plain(out)))
        return results

    def forget(self) -> None:
        """Free the tape; the recording can still check and restore trees."""
        self.trace.nodes.clear()

    def lifted(self, derivative: Any) -> Any:
        """Return a derivative at Vars as a Var of their trace, even if it does not depend on them."""
        enclosing = self._enclosing
        if enclosing is None or (
            isinstance(derivative, Handle) and derivative.trace.level >= enclosing.level
        ):
            return derivative
        return enclosing.input(derivative)

    @cached_property
    def _enclosing(self) -> Trace | None:
        """The innermost trace among those of the params' values."""
        values = [param.node.value for param in self.params]
        traces = [value.trace for value in values if isinstance(value, Handle)]
        trace = max(traces, key=lambda trace: trace.level, default=None)
        return None if trace is None or interceptor(trace.level) else trace

    def _as(self, derivative: Any, value: Any) -> Any:
        """Return a derivative in the form of its value: array or scalar, zeros for None, on its trace."""
        if type(derivative) is np.ndarray and type(value) is np.ndarray:
            return derivative
        if derivative is None:
            derivative = np.zeros(np.shape(value), float_like(value))
        if self._enclosing is not None:
            derivative = self.lifted(derivative)
        if isinstance(derivative, Handle):
            return of_kind(derivative, value)
        return np.asarray(derivative) if isinstance(value, np.ndarray) else derivative[()]

    # ---- trees -------------------------------------------------------------------------------------

    def restore_args(self, leaves: Sequence[Any]) -> Any:
        """Arrange a list with one item per param like the arguments: a tuple if argnums is one."""
        if self.structures.count(tree.LEAF) == len(self.structures):  # lone arrays
            return leaves[0] if self.is_single else tuple(leaves)
        parts, start = [], 0
        for structure in self.structures:
            stop = start + tree.size(structure)
            parts.append(tree.unflatten(structure, leaves[start:stop]))
            start = stop
        return parts[0] if self.is_single else tuple(parts)

    def tangents(self, given: Any, what: str = "tangent") -> list[Any]:
        """Return the leaves of the given tangents, checked: one tree for each differentiated argument."""
        parts = [given] if self.is_single else given
        if not isinstance(parts, (tuple, list)) or len(parts) != len(self.structures):
            raise errors.ShapeError(
                f"{self.transform}: {self.name} is differentiated with respect to {len(self.structures)} "
                f"arguments, and got {errors.describe(given)} for their {what}s. Give a tuple with one for "
                "each"
            )
        leaves: list[Any] = []
        for part, structure in zip(parts, self.structures, strict=True):
            flat, given_structure = tree.flatten(part)
            if given_structure != structure:
                raise errors.ShapeError(
                    f"{self.transform}: the {what} is a tree {tree.describe(given_structure)}, and its "
                    f"argument {tree.describe(structure)}. Give both the same structure"
                )
            leaves += flat
        return [
            check_cotangent(self.trace, resolve(leaf), param.node.value, partial(self._leaf_name, k, what))
            for k, (leaf, param) in enumerate(zip(leaves, self.params, strict=True))
        ]

    def cotangents(self, given: Any) -> list[Any]:
        """Return the leaves of the given cotangent, checked: a tree like the result."""
        leaves, structure = tree.flatten(given)
        if structure != self.out_structure:
            raise errors.ShapeError(
                f"{self.transform}: the cotangent is a tree {tree.describe(structure)}, and {self.name} "
                f"returned {tree.describe(self.out_structure)}. Give both the same structure"
            )
        checked = []
        for k, (leaf, out) in enumerate(zip(leaves, self.outs, strict=True)):
            value = self.plain(out)
            if not self._is_ours(out):
                value = np.zeros(np.shape(value), float_like(value))
            name = partial(lambda k: f"the cotangent for {self._out_names()[k]}", k)
            checked.append(check_cotangent(self.trace, resolve(leaf), value, name))
        return checked

    # ---- helpers -----------------------------------------------------------------------------------

    def _is_ours(self, leaf: Any) -> bool:
        return isinstance(leaf, Handle) and leaf.trace_ref is self.trace.ref

    def _checked(self, argnums: Argnums, count: int) -> list[int]:
        """Return the positions of the differentiated arguments, counted from 0."""
        wanted: Any = [argnums] if self.is_single else argnums
        positions = [argnum for argnum in wanted if type(argnum) is int and 0 <= argnum < count]
        for argnum in wanted if len(positions) < len(wanted) else ():
            if isinstance(argnum, bool) or not isinstance(argnum, (int, np.integer)):
                raise errors.OptionError(
                    f"{self.transform}: argnums is {argnum!r}. It must be an int, or a tuple of ints"
                )
            if not -count <= argnum < count:
                raise errors.OutOfBoundsError(
                    f"{self.transform}: argnums is {argnum}, and {self.name} was called with {count} "
                    f"positional argument{'' if count == 1 else 's'}. They are counted from 0; keyword "
                    "arguments are not differentiated"
                )
        if len(positions) < len(wanted):
            positions = [int(argnum) % count for argnum in wanted]
        if len(set(positions)) < len(positions):
            raise errors.OptionError(
                f"{self.transform}: argnums {argnums} names an argument of {self.name} twice"
            )
        return positions

    def _params_from(self, argument: Any, position: int) -> Any:
        if type(argument) is np.ndarray and argument.dtype in _FLOATS:  # by far the most frequent tree
            param = self.trace.param(argument)
            self.structures.append(tree.LEAF)
            self.params.append(param.again())
            return param
        leaves, structure = tree.flatten(argument)
        params = []
        for k, leaf in enumerate(leaves):
            if type(leaf) is not np.ndarray or leaf.dtype not in _FLOATS:
                leaf = self._as_floats(leaf, structure, k, position)
            params.append(self.trace.param(leaf))
        self.structures.append(structure)
        self.params += [param.again() for param in params]  # snapshots: f may write to its arguments
        return tree.unflatten(structure, params)

    def _as_floats(self, leaf: Any, structure: Any, k: int, position: int) -> Any:
        """Convert a leaf that is not a plain float array, if it holds floats."""
        if isinstance(leaf, Handle):
            leaf = resolve(leaf)
        array = leaf
        if (wrong := complaint(leaf)) is not None:
            name = tree.names(structure, f"argument {position} of {self.name}")[k]
            raise errors.DTypeError(f"{self.transform}: {name} is {wrong}")
        if not isinstance(leaf, (Handle, float)):
            try:
                array = np.asarray(leaf)
            except ValueError as error:
                name = tree.names(structure, f"argument {position} of {self.name}")[k]
                raise errors.ShapeError(f"{name} is not a regular array: {error}") from error
            except errors.TapeError:  # of a Var within it
                raise
            except Exception as error:  # whatever an object raises that is asked whether it is an array
                name = tree.names(structure, f"argument {position} of {self.name}")[k]
                raise errors.DTypeError(f"{name} is {errors.describe(leaf)}, which is no array") from error
        if getattr(array, "dtype", np.dtype(float)).kind not in "fc":
            name = tree.names(structure, f"argument {position} of {self.name}")[k]
            raise errors.DTypeError(
                f"{self.transform}: {name} is {errors.describe(leaf)}. Only floats are differentiated: "
                "convert it, e.g. np.asarray(value, dtype=float), or choose another argument with argnums"
                + ("" if structure is tree.LEAF else _SETTING)
            )
        return array[()] if isinstance(array, np.ndarray) and not isinstance(leaf, np.ndarray) else array

    def _without_aux(self, out: Any) -> Any:
        if not isinstance(out, tuple) or len(out) != 2:
            raise errors.ShapeError(
                f"{self.transform}: {self.name} returned {errors.describe(out)}. With has_aux=True it must "
                "return a pair: the result to differentiate, and auxiliary data"
            )
        self.aux = tree.map(self._unrecorded, out[1])
        return out[0]

    def _out_names(self) -> list[str]:
        return tree.names(self.out_structure, f"the result of {self.name}")

    def _arg_names(self) -> list[str]:
        names: list[str] = []
        for position, structure in zip(self._positions, self.structures, strict=True):
            names += tree.names(structure, f"argument {position} of {self.name}")
        return names

    def _leaf_name(self, k: int, what: str) -> str:
        return f"the {what} for {self._arg_names()[k]}"

    def _warn(self, out: Any, name: str) -> None:
        warnings.warn(
            f"{name} is {errors.describe(out)}, which does not depend on the differentiated "
            f"arguments of {self.name}: its derivative is zero. If it should depend on them, compute it from "
            f"the arguments with NumPy calls or tape.ops [at {errors.user_place()}]",
            errors.ConstantResultWarning,
            stacklevel=errors.user_depth(),
        )
