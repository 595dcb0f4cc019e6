"""Tests of JSON types of columns, from cells, formats, data validation and native tables."""

from collections.abc import Sequence

import pytest

from gateway.table.column_types import (
    MAX_OPTIONS,
    UNKNOWN,
    CellForm,
    ColumnType,
    NumberFormat,
    SeenCell,
    column_type,
)

BLANK = SeenCell()
DAY = SeenCell(CellForm(NumberFormat("DATE")), 46_027, "2026-01-05")
PRICE = SeenCell(CellForm(NumberFormat("CURRENCY")), 5, "$5.00")
CHECKED = SeenCell(CellForm(rule="BOOLEAN"), True, "TRUE")


def shown(value: object, text: str) -> SeenCell:
    """Return a cell without a number format and without data validation."""
    return SeenCell(value=value, text=text)


def chosen(*options: str, value: object = None, rule: str = "ONE_OF_LIST") -> SeenCell:
    """Return a cell with a dropdown of `options`."""
    return SeenCell(CellForm(rule=rule, options=options), value, str(value or ""))


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([], UNKNOWN),
        ([BLANK, shown("", "")], UNKNOWN),
        ([shown("#N/A", "#N/A")], UNKNOWN),
        ([shown(5, "5")], ColumnType(names=("number",), source="cells")),
        ([shown("a", "a")], ColumnType(names=("text",), source="cells")),
        ([shown(False, "FALSE")], ColumnType(names=("boolean",), source="cells")),
        ([shown(46_027, "2026-01-05")], ColumnType(names=("date",), source="cells")),
        ([shown(0.5, "12:00:00")], ColumnType(names=("time",), source="cells")),
        (
            [shown(46_027, "2026-01-05"), shown(46_027.5, "2026-01-05 12:00:00")],
            ColumnType(names=("date-time",), source="cells"),
        ),
        ([shown(5, "5"), shown("a", "a")], ColumnType(names=("number", "text"), source="cells")),
        ([DAY, BLANK], ColumnType(names=("date",), source="format")),
        ([SeenCell(DAY.form), BLANK], ColumnType(names=("date",), source="format")),
        ([PRICE, shown("none", "none")], ColumnType(names=("number",), source="format")),
        ([CHECKED, BLANK], ColumnType(names=("boolean",), source="validation")),
        (
            [SeenCell(CellForm(rule="DATE_IS_VALID"))],
            ColumnType(names=("date",), source="validation"),
        ),
        (
            [chosen("1", "2.5", "TRUE", value=1)],
            ColumnType(names=("number", "boolean"), source="validation", options=(1, 2.5, True)),
        ),
        (
            [chosen("1", "2", value="1")],
            ColumnType(names=("text",), source="validation", options=("1", "2")),
        ),
        (
            [chosen("yes", "no", value="yes", rule="BOOLEAN")],
            ColumnType(names=("text",), source="validation", options=("yes", "no")),
        ),
        (
            [chosen(*map(str, range(MAX_OPTIONS + 1)))],
            ColumnType(names=("number",), source="validation"),
        ),
        (
            [SeenCell(value=6, text="6", is_computed=True), BLANK],
            ColumnType(names=("number",), source="cells", is_computed=True),
        ),
    ],
)
def test_the_type_of_a_column(cells: Sequence[SeenCell], expected: ColumnType) -> None:
    """Data validation has priority over number formats, and number formats over values."""
    assert column_type(cells) == expected


@pytest.mark.parametrize(
    ("declared", "options", "expected"),
    [
        ("DOUBLE", (), ColumnType(names=("number",), source="table")),
        ("DATE_TIME", (), ColumnType(names=("date-time",), source="table")),
        ("PEOPLE_CHIP", (), ColumnType(names=("text",), source="table")),
        (
            "DROPDOWN",
            ("a", "a", "b"),
            ColumnType(names=("text",), source="table", options=("a", "b")),
        ),
        ("DROPDOWN", (), ColumnType(names=("number",), source="cells")),
        ("", (), ColumnType(names=("number",), source="cells")),
    ],
)
def test_a_native_table_declares_types(
    declared: str, options: Sequence[str], expected: ColumnType
) -> None:
    """The column type of a native table has priority over the cells."""
    assert column_type([shown(5, "5")], declared, options) == expected


def test_a_column_of_several_types_is_typed_as_text() -> None:
    """A column with several types, or without a type, has the type name `text`."""
    assert [UNKNOWN.name, ColumnType(names=("date", "text")).name] == ["text", "text"]
    assert ColumnType(names=("date",)).name == "date"
