"""Steps scaled by the gradients so far: `RMSprop`, `Adagrad` and `Adadelta`, in place and pure."""

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
class RMSpropRule(Rule):
    """The rule of `RMSprop`."""

    alpha: float = field(default=0.99, metadata=STATIC)
    eps: float = field(default=1e-8, metadata=STATIC)
    momentum: float = field(default=0.0, metadata=STATIC)
    centered: bool = field(default=False, metadata=STATIC)

    def _check(self) -> None:
        self._set(
            alpha=_checks.setting("alpha", self.alpha, below=1.0),
            eps=_checks.setting("eps", self.eps),
            momentum=_checks.setting("momentum", self.momentum, below=1.0),
            centered=bool(self.centered),
        )

    @property
    def slots(self) -> tuple[str, ...]:
        return "square", *(["mean"] if self.centered else []), *(["velocity"] if self.momentum else [])

    @property
    def formula(self) -> Callable[..., Any]:
        if self.centered:
            return formulas.rmsprop_centered_momentum if self.momentum else formulas.rmsprop_centered
        return formulas.rmsprop_momentum if self.momentum else formulas.rmsprop

    def numbers(self, lr: Any, step: Any, scalars: Mapping[str, Any], decay: float) -> tuple[Any, ...]:
        return lr, self.alpha, 1 - self.alpha, self.eps, self.momentum, decay


@dataclass(frozen=True)
class AdagradRule(Rule):
    """The rule of `Adagrad`."""

    lr_decay: float = field(default=0.0, metadata=STATIC)
    initial_accumulator_value: float = field(default=0.0, metadata=STATIC)
    eps: float = field(default=1e-10, metadata=STATIC)

    def _check(self) -> None:
        for name in ("lr_decay", "initial_accumulator_value", "eps"):
            self._set(**{name: _checks.setting(name, getattr(self, name))})

    @property
    def slots(self) -> tuple[str, ...]:
        return ("total",)

    @property
    def formula(self) -> Callable[..., Any]:
        return formulas.adagrad

    def start(self, like: np.ndarray) -> list[np.ndarray]:
        return [np.full_like(like, self.initial_accumulator_value)]

    def numbers(self, lr: Any, step: Any, scalars: Mapping[str, Any], decay: float) -> tuple[Any, ...]:
        return lr / (1 + (step - 1) * self.lr_decay), self.eps, decay


@dataclass(frozen=True)
class AdadeltaRule(Rule):
    """The rule of `Adadelta`."""

    rho: float = field(default=0.9, metadata=STATIC)
    eps: float = field(default=1e-6, metadata=STATIC)

    def _check(self) -> None:
        self._set(rho=_checks.setting("rho", self.rho, below=1.0), eps=_checks.setting("eps", self.eps))

    @property
    def slots(self) -> tuple[str, ...]:
        return ("square", "delta")

    @property
    def formula(self) -> Callable[..., Any]:
        return formulas.adadelta

    def numbers(self, lr: Any, step: Any, scalars: Mapping[str, Any], decay: float) -> tuple[Any, ...]:
        return lr, self.rho, 1 - self.rho, self.eps, decay


def rmsprop(
    lr: float | Schedule = 1e-2,
    alpha: float = 0.99,
    eps: float = 1e-8,
    weight_decay: float = 0.0,
    momentum: float = 0.0,
    centered: bool = False,
    *,
    weight_decay_mask: Mask = None,
    frozen: Mask = None,
) -> Rule:
    """Return the pure form of `RMSprop`: steps divided by the root mean square of the gradient.

    Parameters
    ----------
    lr : float or callable
        As for `sgd`.
    alpha, eps, weight_decay, momentum, centered, weight_decay_mask, frozen
        As for `RMSprop`.

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
    >>> rule = tape.optim.rmsprop(lr=0.1)
    >>> params = np.array([4.0, -2.0])
    >>> state, params = rule.update(np.array([3.0, -0.5]), rule.init(params), params)
    >>> params.round(4)
    array([ 3., -1.])
    """
    return RMSpropRule(
        lr,
        weight_decay,
        alpha,
        eps,
        momentum,
        centered,
        weight_decay_mask=weight_decay_mask,
        frozen=frozen,
    )


