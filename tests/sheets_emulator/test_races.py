"""Appends that overlap in time: which rows are lost, which are not, and when they look."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sheets_emulator.app import EmulatorOptions, create_emulator
from sheets_emulator.faults import Fault
from sheets_emulator.refusal import Refusal
from tests.sheets_emulator.bench import write_seed
from tests.sheets_emulator.conftest import BenchBuilder
from tests.sheets_emulator.held_clock import HeldClock, Traffic
from tests.sheets_emulator.requests_of import dimension, properties_of

LATENCY_MS = 100  # an append that begins at 0 writes at 50

TrafficBuilder = Callable[..., Traffic]


@pytest.fixture
def traffic_of(tmp_path: Path) -> TrafficBuilder:
    """Builds an emulator whose spreadsheet `book` has one worksheet `Data` of one column."""

    def built(rows: str = "head\n", *, racing_inserts: bool = False) -> Traffic:
        clock = HeldClock()
        seed = write_seed(tmp_path, {"book/Data.csv": rows})
        options = EmulatorOptions(seed=seed, latency_ms=LATENCY_MS, racing_inserts=racing_inserts)
        return Traffic(emulator=create_emulator(options, timing=clock.timing()), clock=clock)

    return built


async def test_appends_that_overlap_overwrite_each_other(traffic_of: TrafficBuilder) -> None:
    """Each searched the table's end before the other wrote: one row is left, and both name it."""
    traffic = traffic_of()
    first = traffic.append("first")
    await traffic.clock.advance(20)
    second = traffic.append("second")
    await traffic.clock.advance(200)

    assert [first.written(), second.written()] == ["Data!A2", "Data!A2"]
    assert traffic.column() == ["head", "second"]


async def test_append_that_comes_after_the_write_of_another_loses_nothing(
    traffic_of: TrafficBuilder,
) -> None:
    """Only the first part of the latency counts: the answer may still be on its way."""
    traffic = traffic_of()
    traffic.append("first")
    await traffic.clock.advance(60)
    second = traffic.append("second")
    await traffic.clock.advance(200)

    assert second.written() == "Data!A3"
    assert traffic.column() == ["head", "first", "second"]


async def test_inserted_rows_do_not_race(traffic_of: TrafficBuilder) -> None:
    """With INSERT_ROWS the table is looked for when the row is written."""
    traffic = traffic_of()
    replies = [traffic.append(row, option="INSERT_ROWS") for row in ("first", "second")]
    await traffic.clock.advance(200)

    assert [reply.written() for reply in replies] == ["Data!A2", "Data!A3"]
    assert traffic.column() == ["head", "first", "second"]


async def test_racing_inserts_lose_nothing_but_tell_old_places(traffic_of: TrafficBuilder) -> None:
    """The row is inserted where the end was seen: the ones there are pushed down, unnoticed."""
    traffic = traffic_of("head\nlast\n", racing_inserts=True)
    replies = [traffic.append(row, option="INSERT_ROWS") for row in ("first", "second")]
    await traffic.clock.advance(200)

    assert [reply.written() for reply in replies] == ["Data!A3", "Data!A3"]
    assert traffic.column() == ["head", "last", "second", "first"]


def test_without_latency_nothing_overlaps(build: BenchBuilder) -> None:
    """An emulator without latency has no races."""
    bench = build({"Data": "head\n"}, EmulatorOptions(racing_inserts=True))
    written = [
        bench.append("Data", [[row]], insertDataOption=option).json()["updates"]["updatedRange"]
        for row, option in [("a", "OVERWRITE"), ("b", "INSERT_ROWS"), ("c", "OVERWRITE")]
    ]

    assert written == ["Data!A2", "Data!A3", "Data!A4"]


async def test_append_with_an_edit_looks_after_the_edit(traffic_of: TrafficBuilder) -> None:
    """A person's edit comes before the look, so that call does not race."""
    traffic = traffic_of("head\nlast\n")
    rows = dimension("insertDimension", "ROWS", 0, 1)
    traffic.emulator.service.faults.replace(
        [Fault(call="values.append", status=None, edit={"requests": [rows]})]
    )
    edited = traffic.append("edited")
    plain = traffic.append("plain")
    await traffic.clock.advance(200)

    assert edited.written() == "Data!A4"
    assert plain.written() == "Data!A3"
    assert traffic.column() == [None, "head", "plain", "edited"]


async def test_worksheet_that_is_replaced_meanwhile_is_looked_for_again(
    traffic_of: TrafficBuilder,
) -> None:
    """The place was in a deleted worksheet; another one has its title now."""
    traffic = traffic_of("head\nlast\n")
    traffic.edit(
        {"addSheet": {"properties": {"sheetId": 7, "title": "New"}}},
        {"deleteSheet": {"sheetId": 0}},
        properties_of("title", sheetId=7, title="Data"),
    )
    await traffic.clock.advance(20)
    append = traffic.append("row")
    await traffic.clock.advance(200)

    assert append.written() == "Data!A1"
    assert traffic.column() == ["row"]


async def test_place_that_is_cut_off_meanwhile_is_looked_for_again(
    traffic_of: TrafficBuilder,
) -> None:
    """The rows at the end were deleted, so the place is past the grid."""
    traffic = traffic_of("head\na\nb\nc\n")
    traffic.edit(dimension("deleteDimension", "ROWS", 1, 4))
    await traffic.clock.advance(20)
    append = traffic.append("row")
    await traffic.clock.advance(200)

    assert append.written() == "Data!A2"
    assert traffic.column() == ["head", "row"]


async def test_append_that_sees_no_worksheet_is_refused_at_its_end(
    traffic_of: TrafficBuilder,
) -> None:
    """The worksheet does not exist when the append arrives; the error comes after the latency."""
    traffic = traffic_of()
    traffic.edit({"addSheet": {"properties": {"title": "New"}}})
    await traffic.clock.advance(20)
    append = traffic.append("row", text="New")
    await traffic.clock.advance(90)
    is_over = append.task.done()
    await traffic.clock.advance(100)

    assert not is_over
    assert append.read()["error"]["message"] == "Unable to parse range: New"
    assert traffic.column("New") == []


async def test_late_effect_looks_when_it_comes(traffic_of: TrafficBuilder) -> None:
    """A write that lands after its answer goes under what was written since."""
    traffic = traffic_of()
    traffic.emulator.service.faults.replace([Fault(call="values.append", late_ms=1000)])
    traffic.append("late")
    await traffic.clock.advance(200)
    traffic.append("other")
    await traffic.clock.advance(2000)

    assert traffic.column() == ["head", "other", "late"]


async def test_refused_appends_have_no_effect_on_those_beside_them(
    traffic_of: TrafficBuilder,
) -> None:
    """A faulty append without `apply` leaves the row of the one it overlaps with alone."""
    traffic = traffic_of()
    traffic.emulator.service.faults.replace([Fault(call="values.append", skip=1)])
    first = traffic.append("first")
    traffic.append("faulty")
    await traffic.clock.advance(200)

    assert first.written() == "Data!A2"
    assert traffic.column() == ["head", "first"]


async def test_append_under_way_at_a_reset_writes_nothing(traffic_of: TrafficBuilder) -> None:
    """Its view is from before the reset."""
    traffic = traffic_of()
    append = traffic.append("row")
    await traffic.clock.advance(20)
    traffic.emulator.service.reset()
    await traffic.clock.advance(200)

    with pytest.raises(Refusal, match="currently unavailable"):
        append.read()
    assert traffic.column() == ["head"]
