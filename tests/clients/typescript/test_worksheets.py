"""Worksheets and the schemas of their rows."""

from typing import Any

import jsonschema

from tests.clients.middlebox import Fault, Middlebox
from tests.clients.python.test_worksheets import ODD_LISTS, ODD_SCHEMAS, success
from tests.clients.typescript.conftest import Connect
from tests.clients.typescript.package import NodeSheet
from tests.journeys.conftest import Api


def test_worksheets_are_listed(cities: NodeSheet, api: Api) -> None:
    """In tab order, with the fields that the key sees and its rights; `rows` after a read."""
    found = cities.do(["list"], ["worksheets"]).value
    listed = next(each for each in found["sheets"] if each["name"] == "Cities")

    assert found["spreadsheet"] == {
        "id": "demo",
        "title": "demo",
        "locale": "en_US",
        "timeZone": "Etc/GMT",
    }
    assert [each["name"] for each in found["sheets"]] == [*api.emulator.everything()]
    assert (listed["rows"], listed["may"]) == (10, ["read", "create", "update", "delete"])
    assert {"name": "population", "type": "number"} in listed["fields"]


def test_a_schema_describes_typed_rows(connect: Connect) -> None:
    """Its fields have the order of the columns, and all typed rows conform to it."""
    ran = connect("Orders", values="typed").do(["schema"], ["list"])
    schema, page = (each["value"] for each in ran.outcomes)

    assert (schema["title"], schema["type"]) == ("Orders", "object")
    assert [*schema["properties"]] == ["item", "price", "due", "total", "note"]
    assert schema["properties"]["due"]["format"] == "date"
    assert schema["properties"]["total"]["readOnly"] is True
    for row in page["rows"]:
        jsonschema.validate(row["fields"], schema)


def test_no_values_are_asked_for(connect: Connect, middlebox: Middlebox) -> None:
    """Neither request takes them, and unknown options are refused before anything is sent."""
    sheet = connect("a+b", values="displayed", of_sheet={"values": "typed"})
    sheet.do(["worksheets"], ["schema"])
    refused = sheet.do(["worksheets", {"values": "typed"}], ["schema", {"format": "typescript"}])

    assert [each.target for each in middlebox.arrived] == ["/v2/sheets", "/v2/sheets/a%2Bb/schema"]
    assert [each["error"]["kind"] for each in refused.outcomes] == ["TypeError"] * 2


def test_both_are_repeated(cities: NodeSheet, middlebox: Middlebox) -> None:
    """A broken answer is asked for again."""
    middlebox.fail(Fault(), Fault(status=503), Fault())
    listed, schema = cities.do(["worksheets"], ["schema"]).outcomes

    assert (len(listed["value"]["sheets"]) > 1, schema["value"]["title"]) == (True, "Cities")
    assert len(middlebox.arrived) == 3 + 2


def test_an_unknown_worksheet_has_no_schema(connect: Connect) -> None:
    """The error is the gateway's."""
    error = connect("Nowhere").do(["schema"]).error

    assert (error["kind"], error["status"], error["code"]) == ("SheetsError", 404, 105)


@ODD_LISTS
def test_another_list_is_not_one_of_worksheets(
    cities: NodeSheet, middlebox: Middlebox, body: Any
) -> None:
    """It is the answer of another server."""
    middlebox.fail(success(body))
    error = cities.do(["worksheets"]).error

    assert (error["kind"], error["code"], error["status"]) == ("SheetsError", 0, 200)


@ODD_SCHEMAS
def test_another_object_is_not_a_schema(cities: NodeSheet, middlebox: Middlebox, body: Any) -> None:
    """It is the answer of another server."""
    middlebox.fail(success(body))
    error = cities.do(["schema"]).error

    assert (error["kind"], error["code"], error["status"]) == ("SheetsError", 0, 200)
