"""Equal rows in a sheet: each belongs to one request, and a fence proves which were written."""

import asyncio
from collections.abc import Collection
from dataclasses import replace

import pytest
from anyio import wait_all_tasks_blocked

from gateway.errors import GatewayError, HeaderChanged, RowNumberUnknown, SheetTooLarge
from gateway.storage.write_ledger import SqlLedger
from gateway.worksheets.idempotency import Entry
from gateway.worksheets.rows import RowService
from gateway.worksheets.writes import WriteIdentity
from tests.clock import ManualClock
from tests.fakes import FakeWorksheet
from tests.worksheets.conftest import TARGET
from tests.worksheets.recovery.conftest import (
    TICKET,
    changed,
    create,
    ends,
    killed,
    left_open,
    names,
    restarted,
)
from tests.worksheets.scripted_sheets import ScriptedSheets

TOO_LARGE = SheetTooLarge("large")
"""Error of reads that leaves the end of the sheet unknown."""


@pytest.mark.parametrize("other", [None, replace(TICKET, scope="s2")], ids=["unkeyed", "keyed"])
async def test_a_row_of_somebody_else_is_not_taken(
    service: RowService,
    sheets: ScriptedSheets,
    ledger: SqlLedger,
    cities: FakeWorksheet,
    clock: ManualClock,
    other: WriteIdentity | None,
) -> None:
    """An equal row that another request was answered with stays the row of that request."""
    await killed(service, sheets, create(), was_applied=False)
    later = restarted(sheets, ledger, clock)
    acknowledged = await later.write(TARGET, create(identity=other))
    settled = await later.write(TARGET, create())

    assert acknowledged.results[0].row == 5
    assert (settled.results[0].row, settled.is_replayed) == (6, False)
    assert names(cities) == ["Bern", "Bern"]


async def test_rows_among_those_that_look_the_same_are_applied(
    sheets: ScriptedSheets, ledger: SqlLedger, clock: ManualClock, cities: FakeWorksheet
) -> None:
    """Each write was applied once, but the row numbers are reported as unknown."""
    identities = [replace(TICKET, scope=scope) for scope in ("a", "b", "c")]
    for identity in identities:
        begun = restarted(sheets, ledger, clock)
        for read in ("read_sheet", "read_columns"):
            sheets.before(read, TOO_LARGE)
        await killed(begun, sheets, create(identity=identity), was_applied=True)
    later = restarted(sheets, ledger, clock)
    found = [
        await ends(later.write(TARGET, create(identity=identity)))
        for identity in (identities[1], identities[0], identities[2])
    ]

    assert found == [["RowNumberUnknown"]] * 3
    assert names(cities) == ["Bern"] * 3


async def test_an_equal_record_from_before_is_not_taken(
    service: RowService, sheets: ScriptedSheets
) -> None:
    """A write that did not know the end of the sheet has no expected row."""
    boston = {"name": "Boston"}
    for read in ("read_sheet", "read_columns"):
        sheets.before(read, TOO_LARGE)
    await killed(service, sheets, create(boston), was_applied=True)
    await service.write(TARGET, create({"name": "Basel"}, identity=None))

    with pytest.raises(RowNumberUnknown) as raised:
        await service.write(TARGET, create(boston))

    assert raised.value.outcome == "applied"


async def test_a_row_among_others_is_found(
    sheets: ScriptedSheets, ledger: SqlLedger, clock: ManualClock
) -> None:
    """If the rows differ, each retry gets its own row number, in any order of retries."""
    bodies = {scope: {"name": scope, "population": 1.0} for scope in ("a", "b", "c")}
    for scope, body in bodies.items():
        begun = restarted(sheets, ledger, clock)
        await begun.write(TARGET, create({"name": "Aarau"}, identity=None))
        sent = create(body, identity=replace(TICKET, scope=scope))
        await killed(begun, sheets, sent, was_applied=True)
    later = restarted(sheets, ledger, clock)
    await later.write(TARGET, create(identity=None))
    found = [
        await later.write(TARGET, create(bodies[scope], identity=replace(TICKET, scope=scope)))
        for scope in ("b", "a", "c")
    ]

    assert [settled.results[0].row for settled in found] == [8, 6, 10]


