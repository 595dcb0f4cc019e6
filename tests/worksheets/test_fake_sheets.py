"""Edits that tests make in the in-memory Sheets; contract tests compare the rest to Google."""

from gateway.google.sheets import Batch, Fence, Render, WrittenCells
from tests.fakes import BOOK, FakeSheets, Formatted


async def test_a_format_sets_text_and_value_apart() -> None:
    """A formatted cell has separate text and value until a write replaces both."""
    sheets = FakeSheets()
    sheets.add("T", [[Formatted(43831, "1 Jan 2020"), Formatted(0.25, "25%")]])

    change = WrittenCells(row=1, column=1, values=[0.5])
    batch = Batch(sheet_id=0, fence=Fence.random("gw"), changes=[change], ranges=["'T'!1:1"])
    view = await sheets.apply(BOOK, batch)
    typed = await sheets.read_values(BOOK, "'T'!1:1", render=Render.TYPED)

    assert view.blocks[0].texts == [["1 Jan 2020", "0.5"]]
    assert typed.cells == ((43831, 0.5),)


def test_a_person_types() -> None:
    """None skips a cell, "" empties it, and the grid becomes as large as needed."""
    worksheet = FakeSheets().add("T", [["a", "b"]])

    worksheet.type(1, None, "")
    worksheet.type(3, None, None, "c")

    assert worksheet.lines() == [["a"], [], ["", "", "c"]]
    assert (worksheet.rows, worksheet.columns) == (3, 3)


def test_a_person_inserts_rows() -> None:
    """Inserted rows are blank and move the rows below down."""
    worksheet = FakeSheets().add("T", [["a"], ["b"]])

    worksheet.insert_rows(2, 2)

    assert worksheet.lines() == [["a"], [], [], ["b"]]
    assert worksheet.rows == 4


def test_a_person_deletes_rows() -> None:
    """Deleted rows disappear with their cells, and the grid gets smaller."""
    worksheet = FakeSheets().add("T", [["a"], ["b"], ["c"]])

    worksheet.delete_rows(2)

    assert worksheet.lines() == [["a"], ["c"]]
    assert worksheet.rows == 2
