"""`data_parallel`: a function of a batch, computed by all ranks and threads together.

Each thread of each rank calls the function with its part of the batch. The results, which are means over
samples, become one vector for each dtype, and are averaged with the numbers of samples as weights.
"""

from __future__ import annotations

import contextvars
import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import update_wrapper
from itertools import pairwise
from typing import Any

import numpy as np

from tape import errors, tree
from tape.distributed._agreement import Watched, raise_layouts, raise_numbers
from tape.distributed._layout import Layout, digest_of
from tape.distributed._shards import length_of, take
from tape.distributed._sums import bounds, ordered_sum, sum_over_ranks
from tape.distributed._world import World, world
from tape.program.compiled import Compiled
from tape.program.native.warming import warm_up

_UNKNOWN = -1
"""Digest of a rank without samples that has never had any."""


def data_parallel(
    f: Callable[..., Any],
    *,
    batch: int | Sequence[int] | None = None,
    weight: Callable[..., float] | None = None,
    threads: int = 1,
    order: str = "fixed",
) -> DataParallel:
    """Return a function that computes means over a batch whose samples are divided among ranks and threads.

    Every rank calls it with its own part of the batch, such as `batches` gives it, and gets the result for
    the whole batch, the same to the last bit on all ranks, and but for rounding the same as ``f`` of the
    whole batch.

    Parameters
    ----------
    f : callable
        Its first argument is the same on all ranks: the parameters. All that it returns are means over the
        samples of the batch: a tree of floats, such as the loss and gradients by `tape.value_and_grad`, and
        metrics. Compile it first if it is to run in threads: programs hold no lock.
    batch : int or sequence of int, optional
        The positions of the arguments that are trees of arrays with one first axis of samples. All but the
        first if left out.
    weight : callable, optional
        Of the arguments of ``f``: the number of what is averaged in them, where that is not samples but,
        say, tokens that are not masked. A part of weight 0 counts for nothing.
    threads : int
        Into how many parts each rank divides its samples again, each for a thread of its own.
    order : {'fixed', 'mpi'}
        By which order gradients are added: one that depends on the number of ranks only, or that which MPI
        finds fastest on this network for arrays of this length.

    Returns
    -------
    DataParallel
        It takes the arguments of ``f``. The arrays that it returns are parts of one array, of their own.

    Raises
    ------
    OptionError
        If an option is out of range, or a compiled function that overwrites arguments is to run in threads.
    ShapeError
        By a call, if arrays of samples have different lengths, or no rank has a sample.
    DTypeError
        By a call, if ``f`` returns other leaves than floats.
    RankError
        By a call, on all ranks, if they differ in the structure, shapes, dtypes or numbers of the
        parameters, or in those of the result; if another rank has failed; or if it does something else.

    Notes
    -----
    Numbers of parameters are all compared in the first call, and 4096 of them in each call from then on.

    Examples
    --------
    >>> import numpy as np, tape, tape.distributed
    >>> def loss(w, x, y):
    ...     return np.mean((x @ w - y) ** 2)
    >>> step = tape.distributed.data_parallel(tape.compile(tape.value_and_grad(loss)), threads=2)
    >>> x, y = np.arange(6.0).reshape(3, 2), np.array([1.0, 3.0, 2.0])
    >>> step(np.array([0.5, 0.5]), x, y)
    (np.float64(2.25), array([6., 7.]))
    """
    positions = (batch,) if isinstance(batch, int) else None if batch is None else tuple(batch)
    if positions is not None and any(
        isinstance(p, bool) or not isinstance(p, (int, np.integer)) or p < 1 for p in positions
    ):
        raise errors.OptionError(f"batch is {batch!r}. It is a position, or several, from 1 on")
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise errors.OptionError(f"threads is {threads!r}. It is an int, 1 or more")
    if order not in ("fixed", "mpi"):
        raise errors.OptionError(f"order is {order!r}. It is 'fixed' or 'mpi'")
    if threads > 1 and isinstance(f, Compiled) and f.donates:
        raise errors.OptionError(
            "the compiled function overwrites arguments (donate=), which all threads read. Compile it "
            "without donate, and the update of parameters with it"
        )
    return DataParallel(f, positions, weight, threads, order == "mpi")


