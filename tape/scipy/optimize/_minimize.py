"""`minimize`: the derivatives of each method, and constraints with exact derivatives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tape import errors
from tape.scipy.optimize._calls import check_options, refuse_derivatives, reporting, with_tree
from tape.scipy.optimize._functions import Latest, Objective, Residuals, hessian_product, linear_is_fine
from tape.scipy.optimize._layout import Unknowns
from tape.sparse import sparse_hessian
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
        calls the gradient ``grad``). All other results are SciPy's, in the order of the leaves.

    Raises
    ------
    DTypeError
        If a leaf of ``x0`` is not of a float dtype.
    ShapeError
        If ``f`` does not return a scalar, or bounds do not fit ``x0``.
    ConversionError
        If ``x0``, an argument, a bound or the value of ``f`` is a Var of an enclosing transform.
    OptionError
        If a method or option is unknown, or derivatives are given.

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
    if not isinstance(constraints, (tuple, list)):
        constraints = [constraints]
    if sparse and not (isinstance(method, str) and method.lower() == "trust-constr"):
        raise errors.OptionError(f"{where}: sparse=True is for the method 'trust-constr', not {method!r}")
    kind = _kind_of(method, bounds is not None, bool(constraints), where)
    unknowns = Unknowns(x0, where)
    from scipy import optimize

    value_of = Objective(f, unknowns, args)
    both = value_and_grad(value_of)
    with reporting(progress, "minimize") as seen:

        def value(x: np.ndarray) -> float:
            return seen(float(value_of(x)))

        def value_and_gradient(x: np.ndarray) -> tuple[float, np.ndarray]:
            out, gradient = both(x)
            value_of.refuse_recorded(out)
            return seen(float(out)), gradient

        objective = Latest(value if kind in _NO_DERIVATIVE else value_and_gradient)
        objective(unknowns.start)  # errors in f are raised before SciPy runs
        found = optimize.minimize(
            objective,
            unknowns.start,
            method=method if kind is None else kind,
            bounds=unknowns.bounds(bounds),
            constraints=[_constraint(given, unknowns, kind, sparse) for given in constraints],
            callback=with_tree(callback, unknowns),
            **_derivatives(value_of, kind, sparse),
            **options,
        )
    return unknowns.with_trees(found)


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


def _constraint(given: Any, unknowns: Unknowns, kind: str | None, is_sparse: bool) -> Any:
    """Return a constraint of the vector, with exact derivatives."""
    from scipy import optimize

    where = f"{unknowns.where}: a constraint"
    if isinstance(given, optimize.LinearConstraint):
        return given
    if isinstance(given, Mapping) and "fun" in given and "type" in given:
        refuse_derivatives(where, given, exact=("jac",))
        residuals = Residuals(given["fun"], unknowns, given.get("args", ()))
        return {"type": given["type"], "fun": residuals, "jac": residuals.jacobian}
    if isinstance(given, optimize.NonlinearConstraint):
        exact = ("jac", "hess")
        refuse_derivatives(where, [name for name in exact if callable(getattr(given, name))], exact)
        residuals = Residuals(given.fun, unknowns)
        # All other methods warn that they do not use second derivatives.
        second: dict[str, Any] = {"hess": residuals.curvature} if kind == "trust-constr" else {}
        jacobian: Any = residuals.jacobian
        if is_sparse:
            jacobian, second = residuals.sparse_jacobian(None), {"hess": residuals.sparse_curvature()}
        return optimize.NonlinearConstraint(
            residuals, given.lb, given.ub, jacobian, keep_feasible=given.keep_feasible, **second
        )
    raise errors.OptionError(
        f"{unknowns.where}: {errors.describe(given)} is not a constraint. Give a dict with 'type' and 'fun', "
        "or a scipy.optimize.NonlinearConstraint or LinearConstraint"
    )
