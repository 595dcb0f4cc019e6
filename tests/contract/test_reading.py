"""Contract of reads: cells, their types, the returned range, and rejected ranges."""

import pytest

from gateway.errors import UpstreamRefusal
from gateway.google.sheets import Render, Values
from tests.contract.subject import Lines, Subject, Typed, at

ABC: Lines = [["a", "b", "c"]]


async def read(subject: Subject, range_: str, *, render: Render = Render.DISPLAYED) -> Values:
    return await subject.sheets.read_values(subject.spreadsheet, range_, render=render)


@pytest.mark.parametrize(
    ("asked", "echo"),
    [
        pytest.param("B2", "B2", id="cell"),
        pytest.param("A1:C9", "A1:C9", id="box"),
        pytest.param("B3:A2", "A2:B3", id="corners-swapped"),
        pytest.param("1:1", "A1:C1", id="row"),
        pytest.param("2:3", "A2:C3", id="rows"),
        pytest.param("B:C", "B1:C9", id="columns"),
        pytest.param("A2:A", "A2:A9", id="open-below"),
        pytest.param("A2:ZZZ", "A2:C9", id="open-below-and-wide"),
        pytest.param("B2:C99", "B2:C9", id="ends-past-the-last-row"),
        pytest.param("B2:F3", "B2:C3", id="ends-past-the-last-column"),
    ],
)
async def test_the_returned_range_is_normalised_and_clamped(
    subject: Subject, asked: str, echo: str
) -> None:
    """The returned range has ordered corners and ends at the last cell of the grid."""
    title = await subject.worksheet(ABC, rows=9)

    values = await read(subject, at(title, asked))

    assert values.range == f"{title}!{echo}"


@pytest.mark.parametrize(
    ("title", "is_quoted"),
    [
        pytest.param("Rows_{}", False, id="plain"),
        pytest.param("My rows {}", True, id="blanks"),
        pytest.param("it's {}", True, id="quote"),
        pytest.param("D{}", True, id="looks-like-a-cell"),
        pytest.param("Städte 🏙 {}", True, id="emoji"),
        pytest.param("a!B1:Z9,{}", True, id="looks-like-a-range"),
        pytest.param("50%2F{}", True, id="percent"),
    ],
)
async def test_titles_are_quoted_where_needed(
    subject: Subject, title: str, is_quoted: bool
) -> None:
    """Any title can be read; the returned range quotes a title that is not a plain word."""
    made = await subject.worksheet(ABC, title=title)

    values = await read(subject, at(made, "A1:B1"))

    assert values.range == (at(made, "A1:B1") if is_quoted else f"{made}!A1:B1")
    assert values.cells == (("a", "b"),)


async def test_trailing_blanks_are_left_out(subject: Subject) -> None:
    """Blank cells at the end of a row and blank rows at the end are omitted.

    Other blank cells are returned.
    """
    title = await subject.worksheet([["a", "", "c", ""], [], [None, "2"]], rows=6)

    values = await read(subject, at(title, "A1:ZZZ"))

    assert values.cells == (("a", "", "c"), (), ("", "2"))


async def test_a_blank_range_has_no_values(subject: Subject) -> None:
    """A blank range has no rows."""
    title = await subject.worksheet(ABC, rows=9)

    values = await read(subject, at(title, "A2:C5"))

    assert values.range == f"{title}!A2:C5"
    assert values.cells == ()


