"""Tests that a table after a write equals a table that was read after the write.

A rendering is all displayed texts, or all typed values.
"""

from collections.abc import Mapping, Sequence
from random import Random

import pytest

from gateway.query.query import Query, SortTerm, parse_where
from gateway.table.steps import finish
from gateway.table.table import (
    Column,
    RowPatch,
    Table,
    columns_without,
    make_table,
    patched_columns,
)
from tests.query.sheet import evaluate

DISPLAYED: tuple[Column, ...] = (
    ("name", "Boston", "Austin", "Denver"),
    ("population", "675,647", "961,855", "715,522"),
    ("state", "MA", "TX"),
)
TYPED: tuple[Column, ...] = (
    ("name", "Boston", "Austin", "Denver"),
    ("population", 675_647, 961_855, 715_522),
    ("state", "MA", "TX"),
)
BY_POPULATION = Query(order=(SortTerm("population", descending=True),))


def whole() -> Table:
    return finish(make_table(DISPLAYED).with_typed(TYPED))


def patch(row: int, cells: Mapping[int, tuple[str, object]]) -> RowPatch:
    return RowPatch(
        row=row,
        texts={column: text for column, (text, _) in cells.items()},
        values={column: value for column, (_, value) in cells.items()},
    )


@pytest.mark.parametrize(
    ("patches", "displayed", "typed", "last_row"),
    [
        pytest.param(
            [patch(3, {1: ("1,000,000", 1_000_000)})],
            [DISPLAYED[0], ("population", "675,647", "1,000,000", "715,522"), DISPLAYED[2]],
            [TYPED[0], ("population", 675_647, 1_000_000, 715_522), TYPED[2]],
            4,
            id="a cell",
        ),
        pytest.param(
            [patch(5, {0: ("Miami", "Miami"), 2: ("FL", "FL")})],
            [(*DISPLAYED[0], "Miami"), DISPLAYED[1], ("state", "MA", "TX", "", "FL")],
            [(*TYPED[0], "Miami"), TYPED[1], ("state", "MA", "TX", "", "FL")],
            5,
            id="a new row",
        ),
        pytest.param(
            [patch(7, {2: ("FL", "FL")}), patch(6, {2: ("NY", "NY")})],
            [*DISPLAYED[:2], ("state", "MA", "TX", "", "", "NY", "FL")],
            [*TYPED[:2], ("state", "MA", "TX", "", "", "NY", "FL")],
            7,
            id="rows below a gap",
        ),
        pytest.param(
            [patch(4, {0: ("", ""), 1: ("", None)})],
            [DISPLAYED[0][:3], DISPLAYED[1][:3], DISPLAYED[2]],
            [TYPED[0][:3], TYPED[1][:3], TYPED[2]],
            3,
            id="the last row emptied",
        ),
        pytest.param(
            [patch(3, {4: ("note", "note")})],
            [*DISPLAYED, (), ("", "", "note")],
            [*TYPED, (), ("", "", "note")],
            4,
            id="a column beside the header",
        ),
        pytest.param(
            [patch(9, {0: ("", ""), 5: ("", None)})],
            DISPLAYED,
            TYPED,
            4,
            id="nothing below the end",
        ),
        pytest.param([], DISPLAYED, TYPED, 4, id="no rows"),
    ],
)
def test_both_renderings_change(
    patches: Sequence[RowPatch],
    displayed: Sequence[Column],
    typed: Sequence[Column],
    last_row: int,
) -> None:
    """Displayed texts, typed values and last row equal those of a new read."""
    table = whole()

    after = finish(table.patched(patches))

    assert [list(column) for column in after.displayed] == [list(column) for column in displayed]
    assert [list(column) for column in after.typed or ()] == [list(column) for column in typed]
    assert after.last_row == last_row
    assert after.header is table.header
    assert table == whole()


def test_the_typed_rendering_can_be_missing() -> None:
    """A patch of a table without typed values changes only displayed texts."""
    after = finish(make_table(DISPLAYED).patched([patch(2, {0: ("Salem", "Salem")})]))

    assert after.typed is None
    assert after.text(2, 0) == "Salem"


def test_a_patch_keeps_indexes_of_other_columns() -> None:
    """A patch drops only the indexes of the columns that it changes."""
    table = whole()
    columns = [table.header.columns[name] for name in ("name", "population", "state")]
    kept = {column: table.index(column) for column in columns}

    after = finish(table.patched([patch(3, {2: ("AZ", "AZ")})]))

    assert [after.index(column) is kept[column] for column in kept] == [True, True, False]
    assert after.displayed[0] is table.displayed[0]


