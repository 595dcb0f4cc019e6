"""A native table whose header is below a title, on the emulator."""

from tests.journeys.conftest import OpenGateway
from tests.simulation.people import make

TYPES = {"name": "TEXT", "state": "TEXT", "country": "DATE", "population": "DOUBLE"}


def test_a_typed_create_in_a_table_below_a_title(open_gateway: OpenGateway) -> None:
    """A create uses the table's column types and goes above its totals row."""
    api = open_gateway(
        {"worksheets": [{"spreadsheet": "demo", "title": "Cities", "header_row": 3}]}
    )
    sheet = {"sheetId": [*api.emulator.everything()].index("Cities")}
    place = {"startRowIndex": 2, "endRowIndex": 14, "startColumnIndex": 0, "endColumnIndex": 4}
    table = {
        "name": "Cities",
        "range": {**sheet, **place},
        "columnProperties": [
            {"columnIndex": at, "columnName": name, "columnType": type_}
            for at, (name, type_) in enumerate(TYPES.items())
        ],
        "rowsProperties": {"footerColorStyle": {"themeColor": "ACCENT1"}},
    }
    total = [{"values": [{"userEnteredValue": {"stringValue": "Total"}}]}]
    rows = {**sheet, "dimension": "ROWS", "startIndex": 0, "endIndex": 2}
    edits = [
        {"insertDimension": {"range": rows}},
        {"appendCells": {**sheet, "rows": total, "fields": "userEnteredValue"}},
        {"addTable": {"table": table}},
    ]
    make(api.emulator, {"requests": edits})
    body = {"name": "Boston", "country": "2026-02-01"}
    created = api.post("Cities?values=typed", json=body)

    assert created.json() == {"rowIndex": 14, **body}
    assert api.emulator.cell("Cities", 14, 3)["value"] == 46054
    assert api.emulator.texts("Cities")[14:] == [["Total"]]