class DataParallel:
    """A function of a batch, computed by all ranks and threads together; see `data_parallel`."""

    def __init__(
        self,
        f: Callable[..., Any],
        batch: tuple[int, ...] | None,
        weight: Callable[..., float] | None,
        threads: int,
        by_mpi: bool,
    ) -> None:
        self._f, self._batch, self._weight, self._threads, self._by_mpi = f, batch, weight, threads, by_mpi
        self._params = Watched("params")
        self._layout: Layout | None = None
        self._pool: ThreadPoolExecutor | None = None
        update_wrapper(self, f)

    def __repr__(self) -> str:
        return f"data_parallel({self._f!r}, threads={self._threads})"

    def __reduce__(self) -> Any:
        return DataParallel, (self._f, self._batch, self._weight, self._threads, self._by_mpi)

    def __call__(self, params: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the means over the samples of all ranks."""
        ranks = world()
        if self._layout is None and (ranks.size > 1 or self._threads > 1):
            warm_up()  # so that all compute with the same code
        try:
            checked = self._params.look(params) if ranks.size > 1 else 0
            calls = self._calls((params, *args), kwargs)
            total = math.fsum(weight for _, weight in calls)
            results = self._run(calls, kwargs)
            layout = self._layout_of(results)
            if len(calls) == 1 and total and ranks.size == 1:
                return results[0][0]
            everything = self._agree(ranks, layout, checked, total)
            layout = self._layout_everywhere(ranks, layout, everything)
            vectors = self._sum_of_parts(layout, results, calls, math.fsum(everything["weight"]))
            for vector in vectors.values():
                sum_over_ranks(ranks, vector, by_mpi=self._by_mpi)
            return layout.unpack(vectors)
        except BaseException as error:
            ranks.failures.in_step = error
            ranks.failures.fail(error)
            raise

    # ---- the parts of this rank --------------------------------------------------------------------

    def _calls(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[tuple[tuple[Any, ...], float]]:
        """Return arguments and weight of each part that has a weight."""
        positions = self._batch or tuple(range(1, len(args)))
        missing = [p for p in positions if p >= len(args)]
        if missing or not positions:
            raise errors.ShapeError(
                f"there is no argument {missing[0] if missing else 1} with samples. Pass the batch by "
                "position, after the parameters"
            )
        count = length_of({p: args[p] for p in positions}, "args")
        parts = max(1, min(self._threads, count))
        starts = bounds(count, parts)
        calls = []
        for start, stop in pairwise(starts):
            part = list(args)
            if parts > 1:
                for p in positions:
                    part[p] = take(args[p], slice(start, stop))
            weight = float(stop - start if self._weight is None else self._weight(*part, **kwargs))
            if not 0 <= weight < math.inf:
                raise errors.OptionError(f"weight returned {weight}. It is a finite number, 0 or more")
            if weight:
                calls.append((tuple(part), weight))
        return calls

    def _run(
        self, calls: list[tuple[tuple[Any, ...], float]], kwargs: dict[str, Any]
    ) -> list[tuple[Any, list[Any], Any]]:
        """Return result, leaves and structure of each part, each computed by a thread."""

        def one(args: tuple[Any, ...]) -> tuple[Any, list[Any], Any]:
            result = self._f(*args, **kwargs)
            return result, *tree.flatten(result)

        if len(calls) < 2:
            return [one(args) for args, _ in calls]
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._threads - 1, "tape-data-parallel")
        others = [
            self._pool.submit(contextvars.copy_context().run, one, args) for args, _ in calls[1:]
        ]  # with settings such as np.errstate
        try:
            results = [one(calls[0][0])]
        finally:
            for other in others:  # before the caller may change an argument
                other.exception()
        return results + [other.result() for other in others]

    def _layout_of(self, results: list[tuple[Any, list[Any], Any]]) -> Layout | None:
        """Return the layout that all results have; None if there is none yet."""
        for number, (_, leaves, structure) in enumerate(results):
            if self._layout is None or not self._layout.fits(leaves, structure):
                layout = Layout(leaves, structure, "result")
                if number and self._layout is not None:
                    found = [", ".join(other.description) for other in (self._layout, layout)]
                    raise errors.ShapeError(
                        f"the parts of a batch have different results: {found[0]}; and {found[1]}. "
                        "Return means over the samples only, or use one thread"
                    )
                self._layout = layout
        return self._layout

    def _sum_of_parts(
        self,
        layout: Layout,
        results: list[tuple[Any, list[Any], Any]],
        calls: list[tuple[tuple[Any, ...], float]],
        total: float,
    ) -> dict[str, np.ndarray]:
        """Return the share that the parts of this rank have in the mean, by dtype."""
        if not results:
            return {char: np.zeros(size, char) for char, size in layout.sizes.items()}
        parts = layout.vectors(len(results))
        for number, ((_, leaves, _), (_, weight)) in enumerate(zip(results, calls, strict=True)):
            layout.pack(leaves, weight / total, parts, number)
        if len(results) == 1:
            return {char: rows[0] for char, rows in parts.items()}
        vectors = {char: rows[0] for char, rows in layout.vectors().items()}
        for char, rows in parts.items():
            ordered_sum(rows, vectors[char])
        return vectors

    # ---- all ranks ---------------------------------------------------------------------------------

    def _agree(self, ranks: World, layout: Layout | None, checked: int, weight: float) -> np.ndarray:
        """Return what all ranks say, after checks that they compute the same thing."""
        digest = _UNKNOWN if layout is None else digest_of([str(self._params.digest), str(layout.digest)])
        headers = ranks.enter("step", digest, checked, weight)
        known = headers["digest"][headers["digest"] != _UNKNOWN]
        if np.any(known != known[:1]):
            raise_layouts(ranks, None if layout is None else self._params.description + layout.description)
        if np.any(headers["check"] != headers["check"][0]):
            raise_numbers(ranks, headers, "params")
        if not np.any(headers["weight"]):
            raise ranks.failures.on_all(
                errors.ShapeError("the batch has no samples on any rank. Leave it out")
            )
        return headers

    def _layout_everywhere(self, ranks: World, layout: Layout | None, headers: np.ndarray) -> Layout:
        """Return the layout of the result; a rank that has never had a sample learns it from one that has."""
        has_layout = headers["digest"] != _UNKNOWN
        if not np.all(has_layout):
            source = int(np.flatnonzero(has_layout)[0])
            sent = ranks.comm.bcast(layout.pickled() if layout and ranks.rank == source else None, source)
            self._layout = layout = layout or Layout.unpickled(sent)
        assert layout is not None  # since there is a weight, and a rank with a weight has one
        return layout
