"""Optimizers: `SGD` and `Adam` update arrays of parameters in place, from their gradients.

They work on arrays, and must never know traces. All checks are here, and run before anything changes; the
arithmetic is in `tape.kernels.update`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from tape import errors, tree
from tape.conversion.foreign import complaint
from tape.core.node import Handle
from tape.kernels import update

__all__ = ["SGD", "Adam"]


class _Optimizer:
    """The base of all optimizers: the parameters, the learning rate, and the checks of both."""

    def __init__(self, params: Any, lr: float) -> None:
        self.lr = lr
        # Most parameters come as one list, which does not need optree (50 ms to import).
        self._is_flat = isinstance(params, (list, tuple)) and all(isinstance(p, np.ndarray) for p in params)
        if self._is_flat:
            leaves = list(params)
        else:
            leaves, self._structure = tree.flatten(params)
        if not leaves:
            raise errors.TapeError("the tree of parameters is empty. Pass at least one array")
        for i, leaf in enumerate(leaves):
            _check_param(leaf, self._name(i, "params"))
        self._check_memory(leaves)
        # Kernels take one axis. The flat view of a contiguous array is made once, here.
        arrays = [np.asarray(leaf) for leaf in leaves]
        self._hold(leaves, [(-1,) if array.flags.c_contiguous else array.shape for array in arrays])

    def _hold(self, leaves: list[Any], shapes: Sequence[tuple[int, ...]]) -> None:
        """Store the parameters, and views of them in these shapes."""
        self._leaves = leaves
        self._ids = frozenset(map(id, leaves))
        self._arrays = [np.asarray(leaf).reshape(shape) for leaf, shape in zip(leaves, shapes, strict=True)]

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle: the parameters, without the views that steps work on."""
        state = {name: value for name, value in vars(self).items() if name not in ("_ids", "_arrays")}
        if not self._is_flat:  # a structure may name dataclasses, which pickle finds by the tree itself
            state["_structure"] = tree.unflatten(self._structure, range(len(self._leaves)))
        return state | {"shapes": [array.shape for array in self._arrays]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        shapes = state.pop("shapes")
        vars(self).update(state)
        if not self._is_flat:
            self._structure = tree.flatten(self._structure)[1]
        self._hold(self._leaves, shapes)

    @property
    def lr(self) -> float:
        """The learning rate, zero or positive; may be set between steps."""
        return self._lr

    @lr.setter
    def lr(self, lr: float) -> None:
        self._lr = _checked("lr", lr)

    def step(self, grads: Any) -> None:
        """Update every parameter in place; after an error nothing has changed.

        After the first step no memory is allocated, as long as parameters and gradients are
        contiguous (C order) and of dtype float32 or float64.

        Parameters
        ----------
        grads : tree of numpy.ndarray
            The gradients, in the structure of the parameters; each of the shape and dtype of its
            parameter, sharing no memory with any. For parameters in one list or tuple, a list or
            tuple of gradients, as `tape.Trace.backward_param_grads` returns it.

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
        self._update(self._matched(grads))

    def _update(self, gradients: list[np.ndarray]) -> None:
        """Apply one step, with gradients in the shapes of ``self._arrays``."""
        raise NotImplementedError

    def _zeros(self) -> list[np.ndarray]:
        """Return zeros for each parameter."""
        return [np.zeros_like(array, update.working_dtype(array.dtype)) for array in self._arrays]

    # ---- checks --------------------------------------------------------------------------------

    def _matched(self, grads: Any) -> list[np.ndarray]:
        """Return the gradients, one for each parameter, in the shapes of ``self._arrays``."""
        matched = []
        for i, (gradient, leaf, array) in enumerate(
            zip(self._flatten_like_params(grads), self._leaves, self._arrays, strict=True)
        ):
            if id(gradient) in self._ids:
                raise errors.TapeError(
                    f"{self._name(i, 'grads')} is the array of a parameter, and changes during the step. "
                    "Pass a copy"
                )
            if type(gradient) is not np.ndarray:
                gradient = _as_array(gradient, self._name(i, "grads"))
            if gradient.shape != leaf.shape:
                raise errors.ShapeError(
                    f"{self._name(i, 'grads')} has shape {list(gradient.shape)}, and its parameter "
                    f"{list(leaf.shape)}. Check the order of the gradients"
                )
            if gradient.dtype != leaf.dtype:
                raise errors.DTypeError(
                    f"{self._name(i, 'grads')} is {gradient.dtype}, and its parameter {leaf.dtype}. "
                    f"Convert it with astype({leaf.dtype.str!r})"
                )
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
        leaves, structure = tree.flatten(grads)
        if structure != self._structure:
            raise errors.ShapeError(
                f"the gradients are {tree.describe(structure)}, and the parameters "
                f"{tree.describe(self._structure)}. Give both the same structure"
            )
        return leaves

    def _check_memory(self, leaves: list[np.ndarray]) -> None:
        """Check that no arrays overlap: a step of one would change the other."""
        spans = sorted((*byte_bounds(leaf), i) for i, leaf in enumerate(leaves) if leaf.size)
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


class SGD(_Optimizer):
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
    ) -> None:
        self._momentum = _checked("momentum", momentum, below=1.0)
        self._weight_decay = _checked("weight_decay", weight_decay)
        self._is_nesterov = bool(nesterov)
        if self._is_nesterov and not self._momentum:
            raise errors.OptionError("nesterov needs a positive momentum")
        super().__init__(params, lr)
        self._velocities = self._zeros() if self._momentum else []

    def __repr__(self) -> str:
        return (
            f"SGD({len(self._leaves)} arrays, lr={self.lr}, momentum={self._momentum}, "
            f"weight_decay={self._weight_decay}, nesterov={self._is_nesterov})"
        )

    def _update(self, gradients: list[np.ndarray]) -> None:
        lr, decay = self._lr, self._weight_decay
        if not self._momentum:
            for array, gradient in zip(self._arrays, gradients, strict=True):
                update.descend(array, gradient, lr, decay)
            return
        for array, gradient, velocity in zip(self._arrays, gradients, self._velocities, strict=True):
            update.descend_with_momentum(
                array, gradient, velocity, lr, self._momentum, decay, self._is_nesterov
            )


class Adam(_Optimizer):
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
        Floats of any shapes, in nested lists, tuples, dicts and dataclasses. Held by reference
        and written to; no two may share memory.
    lr : float
        Learning rate, zero or positive: about the length of a step in each element. The attribute
        ``lr`` may be set between steps.
    betas : pair of float
        The factors of the two averages from step to step, each at least 0 and below 1.
    eps : float
        Zero or positive; keeps elements without gradient from being divided by zero.
    weight_decay : float
        Zero or positive; the gradient of ``weight_decay / 2 * sum(p**2)`` is added.

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
    Algorithm 1 of Kingma and Ba, "Adam: a method for stochastic optimization" (2015), with weight
    decay as in `torch.optim.Adam`. float16 parameters have float32 averages.

    Examples
    --------
    >>> import numpy as np, tape, tape.optim
    >>> w = np.array([4.0, -2.0])
    >>> optimizer = tape.optim.Adam([w], lr=0.1)
    >>> for _ in range(500):
    ...     trace = tape.Trace()
    ...     loss = ((trace.param(w) - 1) ** 2).sum()
    ...     optimizer.step(trace.backward_param_grads(loss))
    >>> w.round(4)
    array([1., 1.])
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        if not isinstance(betas, (tuple, list)) or len(betas) != 2:
            raise errors.OptionError(f"betas must be a pair of numbers, not {errors.describe(betas)}")
        self._beta1 = _checked("betas[0]", betas[0], below=1.0)
        self._beta2 = _checked("betas[1]", betas[1], below=1.0)
        self._eps = _checked("eps", eps)
        self._weight_decay = _checked("weight_decay", weight_decay)
        super().__init__(params, lr)
        self._steps = 0
        self._means = self._zeros()
        self._squares = self._zeros()

    def __repr__(self) -> str:
        return (
            f"Adam({len(self._leaves)} arrays, lr={self.lr}, betas=({self._beta1}, {self._beta2}), "
            f"eps={self._eps}, weight_decay={self._weight_decay})"
        )

    def _update(self, gradients: list[np.ndarray]) -> None:
        self._steps += 1
        # Section 2 of the paper: both corrections are part of the learning rate and eps
        correction = sqrt(1 - self._beta2**self._steps)
        rate = self._lr * correction / (1 - self._beta1**self._steps)
        beta1, beta2, eps, decay = self._beta1, self._beta2, self._eps * correction, self._weight_decay
        for array, gradient, mean, square in zip(
            self._arrays, gradients, self._means, self._squares, strict=True
        ):
            update.adam(array, gradient, mean, square, rate, beta1, beta2, eps, decay)


def _checked(name: str, number: Any, below: float = float("inf")) -> float:
    """Return a setting as a float, checked to be within ``0 <= number < below``."""
    if isinstance(number, Handle):
        raise errors.ConversionError(
            f"{name} is {number!r}, and steps are not differentiable. Pass its .value"
        )
    try:
        converted = float(number)
    except (TypeError, ValueError):
        raise errors.OptionError(f"{name} must be a number, not {errors.describe(number)}") from None
    if not 0 <= converted < below:
        limit = "finite" if below == float("inf") else f"below {below:g}"
        raise errors.OptionError(f"{name} is {converted}; it must be at least 0 and {limit}")
    return converted


def _check_param(leaf: Any, name: str) -> None:
    if isinstance(leaf, Handle):
        raise errors.ConversionError(f"{name} is {leaf!r}. An optimizer updates arrays: pass its .value")
    if isinstance(leaf, np.ndarray) and leaf.dtype.kind == "c":
        raise errors.DTypeError(
            f"{name} is {errors.describe(leaf)}. Optimize the real and imaginary part as two arrays, and "
            "compute with re + 1j * im"
        )
    if not isinstance(leaf, np.ndarray) or complaint(leaf) is not None or leaf.dtype.kind != "f":
        raise errors.DTypeError(
            f"{name} is {type(leaf).__name__} {errors.describe(leaf)}. A parameter must be an array of "
            "floats, e.g. np.array(0.5)"
        )
    if not leaf.flags.writeable:
        raise errors.InPlaceError(f"{name} is read-only, and would be updated in place. Pass a copy")


def _as_array(gradient: Any, name: str) -> np.ndarray:
    """Convert a gradient that is not an ndarray to one."""
    if isinstance(gradient, Handle):
        raise errors.ConversionError(f"{name} is {gradient!r}. Steps are not differentiable: pass its .value")
    if isinstance(gradient, (np.ndarray, np.floating)) and complaint(gradient) is None:
        return np.asarray(gradient)
    raise errors.DTypeError(
        f"{name} is {type(gradient).__name__} {errors.describe(gradient)}. It must be an array of the "
        "shape and dtype of its parameter"
    )
