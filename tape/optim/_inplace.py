"""`Optimizer`: the base of the optimizers that update arrays in place, from gradients, by a `Rule`."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np

from tape.kernels import update
from tape.optim._checks import check_state
from tape.optim._held import Held
from tape.optim._rule import Rule


class Optimizer(Held):
    """The base of the optimizers that step along a gradient: the parameters and their state."""

    def __init__(self, params: Any, rule: Rule) -> None:
        super().__init__(params, rule.lr, rule.frozen)
        self._decays = self._selected(rule.weight_decay_mask, params, "weight_decay_mask", default=True)
        # Masks are evaluated: a function among them need not be pickled.
        self._rule = replace(rule, frozen=None, weight_decay_mask=None)
        self._steps = 0
        self._scalars = dict(rule.scalars)
        self._prepared: Any = None  # from the first step on
        self._slots = [
            self._part(i).start(np.zeros_like(array, update.working_dtype(array.dtype)))
            if self._trained[i]
            else []
            for i, array in enumerate(self._arrays)
        ]

    def __repr__(self) -> str:
        settings = [
            f"{one.name}={getattr(self._rule, one.name)}"
            for one in fields(self._rule)
            if one.name not in ("lr", "frozen", "weight_decay_mask")
        ]
        return f"{type(self).__name__}({len(self._leaves)} arrays, {', '.join([f'lr={self.lr}', *settings])})"

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle, without compiled code."""
        return super().__getstate__() | {"_prepared": None}

    def state_dict(self) -> dict[str, Any]:
        """Return all that steps change but the parameters: nested dicts and lists of arrays and numbers.

        The arrays are the optimizer's own, which the next step changes.

        Examples
        --------
        >>> import numpy as np, tape.optim
        >>> optimizer = tape.optim.SGD([np.ones(2)], lr=0.1, momentum=0.9)
        >>> optimizer.step([np.ones(2)])
        >>> optimizer.state_dict()
        {'lr': 0.1, 'steps': 1, 'scalars': {}, 'slots': [[array([1., 1.])]]}
        """
        return {"lr": self._lr, "steps": self._steps, "scalars": dict(self._scalars), "slots": self._slots}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over a state of an optimizer of the same kind, for parameters of the same shapes.

        Parameters
        ----------
        state : dict
            What `state_dict` returned; its arrays are copied.

        Raises
        ------
        ShapeError
            If it belongs to other parameters or another kind of optimizer; nothing has changed then.
        """
        check_state(type(self).__name__, state, self.state_dict())
        self.lr, self._steps, self._scalars = state["lr"], int(state["steps"]), dict(state["scalars"])
        for slots, saved in zip(self._slots, state["slots"], strict=True):
            for slot, array in zip(slots, saved, strict=True):
                slot[...] = array

    def step(self, grads: Any) -> None:
        """Update every parameter in place; after an error nothing has changed.

        After the first step no memory is allocated, as long as parameters and gradients are
        contiguous (C order) and of dtype float32 or float64.

        Parameters
        ----------
        grads : tree of numpy.ndarray
            The gradients, in the structure of the parameters; each of the shape and dtype of its
            parameter, sharing no memory with any. For parameters in one list or tuple, a list or
            tuple of gradients, as `tape.Trace.backward_param_grads` returns it. What stands in the place
            of a frozen parameter is not looked at.

        Raises
        ------
        ShapeError
            If the structure or a shape differs.
        DTypeError
            If a dtype differs, or a gradient is not an array.
        ConversionError
            If a gradient is a Var.
        TapeError
            If a gradient is the array of a parameter.

        Examples
        --------
        >>> import numpy as np, tape.optim
        >>> params = {"weight": np.array([1.0, 2.0]), "bias": np.array(0.5)}
        >>> optimizer = tape.optim.SGD(params, lr=0.1)
        >>> optimizer.step({"weight": np.array([10.0, 0.0]), "bias": np.array(-5.0)})
        >>> params
        {'weight': array([0., 2.]), 'bias': array(1.)}
        """
        self.update(self.matched(grads))

    def zeros(self) -> list[np.ndarray | None]:
        """Return zeros for each parameter, in the shapes of `matched`; None for what is frozen."""
        return [
            np.zeros_like(array, update.working_dtype(array.dtype)) if trained else None
            for array, trained in zip(self._arrays, self._trained, strict=True)
        ]

    def update(self, gradients: list[np.ndarray | None]) -> None:
        """Apply one step, with gradients in the shapes of ``self._arrays``."""
        if self._prepared is None:
            self._prepared = self._prepare()
        groups, places = self._prepared
        self._steps += 1
        self._scalars = self._rule.next_scalars(self._steps, self._scalars)
        numbers = [
            tuple([kind(number) for number in part.numbers(self._lr, self._steps, self._scalars, decay)])
            for part, decay, kind in groups
        ]
        for gradient, place, array, slots in zip(gradients, places, self._arrays, self._slots, strict=True):
            if gradient is not None:
                group, compiled, shape = place
                self._apply(groups[group][0], compiled, array, gradient, slots, numbers[group], shape)

    def _prepare(self) -> tuple[list[Any], list[Any]]:
        """Return the groups of leaves that have the same numbers, and for each leaf what a step needs of it.

        A group is a rule, its decay and the type of its numbers; a leaf has the index of its group, its loop
        and its shape.
        """
        groups: dict[Any, Any] = {}
        places: list[Any] = []
        for i, array in enumerate(self._arrays):
            if not self._trained[i]:
                places.append(None)
                continue
            part, shape = self._part(i), self._leaves[i].shape
            kind = update.working_dtype(array.dtype).type
            decay = part.weight_decay if self._decays[i] else 0.0
            group = groups.setdefault((type(part), decay, kind), (len(groups), (part, decay, kind)))[0]
            places.append((group, update.loop(part.formula, array, len(part.slots)), shape))
        return [group for _, group in groups.values()], places

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
        """Move one parameter and its slots."""
        update.step(part.formula, compiled, array, gradient, slots, numbers)

    def _part(self, i: int) -> Rule:
        return self._rule.part(self._leaves[i].shape)
