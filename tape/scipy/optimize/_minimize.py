"""`minimize`: the derivatives of each method, and minima that can be differentiated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tape import errors
from tape.scipy.optimize._calls import check_options, refuse_vars, reporting, with_tree
from tape.scipy.optimize._constraints import Constraint, joined
from tape.scipy.optimize._functions import Latest, Objective, hessian_product, linear_is_fine
from tape.scipy.optimize._implicit import checked_function, settled
from tape.scipy.optimize._layout import Unknowns, as_tree
from tape.scipy.optimize._minimum import Minimum, Reached
from tape.scipy.optimize._optimality import Conditions, Limits
from tape.sparse import sparse_hessian
from tape.transforms._record import name_of
from tape.transforms.grad import value_and_grad
from tape.transforms.jacobian import hessian

_NO_DERIVATIVE = frozenset({"nelder-mead", "powell", "cobyla", "cobyqa"})
_GRADIENT = frozenset({"cg", "bfgs", "l-bfgs-b", "tnc", "slsqp"})
_PRODUCT = frozenset({"newton-cg", "trust-ncg", "trust-krylov", "trust-constr"})
_HESSIAN = frozenset({"dogleg", "trust-exact"})
_METHODS = _NO_DERIVATIVE | _GRADIENT | _PRODUCT | _HESSIAN


def minimize(
    f: Callable[..., Any],
    x0: Any,
    args: Any = (),
    method: str | Callable[..., Any] | None = None,
    *,
    bounds: Any = None,
    constraints: Any = (),
    sparse: bool = False,
    callback: Callable[..., Any] | None = None,
    progress: bool = False,
    **options: Any,
) -> Any:
    """Minimise a function as `scipy.optimize.minimize` does, with exact derivatives and trees.

    Value and gradient come from one recording. Newton-CG, trust-ncg, trust-krylov and trust-constr get
    products with the Hessian, recorded once for every point; dogleg and trust-exact get the Hessian
    itself.

    Parameters
    ----------
    f : callable
        ``f(x, *args)``, plain NumPy code that returns a scalar; ``x`` is a tree like ``x0``, of float64.
    x0 : tree of floats
        The initial guess: an array, a float, or a tree of them. A list of floats is a tree, not an array.
    args : tuple
        Further arguments of ``f``.
    method : str or callable, optional
        One of SciPy's. By default SLSQP with constraints, L-BFGS-B with bounds, otherwise BFGS.
    bounds : scipy.optimize.Bounds or tree of pairs, optional
        A tree like ``x0`` with, at each leaf, a pair ``(low, high)`` of numbers, None, or arrays that
        broadcast to the leaf; or a list of such pairs, one for each element; or None. `Bounds` are those
        of all elements in the order of the leaves.
    constraints : dict, NonlinearConstraint, LinearConstraint, or list of them
        As SciPy's; functions get the tree, may return a tree, and get exact derivatives. The matrix of a
        LinearConstraint is for all elements in the order of the leaves.
    sparse : bool
        For trust-constr: compute the Hessian, and derivatives of nonlinear constraints, as sparse arrays, by
        programs; see `tape.sparse_hessian`.
    callback : callable, optional
        Called after every iteration with the tree, and the further arguments of SciPy if it takes them. If
        its only parameter is ``intermediate_result``, it gets an OptimizeResult.
    progress : bool
        Show the evaluations and their values; needs tqdm.
    **options
        ``tol`` and ``options`` of SciPy.

    Returns
    -------
    scipy.optimize.OptimizeResult
        With ``x`` and ``jac``, the gradient, as trees of the shapes and dtypes of ``x0`` (trust-constr
        calls the gradient ``grad``). All other results are SciPy's, in the order of the leaves. Where they
        depend on Vars there are ``x`` and ``fun``, which are differentiable by these, ``success``, and but
        for programs and batches ``status``, ``message`` and counts.

    Raises
    ------
    DTypeError
        If a leaf of ``x0`` is not of a float dtype.
    ShapeError
        If ``f`` does not return a scalar, or bounds do not fit ``x0``.
    ConversionError
        If an option is a Var.
    OptionError
        If a method or option is unknown, or derivatives are given.
    UnsupportedError
        In a sweep, if a bound or a constraint is active without force, or depends on others: it is named.
    SingularMatrixError
        In a sweep, if the conditions of optimality are singular at the solution.
    ConvergenceError
        In a sweep, if there is no minimum where the solver stopped.

    Notes
    -----
    The minimum depends on what ``f``, bounds and constraints depend on: Vars among their arguments, and those
    that they close over; and not on ``x0``. Its derivatives are those of the conditions of Karush, Kuhn and
    Tucker with what is active at the solution, which Newton's method finds to full precision first, however
    coarse the solver is; those of ``fun`` are of the function at ``x`` as the solver left it. They solve with
    a dense matrix of a row for each unknown and each constraint. With ``sparse`` Vars must be among ``args``.

    Examples
    --------
    >>> import numpy as np, tape
    >>> def f(p):
    ...     return (p["a"] - 1) ** 2 + np.sum((p["b"] - p["a"]) ** 2)
    >>> found = tape.scipy.minimize(f, {"a": 0.0, "b": np.zeros(2)}, method="trust-exact")
    >>> found.x["a"].round(6), found.x["b"].round(6)
    (np.float64(1.0), array([1., 1.]))
    """
    where = "tape.scipy.minimize"
    check_options(where, options, allowed=("tol", "options"), exact=("jac", "hess", "hessp"))
    refuse_vars(where, options)
    if not isinstance(constraints, (tuple, list)):
        constraints = [constraints]
    if sparse and not (isinstance(method, str) and method.lower() == "trust-constr"):
        raise errors.OptionError(f"{where}: sparse=True is for the method 'trust-constr', not {method!r}")
    kind = _kind_of(method, bounds is not None, bool(constraints), where)
    unknowns = Unknowns(x0, where)
    f = checked_function(f, where)
    limits = [Constraint(given, unknowns) for given in constraints]
    from scipy import optimize

    def run(x0: Any, args: Any, bounds: Any, parts: Any) -> Reached:
        unknowns = Unknowns(x0, where)
        value_of = Objective(f, unknowns, args, is_plain=True)
        both = value_and_grad(value_of)
        with reporting(progress, "minimize") as seen:

            def value(x: np.ndarray) -> float:
                return seen(float(value_of(x)))

            def value_and_gradient(x: np.ndarray) -> tuple[float, np.ndarray]:
                out, gradient = both(x)
                return seen(float(settled(out))), gradient

            objective = Latest(value if kind in _NO_DERIVATIVE else value_and_gradient)
            objective(unknowns.start)  # errors in f are raised before SciPy runs
            found = optimize.minimize(
                objective,
                unknowns.start,
                method=method if kind is None else kind,
                bounds=unknowns.bounds(bounds),
                constraints=[
                    limit.for_scipy(part, kind, sparse) for limit, part in zip(limits, parts, strict=True)
                ],
                callback=with_tree(callback, unknowns),
                **_derivatives(value_of, kind, sparse),
                **options,
            )
        return Reached(found.x, bool(found.success), found)

    def limits_at(x: Any, x0: Any, args: Any, bounds: Any, parts: Any) -> Limits:
        return joined([limit.limits(x, part) for limit, part in zip(limits, parts, strict=True)])

    def value_at(x: Any, x0: Any, args: Any, *rest: Any) -> Any:
        return Objective(f, unknowns, args)(x)

    conditions = Conditions(
        unknowns.size,
        value_at,
        lambda x0, args, bounds, parts: unknowns.sides(bounds),
        limits_at if limits else None,
    )
    given = (x0, args, as_tree(bounds), [limit.parts for limit in limits])
    minimum = Minimum(
        f"{where} of {name_of(f)}", conditions, run, given, lambda k: _limit_name(k, unknowns, limits)
    )
    if minimum.is_plain:
        return unknowns.with_trees(minimum.report)
    x, success = minimum.solution()
    return minimum.result(unknowns.restore(x), success, fun=value_at(x, *given))


def _limit_name(k: int, unknowns: Unknowns, limits: list[Constraint]) -> str:
    """Return a name for bound or constraint number k, for messages."""
    if k < unknowns.size:
        return f"the bound of {unknowns.element_name(k)}"
    k -= unknowns.size
    for i, limit in enumerate(limits):
        if k < limit.size:
            return f"element {k} of constraints[{i}]"
        k -= limit.size
    raise AssertionError


def _kind_of(method: Any, has_bounds: bool, has_constraints: bool, where: str) -> str | None:
    """Return the method that will run, in lower case; None for the caller's own."""
    if method is None:
        return "slsqp" if has_constraints else "l-bfgs-b" if has_bounds else "bfgs"
    if callable(method):
        return None
    if not isinstance(method, str) or method.lower() not in _METHODS:
        raise errors.OptionError(
            f"{where}: unknown method {method!r}. Use one of {', '.join(sorted(_METHODS))}"
        )
    return method.lower()


def _derivatives(f: Objective, kind: str | None, is_sparse: bool) -> dict[str, Any]:
    """Return the derivatives of a method besides the gradient, which comes with the objective."""
    if kind in _NO_DERIVATIVE:
        return {}
    if kind in _GRADIENT:
        return {"jac": True}
    if is_sparse:
        return {"jac": True, "hess": linear_is_fine()(sparse_hessian(f))}
    if kind in _HESSIAN:
        return {"jac": True, "hess": linear_is_fine()(hessian(f))}
    return {"jac": True, "hessp": hessian_product(f)}
