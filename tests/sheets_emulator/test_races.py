"""Concurrent appends: which rows are lost, and when an append searches for the table."""

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
    """Build an emulator with the spreadsheet `book` and the worksheet `Data` of one column."""

    def built(rows: str = "head\n", *, racing_inserts: bool = False) -> Traffic:
        clock = HeldClock()
        seed = write_seed(tmp_path, {"book/Data.csv": rows})
        options = EmulatorOptions(seed=seed, latency_ms=LATENCY_MS, racing_inserts=racing_inserts)
        return Traffic(emulator=create_emulator(options, timing=clock.timing()), clock=clock)

    return built


async def test_appends_that_overlap_overwrite_each_other(traffic_of: TrafficBuilder) -> None:
    """Two appends that search for the table before one of them writes go to the same row."""
    traffic = traffic_of()
    first = traffic.append("first")
    await traffic.clock.advance(20)
    second = traffic.append("second")
    await traffic.clock.advance(200)

    assert [first.written(), second.written()] == ["Data!A2", "Data!A2"]
    assert traffic.column() == ["head", "second"]


async def test_append_after_the_write_of_another_loses_nothing(
    traffic_of: TrafficBuilder,
) -> None:
    """An append that starts after another was written, but not answered, loses no row."""
    traffic = traffic_of()
    traffic.append("first")
    await traffic.clock.advance(60)
    second = traffic.append("second")
    await traffic.clock.advance(200)

    assert second.written() == "Data!A3"
    assert traffic.column() == ["head", "first", "second"]


async def test_inserted_rows_do_not_race(traffic_of: TrafficBuilder) -> None:
    """With INSERT_ROWS, an append searches for the table at the time of the write."""
    traffic = traffic_of()
    replies = [traffic.append(row, option="INSERT_ROWS") for row in ("first", "second")]
    await traffic.clock.advance(200)

    assert [reply.written() for reply in replies] == ["Data!A2", "Data!A3"]
    assert traffic.column() == ["head", "first", "second"]


async def test_racing_inserts_lose_nothing_but_answer_old_positions(
    traffic_of: TrafficBuilder,
) -> None:
    """With `racing_inserts` no row is lost, but an answer can have an outdated position."""
    traffic = traffic_of("head\nlast\n", racing_inserts=True)
    replies = [traffic.append(row, option="INSERT_ROWS") for row in ("first", "second")]
    await traffic.clock.advance(200)

    assert [reply.written() for reply in replies] == ["Data!A3", "Data!A3"]
    assert traffic.column() == ["head", "last", "second", "first"]


def test_without_latency_nothing_overlaps(build: BenchBuilder) -> None:
    """Without latency, appends do not overlap, also with `racing_inserts`."""
    bench = build({"Data": "head\n"}, EmulatorOptions(racing_inserts=True))
    written = [
        bench.append("Data", [[row]], insertDataOption=option).json()["updates"]["updatedRange"]
        for row, option in [("a", "OVERWRITE"), ("b", "INSERT_ROWS"), ("c", "OVERWRITE")]
    ]

    assert written == ["Data!A2", "Data!A3", "Data!A4"]


async def test_append_with_an_edit_searches_after_the_edit(traffic_of: TrafficBuilder) -> None:
    """An append whose fault has an edit searches for the table after the owner's edit."""
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


async def test_append_finds_a_worksheet_that_was_replaced(
    traffic_of: TrafficBuilder,
) -> None:
    """If the worksheet is replaced during an append, the row goes to the new worksheet."""
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


async def test_append_searches_again_if_its_row_was_deleted(
    traffic_of: TrafficBuilder,
) -> None:
    """If rows are deleted during an append, the append searches for the table again."""
    traffic = traffic_of("head\na\nb\nc\n")
    traffic.edit(dimension("deleteDimension", "ROWS", 1, 4))
    await traffic.clock.advance(20)
    append = traffic.append("row")
    await traffic.clock.advance(200)

    assert append.written() == "Data!A2"
    assert traffic.column() == ["head", "row"]


async def test_append_to_an_unknown_worksheet_is_an_error_after_the_latency(
    traffic_of: TrafficBuilder,
) -> None:
    """An append to a worksheet that does not exist on arrival gets an error after the latency."""
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


async def test_late_append_searches_when_it_takes_effect(traffic_of: TrafficBuilder) -> None:
    """An append with `late_ms` goes below rows that were appended in the meantime."""
    traffic = traffic_of()
    traffic.emulator.service.faults.replace([Fault(call="values.append", late_ms=1000)])
    traffic.append("late")
    await traffic.clock.advance(200)
    traffic.append("other")
    await traffic.clock.advance(2000)

    assert traffic.column() == ["head", "other", "late"]


async def test_failed_append_has_no_effect_on_a_concurrent_one(
    traffic_of: TrafficBuilder,
) -> None:
    """A failed append without `apply` does not overwrite the row of a concurrent append."""
    traffic = traffic_of()
    traffic.emulator.service.faults.replace([Fault(call="values.append", skip=1)])
    first = traffic.append("first")
    traffic.append("faulty")
    await traffic.clock.advance(200)

    assert first.written() == "Data!A2"
    assert traffic.column() == ["head", "first"]


async def test_append_that_runs_at_a_reset_writes_nothing(traffic_of: TrafficBuilder) -> None:
    """An append that runs at a reset gets an error and writes nothing."""
    traffic = traffic_of()
    append = traffic.append("row")
    await traffic.clock.advance(20)
    traffic.emulator.service.reset()
    await traffic.clock.advance(200)

    with pytest.raises(Refusal, match="currently unavailable"):
        append.read()
    assert traffic.column() == ["head"]
