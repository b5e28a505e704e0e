"""Gradients of several batches in one step: `Accumulated` in place, `accumulated` pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tape import errors, tree
from tape.kernels.update import working_dtype
from tape.optim import _checks
from tape.optim._inplace import Optimizer
from tape.optim._rule import STATIC, Rule, State
from tape.transforms import cond


@dataclass(frozen=True)
class AccumulationState:
    """The state of `accumulated`: a tree of arrays.

    Attributes
    ----------
    count : numpy.int64
        How many gradients have been added since the last step.
    sums : tree
        Their sum, in float32 at least, in the structure of the gradients; None in place of frozen parameters.
    inner : State
        That of the rule.
    """

    count: Any
    sums: Any
    inner: State


@dataclass(frozen=True)
class AccumulationRule:
    """A rule that steps once for so many gradients, by their mean; made by `accumulated`."""

    rule: Rule = field(metadata=STATIC)
    every: int = field(metadata=STATIC)

    def init(self, params: Any) -> AccumulationState:
        """Return the state before the first step.

        Parameters
        ----------
        params : tree of numpy.ndarray
            As for `Rule.init`.

        Returns
        -------
        AccumulationState

        Raises
        ------
        TapeError
            As `Rule.init` does.

        Examples
        --------
        >>> import numpy as np, tape
        >>> rule = tape.optim.accumulated(tape.optim.sgd(lr=0.1), every=4)
        >>> rule.init(np.ones(2)).sums
        array([0., 0.])
        """
        inner = self.rule.init(params)
        structure, leaves, _, trained, _ = self.rule.read(params)
        return AccumulationState(np.int64(0), tree.unflatten(structure, _zeros(leaves, trained)), inner)

    def update(self, grads: Any, state: AccumulationState, params: Any) -> tuple[AccumulationState, Any]:
        """Return the state and the parameters after another gradient.

        Parameters
        ----------
        grads, params : tree of numpy.ndarray or Var
            As for `Rule.update`.
        state : AccumulationState
            From `init` or the last update.

        Returns
        -------
        state : AccumulationState
        params : tree
            What they were, but for every so many calls.

        Raises
        ------
        TapeError
            As `Rule.update` does.

        Examples
        --------
        >>> import numpy as np, tape
        >>> rule = tape.optim.accumulated(tape.optim.sgd(lr=1.0), every=2)
        >>> params = np.zeros(1)
        >>> state = rule.init(params)
        >>> for gradient in (1.0, 3.0, 5.0):
        ...     state, params = rule.update(np.array([gradient]), state, params)
        >>> params
        array([-2.])
        """
        structure, leaves, _, trained, _ = self.rule.read(params)
        gradients = self.rule.matched(grads, structure, leaves, trained)
        if not isinstance(state, AccumulationState):
            raise errors.OptionError(
                f"the state is {errors.describe(state)}, not one of accumulated. Pass what init or "
                "update returned"
            )
        sums = _checks.leaves_like(
            state.sums, structure, [not one for one in trained], "the sums of the state"
        )
        count = state.count + 1
        sums = [
            total + gradient.astype(working_dtype(gradient.dtype)) if one else None
            for total, gradient, one in zip(sums, gradients, trained, strict=True)
        ]

        def stepped() -> tuple[AccumulationState, Any]:
            means = [
                (total / self.every).astype(leaf.dtype) if one else None
                for total, leaf, one in zip(sums, leaves, trained, strict=True)
            ]
            inner, moved = self.rule.update(tree.unflatten(structure, means), state.inner, params)
            zeros = tree.unflatten(structure, _zeros(leaves, trained))
            return AccumulationState(0 * count, zeros, inner), moved

        def waiting() -> tuple[AccumulationState, Any]:
            return AccumulationState(count, tree.unflatten(structure, sums), state.inner), params

        return cond(count >= self.every, stepped, waiting)


def _zeros(leaves: list[Any], trained: list[bool]) -> list[Any]:
    return [
        np.zeros(leaf.shape, working_dtype(leaf.dtype)) if one else None
        for leaf, one in zip(leaves, trained, strict=True)
    ]


def accumulated(rule: Rule, every: int) -> AccumulationRule:
    """Return a rule that steps once for so many gradients, by their mean.

    Parameters
    ----------
    rule : Rule
        What steps.
    every : int
        How many gradients make a step.

    Returns
    -------
    AccumulationRule
        With ``init(params)`` and ``update(grads, state, params)``. In a compiled function the step is a
        path of its own: other calls only add.

    Raises
    ------
    OptionError
        If ``every`` is no positive int, or there is no rule.

    Examples
    --------
    >>> import numpy as np, tape
    >>> rule = tape.optim.accumulated(tape.optim.adam(), every=8)
    >>> state = rule.init({"w": np.ones(3)})
    """
    if not isinstance(rule, Rule):
        raise errors.OptionError(
            f"rule is {errors.describe(rule)}. Pass one such as tape.optim.adam(); for an optimizer in "
            "place there is tape.optim.Accumulated"
        )
    return AccumulationRule(rule, _checks.count("every", every))


class Accumulated:
    """An optimizer in place that steps once for so many gradients, by their mean.

    Parameters
    ----------
    optimizer : Optimizer
        What steps: `Adam`, say.
    every : int
        How many gradients make a step.

    Raises
    ------
    OptionError
        If ``every`` is no positive int, or there is no optimizer.

    Examples
    --------
    >>> import numpy as np, tape.optim
    >>> w = np.zeros(1)
    >>> optimizer = tape.optim.Accumulated(tape.optim.SGD([w], lr=1.0), every=2)
    >>> [optimizer.step([np.array([gradient])]) for gradient in (1.0, 3.0, 5.0)]
    [False, True, False]
    >>> w
    array([-2.])
    """

    def __init__(self, optimizer: Optimizer, every: int) -> None:
        if not isinstance(optimizer, Optimizer):
            raise errors.OptionError(
                f"optimizer is {errors.describe(optimizer)}. Pass one such as tape.optim.Adam(params)"
            )
        self._optimizer = optimizer
        self._every = _checks.count("every", every)
        self._count = 0
        self._sums = optimizer.zeros()

    def __repr__(self) -> str:
        return f"Accumulated({self._optimizer!r}, every={self._every})"

    @property
    def optimizer(self) -> Optimizer:
        """What steps; its ``lr`` may be set."""
        return self._optimizer

    def step(self, grads: Any) -> bool:
        """Add gradients, and step if they are the last of so many; after an error nothing has changed.

        Parameters
        ----------
        grads : tree of numpy.ndarray
            As for the optimizer.

        Returns
        -------
        bool
            Whether the parameters have changed.

        Raises
        ------
        TapeError
            As the optimizer does.

        Examples
        --------
        >>> import numpy as np, tape.optim
        >>> tape.optim.Accumulated(tape.optim.SGD([np.zeros(1)], lr=1.0), every=2).step([np.ones(1)])
        False
        """
        return self._add(self._optimizer.matched(grads))

    def state_dict(self) -> dict[str, Any]:
        """Return all that steps change but the parameters: the optimizer's state, and the sums so far."""
        sums = [[] if total is None else [total] for total in self._sums]
        return {"optimizer": self._optimizer.state_dict(), "count": self._count, "sums": sums}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over a state, as `Optimizer.load_state_dict` does.

        Raises
        ------
        ShapeError
            If it belongs to other parameters or another kind of optimizer; nothing has changed then.
        """
        _checks.check_state("Accumulated", state, self.state_dict())
        self._optimizer.load_state_dict(state["optimizer"])
        self._count = int(state["count"])
        for total, saved in zip(self._sums, state["sums"], strict=True):
            if total is not None:
                total[...] = saved[0]

    def _add(self, gradients: list[np.ndarray | None]) -> bool:
        for total, gradient in zip(self._sums, gradients, strict=True):
            if total is not None and gradient is not None:
                np.add(total, gradient, out=total)
        self._count += 1
        if self._count < self._every:
            return False
        for total in self._sums:
            if total is not None:
                np.divide(total, self._every, out=total)
        self._optimizer.update(self._sums)
        for total in self._sums:
            if total is not None:
                total.fill(0)
        self._count = 0
        return True
