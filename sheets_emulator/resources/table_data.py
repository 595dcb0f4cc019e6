"""Native tables in requests and answers.

Rules: a table's first row is its header; with a footer colour its last row is its footer. Column
names are the displayed texts of the header, `Column 1` and so on where it is blank.
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
    """The `columnProperties` of a table with these cells. Raises a 400 if one is impossible."""
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
    """The given names of columns by index."""
    return {
        each.integer("columnIndex"): each.text("columnName")
        for each in message.messages("columnProperties")
        if each.text("columnName")
    }


def describe_tables(sheet: Sheet, boxes: Sequence[Box], results: Results) -> Reply:
    """The member `tables` of a Sheet, if it has any; with cells only those that the boxes touch."""
    tables = [
        describe_table(sheet, table, results)
        for table in sheet.tables
        if not boxes or any(map(table.box.overlaps, boxes))
    ]
    return {"tables": tables} if tables else {}


def describe_table(sheet: Sheet, table: NativeTable, results: Results) -> Reply:
    """A Table; as in other answers, a zero index is left out."""
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
    """The name of a column without one."""
    return f"Column {index + 1}"


def _require_rule(column: Message) -> None:
    """Raise unless a dropdown, and nothing else, has a list of values (Google's guide)."""
    rule = column.message("dataValidationRule")
    is_dropdown = column.text("columnType") == DROPDOWN
    if is_dropdown and rule.message("condition").text("type") != "ONE_OF_LIST":
        raise invalid("A DROPDOWN column requires a dataValidationRule with ONE_OF_LIST.")
    if rule.fields and not is_dropdown:
        kind = cast(str, column.fields.get("columnType", "of no type"))
        raise invalid(f"A column {kind} cannot have a dataValidationRule.")
