"""A segment of Python code as one operation: its operands are the Vars among its arguments and captured Vars.

The code runs on plain arrays, so that nothing of it is recorded; `tape.interpreters.capturing` finds the Vars
it closes over. Rules run it again, on a trace of their own. In a program it becomes rows, if it can: see
`tape.transforms._inlined`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any

import numpy as np

from tape import errors, ops, tree
from tape.core.closures import rerun
from tape.core.dispatch import need_numbers, recorder, resolve
from tape.core.held import Kept
from tape.core.interpreter import OPEN
from tape.core.nesting import batch_below, batches_of, is_number, traced
from tape.core.node import Handle, plain, snapshot
from tape.core.op import Op
from tape.core.operands import lifted
from tape.core.reached import Reach
from tape.core.results import Results, unpack
from tape.core.series import TaylorRule
from tape.core.trace import Trace
from tape.core.weak import exact
from tape.interpreters.capturing import Captures, Substitution, protected
from tape.ops.structure.layout import in_c_order
from tape.transforms._expand import push_series
from tape.transforms._inlined import Inlined, inlined
from tape.transforms._merge import merge
from tape.transforms._record import dtype_of
from tape.transforms._returned import several_as_tuples
from tape.transforms._watched import Watched, functions_of
from tape.transforms.loops.body import Unrolled


@contextmanager
def refusing_writes(name: str) -> Iterator[None]:
    """Convert NumPy's error about a write to a `protected` array to an `InPlaceError`."""
    try:
        yield
    except ValueError as error:
        if "read-only" not in str(error) or isinstance(error, errors.TapeError):
            raise
        raise errors.InPlaceError(
            f"{name} writes into an array it was given, and is run again for derivatives. Write x = x + y "
            "for x += y, and build arrays with np.where, np.stack or np.concatenate"
        ) from error


def is_float(value: Any) -> bool:
    """Return whether a value is a float or complex array, number or Var."""
    value = plain(value)
    if isinstance(value, (np.ndarray, np.generic)):
        return value.dtype.kind in "fc"
    return isinstance(value, (float, complex))


def is_differentiated(operand: Any) -> bool:
    """Return whether derivatives may be taken by an operand: by floats that are not Python's numbers."""
    return is_float(operand) and not is_number(operand) and type(operand) not in (float, complex)


def as_scalar(value: Any) -> Any:
    """Convert a Python float or complex number to a NumPy scalar; return anything else unchanged."""
    is_python = isinstance(value, (float, complex)) and not isinstance(value, np.generic)
    return np.asarray(value)[()] if is_python else value


def _own(leaf: Any) -> Any:
    """Return a result that can be written to; an argument that the code returns as it is, is `protected`."""
    is_protected = type(leaf) is np.ndarray and not leaf.flags.writeable
    return leaf.copy() if is_protected else in_c_order(leaf)


def _told(structure: Any) -> str:
    text = tree.describe(structure)
    return text if structure is tree.LEAF else f"a tree {text}"


