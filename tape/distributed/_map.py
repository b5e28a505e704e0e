"""`map`: a function of seeds and hyper-parameters, for each of many items, in processes or through Dask.

Items do not depend on each other, and one that fails does not take the others' results along. Data-parallel
ranks have nothing to do with it.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from typing import Any

from tape import errors
from tape.distributed._world import forget_launcher
from tape.system.extras import need
from tape.system.progress import progress_bar

_SHOWN = 3
"""Failures that a message names."""
_DIED = "the process of this item has died, as it does where memory runs out. Use fewer workers"


def map(
    f: Callable[..., Any],
    *items: Iterable[Any],
    client: Any = None,
    workers: int | None = None,
    progress: bool = False,
) -> list[Any]:
    """Return the results of a function for each of many items, computed in several processes.

    Parameters
    ----------
    f : callable
        Of a module, or of a script whose own work is under ``if __name__ == "__main__":``. Others, such as
        closures, need cloudpickle.
    *items : iterable
        As many as ``f`` has arguments, of the same length, as for the built-in `map`: seeds, learning rates,
        trees of hyper-parameters.
    client : distributed.Client, optional
        A client of Dask, whose workers compute. By default processes of this machine.
    workers : int, optional
        The number of processes; one for each core if left out. Not with a client.
    progress : bool
        Whether to show a progress bar, by tqdm.

    Returns
    -------
    list
        The results, in the order of the items.

    Raises
    ------
    ItemsError
        After all items, if ``f`` has raised for some, or its process has died. The message names them; the
        attributes ``results`` and ``failures`` hold what there is.
    OptionError
        If iterables have different lengths, or the number of workers is not positive.
    UnsupportedError
        If a function can only be sent by cloudpickle, and that is not installed.

    Examples
    --------
    >>> import math, tape.distributed
    >>> tape.distributed.map(math.hypot, [3.0, 5.0], [4.0, 12.0], workers=1)
    [5.0, 13.0]
    """
    if workers is not None and (client is not None or isinstance(workers, bool) or workers < 1):
        raise errors.OptionError(f"workers is {workers!r}. It is 1 or more, and left out with a client")
    columns = [list(column) for column in items]
    counts = {len(column) for column in columns}
    if len(counts) != 1:
        found = ", ".join(str(len(column)) for column in columns) or "none"
        raise errors.OptionError(f"map needs iterables of one length; here {found}")
    calls = list(zip(*columns, strict=True))
    outcomes: dict[int, Any] = {}
    failures: dict[int, BaseException] = {}
    name = getattr(f, "__name__", type(f).__name__)
    found_by = _by_client(client, f, calls) if client is not None else _by_processes(f, calls, workers)
    with progress_bar(progress, f"map({name})", len(calls), "item") as bar:
        for number, result, error in found_by:
            if error is None:
                outcomes[number] = result
            else:
                failures[number] = error
                bar.set_postfix_str(f"{len(failures)} failed", refresh=False)
            bar.update()
    if failures:
        raise _error(name, calls, outcomes, failures)
    return [outcomes[number] for number in range(len(calls))]


def _error(
    name: str,
    calls: list[tuple[Any, ...]],
    outcomes: dict[int, Any],
    failures: dict[int, BaseException],
) -> errors.ItemsError:
    first = sorted(failures)[:_SHOWN]
    shown = "; ".join(
        f"item {number}, {name}({errors.describe_all(calls[number])}): "
        f"{type(failures[number]).__name__}: {failures[number]}"
        for number in first
    )
    more = f"; and {len(failures) - _SHOWN} more" if len(failures) > _SHOWN else ""
    error = errors.ItemsError(
        f"map: {len(failures)} of {len(calls)} items failed: {shown}{more}. The others are in .results of "
        "this error, all errors in .failures",
        [outcomes.get(number) for number in range(len(calls))],
        failures,
    )
    error.__cause__ = failures[first[0]]
    return error


# ---- Dask ----------------------------------------------------------------------------------------


def _by_client(
    client: Any, f: Callable[..., Any], calls: list[tuple[Any, ...]]
) -> Iterator[tuple[int, Any, BaseException | None]]:
    """Yield number, result and error of each item, as they come from a client of Dask."""
    submitted = [client.submit(f, *call, pure=False) for call in calls]
    numbers = {future.key: number for number, future in enumerate(submitted)}
    arrived = need("distributed", "clients of Dask", "dask").as_completed(submitted)
    for future in arrived:
        number = numbers[future.key]
        error = future.exception()
        yield number, None if error else future.result(), error


# ---- processes -----------------------------------------------------------------------------------


def _by_processes(
    f: Callable[..., Any], calls: list[tuple[Any, ...]], workers: int | None
) -> Iterator[tuple[int, Any, BaseException | None]]:
    """Yield number, result and error of each item, as they come from processes.

    Where a process dies, nobody knows which item it had: those that were left are computed one by one.
    """
    sent = _pickled(f)
    count = max(1, min(workers or os.cpu_count() or 1, len(calls)))
    left = {}
    for number, call in enumerate(calls):
        try:
            left[number] = _pickled(call)
        except Exception as error:
            yield number, None, error
    with suppress(BrokenProcessPool), _pool(count) as pool:
        futures = {pool.submit(_call, sent, text): number for number, text in left.items()}
        for future in as_completed(futures):
            returned = future.result()
            number = futures[future]
            del left[number]
            yield number, *pickle.loads(returned)
    while left:
        with _pool(1) as pool:
            for number in sorted(left):
                text = left.pop(number)
                try:
                    returned = pool.submit(_call, sent, text).result()
                except BrokenProcessPool:
                    yield number, None, errors.RankError(_DIED)
                    break  # for another process
                yield number, *pickle.loads(returned)


def _pool(count: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), initializer=forget_launcher)


def _pickled(value: Any) -> bytes:
    try:
        return pickle.dumps(value)
    except (pickle.PicklingError, AttributeError, TypeError, errors.UnsupportedError):
        pickler = need(
            "cloudpickle", "functions of no module", None, "Or define the function in a module, by def"
        )
        return pickler.dumps(value)


def _call(sent: bytes, call: bytes) -> bytes:
    """Return result and error as bytes: one that cannot be read would break all processes."""
    try:
        text = pickle.dumps((pickle.loads(sent)(*pickle.loads(call)), None))
        pickle.loads(text)
    except Exception as error:
        try:
            text = pickle.dumps((None, error))
            pickle.loads(text)
        except Exception:
            text = pickle.dumps((None, RuntimeError(f"{type(error).__name__}: {error}")))
    return text
