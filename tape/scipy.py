"""Solvers of `scipy.optimize` with exact derivatives: `minimize`, `least_squares`, `root`, `curve_fit`.

Each is handed functions of one float64 vector, and their derivatives; the caller's functions see trees.
`scipy.optimize` is imported when the first solver is called. Nothing here computes a derivative: that is
`tape.transforms`.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tape import errors, ops, tree
from tape.node import Handle
from tape.transforms.grad import grad, value_and_grad
from tape.transforms.jacobian import hessian, jacobian
from tape.transforms.jvp import linearize
from tape.transforms.vjp import vjp

__all__ = ["curve_fit", "least_squares", "minimize", "root"]

Vector = Any  # of float64, shape (n,), or a Var like that

_NO_DERIVATIVE = frozenset({"nelder-mead", "powell", "cobyla", "cobyqa"})
_GRADIENT = frozenset({"cg", "bfgs", "l-bfgs-b", "tnc", "slsqp"})
_PRODUCT = frozenset({"newton-cg", "trust-ncg", "trust-krylov", "trust-constr"})
_HESSIAN = frozenset({"dogleg", "trust-exact"})
_ROOT_JACOBIAN = frozenset({"hybr", "lm"})
_ROOT = _ROOT_JACOBIAN | {
    *("broyden1", "broyden2", "anderson", "linearmixing", "diagbroyden", "excitingmixing"),
    *("krylov", "df-sane"),
}


def minimize(
    f: Callable[..., Any],
    x0: Any,
    args: Any = (),
    method: str | Callable[..., Any] | None = None,
    *,
    bounds: Any = None,
    constraints: Any = (),
    callback: Callable[..., Any] | None = None,
    progress: bool = False,
    **options: Any,
) -> Any:
    """`scipy.optimize.minimize` with exact derivatives, over a tree.

    Value and gradient come from one recording. Newton-CG, trust-ncg, trust-krylov and trust-constr get
    products with the Hessian, of which every point is recorded once; dogleg and trust-exact get the
    Hessian itself.

    Parameters
    ----------
    f : callable
        ``f(x, *args)``, plain NumPy code that returns a scalar; ``x`` is a tree like ``x0``, of float64.
    x0 : tree of floats
        Where to start: an array, a float, or a tree of them. A list of floats is a tree, not an array.
    args : tuple
        Further arguments of ``f``.
    method : str or callable, optional
        One of SciPy's. By default SLSQP with constraints, L-BFGS-B with bounds, otherwise BFGS.
    bounds : scipy.optimize.Bounds or tree of pairs, optional
        A tree like ``x0`` that has at each leaf a pair ``(low, high)`` of numbers, None, or arrays that
        broadcast to the leaf; or a list of such pairs, one for each element; or None. `Bounds` are those
        of all elements in the order of the leaves.
    constraints : dict, NonlinearConstraint, LinearConstraint, or list of them
        As SciPy's; functions get the tree, may return a tree, and get exact derivatives. The matrix of a
        LinearConstraint is for all elements in the order of the leaves.
    callback : callable, optional
        Called after every iteration with the tree; with what else SciPy passes, if it takes that. One
        whose only parameter is ``intermediate_result`` gets an OptimizeResult.
    progress : bool
        Show evaluations and the value as they come; needs tqdm.
    **options
        ``tol`` and ``options``, passed on.

    Returns
    -------
    scipy.optimize.OptimizeResult
        With ``x`` and ``jac``, the gradient, as trees of the shapes and dtypes of ``x0`` (trust-constr
        calls the gradient ``grad``). All else is SciPy's, in the order of the leaves.

    Raises
    ------
    DTypeError
        If a leaf of ``x0`` is not of a float dtype.
    ShapeError
        If ``f`` returns no scalar, or bounds do not fit ``x0``.
    OptionError
        If there is no such method or option, or derivatives are given.

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
    _check_options(where, options, allowed=("tol", "options"), exact=("jac", "hess", "hessp"))
    kind = _kind_of(method, bounds is not None, _as_list(constraints))
    layout = _unknowns(x0, where)
    from scipy import optimize  # type: ignore[import-untyped]

    def flat(vector: Vector) -> Any:
        out = f(layout.unpack(vector), *_as_tuple(args))
        return _scalar(out, f, where)

    flat.__name__ = _name(f)  # for messages
    both = value_and_grad(flat)
    with _progress(progress, "minimize") as seen:
        if kind in _NO_DERIVATIVE:
            objective = _Latest(lambda x: seen(float(flat(x))))
            derivatives: dict[str, Any] = {}
        else:

            def value_and_gradient(x: np.ndarray) -> tuple[float, np.ndarray]:
                value, gradient = both(x)
                return seen(float(value)), gradient

            objective = _Latest(value_and_gradient)
            derivatives = {"jac": True, **_second(flat, kind)}
        objective(layout.start)  # what is wrong with f is told before SciPy is on the way
        found = optimize.minimize(
            objective,
            layout.start,
            method=kind if isinstance(kind, str) else method,
            bounds=_bounds(bounds, layout, where),
            constraints=[_constraint(c, layout, kind, where) for c in _as_list(constraints)],
            callback=_callback(callback, layout),
            **derivatives,
            **options,
        )
    return _with_trees(found, layout, ("x", "jac", "grad"))


