"""The grammar of lists in the document, against what reads it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import InvalidQuery
from gateway.query.operators import ALIASES, OPERATORS
from gateway.query.where import LIST_OPERATORS, NOT, parse_where
from gateway.settings.plans import PlanSettings
from gateway.web.parameters import asking_of, parse_query
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
    """The parameters of a list, by name."""
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
def test_the_schema_of_where_is_what_the_parser_takes(where: Any) -> None:
    """Each filter is valid if and only if it is understood."""
    assert is_parsed(where) is not any(errors_in(GENERAL, WHERE, where))


def test_every_operator_is_reported() -> None:
    """With what it takes: lists of values those that compare with several."""
    told = GENERAL["components"]["schemas"]["Operations"]["properties"]

    assert set(told) == {*OPERATORS, *ALIASES, NOT}
    assert {name for name in told if told[name].get("type") == "array"} == LIST_OPERATORS
    assert all(told[name]["description"] for name in told)
    assert [told[name]["description"] for name in OPERATORS] == [
        operator.description for operator in OPERATORS.values()
    ]


def test_every_parameter_is_reported() -> None:
    """All that lists and exports know, beside the header for what one has already."""
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
def test_the_filter_of_a_worksheet_knows_its_fields(where: object, is_right: bool) -> None:
    """Other fields are refused at any depth."""
    schema = {"$ref": "#/components/schemas/CitiesWhere"}

    assert any(errors_in(OF_CITIES, schema, where)) is not is_right


def test_orders_and_keys_name_the_fields() -> None:
    """Both ways round, with the row number."""
    told = parameters(OF_CITIES)
    names = ["rowIndex", "name", "state", "country", "population"]

    assert told["keys"]["schema"]["items"] == {"$ref": "#/components/schemas/CitiesField"}
    assert OF_CITIES["components"]["schemas"]["CitiesField"]["enum"] == names
    assert resolved(OF_CITIES, told["order"]["schema"]["items"])["enum"] == [
        term for name in names for term in (name, f"-{name}")
    ]


def test_what_no_order_can_name_is_not_in_its_terms() -> None:
    """A comma parts terms, and a minus in front turns one round."""
    told = document(reach(), worksheet("Odd", "a,b", "-c", " -d", "e-f"))
    terms = told["components"]["schemas"]["OddOrder"]["enum"]

    assert terms == ["rowIndex", "-rowIndex", "e-f", "-e-f"]
    query = parse_query(asking_of({"order": [",".join(terms[1:3])]}), max_limit=1)
    assert [term.field for term in query.order] == ["rowIndex", "e-f"]


def test_a_plan_without_filters_has_none() -> None:
    """Neither the parameters nor their schemas."""
    told = document(reach(plan=PlanSettings(where_and_order=False)), CITIES)

    assert not {"where", "order"} & set(parameters(told))
    assert not {"CitiesWhere", "Operand", "Operations"} & set(told["components"]["schemas"])


@pytest.mark.parametrize("most", [5, 100, 1000])
def test_the_limit_is_the_plans(most: int) -> None:
    """Its maximum, and its default where that is less than what is usual."""
    told = document(reach(plan=PlanSettings(max_limit=most, max_export_rows=0)), CITIES)
    schema = parameters(told)["limit"]["schema"]

    assert (schema["maximum"], schema["default"]) == (most, min(24, most))
    assert "maximum" not in parameters(GENERAL, "/v2/sheets/{sheetName}")["limit"]["schema"]
