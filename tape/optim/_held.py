"""`Held`: the parameters that an optimizer updates in place, and the checks of what is to fit them.

It works on arrays, and must never know traces. All checks run before anything changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.lib.array_utils import byte_bounds

from tape import errors, tree
from tape.optim import _checks
from tape.optim._checks import Mask


class Held:
    """The base of all optimizers in place: parameters, held by reference, and a learning rate."""

    def __getattr__(self, name: str) -> NoReturn:
        if name == "zero_grad":
            raise errors.MissingAttributeError(
                f"{type(self).__name__} has no 'zero_grad'. Gradients are returned, and not accumulated: "
                "pass them to step(gradients)"
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __init__(self, params: Any, lr: Any, frozen: Mask) -> None:
        self.lr = lr
        # Most parameters come as one list, which does not need optree (50 ms to import).
        self._is_flat = isinstance(params, (list, tuple)) and all(isinstance(p, np.ndarray) for p in params)
        if self._is_flat:
            leaves = list(params)
        else:
            leaves, self._structure = tree.flatten(params)
        if not leaves:
            raise errors.TapeError("the tree of parameters is empty. Pass at least one array")
        self._leaves = leaves
        self._trained = [not one for one in self._selected(frozen, params, "frozen", default=False)]
        for i, leaf in enumerate(leaves):
            if self._trained[i]:
                _checks.check_in_place_param(leaf, self._name(i, "params"))
        self._check_memory(leaves)
        # Kernels take one axis. The flat view of a contiguous array is made once, here.
        arrays = [np.asarray(leaf) for leaf in leaves]
        self._hold([(-1,) if array.flags.c_contiguous else array.shape for array in arrays])

    def _hold(self, shapes: Sequence[tuple[int, ...]]) -> None:
        """Hold views of the parameters in these shapes."""
        self._ids = frozenset(map(id, self._leaves))
        self._arrays = [
            np.asarray(leaf).reshape(shape) for leaf, shape in zip(self._leaves, shapes, strict=True)
        ]
        # Reading them from the arrays would take half of the time of a check
        self._like = [
            (array.dtype, np.shape(leaf)) for array, leaf in zip(self._arrays, self._leaves, strict=True)
        ]

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle: the parameters, without the views that steps work on."""
        state = {
            name: value for name, value in vars(self).items() if name not in ("_ids", "_arrays", "_like")
        }
        if not self._is_flat:  # a structure may name dataclasses, which pickle finds by the tree itself
            state["_structure"] = tree.unflatten(self._structure, range(len(self._leaves)))
        return state | {"shapes": [array.shape for array in self._arrays]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        shapes = state.pop("shapes")
        vars(self).update(state)
        if not self._is_flat:
            self._structure = tree.flatten(self._structure)[1]
        self._hold(shapes)

    @property
    def lr(self) -> float:
        """The learning rate, zero or positive; may be set between steps."""
        return self._lr

    @lr.setter
    def lr(self, lr: float) -> None:
        self._lr = _checks.setting("lr", lr)

    # ---- checks --------------------------------------------------------------------------------

    def _selected(self, mask: Any, params: Any, what: str, *, default: bool) -> list[bool]:
        if mask is None:  # which needs no tree
            return [default] * len(self._leaves)
        return _checks.selected(
            mask, params, lambda: [self._name(i, "params") for i in range(len(self._leaves))], what, default
        )

    def matched(self, grads: Any) -> list[np.ndarray | None]:
        """Return the gradients in the shapes of ``self._arrays``; None for what is frozen."""
        matched: list[np.ndarray | None] = []
        flat = self._flatten_like_params(grads)
        for i, (gradient, array, (dtype, shape)) in enumerate(
            zip(flat, self._arrays, self._like, strict=True)
        ):
            if not self._trained[i]:
                matched.append(None)
                continue
            if id(gradient) in self._ids:
                raise errors.TapeError(
                    f"{self._name(i, 'grads')} is the array of a parameter, and changes during the step. "
                    "Pass a copy"
                )
            if type(gradient) is not np.ndarray:
                gradient = _checks.in_place_gradient(gradient, self._name(i, "grads"))
            if gradient.shape != shape or gradient.dtype != dtype:
                _checks.check_fits(gradient, self._leaves[i], lambda i=i: self._name(i, "grads"))  # type: ignore[misc]
            matched.append(gradient.reshape(array.shape))
        return matched

    def _flatten_like_params(self, grads: Any) -> Sequence[Any]:
        if self._is_flat:
            if not isinstance(grads, (list, tuple)):
                raise errors.ShapeError(
                    f"the parameters are a list of {len(self._leaves)} arrays, and the gradients "
                    f"{errors.describe(grads)}. Pass a list with a gradient for each"
                )
            if len(grads) != len(self._leaves):
                raise errors.ShapeError(
                    f"{len(grads)} gradients for {len(self._leaves)} parameters. Pass one for each"
                )
            return grads
        return _checks.leaves_like(grads, self._structure, [not one for one in self._trained])

    def _check_memory(self, leaves: list[np.ndarray]) -> None:
        """Check that no arrays overlap: a step of one would change the other."""
        spans = sorted(
            (*byte_bounds(leaf), i)
            for i, leaf in enumerate(leaves)
            if isinstance(leaf, np.ndarray) and leaf.size
        )
        for k, (_, end, i) in enumerate(spans):
            for start, _, j in spans[k + 1 :]:
                if start >= end:
                    break
                if np.shares_memory(leaves[i], leaves[j]):
                    first, second = sorted((i, j))
                    raise errors.TapeError(
                        f"{self._name(first, 'params')} and {self._name(second, 'params')} share memory, "
                        "and would be updated twice. Give an array that is used in two places once, "
                        "with the sum of its gradients"
                    )

    def _name(self, i: int, root: str) -> str:
        """Return the name of a leaf: ``params['layer'][0]``."""
        return f"{root}[{i}]" if self._is_flat else tree.names(self._structure, root)[i]
