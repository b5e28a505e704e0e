"""Muon: matrices move along the nearest orthogonal matrix of their velocity; in place and pure.

`_direction` is written once. It computes by one of two arithmetics: `_Fresh` makes a new array of every
result, and takes Vars; `_Reused` writes every result where it wrote it at the last step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

import numpy as np

from tape import errors
from tape.kernels import formulas, update
from tape.optim import _checks
from tape.optim._adam import AdamWRule
from tape.optim._checks import Mask
from tape.optim._inplace import Optimizer
from tape.optim._rule import STATIC, Rule, Schedule

_ADJUSTMENTS = (None, "original", "match_rms_adamw")


class _Fresh:
    """Arithmetic on arrays and Vars, which writes to none."""

    def blend(self, name: str, a: Any, x: Any, b: Any, y: Any) -> Any:
        return a * x + b * y

    def product(self, name: str, x: Any, y: Any) -> Any:
        return x @ y

    def scaled(self, name: str, a: Any, x: Any) -> Any:
        return a * x

    def square_sum(self, x: Any) -> Any:
        return np.sum(x * x)


class _Reused:
    """The same arithmetic on arrays of one dtype; each result has a name, and memory of its own."""

    def __init__(self, dtype: np.dtype) -> None:
        self._dtype = dtype
        self._arrays: dict[Any, np.ndarray] = {}

    def blend(self, name: str, a: Any, x: np.ndarray, b: Any, y: np.ndarray) -> np.ndarray:
        out, rest = self._array(name, x.shape), self._array("rest", x.shape)
        np.multiply(b, y, out=rest)
        np.multiply(a, x, out=out)
        return np.add(out, rest, out=out)

    def product(self, name: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.matmul(x, y, out=self._array(name, (x.shape[0], y.shape[1])))

    def scaled(self, name: str, a: Any, x: np.ndarray) -> np.ndarray:
        return np.multiply(a, x, out=self._array(name, x.shape))

    def square_sum(self, x: np.ndarray) -> Any:
        return np.dot(x.reshape(-1), x.reshape(-1))

    def _array(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        if (name, shape) not in self._arrays:
            self._arrays[name, shape] = np.empty(shape, self._dtype)
        return self._arrays[name, shape]


def _direction(
    rule: MuonRule, arithmetic: Any, g: Any, velocity: Any, momentum: Any, gain: Any
) -> tuple[Any, Any]:
    """Return the direction of a step of unit rate, and the velocity."""
    on = arithmetic
    velocity = on.blend("velocity", momentum, velocity, gain, g)
    ahead = on.blend("ahead", momentum, velocity, gain, g) if rule.nesterov else velocity
    rows, columns = g.shape
    # Newton-Schulz iterations on the Gram matrix: take the smaller of the two
    x = ahead.T if rows > columns else ahead
    x = on.scaled("x", 1 / np.maximum(np.sqrt(on.square_sum(ahead)), rule.eps), x)
    a, b, c = rule.ns_coefficients
    for _ in range(rule.ns_steps):
        gram = on.product("gram", x, x.T)
        polynomial = on.blend("polynomial", b, gram, c, on.product("square", gram, gram))
        x = on.blend("x", a, x, 1.0, on.product("moved", polynomial, x))
    factor = 0.2 * sqrt(max(rows, columns)) if rule.adjust_lr_fn == "match_rms_adamw" else 1.0
    if rule.adjust_lr_fn in (None, "original") and columns:
        factor = sqrt(max(1.0, rows / columns))
    return on.scaled("direction", factor, x.T if rows > columns else x), velocity


@dataclass(frozen=True)
class MuonRule(Rule):
    """The rule of `Muon`: its own for matrices, `AdamWRule` for all else."""

    momentum: float = field(default=0.95, metadata=STATIC)
    nesterov: bool = field(default=True, metadata=STATIC)
    ns_coefficients: tuple[float, float, float] = field(default=(3.4445, -4.775, 2.0315), metadata=STATIC)
    eps: float = field(default=1e-7, metadata=STATIC)
    ns_steps: int = field(default=5, metadata=STATIC)
    adjust_lr_fn: str | None = field(default=None, metadata=STATIC)
    adamw_betas: tuple[float, float] = field(default=(0.9, 0.999), metadata=STATIC)
    adamw_eps: float = field(default=1e-8, metadata=STATIC)
    others: Rule = field(init=False, repr=False, compare=False, metadata=STATIC)

    def _check(self) -> None:
        numbers = self.ns_coefficients
        if not isinstance(numbers, (tuple, list)) or len(numbers) != 3:
            raise errors.OptionError(f"ns_coefficients must be three numbers, not {errors.describe(numbers)}")
        self._set(
            momentum=_checks.setting("momentum", self.momentum, below=1.0),
            nesterov=bool(self.nesterov),
            ns_coefficients=tuple(
                [_checks.coefficient(f"ns_coefficients[{k}]", number) for k, number in enumerate(numbers)]
            ),
            eps=_checks.setting("eps", self.eps),
            ns_steps=_checks.count("ns_steps", self.ns_steps),
            adjust_lr_fn=_checks.choice("adjust_lr_fn", self.adjust_lr_fn, _ADJUSTMENTS),
        )
        betas = _checks.pair("adamw_betas", self.adamw_betas)
        eps = _checks.setting("adamw_eps", self.adamw_eps)
        self._set(adamw_betas=betas, adamw_eps=eps)
        self._set(others=AdamWRule(self.lr, self.weight_decay, betas, eps))

    @property
    def slots(self) -> tuple[str, ...]:
        return ("velocity",)

    @property
    def formula(self) -> Callable[..., Any]:
        return formulas.descent  # along the direction

    def part(self, shape: tuple[int, ...]) -> Rule:
        return self if len(shape) == 2 else self.others

    def numbers(self, lr: Any, step: Any, scalars: Mapping[str, Any], decay: float) -> tuple[Any, ...]:
        return self.momentum, 1 - self.momentum, lr, decay

    def moved(self, p: Any, g: Any, state: list[Any], numbers: tuple[Any, ...]) -> tuple[Any, ...]:
        momentum, gain, *others = numbers
        direction, velocity = _direction(self, _Fresh(), g, state[0], momentum, gain)
        return *self.formula(p, direction, tuple(others)), velocity


def muon(
    lr: float | Schedule = 1e-3,
    weight_decay: float = 0.1,
    momentum: float = 0.95,
    nesterov: bool = True,
    ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
    eps: float = 1e-7,
    ns_steps: int = 5,
    adjust_lr_fn: str | None = None,
    *,
    adamw_betas: tuple[float, float] = (0.9, 0.999),
    adamw_eps: float = 1e-8,
    weight_decay_mask: Mask = None,
    frozen: Mask = None,
) -> Rule:
    """Return the pure form of `Muon`: matrices move along orthogonal matrices.

    Parameters
    ----------
    lr : float or callable
        As for `sgd`.
    weight_decay, momentum, nesterov, ns_coefficients, eps, ns_steps, adjust_lr_fn
        As for `Muon`.
    adamw_betas, adamw_eps, weight_decay_mask, frozen
        As for `Muon`.

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
    >>> rule = tape.optim.muon(lr=0.1, weight_decay=0.0)
    >>> params = np.eye(2)
    >>> state, params = rule.update(np.diag([4.0, 1.0]), rule.init(params), params)
    >>> params.round(2)
    array([[0.93, 0.  ],
           [0.  , 0.93]])
    """
    return MuonRule(
        lr,
        weight_decay,
        momentum,
        nesterov,
        ns_coefficients,
        eps,
        ns_steps,
        adjust_lr_fn,
        adamw_betas,
        adamw_eps,
        weight_decay_mask=weight_decay_mask,
        frozen=frozen,
    )


class Muon(Optimizer):
    """Muon: matrices move along the nearest orthogonal matrix of their velocity, all else as in `AdamW`.

    For each matrix p with gradient g and velocity v, which starts at zero::

        v = momentum * v + (1 - momentum) * g
        x = momentum * v + (1 - momentum) * g    (without nesterov: x = v)
        x = x / max(norm(x), eps)
        x = a * x + (b * (x @ x.T) + c * (x @ x.T) @ (x @ x.T)) @ x     (ns_steps times)
        p = (1 - lr * weight_decay) * p - lr * factor * x

    Parameters
    ----------
    params : tree of numpy.ndarray
        As for `SGD`. Arrays that do not have two axes move as in `AdamW`, with the same learning rate and
        weight decay. Embeddings and output layers are matrices too, and should have an `AdamW` of
        their own, as the authors advise.
    lr : float
        Learning rate, zero or positive. The attribute ``lr`` may be set between steps.
    weight_decay : float
        Zero or positive; decoupled, as in `AdamW`.
    momentum : float
        The factor of the velocity from step to step, at least 0 and below 1.
    nesterov : bool
        Look one step ahead along the velocity.
    ns_coefficients : three of float
        a, b and c of the iterations, which draw every singular value near one.
    eps : float
        Zero or positive; keeps a gradient of zero from being divided by zero.
    ns_steps : int
        How many iterations, at least one.
    adjust_lr_fn : str, optional
        The factor: ``"original"``, which is the default, is ``sqrt(max(1, rows / columns))``;
        ``"match_rms_adamw"`` is ``0.2 * sqrt(max(rows, columns))``, with which learning rates of AdamW fit.
    adamw_betas : pair of float
        ``betas`` of what moves as in `AdamW`.
    adamw_eps : float
        ``eps`` of what moves as in `AdamW`.
    weight_decay_mask, frozen : tree of bool or callable, optional
        As for `SGD`.

    Raises
    ------
    TapeError
        As for `SGD`.

    Notes
    -----
    Jordan et al., "Muon: an optimizer for hidden layers in neural networks" (2024), in the form of
    `torch.optim.Muon`, which takes matrices alone, and iterates in bfloat16: results differ by its rounding.
    This one computes in the precision of the parameter, in float32 at least.

    Examples
    --------
    >>> import numpy as np, tape.optim
    >>> w = np.eye(2)
    >>> tape.optim.Muon([w], lr=0.1, weight_decay=0.0).step([np.diag([4.0, 1.0])])
    >>> w.round(2)
    array([[0.93, 0.  ],
           [0.  , 0.93]])
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
        *,
        adamw_betas: tuple[float, float] = (0.9, 0.999),
        adamw_eps: float = 1e-8,
        weight_decay_mask: Mask = None,
        frozen: Mask = None,
    ) -> None:
        self._arithmetics: dict[np.dtype, _Reused] = {}
        super().__init__(
            params,
            muon(
                lr,
                weight_decay,
                momentum,
                nesterov,
                ns_coefficients,
                eps,
                ns_steps,
                adjust_lr_fn,
                adamw_betas=adamw_betas,
                adamw_eps=adamw_eps,
                weight_decay_mask=weight_decay_mask,
                frozen=frozen,
            ),
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle, without the memory of intermediate results."""
        return super().__getstate__() | {"_arithmetics": {}}

    def _apply(
        self,
        part: Rule,
        compiled: Any,
        array: np.ndarray,
        gradient: np.ndarray,
        slots: list[np.ndarray],
        numbers: tuple[Any, ...],
        shape: tuple[int, ...],
    ) -> None:
        if not isinstance(part, MuonRule):
            super()._apply(part, compiled, array, gradient, slots, numbers, shape)
            return
        dtype = slots[0].dtype
        arithmetic = self._arithmetics.setdefault(dtype, _Reused(dtype))
        momentum, gain, *others = numbers
        held = slots[0].reshape(shape)
        direction, velocity = _direction(part, arithmetic, gradient.reshape(shape), held, momentum, gain)
        held[...] = velocity
        orthogonal = update.loop(part.formula, array, 0)
        update.step(part.formula, orthogonal, array, direction.reshape(array.shape), [], tuple(others))