@pytest.mark.parametrize(
    ("content", "value", "text"),
    [
        pytest.param("007", "007", "007", id="text"),
        pytest.param(3, 3, "3", id="integer"),
        pytest.param(-0.5, -0.5, "-0.5", id="fraction"),
        pytest.param(True, True, "TRUE", id="true"),
        pytest.param(False, False, "FALSE", id="false"),
        pytest.param(Typed("2020-01-01", 43831, "2020-01-01"), 43831, "2020-01-01", id="date"),
        pytest.param(Typed("50%", 0.5, "50%"), 0.5, "50%", id="percent"),
        pytest.param(Typed("$1,234.50", 1234.5, "$1,234.50"), 1234.5, "$1,234.50", id="money"),
        pytest.param(Typed("'007", "007", "007"), "007", "007", id="forced-text"),
        pytest.param(Typed("=4/2", 2, "2"), 2, "2", id="formula"),
    ],
)
async def test_a_cell_has_a_text_and_a_value(
    subject: Subject, content: str | float | bool | Typed, value: str | float | bool, text: str
) -> None:
    """DISPLAYED returns displayed texts; TYPED returns text, number or boolean.

    A typed date is its serial number.
    """
    title = await subject.worksheet([[content]])

    displayed = await read(subject, at(title, "A1"))
    typed = await read(subject, at(title, "A1"), render=Render.TYPED)

    assert displayed.cells == ((text,),)
    assert typed.cells == ((value,),)
    assert isinstance(typed.cells[0][0], bool) == isinstance(value, bool)


@pytest.mark.parametrize(
    "asked",
    ["A10", "D1", "A10:B12", "A10:ZZZ", "10:10"],
    ids=["below", "right", "box", "open", "row"],
)
async def test_a_range_that_starts_past_the_grid_is_refused(subject: Subject, asked: str) -> None:
    """The error of a range outside the grid has the size of the grid."""
    title = await subject.worksheet(ABC, rows=9)

    with pytest.raises(UpstreamRefusal) as refused:
        await read(subject, at(title, asked))

    assert refused.value.google_message.startswith(f"Range ({title}!")
    assert refused.value.google_message.endswith(
        ") exceeds grid limits. Max rows: 9, max columns: 3"
    )


@pytest.mark.parametrize("cells", ["A10", "A10:C12", "A10:ZZZ"])
async def test_a_refusal_quotes_the_range(subject: Subject, cells: str) -> None:
    """The error of a range outside the grid quotes the range of the request."""
    title = await subject.worksheet(ABC, rows=9)

    with pytest.raises(UpstreamRefusal) as refused:
        await read(subject, at(title, cells))

    assert f"({title}!{cells})" in refused.value.google_message


async def test_a_missing_worksheet_is_an_unparsable_range(
    subject: Subject,
) -> None:
    """A missing title gets "Unable to parse range", the same error as a malformed range."""
    with pytest.raises(UpstreamRefusal) as refused:
        await read(subject, at("No such worksheet", "A1:B2"))

    assert refused.value.google_message.startswith("Unable to parse range: ")
    assert "No such worksheet" in refused.value.google_message


async def test_several_ranges_are_read_in_order(subject: Subject) -> None:
    """Ranges of several worksheets, even overlapping ones, are returned displayed and in order."""
    first = await subject.worksheet([["a", 1], ["b", True]])
    second = await subject.worksheet(ABC, title="My rows {}")

    found = await subject.sheets.read_ranges(
        subject.spreadsheet, [at(second, "1:1"), at(first, "A2:ZZZ"), at(first, "B1:B2")]
    )

    assert found == [
        Values(range=at(second, "A1:C1"), cells=(("a", "b", "c"),)),
        Values(range=f"{first}!A2:B2", cells=(("b", "TRUE"),)),
        Values(range=f"{first}!B1:B2", cells=(("1",), ("TRUE",))),
    ]


@pytest.mark.parametrize(
    ("title", "cells", "words"),
    [
        pytest.param(None, "A10", "exceeds grid limits", id="past-the-grid"),
        pytest.param("No such worksheet", "A1", "Unable to parse range: ", id="no-worksheet"),
    ],
)
async def test_one_invalid_range_fails_the_call(
    subject: Subject, title: str | None, cells: str, words: str
) -> None:
    """One wrong range fails a whole call for several ranges."""
    good = await subject.worksheet(ABC)

    with pytest.raises(UpstreamRefusal) as refused:
        await subject.sheets.read_ranges(
            subject.spreadsheet, [at(good, "A1"), at(title or good, cells)]
        )

    assert words in refused.value.google_message
