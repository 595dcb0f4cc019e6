"""spreadsheets.create with all supported members, and spreadsheets.sheets.copyTo."""

from typing import Any

import pytest

from tests.sheets_emulator.bench import Bench, message
from tests.sheets_emulator.conftest import BenchBuilder
from tests.sheets_emulator.requests_of import Request

BOX = {"startRowIndex": 0, "endRowIndex": 1, "startColumnIndex": 0, "endColumnIndex": 2}
CELLS = [
    {"values": [{"userEnteredValue": {"stringValue": "h"}, "note": "n"}, {}]},
    {"values": [{"userEnteredValue": {"numberValue": 5}}]},
]
SHEET = {
    "properties": {"sheetId": 7, "title": "A", "gridProperties": {"rowCount": 9, "columnCount": 4}},
    "data": [
        {
            "startRow": 1,
            "startColumn": 1,
            "rowData": CELLS,
            "rowMetadata": [{"pixelSize": 40}, {}],
            "columnMetadata": [{"hiddenByUser": True}],
        }
    ],
    "merges": [{"sheetId": 7, **BOX}],
    "columnGroups": [
        {"range": {"sheetId": 7, "dimension": "COLUMNS", "startIndex": 2, "endIndex": 4}}
    ],
    "basicFilter": {"range": {"sheetId": 7, "startRowIndex": 1}},
    "protectedRanges": [{"range": {"sheetId": 7, **BOX}, "description": "d"}],
}


def create(bench: Bench, **body: object) -> Any:
    """The answer to a spreadsheets.create with this body."""
    return bench.call("POST", "/v4/spreadsheets", body)


def test_spreadsheet_is_created_with_cells_and_other_contents(bench: Bench) -> None:
    """Cells, merges, groups, filters, protections and names in the body are created."""
    named = {"name": "Total", "range": {"sheetId": 7, **BOX}}
    made = create(bench, sheets=[SHEET], namedRanges=[named]).json()
    sheet = made["sheets"][0]
    path = f"/v4/spreadsheets/{made['spreadsheetId']}"
    data = bench.call("GET", path, includeGridData="true").json()["sheets"][0]["data"][0]

    assert bench.grid("A", made["spreadsheetId"]) == [[], ["", "h"], ["", "5"]]
    assert data["rowData"][1]["values"][1]["note"] == "n"
    assert [line["pixelSize"] for line in data["rowMetadata"][:3]] == [21, 40, 21]
    assert data["columnMetadata"][1] == {"hiddenByUser": True, "pixelSize": 100}
    assert sheet["merges"] == [{"sheetId": 7, **BOX}]
    assert sheet["columnGroups"][0]["depth"] == 1
    assert sheet["basicFilter"]["range"]["endRowIndex"] == 9
    assert sheet["protectedRanges"][0]["description"] == "d"
    assert made["namedRanges"][0]["name"] == "Total"


def test_spreadsheet_has_the_given_properties(bench: Bench) -> None:
    """Title, locale, time zone and recalculation are set. The title has a default."""
    properties = {"title": "T", "locale": "de", "timeZone": "Europe/Berlin", "autoRecalc": "HOUR"}

    assert create(bench, properties=properties).json()["properties"] == properties
    assert create(bench).json()["properties"]["title"] == "Untitled spreadsheet"


def test_read_only_members_of_a_row_are_ignored(bench: Bench) -> None:
    """`hiddenByFilter` of a row in the body is ignored, because only Google sets it."""
    lines = [{"pixelSize": 40, "hiddenByFilter": True}]
    made = create(bench, sheets=[{"data": [{"rowMetadata": lines}]}])
    path = f"/v4/spreadsheets/{made.json()['spreadsheetId']}"
    data = bench.call("GET", path, includeGridData="true").json()["sheets"][0]["data"][0]

    assert data["rowMetadata"][0] == {"pixelSize": 40}


def test_answer_of_a_read_can_create_the_same_spreadsheet(bench: Bench) -> None:
    """The answer of spreadsheets.get is a valid body for spreadsheets.create."""
    made = create(bench, sheets=[SHEET], properties={"title": "T"}).json()
    path = f"/v4/spreadsheets/{made['spreadsheetId']}"
    first = bench.call("GET", path, includeGridData="true").json()
    again = create(bench, **first).json()
    path = f"/v4/spreadsheets/{again['spreadsheetId']}"
    second = bench.call("GET", path, includeGridData="true").json()

    assert again["spreadsheetId"] != made["spreadsheetId"]
    for part in ("spreadsheetId", "spreadsheetUrl"):
        first.pop(part), second.pop(part)
    assert second == first


