"""`vmap`: a function of one example, run over a batch of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tape import errors, ops, tree
from tape.core.dispatch import lift, resolve
from tape.core.node import Handle, snapshot
from tape.interpreters.batching import Lanes
from tape.interpreters.capturing import protected
from tape.ops.structure.layout import in_c_order
from tape.transforms._derived import derived
from tape.transforms._record import name_of
from tape.transforms._returned import several_as_tuples


@derived
def vmap(f: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Callable[..., Any]:
    """Return a function that runs ``f`` for every element along an axis of its arguments, all at once.

    ``f`` is called once, with a handle in place of each mapped array, that looks like one element of it. Each
    operation runs over the whole batch; one that has no rule for that runs once for each element, in a
    compiled function in a loop of the program, which `explain` reports.

    Parameters
    ----------
    f : callable
        Plain NumPy code for one example; arguments and result are trees.
    in_axes : int, None, or a tree of these
        The axis to map over. One number is for all positional arguments; a tuple or list has an entry for
        each, which may be a tree whose leaves stand for all of the argument below. None is for what is the
        same for all examples. Keyword arguments are mapped over their first axis.
    out_axes : int, None, or a tree of these
        Where the results have the new axis. None is for results that are the same for all examples.

    Returns
    -------
    callable
        A function of the arguments of ``f``, with one axis more where they are mapped.

    Raises
    ------
    ShapeError
        When called, if the mapped axes differ in length, an argument does not have the axis, or nothing is
        mapped; if ``in_axes`` or ``out_axes`` do not fit the arguments or the result.
    OptionError
        If ``in_axes`` or ``out_axes`` hold anything but ints and None.
    ConversionError
        If ``f`` asks an element for its number, as ``if`` and ``float()`` do: take `numpy.where`,
        `tape.cond` or `tape.while_loop`.
    DTypeError
        If a mapped leaf is not an array of numbers or bools.

    Notes
    -----
    ``f`` may write to what is mapped, which is its own; arrays that are not are read-only. A list is indexed
    with one of its numbers by ``tape.ops.getitem(array, i)``; arrays to write to are made by
    `numpy.zeros_like` of an argument.

    Random numbers that ``f`` draws from a generator of `tape.random` are others for each example: each draw
    draws for all examples, one after the other. Those of a generator of NumPy are the same for all of them.

    Examples
    --------
    The gradients of a loss, example by example:

    >>> import numpy as np, tape
    >>> loss = lambda w, x, y: (np.tanh(x @ w) - y) ** 2
    >>> w, x, y = np.array([1.0, -1.0]), np.array([[0.5, 0.5], [2.0, 1.0]]), np.array([1.0, 0.0])
    >>> tape.vmap(tape.grad(loss), in_axes=(None, 0, 0))(w, x, y).round(3)
    array([[-1.   , -1.   ],
           [ 1.279,  0.64 ]])
    >>> tape.vmap(np.outer, in_axes=(1, None), out_axes=-1)(np.eye(3), np.ones(2)).shape
    (3, 2, 3)
    """
    _check_axes("in_axes", in_axes)
    _check_axes("out_axes", out_axes)

    def batched(*args: Any, **kwargs: Any) -> Any:
        call = _Call(name_of(f), args, kwargs, in_axes)
        with Lanes(call.size) as lanes:
            lanes.is_mapped = True
            mapped_args, mapped_kwargs = call.arguments(lanes)
            out = several_as_tuples(f(*mapped_args, **mapped_kwargs))
            leaves, structure = tree.flatten(out)
            axes = _spread(out_axes, out, f"out_axes, for the result of {call.name},")
            results = [_moved(lanes, leaf, axis) for leaf, axis in zip(leaves, axes, strict=True)]
        return tree.unflatten(structure, call.owned(results))

    return batched


class _Call:
    """The arguments of one call, leaf by leaf."""

    def __init__(self, name: str, args: Sequence[Any], kwargs: dict[str, Any], in_axes: Any) -> None:
        self.name = name
        if isinstance(in_axes, (tuple, list)) and len(in_axes) != len(args):
            raise errors.ShapeError(
                f"vmap: in_axes has {len(in_axes)} entries, and {name} was called with {len(args)} "
                "positional arguments. Give one for each"
            )
        each = in_axes if isinstance(in_axes, (tuple, list)) else [in_axes] * len(args)
        self._leaves, self._structure = tree.flatten((args, kwargs))
        self._axes: list[int | None] = []
        for k, (arg, axes) in enumerate(zip(args, each, strict=True)):
            self._axes += _spread(axes, arg, f"in_axes, for argument {k} of {name},")
        self._axes += [0] * (len(self._leaves) - len(self._axes))
        self.size = self._length()

    def _length(self) -> int:
        """Return the number of examples."""
        lengths: dict[int, str] = {}
        for k, (leaf, axis) in enumerate(zip(self._leaves, self._axes, strict=True)):
            if axis is None:
                continue
            shape = np.shape(leaf)
            if not -len(shape) <= axis < len(shape):
                raise errors.ShapeError(
                    f"vmap: {self._names()[k]} is {errors.describe(leaf)}, which has no axis {axis} to map "
                    "over. Give None in in_axes for what is the same for all examples"
                )
            lengths.setdefault(shape[axis], f"{self._names()[k]}, {errors.describe(leaf)}, along axis {axis}")
        if not lengths:
            raise errors.ShapeError(
                f"vmap: {self.name} was called without anything to map over. Give it an array with an axis "
                "in in_axes"
            )
        if len(lengths) > 1:
            found = "; ".join(f"{length} of {what}" for length, what in lengths.items())
            raise errors.ShapeError(f"vmap: the numbers of examples differ: {found}. Give as many of each")
        return next(iter(lengths))

    def _names(self) -> list[str]:
        args, kwargs = tree.unflatten(self._structure, range(len(self._leaves)))
        names: list[str] = []
        for k, arg in enumerate(args):
            names += tree.names(tree.flatten(arg)[1], f"argument {k} of {self.name}")
        for key in sorted(kwargs):
            names += tree.names(tree.flatten(kwargs[key])[1], f"{key}= of {self.name}")
        return names

    def arguments(self, lanes: Lanes) -> tuple[Any, dict[str, Any]]:
        """Return the arguments of the function, with a batch for each mapped leaf."""
        pairs = enumerate(zip(self._leaves, self._axes, strict=True))
        return tree.unflatten(
            self._structure,
            [
                protected(leaf) if axis is None else lanes.batch(self._in_front(k, leaf, axis))
                for k, (leaf, axis) in pairs
            ],
        )

    def owned(self, results: Sequence[Any]) -> list[Any]:
        """Return results, arrays in C order that share no memory with others or with the arguments."""
        taken = set(map(id, self._leaves))
        found = []
        for result in results:
            result = in_c_order(result)
            if type(result) is np.ndarray and (result.base is not None or id(result) in taken):
                result = result.copy()
            taken.add(id(result))
            found.append(result)
        return found

    def _in_front(self, k: int, leaf: Any, axis: int) -> Any:
        """Return the values of a leaf, with the mapped axis in front."""
        leaf = lift(resolve(leaf))
        if isinstance(leaf, Handle):
            return ops.moveaxis(leaf, axis, 0) if axis else snapshot(leaf)
        array = np.asarray(leaf)
        if array.dtype.kind not in "biufc":
            raise errors.DTypeError(
                f"vmap: {self._names()[k]} is {errors.describe(leaf)}. Map over arrays of numbers or bools"
            )
        return np.moveaxis(array, axis, 0)


def _moved(lanes: Lanes, leaf: Any, axis: int | None) -> Any:
    """Return a leaf of the result for all examples."""
    leaf = resolve(leaf)
    if axis is None:
        if lanes.owns(leaf):
            raise errors.ShapeError(
                f"vmap: {errors.describe(leaf)} is another one for each example, and out_axes is None for "
                "it. Give an axis"
            )
        return leaf
    values = lanes.values(leaf)
    if not -np.ndim(values) <= axis < np.ndim(values):
        raise errors.ShapeError(
            f"vmap: out_axes is {axis}, and a result has {np.ndim(values)} axes with that of the examples"
        )
    return ops.moveaxis(values, 0, axis) if axis else values


def _check_axes(what: str, axes: Any) -> None:
    for axis in tree.flatten(axes)[0]:
        if isinstance(axis, (bool, np.bool_)) or not isinstance(axis, (int, np.integer)):
            raise errors.OptionError(f"vmap: {what} holds {axis!r}. Give ints, None, or trees of these")


def _spread(axes: Any, value: Any, what: str) -> list[int | None]:
    """Return an axis for each leaf of a tree, of which ``axes`` is the upper part."""
    try:
        return tree.spread(axes, value)
    except ValueError as error:
        raise errors.ShapeError(
            f"vmap: {what} is {axes!r}, and that is a tree {tree.describe(tree.flatten(value)[1])}. Give an "
            "axis for all of it, or a tree of the same structure"
        ) from error
