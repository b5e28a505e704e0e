"""Adam, with weight decay in the gradient or decoupled: `Adam` and `AdamW`, in place and pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tape.kernels import formulas
from tape.optim import _checks
from tape.optim._checks import Mask
from tape.optim._inplace import Optimizer
from tape.optim._rule import STATIC, Rule, Schedule


@dataclass(frozen=True)
class AdamRule(Rule):
    """The rule of `Adam`."""

    betas: tuple[float, float] = field(default=(0.9, 0.999), metadata=STATIC)
    eps: float = field(default=1e-8, metadata=STATIC)
    amsgrad: bool = field(default=False, metadata=STATIC)

    def _check(self) -> None:
        self._set(
            betas=_checks.pair("betas", self.betas),
            eps=_checks.setting("eps", self.eps),
            amsgrad=bool(self.amsgrad),
        )

    @property
    def slots(self) -> tuple[str, ...]:
        return ("mean", "square", "largest") if self.amsgrad else ("mean", "square")

    @property
    def formula(self) -> Callable[..., Any]:
        return formulas.amsgrad if self.amsgrad else formulas.adam

    def numbers(self, lr: Any, step: Any, scalars: Mapping[str, Any], decay: float) -> tuple[Any, ...]:
        beta1, beta2 = self.betas
        # Section 2 of the paper: both corrections are part of the learning rate and eps
        correction = np.sqrt(1 - beta2**step)
        rate = lr * correction / (1 - beta1**step)
        return rate, beta1, 1 - beta1, beta2, 1 - beta2, self.eps * correction, self._decay(lr, decay)

    def _decay(self, lr: Any, decay: float) -> Any:
        return decay


@dataclass(frozen=True)
class AdamWRule(AdamRule):
    """The rule of `AdamW`."""

    @property
    def formula(self) -> Callable[..., Any]:
        return formulas.amsgradw if self.amsgrad else formulas.adamw

    def _decay(self, lr: Any, decay: float) -> Any:
        return 1 - lr * decay


def adam(
    lr: float | Schedule = 1e-3,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 0.0,
    amsgrad: bool = False,
    *,
    weight_decay_mask: Mask = None,
    frozen: Mask = None,
) -> Rule:
    """Return the pure form of `Adam`: steps scaled by running averages of the gradient and its square.

    Parameters
    ----------
    lr : float or callable
        As for `sgd`.
    betas, eps, weight_decay, amsgrad, weight_decay_mask, frozen
        As for `Adam`.

    Returns
    -------
    Rule
        With ``init(params)`` and ``update(grads, state, params)``.

    Raises
    ------
    OptionError
        If a setting is out of range.

    Examples
    --------
    >>> import numpy as np, tape
    >>> rule = tape.optim.adam(lr=0.5)
    >>> params = np.array([4.0, -2.0])
    >>> state, params = rule.update(np.array([3.0, -0.5]), rule.init(params), params)
    >>> params.round(4)
    array([ 3.5, -1.5])
    """
    return AdamRule(
        lr,
        weight_decay,
        betas,
        eps,
        amsgrad,
        weight_decay_mask=weight_decay_mask,
        frozen=frozen,
    )


def adamw(
    lr: float | Schedule = 1e-3,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 1e-2,
    amsgrad: bool = False,
    *,
    weight_decay_mask: Mask = None,
    frozen: Mask = None,
) -> Rule:
    """Return the pure form of `AdamW`: Adam with decoupled weight decay.

    Parameters
    ----------
    lr : float or callable
        As for `sgd`.
    betas, eps, weight_decay, amsgrad, weight_decay_mask, frozen
        As for `AdamW`.

    Returns
    -------
    Rule
        With ``init(params)`` and ``update(grads, state, params)``.

    Raises
    ------
    OptionError
        If a setting is out of range.

    Examples
    --------
    >>> import numpy as np, tape
    >>> rule = tape.optim.adamw(lr=0.5)
    >>> params = np.array([4.0, -2.0])
    >>> state, params = rule.update(np.array([3.0, -0.5]), rule.init(params), params)
    >>> params.round(4)
    array([ 3.48, -1.49])
    """
    return AdamWRule(
        lr,
        weight_decay,
        betas,
        eps,
        amsgrad,
        weight_decay_mask=weight_decay_mask,
        frozen=frozen,
    )


class Adam(Optimizer):
    """Adam: steps scaled by running averages of the gradient and of its square.

    For each parameter p with gradient g, at step t = 1, 2, ... and with averages m and s that start
    at zero::

        g = g + weight_decay * p
        m = beta1 * m + (1 - beta1) * g
        s = beta2 * s + (1 - beta2) * g**2
        p = p - lr * (m / (1 - beta1**t)) / (sqrt(s / (1 - beta2**t)) + eps)

    Parameters
    ----------
    params : tree of numpy.ndarray
        As for `SGD`.
    lr : float
        Learning rate, zero or positive: about the length of a step in each element. The attribute
        ``lr`` may be set between steps.
    betas : pair of float
        The factors of the two averages from step to step, each at least 0 and below 1.
    eps : float
        Zero or positive; keeps elements without gradient from being divided by zero.
    weight_decay : float
        Zero or positive; the gradient of ``weight_decay / 2 * sum(p**2)`` is added.
    amsgrad : bool
        Divide by the largest s so far.
    weight_decay_mask, frozen : tree of bool or callable, optional
        As for `SGD`.

    Raises
    ------
    TapeError
        As for `SGD`.

    Notes
    -----
    Algorithm 1 of Kingma and Ba, "Adam: a method for stochastic optimization" (2015), with weight
    decay as in `torch.optim.Adam`; ``amsgrad`` is of Reddi et al., "On the convergence of Adam and beyond"
    (2018). float16 parameters have float32 averages.

    Examples
    --------
    >>> import numpy as np, tape.optim
    >>> w = np.array([4.0, -2.0])
    >>> tape.optim.Adam([w], lr=0.5).step([np.array([3.0, -0.5])])
    >>> w.round(4)
    array([ 3.5, -1.5])
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        *,
        weight_decay_mask: Mask = None,
        frozen: Mask = None,
    ) -> None:
        super().__init__(
            params,
            adam(lr, betas, eps, weight_decay, amsgrad, weight_decay_mask=weight_decay_mask, frozen=frozen),
        )


