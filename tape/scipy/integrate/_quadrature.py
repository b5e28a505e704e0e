"""Integrals of functions by SciPy's adaptive quadrature, differentiated by Leibniz's rule.

The derivative of an integral is the integral of the derivative, and the integrand at the limits. Derivatives
call the same operation again, of the derivative of the integrand, and so can be differentiated themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from tape import errors, ops
from tape.core.closures import Bound
from tape.core.dispatch import recorder
from tape.core.nesting import batch_below
from tape.interpreters.batching import one_by_one
from tape.ops.structure.layout import of_kind
from tape.scipy._operands import inside, operand, refusing_vars
from tape.transforms._record import check_callable, name_of
from tape.transforms._segment import Segment, is_float, pull_through, push_through

__all__ = ["quad", "quad_vec"]


def quad(
    func: Any,
    a: Any,
    b: Any,
    args: Any = (),
    full_output: int = 0,
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
    limit: int = 50,
    points: Any = None,
    **options: Any,
) -> tuple[Any, ...]:
    """Integrate a function of one number, as `scipy.integrate.quad`.

    Parameters
    ----------
    func : callable
        ``func(x, *args)``, a number. Vars among ``args``, and all that it closes over, are differentiated.
    a, b : scalar or Var
        The limits, finite or infinite.
    args : tuple
        Further arguments of ``func``.
    full_output, epsabs, epsrel, limit, points
        As in SciPy.
    **options
        SciPy's other arguments, for integrands without Vars.

    Returns
    -------
    tuple
        The integral and an estimate of its error, and with ``full_output`` what SciPy adds.

    Raises
    ------
    ConvergenceError
        In a sweep, if the integral of a derivative does not converge.
    UnsupportedError
        For options that have no derivative, and for ``full_output`` in a compiled function.

    Notes
    -----
    Integrals of derivatives are computed to a relative error of 1e-10, or that of the given tolerances.

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape.scipy.integrate import quad
    >>> def decay(rate):
    ...     return quad(lambda x: np.exp(-rate * x), 0.0, np.inf)[0]
    >>> float(tape.grad(decay)(2.0).round(8))
    -0.25
    >>> tape.grad(lambda b: quad(lambda x: x**2, 0.0, b)[0])(3.0).round(8).item()
    9.0
    """
    if not callable(func):  # a function in C
        from scipy import LowLevelCallable, integrate

        if isinstance(func, LowLevelCallable):
            plainly = refusing_vars(
                integrate.quad, "quad of a function in C", "integrals of Python functions"
            )
            return plainly(func, a, b, args, full_output, epsabs, epsrel, limit, points, **options)
    check_callable(func, "quad")
    args = args if isinstance(args, tuple) else (args,)
    given = {"epsabs": epsabs, "epsrel": epsrel, "limit": limit, "points": points, "full_output": full_output}
    given |= options

    def compute(f: Callable[[float], Any], low: float, high: float) -> tuple[Any, ...]:
        from scipy import integrate

        return integrate.quad(lambda x: _number(f(x), "quad"), low, high, **given)

    refused = [name for name in ("weight", "complex_func") if options.get(name)]
    integral = _Integral("quad", func, a, b, args, compute, points, 4 * limit)
    return integral.result(refused, bool(full_output))


def quad_vec(
    f: Callable[..., Any],
    a: Any,
    b: Any,
    epsabs: float = 1e-200,
    epsrel: float = 1e-8,
    norm: str = "2",
    cache_size: float = 100e6,
    limit: float = 10000,
    workers: Any = 1,
    points: Any = None,
    quadrature: str | None = None,
    full_output: bool = False,
    *,
    args: Any = (),
) -> tuple[Any, ...]:
    """Integrate a function of one number with arrays as values, as `scipy.integrate.quad_vec`.

    Parameters
    ----------
    f : callable
        ``f(x, *args)``, an array. Vars among ``args``, and all that it closes over, are differentiated.
    a, b : scalar or Var
        The limits, finite or infinite.
    epsabs, epsrel, norm, cache_size, limit, points, quadrature, full_output
        As in SciPy.
    workers : 1
        Others are for integrands without Vars.
    args : tuple
        Further arguments of ``f``.

    Returns
    -------
    tuple
        The integral and an estimate of its error, and with ``full_output`` what SciPy adds.

    Raises
    ------
    ConvergenceError
        In a sweep, if the integral of a derivative does not converge.
    UnsupportedError
        For workers, and for ``full_output`` in a compiled function.

    Examples
    --------
    >>> import numpy as np, tape
    >>> powers = np.arange(3)
    >>> tape.jacobian(lambda b: tape.scipy.integrate.quad_vec(lambda x: x**powers, 0.0, b)[0])(2.0).round(8)
    array([1., 2., 4.])
    """
    check_callable(f, "quad_vec")
    args = args if isinstance(args, tuple) else (args,)
    if workers != 1:
        from scipy import integrate

        plainly = refusing_vars(integrate.quad_vec, "quad_vec with workers", "integrals with workers=1")
        return plainly(f, a, b, epsabs, epsrel, norm, cache_size, limit, workers, points, quadrature,
                       full_output, args=args)  # fmt: skip

    def compute(f: Callable[[float], Any], low: float, high: float) -> tuple[Any, ...]:
        from scipy import integrate

        return integrate.quad_vec(
            f, low, high, epsabs, epsrel, norm, cache_size, limit, 1, points, quadrature, full_output
        )

    integral = _Integral("quad_vec", f, a, b, args, compute, points, int(min(limit, 1000)))
    return integral.result([], bool(full_output))


def _number(value: Any, what: str) -> Any:
    if np.size(value) != 1:
        raise errors.ShapeError(
            f"{what}: the integrand returned shape {list(np.shape(value))}. It must be a number; quad_vec "
            "integrates arrays"
        )
    return np.asarray(value).reshape(())[()]


class _Integral:
    """One integral: a node whose rules integrate the derivatives of its integrand."""

    def __init__(
        self,
        what: str,
        f: Callable[..., Any],
        a: Any,
        b: Any,
        args: tuple[Any, ...],
        compute: Callable[..., tuple[Any, ...]],
        points: Any,
        limit: int,
    ) -> None:
        self.what, self.f, self.points, self.limit = what, Bound(f), points, limit
        self.name = f"{what}({name_of(f)})"
        self._compute = compute
        limits = [operand(end) for end in (a, b)]
        for end in limits:
            if end.ndim or end.dtype.kind == "c":
                raise errors.ShapeError(
                    f"{what}: a limit is {errors.describe(end)}. It must be a real number; vmap integrates "
                    "between many limits"
                )
        self.first: tuple[Any, ...] = ()
        self.shape: tuple[int, ...] = ()
        self.segment = Segment(self._run, (*limits, *args), {}, self.name, is_inlined=False)

    def _run(self, a: Any, b: Any, *args: Any) -> Any:
        """Return the elements of the integral and the estimate of its error, of plain numbers."""
        if float(a) == float(b) and np.isfinite(a):  # no value is needed, but what it closes over is
            with np.errstate(all="ignore"), suppress(ArithmeticError):
                inside(self.f(float(a), *args))
        found = self._compute(lambda x: inside(self.f(x, *args)), float(a), float(b))
        if not self.first:
            self.first, self.shape = found, np.shape(found[0])
        return np.append(np.asarray(found[0], np.result_type(found[0], np.float64)), found[1])

    def result(self, refused: list[str], is_full: bool) -> tuple[Any, ...]:
        """Return what SciPy returns; the integral is a Var if anything is."""
        if not self.segment.operands:
            return self.first
        if refused:
            raise errors.UnsupportedError(
                f"{self.what}: there is no derivative with {' and '.join(refused)}. Write it as part of the "
                "integrand, real and imaginary parts apart"
            )
        if is_full and recorder() is not None:
            raise errors.UnsupportedError(
                f"{self.what}: full_output=True would be frozen in a compiled function. Leave it out"
            )
        found = self.segment.as_node(one_by_one(self._vjp), one_by_one(self._jvp))
        integral = of_kind(ops.reshape(found[:-1], self.shape), self.first[0])
        return (integral, found[-1], *self.first[2:])

    # ---- rules -------------------------------------------------------------------------------------

    def _at(self, x: Any) -> Callable[..., Any]:
        """Return the integrand at a point as a function of all operands."""

        def integrand(*operands: Any) -> Any:
            value = operand(self.segment.call(lambda a, b, *args: self.f(x, *args), operands))
            return value if value.shape == self.shape else ops.reshape(value, self.shape)  # of one element

        return integrand

    def _at_end(self, end: Any, other: Any, operands: Sequence[Any]) -> Any:
        """Return the integrand at a limit, zero if that is infinite."""
        is_finite = ops.isfinite(end)
        condition = is_finite
        while (batch := batch_below(condition)) is not None:
            condition = ops.all(batch.node.value)
        if condition:  # in a program a guard
            return self._at(end)(*operands)
        safe = ops.where(is_finite, end, ops.where(ops.isfinite(other), other, 0.0))
        with np.errstate(all="ignore"):
            return ops.where(is_finite, self._at(safe)(*operands), 0.0)

    def _limits(self, operands: Sequence[Any]) -> tuple[Any, Any]:
        (a, b, *_), _ = self.segment.arguments(operands[: len(self.segment.places)])
        return a, b

    def _of_derivative(self, f: Callable[[Any], Any], a: Any, b: Any) -> Any:
        """Return the integral of a derivative, to nearly all digits."""
        sizes = [*self.shape, *map(np.size, self.segment.operands)]

        def compute(f: Callable[[float], Any], low: float, high: float) -> tuple[Any, ...]:
            from scipy import integrate

            norm = "max" if all(sizes) else "2"  # of no elements there is no largest
            value, error, info = integrate.quad_vec(
                f, low, high, 1e-12, 1e-10, norm=norm, limit=self.limit, points=self.points, full_output=True
            )
            if not info.success and not error <= 1.49e-8 * max(
                1.0, float(np.max(np.abs(value), initial=0.0))
            ):
                raise errors.ConvergenceError(
                    f"{self.name}: the integral of its derivative does not converge: the estimated error is "
                    f"{error:.3g}. Split the interval at singularities by points=, or raise limit"
                )
            return value, error

        return _Integral(f"derivative of {self.what}", f, a, b, (), compute, self.points, self.limit).result(
            [], False
        )[0]

    def _jvp(self, tangents: Sequence[Any], out: Any, *operands: Any) -> Any:
        a, b = self._limits(operands)
        moving = dict(zip(self.segment.places, tangents, strict=False))
        inner = [
            None if k < len(self.segment.places) and self.segment.places[k] < 2 else t
            for k, t in enumerate(tangents)
        ]
        total: Any = 0.0
        if any(t is not None for t in inner):

            def along(x: Any) -> Any:
                found = push_through(self._at(x), inner, operands, self.name)
                return np.zeros(self.shape) if found is None else found

            total = self._of_derivative(along, a, b)
        for place, end, sign in ((0, a, -1.0), (1, b, 1.0)):
            if moving.get(place) is not None:
                total = total + sign * moving[place] * self._at_end(end, (b, a)[place], operands)
        total = ops.broadcast_to(operand(total), self.shape)
        return ops.concatenate([ops.ravel(total), np.zeros(1)])

    def _vjp(self, g: Any, out: Any, *operands: Any) -> list[Any]:
        a, b = self._limits(operands)
        g = ops.reshape(g[:-1], self.shape)
        places = self.segment.places
        contributions: list[Any] = [None] * len(operands)
        inner = [
            k
            for k, value in enumerate(operands)
            if is_float(value) and not (k < len(places) and places[k] < 2)
        ]
        if inner:

            def adjoints(x: Any) -> Any:
                found = pull_through(self._at(x), g, operands, self.name)
                parts = [np.zeros(np.shape(operands[k])) if found[k] is None else found[k] for k in inner]
                return ops.concatenate([ops.ravel(part) for part in parts])

            total = self._of_derivative(adjoints, a, b)
            start = 0
            for k in inner:
                size = int(np.size(operands[k]))
                contributions[k] = ops.reshape(total[start : start + size], np.shape(operands[k]))
                start += size
        for k, place in enumerate(places):
            if place < 2 and is_float(operands[k]):
                value = ops.sum(g * self._at_end((a, b)[place], (b, a)[place], operands))
                contributions[k] = value if place else -value
        return contributions
