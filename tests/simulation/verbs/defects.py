"""Planted bugs of a gateway, which the check must find.

A gateway with a bug runs in this process. If no argument allows to plant the bug, a function of the
gateway is replaced for that time.
"""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
    nullcontext,
)
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, cast
from unittest.mock import patch

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.app import create_app
from gateway.google.client import assemble
from gateway.google.quota import open_budget
from gateway.google.sheets import (
    NO_TABLE,
    AppendedRows,
    Batch,
    Block,
    CopiedCells,
    RemovedRows,
    Render,
    Rendering,
    Sheets,
    SheetView,
    WrittenCells,
)
from gateway.server.running import GatewayServer, in_background
from gateway.server.sockets import bind
from gateway.settings.model import MAIN_ACCOUNT, GoogleSettings, load_settings
from gateway.storage.write_records import BatchRows
from gateway.table import a1
from gateway.table.header import View, row_tag
from gateway.table.steps import Work
from gateway.table.table import Table
from gateway.web.head import HEAD, read_head
from gateway.worksheets import applied, fenced_writer, moved_rows
from gateway.worksheets.fences import Fences
from gateway.worksheets.loader import Loader
from gateway.worksheets.planning import Plan
from gateway.worksheets.snapshot import Snapshot, Whole
from gateway.worksheets.worksheet import Worksheet
from tests.simulation.stage import KEYS, Tables
from tests.stand_in import open_client, open_google, stand_in

LAST_ROW = re.compile(r"!A(\d+):")
ROW_PATH = re.compile(r"/v2/sheets/[^/]+/\d+")


class Gateway(Protocol):
    @property
    def url(self) -> str: ...

    @property
    def is_up(self) -> asyncio.Event: ...


@dataclass(kw_only=True)
class InProcess:
    """A gateway that runs until the end of the campaign."""

    url: str
    is_up: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.is_up.set()


def _same(anything: Any) -> Any:
    return anything


@dataclass(frozen=True, kw_only=True)
class Defect:
    """Replacements that plant a bug: the application, the class `Sheets`, or functions.

    `planted` is a context manager that replaces functions of the gateway.
    """

    app: Callable[[ASGIApp], ASGIApp] = _same
    sheets: Callable[[Sheets], Sheets] = _same
    google: Callable[[GoogleSettings], AbstractAsyncContextManager[Sheets]] = open_google
    planted: Callable[[], AbstractContextManager[object]] = nullcontext


def keeping_numbers_of_rows() -> Defect:
    """Bug: cached rows keep their numbers when rows above are deleted."""

    def all_rows(table: Table, _: Sequence[int]) -> Work[Table]:
        yield 1
        return table

    return Defect(planted=lambda: patch.object(Table, "without_rows", all_rows))


def keeping_numbers_of_records() -> Defect:
    """Bug: repeated answers have the old row numbers, although the rows moved."""
    return Defect(planted=lambda: patch.object(BatchRows, "moves", lambda *_: False))


def matching_old_rows() -> Defect:
    """Bug: every second filter or key is matched against the rows of the previous read."""
    kept: dict[object, tuple[int, Snapshot]] = {}
    read_in_turn = Worksheet.read_in_turn

    async def read_before(
        worksheet: Worksheet, part: Whole, *, has_forms: bool
    ) -> tuple[int, Snapshot]:
        place = (worksheet.id, part)
        if place in kept:
            return kept.pop(place)
        kept[place] = await read_in_turn(worksheet, part, has_forms=has_forms)
        return kept[place]

    return Defect(planted=lambda: patch.object(Worksheet, "read_in_turn", read_before))


def deleting_top_down() -> Defect:
    """Bug: a batch deletes its rows from the top, so that the later rows have already moved."""
    return Defect(sheets=lambda inner: cast(Sheets, _Altered(inner, batch=_top_down)))


def deleting_again() -> Defect:
    """Bug: a delete ignores its Idempotency-Key, but the answer looks like a repeated one."""
    return Defect(app=_without_keys_of_deletes)


def reading_by_title() -> Defect:
    """Bug: writes by filter read rows by the title of the worksheet, not by its sheet ID."""

    async def by_title(
        loader: Loader, area: Any, render: Render, known: bytes | None = None
    ) -> Rendering | None:
        range_ = a1.rows_from(loader.id.title, area.first_row)
        return await loader.sheets.read_columns(
            loader.id.spreadsheet, range_, render=render, known=known
        )

    return Defect(planted=lambda: patch.object(Loader, "read_tab", by_title))


