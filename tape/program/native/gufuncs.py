"""The generalised ufuncs that programs run: functions of matrices and vectors, and of stacks of them.

A ufunc of more than two operands, or with several results, is one of these, too: of numbers.

NumPy's linear algebra consists of such functions, which call LAPACK for one matrix after the other. Their
loops are like those of other ufuncs: the lengths of the core dimensions follow the number of matrices, the
strides along them follow those from matrix to matrix. A program that calls them has NumPy's results to the
last bit.

A loop sets the floating-point flag *invalid* for a matrix that has no result, whereupon NumPy raises
`LinAlgError`. Loops need Python only to report that there is no memory, and take its lock themselves then.

To add a function, add its line to `GUFUNCS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import import_module
from math import log2, prod
from typing import Any, NamedTuple

import numpy as np

from tape.ops.elementwise.scipy_ufuncs import PREFIX, ufunc_named

Shape = tuple[int, ...]
Core = tuple[str, ...]
"""Names of the core dimensions of an operand or a result."""
MOST_ARGUMENTS = 7
"""Operands and results of a loop: the machine has room for the addresses of so many."""
LINALG = "numpy.linalg._umath_linalg"
_MOST = 1 << 31  # LAPACK takes lengths as 32-bit integers


@dataclass(frozen=True)
class Gufunc:
    """A generalised ufunc.

    Attributes
    ----------
    name : str
        In its module, behind ``numpy_`` where another instruction has the name, behind `PREFIX` in SciPy.
    signature : str
        Core dimensions of operands and results, as in NumPy: ``"(m,n),(n)->(m)"``.
    types : tuple of str
        The loops that programs call, by the dtypes of operands and results: ``"dd->d"``.
    flops : callable
        Arithmetic for one matrix, of the length of each core dimension by name.
    failure : str or None
        What is wrong with a matrix that has no result; None if all have one.
    least : dict of str to tuple of str, optional
        Core dimensions that must be the lesser of two others: ``{"p": ("m", "n")}``. What is neither that nor
        a core dimension of an operand is an attribute of the instruction.
    overwrites : bool
        Whether the loop overwrites its first operand. What it leaves there is the first result then.
    shortest : dict of str to int, optional
        The least lengths of core dimensions; 1 for all others.
    module : str
        Where it is.
    """

    name: str
    signature: str
    types: tuple[str, ...]
    flops: Callable[[Mapping[str, int]], float]
    failure: str | None = None
    least: Mapping[str, tuple[str, str]] | None = None
    overwrites: bool = False
    shortest: Mapping[str, int] | None = None
    module: str = LINALG

    @cached_property
    def operands(self) -> list[Core]:
        """The core of each operand."""
        return _cores(self.signature.split("->")[0])

    @cached_property
    def results(self) -> list[Core]:
        """The core of each result of the loop."""
        return _cores(self.signature.split("->")[1])

    @cached_property
    def dimensions(self) -> Core:
        """Names of the core dimensions, in the order in which the loop takes their lengths."""
        return tuple(dict.fromkeys(name for core in [*self.operands, *self.results] for name in core))

    @cached_property
    def free(self) -> Core:
        """Names of the core dimensions whose lengths are attributes of the instruction."""
        known = {name for core in self.operands for name in core} | {*(self.least or ())}
        return tuple([name for name in self.dimensions if name not in known])

    @cached_property
    def ufunc(self) -> np.ufunc | None:
        """The object; None if there is none of this name, signature and types."""
        found: Any
        if self.name.startswith(PREFIX):
            found = ufunc_named(self.name.removeprefix(PREFIX))
        else:
            found = getattr(import_module(self.module), self.name.removeprefix("numpy_"), None)
        if not isinstance(found, np.ufunc):
            return None
        signature = found.signature or "->".join([",".join(["()"] * n) for n in (found.nin, found.nout)])
        if signature.replace(" ", "") != self.signature:
            return None
        return found if set(self.types) <= set(found.types) else None


def _cores(part: str) -> list[Core]:
    return [tuple([name for name in core.split(",") if name]) for core in part[1:-1].split("),(")]


def _square(factor: float) -> Callable[[Mapping[str, int]], float]:
    return lambda of: factor * of["m"] ** 3


def _solving(of: Mapping[str, int]) -> float:
    return of["m"] ** 2 * (2 / 3 * of["m"] + 2 * of["n"])


def _tall(factor: float, cubic: float = 0) -> Callable[[Mapping[str, int]], float]:
    """Return ``factor`` times the elements times the lesser side, and ``cubic`` times its third power."""
    return lambda of: (
        min(of["m"], of["n"]) * (factor * of["m"] * of["n"] + cubic * min(of["m"], of["n"]) ** 2)
    )


def _transform(
    name: str, signature: str, types: tuple[str, ...], shortest: Mapping[str, int] | None = None
) -> Gufunc:
    """Return a Fourier transform, whose second operand is a factor; it crops and pads."""
    return Gufunc(
        name, signature, types, lambda of: round(5 * max(of.values()) * log2(max(of.values()) + 1)),
        shortest=shortest, module="numpy.fft._pocketfft_umath",
    )  # fmt: skip


_SINGULAR = "a matrix is singular. Look at its null space"
_NOT_POSITIVE = "a matrix is not positive definite. Symmetrize it, or add a multiple of the identity"
_DIVERGED = "an iteration for eigenvalues or singular values did not converge. Look for NaN and infinity"
_UNFIT = "a matrix has no factors. Look for NaN and infinity"
_LESSER = {"p": ("m", "n")}
_ENTRIES = (
    Gufunc("det", "(m,m)->()", ("d->d", "D->D"), _square(2 / 3)),
    Gufunc("slogdet", "(m,m)->(),()", ("d->dd", "D->Dd"), _square(2 / 3)),
    Gufunc("inv", "(m,m)->(m,m)", ("d->d", "D->D"), _square(8 / 3), _SINGULAR),
    Gufunc("numpy_solve", "(m,m),(m,n)->(m,n)", ("DD->D",), _solving, _SINGULAR),
    Gufunc("cholesky_lo", "(m,m)->(m,m)", ("D->D",), _square(1 / 3), _NOT_POSITIVE),
    Gufunc("cholesky_up", "(m,m)->(m,m)", ("D->D",), _square(1 / 3), _NOT_POSITIVE),
    Gufunc("eigh_lo", "(m,m)->(m),(m,m)", ("d->dd", "D->dD"), _square(9), _DIVERGED),
    Gufunc("eigh_up", "(m,m)->(m),(m,m)", ("d->dd", "D->dD"), _square(9), _DIVERGED),
    Gufunc("eigvalsh_lo", "(m,m)->(m)", ("d->d", "D->d"), _square(4 / 3), _DIVERGED),
    Gufunc("eigvalsh_up", "(m,m)->(m)", ("d->d", "D->d"), _square(4 / 3), _DIVERGED),
    Gufunc("svd", "(m,n)->(p)", ("d->d", "D->d"), _tall(2, 2), _DIVERGED, _LESSER),
    Gufunc("svd_s", "(m,n)->(m,p),(p),(p,n)", ("d->ddd", "D->DdD"), _tall(6, 20), _DIVERGED, _LESSER),
    Gufunc("svd_f", "(m,n)->(m,m),(p),(n,n)", ("d->ddd", "D->DdD"), _tall(10, 20), _DIVERGED, _LESSER),
    Gufunc("qr_r_raw", "(m,n)->(p)", ("d->d", "D->D"), _tall(2), _UNFIT, _LESSER, overwrites=True),
    Gufunc("qr_reduced", "(m,n),(k)->(m,k)", ("dd->d", "DD->D"), _tall(2), _UNFIT, {"k": ("m", "n")}),
    Gufunc(
        "qr_complete", "(m,n),(n)->(m,m)", ("dd->d", "DD->D"), lambda of: 4 * of["m"] ** 2 * of["n"], _UNFIT
    ),
    Gufunc(
        "lstsq", "(m,n),(m,nrhs),()->(n,nrhs),(nrhs),(),(p)", ("ddd->ddid", "DDd->Ddid"), _tall(6, 20),
        _DIVERGED, _LESSER,
    ),
    _transform("fft", "(n),()->(m)", ("Dd->D", "Ff->F")),
    _transform("ifft", "(m),()->(n)", ("Dd->D", "Ff->F")),
    _transform("rfft_n_even", "(n),()->(m)", ("dd->D", "ff->F"), {"m": 2}),
    _transform("rfft_n_odd", "(n),()->(m)", ("dd->D", "ff->F")),
    _transform("irfft", "(m),()->(n)", ("Dd->d", "Ff->f")),
    Gufunc("vecdot", "(n),(n)->()", ("ee->e", "FF->F", "DD->D"), lambda of: 8 * of["n"], module="numpy"),
    Gufunc("frexp", "()->(),()", ("e->ei", "f->fi", "d->di"), lambda of: 1, module="numpy"),
)  # fmt: skip
_SPECIAL = """
    f->ff d->dd: it2i0k0 it2j0y0 iti0k0 itj0y0
    f->ff d->dd F->FF D->DD: fresnel shichi sici
    f->FF d->DD: modfresnelm modfresnelp
    f->ffff d->dddd F->FFFF D->DDDD: airy airye
    f->FFFF d->DDDD: kelvin
    ff->f dd->d: mathieu_a mathieu_b
    ff->ff dd->dd: pbdv pbvv pbwa
    ff->ffff dd->dddd: ellipj
    fff->f ddd->d: bdtrik bdtrin besselpoly betainc betaincc betainccinv betaincinv btdtria btdtrib
    fff->f ddd->d: chndtr chndtridf chndtrinc chndtrix fdtr fdtrc fdtri fdtridfd gdtr gdtrc gdtria gdtrib
    fff->f ddd->d: gdtrix hyperu log_wright_bessel lpmv nbdtrik nbdtrin nctdtr nctdtridf nctdtrinc nctdtrit
    fff->f ddd->d: nrdtrimn nrdtrisd obl_cv pro_cv radian voigt_profile wright_bessel
    fff->f ddd->d dld->d: bdtr bdtrc bdtri
    fff->f ddd->d lld->d: nbdtr nbdtrc nbdtri
    fff->f ddd->d FFF->F DDD->D: elliprd elliprf elliprg
    fff->f ddd->d ffF->F ddD->D: hyp1f1
    fff->f ddd->d ffF->F ddD->D ldd->d: eval_gegenbauer eval_genlaguerre
    fff->ff ddd->dd: mathieu_cem mathieu_modcem1 mathieu_modcem2 mathieu_modsem1 mathieu_modsem2 mathieu_sem
    Flf->F Dld->D: lambertw
    ffff->f dddd->d: ncfdtr ncfdtri ncfdtridfd ncfdtridfn ncfdtrinc
    ffff->f dddd->d FFFF->F DDDD->D: elliprj
    ffff->f dddd->d fffF->F dddD->D: hyp2f1
    ffff->f dddd->d fffF->F dddD->D lddd->d: eval_jacobi eval_sh_jacobi
    ffff->ff dddd->dd: obl_ang1 obl_rad1 obl_rad2 pro_ang1 pro_rad1 pro_rad2
    fffff->ff ddddd->dd: obl_ang1_cv obl_rad1_cv obl_rad2_cv pro_ang1_cv pro_rad1_cv pro_rad2_cv
