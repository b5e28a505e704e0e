"""`curve_fit`: fit the parameters of a model, with their covariance."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from inspect import Parameter, signature
from typing import Any

import numpy as np

from tape import errors, ops
from tape.ops.linalg import cholesky, inv, solve_triangular
from tape.scipy._operands import operand
from tape.scipy.optimize._calls import check_options, refuse_vars, reporting, with_tree
from tape.scipy.optimize._functions import Latest, Residuals
from tape.scipy.optimize._implicit import checked_function
from tape.scipy.optimize._layout import Unknowns, as_two_sides, blocks
from tape.scipy.optimize._least_squares import EXACT, OPTIONS
from tape.scipy.optimize._minimum import Minimum, Reached
from tape.scipy.optimize._optimality import Conditions
from tape.transforms._record import name_of
from tape.transforms.jacobian import jacobian

_OPTIONS = (*OPTIONS, "check_finite", "maxfev", "epsfcn", "factor", "diag")


def curve_fit(
    model: Callable[..., Any],
    x: Any,
    y: Any,
    p0: Any = None,
    sigma: Any = None,
    absolute_sigma: bool = False,
    *,
    bounds: Any = None,
    progress: bool = False,
    **options: Any,
) -> tuple[Any, Any]:
    """Fit a model as `scipy.optimize.curve_fit` does, with the exact Jacobian and a tree of parameters.

    Parameters and covariance are differentiable by data, standard deviations, bounds, and what the model
    closes over.

    Parameters
    ----------
    model : callable
        ``model(x, p)``, plain NumPy code that returns an array of the shape of ``y``; ``p`` is a tree
        like ``p0``, of float64. Or SciPy's form, of two parameters and more: ``model(x, a, b)``.
    x : Any
        Data that is passed on to the model.
    y : array_like
        The data to fit, of any shape.
    p0 : tree of floats, optional
        The initial guess, as ``x0`` of `minimize`. In SciPy's form an array, by default of ones.
    sigma : array_like, optional
        Standard deviations of ``y``: one, or an array of its shape; or the covariance matrix of all of
        its elements.
    absolute_sigma : bool
        Whether ``sigma`` is absolute; otherwise only its ratios count.
    bounds : pair, scipy.optimize.Bounds or tree of pairs, optional
        All lower and all upper bounds, as in SciPy; or for each leaf of ``p0`` a pair, as for `minimize`.
    progress
        As for `minimize`.
    **options
        Passed on: ``method``, ``check_finite``, ``maxfev``, ``ftol`` and so on.

    Returns
    -------
    p : tree
        The best parameters, in shapes and dtypes of ``p0``.
    covariance : tree of trees
        ``covariance[a][b]`` has the shape of ``p[a]``, followed by that of ``p[b]``.

    Raises
    ------
    DTypeError, ShapeError, ConversionError, OptionError
        As `minimize`; ShapeError also if the model does not return the shape of ``y``.
    UnsupportedError, SingularMatrixError, ConvergenceError
        As `minimize`, where there is no derivative.

    Examples
    --------
    >>> import numpy as np, tape
    >>> x = np.linspace(0.0, 1.0, 9)
    >>> y = 2 * x + 1 + 0.1 * np.cos(20 * x)
    >>> p, covariance = tape.scipy.curve_fit(lambda x, p: p["a"] * x + p["b"], x, y, {"a": 0.0, "b": 0.0})
    >>> {name: float(value.round(3)) for name, value in p.items()}
    {'a': 1.99, 'b': 1.014}
    >>> float(np.sqrt(covariance["a"]["a"]).round(3))
    0.08
    """
    where = "tape.scipy.curve_fit"
    check_options(where, options, allowed=_OPTIONS, exact=(*EXACT, "jac_sparsity", "Dfun"))
    refuse_vars(where, options)
    model, p0 = _of_one_tree(checked_function(model, where), p0, where)
    unknowns = Unknowns(p0, where, "p0")
    from scipy import optimize

    y = operand(y)
    sigma = None if sigma is None else operand(sigma)

    def run(x: Any, y: Any, sigma: Any, p0: Any, bounds: Any) -> Reached:
        unknowns = Unknowns(p0, where, "p0")
        residuals = Residuals(partial(model, x), unknowns, is_plain=True)
        values = Latest(residuals)
        values(unknowns.start)
        shapes = residuals.layout.shapes
        if shapes != [y.shape]:
            raise errors.ShapeError(
                f"{where}: {residuals.__name__} returned shape {' and '.join(map(str, shapes))}, and y is "
                f"{errors.describe(y)}. Both must have one shape"
            )
        if sigma is not None and sigma.size == 1:
            sigma = np.full(y.shape, sigma.item())
        if sigma is not None and sigma.shape == y.shape:
            sigma = np.ravel(sigma)
        more = {"callback": with_tree(options["callback"], unknowns)} if "callback" in options else {}
        with reporting(progress, "curve_fit") as seen:

            def predictions(_: Any, *p: float) -> np.ndarray:
                predicted = values(np.array(p))
                seen(predicted - y.ravel())
                return predicted

            vector, covariance = optimize.curve_fit(
                predictions,
                None,  # x is passed to the model by closure
                y.ravel(),
                unknowns.start,
                sigma,
                absolute_sigma,
                jac=lambda _, *p: residuals.jacobian(np.array(p)),
                bounds=unknowns.bounds(bounds) or (-np.inf, np.inf),
                **{**options, **more},
            )
        return Reached(vector, True, covariance)

    def errors_at(p: Any, x: Any, y: Any, sigma: Any, *rest: Any) -> Any:
        """Return the errors of all data, in units of their standard deviations."""
        missed = Residuals(partial(model, x), unknowns)(p) - ops.ravel(y)
        if sigma is None:
            return missed
        if sigma.shape == (missed.size, missed.size) and sigma.size > 1:
            return solve_triangular(cholesky(sigma), missed, lower=True)
        return missed / ops.ravel(sigma)

    conditions = Conditions(
        unknowns.size,
        lambda p, *given: 0.5 * ops.sum(errors_at(p, *given) ** 2),
        lambda x, y, sigma, p0, bounds: unknowns.sides(bounds),
    )
    given = (x, y, sigma, p0, as_two_sides(bounds, p0))
    minimum = Minimum(
        f"{where} of {name_of(model)}",
        conditions,
        run,
        given,
        lambda k: f"the bound of {unknowns.element_name(k)}",
    )
    if minimum.is_plain:
        (reached,) = minimum.runs
        return unknowns.restore(reached.x), blocks(unknowns, unknowns, reached.report)
    p, _ = minimum.solution()
    slopes = jacobian(lambda p: errors_at(p, *given))(p)
    try:
        covariance = inv(slopes.T @ slopes)
    except errors.SingularMatrixError as error:
        raise errors.SingularMatrixError(
            f"{where}: the parameters of {name_of(model)} do not all change its values, so that fit and "
            "covariance are not differentiable. Leave out parameters that the data say nothing of"
        ) from error
    if not absolute_sigma:
        freedom = y.size - unknowns.size
        missed = errors_at(p, *given)
        covariance = covariance * (ops.sum(missed**2) / freedom) if freedom > 0 else minimum.report
    return unknowns.restore(p), blocks(unknowns, unknowns, covariance)


def _of_one_tree(model: Callable[..., Any], p0: Any, where: str) -> tuple[Callable[..., Any], Any]:
    """Return a model of x and one tree, and the guess; a model of x and numbers takes an array of these."""
    try:
        taken = list(signature(model).parameters.values())
    except (TypeError, ValueError):  # a function in C
        taken = []
    has_any = any(parameter.kind is Parameter.VAR_POSITIONAL for parameter in taken)
    positional = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    needed = [p for p in taken if p.kind in positional and p.default is Parameter.empty]
    if p0 is not None and len(needed) < (1 if has_any else 3):
        return model, p0
    if p0 is None:
        if has_any or len(needed) < 2:
            raise errors.OptionError(
                f"{where}: the number of parameters of {name_of(model)} is unknown. Pass p0"
            )
        p0 = np.ones(len(needed) - 1)
    if isinstance(p0, dict) or np.ndim(p0) != 1:
        raise errors.ShapeError(
            f"{where}: {name_of(model)} takes its parameters one by one, and p0 is {errors.describe(p0)}. "
            "Pass a list of numbers; or write it as model(x, p), of a tree like p0"
        )

    @wraps(model)
    def of_one_array(x: Any, p: Any) -> Any:
        return model(x, *[p[k] for k in range(len(p0))])

    return of_one_array, np.asarray(p0, float)
