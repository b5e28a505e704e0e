"""The body of a loop, recorded once: a tape of its own, which runs again in every step.

`record` runs a function on the values of a first step. Vars from outside that it meets become inputs of the
body, constants of the loop. What Python would read of a value is another number in each step: the body is
then no tape, and the loop is recorded step by step.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, ClassVar, NoReturn

import numpy as np

from tape import errors, ops
from tape.conversion.callers import is_asked_by_user, is_shown
from tape.core.dispatch import lift, need_numbers, recorder
from tape.core.nesting import identity, traced
from tape.core.node import Handle, Leaf, Node, plain, snapshot
from tape.core.op import Op
from tape.core.trace import Trace
from tape.core.var import Var
from tape.core.weak import Weak, weak
from tape.inplace.aliases import Stale
from tape.transforms._merge import merged
from tape.transforms._watched import Watched
from tape.transforms.loops.columns import Columns


class Unrolled(errors.ConversionError):
    """Raised where the body of a loop cannot be recorded once, with the reason."""

    def __init__(self, why: str, where: str = "") -> None:
        super().__init__(why + where)
        self.why = why


class Body:
    """A function from a list of values to another, as a tape.

    Attributes
    ----------
    nodes : list of Node
        The inputs are leaves; other leaves are the same in every step.
    inputs, outputs : list of int
        Their nodes.
    """

    def __init__(self, nodes: list[Node], inputs: list[int], outputs: list[int]) -> None:
        self.nodes = nodes
        self.inputs = inputs
        self.outputs = outputs

    def __len__(self) -> int:
        return len(self.nodes)

    def examples(self) -> list[Any]:
        """Return the inputs of the step that was recorded."""
        return [self.nodes[id].value for id in self.inputs]

    def results(self) -> list[Any]:
        """Return the outputs of the step that was recorded."""
        return [self.nodes[id].value for id in self.outputs]

    def run(self, values: Sequence[Any]) -> list[Any]:
        """Return the outputs for other inputs: arrays, numbers or Vars."""
        found: list[Any] = [None] * len(self.nodes)
        for id, value in zip(self.inputs, values, strict=True):
            found[id] = value
        for id, node in enumerate(self.nodes):
            op = node.call.op
            if found[id] is not None:
                continue
            if op is None:
                found[id] = node.value
                continue
            operands = [operand if parent is None else found[parent] for parent, operand in _pairs(node)]
            is_recorded = any(isinstance(operand, Handle) for operand in operands)
            found[id] = (
                op.bind(operands, node.call.attrs) if is_recorded else op.compute(operands, node.call.attrs)
            )
            if isinstance(node.value, Weak):
                found[id] = _weakened(found[id])
        return [found[id] for id in self.outputs]

    def computed(self, values: Sequence[Any]) -> list[Any]:
        """Return the outputs for plain inputs, recording nothing."""
        with computing(recorder()):
            return self.run(values)


def _weakened(number: Any) -> Any:
    """Return a number as one of Python's: it widens no other dtypes."""
    var = traced(number)
    if not isinstance(var, Handle):
        return weak(number)
    if not np.ndim(plain(var)):  # and no batch of numbers
        var.node.value = weak(var.node.value)
    return number


def quietly(program: Any) -> AbstractContextManager[Any]:
    """Return a context without warnings of what is computed with placeholders, if a program has any."""
    return np.errstate(all="ignore") if program is not None and program.has_postponed else nullcontext()


@contextmanager
def computing(program: Any) -> Iterator[None]:
    """Keep a program from recording how values are computed."""
    if program is None:
        yield
        return
    program.is_computing, before = True, program.is_computing
    try:
        yield
    finally:
        program.is_computing = before


