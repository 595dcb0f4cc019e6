"""Contract of batches with a fence: applied as a whole or not at all, and their answers."""

import pytest

from gateway.errors import UpstreamRefusal
from gateway.google.sheets import (
    MAX_METADATA_CHARACTERS,
    AppendedRows,
    Batch,
    Detail,
    EmptiedRow,
    Fence,
    RemovedRows,
    Render,
    Value,
    WrittenCells,
    refused_request,
)
from gateway.table.column_types import NumberFormat
from tests.contract.subject import Lines, Subject, Typed, apply, at, fence, properties, shown

LINES: Lines = [["a", "b"], ["1", 2], ["x", True]]


async def test_a_view_has_texts_and_values(subject: Subject) -> None:
    """`read_sheet` returns blocks of displayed and typed values, with their first row numbers."""
    title = await subject.worksheet([["a", "b"], [Typed("50%", 0.5, "50%"), True], ["", 7]], rows=9)

    view = await subject.sheets.read_sheet(
        subject.spreadsheet, [at(title, "1:1"), at(title, "A2:ZZZ"), at(title, "3:3")]
    )

    assert (view.title, view.rows) == (title, 9)
    assert view.sheet_id == (await properties(subject, title)).sheet_id
    assert [block.first_row for block in view.blocks] == [1, 2, 3]
    filled = [[text for text in row if text] for row in view.blocks[1].texts if any(row)]
    assert filled == [["50%", "TRUE"], ["7"]]
    assert view.blocks[1].values[0] == [0.5, True] or view.blocks[1].values[0] == (0.5, True)


@pytest.mark.parametrize("rows", [0, 9], ids=["full-grid", "room-below"])
async def test_rows_are_appended_below_the_last_row(subject: Subject, rows: int) -> None:
    """Rows are appended below all others from column A, and the grid grows if necessary."""
    title = await subject.worksheet([*LINES, [], [None, "last"]], rows=rows)

    view = await apply(
        subject,
        title,
        AppendedRows(rows=[["007", 1.5], [None, "=1+1"]]),
        AppendedRows(rows=[[False]]),
        cells="A5:ZZZ",
    )

    assert (await shown(subject, title))[4:] == (
        ("", "last"),
        ("007", "1.5"),
        ("", "=1+1"),
        ("FALSE",),
    )
    texts = [list(row) for row in view.blocks[1].texts if any(row)]
    assert view.blocks[1].first_row == 5
    assert [text[:2] for text in texts] == [["", "last"], ["007", "1.5"], ["", "=1+1"], ["FALSE"]]


async def test_number_formats(subject: Subject) -> None:
    """A written format stays after later values; cells appended without one are automatic."""
    title = await subject.worksheet([["a", "b"], ["1", 2]], rows=9)
    day, clock = NumberFormat("DATE", "d mmm yyyy"), NumberFormat("TIME", "[h]:mm")
    rows: list[list[Value]] = [[46054.0, "x"], ["y", 1.5]]

    await apply(
        subject,
        title,
        WrittenCells(row=2, column=1, values=[46054.0], formats=[day]),
        AppendedRows(rows=rows, formats=[{0: day}, {1: clock}]),
    )
    await apply(
        subject, title, WrittenCells(row=2, column=1, values=[7]), AppendedRows(rows=[["z"]])
    )
    view = await subject.sheets.read_sheet(
        subject.spreadsheet, [at(title, "1:1"), at(title, "A2:B5")], detail=Detail.FORMS
    )

    shown_forms = [[cell.form.format for cell in row] for row in view.blocks[1].cells]
    assert shown_forms[:3] == [[None, day], [day, None], [None, clock]]
    assert shown_forms[3][0] is None
    assert [len(row) for row in view.blocks[1].values] == [*map(len, shown_forms)]


