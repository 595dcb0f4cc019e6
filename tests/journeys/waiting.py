"""Waiting for what happens in another thread or process."""

import threading
import time
from collections.abc import Callable

PATIENCE_SECONDS = 20.0
BETWEEN_SECONDS = 0.02


def until(is_done: Callable[[], bool]) -> bool:
    """Poll until a condition is true. Returns False after `PATIENCE_SECONDS`."""
    ends = time.monotonic() + PATIENCE_SECONDS
    while not is_done():
        if time.monotonic() >= ends:
            return False
        threading.Event().wait(BETWEEN_SECONDS)
    return True
