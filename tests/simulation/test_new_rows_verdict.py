"""The check of new rows above other rows: each kind of row has its own place."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.simulation.story import (
    NEW_ROW,
    ONE,
    THREE,
    TWO,
    Cells,
    Story,
    begun,
    created,
    kinds_of,
)

Request = Mapping[str, Any]
IN_TABLE: Request = {"appendCells": {"tableId": "table"}}


def insertion(row: int) -> Request:
    lines = {"sheetId": 0, "dimension": "ROWS", "startIndex": row - 1, "endIndex": row}
    return {"insertDimension": {"range": lines}}


def added(request: Request, *rows: Cells, table_rows: int) -> Story:
    """Return a story: two table rows above a third row, and a batch with this request at 5 s."""
    story = Story().add(0.0, ONE, TWO, THREE, table_rows=2)
    return story.add(5.0, *rows, fence=1, table_rows=table_rows, adding=[request])


@pytest.mark.parametrize(
    ("story", "at_row", "kinds"),
    [
        pytest.param(
            added(IN_TABLE, ONE, TWO, NEW_ROW, THREE, table_rows=3),
            4,
            set(),
            id="at the end of a table, above another row",
        ),
        pytest.param(
            added(IN_TABLE, ONE, TWO, THREE, NEW_ROW, table_rows=2),
            5,
            {"misplaced"},
            id="below a table",
        ),
        pytest.param(
            added(insertion(4), ONE, TWO, NEW_ROW, THREE, table_rows=3),
            4,
            {"misplaced", "overwritten"},
            id="inserted above a record, without what is filled down",
        ),
    ],
)
def test_new_rows_above_other_rows(story: Story, at_row: int, kinds: set[str]) -> None:
    """New rows go to the end of a native table, else directly below all records."""
    assert kinds_of(story, created(at_row)) == kinds


@pytest.mark.parametrize(
    ("blank_rows", "is_told", "kinds"),
    [(2, False, {"misplaced"}), (2, True, set()), (3, False, set()), (3, True, set())],
)
def test_a_record_added_below_the_new_row(blank_rows: int, is_told: bool, kinds: set[str]) -> None:
    """Error 4094 is expected only if the answer showed the record that people added below.

    The worksheet has no filled-down column, so the check also reports `overwritten`.
    """
    below = (*[("",) * 6] * blank_rows, THREE)
    story = begun(ONE, TWO).add(4.95, ONE, TWO, *below)
    story.add(5.0, ONE, TWO, NEW_ROW, *below, fence=1, adding=[insertion(4)])
    told = created(outcome="applied", code=4094) if is_told else created(4)

    assert kinds_of(story, told) == {"overwritten", *kinds}