class Packing:
    """Conversion of the float leaves of a tree to one operand, and back; other leaves are kept aside.

    Complex leaves count as floats; the operand is complex if there are any.

    Parameters
    ----------
    out : tree
        Plain arrays and numbers.
    is_joined : bool
        Whether the operand is one array, or else several results of an operation.
    """

    def __init__(self, out: Any, *, is_joined: bool = True) -> None:
        self.is_joined = is_joined
        leaves, self.structure = tree.flatten(several_as_tuples(out))
        self.leaves = [as_scalar(leaf) for leaf in leaves]
        self.floats = [i for i, leaf in enumerate(self.leaves) if is_float(leaf)]
        likes = [self.leaves[i] for i in self.floats]
        self.shapes = [like.shape for like in likes]
        self.dtypes = [like.dtype for like in likes]
        self.is_single = len(likes) == 1
        self.dtype = np.result_type(*self.dtypes) if likes else np.dtype(float)

    def pack(self, parts: Sequence[Any]) -> Any:
        """Return the float leaves as one array, or as several results."""
        if self.is_single:
            return parts[0]
        if not self.is_joined:
            return Results(parts)
        if not parts:
            return np.zeros(0)
        return ops.concatenate([ops.astype(ops.ravel(part), self.dtype) for part in parts])

    def unpack(self, packed: Any) -> list[Any]:
        """Return the float leaves from one array, or from a stack of such arrays."""
        if self.is_single:
            return [packed]
        if not self.is_joined:
            return list(unpack(packed))
        lead = packed.shape[:-1]
        whole = (slice(None),) * len(lead)
        parts, start = [], 0
        for shape, dtype in zip(self.shapes, self.dtypes, strict=True):
            stop = start + prod(shape)
            one, several = (*whole, start), (*whole, slice(start, stop))
            part = packed[one] if shape == () else ops.reshape(packed[several], (*lead, *shape))
            parts.append(part if dtype == self.dtype else ops.astype(part, dtype))
            start = stop
        return parts

    def restore(self, packed: Any) -> Any:
        """Return the whole tree, from the packed floats and the leaves kept aside."""
        return self.restore_parts(self.unpack(packed))

    def restore_parts(self, parts: Sequence[Any]) -> Any:
        """Return the whole tree, from its float leaves and the leaves kept aside."""
        leaves = list(self.leaves)
        for i, part in zip(self.floats, parts, strict=True):
            leaves[i] = part
        return tree.unflatten(self.structure, leaves)

    def parts_of(self, out: Any, name: str) -> list[Any]:
        """Return the float leaves of another tree of the same structure, shapes and dtypes."""
        leaves, structure = tree.flatten(several_as_tuples(out))
        if structure != self.structure:
            raise errors.ShapeError(
                f"{name} returned {_told(structure)}, and {_told(self.structure)} before. It must always "
                "return the same structure"
            )
        parts = [leaves[i] for i in self.floats]
        for part, shape, dtype in zip(parts, self.shapes, self.dtypes, strict=True):
            if np.shape(part) != shape:
                raise errors.ShapeError(
                    f"{name} returned an array of shape {list(np.shape(part))}, and {list(shape)} before. "
                    "It must always return the same shapes"
                )
            if dtype.kind == "f" and dtype_of(part).kind == "c":
                raise errors.DTypeError(
                    f"{name} returned {errors.describe(part)} where {dtype} is needed. Return its np.real, "
                    "or start with a complex number"
                )
        if recorder() is not None:
            return parts
        return [part.copy() if type(part) is np.ndarray else part for part in parts]  # it may fill them again


def _capture_all(f: Callable[..., Any], region: Captures, program: Any) -> None:
    """Capture all Vars of a program that a function may read: a callback reads others in other calls.

    Ints among what it may read are read now, and so are static.
    """
    functions = list(functions_of(f))
    for function in functions:
        for var in Reach(function).all_vars():
            if var.trace_ref() is program:
                region.resolve(var)
    program.read_ints_of(functions)


