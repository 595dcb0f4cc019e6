"""Tests of the spreadsheet in the response of `batchUpdate`."""

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
def test_response_ranges_show_cells_after_the_updates(
    bench: Bench, text: str, fields: str, rows: object
) -> None:
    """Response ranges end at the grid's end. A field mask decides whether cells are returned."""
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
def test_without_a_mask_a_flag_requests_grid_data(
    bench: Bench, members: dict[str, Any], rows: object
) -> None:
    """`responseIncludeGridData` adds cells to the returned spreadsheet."""
    requests = [{"updateCells": cells(0, ["a"], ["b"])}]
    body = {"requests": requests, "includeSpreadsheetInResponse": True, **members}
    answer = bench.call("POST", "/v4/spreadsheets/book:batchUpdate", body).json()

    [sheet] = answer.get("updatedSpreadsheet", {}).get("sheets", [{}])
    assert shown(sheet) == rows


def test_a_response_range_past_the_grid_rejects_the_batch(bench: Bench) -> None:
    """The error names the range but no request, and no request is applied."""
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
    """Return the body of an `updateCells` request that writes rows of texts, from column A on."""
    return {
        "start": {"sheetId": 0, "rowIndex": row, "columnIndex": 0},
        "rows": [
            {"values": [{"userEnteredValue": {"stringValue": text}} for text in each]}
            for each in rows
        ],
        "fields": "userEnteredValue",
    }


def shown(sheet: dict[str, Any]) -> list[list[str]] | None:
    """Return the displayed cell texts by row, or None if the sheet has no grid data."""
    if "data" not in sheet:
        return None
    [data] = sheet["data"]
    return [[cell["formattedValue"] for cell in row.get("values", [])] for row in data["rowData"]]
