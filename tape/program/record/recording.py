"""`record`: runs a function once on traced arguments, and returns one flat tape.

Gradients that the function takes are traces inside of the recorder's, so that all of their work, forwards and
backwards, lands on it. The values that were computed are the result of this call.
"""

from __future__ import annotations

import gc
import types
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tape import errors, tree
from tape.conversion.foreign import ARITHMETIC, complaint
from tape.core.node import Handle, Node, plain
from tape.core.weak import Weak, exact
from tape.kernels.eager import avoided
from tape.program.record import postponed
from tape.program.record.collections import are_changed, contents_of
from tape.program.record.fixed import fixed_nodes, share_arrays, unowned_arrays
from tape.program.record.proxies import Proxy
from tape.program.record.reading import IntRead
from tape.program.record.recorder import Guard, NumbersNeeded, Recorder, Sealed
from tape.system.collector import collector_paused
from tape.transforms._inlined import Inlined
from tape.transforms._returned import several_as_tuples
from tape.transforms.loops import rolling
from tape.transforms.loops.body import Body
from tape.transforms.loops.columns import Columns
from tape.transforms.loops.steps import Steps

_PLAIN = (int, float, complex, str, bytes, np.generic, np.ndarray)


COPIED = (np.ndarray, set, bytearray, deque)
"""Results that are the same in every call, of which each gets a copy."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A leaf of the result that was not computed from the arguments."""

    value: Any


@dataclass(slots=True)
class Recorded:
    """The recording of a function: one run of it.

    Attributes
    ----------
    nodes : list of Node
        The tape. Leaves that are no inputs are constants, as are operands without a parent: arrays
        held by reference.
    inputs : list of int
        The node of each dynamic argument, in order.
    outputs : list of int or Constant
        The node of each leaf of the result, or its value if it has none.
    out_structure
        The structure of the result, for `tree.unflatten`.
    guards : list of Guard
        In the order in which numbers were read.
    caught : Exception or None
        An exception of an operation on traced values that the function has caught: whether it is raised may
        depend on the numbers, so the tape may not hold for later calls.
    unowned : frozenset of int
        The ids of plain arrays on the tape that cannot change: nothing else refers to them.
    fixed : frozenset of int
        The nodes whose values cannot change.
    count : int
        How many nodes were recorded, before loops were rolled up.
    notes : tuple of str
        Why something that repeats itself was not rolled up.
    ints_guarded : frozenset of int
        The leaves of the arguments that are ints of which guards depend.
    reads_layout : bool
        Whether it depends on how the arrays of the arguments lie in memory.
    numbers_read : list of numpy.generic
        Options of operations, and what chooses branches, that are no Vars.
    observed : str
        How the function lets floating-point errors be raised or reported, as no program does.
    changes_arguments : bool
        Whether the function has put something else into a collection or object among its arguments, and does
        not return that.
    has_postponed : bool
        Whether loops were not run, so that nodes have values of the right types with other numbers.
    """

    nodes: list[Node]
    inputs: list[int]
    outputs: list[int | Constant]
    out_structure: Any
    guards: list[Guard]
    caught: Exception | None = None
    unowned: frozenset[int] = frozenset()
    fixed: frozenset[int] = frozenset()
    count: int = 0
    notes: tuple[str, ...] = ()
    ints_guarded: frozenset[int] = frozenset()
    reads_layout: bool = False
    observed: str = ""
    numbers_read: Sequence[np.generic] = ()
    changes_arguments: bool = False
    has_postponed: bool = False

    @property
    def weak(self) -> list[int]:
        """The leaves of the result that are Python numbers."""
        return [
            k
            for k, out in enumerate(self.outputs)
            if type(out) is int and isinstance(self.nodes[out].value, Weak)
        ]

    def has_read(self, array: np.ndarray) -> bool:
        """Return whether an operation reads a plain array, or a part of it."""
        leaves, operands = _constants(self.nodes, {*self.inputs})
        results = [out.value for out in self.outputs if isinstance(out, Constant)]
        owner = _owner(array)
        return any(
            type(value) is np.ndarray and _owner(value) is owner and np.may_share_memory(value, array)
            for value in (*leaves, *operands, *results)
        )

    def plain_results(self, arrays: Iterable[np.ndarray]) -> list[Any]:
        """Return constants that plain NumPy may have computed: its numbers, and other arrays than these."""
        inputs, owners = set(self.inputs), {id(_owner(array)) for array in arrays}
        leaves, operands = _constants(self.nodes, inputs)
        results = [out.value for out in self.outputs if isinstance(out, Constant)]
        return [
            value
            for value in (*leaves, *operands, *results, *self.numbers_read)
            if isinstance(value, np.generic)
            or (type(value) is np.ndarray and id(_owner(value)) not in owners)
        ]

    def values(self) -> list[Any]:
        """Return the leaves of the result of this run: arrays that share memory with nothing, and numbers."""
        if self.has_postponed:
            postponed.compute(self.nodes)
            self.has_postponed = False
        return [
            out.value if isinstance(out, Constant) else _fresh(self.nodes[out].value) for out in self.outputs
        ]


