"""Rows in the document, against what makes answers of them and what reads bodies."""

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
    """The schemas of an operation's bodies, by their type."""
    content = told["paths"][path][method]["requestBody"]["content"]
    return {name: each["schema"] for name, each in content.items()}


@pytest.mark.parametrize("empty_cell", CELLS)
@pytest.mark.parametrize("shown_as", CELLS)
def test_a_row_is_of_one_way_to_show_empty_cells(
    empty_cell: EmptyCell, shown_as: EmptyCell
) -> None:
    """A row with another representation of empty cells is refused; one that omits them is valid, as
    by `keys`.
    """
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
def test_other_things_are_no_row(row: dict[str, object]) -> None:
    """A row has its number, and texts by the worksheet's names."""
    assert any(errors_in(OF_CITIES, ROW, row))


def test_fields_are_in_sheet_order() -> None:
    """After the row number; in bodies those that may be written."""
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
def test_bodies_name_fields_of_the_worksheet(body: dict[str, object], is_right: bool) -> None:
    """At least one, each with a value that a cell can hold."""
    assert any(errors_in(OF_CITIES, FIELDS, body)) is not is_right


def test_unknown_fields_may_be_sent_where_they_are_ignored() -> None:
    """With valid values."""
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
def test_a_value_is_what_the_gateway_takes(body: dict[str, Any]) -> None:
    """In any worksheet: the schema refuses what is refused without a look at the header."""
    told = document()
    _, problems = checked_fields([*body.items()])

    schema = {"$ref": "#/components/schemas/Fields"}
    assert any(errors_in(told, schema, {**body, "a field": "x"})) is bool(problems)


def test_bodies_are_an_object_a_list_or_a_form() -> None:
    """A list has 500 rows at most, and a form has texts alone."""
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
def test_examples_of_bodies_are_harmless(
    told: dict[str, Any], path: str, created: object, updated: object
) -> None:
    """They are what may be written, without a row number; that of an update names one field."""
    paths = told["paths"]
    create, update = (
        paths[each][method]["requestBody"]["content"]["application/json"]
        for each, method in ((path, "post"), (f"{path}/{{rowIndex}}", "put"))
    )

    assert (create["example"], update["example"]) == (created, updated)
    for content in (create, update):
        assert not any(errors_in(told, content["schema"], content["example"]))


def test_an_example_of_a_wide_worksheet_is_short() -> None:
    """It has no more fields than people read."""
    told = document(reach(), worksheet("Wide", *(f"column {n}" for n in range(1000))))
    post = told["paths"]["/v2/sheets/Wide"]["post"]

    assert len(post["requestBody"]["content"]["application/json"]["example"]) == 20


def test_names_of_columns_that_are_hard_to_bear_stay_as_they_are() -> None:
    """Blanks around them and look-alikes of schema words are part of the name."""
    names = ("$ref", " name ", "type", "__proto__", "~/{}", "\x1b", "properties")
    told = document(reach(), worksheet("Odd", *names))

    row = {"rowIndex": 2, **dict.fromkeys(names, "x")}
    assert not any(errors_in(told, {"$ref": "#/components/schemas/OddRow"}, row))
    assert [*told["components"]["schemas"]["OddRow"]["properties"]] == ["rowIndex", *names]


TYPED: Record = {"rowIndex": 2, "name": "Boston", "population": 8804190, "state": False}


@pytest.mark.parametrize("empty_cell", CELLS)
@pytest.mark.parametrize("is_typed", [False, True])
def test_a_document_is_of_typed_or_of_displayed_rows(empty_cell: EmptyCell, is_typed: bool) -> None:
    """The document of typed rows takes numbers and booleans, that of displayed rows texts only."""
    told = with_setting(empty_cell=empty_cell, values="typed" if is_typed else "displayed")

    assert (not any(errors_in(told, ROW, TYPED))) is is_typed
    assert not any(errors_in(told, ROW, {"rowIndex": 2, "name": "Boston", "population": "1"}))


@pytest.mark.parametrize("default", ["typed", "displayed"])
@pytest.mark.parametrize("asked", ["typed", "displayed", None])
def test_a_document_has_the_values_that_it_describes(default: str, asked: str | None) -> None:
    """Its parameter `values` has that word alone, and is required if it is not the default."""
    api = ApiSettings.model_validate({"values": default})
    described = reach(api=api, is_typed=None if asked is None else asked == "typed")
    values = document(described, CITIES)["components"]["parameters"]["Values"]

    assert values["schema"]["enum"] == [asked or default]
    assert values.get("required", False) is (asked not in (None, default))


def test_a_typed_document_does_not_speak_of_displays() -> None:
    """It says what a typed write stores, and that `null` leaves an error as it is."""
    schemas = with_setting(values="typed")["components"]["schemas"]
    value, row = schemas["Value"]["description"], schemas["CitiesRow"]["description"]

    assert "date" in value
    assert "error" in value
    assert "display" not in row
