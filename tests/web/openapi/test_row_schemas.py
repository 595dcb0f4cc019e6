"""Schemas of rows and bodies in the OpenAPI document, compared with answers and parsed bodies."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.settings.model import ApiSettings
from gateway.table.header import ColumnGrant
from gateway.table.record import Record
from gateway.web.answers import EmptyCell, shaped
from gateway.web.body import MAX_ROWS
from gateway.web.openapi.schemas import CELLS
from gateway.web.parsing import checked_fields
from tests.web.openapi.conformance import errors_in
from tests.web.openapi.worksheets import CITIES, document, reach, worksheet

OF_CITIES = document(reach(), CITIES)
RECORD: Record = {"rowIndex": 2, "name": "Boston", "state": None}
ROW = {"$ref": "#/components/schemas/CitiesRow"}
FIELDS = {"$ref": "#/components/schemas/CitiesFields"}


def with_setting(**settings: str) -> dict[str, Any]:
    return document(reach(api=ApiSettings.model_validate(settings)), CITIES)


def bodies(told: dict[str, Any], path: str, method: str) -> dict[str, Any]:
    """Return the schemas of an operation's request bodies, by media type."""
    content = told["paths"][path][method]["requestBody"]["content"]
    return {name: each["schema"] for name, each in content.items()}


@pytest.mark.parametrize("empty_cell", CELLS)
@pytest.mark.parametrize("shown_as", CELLS)
def test_the_row_schema_has_one_form_of_empty_cells(
    empty_cell: EmptyCell, shown_as: EmptyCell
) -> None:
    """The row schema accepts the configured form of empty cells and rows without empty cells."""
    told = with_setting(empty_cell=empty_cell)

    is_row = not any(errors_in(told, ROW, shaped(RECORD, shown_as)))

    assert is_row is (shown_as in (empty_cell, "omit"))


@pytest.mark.parametrize(
    "row",
    [
        {"name": "Boston"},
        {"rowIndex": 1},
        {"rowIndex": "2"},
        {"rowIndex": 2, "population": 8804190},
        {"rowIndex": 2, "nobody": "x"},
    ],
    ids=str,
)
def test_the_row_schema_rejects_other_objects(row: dict[str, object]) -> None:
    """A row needs a `rowIndex` from 2 on, and fields of the worksheet with string values."""
    assert any(errors_in(OF_CITIES, ROW, row))


def test_fields_are_in_sheet_order() -> None:
    """Schemas list `rowIndex` first, then fields in column order; bodies list writable fields."""
    grant = ColumnGrant(None, frozenset({"state", "name"}))
    told = document(reach(columns=grant), CITIES)["components"]["schemas"]

    assert [*told["CitiesRow"]["properties"]] == [
        *("rowIndex", "name", "state", "country", "population")
    ]
    assert [*told["CitiesFields"]["properties"]] == ["rowIndex", "name", "state"]


@pytest.mark.parametrize(
    ("body", "is_right"),
    [
        ({"name": "x"}, True),
        ({"name": None, "population": 3, "state": True, "rowIndex": 7}, True),
        ({}, False),
        ({"rowIndex": 7}, False),
        ({"name": "x", "rowIndex": "text"}, True),
        ({"name": "x", "rowIndex": [7]}, False),
        ({"nobody": "x"}, False),
        ({"name": ["x"]}, False),
        ({"name": "x" * 50_001}, False),
        ({"population": 2**53 + 1}, False),
    ],
    ids=lambda value: str(value)[:40],
)
def test_bodies_have_fields_of_the_worksheet(body: dict[str, object], is_right: bool) -> None:
    """A body needs at least one field of the worksheet, each with a value that a cell can store."""
    assert any(errors_in(OF_CITIES, FIELDS, body)) is not is_right


def test_ignored_fields_are_valid_in_bodies() -> None:
    """With `unknown_fields = "ignore"`, a body can have unknown fields with valid values."""
    told = with_setting(unknown_fields="ignore")

    assert not any(errors_in(told, FIELDS, {"nobody": "x"}))
    assert any(errors_in(told, FIELDS, {"nobody": []}))


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**54), 2**54),
    st.floats(-1e9, 1e9),
    st.text(max_size=5),
    st.lists(st.none(), max_size=1),
)


@given(st.dictionaries(st.text(max_size=3), VALUES, min_size=1, max_size=3))
def test_the_field_schema_matches_the_parser(body: dict[str, Any]) -> None:
    """The general schema rejects exactly the values that the gateway rejects in every worksheet."""
    told = document()
    _, problems = checked_fields([*body.items()])

    schema = {"$ref": "#/components/schemas/Fields"}
    assert any(errors_in(told, schema, {**body, "a field": "x"})) is bool(problems)