def least_squares(
    f: Callable[..., Any],
    x0: Any,
    args: Any = (),
    *,
    bounds: Any = None,
    progress: bool = False,
    **options: Any,
) -> Any:
    """`scipy.optimize.least_squares` with the exact Jacobian, over a tree.

    With ``tr_solver="lsmr"`` no Jacobian is made: products with it are sweeps.

    Parameters
    ----------
    f : callable
        ``f(x, *args)``, plain NumPy code that returns the residuals: an array, or a tree.
    x0, args, bounds, progress
        As for `minimize`.
    **options
        Passed on: ``method``, ``loss``, ``ftol``, ``max_nfev`` and so on.

    Returns
    -------
    scipy.optimize.OptimizeResult
        With ``x``, ``grad`` and ``active_mask`` as trees like ``x0``, ``fun`` as a tree like the
        residuals and ``jac`` as `tape.jacobian` gives it (with lsmr a LinearOperator).

    Raises
    ------
    DTypeError, ShapeError, OptionError
        As `minimize`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> t = np.linspace(0.0, 1.0, 5)
    >>> found = tape.scipy.least_squares(
    ...     lambda p: p["scale"] * np.exp(p["rate"] * t) - 2 * np.exp(-t), {"scale": 1.0, "rate": 0.0}
    ... )
    >>> {name: float(value.round(6)) for name, value in found.x.items()}
    {'scale': 2.0, 'rate': -1.0}
    """
    where = "tape.scipy.least_squares"
    allowed = ("method", "ftol", "xtol", "gtol", "x_scale", "loss", "f_scale", "tr_solver", "tr_options")
    _check_options(
        where,
        options,
        allowed=(*allowed, "max_nfev", "verbose", "callback"),
        exact=("jac", "diff_step", "jac_sparsity", "workers"),
    )
    layout = _unknowns(x0, where)
    from scipy import optimize

    residuals = _Residuals(f, layout, _as_tuple(args), where)
    as_operator = options.get("tr_solver") == "lsmr"
    if options.get("callback") is not None:
        options["callback"] = _callback(options["callback"], layout)
    with _progress(progress, "least_squares") as seen:
        values = _Latest(residuals)
        values(layout.start)
        found = optimize.least_squares(
            lambda x: _shown(seen, values(x)),
            layout.start,
            jac=residuals.operator if as_operator else residuals.jacobian,
            bounds=_bounds(bounds, layout, where) or (-np.inf, np.inf),
            **options,
        )
    found = _with_trees(found, layout, ("x", "grad"))
    found.active_mask = layout.restore(found.active_mask, keep_dtype=False)
    found.fun = residuals.layout.restore(found.fun)
    if not as_operator:
        found.jac = _blocks(residuals.layout, layout, found.jac)
    return found