def _constants(nodes: Sequence[Node], inputs: Collection[int]) -> tuple[list[Any], list[Any]]:
    """Return the leaves of a tape that are no inputs, and the operands that are no nodes; of bodies, too."""
    leaves = [
        node.value
        for number, node in enumerate(nodes)
        if node.op is None and number not in inputs and not _is_seed(node.value)
    ]
    operands = [
        operand
        for node in nodes
        for parent, operand in zip(node.inputs[::2], node.inputs[1::2], strict=True)
        if parent is None
    ]
    for node in nodes:
        for body in _bodies_of(node):
            inner = _constants(body.nodes, body.inputs)
            leaves += inner[0]
            operands += inner[1]
    return leaves, operands


def _bodies_of(node: Node) -> Iterator[Body]:
    """Return the tapes inside of a node: of a loop, or of code that runs again."""
    if node.op is not None:
        steps, rows = node.attrs.get("steps"), getattr(node.op.lower, "__self__", None)
        if isinstance(steps, Steps):
            yield steps.body
        if isinstance(rows, Inlined):
            yield rows.body


@collector_paused()
def record(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    name: str,
    ints: Collection[int] = (),
    *,
    keeps_places: bool = False,
    postpones: bool = False,
) -> Recorded:
    """Run a function once, on traced arguments.

    Parameters
    ----------
    f : callable
        Plain NumPy code, transforms included.
    args, kwargs
        Its arguments: trees. Arrays, NumPy scalars, Python floats and complex numbers in them are traced,
        other leaves are passed as they are.
    name : str
        Name of the function, for messages.
    ints : collection of int
        The positions of ints which are traced as well, among all leaves.
    keeps_places : bool
        Whether guards know the lines of user code that have read them.
    postpones : bool
        Whether loops may be left to the program: see `tape.program.record.postponed`.

    Returns
    -------
    Recorded

    Raises
    ------
    IntRead
        If Python reads one of ``ints``.
    NumbersNeeded
        If a loop has to run, as somebody asks for numbers that depend on it.
    UnsupportedError
        If ``f`` uses or returns a Var from outside.
    ConversionError
        If ``f`` reads a number that would be frozen into the program.
    InPlaceError
        If ``f`` writes into a plain array after computing with it.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.program.record.recording import record
    >>> def f(x):
    ...     return 2 * x if x.sum() > 0 else x
    >>> recorded = record(f, (np.ones(3),), {}, "f")
    >>> [str(node.op) for node in recorded.nodes]
    ['None', '<op sum>', '<op greater>', '<op multiply>']
    >>> recorded.guards
    [Guard(node=2, kind='bool', outcome=True, position=3)]
    >>> recorded.values()
    [array([2., 2., 2.])]
    """
    leaves, structure = tree.flatten((args, kwargs))
    inputs: list[int] = []
    trace = Recorder(name, keeps_places=keeps_places, postpones=postpones)
    with avoided(), Sealed(name) as outside, trace:
        for k, leaf in enumerate(leaves):
            if is_dynamic(leaf):
                leaves[k] = trace.argument(native(leaf))
                inputs.append(leaves[k].id)
            elif k in ints:
                leaves[k] = trace.integer(leaf, k)
                inputs.append(leaves[k].var.id)
        traced_args, traced_kwargs = tree.unflatten(structure, leaves)
        contents = contents_of((traced_args, traced_kwargs))
        try:
            result = f(*traced_args, **traced_kwargs)
            outs, out_structure = tree.flatten(several_as_tuples(result))
        except Exception:  # which may be due to placeholders
            trace.need_numbers()
            raise
        except BaseException:
            if trace.are_numbers_needed:  # and something has made something else of what says so
                raise NumbersNeeded from None
            raise
    if trace.are_numbers_needed:  # and something has caught what says so
        raise NumbersNeeded
    has_postponed, trace.has_postponed = trace.has_postponed, False
    changes_arguments = are_changed(contents, result)
    if trace.ints_read:  # and something has caught what says so
        raise IntRead(trace.ints_read)
    trace.check()
    outputs: list[int | Constant] = []
    for out in outs:
        out = out.var if type(out) is Proxy else out
        plain(out)  # which a stale view refuses
        while isinstance(out, Handle) and out.trace_ref is not trace.ref:
            made_on = out.trace_ref()
            if made_on is not None and made_on.level < outside.level:
                outside.refuse(out)
            out = out.node.value  # of a trace that was made in the function, and is gone or goes with it
        outputs.append(out.id if isinstance(out, Handle) else _constant(out, trace))
        if ints and not isinstance(out, (Handle, *_PLAIN)):
            raise IntRead(frozenset(ints))  # there may be one in it
    nodes = trace.release()
    count = len(nodes)
    if has_postponed and count >= rolling.LEAST_NODES:
        postponed.compute(nodes)  # which tells loops from what only looks like one
        has_postponed = False
    for shorten in (rolling.without_dead, _with_loops) if count >= rolling.LEAST_NODES else ():
        roots = [*[out for out in outputs if type(out) is int], *[guard.node for guard in trace.guards]]
        shorter, place = shorten(nodes, inputs, roots, trace.notes)
        nodes.clear()  # so that nothing refers to arrays but the tape
        nodes = shorter
        inputs = [place[id] for id in inputs]
        outputs = [place[out] if type(out) is int else out for out in outputs]
        trace.guards = _moved(trace.guards, place)
    unowned = unowned_arrays(nodes, set(inputs))
    fixed = fixed_nodes(nodes, set(inputs), unowned)
    if has_postponed and not fixed.isdisjoint(postponed.late_nodes(nodes)):
        postponed.compute(nodes)
        has_postponed = False
    guards = [guard for guard in trace.guards if guard.node not in fixed]
    notes = tuple(dict.fromkeys(trace.notes))
    return Recorded(
        nodes, inputs, outputs, out_structure, guards, trace.caught, unowned, fixed, count, notes,
        trace.ints_guarded, trace.reads_layout, trace.observed, trace.numbers_read, changes_arguments,
        has_postponed,
    )  # fmt: skip


