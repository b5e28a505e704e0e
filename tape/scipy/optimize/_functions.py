"""Conversion of functions of trees to functions of vectors, with derivatives in the form SciPy expects."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from tape import errors, ops, tree
from tape.core.dispatch import resolve
from tape.core.node import Handle, plain
from tape.scipy.optimize._implicit import settled
from tape.scipy.optimize._layout import Layout, Unknowns, Vector
from tape.sparse import sparse_hessian, sparse_jacobian
from tape.transforms._record import name_of
from tape.transforms.grad import grad
from tape.transforms.jacobian import jacobian
from tape.transforms.jvp import linearize
from tape.transforms.vjp import vjp


class Latest:
    """A function that caches its latest value, since solvers evaluate the starting point again."""

    def __init__(self, function: Callable[[np.ndarray], Any]) -> None:
        self._function = function
        self._x: np.ndarray | None = None
        self._value: Any = None

    def __call__(self, x: np.ndarray) -> Any:
        if self._x is None or not np.array_equal(self._x, x):
            self._value = self._function(x)
            self._x = np.array(x)
        return self._value


class _Function:
    """A function of the unknowns, called with their vector; if ``is_plain``, by SciPy without Vars."""

    def __init__(
        self, f: Callable[..., Any], unknowns: Unknowns, args: Any = (), *, is_plain: bool = False
    ) -> None:
        self._f, self._unknowns, self._is_plain = f, unknowns, is_plain
        self._args = args if isinstance(args, tuple) else (args,)
        self.__name__ = name_of(f)  # for messages

    def result(self, x: Vector) -> Any:
        """Return the result of the caller's function; Vars of it are those of the region around."""
        out = self._f(self._unknowns.unpack(x), *self._args)
        return tree.map(settled if self._is_plain and isinstance(x, np.ndarray) else resolve, out)


class Objective(_Function):
    """A function that returns one real number."""

    def __call__(self, x: Vector) -> Any:
        out = self.result(x)
        returned = f"{self._unknowns.where}: {self.__name__} returned"
        _, structure = tree.flatten(out)
        if structure is not tree.LEAF or np.shape(out) != ():
            what = errors.describe(out) if structure is tree.LEAF else f"a tree {tree.describe(structure)}"
            raise errors.ShapeError(
                f"{returned} {what}, not a scalar. Sum it, or use tape.scipy.least_squares for residuals"
            )
        if np.result_type(out).kind not in "fiub":
            raise errors.DTypeError(f"{returned} {errors.describe(out)}. Return a real number")
        return out


class Residuals(_Function):
    """A function that returns a tree, converted to a vector."""

    layout: Layout  # of the tree; known after the first call

    def __init__(
        self, f: Callable[..., Any], unknowns: Unknowns, args: Any = (), *, is_plain: bool = False
    ) -> None:
        super().__init__(f, unknowns, args, is_plain=is_plain)
        self.jacobian = Latest(jacobian(self))

    def __call__(self, x: Vector) -> Vector:
        out = self.result(x)
        if not hasattr(self, "layout"):
            self.layout = Layout(tree.map(plain, out))
        leaves, structure = tree.flatten(out)
        for leaf, name in zip(leaves, tree.names(structure, "the result"), strict=True):
            if not isinstance(leaf, Handle) and np.asarray(leaf).dtype.kind not in "fiub":
                raise errors.DTypeError(
                    f"{self._unknowns.where}: {name} of {self.__name__} is {errors.describe(leaf)}. Return "
                    "numbers"
                )
        flat = [ops.ravel(leaf).astype(np.float64) for leaf in leaves]
        return flat[0] if len(flat) == 1 else ops.concatenate(flat)

    def sparse_jacobian(self, pattern: Any) -> Callable[[np.ndarray], Any]:
        """Return the Jacobian as a sparse array, of a new one for each call: SciPy scales them in place."""
        return sparse_jacobian(self, pattern=pattern)

    def operator(self, x: np.ndarray) -> Any:
        """Return the Jacobian as a LinearOperator, whose products are sweeps."""
        from scipy.sparse.linalg import LinearOperator

        out, forwards = linearize(self, x)
        _, backwards = vjp(self, x)
        return LinearOperator(
            (out.size, x.size),
            matvec=lambda v: forwards(v.ravel()),
            rmatvec=lambda w: backwards(w.ravel())[0],
            dtype=np.float64,
        )

    def curvature(self, x: np.ndarray, w: np.ndarray) -> Any:
        """Return the Hessian of ``<w, f(x)>`` as a LinearOperator."""
        from scipy.sparse.linalg import LinearOperator

        product = hessian_product(lambda x: ops.sum(w * self(x)))
        return LinearOperator((x.size, x.size), matvec=lambda v: product(x, v.ravel()), dtype=np.float64)

    def sparse_curvature(self) -> Callable[[np.ndarray, np.ndarray], Any]:
        """Return the Hessian of ``<w, f(x)>``, by x and w, as a sparse array."""
        return linear_is_fine()(sparse_hessian(lambda x, w: ops.sum(w * self(x))))


def hessian_product(f: Callable[[Vector], Any]) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Return products with the Hessian; the gradient is recorded once for all vectors of one point."""
    gradient = grad(f)
    linear = Latest(lambda x: linearize(gradient, x)[1])

    @linear_is_fine()
    def product(x: np.ndarray, v: np.ndarray) -> np.ndarray:
        return linear(x)(v)

    return product


@contextmanager
def linear_is_fine() -> Iterator[None]:
    """Suppress the warning that a gradient is constant, which is correct for a linear function."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.ConstantResultWarning)
        yield