def counting_age_from_answers() -> Defect:
    """Bug: the age of a read counts from its answer, so the time of a slow read is ignored."""

    def plan(**fields: Any) -> Plan:
        return Plan(**{**fields, "looked_at": time.monotonic()})

    return Defect(planted=lambda: patch.object(fenced_writer, "Plan", plan))


def deleting_young_fences() -> Defect:
    """Bug: each batch deletes all earlier fences, although late copies of them can arrive."""

    async def all_left(fences: Fences, spreadsheet: str, *, needed: int = 0) -> Sequence[int]:
        return [*fences._left.get(spreadsheet, ())]

    return Defect(planted=lambda: patch.object(Fences, "_forgettable", all_left))


def tagging_visible_cells() -> Defect:
    """Bug: the ETag of a row covers only the cells that the key can access."""

    def tag(
        view: View, _row: int, displayed: Sequence[object], _typed: Sequence[object] | None = None
    ) -> str:
        if view.readable is None:
            return row_tag(view.header_cells, displayed)
        width = len(displayed)
        seen = [displayed[at] if at < width else None for at in view.columns.values()]
        return row_tag(view.header_cells, seen)

    return Defect(planted=lambda: patch.object(View, "tag", tag))


def taking_edits_for_moves() -> Defect:
    """Bug: an edited cell next to a removed row makes that row count as another record."""

    def suspected(*about: Any) -> Any:
        found = passed(*about)
        return found._replace(is_another=not found.is_as_planned)

    passed = moved_rows._passed
    return Defect(planted=lambda: patch.object(moved_rows, "_passed", suspected))


def overlooking_moves() -> Defect:
    """Bug: the rows next to a removed row are not compared."""
    found = moved_rows._Passed(is_another=False)
    return Defect(planted=lambda: patch.object(moved_rows, "_passed", lambda *_: found))


def overwriting() -> Defect:
    """Bug: rows are written into the cells below the last known row instead of appended."""
    return Defect(sheets=lambda inner: cast(Sheets, _Altered(inner, batch=_written_below)))


def copying_constants() -> Defect:
    """Bug: all cells of a filled-down row are copied to a created row, not only formulas."""

    def copied(batch: Batch) -> Batch:
        changes = [
            replace(each, first=0, last=None) if isinstance(each, CopiedCells) else each
            for each in batch.changes
        ]
        return replace(batch, changes=changes, encoded=())

    return Defect(sheets=lambda inner: cast(Sheets, _Altered(inner, batch=copied)))


def trusting_the_look() -> Defect:
    """Bug: created rows are assumed to be directly below the last record."""
    return Defect(planted=lambda: patch.object(applied, "is_below_records", lambda *_: True))


def guessing_numbers() -> Defect:
    """Bug: new rows are assumed to be below the last known row, whatever the answer shows."""
    return Defect(sheets=lambda inner: cast(Sheets, _Altered(inner, view=_moved_up)))


def ignoring_tables() -> Defect:
    """Bug: new rows go below all rows of the sheet, and not into the native table."""
    return Defect(sheets=lambda inner: cast(Sheets, _Altered(inner, batch=_below_tables)))


def ignoring_tags() -> Defect:
    """Bug: updates are sent without comparing the ETag of If-Match."""
    return Defect(app=_without_conditions)


def failing_reads() -> Defect:
    """Bug: reads of a single row get 503; reads of all rows succeed."""
    return Defect(app=_without_reads_of_rows)


def waiting_after_looks(writes_per_minute: int) -> Defect:
    """Bug: writes wait for quota after their read, without limit of the read's age."""

    @asynccontextmanager
    async def opened(settings: GoogleSettings) -> AsyncIterator[Sheets]:
        settings = settings.model_copy(update={"writes_per_minute": writes_per_minute})
        async with open_client(settings) as client:
            client._clock = lambda: 0.0  # no read seems old when its batch is sent
            budgets = {MAIN_ACCOUNT: open_budget(settings)}
            yield assemble({MAIN_ACCOUNT: client}, budgets, turn_seconds=None).sheets

    return Defect(google=opened)


