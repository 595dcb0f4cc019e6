"""Contract of reading whole worksheets by column, and of detecting unchanged ones."""

import pytest

from gateway.errors import UpstreamRefusal
from gateway.google.sheets import (
    AppendedRows,
    EmptiedRow,
    Render,
    Rendering,
    SheetArea,
    WrittenCells,
)
from tests.contract.subject import Subject, Typed, apply, at, properties


async def read(
    subject: Subject,
    range_: str | SheetArea,
    *,
    render: Render = Render.DISPLAYED,
    known: bytes | None = None,
) -> Rendering | None:
    return await subject.sheets.read_columns(
        subject.spreadsheet, range_, render=render, known=known
    )


async def rendering(
    subject: Subject, range_: str | SheetArea, *, render: Render = Render.DISPLAYED
) -> Rendering:
    """Return `read_columns` without a known digest."""
    found = await read(subject, range_, render=render)
    if found is None:
        raise LookupError("nothing was known")
    return found


async def test_trailing_blanks_are_left_out(subject: Subject) -> None:
    """Blank cells at the end of a column and blank columns at the end are omitted.

    Other blank cells are returned.
    """
    title = await subject.worksheet([["a", "", "c", ""], [], [None, "", "2"]], rows=6)

    found = await rendering(subject, at(title, "A1:ZZZ"))

    assert found.range == f"{title}!A1:D6"
    assert found.columns == (("a",), (), ("c", "", "2"))


@pytest.mark.parametrize("render", Render)
async def test_a_blank_worksheet_has_no_columns(subject: Subject, render: Render) -> None:
    """A blank worksheet has no columns; its range has the size of the grid."""
    title = await subject.worksheet([], rows=4)

    found = await rendering(subject, at(title, "A1:ZZZ"), render=render)

    assert found.range == f"{title}!A1:A4"
    assert found.columns == ()


async def test_both_renderings(subject: Subject) -> None:
    """DISPLAYED returns displayed texts; TYPED returns text, number or boolean.

    A typed date is its serial number.
    """
    date = Typed("2020-01-01", 43831, "2020-01-01")
    title = await subject.worksheet([["n", "007", date], [2, True, 0.5]])

    displayed = await rendering(subject, at(title, "A1:ZZZ"))
    typed = await rendering(subject, at(title, "A1:ZZZ"), render=Render.TYPED)

    assert displayed.columns == (("n", "2"), ("007", "TRUE"), ("2020-01-01", "0.5"))
    assert typed.columns == (("n", 2), ("007", True), (43831, 0.5))
    assert typed.columns[1][1] is True


async def test_a_range_is_read_by_column(subject: Subject) -> None:
    """Columns of a range start at the first cell of the range."""
    title = await subject.worksheet([["a", "b", "c"], ["1", "2", "3"], ["4", "5", "6"]], rows=5)

    found = await rendering(subject, at(title, "B2:ZZZ"))

    assert found.range == f"{title}!B2:C5"
    assert found.columns == (("2", "5"), ("3", "6"))


async def test_an_unchanged_worksheet_is_none(subject: Subject) -> None:
    """A read with the digest of the current cells returns no cells."""
    title = await subject.worksheet([["a", "b"], [1, 2]])
    before = await rendering(subject, at(title, "A1:ZZZ"))

    again = await read(subject, at(title, "A1:ZZZ"), known=before.digest)
    unknown = await read(subject, at(title, "A1:ZZZ"), known=b"another")

    assert again is None
    assert unknown == before


async def test_a_changed_worksheet_has_another_digest(subject: Subject) -> None:
    """After an edit, a read has another digest."""
    title = await subject.worksheet([["a", "b"], [1, 2]])
    before = await rendering(subject, at(title, "A1:ZZZ"))

    await apply(subject, title, WrittenCells(row=2, column=1, values=[3]))
    after = await read(subject, at(title, "A1:ZZZ"), known=before.digest)

    assert after is not None
    assert after.columns == (("a", "1"), ("b", "3"))
    assert after.digest != before.digest


