"""Appends: under which table rows land, what they push, and what they hold afterwards."""

import pytest

from gateway.errors import UpstreamRefusal
from gateway.google.sheets import Render, Value, Values
from tests.contract.subject import Lines, Subject, at, properties, shown

HEADER_AND_ROW: Lines = [["a", "b"], ["1", "2"]]
GAP: Lines = [["x", "", "z"]]


async def append(subject: Subject, title: str, anchor: str, rows: list[list[Value]]) -> Values:
    return await subject.sheets.append_rows(subject.spreadsheet, at(title, anchor), rows)


@pytest.mark.parametrize(
    ("lines", "anchor", "echo"),
    [
        pytest.param(HEADER_AND_ROW, "A1", "A3:B3", id="first-cell-of-the-table"),
        pytest.param(HEADER_AND_ROW, "B2", "A3:B3", id="other-cell-of-the-table"),
        pytest.param(HEADER_AND_ROW, "A3", "A3:B3", id="blank-right-under-the-table"),
        pytest.param(HEADER_AND_ROW, "A6", "A6:B6", id="blank-far-below"),
        pytest.param(GAP, "A1", "A2:B2", id="table-before-a-blank-cell"),
        pytest.param(GAP, "A1:C1", "C2:D2", id="last-table-of-the-range"),
        pytest.param([["a", "b"], ["1"], [], ["n"]], "A1", "A3:B3", id="a-blank-row-ends-it"),
        pytest.param([["a", "b"], [None, "2"]], "A1", "A3:B3", id="sparse-row-belongs-to-it"),
        pytest.param([["", "a"], ["", "1"]], "B1", "B3:C3", id="begins-in-its-first-column"),
    ],
)
async def test_rows_go_under_the_table(
    subject: Subject, lines: Lines, anchor: str, echo: str
) -> None:
    """A row goes under the anchor's last table from its first column on, or to a blank anchor."""
    title = await subject.worksheet(lines, rows=9)

    values = await append(subject, title, anchor, [["p", "q"]])

    assert values == Values(range=f"{title}!{echo}", cells=(("p", "q"),))


@pytest.mark.parametrize("anchor", ["A1", "A1:ZZZ", "1:1"])
async def test_a_blank_worksheet_is_filled_from_its_first_cell(
    subject: Subject, anchor: str
) -> None:
    """Without a table, the first row is used."""
    title = await subject.worksheet([], rows=5)

    values = await append(subject, title, anchor, [["only"]])

    assert values.range == f"{title}!A1"
    assert await shown(subject, title) == (("only",),)


async def test_what_lies_under_the_rows_is_pushed_down(subject: Subject) -> None:
    """Rows are inserted: a line of totals stands as far under the table as before."""
    title = await subject.worksheet([["a", "n"], ["x", "1"], [], ["total", "1"]])

    await append(subject, title, "A1", [["y", "2"], ["z", "3"]])

    assert await shown(subject, title) == (
        ("a", "n"),
        ("x", "1"),
        ("y", "2"),
        ("z", "3"),
        (),
        ("total", "1"),
    )


async def test_rows_at_a_blank_cell_push_too(subject: Subject) -> None:
    """A blank anchor between two tables moves the lower one."""
    title = await subject.worksheet([["a"], ["x"], [], ["n"]])

    values = await append(subject, title, "A3", [["y"]])

    assert values.range == f"{title}!A3"
    assert await shown(subject, title) == (("a",), ("x",), ("y",), (), ("n",))


async def test_a_full_grid_grows(subject: Subject) -> None:
    """A worksheet without a blank row or column takes longer and wider rows."""
    title = await subject.worksheet(HEADER_AND_ROW)

    values = await append(subject, title, "A1", [["3", "4", "5"], ["6"]])
    grown = await properties(subject, title)

    assert values.range == f"{title}!A3:C4"
    assert await shown(subject, title) == (("a", "b"), ("1", "2"), ("3", "4", "5"), ("6",))
    assert (grown.rows >= 4, grown.columns >= 3) == (True, True)


async def test_rows_may_have_several_widths(subject: Subject) -> None:
    """The reported range is the rectangle round all of the rows."""
    title = await subject.worksheet(HEADER_AND_ROW, rows=9)

    values = await append(subject, title, "A1", [["p"], ["q", "r", "s"], ["t", "u"]])

    assert values.range == f"{title}!A3:C5"
    assert values.cells == (("p",), ("q", "r", "s"), ("t", "u"))


async def test_skipped_and_emptied_cells_are_blank(subject: Subject) -> None:
    """In a new row a null and an empty text are both a blank cell."""
    title = await subject.worksheet([["a", "b", "c", "d"]], rows=9)

    values = await append(subject, title, "A1", [["p", None, "", "s"], ["t", "u", None, ""]])

    assert values.range == f"{title}!A2:D3"
    assert values.cells == (("p", "", "", "s"), ("t", "u"))


async def test_the_next_rows_go_under_the_last_ones(subject: Subject) -> None:
    """Two appends at one anchor follow each other, though it was blank for the first of them."""
    title = await subject.worksheet([["a", "b"]], rows=9)

    first = await append(subject, title, "A2", [["1", "2"]])
    second = await append(subject, title, "A2", [["3", "4"]])

    assert (first.range, second.range) == (f"{title}!A2:B2", f"{title}!A3:B3")
    assert await shown(subject, title) == (("a", "b"), ("1", "2"), ("3", "4"))


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
async def test_values_are_stored_as_they_are(
    subject: Subject, value: str | float | bool, text: str
) -> None:
    """Text stays the text it is, numbers and booleans stay what they are."""
    title = await subject.worksheet([["a"]], rows=3)

    values = await append(subject, title, "A1", [[value]])
    typed = await subject.sheets.read_values(
        subject.spreadsheet, at(title, "A2"), render=Render.TYPED
    )

    assert values.cells == ((text,),)
    assert typed.cells == ((value,),)
    assert isinstance(typed.cells[0][0], bool) == isinstance(value, bool)


async def test_nothing_is_appended_to_a_worksheet_that_is_not_there(subject: Subject) -> None:
    """An unknown title is refused as a range that cannot be parsed."""
    with pytest.raises(UpstreamRefusal) as refused:
        await append(subject, "No such worksheet", "A1", [["x"]])

    assert refused.value.google_message.startswith("Unable to parse range: ")
