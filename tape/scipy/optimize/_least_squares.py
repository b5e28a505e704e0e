"""`least_squares`: residuals with their Jacobian, or products with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tape import errors, ops
from tape.scipy.optimize._calls import check_options, refuse_vars, reporting, with_tree
from tape.scipy.optimize._functions import Latest, Residuals
from tape.scipy.optimize._implicit import checked_function
from tape.scipy.optimize._layout import Unknowns, as_two_sides, blocks
from tape.scipy.optimize._minimum import Minimum, Reached
from tape.scipy.optimize._optimality import Conditions
from tape.transforms._record import name_of

OPTIONS = (
    *("method", "ftol", "xtol", "gtol", "x_scale", "loss", "f_scale", "tr_solver", "tr_options"),
    *("max_nfev", "verbose", "callback"),
)
EXACT = ("jac", "diff_step", "workers")


def least_squares(
    f: Callable[..., Any],
    x0: Any,
    args: Any = (),
    *,
    bounds: Any = None,
    jac_sparsity: Any = None,
    progress: bool = False,
    **options: Any,
) -> Any:
    """Minimise a sum of squares as `scipy.optimize.least_squares` does, with the exact Jacobian and trees.

    With ``tr_solver="lsmr"`` the Jacobian is not computed: products with it are sweeps. With ``jac_sparsity``
    it is a sparse array, computed by a program.

    Parameters
    ----------
    f : callable
        ``f(x, *args)``, plain NumPy code that returns the residuals: an array, or a tree.
    x0, args, progress
        As for `minimize`.
    bounds : pair, scipy.optimize.Bounds or tree of pairs, optional
        All lower and all upper bounds, as in SciPy; or for each leaf of ``x0`` a pair, as for `minimize`.
    jac_sparsity : "auto" or matrix, optional
        Compute the Jacobian as a sparse array, by `tape.sparse_jacobian`: of the pattern that is found, or of
        the given one, with a row for each residual and a column for each element of ``x0``, in the order of
        the leaves. SciPy then solves with lsmr; ``method="lm"`` takes no sparse arrays.
    **options
        Passed on: ``method``, ``loss``, ``ftol``, ``max_nfev`` and so on.

    Returns
    -------
    scipy.optimize.OptimizeResult
        With ``x``, ``grad`` and ``active_mask`` as trees like ``x0``, ``fun`` as a tree like the
        residuals and ``jac`` as `tape.jacobian` returns it (with lsmr a LinearOperator, with
        ``jac_sparsity`` a sparse array). Where they depend on Vars there are ``x``, ``cost`` and ``fun``,
        which are differentiable by these, and what else `minimize` has then.

    Raises
    ------
    DTypeError, ShapeError, ConversionError, OptionError
        As `minimize`; UnsupportedError also if there is a Var and ``loss`` is a function.
    UnsupportedError, SingularMatrixError, ConvergenceError
        As `minimize`, where there is no derivative.

    Examples
    --------
    >>> import numpy as np, tape
    >>> t = np.linspace(0.0, 1.0, 5)
    >>> found = tape.scipy.least_squares(
    ...     lambda p: p["scale"] * np.exp(p["rate"] * t) - 2 * np.exp(-t), {"scale": 1.0, "rate": 0.0}
    ... )
    >>> {name: float(value.round(6)) for name, value in found.x.items()}
    {'scale': 2.0, 'rate': -1.0}

    A thousand unknowns, of which each residual depends on two:

    >>> def chain(x):
    ...     return np.concatenate([x[1:] - 0.5 * np.sin(x[:-1]), x[:1] - 1])
    >>> found = tape.scipy.least_squares(chain, np.zeros(1000), jac_sparsity="auto")
    >>> found.jac.shape, found.jac.nnz
    ((1000, 1000), 1999)
    """
    where = "tape.scipy.least_squares"
    check_options(where, options, allowed=OPTIONS, exact=EXACT)
    refuse_vars(where, options)
    unknowns = Unknowns(x0, where)
    f = checked_function(f, where)
    is_sparse = jac_sparsity is not None
    as_operator = options.get("tr_solver") == "lsmr" and not is_sparse
    from scipy import optimize

    layouts = []

    def run(x0: Any, args: Any, bounds: Any) -> Reached:
        unknowns = Unknowns(x0, where)
        residuals = Residuals(f, unknowns, args, is_plain=True)
        values = Latest(residuals)
        values(unknowns.start)  # errors in f are raised before SciPy runs
        layouts.append(residuals.layout)
        if is_sparse:
            is_found = isinstance(jac_sparsity, str) and jac_sparsity == "auto"
            jacobian = residuals.sparse_jacobian(None if is_found else jac_sparsity)
        else:
            jacobian = residuals.operator if as_operator else residuals.jacobian
        more = {"callback": with_tree(options["callback"], unknowns)} if "callback" in options else {}
        with reporting(progress, "least_squares") as seen:
            found = optimize.least_squares(
                lambda x: seen(values(x)),
                unknowns.start,
                jac=jacobian,
                bounds=unknowns.bounds(bounds) or (-np.inf, np.inf),
                **{**options, **more},
            )
        return Reached(found.x, found.success, found)

    def cost(x: Any, x0: Any, args: Any, bounds: Any) -> Any:
        return _cost(Residuals(f, unknowns, args)(x), options)

    conditions = Conditions(unknowns.size, cost, lambda x0, args, bounds: unknowns.sides(bounds))
    given = (x0, args, as_two_sides(bounds, x0))
    minimum = Minimum(
        f"{where} of {name_of(f)}",
        conditions,
        run,
        given,
        lambda k: f"the bound of {unknowns.element_name(k)}",
    )
    found, layout = minimum.report, layouts[0]
    if not minimum.is_plain:
        x, success = minimum.solution()
        residuals = Residuals(f, unknowns, args)(x)
        fun = layout.restore(residuals)
        return minimum.result(unknowns.restore(x), success, cost=_cost(residuals, options), fun=fun)
    found.active_mask = unknowns.restore(found.active_mask)
    found.fun = layout.restore(found.fun)
    if not as_operator and not is_sparse:
        found.jac = blocks(layout, unknowns, found.jac)
    return unknowns.with_trees(found)


_LOSSES: dict[str, Callable[[Any], Any]] = {
    "linear": lambda z: z,
    "soft_l1": lambda z: 2 * (ops.sqrt(1 + z) - 1),
    "huber": lambda z: ops.where(z <= 1, z, 2 * ops.sqrt(ops.maximum(z, 1.0)) - 1),
    "cauchy": ops.log1p,
    "arctan": ops.arctan,
}
"""SciPy's functions of squared residuals."""


def _cost(residuals: Any, options: dict[str, Any]) -> Any:
    """Return half of the sum of squares, each by the loss."""
    loss, scale = options.get("loss", "linear"), options.get("f_scale", 1.0)
    if callable(loss):
        raise errors.UnsupportedError(
            "tape.scipy.least_squares: a loss that is a function makes plain numbers for SciPy, which are "
            f"not differentiated. Use one of {', '.join(_LOSSES)}, or minimize"
        )
    return 0.5 * ops.sum(_LOSSES[loss]((residuals / scale) ** 2)) * scale**2
