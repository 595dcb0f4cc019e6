"""Set-up of read campaigns: an observed emulator, a gateway process, keys and clients."""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from gateway.storage.key_store import Grants, KeyRequest
from tests.journeys.conftest import create_keys
from tests.journeys.workbook import write_seed
from tests.simulation.stage import KEYS, NO_LIMIT, Tables, client_of, gateway_process, google
from tests.simulation.witness import Witness

CACHE = "sheets-gateway"
FORWARDS = ("miss", "stale", "request", "uri-miss", "partial", "bypass")
PARAMETER = re.compile(r'([a-z][a-z-]*)(?:=(-?\d+|[A-Za-z][\w./:*-]*|"[ -~]*"))?')


@dataclass(frozen=True, kw_only=True)
class Mark:
    """Age and remaining lifetime of an answer in seconds, and why the gateway called Google."""

    age_seconds: int
    ttl_seconds: int | None = None
    is_hit: bool = False
    forward: str = ""
    """Reason of the call to Google; "" if the answer came from the cache."""
    detail: str = ""

    @property
    def is_stale(self) -> bool:
        return self.ttl_seconds is not None and self.ttl_seconds < 0


def read_mark(headers: Mapping[str, str]) -> Mark | None:
    """Parse the cache headers of an answer. Returns None without them.

    Raises ValueError if they are inconsistent.
    """
    if "cache-status" not in headers and "age" not in headers:
        return None
    name, *rest = (part.strip() for part in headers.get("cache-status", "").split(";"))
    members = dict(_parameter(part) for part in rest)
    is_hit, forward = "hit" in members, members.get("fwd", "")
    if name != CACHE or is_hit == bool(forward) or forward not in ("", *FORWARDS):
        raise ValueError(f"Cache-Status: {headers.get('cache-status')}")
    if not re.fullmatch(r"\d+", headers.get("age", "")):
        raise ValueError(f"Age: {headers.get('age')}")
    return Mark(
        age_seconds=int(headers["age"]),
        ttl_seconds=int(members["ttl"]) if "ttl" in members else None,
        is_hit=is_hit,
        forward=forward,
        detail=members.get("detail", "").strip('"'),
    )


def _parameter(text: str) -> tuple[str, str]:
    found = PARAMETER.fullmatch(text)
    if found is None:
        raise ValueError(f"Cache-Status has {text!r}")
    return found[1], found[2] or ""


@dataclass(frozen=True, kw_only=True)
class Question:
    """A read request: path, parameters and headers."""

    path: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Reply:
    """Result of a request; `began` is in seconds of the monotonic clock."""

    path: str
    began: float
    seconds: float
    status: int
    """HTTP status; 0 if the connection failed."""
    code: int = 0
    """Code in the body of an error; 0 without an error."""
    retry_after: str = ""
    mark: Mark | None = None

    @property
    def is_fresh(self) -> bool:
        return self.status == 200 and self.mark is not None and not self.mark.is_stale


@dataclass(kw_only=True)
class Visitor:
    """A client with a key, and the replies that it received."""

    client: httpx2.AsyncClient = field(repr=False)
    replies: list[Reply] = field(default_factory=list)

    async def ask(self, question: Question) -> Reply:
        """Send one read, record the reply and return it."""
        began = time.monotonic()
        try:
            answer = await self.client.get(
                f"/v2/sheets/{question.path}",
                params=dict(question.parameters),
                headers=dict(question.headers),
            )
        except httpx2.TransportError:
            seconds = time.monotonic() - began
            reply = Reply(path=question.path, began=began, seconds=seconds, status=0)
        else:
            reply = _reply(question.path, began, answer)
        self.replies.append(reply)
        return reply

    async def poll(
        self, questions: Iterator[Question], *, every_seconds: float, wait_seconds: float = 0.0
    ) -> None:
        """Send one question after the other at a steady pace, until cancelled."""
        due = time.monotonic() + wait_seconds
        for question in questions:
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            due = max(due + every_seconds, time.monotonic())
            await self.ask(question)