class Segment:
    """One call of a function, which runs again as often as derivatives need it.

    It runs once at construction, which finds the Vars that it closes over, and so its operands.

    Parameters
    ----------
    f : callable
        The function; it may close over Vars.
    args, kwargs
        Its arguments: trees, with or without Vars.
    name : str
        Of the function, in messages.
    is_inlined : bool
        Whether the function becomes rows of a program that is being recorded, if it can.

    Attributes
    ----------
    inlined : Inlined or None
        The function as rows of a program.
    operands : list of Var or numpy.ndarray
        The Vars among the arguments, then those captured, as they are in the regions around.
    trace : weakref or None
        Of the deepest of their traces, on which the call is recorded.
    packing : Packing
        Of the result.
    """

    def __init__(
        self,
        f: Callable[..., Any],
        args: Any,
        kwargs: dict[str, Any],
        name: str,
        *,
        is_inlined: bool = True,
    ) -> None:
        self.f = f
        self.name = name
        self.listeners: list[Callable[[], None]] = []  # called when it has run once more
        leaves, self._structure = tree.flatten((args, kwargs))
        self._leaves = [snapshot(protected(lifted(resolve(leaf)))) for leaf in leaves]
        self._kept = {i: Kept(leaf) for i, leaf in enumerate(self._leaves) if type(leaf) is np.ndarray}
        self.places = [i for i, leaf in enumerate(self._leaves) if isinstance(leaf, Handle)]
        variables = [self._leaves[i] for i in self.places]
        self.inlined: Inlined | None = None
        need_numbers()
        program = recorder() if OPEN else None
        if is_inlined and program is not None:
            self.inlined = inlined(self._results, variables, program, name)
        if self.inlined is not None:
            self.captured = self.inlined.captured
            self.operands = self.inlined.operands
        else:
            with Captures() as region, refusing_writes(name):
                given = [protected(exact(plain(var))) for var in variables]
                watched = Watched(f)
                out = self._on(given)
                if watched.has_changed():
                    watched = Watched(f)
                    out = self._on(given)
                    watched.check()
                out = tree.map(region.resolve, out)
                self._read = list(region.vars)
                if program is not None:
                    _capture_all(f, region, program)
            self.packing = Packing(out)
            self.captured = region.vars
            self.operands = variables + region.values
        self._are_numbers = [*map(is_number, self.operands)]  # callbacks get NumPy scalars in their places
        # A callback, or a rule, runs the code again when these are over.
        self._batches = [lanes for var in self.captured for lanes in batches_of(var)]
        refs = [operand.trace_ref for operand in self.operands if isinstance(operand, Handle)]
        traces = [trace for trace in (ref() for ref in refs) if trace is not None]
        self.trace = max(traces, key=lambda trace: trace.level).ref if traces else None
        if any(isinstance(traced(var), Handle) or batch_below(var) is not None for var in self.operands):
            self._refuse_frozen()
        self._first: Any = (
            self.packing.pack([self.packing.leaves[i] for i in self.packing.floats])
            if self.inlined is None
            else self.inlined.first
        )

    def _on(self, given: list[Any]) -> Any:
        """Return the result of the function for values of the Vars among the arguments."""
        args, kwargs = self.arguments(given)
        return self.f(*args, **kwargs)

    def captured_vars(self) -> list[Any]:
        """Return the Vars that it closes over which may be differentiated.

        In a program these are neither Python numbers nor arrays that are its leaves.
        """
        if self.inlined is None:
            return [var for var in self._read if not is_number(var)]
        program: Any = recorder()
        return [var for var in self.captured if not is_number(var) and not program.is_constant(var)]

    def _results(self, values: Sequence[Any]) -> list[Any]:
        """Return the float results for other Vars among the arguments, and note their structure."""
        variables = [self._leaves[i] for i in self.places]
        pairs = zip(variables, values, strict=True)
        args, kwargs = self.arguments([var if is_number(var) else value for var, value in pairs])
        leaves, structure = tree.flatten(self.f(*args, **kwargs))
        self.packing = Packing(tree.unflatten(structure, [plain(leaf) for leaf in leaves]), is_joined=False)
        if not self.packing.floats:
            raise Unrolled("it returns no floats")
        return [leaves[i] for i in self.packing.floats]

    def _refuse_frozen(self) -> None:
        """Raise if the result holds numbers that are not floats, in a program or in a batch."""
        for i, leaf in enumerate(self.packing.leaves):
            is_number = isinstance(leaf, (int, np.integer, np.bool_, np.ndarray))
            if is_number and i not in self.packing.floats:
                raise errors.UnsupportedError(
                    f"{self.name} returns {errors.describe(leaf)}, which is not a float and would be frozen "
                    "in a compiled function, or be the same for all of a batch. Return it as a float, or "
                    "compute it outside"
                )

    def arguments(self, values: Sequence[Any]) -> tuple[Any, dict[str, Any]]:
        """Return the arguments of the function, with values in place of the Vars among them."""
        leaves = list(self._leaves)
        for i, kept in self._kept.items():
            leaves[i] = kept.value()
        for i, value in zip(self.places, values, strict=True):
            leaves[i] = value
        return tree.unflatten(self._structure, leaves)

    def call(self, f: Callable[..., Any], operands: Sequence[Any]) -> Any:
        """Return the result of a function with these arguments, for other operands."""
        return rerun(self._call, f, operands)

    def _call(self, f: Callable[..., Any], operands: Sequence[Any]) -> Any:
        count = len(self.places)
        operands = [protected(resolve(operand)) for operand in operands]
        args, kwargs = self.arguments(operands[:count])
        with refusing_writes(self.name):
            if not self.captured:
                return f(*args, **kwargs)
            with Substitution(self.captured, operands[count:]) as region:
                return tree.map(region.resolve, f(*args, **kwargs))

    def run(self, *operands: Any) -> Any:
        """Return the packed result for other operands."""
        pairs = zip(operands, self._are_numbers, strict=True)
        given = [np.asarray(x).item() if one and not isinstance(x, Handle) else x for x, one in pairs]
        out = self.packing.pack(self.packing.parts_of(self.call(self.f, given), self.name))
        return self.checked([out])[0]

    def checked(self, results: Sequence[Any]) -> Sequence[Any]:
        """Check that the results of a rule do not depend on the Vars that are being differentiated."""
        for result in results:
            if isinstance(result, Handle) and result.trace_ref is self.trace:
                raise errors.UnsupportedError(
                    f"{self.name} has computed with Vars of {result.trace!r} where that cannot be seen: in a "
                    "rule that closes over them, or in another thread. Pass them as arguments"
                )
        return results

    def forward(self, *operands: Any) -> Any:
        """Return the packed result for plain operands; that of the first run is kept."""
        first, self._first = self._first, None
        # In the body of a loop, which takes one element of a batch from outside, it may be that of the batch.
        if first is not None and not any(isinstance(part, Handle) for part in unpack(first)):
            return first
        found = self.run(*operands) if self.inlined is None else self.inlined.forward(*operands)
        for listener in self.listeners:
            listener()
        return found

    def as_node(
        self,
        vjp: Callable[..., Any],
        jvp: Callable[..., Any],
        taylor: TaylorRule | None = None,
        *,
        is_of_code: bool = False,
    ) -> Any:
        """Return the result, recorded as one node with these rules; plain if there are no operands.

        ``is_of_code`` says that they give the derivative of the code itself, so that either will do.
        """
        if self.inlined is not None and self.operands:
            return self._as_rows(self.inlined, vjp, jvp, taylor, is_of_code)
        op = Op(self.forward, vjp=vjp, jvp=jvp, taylor=taylor, name=self.name, explains_errors=False)
        op.is_linear_in_adjoints = is_of_code
        found = self.packing.restore(op(*self.operands) if self.operands else self.forward())
        return tree.map(_own, found)

    def _as_rows(
        self,
        rows: Inlined,
        vjp: Callable[..., Any],
        jvp: Callable[..., Any],
        taylor: TaylorRule | None,
        is_of_code: bool,
    ) -> Any:
        """Return the result, recorded as one node which is rows in a program."""
        counts = [None] * len(rows.places)

        def push(tangents: Sequence[Any], out: Any, *operands: Any) -> Any:
            moved = jvp(tangents, rows.floats(out), *operands)
            if not counts:
                return moved
            return Results([*counts, *(moved if type(moved) is Results else [moved])])

        op = Op(
            self.forward,
            vjp=lambda g, out, *operands: vjp(rows.floats(g), rows.floats(out), *operands),
            jvp=push,
            taylor=None if counts else taylor,
            name=self.name,
            batch=rows.batch if is_of_code else rows.batch_by_rules(vjp, jvp, self.name),
            lower=rows.lower,
            explains_errors=False,
        )
        return tree.map(_own, self.packing.restore_parts(rows.guarded(unpack(op(*self.operands)))))

    def as_rerun(self) -> Any:
        """Return the result, recorded as one node whose rules run the function again."""
        run = self.run if self.inlined is None else self.inlined.run_again
        return self.as_node(
            vjp=lambda g, out, *operands: self.checked(pull_through(run, g, operands, self.name)),
            jvp=lambda tangents, out, *operands: push_through(run, tangents, operands, self.name),
            taylor=lambda op, out, series, attrs: expand_through(run, out, series, self.name),
            is_of_code=True,
        )


