"""Native tables in requests and answers.

Rules:
- The first row of a table is the header. The last row is a footer if the table has a footer colour.
- A column's name is the displayed text of the header cell, or `Column 1` and so on for a blank
  header cell.
"""

from collections.abc import Mapping, Sequence
from typing import cast

from sheets_emulator.formulas.display import displayed
from sheets_emulator.formulas.evaluate import Results
from sheets_emulator.grid.a1 import Span
from sheets_emulator.grid.box import Box
from sheets_emulator.grid.marks import NativeTable, TableColumn
from sheets_emulator.grid.sheet import Sheet
from sheets_emulator.protocol.message import Message
from sheets_emulator.refusal import invalid
from sheets_emulator.reply import Json, Reply
from sheets_emulator.resources.grid_range import describe_span

DROPDOWN = "DROPDOWN"
KEPT = ("columnType", "dataValidationRule")


def read_columns(message: Message, box: Box) -> tuple[TableColumn, ...]:
    """Parse the `columnProperties` of a table with the cells `box`.

    Raises a 400 for a column outside the table, a repeated column or an invalid dropdown.
    """
    columns: dict[int, TableColumn] = {}
    for each in message.messages("columnProperties"):
        index = each.integer("columnIndex")
        if not 0 <= index < box.width:
            raise invalid(f"columnIndex[{index}] is outside of the table, of {box.width} columns.")
        if index in columns:
            raise invalid(f"columnIndex[{index}] is given twice.")
        _require_rule(each)
        place = box.left + index
        columns[index] = TableColumn(
            span=Span(left=place, right=place + 1),
            settings={name: each.fields[name] for name in KEPT if each.has(name)},
        )
    return tuple(columns.values())


def column_names(message: Message) -> Mapping[int, str]:
    """Return the names in `columnProperties` by column index within the table."""
    return {
        each.integer("columnIndex"): each.text("columnName")
        for each in message.messages("columnProperties")
        if each.text("columnName")
    }


def describe_tables(sheet: Sheet, boxes: Sequence[Box], results: Results) -> Reply:
    """Return `{"tables": [...]}` of a Sheet resource, or {} if there are no tables.

    If `boxes` are given, only tables that overlap one of the boxes are included.
    """
    tables = [
        describe_table(sheet, table, results)
        for table in sheet.tables
        if not boxes or any(map(table.box.overlaps, boxes))
    ]
    return {"tables": tables} if tables else {}


def describe_table(sheet: Sheet, table: NativeTable, results: Results) -> Reply:
    """Return the Table resource.

    A column index of zero is left out, as Google does in other answers.
    """
    settings = {column.span.left: column.settings for column in table.columns}
    box = table.box
    columns: Sequence[Json] = [
        {
            **({"columnIndex": index} if index else {}),
            "columnName": displayed(results.of(sheet, box.top, column)) or default_name(index),
            **settings.get(column, {}),
        }
        for index, column in enumerate(range(box.left, box.right))
    ]
    return {
        "tableId": table.table_id,
        "name": table.name,
        "range": describe_span(sheet.sheet_id, table.span),
        **({"rowsProperties": table.rows} if table.rows else {}),
        "columnProperties": columns,
    }


def default_name(index: int) -> str:
    """Return the name of a column with a blank header. `index` counts from 0."""
    return f"Column {index + 1}"


def _require_rule(column: Message) -> None:
    """Raise a 400 if a dropdown lacks a list of values, or another column has a validation rule."""
    rule = column.message("dataValidationRule")
    is_dropdown = column.text("columnType") == DROPDOWN
    if is_dropdown and rule.message("condition").text("type") != "ONE_OF_LIST":
        raise invalid("A DROPDOWN column requires a dataValidationRule with ONE_OF_LIST.")
    if rule.fields and not is_dropdown:
        kind = cast(str, column.fields.get("columnType", "of no type"))
        raise invalid(f"A column {kind} cannot have a dataValidationRule.")
