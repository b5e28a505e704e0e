"""`ShardedOptimizer`: each rank holds the state of a part of the parameters, and updates that part.

All parameters are one vector for each dtype, of which a rank has a slice: this is stage 1 of Rajbhandari et
al., "ZeRO: memory optimizations toward training trillion parameter models" (2020).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tape import errors, tree
from tape.distributed._layout import Layout
from tape.distributed._sums import bounds, gather_slices
from tape.distributed._world import world


class ShardedOptimizer:
    """An elementwise optimizer whose state is divided among ranks.

    Parameters
    ----------
    init : callable
        ``init(p)`` returns the state for a vector of parameters: a tree of arrays of its shape, and of
        numbers, such as how many steps there were.
    update : callable
        ``update(p, g, state)`` returns the new vector and the new state, from the gradient of the same shape
        and dtype. It has to be elementwise: each element depends on those at the same place alone, and on
        numbers. It may overwrite ``p`` and the state, and is called once for each dtype.
    params : tree of numpy.ndarray
        Floats; the same on all ranks.

    Raises
    ------
    DTypeError
        If a leaf is not of floats.

    Examples
    --------
    >>> import numpy as np, tape.distributed
    >>> def momentum(p, g, velocity):
    ...     velocity = 0.5 * velocity + g
    ...     return p - 0.1 * velocity, velocity
    >>> params = {"w": np.array([1.0, 2.0]), "b": np.array(3.0)}
    >>> optimizer = tape.distributed.ShardedOptimizer(np.zeros_like, momentum, params)
    >>> for _ in range(2):
    ...     params = optimizer.step(params, gradient := params)
    >>> params
    {'w': array([0.76, 1.52]), 'b': array(2.28)}
    """

    def __init__(
        self, init: Callable[[np.ndarray], Any], update: Callable[..., tuple[Any, Any]], params: Any
    ) -> None:
        self._ranks, self._update = world(), update
        leaves, structure = tree.flatten(params)
        self._layout = Layout(leaves, structure, "params")
        vectors = self._own(leaves)
        self._states = {char: init(vector) for char, vector in vectors.items()}
        for char, state in self._states.items():
            self._check_state(state, vectors[char])

    def step(self, params: Any, gradients: Any) -> Any:
        """Return the updated parameters, on all ranks.

        Parameters
        ----------
        params : tree of numpy.ndarray
            Like those that the optimizer was made for. Not written to.
        gradients : tree of numpy.ndarray
            Of the same structure, shapes and dtypes; the same on all ranks, as `data_parallel` returns them.

        Returns
        -------
        tree of numpy.ndarray
            The new parameters: parts of one array, of their own.

        Raises
        ------
        ShapeError
            If structure, shapes or dtypes are not those that the optimizer was made for, or ``update``
            changes them.
        RankError
            If another rank has failed, or does something else.
        """
        layout, ranks = self._layout, self._ranks
        mine = []
        for value, name in [(params, "params"), (gradients, "gradients")]:
            leaves, structure = tree.flatten(value)
            if not layout.fits(leaves, structure):
                found = Layout(leaves, structure, name).description
                raise errors.ShapeError(
                    f"{name} are {', '.join(found)}; the optimizer was made for "
                    f"{', '.join(layout.description)}. Pass trees like that"
                )
            mine.append(self._own(leaves))
        updated = {}
        states = {}
        for char, vector in mine[0].items():
            new, states[char] = self._update(vector, mine[1][char], self._states[char])
            if np.shape(new) != vector.shape or np.asarray(new).dtype != vector.dtype:
                raise errors.ShapeError(
                    f"update returned {errors.describe(new)} for {errors.describe(vector)}. Return a vector "
                    "of the same shape and dtype, and the state"
                )
            updated[char] = new
        ranks.enter("update", layout.digest)
        self._states = states
        return layout.unpack({char: self._of_all(char, vector) for char, vector in updated.items()})

    def state(self) -> Any:
        """Return the state of all parameters, on all ranks, to save it.

        Returns
        -------
        dict of str to tree
            The state for the vector of all parameters of a dtype, by the name of the dtype.
        """
        self._ranks.enter("update", self._layout.digest)
        whole = {}
        for char, state in self._states.items():
            length = self._stop(char) - self._start(char)
            whole[np.dtype(char).name] = tree.map(
                lambda leaf, char=char, length=length: (
                    self._of_all(char, leaf) if np.shape(leaf) == (length,) else leaf
                ),
                state,
            )
        return whole

    def restore(self, state: Any) -> None:
        """Go on from a state, which runs on any number of ranks may have saved.

        Parameters
        ----------
        state : dict of str to tree
            A result of `state`; the same on all ranks.

        Raises
        ------
        ShapeError
            If it is the state of other parameters.
        """
        if set(state) != {np.dtype(char).name for char in self._states}:
            raise errors.ShapeError(
                f"a state for {', '.join(state)}; the parameters are {', '.join(self._layout.description)}"
            )
        for char in self._states:
            size, own = self._layout.sizes[char], slice(self._start(char), self._stop(char))
            given = state[np.dtype(char).name]
            for leaf in tree.leaves(given):
                if np.ndim(leaf) and np.shape(leaf) != (size,):
                    raise errors.ShapeError(
                        f"a state with {errors.describe(leaf)}, for {size} parameters of {np.dtype(char)}. "
                        "Restore that of the same model"
                    )
            self._states[char] = tree.map(
                lambda leaf, own=own: leaf[own].copy() if np.ndim(leaf) else leaf, given
            )

    # ---- slices ------------------------------------------------------------------------------------

    def _start(self, char: str) -> int:
        return bounds(self._layout.sizes[char], self._ranks.size)[self._ranks.rank]

    def _stop(self, char: str) -> int:
        return bounds(self._layout.sizes[char], self._ranks.size)[self._ranks.rank + 1]

    def _own(self, leaves: list[Any]) -> dict[str, np.ndarray]:
        """Return the slices of this rank, as arrays of their own."""
        return {
            char: self._layout.slice_of(leaves, char, self._start(char), self._stop(char))
            for char in self._layout.sizes
        }

    def _of_all(self, char: str, own: Any) -> np.ndarray:
        """Return the vector of which each rank has a slice."""
        vector = np.empty(self._layout.sizes[char], np.asarray(own).dtype)
        vector[self._start(char) : self._stop(char)] = own
        gather_slices(self._ranks, vector)
        return vector

    def _check_state(self, state: Any, vector: np.ndarray) -> None:
        for leaf in tree.leaves(state):
            if np.ndim(leaf) and np.shape(leaf) != vector.shape:
                raise errors.ShapeError(
                    f"init returned {errors.describe(leaf)} for {errors.describe(vector)}. A state holds "
                    "arrays of the shape of the parameters, and numbers"
                )
