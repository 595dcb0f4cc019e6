"""The row service over an in-memory worksheet; every call to the worksheet is counted."""

import asyncio
import json
from collections.abc import (
    Callable,
    Iterator,
    Mapping,
    MutableMapping,
    Sequence,
)
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec
import pytest
from structlog.testing import capture_logs

from gateway.query.query import Query
from gateway.settings.model import ApiSettings, CacheSettings, WriteSettings
from gateway.table.header import Selection
from gateway.table.record import Record
from gateway.worksheets.access import Target, WorksheetId
from gateway.worksheets.answers import Bodies, Encoded, Freshness, Paging
from gateway.worksheets.fences import Fences
from gateway.worksheets.rows import RowService
from gateway.worksheets.writes import Fields, Results, Write, Written
from tests.clock import ManualClock
from tests.counted_sheets import CountedSheets
from tests.fakes import BOOK, FakeSheets, FakeWorksheet, Held
from tests.worksheets.fake_ledger import FakeLedger
from tests.worksheets.scripted_sheets import ScriptedSheets

TTL_SECONDS = 10.0
CITIES: Sequence[Sequence[Held | None]] = [
    ["name", "state", "population"],
    ["Boston", "MA", 654776],
    ["Denver", "CO", 715522],
    ["Austin", "TX", 964254],
]
EVERYTHING = Query()
NOTHING_KEPT = {"rows_ttl_seconds": 0.0, "max_stale_seconds": 0.0}
TTL_OF_ROWS_SECONDS = 5.0
KEPT = {"rows_ttl_seconds": TTL_OF_ROWS_SECONDS, "max_stale_seconds": 3600.0}
WORKSHEET = WorksheetId(spreadsheet=BOOK, title="Cities")
TARGET = Target(WORKSHEET)


class RowPage(NamedTuple):
    """A list of rows as the service returned it."""

    records: list[Record]
    has_next: bool
    total: int | None


class RowRead(NamedTuple):
    """A row as the service returned it."""

    record: Record
    tag: str


class PlainEncoder:
    """Encoder whose results a test can inspect. Each new encoder starts with an empty cache."""

    def __init__(self) -> None:
        self.pages: list[RowPage] = []

    empty: None = None
    is_typed: bool = False

    def row(self, row: object, /) -> bytes:
        return json.dumps(msgspec.to_builtins(row)).encode()

    def page(self, rows: Bodies, paging: Paging, cursor: str | None = None) -> Encoded:
        records = [json.loads(row) for row in rows.rows]
        self.pages.append(RowPage(records, paging.has_next, paging.total))
        return Encoded(b"[" + b", ".join(rows.rows) + b"]", "", paging)