"""
"""Loops that programs call, and ufuncs of `scipy.special` that have them.

Most ufuncs of one or two operands and one result are elementwise instructions instead."""


def _of_numbers(name: str, types: tuple[str, ...]) -> Gufunc:
    """Return a ufunc of SciPy's."""
    signature = "->".join([",".join(["()"] * len(chars)) for chars in types[0].split("->")])
    return Gufunc(PREFIX + name, signature, types, lambda of: 1, module="scipy.special")


GUFUNCS: dict[str, Gufunc] = {entry.name: entry for entry in _ENTRIES} | {
    PREFIX + name: _of_numbers(name, tuple(types.split()))
    for types, names in (line.split(": ") for line in _SPECIAL.strip().splitlines())
    for name in names.split()
}
"""Instructions that are a generalised ufunc, by name."""


class Layout(NamedTuple):
    """What a loop works on.

    Attributes
    ----------
    types : str
        Those of the loop: ``"dd->d"``.
    lengths : dict of str to int
        Of each core dimension.
    stack : tuple of int
        How the matrices are stacked.
    is_stacked : tuple of bool
        For each argument of the loop, whether there is one for each matrix; else there is one for all.
    results : list of tuple
        Shape and dtype of each result of the instruction.
    """

    types: str
    lengths: dict[str, int]
    stack: Shape
    is_stacked: tuple[bool, ...]
    results: list[tuple[Shape, np.dtype[Any]]]


