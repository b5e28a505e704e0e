"""What a checkpoint holds as JSON and arrays: numbers, strings, arrays, generators, objects with a state.

No pickle: a file from elsewhere can hold data only. Two places with one array are one array again.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np

from tape import errors
from tape.conversion.foreign import complaint
from tape.core.node import Handle

Node = Any
"""A part of the JSON: a plain value, a list, or a dict of one entry that says what it stands for."""


@runtime_checkable
class Stateful(Protocol):
    """An object that says its state as nested dicts, lists, arrays and numbers, and takes it back."""

    def state_dict(self) -> Any:
        """Return the state."""

    def load_state_dict(self, state: Any) -> Any:
        """Take over a state."""


class Encoder:
    """Converts values to JSON, and collects their arrays.

    Attributes
    ----------
    arrays : list of numpy.ndarray
        What the JSON refers to by number.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.train._encoding import Decoder, Encoder
    >>> encoder = Encoder()
    >>> encoder.encode({"w": np.ones(2), "steps": (1, 2.5)}, "state")
    {'dict': [['w', {'array': 0}], ['steps', {'tuple': [1, 2.5]}]]}
    >>> Decoder(encoder.arrays).decode(_)
    {'w': array([1., 1.]), 'steps': (1, 2.5)}
    """

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self._numbers: dict[int, tuple[int, Any]] = {}  # the array is held, so that no other gets its id

    def encode(self, value: Any, name: str) -> Node:
        """Return a value as JSON.

        Parameters
        ----------
        value : Any
            None, a bool, number, string, array, NumPy scalar or generator, an object with ``state_dict`` and
            ``load_state_dict``, or a dict, list or tuple of such.
        name : str
            Its name in messages.

        Raises
        ------
        DTypeError
            If it is something else.
        ConversionError
            If it is a Var.
        """
        if value is None or type(value) in (bool, int, float, str):
            return value
        if isinstance(value, Handle):
            raise errors.ConversionError(f"{name} is {value!r}. Save its .value")
        if isinstance(value, np.generic):
            return {"scalar": self._add(np.asarray(value))}
        if isinstance(value, np.ndarray) and complaint(value) is None and not value.dtype.hasobject:
            return self._encode_array(value)
        if type(value) is complex:
            return {"complex": [value.real, value.imag]}
        if isinstance(value, np.random.Generator):
            return {"generator": self.encode(value.bit_generator.state, name)}
        if type(value) in (list, tuple):
            parts = [self.encode(part, f"{name}[{i}]") for i, part in enumerate(value)]
            return parts if type(value) is list else {"tuple": parts}
        if type(value) is dict and all(type(key) in (str, int) for key in value):
            return {"dict": [[key, self.encode(part, f"{name}[{key!r}]")] for key, part in value.items()]}
        if isinstance(value, Stateful) and not isinstance(value, type):
            return {"state": self.encode(value.state_dict(), name)}
        raise errors.DTypeError(
            f"{name} is {type(value).__name__} {errors.describe(value)}, which a checkpoint cannot hold. It "
            "holds arrays, numbers, strings, generators of random numbers, and objects with the methods "
            "state_dict and load_state_dict"
        )

    def _encode_array(self, array: np.ndarray) -> Node:
        """Keep the order of axes in memory too: sums and products round by it."""
        order = sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]))
        if array.flags.c_contiguous or order == list(range(array.ndim)):
            return {"array": self._add(array)}
        return {"array": self._add(array, order), "axes": order}

    def _add(self, array: np.ndarray, order: list[int] | None = None) -> int:
        if id(array) not in self._numbers:
            stored = np.ascontiguousarray(array if order is None else array.transpose(order))
            self._numbers[id(array)] = len(self.arrays), array
            self.arrays.append(stored.reshape(array.shape if order is None else stored.shape))
        return self._numbers[id(array)][0]


class Decoder:
    """Converts JSON of an `Encoder` back to values."""

    def __init__(self, arrays: list[np.ndarray]) -> None:
        self._arrays = arrays
        self._made: dict[int, np.ndarray] = {}

    def decode(self, node: Node) -> Any:
        """Return the value of a part of the JSON; of an object with a state only the state.

        Generators are new ones.
        """
        if isinstance(node, list):
            return [self.decode(part) for part in node]
        if not isinstance(node, dict):
            return node
        kind = next(iter(node))
        content = node[kind]
        match kind:
            case "array":
                return self._array(content, node.get("axes"))
            case "scalar":
                return self._arrays[content][()]
            case "complex":
                return complex(*content)
            case "tuple":
                return tuple([self.decode(part) for part in content])
            case "dict":
                return {key: self.decode(part) for key, part in content}
            case "generator":
                return _generator(self.decode(content))
            case "state":
                return self.decode(content)
        raise ValueError(f"unknown kind {kind!r}")

    def _array(self, number: int, axes: list[int] | None) -> np.ndarray:
        if number not in self._made:
            array = self._arrays[number]
            self._made[number] = array if axes is None else array.transpose(np.argsort(axes))
        return self._made[number]


def restore_generator(generator: np.random.Generator, saved: np.random.Generator, name: str) -> None:
    """Set a generator to the state of another one.

    Raises
    ------
    CheckpointError
        If they are of different kinds.
    """
    here, there = (type(each.bit_generator).__name__ for each in (generator, saved))
    if here != there:
        raise errors.CheckpointError(f"{name} is a {here}, and was saved from a {there}. Make it as before")
    generator.bit_generator.state = saved.bit_generator.state


_BIT_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")


def _generator(state: Any) -> np.random.Generator:
    if state["bit_generator"] not in _BIT_GENERATORS:  # a file names it: nothing else is looked up
        raise ValueError(f"unknown generator {state['bit_generator']!r}")
    made = getattr(np.random, state["bit_generator"])(0)
    made.state = state
    return np.random.Generator(made)
