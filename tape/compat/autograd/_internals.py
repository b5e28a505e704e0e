"""Names of autograd's tracer that do not exist here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tape import errors

_VECTOR_SPACE = "np.zeros_like, np.ones_like, and tape.tree.map and tape.tree.ravel for containers"
_ADVICE = {
    "ArrayVSpace": _VECTOR_SPACE,
    "Box": "isinstance(x, tape.Var); x.value is what a Var stands for",
    "ComplexArrayVSpace": _VECTOR_SPACE,
    "ContainerVSpace": _VECTOR_SPACE,
    "DictBox": "plain dicts, which may hold Vars",
    "JVPNode": "tape.Trace and tape.Node: a trace is a list of its nodes",
    "Node": "tape.Trace and tape.Node: a trace is a list of its nodes",
    "SequenceBox": "plain lists and tuples, which may hold Vars",
    "SparseObject": "plain arrays as gradients",
    "VJPNode": "tape.Trace and tape.Node: a trace is a list of its nodes",
    "VSpace": f"dataclasses for containers of your own; for zeros and ones {_VECTOR_SPACE}",
    "backward_pass": "tape.vjp, or Trace.backward",
    "full_graph": "tape.Trace, which lists, draws and replays what a function does",
    "new_box": "Trace.param",
    "primitive_jvps": "tape.Op, or tape.custom_jvp",
    "primitive_vjps": "tape.Op, or tape.custom_vjp",
    "register_notrace": "notrace_primitive",
    "trace": "tape.Trace",
    "trace_primitives_map": "tape.Op",
    "vspace": _VECTOR_SPACE,
}


def refusing(module: str) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a module, which raises for names that only autograd has.

    Parameters
    ----------
    module : str
        Its name.

    Returns
    -------
    callable

    Raises
    ------
    UnsupportedError
        By the result, with what to use instead. Not an AttributeError, which an import would replace by an
        error without these words.

    Examples
    --------
    >>> from tape.compat.autograd.extend import VSpace
    Traceback (most recent call last):
    tape.errors.UnsupportedError: autograd.extend.VSpace is a part of autograd's tracer, and tape has none...
    """

    def look_up(name: str) -> Any:
        if name in _ADVICE:
            short = module.removeprefix("tape.compat.")
            raise errors.UnsupportedError(
                f"{short}.{name} is a part of autograd's tracer, and tape has none. Use {_ADVICE[name]}"
            )
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return look_up