def layout_of(name: str, shapes: Sequence[Shape], chars: str, free: Sequence[int]) -> Layout:
    """Return what a loop works on, for operands of these shapes and dtypes.

    Parameters
    ----------
    name : str
        In `GUFUNCS`.
    shapes : sequence of tuple of int
        Of the operands. Those with more axes than their core has are stacks, all of the same shape.
    chars : str
        Their dtypes.
    free : sequence of int
        The lengths of `Gufunc.free`.

    Raises
    ------
    ValueError
        If the function does not take these.

    Examples
    --------
    >>> from tape.program.native.gufuncs import layout_of
    >>> layout_of("slogdet", [(5, 3, 3)], "d", ()).results
    [((5,), dtype('float64')), ((5,), dtype('float64'))]
    """
    return _layout_of(name, tuple(shapes), chars, tuple(free))


@lru_cache(maxsize=4096)
def _layout_of(name: str, shapes: tuple[Shape, ...], chars: str, free: Shape) -> Layout:
    layout = _inferred(name, shapes, chars, free)
    if min(layout.stack, default=1) < 1:
        raise ValueError(f"{name} takes no empty stacks")
    require_lengths(GUFUNCS[name], layout.lengths)
    return layout


def results_of(
    name: str, shapes: Sequence[Shape], chars: str, free: Sequence[int]
) -> list[tuple[Shape, np.dtype[Any]]]:
    """Return shape and dtype of each result, as `layout_of`, for arrays without elements too.

    Examples
    --------
    >>> from tape.program.native.gufuncs import results_of
    >>> results_of("inv", [(0, 3, 3)], "d", ())
    [((0, 3, 3), dtype('float64'))]
    """
    return _inferred(name, tuple(shapes), chars, tuple(free)).results


