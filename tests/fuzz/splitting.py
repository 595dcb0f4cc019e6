"""Compare answers to the same bytes, sent to the gateway at once and in parts.

A different or missing answer counts only if it repeats, because the deadlines are short and the
machine can be busy.
"""

import asyncio
import re
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import NamedTuple
from urllib.parse import urlsplit

from gateway.app import create_app
from gateway.google.sheets import Sheets
from gateway.server.running import GatewayServer, in_background
from gateway.server.sockets import bind
from gateway.settings.model import load_settings
from tests.fakes import BOOK, FakeSheets
from tests.fuzz.pipelines import MARK, any_pipeline, cut
from tests.fuzz.stage import captured_log, make_keys
from tests.fuzz.verdict import problems_of_log
from tests.stand_in import stand_in

AT_ONCE = 24
"""Concurrent connections."""

PATIENCE_SECONDS = 10.0
"""Seconds after which no more answers are expected."""

BETWEEN_SECONDS = 0.001
"""Seconds between two parts."""

ATTEMPTS = 3

MOST_PROBLEMS = 5
"""Number of reported problems. Further problems are usually similar."""

SETTINGS = {
    "server.head_timeout_seconds": 0.6,
    "server.body_timeout_seconds": 0.6,
    "server.idle_timeout_seconds": 0.6,
    "google.reads_per_minute": 1_000_000,
    "google.writes_per_minute": 1_000_000,
    "access.failures_per_minute": 0,
    "plans.paid.requests_per_minute": 0,
    "plans.paid.max_concurrent": 0,
}
ORDINARY = (
    *('"event":"request"', '"event": "google-refused"'),
    *('"event": "stopping"', '"event": "stopped"'),
)
"""Allowed log lines: requests, missing worksheets, and the stop of the gateway."""

_STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")
_CONTINUE = "100"


class Told(NamedTuple):
    """Statuses in order, number of answers with the last request's ID, and end of the
    connection.
    """

    statuses: tuple[str, ...]
    marks: int
    end: str


@dataclass(frozen=True, kw_only=True)
class Case:
    """Bytes, and the same bytes in parts."""

    raw: bytes
    parts: Sequence[bytes]


@dataclass(kw_only=True)
class Comparison:
    """Number of pipelines, counts of answers by status, and problems."""

    cases: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        statuses = ", ".join(f"{status}: {count}" for status, count in sorted(self.answers.items()))
        told = f"{self.cases} pipelines whole and in parts ({statuses})"
        return "\n".join([told, *self.problems, f"{len(self.problems)} problems"])


def compared(cases: int, seed: int = 1) -> Comparison:
    """Send this number of pipelines, whole and in parts, and return the report."""
    comparison = Comparison()
    with tempfile.TemporaryDirectory() as folder, captured_log() as log:
        with serving(Path(folder)) as (url, key):
            asyncio.run(compare(url, made_up(cases, seed, key), comparison))
        text = log.getvalue()
    comparison.problems += problems_of_log(text, {})
    lines = text.splitlines()
    strange = [line for line in lines if not any(word in line for word in ORDINARY)]
    comparison.problems += [f"another line of the log: {line[:500]}" for line in strange][:20]
    return comparison


def made_up(cases: int, seed: int, key: str) -> Iterator[Case]:
    random = Random(seed)  # noqa: S311
    for _ in range(cases):
        raw = any_pipeline(random, key.encode())
        yield Case(raw=raw, parts=cut(random, raw))


@contextmanager
def serving(folder: Path) -> Iterator[tuple[str, str]]:
    """Run the gateway on a socket with short deadlines, and yield its URL and a key for
    the worksheet `a`.
    """
    settings = load_settings(None, {}, {"access.database": str(folder / "keys.db"), **SETTINGS})
    keys = asyncio.run(make_keys(settings, frozenset({BOOK})))

    sheets = FakeSheets()
    sheets.add("a", [["name"], ["1"]])

    @asynccontextmanager
    async def open_sheets() -> AsyncIterator[Sheets]:
        yield sheets

    with ExitStack() as stack:
        server = GatewayServer(create_app(settings, stand_in(open_sheets)), settings.server)
        url = stack.enter_context(in_background(server, bind("127.0.0.1", 0)))
        yield url, keys["paid"]


async def compare(url: str, cases: Iterator[Case], comparison: Comparison) -> None:
    """Send each case whole and in parts, several at a time. Repeat different cases alone."""
    doubtful: list[Case] = []

    async def work() -> None:
        for case in cases:
            whole, parts = await both(url, case)
            comparison.cases += 1
            comparison.answers.update(whole.statuses)
            if fault(whole, parts):
                doubtful.append(case)

    await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    for case in doubtful:
        if len(comparison.problems) == MOST_PROBLEMS:
            break
        faults = [fault(*await both(url, case)) for _ in range(ATTEMPTS - 1)]
        if all(faults):
            comparison.problems.append(f"{faults[0]}: {case.raw!r} in parts {case.parts!r}"[:3000])


async def both(url: str, case: Case) -> tuple[Told, Told]:
    return await told(url, [case.raw]), await told(url, case.parts)


def fault(whole: Told, parts: Told) -> str:
    """Return the problem of two results, or ""."""
    if whole.end == "closed" and "500" not in whole.statuses and whole == parts:
        return ""
    return f"whole {whole}, in parts {parts}"


async def told(url: str, parts: Sequence[bytes]) -> Told:
    """Send the parts in order, and receive until the gateway closes the connection."""
    address = urlsplit(url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    received = bytearray()
    hearing = asyncio.ensure_future(_hear(reader, received))
    try:
        for part in parts:
            writer.write(part)
            if len(parts) > 1:
                await asyncio.wait([hearing], timeout=BETWEEN_SECONDS)
        await asyncio.wait([hearing], timeout=PATIENCE_SECONDS)
        end = hearing.result() if hearing.done() else "open"
    finally:
        hearing.cancel()
        writer.transport.abort()
    statuses = [status.decode() for status in _STATUS.findall(received)]
    return Told(
        statuses=tuple(status for status in statuses if status != _CONTINUE),
        marks=received.count(MARK),
        end=end,
    )


async def _hear(reader: asyncio.StreamReader, received: bytearray) -> str:
    try:
        while part := await reader.read(65_536):
            received += part
    except ConnectionError:
        return "reset"
    return "closed"
