"""`lbfgs`: the pure form of `LBFGS`, one iteration a step, with a history of fixed shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tape import errors, tree
from tape.kernels.update import working_dtype
from tape.optim import _checks
from tape.optim._checks import Mask
from tape.optim._lbfgs import LEAST_CURVATURE
from tape.optim._rule import STATIC, Rule, Schedule, State, as_dtype, check_slot
from tape.transforms import scan
from tape.transforms._record import copied

_LAST = ("gradient", "change")
_HISTORY = ("turns", "changes")


@dataclass(frozen=True)
class LBFGSRule(Rule):
    """The rule of `lbfgs`. Its steps look at all parameters together, so that it is no formula of a leaf."""

    history_size: int = field(default=10, metadata=STATIC)

    def _check(self) -> None:
        self._set(history_size=_checks.count("history_size", self.history_size))

    @property
    def slots(self) -> tuple[str, ...]:
        return (*_LAST, *_HISTORY)

    @property
    def formula(self) -> Callable[..., Any]:
        raise errors.UnsupportedError(f"{self} has no formula for one parameter: its steps look at all")

    def numbers(self, lr: Any, step: Any, scalars: Mapping[str, Any], decay: float) -> tuple[Any, ...]:
        return (lr,)

    def init(self, params: Any) -> State:
        """Return the state before the first step; see `Rule.init`.

        Each remembered step takes twice the memory of the parameters, from the beginning.
        """
        structure, leaves, _, trainable, _ = self.read(params)
        return State(
            np.int64(0),
            None if callable(self.lr) else np.float64(self.lr),
            {"scale": np.float64(1.0), "rates": np.zeros(self.history_size)},
            {
                name: tree.unflatten(
                    structure,
                    [
                        np.zeros(self._shape(name, leaf), working_dtype(leaf.dtype)) if is_trained else None
                        for leaf, is_trained in zip(leaves, trainable, strict=True)
                    ],
                )
                for name in self.slots
            },
        )

    def update(self, grads: Any, state: State, params: Any) -> tuple[State, Any]:
        """Return the state and the parameters after a step; see `Rule.update`."""
        structure, leaves, names, trainable, _ = self.read(params)
        gradients = self.matched(grads, structure, leaves, trainable)
        trained = [i for i, one in enumerate(trainable) if one]
        slots = self._own_slots(state, structure, leaves, names, trained)
        gradient = [copied(as_dtype(gradients[i], working_dtype(leaves[i].dtype))) for i in trained]
        history, rates, scale = self._learned(gradient, slots, state.scalars)
        direction = _direction(gradient, history, rates, scale)
        lr = self.lr(state.step) if callable(self.lr) else state.lr
        # As in PyTorch, the first step, of which no scale is known, has a length of lr at most
        total = sum([np.sum(np.abs(g), dtype=np.float64) for g in gradient])
        length = lr * np.where(state.step == 0, 1.0 / np.maximum(total, 1.0), 1.0)
        change = [as_dtype(length, d.dtype) * d for d in direction]
        moved = list(leaves)
        for i, c in zip(trained, change, strict=True):
            moved[i] = as_dtype(as_dtype(leaves[i], c.dtype) + c, leaves[i].dtype)
        kept: dict[str, list[Any]] = {name: [None] * len(leaves) for name in self.slots}
        for name, arrays in zip(self.slots, (gradient, change, *history), strict=True):
            for i, array in zip(trained, arrays, strict=True):
                kept[name][i] = array
        after = {name: tree.unflatten(structure, arrays) for name, arrays in kept.items()}
        scalars = {"scale": scale, "rates": rates}
        return State(state.step + 1, state.lr, scalars, after), tree.unflatten(structure, moved)

    def _shape(self, name: str, leaf: Any) -> tuple[int, ...]:
        return (self.history_size, *leaf.shape) if name in _HISTORY else leaf.shape

    def _own_slots(
        self,
        state: Any,
        structure: Any,
        leaves: list[Any],
        names: Callable[[], list[str]],
        trained: list[int],
    ) -> dict[str, list[Any]]:
        """Return the arrays of the state that go with trained parameters, checked."""
        slots = self._slots_of(state, structure)
        if slots.keys() != set(self.slots) or np.shape(state.scalars.get("rates")) != (self.history_size,):
            raise errors.OptionError(
                f"the state is none of {self}, or of another history_size. Pass what init or update returned"
            )
        for name, arrays in slots.items():
            for i in trained:
                dtype, shape = working_dtype(leaves[i].dtype), self._shape(name, leaves[i])
                check_slot(arrays[i], name, shape, dtype, lambda i=i: f"that of {names()[i]}")  # type: ignore[misc]
        return {name: [arrays[i] for i in trained] for name, arrays in slots.items()}

    def _learned(
        self, gradient: list[Any], slots: dict[str, list[Any]], scalars: Mapping[str, Any]
    ) -> tuple[list[list[Any]], Any, Any]:
        """Return turns and changes, rates and scale, with those of the last step if it is learned from."""
        change = slots["change"]
        turn = [g - last for g, last in zip(gradient, slots["gradient"], strict=True)]
        curvature = _inner(turn, change)
        is_learned = curvature > LEAST_CURVATURE
        curvature = np.where(is_learned, curvature, 1.0)  # whatever else would be divided by zero

        def followed(history: Any, last: Any) -> Any:
            return np.where(is_learned, np.concatenate([history[1:], last[None]]), history)

        turns, changes = (
            [followed(*pair) for pair in zip(slots[name], last, strict=True)]
            for name, last in zip(_HISTORY, (turn, change), strict=True)
        )
        square = np.where(is_learned, _inner(turn, turn), 1.0)
        scale = np.where(is_learned, curvature / square, scalars["scale"])
        return [turns, changes], followed(scalars["rates"], 1.0 / curvature), scale


def _inner(x: list[Any], y: list[Any]) -> Any:
    """Return the inner product of two lists of arrays, in float64."""
    return sum([np.sum(a * b, dtype=np.float64) for a, b in zip(x, y, strict=True)], np.float64(0.0))


def _plus(x: list[Any], factor: Any, y: list[Any]) -> list[Any]:
    return [a + as_dtype(factor, a.dtype) * b for a, b in zip(x, y, strict=True)]


def _direction(gradient: list[Any], history: list[list[Any]], rates: Any, scale: Any) -> list[Any]:
    """Return the gradient times the inverse Hessian, downwards: algorithm 7.4 of Nocedal and Wright (2006).

    Steps that are not there yet have a rate of zero, and change nothing.
    """

    def back(direction: Any, step: Any) -> tuple[Any, Any]:
        turns, changes, rate = step
        share = rate * _inner(changes, direction)
        return _plus(direction, -share, turns), share

    def forth(direction: Any, step: Any) -> tuple[Any, None]:
        turns, changes, rate, share = step
        return _plus(direction, share - rate * _inner(turns, direction), changes), None

    direction, shares = scan(back, [-g for g in gradient], (*history, rates), reverse=True)
    direction = [as_dtype(scale, d.dtype) * d for d in direction]
    return scan(forth, direction, (*history, rates, shares))[0]


def lbfgs(
    lr: float | Schedule = 1.0,
    history_size: int = 10,
    *,
    frozen: Mask = None,
) -> Rule:
    """Return the pure form of `LBFGS`, without line search: one iteration a step.

    Parameters
    ----------
    lr : float or callable
        As for `sgd`: the length of a step along the direction. The first step is shorter: its elements add
        up to ``lr`` at most.
    history_size : int
        How many steps are remembered; the state holds twice the memory of the parameters for each of them.
    frozen : tree of bool or callable, optional
        As for `SGD`.

    Returns
    -------
    Rule
        With ``init(params)`` and ``update(grads, state, params)``. Gradients are those of all data: those of
        batches differ by more than the parameters' changes make them.

    Raises
    ------
    OptionError
        If a setting is out of range.

    Notes
    -----
    Liu and Nocedal, "On the limited memory BFGS method for large scale optimization" (1989). Its steps are
    those of `torch.optim.LBFGS` with ``max_iter=1``. A step whose curvature is not positive is not learned
    from.

    Examples
    --------
    >>> import numpy as np, tape
    >>> rule = tape.optim.lbfgs(lr=1.0)
    >>> @tape.compile
    ... def step(state, w):
    ...     gradient = tape.grad(lambda w: np.sum(np.array([1.0, 9.0]) * (w - 1) ** 2))(w)
    ...     return rule.update(gradient, state, w)
    >>> w = np.zeros(2)
    >>> state = rule.init(w)
    >>> for _ in range(15):
    ...     state, w = step(state, w)
    >>> w.round(6)
    array([1., 1.])
    """
    return LBFGSRule(lr, history_size=history_size, frozen=frozen)
