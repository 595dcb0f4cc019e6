"""Where created rows are that were certainly written."""

from collections.abc import Sequence

import pytest

from gateway.google.sheets import Value
from gateway.table.record import Stored
from gateway.table.steps import finish
from gateway.worksheets.position import at_the_end, holds, searched

A, B = [["a"]], [["b", None, 1]]


@pytest.mark.parametrize(
    ("lines", "creates", "firsts"),
    [
        pytest.param([["x"], ["a"]], [A], [1], id="last"),
        pytest.param([["x"], ["a"], [], [None, ""]], [A], [1], id="blank-lines-below"),
        pytest.param([["a"], ["b", "", 1], ["a"]], [A, B, A], [0, 1, 2], id="a-group"),
        pytest.param([["a"], ["a"]], [A], [1], id="an-equal-row-above"),
        pytest.param([["a"], ["", "=formula"]], [A], [0], id="an-array-formula-below"),
        pytest.param([["a"], ["a", 0], ["", 0]], [A], [1], id="array-formula-and-an-equal-row"),
        pytest.param([["a", "", 7], ["b", "f", 1.0]], [A, B], [0, 1], id="formulas-beside"),
        pytest.param([["a"], ["a"], ["x"]], [A], [None], id="two-and-neither-last"),
        pytest.param([["x"]], [A], [None], id="nowhere"),
        pytest.param([], [A], [None], id="nothing"),
    ],
)
def test_rows_in_the_answer_of_their_write(
    lines: Sequence[Sequence[Value]],
    creates: Sequence[Sequence[Sequence[Stored]]],
    firsts: list[int | None],
) -> None:
    """They are the last rows with a value, or else the only ones that are equal."""
    assert list(finish(at_the_end(lines, creates))) == firsts


@pytest.mark.parametrize(
    ("lines", "creates", "firsts"),
    [
        pytest.param([["x"], ["a"], ["y"]], [A], [1], id="only-one"),
        pytest.param([["a"], ["a"]], [A], [None], id="two"),
        pytest.param([["b", "", 1], ["x"], ["a"]], [A, B], [2, 0], id="moved-apart"),
        pytest.param([["a"], ["b", "", 1], ["a"]], [A, B], [0, 1], id="only-one-block"),
    ],
)
def test_rows_seen_later(
    lines: Sequence[Sequence[Value]],
    creates: Sequence[Sequence[Sequence[Stored]]],
    firsts: list[int | None],
) -> None:
    """A position is told only if there is one; of equal rows none is guessed."""
    assert list(finish(searched(lines, creates))) == firsts


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
    """A cell that was not written may hold anything."""
    assert holds([cell], [written]) is is_same