async def test_cells_are_written(subject: Subject) -> None:
    """Named cells get the sent values, other cells stay, and the answer has the cells."""
    title = await subject.worksheet(LINES)

    view = await apply(
        subject,
        title,
        WrittenCells(row=2, column=1, values=[3]),
        WrittenCells(row=3, column=0, values=["", "=1"]),
        cells="2:2",
    )

    assert await shown(subject, title) == (("a", "b"), ("1", "3"), ("", "=1"))
    assert [*view.blocks[1].texts[0]] == ["1", "3"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param(3, "3", id="integer"),
        pytest.param(2.5, "2.5", id="fraction"),
        pytest.param(True, "TRUE", id="true"),
        pytest.param(False, "FALSE", id="false"),
        pytest.param("3", "3", id="digits"),
        pytest.param("007", "007", id="leading-zeros"),
        pytest.param("TRUE", "TRUE", id="text-true"),
        pytest.param("=1+2", "=1+2", id="equals-sign"),
        pytest.param("'x", "'x", id="apostrophe"),
        pytest.param("2020-01-01", "2020-01-01", id="text-date"),
        pytest.param(" x\n🏙 ", " x\n🏙 ", id="blanks-and-breaks"),
    ],
)
async def test_values_are_stored_unchanged(
    subject: Subject, value: str | float | bool, text: str
) -> None:
    """Texts stay texts; numbers and booleans stay numbers and booleans."""
    title = await subject.worksheet([["a"], ["b"]], rows=3)

    await apply(
        subject,
        title,
        WrittenCells(row=2, column=0, values=[value]),
        AppendedRows(rows=[[value]]),
    )
    typed = await subject.sheets.read_values(
        subject.spreadsheet, at(title, "A2:A3"), render=Render.TYPED
    )

    assert (await shown(subject, title))[1:] == ((text,), (text,))
    assert typed.cells == ((value,), (value,))
    assert isinstance(typed.cells[0][0], bool) == isinstance(value, bool)


async def test_a_value_replaces_a_formula(subject: Subject) -> None:
    """A value replaces a formula in its cell; other formulas stay."""
    title = await subject.worksheet([[Typed("=1+2", 3, "3"), Typed("=1+2", 3, "3")]])

    await apply(subject, title, WrittenCells(row=1, column=0, values=["x"]), cells="1:1")

    assert await shown(subject, title) == (("x", "3"),)


async def test_rows_are_removed_from_the_bottom_up(subject: Subject) -> None:
    """When rows are removed, rows below move up; cells of the same batch are written first."""
    title = await subject.worksheet([["a"], *([str(row)] for row in range(2, 9))])

    view = await apply(
        subject,
        title,
        WrittenCells(row=8, column=0, values=["last"]),
        RemovedRows(first_row=6, last_row=7),
        RemovedRows(first_row=2, last_row=2),
        cells="A2:ZZZ",
    )

    assert await shown(subject, title) == (("a",), ("3",), ("4",), ("5",), ("last",))
    assert view.rows == 5
    assert [row[0] for row in view.blocks[1].texts if any(row)] == ["3", "4", "5", "last"]


async def test_a_row_is_emptied(subject: Subject) -> None:
    title = await subject.worksheet([["a", "b"], ["1", 2], ["x", True]])

    view = await apply(subject, title, EmptiedRow(row=2))

    assert (await shown(subject, title))[2:] == (("x", "TRUE"),)
    assert not any((await shown(subject, title))[1])
    assert view.rows == 3


async def test_a_row_past_the_grid_is_not_removed(subject: Subject) -> None:
    title = await subject.worksheet(LINES)

    with pytest.raises(UpstreamRefusal) as caught:
        await apply(subject, title, RemovedRows(first_row=9, last_row=9))
    assert refused_request(caught.value) == 1


async def test_one_invalid_change_rejects_the_batch(subject: Subject) -> None:
    """If one change of a batch is wrong, Google names this change and changes no cell."""
    title = await subject.worksheet(LINES)
    before = await shown(subject, title)

    with pytest.raises(UpstreamRefusal) as caught:
        await apply(
            subject,
            title,
            WrittenCells(row=2, column=0, values=["changed"]),
            RemovedRows(first_row=9, last_row=9),
        )

    assert refused_request(caught.value) == 2
    assert await shown(subject, title) == before


