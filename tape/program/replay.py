"""`Trace.compile`: an existing tape and its reverse sweep as a program."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from tape import errors
from tape.core.checks import fail_unreached, start_of
from tape.core.forward import rerun
from tape.core.node import Handle, Leaf
from tape.core.table import INTERNAL
from tape.core.trace import Trace
from tape.core.var import Var
from tape.program.program import Program
from tape.program.record.recording import record
from tape.program.runtime.run import Flip, Rerun
from tape.transforms._merge import merge


class TraceProgram(Program):
    """The value of a root and the gradients of all params, for the present leaves of a trace.

    Examples
    --------
    >>> import tape
    >>> tr = tape.Trace()
    >>> w, x = tr.param(2.0), tr.input(3.0)
    >>> program = tr.compile(w * w * x)
    >>> program.run()
    (np.float64(12.0), [np.float64(12.0)])
    >>> tr.set(x, 5.0)
    >>> program.run()
    (np.float64(20.0), [np.float64(20.0)])
    """

    _nodes: list[Leaf]
    _eager: Any

    @property
    def present(self) -> tuple[Any, ...]:
        """The present values of the params and inputs of the trace, in the order of the tape."""
        return tuple([node.value for node in self._nodes])

    def run(self, leaves: tuple[Any, ...] | None = None) -> Any:
        """Run on the present leaves, or on others.

        Parameters
        ----------
        leaves : tuple, optional
            By default `present`.

        Returns
        -------
        tuple
            The value of the root, and the list of gradients of `Trace.backward_param_grads`. Leaves of other
            shapes are run eagerly, and so are all while machine code is being compiled.

        Raises
        ------
        ShapeError
            If a shape that data decide, as of ``x[mask]``, is another one than in the trace.
        """
        given = self.present if leaves is None else leaves
        if self._call is None and not self.is_encoded():
            return self._eager(*given)
        try:
            out = super().run(given)
        except Rerun:
            return self._eager(*given)
        if isinstance(out, Flip):  # a tape has no branches, but shapes that data decide
            found, recorded = (
                f"{np.dtype(dtype)}{list(shape)}"
                for dtype, *shape in (out.outcome, self.ir.guards[out.index].outcome)
            )
            raise errors.ShapeError(
                f"{self.name}: a shape or dtype that data decide, as of x[mask], is {found} with these "
                f"leaves, and {recorded} in the program. Compile the function itself with tape.compile, "
                "which records each, or record the trace anew"
            )
        return out[0], out[1:]

    def __reduce__(self) -> NoReturn:
        raise errors.UnsupportedError(
            f"{self!r} cannot be pickled or copied: it reads the leaves of its trace. What save writes is a "
            "program that takes them as arguments"
        )


def compile_trace(trace: Trace, root: Var) -> TraceProgram:
    """Implement `Trace.compile`."""
    root_id, seed = start_of(trace, root, None)
    if trace.taken is not None:
        trace.taken.warn("compile", root_id, inactive=True)
    gradients = trace.pull_back_by_nodes({root_id: seed})  # of leaves that are arguments of the program
    if any(gradient is None for gradient in gradients):
        fail_unreached(root, trace.params, gradients)
    ids = [id for id, node in enumerate(trace.nodes[: root.id + 1]) if node.op is None]
    leaves = [trace.nodes[id] for id in ids]
    for id, leaf in zip(ids, leaves, strict=True):
        if isinstance(leaf.value, Handle):
            raise errors.UnsupportedError(
                f"leaf %{id} of {trace!r} is {leaf.value!r}, of an enclosing trace. Compile a function with "
                "tape.compile instead, and pass it as an argument"
            )

    def value_and_gradients(*values: Any) -> Any:
        inner = Trace(trace.name)
        with inner:
            made = [
                inner.param(value) if leaf.is_param else inner.input(value)
                for leaf, value in zip(leaves, values, strict=True)
            ]
        (again,) = rerun(trace.nodes, dict(zip(ids, made, strict=True)), [root.id], where=trace)
        again = merge(inner, again)
        gradients = inner.backward_param_grads(again)
        return again.value, gradients

    values = tuple([leaf.value if np.ndim(leaf.value) else leaf.value[()] for leaf in leaves])
    recorded = record(value_and_gradients, values, {}, "value_and_gradients")
    program = TraceProgram(recorded, name=trace.name or "trace", is_patient=True)
    program._nodes, program._eager = leaves, value_and_gradients  # type: ignore[assignment]
    return program


INTERNAL["compile"] = compile_trace
