"""Tests of requests that set and clear the basic filter of a worksheet."""

from typing import Any

import pytest

from tests.sheets_emulator.bench import Bench, message
from tests.sheets_emulator.requests_of import Request, dimension, grid_range

CRITERIA = {"hiddenValues": ["x"], "condition": {"type": "NOT_BLANK"}}


def set_filter(bench: Bench, **members: object) -> Any:
    return bench.edit({"setBasicFilter": {"filter": members}})


def shown(bench: Bench) -> Any:
    return bench.described(fields="sheets.basicFilter")["sheets"][0].get("basicFilter")


def test_filter_without_bounds_is_returned_with_the_bounds_of_the_grid(bench: Bench) -> None:
    """A filter range that has only a sheet ID covers the whole grid (recorded from Google)."""
    answer = set_filter(bench, range={"sheetId": 0})

    assert answer.json()["replies"] == [{}]
    assert shown(bench) == {
        "range": {
            "startRowIndex": 0,
            "endRowIndex": 5,
            "startColumnIndex": 0,
            "endColumnIndex": 5,
        }
    }


def test_a_new_filter_replaces_the_old_one(bench: Bench) -> None:
    """Clearing succeeds even if a worksheet has no filter (recorded from Google)."""
    set_filter(bench, range={"sheetId": 0})
    set_filter(bench, range=grid_range(0, 1, 2, 3))
    second = shown(bench)["range"]
    clear = {"clearBasicFilter": {"sheetId": 0}}
    statuses = [bench.edit(clear).status_code for _ in range(2)]

    assert second["startColumnIndex"] == 1
    assert statuses == [200, 200]
    assert shown(bench) is None


@pytest.mark.parametrize(
    "members",
    [
        {"criteria": {"1": CRITERIA}},
        {"filterSpecs": [{"columnIndex": 1, "filterCriteria": CRITERIA}]},
        {
            "criteria": {"2": {}},
            "filterSpecs": [{"columnIndex": 1, "filterCriteria": CRITERIA}],
        },
    ],
)
def test_criteria_are_returned_in_both_forms(bench: Bench, members: Request) -> None:
    """Answers have `criteria` and `filterSpecs`. If a request has both, `filterSpecs` wins."""
    set_filter(bench, range={"sheetId": 0}, **members)
    found = shown(bench)

    assert found["criteria"] == {"1": CRITERIA}
    assert found["filterSpecs"] == [{"columnIndex": 1, "filterCriteria": CRITERIA}]


def test_a_colour_of_criteria_is_returned_in_both_fields(bench: Bench) -> None:
    """`visibleForegroundColor` is rounded to 8 bits and also returned in its `Style` field."""
    set_filter(bench, range={}, criteria={"1": {"visibleForegroundColor": {"red": 0.5}}})
    half = {"red": 0.49803922}

    assert shown(bench)["criteria"]["1"] == {
        "visibleForegroundColor": half,
        "visibleForegroundColorStyle": {"rgbColor": half},
    }


def test_filter_range_follows_its_cells(bench: Bench) -> None:
    """A row inserted inside the filter's range extends the range by one row."""
    set_filter(bench, range=grid_range(0, 1, 2, 3))
    bench.edit(dimension("insertDimension", "ROWS", 1, 2))

    assert shown(bench)["range"]["endRowIndex"] == 3


@pytest.mark.parametrize(
    ("members", "complaint"),
    [
        pytest.param({}, "Must specify a range", id="no range"),
        pytest.param({"range": {"sheetId": 9}}, "No grid with id: 9", id="no worksheet"),
        pytest.param({"range": {}, "criteria": {"A": {}}}, "by column", id="no column"),
        pytest.param({"range": {}, "criteria": {"1": {"hide": 1}}}, "Unknown name", id="unknown"),
        pytest.param({"range": {}, "spec": 1}, "Unknown name", id="unknown member"),
    ],
)
def test_malformed_filter_is_refused(bench: Bench, members: Request, complaint: str) -> None:
    """A filter with a missing range, an unknown sheet, column or field gets 400 and is not set."""
    answer = set_filter(bench, **members)

    assert answer.status_code == 400
    assert complaint in message(answer)
    assert shown(bench) is None
