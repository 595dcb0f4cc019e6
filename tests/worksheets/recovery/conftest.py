"""A service that is restarted at bad moments, over a worksheet and a ledger that survive."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from gateway.errors import UpstreamAuth, WriteOutcomeUnknown
from gateway.google.sheets import Value
from gateway.settings.model import ApiSettings, CacheSettings, WriteSettings
from gateway.storage.key_store import KeyStore
from gateway.storage.write_ledger import SqlLedger
from gateway.table.record import Stored
from gateway.worksheets.fences import Fences
from gateway.worksheets.idempotency import Ledger, OpenWrite, Settled
from gateway.worksheets.rows import RowService
from gateway.worksheets.writes import Results, Write, WriteIdentity
from tests.clock import ManualClock
from tests.fakes import FakeSheets, FakeWorksheet
from tests.worksheets.conftest import CITIES, TARGET, WORKSHEET
from tests.worksheets.scripted_sheets import ScriptedSheets

BERN: Mapping[str, Stored] = {"name": "Bern", "population": 1.0}
TICKET = WriteIdentity(scope="s1", fingerprint="f1", worksheet=WORKSHEET, key_id="")
CHANGE = TICKET


@pytest.fixture
async def ledger(tmp_path: Path, clock: ManualClock) -> AsyncIterator[SqlLedger]:
    async with KeyStore.open(tmp_path / "keys.db") as store, store.open_ledger(clock) as opened:
        yield opened


@pytest.fixture
def fake() -> FakeSheets:
    return FakeSheets()


@pytest.fixture
def cities(fake: FakeSheets) -> FakeWorksheet:
    """Three cities in rows 2 to 4."""
    return fake.add("Cities", CITIES, rows=100)


@pytest.fixture
def sheets(fake: FakeSheets, cities: FakeWorksheet) -> ScriptedSheets:
    return ScriptedSheets(fake)


@pytest.fixture
def service(sheets: ScriptedSheets, ledger: SqlLedger, clock: ManualClock) -> RowService:
    return restarted(sheets, ledger, clock, recorded=ledger.open_fences)


METHODS = [name for name in vars(Ledger) if not name.startswith("_")]


def changed(ledger: SqlLedger, **methods: Callable[..., Awaitable[object]]) -> Ledger:
    """The ledger, with other methods under these names."""
    own = {name: getattr(ledger, name) for name in METHODS}
    return cast(Ledger, SimpleNamespace(**{**own, **methods}))


async def dies(results: Sequence[tuple[WriteIdentity, Results]]) -> None:
    """Replacement for `completed`: the process ends before it stores an applied write."""
    raise RuntimeError("killed")


async def forgets(*_: object) -> None:
    """Replacement for `completed` and `complete`: no answer is stored, as on a full disk."""


def restarted(
    sheets: ScriptedSheets,
    ledger: Ledger,
    clock: ManualClock,
    *,
    open_writes: Sequence[OpenWrite] = (),
    recorded: Callable[[], Collection[int]] = tuple,
    writes: WriteSettings | None = None,
) -> RowService:
    """A service with empty caches that knows only the open writes of an earlier process."""

    async def no_pause(_: float) -> None:
        return None

    return RowService(
        sheets,
        cache=CacheSettings(),
        writes=writes or WriteSettings(),
        api=ApiSettings(),
        clock=clock,
        ledger=ledger,
        wall_clock=clock,
        fences=Fences(sheets, key="gw", clock=clock, sleep=no_pause, recorded=recorded),
        open_writes=open_writes,
    )


def create(*rows: Mapping[str, Stored], identity: WriteIdentity | None = TICKET) -> Write:
    return Write.create(rows=rows or (BERN,), is_array=len(rows) > 1, identity=identity)


def names(cities: FakeWorksheet) -> Sequence[Value]:
    """First cell of each row, from row 5."""
    return [line[0] if line else "" for line in cities.lines()[4:]]


async def killed(
    service: RowService, sheets: ScriptedSheets, sent: Write, *, was_applied: bool
) -> None:
    """A create whose process was killed before or after Google applied it."""
    play = sheets.after if was_applied else sheets.before
    play("apply", RuntimeError("killed"))
    with pytest.raises(RuntimeError):
        await service.write(TARGET, sent)
    sheets.cost()


LOST = WriteOutcomeUnknown("no answer")


async def left_open(
    service: RowService,
    sheets: ScriptedSheets,
    identity: WriteIdentity,
    *,
    was_applied: bool = False,
) -> None:
    """A create without an answer, while Google is unavailable for a search, too."""
    play = sheets.after if was_applied else sheets.before
    play("apply", LOST)
    sheets.before("fence_tokens", UpstreamAuth("no token"))
    with pytest.raises(WriteOutcomeUnknown):
        await service.write(TARGET, create(identity=identity))


async def ends(*requests: Awaitable[Settled]) -> list[int | str]:
    """For each concurrent request the row number, or the name of its error."""
    found = await asyncio.gather(*requests, return_exceptions=True)
    return [
        type(each).__name__ if isinstance(each, BaseException) else each.results[0].row
        for each in found
    ]
