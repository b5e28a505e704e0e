"""The derivatives that `tape grad` reports: first order from one trace, higher orders by transforms.

Knows nothing of how they are printed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from tape import errors
from tape.core.node import plain
from tape.core.trace import Trace
from tape.core.var import Var
from tape.errors import describe
from tape.expressions import Expression
from tape.transforms import hessian, jacobian, taylor

_MOST_TERMS = 10_000
"""The largest tensor of derivatives that is computed to be printed."""


@dataclass
class Derivatives:
    """An expression at a point, with its value and derivatives there.

    Attributes
    ----------
    f : Expression
        The expression.
    values : dict of str to array
        The values of its variables.
    trace : Trace
        The tape, swept backwards once if anything flows.
    root : Var or None
        The result; None where it depends on no variable.
    value : array
        The result.
    partials : dict of str to array
        The gradient by each chosen variable; of an array, that of the sum of its elements.
    tangents : dict of str to array
        The direction of ``tangent``; empty if there is none.
    tangent : array or None
        The derivative along it.
    higher : dict of str to array
        The derivatives of second and higher order, by their names in Leibniz's notation.
    """

    f: Expression
    values: dict[str, Any]
    trace: Trace
    root: Var | None
    value: Any
    partials: dict[str, Any]
    tangents: dict[str, Any] = field(default_factory=dict)
    tangent: Any = None
    higher: dict[str, Any] = field(default_factory=dict)

    @property
    def differentiated(self) -> str:
        """The quantity that the partials differentiate, in words: the value, or the sum of its elements."""
        shape = np.shape(self.value)
        return f"sum of {np.size(self.value)} elements" if shape else "value"


def differentiate(
    f: Expression, values: dict[str, Any], wanted: Sequence[str], *, sites: bool = False
) -> Derivatives:
    """Evaluate an expression on a trace and run a backward pass.

    Parameters
    ----------
    f : Expression
        The expression.
    values : dict of str to array
        One for each variable, in their order.
    wanted : sequence of str
        The variables to differentiate by; the others are inputs.
    sites : bool
        Whether to record the place of nodes in the text.

    Returns
    -------
    Derivatives
        With everything of first order.

    Raises
    ------
    DTypeError
        If the result is complex.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.command.derivatives import differentiate
    >>> from tape.expressions import expression
    >>> found = differentiate(expression("a * b"), {"a": np.float64(3), "b": np.float64(4)}, ["a"])
    >>> float(found.value), {name: float(partial) for name, partial in found.partials.items()}
    (12.0, {'a': 4.0})
    """
    trace = Trace(name="f", sites=sites)
    leaves = {
        name: (trace.param if name in wanted else trace.input)(v, name=name) for name, v in values.items()
    }
    result = f(**leaves)
    root = result if isinstance(result, Var) else None
    value = np.asarray(plain(result))[()]
    if value.dtype.kind == "c":
        raise errors.DTypeError(
            f"the value is complex, {value}, and has no gradient by itself. Differentiate real(...), "
            "imag(...) or abs(...) of it"
        )
    partials = {name: np.zeros_like(values[name]) for name in wanted}
    if root is not None and root.node.is_active:
        adjoints = trace.backward(root)
        found = {name: adjoints[leaves[name].id] for name in wanted}
        partials |= {name: adjoint for name, adjoint in found.items() if adjoint is not None}
    return Derivatives(f, values, trace, root, value, partials)


def along(found: Derivatives, tangents: Mapping[str, Any]) -> None:
    """Add the derivative along a direction, by a forward-mode pass over the same trace.

    Parameters
    ----------
    found : Derivatives
        Where it goes.
    tangents : mapping of str to array
        By variable, of its shape, or a number that all its elements move by; others stand still.

    Raises
    ------
    OptionError
        If a tangent does not fit its variable.
    """
    for name, tangent in tangents.items():
        shape = np.shape(found.values[name])
        try:
            found.tangents[name] = np.broadcast_to(tangent, shape).astype(found.values[name].dtype)
        except ValueError:
            raise errors.OptionError(
                f"--jvp: the tangent of {name} is {describe(tangent)}, {name} itself "
                f"{describe(found.values[name])}. Give a tangent of the same shape, or a number"
            ) from None
    if found.root is None:
        found.tangent = np.zeros_like(found.value)
        return
    leaves = {leaf.node.name: leaf for leaf in found.trace if leaf.node.op is None}
    moves = {leaves[name]: tangent for name, tangent in found.tangents.items()}
    found.tangent = found.trace.jvp(found.root, moves)


def higher(found: Derivatives, order: int) -> None:
    """Add the derivatives of order 2 to ``order``.

    By one number, or one array that the result has the shape of: one sweep of power series, all
    elements moving together. By several numbers: every mixed derivative. By arrays: the Hessian.

    Parameters
    ----------
    found : Derivatives
        Where they go.
    order : int
        The highest.

    Raises
    ------
    OptionError
        If the order is above 2 where there are arrays, or there would be too many derivatives.
    """
    names = list(found.partials)
    if not names:
        return
    shape = np.shape(found.value)
    if len(names) == 1 and np.shape(found.values[names[0]]) == shape:
        found.higher |= _along_one(found, names[0], order)
    elif not any(np.shape(found.values[name]) for name in names) and not shape:
        found.higher |= _mixed(found, names, order)
    elif order == 2:
        found.higher |= _second(found, names)
    else:
        arrays = ", ".join(f"{name} {describe(found.values[name])}" for name in names)
        raise errors.OptionError(
            f"--order {order} with arrays ({arrays}): above order 2, only derivatives by numbers, or by one "
            "array of the shape of the result, are computed. Take --order 2 for the Hessian, or --wrt one "
            "variable"
        )


def _along_one(found: Derivatives, name: str, order: int) -> dict[str, Any]:
    point = found.values[name]
    series = taylor(
        lambda moved: found.f(**(found.values | {name: moved})), point, np.ones_like(point), order
    )
    return {_leibniz(found, (name,) * k): series[k] for k in range(2, order + 1)}


def _mixed(found: Derivatives, names: list[str], order: int) -> dict[str, Any]:
    if len(names) ** order > _MOST_TERMS:
        raise errors.OptionError(
            f"--order {order} of {len(names)} variables makes {len(names) ** order} derivatives. Take a "
            "lower order, or --wrt one variable"
        )

    def derivative(point: Any) -> Any:
        return found.f(**(found.values | {name: point[i] for i, name in enumerate(names)}))

    point = np.array([found.values[name] for name in names])
    named = {}
    for k in range(1, order + 1):
        derivative = jacobian(derivative)
        if k > 1:
            tensor = derivative(point)
            for chosen in combinations_with_replacement(range(len(names)), k):
                named[_leibniz(found, [names[i] for i in chosen])] = tensor[chosen]
    return named


def _second(found: Derivatives, names: list[str]) -> dict[str, Any]:
    def total(moved: dict[str, Any]) -> Any:
        return np.sum(found.f(**(found.values | moved)))

    blocks = hessian(total)({name: found.values[name] for name in names})
    pairs = combinations_with_replacement(names, 2)
    return {_leibniz(found, pair): blocks[pair[0]][pair[1]] for pair in pairs}


def _leibniz(found: Derivatives, names: Sequence[str]) -> str:
    """Return the name of a derivative: ``d3f/da2 db`` for a, a, b."""
    by = " ".join(f"d{n}{names.count(n) if names.count(n) > 1 else ''}" for n in dict.fromkeys(names))
    return f"d{len(names)}f/{by}"