@asynccontextmanager
async def visitor(url: str, key: str, spreadsheet: str) -> AsyncIterator[Visitor]:
    """Yield a client that records its replies."""
    async with client_of(url, key, spreadsheet) as client:
        yield Visitor(client=client)


def _reply(path: str, began: float, answer: httpx2.Response) -> Reply:
    return Reply(
        path=path,
        began=began,
        seconds=time.monotonic() - began,
        status=answer.status_code,
        code=0 if answer.is_success else answer.json()["code"],
        retry_after=answer.headers.get("retry-after", ""),
        mark=read_mark(answer.headers) if answer.is_success else None,
    )


SPREADSHEET = "reads"
OWN_SPREADSHEET = "own"
"""A second spreadsheet, which only the first key can read."""
KEEPING: Mapping[str, object] = {
    "cache.rows_ttl_seconds": 5.0,
    "cache.max_stale_seconds": 3600.0,
    "google.reads_per_minute": NO_LIMIT,
    "google.writes_per_minute": NO_LIMIT,
}
"""Gateway settings with the default cache times and without quota."""
NAMES_AND_AMOUNTS = "name,group,amount\n" + "".join(
    f"name {row:05},group {row % 7},{row * 37 % 1000}\n" for row in range(100)
)


@dataclass(frozen=True, kw_only=True)
class Scenery:
    """Worksheets, behaviour of Google, keys, and the gateway's settings by table."""

    worksheets: int
    text: str = NAMES_AND_AMOUNTS
    """Contents of each worksheet, as CSV."""
    latency_ms: int = 300
    reads_per_minute: int = 60
    """Google's quota of reads and of writes per minute; 0 means no quota."""
    keys: int = 1
    settings: Tables = field(default_factory=dict)

    @property
    def titles(self) -> Sequence[str]:
        return [f"Reads{index}" for index in range(self.worksheets)]


@dataclass(frozen=True, kw_only=True)
class Google:
    """The emulator and its witness, which records the calls."""

    url: str
    watch: Witness

    def stats(self) -> dict[str, Any]:
        answer: dict[str, Any] = httpx2.get(f"{self.url}/_emulator/stats").json()
        return answer

    async def answer_with(self, *faults: Mapping[str, object]) -> None:
        """Make the next calls fail with these faults; without arguments remove all faults."""
        async with httpx2.AsyncClient(base_url=self.url) as client:
            (await client.post("/_emulator/faults", json=faults)).raise_for_status()


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A gateway, its keys, and Google."""

    url: str
    keys: Sequence[str]
    google: Google
    titles: Sequence[str]

    @asynccontextmanager
    async def visitor(self, number: int = 0) -> AsyncIterator[Visitor]:
        """Yield a client with the key at position `number`."""
        async with visitor(self.url, self.keys[number], SPREADSHEET) as client:
            yield client


@asynccontextmanager
async def set_up(folder: Path, scenery: Scenery) -> AsyncIterator[Stage]:
    """Start emulator and gateway for the time of the block, in an empty folder."""
    worksheets = dict.fromkeys(scenery.titles, scenery.text)
    write_seed(folder / "seed", dict.fromkeys((SPREADSHEET, OWN_SPREADSHEET), worksheets))
    with google(folder, latency_ms=scenery.latency_ms, per_minute=scenery.reads_per_minute) as (
        url,
        witness,
    ):
        gateway = gateway_process(folder, url, scenery.settings)
        keys = await create_keys(folder / KEYS, dict(_key_requests(scenery.keys)))
        await gateway.start()
        try:
            yield Stage(
                url=gateway.url,
                keys=list(keys.values()),
                google=Google(url=url, watch=witness),
                titles=scenery.titles,
            )
        finally:
            await gateway.kill()


def _key_requests(count: int) -> Iterator[tuple[str, KeyRequest]]:
    for number in range(count):
        name = f"reader {number}"
        spreadsheets = (SPREADSHEET,) if number else (SPREADSHEET, OWN_SPREADSHEET)
        yield name, KeyRequest(name=name, grants=Grants(spreadsheets=frozenset(spreadsheets)))
