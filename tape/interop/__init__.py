"""Functions of tape inside of other libraries' graphs: `to_torch`, `to_jax` and `to_pytensor`.

The derivative that such a library asks for is computed by tape, and is such a function again: so derivatives
of any order pass. The libraries stay what they are for everything around.
"""

from tape.interop._jax import to_jax
from tape.interop._pytensor import to_pytensor
from tape.interop._torch import to_torch

__all__ = ["to_jax", "to_pytensor", "to_torch"]
