"""Check that readers of a worksheet of counters never see a counter go down.

Usage: python -m tests.simulation.monotonic --seconds 60 [--windows]

Rules
- The check is pure: it takes the answers of each client in their order, and returns regressions. A
  client sends one request at a time, so its answers have a clear order.
- Counters only rise, and no row moves or disappears. So row number and field identify a cell.
- An answer marked as stale can show any value. Later answers must not be older than it.
"""

import asyncio
import json
import random
import sys
import time
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx2

from gateway.errors import RowsMoved, UpstreamError
from tests.simulation.command import exit_status, parsed
from tests.simulation.people import Edit, person_at
from tests.simulation.reads.stage import SPREADSHEET, Scenery, Stage, read_mark, set_up
from tests.simulation.reads.verdicts import reported
from tests.simulation.report import Report
from tests.simulation.stage import CREDENTIALS, NO_LIMIT, Tables

Cell = tuple[int, str]
"""A row number and a field name."""
Span = tuple[float, float]
"""Start and end, in seconds of one clock."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The counters in one answer to a client."""

    client: int
    kind: str
    span: Span = (0.0, 0.0)
    cells: Mapping[Cell, int] = field(default_factory=dict)
    last_row: int | None = None
    """Number of the last row of the worksheet; None if the answer does not say it."""
    is_write: bool = False
    is_stale: bool = False


@dataclass(frozen=True, kw_only=True)
class Regression:
    """An answer with a lower counter than an earlier answer to the same client."""

    answer: Answer
    earlier: Answer
    detail: str

    def __str__(self) -> str:
        return (
            f"client {self.answer.client}: {self.answer.kind} shows {self.detail} "
            f"of {self.earlier.kind}, {self.answer.span[1] - self.earlier.span[1]:.2f} s later"
        )


def regressions(answers: Iterable[Answer]) -> Iterator[Regression]:
    """Yield a regression for each answer that is older than an earlier one."""
    shown: dict[int, dict[Cell, Answer]] = {}
    for answer in answers:
        highest = shown.setdefault(answer.client, {})
        if not answer.is_stale:
            yield from _first_regression(answer, highest)
        for cell, counter in answer.cells.items():
            if cell not in highest or counter > highest[cell].cells[cell]:
                highest[cell] = answer


def _first_regression(answer: Answer, highest: Mapping[Cell, Answer]) -> Iterator[Regression]:
    for cell, counter in answer.cells.items():
        earlier = highest.get(cell)
        if earlier is not None and counter < earlier.cells[cell]:
            detail = f"{counter} in {cell}, after {earlier.cells[cell]}"
            yield Regression(answer=answer, earlier=earlier, detail=detail)
            return
    last = max(highest, default=None)
    if last is not None and answer.last_row is not None and answer.last_row < last[0]:
        detail = f"no row after {answer.last_row}, after row {last[0]}"
        yield Regression(answer=answer, earlier=highest[last], detail=detail)


def overlapping(spans: Sequence[Span], writes: Sequence[Span]) -> int:
    """Return how many of the `spans` overlap a span of `writes`."""
    began, ended = sorted(each[0] for each in writes), sorted(each[1] for each in writes)
    return sum(
        bisect_right(began, last) > bisect_left(ended, first)  # more writes began than ended
        for first, last in spans
    )


PERSON = "person"
FIRST_COLUMNS = ("name", PERSON)
SEEDED_ROWS = 60
PAGE = 24
BUSY_ROWS = (2, 3, 4, 26, 27, 28)
"""Rows that are written during the campaign; they are on two pages."""
UPDATES = ("update", "unchanged", "if-match", "mismatch", "mismatch")
NEVER_A_TAG = '"other"'
WRITE_SHARE = 0.4
CREATE_SHARE = 0.1


