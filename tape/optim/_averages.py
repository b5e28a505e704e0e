"""Averages of parameters over steps, which generalise better than the last ones: `ema` and `polyak`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tape import errors, tree
from tape.kernels.update import working_dtype
from tape.optim import _checks
from tape.optim._rule import STATIC, as_dtype


@dataclass(frozen=True)
class AverageState:
    """The state of an `Average`: a tree of arrays.

    Attributes
    ----------
    calls : numpy.int64
        How often the average has been updated.
    count : numpy.int64
        How many parameters are in it.
    sums : tree
        The average before correction, in the structure of the parameters, in float32 at least.
    """

    calls: Any
    count: Any
    sums: Any


@dataclass(frozen=True)
class Average:
    """An average of parameters as pure functions, on arrays and Vars; made by `ema` and `polyak`."""

    decay: float | None = field(metadata=STATIC)
    bias_correction: bool = field(metadata=STATIC)
    start: int = field(metadata=STATIC)
    every: int = field(metadata=STATIC)

    def init(self, params: Any) -> AverageState:
        """Return the state before the first parameters.

        Parameters
        ----------
        params : tree of numpy.ndarray or Var
            Floats; only their shapes and dtypes matter.

        Returns
        -------
        AverageState

        Raises
        ------
        DTypeError
            If a leaf is no array of floats.

        Examples
        --------
        >>> import numpy as np, tape
        >>> tape.optim.polyak().init({"w": np.ones(2)}).sums
        {'w': array([0., 0.])}
        """
        leaves, structure = _read(params)
        zeros = [np.zeros(leaf.shape, working_dtype(leaf.dtype)) for leaf in leaves]
        return AverageState(np.int64(0), np.int64(0), tree.unflatten(structure, zeros))

    def update(self, state: AverageState, params: Any) -> AverageState:
        """Return the state with other parameters in the average.

        Parameters
        ----------
        state : AverageState
            From `init` or the last update.
        params : tree of numpy.ndarray or Var
            After a step.

        Returns
        -------
        AverageState

        Raises
        ------
        ShapeError
            If the parameters are not like those that `init` took.
        DTypeError
            If a leaf is no array of floats.

        Examples
        --------
        >>> import numpy as np, tape
        >>> mean = tape.optim.polyak()
        >>> state = mean.init(np.zeros(1))
        >>> for w in (1.0, 2.0, 6.0):
        ...     state = mean.update(state, np.array([w]))
        >>> mean.value(state)
        array([3.])
        """
        leaves, structure = _read(params)
        sums = _checks.leaves_like(state.sums, structure, what="the averages of the state")
        since = state.calls - self.start
        is_taken = (since >= 0) & (since % self.every == 0)
        if self.decay is None:
            weight = 1.0 / (state.count + 1)
        elif self.bias_correction:
            weight = 1.0 - self.decay
        else:
            weight = np.where(state.count == 0, 1.0, 1.0 - self.decay)
        taken = []
        for i, (total, leaf) in enumerate(zip(sums, leaves, strict=True)):
            if total.shape != leaf.shape:
                raise errors.ShapeError(
                    f"the average of {tree.names(structure, 'params')[i]} has shape {list(total.shape)}, and "
                    f"the parameter {list(leaf.shape)}. Pass the state of these parameters"
                )
            moved = total + as_dtype(weight, total.dtype) * (leaf.astype(total.dtype) - total)
            taken.append(np.where(is_taken, moved, total))
        return AverageState(
            state.calls + 1, state.count + np.where(is_taken, 1, 0)[()], tree.unflatten(structure, taken)
        )

    def value(self, state: AverageState) -> Any:
        """Return the average.

        Parameters
        ----------
        state : AverageState
            After at least one update that took parameters.

        Returns
        -------
        tree
            In the structure of the parameters, in float32 at least.

        Raises
        ------
        OptionError
            If there is nothing in the average.

        Examples
        --------
        >>> import numpy as np, tape
        >>> average = tape.optim.ema(decay=0.9)
        >>> average.value(average.update(average.init(np.zeros(1)), np.array([2.0])))
        array([2.])
        """
        if state.count == 0:
            raise errors.OptionError("the average is empty. Update it with parameters first")
        if self.decay is None or not self.bias_correction:
            return state.sums
        correction = 1.0 - self.decay**state.count
        return tree.map(lambda total: total / as_dtype(correction, total.dtype), state.sums)


def ema(decay: float = 0.999, *, bias_correction: bool = True) -> Average:
    """Return an exponential moving average of parameters.

    Parameters
    ----------
    decay : float
        The factor of the average from step to step, at least 0 and below 1.
    bias_correction : bool
        Start at zero, and divide by ``1 - decay**t``: all parameters so far count by the same law. Without it
        the average starts at the first ones, as that of PyTorch.

    Returns
    -------
    Average
        With ``init(params)``, ``update(state, params)`` and ``value(state)``.

    Raises
    ------
    OptionError
        If ``decay`` is out of range.

    Examples
    --------
    >>> import numpy as np, tape
    >>> average = tape.optim.ema(decay=0.5)
    >>> state = average.init(np.zeros(1))
    >>> for w in (3.0, 6.0):
    ...     state = average.update(state, np.array([w]))
    >>> average.value(state)
    array([5.])
    """
    return Average(_checks.setting("decay", decay, below=1.0), bool(bias_correction), 0, 1)


def polyak(start: int = 0, every: int = 1) -> Average:
    """Return the mean of parameters: Polyak's averaging, and stochastic weight averaging.

    Parameters
    ----------
    start : int
        How many updates are left out at first.
    every : int
        Take the parameters of every so many updates, beginning with the first that is not left out.

    Returns
    -------
    Average
        With ``init(params)``, ``update(state, params)`` and ``value(state)``.

    Raises
    ------
    OptionError
        If a setting is out of range.

    Notes
    -----
    Polyak and Juditsky, "Acceleration of stochastic approximation by averaging" (1992); Izmailov et al.,
    "Averaging weights leads to wider optima and better generalization" (2018).

    Examples
    --------
    >>> import numpy as np, tape
    >>> average = tape.optim.polyak(start=1, every=2)
    >>> state = average.init(np.zeros(1))
    >>> for w in (9.0, 1.0, 9.0, 3.0):
    ...     state = average.update(state, np.array([w]))
    >>> average.value(state)
    array([2.])
    """
    return Average(None, False, _checks.count("start", start, least=0), _checks.count("every", every))


def _read(params: Any) -> tuple[list[Any], Any]:
    leaves, structure = tree.flatten(params)

    def name(i: int) -> str:
        return tree.names(structure, "params")[i]

    return [_checks.pure_param(leaf, lambda i=i: name(i)) for i, leaf in enumerate(leaves)], structure  # type: ignore[misc]
