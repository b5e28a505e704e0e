"""Items computed ahead, in a thread that ends with the loop over them."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Generator, Iterator
from contextvars import copy_context
from typing import TypeVar

Item = TypeVar("Item")


def prefetched(items: Iterator[Item], count: int, what: str) -> Generator[Item, None, None]:
    """Yield the items of an iterator, of which a thread computes at most so many ahead.

    An error in the thread is raised at the place of the item that it is about. When the loop ends, by itself,
    by an error or because nobody holds it any more, the thread has ended.

    Parameters
    ----------
    items : iterator
        Used by the thread alone.
    count : int
        At least 1.
    what : str
        The name of the thread.

    Examples
    --------
    >>> from tape.train._prefetch import prefetched
    >>> list(prefetched(iter(range(5)), 2, "numbers"))
    [0, 1, 2, 3, 4]
    """
    room, ready = threading.Semaphore(count), threading.Semaphore(0)
    done: deque[Item] = deque()
    errors: list[BaseException] = []
    is_over = threading.Event()

    def work() -> None:
        try:
            while room.acquire() and not is_over.is_set():
                done.append(next(items))
                ready.release()
        except StopIteration:
            pass
        except BaseException as error:
            error.add_note(f"raised in the thread {what!r}")
            errors.append(error)
        ready.release()  # without an item: the end

    # In the context of the loop: whether compiled functions are to be repeatable, say.
    thread = threading.Thread(target=copy_context().run, args=(work,), name=what, daemon=True)
    thread.start()
    try:
        while True:
            ready.acquire()
            if not done:
                break
            item = done.popleft()
            room.release()
            yield item
        if errors:
            raise errors[0]
    finally:
        is_over.set()
        room.release()
        thread.join()
