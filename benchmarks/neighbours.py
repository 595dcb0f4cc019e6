"""Latency of other clients during a query: small queries and counts of another key, and /livez.

The clients run in their own process, each on its own connection with a fixed pause between
requests. The p99 includes the requests that a client with this pause would have sent while an
answer was late: a wait of 1 second also counts as waits of 0.98 s, 0.96 s, and so on.
"""

import http.client
import multiprocessing
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from urllib.parse import urlsplit

from benchmarks.costly import count_query, small_query

PAUSE_SECONDS = 0.02
COUNT_PAUSE_SECONDS = 0.5
"""Pause between two counts, because each count reads all rows."""
TIMEOUT_SECONDS = 120.0
WARM_UP_SECONDS = 0.2
DIFFERENT = 5_000
"""Number of different small queries before they repeat."""


@dataclass(frozen=True, kw_only=True)
class Waits:
    """Waiting times of a client, including the current wait for an answer."""

    asked: int
    failed: int
    """Number of answers other than 200, and of broken connections."""
    p99_seconds: float
    slowest_seconds: float


@dataclass(frozen=True, kw_only=True)
class Observed:
    """The waiting times of all other clients."""

    small: Waits
    count: Waits
    livez: Waits


@dataclass(frozen=True, kw_only=True)
class Neighbour:
    """A client: its URL, headers, paths and pause."""

    url: str
    paths: Sequence[str]
    headers: Mapping[str, str]
    pause_seconds: float = PAUSE_SECONDS


class Neighbours:
    """Control of the process in which the other clients run."""

    def __init__(self, pipe: "Connection[bool, Observed]") -> None:
        self._pipe = pipe

    def begin(self) -> None:
        """Discard the measurements so far."""
        self._pipe.send(True)

    def end(self) -> Observed:
        """Return the measurements since `begin`."""
        self._pipe.send(False)
        return self._pipe.recv()


@contextmanager
def neighbours(url: str, headers: Mapping[str, str], rows: int) -> Iterator[Neighbours]:
    """Run the other clients during the block."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    small = [small_query(number, rows) for number in range(DIFFERENT)]
    counts = [count_query(number) for number in range(DIFFERENT)]
    clients = (
        Neighbour(url=url, headers=headers, paths=small),
        Neighbour(url=url, headers=headers, paths=counts, pause_seconds=COUNT_PAUSE_SECONDS),
        Neighbour(url=url, headers={}, paths=["/livez"]),
    )
    process = context.Process(target=_observe, args=(there, clients), daemon=True)
    process.start()
    try:
        here.recv()  # the process is ready
        yield Neighbours(here)
    finally:
        process.terminate()
        process.join()


def _observe(pipe: "Connection[Observed | None, bool]", neighbours: Sequence[Neighbour]) -> None:
    clients = [*map(_Client, neighbours)]
    for client in clients:
        threading.Thread(target=client.ask_on, daemon=True).start()
    time.sleep(WARM_UP_SECONDS)
    pipe.send(None)
    while True:
        if pipe.recv():
            for client in clients:
                client.begin()
        else:
            small, counted, livez = (client.waits() for client in clients)
            pipe.send(Observed(small=small, count=counted, livez=livez))


class _Client:
    """Sends requests in one thread; other threads start and read the measurement."""

    def __init__(
        self, neighbour: Neighbour, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._neighbour = neighbour
        self._clock = clock
        self._lock = threading.Lock()
        self._seconds: list[float] = []
        self._failed = 0
        self._asked_at: float | None = None
        self._begun_at = clock()

    def begin(self) -> None:
        """Discard all answers; a running wait counts from now on."""
        with self._lock:
            self._seconds, self._failed = [], 0
            self._begun_at = self._clock()

    def waits(self) -> Waits:
        with self._lock:
            pending = [] if self._asked_at is None else [self._waited(self._asked_at)]
            seconds = [*self._seconds, *pending]
            failed = self._failed
        return Waits(
            asked=len(seconds),
            failed=failed,
            p99_seconds=_p99(seconds, self._neighbour.pause_seconds),
            slowest_seconds=max(seconds, default=float("nan")),
        )

    def ask_on(self) -> None:
        connection = self._connect()
        number = 0
        while True:
            path = self._neighbour.paths[number % len(self._neighbour.paths)]
            number += 1
            with self._lock:
                self._asked_at = began = self._clock()
            is_good = self._ask(connection, path)
            with self._lock:
                self._asked_at = None
                self._seconds.append(self._waited(began))
                self._failed += not is_good
            if not is_good:
                connection.close()
                connection = self._connect()
            time.sleep(max(0.0, self._neighbour.pause_seconds - (self._clock() - began)))

    def _waited(self, since: float) -> float:
        return self._clock() - max(since, self._begun_at)

    def _ask(self, connection: http.client.HTTPConnection, path: str) -> bool:
        try:
            connection.request("GET", path, headers=dict(self._neighbour.headers))
            answer = connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException):
            return False
        return answer.status == 200

    def _connect(self) -> http.client.HTTPConnection:
        netloc = urlsplit(self._neighbour.url).netloc
        return http.client.HTTPConnection(netloc, timeout=TIMEOUT_SECONDS)


def _p99(seconds: Sequence[float], pause_seconds: float) -> float:
    """Return the p99 of the waits, including requests that a late answer prevented."""
    waits = sorted(
        wait - late * pause_seconds
        for wait in seconds
        for late in range(1 + int(wait / pause_seconds))
    )
    return waits[int(len(waits) * 0.99)] if waits else float("nan")
