"""Functions of tape inside of other libraries' graphs: `to_torch` and `to_jax`.

The derivative that PyTorch or JAX asks for is computed by tape, and is such a function again: so derivatives
of any order pass. Both libraries stay what they are for everything around.
"""

from tape.interop._jax import to_jax
from tape.interop._torch import to_torch

__all__ = ["to_jax", "to_torch"]
