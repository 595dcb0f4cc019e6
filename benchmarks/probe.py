"""Measures how long a server's event loop is blocked, with requests that cost almost nothing.

A thread of this process sends requests on one connection, each a millisecond after the last answer.
A blocked event loop delays the answer by the same time. An idle machine adds some tenths of a
millisecond.
"""

import http.client
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

PAUSE_SECONDS = 0.001
TIMEOUT_SECONDS = 30.0


@dataclass
class Probe:
    """The latencies so far."""

    path: str = "/livez"
    seconds: list[float] = field(default_factory=list)

    @property
    def worst_seconds(self) -> float:
        return max(self.seconds)

    def ask(self, connection: http.client.HTTPConnection) -> None:
        started = time.perf_counter()
        connection.request("GET", self.path)
        connection.getresponse().read()
        self.seconds.append(time.perf_counter() - started)


@contextmanager
def probing(url: str) -> Iterator[Probe]:
    """Probe a server during the block."""
    probe, stop = Probe(), threading.Event()
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=TIMEOUT_SECONDS)
    probe.ask(connection)  # connect before the measurement
    probe.seconds.clear()

    def work() -> None:
        while not stop.is_set():
            probe.ask(connection)
            stop.wait(PAUSE_SECONDS)

    thread = threading.Thread(target=work, name="probe")
    thread.start()
    try:
        yield probe
    finally:
        stop.set()
        thread.join()
        connection.close()
