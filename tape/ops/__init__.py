"""The operations, one family a file; each declares its forward, vjp and jvp side by side.

The names are NumPy's: here those of its main namespace, in `linalg`, `fft` and `special` those of
`numpy.linalg`, `numpy.fft` and `scipy.special`.

A new operation goes into the file of its family, as one line of `tape.core.elementwise.elementwise` or as a
`tape.Op` with its rules, together with its cost (`tape.inspect.costs.declare_cost`), and gets a line in the
table of that family in ``tests/op_table``. What is no ufunc, or a peculiar one, gets a sample call, too
(`tape.inspect.samples.declare_samples`).
"""

from tape.ops import fft, linalg, nn, special  # noqa: F401
from tape.ops.elementwise.arithmetic import *  # noqa: F403
from tape.ops.elementwise.bits import *  # noqa: F403
from tape.ops.elementwise.complex import *  # noqa: F403
from tape.ops.elementwise.elementary import *  # noqa: F403
from tape.ops.elementwise.limits import *  # noqa: F403
from tape.ops.elementwise.rounding import *  # noqa: F403
from tape.ops.elementwise.selection import *  # noqa: F403
from tape.ops.linalg import solve  # noqa: F401
from tape.ops.ordering.sets import *  # noqa: F403
from tape.ops.ordering.sorting import *  # noqa: F403
from tape.ops.polynomials.fitting import *  # noqa: F403
from tape.ops.polynomials.polynomials import *  # noqa: F403
from tape.ops.polynomials.roots import *  # noqa: F403
from tape.ops.polynomials.vandermonde import *  # noqa: F403
from tape.ops.products.einsum import *  # noqa: F403
from tape.ops.products.outer import *  # noqa: F403
from tape.ops.products.products import *  # noqa: F403
from tape.ops.products.signal import *  # noqa: F403
from tape.ops.products.sparse import *  # noqa: F403
from tape.ops.products.tensors import *  # noqa: F403
from tape.ops.reduction import methods as _methods  # noqa: F401  # enters itself in the table
from tape.ops.reduction.bins import *  # noqa: F403
from tape.ops.reduction.counting import *  # noqa: F403
from tape.ops.reduction.cross_entropy import *  # noqa: F403
from tape.ops.reduction.cumulative import *  # noqa: F403
from tape.ops.reduction.differences import *  # noqa: F403
from tape.ops.reduction.histograms import *  # noqa: F403
from tape.ops.reduction.integrals import *  # noqa: F403
from tape.ops.reduction.nanreductions import *  # noqa: F403
from tape.ops.reduction.quantiles import *  # noqa: F403
from tape.ops.reduction.reductions import *  # noqa: F403
from tape.ops.reduction.softmax import *  # noqa: F403
from tape.ops.reduction.spreads import *  # noqa: F403
from tape.ops.reduction.statistics import *  # noqa: F403
from tape.ops.reduction.traces import *  # noqa: F403
from tape.ops.special.normal import erf  # noqa: F401
from tape.ops.special.windows import *  # noqa: F403
from tape.ops.structure.applying import *  # noqa: F403
from tape.ops.structure.atleast import *  # noqa: F403
from tape.ops.structure.axes import *  # noqa: F403
from tape.ops.structure.blocks import *  # noqa: F403
from tape.ops.structure.choosing import *  # noqa: F403
from tape.ops.structure.creation import *  # noqa: F403
from tape.ops.structure.diagonals import *  # noqa: F403
from tape.ops.structure.editing import *  # noqa: F403
from tape.ops.structure.indexing import *  # noqa: F403
from tape.ops.structure.joining import *  # noqa: F403
from tape.ops.structure.layout import *  # noqa: F403
from tape.ops.structure.padding import *  # noqa: F403
from tape.ops.structure.positions import *  # noqa: F403
from tape.ops.structure.repeating import *  # noqa: F403
from tape.ops.structure.rolling import *  # noqa: F403
from tape.ops.structure.shape import *  # noqa: F403
from tape.ops.structure.spacing import *  # noqa: F403
from tape.ops.structure.splitting import *  # noqa: F403
from tape.ops.structure.taking import *  # noqa: F403
from tape.ops.structure.writing import *  # noqa: F403
from tape.ops.updates.at import ufunc_at  # noqa: F401