def recorded(run: Callable[..., Any], operands: Sequence[Any], name: str) -> tuple[Trace, list[Any], Any]:
    """Run on a new trace; return it, a param for each float operand (None for others), and the result."""
    with Trace(name, strict=True) as trace:
        operands = [resolve(operand) for operand in operands]
        params = [trace.param(operand) if is_differentiated(operand) else None for operand in operands]
        out = run(*(o if p is None else snapshot(p) for o, p in zip(operands, params, strict=True)))
    if OPEN and recorder() is not None and trace.is_plain and _is_on(trace, out):
        out = merge(trace, out)
    return trace, params, out


def _is_on(trace: Trace, value: Any) -> bool:
    return isinstance(value, Handle) and value.trace_ref is trace.ref


def _each(value: Any) -> Sequence[Any]:
    return value if type(value) is Results else [value]


def pull_through(run: Callable[..., Any], g: Any, operands: Sequence[Any], name: str) -> list[Any]:
    """Return the contribution to each operand: the vjp of running again."""
    trace, params, out = recorded(run, operands, name)
    seeds: dict[int, Any] = {}
    for result, adjoint in zip(_each(out), _each(g), strict=True):
        if adjoint is not None and _is_on(trace, result):
            seeds[result.id] = seeds[result.id] + adjoint if result.id in seeds else adjoint
    if not seeds:
        return [None for _ in operands]
    gradients = iter(trace.pull_back(seeds))
    return [None if param is None else next(gradients) for param in params]


