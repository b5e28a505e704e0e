"""Discrete distributions, and random orders: what has no derivative by the parameters.

Orders and choices of a Var are read from it, and are differentiable by its elements.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tape import errors, ops
from tape.core import streams
from tape.core.node import Handle
from tape.random._base import Base, has_vars
from tape.random._draws import Size
from tape.random._pathwise import whole_numbers


class Discrete(Base):
    """The discrete distributions of a generator, with NumPy's names and signatures.

    Their samples are whole numbers. A parameter that depends on what is being differentiated is an error.
    """

    def integers(
        self, low: Any, high: Any = None, size: Size = None, dtype: Any = np.int64, endpoint: bool = False
    ) -> Any:
        """Draw integers from [low, high), or [0, low)."""
        options = (("dtype", np.dtype(dtype)), ("endpoint", bool(endpoint)))
        if high is None:
            low, high = 0, low
        return whole_numbers(self, "integers", (low, high), size, options)

    def bernoulli(self, p: Any, size: Size = None) -> Any:
        """Draw bools that are true with probability p: ``binomial(1, p, size) > 0``.

        Examples
        --------
        >>> import numpy as np, tape
        >>> tape.random.default_rng(0).bernoulli(np.array([0.0, 0.5, 1.0]))
        array([False,  True,  True])
        """
        return ops.greater(whole_numbers(self, "binomial", (1, p), size), 0)

    def binomial(self, n: Any, p: Any, size: Size = None) -> Any:
        """Draw numbers of successes among n trials."""
        return whole_numbers(self, "binomial", (n, p), size)

    def geometric(self, p: Any, size: Size = None) -> Any:
        """Draw numbers of trials until the first success."""
        return whole_numbers(self, "geometric", (p,), size)

    def hypergeometric(self, ngood: Any, nbad: Any, nsample: Any, size: Size = None) -> Any:
        """Draw numbers of good ones among a sample without replacement."""
        return whole_numbers(self, "hypergeometric", (ngood, nbad, nsample), size)

    def logseries(self, p: Any, size: Size = None) -> Any:
        """Draw from the logarithmic series distribution."""
        return whole_numbers(self, "logseries", (p,), size)

    def negative_binomial(self, n: Any, p: Any, size: Size = None) -> Any:
        """Draw numbers of failures before n successes."""
        return whole_numbers(self, "negative_binomial", (n, p), size)

    def poisson(self, lam: Any = 1.0, size: Size = None) -> Any:
        """Draw from the Poisson distribution.

        Raises
        ------
        UnsupportedError
            If ``lam`` depends on what is being differentiated: the sample does not move with it.

        Examples
        --------
        >>> import numpy as np, tape
        >>> tape.random.default_rng(0).poisson(3.0, size=4)
        array([2, 0, 7, 1])
        >>> tape.grad(lambda lam: 1.0 * tape.random.default_rng(0).poisson(lam))(3.0)
        Traceback (most recent call last):
        tape.errors.UnsupportedError: poisson: whole numbers are drawn, which do not move with the
        parameters...
        """
        return whole_numbers(self, "poisson", (lam,), size)

    def zipf(self, a: Any, size: Size = None) -> Any:
        """Draw from the Zipf distribution."""
        return whole_numbers(self, "zipf", (a,), size)

    def multinomial(self, n: Any, pvals: Any, size: Size = None) -> Any:
        """Draw counts of categories among n trials."""
        return whole_numbers(self, "multinomial", (n, pvals), size, has_examples=True)

    def multivariate_hypergeometric(
        self, colors: Any, nsample: int, size: Size = None, method: str = "marginals"
    ) -> Any:
        """Draw counts of colors among a sample without replacement."""
        options = (("method", method),)
        return whole_numbers(
            self, "multivariate_hypergeometric", (colors, nsample), size, options, has_examples=True
        )

    def bytes(self, length: int) -> bytes:
        """Draw bytes; refused in a compiled function, where there are none."""
        self._check_alone("bytes")
        return self.plain.bytes(length)

    # ---- orders and choices -----------------------------------------------------------------------------

    def choice(
        self,
        a: Any,
        size: Size = None,
        replace: bool = True,
        p: Any = None,
        axis: int = 0,
        shuffle: bool = True,
    ) -> Any:
        """Choose elements of an array, or of ``range(a)``.

        Parameters
        ----------
        a : int, array_like or Var
            What to choose from; elements of a Var are differentiable.
        size : int, tuple of int or None
            How many.
        replace : bool
            Whether an element may be chosen again.
        p : array_like, optional
            Their probabilities, which have no derivative.
        axis : int
            The axis to choose along.
        shuffle : bool
            Whether the order is random without replacement.

        Examples
        --------
        >>> import numpy as np, tape
        >>> tape.random.default_rng(0).choice(5, size=3)
        array([4, 3, 2])
        >>> tape.grad(lambda x: np.sum(tape.random.default_rng(0).choice(x, 3, replace=False)))(np.ones(4))
        array([0., 1., 1., 1.])
        """
        options = (("replace", bool(replace)), ("shuffle", bool(shuffle)))
        given = (_count(a, axis),) if p is None else (_count(a, axis), p)
        places = whole_numbers(self, "choice", given, size, options, has_examples=True)
        return places if np.ndim(a) == 0 else _taken(a, places, axis)

    def permutation(self, x: Any, axis: int = 0) -> Any:
        """Return an array in random order along an axis, or a random order of ``range(x)``.

        Examples
        --------
        >>> import tape
        >>> tape.random.default_rng(0).permutation(4)
        array([2, 0, 1, 3])
        """
        places = whole_numbers(self, "permutation", (_count(x, axis),), has_examples=True)
        return places if np.ndim(x) == 0 else _taken(x, places, axis)

    def permuted(self, x: Any, *, axis: int | None = None, out: Any = None) -> Any:
        """Return an array with the elements along an axis in random order, of each row its own."""
        if out is not None:
            self._check_alone("permuted with out=")
            return self.plain.permuted(x, axis=axis, out=out)
        x = x if isinstance(x, Handle) else np.asarray(x)
        if axis is None:
            places = np.arange(np.size(x)).reshape(np.shape(x))
        else:
            line = np.arange(np.shape(x)[axis]).reshape(
                [-1 if k == axis % np.ndim(x) else 1 for k in range(np.ndim(x))]
            )
            places = np.broadcast_to(line, np.shape(x))
        order = whole_numbers(self, "permuted", (places,), options=(("axis", axis),), has_examples=True)
        if axis is None:
            return ops.reshape(ops.take(ops.ravel(x), order), np.shape(x))
        return ops.take_along_axis(x, order, axis=axis)

    def shuffle(self, x: Any, axis: int = 0) -> None:
        """Bring an array or a list in random order, in place, outside of compiled functions.

        Raises
        ------
        UnsupportedError
            If ``x`` is a Var, or in a compiled function: `permutation` returns a new array.
        """
        if has_vars(x) or streams.is_watched():
            raise errors.UnsupportedError(
                "shuffle writes over its argument, which a function that is recorded may not. Write x = "
                "rng.permutation(x) for rng.shuffle(x)"
            )
        self.plain.shuffle(x, axis=axis)


def _count(a: Any, axis: int) -> int:
    """Return how many elements there are along an axis, or how many numbers are meant."""
    if np.ndim(a):
        if not -np.ndim(a) <= axis < np.ndim(a):
            raise errors.ShapeError(f"there is no axis {axis} in {errors.describe(a)}")
        return int(np.shape(a)[axis])
    try:
        return operator.index(a)
    except TypeError as error:
        raise errors.DTypeError(
            f"{errors.describe(a)} is neither an array nor a number of elements"
        ) from error


def _taken(x: Any, places: Any, axis: int) -> Any:
    if not has_vars(x, places):
        return np.take(x, places, axis=axis)  # of anything, strings too
    return ops.take(x if isinstance(x, Handle) else np.asarray(x), places, axis=axis)
