"""Tests of the emulator with an unmodified google-api-python-client."""

from typing import Any

import pytest
from googleapiclient.errors import HttpError

RAW, USER_ENTERED = "RAW", "USER_ENTERED"
MANY_KINDS: list[dict[str, Any]] = [
    {"addSheet": {"properties": {"sheetId": 99, "title": "Kinds"}}},
    {
        "updateCells": {
            "start": {"sheetId": 99},
            "rows": [
                {"values": [{"userEnteredValue": {"stringValue": "old"}}]},
                {"values": [{"userEnteredValue": {"numberValue": 2}}]},
            ],
            "fields": "userEnteredValue",
        }
    },
    {
        "findReplace": {
            "find": "old",
            "replacement": "new",
            "sheetId": 99,
            "matchEntireCell": True,
        }
    },
    {
        "repeatCell": {
            "range": {
                "sheetId": 99,
                "startRowIndex": 0,
                "endRowIndex": 2,
                "startColumnIndex": 1,
                "endColumnIndex": 2,
            },
            "cell": {"userEnteredValue": {"formulaValue": "=A1"}},
            "fields": "userEnteredValue",
        }
    },
    {
        "insertDimension": {
            "range": {"sheetId": 99, "dimension": "ROWS", "startIndex": 0, "endIndex": 1}
        }
    },
    {
        "appendCells": {
            "sheetId": 99,
            "rows": [{"values": [{"userEnteredValue": {"boolValue": True}}]}],
            "fields": "*",
        }
    },
    {
        "addNamedRange": {
            "namedRange": {
                "name": "numbers",
                "range": {"sheetId": 99, "startRowIndex": 2, "endRowIndex": 3},
            }
        }
    },
    {"duplicateSheet": {"sourceSheetId": 99, "newSheetName": "Kinds again"}},
]


@pytest.fixture(scope="module")
def book(sheets: Any) -> str:
    """Return the ID of a new spreadsheet with two worksheets."""
    body = {
        "properties": {"title": "By API"},
        "sheets": [
            {"properties": {"title": "Data", "gridProperties": {"rowCount": 20, "columnCount": 5}}},
            {"properties": {"title": "It's more"}},
        ],
    }
    made = sheets.create(body=body, fields="spreadsheetId").execute()
    assert list(made) == ["spreadsheetId"]
    found: str = made["spreadsheetId"]
    return found


@pytest.fixture
def values(sheets: Any, book: str) -> Any:
    """Return the `values` resource of the client after clearing both worksheets."""
    found = sheets.values()
    found.batchClear(spreadsheetId=book, body={"ranges": ["Data", "'It''s more'"]}).execute()
    return found


def test_every_method_for_values_works(values: Any, book: str) -> None:
    """The client writes, appends, reads and clears values in one range and in several."""
    updated = values.update(
        spreadsheetId=book,
        range="Data!A1",
        valueInputOption=USER_ENTERED,
        includeValuesInResponse=True,
        body={"values": [["a", "50%"], ["b", "=B1*2"]]},
    ).execute()
    appended = values.append(
        spreadsheetId=book,
        range="Data!A1:B2",
        valueInputOption=RAW,
        insertDataOption="INSERT_ROWS",
        body={"values": [["c", None, True]]},
    ).execute()
    batch = values.batchUpdate(
        spreadsheetId=book,
        body={
            "valueInputOption": RAW,
            "data": [
                {"range": "Data!E1", "values": [["e"]]},
                {"range": "'It''s more'!A1:A2", "majorDimension": "COLUMNS", "values": [[1, 2]]},
            ],
        },
    ).execute()
    read = values.get(
        spreadsheetId=book, range="Data", valueRenderOption="UNFORMATTED_VALUE"
    ).execute()
    both = values.batchGet(spreadsheetId=book, ranges=["Data!E:E", "'It''s more'!A1:A5"]).execute()
    cleared = values.clear(spreadsheetId=book, range="Data!E1", body={}).execute()
    after = values.get(spreadsheetId=book, range="Data!E1").execute()

    assert updated["updatedData"]["values"] == [["a", "50%"], ["b", "100%"]]
    assert appended["tableRange"] == "Data!A1:B2"
    assert appended["updates"]["updatedRange"] == "Data!A3:C3"
    assert appended["updates"]["updatedCells"] == 2
    assert (batch["totalUpdatedSheets"], batch["totalUpdatedCells"]) == (2, 3)
    assert read["values"] == [["a", 0.5, "", "", "e"], ["b", 1], ["c", "", True]]
    assert [each["range"] for each in both["valueRanges"]] == ["Data!E1:E21", "'It''s more'!A1:A5"]
    assert both["valueRanges"][1]["values"] == [["1"], ["2"]]
    assert cleared["clearedRange"] == "Data!E1"
    assert "values" not in after


