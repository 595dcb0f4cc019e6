"""Worksheets and the schemas of their rows."""

import json
from collections.abc import Mapping
from typing import Any

import jsonschema
import pytest

from sheets_gateway_client import Field, SheetsError, Spreadsheet
from tests.clients.middlebox import Fault, Middlebox
from tests.clients.python.conftest import Connect
from tests.clients.python.test_all_rows import JSON
from tests.journeys.conftest import Api

WORKSHEET: Mapping[str, object] = {"name": "A", "rows": None, "fields": [], "may": []}
SPREADSHEET = {"id": "", "title": "", "locale": "", "timeZone": ""}
ODD_LISTS = pytest.mark.parametrize(
    "body",
    [
        {"results": [], "hasNextPage": False},
        {"sheets": [WORKSHEET]},
        {"spreadsheet": SPREADSHEET, "sheets": None},
        {"spreadsheet": SPREADSHEET, "sheets": [None]},
        {"spreadsheet": SPREADSHEET, "sheets": [{**WORKSHEET, "name": 1}]},
        {"spreadsheet": SPREADSHEET, "sheets": [{**WORKSHEET, "fields": None}]},
        {"spreadsheet": SPREADSHEET, "sheets": [{**WORKSHEET, "fields": ["a"]}]},
        {"spreadsheet": SPREADSHEET, "sheets": [{**WORKSHEET, "may": "read"}]},
    ],
    ids=str,
)
ODD_SCHEMAS = pytest.mark.parametrize(
    "body",
    [
        {"results": [], "hasNextPage": False},
        {"title": "A", "properties": ["a"]},
        {"title": "A", "properties": {"a": None}},
        {"title": None, "properties": {}},
    ],
    ids=str,
)


def success(body: object) -> Fault:
    return Fault(status=200, headers=JSON, text=json.dumps(body))


def test_worksheets_are_listed(connect: Connect, api: Api) -> None:
    """In tab order, with the fields that the key sees and its rights; `rows` after a read."""
    client = connect()
    titles = [sheet.name for sheet in client.worksheets()]
    client.sheet("Cities").list()
    found = client.worksheets()
    cities = next(each for each in found if each.name == "Cities")

    assert found.spreadsheet == Spreadsheet(
        id="demo", title="demo", locale="en_US", time_zone="Etc/GMT"
    )
    assert titles == [each.name for each in found.sheets] == [*api.emulator.everything()]
    assert (cities.rows, len(found)) == (10, len(titles))
    assert cities.fields[0] == Field(name="name", type="text")
    assert {each.name: each.type for each in cities.fields}["population"] == "number"
    assert cities.may == ["read", "create", "update", "delete"]


def test_a_schema_describes_typed_rows(connect: Connect) -> None:
    """Its fields have the order of the columns, and all typed rows conform to it."""
    orders = connect(values="typed").sheet("Orders")
    schema = orders.schema()

    assert (schema["title"], schema["type"]) == ("Orders", "object")
    assert [*schema["properties"]] == ["item", "price", "due", "total", "note"]
    assert schema["properties"]["due"]["type"] == ["string", "null"]
    assert schema["properties"]["due"]["format"] == "date"
    assert schema["properties"]["total"]["readOnly"] is True
    for row in orders.list():
        jsonschema.validate(row.fields, schema)


def test_no_values_are_asked_for(connect: Connect, middlebox: Middlebox) -> None:
    """Neither request takes them; both are reads."""
    client = connect(values="displayed")
    client.worksheets()
    client.sheet("a+b", values="typed").schema()

    assert [each.target for each in middlebox.arrived] == ["/v2/sheets", "/v2/sheets/a%2Bb/schema"]
    assert middlebox.sent("Idempotency-Key") == [None, None]


def test_both_are_repeated(connect: Connect, middlebox: Middlebox) -> None:
    """A broken answer is asked for again."""
    client = connect()
    middlebox.fail(Fault(), Fault(kept_bytes=10))
    found = client.worksheets()
    middlebox.fail(Fault(status=503))

    assert len(found) > 1
    assert client.sheet("Cities").schema()["title"] == "Cities"
    assert len(middlebox.arrived) == 3 + 2


def test_an_unknown_worksheet_has_no_schema(connect: Connect) -> None:
    """The error is the gateway's."""
    with pytest.raises(SheetsError) as raised:
        connect().sheet("Nowhere").schema()

    assert (raised.value.status, raised.value.code) == (404, 105)


@ODD_LISTS
def test_another_list_is_not_one_of_worksheets(
    connect: Connect, middlebox: Middlebox, body: Any
) -> None:
    """It is the answer of another server."""
    middlebox.fail(success(body))
    with pytest.raises(SheetsError, match="status 200"):
        connect().worksheets()


@ODD_SCHEMAS
def test_another_object_is_not_a_schema(connect: Connect, middlebox: Middlebox, body: Any) -> None:
    """It is the answer of another server."""
    middlebox.fail(success(body))
    with pytest.raises(SheetsError, match="status 200"):
        connect().sheet("Cities").schema()