@dataclass(frozen=True, kw_only=True)
class Bench:
    """A service, the worksheet `Cities` that it serves, and methods to watch and disturb both."""

    service: RowService
    sheets: ScriptedSheets
    fake: FakeSheets
    cities: FakeWorksheet
    clock: ManualClock
    ledger: FakeLedger
    pauses: list[float] = field(default_factory=list)
    """Pauses in seconds that the service requested instead of sleeping."""

    async def create(self, **fields: str | int | float | bool | None) -> int:
        """Create a row and return its number."""
        return (await self.created(fields)).row

    async def created(self, fields: Fields, target: Target = TARGET) -> Written:
        """Create a row and return it as in the answer."""
        settled = await self.service.write(target, Write.create(rows=(fields,)))
        (written,) = settled.results
        return written

    async def updated(self, row: int, fields: Fields, target: Target = TARGET) -> Written:
        """Update a row and return it as in the answer."""
        settled = await self.service.write(target, Write.update(row=row, fields=fields))
        (written,) = settled.results
        return written

    async def together(self, *writes: Write) -> list[Results | BaseException]:
        """Carry out concurrent writes. Returns the rows of each write, or its error."""
        requests = [self.service.write(TARGET, write) for write in writes]
        ends = await asyncio.gather(*requests, return_exceptions=True)
        return [end if isinstance(end, BaseException) else end.results for end in ends]

    async def look(self) -> None:
        """Make the service read header, end and sheet ID. These reads are not counted."""
        await self.page()
        header, first = self.cities.lines()[:2]
        await self.updated(2, {str(header[0]): first[0]})
        self.sheets.cost()

    async def record(self, row: int, keys: Sequence[str] | None = None) -> Record:
        """Read the fields of a row."""
        return (await self.read(row, keys)).record

    async def page(
        self, query: Query = EVERYTHING, *, target: Target = TARGET, no_cache: bool = False
    ) -> RowPage:
        """List rows."""
        return (await self.served_page(query, target=target, no_cache=no_cache))[0]

    async def names(self, query: Query = EVERYTHING) -> list[object]:
        """Names in a list of rows."""
        return [record["name"] for record in (await self.page(query)).records]

    async def served_page(
        self, query: Query = EVERYTHING, *, target: Target = TARGET, no_cache: bool = False
    ) -> tuple[RowPage, Freshness]:
        """List rows, and return the freshness of the answer, too."""
        encoder = PlainEncoder()
        served = await self.service.list_rows(target, query, encoder, no_cache=no_cache)
        return encoder.pages[0], served.freshness

    async def read(
        self,
        row: int,
        keys: Sequence[str] | None = None,
        *,
        target: Target = TARGET,
        no_cache: bool = False,
    ) -> RowRead:
        """Read a row."""
        encoder = PlainEncoder()
        names = None if keys is None else Selection(tuple(keys))
        served = await self.service.read_row(target, row, names, encoder, no_cache=no_cache)
        return RowRead(json.loads(served.encoded.body), served.encoded.tag)


MakeBench = Callable[..., Bench]


@pytest.fixture
def events() -> Iterator[list[MutableMapping[str, Any]]]:
    """Log lines."""
    with capture_logs() as captured:
        yield captured


@pytest.fixture
def make_bench(clock: ManualClock) -> MakeBench:
    """Makes a bench whose worksheet has these lines and at least this number of grid rows."""

    def make(
        lines: Sequence[Sequence[Held | None]] = CITIES,
        *,
        rows: int = 100,
        writes: WriteSettings | None = None,
        unknown_fields: str = "reject",
        cache: Mapping[str, float] = NOTHING_KEPT,
        reads_per_second: float = float("inf"),
        is_counted: bool = True,
        repeatable_ids: bool = False,
    ) -> Bench:
        fake = FakeSheets(repeatable_ids=repeatable_ids)
        cities = fake.add("Cities", lines, rows=rows)
        sheets = ScriptedSheets(fake)
        ledger = FakeLedger(clock)
        pauses: list[float] = []

        async def pause(seconds: float) -> None:
            pauses.append(seconds)

        # Without a recorded time of sending, every call seems to wait for its turn.
        counted = CountedSheets(sheets, clock) if is_counted else sheets
        service = RowService(
            counted,
            cache=CacheSettings.model_validate({"header_ttl_seconds": TTL_SECONDS, **cache}),
            writes=writes or WriteSettings(),
            api=ApiSettings.model_validate({"unknown_fields": unknown_fields}),
            clock=clock,
            ledger=ledger,
            wall_clock=clock,
            read_budget=lambda _spreadsheet: {"main": reads_per_second},
            fences=Fences(counted, key="gw", clock=clock, sleep=pause),
        )
        return Bench(
            service=service,
            sheets=sheets,
            fake=fake,
            cities=cities,
            clock=clock,
            ledger=ledger,
            pauses=pauses,
        )

    return make


@pytest.fixture
def bench(make_bench: MakeBench) -> Bench:
    """Bench with three cities, and blank grid rows below them."""
    return make_bench()


@pytest.fixture
def kept(make_bench: MakeBench) -> Bench:
    """Bench with three cities whose service caches rows for five seconds."""
    return make_bench(cache=KEPT)