def adagrad(
    lr: float | Schedule = 1e-2,
    lr_decay: float = 0.0,
    weight_decay: float = 0.0,
    initial_accumulator_value: float = 0.0,
    eps: float = 1e-10,
    *,
    weight_decay_mask: Mask = None,
    frozen: Mask = None,
) -> Rule:
    """Return the pure form of `Adagrad`: steps divided by the root of the sum of squares.

    Parameters
    ----------
    lr : float or callable
        As for `sgd`.
    lr_decay, weight_decay, initial_accumulator_value, eps, weight_decay_mask, frozen
        As for `Adagrad`.

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
    >>> rule = tape.optim.adagrad(lr=0.5)
    >>> params = np.array([4.0, -2.0])
    >>> state, params = rule.update(np.array([3.0, -0.5]), rule.init(params), params)
    >>> params.round(4)
    array([ 3.5, -1.5])
    """
    return AdagradRule(
        lr,
        weight_decay,
        lr_decay,
        initial_accumulator_value,
        eps,
        weight_decay_mask=weight_decay_mask,
        frozen=frozen,
    )


def adadelta(
    lr: float | Schedule = 1.0,
    rho: float = 0.9,
    eps: float = 1e-6,
    weight_decay: float = 0.0,
    *,
    weight_decay_mask: Mask = None,
    frozen: Mask = None,
) -> Rule:
    """Return the pure form of `Adadelta`: steps that need no learning rate.

    Parameters
    ----------
    lr : float or callable
        As for `sgd`.
    rho, eps, weight_decay, weight_decay_mask, frozen
        As for `Adadelta`.

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
    >>> rule = tape.optim.adadelta(lr=1.0)
    >>> params = np.array([4.0, -2.0])
    >>> state, params = rule.update(np.array([3.0, -0.5]), rule.init(params), params)
    >>> params.round(4)
    array([ 3.9968, -1.9968])
    """
    return AdadeltaRule(
        lr,
        weight_decay,
        rho,
        eps,
        weight_decay_mask=weight_decay_mask,
        frozen=frozen,
    )


