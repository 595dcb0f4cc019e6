"""Whether an update whose outcome Google left open is there, or may be sent again."""

import asyncio
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from gateway.errors import QuotaSpent, WriteOutcomeUnknown
from gateway.google.sheets import Writing
from gateway.table.header import parse_header
from gateway.worksheets.reconciliation import Reconciler
from tests.fakes import FakeSheets, FakeWorksheet, Formatted, Held
from tests.worksheets.conftest import WORKSHEET
from tests.worksheets.scripted_sheets import Cost, ScriptedSheets

SUM = Formatted(3.0, "3")
HEADER = ["name", "state", "population", "sum"]
LINES: Sequence[Sequence[Held | None]] = [
    HEADER,
    ["Boston", "MA", 654776, SUM],
    ["Denver", "CO", 715522],
    ["Austin"],
]
ONE = [Writing(range="'Cities'!B2:C2", rows=[["NV", 1]])]
TWO = [*ONE, Writing(range="'Cities'!A4:A4", rows=[["Salem"]])]
SEEN = {2: ("Boston", "MA", "654776", "3"), 3: ("Denver", "CO", "715522"), 4: ("Austin",)}
ERROR = WriteOutcomeUnknown("?", was_answered=True)


@dataclass
class Place:
    """A worksheet and calls around which a test plays; an update is settled by what was seen."""

    cities: FakeWorksheet
    sheets: ScriptedSheets

    async def settle(self, writings: Sequence[Writing], *rows: int) -> object:
        seen = {row: SEEN[row] for row in rows}
        reconciler = Reconciler(self.sheets)
        return await reconciler.settle_update(
            WORKSHEET, parse_header(HEADER), seen, writings, error=ERROR
        )


@pytest.fixture
def place() -> Place:
    fake = FakeSheets()
    cities = fake.add("Cities", LINES, rows=100)
    return Place(cities, ScriptedSheets(fake))


async def test_new_values_are_there(place: Place) -> None:
    """If the cells hold what was sent, the update is done, and its row is told as it is now."""
    place.cities.type(2, None, "NV", 1, Formatted(4.0, "4"))

    assert await place.settle(ONE, 2) == {2: ("Boston", "NV", "1", "4")}
    assert place.sheets.cost() == Cost(2, 0)


async def test_row_as_it_was_is_sent_again(place: Place) -> None:
    """If header and row display what they did before, the update may be sent again."""
    assert await place.settle(ONE, 2) is None
    assert place.sheets.cost() == Cost(2, 0)


async def test_all_rows_of_a_group(place: Place) -> None:
    """Several rows are settled by the same two reads: done, or to be sent again."""
    again = await place.settle(TWO, 2, 4)
    place.cities.type(2, None, "NV", 1)
    place.cities.type(4, "Salem")
    done = await place.settle(TWO, 2, 4)

    assert again is None
    assert done == {2: ("Boston", "NV", "1", "3"), 4: ("Salem",)}
    assert place.sheets.cost() == Cost(4, 0)


async def test_emptied_cells_are_there(place: Place) -> None:
    """A cell that was to be emptied is blank if the update is done."""
    writings = [Writing(range="'Cities'!B3:C3", rows=[["", ""]])]
    again = await place.settle(writings, 3)
    place.cities.type(3, None, "", "")

    assert again is None
    assert await place.settle(writings, 3) == {3: ("Denver",)}


async def test_number_that_displays_alike(place: Place) -> None:
    """A text that displays like the number that was sent is not that number."""
    writings = [Writing(range="'Cities'!D2:D2", rows=[["3"]])]

    assert await place.settle(writings, 2) is None


def _rename(cities: FakeWorksheet) -> None:
    cities.type(1, None, "land")


def _write_and_rename(cities: FakeWorksheet) -> None:
    cities.type(2, None, "NV", 1)
    _rename(cities)


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(lambda cities: cities.type(2, "Salem"), id="other-cell"),
        pytest.param(lambda cities: cities.type(2, None, "OR"), id="same-cell"),
        pytest.param(lambda cities: cities.type(2, None, "NV"), id="half-of-it"),
        pytest.param(lambda cities: cities.delete_rows(2), id="row-deleted"),
        pytest.param(lambda cities: cities.delete_rows(2, 99), id="all-rows-deleted"),
        pytest.param(lambda cities: cities.insert_rows(2), id="row-inserted"),
        pytest.param(_rename, id="header-changed"),
        pytest.param(_write_and_rename, id="written-but-header-changed"),
        pytest.param(lambda cities: setattr(cities, "title", "Towns"), id="worksheet-renamed"),
        pytest.param(lambda cities: setattr(cities, "title", "CITIES"), id="other-case"),
    ],
)
async def test_anything_else_stays_open(
    place: Place, edit: Callable[[FakeWorksheet], object]
) -> None:
    """If somebody changed row or header meanwhile, nothing is sent, and the outcome not known."""
    edit(place.cities)

    with pytest.raises(WriteOutcomeUnknown) as caught:
        await place.settle(ONE, 2)

    assert caught.value is ERROR


async def test_landing_between_the_reads(place: Place) -> None:
    """What lands between the two reads is not sent again."""
    place.sheets.after("read_values", lambda: place.cities.type(2, None, "NV", 1))

    with pytest.raises(WriteOutcomeUnknown):
        await place.settle(ONE, 2)


async def test_renaming_between_the_reads(place: Place) -> None:
    """Another spelling of the title is another worksheet, for each of the reads."""
    place.sheets.after("read_values", lambda: setattr(place.cities, "title", "CITIES"))

    with pytest.raises(WriteOutcomeUnknown):
        await place.settle(ONE, 2)


@pytest.mark.parametrize("kind", ["read_values", "read_ranges"])
async def test_a_failed_look_settles_nothing(
    place: Place, events: list[MutableMapping[str, Any]], kind: Any
) -> None:
    """Without a look the outcome stays open, whatever the cells hold."""
    place.sheets.before(kind, QuotaSpent("later"))

    with pytest.raises(WriteOutcomeUnknown):
        await place.settle(ONE, 2)

    assert [event["event"] for event in events] == ["look-failed"]


async def test_looks_end_in_time(place: Place) -> None:
    """A look that takes too long is given up."""
    place.sheets.before("read_values", asyncio.Event())
    reconciler = Reconciler(place.sheets, limit_seconds=0.01)

    async with asyncio.timeout(5):
        with pytest.raises(WriteOutcomeUnknown):
            await reconciler.settle_update(WORKSHEET, parse_header(HEADER), {}, ONE, error=ERROR)
