"""Random requests of each kind of batchUpdate."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sheets_emulator.app import EmulatorOptions
from sheets_emulator.edits.batch import KINDS
from tests.sheets_emulator.any_body import requests_of
from tests.sheets_emulator.bench import Bench, build_bench, write_seed
from tests.sheets_emulator.metadata_of import create, row

GROUPED = {"sheetId": 0, "dimension": "ROWS", "startIndex": 1, "endIndex": 3}
START: list[dict[str, Any]] = [  # an object of each type that a request can refer to
    {"addNamedRange": {"namedRange": {"namedRangeId": "n", "name": "Total", "range": {}}}},
    {"addProtectedRange": {"protectedRange": {"protectedRangeId": 7, "namedRangeId": "n"}}},
    {"addDimensionGroup": {"range": GROUPED}},
    {"setBasicFilter": {"filter": {"range": {"startRowIndex": 1}}}},
    {"addSheet": {"properties": {"sheetId": 7, "title": "x"}}},
    create(1, location=row(1)),
    {"addTable": {"table": {"tableId": "t", "range": {"sheetId": 7, "endRowIndex": 3}}}},
]
NAMES_A_GROUP = "updateDimensionGroup"  # needs the exact range of a group, which is rarely drawn


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """An emulator with some values in the worksheet `Data`."""
    folder: Path = tmp_path_factory.mktemp("requests")
    seed = write_seed(folder / "seed", {"book/Data.csv": "a,1,x y,,\nb,2,,,\n,,,,\n,,,,\n,,,,\n"})
    built = build_bench(folder, EmulatorOptions(seed=seed))
    with built.client:
        yield built


def status_of(bench: Bench, request: object) -> int:
    """The status of a request about a spreadsheet that has names, groups, tables and metadata."""
    bench.client.post("/_emulator/reset")
    assert bench.edit(*START).status_code == 200
    body = {"requests": [request]}
    return bench.call("POST", "/v4/spreadsheets/book:batchUpdate", body).status_code


@pytest.mark.parametrize("kind", sorted(KINDS))
@settings(max_examples=15)
@given(data=st.data())
def test_any_request_gets_a_status_of_the_api(bench: Bench, kind: str, data: st.DataObject) -> None:
    """Each request gets 200, 400 or 501, and the spreadsheet can be read afterwards."""
    request = data.draw(requests_of(kind, is_wild=data.draw(st.booleans())))
    status = status_of(bench, request)
    after = bench.call("GET", "/v4/spreadsheets/book", includeGridData="true")

    assert status in (200, 400, 501), json.dumps(request)
    assert after.status_code == 200


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {NAMES_A_GROUP}))
def test_some_requests_of_each_kind_take_effect(bench: Bench, kind: str) -> None:
    """At least one random request of each kind gets 200."""
    statuses: list[int] = []

    @settings(max_examples=40, derandomize=True, database=None)
    @given(request=requests_of(kind, is_wild=False))
    def draw(request: object) -> None:
        statuses.append(status_of(bench, request))

    draw()

    assert 200 in statuses
