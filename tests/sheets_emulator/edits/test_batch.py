"""Tests of `spreadsheets.batchUpdate` as a whole: atomicity, errors and protected cells."""

import pytest

from tests.sheets_emulator.bench import Bench, message
from tests.sheets_emulator.requests_of import Request, dimension, grid_range, properties_of

AREA = grid_range(0, 0, 2, 2)
PLACE = {"sheetId": 0, "rowIndex": 0, "columnIndex": 0}
WRITES: dict[str, Request] = {
    "updateCells": {"rows": [{"values": [{"note": "n"}]}], "fields": "note", "start": PLACE},
    "appendCells": {"rows": [{"values": [{"note": "n"}]}], "fields": "note"},
    "repeatCell": {"range": AREA, "cell": {}, "fields": "note"},
    "setDataValidation": {"range": AREA},
    "updateBorders": {"range": AREA, "top": {"style": "SOLID"}},
    "mergeCells": {"range": AREA},
    "unmergeCells": {"range": AREA},
    "findReplace": {"find": "x", "replacement": "y", "allSheets": True},
    "copyPaste": {"source": grid_range(3, 3, 4, 4), "destination": AREA},
    "cutPaste": {"source": AREA, "destination": {"sheetId": 0, "rowIndex": 3}},
    "sortRange": {"range": AREA, "sortSpecs": [{"dimensionIndex": 0}]},
    "deleteDuplicates": {"range": AREA},
    "insertRange": {"range": AREA, "shiftDimension": "ROWS"},
    "deleteRange": {"range": AREA, "shiftDimension": "ROWS"},
    "trimWhitespace": {"range": AREA},
    "textToColumns": {"source": grid_range(0, 0, 2, 1), "delimiterType": "COMMA"},
}
"""A valid request of each kind that writes cells, by kind."""

BAD_REQUESTS = [
    pytest.param(
        {"addSheet": {"properties": {"title": "data"}}},
        'addSheet: A sheet with the name "data" already exists. Please enter another name.',
        id="title taken",
    ),
    pytest.param(
        {"deleteSheet": {"sheetId": 0}},
        "deleteSheet: You can't remove all the sheets in a document.",
        id="last sheet",
    ),
    pytest.param({"deleteSheet": {"sheetId": 9}}, "deleteSheet: No sheet with id: 9", id="no id"),
    pytest.param(
        properties_of("hidden", sheetId=0, hidden=True),
        "updateSheetProperties: You can't hide all the sheets in a document.",
        id="hide all",
    ),
    pytest.param(
        properties_of("*", sheetId=0),
        "updateSheetProperties: The sheet name cannot be empty.",
        id="empty title",
    ),
    pytest.param(
        properties_of("", sheetId=0),
        "updateSheetProperties: At least one field must be listed in 'fields'. "
        "(Use '*' to indicate all fields.)",
        id="no mask",
    ),
    pytest.param(
        dimension("deleteDimension", "ROWS", 5, 6),
        "deleteDimension: Cannot delete a row that doesn't exist. Tried to delete row index 5 but "
        "there are only 5 rows.",
        id="no such row",
    ),
    pytest.param(
        dimension("deleteDimension", "COLUMNS", 0, 5),
        "deleteDimension: You can't delete all the columns on the sheet.",
        id="all columns",
    ),
    pytest.param(
        {"appendDimension": {"sheetId": 0, "dimension": "ROWS", "length": 2_000_000}},
        "appendDimension: This action would increase the number of cells in the workbook above "
        "the limit of 10000000 cells.",
        id="workbook full",
    ),
    pytest.param(
        {"addSheet": {"properties": {"gridProperties": {"rowCount": 400_000}}}},
        "addSheet: This action would increase the number of cells in the workbook above the limit "
        "of 10000000 cells.",
        id="worksheet too large",
    ),
    pytest.param(
        dimension("insertDimension", "COLUMNS", 0, 2_000_000),
        "insertDimension: This action would increase the number of cells in the workbook above the "
        "limit of 10000000 cells.",
        id="too many columns",
    ),
    pytest.param(
        {
            "updateCells": {
                "rows": [{}, {}],
                "fields": "userEnteredValue",
                "start": {"rowIndex": 4},
            }
        },
        "updateCells: Attempting to write row: 5, beyond the last requested row of: 4",
        id="past the grid",
    ),
]


