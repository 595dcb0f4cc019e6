"""Processor time of a call, without the time of other processes and of garbage collections."""

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Disable garbage collection.

    In a test process, a full collection visits the objects of all tests, for 0.2 s and longer.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def least_seconds(call: Callable[[], object], tries: int = 3) -> float:
    """Return the processor seconds of this thread in the fastest of several calls."""

    def seconds() -> float:
        began = time.thread_time()
        call()
        return time.thread_time() - began

    with uncollected():
        return min(seconds() for _ in range(tries))