def root(
    f: Callable[..., Any],
    x0: Any,
    args: Any = (),
    method: str = "hybr",
    *,
    callback: Callable[..., Any] | None = None,
    progress: bool = False,
    **options: Any,
) -> Any:
    """`scipy.optimize.root` over a tree, with the exact Jacobian for the methods that use one.

    Parameters
    ----------
    f : callable
        ``f(x, *args)``, plain NumPy code that returns as many residuals as there are unknowns: an array,
        or a tree.
    x0, args, callback, progress
        As for `minimize`.
    method : str
        One of SciPy's. hybr and lm get the Jacobian; the others approximate it in their own way.
    **options
        ``tol`` and ``options``, passed on.

    Returns
    -------
    scipy.optimize.OptimizeResult
        With ``x`` as a tree like ``x0``, and ``fun`` as one like the residuals.

    Raises
    ------
    DTypeError, ShapeError, OptionError
        As `minimize`; ShapeError also if there are more or fewer residuals than unknowns.

    Examples
    --------
    >>> import numpy as np, tape
    >>> found = tape.scipy.root(lambda p: {"u": p["u"] ** 2 - 2, "v": p["v"] - p["u"]}, {"u": 1.0, "v": 1.0})
    >>> float(found.x["v"].round(8))
    1.41421356
    """
    where = "tape.scipy.root"
    _check_options(where, options, allowed=("tol", "options"), exact=("jac",))
    if not isinstance(method, str) or method.lower() not in _ROOT:
        raise errors.OptionError(f"{where}: no method {method!r}. There are {', '.join(sorted(_ROOT))}")
    layout = _unknowns(x0, where)
    from scipy import optimize

    residuals = _Residuals(f, layout, _as_tuple(args), where)
    with _progress(progress, "root") as seen:
        values = _Latest(residuals)
        count = values(layout.start).size
        if count != layout.size:
            raise errors.ShapeError(
                f"{where}: {_name(f)} returned {count} residuals for {layout.size} unknowns. Return as many, "
                "or use tape.scipy.least_squares"
            )
        found = optimize.root(
            lambda x: _shown(seen, values(x)),
            layout.start,
            method=method,
            jac=residuals.jacobian if method.lower() in _ROOT_JACOBIAN else None,
            callback=_callback(callback, layout),
            **options,
        )
    found.fun = residuals.layout.restore(np.asarray(found.fun))
    return _with_trees(found, layout, ("x",))


