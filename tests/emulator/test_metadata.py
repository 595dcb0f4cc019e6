"""spreadsheets.create and spreadsheets.get."""

import pytest

from tests.emulator.bench import Bench, message
from tests.emulator.conftest import BenchBuilder


def test_new_spreadsheet_is_as_google_makes_it(bench: Bench) -> None:
    """Recorded: one worksheet `Sheet1`, id 0, 1000 x 26, en_US, Etc/GMT."""
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


def test_new_spreadsheet_may_have_worksheets_of_its_own(bench: Bench) -> None:
    """The worksheets that are asked for take the place of `Sheet1`."""
    sheets = [{"properties": {"title": title}} for title in ("A", "B")]
    answer = bench.call("POST", "/v4/spreadsheets", {"sheets": sheets}).json()

    assert [sheet["properties"]["title"] for sheet in answer["sheets"]] == ["A", "B"]
    assert answer["properties"]["title"] == "Untitled spreadsheet"


def test_every_new_spreadsheet_has_an_id_of_its_own(bench: Bench) -> None:
    """Two calls make two spreadsheets."""
    ids = {bench.call("POST", "/v4/spreadsheets", {}).json()["spreadsheetId"] for _ in range(3)}

    assert len(ids) == 3


def test_grid_data_has_values_as_entered_and_as_shown(build: BenchBuilder) -> None:
    """With includeGridData each cell has what was entered, what it is and how it is shown."""
    bench = build({"Data": "x,$5\n=A1,\n"})
    answer = bench.call("GET", "/v4/spreadsheets/book", includeGridData="true").json()
    text = {"stringValue": "x"}
    number = {"numberValue": 5}

    assert answer["sheets"][0]["data"] == [
        {
            "rowData": [
                {
                    "values": [
                        {
                            "userEnteredValue": text,
                            "effectiveValue": text,
                            "formattedValue": "x",
                        },
                        {
                            "userEnteredValue": number,
                            "effectiveValue": number,
                            "formattedValue": "$5",
                        },
                    ]
                },
                {
                    "values": [
                        {
                            "userEnteredValue": {"formulaValue": "=A1"},
                            "effectiveValue": {"errorValue": {"type": "NAME", "message": "#NAME?"}},
                            "formattedValue": "#NAME?",
                        },
                        {},
                    ]
                },
            ]
        }
    ]


def test_mask_makes_include_grid_data_irrelevant(build: BenchBuilder) -> None:
    """Data is there if the mask names it, whatever the parameter says."""
    bench = build({"Data": "x\n"})
    with_mask = bench.call(
        "GET", "/v4/spreadsheets/book", fields="sheets.data.rowData", includeGridData="false"
    )
    without = bench.call(
        "GET", "/v4/spreadsheets/book", fields="sheets.properties.title", includeGridData="true"
    )

    assert "rowData" in with_mask.json()["sheets"][0]["data"][0]
    assert without.json() == {"sheets": [{"properties": {"title": "Data"}}]}


def test_sizes_of_rows_and_columns_are_not_implemented(bench: Bench) -> None:
    """A mask that asks for what is not kept is 501, not an empty answer."""
    answer = bench.call("GET", "/v4/spreadsheets/book", fields="sheets.data.columnMetadata")

    assert answer.status_code == 501
    assert "'columnMetadata'" in message(answer)


def test_ranges_choose_worksheets_and_cells(build: BenchBuilder) -> None:
    """Only worksheets that a range touches are answered, with the cells of that range."""
    bench = build({"A": "a,b\nc,d\n", "B": "x\n"})
    answer = bench.call("GET", "/v4/spreadsheets/book", ranges="A!B2", includeGridData="true")
    sheets = answer.json()["sheets"]

    assert [sheet["properties"]["title"] for sheet in sheets] == ["A"]
    assert sheets[0]["data"][0]["startRow"] == 1
    assert sheets[0]["data"][0]["rowData"][0]["values"][0]["formattedValue"] == "d"


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ({"properties": {"title": 5}}, "Invalid value at 'properties.title' (TYPE_STRING), 5"),
        ({"sheets": [{"properties": {"title": "A"}}] * 2}, "already exists"),
        ({"spreadsheet": {}}, 'Unknown name "spreadsheet"'),
    ],
)
def test_malformed_spreadsheet_is_not_created(
    bench: Bench, body: dict[str, object], complaint: str
) -> None:
    """A refused body leaves nothing behind."""
    answer = bench.call("POST", "/v4/spreadsheets", body)

    assert answer.status_code == 400
    assert complaint in message(answer)
