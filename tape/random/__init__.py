"""Random numbers with derivatives: NumPy's generators, whose samples move with the parameters.

`Generator` has the names and signatures of `numpy.random.Generator` and, with plain parameters, its numbers.
Where a parameter is a Var, the sample is a Var: differentiable by loc, scale, low, high, and by shapes
through implicit reparametrisation (Figurnov, Mohamed, Mnih 2018). In a compiled function it draws anew in
each call, and its state afterwards is that after plain Python; the function may return it. Under `tape.vmap`
each example draws numbers of its own.

Examples
--------
>>> import numpy as np, tape
>>> rng = tape.random.default_rng(0)
>>> rng.normal(size=2), np.random.default_rng(0).normal(size=2)
(array([ 0.12573022, -0.13210486]), array([ 0.12573022, -0.13210486]))
>>> @tape.compile
... @tape.grad
... def slope(scale, rng):
...     return np.mean(rng.normal(0.0, scale, size=10_000) ** 2)
>>> [round(float(slope(1.0, rng)), 2) for _ in range(3)]  # of the expectation: 2
[1.99, 1.98, 2.0]
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import MT19937, PCG64, PCG64DXSM, SFC64, BitGenerator, Philox, SeedSequence

from tape import errors
from tape.core import streams
from tape.core.node import Handle
from tape.random import _files as _files  # draws in files of programs
from tape.random._continuous import Continuous
from tape.random._discrete import Discrete

__all__ = [
    "MT19937", "PCG64", "PCG64DXSM", "SFC64", "BitGenerator", "Generator", "Philox", "SeedSequence",
    "default_rng",
]  # fmt: skip


class Generator(Continuous, Discrete):
    """A generator of random numbers that records: see `tape.random`.

    Parameters
    ----------
    bit_generator : numpy.random.BitGenerator
        The source of random bits. Generators of one bit generator share its state, NumPy's too.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.random.Generator(np.random.Philox(1)).integers(10, size=3)
    array([4, 0, 1])
    """

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the bit generator, by which `tape.train.fit` saves it.

        Returns
        -------
        dict
            As ``bit_generator.state`` of NumPy.

        Examples
        --------
        >>> import tape
        >>> draws = tape.random.default_rng(0)
        >>> state = draws.state_dict()
        >>> first = draws.normal()
        >>> draws.load_state_dict(state)
        >>> bool(draws.normal() == first)
        True
        """
        return dict(self.bit_generator.state)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a state of `state_dict`.

        Parameters
        ----------
        state : dict
            Of a bit generator of the same kind.

        Raises
        ------
        CheckpointError
            If it is of another kind.
        """
        here, there = type(self.bit_generator).__name__, state["bit_generator"]
        if here != there:
            raise errors.CheckpointError(f"the generator is a {here}, and the state that of a {there}")
        self.bit_generator.state = state


def default_rng(seed: Any = None) -> Generator:
    """Return a generator; as `numpy.random.default_rng`.

    Parameters
    ----------
    seed : int, sequence of int, SeedSequence, BitGenerator, Generator or None
        None for one that is different each time. Of a generator or a bit generator, its state is shared.

    Returns
    -------
    Generator

    Raises
    ------
    UnsupportedError
        If there is no seed in a function that is recorded: it would be the same in every call.

    Examples
    --------
    >>> import tape
    >>> tape.random.default_rng(0).integers(10, size=3)
    array([8, 6, 5])
    """
    if isinstance(seed, Generator):
        return seed
    if isinstance(seed, np.random.Generator):
        return Generator(seed.bit_generator)
    if isinstance(seed, np.random.BitGenerator):
        return Generator(seed)
    if isinstance(seed, Handle):
        raise errors.DTypeError(
            f"the seed is {errors.describe(seed)}, which is recorded. Make the generator outside, and pass it"
        )
    if seed is None and streams.is_watched():
        raise errors.UnsupportedError(
            "default_rng without a seed was called in a function that is recorded or run again: another "
            "generator each time. Make it outside, and pass it or close over it"
        )
    made = Generator(np.random.default_rng(seed).bit_generator)
    if not isinstance(seed, np.random.RandomState):  # whose bits it shares
        made.home = streams.innermost()
    return made
