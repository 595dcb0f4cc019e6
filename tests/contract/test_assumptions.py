"""Assumptions about Google, shared by the fake and the emulator.

`open_facts` checks them against Google.
"""

import anyio
import pytest

from gateway.errors import UpstreamRefusal
from tests.contract.conftest import EMULATOR, FAKE
from tests.contract.subject import Subject, at, properties, shown

pytestmark = pytest.mark.parametrize("place", [FAKE, EMULATOR], indirect=True)

AT_ONCE = 20


async def test_an_append_anchored_past_the_grid_is_refused(subject: Subject) -> None:
    """As for reads; nothing is written."""
    title = await subject.worksheet([["a"], ["1"]])

    with pytest.raises(UpstreamRefusal) as refused:
        await subject.sheets.append_rows(subject.spreadsheet, at(title, "A3"), [["x"]])

    assert refused.value.google_message == (
        f"Range ({title}!A3) exceeds grid limits. Max rows: 2, max columns: 1"
    )
    assert await shown(subject, title) == (("a",), ("1",))


async def test_a_row_that_starts_with_nulls_is_reported_whole(subject: Subject) -> None:
    """The reported range begins in the table's first column, though nothing was written there."""
    title = await subject.worksheet([["a", "b", "c"]], rows=5)

    values = await subject.sheets.append_rows(
        subject.spreadsheet, at(title, "A1"), [[None, None, "z"]]
    )

    assert values.range == f"{title}!A2:C2"
    assert values.cells == (("", "", "z"),)


@pytest.mark.parametrize("rows", [2, 6], ids=["full", "with-blank-rows"])
async def test_an_append_grows_the_grid_by_the_rows_it_inserts(subject: Subject, rows: int) -> None:
    """No row more is added, and no blank row is used up."""
    title = await subject.worksheet([["a"], ["1"]], rows=rows)

    await subject.sheets.append_rows(subject.spreadsheet, at(title, "A1"), [["x"], ["y"], ["z"]])

    assert (await properties(subject, title)).rows == rows + 3


async def test_nulls_at_the_end_of_a_row_widen_the_grid(subject: Subject) -> None:
    """The reported range is the whole row, and lies in the grid."""
    title = await subject.worksheet([["a"]])

    values = await subject.sheets.append_rows(
        subject.spreadsheet, at(title, "A1"), [["x", None, None]]
    )

    assert values.range == f"{title}!A2:C2"
    assert (await properties(subject, title)).columns == 3


async def test_titles_match_whatever_their_case(subject: Subject) -> None:
    """A range may write its title in capitals; the echo has it as it is."""
    title = await subject.worksheet([["a"]], title="Cities_{}")

    [values] = await subject.sheets.read_ranges(subject.spreadsheet, [at(title.upper(), "A1")])

    assert values.range == f"{title}!A1"
    assert values.cells == (("a",),)


async def test_cells_that_touch_at_a_corner_are_one_table(subject: Subject) -> None:
    """A row goes under the lower of two cells that only touch."""
    title = await subject.worksheet([["a"], [None, "b"]], rows=5)

    values = await subject.sheets.append_rows(subject.spreadsheet, at(title, "A1"), [["x"]])

    assert values.range == f"{title}!A3"


async def test_appends_at_once_all_land(subject: Subject) -> None:
    """Many appends at one anchor insert a row each, and every answer has the row's place."""
    title = await subject.worksheet([["n"], [], ["total"]])
    told: dict[str, tuple[object, ...]] = {}

    async def append(number: int) -> None:
        anchor = at(title, "A2")
        values = await subject.sheets.append_rows(subject.spreadsheet, anchor, [[f"{number}"]])
        told[values.range] = values.cells

    async with anyio.create_task_group() as group:
        for number in range(AT_ONCE):
            group.start_soon(append, number)
    lines = await shown(subject, title)

    assert sorted(lines[1 : AT_ONCE + 1]) == sorted((f"{number}",) for number in range(AT_ONCE))
    assert lines[AT_ONCE + 1 :] == ((), ("total",))
    assert told == {f"{title}!A{row}": (lines[row - 1],) for row in range(2, AT_ONCE + 2)}
