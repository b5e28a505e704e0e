"""A function run once forwards and once backwards, for tools that watch or profile it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tape import tree
from tape.core.node import Handle, plain
from tape.core.trace import Trace
from tape.transforms._returned import several_as_tuples
from tape.transforms._segment import is_float


class Trial:
    """One run of a function on a trace, with every float among its arguments a param.

    Unlike a `Recording` it takes any function: results that are not floats have no derivative, and are no
    error.

    Parameters
    ----------
    f : callable
        A function of trees.
    name : str
        Its name in messages.
    args : tuple
        Its arguments.
    derivative : bool
        Whether to run a reverse sweep, from ones at all results that are floats.

    Attributes
    ----------
    trace : Trace
    results : list of tuple
        The leaves of the result, then the gradients: the name of each, and its value without nesting.
    """

    def __init__(self, f: Callable[..., Any], name: str, args: tuple[Any, ...], derivative: bool) -> None:
        leaves, structure = tree.flatten(args)
        with Trace(name) as self.trace:
            given = [self.trace.param(leaf) if is_float(leaf) else leaf for leaf in leaves]
            outs, out_structure = tree.flatten(several_as_tuples(f(*tree.unflatten(structure, given))))
        names = tree.names(out_structure, "the result")
        self.results = [(name, plain(out)) for name, out in zip(names, outs, strict=True)]
        if derivative:
            roots = [out for out in outs if isinstance(out, Handle) and out.trace_ref is self.trace.ref]
            seeds = {root.id: np.ones_like(plain(root)) for root in roots if is_float(root)}
            adjoints = self.trace.pull_back(seeds)
            names = tree.names(structure, "args")
            self.results += [
                (f"the gradient by {name}", plain(adjoints[leaf.id]))
                for name, leaf in zip(names, given, strict=True)
                if isinstance(leaf, Handle)
                and leaf.trace_ref is self.trace.ref
                and leaf.id < len(adjoints)
                and adjoints[leaf.id] is not None
            ]
