"""Comparison of cells with values written as they are and typed in."""

import pytest

from gateway.table.cell_match import CellMatch, as_entered, as_stored, cell_match, holds_no_more
from gateway.table.record import Stored

OTHER, OPEN, SAME = CellMatch

# The cell as it is read, what was written, and how they compare when it was typed in.
TYPED = [
    ("Oslo", "Oslo", SAME),
    ("Oslo ", "Oslo", OPEN),
    ("Bergen", "Oslo", OTHER),
    (None, "Oslo", OTHER),
    (7, "Oslo", OPEN),
    (True, "WAHR", OPEN),
    (5, "5", SAME),
    (42, "0042", SAME),
    (5.5, "5.50", SAME),
    (-5, "-5", SAME),
    ("5", "5", SAME),
    (7, "5", OTHER),
    (0.05, "5", OPEN),
    (43831, "1.5", OPEN),
    (43831, "2020-01-01", SAME),
    (43831.5, "2020-01-01 12:00", SAME),
    (0.5, "50%", OPEN),
    (True, "true", SAME),
    (False, "TRUE", OPEN),
    ("=1", "'=1", SAME),
    ("'=1", "'=1", SAME),
    ("2", "'=1", OTHER),
    (1, "'1", OTHER),
    ("1", "'1", SAME),
    (2, "=1+1", OPEN),
    (None, "=A9", OPEN),
    ("text", "+A1", OPEN),
    (5, 5, SAME),
    (5.0, 5, SAME),
    (0.05, 5, OPEN),
    (7, 5, OTHER),
    ("5", 5, OPEN),
    ("Oslo", 5, OTHER),
    (None, 5, OTHER),
    (1, True, OTHER),
    (True, True, SAME),
    ("TRUE", True, OPEN),
    (False, True, OTHER),
    (None, "", SAME),
    ("x", "", OTHER),
    ("anything", None, SAME),
]

STORED = [
    ("5", "5", SAME),
    (5, "5", OTHER),
    ("=1", "'=1", OTHER),
    (5.0, 5, SAME),
    (0.1 + 0.2, 0.3, SAME),
    (True, 1, OTHER),
    (None, "", SAME),
    (None, None, SAME),
    ("x", None, SAME),
]


@pytest.mark.parametrize(("cell", "written", "expected"), TYPED)
def test_of_a_typed_value(cell: Stored, written: Stored, expected: CellMatch) -> None:
    """Values that mean the same in every language are compared; others are open."""
    assert as_entered(cell, written) is expected


@pytest.mark.parametrize(("cell", "written", "expected"), STORED)
def test_of_a_stored_value(cell: Stored, written: Stored, expected: CellMatch) -> None:
    """A value that was stored as it is is there or is not."""
    assert as_stored(cell, written) is expected


@pytest.mark.parametrize(
    ("cells", "written", "expected"),
    [
        pytest.param(["Oslo", 5], ["Oslo", "5"], SAME, id="all"),
        pytest.param(["Oslo", 0.5, 1], ["Oslo", "50%", 1], OPEN, id="one open"),
        pytest.param(["Oslo", 0.5, 2], ["Oslo", "50%", 1], OTHER, id="one other"),
        pytest.param(["Oslo"], ["Oslo", "5"], OTHER, id="too short"),
        pytest.param(["Oslo", 9], ["Oslo", None], SAME, id="not written"),
        pytest.param(["Oslo", 9], ["Oslo"], SAME, id="longer"),
    ],
)
def test_the_least_of_a_row_counts(
    cells: list[Stored], written: list[Stored], expected: CellMatch
) -> None:
    """A row is what was written if each written cell is."""
    assert cell_match(cells, written, as_entered) is expected


@pytest.mark.parametrize(
    ("cells", "written", "expected"),
    [
        (["a", ""], ["a", None], True),
        (["a", "b"], ["a", None], False),
        (["a", "b"], ["a"], False),
        (["a"], ["a", None, None], True),
    ],
)
def test_whether_a_row_holds_more(
    cells: list[Stored], written: list[Stored], expected: bool
) -> None:
    """Cells that were not written are blank, or they hold more."""
    assert holds_no_more(cells, written) is expected
