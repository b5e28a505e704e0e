"""Locks that a forked process can take, though a thread of its parent held them."""

import threading
import time

from tape.system.locks import lock_across_forks
from tests.forks import forks, in_a_fork


@forks
def test_a_fork_waits_for_the_thread_that_holds_a_lock_and_both_processes_find_it_free():
    lock, is_held, ended = lock_across_forks(), threading.Event(), []

    def is_free():
        found = []
        thread = threading.Thread(target=lambda: found.append(lock.acquire(timeout=2.0)))
        thread.start()
        thread.join()
        return found == [True]

    def hold():
        with lock:
            is_held.set()
            time.sleep(0.05)
            ended.append(True)

    thread = threading.Thread(target=hold)
    thread.start()
    is_held.wait()
    assert in_a_fork(lambda: ended and is_free(), seconds=20)
    thread.join()
    assert is_free()
