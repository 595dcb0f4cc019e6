"""Tests of JSON values of cells in typed answers, and of ETags over typed values."""

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.table.cells import ERRORS
from gateway.table.header import keyed_row_tag, row_tag
from gateway.table.steps import BLOCK, finish
from gateway.table.typed import ERROR, held_cells, typed_answer, typed_column, typed_rows

CELLS = [
    ("1", 1), ("0", 0), ("12", 12.3), ("", 0), ("x", "x"), ("", ""), ("", None), ("TRUE", True),
    ("FALSE", False), ("#N/A", "#N/A (why)"), ("#REF!", "#REF!"), ("2026-02-01", 46054),
    ("2026-02-01", "2026-02-01"), ("25:30:00", 1.0625), ("#1", "#1"), ("7 kg", "7"),
]  # fmt: skip


@pytest.mark.parametrize("text", sorted(ERRORS))
def test_an_error_is_null(text: str) -> None:
    """Each error of Google is null in JSON, with or without an explanation."""
    assert typed_answer(text, text) is ERROR
    assert typed_answer(text, f"{text} (Did not find it.)") is ERROR
    assert msgspec.json.encode(ERROR) == b"null"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("#N/A", 5),
        ("#N/A of it", "#N/A of it"),
        ("#N/A", "x"),
        ("5", "#N/A"),
        ("#n/a", "#n/a"),
        ("#", "#"),
    ],
)
def test_other_cells_are_not_errors(text: str, value: object) -> None:
    """A cell is an error only if displayed text and typed value are the same error."""
    assert typed_answer(text, value) == value


@given(cells=st.lists(st.sampled_from(CELLS), max_size=40), end=st.integers(0, 3))
def test_a_column_has_the_values_of_its_cells(
    cells: Sequence[tuple[str, object]], end: int
) -> None:
    """JSON values by column equal those by cell, also if the displayed column is shorter."""
    texts = ("name", *(text for text, _ in cells))
    values = ("name", *(value for _, value in cells))
    texts = texts[: max(1, len(texts) - end)]

    column = finish(typed_column(texts, values)).cells

    for row in range(1, len(values)):
        text = texts[row] if row < len(texts) else ""
        answer = typed_answer(text, values[row])
        assert column[row] is answer or column[row] == answer
        assert type(column[row]) is type(answer)


@pytest.mark.parametrize(
    "values", [(1, 2.5, 0), (True, False), (1, True, None, "")], ids=["numbers", "booleans", "both"]
)
def test_plain_columns_take_no_memory(values: Sequence[object]) -> None:
    """A column without dates and errors uses the typed values without a copy."""
    typed = ("name", *values)
    texts = ("name", *("" if each in (None, "") else str(each) for each in values))

    found, of_texts = finish(typed_column(texts, typed)), finish(typed_column(texts, texts))

    assert (found.cells is typed, found.byte_count) == (True, 0)
    assert (of_texts.cells is texts, of_texts.byte_count) == (True, 0)


def test_conversion_of_a_column_is_counted() -> None:
    """Long columns are converted in blocks with counted steps. `byte_count` counts the new
    values.
    """
    texts = ("day", *["2026-02-01"] * 5 * BLOCK)
    values = ("day", *[46054] * 5 * BLOCK)
    work, blocks = typed_column(texts, values), 0
    while True:
        try:
            steps = next(work)
        except StopIteration as done:
            made = done.value
            break
        blocks += 1

        assert steps <= 16 * BLOCK

    assert blocks > 5 * BLOCK // 64
    assert made.byte_count > 5 * BLOCK * len("2026-02-01")


@given(cells=st.lists(st.sampled_from(CELLS), max_size=8))
def test_typed_values_do_not_depend_on_the_read(cells: Sequence[tuple[str, object]]) -> None:
    """The values API and the cells API give equal JSON values, although their errors and empty
    cells differ.
    """
    texts = [text for text, _ in cells]
    of_values = [value for _, value in cells]
    of_cells = [
        None if not text and not isinstance(value, int | float)
        else text if text in ERRORS
        else float(value) if type(value) is int
        else value
        for text, value in cells
    ]  # fmt: skip

    shown = [*texts]
    while shown and not shown[-1]:
        shown.pop()
    header = ["name"] * len(cells)
    tags = {row_tag(header, texts, of_values), row_tag(header, shown, [*of_cells, None, ""])}

    assert len(tags) == 1
    assert held_cells(shown, of_values) == held_cells([*texts, ""], [*of_cells, None, ""])
    rows = finish(typed_rows([(texts, of_values), (texts, of_cells)], range(len(cells))))
    by_values, by_cells = [[None if cell == "" else cell for cell in row] for row in rows]
    assert by_values == by_cells


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [("12", 12.3, 12.4), ("x", "x", 1), ("TRUE", "TRUE", True), ("1", True, 1), ("1", "1", 1),
     ("", "", 0), ("7 kg", "7", "07")],
)  # fmt: skip
def test_typed_tags_differ_for_values_with_the_same_display(
    text: str, before: object, after: object
) -> None:
    """A typed ETag changes with kind and value of each cell. An ETag of displayed texts does
    not.
    """
    header, columns = ["a", "b"], {"a": 0}
    typed = [row_tag(header, ["", text], ["", each]) for each in (before, after)]
    keyed = [keyed_row_tag(b"k", columns, 2, header, ["", text], ["", e]) for e in (before, after)]
    displayed = [row_tag(header, ["", text]), keyed_row_tag(b"k", columns, 2, header, ["", text])]

    assert len({*typed, *keyed, *displayed}) == 6
