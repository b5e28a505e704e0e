"""The operations, one family a file; each declares its forward, vjp and jvp side by side.

The names are NumPy's: here those of its main namespace, in `linalg`, `fft` and `special` those of
`numpy.linalg`, `numpy.fft` and `scipy.special`.

A new operation goes into the file of its family, as one line of `tape.core.elementwise.elementwise` or as a
`tape.Op` with its rules, together with its cost (`tape.inspect.costs.declare_cost`), and gets a line in the
table of that family in ``tests/op_table``. What is no ufunc, or a peculiar one, gets a sample call, too
(`tape.inspect.samples.declare_samples`).

What most functions do not need is imported when one of its names is first looked up: `tape.ops.late`.
"""

import importlib
import typing

from tape.core.numpy_protocol import LATE
from tape.core.table import OPERATIONS
from tape.ops.elementwise.arithmetic import *  # noqa: F403
from tape.ops.elementwise.bits import *  # noqa: F403
from tape.ops.elementwise.complex import *  # noqa: F403
from tape.ops.elementwise.elementary import *  # noqa: F403
from tape.ops.elementwise.limits import *  # noqa: F403
from tape.ops.elementwise.rounding import *  # noqa: F403
from tape.ops.elementwise.selection import *  # noqa: F403
from tape.ops.ordering.sorting import *  # noqa: F403
from tape.ops.products.products import *  # noqa: F403
from tape.ops.products.sparse import *  # noqa: F403
from tape.ops.reduction import methods as _methods  # noqa: F401  # enters itself in the table
from tape.ops.reduction.counting import *  # noqa: F403
from tape.ops.reduction.cross_entropy import *  # noqa: F403
from tape.ops.reduction.cumulative import *  # noqa: F403
from tape.ops.reduction.reductions import *  # noqa: F403
from tape.ops.reduction.softmax import *  # noqa: F403
from tape.ops.reduction.statistics import *  # noqa: F403
from tape.ops.structure.atleast import *  # noqa: F403
from tape.ops.structure.axes import *  # noqa: F403
from tape.ops.structure.choosing import *  # noqa: F403
from tape.ops.structure.creation import *  # noqa: F403
from tape.ops.structure.diagonals import *  # noqa: F403
from tape.ops.structure.indexing import *  # noqa: F403
from tape.ops.structure.joining import *  # noqa: F403
from tape.ops.structure.layout import *  # noqa: F403
from tape.ops.structure.positions import *  # noqa: F403
from tape.ops.structure.repeating import *  # noqa: F403
from tape.ops.structure.shape import *  # noqa: F403
from tape.ops.structure.splitting import *  # noqa: F403
from tape.ops.structure.taking import *  # noqa: F403
from tape.ops.structure.writing import *  # noqa: F403
from tape.ops.updates.at import ufunc_at  # noqa: F401

if typing.TYPE_CHECKING:
    from tape.ops.late import *  # noqa: F403


def __getattr__(name: str) -> typing.Any:
    if not name.startswith("_"):
        late = importlib.import_module("tape.ops.late")
        if hasattr(late, name):
            found = globals()[name] = getattr(late, name)
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *vars(importlib.import_module("tape.ops.late"))})


def _of_late_families(function: typing.Any) -> typing.Any:
    importlib.import_module("tape.ops.late")
    return OPERATIONS.get(function)


LATE.append(_of_late_families)
