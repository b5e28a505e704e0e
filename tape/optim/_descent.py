"""Descent along the gradient, along a velocity, and along signs: `SGD` and `Lion`, in place and pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tape import errors
from tape.kernels import formulas
from tape.optim import _checks
from tape.optim._checks import Mask
from tape.optim._inplace import Optimizer
from tape.optim._rule import STATIC, Rule, Schedule


@dataclass(frozen=True)
class SGDRule(Rule):
    """The rule of `SGD`."""

    momentum: float = field(default=0.0, metadata=STATIC)
    nesterov: bool = field(default=False, metadata=STATIC)

    def _check(self) -> None:
        self._set(
            momentum=_checks.setting("momentum", self.momentum, below=1.0), nesterov=bool(self.nesterov)
        )
        if self.nesterov and not self.momentum:
            raise errors.OptionError("nesterov needs a positive momentum")

    @property
    def slots(self) -> tuple[str, ...]:
        return ("velocity",) if self.momentum else ()

    @property
    def formula(self) -> Callable[..., Any]:
        if not self.momentum:
            return formulas.descent
        return formulas.nesterov_descent if self.nesterov else formulas.momentum_descent

    def numbers(self, lr: Any, step: Any, scalars: Mapping[str, Any], decay: float) -> tuple[Any, ...]:
        return (lr, self.momentum, decay) if self.momentum else (lr, decay)


@dataclass(frozen=True)
class LionRule(Rule):
    """The rule of `Lion`."""

    betas: tuple[float, float] = field(default=(0.9, 0.99), metadata=STATIC)

    def _check(self) -> None:
        self._set(betas=_checks.pair("betas", self.betas))

    @property
    def slots(self) -> tuple[str, ...]:
        return ("mean",)

    @property
    def formula(self) -> Callable[..., Any]:
        return formulas.lion

    def numbers(self, lr: Any, step: Any, scalars: Mapping[str, Any], decay: float) -> tuple[Any, ...]:
        beta1, beta2 = self.betas
        return lr, beta1, 1 - beta1, beta2, 1 - beta2, 1 - lr * decay


def sgd(
    lr: float | Schedule,
    momentum: float = 0.0,
    weight_decay: float = 0.0,
    nesterov: bool = False,
    *,
    weight_decay_mask: Mask = None,
    frozen: Mask = None,
) -> Rule:
    """Return the pure form of `SGD`: stochastic gradient descent, with optional momentum.

    Parameters
    ----------
    lr : float or callable
        What the learning rate starts at, in the state; or a function of the number of steps taken so far,
        such as those of `tape.optim.schedules`.
    momentum, weight_decay, nesterov, weight_decay_mask, frozen
        As for `SGD`.

    Returns
    -------
    Rule
        With ``init(params)`` and ``update(grads, state, params)``.

    Raises
    ------
    OptionError
        If a setting is out of range.
    ConversionError
        If a setting is a Var.

    Examples
    --------
    >>> import numpy as np, tape
    >>> rule = tape.optim.sgd(lr=0.1, momentum=0.5)
    >>> @tape.compile
    ... def train(params, state):
    ...     grads = tape.grad(lambda w: np.sum((w - 1) ** 2))(params)
    ...     return rule.update(grads, state, params)
    >>> params = np.array([4.0, -2.0])
    >>> state = rule.init(params)
    >>> for _ in range(100):
    ...     state, params = train(params, state)
    >>> params
    array([1., 1.])
    """
    return SGDRule(lr, weight_decay, momentum, nesterov, weight_decay_mask=weight_decay_mask, frozen=frozen)


def lion(
    lr: float | Schedule = 1e-4,
    betas: tuple[float, float] = (0.9, 0.99),
    weight_decay: float = 0.0,
    *,
    weight_decay_mask: Mask = None,
    frozen: Mask = None,
) -> Rule:
    """Return the pure form of `Lion`: steps by the sign of an average.

    Parameters
    ----------
    lr : float or callable
        As for `sgd`.
    betas, weight_decay, weight_decay_mask, frozen
        As for `Lion`.

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
    >>> rule = tape.optim.lion(lr=0.5)
    >>> params = np.array([4.0, -2.0])
    >>> state, params = rule.update(np.array([3.0, -0.1]), rule.init(params), params)
    >>> params
    array([ 3.5, -1.5])
    """
    return LionRule(lr, weight_decay, betas, weight_decay_mask=weight_decay_mask, frozen=frozen)


class SGD(Optimizer):
    """Stochastic gradient descent, with optional momentum.

    For each parameter p with gradient g and velocity v, which starts at zero::

        g = g + weight_decay * p
        v = momentum * v + g
        p = p - lr * v                    (Nesterov: lr * (g + momentum * v))

    Parameters
    ----------
    params : tree of numpy.ndarray
        Floats of any shapes, in nested lists, tuples, dicts and dataclasses. Held by reference
        and written to; no two may share memory.
    lr : float
        Learning rate, zero or positive. The attribute ``lr`` may be set between steps.
    momentum : float
        The factor of the velocity from step to step, at least 0 and below 1.
    weight_decay : float
        Zero or positive; the gradient of ``weight_decay / 2 * sum(p**2)`` is added.
    nesterov : bool
        Look one step ahead along the velocity.
    weight_decay_mask : tree of bool or callable, optional
        Which parameters decay; by default all. A tree has the structure of the parameters, or that of its
        upper part; a function takes the name of a leaf, such as ``"params['layers'][0]"``.
    frozen : tree of bool or callable, optional
        Which leaves stay as they are; by default none. They get no state, and may be anything.

    Raises
    ------
    OptionError
        If a setting is out of range.
    TapeError
        If there is no parameter, or two share memory.
    DTypeError
        If a parameter is not an array of floats.
    InPlaceError
        If a parameter is read-only.
    ConversionError
        If a parameter or setting is a Var.

    Notes
    -----
    Momentum as in Sutskever et al., "On the importance of initialization and momentum in deep
    learning" (2013), in the form of `torch.optim.SGD`: the learning rate is not part of the
    velocity, so that a change takes effect at once. float16 parameters have a float32 velocity.

    Examples
    --------
    >>> import numpy as np, tape, tape.optim
    >>> w = np.array([4.0, -2.0])
    >>> optimizer = tape.optim.SGD([w], lr=0.1, momentum=0.5)
    >>> for _ in range(100):
    ...     trace = tape.Trace()
    ...     loss = ((trace.param(w) - 1) ** 2).sum()
    ...     optimizer.step(trace.backward_param_grads(loss))
    >>> w
    array([1., 1.])
    """

    def __init__(
        self,
        params: Any,
        lr: float,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        weight_decay_mask: Mask = None,
        frozen: Mask = None,
    ) -> None:
        super().__init__(
            params,
            sgd(lr, momentum, weight_decay, nesterov, weight_decay_mask=weight_decay_mask, frozen=frozen),
        )


class Lion(Optimizer):
    """Lion: steps of one length, by the sign of an average of the gradient.

    For each parameter p with gradient g and average m, which starts at zero::

        p = (1 - lr * weight_decay) * p - lr * sign(beta1 * m + (1 - beta1) * g)
        m = beta2 * m + (1 - beta2) * g

    Parameters
    ----------
    params : tree of numpy.ndarray
        As for `SGD`.
    lr : float
        Learning rate, zero or positive: the length of a step in each element; a third to a tenth of Adam's.
    betas : pair of float
        The weights of the average in the step, and from step to step; each at least 0 and below 1.
    weight_decay : float
        Zero or positive; decoupled, as in `AdamW`: three to ten times that of Adam.
    weight_decay_mask, frozen : tree of bool or callable, optional
        As for `SGD`.

    Raises
    ------
    TapeError
        As for `SGD`.

    Notes
    -----
    Algorithm 2 of Chen et al., "Symbolic discovery of optimization algorithms" (2023).

    Examples
    --------
    >>> import numpy as np, tape.optim
    >>> w = np.array([4.0, -2.0])
    >>> tape.optim.Lion([w], lr=0.5).step([np.array([3.0, -0.1])])
    >>> w
    array([ 3.5, -1.5])
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-4,
        betas: tuple[float, float] = (0.9, 0.99),
        weight_decay: float = 0.0,
        *,
        weight_decay_mask: Mask = None,
        frozen: Mask = None,
    ) -> None:
        super().__init__(
            params, lion(lr, betas, weight_decay, weight_decay_mask=weight_decay_mask, frozen=frozen)
        )