def curve_fit(
    model: Callable[..., Any],
    x: Any,
    y: Any,
    p0: Any,
    sigma: Any = None,
    absolute_sigma: bool = False,
    *,
    bounds: Any = None,
    progress: bool = False,
    **options: Any,
) -> tuple[Any, Any]:
    """`scipy.optimize.curve_fit` with the exact Jacobian, for a tree of parameters.

    Parameters
    ----------
    model : callable
        ``model(x, p)``, plain NumPy code that returns an array of the shape of ``y``; ``p`` is a tree
        like ``p0``, of float64.
    x : Any
        Passed on to the model as it is.
    y : array_like
        What the model should return; any shape.
    p0 : tree of floats
        Where to start: as ``x0`` of `minimize`.
    sigma : array_like, optional
        Standard deviations of ``y``: one, or an array of its shape; or the covariance matrix of all of
        its elements.
    absolute_sigma : bool
        Whether ``sigma`` is meant as it is; otherwise only the ratios count.
    bounds, progress
        As for `minimize`.
    **options
        Passed on: ``method``, ``check_finite``, ``maxfev``, ``ftol`` and so on.

    Returns
    -------
    p : tree
        The best parameters, in shapes and dtypes of ``p0``.
    covariance : tree of trees
        ``covariance[a][b]`` has the shapes of ``p[a]`` and ``p[b]``, one behind the other.

    Raises
    ------
    DTypeError, ShapeError, OptionError
        As `minimize`; ShapeError also if the model returns another shape than that of ``y``.

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
    _check_options(where, options, refused=("full_output", "nan_policy"), exact=("jac", "Dfun", "diff_step"))
    layout = _unknowns(p0, where, "p0")
    from scipy import optimize

    y = np.asarray(y)
    residuals = _Residuals(lambda p: model(x, p), layout, (), where)
    values = _Latest(residuals)
    values(layout.start)
    if residuals.layout.shapes != [y.shape]:
        raise errors.ShapeError(
            f"{where}: {_name(model)} returned {residuals.layout.describe()}, and y is {errors.describe(y)}. "
            "Both must have one shape"
        )
    if sigma is not None:
        sigma = np.asarray(sigma)
        sigma = sigma.ravel() if sigma.shape == y.shape else sigma
    with _progress(progress, "curve_fit") as seen:

        def predictions(_: Any, *p: float) -> np.ndarray:
            predicted = values(np.array(p))
            _shown(seen, predicted - y.ravel())
            return predicted

        vector, covariance = optimize.curve_fit(
            predictions,
            None,  # the model has x, as the caller gave it
            y.ravel(),
            layout.start,
            sigma,
            absolute_sigma,
            jac=lambda _, *p: residuals.jacobian(np.array(p)),
            bounds=_bounds(bounds, layout, where) or (-np.inf, np.inf),
            **options,
        )
    return layout.restore(vector), _blocks(layout, layout, covariance)


# ---- trees as vectors --------------------------------------------------------------------------------


class _Layout:
    """Where the leaves of a tree lie in a vector."""

    def __init__(self, value: Any) -> None:
        leaves, self.structure = tree.flatten(value)
        self.shapes = [np.shape(leaf) for leaf in leaves]
        self.dtypes = [np.result_type(leaf) for leaf in leaves]
        sizes = [int(np.prod(shape, dtype=int)) for shape in self.shapes]
        self.stops = np.cumsum([0, *sizes]).tolist()
        self.size = self.stops[-1]
        self.start = np.concatenate([np.ravel(leaf).astype(np.float64) for leaf in leaves] or [np.zeros(0)])
        self._is_array = [isinstance(leaf, np.ndarray) for leaf in leaves]

    def parts(self, vector: Vector) -> list[Any]:
        """The elements of each leaf."""
        return [vector[i:j] for i, j in zip(self.stops, self.stops[1:], strict=False)]

    def unpack(self, vector: Vector) -> Any:
        """The tree, of what the vector is made of."""
        if self.structure is tree.LEAF and len(self.shapes[0]) == 1:
            return vector
        leaves = [part.reshape(shape) for part, shape in zip(self.parts(vector), self.shapes, strict=True)]
        return tree.restore(self.structure, leaves)

    def restore(self, vector: np.ndarray, keep_dtype: bool = True) -> Any:
        """The tree, in the dtypes it had, of arrays and scalars as they were."""
        leaves = []
        for part, shape, dtype, is_array in zip(
            self.parts(vector), self.shapes, self.dtypes, self._is_array, strict=True
        ):
            leaf = part.reshape(shape).astype(dtype if keep_dtype else part.dtype)
            leaves.append(leaf if is_array else leaf[()])
        return tree.restore(self.structure, leaves)

    def describe(self) -> str:
        """The shapes, in a message."""
        return f"shape {self.shapes[0]}" if self.structure is tree.LEAF else f"a tree {self.structure}"


def _unknowns(x0: Any, where: str, name: str = "x0") -> _Layout:
    """The layout of what is looked for: floats, each of which has a name."""
    leaves, structure = tree.flatten(x0)
    for leaf, leaf_name in zip(leaves, tree.names(structure, name), strict=True):
        if isinstance(leaf, Handle):
            raise errors.ConversionError(
                f"{where}: {leaf_name} is {leaf!r}. Solutions cannot be differentiated; start from its .value"
            )
        try:
            dtype = np.asarray(leaf).dtype
        except ValueError as error:
            raise errors.ShapeError(f"{where}: {leaf_name} is no regular array: {error}") from error
        if dtype.kind != "f" or isinstance(leaf, np.ma.MaskedArray):
            raise errors.DTypeError(
                f"{where}: {leaf_name} is {errors.describe(leaf)}. Unknowns are floats: convert it, e.g. "
                "np.asarray(value, dtype=float), or pass it as one of the further arguments"
            )
    layout = _Layout(x0)
    if not layout.size:
        raise errors.ShapeError(f"{where}: {name} holds no numbers, so there is nothing to look for")
    return layout


def _blocks(rows: _Layout, columns: _Layout, matrix: np.ndarray) -> Any:
    """A matrix as a tree of trees."""
    result = []
    for part, shape in zip(rows.parts(matrix), rows.shapes, strict=True):
        blocks = [
            block.T.reshape((*shape, *inner)).astype(dtype)
            for block, inner, dtype in zip(columns.parts(part.T), columns.shapes, columns.dtypes, strict=True)
        ]
        result.append(tree.restore(columns.structure, blocks))
    return tree.restore(rows.structure, result)


def _with_trees(found: Any, layout: _Layout, names: Sequence[str]) -> Any:
    for name in names:
        vector = found.get(name)
        if isinstance(vector, np.ndarray) and vector.shape == (layout.size,):
            found[name] = layout.restore(vector)
    return found


# ---- functions of vectors ----------------------------------------------------------------------------


class _Latest:
    """A function that remembers its latest value: solvers ask for that of the starting point again."""

    def __init__(self, function: Callable[[np.ndarray], Any]) -> None:
        self._function = function
        self._x: np.ndarray | None = None
        self._value: Any = None

    def __call__(self, x: np.ndarray) -> Any:
        if self._x is None or not np.array_equal(self._x, x):
            self._value = self._function(x)
            self._x = np.array(x)
        return self._value


class _Residuals:
    """A function from trees to trees, as one of vectors, with its derivatives."""

    layout: _Layout  # of the result; known after the first call

    def __init__(self, f: Callable[..., Any], unknowns: _Layout, args: tuple[Any, ...], where: str) -> None:
        self._f, self._unknowns, self._args, self._where = f, unknowns, args, where

        def flat(x: Vector) -> Vector:
            return self._join(f(unknowns.unpack(x), *args))

        flat.__name__ = _name(f)  # for messages
        self._flat = flat
        self.jacobian = _Latest(jacobian(flat))

    def __call__(self, x: np.ndarray) -> np.ndarray:
        out = self._f(self._unknowns.unpack(x), *self._args)
        self.layout = _Layout(out)
        return self._join(out)

    def operator(self, x: np.ndarray) -> Any:
        """The Jacobian as a LinearOperator: products with it are sweeps."""
        from scipy.sparse.linalg import LinearOperator  # type: ignore[import-untyped]

        out, forwards = linearize(self._flat, x)
        _, backwards = vjp(self._flat, x)
        return LinearOperator(
            (out.size, x.size),
            matvec=lambda v: forwards(v.ravel()),
            rmatvec=lambda w: backwards(w.ravel())[0],
            dtype=np.float64,
        )

    def curvature(self, x: np.ndarray, w: np.ndarray) -> Any:
        """The Hessian of ``<w, f(x)>`` as a LinearOperator."""
        from scipy.sparse.linalg import LinearOperator

        product = _product(lambda x: ops.sum(w * self._flat(x)))
        return LinearOperator((x.size, x.size), matvec=lambda v: product(x, v.ravel()), dtype=np.float64)

    def _join(self, out: Any) -> Vector:
        leaves, structure = tree.flatten(out)
        for leaf, name in zip(leaves, tree.names(structure, "the result"), strict=True):
            if not isinstance(leaf, Handle) and np.asarray(leaf).dtype.kind not in "fiub":
                raise errors.DTypeError(
                    f"{self._where}: {name} of {_name(self._f)} is {errors.describe(leaf)}. Return numbers"
                )
        flat = [ops.ravel(leaf).astype(np.float64) for leaf in leaves]
        return flat[0] if len(flat) == 1 else ops.concatenate(flat)


def _scalar(out: Any, f: Callable[..., Any], where: str) -> Any:
    """What a function returned, if it is one real number."""
    _, structure = tree.flatten(out)
    if structure is not tree.LEAF or np.shape(out) != ():
        what = errors.describe(out) if structure is tree.LEAF else f"a tree {structure}"
        raise errors.ShapeError(
            f"{where}: {_name(f)} returned {what}, not a scalar. Sum it, or use tape.scipy.least_squares "
            "for residuals"
        )
    if np.result_type(out).kind not in "fiub":
        raise errors.DTypeError(f"{where}: {_name(f)} returned {errors.describe(out)}. Return a real number")
    return out


def _second(flat: Callable[[Vector], Any], kind: str | None) -> dict[str, Any]:
    """What a method of minimization gets of the second derivatives."""
    if kind in _HESSIAN:
        exact = hessian(flat)

        def matrix(x: np.ndarray) -> np.ndarray:
            with _linear_is_fine():
                return exact(x)

        return {"hess": matrix}
    return {} if kind in _GRADIENT else {"hessp": _product(flat)}


def _product(flat: Callable[[Vector], Any]) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """The Hessian times a vector: the gradient is recorded once for all vectors of one point."""
    gradient = grad(flat)

    def recorded(x: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        return linearize(gradient, x)[1]

    latest = _Latest(recorded)

    def product(x: np.ndarray, v: np.ndarray) -> np.ndarray:
        with _linear_is_fine():
            return latest(x)(v)

    return product


@contextmanager
def _linear_is_fine() -> Iterator[None]:
    """The gradient of a linear function is constant, and rightly so."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.ConstantResultWarning)
        yield


