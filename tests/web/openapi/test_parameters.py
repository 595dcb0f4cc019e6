"""Parameters of the document, against what reads them."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import InvalidPath
from gateway.settings.plans import PlanSettings
from gateway.table.a1 import is_spreadsheet_id
from gateway.web.head import parse_row
from gateway.web.idempotency import parse_key
from gateway.web.openapi.parameters import IDEMPOTENCY_KEYS, LARGEST_ROW, SPREADSHEET_ID
from tests.web.openapi.conformance import resolved
from tests.web.openapi.worksheets import CITIES, document, reach

ROW_PATH = "/v2/sheets/Cities/{rowIndex}"


def shared(told: dict[str, Any]) -> dict[str, Any]:
    """The parameters that all worksheets share, by their names in requests."""
    return {each["name"]: each for each in told["components"]["parameters"].values()}


def test_the_largest_row_is_the_paths() -> None:
    """One more is refused."""
    assert parse_row(str(LARGEST_ROW)) == LARGEST_ROW
    with pytest.raises(InvalidPath):
        parse_row(str(LARGEST_ROW + 1))


@given(st.from_regex(IDEMPOTENCY_KEYS, fullmatch=True))
def test_idempotency_keys_are_what_they_stand_for(key: str) -> None:
    """Every one of the pattern is taken as it is."""
    assert parse_key([key]) == key


@given(st.text(st.sampled_from("aZ9-_ ./é"), max_size=4))
def test_ids_of_spreadsheets_are_those_that_are_taken(text: str) -> None:
    """The pattern is that of the gateway."""
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
def test_the_spreadsheet_is_the_one_that_was_asked_for(
    spreadsheets: frozenset[str] | None, named: str | None, expected: object
) -> None:
    """It is required if the key has several; without a request for it the ID is not shown."""
    told = document(reach(spreadsheets=spreadsheets, named=named), CITIES)
    found = shared(told).get(SPREADSHEET_ID)

    assert (found and (found["required"], resolved(told, found["schema"])["enum"])) == expected


@pytest.mark.parametrize("must", [True, False])
def test_a_plan_may_ask_for_a_condition(must: bool) -> None:
    """`If-Match` is required then."""
    told = document(reach(plan=PlanSettings(require_if_match=must)), CITIES)

    assert shared(told)["If-Match"]["required"] is must


@pytest.mark.parametrize("method", ["post", "put", "patch"])
def test_updates_take_the_same_in_three_ways(method: str) -> None:
    """All three methods have the same parameters, body and answers, and a name of their own."""
    told = document(reach(), CITIES)
    item = told["paths"][ROW_PATH]
    names = [resolved(told, each)["name"] for each in item[method]["parameters"]]

    assert names == ["values", "Idempotency-Key", "If-Match"]
    assert {**item[method], "operationId": ""} == {**item["put"], "operationId": ""}
    assert len({each["operationId"] for each in item.values() if isinstance(each, dict)}) == 4
