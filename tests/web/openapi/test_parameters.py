"""Parameters in the OpenAPI document, compared with the code that parses them."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import InvalidPath
from gateway.settings.model import PlanSettings
from gateway.table.a1 import is_spreadsheet_id
from gateway.web.head import parse_row
from gateway.web.idempotency import parse_key
from gateway.web.openapi.parameters import IDEMPOTENCY_KEYS, LARGEST_ROW, SPREADSHEET_ID
from tests.web.openapi.conformance import resolved
from tests.web.openapi.worksheets import CITIES, document, reach

ROW_PATH = "/v2/sheets/Cities/{rowIndex}"


def shared(told: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that all worksheets share, by parameter name."""
    return {each["name"]: each for each in told["components"]["parameters"].values()}


def test_the_largest_row_number() -> None:
    """The documented largest row number is valid in a path, and the next number is not."""
    assert parse_row(str(LARGEST_ROW)) == LARGEST_ROW
    with pytest.raises(InvalidPath):
        parse_row(str(LARGEST_ROW + 1))


@given(st.from_regex(IDEMPOTENCY_KEYS, fullmatch=True))
def test_the_pattern_of_idempotency_keys(key: str) -> None:
    """The gateway accepts every Idempotency-Key that matches the documented pattern."""
    assert parse_key([key]) == key


@given(st.text(st.sampled_from("aZ9-_ ./é"), max_size=4))
def test_the_pattern_of_spreadsheet_ids(text: str) -> None:
    """The documented pattern of spreadsheet IDs matches exactly the accepted IDs."""
    told = document()
    pattern = resolved(told, shared(told)[SPREADSHEET_ID]["schema"])["pattern"]

    assert bool(re.fullmatch(pattern, text)) is is_spreadsheet_id(text)


@pytest.mark.parametrize(
    ("spreadsheets", "named", "expected"),
    [
        pytest.param(frozenset({"demo"}), None, None, id="the only one, not named"),
        pytest.param(frozenset({"demo"}), "demo", (False, ["demo"]), id="the only one, named"),
        pytest.param(frozenset({"demo", "b"}), "demo", (True, ["demo"]), id="one of two"),
        pytest.param(None, "demo", (True, ["demo"]), id="one of any"),
    ],
)
def test_the_spreadsheet_parameter(
    spreadsheets: frozenset[str] | None, named: str | None, expected: object
) -> None:
    """The spreadsheet ID is required if the key has several, and is shown only if it was sent."""
    told = document(reach(spreadsheets=spreadsheets, named=named), CITIES)
    found = shared(told).get(SPREADSHEET_ID)

    assert (found and (found["required"], resolved(told, found["schema"])["enum"])) == expected


@pytest.mark.parametrize("must", [True, False])
def test_if_match_is_required_by_the_plan(must: bool) -> None:
    """`If-Match` is a required parameter if the plan has `require_if_match`."""
    told = document(reach(plan=PlanSettings(require_if_match=must)), CITIES)

    assert shared(told)["If-Match"]["required"] is must


@pytest.mark.parametrize("method", ["post", "put", "patch"])
def test_three_methods_update_a_row(method: str) -> None:
    """POST, PUT and PATCH of a row differ in the document only by `operationId`."""
    told = document(reach(), CITIES)
    item = told["paths"][ROW_PATH]
    names = [resolved(told, each)["name"] for each in item[method]["parameters"]]

    assert names == ["values", "Idempotency-Key", "If-Match"]
    assert {**item[method], "operationId": ""} == {**item["put"], "operationId": ""}
    assert len({each["operationId"] for each in item.values() if isinstance(each, dict)}) == 4
