"""Rows that look alike: each belongs to one request."""

import asyncio
from dataclasses import replace

import pytest
from anyio import wait_all_tasks_blocked

from gateway.errors import GatewayError, UpstreamError, WriteOutcomeUnknown
from gateway.storage.write_ledger import SqlLedger
from gateway.worksheets.rows import RowService
from gateway.worksheets.writes import WriteIdentity
from tests.clock import ManualClock
from tests.fakes import FakeWorksheet
from tests.worksheets.conftest import TARGET
from tests.worksheets.recovery.conftest import (
    TICKET,
    WatchedLedger,
    create,
    ends,
    killed,
    left_open,
    names,
    restarted,
)
from tests.worksheets.scripted_sheets import ScriptedSheets


@pytest.mark.parametrize("other", [None, replace(TICKET, scope="s2")], ids=["unkeyed", "keyed"])
async def test_a_row_of_somebody_else_is_not_taken(
    service: RowService,
    sheets: ScriptedSheets,
    ledger: SqlLedger,
    cities: FakeWorksheet,
    clock: ManualClock,
    other: WriteIdentity | None,
) -> None:
    """A row that looks the same and was acknowledged to another request stays that one's."""
    await killed(service, sheets, create(), was_applied=False)
    acknowledged = await restarted(sheets, ledger, clock).create_rows(
        TARGET, create(identity=other)
    )
    later = restarted(sheets, ledger, clock)
    with pytest.raises(WriteOutcomeUnknown):
        await later.create_rows(TARGET, create())
    clock.advance(185)
    settled = await later.create_rows(TARGET, create())

    assert acknowledged.results[0].row == 5
    assert settled.results[0].row == 6
    assert names(cities) == ["Bern", "Bern"]


async def test_a_row_of_long_after_is_not_taken(
    service: RowService, sheets: ScriptedSheets, cities: FakeWorksheet, clock: ManualClock
) -> None:
    """What was acknowledged when the open create could not land any more is never its row."""
    await killed(service, sheets, create(), was_applied=False)
    clock.advance(3600)
    for _ in range(3):
        await service.create_rows(TARGET, create(identity=None))
        clock.advance(60)
    settled = await service.create_rows(TARGET, create())

    assert not settled.is_replayed
    assert names(cities) == ["Bern"] * 4


async def test_a_row_among_those_of_others_is_found(
    sheets: ScriptedSheets, ledger: SqlLedger, clock: ManualClock
) -> None:
    """Of rows that look the same each belongs to one request."""
    identities = [replace(TICKET, scope=scope) for scope in ("a", "b", "c")]
    for identity in identities:
        begun = restarted(sheets, ledger, clock)
        await killed(begun, sheets, create(identity=identity), was_applied=True)
    later = restarted(sheets, ledger, clock)
    await later.create_rows(TARGET, create(identity=None))
    order = [identities[1], identities[0], identities[2]]
    found = [await later.create_rows(TARGET, create(identity=identity)) for identity in order]

    assert [settled.results[0].row for settled in found] == [6, 5, 7]


async def test_of_two_retries_one_finds_the_row(
    service: RowService, sheets: ScriptedSheets, cities: FakeWorksheet
) -> None:
    """Two open creates alike, of which one landed: their retries look one after the other.

    Which one is first depends on the threads that read their records.
    """
    first, second = TICKET, replace(TICKET, scope="s2")
    await left_open(service, sheets, second)
    await left_open(service, sheets, first)
    cities.type(5, "Bern", None, 1.0)
    retries = [
        service.create_rows(TARGET, create(identity=identity)) for identity in (first, second)
    ]

    assert set(await ends(*retries)) == {5, "WriteOutcomeUnknown"}


async def test_a_retry_does_not_find_the_row_of_a_write_under_way(
    sheets: ScriptedSheets, ledger: SqlLedger, clock: ManualClock
) -> None:
    """What Google applied and has not answered yet is not there for the look."""
    watched = WatchedLedger(ledger)
    service = restarted(sheets, watched, clock)
    await left_open(service, sheets, TICKET)
    watched.is_found.clear()
    gate = asyncio.Event()
    sheets.after("append_rows", gate)
    other = asyncio.create_task(service.create_rows(TARGET, create(identity=None)))
    await wait_all_tasks_blocked()
    mine = asyncio.create_task(service.create_rows(TARGET, create()))
    await watched.is_found.wait()
    await wait_all_tasks_blocked()
    gate.set()

    assert await ends(other, mine) == [5, "WriteOutcomeUnknown"]


async def test_a_write_after_it_does_not_find_the_row_of_a_retry(
    service: RowService, sheets: ScriptedSheets, cities: FakeWorksheet
) -> None:
    """The end of the worksheet is looked at anew: an open append below is looked for below."""
    await left_open(service, sheets, TICKET)
    await service.create_rows(TARGET, create({"name": "Basel"}, identity=None))
    cities.type(6, "Bern", None, 1.0)
    found = await service.create_rows(TARGET, create())
    sheets.before("append_rows", WriteOutcomeUnknown("503", was_answered=True))

    assert found.results[0].row == 6
    with pytest.raises(UpstreamError) as failure:
        await service.create_rows(TARGET, create(identity=None))
    assert failure.value.outcome == "not_applied"


async def test_a_row_that_a_person_added_to_is_found(
    service: RowService,
    sheets: ScriptedSheets,
    ledger: SqlLedger,
    cities: FakeWorksheet,
    clock: ManualClock,
) -> None:
    """A row of somebody else that looks more like it does not hide it."""
    await killed(service, sheets, create(), was_applied=True)
    later = restarted(sheets, ledger, clock)
    await later.create_rows(TARGET, create(identity=None))
    cities.type(5, "Bern", "BE", 1.0)
    clock.advance(200)
    settled = await later.create_rows(TARGET, create())

    assert (settled.results[0].row, settled.is_replayed) == (5, True)


@pytest.mark.parametrize("header", [["city"], ["", "", ""]], ids=["renamed", "no header"])
async def test_found_rows_that_cannot_be_shown_are_applied(
    service: RowService, sheets: ScriptedSheets, cities: FakeWorksheet, header: list[str]
) -> None:
    """That is the answer for good, and the rows are nobody else's."""
    twin = replace(TICKET, scope="s2")
    await left_open(service, sheets, twin)
    await left_open(service, sheets, TICKET)
    cities.type(5, "Bern", None, 1.0)
    cities.type(1, *header)
    outcomes = []
    for identity in (TICKET, TICKET, twin):
        with pytest.raises(GatewayError) as failure:
            await service.create_rows(TARGET, create(identity=identity))
        error = failure.value
        outcomes.append((type(error), error.outcome, error.is_replayed))

    assert outcomes == [
        (UpstreamError, "applied", True),
        (UpstreamError, "applied", True),
        (WriteOutcomeUnknown, "unknown", False),
    ]
