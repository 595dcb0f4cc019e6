"""Tests of the last record of a worksheet with filled-down columns."""

from collections.abc import Sequence

import pytest

from gateway.table.records import BLANK_ONLY, EndRule, last_record

AUTOMATIC, BY_TASK = EndRule(), EndRule(column=0)
Rows = Sequence[Sequence[object]]

HEAD: Rows = [["task", "done"], ["Paint", True]]
FILLED: Rows = [*HEAD, ["", False], ["", False]]
CASES: dict[str, tuple[EndRule, Rows, int]] = {
    "a filled-down checkbox is no record": (AUTOMATIC, FILLED, 2),
    "FALSE as a text is a record": (AUTOMATIC, [*FILLED, ["", "FALSE"]], 5),
    "a text FALSE beside booleans, too": (AUTOMATIC, [*FILLED, ["FALSE", False]], 5),
    "TRUE is a record": (AUTOMATIC, [*FILLED, ["", True], ["", False]], 5),
    "a zero is a record": (AUTOMATIC, [*FILLED, [0, False]], 5),
    "blank rows in the middle are": (AUTOMATIC, [*FILLED, ["Clean", False], ["", False]], 5),
    "formulas that display nothing are blank": (AUTOMATIC, [*FILLED, ["", ""], ["", ""]], 2),
    "several checkboxes": (AUTOMATIC, [["a", "b", "c"], ["x"], [False, "", False]], 2),
    "only checkboxes": (AUTOMATIC, [["a", "b"], [True, False], [False, False]], 2),
    "no records": (AUTOMATIC, [["a", "b"], [False, False]], 1),
    "rows without a header": (AUTOMATIC, [[False, ""], ["", False]], 0),
    "nothing": (AUTOMATIC, [], 0),
    "without the automatic rule": (BLANK_ONLY, FILLED, 4),
    "a default in another column": (BY_TASK, [*HEAD, ["", "new"], ["", "new"]], 2),
    "the record field alone": (BY_TASK, [["task"], ["Paint"], [""]], 2),
    "a false record field is a record": (BY_TASK, [*HEAD, [False, ""], ["", False]], 3),
    "blank record fields in the middle": (BY_TASK, [*HEAD, ["", 1], ["Clean", ""], ["", 1]], 4),
    "a column that nothing fills": (EndRule(column=2), FILLED, 0),
}
WORDS = {True: "WAHR", False: "FALSCH"}


def columns_of(rows: Rows, *, is_typed: bool) -> list[list[object]]:
    """Return cells by column as Google answers, without trailing blank cells."""
    width = max(map(len, rows), default=0)
    columns: list[list[object]] = []
    for at in range(width):
        cells = [row[at] if at < len(row) else "" for row in rows]
        if not is_typed:
            cells = [WORDS[cell] if isinstance(cell, bool) else str(cell) for cell in cells]
        while cells and cells[-1] == "":
            cells.pop()
        columns.append(cells)
    return columns


@pytest.mark.parametrize(("rule", "rows", "last"), CASES.values(), ids=CASES)
def test_records_end_above_rows_that_are_filled_down(rule: EndRule, rows: Rows, last: int) -> None:
    """Texts with typed values give the last record. Texts alone give the last record, or None."""
    displayed, typed = columns_of(rows, is_typed=False), columns_of(rows, is_typed=True)

    assert last_record(rule, displayed, typed) == last
    assert last_record(rule, displayed) in (last, None)


@pytest.mark.parametrize(
    ("cells", "is_doubtful"),
    [
        (["", "FALSE"], True),
        (["FAUX", "FAUX"], True),
        (["EPÄTOSI", ""], True),
        (["TRUE", ""], True),
        (["", "ЛОЖЬ"], True),
        (["FALSE", "TRUE"], False),
        (["x", "FALSE"], False),
        (["False", "False"], False),
        (["Total", ""], False),
        (["A1", ""], False),
        (["ALL AMOUNTS WITHOUT TAX", ""], False),
        (["#N/A", ""], False),
        (["0", "0"], False),
        (["–", "–"], False),
    ],
    ids=str,
)
def test_only_words_of_booleans_need_the_typed_rendering(
    cells: Sequence[str], is_doubtful: bool
) -> None:
    """Typed values are needed if the last row shows only one word in capitals, because it can
    be a boolean.
    """
    columns = columns_of([["a", "b"], ["x", "y"], cells], is_typed=False)

    assert last_record(AUTOMATIC, columns) == (None if is_doubtful else 3)
    assert last_record(BLANK_ONLY, columns) == last_record(EndRule(), [["a", "x", "1"]]) == 3


def test_blank_cells_at_the_ends_of_columns_do_not_count() -> None:
    """Trailing blank cells of a column do not add records."""
    assert last_record(BLANK_ONLY, [["a", "x", "", None], ["b", "", "", ""], []]) == 2
    assert last_record(AUTOMATIC, [["a", "x", "", ""]], [["a", "x", 5, None]]) == 2
