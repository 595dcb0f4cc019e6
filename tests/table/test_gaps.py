"""Gaps: columns and numbers without removed rows, and what is shared with the rows before."""

from collections.abc import Sequence

import pytest

from gateway.table.gaps import GappedColumn, Gaps
from gateway.table.patch import Column
from gateway.table.steps import BLOCK, Metered, finish
from gateway.table.table import make_table
from tests.query.sheet import evaluate
from tests.table.test_patch import BY_POPULATION, DISPLAYED, TYPED, whole

CELLS = ("name", "a", "b", "", "d", "e")


@pytest.mark.parametrize(
    ("gaps", "left"),
    [
        ([2], ["name", "a", "", "d", "e"]),
        ([1, 2, 4], ["name", "", "e"]),
        ([5], ["name", "a", "b", "", "d"]),
        ([4, 5], ["name", "a", "b"]),
        ([1, 2, 4, 5], ["name"]),
        ([9], [*CELLS]),
    ],
    ids=str,
)
def test_a_column_is_read_as_if_it_had_no_other_cells(gaps: list[int], left: list[str]) -> None:
    """By index, slice, iteration and comparison; blank cells at the end are left out."""
    column = GappedColumn(CELLS, Gaps(gaps))

    assert [*column] == left
    assert [column[at] for at in range(len(column))] == left
    assert [column[at] for at in range(-len(column), 0)] == left
    assert all(
        [*column[start:stop]] == left[start:stop]
        for start in range(-7, 8)
        for stop in [None, *range(-7, 8)]
    )
    assert column[::2] == tuple(left[::2])
    assert column == left
    assert (*left,) == column
    assert column != [*left, "x"]
    assert column != [*left[:-1], "x"]
    with pytest.raises(IndexError):
        column[len(left)]


@pytest.mark.parametrize("last", [BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK])
@pytest.mark.parametrize(("blank", "filled"), [("", "x"), (None, 0), ("", False)], ids=str)
def test_a_column_ends_with_its_last_filled_cell(blank: object, filled: object, last: int) -> None:
    """However far above the removed ones it is."""
    cells = ("name", filled, *[blank] * (last - 2), "last")

    assert len(GappedColumn(cells, Gaps([last]))) == 2
    assert len(GappedColumn(cells, Gaps([1, last]))) == 1


def test_numbers_without_gaps() -> None:
    """Numbers are found by their rank among those that are left, and the other way round."""
    gaps = Gaps([2, 3, 7])
    left = [number for number in range(12) if number not in gaps.members]

    assert [gaps.nth(index) for index in range(len(left))] == left
    assert [number - gaps.before(number) for number in left] == [*range(len(left))]
    assert [*gaps.cut(range(20), 1, 9)] == [1, 4, 5, 6, 8]
    assert [*gaps.joined([5, 1]).numbers] == [1, 2, 3, 5, 7]
    assert [*gaps.extended(5, 9).numbers] == [2, 3, 5, 6, 7, 8]
    assert gaps.extended(7, 8) is gaps


@pytest.mark.parametrize("count", [1, 40], ids=["few", "many"])
def test_gaps_are_found_in_ascending_numbers(count: int) -> None:
    """Within a slice, whether they are few or many."""
    gaps, numbers = Gaps(range(30, 30 + 2 * count, 2)), [*range(0, 300, 3)]

    for start, stop in ((0, 100), (11, 12), (15, 60), (50, 50)):
        found = finish(gaps.found_in(numbers, start, stop))
        assert [*found] == [at for at in range(start, stop) if numbers[at] in gaps.members]


@pytest.mark.parametrize(
    ("rows", "displayed", "last_row"),
    [
        ([3], [("name", "Boston", "Denver"), ("population", "675,647", "715,522")], 3),
        ([2, 4], [("name", "Austin"), ("population", "961,855")], 2),
        ([2, 3, 4], [("name",), ("population",)], 1),
        ([4, 9], [("name", "Boston", "Austin"), ("population", "675,647", "961,855")], 3),
    ],
    ids=str,
)
def test_rows_are_removed_from_both_renderings(
    rows: Sequence[int], displayed: Sequence[Column], last_row: int
) -> None:
    """Rows below move up; the table before stays as it is. A row that is not there is none."""
    table = whole()

    after = table.without_rows(rows)

    assert [list(column) for column in after.displayed[:2]] == [list(each) for each in displayed]
    numbers = [int(text.replace(",", "")) for text in map(str, displayed[1][1:])]
    assert [*(after.typed or ())[1]] == ["population", *numbers]
    assert (after.last_row, after.header) == (last_row, table.header)
    assert table == whole()
    assert table.without_rows([9]) is table


def test_neither_cells_nor_indexes_are_made_again() -> None:
    """They are as those of the table before, so that a removal takes no time."""
    table = whole()
    index = table.index(1)
    evaluate(table, BY_POPULATION)

    after = table.without_rows([3])

    assert after.index(1) is index
    assert [column.cells for column in after.displayed if isinstance(column, GappedColumn)] == [
        *DISPLAYED
    ]
    assert evaluate(after, BY_POPULATION).rows == [3, 2]
    assert evaluate(table, BY_POPULATION).rows == [3, 4, 2]


def test_columns_that_end_above_are_shared() -> None:
    """A column without a cell in the removed rows needs no gaps."""
    table = whole()

    after = table.without_rows([4])

    assert after.displayed[2] is table.displayed[2]
    assert (after.typed or ())[2] is (table.typed or ())[2]


def test_the_next_order_takes_few_steps() -> None:
    """Removed rows are found in the order by bisection, not by walking it."""
    cells = ("n", *(f"{(7 * row) % 10_007}" for row in range(10_007)))
    table = finish(make_table([cells]).with_typed([cells]))
    table = finish(table.with_typed([("n", *map(int, cells[1:]))]))
    finish(table.index(0).order())

    after = table.without_rows([*range(100, 9_000, 900)]).without_rows([50, 60])
    order = finish(after.index(0).order())
    found = Metered(order.find(after.gaps))
    assert found.advance(float("inf"))

    assert len(found.result) == 12
    assert found.steps < 3_000
    assert [*after.gaps.positions[order.ranked].numbers] == [*found.result]


def test_typed_rendering_of_a_shortened_table() -> None:
    """Types that are read later belong to the rows left."""
    shortened = make_table(DISPLAYED).without_rows([3])

    both = finish(shortened.with_typed([TYPED[0][:2], TYPED[1][:2]]))

    assert not both.gaps
    assert [*both.displayed[0]] == ["name", "Boston", "Denver"]
