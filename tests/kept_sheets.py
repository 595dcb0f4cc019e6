"""Realistic worksheets for the seed of an emulator.

The worksheets have titles above the header, columns filled down to row 1000, notes and totals below
the data, dropdowns with a default, native tables, frozen and protected rows, and hidden columns.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Request = dict[str, Any]
Value = str | float | bool | None

FILLED_ROWS = 1000
CHECKBOX: Request = {"condition": {"type": "BOOLEAN"}, "strict": True}
DATE: Request = {"type": "DATE", "pattern": "d mmm yyyy"}
DOLLARS: Request = {"type": "CURRENCY", "pattern": '"$"#,##0.00'}


@dataclass(frozen=True, kw_only=True)
class KeptSheet:
    """Worksheet with its header row and displayed records.

    A row without a value in `record_field` is not a record. If `record_field` is None, a row of
    blanks and `FALSE` is not a record. `end_row` is the row number after the last record.
    """

    title: str
    sheet_id: int
    fields: Sequence[str]
    records: Sequence[Sequence[str]]
    header_row: int = 1
    record_field: str | None = None

    @property
    def end_row(self) -> int:
        return self.header_row + 1 + len(self.records)


TASKS = KeptSheet(
    title="Tasks",
    sheet_id=0,
    header_row=3,
    fields=("task", "owner", "due", "cost", "done", "label", "internal"),
    records=(
        ("Paint", "Ann", "5 Jan 2026", "$120.00", "TRUE", "Paint (Ann)", "x1"),
        ("Repair", "Bob", "6 Feb 2026", "$80.50", "FALSE", "Repair (Bob)", ""),
        ("Clean", "Ann", "7 Mar 2026", "$0.00", "FALSE", "Clean (Ann)", "x3"),
    ),
)
"""Worksheet with a title, a protected and frozen header in row 3, checkboxes and formulas
to row 1000, and a hidden column.
"""

ORDERS = KeptSheet(
    title="Orders",
    sheet_id=1,
    record_field="order",
    fields=("order", "status", "count", "price", "total"),
    records=(("A-1", "paid", "2", "$3.00", "$6.00"), ("A-2", "new", "1", "$4.50", "$4.50")),
)
"""Worksheet with a dropdown whose default is `new`, and a formula that displays `$0.00`,
to row 1000.
"""

GUESTS = KeptSheet(
    title="Guests",
    sheet_id=2,
    fields=("guest", "greeting"),
    records=(("Ada", "Dear Ada"), ("Bob", "Dear Bob")),
)
"""Worksheet with an array formula that fills its column to the end of the grid."""

BUDGET = KeptSheet(
    title="Budget",
    sheet_id=3,
    fields=("item", "amount"),
    records=(("Rent", "900"), ("Food", "400"), ("Other", "100")),
)
"""Worksheet with a total and a note below the data, after a blank row."""

STOCK = KeptSheet(
    title="Stock",
    sheet_id=4,
    header_row=3,
    fields=("item", "count", "checked", "kind"),
    records=(("Nail", "100", "TRUE", "part"), ("Hammer", "3", "FALSE", "tool")),
)
"""Worksheet with a native table and totals row, a title above and a note below."""

KEPT_SHEETS = (TASKS, ORDERS, GUESTS, BUDGET, STOCK)
TABLE_ID = "stock"


def write_kept_sheets(
    directory: Path, spreadsheet_id: str, *, filled_rows: int = FILLED_ROWS
) -> Path:
    """Write a seed directory with these worksheets in one spreadsheet.

    Columns are filled down to the row `filled_rows`. Reads compute the formulas of all these rows.
    """
    directory.mkdir(parents=True, exist_ok=True)
    body = {"requests": kept_sheet_requests(filled_rows)}
    (directory / f"{spreadsheet_id}.json").write_text(json.dumps(body), encoding="utf-8")
    return directory


def kept_sheet_requests(filled_rows: int = FILLED_ROWS) -> list[Request]:
    """Return the requests that create the worksheets in a new spreadsheet."""
    first = {"properties": {"sheetId": 0, "title": TASKS.title}, "fields": "title"}
    return [
        {"updateSheetProperties": first},
        *(
            {"addSheet": {"properties": {"sheetId": each.sheet_id, "title": each.title}}}
            for each in KEPT_SHEETS[1:]
        ),
        *_tasks(filled_rows),
        *_orders(filled_rows),
        *_guests(filled_rows),
        *_budget(),
        *_stock(),
    ]


def _tasks(filled_rows: int) -> list[Request]:
    sheet = TASKS.sheet_id
    top, end = TASKS.header_row, TASKS.end_row - 1
    label = '=IF(A4="","",A4&" ("&B4&")")'
    return [
        _cells(sheet, 0, [["Team tasks"], ["Add yours below the last one"], TASKS.fields]),
        _cells(
            sheet,
            top,
            [
                ["Paint", "Ann", 46027, 120, True, None, "x1"],
                ["Repair", "Bob", 46059, 80.5, False],
                ["Clean", "Ann", 46088, 0, False, None, "x3"],
            ],
        ),
        _repeated(sheet, end, filled_rows, 4, {"userEnteredValue": {"boolValue": False}}),
        _repeated(sheet, top, filled_rows, 4, {"dataValidation": CHECKBOX}),
        _repeated(sheet, top, filled_rows, 5, {"userEnteredValue": {"formulaValue": label}}),
        _repeated(sheet, top, end, 2, {"userEnteredFormat": {"numberFormat": DATE}}),
        _repeated(sheet, top, end, 3, {"userEnteredFormat": {"numberFormat": DOLLARS}}),
        {"mergeCells": {"range": _range(sheet, 0, 1, 0, 7), "mergeType": "MERGE_ALL"}},
        _frozen(sheet, top),
        {
            "addProtectedRange": {
                "protectedRange": {"range": {"sheetId": sheet, "endRowIndex": top}}
            }
        },
        _hidden_column(sheet, 6),
    ]


def _orders(filled_rows: int) -> list[Request]:
    sheet, end = ORDERS.sheet_id, ORDERS.end_row - 1
    values = [{"userEnteredValue": text} for text in ("new", "paid", "sent")]
    rule = {"condition": {"type": "ONE_OF_LIST", "values": values}, "showCustomUi": True}
    return [
        _cells(sheet, 0, [ORDERS.fields, ["A-1", "paid", 2, 3], ["A-2", "new", 1, 4.5]]),
        _repeated(sheet, end, filled_rows, 1, {"userEnteredValue": {"stringValue": "new"}}),
        _repeated(sheet, 1, filled_rows, 1, {"dataValidation": rule}),
        _repeated(sheet, 1, filled_rows, 4, {"userEnteredValue": {"formulaValue": "=C2*D2"}}),
        _repeated(sheet, 1, filled_rows, 3, {"userEnteredFormat": {"numberFormat": DOLLARS}}),
        _frozen(sheet, 1),
    ]


def _guests(filled_rows: int) -> list[Request]:
    sheet = {"sheetId": GUESTS.sheet_id, "gridProperties": {"rowCount": filled_rows}}
    formula = '=ARRAYFORMULA(IF(A2:A="","","Dear "&A2:A))'
    return [
        {"updateSheetProperties": {"properties": sheet, "fields": "gridProperties.rowCount"}},
        _cells(GUESTS.sheet_id, 0, [GUESTS.fields, ["Ada"], ["Bob"]]),
        _repeated(GUESTS.sheet_id, 1, 2, 1, {"userEnteredValue": {"formulaValue": formula}}),
    ]


def _budget() -> list[Request]:
    sheet = BUDGET.sheet_id
    return [
        _cells(sheet, 0, [BUDGET.fields, ["Rent", 900], ["Food", 400], ["Other", 100]]),
        _cells(sheet, 5, [["Total"], ["All amounts without tax"]]),
        _repeated(sheet, 5, 6, 1, {"userEnteredValue": {"formulaValue": "=SUM(B2:B4)"}}),
    ]


def _stock() -> list[Request]:
    sheet, top = STOCK.sheet_id, STOCK.header_row
    kinds = [{"userEnteredValue": text} for text in ("part", "tool")]
    columns = [
        {"columnIndex": 0, "columnName": "item", "columnType": "TEXT"},
        {"columnIndex": 1, "columnName": "count", "columnType": "DOUBLE"},
        {"columnIndex": 2, "columnName": "checked", "columnType": "BOOLEAN"},
        {
            "columnIndex": 3,
            "columnName": "kind",
            "columnType": "DROPDOWN",
            "dataValidationRule": {"condition": {"type": "ONE_OF_LIST", "values": kinds}},
        },
    ]
    table = {
        "tableId": TABLE_ID,
        "name": "Stock",
        "range": _range(sheet, top - 1, top + 3, 0, 4),
        "columnProperties": columns,
        "rowsProperties": {"footerColorStyle": {"themeColor": "ACCENT1"}},
    }
    return [
        _cells(sheet, 0, [["Stock list"]]),
        _cells(
            sheet,
            top - 1,
            [STOCK.fields, ["Nail", 100, True, "part"], ["Hammer", 3, False, "tool"], ["Total"]],
        ),
        _repeated(
            sheet, top + 2, top + 3, 1, {"userEnteredValue": {"formulaValue": "=SUM(B4:B5)"}}
        ),
        _repeated(sheet, top, top + 2, 2, {"dataValidation": CHECKBOX}),
        {"addTable": {"table": table}},
        _cells(sheet, 7, [["Counted every Friday"]]),
    ]


def _cells(sheet: int, row: int, rows: Sequence[Sequence[Value]]) -> Request:
    """Return an updateCells request from the first column on. None leaves a cell blank."""
    lines = [{"values": [_cell(value) for value in each]} for each in rows]
    start = {"sheetId": sheet, "rowIndex": row, "columnIndex": 0}
    return {"updateCells": {"start": start, "rows": lines, "fields": "userEnteredValue"}}


def _cell(value: Value) -> Request:
    if value is None:
        return {}
    kind = {bool: "boolValue", str: "stringValue"}.get(type(value), "numberValue")
    return {"userEnteredValue": {kind: value}}


def _repeated(sheet: int, top: int, bottom: int, column: int, cell: Request) -> Request:
    """Return a repeatCell request for a part of a column."""
    [field] = cell
    range_ = _range(sheet, top, bottom, column, column + 1)
    return {"repeatCell": {"range": range_, "cell": cell, "fields": field}}


def _range(sheet: int, top: int, bottom: int, left: int, right: int) -> Request:
    return {
        "sheetId": sheet,
        "startRowIndex": top,
        "endRowIndex": bottom,
        "startColumnIndex": left,
        "endColumnIndex": right,
    }


def _frozen(sheet: int, rows: int) -> Request:
    properties = {"sheetId": sheet, "gridProperties": {"frozenRowCount": rows}}
    fields = "gridProperties.frozenRowCount"
    return {"updateSheetProperties": {"properties": properties, "fields": fields}}


def _hidden_column(sheet: int, column: int) -> Request:
    lines = {
        "sheetId": sheet,
        "dimension": "COLUMNS",
        "startIndex": column,
        "endIndex": column + 1,
    }
    properties = {"hiddenByUser": True}
    request = {"range": lines, "properties": properties, "fields": "hiddenByUser"}
    return {"updateDimensionProperties": request}
