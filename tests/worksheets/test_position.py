"""Row numbers of created rows that were certainly written."""

from collections.abc import Sequence

import pytest

from gateway.google.sheets import Value
from gateway.table.record import Stored
from gateway.table.steps import finish
from gateway.worksheets.applied import at_the_end, holds, located

A, B = [["a"]], [["b", None, 1]]


@pytest.mark.parametrize(
    ("lines", "creates", "first"),
    [
        pytest.param([["x"], ["a"]], [A], 1, id="last"),
        pytest.param([["x"], ["a"], [], [None, ""]], [A], 1, id="blank-lines-below"),
        pytest.param([["a"], ["b", "", 1], ["a"]], [A, B, A], 0, id="a-group"),
        pytest.param([["a"], ["a"]], [A], 1, id="an-equal-row-above"),
        pytest.param([["a"], ["", "=formula"]], [A], 0, id="an-array-formula-below"),
        pytest.param([["a"], ["a", 0], ["", 0]], [A], 1, id="array-formula-and-an-equal-row"),
        pytest.param([["a", "", 7], ["b", "f", 1.0]], [A, B], 0, id="formulas-beside"),
        pytest.param([["a"], ["x"]], [A], None, id="not-last"),
        pytest.param([["x"]], [A], None, id="nowhere"),
        pytest.param([], [A], None, id="nothing"),
    ],
)
def test_rows_in_the_answer_of_their_write(
    lines: Sequence[Sequence[Value]],
    creates: Sequence[Sequence[Sequence[Stored]]],
    first: int | None,
) -> None:
    """The created rows are the last rows with a value in their columns, or not found."""
    assert finish(at_the_end(lines, creates)) == first


@pytest.mark.parametrize(
    ("lines", "creates", "below", "first", "retry_first"),
    [
        pytest.param([["x"], ["a"], ["y"]], [A], 0, 1, 1, id="rows-appended-since"),
        pytest.param([["x"], ["a"], ["a"]], [A], 0, 2, None, id="an-equal-row"),
        pytest.param([["a"], ["y"], ["a"]], [A], 0, 2, None, id="an-equal-row-above"),
        pytest.param([["x"], ["y"], ["a"]], [A], 0, 2, 2, id="a-row-inserted-above"),
        pytest.param([["a"]], [A], 0, 0, 0, id="a-row-deleted-above"),
        pytest.param([["a"], ["b"], ["c"]], [A], 2, 0, 0, id="others-of-its-batch-below"),
        pytest.param([["x"], ["y"], ["a"], ["z"]], [A], 0, None, None, id="elsewhere"),
        pytest.param([["a"], ["x"]], [A], 0, None, None, id="above"),
        pytest.param([["x"], ["b", "", 1], ["y"], ["a"]], [A, B], 0, None, None),
    ],
)
def test_rows_seen_later(
    lines: Sequence[Sequence[Value]],
    creates: Sequence[Sequence[Sequence[Stored]]],
    below: int,
    first: int | None,
    retry_first: int | None,
) -> None:
    """The rows count at their expected row or at the end; equal rows elsewhere prove nothing."""
    found, found_by_retry = (
        finish(located(lines, creates, expected=1, below=below, is_retry=is_retry))
        for is_retry in (False, True)
    )

    assert found == first
    assert found_by_retry == retry_first


@pytest.mark.parametrize(
    ("lines", "first"),
    [
        pytest.param([["x"], ["a"], ["y"]], 1, id="only-one"),
        pytest.param([["a"], ["a"], ["y"]], None, id="two"),
        pytest.param([["a"], ["x"], ["a"]], None, id="two-and-one-last"),
        pytest.param([["x"], ["y"], ["a"]], 2, id="last"),
    ],
)
def test_rows_of_a_write_that_did_not_know_the_end(
    lines: Sequence[Sequence[Value]], first: int | None
) -> None:
    """Without a known end, the rows count if no other rows have their cells."""
    assert finish(located(lines, [A], expected=-1, below=0, is_retry=True)) == first


@pytest.mark.parametrize(
    ("cell", "written", "is_same"),
    [
        ("1", 1, False),
        (1, True, False),
        (True, True, True),
        (1.0, 1, True),
        (0.1 + 0.2, 0.3, True),
        (None, "", True),
        ("x", "", False),
        ("anything", None, True),
        (None, "a", False),
    ],
)
def test_cells_are_compared_with_their_types(cell: Value, written: Stored, is_same: bool) -> None:
    """Cells are compared with their types; a cell that was not written can have any value."""
    assert holds([cell], [written]) is is_same