def test_spreadsheet_is_read_with_a_mask(sheets: Any, values: Any, book: str) -> None:
    """`fields` limits the returned fields, and `ranges` limits the returned worksheets."""
    masked = sheets.get(spreadsheetId=book, fields="sheets.properties(title,index)").execute()
    chosen = sheets.get(
        spreadsheetId=book, ranges="Data!A1", fields="sheets.properties.title"
    ).execute()
    whole = sheets.get(spreadsheetId=book).execute()

    assert masked == {
        "sheets": [
            {"properties": {"title": "Data", "index": 0}},
            {"properties": {"title": "It's more", "index": 1}},
        ]
    }
    assert chosen == {"sheets": [{"properties": {"title": "Data"}}]}
    assert whole["properties"]["title"] == "By API"
    assert whole["spreadsheetUrl"].endswith(f"/{book}/edit")
    assert "data" not in whole["sheets"][0]


def test_grid_data_has_entered_and_displayed_values(sheets: Any, values: Any, book: str) -> None:
    """`includeGridData` returns the entered value, the result and the displayed text of a cell."""
    values.update(
        spreadsheetId=book,
        range="Data!A9",
        valueInputOption=USER_ENTERED,
        body={"values": [["x", "=1/4", "25%"]]},
    ).execute()
    answer = sheets.get(spreadsheetId=book, ranges="Data!A9:C9", includeGridData=True).execute()
    cells = answer["sheets"][0]["data"][0]["rowData"][0]["values"]

    assert [each["userEnteredValue"] for each in cells] == [
        {"stringValue": "x"},
        {"formulaValue": "=1/4"},
        {"numberValue": 0.25},
    ]
    assert [each["effectiveValue"] for each in cells[1:]] == [{"numberValue": 0.25}] * 2
    assert [each["formattedValue"] for each in cells] == ["x", "0.25", "25%"]


def test_requests_of_a_batch_run_in_order(sheets: Any, book: str) -> None:
    """Each request sees the effects of earlier requests and has a reply."""
    answer = sheets.batchUpdate(spreadsheetId=book, body={"requests": MANY_KINDS}).execute()
    replies = answer["replies"]
    read = sheets.values().batchGet(spreadsheetId=book, ranges=["Kinds", "'Kinds again'"]).execute()
    expected = [[], ["new", "new"], ["2", "2"], ["TRUE"]]

    assert replies[0]["addSheet"]["properties"]["title"] == "Kinds"
    assert replies[1] == replies[3] == replies[4] == replies[5] == {}
    assert replies[2]["findReplace"] == {
        "valuesChanged": 1,
        "rowsChanged": 1,
        "sheetsChanged": 1,
        "occurrencesChanged": 1,
    }
    assert replies[6]["addNamedRange"]["namedRange"]["name"] == "numbers"
    assert replies[7]["duplicateSheet"]["properties"]["title"] == "Kinds again"
    assert [each["values"] for each in read["valueRanges"]] == [expected, expected]


def test_worksheet_is_copied_to_another_spreadsheet(sheets: Any, values: Any, book: str) -> None:
    """`sheets.copyTo` returns the properties of the copy, and the values are copied."""
    values.update(
        spreadsheetId=book,
        range="Data!A1",
        valueInputOption=RAW,
        body={"values": [["copied"]]},
    ).execute()
    other = sheets.create(body={}).execute()["spreadsheetId"]
    source = sheets.get(spreadsheetId=book, ranges="Data").execute()["sheets"][0]
    copied = (
        sheets.sheets()
        .copyTo(
            spreadsheetId=book,
            sheetId=source["properties"]["sheetId"],
            body={"destinationSpreadsheetId": other},
        )
        .execute()
    )
    read = values.get(spreadsheetId=other, range="'Copy of Data'!A1").execute()

    assert copied["title"] == "Copy of Data"
    assert read["values"] == [["copied"]]


@pytest.mark.parametrize(
    ("range_text", "body", "reason"),
    [
        pytest.param("Nope!A1", {}, "Unable to parse range: Nope!A1", id="worksheet"),
        pytest.param(
            "Data!A1:A2",
            {"values": [["a", "b"]]},
            "Requested writing within range [Data!A1:A2], but tried writing to column [B]",
            id="too wide",
        ),
        pytest.param(
            "Data!A1",
            {"values": [["x" * 50_001]]},
            "Your input contains more than the maximum of 50000 characters in a single cell.",
            id="too long",
        ),
    ],
)
def test_error_has_status_and_reason(
    values: Any, book: str, range_text: str, body: dict[str, Any], reason: str
) -> None:
    """HttpError has the status 400 and Google's message as its reason."""
    request = values.update(spreadsheetId=book, range=range_text, valueInputOption=RAW, body=body)

    with pytest.raises(HttpError) as caught:
        request.execute()
    assert (caught.value.status_code, caught.value.reason) == (400, reason)


def test_wrong_type_is_reported_with_its_field(values: Any, book: str) -> None:
    """The `fieldViolations` of the error name the field with the wrong type."""
    request = values.update(
        spreadsheetId=book, range="Data!A1", valueInputOption=RAW, body={"values": ["x"]}
    )

    with pytest.raises(HttpError) as caught:
        request.execute()
    details: Any = caught.value.error_details
    assert details[0]["fieldViolations"][0]["field"] == "data.values[0]"


def test_unknown_spreadsheet_is_not_found(sheets: Any) -> None:
    """A spreadsheet ID that does not exist gets 404."""
    with pytest.raises(HttpError, match="Requested entity was not found") as caught:
        sheets.get(spreadsheetId="1nothing").execute()
    assert caught.value.status_code == 404