@dataclass(kw_only=True)
class Client:
    """A client of the gateway. A client with a `field` is the only one to write this field."""

    index: int
    http: httpx2.AsyncClient
    path: str
    chance: random.Random
    own_field: str = ""
    answers: list[Answer] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    counters: dict[Cell, int] = field(default_factory=dict)
    """The highest value that this client has seen of each cell."""
    tags: dict[int, str] = field(default_factory=dict)

    async def act(self) -> None:
        """Send one random request."""
        if not self.own_field or self.chance.random() > WRITE_SHARE:
            reads = (self._list, self._page, self._tail, self.order, self._search, self._row)
            await self.chance.choice(reads)()
        elif self.chance.random() < CREATE_SHARE:
            await self._create()
        else:
            await self._update()

    async def _list(self) -> None:
        await self._ask("list", params={"limit": "100"})

    async def _page(self) -> None:
        skip = self.chance.choice((0, 6, PAGE))
        await self._ask("page", params={"skip": str(skip), "limit": str(PAGE)})

    async def _tail(self) -> None:
        """Read the last page, starting near the last row that this client knows."""
        last, _ = max(self.counters, default=(SEEDED_ROWS, ""))
        await self._ask("tail", params={"skip": str(max(0, last - 10)), "limit": str(PAGE)})

    async def order(self) -> None:
        await self._ask("order", params={"order": f"-{PERSON}", "limit": "100"})

    async def _search(self) -> None:
        """Search a row with a condition that its last known value meets."""
        known = [cell for cell, counter in self.counters.items() if counter]
        if not known:
            return
        row, name = cell = self.chance.choice(known)
        at_least = self.counters[cell]
        where = json.dumps({"rowIndex": row, name: {"$gte": at_least}})
        await self._ask("search", params={"where": where}, unless_found={cell: at_least - 1})

    async def _row(self) -> None:
        row = self.chance.choice(BUSY_ROWS)
        answer = await self._ask("row", f"/{row}")
        if answer.is_success:
            self.tags[row] = answer.headers["ETag"]

    async def _create(self) -> None:
        await self._ask("create", method="POST", body={"name": "new", self.own_field: 1})

    async def _update(self) -> None:
        """Update this client's counter in a row, with or without If-Match."""
        row = self.chance.choice(BUSY_ROWS)
        counter = self.counters.get((row, self.own_field), 0)
        kind = self.chance.choice(UPDATES)
        tag = self.tags.get(row, "*") if kind == "if-match" else NEVER_A_TAG
        answer = await self._ask(
            kind,
            f"/{row}",
            method="PUT",
            headers={"If-Match": tag} if kind in ("if-match", "mismatch") else {},
            body={self.own_field: str(counter) if kind == "unchanged" else counter + 1},
        )
        self.tags[row] = answer.headers.get("ETag", "*")

    async def _ask(
        self,
        kind: str,
        rest: str = "",
        *,
        method: str = "GET",
        body: Mapping[str, object] | None = None,
        unless_found: Mapping[Cell, int] | None = None,
        **request: Any,
    ) -> httpx2.Response:
        began = time.monotonic()
        answer = await self.http.request(method, self.path + rest, json=body, **request)
        records = records_of(answer)
        cells = dict(cells_of(records))
        if answer.is_success and not records and unless_found:
            cells.update(unless_found)
        mark = read_mark(answer.headers)
        noted = Answer(
            client=self.index,
            kind=f"{kind} ({answer.status_code})",
            span=(began, time.monotonic()),
            cells=cells,
            last_row=None if unless_found else last_row_of(answer, records),
            is_write=method != "GET",
            is_stale=mark is not None and mark.is_stale,
        )
        self.answers.append(noted)
        for cell, counter in noted.cells.items():
            self.counters[cell] = max(counter, self.counters.get(cell, 0))
        # A person can change the row while a conditional update is on its way to Google.
        is_met = kind == "if-match" and answer.json().get("code") == RowsMoved.code
        is_refused = answer.status_code == httpx2.codes.PRECONDITION_FAILED
        # Rows that change faster than the gateway can read both renderings are not a regression.
        is_busy = method == "GET" and answer.json().get("code") == UpstreamError.code
        if not (answer.is_success or is_refused or is_met or is_busy):
            self.complaints.append(f"{noted.kind}: {answer.text}")
        return answer


def records_of(answer: httpx2.Response) -> Sequence[Mapping[str, Any]]:
    """Return the rows in an answer."""
    body = answer.json()
    if answer.status_code == httpx2.codes.PRECONDITION_FAILED:
        return [body["existing"]]
    if not answer.is_success:
        return []
    found: Sequence[Mapping[str, Any]] = body.get("results", [body])
    return found


def cells_of(records: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Cell, int]]:
    """Yield cell and counter of the rows; an empty cell counts as 0."""
    for record in records:
        for name, text in record.items():
            if name not in ("rowIndex", "name"):
                yield (record["rowIndex"], name), int(text or 0)


def last_row_of(answer: httpx2.Response, records: Sequence[Mapping[str, Any]]) -> int | None:
    """Return the number of the worksheet's last row, or None if the answer does not show it."""
    if not answer.is_success or answer.json().get("hasNextPage", True):
        return None
    skip = int(answer.request.url.params.get("skip", "0"))
    return max((record["rowIndex"] for record in records), default=skip + 1)


def counting(row: int, counter: int) -> Edit:
    """Return the edit with which a person types a counter into a row."""
    start = {"sheetId": 0, "rowIndex": row - 1, "columnIndex": FIRST_COLUMNS.index(PERSON)}
    rows = [{"values": [{"userEnteredValue": {"numberValue": counter}}]}]
    update = {"start": start, "rows": rows, "fields": "userEnteredValue"}
    return {"requests": [{"updateCells": update}]}


