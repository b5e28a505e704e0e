"""Derivatives of probabilities by parameters, of any order, on plain arrays; nothing here knows of Vars.

Of the regularised incomplete gamma and beta functions and of Student's distribution function. Each is the
integral of a density, and its derivatives are the integrals of the density's: the density times a polynomial
in the derivatives of its logarithm (`bell`). There are two ways to integrate:

- Near the end of the support the density is a power times a convergent series, integrated term by term
  (DLMF 8.7.1 and 8.17.7) and then differentiated by the parameters.
- Elsewhere a Gauss-Legendre rule, in the logarithm of the variable (of the odds, for beta), up to where the
  density has fallen by a factor of `exp(-40)`. Exponents are distances from the mode, so that no digits are
  lost for large parameters.

The integral is taken on that side of the mode on which the argument is. There the integrand of a first
derivative does not change its sign, so that tails keep all their digits.
"""

from tape.ops.special.by_parameters.bell import bell
from tape.ops.special.by_parameters.beta import by_beta_parameters
from tape.ops.special.by_parameters.gamma import by_gamma_parameter
from tape.ops.special.by_parameters.student import by_degrees_of_freedom

__all__ = ["bell", "by_beta_parameters", "by_degrees_of_freedom", "by_gamma_parameter"]