@pytest.mark.parametrize(("bad", "complaint"), BAD_REQUESTS)
def test_an_invalid_request_undoes_the_whole_batch(
    bench: Bench, bad: Request, complaint: str
) -> None:
    """The error names the index and kind of the invalid request, and the batch changes nothing."""
    first = dimension("insertDimension", "ROWS", 0, 1)
    before = bench.client.get("/_emulator/spreadsheets/book").json(), bench.sheets()
    undo = dimension("deleteDimension", "ROWS", 0, 1)
    answer = bench.edit(first, undo, properties_of("title", title="Data"), bad)

    assert answer.status_code == 400
    assert message(answer) == f"Invalid requests[3].{complaint}"
    assert (bench.client.get("/_emulator/spreadsheets/book").json(), bench.sheets()) == before


def test_earlier_requests_of_a_refused_batch_are_undone(bench: Bench) -> None:
    """An error in the last request undoes an added worksheet, an inserted row and a new title."""
    before = bench.sheets()
    answer = bench.edit(
        {"addSheet": {}},
        dimension("insertDimension", "ROWS", 0, 1),
        properties_of("title", title="Other"),
        {"deleteSheet": {"sheetId": 9}},
    )

    assert answer.status_code == 400
    assert bench.sheets() == before


@pytest.mark.parametrize(
    ("request_", "named"),
    [
        ({"addChart": {}}, "addChart"),
        ({"addBanding": {}}, "addBanding"),
        ({"setBasicFilter": {"filter": {"sortSpecs": [{}]}}}, "sortSpecs"),
        ({"addProtectedRange": {"protectedRange": {"tableId": "x"}}}, "table"),
    ],
)
def test_an_unimplemented_request_gets_501(bench: Bench, request_: Request, named: str) -> None:
    """The error has the status UNIMPLEMENTED and names the request kind or field."""
    answer = bench.edit(request_)

    assert answer.status_code == 501
    assert answer.json()["error"]["status"] == "UNIMPLEMENTED"
    assert named in message(answer)


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ({}, "Must specify at least one request."),
        ({"requests": [{}]}, "Invalid requests[0]: No request set."),
        (
            {"requests": [{"addSheets": {}}]},
            "Invalid JSON payload received. Unknown name \"addSheets\" at 'requests[0]': "
            "Cannot find field.",
        ),
        (
            {"requests": [{"addSheet": "x"}]},
            "Invalid value at 'requests[0].add_sheet' "
            '(type.googleapis.com/google.apps.sheets.v4.AddSheetRequest), "x"',
        ),
        (
            {"requests": [{"deleteSheet": {"sheetId": "x"}}]},
            "Invalid value at 'requests[0].delete_sheet.sheet_id' (TYPE_INT32), \"x\"",
        ),
        (
            {"request": []},
            'Invalid JSON payload received. Unknown name "request": Cannot find field.',
        ),
    ],
)
def test_malformed_batch_gets_400(bench: Bench, body: Request, complaint: str) -> None:
    """An empty batch, an empty request, a wrong type and an unknown field are errors."""
    answer = bench.call("POST", "/v4/spreadsheets/book:batchUpdate", body)

    assert answer.status_code == 400
    assert message(answer) == complaint


def test_the_response_includes_the_spreadsheet_on_request(bench: Bench) -> None:
    """`includeSpreadsheetInResponse` returns the spreadsheet as it is after the batch."""
    body = {"requests": [{"addSheet": {}}], "includeSpreadsheetInResponse": True}
    answer = bench.call("POST", "/v4/spreadsheets/book:batchUpdate", body).json()

    assert len(answer["updatedSpreadsheet"]["sheets"]) == 2


@pytest.mark.parametrize("kind", WRITES)
def test_no_kind_of_request_writes_protected_cells(bench: Bench, kind: str) -> None:
    """A write to cells that the owner protected gets 400 and changes nothing."""
    bench.update("Data!A1", [["x"]])
    protection = {"range": grid_range(0, 0, 3, 5)}
    bench.owner_edits({"addProtectedRange": {"protectedRange": protection}})
    answer = bench.edit({kind: WRITES[kind]})

    assert answer.status_code == 400
    assert "protected cell" in message(answer)
    assert bench.grid("Data") == [["x"]]


@pytest.mark.parametrize("kind", WRITES)
def test_every_kind_of_request_writes_unprotected_cells(bench: Bench, kind: str) -> None:
    """Each kind of request that writes cells gets 200 if no cell is protected."""
    bench.update("Data!A1", [["x"]])

    assert bench.edit({kind: WRITES[kind]}).status_code == 200
