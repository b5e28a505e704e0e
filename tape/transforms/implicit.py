"""`root` and `fixed_point`: solutions differentiated by the implicit function theorem.

For F(x, p) = 0 the tangent of the solution is ``dx = -(dF/dx)^-1 dF/dp dp``, however it was found: the solver
runs on plain arrays, and may be any function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tape import errors, ops, tree
from tape.core.closures import Bound
from tape.core.dispatch import recorder
from tape.core.nesting import batch_below, traced
from tape.core.node import Handle, plain
from tape.core.streams import without_draws
from tape.ops.structure.layout import of_kind
from tape.transforms._iterations import newton, repeat
from tape.transforms._parts import RealParts
from tape.transforms._record import check_callable, dtype_of, name_of
from tape.transforms._segment import Packing, Segment, pull_through, push_through
from tape.transforms.jacobian import jacobian
from tape.transforms.stop import stop_gradient

Solver = Callable[[Callable[[Any], Any], Any], Any]


def root(f: Callable[..., Any], x0: Any, *args: Any, solver: Solver | None = None) -> Any:
    """Find the x for which ``f(x, *args)`` is zero; it is differentiable in ``args`` and captured Vars.

    Parameters
    ----------
    f : callable
        Plain NumPy code; it returns a tree like ``x``.
    x0 : tree
        The initial guess: floats or complex numbers, arrays of these, or a tree of them. It is not
        differentiated.
    *args : tree
        Further arguments of ``f``.
    solver : callable, optional
        ``solver(g, x0)`` returns the x for which ``g(x)`` is zero, by any method; it gets plain arrays.
        By default `scipy.optimize.root` with the exact Jacobian.
        In a compiled function a solver of `while_loop` and its like becomes rows of the program.

    Returns
    -------
    tree
        The solution, like ``x0``.

    Raises
    ------
    ConvergenceError
        If the default solver does not converge.
    ShapeError
        If ``f`` returns a tree of another structure or other shapes than ``x``.
    SingularMatrixError
        In a sweep, if its Jacobian is singular: the solution is not differentiable.

    Notes
    -----
    Derivatives solve with the dense Jacobian with respect to x, which takes memory for ``x.size**2`` numbers.
    A complex x counts twice: its real and imaginary parts are the unknowns, and ``f`` need not be
    holomorphic.

    In a compiled function the default solver is an iteration of Levenberg and Marquardt, which becomes rows
    of the program. Calls in which it does not converge run SciPy's. Of several roots they may find different
    ones.

    Examples
    --------
    >>> import numpy as np, tape
    >>> def square_root(a):
    ...     return tape.root(lambda x: x**2 - a, 1.0)
    >>> round(float(square_root(4.0)), 12), round(float(tape.grad(square_root)(4.0)), 12)
    (2.0, 0.25)
    """
    check_callable(f, "root")
    f = without_draws(Bound(f), "root")
    return _solved(f, x0, args, solver, _default_root, is_fixed_point=False)


def fixed_point(
    f: Callable[..., Any],
    x0: Any,
    *args: Any,
    solver: Solver | None = None,
    tol: float | None = None,
    max_steps: int = 10_000,
) -> Any:
    """Find the x for which ``f(x, *args)`` is x; it is differentiable in ``args`` and captured Vars.

    Parameters
    ----------
    f, x0, *args
        As for `root`.
    solver : callable, optional
        ``solver(g, x0)`` returns the x for which ``g(x)`` is x, by any method; it gets plain arrays.
        By default ``g`` is applied until x stops changing.
        In a compiled function a solver of `while_loop` and its like becomes rows of the program.
    tol : float, optional
        The default solver stops when no element changes by more than this, relative to the largest
        element or one. By default 1e-12, or four times the precision of the dtype if that is more.
    max_steps : int
        The largest number of times that it applies ``g``.

    Returns
    -------
    tree
        The solution, like ``x0``.

    Raises
    ------
    ConvergenceError
        If the default solver does not converge.
    OptionError
        If ``tol`` or ``max_steps`` is out of range.
    ShapeError
        If ``f`` returns a tree of another structure or other shapes than ``x``.
    SingularMatrixError
        In a sweep, if the Jacobian of ``f(x) - x`` is singular: the solution is not differentiable.

    Notes
    -----
    Derivatives solve with the dense Jacobian with respect to x, which takes memory for ``x.size**2`` numbers.
    A complex x counts twice: its real and imaginary parts are the unknowns, and ``f`` need not be
    holomorphic.

    Examples
    --------
    >>> import numpy as np, tape
    >>> def crossing(a):
    ...     return tape.fixed_point(lambda x: a * np.cos(x), 1.0)
    >>> round(float(crossing(1.0)), 12), round(float(tape.grad(crossing)(1.0)), 12)
    (0.739085133215, 0.441610791706)
    """
    check_callable(f, "fixed_point")
    f = without_draws(Bound(f), "fixed_point")
    is_number = isinstance(tol, (int, float, np.number)) and tol > 0
    if not (tol is None or is_number) or not isinstance(max_steps, (int, np.integer)) or max_steps < 1:
        raise errors.OptionError(
            f"fixed_point: tol is {tol!r} and max_steps {max_steps!r}. They must be a positive number or "
            "None, and an int of 1 or more"
        )

    def iterate(g: Callable[[Any], Any], x: Any) -> Any:
        like = Packing(x)
        enough = (
            max([1e-12, *(4 * float(np.finfo(dtype).eps) for dtype in like.dtypes)]) if tol is None else tol
        )
        if recorder() is not None:
            leaves = [like.leaves[i] for i in like.floats]
            found = repeat(
                lambda x: like.parts_of(g(like.restore_parts(x)), name_of(f)), leaves, enough, max_steps
            )
            return like.restore_parts(found)
        change = np.inf
        for _ in range(max_steps):
            after = like.restore_parts(like.parts_of(g(x), name_of(f)))
            pairs = zip(tree.flatten(x)[0], tree.flatten(after)[0], strict=True)
            x, change = after, max((_relative_change(a, b) for a, b in pairs), default=0.0)
            if change <= enough:
                return x
            if change == np.inf:
                break
        raise errors.ConvergenceError(
            f"fixed_point: {name_of(f)} has not converged within {max_steps} steps; the last changed x by "
            f"{change:.3g}, relative. Start closer, allow more max_steps, or give a solver"
        )

    return _solved(f, x0, args, solver, iterate, is_fixed_point=True)


def _solved(
    f: Callable[..., Any], x0: Any, args: Any, given: Solver | None, default: Solver, *, is_fixed_point: bool
) -> Any:
    what = "fixed_point" if is_fixed_point else "root"
    name = f"{what}({name_of(f)})"
    like = Packing(tree.map(plain, x0))
    _check_start(like, what)
    if like.dtype.kind == "c":
        parts = RealParts(like)
        inner = None if given is None else parts.solver(given)
        start = parts.split(x0, "x0")
        return parts.join(
            _solved(parts.inside(f), start, args, inner, default, is_fixed_point=is_fixed_point)
        )
    solver = given or default

    def solve(start: Any, *args: Any) -> Any:
        solution = _like(solver(lambda x: f(x, *args), start), like, name)
        like.parts_of(f(solution, *args), name_of(f))  # so that the Vars f closes over are found
        return solution

    # The initial guess is an argument, so that a program, or an element of a batch, starts from its own.
    start = tree.map(lambda leaf: traced(leaf) if batch_below(leaf) is None else stop_gradient(leaf), x0)
    segment = Segment(solve, (start, *args), {}, name)

    def joined(parts: Any) -> Any:
        """Return the results of the operation, or their adjoints, as one array."""
        pairs = zip(segment.packing.unpack(parts), like.shapes, like.dtypes, strict=True)
        return like.pack([np.zeros(shape, dtype) if x is None else x for x, shape, dtype in pairs])

    def residual(x: Any, *operands: Any) -> Any:
        """Return the equations, zero at the solution, as one vector."""
        out = segment.call(lambda _, *args: f(like.restore(x), *args), operands)
        packed = like.pack(like.parts_of(out, name_of(f)))
        return ops.ravel(packed - x if is_fixed_point else packed)

    def slopes(x: Any, operands: Sequence[Any]) -> Any:
        """Return the Jacobian with respect to x, a square matrix."""
        matrix = jacobian(lambda x: residual(x, *operands))(x)
        return ops.reshape(matrix, (matrix.shape[0], matrix.shape[0]))

    def vjp(g: Any, out: Any, *operands: Any) -> list[Any]:
        x = joined(out)
        pulled = ops.solve(slopes(x, operands).T, ops.ravel(joined(g)))
        return pull_through(lambda *operands: residual(x, *operands), -pulled, operands, name)

    def jvp(tangents: Sequence[Any], out: Any, *operands: Any) -> Any:
        x = joined(out)
        moved = push_through(lambda *operands: residual(x, *operands), tangents, operands, name)
        if moved is None:
            return None
        return segment.packing.pack(like.unpack(ops.reshape(-ops.solve(slopes(x, operands), moved), x.shape)))

    return segment.as_node(vjp, jvp)


def _like(solution: Any, like: Packing, name: str) -> Any:
    """Return the result of a solver in the dtypes of the initial guess, checked."""
    leaves, structure = tree.flatten(solution)
    shapes = [np.shape(leaf) for leaf in leaves]
    if structure != like.structure or shapes != like.shapes:
        raise errors.ShapeError(
            f"{name}: the solver returned {tree.describe(structure)} with shapes {shapes} for x0 "
            f"{tree.describe(like.structure)} with {like.shapes}. Both must be of one structure and shape"
        )
    if any(dtype_of(leaf).kind != "f" for leaf in leaves):
        raise errors.DTypeError(f"{name}: the solver returned {errors.describe(solution)}. Return floats")
    leaves = [
        of_kind(
            ops.astype(leaf, dtype) if isinstance(leaf, Handle) else np.asarray(leaf, dtype), dtype.type()
        )
        for leaf, dtype in zip(leaves, like.dtypes, strict=True)
    ]
    return tree.unflatten(structure, leaves)


def _relative_change(before: Any, after: Any) -> float:
    """Return the largest change of an element, relative to the largest or one; infinite if not finite."""
    largest = float(np.max(np.abs(after), initial=1.0))
    change = float(np.max(np.abs(after - before), initial=0.0)) / largest if largest < np.inf else np.inf
    return change if change == change else np.inf


def _check_start(like: Packing, what: str) -> None:
    if len(like.floats) != len(like.leaves) or not like.leaves:
        names = tree.names(like.structure, "x0")
        wrong = [names[i] for i in range(len(like.leaves)) if i not in like.floats]
        raise errors.DTypeError(
            f"{what}: {', '.join(wrong) or 'x0'} does not hold floats. Convert it, e.g. "
            "np.asarray(value, dtype=float)"
        )


def _default_root(g: Callable[[Any], Any], x0: Any) -> Any:
    packing = Packing(x0)

    def flat(x: np.ndarray) -> Any:
        parts = packing.parts_of(g(packing.restore(ops.reshape(x, start.shape))), name_of(g))
        return ops.ravel(packing.pack(parts))

    start = packing.pack([packing.leaves[i] for i in packing.floats])
    if recorder() is not None:
        return packing.restore(ops.reshape(newton(flat, ops.ravel(start)), start.shape))
    from scipy import optimize  # here, since its import takes longer than all others

    start = np.asarray(start)
    found = optimize.root(flat, start.ravel(), jac=jacobian(flat), tol=1e-13)
    residual = float(np.max(np.abs(found.fun), initial=0))
    if not found.success and not residual < 1e-9:
        message = " ".join(found.message.split())
        raise errors.ConvergenceError(
            f"root: the solver stopped at a residual of {residual:.3g}: {message} "
            "Start closer, or give a solver"
        )
    solution = found.x.astype(start.dtype).reshape(start.shape)
    return tree.map(lambda leaf: np.asarray(leaf)[()], packing.restore(solution))