async def test_of_two_retries_each_has_its_row(
    service: RowService, sheets: ScriptedSheets, cities: FakeWorksheet
) -> None:
    """Of two equal open creates one was applied; the other one is sent again.

    Which one comes first depends on the threads that read their records.
    """
    first, second = TICKET, replace(TICKET, scope="s2")
    await left_open(service, sheets, second)
    await left_open(service, sheets, first, was_applied=True)
    found = await asyncio.gather(
        *(service.write(TARGET, create(identity=identity)) for identity in (first, second)),
        return_exceptions=True,
    )

    assert len(names(cities)) == 2
    # If the row of the second comes first, that of the first is one of two alike.
    rows = [None if isinstance(end, RowNumberUnknown) else end for end in found]
    assert not any(isinstance(end, BaseException) for end in rows)


async def test_a_write_under_way_does_not_hold_its_retry_up_for_ever(
    sheets: ScriptedSheets, ledger: SqlLedger, clock: ManualClock, cities: FakeWorksheet
) -> None:
    """A retry waits in the queue until Google answers the running write."""
    is_found = asyncio.Event()

    async def find(scope: str, texts: Collection[str] = ()) -> Entry | None:
        entry = await ledger.find(scope, texts)
        is_found.set()
        return entry

    service = restarted(sheets, changed(ledger, find=find), clock)
    await left_open(service, sheets, TICKET)
    is_found.clear()
    gate = asyncio.Event()
    sheets.after("apply", gate)
    other = asyncio.create_task(service.write(TARGET, create(identity=None)))
    await wait_all_tasks_blocked()
    mine = asyncio.create_task(service.write(TARGET, create()))
    await is_found.wait()
    await wait_all_tasks_blocked()
    gate.set()

    assert await ends(other, mine) == [5, 6]
    assert names(cities) == ["Bern", "Bern"]


async def test_a_row_that_a_person_added_to_is_found(
    service: RowService,
    sheets: ScriptedSheets,
    ledger: SqlLedger,
    cities: FakeWorksheet,
    clock: ManualClock,
) -> None:
    """Cells that the create did not write can have any value."""
    await service.write(TARGET, create({"name": "Aarau"}, identity=None))
    await killed(service, sheets, create(), was_applied=True)
    later = restarted(sheets, ledger, clock)
    await later.write(TARGET, create({"name": "Basel"}, identity=None))
    cities.type(6, "Bern", "BE", 1.0)
    clock.advance(200)
    settled = await later.write(TARGET, create())

    assert (settled.results[0].row, settled.is_replayed) == (6, True)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        pytest.param(["city"], HeaderChanged, id="renamed"),
        pytest.param(["", "", ""], GatewayError, id="no header"),
    ],
)
async def test_found_rows_that_cannot_be_shown_are_applied(
    service: RowService,
    sheets: ScriptedSheets,
    cities: FakeWorksheet,
    header: list[str],
    expected: type[GatewayError],
) -> None:
    """Later retries get the same answer, with the row number if it is known."""
    await left_open(service, sheets, TICKET, was_applied=True)
    cities.type(1, *header)
    outcomes = []
    for _ in range(2):
        with pytest.raises(expected) as failure:
            await service.write(TARGET, create())
        error = failure.value
        row = error.row if isinstance(error, HeaderChanged) else None
        outcomes.append((type(error), error.outcome, error.is_replayed, row))

    assert outcomes[0] == outcomes[1]
    assert outcomes[0][1:3] == ("applied", True)
    assert outcomes[0][3] in {5, None}
    assert sheets.count("apply") == 1
