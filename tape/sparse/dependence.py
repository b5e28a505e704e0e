"""`Dependence`: which inputs each node of a tape depends on, found in one forward pass by index sets.

The tape is that of a forward sweep, which is linear in the tangents it starts from: on it only the operations
of derivative rules stand, as they were applied, so that custom rules, constants and branches are what they
are to derivatives. Each operation has a rule in `tape.core.pattern_rules`, or lets everything depend on
everything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tape.core import pattern_rules
from tape.core.dispatch import recorder
from tape.core.node import Handle, Node, plain
from tape.core.sweep import place
from tape.ops.structure.creation import beside_op
from tape.sparse.sets import IndexSets
from tape.sparse.zeros import Zeros

_FIXED, _INTEGERS, _FLOATS = range(3)
"""What a value of a program depends on: no argument, integers and bools among them, or floats too."""


class Read(NamedTuple):
    """Content that a pattern depends on.

    Attributes
    ----------
    operand : Var or array
        What was read: of a program, it may be other content in another call.
    content : numpy.ndarray
        What was found.
    is_support : bool
        Whether only zeros were told from other numbers.
    """

    operand: Any
    content: np.ndarray
    is_support: bool


class Known(NamedTuple):
    """Content of a value in a step of a loop.

    Attributes
    ----------
    value : numpy.ndarray
    sources : frozenset of int
        The operands of the loop that it follows from.
    """

    value: np.ndarray
    sources: frozenset[int]

    def element(self, k: int) -> Known:
        """Return the content of an element."""
        return Known(self.value[k], self.sources)


class _Frame:
    """What is known of the values in one step of a loop: integers that follow from integers.

    Attributes
    ----------
    known : dict
        By node.
    of : dict
        By the identity of an operand, while a rule is given it.
    used : set of int
        The sources of what rules have read.
    """

    def __init__(self, nodes: Sequence[Node], known: Mapping[int, Known | None]) -> None:
        self.known = {id: one for id, one in known.items() if one is not None}
        self.of: dict[int, Known] = {}
        self.used: set[int] = set()
        for id, node in enumerate(nodes):
            if node.call.op is None and id not in known:
                self.known[id] = Known(np.asarray(node.value), frozenset())

    def named(self, node: Node) -> list[Any]:
        """Return the operands of a node, each as an array of its own, by which its content is found."""
        self.of.clear()
        arrays = []
        for parent, value in zip(node.inputs[::2], node.inputs[1::2], strict=True):
            arrays.append(np.asarray(value).view() if not isinstance(value, tuple) else value)
            known = self.known.get(parent) if parent is not None else Known(np.asarray(value), frozenset())
            if known is not None:
                self.of[id(arrays[-1])] = known
        self._arrays = arrays  # alive for as long as their identity counts
        return arrays

    def compute(self, i: int, node: Node) -> None:
        """Compute integers and bools of which all operands are known."""
        value, op = node.value, node.call.op
        if isinstance(value, tuple) or value.dtype.kind not in "biu" or op is None:
            return
        operands = []
        for parent, operand in zip(node.inputs[::2], node.inputs[1::2], strict=True):
            known = self.known.get(parent) if parent is not None else Known(np.asarray(operand), frozenset())
            if known is None:
                return
            operands.append(known)
        found = op.compute([known.value[()] for known in operands], node.call.attrs)
        self.known[i] = Known(np.asarray(found), frozenset().union(*[known.sources for known in operands]))


class Dependence(IndexSets):
    """Index sets of what is computed from some inputs.

    Parameters
    ----------
    size : int
        The number of inputs.
    arguments : int
        How many of the first nodes of the program that is being recorded are arguments. An index that depends
        on floats among these is another one in each call: it may be any.

    Attributes
    ----------
    reads : list of Read
        The content that was read, in order.
    """

    def __init__(self, size: int, arguments: int = 0) -> None:
        super().__init__(size)
        self.reads: list[Read] = []
        self._arguments = arguments
        self._kinds: list[int] = []  # of the program's nodes so far
        self._frame: _Frame | None = None  # of the body of a loop
        self._zeros: Zeros | None = None

    def through(
        self, nodes: Sequence[Node], given: Mapping[int, Any], roots: Sequence[int], where: object = None
    ) -> list[Any]:
        """Return the set numbers of some nodes of a tape.

        Parameters
        ----------
        nodes : sequence of Node
            The tape.
        given : mapping of int to array
            The set numbers of leaves, by node.
        roots : sequence of int
            Of which nodes.
        where : object, optional
            What errors name as the place of a node.

        Returns
        -------
        list
            An array of set numbers for each root; None where it depends on no input.
        """
        held: list[Any] = [None] * (max(roots, default=-1) + 1)
        for i, numbers in given.items():
            if i < len(held):
                held[i] = numbers
        for i, node in enumerate(nodes[: len(held)]):
            if node.call.op is None:
                continue
            incoming = [None if parent is None else held[parent] for parent in node.inputs[::2]]
            try:
                if any(numbers is not None for numbers in incoming):
                    held[i] = self._passed(node, incoming, node.inputs[1::2])
                elif self._frame is not None:
                    self._frame.compute(i, node)
            except Exception as error:
                error.add_note(f"in the pattern of {place(node, i, where)}")
                raise
        return [held[root] for root in roots]

    def step(
        self, body: Any, given: Sequence[Any], known: Sequence[Known | None]
    ) -> tuple[list[Any], list[Known | None], set[int]]:
        """Do one step of a loop.

        Parameters
        ----------
        body : Body
            Its body.
        given : sequence
            The set numbers of each input, or None.
        known : sequence
            The content of inputs that is known.

        Returns
        -------
        list
            The set numbers of each output, or None.
        list of Known or None
            The content of outputs, as far as it is known.
        set of int
            The sources of the content that was read.
        """
        before, self._frame = self._frame, _Frame(body.nodes, dict(zip(body.inputs, known, strict=True)))
        try:
            leaves = {
                id: numbers for id, numbers in zip(body.inputs, given, strict=True) if numbers is not None
            }
            found = self.through(body.nodes, leaves, body.outputs, "a loop")
            return found, [self._frame.known.get(id) for id in body.outputs], self._frame.used
        finally:
            self._frame = before

    def _passed(self, node: Node, incoming: Sequence[Any], values: Sequence[Any]) -> Any:
        op: Any = node.call.op
        out = plain(node.value)
        if not isinstance(out, tuple) and out.dtype.kind not in "fc":
            return None
        if self._frame is not None:
            values = self._frame.named(node)
        operands = [x if numbers is None else numbers for x, numbers in zip(values, incoming, strict=True)]
        is_moving = [numbers is not None for numbers in incoming]
        rule = op.pattern or pattern_rules.dense
        return rule(self, op, operands, is_moving, node.call.attrs, out)

    # ---- what rules ask of values ------------------------------------------------------------------

    def contents(self, operands: Sequence[Any]) -> list[np.ndarray] | None:
        """Return the content of operands that do not depend on floats, or None if one does."""
        found = [self.content(operand) for operand in operands]
        if any(content is None for content in found):
            return None
        for operand, content in zip(operands, found, strict=True):
            self._note(operand, content, is_support=False)
        return found  # type: ignore[return-value]

    def content(self, operand: Any) -> np.ndarray | None:
        """Return the content of an operand, without noting that it is read; None if it depends on floats."""
        if self._frame is not None:
            known = self._frame.of.get(id(operand))
            return None if known is None else known.value
        if self._kind(operand) == _FLOATS:
            return None
        return np.asarray(plain(operand))

    def known(self, operand: Any, source: int) -> Known | None:
        """Return the content of an operand of a loop, if it is known."""
        content = self.content(operand)
        return None if content is None else Known(content, frozenset((source,)))

    def support(self, operand: Any) -> np.ndarray | None:
        """Return where an operand may differ from zero, whatever the arguments are; None if everywhere."""
        if self._frame is None and self._kind(operand) != _FIXED:
            return self._support_of_computed(operand)
        content = self.content(operand)
        if content is None or np.all(content):
            return None
        is_nonzero = content != 0
        self._note(operand, is_nonzero, is_support=True)
        return is_nonzero

    def _support_of_computed(self, operand: Any) -> np.ndarray | None:
        """Return where what a program computes may differ from zero, whatever its arguments are."""
        program = recorder()
        if program is None or operand.trace_ref is not program.ref:
            return None
        if self._zeros is None:
            kinds = self._kinds
            self._zeros = Zeros(program.nodes, lambda i: kinds[i] == _FIXED, lambda i: kinds[i] != _FLOATS)
        mask, sources = self._zeros.of(operand.id)
        if mask is None:
            return None
        for i in sorted(sources):
            source = program[i]
            is_support = source.dtype.kind in "fc"
            content = np.asarray(plain(source))
            self._note(source, content != 0 if is_support else content, is_support=is_support)
        return mask

    def _note(self, operand: Any, content: Any, *, is_support: bool) -> None:
        if self._frame is not None:
            self._frame.used |= self._frame.of[id(operand)].sources
        elif isinstance(operand, Handle):
            self.reads.append(Read(operand, np.array(content), is_support))

    def _kind(self, operand: Any) -> int:
        """Return what an operand depends on."""
        if not isinstance(operand, Handle):
            return _FIXED
        program = recorder()
        if program is None or operand.trace_ref is not program.ref:
            return _FLOATS  # of whatever it is a Var
        kinds = self._kinds
        for node in program.nodes[len(kinds) : operand.id + 1]:
            if len(kinds) < self._arguments:
                kinds.append(_FLOATS if node.value.dtype.kind in "fc" else _INTEGERS)
                continue
            parents = (
                node.parents[1:] if node.op is beside_op else node.parents
            )  # of x only the trace is used
            kinds.append(max([kinds[parent] for parent in parents if parent is not None], default=_FIXED))
        return kinds[operand.id]
