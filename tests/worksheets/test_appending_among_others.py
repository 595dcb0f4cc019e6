"""Creates while people, other creates and reads use the same worksheet."""

import asyncio
from collections.abc import Callable, Mapping

import pytest

from gateway.errors import NoHeaderRow
from tests.fakes import FakeWorksheet
from tests.worksheets.conftest import TTL_SECONDS, Bench, MakeBench
from tests.worksheets.scripted_sheets import Cost

Edit = Callable[[FakeWorksheet], object]


def _insert_row(sheet: FakeWorksheet) -> None:
    sheet.insert_rows(2)
    sheet.type(2, "Miami")


EDITS: Mapping[str, tuple[Edit, int]] = {
    "appends": (lambda sheet: sheet.type(5, "Miami", "FL", 442241), 6),
    "appends-after-a-gap": (lambda sheet: sheet.type(8, "Miami"), 9),
    "deletes-the-last": (lambda sheet: sheet.delete_rows(4), 4),
    "deletes-all": (lambda sheet: sheet.delete_rows(2, 3), 2),
    "shrinks-the-grid": (lambda sheet: sheet.delete_rows(3, sheet.rows - 2), 3),
    "cuts-blank-rows": (lambda sheet: sheet.delete_rows(5, sheet.rows - 4), 5),
    "inserts": (_insert_row, 6),
    "inserts-blank-rows": (lambda sheet: sheet.insert_rows(2, 3), 8),
}


@pytest.mark.parametrize("case", EDITS)
async def test_person_edits_before_the_look(bench: Bench, case: str) -> None:
    """After the header's lifetime the end is read again, wherever a person moved it."""
    edit, expected = EDITS[case]
    await bench.create(name="Reno")
    bench.cities.delete_rows(5)
    bench.clock.advance(TTL_SECONDS)
    edit(bench.cities)
    before = bench.cities.lines()

    row = await bench.create(name="Salem")

    assert row == expected
    blank: list[list[object]] = [[]] * (row - 1 - len(before))
    assert bench.cities.lines() == [*before, *blank, ["Salem"]]


@pytest.mark.parametrize("rows", [4, 8, 100], ids=["full-grid", "some-room", "room"])
@pytest.mark.parametrize(
    "case",
    [
        "appends",
        "deletes-the-last",
        "deletes-all",
        "shrinks-the-grid",
        "cuts-blank-rows",
        "inserts",
    ],
)
async def test_person_edits_within_the_ttl(make_bench: MakeBench, case: str, rows: int) -> None:
    """Without a read the row still goes below all rows, and its number is correct."""
    edit, _ = EDITS[case]
    bench = make_bench(rows=rows)
    await bench.look()
    edit(bench.cities)
    before = bench.cities.lines()

    row = await bench.create(name="Salem")

    lines = bench.cities.lines()
    assert row > len(before)
    assert lines[: len(before)] == before
    assert lines[row - 1 :] == [["Salem"]]


async def test_person_edits_blank_start_within_the_ttl(bench: Bench) -> None:
    """A row with a blank first cell that a person added is never overwritten."""
    await bench.look()
    bench.cities.type(5, None, "FL", 442241)

    row = await bench.create(name="Salem", state="OR")

    assert bench.cities.lines()[row - 1] == ["Salem", "OR"]
    assert ["", "FL", "442241"] in bench.cities.lines()


@pytest.mark.parametrize(
    ("edit", "reads"),
    [
        pytest.param(lambda sheet: None, 1, id="nothing"),
        pytest.param(EDITS["appends"][0], 1, id="appended"),
        pytest.param(EDITS["deletes-the-last"][0], 1, id="deleted"),
        pytest.param(EDITS["shrinks-the-grid"][0], 1, id="shrunk"),
        pytest.param(EDITS["cuts-blank-rows"][0], 1, id="cut"),
    ],
)
async def test_cost_of_another_look(bench: Bench, edit: Edit, reads: int) -> None:
    """After the header's lifetime a create costs 1 read more, also in a full grid."""
    await bench.look()
    bench.clock.advance(TTL_SECONDS)
    edit(bench.cities)
    bench.sheets.cost()

    await bench.create(name="Salem")

    assert bench.sheets.cost() == Cost(reads, 1)