def spans_of(answers: Sequence[Answer], *, is_write: bool) -> list[Span]:
    """Return the spans of the writes if `is_write`, else of the reads."""
    return [each.span for each in answers if each.is_write == is_write]


WINDOW_ABOVE_CELLS = 100


@dataclass(frozen=True, kw_only=True)
class Monotonic:
    """Numbers of clients, duration, and whether the gateway reads the worksheet in windows."""

    seconds: float = 60.0
    readers: int = 8
    writers: int = 6
    has_windows: bool = False
    latency_ms: int = 100
    rows_ttl_seconds: float = 1.0
    pause_seconds: float = 0.03
    """Average pause between an answer and the client's next request."""
    seed: int = 1

    @property
    def settings(self) -> Tables:
        windows = {"window_above_cells": WINDOW_ABOVE_CELLS} if self.has_windows else {}
        return {
            "google": {"reads_per_minute": NO_LIMIT, "writes_per_minute": NO_LIMIT},
            "cache": {"rows_ttl_seconds": self.rows_ttl_seconds, **windows},
            "plans.paid": {"requests_per_minute": NO_LIMIT, "max_concurrent": 0},
        }

    @property
    def own_fields(self) -> Sequence[str]:
        """The field of each writing client."""
        return [f"writer{index}" for index in range(self.writers)]

    @property
    def seed_text(self) -> str:
        header = ",".join((*FIRST_COLUMNS, *self.own_fields))
        row = ",".join(("row", "0", *("0" for _ in self.own_fields)))
        return "\n".join((header, *[row] * SEEDED_ROWS, ""))


async def run(folder: Path, campaign: Monotonic) -> Report:
    """Run all clients for the whole time, and return the report."""
    scenery = Scenery(
        worksheets=1,
        text=campaign.seed_text,
        latency_ms=campaign.latency_ms,
        reads_per_minute=0,
        settings=campaign.settings,
    )
    async with set_up(folder, scenery) as stage, AsyncExitStack() as stack:
        ends = time.monotonic() + campaign.seconds
        clients = [
            Client(
                index=index,
                http=(await stack.enter_async_context(stage.visitor())).client,
                path=f"/v2/sheets/{stage.titles[0]}",
                chance=random.Random(campaign.seed * 1000 + index),  # noqa: S311 - no secret
                own_field=own_field,
            )
            for index, own_field in enumerate([*campaign.own_fields, *[""] * campaign.readers])
        ]
        # In the first read the gateway cannot detect that a number is older than its text.
        await clients[0].order()
        acting = asyncio.gather(
            *(_act_until(ends, client, campaign.pause_seconds) for client in clients)
        )
        edits = await asyncio.to_thread(
            _edit_until, ends, stage, folder / CREDENTIALS, campaign.seed
        )
        await acting
    answers = [answer for client in clients for answer in client.answers]
    complaints = [complaint for client in clients for complaint in client.complaints]
    return _judged(answers, edits, complaints)


async def _act_until(ends: float, client: Client, pause_seconds: float) -> None:
    while time.monotonic() < ends:
        await client.act()
        await asyncio.sleep(2 * pause_seconds * client.chance.random())


def _edit_until(ends: float, stage: Stage, credentials: Path, seed: int) -> list[Span]:
    """Raise the person's counters one by one. Returns the time spans of the edits."""
    chance = random.Random(seed)  # noqa: S311 - no secret
    counters = Counter[int]()
    spans: list[Span] = []
    with person_at(stage.google.url, credentials, SPREADSHEET) as person:
        while (began := time.monotonic()) < ends:
            row = chance.choice(BUSY_ROWS)
            counters[row] += 1
            person.send("POST", ":batchUpdate", counting(row, counters[row]))
            spans.append((began, time.monotonic()))
    return spans


def _judged(answers: Sequence[Answer], edits: Sequence[Span], complaints: list[str]) -> Report:
    reads, writes = spans_of(answers, is_write=False), spans_of(answers, is_write=True)
    overlaps = overlapping(reads, [*writes, *edits])
    found = list(regressions(answers))
    back_reads = sum(not each.answer.is_write for each in found)
    lines = [
        f"{len(reads)} reads, {overlaps} beside writes; {len(writes)} writes, "
        f"{len(edits)} edits by hand",
        f"answers: {dict(Counter(each.kind for each in answers))}, "
        f"{sum(each.is_stale for each in answers)} marked stale",
        f"{back_reads} reads go back, and {len(found) - back_reads} answers to writes: "
        f"{dict(Counter(each.answer.kind for each in found))}",
    ]
    report = reported(lines, [*map(str, found), *complaints])
    return replace(report, figures=Counter({"overlapping reads": overlaps}))


def main() -> int:
    campaign = parsed(Monotonic())
    return exit_status(lambda folder: asyncio.run(run(folder, campaign)))


if __name__ == "__main__":
    sys.exit(main())
