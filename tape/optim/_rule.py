"""`Rule`: an optimizer as two pure functions, ``init`` and ``update``, and the tree that its state is.

A rule says which formula of `tape.kernels.formulas` moves a leaf, which arrays go with it, and what its
numbers are at a step. Both forms of an optimizer read it: the pure one here, that in place in
`tape.optim._inplace`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar

import numpy as np

from tape import errors, tree
from tape.core.node import Handle
from tape.kernels.update import working_dtype
from tape.optim import _checks
from tape.optim._checks import Mask

Schedule = Callable[[Any], Any]
"""A function of the number of steps taken so far, which returns the learning rate of the next one."""

STATIC = {"static": True}
"""Metadata of the fields of rules, which as arguments of compiled functions are structure without leaves."""


@dataclass(frozen=True)
class State:
    """The state of a `Rule`: a tree of arrays, to be saved, donated and passed through programs.

    Attributes
    ----------
    step : numpy.int64
        How many steps have been taken.
    lr : numpy.float64 or None
        The learning rate; None if the rule has a schedule.
    scalars : dict of str to numpy.float64 or numpy.ndarray
        Numbers that go on from step to step.
    slots : dict of str to tree
        For each array that goes with a parameter, such as Adam's ``"mean"``, a tree like that of the
        parameters; None in place of those that are frozen or do not have it.
    """

    step: Any
    lr: Any
    scalars: dict[str, Any]
    slots: dict[str, Any]

    def with_lr(self, lr: Any) -> State:
        """Return the state with another learning rate, which the next update takes.

        Parameters
        ----------
        lr : float
            Zero or positive, or a Var.

        Returns
        -------
        State

        Raises
        ------
        OptionError
            If it is out of range, or the rule has a schedule.

        Examples
        --------
        >>> import tape
        >>> state = tape.optim.sgd(lr=0.1).init(1.0)
        >>> float(state.with_lr(0.05).lr)
        0.05
        """
        if self.lr is None:
            raise errors.OptionError("the rule of this state has a schedule, which sets the learning rate")
        if not isinstance(lr, Handle):
            lr = np.float64(_checks.setting("lr", lr))
        return replace(self, lr=lr)


@dataclass(frozen=True)
class Rule:
    """An optimizer as two pure functions.

    ``state = init(params)``, and ``state, params = update(grads, state, params)`` for each step. Functions
    such as `tape.optim.adam` make a rule. Nothing is written to: both functions compute on arrays and
    on Vars, inside compiled functions, transforms and loops.
    """

    lr: float | Schedule = field(metadata=STATIC)
    weight_decay: float = field(default=0.0, metadata=STATIC)
    weight_decay_mask: Mask = field(default=None, kw_only=True, metadata=STATIC)
    frozen: Mask = field(default=None, kw_only=True, metadata=STATIC)

    scalars: ClassVar[Mapping[str, float]] = {}

    def __post_init__(self) -> None:
        if not callable(self.lr) or isinstance(self.lr, Handle):
            self._set(lr=_checks.setting("lr", self.lr))
        self._set(weight_decay=_checks.setting("weight_decay", self.weight_decay))
        self._check()

    def __str__(self) -> str:
        shown = ", ".join(
            f"{one.name}={getattr(self, one.name)}" for one in fields(self) if not one.name.endswith("mask")
        )
        return f"{type(self).__name__}({shown})"

    def _set(self, **settings: Any) -> None:
        """Set checked settings, while the instance is made."""
        for name, value in settings.items():
            object.__setattr__(self, name, value)

    # ---- what each optimizer says ------------------------------------------------------------------

    def _check(self) -> None:
        """Check the settings of the subclass."""

    @property
    def slots(self) -> tuple[str, ...]:
        """The arrays that go with a parameter."""
        raise NotImplementedError

    @property
    def formula(self) -> Callable[..., Any]:
        """One of `tape.kernels.formulas`."""
        raise NotImplementedError

    def numbers(self, lr: Any, step: Any, scalars: Mapping[str, Any], decay: float) -> tuple[Any, ...]:
        """Return the numbers of the formula, in float64, at step 1, 2, ..."""
        raise NotImplementedError

    def next_scalars(self, step: Any, scalars: Mapping[str, Any]) -> dict[str, Any]:
        """Return the scalars that step 1, 2, ... uses."""
        return dict(scalars)

    def part(self, shape: tuple[int, ...]) -> Rule:
        """Return the rule for a parameter of this shape."""
        return self

    def start(self, like: np.ndarray) -> list[np.ndarray]:
        """Return what the slots of a parameter start with, given an array of its shape and working dtype."""
        return [np.zeros_like(like) for _ in self.slots]

    def moved(self, p: Any, g: Any, state: list[Any], numbers: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return a parameter and its slots after a step; all in the working dtype."""
        return self.formula(p, g, *state, numbers)

    # ---- the pure form -----------------------------------------------------------------------------

    def init(self, params: Any) -> State:
        """Return the state before the first step.

        Parameters
        ----------
        params : tree of numpy.ndarray
            Floats of any shapes and dtypes.

        Returns
        -------
        State

        Raises
        ------
        TapeError
            If there is no parameter.
        DTypeError
            If a leaf that is not frozen is no array of floats.
        ShapeError, OptionError
            If a mask does not fit the parameters.

        Examples
        --------
        >>> import numpy as np, tape
        >>> state = tape.optim.sgd(lr=0.1, momentum=0.9).init({"w": np.ones(2)})
        >>> state.step, state.slots
        (np.int64(0), {'velocity': {'w': array([0., 0.])}})
        """
        structure, leaves, _, trainable, _ = self.read(params)
        slots: dict[str, list[Any]] = {}
        for i, leaf in enumerate(leaves):
            if trainable[i]:
                part = self.part(leaf.shape)
                start = part.start(np.zeros(leaf.shape, working_dtype(leaf.dtype)))
                for name, array in zip(part.slots, start, strict=True):
                    slots.setdefault(name, [None] * len(leaves))[i] = array
        return State(
            np.int64(0),
            None if callable(self.lr) else np.float64(self.lr),
            {name: np.float64(number) for name, number in self.scalars.items()},
            {name: tree.unflatten(structure, arrays) for name, arrays in slots.items()},
        )

    def update(self, grads: Any, state: State, params: Any) -> tuple[State, Any]:
        """Return the state and the parameters after a step.

        Parameters
        ----------
        grads : tree of numpy.ndarray or Var
            The gradients, in the structure, shapes and dtypes of the parameters. What stands in the place of
            a frozen parameter is not looked at.
        state : State
            From `init` or the last update.
        params : tree of numpy.ndarray or Var
            The parameters. Their dtypes are kept.

        Returns
        -------
        state : State
        params : tree

        Raises
        ------
        ShapeError
            If a structure or a shape differs.
        DTypeError
            If a dtype differs, or a gradient is not an array.
        OptionError
            If the state is not of this rule.

        Examples
        --------
        >>> import numpy as np, tape
        >>> rule = tape.optim.sgd(lr=0.1)
        >>> params = {"w": np.array([1.0, 2.0])}
        >>> state, params = rule.update({"w": np.array([10.0, 0.0])}, rule.init(params), params)
        >>> params
        {'w': array([0., 2.])}
        """
        structure, leaves, names, trainable, decays = self.read(params)
        gradients = self.matched(grads, structure, leaves, trainable)
        slots = self._slots_of(state, structure)
        if state.scalars.keys() != self.scalars.keys():
            raise errors.OptionError(
                f"the state has the scalars {[*state.scalars]}, not {[*self.scalars]}. {_ADVICE}"
            )
        step = state.step + 1
        lr = self.lr(state.step) if callable(self.lr) else state.lr
        scalars = self.next_scalars(step, state.scalars)
        moved, kept = list(leaves), {name: [None] * len(leaves) for name in slots}
        remembered: dict[Any, tuple[Any, ...]] = {}
        for i, leaf in enumerate(leaves):
            if not trainable[i]:
                continue
            gradient = gradients[i]
            part, dtype = self.part(leaf.shape), working_dtype(leaf.dtype)
            key = type(part), decays[i], dtype
            if key not in remembered:
                decay = part.weight_decay if decays[i] else 0.0
                remembered[key] = tuple(
                    [as_dtype(number, dtype) for number in part.numbers(lr, step, scalars, decay)]
                )
            _check_none_but(part.slots, slots, i, names)
            before = [slots[name][i] if name in slots else None for name in part.slots]
            for name, slot in zip(part.slots, before, strict=True):
                check_slot(slot, name, leaf.shape, dtype, lambda i=i: names()[i])  # type: ignore[misc]
            after = part.moved(as_dtype(leaf, dtype), as_dtype(gradient, dtype), before, remembered[key])
            moved[i] = as_dtype(after[0], leaf.dtype)
            for name, array in zip(part.slots, after[1:], strict=True):
                kept[name][i] = array
        return (
            State(step, state.lr, scalars, {name: tree.unflatten(structure, kept[name]) for name in kept}),
            tree.unflatten(structure, moved),
        )

    def read(self, params: Any) -> tuple[Any, list[Any], Callable[[], list[str]], list[bool], list[bool]]:
        """Return structure, checked leaves, their names, which are trained, and which decay."""
        leaves, structure = tree.flatten(params)
        if not leaves:
            raise errors.TapeError("the tree of parameters is empty. Pass at least one array")

        def names() -> list[str]:
            return tree.names(structure, "params")

        trainable = [not one for one in _checks.selected(self.frozen, params, names, "frozen", False)]
        decays = _checks.selected(self.weight_decay_mask, params, names, "weight_decay_mask", True)
        checked = [
            _checks.pure_param(leaf, lambda i=i: names()[i]) if trainable[i] else leaf  # type: ignore[misc]
            for i, leaf in enumerate(leaves)
        ]
        return structure, checked, names, trainable, decays

    def matched(self, grads: Any, structure: Any, leaves: list[Any], trainable: list[bool]) -> list[Any]:
        """Return the gradients of the leaves, checked but for those of frozen ones."""
        gradients = _checks.leaves_like(grads, structure, [not one for one in trainable])
        for i, leaf in enumerate(leaves):
            if trainable[i]:

                def name(i: int = i) -> str:
                    return tree.names(structure, "grads")[i]

                gradients[i] = _checks.pure_gradient(gradients[i], name)
                _checks.check_fits(gradients[i], leaf, name)
        return gradients

    def _slots_of(self, state: Any, structure: Any) -> dict[str, list[Any]]:
        """Return what the state holds of each leaf."""
        if not isinstance(state, State) or (state.lr is None) is not callable(self.lr):
            raise errors.OptionError(
                f"the state is {errors.describe(state)}, not one of this rule. Pass what init or update "
                "returned"
            )
        return {
            name: _checks.leaves_like(
                slot, structure, [True] * tree.size(structure), f"the slots {name!r} of the state"
            )
            for name, slot in state.slots.items()
        }