def _inferred(name: str, shapes: tuple[Shape, ...], chars: str, free: Shape) -> Layout:
    of = GUFUNCS[name]
    types = next((types for types in of.types if types.split("->")[0] == chars), None)
    if types is None or len(shapes) != len(of.operands):
        raise ValueError(f"{name} does not take dtypes {chars!r}")
    if len(free) != len(of.free):
        raise ValueError(f"{name} takes {len(of.free)} lengths, and has {len(free)}")
    lengths = dict(zip(of.free, free, strict=True))
    stacks = []
    for shape, core in zip(shapes, of.operands, strict=True):
        split = len(shape) - len(core)
        if split < 0:
            raise ValueError(f"{name} does not take an array of {len(shape)} axes there")
        stacks.append(shape[:split])
        for dimension, length in zip(core, shape[split:], strict=True):
            if lengths.setdefault(dimension, length) != length:
                raise ValueError(f"{dimension} is {length} here and {lengths[dimension]} there")
    for dimension, (one, other) in (of.least or {}).items():
        lengths.setdefault(dimension, min(lengths[one], lengths[other]))
    stack = max(stacks, key=len)
    if any(given not in ((), stack) for given in stacks):
        raise ValueError(f"{name} takes stacks of one shape")
    lengths = {dimension: lengths[dimension] for dimension in of.dimensions}
    results = [
        ((*stack, *[lengths[dimension] for dimension in core]), np.dtype(char))
        for core, char in zip(of.results, types.split("->")[1], strict=True)
    ]
    is_stacked = [bool(given) for given in stacks]
    if of.overwrites:
        results.insert(0, ((*stack, *shapes[0][len(stacks[0]) :]), np.dtype(chars[0])))
        is_stacked[0] = bool(stack)
    return Layout(types, lengths, stack, (*is_stacked, *[bool(stack)] * len(of.results)), results)


def require_lengths(of: Gufunc, lengths: Mapping[str, int]) -> None:
    """Raise ValueError unless a loop takes core dimensions of these lengths."""
    if min(lengths.values(), default=1) < 1 or max(lengths.values(), default=1) >= _MOST:
        raise ValueError(f"{of.name} takes no arrays that are empty or as large")
    for dimension, least in (of.shortest or {}).items():
        if lengths[dimension] < least:
            raise ValueError(f"{of.name} takes no {dimension} below {least}")
    for dimension, (one, other) in (of.least or {}).items():
        if lengths[dimension] != min(lengths[one], lengths[other]):
            raise ValueError(f"{dimension} is not the lesser of {one} and {other}")


def strides_of(name: str, types: str, lengths: Mapping[str, int], is_stacked: Sequence[bool]) -> list[int]:
    """Return the strides that a loop takes, for arguments in C order without gaps.

    Parameters
    ----------
    name : str
        In `GUFUNCS`.
    types : str
        One of its `Gufunc.types`.
    lengths : mapping
        Of each core dimension.
    is_stacked : sequence of bool
        Whether an argument has an element for each matrix.

    Returns
    -------
    list of int
        From matrix to matrix for each argument; then along each core dimension of each.
    """
    of = GUFUNCS[name]
    steps, inner = [], []
    for core, char, has_step in zip(
        [*of.operands, *of.results], types.replace("->", ""), is_stacked, strict=True
    ):
        step = np.dtype(char).itemsize
        strides = []
        for dimension in reversed(core):
            strides.append(step)
            step *= lengths[dimension]
        steps.append(step if has_step else 0)
        inner += strides[::-1]
    return [*steps, *inner]


def size_of(core: Core, lengths: Mapping[str, int]) -> int:
    """Return the number of elements of an argument, for one matrix."""
    return prod([lengths[dimension] for dimension in core])