@pytest.mark.parametrize("row", [4, 5], ids=["fewer", "more"])
def test_a_change_in_the_number_of_rows_discards_all_indexes(row: int) -> None:
    """A patch that changes the number of rows drops all indexes of the table."""
    table = whole()
    evaluate(table, BY_POPULATION)
    cells: dict[int, tuple[str, object]] = (
        {0: ("", ""), 1: ("", "")} if row == 4 else {0: ("x", "x")}
    )

    after = finish(table.patched([patch(row, cells)]))

    assert not after.indexes
    assert evaluate(after, BY_POPULATION).rows == ([3, 2] if row == 4 else [3, 4, 2, 5])


def test_queries_see_the_write() -> None:
    """A query after a write uses the new values. The old table gives its old results."""
    table = whole()
    before = evaluate(table, BY_POPULATION)
    old = Query(where=parse_where({"population": {"$lt": 700_000}}))
    evaluate(table, old)

    after = finish(table.patched([patch(2, {1: ("2,000,000", 2_000_000)})]))

    assert evaluate(after, BY_POPULATION).rows == [2, 3, 4]
    assert evaluate(after, old).rows == []
    assert evaluate(table, BY_POPULATION) == before


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
    """Rows below a removed row move up. The original table does not change. Unknown rows are
    ignored.
    """
    table = whole()

    after = finish(table.without_rows(rows))

    assert [list(column) for column in after.displayed[:2]] == [list(each) for each in displayed]
    numbers = [int(text.replace(",", "")) for text in map(str, displayed[1][1:])]
    assert [*(after.typed or ())[1]] == ["population", *numbers]
    assert (after.last_row, after.header) == (last_row, table.header)
    assert table == whole()
    assert finish(table.without_rows([9])) is table


def test_columns_that_end_above_removed_rows_are_shared() -> None:
    """A column that ends above the removed rows is not copied. Texts and values still share one
    object.
    """
    table = whole()

    after = finish(table.without_rows([4]))

    assert after.displayed[2] is table.displayed[2]
    assert (after.typed or ())[2] is (table.typed or ())[2]
    assert (after.typed or ())[0] is after.displayed[0]


def test_indexes_are_rebuilt_after_a_removal() -> None:
    """Sorting after a removal uses the remaining rows. The original table keeps its order."""
    table = whole()
    evaluate(table, BY_POPULATION)

    after = finish(table.without_rows([3]))

    assert not after.indexes
    assert evaluate(after, BY_POPULATION).rows == [3, 2]
    assert evaluate(table, BY_POPULATION).rows == [3, 4, 2]


def test_typed_rendering_of_a_shortened_table() -> None:
    """Typed values that are added after a removal belong to the remaining rows."""
    shortened = finish(make_table(DISPLAYED).without_rows([3]))

    both = finish(shortened.with_typed([TYPED[0][:2], TYPED[1][:2]]))

    assert [*both.displayed[0]] == ["name", "Boston", "Denver"]


def test_any_series_of_writes_gives_the_table_of_its_cells() -> None:
    """After each of 300 random writes and removals, the table equals a new table of the same
    cells.
    """
    random = Random(7)  # noqa: S311
    table = finish(make_table([["a"], ["b"], ["c"]]).with_typed([["a"], ["b"], ["c"]]))
    cells: dict[tuple[int, int], str] = {}
    for _ in range(300):
        row = random.randint(2, 9)
        texts = {column: random.choice(("", "", "x", "5")) for column in random.sample(range(4), 2)}
        if random.random() < 0.3:
            removed = sorted(random.sample(range(2, 10), random.randint(1, 3)))
            table = finish(table.without_rows(removed))
            cells = {
                (at - sum(each < at for each in removed), column): text
                for (at, column), text in cells.items()
                if at not in removed
            }
        else:
            table = finish(table.patched([RowPatch(row=row, texts=texts, values=texts)]))
            cells |= {(row, column): text for column, text in texts.items()}

        shown = {at: text for at, text in cells.items() if text}
        assert table.last_row == max((row for row, _ in shown), default=1)
        assert [[table.text(row, column) for column in range(4)] for row in range(2, 10)] == [
            [cells.get((row, column), "") for column in range(4)] for row in range(2, 10)
        ]
        assert [*evaluate(table, Query(where=parse_where({"a": "x"}), limit=99)).rows] == [
            row for row in range(2, 10) if cells.get((row, 0)) == "x"
        ]


def test_the_copies_of_columns_are_counted() -> None:
    """Patching yields one step for each copied cell, in one block for each column."""
    column: Column = ("n", *["x"] * 9_999)

    steps = [*patched_columns([column] * 5, [(2, dict.fromkeys(range(3), "new"))])]

    assert sum(steps) >= 3 * len(column)
    assert max(steps) <= len(column)


def test_the_copies_without_rows_are_counted() -> None:
    """Removing rows yields one step for each copied cell, in one block for each column."""
    columns: list[Column] = [("n", *[str(at)] * 9_999) for at in range(3)]

    steps = [*columns_without(columns, [3, 7])]

    assert sum(steps) >= sum(map(len, columns))
    assert max(steps) <= 10_000
