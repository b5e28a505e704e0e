"""Special functions: the names of `scipy.special`.

Its ufuncs dispatch to these operations when they are given a Var: ``scipy.special.gammaln(v)``. Functions
that are not ufuncs there (`polygamma`, `multigammaln`, `logsumexp` and the softmax functions) are called
here.
"""

from __future__ import annotations

from typing import Any

from tape.inspect.samples import declare_samples
from tape.ops.elementwise.elementary import softplus
from tape.ops.elementwise.scipy_ufuncs import scipy_ufunc
from tape.ops.reduction.softmax import log_softmax as _log_softmax
from tape.ops.reduction.softmax import logsumexp
from tape.ops.reduction.softmax import softmax as _softmax
from tape.ops.special.airy import *  # noqa: F403
from tape.ops.special.airy import __all__ as _airy
from tape.ops.special.bessel import *  # noqa: F403
from tape.ops.special.bessel import __all__ as _bessel
from tape.ops.special.binomial import *  # noqa: F403
from tape.ops.special.binomial import __all__ as _binomial
from tape.ops.special.carlson import *  # noqa: F403
from tape.ops.special.carlson import __all__ as _carlson
from tape.ops.special.elliptic import *  # noqa: F403
from tape.ops.special.elliptic import __all__ as _elliptic
from tape.ops.special.equations import *  # noqa: F403
from tape.ops.special.equations import __all__ as _equations
from tape.ops.special.exponential import *  # noqa: F403
from tape.ops.special.exponential import __all__ as _exponential
from tape.ops.special.further import *  # noqa: F403
from tape.ops.special.further import __all__ as _further
from tape.ops.special.gammas import *  # noqa: F403
from tape.ops.special.gammas import __all__ as _gamma
from tape.ops.special.hypergeometric import *  # noqa: F403
from tape.ops.special.hypergeometric import __all__ as _hypergeometric
from tape.ops.special.incomplete import *  # noqa: F403
from tape.ops.special.incomplete import __all__ as _incomplete
from tape.ops.special.integrals import *  # noqa: F403
from tape.ops.special.integrals import __all__ as _integrals
from tape.ops.special.inverses import *  # noqa: F403
from tape.ops.special.inverses import __all__ as _inverses
from tape.ops.special.kolmogorov import *  # noqa: F403
from tape.ops.special.kolmogorov import __all__ as _kolmogorov
from tape.ops.special.losses import *  # noqa: F403
from tape.ops.special.losses import __all__ as _losses
from tape.ops.special.noncentral import *  # noqa: F403
from tape.ops.special.noncentral import __all__ as _noncentral
from tape.ops.special.normal import *  # noqa: F403
from tape.ops.special.normal import __all__ as _normal
from tape.ops.special.orthogonal import *  # noqa: F403
from tape.ops.special.orthogonal import __all__ as _orthogonal
from tape.ops.special.polygammas import digamma, polygamma, psi
from tape.ops.special.probabilities import *  # noqa: F403
from tape.ops.special.probabilities import __all__ as _probabilities
from tape.ops.special.several import *  # noqa: F403
from tape.ops.special.several import __all__ as _several
from tape.ops.special.spherical import *  # noqa: F403
from tape.ops.special.spherical import __all__ as _spherical
from tape.ops.special.student import *  # noqa: F403
from tape.ops.special.student import __all__ as _student
from tape.ops.special.windows import sinc
from tape.ops.special.zetas import zeta
from tape.ops.structure.shape import Axes

__all__ = [
    "digamma",
    "log_softmax",
    "logsumexp",
    "polygamma",
    "psi",
    "round",
    "sinc",
    "softmax",
    "softplus",
    "zeta",
    *_bessel,
    *_exponential,
    *_gamma,
    *_incomplete,
    *_losses,
    *_inverses,
    *_further,
    *_probabilities,
    *_orthogonal,
    *_integrals,
    *_hypergeometric,
    *_elliptic,
    *_airy,
    *_normal,
    *_student,
    *_binomial,
    *_carlson,
    *_kolmogorov,
    *_several,
    *_noncentral,
    *_equations,
    *_spherical,
]

declare_samples("tape.ops.special.log_softmax, tape.ops.special.softmax(x, axis=1)")


round = scipy_ufunc("round", "The nearest whole number; of derivative zero.", None)


def softmax(x: Any, axis: Axes = None) -> Any:
    """``exp(x) / sum(exp(x))`` over axes, without overflow: `tape.ops.softmax`, over all axes by default.

    Parameters
    ----------
    x : array_like or Var
        Floats, not empty along ``axis``.
    axis : int, tuple of int or None
        Over which the results add up to one; None for all.

    Returns
    -------
    numpy.ndarray or Var
        Array of the shape of ``x``.

    Raises
    ------
    ShapeError
        If there is no such axis, or no elements along it.

    Examples
    --------
    >>> import tape
    >>> tape.ops.special.softmax([[0.0, 0.0], [0.0, 0.0]])
    array([[0.25, 0.25],
           [0.25, 0.25]])
    """
    return _softmax(x, axis)


def log_softmax(x: Any, axis: Axes = None) -> Any:
    """The logarithm of `softmax`, accurate for small probabilities too. Parameters are the same.

    Examples
    --------
    >>> import tape
    >>> tape.ops.special.log_softmax([0.0, -1000.0])
    array([    0., -1000.])
    """
    return _log_softmax(x, axis)
