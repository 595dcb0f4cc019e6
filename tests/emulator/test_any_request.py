"""Whatever JSON a request about worksheets holds, the answer is one of the API's."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.discovery_schema import document
from tests.emulator.bench import Bench

KINDS = (
    *("addSheet", "deleteSheet", "duplicateSheet", "updateSheetProperties"),
    *("updateSpreadsheetProperties", "appendDimension", "insertDimension", "deleteDimension"),
    *("moveDimension", "updateDimensionProperties", "autoResizeDimensions", "addDimensionGroup"),
    *("deleteDimensionGroup", "updateDimensionGroup", "addNamedRange", "updateNamedRange"),
    *("deleteNamedRange", "addProtectedRange", "updateProtectedRange", "deleteProtectedRange"),
    *("setBasicFilter", "clearBasicFilter"),
)
MASKS = ["*", "name", "range", "title", "index", "gridProperties", "a(b", "editors", "collapsed"]
NUMBERS = st.sampled_from([0, 1, 2, 3, 5, 6, 7, -1, 2**31 - 1, 1.5])
SCALARS = {
    "string": st.sampled_from(["", "x", "Data", "Total", "n", "A1", *MASKS]),
    "integer": NUMBERS,
    "number": st.floats(-2, 2),
    "boolean": st.booleans(),
}
START_INDEX = st.sampled_from([0, 0, 1, 2, 3, 4, 5, -1])
END_INDEX = st.sampled_from([1, 2, 3, 3, 4, 5, 5, 6, 0])
LIKELY: dict[str, st.SearchStrategy[Any]] = {  # by the name of the field
    "sheetId": st.sampled_from([0, 0, 0, 7, 9]),
    "sourceSheetId": st.sampled_from([0, 0, 7, 9]),
    "namedRangeId": st.sampled_from(["n", "n", "x"]),
    "protectedRangeId": st.sampled_from([7, 7, 9]),
    "dimension": st.sampled_from(["ROWS", "COLUMNS"]),
    "fields": st.sampled_from(["*", "*", *MASKS]),
    "depth": st.sampled_from([1, 2]),
    **dict.fromkeys(("startIndex", "startRowIndex", "startColumnIndex"), START_INDEX),
    **dict.fromkeys(("endIndex", "endRowIndex", "endColumnIndex"), END_INDEX),
    **dict.fromkeys(("tableId", "dataSourceSheetRange", "sortSpecs"), st.none()),
    **dict.fromkeys(("dataSourceSheetDimensions", "dataSourceSheetProperties"), st.none()),
}
NEEDED = (
    *("fields", "dimension", "startIndex", "endIndex", "namedRangeId", "protectedRangeId"),
    *("range", "source", "dimensions", "dimensionGroup", "namedRange", "properties", "filter"),
)
OUTCOMES = (200, 400, 501)
START: list[dict[str, Any]] = [  # one of everything that a request may be about
    {"addNamedRange": {"namedRange": {"namedRangeId": "n", "name": "Total", "range": {}}}},
    {"addProtectedRange": {"protectedRange": {"protectedRangeId": 7, "namedRangeId": "n"}}},
    {
        "addDimensionGroup": {
            "range": {"sheetId": 0, "dimension": "ROWS", "startIndex": 1, "endIndex": 3}
        }
    },
    {"setBasicFilter": {"filter": {"range": {"startRowIndex": 1}}}},
    {"addSheet": {"properties": {"sheetId": 7, "title": "x"}}},
]


def values_of(described: dict[str, Any], depth: int = 0) -> st.SearchStrategy[Any]:
    """Values that a part of Google's definition allows, most of them at odds with the data."""
    if "$ref" in described:
        members = document()["schemas"][described["$ref"]].get("properties", {})
        if depth > 5:
            return st.just({})
        told = {name: LIKELY.get(name, values_of(members[name], depth + 1)) for name in members}
        needed = {name: each for name, each in told.items() if name in NEEDED}
        rest = {name: each for name, each in told.items() if name not in NEEDED}
        return st.fixed_dictionaries(needed, optional=rest)
    if "items" in described:
        return st.lists(values_of(described["items"], depth + 1), max_size=2)
    if "enum" in described:
        return st.sampled_from(described["enum"])
    if described["type"] in SCALARS:
        return SCALARS[described["type"]]
    return st.dictionaries(st.sampled_from(["0", "1", "x"]), st.just({}), max_size=2)


def anything() -> st.SearchStrategy[Any]:
    """Any JSON value."""
    leaves = st.none() | st.booleans() | NUMBERS | st.text(max_size=5)
    return st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["sheetId", "range", "fields", "x"]), inner, max_size=3
            )
        ),
        max_leaves=6,
    )


@pytest.mark.parametrize("kind", KINDS)
@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_any_request_is_answered_as_the_api_answers(
    bench: Bench, kind: str, data: st.DataObject
) -> None:
    """It is done, refused or not covered, and what it left behind can be read."""
    request = document()["schemas"]["Request"]["properties"][kind]
    likely = values_of(request)
    body = data.draw(st.one_of(likely, likely, likely, anything()))
    bench.client.post("/_emulator/reset")
    assert bench.edit(*START).status_code == 200
    answer = bench.edit({kind: body})
    after = bench.call("GET", "/v4/spreadsheets/book", includeGridData="true")

    assert answer.status_code in OUTCOMES, json.dumps(body)
    assert after.status_code == 200
