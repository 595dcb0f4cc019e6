"""Request bodies parsed by Google's definition: all forms of protobuf's JSON, and all errors."""

from typing import Any

import pytest

from sheets_emulator.protocol.findings import MAX_FINDINGS
from sheets_emulator.protocol.payload import check, read_body
from sheets_emulator.refusal import Refusal

SHEETS = "type.googleapis.com/google.apps.sheets.v4"
LIST_VALUE = "type.googleapis.com/google.protobuf.ListValue"


def properties(**members: Any) -> dict[str, Any]:
    """A batchUpdate body that sets these properties of a worksheet."""
    return {"requests": [{"updateSheetProperties": {"properties": members}}]}


def read_properties(**members: Any) -> Any:
    """The worksheet properties after the body is parsed."""
    body = check("BatchUpdateSpreadsheetRequest", properties(**members))
    requests: Any = body["requests"]
    return requests[0]["updateSheetProperties"]["properties"]


def violations(schema: str, value: Any, place: str = "") -> list[dict[str, str]]:
    """The field violations of an invalid body. The message of the error has a line for each."""
    with pytest.raises(Refusal) as refused:
        check(schema, value, place)
    found: Any = refused.value.details[0]["fieldViolations"]
    assert refused.value.code == 400
    assert refused.value.message == "\n".join(each["description"] for each in found)
    return list(found)


@pytest.mark.parametrize(
    ("given", "read"),
    [
        pytest.param({"sheet_id": 5}, {"sheetId": 5}, id="snake_case"),
        pytest.param({"sheetId": "5"}, {"sheetId": 5}, id="integer as text"),
        pytest.param({"sheetId": "-5.0"}, {"sheetId": -5}, id="integer as text with a point"),
        pytest.param({"sheetId": 5.0}, {"sheetId": 5}, id="integer with a point"),
        pytest.param({"sheetId": -(2**31)}, {"sheetId": -(2**31)}, id="smallest integer"),
        pytest.param({"title": None, "hidden": False}, {"hidden": False}, id="null"),
        pytest.param({"sheetType": 1}, {"sheetType": "GRID"}, id="number of an enumeration"),
        pytest.param({"sheetType": "SHEET_TYPE_UNSPECIFIED"}, {}, id="enumeration that is none"),
        pytest.param({"sheetType": 0}, {}, id="number that is none"),
        pytest.param({"tabColor": {"red": "0.5"}}, {"tabColor": {"red": 0.5}}, id="text number"),
        pytest.param({"tabColor": {"red": "1e-1"}}, {"tabColor": {"red": 0.1}}, id="exponent"),
        pytest.param({"tabColor": {"red": 1}}, {"tabColor": {"red": 1.0}}, id="whole double"),
        pytest.param(
            {"dataSourceSheetProperties": {"columns": {"formula": "x"}}},
            {"dataSourceSheetProperties": {"columns": [{"formula": "x"}]}},
            id="lone item",
        ),
        pytest.param({"tabColor": {}}, {"tabColor": {}}, id="empty object"),
        pytest.param(
            {"dataSourceSheetProperties": {"columns": []}},
            {"dataSourceSheetProperties": {}},
            id="empty list",
        ),
        pytest.param({"title": None, "sheet_id": None}, {}, id="null in snake_case"),
        pytest.param({"sheetId": None, "sheet_id": 5}, {"sheetId": 5}, id="null and a value"),
    ],
)
def test_all_forms_of_a_value_are_parsed_to_one(
    given: dict[str, Any], read: dict[str, Any]
) -> None:
    """Parsed bodies have camelCase names and the types of the definition, and no null."""
    assert read_properties(**given) == read


def test_a_field_mask_is_converted_to_camel_case() -> None:
    """Names in a field mask are converted from snake_case to camelCase."""
    repeat = {"repeatCell": {"fields": "user_entered_value,userEnteredFormat.text_format(bold)"}}
    read: Any = check("BatchUpdateSpreadsheetRequest", {"requests": [repeat]})["requests"]

    assert read[0]["repeatCell"]["fields"] == "userEnteredValue,userEnteredFormat.textFormat(bold)"


