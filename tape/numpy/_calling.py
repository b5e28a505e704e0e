"""Functions that visit the elements of an array in Python."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np

from tape import ops
from tape.core.node import Handle
from tape.errors import ShapeError, UnsupportedError
from tape.numpy._conversion import array, asarray


def ndenumerate(arr: Any) -> Any:
    """Iterate over the indices and elements of an array.

    Parameters
    ----------
    arr : array_like or Var
        Any shape.

    Returns
    -------
    iterator
        Pairs of a tuple of int, and a number or a Var.

    Examples
    --------
    >>> import tape, tape.numpy as np
    >>> tr = tape.Trace()
    >>> x = tr.param([1.0, 2.0])
    >>> [index for index, element in np.ndenumerate(x)]
    [(0,), (1,)]
    """
    arr = asarray(arr)
    shape = arr.shape
    if not isinstance(arr, Handle):
        return np.ndenumerate(arr)
    return ((index, ops.getitem(arr, index)) for index in np.ndindex(shape))


class vectorize(np.vectorize):
    """Like `numpy.vectorize`, and calls the function with elements of Vars, one at a time, too.

    As in NumPy, unless ``otypes`` is given, all results get the dtype of the first one: a function whose
    first result is the int 0 returns ints, which have no derivative.

    Raises
    ------
    UnsupportedError
        When called with a Var, if there is a ``signature``.
    ShapeError
        When called with a Var if there are no elements, or the function returns arrays.

    Examples
    --------
    >>> import tape, tape.numpy as np
    >>> relu = np.vectorize(lambda x: x if x > 0 else 0.0)
    >>> tape.grad(lambda x: np.sum(relu(x)))(np.array([-1.0, 2.0]))
    array([0., 1.])
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function for each element of the arguments, broadcast against each other."""
        given: dict[Any, Any] = dict(chain(enumerate(args), kwargs.items()))
        if not any(isinstance(argument, Handle) for argument in given.values()):
            return super().__call__(*args, **kwargs)
        if self.signature is not None:
            raise UnsupportedError(
                "vectorize: a signature does not support Vars. Write a loop and np.stack the results"
            )
        varying = {key: asarray(part) for key, part in given.items() if key not in self.excluded}
        shape = np.broadcast_shapes(*(part.shape for part in varying.values()))
        flat = {key: ops.ravel(ops.broadcast_to(part, shape)) for key, part in varying.items()}
        results = []
        for k in range(int(np.prod(shape))):
            here = given | {key: part[k] for key, part in flat.items()}
            results.append(
                self.pyfunc(*(here[i] for i in range(len(args))), **{key: here[key] for key in kwargs})
            )
        if not results:
            raise ShapeError("vectorize: there are no elements to call the function with. Return early")
        if not isinstance(results[0], tuple):
            return self._whole(results, shape, 0)
        return tuple(self._whole(parts, shape, k) for k, parts in enumerate(zip(*results, strict=True)))

    def _whole(self, results: Any, shape: tuple[int, ...], position: int) -> Any:
        """Return the results for all elements as an array."""
        dtype = np.dtype(self.otypes[position]) if self.otypes else np.result_type(array(results[0]))
        return ops.reshape(array(list(results), dtype), shape)
