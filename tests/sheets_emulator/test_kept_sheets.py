"""A seed with realistic worksheets, and rows that are added to them."""

from collections.abc import Iterator
from typing import Any

import pytest

from sheets_emulator.app import EmulatorOptions
from tests.discovery import all_problems
from tests.kept_sheets import (
    BUDGET,
    GUESTS,
    KEPT_SHEETS,
    ORDERS,
    STOCK,
    TABLE_ID,
    TASKS,
    KeptSheet,
    write_kept_sheets,
)
from tests.sheets_emulator.bench import Bench, build_bench, message
from tests.sheets_emulator.requests_of import Request


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """An emulator with the worksheets in the spreadsheet `book`, shared by all tests."""
    folder = tmp_path_factory.mktemp("kept")
    seed = write_kept_sheets(folder / "seed", "book")
    built = build_bench(folder, EmulatorOptions(seed=seed))
    with built.client:
        yield built


@pytest.fixture
def bench(served: Bench) -> Iterator[Bench]:
    """The emulator after a reset to the seed."""
    served.client.post("/_emulator/reset")
    yield served

    assert all_problems(served.recorder.take()) == []


def rows(bench: Bench, sheet: KeptSheet, first: int, last: int) -> list[list[Any]]:
    """The displayed cells of some rows, counted from 1."""
    return bench.grid(f"{sheet.title}!{first}:{last}")


def padded(records: Any, width: int) -> list[list[str]]:
    """The records, filled with "" up to this width."""
    return [[*each, *[""] * (width - len(each))] for each in records]


@pytest.mark.parametrize("sheet", KEPT_SHEETS, ids=lambda each: each.title)
def test_worksheet_displays_its_header_and_records(bench: Bench, sheet: KeptSheet) -> None:
    """The header is in the expected row, and the records are below the header."""
    found = rows(bench, sheet, sheet.header_row, sheet.end_row - 1)
    width = len(sheet.fields)

    assert padded(found, width) == [[*sheet.fields], *padded(sheet.records, width)]


@pytest.mark.parametrize(
    ("sheet", "tail"),
    [
        pytest.param(TASKS, ["", "", "", "", "FALSE", ""], id="checkboxes and blank formulas"),
        pytest.param(ORDERS, ["", "new", "", "", "$0.00"], id="defaults and zeros"),
        pytest.param(GUESTS, ["", ""], id="array formula"),
    ],
)
def test_columns_are_filled_down_to_row_1000(
    bench: Bench, sheet: KeptSheet, tail: list[str]
) -> None:
    """All rows below the last record, to row 1000, display the same checkboxes and defaults."""
    found = rows(bench, sheet, sheet.end_row, 1000)

    assert found == [tail] * (1001 - sheet.end_row)


def test_a_reset_restores_the_worksheets(bench: Bench) -> None:
    """A reset also restores worksheets that a `.json` file of the seed edits."""
    bench.call("POST", "/v4/spreadsheets/book/values/Tasks:clear")
    bench.client.post("/_emulator/reset")

    assert rows(bench, TASKS, 4, 4) == [[*TASKS.records[0]]]


def test_the_header_is_protected_and_frozen(bench: Bench) -> None:
    """Rows can only be inserted below the protected, frozen header. One column is hidden."""
    header = bench.update("Tasks!A3", [["x"]])
    above = bench.edit(inserted(TASKS, 2, 1))
    below = bench.edit(inserted(TASKS, 3, 1))
    [sheet, *_] = bench.described(fields="sheets(properties,data.columnMetadata)")["sheets"]

    assert "protected cell" in message(header)
    assert [above.status_code, below.status_code] == [400, 200]
    assert sheet["properties"]["gridProperties"]["frozenRowCount"] == 3
    assert sheet["data"][0]["columnMetadata"][6]["hiddenByUser"] is True


def inserted(sheet: KeptSheet, start: int, count: int) -> Request:
    """A request that inserts rows before `start`, counted from 0. Formats are of the row above."""
    lines = {"sheetId": sheet.sheet_id, "dimension": "ROWS"}
    lines |= {"startIndex": start, "endIndex": start + count}
    return {"insertDimension": {"range": lines, "inheritFromBefore": True}}


def cell_range(sheet: KeptSheet, top: int, bottom: int, left: int, right: int) -> Request:
    return {
        "sheetId": sheet.sheet_id,
        "startRowIndex": top,
        "endRowIndex": bottom,
        "startColumnIndex": left,
        "endColumnIndex": right,
    }


