"""Parameters of lists in the OpenAPI document, compared with the code that parses them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import InvalidQuery
from gateway.query.operators import ALIASES, OPERATORS
from gateway.query.query import LIST_OPERATORS, NOT, parse_where
from gateway.settings.model import PlanSettings
from gateway.web.parameters import Asking, parse_query
from gateway.web.signature import FORMAT, FORMULAS, READ_PARAMETERS
from tests.web.openapi.conformance import errors_in, resolved
from tests.web.openapi.worksheets import CITIES, document, reach, worksheet

GENERAL = document()
OF_CITIES = document(reach(), CITIES)
WHERE = {"$ref": "#/components/schemas/Where"}
SCALARS = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3)
OPERANDS = SCALARS | st.lists(SCALARS, max_size=2)
OPERATIONS = st.recursive(
    st.dictionaries(st.sampled_from([*OPERATORS, *ALIASES, "$nope"]), OPERANDS, max_size=2),
    lambda inner: st.dictionaries(st.just(NOT), inner | SCALARS, max_size=1),
    max_leaves=2,
)
CRITERIA = st.dictionaries(st.sampled_from(["name", "state"]), OPERANDS | OPERATIONS, max_size=2)
WHERES: st.SearchStrategy[Any] = st.recursive(
    CRITERIA | SCALARS,
    lambda inner: st.one_of(
        st.dictionaries(st.sampled_from(["$and", "$or"]), st.lists(inner, max_size=2), max_size=1),
        st.dictionaries(st.just(NOT), inner, max_size=1),
    ),
    max_leaves=3,
)


def parameters(told: dict[str, Any], path: str = "/v2/sheets/Cities") -> dict[str, Any]:
    """Return the parameters of a list, by name."""
    operation = told["paths"][path]["get"]
    found = (resolved(told, each) for each in operation["parameters"])
    return {each["name"]: each for each in found}


def is_parsed(where: object) -> bool:
    try:
        parse_where(where)
    except InvalidQuery:
        return False
    return True


@given(WHERES)
def test_the_schema_of_where_matches_the_parser(where: Any) -> None:
    """A filter is valid by the schema exactly if the gateway's parser accepts the filter."""
    assert is_parsed(where) is not any(errors_in(GENERAL, WHERE, where))


def test_every_operator_is_in_the_schema() -> None:
    """The schema has each operator with a description; list operators take an array."""
    told = GENERAL["components"]["schemas"]["Operations"]["properties"]

    assert set(told) == {*OPERATORS, *ALIASES, NOT}
    assert {name for name in told if told[name].get("type") == "array"} == LIST_OPERATORS
    assert all(told[name]["description"] for name in told)
    assert [told[name]["description"] for name in OPERATORS] == [
        operator.description for operator in OPERATORS.values()
    ]


def test_every_parameter_is_in_the_document() -> None:
    """A list has all parameters of reads and exports, and the header `If-None-Match`."""
    told = parameters(GENERAL, "/v2/sheets/{sheetName}")

    assert set(told) == {*READ_PARAMETERS, FORMAT, FORMULAS, "If-None-Match"}


@pytest.mark.parametrize(
    ("where", "is_right"),
    [
        ({"name": "x", "rowIndex": {"$gt": 3}}, True),
        ({"$or": [{"state": None}, {"$not": {"country": "x"}}]}, True),
        ({"nobody": "x"}, False),
        ({"$and": [{"nobody": "x"}]}, False),
        ({"name": ["x"]}, False),
    ],
    ids=json.dumps,
)
def test_the_filter_schema_has_the_fields_of_the_worksheet(where: object, is_right: bool) -> None:
    """A worksheet's filter schema rejects unknown fields at any depth."""
    schema = {"$ref": "#/components/schemas/CitiesWhere"}

    assert any(errors_in(OF_CITIES, schema, where)) is not is_right


def test_order_and_keys_list_the_fields() -> None:
    """`keys` and `order` list all fields and `rowIndex`, and `order` lists both directions."""
    told = parameters(OF_CITIES)
    names = ["rowIndex", "name", "state", "country", "population"]

    assert told["keys"]["schema"]["items"] == {"$ref": "#/components/schemas/CitiesField"}
    assert OF_CITIES["components"]["schemas"]["CitiesField"]["enum"] == names
    assert resolved(OF_CITIES, told["order"]["schema"]["items"])["enum"] == [
        term for name in names for term in (name, f"-{name}")
    ]


def test_order_excludes_fields_with_commas_or_a_minus() -> None:
    """`order` does not list a field with a comma or a leading minus, which `order` cannot name."""
    told = document(reach(), worksheet("Odd", "a,b", "-c", " -d", "e-f"))
    terms = told["components"]["schemas"]["OddOrder"]["enum"]

    assert terms == ["rowIndex", "-rowIndex", "e-f", "-e-f"]
    query = parse_query(Asking({"order": [",".join(terms[1:3])]}), max_limit=1)
    assert [term.field for term in query.order] == ["rowIndex", "e-f"]


def test_a_plan_without_filters() -> None:
    """Without filters in the plan, `where` and `order` and their schemas are absent."""
    told = document(reach(plan=PlanSettings(where_and_order=False)), CITIES)

    assert not {"where", "order"} & set(parameters(told))
    assert not {"CitiesWhere", "Operand", "Operations"} & set(told["components"]["schemas"])


@pytest.mark.parametrize("most", [5, 100, 1000])
def test_the_limit_of_the_plan(most: int) -> None:
    """`limit` has the plan's maximum, and its default of 24 is lowered to a smaller maximum."""
    told = document(reach(plan=PlanSettings(max_limit=most, max_export_rows=0)), CITIES)
    schema = parameters(told)["limit"]["schema"]

    assert (schema["maximum"], schema["default"]) == (most, min(24, most))
    assert "maximum" not in parameters(GENERAL, "/v2/sheets/{sheetName}")["limit"]["schema"]