def extracted(nodes: Sequence[Node], inputs: Sequence[int], outputs: Sequence[int]) -> Body:
    """Return what leads from some nodes of a tape to others, as a body; computed once what is there twice."""
    needed = ancestors(nodes, outputs, inputs)
    place: dict[int, int] = {}
    made: list[Node] = []
    for id in inputs:
        place[id] = len(made)
        made.append(Leaf(nodes[id].value, False, None))
    for id in sorted(needed - set(inputs)):
        node = nodes[id]
        place[id] = len(made)
        if node.call.op is None:
            made.append(Leaf(node.value, False, None))
            continue
        made.append(renumbered(node, place))
    ins, outs = [place[id] for id in inputs], [place[id] for id in outputs]
    shorter = merged(Columns(made), [*ins, *outs])
    if shorter is None:
        return Body(made, ins, outs)
    made, place = shorter
    return Body(made, [place[id] for id in ins], [place[id] for id in outs])


def renumbered(node: Node, numbers: Sequence[int] | Mapping[int, int]) -> Node:
    """Return a node whose parents have other numbers."""
    inputs = node.inputs
    for parent in inputs[::2]:
        if parent is not None and numbers[parent] != parent:
            break
    else:
        return node
    renewed: list[Any] = []
    for old, value in zip(inputs[::2], inputs[1::2], strict=True):
        renewed += (None if old is None else numbers[old], value)
    return Node(node.value, node.call, tuple(renewed))


def ancestors(nodes: Sequence[Node], of: Sequence[int], up_to: Container[int]) -> set[int]:
    """Return some nodes of a tape and all that they depend on, not looking behind others."""
    found: set[int] = set()
    waiting = list(of)
    while waiting:
        id = waiting.pop()
        if id in found:
            continue
        found.add(id)
        if id not in up_to:
            waiting += [parent for parent in nodes[id].inputs[::2] if parent is not None]
    return found


class BodyTrace(Trace):
    """The trace on which the body of a loop is recorded.

    Attributes
    ----------
    captured : list of Var or numpy.ndarray
        The Vars and arrays from outside that it has met.
    captures : list of int
        The leaf that stands for each of them.
    refused : Unrolled or None
        Why it cannot be recorded, even if the function has caught that.
    refuses_text : bool
        Whether numbers may not be formatted: the text would be that of the recording.
    step_counts : list of tuple
        For each loop in it that data end: its place, and a Var of the number of steps that it takes.
    """

    __slots__ = ("_leaves", "_recorder", "captured", "captures", "refused", "refuses_text", "step_counts")

    def __init__(self, name: str) -> None:
        self._recorder = recorder()
        super().__init__(name)
        self.is_plain = False
        self.captured: list[Any] = []
        self.captures: list[int] = []
        self.refused: Unrolled | None = None
        self.refuses_text = False
        self.step_counts: list[tuple[Any, Any]] = []
        self._leaves: dict[Any, Any] = {}  # by the identity of the value from outside

    is_body = True
    var_type: ClassVar[type[Var]]

    def __enter__(self) -> BodyTrace:
        super().__enter__()
        return self

    def leaf(self, value: Any) -> Var:
        """Append a leaf with a plain value."""
        return self.push(Leaf(value, False, None))

    def own(self, value: Any) -> Any:
        """Return a value as one of this tape: Vars from outside, and arrays, become inputs."""
        if type(value) is np.ndarray:
            value = lift(value)
        elif not isinstance(value, Handle) or value.trace_ref is self.ref:
            return value
        key = identity(value)
        known = self._leaves.get(key)
        if known is None:
            known = self._leaves[key] = self.leaf(plain(value))
            self.captured.append(snapshot(value))
            self.captures.append(known.id)
        return known

    def input(self, value: Any, name: str | None = None) -> Var:
        """Append a leaf for a value that is data, which may be a Var from outside."""
        return self.own(value) if isinstance(value, Handle) else super().input(value, name)

    def output(self, value: Any) -> int:
        """Return the node of a result of the body."""
        value = self.own(value)
        return value.id if isinstance(value, Handle) else self.leaf(np.asarray(value)[()]).id

    def process(self, op: Op, operands: Sequence[Any], attrs: dict[str, Any]) -> Any:
        """Compute, and append a node."""
        program = self._recorder
        if program is not None:
            program.observe()
            program.check_operands(op, operands, attrs)
        operands = [self.own(operand) for operand in operands]
        try:
            with computing(program), quietly(program):
                var = super().process(op, operands, attrs)
        except Exception:
            if program is not None:
                program.need_numbers()
            raise
        depends = op.data_dependent
        if depends is True or (depends and depends(*var.node.operands, **attrs)):
            raise self.refuse(f"the shape of what {op.name} returns depends on data")
        return var

    def refuse(self, why: str) -> Unrolled:
        """Return the error that the body cannot be recorded once."""
        self.refused = Unrolled(why, ", in the body of a loop: it may be another one in each step")
        return self.refused


