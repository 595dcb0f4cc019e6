"""A service over an in-memory worksheet, with every call to it counted."""

from collections.abc import Callable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from structlog.testing import capture_logs

from gateway.config import ApiSettings, CacheSettings, WriteSettings
from gateway.service.rows import RowService
from gateway.service.worksheet import WorksheetRef
from tests.clock import ManualClock
from tests.fakes import BOOK, FakeSheets, FakeWorksheet, Held
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

    async def create(self, **fields: str | int | float | bool | None) -> int:
        """Create a row, and give its number."""
        return (await self.service.create_row(REF, fields)).row


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
        service = RowService(
            sheets,
            cache=CacheSettings(header_ttl_seconds=TTL_SECONDS),
            writes=writes or WriteSettings(),
            api=ApiSettings.model_validate({"unknown_fields": unknown_fields}),
            clock=clock,
        )
        return Bench(service=service, sheets=sheets, fake=fake, cities=cities, clock=clock)

    return make


@pytest.fixture
def bench(make_bench: MakeBench) -> Bench:
    """Three cities in a grid with room for more."""
    return make_bench()