def as_dtype(number: Any, dtype: np.dtype) -> Any:
    """Return a number or an array in a dtype; itself if it has it."""
    if type(number) in (float, int):
        return dtype.type(number)
    return number if number.dtype == dtype else number.astype(dtype)


def _check_none_but(
    known: Sequence[str], slots: Mapping[str, Any], i: int, names: Callable[[], list[str]]
) -> None:
    """Check that the state holds nothing of a parameter that the rule does not use: it is another one's."""
    others = [name for name in slots if name not in known and slots[name][i] is not None]
    if others:
        raise errors.OptionError(
            f"the state has {others[0]!r} for {names()[i]}, which is of another rule. {_ADVICE}"
        )


_ADVICE = "Pass the state that init of this rule made for these parameters"


def check_slot(slot: Any, name: str, shape: tuple[int, ...], dtype: np.dtype, of: Callable[[], str]) -> None:
    """Check that a slot was made for a parameter: of another shape, it might be broadcast."""
    if slot is None:
        raise errors.OptionError(f"the state has no {name!r} for {of()}. {_ADVICE}")
    if slot.shape != shape:
        raise errors.ShapeError(
            f"{name!r} of the state has shape {list(slot.shape)}, and {of()} {list(shape)}. {_ADVICE}"
        )
    if slot.dtype != dtype:
        raise errors.DTypeError(
            f"{name!r} of the state is {slot.dtype}, and for {of()} should be {dtype}. {_ADVICE}"
        )
