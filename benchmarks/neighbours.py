"""How long other clients wait beside a query: another key's small queries and counts, and /livez.

They ask in a process of their own, so that nothing that is measured takes their time: each on a
connection of its own, at most once in its pause. The p99 counts what a client would have seen that
goes on asking at that pace while its answer is late: a wait of a second is one of 0.98 seconds as
well, one of 0.96, and so on.
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
"""Between two counts: each walks all rows, and is not to keep a core busy."""
TIMEOUT_SECONDS = 120.0
WARM_UP_SECONDS = 0.2
DIFFERENT = 5_000
"""Small queries before the first one comes again."""


@dataclass(frozen=True, kw_only=True)
class Waits:
    """How long a client waited for its answers; what is not answered yet counts too."""

    asked: int
    failed: int
    """Answers that were no 200, and connections that broke."""
    p99_seconds: float
    slowest_seconds: float


@dataclass(frozen=True, kw_only=True)
class Observed:
    """What the other clients saw."""

    small: Waits
    count: Waits
    livez: Waits


@dataclass(frozen=True, kw_only=True)
class Neighbour:
    """A client: where it asks, and what, over and over."""

    url: str
    paths: Sequence[str]
    headers: Mapping[str, str]
    pause_seconds: float = PAUSE_SECONDS


class Neighbours:
    """The process's other end."""

    def __init__(self, pipe: "Connection[bool, Observed]") -> None:
        self._pipe = pipe

    def begin(self) -> None:
        """Forget what was seen until now."""
        self._pipe.send(True)

    def end(self) -> Observed:
        """What was seen since the beginning."""
        self._pipe.send(False)
        return self._pipe.recv()


@contextmanager
def neighbours(url: str, headers: Mapping[str, str], rows: int) -> Iterator[Neighbours]:
    """Clients that ask for the time of the block."""
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
        here.recv()  # it is there
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
    """Asks on one thread; another one begins and reads."""

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
        """Forget all answers; a wait that has begun counts from now."""
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
    """The p99 of the answers, and of those that were not asked for while one was late."""
    waits = sorted(
        wait - late * pause_seconds
        for wait in seconds
        for late in range(1 + int(wait / pause_seconds))
    )
    return waits[int(len(waits) * 0.99)] if waits else float("nan")
