"""Draws, wherever they happen: eagerly, in programs, and for each example of a batch.

`numbers` is what all methods of a generator call. It returns plain numbers, or Vars of a program that is
being recorded: data, without a derivative by the parameters. `tape.random._pathwise` adds these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from tape import errors, ops
from tape.core import streams
from tape.core.bit_states import drawn
from tape.core.dispatch import resolve
from tape.core.failures import NUMPY_ERRORS
from tape.core.node import Handle
from tape.core.op import Op
from tape.core.results import unpack

Size = int | Sequence[int] | None
Options = tuple[tuple[str, Any], ...]


def shape_of(size: Size, *parameters: Any) -> tuple[int, ...]:
    """Return the shape of a draw: its size, or else that to which the parameters broadcast.

    Raises
    ------
    ShapeError
        If the parameters do not broadcast to it.
    DTypeError
        If one is complex.
    """
    for parameter in parameters:
        if np.iscomplexobj(parameter):
            raise errors.DTypeError(
                f"a parameter of a distribution is {errors.describe(parameter)}. Draw both parts of "
                "a complex number"
            )
    shapes = [np.shape(parameter) for parameter in parameters]
    try:
        common = np.broadcast_shapes(*shapes)
        if size is None:
            return common
        shape = as_size(size)
        if np.broadcast_shapes(shape, common) == shape:
            return shape
    except ValueError:
        pass
    found = ", ".join(str(list(shape)) for shape in shapes)
    raise errors.ShapeError(
        f"size is {size}, and the parameters have the shapes {found}, which do not broadcast to it. Leave "
        "size out, or make it the shape of the result"
    )


def as_size(size: Any) -> tuple[int, ...]:
    """Return a size as a tuple."""
    try:
        return (
            (int(size.__index__()),)
            if hasattr(size, "__index__")
            else tuple(int(n.__index__()) for n in size)
        )
    except (TypeError, AttributeError) as error:
        raise errors.DTypeError(f"size is {size!r}. Give an int, a tuple of ints, or None") from error


def numbers(
    source: streams.Source,
    method: str,
    parameters: Sequence[Any] = (),
    size: Size = None,
    options: Options = (),
    *,
    has_examples: bool = False,
    checks: Sequence[tuple[str, Any]] = (),
) -> Any:
    """Draw, with values of the parameters that have no derivative.

    Parameters
    ----------
    source : Source
        The generator.
    method : str
        A method of `numpy.random.Generator`.
    parameters : sequence
        Its positional arguments: arrays, numbers and Vars.
    size : int, sequence of int or None
        As for the method.
    options : tuple of pairs
        Its keyword arguments, hashable.
    has_examples : bool
        Whether parameters are whole arrays, as probabilities of categories are, and not each element's own.
    checks : sequence of pairs
        Bounds, as ``scale >= 0`` or ``a > 0``, and the values of the caller that keep to them.

    Returns
    -------
    numpy.ndarray, NumPy scalar or Var
    """
    if not checks and streams.is_plain() and not any(isinstance(value, Handle) for value in parameters):
        return _numbers(source.plain, parameters, method, size, options)
    examples = streams.mapped(streams.innermost())
    checked = tuple([bound for bound, _ in checks])
    given = [*parameters, *[value for _, value in checks]]
    if not examples and not any(isinstance(value, Handle) for value in given):
        return streams.draw(source, _Draw(given, method, size, options, (), has_examples, checked))
    if not has_examples:
        size = shape_of(size, *parameters)
    ndim = len(size) if isinstance(size, tuple) and not has_examples else None
    values = [_whole(value, examples, ndim) for value in parameters] + [_below(value) for _, value in checks]
    sizes = tuple([one.size for one in examples])
    out = streams.draw(source, _Draw(values, method, size, options, sizes, has_examples, checked))
    for one in examples:
        out = one.batch(out)
    return out


def data(value: Any) -> Any:
    """Return a value without its derivative, with all its examples."""
    examples = streams.mapped(streams.innermost())
    if not isinstance(value, Handle):
        return value
    value = _whole(value, examples, None)
    for one in examples:
        value = one.batch(_spread(value, one.size))
    return value


def _spread(value: Any, size: int) -> Any:
    return value if np.shape(value)[0] == size else ops.broadcast_to(value, (size, *np.shape(value)[1:]))


def depends(value: Any) -> bool:
    """Return whether a derivative would flow to a value."""
    from tape.conversion.numbers import has_derivative

    value = resolve(value)
    while isinstance(value, Handle):
        if not value.is_batch and has_derivative(value):
            return True
        value = resolve(value.node.value)
    return False


def _below(value: Any) -> Any:
    """Return the array below all traces and batches; in a program, its Var."""
    value = resolve(value)
    while isinstance(value, Handle) and not value.is_traced:
        value = resolve(value.node.value)
    return value


def _whole(value: Any, examples: Sequence[Any], ndim: int | None) -> Any:
    """Return the array below all traces, with an axis in front for each batch; in a program, its Var.

    With ``ndim``, axes of length one are put in between for a value of fewer axes.
    """
    value = resolve(value)
    met: list[Any] = []
    while isinstance(value, Handle) and not value.is_traced:
        if value.is_batch:
            if all(value.trace is not one for one in examples):
                raise errors.UnsupportedError(
                    "a parameter of a random draw is a batch of values where a single draw is repeated. "
                    "Call tape.vmap inside of what is run again, not around it"
                )
            met.append(value.trace)
        value = resolve(value.node.value)
    if not isinstance(value, Handle):
        value = np.asarray(value)
    if not examples:
        return value
    shape = np.shape(value)
    inner = shape[len(met) :]
    missing = 0 if ndim is None else max(0, ndim - len(inner))
    outer = tuple([one.size if any(one is other for other in met) else 1 for one in examples])
    return ops.reshape(value, (*outer, *(1,) * missing, *inner))


class _Draw:
    """One draw; see `numbers`."""

    def __init__(
        self,
        operands: Sequence[Any],
        method: str,
        size: Size,
        options: Options,
        examples: tuple[int, ...],
        has_examples: bool,
        checked: tuple[str, ...],
    ) -> None:
        self.operands = operands
        self.attrs: dict[str, Any] = {
            "method": method,
            "size": None if size is None else as_size(size),
            "options": options,
            "examples": examples,
            "has_examples": has_examples,
            "checked": checked,
        }

    def plain(self, generator: np.random.Generator) -> Any:
        """Draw from a generator."""
        return _numbers(generator, self.operands, **self.attrs)

    def from_state(self, state: Any, kind: str) -> tuple[Any, Any]:
        """Return the state after the draw, and what was drawn."""
        after, out = unpack(draw(state, *self.operands, kind=kind, **self.attrs))
        return after, out


def _numbers(
    generator: np.random.Generator,
    operands: Sequence[Any],
    method: str,
    size: Size,
    options: Options,
    examples: tuple[int, ...] = (),
    has_examples: bool = False,
    checked: tuple[str, ...] = (),
) -> Any:
    """Draw plain numbers; with examples, for all of them one after the other."""
    count = len(operands) - len(checked)
    for bound, value in zip(checked, operands[count:], strict=True):
        is_out = np.less_equal(value, 0) if bound.endswith("> 0") else np.less(value, 0)
        if np.any(is_out):
            raise errors.OptionError(
                f"{method}: it is not everywhere true that {bound}. Give other parameters"
            )
    given = operands[:count]
    try:
        if has_examples and examples:
            return _of_each(generator, given, method, size, options, examples)
        whole = (*examples, *as_size(size or ())) if examples else size
        out = _called(generator, given, method, whole, options)
    except MemoryError:
        raise errors.OptionError(
            f"{method}({errors.describe_all(given)}): there is not enough memory"
        ) from None
    except NUMPY_ERRORS as error:
        if isinstance(error, errors.TapeError):
            raise
        kind = errors.OptionError if isinstance(error, ValueError) else errors.DTypeError
        raise kind(
            f"{method}({errors.describe_all(given)}): {error}. Give parameters as numpy.random.Generator "
            "takes them"
        ) from error
    return out if isinstance(out, np.ndarray) else np.asarray(out)[()]


def _called(
    generator: np.random.Generator, given: Sequence[Any], method: str, size: Size, options: Options
) -> Any:
    """Return what a method of NumPy's generator returns."""
    keywords = dict(options)
    if method == "choice" and len(given) == 2:
        *given, keywords["p"] = given
    if method not in _WITHOUT_SIZE:
        keywords["size"] = size
    return getattr(generator, method)(*given, **keywords)


