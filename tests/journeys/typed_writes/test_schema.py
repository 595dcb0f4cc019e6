"""Schemas of a spreadsheet as Google answers it: tables, data validation and number formats."""

from typing import Any

from jsonschema import Draft202012Validator

from tests.journeys.conftest import Api, OpenGateway
from tests.journeys.typed_writes.sheets import TABS, WORKBOOK, cells_of, edit, formatted


def options(*values: str) -> dict[str, Any]:
    """A condition with a list of values."""
    return {"type": "ONE_OF_LIST", "values": [{"userEnteredValue": each} for each in values]}


def validated(title: str, column: int, condition: dict[str, Any]) -> dict[str, Any]:
    """The request that gives the first cell of a column a data validation."""
    rule = {"condition": condition, "strict": True}
    return {"setDataValidation": {"range": cells_of(title, 2, column), "rule": rule}}


def properties(api: Api, title: str) -> dict[str, Any]:
    answer = api.get(f"{title}/schema")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()["properties"]
    return found


def test_types_come_from_table_validation_format_and_cells(start: OpenGateway) -> None:
    """The schema has the types of table, validation, format and cells, and costs two reads."""
    rows = {"startRowIndex": 0, "endRowIndex": 2}
    columns = [
        {"columnIndex": 1, "columnName": "count", "columnType": "PERCENT"},
        {
            "columnIndex": 2,
            "columnName": "price",
            "columnType": "DROPDOWN",
            "dataValidationRule": {"condition": options("9.5", "12")},
        },
    ]
    where = {"sheetId": TABS.index("Form"), **rows, "startColumnIndex": 0, "endColumnIndex": 3}
    other = start()
    edit(
        other,
        {"addTable": {"table": {"name": "Orders", "range": where, "columnProperties": columns}}},
        validated("Form", 6, options("x", "y")),
        validated("Form", 1, options("never")),
        validated("Blank", 2, {"type": "BOOLEAN"}),
        formatted("Blank", 2, 1, "DATE_TIME"),
    )
    api = start()
    before = api.emulator.calls()
    form, blank = (properties(api, title) for title in ("Form", "Blank"))
    after = api.emulator.calls()

    assert form == {
        "name": {"type": ["string", "null"], "x-column": "A", "x-source": "cells"},
        "count": {"type": ["number", "null"], "x-column": "B", "x-source": "table"},
        "price": {
            "type": ["number", "null"],
            "enum": [9.5, 12, None],
            "x-column": "C",
            "x-source": "table",
        },
        "done": {"type": ["boolean", "null"], "x-column": "D", "x-source": "cells"},
        "day": {
            "type": ["string", "null"],
            "format": "date",
            "x-column": "E",
            "x-source": "format",
        },
        "clock": {
            "type": ["string", "null"],
            "format": "time",
            "x-column": "F",
            "x-source": "format",
        },
        "text": {
            "type": ["string", "null"],
            "enum": ["x", "y", None],
            "x-column": "G",
            "x-source": "validation",
        },
    }
    assert blank["done"]["type"] == ["boolean", "null"]
    assert (blank["day"]["format"], blank["day"]["x-source"]) == ("date-time", "format")
    assert (after[0] - before[0], after[1] - before[1]) == (2, 0)


def test_records_are_valid_by_their_schema(typed: Api) -> None:
    """Typed rows of all worksheets conform to their schemas; formulas are read-only."""
    for title in WORKBOOK["demo"]:
        schema = typed.get(f"{title}/schema").json()
        rows = typed.get(f"{title}?values=typed").json()["results"]
        validator = Draft202012Validator(schema)

        assert [each.message for row in rows for each in validator.iter_errors(row)] == []

    found = properties(typed, "Typed")
    assert [name for name, each in found.items() if each.get("readOnly")] == ["sum", "bad"]
    assert {name: each.get("format", each["type"][0]) for name, each in found.items()} == {
        "name": "string",
        "day": "date",
        "at": "date-time",
        "clock": "time",
        "length": "time",
        "price": "number",
        "share": "number",
        "done": "boolean",
        "text": "string",
        "sum": "number",
        "bad": "string",
        "empty": "string",
    }


def test_the_list_of_worksheets_describes_the_spreadsheet(typed: Api) -> None:
    """The list of worksheets has the ID, title, locale and time zone of the spreadsheet."""
    found = typed.get("/v2/sheets").json()

    assert set(found["spreadsheet"]) == {"id", "title", "locale", "timeZone"}
    assert found["spreadsheet"]["locale"] == "en_US"
    assert [each["name"] for each in found["sheets"]] == TABS