async def test_many_ranges_are_returned_in_order(subject: Subject) -> None:
    """A read of more ranges than a URL can hold returns a block for each range, in order."""
    title = await subject.worksheet([["a"], *([str(row)] for row in range(2, 400))])
    rows = [*range(399, 101, -2), *range(2, 100), 100]

    view = await subject.sheets.read_sheet(
        subject.spreadsheet, [at(title, "1:1"), *(at(title, f"{row}:{row}") for row in rows)]
    )

    assert [block.first_row for block in view.blocks] == [1, *rows]
    assert [block.texts[0][0] for block in view.blocks[1:]] == [str(row) for row in rows]


async def test_a_used_fence_id_rejects_the_batch(subject: Subject) -> None:
    """Google rejects a batch with a used metadata ID completely, and names its first request."""
    title = await subject.worksheet(LINES)
    mark = fence()
    await apply(subject, title, AppendedRows(rows=[["first"]]), mark=mark)

    with pytest.raises(UpstreamRefusal) as caught:
        await apply(subject, title, AppendedRows(rows=[["second"]]), mark=mark)

    assert refused_request(caught.value) == 0
    assert len(await shown(subject, title)) == 4
    assert [*await subject.sheets.fence_tokens(subject.spreadsheet, mark.id)] == ["token"]


async def test_fences_are_deleted_alone(subject: Subject) -> None:
    mark = fence()
    await subject.sheets.put_fence(subject.spreadsheet, mark)

    await subject.sheets.delete_fences(subject.spreadsheet, [mark])

    assert [*await subject.sheets.fence_tokens(subject.spreadsheet, mark.id)] == []


async def test_a_fence_without_a_batch(subject: Subject) -> None:
    """A fence can be created once, and found by its ID and by its key."""
    mark = fence("burnt")
    await subject.sheets.put_fence(subject.spreadsheet, mark)

    with pytest.raises(UpstreamRefusal):
        await subject.sheets.put_fence(subject.spreadsheet, mark)

    assert [*await subject.sheets.fence_tokens(subject.spreadsheet, mark.id)] == ["burnt"]
    assert mark in await subject.sheets.find_fences(subject.spreadsheet, mark.key)
    assert mark in await subject.sheets.find_fences(subject.spreadsheet)


async def test_a_fence_replaces_another_in_full_metadata(subject: Subject) -> None:
    """In full metadata, a new fence fails, but succeeds if the same batch deletes an old fence."""
    held = await subject.sheets.find_fences(subject.spreadsheet)
    old, new = fence(), fence()
    size = sum(len(each.key + each.token) for each in [*held, old])
    rest = "x" * (MAX_METADATA_CHARACTERS - size - len(old.key))
    filler = Fence(id=fence().id, key=old.key, token=rest)
    await subject.sheets.put_fence(subject.spreadsheet, old, filler)
    try:
        with pytest.raises(UpstreamRefusal) as caught:
            await subject.sheets.put_fence(subject.spreadsheet, new)
        await subject.sheets.put_fence(subject.spreadsheet, new, forgotten=[old.id])
        kept = await subject.sheets.find_fences(subject.spreadsheet, old.key)
    finally:
        await subject.sheets.delete_fences(subject.spreadsheet, [old, filler, new])

    assert refused_request(caught.value) == 0
    assert new in kept
    assert old not in kept


async def test_old_fences_are_deleted(subject: Subject) -> None:
    """A batch deletes earlier fences by ID, and a missing fence is no error."""
    title = await subject.worksheet(LINES)
    old = fence()
    await subject.sheets.put_fence(subject.spreadsheet, old)

    await apply(
        subject, title, AppendedRows(rows=[["y"]]), forgotten=[old.id, old.id % 2**31 - 1 or 1]
    )

    assert [*await subject.sheets.fence_tokens(subject.spreadsheet, old.id)] == []


async def test_a_batch_to_a_missing_worksheet(subject: Subject) -> None:
    """Google rejects a batch for a missing sheet ID, and creates no fence."""
    title = await subject.worksheet(LINES)
    mark = fence()
    batch = Batch(
        sheet_id=987_654_321,
        fence=mark,
        changes=[AppendedRows(rows=[["y"]])],
        ranges=[at(title, "1:1")],
    )

    with pytest.raises(UpstreamRefusal) as caught:
        await subject.sheets.apply(subject.spreadsheet, batch)

    assert refused_request(caught.value) == 1
    assert [*await subject.sheets.fence_tokens(subject.spreadsheet, mark.id)] == []
