"""Tests that a table after random writes answers queries like a table that is read again."""

from collections.abc import Mapping, Sequence
from random import Random

import msgspec
import pytest

from gateway.table.header import parse_header
from gateway.table.steps import finish
from gateway.table.table import RowPatch, Table
from tests.query.cases import (
    COLUMNS,
    FIELDS,
    make_case,
    make_renderings,
    make_rows,
    without_end,
)
from tests.query.sheet import BLANK, SheetCell, evaluate

Row = Mapping[str, SheetCell]


def remove(table: Table, rows: Sequence[Row], random: Random) -> tuple[Table, Sequence[Row]]:
    numbers = [*range(2, table.last_row + 1)]
    share = random.choice((0.05, 0.3, 0.9))
    gone = [row for row in numbers if random.random() < share]
    if numbers and random.random() < 0.5:
        gone = sorted({*gone, random.choice((2, numbers[-1], random.choice(numbers)))})
    left = [row for number, row in enumerate(rows, 2) if number not in gone]
    return finish(table.without_rows(gone)), left


def write(table: Table, rows: Sequence[Row], random: Random) -> tuple[Table, Sequence[Row]]:
    """Change cells of rows, empty rows, or append rows."""
    after = [*rows, *({}, {}, {})]
    patches = []
    numbers = random.sample(range(2, len(after) + 2), random.randint(1, min(4, len(after))))
    for number in numbers:
        fields = random.sample(FIELDS, random.randint(1, len(FIELDS)))
        is_emptied = random.random() < 0.3
        cells = {field: BLANK if is_emptied else random.choice(COLUMNS)(random) for field in fields}
        after[number - 2] = {**after[number - 2], **cells}
        texts = {FIELDS.index(field): cell.text for field, cell in cells.items()}
        values = {FIELDS.index(field): cell.value for field, cell in cells.items()}
        patches.append(RowPatch(row=number, texts=texts, values=values))
    return finish(table.patched(patches)), [
        {**dict.fromkeys(FIELDS, BLANK), **row} for row in after
    ]


def check(table: Table, rows: Sequence[Row], random: Random) -> None:
    assert table.last_row == len(rows) + 1
    assert table.header == parse_header(FIELDS)
    expected = [[row[field].text for field in FIELDS] for row in rows]
    numbers = range(2, table.last_row + 1)
    width = range(len(FIELDS))
    assert [[table.text(row, column) for column in width] for row in numbers] == expected
    typed = table.typed or ()
    for row, cells in zip(numbers, rows, strict=True):
        for column, cell in enumerate(cells.values()):
            shown = typed[column][row - 1] if row <= len(typed[column]) else None
            assert (shown or None) == (cell.value or None) or shown == cell.value
    names = table.header.whole.names
    records = [msgspec.to_builtins(row) for row in table.row_objects(numbers, names, "")]
    assert records == [
        {"rowIndex": row} | dict(zip(FIELDS, texts, strict=True))
        for row, texts in zip(numbers, expected, strict=True)
    ]
    for _ in range(3):
        case = make_case(rows, random)
        page = evaluate(table, case.query)
        wanted = case.expected()
        assert ([*page.rows], page.has_next, page.total) == (
            [*wanted.rows],
            wanted.has_next,
            wanted.total,
        ), case.described(page)


@pytest.mark.parametrize("seed", range(150))
def test_any_series_of_writes_equals_a_table_read_again(seed: int) -> None:
    """After random writes and deletes, rows, types and pages equal those of a new table."""
    random = Random(seed)  # noqa: S311
    rows = without_end(make_rows(random))
    table = make_renderings(rows, random)
    check(table, rows, random)
    for _ in range(8):
        before, rows_before = table, rows
        table, after = random.choice((remove, remove, write))(table, rows, random)
        rows = without_end(after)
        if any(cell.value not in ("", None) for row in after[len(rows) :] for cell in row.values()):
            table = make_renderings(rows, random)  # cells below the end have values but no text
        check(table, rows, random)
        check(before, rows_before, random)


@pytest.mark.parametrize("seed", range(20))
def test_typed_values_read_after_a_removal_fit(seed: int) -> None:
    """Typed values that are read after a delete match a table whose rows were deleted before."""
    random = Random(seed)  # noqa: S311
    cells = without_end(make_rows(random))
    table, rows = remove(make_renderings(cells, random), cells, random)
    rows = without_end(rows)
    fresh = make_renderings(rows, random)

    both = finish(table.with_typed(fresh.typed or ()))

    check(both, rows, random)
