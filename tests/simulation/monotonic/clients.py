"""Clients that read and write counters, one request after the other, and note what they saw."""

import json
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx2

from gateway.errors import RowsMoved
from tests.simulation.monotonic.history import Answer, Cell, Span
from tests.simulation.people import Edit
from tests.simulation.reads.marks import read_mark

PERSON = "person"
FIRST_COLUMNS = ("name", PERSON)
SEEDED_ROWS = 60
PAGE = 24
BUSY_ROWS = (2, 3, 4, 26, 27, 28)
"""The rows that are written, on two pages."""
UPDATES = ("update", "unchanged", "if-match", "mismatch", "mismatch")
NEVER_A_TAG = '"other"'
WRITE_SHARE = 0.4
CREATE_SHARE = 0.1


@dataclass(kw_only=True)
class Client:
    """A client of the gateway; one with a field of its own writes, and alone writes that field."""

    index: int
    http: httpx2.AsyncClient
    path: str
    chance: random.Random
    own_field: str = ""
    answers: list[Answer] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    counters: dict[Cell, int] = field(default_factory=dict)
    """The highest that was seen of each cell."""
    tags: dict[int, str] = field(default_factory=dict)

    async def act(self) -> None:
        """One request."""
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
        """The page at the end, as far as the client knows where that is."""
        last, _ = max(self.counters, default=(SEEDED_ROWS, ""))
        await self._ask("tail", params={"skip": str(max(0, last - 10)), "limit": str(PAGE)})

    async def order(self) -> None:
        await self._ask("order", params={"order": f"-{PERSON}", "limit": "100"})

    async def _search(self) -> None:
        """Look for a row by a condition that it met when it was seen last."""
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
        """Update the own counter of a row, with or without a condition."""
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
        # A person may change the row within the trip of a conditional update.
        is_met = kind == "if-match" and answer.json().get("code") == RowsMoved.code
        is_refused = answer.status_code == httpx2.codes.PRECONDITION_FAILED
        if not (answer.is_success or is_refused or is_met):
            self.complaints.append(f"{noted.kind}: {answer.text}")
        return answer


def records_of(answer: httpx2.Response) -> Sequence[Mapping[str, Any]]:
    """The rows that an answer shows."""
    body = answer.json()
    if answer.status_code == httpx2.codes.PRECONDITION_FAILED:
        return [body["existing"]]
    if not answer.is_success:
        return []
    found: Sequence[Mapping[str, Any]] = body.get("results", [body])
    return found


def cells_of(records: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Cell, int]]:
    """Their counters; an empty cell counts as 0."""
    for record in records:
        for name, text in record.items():
            if name not in ("rowIndex", "name"):
                yield (record["rowIndex"], name), int(text or 0)


def last_row_of(answer: httpx2.Response, records: Sequence[Mapping[str, Any]]) -> int | None:
    """Last row of the worksheet, if a list shows it."""
    if not answer.is_success or answer.json().get("hasNextPage", True):
        return None
    skip = int(answer.request.url.params.get("skip", "0"))
    return max((record["rowIndex"] for record in records), default=skip + 1)


def counting(row: int, counter: int) -> Edit:
    """The edit by which a person types a counter into a row."""
    start = {"sheetId": 0, "rowIndex": row - 1, "columnIndex": FIRST_COLUMNS.index(PERSON)}
    rows = [{"values": [{"userEnteredValue": {"numberValue": counter}}]}]
    update = {"start": start, "rows": rows, "fields": "userEnteredValue"}
    return {"requests": [{"updateCells": update}]}


def spans_of(answers: Sequence[Answer], *, is_write: bool) -> list[Span]:
    """The spans of the writes, or those of the reads."""
    return [each.span for each in answers if each.is_write == is_write]
