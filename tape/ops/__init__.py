"""The operations, one family a file; each declares its forward, vjp and jvp side by side.

The names are NumPy's: here those of its main namespace, in `linalg`, `fft` and `special` those of
`numpy.linalg`, `numpy.fft` and `scipy.special`.

Where a new one goes: into the file of its family, as one `tape.functions.elementwise` line or a
`tape.op.Op` with its rules, and as one line into the table of that family in ``tests/op_table``.
"""

from tape.ops import fft, linalg, special  # noqa: F401
from tape.ops.applying import *  # noqa: F403
from tape.ops.arithmetic import *  # noqa: F403
from tape.ops.axes import *  # noqa: F403
from tape.ops.bits import *  # noqa: F403
from tape.ops.choosing import *  # noqa: F403
from tape.ops.complex import *  # noqa: F403
from tape.ops.counting import *  # noqa: F403
from tape.ops.creation import *  # noqa: F403
from tape.ops.cumulative import *  # noqa: F403
from tape.ops.diagonals import *  # noqa: F403
from tape.ops.differences import *  # noqa: F403
from tape.ops.editing import *  # noqa: F403
from tape.ops.einsum import *  # noqa: F403
from tape.ops.elementary import *  # noqa: F403
from tape.ops.fitting import *  # noqa: F403
from tape.ops.histograms import *  # noqa: F403
from tape.ops.indexing import *  # noqa: F403
from tape.ops.joining import *  # noqa: F403
from tape.ops.limits import *  # noqa: F403
from tape.ops.linalg import solve  # noqa: F401
from tape.ops.nanreductions import *  # noqa: F403
from tape.ops.normal import erf  # noqa: F401
from tape.ops.padding import *  # noqa: F403
from tape.ops.polynomials import *  # noqa: F403
from tape.ops.positions import *  # noqa: F403
from tape.ops.products import *  # noqa: F403
from tape.ops.quantiles import *  # noqa: F403
from tape.ops.reductions import *  # noqa: F403
from tape.ops.repeating import *  # noqa: F403
from tape.ops.roots import *  # noqa: F403
from tape.ops.rounding import *  # noqa: F403
from tape.ops.selection import *  # noqa: F403
from tape.ops.sets import *  # noqa: F403
from tape.ops.shape import *  # noqa: F403
from tape.ops.signal import *  # noqa: F403
from tape.ops.softmax import *  # noqa: F403
from tape.ops.sorting import *  # noqa: F403
from tape.ops.spacing import *  # noqa: F403
from tape.ops.splitting import *  # noqa: F403
from tape.ops.spreads import *  # noqa: F403
from tape.ops.statistics import *  # noqa: F403
from tape.ops.taking import *  # noqa: F403
from tape.ops.tensors import *  # noqa: F403
from tape.ops.windows import *  # noqa: F403
