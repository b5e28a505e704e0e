"""Differential equations by SciPy's solvers, differentiated by adjoint and variational equations.

The numbers are those that SciPy's solver returns. Derivatives are of the exact solution: `tape.odeint`
integrates further equations for them, with tolerances of 1e-8 or less. The time of an event is a root, and is
differentiated by the implicit function theorem.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tape import errors, ops
from tape.core.closures import Bound
from tape.core.dispatch import recorder
from tape.core.nesting import batch_below
from tape.core.node import Handle, plain
from tape.scipy._operands import Array, inside, operand
from tape.scipy.integrate._solutions import States
from tape.transforms._record import check_callable
from tape.transforms._segment import Segment
from tape.transforms.implicit import root
from tape.transforms.odeint import _OF_SCIPY

__all__ = ["odeint", "solve_ivp"]


def solve_ivp(
    fun: Callable[..., Any],
    t_span: Any,
    y0: Any,
    method: Any = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: Any = None,
    **options: Any,
) -> Any:
    """Solve ``dy/dt = fun(t, y, *args)``, as `scipy.integrate.solve_ivp`.

    Parameters
    ----------
    fun : callable
        ``fun(t, y, *args)``, n numbers. Vars among ``args``, and all that it closes over, are differentiated.
    t_span : pair
        The first and last time, numbers or Vars.
    y0 : array_like or Var
        ``(n,)``: the state at the first time.
    method : str
        RK45, RK23, DOP853, Radau, BDF or LSODA.
    t_eval : array_like or Var, optional
        The times to return the solution at; by default those of the steps of the solver.
    dense_output : bool
        Must be False with Vars.
    events : callable or list of callable, optional
        ``event(t, y, *args)``, with attributes ``terminal`` and ``direction``: where it is zero.
    vectorized : bool
        Whether ``fun`` takes several states, ``(n, k)``.
    args : tuple, optional
        Further arguments of ``fun`` and of events.
    **options
        Of the solver: ``rtol``, ``atol``, ``max_step``, ``first_step``, ``jac``, ... of plain numbers.

    Returns
    -------
    Bunch
        With SciPy's fields. ``t``, ``y``, ``t_events`` and ``y_events`` are Vars where they depend on any.

    Raises
    ------
    ConvergenceError
        If the solver fails, and there are Vars.
    UnsupportedError
        With Vars, for a dense output or a solver of your own; in a compiled function also without ``t_eval``,
        and with events.
    DTypeError
        If the state is complex, and there are Vars.

    Notes
    -----
    The times of steps that the solver has chosen are constants. In a compiled function the numbers of
    evaluations are None, as they differ from call to call.

    Examples
    --------
    >>> import numpy as np, tape
    >>> def height(gravity):
    ...     fall = lambda t, y: [y[1], -gravity]
    ...     return tape.scipy.integrate.solve_ivp(fall, (0.0, 1.0), [5.0, 0.0], t_eval=[1.0]).y[0, 0]
    >>> round(float(tape.grad(height)(9.81)), 6)
    -0.5
    >>> def landing(gravity):
    ...     fall, ground = (lambda t, y: [y[1], -gravity]), (lambda t, y: y[0])
    ...     return tape.scipy.integrate.solve_ivp(fall, (0.0, 5.0), [5.0, 0.0], events=ground).t_events[0][0]
    >>> round(float(tape.grad(landing)(10.0)), 6)
    -0.05
    """
    check_callable(fun, "solve_ivp")
    fun = Bound(fun)
    args = () if args is None else tuple(args)
    t0, tf = (operand(t) for t in t_span)
    y0 = operand(y0)
    t_eval = None if t_eval is None else operand(t_eval)
    functions = [] if events is None else list(events) if isinstance(events, (list, tuple)) else [events]
    functions = [Bound(event) for event in functions]
    found: Any = None

    def run(t0: Any, tf: Any, y0: Any, t_eval: Any, *args: Any) -> Any:
        nonlocal found
        from scipy import integrate

        found = integrate.solve_ivp(
            lambda t, y: inside(fun(t, y, *args)), (float(t0), float(tf)), y0, method, t_eval, dense_output,
            None if events is None else [_with_args(event, args) for event in functions],
            vectorized, **_with_jacobian(options, args),
        )  # fmt: skip
        return np.zeros(1)

    probe = Segment(run, (t0, tf, y0, t_eval, *args), {}, "solve_ivp", is_inlined=False)
    if not probe.operands:
        return found
    _check(found.success, found.message, y0, method, "solve_ivp")
    if dense_output:
        raise errors.UnsupportedError(
            "solve_ivp: a dense output has no derivative. Pass the times that it would be called with as "
            "t_eval"
        )
    is_varying = _is_varying(probe)
    if is_varying and (t_eval is None or events is not None):
        raise errors.UnsupportedError(
            "solve_ivp: in a compiled function and in a batch the times to return must be given as t_eval, "
            "and there are no events: their number differs from call to call"
        )
    is_stopped = found.status == 1

    def forward(slope: Callable[..., Any], start: Any, times: np.ndarray, args: Any) -> Any:
        """Return the solution at times after the first one, by the same steps as before."""
        from scipy import integrate

        watched = [_with_args(event, args) for event in functions] if is_stopped else None
        end = float(plain(tf)) if is_stopped else times[-1]
        return integrate.solve_ivp(
            slope, (times[0], end), start, method, times, False, watched, **_with_jacobian(options, args)
        ).y.T

    tolerances = options.get("rtol", 1e-3), options.get("atol", 1e-6)
    states = States(lambda y, t, *args: fun(t, y, *args), y0, args, forward, method, tolerances, "solve_ivp")
    if t_events := found.t_events:
        for k, event in enumerate(functions):
            if not len(t_events[k]):
                continue
            is_at_start = bool(t_events[k][0] == plain(t0))
            if is_at_start:
                _check_start(event(t0, y0, *args), t0)
            later = [_event_time(event, states, t0, t, args) for t in t_events[k][int(is_at_start) :]]
            grid = ops.stack([t0, *later])
            first = 0 if is_at_start else 1
            t_events[k], found.y_events[k] = grid[first:], states.at(grid)[first:]
    count = len(found.t)
    if t_eval is None:
        last = tf if not is_stopped else _last_of(t_events, found.t[-1])
        inner = ops.reshape(t0, (1,)), found.t[1:-1], ops.reshape(last, (1,))
        found.t = ops.concatenate(inner) if any(isinstance(t, Handle) for t in (t0, last)) else found.t
        found.y = ops.transpose(states.at(ops.concatenate(inner)))
    elif count:
        found.t = t_eval if count == t_eval.size else t_eval[:count]
        times, first = _grid(t0, found.t, None if is_stopped else tf)
        found.y = ops.transpose(states.at(times)[first : first + count])
    if is_varying:
        found.nfev = found.njev = found.nlu = None
    return found


def odeint(
    func: Callable[..., Any],
    y0: Any,
    t: Any,
    args: Any = (),
    Dfun: Any = None,
    col_deriv: int = 0,
    full_output: int = 0,
    ml: Any = None,
    mu: Any = None,
    rtol: Any = None,
    atol: Any = None,
    tcrit: Any = None,
    h0: float = 0.0,
    hmax: float = 0.0,
    hmin: float = 0.0,
    ixpr: int = 0,
    mxstep: int = 0,
    mxhnil: int = 0,
    mxordn: int = 12,
    mxords: int = 5,
    printmessg: int = 0,
    tfirst: bool = False,
) -> Any:
    """Solve ``dy/dt = func(y, t, *args)`` by LSODA, as `scipy.integrate.odeint`.

    Parameters
    ----------
    func : callable
        ``func(y, t, *args)``, or with ``tfirst`` ``func(t, y, *args)``: n numbers. Vars among ``args``, and
        all that it closes over, are differentiated.
    y0 : array_like or Var
        ``(n,)``: the state at the first time.
    t : array_like or Var
        ``(m,)``: the times, monotonic.
    args : tuple
        Further arguments.
    full_output : bool
        Whether to return SciPy's report, too.
    Dfun, col_deriv, ml, mu, rtol, atol, tcrit, h0, hmax, hmin, ixpr, mxstep, mxhnil, mxordn, mxords, \
    printmessg
        As in SciPy.
    tfirst : bool
        The order of arguments of ``func`` and ``Dfun``.

    Returns
    -------
    numpy.ndarray or Var
        ``(m, n)``; with ``full_output`` also a dict.

    Raises
    ------
    ConvergenceError
        If the solver fails, and there are Vars.
    OptionError
        If times are not in order; if some are the same, and there are Vars.
    UnsupportedError
        With Vars in a compiled function, for ``full_output``.

    Examples
    --------
    >>> import numpy as np, tape
    >>> def decayed(rate):
    ...     return tape.scipy.integrate.odeint(lambda y, t: -rate * y, [1.0], [0.0, 1.0])[-1, 0]
    >>> round(float(tape.grad(decayed)(2.0)), 6)
    -0.135335
    """
    check_callable(func, "odeint")
    func = Bound(func)
    args = args if isinstance(args, tuple) else (args,)
    y0, t = operand(y0), operand(t)
    y0 = ops.reshape(y0, (1,)) if not y0.ndim else y0
    steps = np.diff(plain(t)) if t.ndim == 1 else np.zeros(0)
    if np.any(steps > 0) and np.any(steps < 0):
        raise errors.OptionError("odeint: times go forwards and backwards. Pass them in order")
    settings: dict[str, Any] = {
        "col_deriv": col_deriv, "ml": ml, "mu": mu, "rtol": rtol, "atol": atol, "tcrit": tcrit, "h0": h0,
        "hmax": hmax, "hmin": hmin, "ixpr": ixpr, "mxstep": mxstep, "mxhnil": mxhnil, "mxordn": mxordn,
        "mxords": mxords, "printmessg": printmessg,
    }  # fmt: skip
    found: Any = None

    def solve(slope: Callable[..., Any], start: Any, times: Any, args: Any) -> Any:
        """Return what SciPy does, with its report; the slope has the time first."""
        from scipy import integrate

        turned = None if Dfun is None else (lambda y, t: Dfun(t, y, *args) if tfirst else Dfun(y, t, *args))
        return integrate.odeint(
            lambda y, t: slope(t, y), start, times, Dfun=turned, full_output=True, **settings
        )

    def by_state(y: Any, t: Any, *args: Any) -> Any:
        return func(t, y, *args) if tfirst else func(y, t, *args)

    def run(y0: Any, t: Any, *args: Any) -> Any:
        nonlocal found
        found = solve(lambda t, y: inside(by_state(y, t, *args)), y0, t, args)
        return np.zeros(1)

    probe = Segment(run, (y0, t, *args), {}, "odeint", is_inlined=False)
    if not probe.operands:
        return found if full_output else found[0]
    message = found[1]["message"]
    is_solved = message == "Integration successful." or t.size == 1  # at the start alone
    _check(is_solved, message, y0, "LSODA", "odeint")
    if full_output and _is_varying(probe):
        raise errors.UnsupportedError(
            "odeint: full_output=True would be frozen in a compiled function or a batch. Leave it out"
        )
    tolerances = [1.49e-8 if tolerance is None else tolerance for tolerance in (rtol, atol)]

    def forward(slope: Callable[..., Any], start: Any, times: np.ndarray, args: Any) -> Any:
        return solve(slope, start, times, args)[0]

    y = States(by_state, y0, args, forward, "LSODA", tolerances, "odeint").at(t)
    return (y, found[1]) if full_output else y


# ---- events, times and options ------------------------------------------------------------------------


def _event_time(event: Callable[..., Any], states: States, t0: Array, time: float, args: Any) -> Any:
    """Return the time of an event, differentiable as a root of the event along the solution."""
    before: list[float] = []

    def along(t: Any, *args: Any) -> Any:
        y = states.at(ops.stack([t0, t]))[1]
        return ops.reshape(operand(event(t, y, *args)), ())

    def known(g: Callable[[Any], Any], t: Any) -> Any:
        value = float(g(t))
        before.append(value)
        if value != before[0] and not abs(value) <= 1e-9:
            raise errors.UnsupportedError(
                "solve_ivp: events are not looked for again on replay. Call solve_ivp anew"
            )
        return t

    return root(along, float(time), *args, solver=known)


def _check_start(value: Any, t0: Any) -> None:
    """Check that an event at the first time stays there, whatever the Vars are."""
    if isinstance(operand(value), Handle) or isinstance(t0, Handle):
        raise errors.UnsupportedError(
            "solve_ivp: an event at the very first time depends on Vars, and might move beyond it. Start the "
            "integration a little later, or leave out the event"
        )


def _last_of(t_events: Sequence[Any], time: float) -> Any:
    """Return the time of the event that has ended the integration."""
    for times in t_events:
        if len(times) and float(plain(times)[-1]) == time:
            return times[-1]
    return time


def _grid(t0: Any, times: Any, tf: Any) -> tuple[Any, int]:
    """Return times with the first and the last one of the integration, and where the given ones start."""
    parts, first = [times], 0
    if not bool(times[0] == t0):
        parts, first = [ops.reshape(t0, (1,)), times], 1
    if tf is not None and not bool(times[-1] == tf):
        parts.append(ops.reshape(tf, (1,)))
    return (ops.concatenate([ops.astype(part, np.float64) for part in parts]), first)


def _is_varying(probe: Segment) -> bool:
    """Return whether a program or a batch runs the solver for other numbers, too."""
    return recorder() is not None or any(batch_below(var) is not None for var in probe.operands)


def _check(success: bool, message: str, y0: Array, method: Any, what: str) -> None:
    if not success:
        raise errors.ConvergenceError(
            f"{what}: {' '.join(str(message).split())} Try other tolerances, or Radau, BDF or LSODA for "
            "stiff equations"
        )
    if method not in _OF_SCIPY:
        raise errors.UnsupportedError(
            f"{what}: there are no derivatives with the solver {method!r}. Take one of {', '.join(_OF_SCIPY)}"
        )
    if y0.dtype.kind == "c":
        raise errors.DTypeError(f"{what}: y0 is complex. Take tape.odeint, or real and imaginary parts")


def _with_args(event: Callable[..., Any], args: tuple[Any, ...]) -> Callable[..., Any]:
    """Return an event as a function of time and state alone."""

    def call(t: Any, y: Any) -> Any:
        return inside(event(t, y, *args))

    for name in ("terminal", "direction"):
        if hasattr(event, name):
            setattr(call, name, getattr(event, name))
    return call


def _with_jacobian(options: dict[str, Any], args: tuple[Any, ...]) -> dict[str, Any]:
    """Return the options of a solver, with the Jacobian as a function of time and state alone."""
    jac = options.get("jac")
    if not callable(jac):
        return options
    return {**options, "jac": lambda t, y: jac(t, y, *args)}