class BodyVar(Var):
    """A handle to a value that is another one in each step: Python may not read it."""

    __slots__ = ()

    is_traced = True

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """The class that `isinstance` finds in the user's code: that of the array or number itself."""
        if not is_asked_by_user():
            return type(self)
        return np.ndarray if isinstance(self.node, Stale) else type(plain(self))

    @property
    def number(self) -> Any:
        """The value in the step that is recorded."""
        need_numbers()
        return self.node.value

    def _refuse(self, how: str) -> NoReturn:
        trace: Any = self.trace
        raise trace.refuse(f"{how} of {errors.describe(self)}")

    @property
    def value(self) -> Any:
        """Refuse."""
        self._refuse(".value")

    def item(self, *index: int) -> NoReturn:
        """Refuse."""
        self._refuse(".item()")

    def tolist(self) -> NoReturn:
        """Refuse."""
        self._refuse(".tolist()")

    def __bool__(self) -> NoReturn:
        self._refuse("the truth")

    def __int__(self) -> NoReturn:
        self._refuse("int()")

    def __index__(self) -> int:
        is_integer = self.dtype.kind in "iu" and not self.ndim  # NumPy asks this of arrays, too
        return self._refuse("int()") if is_integer else super().__index__()

    def __hash__(self) -> int:
        return self._refuse("a key of a dict, or an element of a set,")

    def __format__(self, spec: str) -> str:
        trace: Any = self.trace
        return self._refuse("a text") if trace.refuses_text or self._is_read() else super().__format__(spec)

    def __str__(self) -> str:
        return self._refuse("a text") if self._is_read() else super().__repr__()

    def __repr__(self) -> str:
        return self._refuse("a text") if self._is_read() else super().__repr__()

    def _is_read(self) -> bool:
        """Return whether code asks for the text of an integer or a bool, as it may outside of a loop."""
        is_open = self.trace_ref() is not None and not isinstance(self.node, Stale)
        return is_open and self.dtype.kind in "biu" and not is_shown()

    def __float__(self) -> NoReturn:
        self._refuse("float()")

    def __complex__(self) -> NoReturn:
        self._refuse("complex()")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        self._refuse("a plain array")

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        is_text = func in (np.array_repr, np.array_str, np.array2string)
        if func in (np.array_equal, np.array_equiv, np.allclose, np.min_scalar_type) or (
            is_text and self.dtype.kind in "biu"
        ):
            self._refuse(func.__name__)
        return super().__array_function__(func, types, args, kwargs)


BodyTrace.var_type = BodyVar