# ---- what SciPy is given -----------------------------------------------------------------------------


def _check_options(
    where: str,
    options: Mapping[str, Any],
    *,
    allowed: Sequence[str] | None = None,
    refused: Sequence[str] = (),
    exact: Sequence[str],
) -> None:
    for name in options:
        if name in exact:
            raise errors.OptionError(
                f"{where}: {name} was given, but derivatives are exact already: they come from the tape. "
                f"Leave {name} out; to give a rule of your own for part of the function, use tape.op.Op"
            )
        if name in refused or (allowed is not None and name not in allowed):
            advice = f"It takes {', '.join(allowed)}" if allowed is not None else "Leave it out"
            if allowed is not None and "options" in allowed:
                advice += "; settings of the method go into options={...}"
            raise errors.OptionError(f"{where}: no option {name!r}. {advice}")


def _kind_of(method: Any, has_bounds: bool, constraints: Sequence[Any]) -> str | None:
    """The method that will run, in lower case; None for the caller's own."""
    if method is None:
        return "slsqp" if constraints else "l-bfgs-b" if has_bounds else "bfgs"
    if callable(method):
        return None
    known = _NO_DERIVATIVE | _GRADIENT | _PRODUCT | _HESSIAN
    if not isinstance(method, str) or method.lower() not in known:
        raise errors.OptionError(
            f"tape.scipy.minimize: no method {method!r}. There are {', '.join(sorted(known))}"
        )
    return method.lower()