def _of_each(
    generator: np.random.Generator,
    given: Sequence[Any],
    method: str,
    size: Size,
    options: Options,
    examples: tuple[int, ...],
) -> np.ndarray:
    """Draw for each example, of parameters that have an axis for each batch in front."""
    arrays = [np.asarray(x) for x in given]
    if 0 in examples:  # one example that is as good as any shows what would be drawn
        inner = [x.shape[len(examples) :] for x in arrays]
        one = [
            _stand_in(shape, x.dtype) if x.size == 0 else x.reshape(-1, *shape)[0]
            for x, shape in zip(arrays, inner, strict=True)
        ]
        like = np.asarray(_called(np.random.default_rng(0), one, method, size, options))
        return np.zeros((*examples, *like.shape), like.dtype)
    rows = []
    for place in np.ndindex(examples):
        each = [x[tuple(min(i, n - 1) for i, n in zip(place, x.shape, strict=False))] for x in arrays]
        rows.append(np.asarray(_called(generator, each, method, size, options)))
    return np.stack(rows).reshape(*examples, *rows[0].shape)


def _stand_in(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Return probabilities that are all the same, or enough of each thing that is counted."""
    return np.full(shape, 2**16 if dtype.kind in "iu" else 1 / max(1, *shape, 1)).astype(dtype)


_WITHOUT_SIZE = frozenset({"permutation", "permuted"})


def is_without_size(method: str) -> bool:
    """Return whether a method takes no size."""
    return method in _WITHOUT_SIZE


def _drawn(state: Any, *operands: Any, kind: str, **attrs: Any) -> tuple[Any, Any]:
    return drawn(state, kind, lambda generator: _numbers(generator, operands, **attrs))


def _refuse_batch(*_: Any) -> NoReturn:
    raise errors.UnsupportedError(
        "a random draw was to be run for each element of a batch, which would draw the same numbers for "
        "all. Draw outside, and pass the numbers"
    )


draw = Op(
    _drawn,
    name="draw",
    doc="Draw random numbers from a state of a bit generator; return the state after that, and the numbers.",
    batch=_refuse_batch,
    data_dependent=False,
    explains_errors=False,
)
