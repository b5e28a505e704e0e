"""`sparse_jacobian`, `sparse_hessian` and `sparsity`: derivatives as SciPy's sparse arrays.

A derivative is one compiled function. While it is recorded, the pattern is found and coloured, and what the
pattern depends on becomes guards: so each path has a structure of its own, and a call runs one program, with
one sweep for each colour, all as one batch. This file never imports SciPy before a derivative is called.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tape import errors, ops, tree
from tape.core.dispatch import need_numbers, recorder
from tape.core.interpreter import OPEN
from tape.core.node import Handle, plain
from tape.interpreters.batching import Lanes
from tape.program.compiled import compile
from tape.transforms._derived import Derived
from tape.transforms._record import Argnums, Recording, check_callable, dtype_of, name_of
from tape.transforms.grad import gradient_of
from tape.transforms.jacobian import _BATCH_ELEMENTS, Mode

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from tape.sparse.dependence import Read
    from tape.sparse.structure import Structure

Recovery = Literal["direct", "indirect"]

_ARRAYS = frozenset((np.ndarray,))


def sparse_jacobian(
    f: Callable[..., Any], argnums: Argnums = 0, mode: Mode = "auto", *, pattern: Any = None
) -> SparseDerivative:
    """Return a function that computes the Jacobian of ``f`` as a sparse array.

    The first call finds the pattern and colours it; later ones run one program. Columns without a common row
    are swept together in forward mode, or rows without a common column in reverse mode.

    Parameters
    ----------
    f : callable
        Plain NumPy code; arguments and result are trees of real numbers.
    argnums : int or tuple of int
        The positional arguments to differentiate with respect to.
    mode : {"auto", "fwd", "rev"}
        The default takes the mode with fewer sweeps.
    pattern : sparse or dense matrix, optional
        Where elements may differ from zero, of the shape of the result; by default it is found. One that
        leaves out elements is an error when a program is recorded, as far as these differ from zero there.

    Returns
    -------
    SparseDerivative
        A function with the arguments of ``f`` that returns a `scipy.sparse.csr_array`, with a row for each
        element of the result and a column for each element of the arguments, in the order of the leaves of
        trees, and of elements in C order. Elements of the pattern that happen to be zero are stored.

    Raises
    ------
    DTypeError
        When called, as `jacobian`; and if arguments or results are complex.
    ConversionError
        When called, with Vars: SciPy's arrays hold plain numbers.
    UnsupportedError
        When called, if the pattern is too large to be sparse.
    DerivativeError
        When called, if a given pattern leaves out elements.

    Examples
    --------
    >>> import numpy as np, tape
    >>> jacobian = tape.sparse_jacobian(lambda x: x[1:] * x[:-1])
    >>> jacobian(np.array([1.0, 2.0, 3.0])).toarray()
    array([[2., 1., 0.],
           [0., 3., 2.]])
    >>> jacobian.structure(np.ones(1000))
    <Structure 999 x 1000: 1998 nonzeros (0.20%), 2 colours of columns>
    """
    if mode not in ("auto", "fwd", "rev"):
        raise errors.OptionError(f"sparse_jacobian: mode must be 'auto', 'fwd' or 'rev', not {mode!r}")
    check_callable(f, "sparse_jacobian")
    return SparseDerivative(
        sparse_jacobian, f, argnums, {"mode": mode, "pattern": pattern}, mode, None, pattern
    )


def sparse_hessian(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    recovery: Recovery = "direct",
    pattern: Any = None,
) -> SparseDerivative:
    """Return a function that computes the Hessian of ``f``, which returns a scalar, as a sparse array.

    As `sparse_jacobian`, forward over reverse, with a colouring that makes use of the symmetry.

    Parameters
    ----------
    f : callable
        Plain NumPy code.
    argnums : int or tuple of int
        The positional arguments to differentiate with respect to.
    recovery : {"direct", "indirect"}
        With a star colouring every element is read directly. An acyclic colouring takes fewer sweeps, and
        elements follow by substitution, whose rounding errors add up along chains of elements.
    pattern : sparse or dense matrix, optional
        As for `sparse_jacobian`; its transpose is added.

    Returns
    -------
    SparseDerivative
        A function with the arguments of ``f`` that returns a `scipy.sparse.csr_array`, exactly symmetric,
        with a row and a column for each element of the arguments.

    Raises
    ------
    ShapeError
        When called, as `grad`.
    DTypeError, ConversionError, UnsupportedError, DerivativeError
        When called, as `sparse_jacobian`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> def rosenbrock(x):
    ...     return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    >>> hessian = tape.sparse_hessian(rosenbrock)
    >>> hessian(np.array([1.0, 0.5])).toarray()
    array([[1002., -400.],
           [-400.,  200.]])
    >>> hessian.structure(np.zeros(1000))
    <Structure 1000 x 1000: 2998 nonzeros (0.30%), 3 colours of a star colouring>
    """
    if recovery not in ("direct", "indirect"):
        raise errors.OptionError(f"sparse_hessian: recovery must be 'direct' or 'indirect', not {recovery!r}")
    check_callable(f, "sparse_hessian")
    options = {"recovery": recovery, "pattern": pattern}
    return SparseDerivative(sparse_hessian, f, argnums, options, "fwd", recovery, pattern)


def sparsity(f: Callable[..., Any], argnums: Argnums = 0, *, order: int = 1) -> Callable[..., Any]:
    """Return a function that finds where the Jacobian of ``f``, or its Hessian, may differ from zero.

    Parameters
    ----------
    f : callable
        Plain NumPy code.
    argnums : int or tuple of int
        As for `sparse_jacobian`.
    order : {1, 2}
        1 for the Jacobian, 2 for the Hessian of a function that returns a scalar.

    Returns
    -------
    callable
        A function with the arguments of ``f`` that returns a `scipy.sparse.csr_array` of bools;
        `matplotlib.pyplot.spy` draws it.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.sparsity(np.cumsum)(np.ones(3)).toarray().astype(int)
    array([[1, 0, 0],
           [1, 1, 0],
           [1, 1, 1]])
    """
    if order not in (1, 2):
        raise errors.OptionError(f"sparsity: order must be 1 or 2, not {order!r}")
    derivative = sparse_jacobian(f, argnums) if order == 1 else sparse_hessian(f, argnums)

    def pattern(*args: Any, **kwargs: Any) -> csr_array:
        return derivative.structure(*args, **kwargs).pattern.copy()

    pattern.__name__ = f"sparsity({name_of(f)})"
    return pattern


class SparseDerivative(Derived):
    """A derivative as a sparse array: what `sparse_jacobian` and `sparse_hessian` return."""

    def __init__(
        self,
        transform: Callable[..., Any],
        f: Callable[..., Any],
        argnums: Argnums,
        options: dict[str, Any],
        mode: str,
        recovery: str | None,
        pattern: Any,
    ) -> None:
        rules = _Rules(transform.__name__, f, argnums, mode, recovery, pattern)

        def compressed(*args: Any, **kwargs: Any) -> Any:
            return rules.values(f, args, kwargs)

        compressed.__name__ = f"{transform.__name__}({name_of(f)})"
        program = compile(compressed)

        def call(*args: Any, **kwargs: Any) -> csr_array:
            if kwargs or not _ARRAYS.issuperset(map(type, args)):
                _refuse_vars(transform.__name__, (args, kwargs))
            if OPEN and recorder() is not None:
                raise errors.UnsupportedError(
                    f"{transform.__name__} was called in a compiled function, which would keep the matrix of "
                    "this call. It runs a program of its own: call it outside, and pass what is needed"
                )
            values, number = program(*args, **kwargs)
            return rules.structure(number).matrix(values)

        super().__init__(call, transform, f, (argnums,), options)
        self._rules, self._program = rules, program

    def structure(self, *args: Any, **kwargs: Any) -> Structure:
        """Return the pattern and the colouring of the path that some arguments take."""
        _refuse_vars(self.__name__, (args, kwargs))
        return self._rules.structure(self._program(*args, **kwargs)[1])

    @property
    def structures(self) -> list[Structure]:
        """Those found so far, one for each path and each kind of arguments."""
        return list(self._rules.structures)

    @property
    def programs(self) -> Any:
        """The programs recorded so far, as of a compiled function."""
        return self._program.programs


class _Rules:
    """How a sparse derivative is recorded, with what has been found so far."""

    def __init__(
        self,
        transform: str,
        f: Callable[..., Any],
        argnums: Argnums,
        mode: str,
        recovery: str | None,
        pattern: Any,
    ) -> None:
        self._transform, self._argnums = transform, argnums
        self._name = name_of(f)
        self._mode, self._recovery, self._pattern = mode, recovery, pattern
        self.structures: list[Structure] = []
        self._lock = threading.Lock()  # programs may be recorded in several threads
        self._contents: dict[Any, list[np.ndarray]] = {}

    def values(self, f: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Return the values of a derivative, and its structure: of a program the number."""
        need_numbers(from_now_on=True)  # on which patterns may depend
        program = recorder()
        arguments = 0 if program is None else len(program.nodes)
        recording = self._recorded(f, args, kwargs)
        structure, reads, direction, moved = self._found(recording, arguments)
        self._guard(reads)
        values = _values(recording, structure)
        if self._pattern is not None:
            self._check(structure, plain(values), direction, moved)
        if program is None:
            return values, structure
        with self._lock:
            known = [k for k, other in enumerate(self.structures) if other is structure]
            if not known:
                self.structures.append(structure)
            return values, (known[0] if known else len(self.structures) - 1)

    def structure(self, number: Any) -> Structure:
        """Return the structure that a program names by its number; plain Python names it itself."""
        return number if number.__class__.__name__ == "Structure" else self.structures[number]

    def _recorded(self, f: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Recording:
        if self._recovery is not None:
            f = gradient_of(f, self._argnums, transform=self._transform)
        recording = Recording(self._transform, f, args, kwargs, self._argnums, name=self._name)
        recording.check_dtypes()
        recording.check_real_arguments(
            "Sparse derivatives are those of real numbers: differentiate by real and imaginary parts"
        )
        if any(dtype_of(recording.plain(out)).kind == "c" for out in recording.outs):
            raise errors.DTypeError(
                f"{self._transform}: {self._name} returned complex numbers. Return np.real and np.imag"
            )
        return recording

    def _found(
        self, recording: Recording, arguments: int
    ) -> tuple[Structure, list[Read], np.ndarray, np.ndarray]:
        from tape.sparse import structure as found

        pattern, dependence, direction, moved = found.found_pattern(recording, arguments)
        reads = dependence.reads
        if self._pattern is not None:
            pattern, reads = found.checked_pattern(self._pattern, pattern.shape, self._transform), []
        pattern = found.normal(pattern, is_symmetric=self._recovery is not None)
        for known in self.structures:
            if found.same(known.pattern, pattern):
                return known, reads, direction, moved
        return found.coloured(pattern, self._mode, self._recovery), reads, direction, moved

    def _guard(self, reads: Sequence[Read]) -> None:
        """Let a program hold for the content that its pattern depends on; another content is another path.

        Each path compares with the same contents in the same order, up to its own.
        """
        if recorder() is None:
            return
        for k, read in enumerate(reads):
            with self._lock:
                known = self._contents.setdefault((k, read.content.shape, read.is_support), [])
                if not any(np.array_equal(content, read.content) for content in known):
                    known.append(read.content)
                asked = list(known)
            now = ops.not_equal(read.operand, 0) if read.is_support else read.operand
            for content in asked:
                if np.array_equal(now, content):
                    break

    def _check(
        self, structure: Structure, values: np.ndarray, direction: np.ndarray, moved: np.ndarray
    ) -> None:
        """Check, for a pattern that was given, the values along a random direction."""
        expected = structure.matrix(values.copy()) @ direction  # of a copy: substitution takes terms away
        if not (np.all(np.isfinite(expected)) and np.all(np.isfinite(moved))):
            return
        rounding = np.finfo(values.dtype).eps ** 0.25
        if np.any(np.abs(expected - moved) > rounding * np.max(np.abs(moved), initial=0.0)):
            raise errors.DerivativeError(
                f"{self._transform}: the given pattern of the derivative of {self._name} leaves out elements "
                "that are not zero. Leave pattern= out, to have it found"
            )


def _refuse_vars(transform: str, arguments: Any) -> None:
    """Check that no argument is a Var: sparse arrays hold plain numbers."""
    for leaf in tree.flatten(arguments)[0]:
        if isinstance(leaf, Handle):
            raise errors.ConversionError(
                f"{transform} was called with {leaf!r}, and SciPy's sparse arrays hold plain numbers. Use "
                "tape.jacobian, tape.hessian or products (jvp, vjp, hvp) in transforms and compiled functions"
            )


def _values(recording: Recording, structure: Structure) -> Any:
    """Return the compressed values of a derivative, or its elements if they can be read directly."""
    colouring = structure.colouring
    pieces = []
    on_tape = sum(int(np.size(node.value)) for node in recording.trace.nodes)
    step = max(1, min(colouring.count, _BATCH_ELEMENTS // max(1, on_tape)))
    is_forward = structure.mode == "fwd"
    sweep: Callable[..., Any] = recording.push_forward if is_forward else recording.pull_back
    seeded = recording.params if is_forward else recording.outs
    shapes, dtypes = [np.shape(x) for x in seeded], [np.result_type(x) for x in seeded]
    cuts = np.cumsum([0, *map(prod, shapes)]).tolist()
    for start in range(0, colouring.count, step):
        stop = min(start + step, colouring.count)
        with Lanes(stop - start) as lanes:
            seeds = []
            for (first, last), shape, dtype in zip(pairwise(cuts), shapes, dtypes, strict=True):
                seed = colouring.seeds(start, stop, dtype)[:, first:last]
                seeds.append(lanes.batch(np.ascontiguousarray(seed).reshape((stop - start, *shape))))
            rows = [lanes.values(result) for result in sweep(seeds)]
        rows = [ops.reshape(row, (stop - start, -1)) for row in rows]
        pieces.append(rows[0] if len(rows) == 1 else ops.concatenate(rows, axis=1))
    if not pieces:
        return np.zeros(0, np.result_type(*dtypes) if dtypes else float)
    values = ops.ravel(pieces[0] if len(pieces) == 1 else ops.concatenate(pieces))
    if colouring.places is None:
        return values
    return ops.getitem(values, colouring.places)