def _is_seed(value: Any) -> bool:
    """Return whether a leaf may be what a sweep begins with."""
    return isinstance(value, np.number) and abs(value) in (0, 1)


def _owner(array: np.ndarray) -> Any:
    """Return the object that holds the memory of an array."""
    while isinstance(array, np.ndarray) and array.base is not None:
        array = array.base
    return array


def _constant(out: Any, trace: Recorder) -> Constant:
    """Return a leaf of the result that is the same in every call; raise if it cannot be."""
    if type(out) in _PLAIN or out is None:
        return Constant(out)
    what = ""
    if isinstance(out, Iterator):
        what = "is used up when it is read"
    elif any(isinstance(part, Handle) and _is_inside(part, trace) for part in _reached(out)):
        what = "holds traced values"
    if what:
        raise errors.UnsupportedError(
            f"{trace.name} returned an object of class {type(out).__qualname__}, which {what}: it would be "
            "the same one in every call. Return a dict, a list, a tuple or a dataclass"
        )
    return Constant(out)


def _is_inside(var: Handle, trace: Recorder) -> bool:
    """Return whether a Var is of a recording, or of a trace within it, which may be gone."""
    made_on: Any = var.trace_ref()
    return made_on is None or made_on.level >= trace.level


_MOST_REACHED = 4096
_NO_HOLDERS = (type, types.ModuleType, types.FunctionType, types.CodeType, np.ndarray, np.generic, str, bytes)


def _reached(thing: Any) -> Iterator[Any]:
    """Return the objects that an object refers to, directly or through others, up to some number."""
    seen, waiting = {id(thing)}, [thing]
    while waiting and len(seen) < _MOST_REACHED:
        for part in gc.get_referents(waiting.pop()):
            if id(part) not in seen and not isinstance(part, _NO_HOLDERS):
                seen.add(id(part))
                waiting.append(part)
                yield part


def _with_loops(
    nodes: list[Node], inputs: list[int], roots: list[int], notes: list[str]
) -> tuple[list[Node], dict[int, int]]:
    """Return a tape with loops in place of what repeats itself."""
    share_arrays(nodes, unowned_arrays(nodes, set(inputs)))
    found = rolling.rolled(Columns(nodes), inputs, roots, notes)
    return found or (list(nodes), {id: id for id in (*inputs, *roots)})


def _moved(guards: list[Guard], place: dict[int, int]) -> list[Guard]:
    """Return guards of nodes that are at other places, in the same order."""
    moved: list[Guard] = []
    for guard in guards:
        node = place[guard.node]
        position = max(node + 1, moved[-1].position if moved else 0)
        moved.append(replace(guard, node=node, position=position))
    return moved


def is_dynamic(leaf: Any) -> bool:
    """Return whether a leaf of the arguments is dynamic: traced, and another number in every call."""
    if isinstance(leaf, (np.ndarray, np.generic)):
        return leaf.dtype.kind in "biufc"
    kind = type(leaf)
    return kind is float or kind is complex or (isinstance(leaf, (float, complex)) and _is_a_number(kind))


def _is_a_number(kind: type) -> bool:
    """Return whether instances of a subclass of float or complex count as these: with the same arithmetic."""
    base = float if issubclass(kind, float) else complex
    same = all(getattr(kind, name) is vars(base)[name] for name in ARITHMETIC if name in vars(base))
    return same and kind is not Proxy


def native(leaf: Any) -> Any:
    """Return a dynamic leaf as programs take it: no subclass of ndarray, and in native byte order."""
    if not isinstance(leaf, np.ndarray) or (type(leaf) is np.ndarray and leaf.dtype.isnative):
        return leaf
    if (wrong := complaint(leaf)) is not None:
        raise errors.DTypeError(f"an argument of a compiled function is {wrong}")
    return np.asarray(leaf, leaf.dtype.newbyteorder("="))


def _fresh(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return exact(value)
    return np.array(value, order="C") if value.ndim else value[()]