@contextmanager
def gateway_with(
    defect: Defect, folder: Path, google_url: str, settings: Tables
) -> Iterator[Gateway]:
    """Run a gateway with a bug in this process during the block."""
    own = {
        "google.endpoint": google_url,
        "access.database": str(folder / KEYS),
    }
    given = {f"{table}.{name}": it for table, each in settings.items() for name, it in each.items()}
    loaded = load_settings(None, {}, {**given, **own})

    @asynccontextmanager
    async def opened() -> AsyncIterator[Sheets]:
        async with defect.google(loaded.google) as sheets:
            yield defect.sheets(sheets)

    with defect.planted():
        server = GatewayServer(defect.app(create_app(loaded, stand_in(opened))), loaded.server)
        with in_background(server, bind("127.0.0.1", 0)) as url:
            yield InProcess(url=url)


class _Altered:
    """A `Sheets` that changes batches before they are sent, or their answers."""

    def __init__(
        self,
        inner: Sheets,
        *,
        batch: Callable[[Batch], Batch] = _same,
        view: Callable[[Batch, SheetView], SheetView] = lambda _, view: view,
    ) -> None:
        self._inner = inner
        self._batch = batch
        self._view = view

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def apply(self, spreadsheet: str, batch: Batch) -> SheetView:
        return self._view(batch, await self._inner.apply(spreadsheet, self._batch(batch)))


def _written_below(batch: Batch) -> Batch:
    rows = _new_rows(batch)
    first_row = _last_row(batch) + 1
    written = [
        WrittenCells(row=row, column=column, values=[value])
        for row, cells in enumerate(rows, start=first_row)
        for column, value in enumerate(cells)
        if value is not None
    ]
    return replace(batch, changes=written, encoded=()) if rows else batch


def _below_tables(batch: Batch) -> Batch:
    changes = [
        replace(each, table=NO_TABLE) if isinstance(each, AppendedRows) else each
        for each in batch.changes
    ]
    return replace(batch, changes=changes, encoded=())


def _moved_up(batch: Batch, view: SheetView) -> SheetView:
    count, last_row = len(_new_rows(batch)), _last_row(batch)
    if not count:
        return view
    *others, block = view.blocks
    new = Block(first_row=last_row + 1, texts=block.texts[-count:], values=block.values[-count:])
    return replace(view, blocks=[*others, new])


def _new_rows(batch: Batch) -> list[Any]:
    return [
        row for change in batch.changes if isinstance(change, AppendedRows) for row in change.rows
    ]


def _last_row(batch: Batch) -> int:
    """Return the last row that the gateway knew, where the shown part of the answer begins."""
    found = LAST_ROW.search(batch.ranges[-1])
    return int(found[1]) if found else 0


def _without_conditions(app: ASGIApp) -> ASGIApp:
    async def unconditional(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = [each for each in scope["headers"] if each[0] != b"if-match"]
            scope = {**scope, "headers": headers, HEAD: read_head(headers)}
        await app(scope, receive, send)

    return unconditional


def _without_reads_of_rows(app: ASGIApp) -> ASGIApp:
    async def failing(scope: Scope, receive: Receive, send: Send) -> None:
        is_read = scope["type"] == "http" and scope["method"] == "GET"
        if is_read and ROW_PATH.fullmatch(scope["path"]):
            await Response(status_code=503)(scope, receive, send)
        else:
            await app(scope, receive, send)

    return failing


def _top_down(batch: Batch) -> Batch:
    rows: Sequence[Any] = [each for each in batch.changes if isinstance(each, RemovedRows)]
    others = [each for each in batch.changes if not isinstance(each, RemovedRows)]
    return replace(batch, changes=[*others, *reversed(rows)], encoded=())


def _without_keys_of_deletes(app: ASGIApp) -> ASGIApp:
    sent: set[tuple[str, bytes]] = set()

    async def forgetful(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "DELETE":
            await app(scope, receive, send)
            return
        key = dict(scope["headers"]).get(b"idempotency-key")
        headers = [each for each in scope["headers"] if each[0] != b"idempotency-key"]
        is_repeated = key is not None and (scope["path"], key) in sent
        if key is not None:
            sent.add((scope["path"], key))

        async def marked(message: Any) -> None:
            if message["type"] == "http.response.start" and is_repeated:
                message = {
                    **message,
                    "headers": [*message["headers"], (b"idempotent-replayed", b"true")],
                }
            await send(message)

        await app({**scope, "headers": headers, HEAD: read_head(headers)}, receive, marked)

    return forgetful