async def test_person_empties_the_last_row_of_a_full_grid(make_bench: MakeBench) -> None:
    """A new row takes the place of the emptied row; its number and the next one are correct."""
    bench = make_bench(rows=0)
    await bench.look()
    bench.cities.type(4, "", "", "")

    rows = [await bench.create(name="Reno"), await bench.create(name="Salem")]

    assert rows == [4, 5]
    assert bench.cities.lines()[3:] == [["Reno"], ["Salem"]]
    assert bench.sheets.cost() == Cost(0, 2)


async def test_rows_deleted_above_a_known_end(bench: Bench) -> None:
    """If the new row is above the rows in the answer, two or three more reads find it."""
    bench.cities.type(9, "far below")
    await bench.look()
    bench.cities.delete_rows(3, 7)

    row = await bench.create(name="Salem")

    assert row == 3
    assert bench.cities.lines()[2:] == [["Salem"]]
    assert bench.sheets.cost() == Cost(3, 1)


async def test_own_row_is_the_end_by_then(bench: Bench) -> None:
    """The next create uses the real end, below a person's row."""
    await bench.look()
    bench.cities.type(5, "Miami")

    rows = [await bench.create(state="NV"), await bench.create(state="OR")]

    assert rows == [6, 7]
    assert bench.cities.lines()[4:] == [["Miami"], ["", "NV"], ["", "OR"]]


async def test_each_answer_shows_the_header_anew(bench: Bench) -> None:
    """While rows are created faster than the header's lifetime, only the first create reads."""
    costs = []
    for _ in range(4):
        await bench.create(name="Reno")
        costs.append(bench.sheets.cost())
        bench.clock.advance(TTL_SECONDS / 2)
    bench.clock.advance(TTL_SECONDS / 2)
    await bench.create(name="Reno")

    assert costs == [Cost(1, 1), Cost(0, 1), Cost(0, 1), Cost(0, 1)]
    assert bench.sheets.cost() == Cost(1, 1)


async def test_a_new_column_is_looked_for(bench: Bench) -> None:
    """A field that the cached header lacks causes a new read."""
    await bench.look()
    bench.cities.type(1, None, None, None, "mayor")
    bench.sheets.cost()

    row = await bench.create(name="Reno", mayor="H")

    assert bench.cities.lines()[row - 1] == ["Reno", "", "", "H"]
    assert bench.sheets.cost() == Cost(1, 1)


async def test_header_swapped_after_the_ttl(bench: Bench) -> None:
    """A create uses the header that it read, not the one from before the lifetime's end."""
    await bench.create(name="Reno")
    bench.clock.advance(TTL_SECONDS)
    bench.cities.type(1, "state", "name")

    row = await bench.create(name="Salem")

    assert bench.cities.lines()[row - 1] == ["", "Salem"]


async def test_header_emptied_after_the_ttl(bench: Bench) -> None:
    """The next read shows that a person emptied the header."""
    await bench.create(name="Reno")
    bench.clock.advance(TTL_SECONDS)
    bench.cities.type(1, "", "", "")

    with pytest.raises(NoHeaderRow):
        await bench.create(name="Salem")


async def test_forty_at_once(make_bench: MakeBench) -> None:
    """Forty parallel creates cost 1 read and 1 write, and get contiguous correct row numbers."""
    bench = make_bench(rows=0)

    rows = await asyncio.gather(*(bench.create(name=f"c{n}") for n in range(40)))

    assert sorted(rows) == list(range(5, 45))
    assert [bench.cities.lines()[row - 1] for row in rows] == [[f"c{n}"] for n in range(40)]
    assert bench.sheets.cost() == Cost(1, 1)


async def test_no_row_is_lost_to_a_read_that_began_before(bench: Bench) -> None:
    """A list that began before a create and ends after it does not restore the old end."""
    gate = asyncio.Event()
    await bench.page()
    bench.sheets.after("read_columns", gate)
    listing = asyncio.create_task(bench.page())
    await bench.sheets.begun("read_columns", 2)
    bench.clock.advance(1.0)
    first = await bench.create(state="NV")
    gate.set()
    await listing

    second = await bench.create(state="OR")

    assert (first, second) == (5, 6)
    assert bench.cities.lines()[4:] == [["", "NV"], ["", "OR"]]