def record(
    f: Callable[..., Sequence[Any]],
    examples: Sequence[Any],
    states: int,
    name: str,
    length: int,
    inside: Callable[[], AbstractContextManager[None]],
) -> tuple[Body, list[Any], list[Any]]:
    """Record a function once, as the body of a loop.

    It runs a second time, to see that it does the same: one that counts its calls, draws random numbers or
    writes to an array that it closes over does not.

    Parameters
    ----------
    f : callable
        From a list of Vars to a list of results.
    examples : sequence
        The plain values of the step that is recorded.
    states : int
        How many of them, and of the results, are the state, which comes first.
    name : str
        Of the loop, in messages.
    length : int
        How many steps the loop has.
    inside : callable
        Makes the context of each recording, see `tape.transforms.loops.capacity.body_of`.

    Returns
    -------
    Body
        Its inputs are the Vars that it closes over, and then those of the function.
    list of Var
        These Vars.
    list
        The places of loops in the body that data end. The state ends with the most steps of each.

    Raises
    ------
    Unrolled
        If it cannot be recorded once.
    StateChanged
        If it changes what it uses whenever it runs, and a program is recorded.
    UnsupportedError
        If it does something else each time.
    """
    with inside():
        body, captured, places = _recorded(f, examples, states, name)
    if length > 1:
        before = [np.array(plain(value)) for value in captured]
        watched = Watched(f)
        with inside():
            again, others, _ = _recorded(f, examples, states, name)
        watched.check()
        after = [np.asarray(plain(value)) for value in others]
        if list(map(_node_of, captured)) != list(map(_node_of, others)):
            need_numbers()  # in placeholders one does not see whether they are the same
        if not _are_alike(before, after) or not _are_alike(body, again):
            raise errors.UnsupportedError(
                f"{name}: the function does something else each time it runs, and a compiled function "
                "records it once for all steps. Let it neither count its calls, nor draw random numbers, nor "
                "write to what it closes over: pass that in the carry, or an element for each step in xs"
            )
    return body, captured, places


def _recorded(
    f: Callable[..., Sequence[Any]], examples: Sequence[Any], states: int, name: str
) -> tuple[Body, list[Any], list[Any]]:
    with BodyTrace(name) as trace:
        leaves = [trace.leaf(example) for example in examples]
        try:
            results = f([leaf.again() for leaf in leaves])
        except errors.InPlaceError as error:  # it writes to what it closes over, which only Python does
            raise Unrolled(str(error)) from error
        except Exception as error:
            if trace.refused is not None and error is not trace.refused:  # NumPy raises errors of its own
                raise trace.refused from error
            raise
        outputs = [trace.output(result) for result in results]
        for k, (_, count) in enumerate(trace.step_counts):
            most = trace.leaf(np.int64(0))
            leaves.insert(states + k, most)
            outputs.insert(states + k, trace.output(ops.maximum(most.again(), count)))
    if trace.refused is not None:
        raise trace.refused
    body = extracted(trace.nodes, [*trace.captures, *[leaf.id for leaf in leaves]], outputs)
    return body, trace.captured, [place for place, _ in trace.step_counts]


def _node_of(value: Any) -> Any:
    """Return the node of a Var on the outermost tape; of other values None."""
    node = None
    while isinstance(value, Handle):
        node, value = value.node, value.node.value
    return node


def _are_alike(a: Any, b: Any) -> bool:
    """Return whether two recordings, or two things in them, are the same; of functions, that is assumed."""
    if type(a) is not type(b):
        return False
    if isinstance(a, Body):
        return (a.inputs, a.outputs) == (b.inputs, b.outputs) and _are_alike(
            [_content(node) for node in a.nodes], [_content(node) for node in b.nodes]
        )
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(_are_alike, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_are_alike(a[key], b[key]) for key in a)
    if isinstance(a, (np.ndarray, np.generic)):
        return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()
    if isinstance(a, (bool, int, float, complex, str, slice, type(None))):
        return repr(a) == repr(b)
    return _are_alike(getattr(a, "body", None), getattr(b, "body", None))  # of loops inside


def _content(node: Node) -> tuple[Any, ...]:
    """Return what a node computes, and from what; of an input, nothing."""
    op = node.call.op
    if op is None:
        return (node.value,)
    return op.name, node.call.attrs, [(p, x if p is None else None) for p, x in _pairs(node)]


def _pairs(node: Node) -> Iterator[tuple[int | None, Any]]:
    return zip(node.inputs[::2], node.inputs[1::2], strict=True)
