"""A batch of values that operations take for one: `Batch` behaves like a Var with one axis hidden.

Sweeping a whole batch of tangents or adjoints over a tape costs little more than sweeping one. Nothing
is recorded here: what an operation does to a batch is its rule in `tape.core.batch_rules`; one without a
rule runs once for each element.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn, cast

import numpy as np

from tape import errors, ops
from tape.conversion.foreign import left_to_var
from tape.core import interpreter
from tape.core.dispatch import recorder
from tape.core.interpreter import Interpreter
from tape.core.node import Handle, Leaf
from tape.core.results import Results, is_several, unpack
from tape.core.table import INTERNAL
from tape.core.var import Var
from tape.interpreters import sharing


class Lanes(Interpreter):
    """The interpreter of a batch: its size, with a level of its own; a `Batch` has it in place of a trace.

    Parameters
    ----------
    size : int
        How many elements a batch has.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.interpreters.batching import Lanes
    >>> with Lanes(2) as lanes:
    ...     v = lanes.batch(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    ...     v.shape, lanes.values(v @ np.ones(3))
    ((3,), array([ 6., 15.]))
    """

    is_batch = True
    is_strict = False
    needs_numbers = False
    stack: list[Any]

    def __init__(self, size: int) -> None:
        self.size = size
        self.level = interpreter.next_level()
        self.ref = weakref.ref(self)
        self.around: list[Any] = []  # what is open of `tape.interpreters.choosing`

    def __repr__(self) -> str:
        return f"<a batch of {self.size}>"

    def __enter__(self) -> Lanes:
        interpreter.push(self)
        return self

    def __exit__(self, *exception: object) -> None:
        interpreter.pop(self)

    def batch(self, values: Any) -> Batch:
        """Values along the first axis of an array or Var, as one."""
        assert not self.owns(values)  # a batch of batches would stand for all pairs of elements
        return Batch(self.ref, -1, self.leaf(values))

    def leaf(self, values: Any) -> Leaf:
        """The node of a batch of these values."""
        leaf = Leaf(values, False, None)
        for region in self.around:
            region.note(leaf)
        return leaf

    def input(self, value: Any) -> Batch:
        """A value that is the same for all elements, as a batch of it."""
        return self.batch(self.values(value))

    def owns(self, value: Any) -> bool:
        """Whether a value is a batch of these."""
        return isinstance(value, Handle) and value.trace_ref is self.ref

    def values(self, result: Any) -> Any:
        """The values of a batch, along the first axis; of anything else, as often as there are lanes."""
        if self.owns(result):
            return result.node.value
        return ops.broadcast_to(result, (self.size, *np.shape(result)))

    def process(self, op: Any, operands: Sequence[Any], attrs: dict[str, Any]) -> Any:
        """Run the batch rule of an operation; without one, run the operation once for each element."""
        ref = self.ref
        is_batched = [isinstance(x, Handle) and x.trace_ref is ref for x in operands]
        raw = [x.node.value if inside else x for x, inside in zip(operands, is_batched, strict=True)]
        if op.is_constant:  # its rule for batches may call operations that are not
            with INTERNAL["no_grad"]():
                result = self._result(op, raw, is_batched, attrs)
        else:
            result = self._result(op, raw, is_batched, attrs)
        batch = Batch(ref, -1, self.leaf(result))
        if op.view is not None and any(is_batched[1:]) and sharing.is_row(operands, attrs):
            sharing.note_row(batch, operands, attrs)
        elif op.view is not None and is_batched[0]:
            sharing.note_view(batch, operands, attrs)
        return batch

    def _result(
        self, op: Any, operands: Sequence[Any], is_batched: Sequence[bool], attrs: dict[str, Any]
    ) -> Any:
        if op.batch is not None:
            result = op.batch(op, operands, is_batched, attrs, self.size)
            if result is not NotImplemented:
                return result
        return self._one_by_one(op, operands, is_batched, attrs)

    def _one_by_one(
        self, op: Any, operands: Sequence[Any], is_batched: Sequence[bool], attrs: dict[str, Any]
    ) -> Any:
        if not self.size:
            return _of_none(op, operands, is_batched, attrs)

        def one(elements: Sequence[Any]) -> Any:
            given = iter(elements)
            return op.bind([next(given) if each else x for x, each in pairs], attrs)

        pairs = list(zip(operands, is_batched, strict=True))
        values = [x for x, each in pairs if each]
        if recorder() is not None:
            return INTERNAL["each"](op.name, one, values)  # a loop of the program
        found = [one([x[i] for x in values]) for i in range(self.size)]
        if not any(map(is_several, found)):
            return _stacked(op, found)
        several = [unpack(x) if is_several(x) else () for x in found]
        if len({*map(len, several)}) > 1:
            counts = ", ".join(sorted({str(len(x) or "no tuple") for x in several}))
            raise errors.ShapeError(
                f"{op.name} returns tuples of other lengths for other elements of the batch: {counts}. All "
                "must have as many results"
            )
        return Results([_stacked(op, column) for column in zip(*several, strict=True)])


def _stacked(op: Any, results: Sequence[Any]) -> Any:
    """Join what an operation has returned for each element."""
    check_kinds(op.name, results)
    shapes = list(dict.fromkeys(map(np.shape, results)))
    if len(shapes) > 1:
        found = ", ".join(map(str, shapes[:4])) + ", ..." * (len(shapes) > 4)
        raise errors.ShapeError(
            f"{op.name} returns arrays of other shapes for other elements of the batch: {found}. All must be "
            "of one shape: np.where(mask, x, 0.0) keeps it, unlike x[mask], and so do reductions with where="
        )
    return ops.stack(results)


def check_kinds(name: str, results: Iterable[Any]) -> None:
    """Check that what an operation has returned for each element are all floats, or all none.

    Raises
    ------
    DTypeError
        If some are: joined, all would be.
    """
    dtypes = list(dict.fromkeys(map(np.result_type, results)))
    if len({dtype.kind in "fc" for dtype in dtypes}) > 1:
        raise errors.DTypeError(
            f"{name} returns arrays of other dtypes for other elements of the batch: "
            f"{', '.join(map(str, dtypes))}. Return floats for all, or for none"
        )


def _of_none(op: Any, operands: Sequence[Any], is_batched: Sequence[bool], attrs: dict[str, Any]) -> Any:
    """Return the empty results of an operation: of the shapes and dtypes that they have of zeros."""
    like = [
        np.zeros(np.shape(x)[each:], np.result_type(x)) if isinstance(x, Handle) or each else x
        for x, each in zip(operands, is_batched, strict=True)
    ]
    depends = op.data_dependent
    if depends is True or (depends and depends(*like, **attrs)):
        raise errors.UnsupportedError(
            f"the shape of {op.name} depends on its values, and an empty batch has none"
        )
    with np.errstate(all="ignore"):
        found = op.compute(like, attrs)
    columns = [np.zeros((0, *x.shape), x.dtype) for x in map(np.asarray, unpack(found))]
    return Results(columns) if is_several(found) else columns[0]


_ON_SHAPES = frozenset(
    {np.shape, np.ndim, np.size, np.result_type, np.can_cast, np.iscomplexobj, np.isrealobj}
)


class Batch(Var):
    """A handle to values of which every operation sees one; they are made by `Lanes`."""

    __slots__ = ("memory",)

    is_batch = True

    def __init__(self, trace_ref: Any, id: int, node: Any) -> None:
        self.trace_ref = trace_ref
        self.id = id
        self.node = node
        self.share = None
        self.memory: sharing.Memory | None = None  # if it is not that of any array of its own

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each axis of one value."""
        return self.node.value.shape[1:]

    @property
    def ndim(self) -> int:
        """Number of axes of one value."""
        return len(self.shape)  # none of several results

    @property
    def size(self) -> int:
        """Number of elements of one value."""
        return int(np.prod(self.shape))

    def __repr__(self) -> str:
        return f"Batch({self.dtype}{list(self.shape)}, {len(self.node.value)} values)"

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func in _ON_SHAPES:  # questions about one value
            one = np.empty(self.shape, self.dtype)
            return func(*(one if a is self else a for a in args), **kwargs)
        if func in (np.array_equal, np.allclose):
            self.__bool__()
        return super().__array_function__(func, types, args, kwargs)

    def again(self) -> Batch:
        """Another handle to the same values, which stay there when this one is written to."""
        values = self.node.value
        if not isinstance(values, Handle):
            return super().again()
        leaf = Leaf(values.again(), False, None)
        for region in cast("Lanes", self.trace).around:
            if region.is_inside(self):
                region.note(leaf)
        return Batch(self.trace_ref, self.id, leaf)

    @property
    def is_array(self) -> bool:
        """Whether one value is an array, which can be written to, and no number."""
        return self.ndim > 0 if self.memory is None else self.memory.is_array

    def write(self, new: Batch) -> None:
        """Write other values over these: see `tape.interpreters.sharing`."""
        sharing.write(self, new)

    def holds(self, index: Any, value: Any) -> bool:
        """Whether a value is what these have at an index already."""
        return sharing.is_there(self, index, value)

    def item(self, *index: int) -> NoReturn:
        """Refuse: there are several values."""
        self._scalar("item()")

    def tolist(self) -> NoReturn:
        """Refuse: there are several values."""
        self._scalar("tolist()")

    def _scalar(self, target: str) -> NoReturn:
        self._refuse(target, "Compute with it as it is")

    def _refuse(self, target: str, instead: str) -> NoReturn:
        raise errors.ConversionError(
            f"{target} of {self!r}: it stands for several values, one for each element of a batch. {instead}"
        )

    def __index__(self) -> NoReturn:
        self._refuse("an index", "Write tape.ops.getitem(array, i) for array[i]")

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        deferred = left_to_var(self)
        if deferred is None:
            self._refuse(
                "a plain array",
                "Use NumPy's functions on it, or tape.ops.getitem(array, i) for array[i]; to write it into "
                "an array, make that by np.zeros_like, or with like=, from something in the batch",
            )
        return deferred

    def __bool__(self) -> NoReturn:
        self._refuse("the truth", "Use np.where, tape.cond or tape.while_loop")


def one_by_one(rule: Callable[..., Any]) -> Callable[..., Any]:
    """Return a rule that cannot run on batches as one that runs once for each element.

    Parameters
    ----------
    rule : callable
        ``rule(d, out, *operands, **attrs)``, where d is an adjoint, or a list of tangents and Nones.

    Returns
    -------
    callable
        The same, for a d that is a `Batch`, or a list with some. Of other values that are batches of the same
        elements, too, it sees one element.
    """

    def each(d: Any, out: Any, *operands: Any, **attrs: Any) -> Any:
        parts = d if isinstance(d, list) else [d]
        found: list[Any] = [part.trace for part in parts if isinstance(part, Batch)]
        if not found:
            return rule(d, out, *operands, **attrs)
        lanes = max(found, key=lambda lanes: lanes.level)
        raw = [None if part is None else lanes.values(part) for part in parts]
        results = []
        for i in range(lanes.size):
            one = [None if part is None else part[i] for part in raw]
            others = [x.node.value[i] if lanes.owns(x) else x for x in (out, *operands)]
            results.append(each(one if isinstance(d, list) else one[0], *others, **attrs))
        if isinstance(d, list):
            return None if results[0] is None else lanes.batch(ops.stack(results))
        return [
            None if column[0] is None else lanes.batch(ops.stack(column))
            for column in zip(*results, strict=True)
        ]

    return each
