"""`LBFGS`: steps along the gradient times an inverse Hessian, learned from the steps before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tape import errors
from tape.core.node import Handle
from tape.kernels.update import working_dtype
from tape.optim import _checks
from tape.optim._checks import Mask
from tape.optim._held import Held
from tape.optim._line_search import Point, strong_wolfe

LEAST_CURVATURE = 1e-10  # of a pair that is learned from


class LBFGS(Held):
    """L-BFGS: steps along the gradient times an inverse Hessian, learned from the steps before.

    For smooth losses of all data; `tape.scipy.minimize` has more methods, which start anew each time.

    Parameters
    ----------
    params : tree of numpy.ndarray
        As for `SGD`.
    lr : float
        The length of each iteration's step; what a line search tries first.
    max_iter : int
        Iterations of one `step`.
    max_eval : int, optional
        Evaluations of the loss in one `step`, after which no iteration begins; ``max_iter * 5 // 4`` unless
        given.
    tolerance_grad : float
        Stop when no element of the gradient is larger.
    tolerance_change : float
        Stop when no parameter, or not the loss, changes by more.
    history_size : int
        How many steps are remembered; each takes twice the memory of the parameters.
    line_search_fn : {None, 'strong_wolfe'}
        Take steps of the length ``lr``, or search for one that satisfies the strong Wolfe conditions.
    frozen : tree of bool or callable, optional
        As for `SGD`.

    Raises
    ------
    TapeError
        As for `SGD`.

    Notes
    -----
    Liu and Nocedal, "On the limited memory BFGS method for large scale optimization" (1989), in the form of
    `torch.optim.LBFGS`. Parameters are gathered into one vector, of float32 at least, and memory is
    allocated for each remembered step.

    Examples
    --------
    >>> import numpy as np, tape
    >>> params = {"x": np.array([-1.2, 1.0])}
    >>> def rosenbrock(p):
    ...     x, y = p["x"]
    ...     return (1 - x) ** 2 + 100 * (y - x**2) ** 2
    >>> optimizer = tape.optim.LBFGS(params, max_iter=100, tolerance_change=0, line_search_fn="strong_wolfe")
    >>> loss = optimizer.step(tape.value_and_grad(rosenbrock))
    >>> params["x"].round(6)
    array([1., 1.])
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1.0,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
        *,
        frozen: Mask = None,
    ) -> None:
        super().__init__(params, lr, frozen)
        self._params = params
        self._max_iter = _checks.count("max_iter", max_iter)
        self._max_eval = self._max_iter * 5 // 4 if max_eval is None else _checks.count("max_eval", max_eval)
        self._tolerance_grad = _checks.setting("tolerance_grad", tolerance_grad)
        self._tolerance_change = _checks.setting("tolerance_change", tolerance_change)
        self._history_size = _checks.count("history_size", history_size)
        _checks.choice("line_search_fn", line_search_fn, (None, "strong_wolfe"))
        self._searches = line_search_fn is not None
        trained = [array for array, one in zip(self._arrays, self._trained, strict=True) if one]
        self._dtype = np.result_type(np.float32, *[working_dtype(array.dtype) for array in trained])
        # (change of the gradient, change of the parameters, one over their product) of each remembered step
        self._history: list[tuple[np.ndarray, np.ndarray, float]] = []
        self._scale = 1.0
        self._last: tuple[np.ndarray, np.ndarray] | None = None  # gradient and change of the last step

    def __repr__(self) -> str:
        return (
            f"LBFGS({len(self._leaves)} arrays, lr={self.lr}, max_iter={self._max_iter}, "
            f"history_size={self._history_size}, "
            f"line_search_fn={'strong_wolfe' if self._searches else None!r})"
        )

    def state_dict(self) -> dict[str, Any]:
        """Return all that steps change but the parameters: the steps that are remembered."""
        return {
            "lr": self._lr,
            "history": [list(one) for one in self._history],
            "scale": self._scale,
            "last": None if self._last is None else list(self._last),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over a state of an `LBFGS` for parameters of the same shapes; its arrays are copied.

        Raises
        ------
        ShapeError
            If it belongs to other parameters or another kind of optimizer; nothing has changed then.
        """
        vector = np.zeros(sum(a.size for a, one in zip(self._arrays, self._trained, strict=True) if one))
        vector = vector.astype(self._dtype)
        given = state if isinstance(state, dict) else {}
        like = {
            "lr": self._lr,
            "history": [[vector, vector, 0.0] for _ in given.get("history", ())],
            "scale": 0.0,
            "last": None if given.get("last") is None else [vector, vector],
        }
        _checks.check_state("LBFGS", state, like)
        self.lr, self._scale = state["lr"], float(state["scale"])
        self._history = [(turn.copy(), move.copy(), float(rate)) for turn, move, rate in state["history"]]
        self._last = None if state["last"] is None else (state["last"][0].copy(), state["last"][1].copy())

    def step(self, loss_and_grad: Callable[[Any], tuple[Any, Any]]) -> float:
        """Run up to ``max_iter`` iterations; after an error nothing has changed.

        Parameters
        ----------
        loss_and_grad : callable
            Takes the parameters, and returns a loss and its gradients, as `tape.value_and_grad` of a function
            does, compiled or not. It is called several times, each time with other numbers in the arrays.

        Returns
        -------
        float
            The loss before.

        Raises
        ------
        NonFiniteError
            If the loss, or its gradient, is not finite at the start, or after a step without line search.
        ShapeError, DTypeError, ConversionError, TapeError
            If gradients do not fit the parameters.
        OptionError
            If ``loss_and_grad`` does not return a number and gradients.

        Examples
        --------
        >>> import numpy as np, tape
        >>> w = np.array([4.0, -2.0])
        >>> optimizer = tape.optim.LBFGS(w)
        >>> optimizer.step(lambda w: (np.sum((w - 1) ** 2), 2 * (w - 1)))
        18.0
        >>> w.round(6)
        array([1., 1.])
        """
        state = list(self._history), self._scale, self._last
        start = self._gathered(self._arrays)
        try:
            return self._run(loss_and_grad, start)
        except BaseException:
            self._history, self._scale, self._last = state
            self._write(start)
            raise

    def _run(self, loss_and_grad: Callable[[Any], tuple[Any, Any]], x: np.ndarray) -> float:
        first = loss, gradient = self._evaluated(loss_and_grad)
        self._check_finite(*first)
        evaluations = 1
        if not gradient.size or np.abs(gradient).max() <= self._tolerance_grad:
            return first[0]
        for iteration in range(1, self._max_iter + 1):
            t = self._lr
            if self._last is None:
                t *= min(1.0, 1.0 / float(np.abs(gradient).sum()))
            direction = self._direction(gradient)
            slope = float(gradient @ direction)
            if slope > -self._tolerance_change:
                self._last = gradient, np.zeros_like(gradient)
                break
            before, old_gradient = loss, gradient
            if self._searches:
                point, count = self._search(
                    loss_and_grad, x, direction, Point(0.0, loss, gradient, slope), t, evaluations
                )
                t, loss, gradient = point.t, point.loss, point.gradient
                evaluations += count
            change = t * direction
            x = x + change
            self._last = old_gradient, change
            self._write(x)
            if not self._searches and iteration < self._max_iter:
                loss, gradient = self._evaluated(loss_and_grad)
                self._check_finite(loss, gradient)
                evaluations += 1
            if (
                evaluations >= self._max_eval
                or np.abs(gradient).max() <= self._tolerance_grad
                or np.abs(change).max() <= self._tolerance_change
                or abs(loss - before) < self._tolerance_change
            ):
                break
        return first[0]

    def _direction(self, gradient: np.ndarray) -> np.ndarray:
        """Learn from the last step, and return the gradient times the inverse Hessian, downwards."""
        if self._last is None:
            return -gradient
        last_gradient, change = self._last
        turn = gradient - last_gradient
        curvature = float(turn @ change)
        if curvature > LEAST_CURVATURE:
            self._history = [*self._history[-self._history_size + 1 or len(self._history) :]]
            self._history.append((turn, change, 1.0 / curvature))
            self._scale = curvature / float(turn @ turn)
        # The two loops of algorithm 7.4 of Nocedal and Wright (2006)
        direction, shares = -gradient, []
        for turn, change, factor in reversed(self._history):
            shares.append(float(change @ direction) * factor)
            direction -= shares[-1] * turn
        direction *= self._scale
        for turn, change, factor in self._history:
            direction += (shares.pop() - float(turn @ direction) * factor) * change
        return direction

    def _search(
        self,
        loss_and_grad: Callable[[Any], tuple[Any, Any]],
        x: np.ndarray,
        direction: np.ndarray,
        start: Point,
        t: float,
        evaluations: int,
    ) -> tuple[Point, int]:
        def at(t: float) -> Point:
            self._write(x + t * direction)
            loss, gradient = self._evaluated(loss_and_grad)
            if not np.isfinite(loss) or not np.isfinite(gradient).all():
                return Point(t, float("inf"), gradient, float("inf"))
            return Point(t, loss, gradient, float(gradient @ direction))

        return strong_wolfe(
            at, start, t, float(np.abs(direction).max()), self._tolerance_change, self._max_eval - evaluations
        )

    # ---- parameters, gradients and vectors ---------------------------------------------------------

    def _evaluated(self, loss_and_grad: Callable[[Any], tuple[Any, Any]]) -> tuple[float, np.ndarray]:
        """Return the loss and the gradient, as a vector, where the parameters are."""
        result = loss_and_grad(self._params)
        if not isinstance(result, tuple) or len(result) != 2:
            raise errors.OptionError(
                f"loss_and_grad returned {errors.describe(result)}, not a loss and gradients. Pass "
                "tape.value_and_grad of the loss"
            )
        loss, grads = result
        if isinstance(loss, Handle):
            raise errors.ConversionError(
                f"the loss is {loss!r}. Steps are not differentiable: return its .value"
            )
        try:
            number = float(loss)
        except (TypeError, ValueError):
            raise errors.OptionError(f"the loss must be a number, not {errors.describe(loss)}") from None
        return number, self._gathered(self.matched(grads))

    def _gathered(self, arrays: Any) -> np.ndarray:
        """Return all trained elements as a new vector."""
        parts = [
            np.asarray(array, self._dtype).reshape(-1)
            for array, trained in zip(arrays, self._trained, strict=True)
            if trained
        ]
        return np.concatenate(parts) if parts else np.zeros(0, self._dtype)

    def _write(self, x: np.ndarray) -> None:
        """Write a vector to the parameters."""
        start = 0
        for array, trained in zip(self._arrays, self._trained, strict=True):
            if trained:
                array[...] = x[start : start + array.size].reshape(array.shape)
                start += array.size

    @staticmethod
    def _check_finite(loss: float, gradient: np.ndarray) -> None:
        if not np.isfinite(loss) or not np.isfinite(gradient).all():
            raise errors.NonFiniteError(
                f"the loss is {loss}, or its gradient not finite. Start elsewhere, take a smaller lr, or set "
                "line_search_fn='strong_wolfe'"
            )