def test_rows_are_inserted_with_formats_rules_and_copied_formulas(bench: Bench) -> None:
    """Two rows inserted after the last record get the formats, checkboxes and formulas."""
    start = TASKS.end_row - 1
    number = {"userEnteredValue": {"numberValue": 46120}}
    text = {"userEnteredValue": {"stringValue": "Move"}}
    copied = {
        "source": cell_range(TASKS, start + 2, start + 3, 5, 6),
        "destination": cell_range(TASKS, start, start + 2, 5, 6),
        "pasteType": "PASTE_FORMULA",
    }
    update = {
        "start": {"sheetId": 0, "rowIndex": start, "columnIndex": 0},
        "rows": [{"values": [text, text, number, number]}] * 2,
        "fields": "userEnteredValue",
    }
    answer = bench.edit(inserted(TASKS, start, 2), {"copyPaste": copied}, {"updateCells": update})
    new = ["Move", "Move", "8 Apr 2026", "$46,120.00", "FALSE", "Move (Move)"]

    assert answer.status_code == 200
    assert rows(bench, TASKS, 7, 9) == [new, new, ["", "", "", "", "FALSE", ""]]
    assert bench.grid("Tasks!F7:F9", valueRenderOption="FORMULA") == [
        [f'=IF(A{row}="","",A{row}&" ("&B{row}&")")'] for row in (7, 8, 9)
    ]
    assert bench.size() == (1002, 26)


def test_filled_down_formulas_use_entered_values(bench: Bench) -> None:
    """Formulas in filled-down rows use new values and pass on errors. Sorting keeps rows intact."""
    bench.update("Tasks!A7", [["Move", "Ann"]])
    bench.update("Orders!A4", [["A-3", "new", "many", 2]])
    spec = {"dimensionIndex": 0, "sortOrder": "ASCENDING"}
    sort = {"range": cell_range(TASKS, 3, 1000, 0, 7), "sortSpecs": [spec]}
    bench.edit({"sortRange": sort})

    assert bench.grid("Orders!E4") == [["#VALUE!"]]
    assert bench.grid("Tasks!A4:F8") == [
        ["Clean", "Ann", "7 Mar 2026", "$0.00", "FALSE", "Clean (Ann)"],
        ["Move", "Ann", "", "", "FALSE", "Move (Ann)"],
        ["Paint", "Ann", "5 Jan 2026", "$120.00", "TRUE", "Paint (Ann)"],
        ["Repair", "Bob", "6 Feb 2026", "$80.50", "FALSE", "Repair (Bob)"],
        ["", "", "", "", "FALSE", ""],
    ]


@pytest.mark.parametrize(
    ("sheet", "row"),
    [
        pytest.param(TASKS, 1001, id="checkboxes"),
        pytest.param(ORDERS, 1001, id="defaults"),
        pytest.param(GUESTS, 1001, id="array formula"),
        pytest.param(BUDGET, 8, id="below the notes"),
        pytest.param(STOCK, 9, id="below the table"),
    ],
)
def test_cells_are_appended_below_all_other_cells(bench: Bench, sheet: KeptSheet, row: int) -> None:
    """appendCells without a `tableId` writes below filled-down rows, notes and totals."""
    line = {"values": [{"userEnteredValue": {"stringValue": "new"}}]}
    request = {"sheetId": sheet.sheet_id, "rows": [line], "fields": "userEnteredValue"}
    bench.edit({"appendCells": request})

    assert bench.grid(f"{sheet.title}!A{row}") == [["new"]]


def test_rows_are_appended_to_a_table_above_its_totals(bench: Bench) -> None:
    """appendCells with a `tableId` extends the table above its totals, and moves notes down."""
    line = {"values": [{"userEnteredValue": {"stringValue": "Saw"}}]}
    bench.edit({"appendCells": {"tableId": TABLE_ID, "rows": [line], "fields": "userEnteredValue"}})
    [*_, sheet] = bench.described(fields="sheets.tables.range")["sheets"]

    assert rows(bench, STOCK, 6, 9) == [
        ["Saw", "", "FALSE"],
        ["Total", "103"],
        [],
        ["Counted every Friday"],
    ]
    assert sheet["tables"][0]["range"]["endRowIndex"] == 7
