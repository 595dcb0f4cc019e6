"""Calls of `spreadsheets.create` and `spreadsheets.get`."""

import pytest

from tests.sheets_emulator.bench import Bench, message
from tests.sheets_emulator.conftest import BenchBuilder


def test_new_spreadsheet_has_googles_defaults(bench: Bench) -> None:
    """Recorded from Google: one worksheet `Sheet1`, id 0, 1000 x 26 cells, en_US, Etc/GMT."""
    answer = bench.call("POST", "/v4/spreadsheets", {"properties": {"title": "New"}}).json()
    spreadsheet_id = answer["spreadsheetId"]

    assert answer == {
        "spreadsheetId": spreadsheet_id,
        "properties": {
            "title": "New",
            "locale": "en_US",
            "autoRecalc": "ON_CHANGE",
            "timeZone": "Etc/GMT",
        },
        "sheets": [
            {
                "properties": {
                    "sheetId": 0,
                    "title": "Sheet1",
                    "index": 0,
                    "sheetType": "GRID",
                    "gridProperties": {"rowCount": 1000, "columnCount": 26},
                }
            }
        ],
        "spreadsheetUrl": f"https://docs.google.com/spreadsheets/d/{spreadsheet_id}/edit",
    }
    assert bench.call("GET", f"/v4/spreadsheets/{spreadsheet_id}").json() == answer


def test_new_spreadsheet_can_have_several_worksheets(bench: Bench) -> None:
    """The worksheets in the body of the request replace the default `Sheet1`."""
    sheets = [{"properties": {"title": title}} for title in ("A", "B")]
    answer = bench.call("POST", "/v4/spreadsheets", {"sheets": sheets}).json()

    assert [sheet["properties"]["title"] for sheet in answer["sheets"]] == ["A", "B"]
    assert answer["properties"]["title"] == "Untitled spreadsheet"


def test_every_new_spreadsheet_has_a_unique_id(bench: Bench) -> None:
    """Three calls of `spreadsheets.create` make three different ids."""
    ids = {bench.call("POST", "/v4/spreadsheets", {}).json()["spreadsheetId"] for _ in range(3)}

    assert len(ids) == 3


def test_grid_data_has_cells_rows_and_columns(build: BenchBuilder) -> None:
    """With includeGridData the answer has the cells, and the sizes of all rows and columns."""
    bench = build({"Data": "x,$5\n=A1,\n"})
    data = bench.described(includeGridData="true")["sheets"][0]["data"][0]
    shown = [[cell.get("formattedValue") for cell in row["values"]] for row in data["rowData"]]

    assert shown == [["x", "$5"], ["x"]]
    assert data["rowMetadata"] == [{"pixelSize": 21}] * 2
    assert data["columnMetadata"] == [{"pixelSize": 100}] * 2


def test_mask_makes_include_grid_data_irrelevant(build: BenchBuilder) -> None:
    """A `fields` mask decides whether the answer has grid data, and includeGridData is ignored."""
    bench = build({"Data": "x\n"})
    with_mask = bench.call(
        "GET", "/v4/spreadsheets/book", fields="sheets.data.rowData", includeGridData="false"
    )
    without = bench.call(
        "GET", "/v4/spreadsheets/book", fields="sheets.properties.title", includeGridData="true"
    )

    assert "rowData" in with_mask.json()["sheets"][0]["data"][0]
    assert without.json() == {"sheets": [{"properties": {"title": "Data"}}]}


def test_sizes_of_rows_and_columns_are_shown(bench: Bench) -> None:
    """Recorded from Google: a new row has 21 pixels and a new column has 100."""
    whole = bench.described(fields="sheets.data(rowMetadata,columnMetadata)")
    part = bench.described(fields="sheets.data(rowMetadata,startRow)", ranges="Data!B2:C3")

    assert whole["sheets"][0]["data"] == [
        {"rowMetadata": [{"pixelSize": 21}] * 5, "columnMetadata": [{"pixelSize": 100}] * 5}
    ]
    assert part["sheets"][0]["data"] == [{"startRow": 1, "rowMetadata": [{"pixelSize": 21}] * 2}]


@pytest.mark.parametrize(
    ("fields", "has_data"),
    [
        ("sheets", True),
        ("sheets.*", True),
        ("*", True),
        ("sheets(properties,data)", True),
        ("sheets.properties", False),
        ("properties", False),
    ],
)
def test_mask_of_whole_worksheets_includes_grid_data(
    bench: Bench, fields: str, has_data: bool
) -> None:
    """A mask that names `sheets` without inner fields selects all fields, also `data`."""
    answer = bench.described(fields=fields)

    assert ("data" in answer.get("sheets", [{}])[0]) is has_data


def test_ranges_select_worksheets_and_cells(build: BenchBuilder) -> None:
    """The answer has only the worksheets and cells of the requested ranges."""
    bench = build({"A": "a,b\nc,d\n", "B": "x\n"})
    answer = bench.call("GET", "/v4/spreadsheets/book", ranges="A!B2", includeGridData="true")
    sheets = answer.json()["sheets"]

    assert [sheet["properties"]["title"] for sheet in sheets] == ["A"]
    assert sheets[0]["data"][0]["startRow"] == 1
    assert sheets[0]["data"][0]["rowData"][0]["values"][0]["formattedValue"] == "d"


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ({"properties": {"title": 5}}, "properties.title' (TYPE_STRING), 5"),
        ({"sheets": [{"properties": {"title": "A"}}] * 2}, "already exists"),
        ({"spreadsheet": {}}, 'Unknown name "spreadsheet"'),
    ],
)
def test_malformed_spreadsheet_is_not_created(
    bench: Bench, body: dict[str, object], complaint: str
) -> None:
    """An invalid body, two equal titles or an unknown field in the body get 400."""
    answer = bench.call("POST", "/v4/spreadsheets", body)

    assert answer.status_code == 400
    assert complaint in message(answer)
