"""The verdict on new rows above other rows: each kind has its own place."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.simulation.story import NEW_ROW, ONE, THREE, TWO, Cells, Story, created, kinds_of

Request = Mapping[str, Any]
IN_TABLE: Request = {"appendCells": {"tableId": "table"}}


def insertion(row: int) -> Request:
    lines = {"sheetId": 0, "dimension": "ROWS", "startIndex": row - 1, "endIndex": row}
    return {"insertDimension": {"range": lines}}


def added(request: Request, *rows: Cells, table_rows: int) -> Story:
    """A table of two rows with the third one below it, and at 5 s a batch with a request."""
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
def test_new_rows_above_others(story: Story, at_row: int, kinds: set[str]) -> None:
    """Native tables get rows at their end; other rows are inserted directly below all records."""
    assert kinds_of(story, created(at_row)) == kinds
