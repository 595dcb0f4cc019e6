"""Rows reported when a header changed around their writing."""

from collections.abc import MutableMapping
from typing import Any

import pytest

from gateway.errors import NoHeaderRow
from gateway.table.header import parse_header
from gateway.worksheets.header_cache import MAX_NOTES, HeaderCache, SheetExtent
from tests.clock import ManualClock
from tests.worksheets.conftest import WORKSHEET, Bench, MakeBench

OLD, NEW = parse_header(["name", "state"]), parse_header(["state", "name"])
Events = list[MutableMapping[str, Any]]


@pytest.fixture
def header_cache(clock: ManualClock) -> HeaderCache:
    return HeaderCache(WORKSHEET, ttl_seconds=10.0, clock=clock)


def extent(header: Any, as_of: int) -> SheetExtent:
    return SheetExtent(
        header=header, last_row=5, starts_blank=False, grid_rows=9, header_as_of=1000.0, as_of=as_of
    )


def told(events: Events) -> list[object]:
    """The rows of each line about a header that changed, which must be all there is."""
    assert {event["event"] for event in events} <= {"header-drift"}
    return [event["rows"] for event in events]


def test_rows_since_the_last_look(header_cache: HeaderCache, events: Events) -> None:
    """A read that shows another header reports the rows written since the one before, once."""
    header_cache.compare(OLD, as_of=header_cache.moment())
    header_cache.note_rows(OLD, 5, 2)
    header_cache.note_rows(OLD, 3, 1)

    for header in (NEW, OLD, NEW):
        header_cache.compare(header, as_of=header_cache.moment())

    assert told(events) == [[5, 6, 3]]
    assert (events[0]["spreadsheet"], events[0]["worksheet"]) == (
        WORKSHEET.spreadsheet,
        WORKSHEET.title,
    )


def test_confirmed_rows_are_not_reported(header_cache: HeaderCache, events: Events) -> None:
    """Rows under a header that a look from after their writing saw unchanged are right."""
    header_cache.compare(OLD, as_of=header_cache.moment())
    header_cache.note_rows(OLD, 5, 2)
    header_cache.compare(OLD, as_of=header_cache.moment())
    header_cache.note_rows(OLD, 7, 1)

    header_cache.compare(NEW, as_of=header_cache.moment())

    assert told(events) == [[7]]


def test_a_change_without_rows_is_not_reported(header_cache: HeaderCache, events: Events) -> None:
    """A header may change; that matters only for rows that were written by the old one."""
    header_cache.compare(OLD, as_of=header_cache.moment())
    header_cache.compare(NEW, as_of=header_cache.moment())
    header_cache.note_rows(NEW, 5, 1)

    assert told(events) == []


def test_a_look_from_before_the_write_confirms_nothing(
    header_cache: HeaderCache, events: Events
) -> None:
    """A look that began before a write ended may have been before a change that hit the write."""
    header_cache.compare(OLD, as_of=header_cache.moment())
    before = header_cache.moment()
    header_cache.note_rows(OLD, 5, 1)
    header_cache.compare(OLD, as_of=before)

    header_cache.compare(NEW, as_of=header_cache.moment())

    assert told(events) == [[5]]


def test_change_seen_while_the_write_was_under_way(
    header_cache: HeaderCache, events: Events
) -> None:
    """A write under a header that changed meanwhile is reported when it ends."""
    header_cache.compare(OLD, as_of=header_cache.moment())
    header_cache.compare(NEW, as_of=header_cache.moment())

    header_cache.note_rows(OLD, 5, 3)
    header_cache.compare(NEW, as_of=header_cache.moment())

    assert told(events) == [[5, 6, 7]]


def test_an_older_look_changes_nothing(header_cache: HeaderCache, events: Events) -> None:
    """The read that began later counts, in any order of arrival."""
    older, newer = header_cache.moment(), header_cache.moment()
    header_cache.compare(NEW, as_of=newer)
    header_cache.note_rows(NEW, 5, 1)

    header_cache.compare(OLD, as_of=older)

    assert told(events) == []


