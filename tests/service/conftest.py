"""A service over an in-memory worksheet, with every call to it counted."""

import asyncio
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from structlog.testing import capture_logs

from gateway.config import ApiSettings, CacheSettings, WriteSettings
from gateway.service.rows import Record, RowService
from gateway.service.worksheet import WorksheetRef
from gateway.service.writes import Create, Fields, Results, Update, Write, Written
from tests.clock import ManualClock
from tests.fakes import BOOK, FakeSheets, FakeWorksheet, Held
from tests.service.fake_ledger import FakeLedger
from tests.service.scripted_sheets import ScriptedSheets

TTL_SECONDS = 10.0
CITIES: Sequence[Sequence[Held | None]] = [
    ["name", "state", "population"],
    ["Boston", "MA", 654776],
    ["Denver", "CO", 715522],
    ["Austin", "TX", 964254],
]
REF = WorksheetRef(spreadsheet=BOOK, title="Cities")


@dataclass(frozen=True, kw_only=True)
class Bench:
    """A service, the worksheet `Cities` under it, and the means to watch and disturb both."""

    service: RowService
    sheets: ScriptedSheets
    fake: FakeSheets
    cities: FakeWorksheet
    clock: ManualClock
    ledger: FakeLedger
    pauses: list[float] = field(default_factory=list)
    """The seconds that the service would have waited."""

    async def create(self, **fields: str | int | float | bool | None) -> int:
        """Create a row, and give its number."""
        return (await self.created(fields)).row

    async def created(self, fields: Fields, ref: WorksheetRef = REF) -> Written:
        """Create a row, and give what its answer shows."""
        settled = await self.service.create_rows(ref, Create(rows=(fields,)))
        (written,) = settled.results
        return written

    async def updated(self, row: int, fields: Fields, ref: WorksheetRef = REF) -> Written:
        """Update a row, and give what its answer shows."""
        settled = await self.service.update_row(ref, Update(row=row, fields=fields))
        (written,) = settled.results
        return written

    async def together(self, *writes: Write) -> list[Results | BaseException]:
        """Carry out writes that come at the same time; the rows of each, or its error."""
        requests = [
            self.service.create_rows(REF, write)
            if isinstance(write, Create)
            else self.service.update_row(REF, write)
            for write in writes
        ]
        ends = await asyncio.gather(*requests, return_exceptions=True)
        return [end if isinstance(end, BaseException) else end.results for end in ends]

    async def record(self, row: int, keys: Sequence[str] | None = None) -> Record:
        """Read a row."""
        return (await self.service.read_row(REF, row, keys)).record


MakeBench = Callable[..., Bench]


@pytest.fixture
def anyio_backend() -> str:
    """The event loop that the gateway runs on."""
    return "asyncio"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def events() -> Iterator[list[MutableMapping[str, Any]]]:
    """What was logged, line by line."""
    with capture_logs() as captured:
        yield captured


@pytest.fixture
def make_bench(clock: ManualClock) -> MakeBench:
    """Makes a bench with these lines in the worksheet, and a grid of so many rows at least."""

    def make(
        lines: Sequence[Sequence[Held | None]] = CITIES,
        *,
        rows: int = 100,
        writes: WriteSettings | None = None,
        unknown_fields: str = "reject",
    ) -> Bench:
        fake = FakeSheets()
        cities = fake.add("Cities", lines, rows=rows)
        sheets = ScriptedSheets(fake)
        ledger = FakeLedger(clock)
        pauses: list[float] = []

        async def pause(seconds: float) -> None:
            pauses.append(seconds)

        service = RowService(
            sheets,
            cache=CacheSettings(header_ttl_seconds=TTL_SECONDS),
            writes=writes or WriteSettings(),
            api=ApiSettings.model_validate({"unknown_fields": unknown_fields}),
            clock=clock,
            ledger=ledger,
            wall_clock=clock,
            sleep=pause,
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
    """Three cities in a grid with room for more."""
    return make_bench()
