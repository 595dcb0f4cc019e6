"""The spreadsheet in the answer of a batchUpdate."""

from typing import Any

import pytest

from tests.sheets_emulator.bench import Bench, message
from tests.sheets_emulator.metadata_of import by, create, found


@pytest.mark.parametrize(
    ("text", "fields", "rows"),
    [
        ("'Data'!A3:ZZ", "", None),
        (
            "'Data'!A3:ZZ",
            "replies,updatedSpreadsheet(sheets(data(startRow,rowData)))",
            [["x"], ["y"]],
        ),
        ("'Data'!3:1000", "updatedSpreadsheet.sheets.data", [["x"], ["y"]]),
        ("'Data'!A4:C", "updatedSpreadsheet(sheets(properties(title),data))", [["y"]]),
        ("'Data'", "updatedSpreadsheet", [["a"], [], ["x"], ["y"]]),
        ("Data!A3", "replies", None),
        ("Data!A3", "*", [["x"]]),
    ],
)
def test_a_response_has_ranges_of_the_state_after_the_updates(
    bench: Bench, text: str, fields: str, rows: object
) -> None:
    """Open ends reach the end of the grid; with a mask, the mask alone asks for grid data."""
    bench.update("Data!A1", [["a"], [""], ["b"]])
    body = {
        "requests": [
            {"updateCells": cells(2, ["x"], ["y"])},
        ],
        "includeSpreadsheetInResponse": True,
        "responseRanges": [text],
    }
    path = "/v4/spreadsheets/book:batchUpdate"
    answer = bench.call("POST", path, body, **({"fields": fields} if fields else {})).json()

    [sheet] = answer.get("updatedSpreadsheet", {}).get("sheets", [{}])
    assert shown(sheet) == rows


@pytest.mark.parametrize(
    ("members", "rows"),
    [
        ({"responseIncludeGridData": True}, [["a"], ["b"]]),
        ({"responseIncludeGridData": True, "responseRanges": ["A2:B9"]}, [["b"]]),
        ({"responseRanges": ["A2:B9"]}, None),
        ({"includeSpreadsheetInResponse": False, "responseRanges": ["Data!A9"]}, None),
    ],
    ids=["all", "range", "range without data", "no spreadsheet"],
)
def test_without_a_mask_a_flag_asks_for_grid_data(
    bench: Bench, members: dict[str, Any], rows: object
) -> None:
    """Ranges without a spreadsheet in the answer are ignored."""
    requests = [{"updateCells": cells(0, ["a"], ["b"])}]
    body = {"requests": requests, "includeSpreadsheetInResponse": True, **members}
    answer = bench.call("POST", "/v4/spreadsheets/book:batchUpdate", body).json()

    [sheet] = answer.get("updatedSpreadsheet", {}).get("sheets", [{}])
    assert shown(sheet) == rows


def test_a_response_range_past_the_grid_refuses_the_batch(bench: Bench) -> None:
    """The refusal names no request, and nothing is applied."""
    body = {
        "requests": [create(7)],
        "includeSpreadsheetInResponse": True,
        "responseRanges": ["Data!A6:C"],
    }
    answer = bench.call("POST", "/v4/spreadsheets/book:batchUpdate", body)

    assert answer.status_code == 400
    assert message(answer).startswith("Range (Data!A6:C) exceeds grid limits.")
    assert found(bench, by()) == []


def cells(row: int, *rows: list[str]) -> dict[str, Any]:
    """The members of an updateCells of texts."""
    return {
        "start": {"sheetId": 0, "rowIndex": row, "columnIndex": 0},
        "rows": [
            {"values": [{"userEnteredValue": {"stringValue": text}} for text in each]}
            for each in rows
        ],
        "fields": "userEnteredValue",
    }


def shown(sheet: dict[str, Any]) -> list[list[str]] | None:
    """The displayed cells of a Sheet's grid data; None without data."""
    if "data" not in sheet:
        return None
    [data] = sheet["data"]
    return [[cell["formattedValue"] for cell in row.get("values", [])] for row in data["rowData"]]
