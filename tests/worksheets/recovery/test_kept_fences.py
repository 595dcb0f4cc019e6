"""Fences of writes with an open record are not deleted, because a retry must find them."""

import pytest

from gateway.errors import UNKNOWN_RETRY_SECONDS, UpstreamError, WriteOutcomeUnknown
from gateway.storage.write_ledger import SqlLedger
from gateway.worksheets.rows import RowService
from tests.clock import ManualClock
from tests.fakes import FakeWorksheet
from tests.worksheets.conftest import TARGET
from tests.worksheets.recovery.conftest import LOST, changed, create, forgets, names, restarted
from tests.worksheets.scripted_sheets import ScriptedSheets

OTHER = create({"name": "Basel"}, identity=None)


async def test_a_write_that_could_not_be_shown_is_found_later(
    service: RowService, sheets: ScriptedSheets, clock: ManualClock, cities: FakeWorksheet
) -> None:
    """If the first read of the row failed, a retry minutes later finds fence and row."""
    await service.write(TARGET, OTHER)
    sheets.after("apply", LOST)
    sheets.before("read_sheet", UpstreamError("away"))
    with pytest.raises(WriteOutcomeUnknown):
        await service.write(TARGET, create())
    for _ in range(2):
        clock.advance(UNKNOWN_RETRY_SECONDS + 1)
        await service.write(TARGET, OTHER)

    settled = await service.write(TARGET, create())

    assert settled.is_replayed
    assert names(cities) == ["Basel", "Bern", "Basel", "Basel"]


async def test_a_write_whose_answer_could_not_be_kept_is_found_later(
    sheets: ScriptedSheets, ledger: SqlLedger, clock: ManualClock, cities: FakeWorksheet
) -> None:
    """On a full disk the record stays open, so its fence is not deleted."""
    service = restarted(
        sheets,
        changed(ledger, completed=forgets, complete=forgets),
        clock,
        recorded=ledger.open_fences,
    )
    await service.write(TARGET, OTHER)
    await service.write(TARGET, create())
    for _ in range(2):
        clock.advance(UNKNOWN_RETRY_SECONDS + 1)
        await service.write(TARGET, OTHER)

    settled = await service.write(TARGET, create())

    assert settled.is_replayed
    assert names(cities) == ["Basel", "Bern", "Basel", "Basel"]