def push_through(run: Callable[..., Any], tangents: Sequence[Any], operands: Sequence[Any], name: str) -> Any:
    """Return the tangent of the result: the jvp of running again."""
    trace, params, out = recorded(run, operands, name)
    roots = [result.id for result in _each(out) if _is_on(trace, result)]
    if not roots:
        return None
    seeds = {p.id: t for p, t in zip(params, tangents, strict=True) if p is not None and t is not None}
    moved = iter(trace.push_forward(seeds, roots))
    found = [next(moved) if _is_on(trace, result) else None for result in _each(out)]
    return Results(found) if type(out) is Results else found[0]


def expand_through(run: Callable[..., Any], out: Any, series: Sequence[Any], name: str) -> list[Any]:
    """Return the power series of the result: the Taylor rule of running again."""
    order = len(series[0]) - 1
    trace, params, result = recorded(run, [s[0] for s in series], name)
    seeds = {
        p.id: s
        for p, s in zip(params, series, strict=True)
        if p is not None and any(part is not None for part in s[1:])
    }
    stop = 1 + max([one.id for one in _each(result) if _is_on(trace, one)], default=-1)
    trace.held.settle()
    found = push_series(trace.nodes, seeds, order, stop, where=trace)
    columns = [
        (found[one.id] if _is_on(trace, one) else None) or [None] * (order + 1) for one in _each(result)
    ]
    if type(result) is not Results:
        return [out, *columns[0][1:]]
    return [out, *[Results([column[k] for column in columns]) for k in range(1, order + 1)]]
