"""batchUpdate: the basic filter of a worksheet."""

from typing import Any

import pytest

from tests.sheets_emulator.bench import Bench, message
from tests.sheets_emulator.requests_of import Request, dimension, grid_range

CRITERIA = {"hiddenValues": ["x"], "condition": {"type": "NOT_BLANK"}}


def set_filter(bench: Bench, **members: object) -> Any:
    return bench.edit({"setBasicFilter": {"filter": members}})


def shown(bench: Bench) -> Any:
    return bench.described(fields="sheets.basicFilter")["sheets"][0].get("basicFilter")


def test_filter_of_a_worksheet_is_shown_with_the_bounds_of_its_grid(bench: Bench) -> None:
    """Recorded: a range without bounds is the whole grid."""
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


def test_another_filter_takes_the_place_of_the_first(bench: Bench) -> None:
    """A worksheet has one; clearing removes it, even if there is none (recorded)."""
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
def test_criteria_are_shown_in_both_forms(bench: Bench, members: Request) -> None:
    """Google's definition: both are in answers, and the newer form goes before the older."""
    set_filter(bench, range={"sheetId": 0}, **members)
    found = shown(bench)

    assert found["criteria"] == {"1": CRITERIA}
    assert found["filterSpecs"] == [{"columnIndex": 1, "filterCriteria": CRITERIA}]


def test_colours_of_criteria_are_in_both_of_their_members(bench: Bench) -> None:
    """They are answered as all colours are."""
    set_filter(bench, range={}, criteria={"1": {"visibleForegroundColor": {"red": 0.5}}})
    half = {"red": 0.49803922}

    assert shown(bench)["criteria"]["1"] == {
        "visibleForegroundColor": half,
        "visibleForegroundColorStyle": {"rgbColor": half},
    }


def test_filter_moves_with_its_cells(bench: Bench) -> None:
    """A row inserted inside makes it larger."""
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
    """Unknown members are 400 and set no filter."""
    answer = set_filter(bench, **members)

    assert answer.status_code == 400
    assert complaint in message(answer)
    assert shown(bench) is None