def _bounds(given: Any, layout: _Layout, where: str) -> Any:
    """Bounds of all elements."""
    from scipy import optimize

    if given is None:
        return None
    if isinstance(given, optimize.Bounds):
        low, high = (_bound(side, (layout.size,), where, "bounds") for side in (given.lb, given.ub))
        return optimize.Bounds(low, high, given.keep_feasible)
    try:
        pairs = [given] if layout.structure is tree.LEAF else layout.structure.flatten_up_to(given)
    except (ValueError, TypeError) as error:
        raise errors.ShapeError(
            f"{where}: bounds do not fit x0, a tree {layout.structure}. Give a tree like it, with a pair "
            f"(low, high) or None at every leaf: {error}"
        ) from error
    sides = [
        _sides(pair, shape, where, name)
        for pair, shape, name in zip(
            pairs, layout.shapes, tree.names(layout.structure, "bounds"), strict=True
        )
    ]
    return optimize.Bounds(*(np.concatenate([np.ravel(side[k]) for side in sides]) for k in (0, 1)))


def _sides(given: Any, shape: tuple[int, ...], where: str, name: str) -> tuple[Any, Any]:
    """The lower and upper bounds of a leaf."""
    if given is None:
        given = (None, None)
    is_pair = (
        [isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in given] if np.iterable(given) else []
    )
    if is_pair and all(is_pair) and len(is_pair) == np.prod(shape):
        lows = [-np.inf if low is None else low for low, _ in given]
        highs = [np.inf if high is None else high for _, high in given]
        return _bound(lows, shape, where, name), _bound(highs, shape, where, name)
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise errors.ShapeError(
            f"{where}: {name} is {errors.describe(given)}, for {shape or 'a number'}. Give a pair "
            "(low, high), or a list of pairs, one for each element"
        )
    low, high = given
    return (
        _bound(-np.inf if low is None else low, shape, where, name),
        _bound(np.inf if high is None else high, shape, where, name),
    )


