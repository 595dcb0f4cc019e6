"""Writes to cells: changed cells, reported range and cells, atomicity."""

import pytest

from gateway.errors import UpstreamRefusal
from gateway.google.sheets import Render, Value, Values, Writing
from tests.contract.subject import Lines, Subject, Typed, at, properties, shown

ABC: Lines = [["a", "b", "c"], ["1", "2", "3"]]


async def write(subject: Subject, title: str, cells: str, rows: list[list[Value]]) -> Values:
    """The answer to one writing."""
    writing = Writing(range=at(title, cells), rows=rows)
    [values] = await subject.sheets.write_cells(subject.spreadsheet, [writing])
    return values


@pytest.mark.parametrize(
    ("row", "after"),
    [
        pytest.param(["x", "y", "z"], ("x", "y", "z"), id="all"),
        pytest.param(["x", None, "z"], ("x", "2", "z"), id="null-skips"),
        pytest.param(["x", "", "z"], ("x", "", "z"), id="blank-empties"),
        pytest.param(["x", None, ""], ("x", "2"), id="both"),
        pytest.param(["", "", ""], (), id="all-emptied"),
    ],
)
async def test_null_skips_a_cell_and_an_empty_text_empties_it(
    subject: Subject, row: list[Value], after: tuple[str, ...]
) -> None:
    """The reported range includes skipped cells, and the cells are as displayed."""
    title = await subject.worksheet(ABC, rows=9)

    values = await write(subject, title, "A2:C2", [row])

    assert values == Values(range=f"{title}!A2:C2", cells=(after,) if after else ())
    assert await shown(subject, title) == (("a", "b", "c"), *values.cells)


@pytest.mark.parametrize(
    ("cells", "rows", "echo", "told"),
    [
        pytest.param("B2", [["x"]], "B2", (("x",),), id="one-cell"),
        pytest.param("B2", [["x", "y"], ["z"]], "B2:C3", (("x", "y"), ("z",)), id="from-a-cell"),
        pytest.param("A2:C2", [["x"]], "A2", (("x", "2", "3"),), id="part-of-a-range"),
        pytest.param("A1:A", [["x"]], "A1", (("x",), ("1",)), id="part-of-an-open-range"),
    ],
)
async def test_a_writing_tells_what_its_range_displays(
    subject: Subject,
    cells: str,
    rows: list[list[Value]],
    echo: str,
    told: tuple[tuple[str, ...], ...],
) -> None:
    """The reported range is the written one, the cells those of the requested range."""
    title = await subject.worksheet(ABC, rows=9)

    values = await write(subject, title, cells, rows)

    assert values == Values(range=f"{title}!{echo}", cells=told)


async def test_values_are_stored_as_they_are(subject: Subject) -> None:
    """Text stays the text it is, numbers and booleans stay what they are, and show as such."""
    title = await subject.worksheet([[None] * 6], rows=2)
    row: list[Value] = ["007", "=1+2", "TRUE", 3, 2.5, True]

    values = await write(subject, title, "A1:F1", [row])
    typed = await subject.sheets.read_values(
        subject.spreadsheet, at(title, "1:1"), render=Render.TYPED
    )

    assert values.cells == (("007", "=1+2", "TRUE", "3", "2.5", "TRUE"),)
    assert typed.cells == (tuple(row),)
    assert typed.cells[0][5] is True


async def test_a_formula_gives_way_to_a_value(subject: Subject) -> None:
    """A cell with a formula holds what is written to it; a skipped one keeps its formula."""
    title = await subject.worksheet([[Typed("=1+2", 3, "3"), Typed("=1+2", 3, "3")]])

    values = await write(subject, title, "A1:B1", [["x", None]])

    assert values.cells == (("x", "3"),)


async def test_several_writings_are_reported_in_order(subject: Subject) -> None:
    """Ranges of several worksheets are written in one call."""
    first = await subject.worksheet(ABC)
    second = await subject.worksheet(ABC, title="My rows {}")

    told = await subject.sheets.write_cells(
        subject.spreadsheet,
        [
            Writing(range=at(second, "C2"), rows=[["x"]]),
            Writing(range=at(first, "A2:B2"), rows=[[None, 7]]),
            Writing(range=at(second, "A1"), rows=[["y"]]),
        ],
    )

    assert [values.range for values in told] == [
        at(second, "C2"),
        f"{first}!A2:B2",
        at(second, "A1"),
    ]
    assert [values.cells for values in told] == [(("x",),), (("1", "7"),), (("y",),)]
    assert await shown(subject, first) == (("a", "b", "c"), ("1", "7", "3"))
    assert await shown(subject, second) == (("y", "b", "c"), ("1", "2", "x"))


@pytest.mark.parametrize(
    ("title", "cells", "rows", "words"),
    [
        pytest.param("No such", "A1", [["x"]], "Unable to parse range: ", id="no-worksheet"),
        pytest.param(None, "A3", [["x"]], "Range (", id="starts-past-the-grid"),
        pytest.param(None, "A1:B1", [["x"] * 3], "Requested writing within range [", id="too-wide"),
        pytest.param(None, "A1:B1", [["x"]] * 2, "Requested writing within range [", id="too-high"),
        pytest.param(None, "C2", [["x", "y"]], "", id="runs-past-the-last-column"),
        pytest.param(None, "A2", [["x"], ["y"]], "", id="runs-past-the-last-row"),
    ],
)
async def test_one_bad_range_means_that_none_is_written(
    subject: Subject, title: str | None, cells: str, rows: list[list[Value]], words: str
) -> None:
    """The refusal says which writing was bad, no cell has changed, and no grid has grown."""
    good = await subject.worksheet(ABC)

    with pytest.raises(UpstreamRefusal) as refused:
        await subject.sheets.write_cells(
            subject.spreadsheet,
            [
                Writing(range=at(good, "A1"), rows=[["changed"]]),
                Writing(range=at(title or good, cells), rows=rows),
            ],
        )
    listed = await properties(subject, good)

    assert refused.value.google_message.startswith(f"Invalid data[1]: {words}")
    assert await shown(subject, good) == (("a", "b", "c"), ("1", "2", "3"))
    assert (listed.rows, listed.columns) == (2, 3)