def test_bodies_are_an_object_a_list_or_a_form() -> None:
    """A list has at most 500 rows, and the values of a form are strings."""
    created = bodies(OF_CITIES, "/v2/sheets/Cities", "post")
    updated = bodies(OF_CITIES, "/v2/sheets/Cities/{rowIndex}", "patch")
    json_body, form = created["application/json"], updated["application/x-www-form-urlencoded"]

    assert not any(errors_in(OF_CITIES, json_body, {"name": "x"}))
    assert not any(errors_in(OF_CITIES, json_body, [{"name": "x"}] * MAX_ROWS))
    assert any(errors_in(OF_CITIES, json_body, [{"name": "x"}] * (MAX_ROWS + 1)))
    assert any(errors_in(OF_CITIES, json_body, []))
    assert not any(errors_in(OF_CITIES, form, {"name": "x"}))
    assert any(errors_in(OF_CITIES, form, {"name": 3}))


@pytest.mark.parametrize(
    ("told", "path", "created", "updated"),
    [
        pytest.param(
            OF_CITIES,
            "/v2/sheets/Cities",
            {"name": "Example", "state": None, "country": None, "population": None},
            {"name": "Example"},
            id="worksheet",
        ),
        pytest.param(
            document(reach(columns=ColumnGrant(None, frozenset({"state"}))), CITIES),
            "/v2/sheets/Cities",
            {"state": "Example"},
            {"state": "Example"},
            id="one writable column",
        ),
        pytest.param(
            document(),
            "/v2/sheets/{sheetName}",
            {"name": "San Diego", "state": "California", "population": 1381162},
            {"name": "San Diego"},
            id="general",
        ),
    ],
)
def test_examples_of_bodies_are_valid(
    told: dict[str, Any], path: str, created: object, updated: object
) -> None:
    """Example bodies have only writable fields and no `rowIndex`; updates name one field."""
    paths = told["paths"]
    create, update = (
        paths[each][method]["requestBody"]["content"]["application/json"]
        for each, method in ((path, "post"), (f"{path}/{{rowIndex}}", "put"))
    )

    assert (create["example"], update["example"]) == (created, updated)
    for content in (create, update):
        assert not any(errors_in(told, content["schema"], content["example"]))


def test_an_example_of_a_wide_worksheet_is_short() -> None:
    """The example body for a worksheet of 1,000 columns has 20 fields."""
    told = document(reach(), worksheet("Wide", *(f"column {n}" for n in range(1000))))
    post = told["paths"]["/v2/sheets/Wide"]["post"]

    assert len(post["requestBody"]["content"]["application/json"]["example"]) == 20


def test_odd_column_names_stay_unchanged() -> None:
    """Column names with blanks or schema keywords, such as `$ref`, are properties of the row."""
    names = ("$ref", " name ", "type", "__proto__", "~/{}", "\x1b", "properties")
    told = document(reach(), worksheet("Odd", *names))

    row = {"rowIndex": 2, **dict.fromkeys(names, "x")}
    assert not any(errors_in(told, {"$ref": "#/components/schemas/OddRow"}, row))
    assert [*told["components"]["schemas"]["OddRow"]["properties"]] == ["rowIndex", *names]


TYPED: Record = {"rowIndex": 2, "name": "Boston", "population": 8804190, "state": False}


@pytest.mark.parametrize("empty_cell", CELLS)
@pytest.mark.parametrize("is_typed", [False, True])
def test_row_schema_of_typed_and_displayed_values(empty_cell: EmptyCell, is_typed: bool) -> None:
    """Typed rows can have numbers and booleans by their schema; displayed rows only strings."""
    told = with_setting(empty_cell=empty_cell, values="typed" if is_typed else "displayed")

    assert (not any(errors_in(told, ROW, TYPED))) is is_typed
    assert not any(errors_in(told, ROW, {"rowIndex": 2, "name": "Boston", "population": "1"}))


@pytest.mark.parametrize("default", ["typed", "displayed"])
@pytest.mark.parametrize("asked", ["typed", "displayed", None])
def test_the_values_parameter(default: str, asked: str | None) -> None:
    """`values` has only the described word, and is required unless that word is the default."""
    api = ApiSettings.model_validate({"values": default})
    described = reach(api=api, is_typed=None if asked is None else asked == "typed")
    values = document(described, CITIES)["components"]["parameters"]["Values"]

    assert values["schema"]["enum"] == [asked or default]
    assert values.get("required", False) is (asked not in (None, default))


def test_descriptions_of_typed_values() -> None:
    """The typed document explains dates and error cells, and does not mention displayed values."""
    schemas = with_setting(values="typed")["components"]["schemas"]
    value, row = schemas["Value"]["description"], schemas["CitiesRow"]["description"]

    assert "date" in value
    assert "error" in value
    assert "display" not in row
