"""The origin of NaN and infinities: the first operation or rule that produces one from finite numbers.

`Finite` is the watch that raises; the `Origin` it has found describes what happened. NaN and infinities that
come from operands are no error: data may hold some, and masks use infinities.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tape import errors
from tape.core.node import Node, plain
from tape.core.results import Results, flattened
from tape.core.sites import Site
from tape.inspect.watching.cures import cure
from tape.inspect.watching.watch import RUNNING, Phase, Ref, Rule, Watch
from tape.kernels.accumulate import Scattered

_HEADS = {"forward": "", "backward": "the derivative of ", "tangent": "the forward derivative of "}

_BLAS_FROM, _BLAS_TO = 16, 8192
"""Sizes for which a dot product is the fastest check of all elements; larger ones would start threads."""


@dataclass(frozen=True)
class Origin:
    """The operation that produced the first NaN or infinity.

    Attributes
    ----------
    op : str
        The operation.
    phase : {"forward", "backward", "tangent"}
        Whether its forward, its vjp or its jvp was running.
    node : int or None
        The id of its node; None in a program.
    made : array
        The array with the NaN or infinity: the result, the contribution to an adjoint, or the tangent.
    index : tuple of int
        The index in that array.
    operand : int or None
        The operand that the contribution is for.
    operands : tuple
        The operands, as plain values.
    given : array or None
        The adjoint of the result, in a backward pass.
    out : array
        The result of the operation.
    site : Site or None
        The user's line.
    made_by : str
        In a program, the instruction.
    within : Rule or None
        The rule that recorded it, of a node of an inner trace.
    """

    op: str
    phase: Phase
    node: int | None
    made: Any
    index: tuple[int, ...]
    operand: int | None
    operands: tuple[Any, ...]
    given: Any
    out: Any
    site: Site | None
    made_by: str = ""
    within: Rule | None = None

    @property
    def value(self) -> Any:
        """The NaN or infinity itself."""
        return np.asarray(self.made)[self.index]

    @property
    def cure(self) -> str:
        """A likely remedy."""
        op, phase, operands, given, out = self.op, self.phase, self.operands, self.given, self.out
        if self.within is not None:
            phase, node, given = self.within
            op, operands, out = _name(node), tuple(map(plain, node.operands)), plain(node.value)
        index = self._index_in(out)
        there = [_at(operand, out, index) for operand in operands]
        adjoint = None if given is None else _at(plain(given), out, index)
        return cure(op, phase, self.value, there, adjoint, np.asarray(self.made).dtype)

    @property
    def headline(self) -> str:
        """One line that names the operation, the value and the place."""
        what = _HEADS[self.phase] + (self.made_by or self.op)
        at = f" at {list(self.index)} of {errors.describe(self.made)}" if self.index else ""
        to = f" for operand {self.operand}" if self.operand is not None and len(self.operands) > 1 else ""
        node = "" if self.node is None else f" (node %{self.node})"
        rule = "" if self.within is None else f", in {_HEADS[self.within.phase]}{_name(self.within.node)},"
        return f"{what}{node}{rule} made {self.value}{to}{at}"

    @property
    def circumstances(self) -> list[str]:
        """One line for each operand, and one for the adjoint."""
        lines = [f"operand {k}: {self._describe(x)}" for k, x in enumerate(self.operands)]
        if self.given is not None:
            lines.append(f"adjoint: {self._describe(self.given)}")
        return lines

    def __str__(self) -> str:
        lines = [self.headline]
        if self.site is not None:
            lines.append(f"  at {self.site}, in {self.site.function}")
            lines += [f"    {line}" for line in self.site.excerpt]
        lines += [f"  {line}" for line in self.circumstances]
        return "\n".join([*lines, f"  {self.cure}"])

    def _index_in(self, out: Any) -> tuple[int, ...] | None:
        """Return the element of the result that the NaN belongs to; None if it is unknown."""
        shape = np.shape(out)
        if np.shape(self.made) == shape:
            return self.index
        return None if shape else ()

    def _describe(self, operand: Any) -> str:
        if not np.ndim(operand):
            return f"{operand}"
        is_alike = np.shape(operand) == np.shape(self.made)
        value = operand[self.index] if is_alike else _at(operand, self.out, self._index_in(self.out))
        return (
            describe_operand(operand) if value is None else f"{value} there, in {describe_operand(operand)}"
        )


class Finite(Watch):
    """A watch that raises at the first NaN or infinity that results from finite numbers.

    Attributes
    ----------
    origin : Origin or None
        The origin, once one was found.
    """

    def __init__(self) -> None:
        self.origin: Origin | None = None

    def recorded(self, node: Node, id: int) -> None:
        """Check the value."""
        if node.call.op is not None and not all_finite(node.value):
            # A running rule has recorded this, on an outer trace.
            within = Rule(*RUNNING.rules[-1]) if RUNNING.rules else None
            self._look(node, "forward", node.value, id=id, within=within)

    def pulled(self, node: Node, adjoint: Any, contributions: Sequence[tuple[int, Any]], trace: Ref) -> None:
        """Check the contribution to each operand."""
        operand = -1
        for parent, contribution in contributions:
            operand = node.parents.index(parent, operand + 1)  # they come in the order of the operands
            part = contribution.values if type(contribution) is Scattered else contribution
            if not all_finite(part):
                self._look(node, "backward", part, id=_id(node, trace), operand=operand, given=plain(adjoint))

    def pushed(self, node: Node, incoming: Sequence[Any], tangent: Any, trace: Ref) -> None:
        """Check the tangent."""
        if tangent is not None and not all_finite(tangent):
            tangents = [plain(t) for t in incoming if t is not None]
            self._look(node, "tangent", tangent, id=_id(node, trace), tangents=tangents)

    def _look(
        self,
        node: Node,
        phase: Phase,
        made: Any,
        *,
        id: int | None,
        operand: int | None = None,
        given: Any = None,
        tangents: Sequence[Any] = (),
        within: Rule | None = None,
    ) -> None:
        """Raise if a value is not finite and its sources are."""
        operands, made = tuple(flattened(map(plain, node.operands))), plain(made)
        if type(made) is Results:
            made = next(plain(part) for part in made if part is not None and not all_finite(part))
        sources = [plain(part) for part in flattened([*tangents, given]) if part is not None]
        if type(given) is Results:
            given = next(plain(part) for part in given if part is not None)
        index = first_bad(made, (*operands, *sources))
        if index is None:
            return
        origin = Origin(
            _name(node),
            phase,
            id,
            made,
            index,
            operand,
            operands,
            given,
            plain(node.value),
            node.site,
            within=within,
        )
        if self.origin is None:
            self.origin = origin
        raise errors.NonFiniteError(str(origin))


def all_finite(value: Any) -> bool:
    """Return whether an array, a number or a Var holds neither NaN nor infinity."""
    kind = type(value)
    if kind is np.float64 or kind is float:
        return math.isfinite(value)
    array = plain(value)
    if type(array) is Results:
        return all(part is None or all_finite(part) for part in array)
    if type(array) is np.ndarray:
        if array.dtype.kind not in "fc":
            return True
        if _BLAS_FROM <= array.size <= _BLAS_TO and array.flags.c_contiguous and array.dtype.char in "dfDF":
            flat = array.reshape(-1)
            # Squares may overflow, so elements are checked again; np.dot and np.inner would warn.
            if math.isfinite(abs(np.vdot(flat, flat))):
                return True
        return bool(np.logical_and.reduce(np.isfinite(array), axis=None))
    return bool(np.isfinite(array).all()) if np.asarray(array).dtype.kind in "fc" else True


def first_bad(made: Any, sources: Sequence[Any]) -> tuple[int, ...] | None:
    """Return the index of the first NaN that no source has, or of the first infinity from finite sources."""
    made = np.asarray(made)
    floats = [np.asarray(source) for source in sources if np.asarray(source).dtype.kind in "fc"]
    is_nan = np.isnan(made)
    if is_nan.any() and not any(np.isnan(source).any() for source in floats):
        bad = is_nan
    elif all(np.isfinite(source).all() for source in floats):
        bad = ~np.isfinite(made)
    else:
        return None
    places = np.argwhere(bad)
    return tuple(map(int, places[0])) if len(places) else None


def describe_operand(operand: Any) -> str:
    """Describe an operand in a few words: a number, or dtype, shape and range."""
    array = np.asarray(operand)
    if not array.ndim:
        return str(operand)
    if not array.size or array.dtype.kind not in "biuf":
        return errors.describe(operand)
    finite = array[np.isfinite(array)]
    if not finite.size:
        return f"{errors.describe(operand)} without finite elements"
    return f"{errors.describe(operand)} from {finite.min():.6g} to {finite.max():.6g}"


def _at(operand: Any, out: Any, index: tuple[int, ...] | None) -> Any:
    """Return the element of an operand that an element of the result depends on; None if it is unknown."""
    array = np.asarray(operand)
    if not array.ndim:
        return operand
    if index is None:
        return None
    try:
        return np.broadcast_to(array, np.shape(out))[index]
    except ValueError:
        return None


def _name(node: Node) -> str:
    return node.op.name if node.op is not None else ""


def _id(node: Node, trace: Ref) -> int | None:
    swept = trace()
    return next((id for id, other in enumerate(swept.nodes) if other is node), None) if swept else None
