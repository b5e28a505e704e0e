"""`find_nonfinite`: the origin of the first NaN or infinity in a function or a program.

A function runs on a watched trace (`tape.inspect.watching`), gradients inside it on watched traces of their
own. A program runs once with every intermediate value among its results.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tape import errors, tree
from tape.core.node import Node, plain
from tape.inspect.watching import watched
from tape.inspect.watching.finite import Finite, Origin, all_finite, describe_operand, first_bad
from tape.program import Program
from tape.program.ir.instructions import Instruction
from tape.program.replay import TraceProgram
from tape.program.report.describe import Names
from tape.program.report.intermediates import intermediates
from tape.program.report.profile import leaves_for
from tape.transforms._record import name_of
from tape.transforms._segment import is_float
from tape.transforms._trial import Trial


@dataclass(frozen=True)
class NonFinite:
    """The result of `find_nonfinite`: true if there is a NaN or an infinity; it prints as a report.

    Attributes
    ----------
    name : str
        The name of the function or program.
    origin : Origin or None
        The operation that produced the first one from finite numbers; None if there is none.
    given : tuple of str
        Arguments and constants that hold some, if they reach the result and there is no origin.
    results : tuple of str
        Results and gradients that hold some, if there is no origin and ``given`` is empty.
    """

    name: str
    origin: Origin | None = None
    given: tuple[str, ...] = ()
    results: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.origin is not None or bool(self.given or self.results)

    def __str__(self) -> str:
        if self.origin is not None:
            return f"{self.name}: {self.origin}"
        if self.given:
            return "\n".join(
                [f"{self.name}: its arguments or constants are not finite", *(f"  {it}" for it in self.given)]
            )
        if self.results:
            return "\n".join(
                [
                    f"{self.name}: no operation on the tape produced it, but",
                    *(f"  {it}" for it in self.results),
                    "  Finite contributions to a gradient may add up to more than its dtype holds: scale the "
                    "numbers. What is computed of plain arrays is not seen: pass those as arguments, floats",
                ]
            )
        return f"{self.name}: all values are finite"

    __repr__ = __str__


def find_nonfinite(f: Callable[..., Any], *args: Any, derivative: bool = True) -> NonFinite:
    """Find the first operation, forwards or backwards, that produces NaN or infinity from finite numbers.

    Parameters
    ----------
    f : callable
        A function of trees, which may take gradients of any order; a compiled function, whose Python code is
        run; or a `Program`.
    *args
        Its arguments. A program made by `Trace.compile` takes none: it runs on the present leaves.
    derivative : bool
        Whether to run a backward pass from the results too. A program contains its own, if any.

    Returns
    -------
    NonFinite
        False if all values are finite. It prints the operation, the operands at the element in question, the
        line, and a likely remedy.

    Raises
    ------
    TapeError
        Any error that ``f`` raises.

    Examples
    --------
    >>> import numpy as np, tape
    >>> def loss(x):
    ...     return np.sum(np.where(x > 0, np.sqrt(x), 0.0))
    >>> print(tape.find_nonfinite(loss, np.array([4.0, 0.0])))
    loss: the derivative of sqrt (node %2) made nan at [1] of float64[2]
      at ...
      operand 0: 0.0 there, in float64[2] from 0 to 4
      adjoint: 0.0 there, in float64[2] from 0 to 1
      The adjoint is 0 there, and 0 times an infinite derivative is NaN. If a where or a mask leaves ...
    >>> bool(tape.find_nonfinite(loss, np.array([4.0, 1.0])))
    False
    """
    if isinstance(f, Program):
        return _in_program(f, args)
    finite = Finite()
    name = name_of(f)
    with np.errstate(all="ignore"), watched(finite):
        try:
            trial = Trial(f, name, args, derivative)
        except errors.NonFiniteError:
            if finite.origin is None:  # raised by another watch
                raise
        if finite.origin is not None:  # ``f`` may have caught it
            return NonFinite(name, finite.origin)
    results = tuple(
        f"{what} holds {_describe_bad(value)}"
        for what, value in trial.results
        if is_float(value) and not all_finite(value)
    )
    if not results:
        return NonFinite(name)
    given = (*_bad_arguments(args), *_bad_constants(trial.trace.nodes))
    return NonFinite(name, given=given) if given else NonFinite(name, results=results)


def _bad_arguments(args: tuple[Any, ...]) -> list[str]:
    leaves, structure = tree.flatten(args)
    names = tree.names(structure, "args")
    return [
        f"{name} holds {_describe_bad(leaf)}"
        for name, leaf in zip(names, leaves, strict=True)
        if is_float(leaf) and not all_finite(leaf)
    ]


def _bad_constants(nodes: Sequence[Node]) -> list[str]:
    """Return descriptions of the constant operands that are not finite, by node."""
    found = []
    for id, node in enumerate(nodes):
        place = f"node %{id}, at {node.site}" if node.site else f"node %{id}"
        for k, (parent, operand) in enumerate(zip(node.parents, node.operands, strict=True)):
            if parent is None and is_float(operand) and not all_finite(operand):
                held = _describe_bad(operand)
                found.append(f"operand {k} of {node.op!r} ({place}), a constant, holds {held}")
    return found


def _describe_bad(value: Any) -> str:
    array = np.asarray(plain(value))
    index = first_bad(array, ())
    assert index is not None
    return f"{array[index]} at {list(index)}, {describe_operand(array)}" if index else f"{array[()]}"


def _sources(id: int, instructions: Sequence[Instruction], values: Container[int]) -> Iterator[int]:
    """Yield the operands of an instruction; of one result among several, those of them all."""
    for operand in instructions[id].operands:
        if operand in values:
            yield operand
        else:
            yield from _sources(operand, instructions, values)


def _in_program(program: Program, args: tuple[Any, ...]) -> NonFinite:
    leaves = program.present if isinstance(program, TraceProgram) and not args else leaves_for(program, args)
    with np.errstate(all="ignore"):
        values = intermediates(program, leaves)
    names = Names(program)
    instructions = program.plan.instructions
    for id, value in values.items():
        step = instructions[id]
        if not step.operands or all_finite(value):
            continue
        operands = tuple(values[operand] for operand in _sources(id, instructions, values))
        index = first_bad(value, operands)
        if index is not None:
            maker = step.operands[0] if step.op == "part" else id
            step = instructions[maker]
            op = step.op if step.op not in ("fold", "kernel") else step.attrs[0]
            made = f"%{id} = {names.made(maker)}"
            origin = Origin(op, "forward", None, value, index, None, operands, None, value, None, made)
            return NonFinite(program.name, origin)
    bad = {id: f"{names.value(id)} holds {_describe_bad(x)}" for id, x in values.items() if not all_finite(x)}
    results = tuple(bad[out] for out in program.plan.outputs if out in bad)
    given = tuple(text for id, text in bad.items() if not instructions[id].operands) if results else ()
    return NonFinite(program.name, given=given, results=() if given else results)