class RMSprop(Optimizer):
    """RMSprop: steps divided by the root mean square of the gradient.

    For each parameter p with gradient g, average s and velocity v, which start at zero::

        g = g + weight_decay * p
        s = alpha * s + (1 - alpha) * g**2
        v = momentum * v + g / (sqrt(s) + eps)
        p = p - lr * v

    Parameters
    ----------
    params : tree of numpy.ndarray
        As for `SGD`.
    lr : float
        Learning rate, zero or positive: about the length of a step in each element. The attribute
        ``lr`` may be set between steps.
    alpha : float
        The factor of the average from step to step, at least 0 and below 1.
    eps : float
        Zero or positive; keeps elements without gradient from being divided by zero.
    weight_decay : float
        Zero or positive; the gradient of ``weight_decay / 2 * sum(p**2)`` is added.
    momentum : float
        The factor of the velocity from step to step, at least 0 and below 1.
    centered : bool
        Divide by the standard deviation: subtract the square of an average of the gradient from s.
    weight_decay_mask, frozen : tree of bool or callable, optional
        As for `SGD`.

    Raises
    ------
    TapeError
        As for `SGD`.

    Notes
    -----
    Tieleman and Hinton, "Lecture 6.5: RMSprop" (2012); centred as in Graves, "Generating sequences with
    recurrent neural networks" (2013). The form is that of `torch.optim.RMSprop`.

    Examples
    --------
    >>> import numpy as np, tape.optim
    >>> w = np.array([4.0, -2.0])
    >>> tape.optim.RMSprop([w], lr=0.1).step([np.array([3.0, -0.5])])
    >>> w.round(4)
    array([ 3., -1.])
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
        *,
        weight_decay_mask: Mask = None,
        frozen: Mask = None,
    ) -> None:
        super().__init__(
            params,
            rmsprop(
                lr,
                alpha,
                eps,
                weight_decay,
                momentum,
                centered,
                weight_decay_mask=weight_decay_mask,
                frozen=frozen,
            ),
        )


class Adagrad(Optimizer):
    """Adagrad: steps divided by the root of the sum of all squares so far.

    For each parameter p with gradient g and sum s, at step t = 1, 2, ...::

        g = g + weight_decay * p
        s = s + g**2
        p = p - lr / (1 + (t - 1) * lr_decay) * g / (sqrt(s) + eps)

    Parameters
    ----------
    params : tree of numpy.ndarray
        As for `SGD`.
    lr : float
        Learning rate, zero or positive: about the length of a step in each element. The attribute
        ``lr`` may be set between steps.
    lr_decay : float
        Zero or positive; how fast the learning rate falls.
    weight_decay : float
        Zero or positive; the gradient of ``weight_decay / 2 * sum(p**2)`` is added.
    initial_accumulator_value : float
        What each sum starts with; zero or positive.
    eps : float
        Zero or positive; keeps elements without gradient from being divided by zero.
    weight_decay_mask, frozen : tree of bool or callable, optional
        As for `SGD`.

    Raises
    ------
    TapeError
        As for `SGD`.

    Notes
    -----
    Duchi et al., "Adaptive subgradient methods" (2011), in the form of `torch.optim.Adagrad`.

    Examples
    --------
    >>> import numpy as np, tape.optim
    >>> w = np.array([4.0, -2.0])
    >>> tape.optim.Adagrad([w], lr=0.5).step([np.array([3.0, -0.5])])
    >>> w.round(4)
    array([ 3.5, -1.5])
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        lr_decay: float = 0.0,
        weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
        *,
        weight_decay_mask: Mask = None,
        frozen: Mask = None,
    ) -> None:
        super().__init__(
            params,
            adagrad(
                lr,
                lr_decay,
                weight_decay,
                initial_accumulator_value,
                eps,
                weight_decay_mask=weight_decay_mask,
                frozen=frozen,
            ),
        )


class Adadelta(Optimizer):
    """Adadelta: steps scaled by the root mean squares of steps and gradients.

    For each parameter p with gradient g and averages s and d, which start at zero::

        g = g + weight_decay * p
        s = rho * s + (1 - rho) * g**2
        move = sqrt(d + eps) / sqrt(s + eps) * g
        d = rho * d + (1 - rho) * move**2
        p = p - lr * move

    Parameters
    ----------
    params : tree of numpy.ndarray
        As for `SGD`.
    lr : float
        Learning rate, zero or positive: a factor of steps that find their own length. The attribute
        ``lr`` may be set between steps.
    rho : float
        The factor of the averages from step to step, at least 0 and below 1.
    eps : float
        Zero or positive; keeps elements without gradient from being divided by zero.
    weight_decay : float
        Zero or positive; the gradient of ``weight_decay / 2 * sum(p**2)`` is added.
    weight_decay_mask, frozen : tree of bool or callable, optional
        As for `SGD`.

    Raises
    ------
    TapeError
        As for `SGD`.

    Notes
    -----
    Algorithm 1 of Zeiler, "Adadelta: an adaptive learning rate method" (2012), in the form of
    `torch.optim.Adadelta`.

    Examples
    --------
    >>> import numpy as np, tape.optim
    >>> w = np.array([4.0, -2.0])
    >>> tape.optim.Adadelta([w], lr=1.0).step([np.array([3.0, -0.5])])
    >>> w.round(4)
    array([ 3.9968, -1.9968])
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        *,
        weight_decay_mask: Mask = None,
        frozen: Mask = None,
    ) -> None:
        super().__init__(
            params,
            adadelta(lr, rho, eps, weight_decay, weight_decay_mask=weight_decay_mask, frozen=frozen),
        )
