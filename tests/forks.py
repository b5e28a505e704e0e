"""Claims about a forked process."""

import os
import signal
import traceback

import pytest

__all__ = ["in_a_fork", "needs_fork"]

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")


def in_a_fork(claim, seconds=60):
    """Whether a claim holds in a forked process, which is killed if it takes too long.

    Parameters
    ----------
    claim : callable
        Without arguments. What it raises is printed, and counts as False.
    seconds : int
        How long it may take.

    Returns
    -------
    bool
    """
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(seconds)
            os._exit(0 if claim() else 1)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(2)
    return os.waitpid(child, 0)[1] == 0
