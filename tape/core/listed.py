"""A recording as the list of its nodes: by position and in order, its params, and nodes put there by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn, overload

from tape import errors
from tape.core.node import Node
from tape.core.param_trees import Params
from tape.core.recording import Recording
from tape.core.table import INTERNAL
from tape.core.var import Var
from tape.inspect.words import counted


class Listed(Recording):
    """The base of `Trace` that is the list of its nodes."""

    __slots__ = ()

    # ---- looking -------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.nodes)

    def __bool__(self) -> bool:
        return True  # an empty tape is a tape all the same

    @overload
    def __getitem__(self, index: int) -> Var: ...
    @overload
    def __getitem__(self, index: slice) -> list[Var]: ...
    def __getitem__(self, index: int | slice) -> Var | list[Var]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self.nodes)))]
        try:
            id = range(len(self.nodes))[index]
        except IndexError:
            raise errors.OutOfBoundsError(
                f"node {index} of {self!r}: ids run from 0 to {len(self.nodes) - 1}"
            ) from None
        return self.var_type(self.ref, id, self.nodes[id])

    def __iter__(self) -> Iterator[Var]:
        return (self[i] for i in range(len(self.nodes)))

    @property
    def params(self) -> Params:
        """The params, a list in the order they were made; called with a model, it makes params of its arrays.

        See `tape.core.param_trees.Params`.

        Examples
        --------
        >>> import numpy as np, tape
        >>> tr = tape.Trace()
        >>> model = tr.params({"w": np.array([1.0, 2.0]), "b": 3.0})
        >>> tr.params
        [Var(3.0, name="['b']", id=0), Var([1. 2.], name="['w']", id=1)]
        """
        pairs = zip(self._handles, self._params, strict=True)
        return Params(self, [handle if handle.id == id else self[id] for handle, id in pairs])

    def __repr__(self) -> str:
        name = self.name or f"{id(self):#x}"
        return f"<Trace {name}: {counted(len(self.nodes), 'node')}, {counted(len(self._params), 'param')}>"

    def __copy__(self, *ignored: object) -> NoReturn:
        raise errors.UnsupportedError(
            f"{self!r} cannot be copied or pickled: its Vars belong to it alone. Record again, or replay"
        )

    __deepcopy__ = __reduce_ex__ = __copy__

    # ---- writing -------------------------------------------------------------------------------

    def append(
        self,
        value: Any,
        parents: Sequence[Var],
        vjp: Callable[[Any], Sequence[Any]] | None = None,
        name: str | None = None,
    ) -> Var:
        """Append a node by hand: a value that was computed elsewhere, with its derivative.

        Parameters
        ----------
        value : array_like of numbers or bools
            Any shape.
        parents : sequence of Var
            What it was computed from, on this trace.
        vjp : callable, optional
            ``vjp(adjoint)``: a contribution for each parent, of its shape, or None where nothing flows.
            Written in NumPy calls, it is itself differentiated. Without it, the node is a constant to
            derivatives.
        name : str, optional
            For messages, listings and pictures.

        Returns
        -------
        Var

        Raises
        ------
        TraceMismatchError
            If a parent is not a Var of this trace.
        DTypeError
            If ``value`` holds neither numbers nor bools.
        UnsupportedError
            In a `replay`, which cannot compute the value anew.

        Examples
        --------
        >>> import numpy as np, tape
        >>> tr = tape.Trace()
        >>> x = tr.param(np.array([1.0, 2.0]))
        >>> y = tr.append(x.value**3, [x], lambda g: [g * 3 * x.value**2], name="cube")
        >>> tr.backward_param_grads(y)
        [array([ 3., 12.])]
        """
        return INTERNAL["append"](self, value, parents, vjp, name)

    def replace(self, nodes: list[Node], place: Mapping[int, int]) -> None:
        """Take other nodes, which compute the same: ``place`` says where each param is. Handles go stale."""
        self.nodes[:] = nodes
        self._params = [place[id] for id in self._params]