async def test_a_grown_grid_changes_the_digest(subject: Subject) -> None:
    """More blank rows in the grid change the returned range, and so the digest."""
    title = await subject.worksheet([["a"]], rows=3)
    before = await rendering(subject, at(title, "A1:ZZZ"))

    emptied = [EmptiedRow(row=row) for row in (2, 3, 4)]
    await apply(subject, title, AppendedRows(rows=[["x"], ["y"], ["z"]]), *emptied)
    after = await read(subject, at(title, "A1:ZZZ"), known=before.digest)

    assert after is not None
    assert (after.columns, after.range) == (before.columns, f"{title}!A1:A4")


async def test_a_range_that_starts_past_the_grid_is_refused(subject: Subject) -> None:
    """The error of a range outside the grid has the size of the grid."""
    title = await subject.worksheet([["a", "b"]], rows=9)

    with pytest.raises(UpstreamRefusal) as refused:
        await read(subject, at(title, "A10:ZZZ"))

    assert refused.value.google_message == (
        f"Range ({title}!A10:ZZZ) exceeds grid limits. Max rows: 9, max columns: 2"
    )


async def test_a_missing_worksheet_is_refused(subject: Subject) -> None:
    """An unknown title is a range that Google cannot parse, with or without a digest."""
    with pytest.raises(UpstreamRefusal) as refused:
        await read(subject, at("No such worksheet", "A1:ZZZ"), known=b"digest")

    assert refused.value.google_message.startswith("Unable to parse range: ")


@pytest.mark.parametrize("render", Render)
async def test_a_worksheet_is_read_by_its_id(subject: Subject, render: Render) -> None:
    """A read by sheet ID has the same cells, range and digest as a read by title."""
    date = Typed("2020-01-01", 43831, "2020-01-01")
    title = await subject.worksheet([["n", "", date], [2, True, 0.5, ""]], rows=5)
    by_title = await rendering(subject, at(title, "A1:ZZZ"), render=render)
    area = SheetArea((await properties(subject, title)).sheet_id)

    assert await rendering(subject, area, render=render) == by_title
    assert await read(subject, area, render=render, known=by_title.digest) is None


async def test_a_blank_worksheet_is_read_by_its_id(subject: Subject) -> None:
    title = await subject.worksheet([], rows=4)

    found = await rendering(subject, SheetArea((await properties(subject, title)).sheet_id))

    assert (found.range, found.columns) == (f"{title}!A1:A4", ())


async def test_rows_from_one_on_are_read_by_id(subject: Subject) -> None:
    title = await subject.worksheet([["a", "b"], ["1", "2"], ["", "4"]], rows=5)

    found = await rendering(subject, SheetArea((await properties(subject, title)).sheet_id, 3))

    assert (found.range, found.columns) == (f"{title}!A3:B5", ((), ("4",)))


async def test_the_digest_covers_the_title(subject: Subject) -> None:
    """Two worksheets with the same cells and different titles have different digests."""
    titles = [await subject.worksheet([["a"], ["1"]]) for _ in range(2)]
    areas = [SheetArea((await properties(subject, title)).sheet_id) for title in titles]

    first, second = [await rendering(subject, area) for area in areas]

    assert first.columns == second.columns
    assert first.digest != second.digest


async def test_a_missing_sheet_id_or_row_is_refused(subject: Subject) -> None:
    """A read fails if no worksheet has the sheet ID, or if the grid ends above the range."""
    title = await subject.worksheet([["a"]], rows=3)
    sheet_id = (await properties(subject, title)).sheet_id

    for area in (SheetArea(1_999_999_999), SheetArea(sheet_id, 4)):
        with pytest.raises(UpstreamRefusal):
            await read(subject, area, known=b"digest")