@pytest.mark.parametrize(
    ("body", "status", "complaint"),
    [
        pytest.param({"sheets": [{"charts": [{}]}]}, 501, "charts", id="charts"),
        pytest.param({"developerMetadata": [{}]}, 501, "developerMetadata", id="metadata"),
        pytest.param(
            {"sheets": [{"properties": {"sheetType": "OBJECT"}}]}, 501, "OBJECT", id="no grid"
        ),
        pytest.param({"sheets": [{"merges": [BOX]}]}, 400, "No grid with id: 0", id="other id"),
        pytest.param(
            {"sheets": [{"data": [{"startRow": 1000, "rowData": CELLS}]}]}, 400, "", id="past it"
        ),
        pytest.param(
            {"namedRanges": [{"name": "A1", "range": {}}]}, 400, "not valid", id="bad name"
        ),
        pytest.param(
            {
                "sheets": [
                    {"data": [{"rowMetadata": [{"developerMetadata": [{"metadataKey": "k"}]}]}]}
                ]
            },
            501,
            "developerMetadata",
            id="metadata of a row",
        ),
        pytest.param(
            {"sheets": [{"properties": {"hidden": True}}, {"properties": {"hidden": True}}]},
            400,
            "You can't hide all the sheets in a document.",
            id="all hidden",
        ),
        pytest.param({"properties": {"locale": "x"}}, 400, "Unsupported locale", id="locale"),
    ],
)
def test_invalid_or_unsupported_spreadsheet_is_not_created(
    bench: Bench, body: Request, status: int, complaint: str
) -> None:
    """Unsupported members get 501, and invalid ones get 400. Nothing is created."""
    answer = create(bench, **body)
    made = create(bench).json()["spreadsheetId"]

    assert answer.status_code == status
    assert complaint in message(answer)
    assert made.endswith("0001")


def copy(bench: Bench, destination: str, tab: str = "0") -> Any:
    """The answer to a copyTo of a worksheet to another spreadsheet."""
    body = {"destinationSpreadsheetId": destination}
    return bench.call("POST", f"/v4/spreadsheets/book/sheets/{tab}:copyTo", body)


def test_copy_is_the_last_worksheet_of_its_spreadsheet(build: BenchBuilder) -> None:
    """The answer has the properties of the copy, which has the cells of the original."""
    bench = build({"Data": "a,b\nc,d\n"})
    other = create(bench).json()["spreadsheetId"]
    answer = copy(bench, other).json()

    assert answer == bench.sheets(other)[1]
    assert answer == {
        "sheetId": answer["sheetId"],
        "title": "Copy of Data",
        "index": 1,
        "sheetType": "GRID",
        "gridProperties": {"rowCount": 2, "columnCount": 2},
    }
    assert bench.grid("Copy of Data", other) == [["a", "b"], ["c", "d"]]


def test_copies_in_the_same_spreadsheet_have_different_titles(bench: Bench) -> None:
    """The destination can be the same spreadsheet. Titles of copies are numbered."""
    titles = [copy(bench, "book").json()["title"] for _ in range(3)]

    assert titles == ["Copy of Data", "Copy of Data 1", "Copy of Data 2"]


@pytest.mark.parametrize(
    ("destination", "tab", "status"),
    [
        pytest.param("nowhere", "0", 404, id="no destination"),
        pytest.param("closed", "0", 403, id="destination not shared"),
        pytest.param("", "0", 404, id="destination not told"),
        pytest.param("book", "9", 400, id="no such worksheet"),
        pytest.param("book", "x", 404, id="no id"),
        pytest.param("book", "-1", 400, id="negative"),
        pytest.param("book", "99999999999", 400, id="too large"),
    ],
)
def test_impossible_copy_is_an_error(bench: Bench, destination: str, tab: str, status: int) -> None:
    """A missing destination or worksheet, or one that is not shared, is an error without effect."""
    answer = copy(bench, destination, tab)

    assert answer.status_code == status
    assert len(bench.sheets()) == 1