def test_forgetting_keeps_the_rows(header_cache: HeaderCache, events: Events) -> None:
    """That a sighting is trusted no more does not lose the rows that were written by it."""
    header_cache.compare(OLD, as_of=header_cache.moment())
    header_cache.note_rows(OLD, 5, 1)
    header_cache.forget()

    header_cache.compare(NEW, as_of=header_cache.moment())

    assert told(events) == [[5]]


def test_rows_of_a_worksheet_that_was_not_looked_at(
    header_cache: HeaderCache, events: Events
) -> None:
    """Rows are noted also where the last look is not remembered any more."""
    header_cache.note_rows(OLD, 5, 1)

    header_cache.compare(NEW, as_of=header_cache.moment())

    assert told(events) == [[5]]


def test_notes_are_bounded(header_cache: HeaderCache, events: Events) -> None:
    """Of very many writes without a look the last ones are reported."""
    for row in range(2, 2 + MAX_NOTES + 10):
        header_cache.note_rows(OLD, row, 1)

    header_cache.compare(NEW, as_of=header_cache.moment())

    assert events[0]["count"] == MAX_NOTES
    assert events[0]["rows"][0] == 12


def test_another_header_ends_trust(header_cache: HeaderCache) -> None:
    """A sighting is forgotten when a later look shows another header, and kept with the same."""
    header_cache.keep(extent(OLD, header_cache.moment()))
    header_cache.compare(OLD, as_of=header_cache.moment())
    same = header_cache.last()
    header_cache.compare(NEW, as_of=header_cache.moment())

    assert same is not None
    assert header_cache.last() is None


def test_the_look_that_saw_the_change_is_kept(header_cache: HeaderCache) -> None:
    """A look that shows another header is itself remembered."""
    header_cache.keep(extent(OLD, header_cache.moment()))
    moment = header_cache.moment()
    header_cache.compare(OLD, as_of=0)
    header_cache.compare(NEW, as_of=moment)

    header_cache.keep(extent(NEW, moment))

    kept = header_cache.last()
    assert kept is not None
    assert kept.header is NEW


def test_a_header_known_to_have_changed_is_not_kept(header_cache: HeaderCache) -> None:
    """An append that ends after another look saw its header changed does not bring it back."""
    header_cache.compare(NEW, as_of=header_cache.moment())

    header_cache.keep(extent(OLD, header_cache.moment()))

    assert header_cache.last() is None


@pytest.fixture
def bench(make_bench: MakeBench) -> Bench:
    """Three cities; answers of values calls do not show the header."""
    return make_bench(value_input="user_entered")


async def test_list_sees_the_change(bench: Bench, events: Events) -> None:
    """The next list reports rows created while a person renamed a column."""
    await bench.page()
    bench.sheets.before("append_rows", lambda: bench.cities.type(1, None, "land"))
    row = await bench.create(name="Reno")

    await bench.page()

    assert told(events) == [[row]]


async def test_create_sees_the_change(bench: Bench, events: Events, clock: ManualClock) -> None:
    """The next create that reads the header reports earlier rows, and uses the new header."""
    rows = [await bench.create(name="Reno"), await bench.create(name="Salem")]
    bench.cities.type(1, "state", "name")
    clock.advance(10.0)

    last = await bench.create(name="Provo")

    assert told(events) == [rows]
    assert bench.cities.lines()[last - 1] == ["", "Provo"]


async def test_lost_header_is_reported(bench: Bench, events: Events) -> None:
    """Rows are also reported if row 1 is blank now."""
    row = await bench.create(name="Reno")
    bench.cities.type(1, "", "", "")

    with pytest.raises(NoHeaderRow):
        await bench.page()

    assert told(events) == [[row]]