class AdamW(Optimizer):
    """Adam with decoupled weight decay: it shrinks the parameters, and does not enter the averages.

    For each parameter p with gradient g, at step t = 1, 2, ... and with averages m and s that start
    at zero::

        m = beta1 * m + (1 - beta1) * g
        s = beta2 * s + (1 - beta2) * g**2
        p = (1 - lr * weight_decay) * p - lr * (m / (1 - beta1**t)) / (sqrt(s / (1 - beta2**t)) + eps)

    Parameters
    ----------
    params : tree of numpy.ndarray
        As for `SGD`.
    lr : float
        Learning rate, zero or positive: about the length of a step in each element. The attribute
        ``lr`` may be set between steps.
    betas : pair of float
        The factors of the two averages from step to step, each at least 0 and below 1.
    eps : float
        Zero or positive; keeps elements without gradient from being divided by zero.
    weight_decay : float
        Zero or positive; each step shrinks the parameters by ``lr * weight_decay`` of their size.
    amsgrad : bool
        Divide by the largest s so far.
    weight_decay_mask, frozen : tree of bool or callable, optional
        As for `SGD`.

    Raises
    ------
    TapeError
        As for `SGD`.

    Notes
    -----
    Algorithm 2 of Loshchilov and Hutter, "Decoupled weight decay regularization" (2019), with the decay
    scaled by the learning rate, as in `torch.optim.AdamW`.

    Examples
    --------
    >>> import numpy as np, tape.optim
    >>> w = np.array([4.0, -2.0])
    >>> tape.optim.AdamW([w], lr=0.5).step([np.array([3.0, -0.5])])
    >>> w.round(4)
    array([ 3.48, -1.49])
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        weight_decay_mask: Mask = None,
        frozen: Mask = None,
    ) -> None:
        super().__init__(
            params,
            adamw(lr, betas, eps, weight_decay, amsgrad, weight_decay_mask=weight_decay_mask, frozen=frozen),
        )
