"""What the families of distributions share: a generator with its bit generator, copies and pickling."""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np

from tape import errors, ops
from tape.core import streams
from tape.core.node import Handle
from tape.random._draws import Options, Size, numbers


class Base(streams.Source):
    """A generator without distributions.

    Parameters
    ----------
    bit_generator : numpy.random.BitGenerator
        The source of random bits, which is used, not copied.
    """

    def __init__(self, bit_generator: Any) -> None:
        if not isinstance(bit_generator, np.random.BitGenerator):
            raise errors.OptionError(
                f"the source of a generator is {errors.describe(bit_generator)}. Give a bit generator of "
                "NumPy, as np.random.PCG64(seed), or call tape.random.default_rng(seed)"
            )
        self.bits = bit_generator
        self.plain = np.random.Generator(bit_generator)
        self.home = None

    @property
    def bit_generator(self) -> Any:
        """NumPy's bit generator.

        Raises
        ------
        UnsupportedError
            In a compiled function, or in one that derivatives run again: its state is not the present one
            there.
        """
        self._check_alone("bit_generator")
        return self.bits

    def spawn(self, n_children: int) -> list[Self]:
        """Return new independent generators; as `numpy.random.Generator.spawn`.

        Raises
        ------
        UnsupportedError
            In a compiled function, or in one that derivatives run again.
        """
        self._check_alone("spawn")
        return [type(self)(child) for child in self.bits.spawn(n_children)]

    def _check_alone(self, what: str) -> None:
        if streams.is_watched():
            raise errors.UnsupportedError(
                f"{what} of a generator was used in a function that is recorded, mapped or run again, where "
                "the generator stands for its state. Use it outside, and pass generators as arguments"
            )

    def __repr__(self) -> str:
        return f"Generator({type(self.bits).__name__})"

    def __reduce__(self) -> Any:
        self._check_alone("a copy")
        return type(self), (self.bits,)

    def __copy__(self) -> Self:
        return type(self)(self.bits)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        self._check_alone("a copy")
        return type(self)(copy.deepcopy(self.bits, memo))

    # ---- draws ---------------------------------------------------------------------------------------

    def _numbers(self, method: str, *parameters: Any, size: Size = None, options: Options = ()) -> Any:
        """Draw from a distribution whose parameters are plain."""
        return numbers(self, method, parameters, size, options)

    def _standard(
        self,
        method: str,
        shape: tuple[int, ...],
        *parameters: float,
        checks: dict[str, Any] | None = None,
        dtype: Any = None,
    ) -> Any:
        """Draw standard numbers, of which the caller makes a sample; check its parameters."""
        return cast(numbers(self, method, parameters, shape, checks=tuple((checks or {}).items())), dtype)

    def _filled(self, name: str, out: Any, /, *parameters: Any, **keywords: Any) -> Any:
        """Draw into an array, outside of compiled functions."""
        self._check_alone(f"{name} with out=")
        return getattr(self.plain, name)(*parameters, out=out, **keywords)


def has_vars(*parameters: Any) -> bool:
    """Return whether there is a Var among some parameters."""
    return any(isinstance(parameter, Handle) for parameter in parameters)


def cast(value: Any, dtype: Any) -> Any:
    """Return a sample in another dtype, if one is asked for."""
    if dtype is None or np.result_type(value) == dtype:
        return value
    if np.dtype(dtype).kind != "f":
        raise errors.DTypeError(f"dtype is {dtype}. Samples of continuous distributions are floats")
    return ops.astype(value, np.dtype(dtype))
