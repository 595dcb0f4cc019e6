"""The in-memory Sheets itself: what the service depends on, as Google was seen to do it."""

from collections.abc import Sequence

import pytest

from gateway.errors import SpreadsheetNotFound, UpstreamRefusal
from gateway.upstream.base import Dimension, Render, Value, Writing
from tests.fakes import BOOK, FakeSheets, Formatted, Held


def _sheets(*lines: Sequence[Held | None], title: str = "T", rows: int = 9) -> FakeSheets:
    sheets = FakeSheets()
    sheets.add(title, lines, rows=rows)
    return sheets


@pytest.mark.parametrize(
    ("title", "asked", "echo"),
    [
        pytest.param("T", "'T'!1:1", "T!A1:C1", id="row"),
        pytest.param("T", "'T'!A2:ZZZ", "T!A2:C9", id="open-end"),
        pytest.param("T", "'T'!B2:C99", "T!B2:C9", id="clamped"),
        pytest.param("T", "'T'!B2", "T!B2", id="cell"),
        pytest.param("Cities", "'cITIES'!B2", "Cities!B2", id="other-case"),
        pytest.param("D3", "'D3'!A1", "'D3'!A1", id="looks-like-cell"),
        pytest.param("it's", "'it''s'!A1", "'it''s'!A1", id="quote"),
    ],
)
async def test_echo_is_normalised_and_clamped(title: str, asked: str, echo: str) -> None:
    """The echoed range is the asked one, clamped to the grid, quoted only where needed."""
    sheets = _sheets(["a", "b", "c"], title=title)

    [values] = await sheets.read_ranges(BOOK, [asked])

    assert values.range == echo


async def test_reads_leave_blank_ends_out() -> None:
    """Blank cells at the end of a list and blank lists at the end are absent, others are not."""
    sheets = _sheets(["a", "", "c"], [], [None, 2])

    rows = await sheets.read_values(
        BOOK, "'T'!A1:ZZZ", render=Render.DISPLAYED, dimension=Dimension.ROWS
    )
    columns = await sheets.read_values(
        BOOK, "'T'!A1:ZZZ", render=Render.TYPED, dimension=Dimension.COLUMNS
    )

    assert rows.cells == (("a", "", "c"), (), ("", "2"))
    assert columns.cells == (("a",), ("", "", 2), ("c",))


async def test_two_renderings() -> None:
    """A cell has a displayed text and a typed value; a format may set them far apart."""
    sheets = _sheets([1.0, 0.5, True, "007", Formatted(43831, "1 Jan 2020")])

    [shown] = (await sheets.read_ranges(BOOK, ["'T'!1:1"]))[0].cells
    typed = await sheets.read_values(BOOK, "'T'!1:1", render=Render.TYPED, dimension=Dimension.ROWS)

    assert shown == ("1", "0.5", "TRUE", "007", "1 Jan 2020")
    assert typed.cells == ((1.0, 0.5, True, "007", 43831),)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        pytest.param("'U'!A1", "Unable to parse range: 'U'!A1", id="no-such-worksheet"),
        pytest.param("'T'!A10", "Range (T!A10) exceeds grid limits. Max rows: 9", id="below"),
        pytest.param("'T'!B1", "Range (T!B1) exceeds grid limits", id="right"),
    ],
)
async def test_ranges_that_are_not_there_are_refused(asked: str, words: str) -> None:
    """A range that starts nowhere is a 400 in Google's words, for reads and appends."""
    sheets = _sheets(["a"])

    with pytest.raises(UpstreamRefusal) as reading:
        await sheets.read_ranges(BOOK, [asked])
    with pytest.raises(UpstreamRefusal) as appending:
        await sheets.append_rows(BOOK, asked, [["x"]])

    assert words in reading.value.google_message
    assert words in appending.value.google_message


async def test_other_spreadsheets_are_unknown() -> None:
    """There is one spreadsheet."""
    with pytest.raises(SpreadsheetNotFound):
        await _sheets(["a"]).list_worksheets("other")