def _bound(side: Any, shape: tuple[int, ...], where: str, name: str) -> np.ndarray:
    try:
        side = np.asarray(side, float)
        return np.broadcast_to(side, shape) if side.size != np.prod(shape) else side.reshape(shape)
    except (ValueError, TypeError) as error:
        raise errors.ShapeError(
            f"{where}: {name} holds {errors.describe(side)}, which does not broadcast to {shape}: {error}"
        ) from error


def _constraint(given: Any, layout: _Layout, kind: str | None, where: str) -> Any:
    """A constraint of the vector, with exact derivatives."""
    from scipy import optimize

    if isinstance(given, optimize.LinearConstraint):
        return given
    if isinstance(given, Mapping) and "fun" in given and "type" in given:
        _check_options(f"{where}: a constraint", given, exact=("jac",))
        residuals = _Residuals(given["fun"], layout, _as_tuple(given.get("args", ())), where)
        return {"type": given["type"], "fun": residuals, "jac": residuals.jacobian}
    if isinstance(given, optimize.NonlinearConstraint):
        for name in ("jac", "hess"):
            if callable(getattr(given, name)):
                _check_options(f"{where}: a constraint", {name: ...}, exact=(name,))
        residuals = _Residuals(given.fun, layout, (), where)
        # All other methods warn that they have no use for second derivatives.
        second = {"hess": residuals.curvature} if kind == "trust-constr" else {}
        return optimize.NonlinearConstraint(
            residuals, given.lb, given.ub, residuals.jacobian, keep_feasible=given.keep_feasible, **second
        )
    raise errors.OptionError(
        f"{where}: {errors.describe(given)} is no constraint. Give a dict with 'type' and 'fun', or a "
        "scipy.optimize.NonlinearConstraint or LinearConstraint"
    )


def _callback(callback: Callable[..., Any] | None, layout: _Layout) -> Callable[..., Any] | None:
    """A callback of the vector that passes on the tree."""
    if callback is None:
        return None
    signature = inspect.signature(callback)
    if set(signature.parameters) == {"intermediate_result"}:

        def on_result(*, intermediate_result: Any) -> Any:
            result = type(intermediate_result)(intermediate_result)
            return callback(intermediate_result=_with_trees(result, layout, ("x", "jac", "grad")))

        return on_result

    def on_vector(x: np.ndarray, *rest: Any) -> Any:
        try:
            signature.bind(x, *rest)
        except TypeError:  # trust-constr and root have more to say than others
            rest = ()
        return callback(layout.restore(x), *rest)

    return on_vector


@contextmanager
def _progress(is_shown: bool, title: str) -> Iterator[Callable[[float], float]]:
    """Something to call with every value of the objective."""
    if not is_shown:
        yield lambda value: value
        return
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise errors.OptionError(
            "progress=True needs tqdm, which is not installed: pip install tqdm, or leave progress out"
        ) from error
    with tqdm(desc=title, unit=" evaluations") as bar:

        def seen(value: float) -> float:
            bar.set_postfix_str(f"value {value:.6g}", refresh=False)
            bar.update()
            return value

        yield seen


def _shown(seen: Callable[[float], float], residuals: np.ndarray) -> np.ndarray:
    seen(0.5 * float(residuals @ residuals))
    return residuals


def _as_tuple(args: Any) -> tuple[Any, ...]:
    return args if isinstance(args, tuple) else (args,)


def _as_list(constraints: Any) -> list[Any]:
    return list(constraints) if isinstance(constraints, (tuple, list)) else [constraints]


def _name(f: Callable[..., Any]) -> str:
    return getattr(f, "__name__", None) or repr(f)
