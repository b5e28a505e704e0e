"""The operations, one family a file; each declares its forward, vjp and jvp side by side.

Where a new one goes: into the file of its family, as one `tape.op.elementwise` line or an
`tape.op.Op` with its rules, and as one line into the table in ``tests/op_table.py``.
"""

from tape.ops.arithmetic import *  # noqa: F403
from tape.ops.elementary import *  # noqa: F403
from tape.ops.indexing import *  # noqa: F403
from tape.ops.joining import *  # noqa: F403
from tape.ops.linear import *  # noqa: F403
from tape.ops.reductions import *  # noqa: F403
from tape.ops.selection import *  # noqa: F403
from tape.ops.shape import *  # noqa: F403
from tape.ops.softmax import *  # noqa: F403
