"""Headers below row 1 on the emulator: merged titles, frozen rows, formats, native tables."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.journeys.conftest import Api, OpenGateway

SETTINGS: Mapping[str, object] = {
    "worksheets": [{"spreadsheet": "demo", "title": "Cities", "header_row": 3}],
    "plans.paid.deletes": True,
}
TITLE = "Cities of the USA"


def titled(api: Api, *more: Mapping[str, Any], sheet_id: int) -> None:
    """Put a merged title over two rows above the header, as a person does."""
    title = {"userEnteredValue": {"stringValue": TITLE}}
    place = {"sheetId": sheet_id, "startRowIndex": 0, "startColumnIndex": 0}
    rows = {"sheetId": sheet_id, "dimension": "ROWS", "startIndex": 0, "endIndex": 2}
    edits = [
        {"insertDimension": {"range": rows}},
        {
            "updateCells": {
                "start": {"sheetId": sheet_id, "rowIndex": 0, "columnIndex": 0},
                "rows": [{"values": [title]}],
                "fields": "userEnteredValue",
            }
        },
        {
            "mergeCells": {
                "range": {**place, "endRowIndex": 1, "endColumnIndex": 4},
                "mergeType": "MERGE_ALL",
            }
        },
        *more,
    ]
    api.emulator.faults({"call": "*", "edit": {"requests": edits}})
    api.get("Empty")


def cities_id(api: Api) -> int:
    return [*api.emulator.everything()].index("Cities")


@pytest.fixture
def api(open_gateway: OpenGateway) -> Api:
    return open_gateway(SETTINGS)


def test_rows_below_a_merged_title(api: Api) -> None:
    """Reads and writes of each kind leave title and header alone."""
    sheet_id = cities_id(api)
    before = api.emulator.texts("Cities")
    titled(api, sheet_id=sheet_id)

    first = api.get("Cities?limit=1").json()["results"]
    total = api.get("Cities?count=true&limit=0").json()["total"]
    found = api.get("Cities", params={"where": '{"state":"Texas"}', "order": "-rowIndex"}).json()
    created = api.post("Cities", json={"name": "Boston"})
    updated = api.send("PUT", "Cities/4", json={"state": "NY"})
    above = [api.get(f"Cities/{row}").status_code for row in (1, 2, 3)]

    assert first[0]["rowIndex"] == 4
    assert total == 10
    assert [each["rowIndex"] for each in found["results"]] == [12, 10, 7]
    assert created.json()["rowIndex"] == 14
    assert updated.status_code == 200
    assert above == [404, 404, 404]
    shown = api.emulator.texts("Cities")
    assert shown[:3] == [[TITLE], [], before[0]]
    assert shown[3][:2] == ["New York", "NY"]
    assert shown[4:13] == before[2:]
    assert shown[13] == ["Boston"]


def test_typed_creates_look_at_the_rows_below_the_header(api: Api) -> None:
    """The type of a native table's column counts, whichever row its header is in."""
    sheet_id = cities_id(api)
    columns = [
        {"columnIndex": at, "columnName": name, "columnType": type_}
        for at, (name, type_) in enumerate(
            [("name", "TEXT"), ("state", "TEXT"), ("country", "DATE"), ("population", "DOUBLE")]
        )
    ]
    table = {
        "name": "Cities",
        "range": {
            "sheetId": sheet_id,
            "startRowIndex": 2,
            "endRowIndex": 13,
            "startColumnIndex": 0,
            "endColumnIndex": 4,
        },
        "columnProperties": columns,
    }
    titled(api, {"addTable": {"table": table}}, sheet_id=sheet_id)
    body = {"name": "Boston", "country": "2026-02-01"}
    created = api.post("Cities?values=typed", json=body)

    assert created.json() == {"rowIndex": 14, **body}
    assert api.emulator.cell("Cities", 14, 3)["value"] == 46054