def test_a_map_keeps_its_keys() -> None:
    """The keys of a map are not converted to camelCase. A key whose value is null is left out."""
    criteria = {"3": {"hidden_values": ["x"]}, "a_b": {}, "c": None}
    read = check("BasicFilter", {"criteria": criteria})

    assert read == {"criteria": {"3": {"hiddenValues": ["x"]}, "a_b": {}}}


def test_null_in_a_list_of_objects_becomes_an_empty_object() -> None:
    """Null in a list of objects becomes {}, so that the index of later items does not change."""
    read = check("BatchUpdateSpreadsheetRequest", {"requests": [None, {}]})

    assert read == {"requests": [{}, {}]}


@pytest.mark.parametrize("cells", [[[]], [[None, 1, "x", [], {}]]])
def test_cell_values_are_not_changed(cells: list[Any]) -> None:
    """The lists in `values` of a ValueRange can have any values, which are not changed."""
    assert check("ValueRange", {"values": cells}, "data") == {"values": cells}


@pytest.mark.parametrize(
    ("given", "description"),
    [
        pytest.param({"sheetId": "x"}, '{}.sheet_id\' (TYPE_INT32), "x"', id="text"),
        pytest.param({"sheetId": 1.5}, "{}.sheet_id' (TYPE_INT32), 1.5", id="fraction"),
        pytest.param({"sheetId": True}, "{}.sheet_id' (TYPE_INT32), true", id="boolean"),
        pytest.param({"sheetId": 2**31}, "{}.sheet_id' (TYPE_INT32), 2147483648", id="too large"),
        pytest.param({"title": 5}, "{}.title' (TYPE_STRING), 5", id="number for a text"),
        pytest.param({"hidden": "true"}, '{}.hidden\' (TYPE_BOOL), "true"', id="text for a flag"),
        pytest.param({"hidden": 1}, "{}.hidden' (TYPE_BOOL), 1", id="number for a flag"),
        pytest.param(
            {"title": {}},
            "{}.title' (TYPE_STRING), Starting an object on a scalar field",
            id="object for a text",
        ),
        pytest.param(
            {"tabColor": {"red": "1e999"}},
            '{}.tab_color.red\' (TYPE_FLOAT), "1e999"',
            id="too large for a float",
        ),
        pytest.param(
            {"tabColor": {"red": "NaN"}}, '{}.tab_color.red\' (TYPE_FLOAT), "NaN"', id="no number"
        ),
        pytest.param(
            {"tabColor": {"red": "-Infinity"}},
            '{}.tab_color.red\' (TYPE_FLOAT), "-Infinity"',
            id="infinity",
        ),
        pytest.param(
            {"tabColor": {"red": 1e39}}, "{}.tab_color.red' (TYPE_FLOAT), 1e39", id="no float"
        ),
        pytest.param(
            {"sheetType": "GIRD"},
            f'{{}}.sheet_type\' ({SHEETS}.SheetType), "GIRD"',
            id="enumeration",
        ),
        pytest.param(
            {"sheetType": 99}, f"{{}}.sheet_type' ({SHEETS}.SheetType), 99", id="its number"
        ),
        pytest.param(
            {"gridProperties": "x"},
            f'{{}}.grid_properties\' ({SHEETS}.GridProperties), "x"',
            id="text for an object",
        ),
    ],
)
def test_a_wrong_type_is_reported_in_googles_words(given: dict[str, Any], description: str) -> None:
    """The error has the path in snake_case, protobuf's name of the type, and the value as sent."""
    place = "requests[0].update_sheet_properties.properties"
    found = violations("BatchUpdateSpreadsheetRequest", properties(**given))

    assert [each["description"] for each in found] == [
        f"Invalid value at '{description.format(place)}"
    ]
    assert found[0]["field"].startswith(place)


