"""batchUpdate: native tables, and cells appended to a table.

Rules:
- Tables do not overlap. Names of tables are unique in the spreadsheet, ignoring case.
- Cells are appended under the last row of the body with data. If there are not enough blank rows,
  rows are inserted at the end of the body, above the footer. The new rows inherit the formats and
  rules of the last row (assumed). Cells below the table move down (assumed).
- If several requests of a batch append to one table, they write to the same rows (reported by
  users).
- Column types have no effect on cells.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count

from sheets_emulator.edits.block import change_all, put
from sheets_emulator.edits.dimensions import insert_rows
from sheets_emulator.edits.inheritance import inherit
from sheets_emulator.formulas.display import displayed
from sheets_emulator.formulas.evaluate import Results
from sheets_emulator.grid.a1 import Span
from sheets_emulator.grid.box import Box, sized
from sheets_emulator.grid.cell import BLANK
from sheets_emulator.grid.marks import FOOTER, NativeTable
from sheets_emulator.grid.sheet import Sheet
from sheets_emulator.grid.workbook import Workbook
from sheets_emulator.protocol.fields import update_paths
from sheets_emulator.protocol.message import Message
from sheets_emulator.refusal import invalid
from sheets_emulator.reply import Json, Reply
from sheets_emulator.resources.grid_range import Editing, Lines, read_area, require_fields
from sheets_emulator.resources.places import require_unprotected
from sheets_emulator.resources.table_data import (
    column_names,
    default_name,
    describe_table,
    read_columns,
)


def add_table(editing: Editing, message: Message) -> Reply:
    """addTable: add a native table, and write the requested column names into its header.

    A missing ID or name is generated.
    """
    wanted = message.message("table")
    sheet, box = _read_range(editing, wanted)
    table = NativeTable(
        table_id=_new_id(editing.workbook, wanted.text("tableId")),
        name=_new_name(editing.workbook, wanted.text("name")),
        span=_span(box),
        columns=read_columns(wanted, box),
        rows=wanted.message("rowsProperties").fields,
    )
    _require_body(table)
    sheet.tables.append(table)
    _write_header(editing.workbook, sheet, table, wanted)
    described = describe_table(sheet, table, Results(editing.workbook))
    return {"addTable": {"table": described}}


def update_table(editing: Editing, message: Message) -> Reply:
    """updateTable: set the fields of the mask.

    An added or removed footer changes the range by a row, unless the mask has the range.
    """
    wanted = message.message("table")
    sheet, old = _require_table(editing.workbook, wanted.text("tableId"))
    paths = update_paths(require_fields(message), "Table")
    names = {path.partition(".")[0] for path in paths}
    sheet.tables.remove(old)
    new = old
    if "name" in names:
        new = replace(new, name=_free_name(editing.workbook, wanted.text("name")))
    if "rowsProperties" in names:
        new = _with_rows(new, wanted, paths, is_resizing="range" not in names)
    if "range" in names:
        new = _resized(editing, sheet, new, wanted)
    if "columnProperties" in names:
        new = replace(new, columns=read_columns(wanted, new.box))
    _require_body(new)
    if not sheet.grid.contains(new.box):
        raise invalid("The table must lie within the grid.")
    _require_apart(sheet, new.box)
    require_unprotected(sheet, new.box, editing.account)
    sheet.tables.append(new)
    if "columnProperties" in names:
        _write_header(editing.workbook, sheet, new, wanted)
    return {}


def delete_table(editing: Editing, message: Message) -> Reply:
    """deleteTable: delete a native table and its cells (Google's guide)."""
    sheet, table = _require_table(editing.workbook, message.text("tableId"))
    require_unprotected(sheet, table.box, editing.account)
    sheet.tables.remove(table)
    change_all(sheet, table.box, lambda _: BLANK)
    return {}


def copied_tables(source: Sheet, workbook: Workbook) -> list[NativeTable]:
    """Return the tables for a copy of a worksheet in a workbook, with new IDs and names."""
    taken = [*_names(workbook)]
    copies = []
    for table in source.tables:
        name = _unused_name(taken)
        taken.append(name)
        copies.append(replace(table, table_id=str(workbook.new_id()), name=name))
    return copies


def make_room_in_table(
    editing: Editing, table_id: str, *, height: int, width: int
) -> tuple[Sheet, Box]:
    """Return the cells for rows that are appended to a table, and extend the table if needed."""
    sheet, table = _require_table(editing.workbook, table_id)
    if width > table.box.width:
        raise invalid(f"Cannot append {width} columns to a table of {table.box.width} columns.")
    body = table.body
    top = editing.first_free_rows.setdefault(table_id, sheet.data_end(body))
    missing = top + height - body.bottom
    box = sized(top=top, left=body.left, height=height, width=width)
    existing = replace(box, bottom=min(box.bottom, body.bottom))
    require_unprotected(sheet, existing, editing.account)
    if missing > 0:
        new = Lines(sheet=sheet, is_rows=True, start=body.bottom, end=body.bottom + missing)
        require_unprotected(sheet, new.box(new.start, new.start), editing.account)
        editing.workbook.require_room(missing * sheet.column_count)
        insert_rows(editing.workbook, sheet, new.start, new.count)
        inherit(new, new.start - 1)
        if not table.has_footer:  # a table with a footer grew with the insertion
            grown = replace(table.span, bottom=table.box.bottom + missing)
            sheet.tables[sheet.tables.index(table)] = replace(table, span=grown)
    return sheet, box


def _require_table(workbook: Workbook, table_id: str) -> tuple[Sheet, NativeTable]:
    for sheet in workbook.sheets:
        for table in sheet.tables:
            if table.table_id == table_id:
                return sheet, table
    raise invalid(f"No table with id: {table_id}")


def _read_range(editing: Editing, wanted: Message) -> tuple[Sheet, Box]:
    """Return the worksheet and cells of a new table.

    Raises a 400 if the account cannot write the cells.
    """
    if not wanted.has("range"):
        raise invalid("Must specify a range for a table.")
    area = read_area(editing.workbook, wanted.message("range"))
    _require_apart(area.sheet, area.box)
    require_unprotected(area.sheet, area.box, editing.account)
    return area.sheet, area.box


def _resized(editing: Editing, sheet: Sheet, table: NativeTable, wanted: Message) -> NativeTable:
    """Return the table with the requested range. Columns outside the range lose their settings."""
    area = read_area(editing.workbook, wanted.message("range"))
    if area.sheet is not sheet:
        raise invalid("A table cannot be moved to another sheet.")
    columns = tuple(
        each for each in table.columns if area.box.left <= each.span.left < area.box.right
    )
    return replace(table, span=_span(area.box), columns=columns)


def _with_rows(
    table: NativeTable, wanted: Message, paths: list[str], *, is_resizing: bool
) -> NativeTable:
    """Return the table with the row properties of the mask.

    With `is_resizing`, a new footer adds a row to the table, and a removed footer removes a row.
    """
    given = wanted.message("rowsProperties").fields
    masked = {path.split(".")[1] for path in paths if path.startswith("rowsProperties.")}
    rows: Json = {
        **{name: each for name, each in table.rows.items() if name not in masked},
        **{name: each for name, each in given.items() if name in masked},
    }
    more = (FOOTER in rows) - table.has_footer if is_resizing else 0
    span = replace(table.span, bottom=table.box.bottom + more)
    return replace(table, rows=rows, span=span)


def _span(box: Box) -> Span:
    return Span(top=box.top, left=box.left, bottom=box.bottom, right=box.right)


def _require_body(table: NativeTable) -> None:
    if table.body.height < 1:
        raise invalid("A table must have a header and at least one more row.")


def _require_apart(sheet: Sheet, box: Box) -> None:
    for table in sheet.tables:
        if table.box.overlaps(box):
            raise invalid(f"The range overlaps the table {table.name}.")


def _new_id(workbook: Workbook, table_id: str) -> str:
    taken = {table.table_id for sheet in workbook.sheets for table in sheet.tables}
    if table_id in taken:
        raise invalid(f"Cannot add table with ID: {table_id}, a table with that ID already exists.")
    return table_id or str(workbook.new_id())


def _new_name(workbook: Workbook, name: str) -> str:
    if name:
        return _free_name(workbook, name)
    return _unused_name([*_names(workbook)])


def _unused_name(taken: Sequence[str]) -> str:
    """Return the first unused name among `Table1`, `Table2` and so on."""
    folded = {each.casefold() for each in taken}
    return next(name for name in map("Table{}".format, count(1)) if name.casefold() not in folded)


def _free_name(workbook: Workbook, name: str) -> str:
    if not name:
        raise invalid("The table name cannot be empty.")
    if name.casefold() in {each.casefold() for each in _names(workbook)}:
        raise invalid(f"A table with the name {name} already exists.")
    return name


def _names(workbook: Workbook) -> Iterator[str]:
    for sheet in workbook.sheets:
        for table in sheet.tables:
            yield table.name


def _write_header(workbook: Workbook, sheet: Sheet, table: NativeTable, wanted: Message) -> None:
    """Write the requested column names into the header, and default names into its blank cells."""
    names, box, results = column_names(wanted), table.box, Results(workbook)
    for index, column in enumerate(range(box.left, box.right)):
        is_named = bool(displayed(results.of(sheet, box.top, column)))
        name = names.get(index) or ("" if is_named else default_name(index))
        if name:
            cell = sheet.cell(box.top, column)
            put(sheet, box.top, column, [replace(cell, value=name, formula=None)])
