"""Continuous distributions: samples that move with their parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from tape import errors, ops
from tape.random._base import Base, cast, has_vars
from tape.random._draws import Size, as_size, numbers, shape_of
from tape.random._pathwise import sample, whole_numbers


class Continuous(Base):
    """The continuous distributions of a generator, with NumPy's names and signatures.

    Parameters are arrays, numbers or Vars, and broadcast; ``size`` is the shape of the result, by default
    that to which they broadcast. ``dtype=np.float32`` returns float32; by default samples are float64,
    whatever the parameters are. Where there is a Var among the parameters, the sample is a Var.
    """

    # ---- standard numbers ------------------------------------------------------------------------------

    def random(self, size: Size = None, dtype: Any = np.float64, out: Any = None) -> Any:
        """Draw uniformly from [0, 1)."""
        if out is not None:
            return self._filled("random", out, size=size, dtype=dtype)
        return self._numbers("random", size=size, options=_dtype(dtype))

    def standard_normal(self, size: Size = None, dtype: Any = np.float64, out: Any = None) -> Any:
        """Draw from the normal distribution of mean 0 and deviation 1."""
        if out is not None:
            return self._filled("standard_normal", out, size=size, dtype=dtype)
        return self._numbers("standard_normal", size=size, options=_dtype(dtype))

    def standard_exponential(
        self, size: Size = None, dtype: Any = np.float64, method: str = "zig", out: Any = None
    ) -> Any:
        """Draw from the exponential distribution of scale 1."""
        if out is not None:
            return self._filled("standard_exponential", out, size=size, dtype=dtype, method=method)
        return self._numbers("standard_exponential", size=size, options=(*_dtype(dtype), ("method", method)))

    def standard_cauchy(self, size: Size = None, *, dtype: Any = None) -> Any:
        """Draw from the standard Cauchy distribution."""
        return cast(self._numbers("standard_cauchy", size=size), dtype)

    # ---- location and scale ------------------------------------------------------------------------------

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Size = None, *, dtype: Any = None) -> Any:
        """Draw from the normal distribution: ``loc + scale * z``.

        Parameters
        ----------
        loc, scale : array_like or Var
            Mean and standard deviation; both are differentiable.
        size : int, tuple of int or None
            The shape of the sample; by default that to which the parameters broadcast.
        dtype : dtype, optional
            Of the sample; float64 by default.

        Returns
        -------
        numpy.ndarray, NumPy scalar or Var

        Raises
        ------
        OptionError
            If a scale is negative.
        ShapeError
            If the parameters do not broadcast to ``size``.

        Examples
        --------
        >>> import numpy as np, tape
        >>> def loss(loc, scale):
        ...     return np.mean(tape.random.default_rng(0).normal(loc, scale, size=1000) ** 2)
        >>> print(np.round(tape.grad(loss, argnums=(0, 1))(1.0, 2.0), 2))  # of the expectation: 2 and 4
        [1.81 3.73]
        """
        if not has_vars(loc, scale):
            return cast(self._numbers("normal", loc, scale, size=size), dtype)
        z = self._standard(
            "standard_normal", shape_of(size, loc, scale), checks={"scale >= 0": scale}, dtype=dtype
        )
        return cast(loc + scale * z, dtype)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Size = None, *, dtype: Any = None) -> Any:
        """Draw uniformly from [low, high): ``low + (high - low) * u``."""
        if not has_vars(low, high):
            return cast(self._numbers("uniform", low, high, size=size), dtype)
        u = self._standard(
            "random", shape_of(size, low, high), checks={"high - low >= 0": high - low}, dtype=dtype
        )
        return cast(low + (high - low) * u, dtype)

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Size = None, *, dtype: Any = None) -> Any:
        """Draw from the Laplace distribution."""
        return self._moved("laplace", loc, scale, size, dtype)

    def logistic(self, loc: Any = 0.0, scale: Any = 1.0, size: Size = None, *, dtype: Any = None) -> Any:
        """Draw from the logistic distribution."""
        return self._moved("logistic", loc, scale, size, dtype)

    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Size = None, *, dtype: Any = None) -> Any:
        """Draw from the Gumbel distribution of largest values."""
        return self._moved("gumbel", loc, scale, size, dtype)

    def _moved(self, method: str, loc: Any, scale: Any, size: Size, dtype: Any) -> Any:
        if not has_vars(loc, scale):
            return cast(self._numbers(method, loc, scale, size=size), dtype)
        z = self._standard(
            method, shape_of(size, loc, scale), 0.0, 1.0, checks={"scale >= 0": scale}, dtype=dtype
        )
        return cast(loc + scale * z, dtype)

    # ---- functions of standard numbers --------------------------------------------------------------------

    def exponential(self, scale: Any = 1.0, size: Size = None, *, dtype: Any = None) -> Any:
        """Draw from the exponential distribution of this mean."""
        if not has_vars(scale):
            return cast(self._numbers("exponential", scale, size=size), dtype)
        return cast(scale * self._waiting(size, "scale >= 0", scale, dtype), dtype)

    def lognormal(self, mean: Any = 0.0, sigma: Any = 1.0, size: Size = None, *, dtype: Any = None) -> Any:
        """Draw numbers whose logarithm is normal."""
        if not has_vars(mean, sigma):
            return cast(self._numbers("lognormal", mean, sigma, size=size), dtype)
        z = self._standard(
            "standard_normal", shape_of(size, mean, sigma), checks={"sigma >= 0": sigma}, dtype=dtype
        )
        return cast(ops.exp(mean + sigma * z), dtype)

    def rayleigh(self, scale: Any = 1.0, size: Size = None, *, dtype: Any = None) -> Any:
        """Draw from the Rayleigh distribution."""
        if not has_vars(scale):
            return cast(self._numbers("rayleigh", scale, size=size), dtype)
        return cast(scale * ops.sqrt(2.0 * self._waiting(size, "scale >= 0", scale, dtype)), dtype)

    def weibull(self, a: Any, size: Size = None, *, dtype: Any = None) -> Any:
        """Draw from the Weibull distribution of scale 1."""
        if not has_vars(a):
            return cast(self._numbers("weibull", a, size=size), dtype)
        is_zero = ops.equal(a, 0)
        root = self._waiting(size, "a >= 0", a, dtype) ** (1.0 / (a + is_zero))
        return cast(root * ops.logical_not(is_zero), dtype)

    def pareto(self, a: Any, size: Size = None, *, dtype: Any = None) -> Any:
        """Draw from the Pareto distribution of the second kind (Lomax): that of the first kind minus 1."""
        if not has_vars(a):
            return cast(self._numbers("pareto", a, size=size), dtype)
        return cast(ops.expm1(self._waiting(size, "a > 0", a, dtype) / a), dtype)

    def power(self, a: Any, size: Size = None, *, dtype: Any = None) -> Any:
        """Draw from [0, 1] with a density of ``a x**(a - 1)``."""
        if not has_vars(a):
            return cast(self._numbers("power", a, size=size), dtype)
        return cast((-ops.expm1(-self._waiting(size, "a > 0", a, dtype))) ** (1.0 / a), dtype)

    def _waiting(self, size: Size, bound: str, parameter: Any, dtype: Any) -> Any:
        """Draw exponential numbers, with a parameter that keeps to a bound."""
        return self._standard(
            "standard_exponential", shape_of(size, parameter), checks={bound: parameter}, dtype=dtype
        )

    def triangular(self, left: Any, mode: Any, right: Any, size: Size = None, *, dtype: Any = None) -> Any:
        """Draw from the triangular distribution."""
        if not has_vars(left, mode, right):
            return cast(self._numbers("triangular", left, mode, right, size=size), dtype)
        base, rise, fall = right - left, mode - left, right - mode
        checks = {"right - left > 0": base, "mode - left >= 0": rise, "right - mode >= 0": fall}
        u = self._standard("random", shape_of(size, left, mode, right), checks=checks, dtype=dtype)
        is_rising = u <= rise / base
        root = ops.sqrt(ops.where(is_rising, u * (rise * base), (1.0 - u) * (fall * base)))
        return cast(ops.where(is_rising, left, right) + ops.where(is_rising, root, -root), dtype)

    # ---- by implicit reparametrisation --------------------------------------------------------------------

    def standard_gamma(self, shape: Any, size: Size = None, dtype: Any = np.float64, out: Any = None) -> Any:
        """Draw from the gamma distribution of scale 1.

        The derivative by ``shape`` is that at a fixed probability: implicit reparametrisation, to second
        order.

        Examples
        --------
        >>> import numpy as np, tape
        >>> def mean(shape):
        ...     return np.mean(tape.random.default_rng(0).standard_gamma(shape, size=1000))
        >>> print(f"{tape.grad(mean)(2.0):.2f}")  # of the expectation: 1
        1.00
        """
        if not has_vars(shape):
            if out is not None:
                return self._filled("standard_gamma", out, shape, size=size, dtype=dtype)
            return self._numbers("standard_gamma", shape, size=size, options=_dtype(dtype))
        if out is not None:
            raise errors.UnsupportedError("standard_gamma of a Var has no out=. Leave it out")
        return sample(self, "standard_gamma", (shape,), size, _dtype(dtype))

    def gamma(self, shape: Any, scale: Any = 1.0, size: Size = None, *, dtype: Any = None) -> Any:
        """Draw from the gamma distribution; the derivative is as in `standard_gamma`."""
        if not has_vars(shape, scale):
            return cast(self._numbers("gamma", shape, scale, size=size), dtype)
        out_shape = shape_of(size, shape, scale)
        if not has_vars(shape):
            return cast(
                scale
                * self._standard(
                    "standard_gamma", out_shape, shape, checks={"scale >= 0": scale}, dtype=dtype
                ),
                dtype,
            )
        return cast(scale * sample(self, "standard_gamma", (shape,), out_shape), dtype)

    def chisquare(self, df: Any, size: Size = None, *, dtype: Any = None) -> Any:
        """Draw sums of ``df`` squares of standard normal numbers."""
        if not has_vars(df):
            return cast(self._numbers("chisquare", df, size=size), dtype)
        return cast(2.0 * sample(self, "standard_gamma", (df / 2.0,), size), dtype)

    def beta(self, a: Any, b: Any, size: Size = None, *, dtype: Any = None) -> Any:
        """Draw from the beta distribution; the derivative is as in `standard_gamma`."""
        return cast(sample(self, "beta", (a, b), size), dtype)

    def standard_t(self, df: Any, size: Size = None, *, dtype: Any = None) -> Any:
        """Draw from Student's t distribution."""
        return cast(sample(self, "standard_t", (df,), size), dtype)

    def f(self, dfnum: Any, dfden: Any, size: Size = None, *, dtype: Any = None) -> Any:
        """Draw from the F distribution."""
        return cast(sample(self, "f", (dfnum, dfden), size), dtype)

    def wald(self, mean: Any, scale: Any, size: Size = None, *, dtype: Any = None) -> Any:
        """Draw from the Wald (inverse Gaussian) distribution."""
        return cast(sample(self, "wald", (mean, scale), size), dtype)

    def vonmises(self, mu: Any, kappa: Any, size: Size = None, *, dtype: Any = None) -> Any:
        """Draw angles from the von Mises distribution."""
        return cast(sample(self, "vonmises", (mu, kappa), size), dtype)

    def dirichlet(self, alpha: Any, size: Size = None, *, dtype: Any = None) -> Any:
        """Draw from the Dirichlet distribution.

        The derivative by ``alpha[j]`` moves component j as the beta distribution does, and leaves the ratios
        of the others. Of all ways to move a sample of several components with the distribution it is one:
        derivatives of expectations are the same for all.
        """
        return cast(sample(self, "dirichlet", (alpha,), size), dtype)

    # ---- several components -------------------------------------------------------------------------------

    def multivariate_normal(
        self,
        mean: Any,
        cov: Any,
        size: Size = None,
        check_valid: str = "warn",
        tol: float = 1e-8,
        *,
        method: str = "svd",
        dtype: Any = None,
    ) -> Any:
        """Draw from the multivariate normal distribution: ``mean + A z`` with ``A A^T = cov``.

        With a Var, ``A`` is differentiated as it is computed: by the singular value decomposition, which has
        no derivative where two variances are equal, or by ``method="cholesky"``, which always has one. The
        covariance is not checked then, but for its shape.
        """
        if not has_vars(mean, cov):
            options = (("check_valid", check_valid), ("tol", tol), ("method", method))
            out = numbers(self, "multivariate_normal", (mean, cov), size, options, has_examples=True)
            return cast(out, dtype)
        k = np.shape(mean)[0] if np.ndim(mean) == 1 else -1
        if np.shape(cov) != (k, k):
            raise errors.ShapeError(
                f"multivariate_normal: mean has shape {list(np.shape(mean))} and cov {list(np.shape(cov))}. "
                "Give a vector and a square matrix of its length"
            )
        if method == "svd":
            _, values, rows = np.linalg.svd(cov)
            factor = ops.sqrt(values)[:, None] * rows
        elif method == "eigh":
            values, columns = np.linalg.eigh(cov)
            factor = ops.transpose(columns * ops.sqrt(values))
        elif method == "cholesky":
            factor = ops.transpose(np.linalg.cholesky(cov))
        else:
            raise errors.OptionError(f"method is {method!r}. It is 'svd', 'eigh' or 'cholesky'")
        z = self._standard("standard_normal", (*(() if size is None else as_size(size)), k), dtype=dtype)
        return cast(mean + ops.matmul(z, factor), dtype)

    # ---- without a derivative -----------------------------------------------------------------------------

    def noncentral_chisquare(self, df: Any, nonc: Any, size: Size = None) -> Any:
        """Draw from the noncentral chi-squared distribution; a derivative by its parameters is refused."""
        return whole_numbers(self, "noncentral_chisquare", (df, nonc), size, is_discrete=False)

    def noncentral_f(self, dfnum: Any, dfden: Any, nonc: Any, size: Size = None) -> Any:
        """Draw from the noncentral F distribution; a derivative by its parameters is refused."""
        return whole_numbers(self, "noncentral_f", (dfnum, dfden, nonc), size, is_discrete=False)

    # ---- relaxations --------------------------------------------------------------------------------------

    def gumbel_softmax(self, logits: Any, temperature: Any = 1.0, axis: int = -1) -> Any:
        """Draw from the relaxation of a categorical distribution (concrete distribution).

        The sample is ``softmax((logits + gumbel) / temperature)``: probabilities close to one category, the
        closer the lower the temperature, and differentiable by the logits (Jang, Gu, Poole, "Categorical
        Reparameterization with Gumbel-Softmax", 2017).

        Parameters
        ----------
        logits : array_like or Var
            Logarithms of probabilities, up to a constant; the categories are along ``axis``.
        temperature : float, array_like or Var
            Positive.
        axis : int
            The axis of the categories.

        Examples
        --------
        >>> import numpy as np, tape
        >>> rng = tape.random.default_rng(0)
        >>> rng.gumbel_softmax(np.log([0.1, 0.9]), temperature=0.1).round(3)
        array([0., 1.])
        """
        dtype = np.result_type(logits, np.float16)
        checks = {"temperature > 0": temperature}
        z = self._standard("gumbel", np.shape(logits), 0.0, 1.0, checks=checks, dtype=dtype)
        return ops.nn.gumbel_softmax(logits, z, temperature, axis=axis)


def _dtype(dtype: Any) -> tuple[tuple[str, Any], ...]:
    return (("dtype", np.dtype(dtype)),)
