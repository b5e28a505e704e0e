"""`odeint`: solutions of ordinary differential equations, differentiable in both modes and at any order.

SciPy's methods run on plain arrays (`scipy.integrate.solve_ivp`). Backwards, the adjoint equation is
integrated from the last time to the first (Pontryagin; Chen et al., "Neural ordinary differential
equations", 2018, appendix B); forwards, the variational equation along with the solution. Both call `odeint`
again, and so are differentiable themselves. Our own methods (`tape.transforms.ode`) are operations on the
tape, and differentiated like others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from tape import errors, ops, tree
from tape.core.closures import Bound
from tape.core.dispatch import recorder, resolve
from tape.core.nesting import traced
from tape.core.node import Handle, plain
from tape.core.streams import without_draws
from tape.interpreters.batching import one_by_one
from tape.transforms._parts import RealParts
from tape.transforms._record import check_callable, name_of
from tape.transforms._segment import Packing, Segment, is_differentiated, push_through, recorded
from tape.transforms.loops.capacity import is_met
from tape.transforms.ode.runge_kutta import Tolerances, integrate
from tape.transforms.ode.tableaus import TABLEAUS

_OF_SCIPY = ("RK45", "RK23", "DOP853", "Radau", "BDF", "LSODA")
_MAX_STEPS = 100_000


def odeint(
    f: Callable[..., Any],
    y0: Any,
    t: Any,
    *args: Any,
    rtol: float = 1e-8,
    atol: float = 1e-8,
    method: str = "RK45",
    gradient: Literal["discrete", "adjoint"] | None = None,
    max_steps: int | None = None,
) -> Any:
    """Solve ``dy/dt = f(y, t, *args)`` at given times; the solution is differentiable in all arguments.

    Parameters
    ----------
    f : callable
        Plain NumPy code; it returns a tree like ``y``. Vars that it closes over are differentiated like
        its arguments.
    y0 : tree
        The state at the first of the times: floats or complex numbers, arrays of these, or a tree of them.
        The real and imaginary parts of a complex one are the unknowns: ``f`` need not be holomorphic.
    t : array_like or Var
        ``(n,)``: the times, increasing or decreasing, at least one.
    *args : tree
        Further arguments of ``f``.
    rtol, atol : float
        Tolerances of the integration, also of that for derivatives. The error of a step is the root mean
        square over the state, relative to ``atol + rtol * abs(y)``.
    method : str
        ``"Tsit5"`` or ``"Dopri5"``: explicit pairs of order 5(4), which are rows of a program in a compiled
        function. Or a method of `scipy.integrate.solve_ivp`, which a program calls in Python: RK45, RK23,
        DOP853, or for stiff equations Radau, BDF, LSODA.
    gradient : {"discrete", "adjoint"}, optional
        How it is differentiated. ``"discrete"``, the default of Tsit5 and Dopri5: step by step, the sizes of
        steps being data. That is the derivative of the very numbers that are returned, and takes memory for
        all steps. ``"adjoint"``, the only way with SciPy's methods: another equation is integrated.
    max_steps : int, optional
        The largest number of steps of Tsit5 and Dopri5, rejected ones included; by default 100,000.

    Returns
    -------
    tree
        Like ``y0``, every leaf with a new first axis of length n. At times between two steps it is
        interpolated: by Tsit5 and Dopri5 to order 4.

    Raises
    ------
    ConvergenceError
        If the integration fails: after ``max_steps``, or where the state becomes infinite or NaN.
    ShapeError
        If ``t`` is not a vector, or ``f`` returns a tree of another structure or other shapes than ``y``.
    OptionError
        If the times are not monotonic, a tolerance is not positive, or an option is unknown.
    DTypeError
        If ``y0`` holds anything but floats and complex numbers, or ``f`` returns complex numbers for floats.

    Notes
    -----
    Derivatives by times are exact up to the fifth order with a discrete gradient. Where a step was rejected
    because ``f`` has made NaN, that gradient is NaN; the adjoint is not.

    Examples
    --------
    >>> import numpy as np, tape
    >>> def decayed(rate):
    ...     return tape.odeint(lambda y, t, rate: -rate * y, 1.0, np.array([0.0, 1.0]), rate)[-1]
    >>> round(float(decayed(2.0)), 6), round(float(tape.grad(decayed)(2.0)), 6)  # exp(-2), -exp(-2)
    (0.135335, -0.135335)
    >>> @tape.compile
    ... @tape.grad
    ... def height(rate):
    ...     return tape.odeint(lambda y, t: -rate * y, 1.0, np.array([0.0, 1.0]), method="Tsit5")[-1]
    >>> round(float(height(2.0)), 6)
    -0.135335
    """
    check_callable(f, "odeint")
    f = without_draws(Bound(f), "odeint")
    options = _options(rtol, atol, method, gradient, max_steps)
    like = Packing(tree.map(plain, y0))
    leaves, _ = tree.flatten(y0)
    t = resolve(t)
    t = t if isinstance(t, Handle) else np.asarray(t)
    _check(like, traced(t))
    t = t if isinstance(t, Handle) else t.astype(float, copy=False)
    if like.dtype.kind == "c":
        parts = RealParts(like)
        return parts.join(odeint(parts.inside(f), parts.split(y0, "y0"), t, *args, **options))
    start = ops.ravel(like.pack([leaves[i] for i in like.floats]))
    own = _Steps if options["gradient"] == "discrete" else _Solution
    out = own(f, like, start, t, args, options).solved()
    rows = ops.reshape(out, (len(out), *like.shapes[0])) if like.is_single else out
    return like.restore(rows)


def _options(rtol: Any, atol: Any, method: Any, gradient: Any, max_steps: Any) -> dict[str, Any]:
    """Return the options, checked."""
    if not isinstance(method, str) or method not in (*TABLEAUS, *_OF_SCIPY):
        names = ", ".join((*TABLEAUS, *_OF_SCIPY))
        raise errors.OptionError(f"odeint: method is {method!r}. Take one of {names}")
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if not isinstance(tolerance, (int, float, np.number)) or not tolerance > 0:
            raise errors.OptionError(f"odeint: {name} is {tolerance!r}. It must be a positive number")
    is_own = method in TABLEAUS
    if gradient not in (None, "discrete", "adjoint") or (gradient == "discrete" and not is_own):
        raise errors.OptionError(
            f"odeint: gradient is {gradient!r}. It is 'adjoint', or 'discrete' with {' or '.join(TABLEAUS)}"
        )
    if max_steps is not None and (
        not is_own or isinstance(max_steps, bool) or not isinstance(max_steps, int) or max_steps < 1
    ):
        raise errors.OptionError(
            f"odeint: max_steps is {max_steps!r}. It is an int, 1 or more, of {' and '.join(TABLEAUS)}"
        )
    return {
        "rtol": rtol,
        "atol": atol,
        "method": method,
        "gradient": gradient or ("discrete" if is_own else "adjoint"),
        "max_steps": max_steps,
    }


class _Equation:
    """A differential equation for one vector."""

    def __init__(
        self, f: Callable[..., Any], packing: Packing, start: Any, t: Any, args: Any, options: dict[str, Any]
    ) -> None:
        self.f = f
        self.packing = packing
        self.given = (start, t, *args)
        self.options = options
        self.name = f"odeint({name_of(f)})"

    def slope(self, y: Any, t: Any, *args: Any) -> Any:
        """Return the right-hand side as a vector."""
        parts = self.packing.unpack(ops.reshape(y, self.packing.shapes[0]) if self.packing.is_single else y)
        out = self.f(tree.unflatten(self.packing.structure, parts), t, *args)
        return ops.ravel(self.packing.pack(self.packing.parts_of(out, f"{name_of(self.f)}(y, t, *args)")))

    def by_steps(self, start: Any, t: Any, *args: Any) -> Any:
        """Return the solution at all times by a method of ours."""
        if len(t) == 1 or not start.size:
            self.slope(start, t[0], *args)  # so that its closures are found
            return ops.repeat(start[None], len(t), axis=0)
        narrow, wide = start.dtype, np.result_type(start.dtype, np.float64)

        def slope(y: Any, time: Any) -> Any:
            if narrow == wide:
                return self.slope(y, time, *args)
            return ops.astype(self.slope(ops.astype(y, narrow), time, *args), wide)

        options = self.options
        tolerances = Tolerances(options["rtol"], options["atol"], options["max_steps"] or _MAX_STEPS)
        tableau = TABLEAUS[options["method"]]
        out = integrate(slope, ops.astype(start, wide), t, tableau, tolerances, self.name)
        return ops.astype(out, narrow)


class _Steps(_Equation):
    """The solution of an equation by steps that are differentiated."""

    def solved(self) -> Any:
        """Return the vectors at all times, ``(times, size)``: as one node, but in a program as it is."""
        if recorder() is not None:
            return self.by_steps(*self.given)
        return Segment(self.by_steps, self.given, {}, self.name).as_rerun()


class _Solution(_Equation):
    """The solution of an equation whose derivatives are solutions of others."""

    def solved(self) -> Any:
        """Return the vectors at all times, ``(times, size)``, as one node."""
        self.segment = Segment(self._solve, self.given, {}, self.name)
        return self.segment.as_node(one_by_one(self._vjp), one_by_one(self._jvp), is_of_code=True)

    def _solve(self, start: Any, t: Any, *args: Any) -> Any:
        if self.options["method"] in TABLEAUS:
            return self.by_steps(start, t, *args)
        times = np.asarray(t, float)
        if len(times) == 1 or not start.size:
            self.slope(start, times[0], *args)  # so that its closures are found
            return np.repeat(start[None], len(times), axis=0)
        return self._integrated(start, times, args, t_eval=times).y.T.astype(start.dtype)

    def _integrated(self, start: Any, times: np.ndarray, args: Any, **options: Any) -> Any:
        """Return the solution by SciPy, for plain arrays."""
        from scipy.integrate import solve_ivp  # here, since its import takes longer than all others

        reached = times[0]

        def slope(t: float, y: np.ndarray) -> Any:
            nonlocal reached
            reached = t
            return self.slope(y.astype(start.dtype), t, *args)

        span = (times[0], times[-1])
        options |= {name: self.options[name] for name in ("rtol", "atol", "method")}
        result = solve_ivp(slope, span, np.asarray(start, float), **options)
        if not result.success:
            message = " ".join(result.message.split())
            raise errors.ConvergenceError(
                f"{self.name}: {message} It reached t = {reached:.6g}. Try another method (Radau or "
                "LSODA for stiff equations) or other tolerances"
            )
        return result

    # ---- rules -----------------------------------------------------------------------------------

    def _split(self, operands: Sequence[Any]) -> tuple[Any, Any]:
        """Return the first vector and the times, whether they are operands or not."""
        (start, t, *_), _ = self.segment.arguments(operands[: len(self.segment.places)])
        return start, t

    def _slope_of(self, operands: Sequence[Any]) -> Callable[..., Any]:
        """Return the right-hand side as a function of y, t and all operands."""
        return lambda y, t, *operands: self.segment.call(
            lambda start, times, *args: self.slope(y, t, *args), operands
        )

    def _again(self, f: Callable[..., Any], state: Any, t: Any) -> Any:
        return odeint(f, state, t, **self.options)

    def _jvp(self, tangents: Sequence[Any], out: Any, *operands: Any) -> Any:
        start, t = self._split(operands)
        slope = self._slope_of(operands)
        moving = dict(zip(self.segment.places, tangents, strict=False))
        moved_start, moved_t = moving.get(0), moving.get(1)
        ahead = sum(place in (0, 1) for place in self.segment.places)  # start and t are the first places
        others = [None] * ahead + list(tangents[ahead:])

        def variation(state: Any, time: Any) -> Any:
            y, v = state
            along = push_through(
                lambda y, *operands: slope(y, time, *operands), [v, *others], [y, *operands], self.name
            )
            return slope(y, time, *operands), 0 * v if along is None else along

        first = np.zeros(start.shape, start.dtype) if moved_start is None else moved_start
        if moved_t is not None:
            first = first - slope(start, t[0], *operands) * moved_t[0]
        _, v = self._again(variation, (start, first), t)
        if moved_t is None:
            return v
        rows = [v[k] + slope(out[k], t[k], *operands) * moved_t[k] for k in range(len(t))]
        return ops.stack(rows)

    def _vjp(self, g: Any, out: Any, *operands: Any) -> list[Any]:
        start, t = self._split(operands)
        solution = self._interpolated(start, t, operands)
        read = set(self._rates(g[-1], out[-1], t[-1], operands)[2])
        while True:  # others may be read at other times
            floats = sorted(read)
            contributions = self._collected(g, out, operands, floats, read, solution)
            if read == set(floats):
                return contributions

    def _rates(self, a: Any, y: Any, time: Any, operands: Sequence[Any]) -> tuple[Any, Any, dict[int, Any]]:
        """Return the slope, and its derivatives along an adjoint by y, or None, and by what it reads."""
        slope = self._slope_of(operands)
        trace, params, dy = recorded(lambda y, *rest: slope(y, time, *rest), [y, *operands], self.name)
        if not isinstance(dy, Handle) or dy.trace_ref is not trace.ref:
            return dy, None, {}
        found = iter(trace.pull_back({dy.id: a}))
        by_y, *others = [None if param is None else next(found) for param in params]
        of_operands = {k: by for k, by in enumerate(others) if by is not None}
        return dy.node.value, by_y, {k: of_operands[k] for k in of_operands if is_differentiated(operands[k])}

    def _collected(
        self,
        g: Any,
        out: Any,
        operands: Sequence[Any],
        floats: list[int],
        read: set[int],
        solution: Callable[[Any], Any] | None,
    ) -> list[Any]:
        """Return the contributions of some operands; ``read`` takes those that are found to have some.

        Operands that the right-hand side does not read are left out: the error of a step is a mean over all
        that is integrated.
        """
        start, t = self._split(operands)
        slope = self._slope_of(operands)

        def adjoint(state: Any, minus_time: Any) -> Any:
            """Return the rates, backwards in time, of the adjoint, the gradients of operands, and y."""
            a, _, *y = state
            time = -minus_time
            dy, by_y, by_operands = self._rates(a, solution(time) if solution else y[0], time, operands)
            read.update(by_operands)
            by_floats = [by_operands[k] if k in by_operands else 0 * operands[k] for k in floats]
            return (0 * a if by_y is None else by_y, by_floats, *([-dy] if y else []))

        a = g[-1]
        collected: list[Any] = [np.zeros(operands[k].shape, operands[k].dtype)[()] for k in floats]
        by_time: list[Any] = [None] * len(t)
        for k in range(len(t) - 1, 0, -1):
            by_time[k] = ops.sum(g[k] * slope(out[k], t[k], *operands))
            span = ops.stack([-t[k], -t[k - 1]])
            state = (a, collected, *([] if solution else [out[k]]))
            a, collected, *_ = tree.map(lambda leaf: leaf[-1], self._again(adjoint, state, span))
            if k == 1:
                by_time[0] = -ops.sum(a * slope(start, t[0], *operands))
            a = a + g[k - 1]
        if len(t) == 1:
            by_time[0] = 0.0 * ops.sum(a)
        contributions: list[Any] = [None] * len(operands)
        for k, total in zip(floats, collected, strict=True):
            contributions[k] = total
        for k, place in enumerate(self.segment.places):
            if place == 0:
                contributions[k] = a
            elif place == 1:
                contributions[k] = ops.stack(by_time)
        return contributions

    def _interpolated(self, start: Any, t: Any, operands: Sequence[Any]) -> Callable[[Any], Any] | None:
        """Return the interpolated solution; None where it must itself be differentiated.

        Integrating y backwards along with its adjoint would avoid it, but is unstable for equations that
        contract.
        """
        times = np.asarray(plain(t), float)
        if len(times) == 1 or not start.size or any(isinstance(x, Handle) for x in operands):
            return None
        if self.options["method"] in TABLEAUS:
            return None

        def solve(start: Any, t: Any, *args: Any) -> Any:
            return self._integrated(start, times, args, dense_output=True).sol

        sol = self.segment.call(solve, operands)
        return lambda time: sol(float(time)).astype(start.dtype)


def _check(like: Packing, times: Any) -> None:
    if len(like.floats) != len(like.leaves) or not like.leaves:
        raise errors.DTypeError(
            "odeint: y0 must be floats, float arrays or a tree of them. Convert it, e.g. "
            "np.asarray(value, dtype=float)"
        )
    if times.dtype.kind not in "biuf":
        raise errors.DTypeError(f"odeint: t is {errors.describe(times)}. It must hold real numbers")
    if times.ndim != 1 or not times.size:
        raise errors.ShapeError(
            f"odeint: t has shape {list(times.shape)}. It must be a vector of times, the same for all "
            "elements of a batch"
        )
    steps = times[1:] - times[:-1]
    if not is_met(np.all(steps > 0) | np.all(steps < 0)):
        raise errors.OptionError("odeint: the times must be strictly increasing or strictly decreasing")