@pytest.mark.parametrize(
    ("lines", "anchor", "echo"),
    [
        pytest.param([["a", "b"], [1, 2]], "'T'!A3", "T!A3:B3", id="blank-below-data"),
        pytest.param([["a", "b"], [1, 2]], "'T'!A6", "T!A6:B6", id="blank-far-below"),
        pytest.param([["a", "b"], [1, 2]], "'T'!A1", "T!A3:B3", id="in-table"),
        pytest.param([["x", "", "z"]], "'T'!A1:C1", "T!C2:D2", id="last-table-wins"),
        pytest.param([["x", "", "z"]], "'T'!A1", "T!A2:B2", id="first-table"),
        pytest.param([["a"], [], ["total"]], "'T'!A1", "T!A2:B2", id="gap-ends-table"),
    ],
)
async def test_append_goes_under_the_table(
    lines: Sequence[Sequence[Held]], anchor: str, echo: str
) -> None:
    """Rows go under the anchor's last table from its first column on, or to a blank anchor."""
    values = await _sheets(*lines).append_rows(BOOK, anchor, [["p", "q"]])

    assert values.range == echo
    assert values.cells == (("p", "q"),)


async def test_append_inserts_rows() -> None:
    """What lies under the new rows is pushed down, and the grid grows, in width too."""
    sheets = _sheets(["a"], [1], [], ["total"], rows=4)

    await sheets.append_rows(BOOK, "'T'!A1", [[None, "n"], ["m"]])

    assert sheets.worksheets[0].lines() == [["a"], ["1"], ["", "n"], ["m"], [], ["total"]]
    assert (sheets.worksheets[0].rows, sheets.worksheets[0].columns) == (6, 2)


async def test_skipped_and_emptied_cells() -> None:
    """A written null leaves its cell, "" empties it, and the echo is the whole rectangle."""
    sheets = _sheets(["a", "b", "c"])

    [values] = await sheets.write_cells(BOOK, [Writing(range="'T'!A1:C1", rows=[[None, "", 3]])])

    assert values.range == "T!A1:C1"
    assert values.cells == (("a", "", "3"),)


@pytest.mark.parametrize(
    ("bad", "row", "words"),
    [
        pytest.param("'T'!A1:B1", [1, 2, 3], "tried writing", id="wider-than-range"),
        pytest.param("'T'!C1", [1, 2], "exceeds grid limits", id="past-the-grid"),
        pytest.param("'U'!A1", [1], "Unable to parse range", id="no-such-worksheet"),
    ],
)
async def test_writes_are_all_or_none(bad: str, row: list[Value], words: str) -> None:
    """One refused range means that none is written."""
    sheets = _sheets(["a", "b", "c"])

    with pytest.raises(UpstreamRefusal) as refused:
        await sheets.write_cells(
            BOOK, [Writing(range="'T'!A1", rows=[["x"]]), Writing(range=bad, rows=[row])]
        )

    assert refused.value.google_message.startswith("Invalid data[1]: ")
    assert words in refused.value.google_message
    assert sheets.worksheets[0].lines() == [["a", "b", "c"]]


async def test_grids_grow_and_are_listed() -> None:
    """Growing adds blank rows; the list of worksheets tells the size."""
    sheets = _sheets(["a", "b"], rows=1)

    await sheets.grow_grid(BOOK, 0, 100)
    [listed] = await sheets.list_worksheets(BOOK)

    assert (listed.title, listed.sheet_id, listed.rows, listed.columns) == ("T", 0, 101, 2)


async def test_a_person_deletes_rows() -> None:
    """Deleted rows take their cells with them, and the grid is smaller by them."""
    sheets = _sheets(["a"], ["b"], ["c"], rows=3)

    sheets.worksheets[0].delete_rows(2)

    assert sheets.worksheets[0].lines() == [["a"], ["c"]]
    assert sheets.worksheets[0].rows == 2