@pytest.mark.parametrize(
    ("body", "field", "description"),
    [
        pytest.param({"extra": 1}, None, 'Unknown name "extra": Cannot find field.', id="body"),
        pytest.param(
            {"requests": [{"addShet": {}}]},
            "requests[0]",
            "Unknown name \"addShet\" at 'requests[0]': Cannot find field.",
            id="kind",
        ),
        pytest.param(
            {"requests": [{"addSheet": {"extra": None}}]},
            "requests[0].add_sheet",
            "Unknown name \"extra\" at 'requests[0].add_sheet': Cannot find field.",
            id="null",
        ),
        pytest.param(
            {"requests": {"addShet": {}}},
            "requests",
            "Unknown name \"addShet\" at 'requests': Cannot find field.",
            id="lone item",
        ),
        pytest.param(
            {"requests": [{"addSheet": {"properties": []}}]},
            "requests[0].add_sheet",
            "Unknown name \"properties\" at 'requests[0].add_sheet': Proto field is not repeating, "
            "cannot start list.",
            id="list for an object",
        ),
        pytest.param(
            {"requests": [{"deleteSheet": {"sheetId": 0, "sheet_id": 0}}]},
            "requests[0].delete_sheet",
            "Unknown name \"sheet_id\" at 'requests[0].delete_sheet': The field is set twice.",
            id="twice",
        ),
    ],
)
def test_a_wrong_name_is_reported_in_googles_words(
    body: dict[str, Any], field: str | None, description: str
) -> None:
    """The error has the path of the object with the unknown name, and no path for the body."""
    found = violations("BatchUpdateSpreadsheetRequest", body)

    assert [each["description"] for each in found] == [
        f"Invalid JSON payload received. {description}"
    ]
    assert found[0].get("field") == field


@pytest.mark.parametrize(
    ("values", "places"),
    [
        pytest.param("X", {"data.values": '"X"'}, id="text"),
        pytest.param({}, {"data.values": "{}"}, id="object"),
        pytest.param(
            ["X", [1], None], {"data.values[0]": '"X"', "data.values[2]": "null"}, id="rows"
        ),
    ],
)
def test_values_that_are_not_lists_of_lists_are_reported(
    values: Any, places: dict[str, str]
) -> None:
    """Recorded from Google: `values` must be a list, and each item must be a list."""
    found = violations("ValueRange", {"values": values}, "data")

    assert found == [
        {"field": place, "description": f"Invalid value at '{place}' ({LIST_VALUE}), {shown}"}
        for place, shown in places.items()
    ]


def test_all_mistakes_of_a_body_are_reported_in_one_error() -> None:
    """Reported by users of Google: an error has one line and one violation for each mistake."""
    found = violations("ValueRange", {"valueInputOption": "RAW", "data": [], "range": 5}, "data")

    assert [each["description"] for each in found] == [
        "Invalid JSON payload received. Unknown name \"valueInputOption\" at 'data': "
        "Cannot find field.",
        "Invalid JSON payload received. Unknown name \"data\" at 'data': Cannot find field.",
        "Invalid value at 'data.range' (TYPE_STRING), 5",
    ]


def test_an_error_about_a_large_body_is_short() -> None:
    """The number of reported mistakes is limited, and long values and names are shortened."""
    rows = ["x" * 50_000] * 10_000
    found = violations("ValueRange", {"y" * 50_000: 1, "values": rows}, "data")

    assert len(found) == MAX_FINDINGS
    assert max(len(each["description"]) for each in found) < 1500


@pytest.mark.parametrize(
    ("body", "description"),
    [
        pytest.param(b"[]", 'Unknown name "": Root element must be a message.', id="list"),
        pytest.param(b"null", 'Unknown name "": Root element must be a message.', id="null"),
        pytest.param(b'{"values": ', "Input data was truncated", id="half"),
        pytest.param(b"[" * 100_000, "", id="nested too deeply"),
    ],
)
def test_a_body_that_is_not_a_json_object_is_rejected(body: bytes, description: str) -> None:
    """A list, null, incomplete JSON and JSON that is nested too deeply are rejected."""
    with pytest.raises(Refusal, match=r"Invalid JSON payload received\.") as refused:
        read_body(body, "ValueRange")

    assert description in refused.value.message


@pytest.mark.parametrize("body", [b"", b" \n", b"{}"])
def test_an_absent_body_is_an_empty_object(body: bytes) -> None:
    """An empty body and blanks are parsed like `{}`."""
    assert read_body(body, "ClearValuesRequest").fields == {}


def test_values_are_not_copied() -> None:
    """After the check `values` is the same list object, because a copy could be very large."""
    values = [[1] * 100] * 100

    assert check("ValueRange", {"values": values}, "data")["values"] is values
