"""What is imported when one of its operations is first needed: half of all.

`tape.ops` has these names as well, and `tape.core.numpy_protocol` finds here what is not in the table yet.
"""

from tape.ops import fft, linalg, nn, special  # noqa: F401
from tape.ops.linalg import solve  # noqa: F401
from tape.ops.ordering.sets import *  # noqa: F403
from tape.ops.polynomials.fitting import *  # noqa: F403
from tape.ops.polynomials.polynomials import *  # noqa: F403
from tape.ops.polynomials.roots import *  # noqa: F403
from tape.ops.polynomials.vandermonde import *  # noqa: F403
from tape.ops.products.einsum import *  # noqa: F403
from tape.ops.products.outer import *  # noqa: F403
from tape.ops.products.signal import *  # noqa: F403
from tape.ops.products.tensors import *  # noqa: F403
from tape.ops.reduction.bins import *  # noqa: F403
from tape.ops.reduction.differences import *  # noqa: F403
from tape.ops.reduction.histograms import *  # noqa: F403
from tape.ops.reduction.integrals import *  # noqa: F403
from tape.ops.reduction.nanreductions import *  # noqa: F403
from tape.ops.reduction.quantiles import *  # noqa: F403
from tape.ops.reduction.spreads import *  # noqa: F403
from tape.ops.reduction.traces import *  # noqa: F403
from tape.ops.special.normal import erf  # noqa: F401
from tape.ops.special.windows import *  # noqa: F403
from tape.ops.structure.applying import *  # noqa: F403
from tape.ops.structure.blocks import *  # noqa: F403
from tape.ops.structure.editing import *  # noqa: F403
from tape.ops.structure.padding import *  # noqa: F403
from tape.ops.structure.rolling import *  # noqa: F403
from tape.ops.structure.spacing import *  # noqa: F403
