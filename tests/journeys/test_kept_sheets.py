"""Worksheets as people keep them, on the emulator: checkboxes and formulas filled down."""

from collections.abc import Iterator, Mapping

import pytest

from gateway.access.issue import KeyRequest
from gateway.storage.key_store import Grants
from tests.journeys.conftest import DEMO, Api, make_keys, running_emulator, running_gateways
from tests.kept_sheets import GUESTS, ORDERS, TASKS, KeptSheet, write_kept_sheets

FILLED_ROWS = 200
SETTINGS: Mapping[str, object] = {
    "plans.paid.deletes": True,
    "worksheets": [
        {"spreadsheet": "demo", "title": TASKS.title, "header_row": TASKS.header_row},
        {"spreadsheet": "demo", "title": ORDERS.title, "record_field": ORDERS.record_field},
    ],
}
FILLED = [TASKS, ORDERS, GUESTS]
READS = {TASKS.title: 2, ORDERS.title: 1, GUESTS.title: 1}
"""Reads of a list: only booleans need the typed rendering."""


@pytest.fixture(scope="module")
def gateways(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """A gateway on an emulator with the worksheets in the spreadsheet `demo`."""
    folder = tmp_path_factory.mktemp("kept")
    write_kept_sheets(folder / "seed", "demo", filled_rows=FILLED_ROWS)
    request = KeyRequest(name="paid", grants=Grants(spreadsheets=DEMO, may_delete=True))
    keys = make_keys(folder, {"paid": request})
    with running_emulator(folder, {}) as emulator, running_gateways(emulator, keys) as start:
        yield start(SETTINGS)


@pytest.fixture
def api(gateways: Api) -> Api:
    gateways.emulator.reset()
    return gateways


def records_of(sheet: KeptSheet) -> list[dict[str, object]]:
    return [
        {"rowIndex": row, **{name: cells[at] or None for at, name in enumerate(sheet.fields)}}
        for row, cells in enumerate(sheet.records, sheet.header_row + 1)
    ]


@pytest.mark.parametrize("sheet", FILLED, ids=lambda sheet: sheet.title)
def test_lists_end_with_the_last_record(api: Api, sheet: KeptSheet) -> None:
    """Lists, counts, exports and rows by number know nothing of what is below."""
    listed = api.get(f"{sheet.title}?limit=100")
    reads, _ = api.emulator.calls()
    counted = api.get(f"{sheet.title}?count=true&limit=0&where={{}}")
    exported = api.get(f"{sheet.title}?format=ndjson")
    rows = [api.get(f"{sheet.title}/{sheet.end_row + at}").status_code for at in (-1, 0, 1, 90)]

    assert listed.json() == {"results": records_of(sheet), "hasNextPage": False}
    assert reads == READS[sheet.title]
    assert counted.json()["total"] == len(sheet.records)
    assert len(exported.text.splitlines()) == len(sheet.records)
    assert rows == [200, 404, 404, 404]


@pytest.mark.parametrize("sheet", FILLED, ids=lambda sheet: sheet.title)
def test_writes_leave_what_is_filled_down_alone(api: Api, sheet: KeptSheet) -> None:
    """Writes by number and by filter find no row below the last record."""
    name, before = sheet.fields[0], api.emulator.texts(sheet.title)
    last = f"{sheet.title}/{sheet.end_row - 1}"

    below = api.send("PUT", f"{sheet.title}/{sheet.end_row}", json={name: "x"})
    blank = api.send("DELETE", f'{sheet.title}?where={{"{name}":null}}')
    updated = api.send("PUT", last, json={name: "New"})
    deleted = api.send("DELETE", last)

    assert (below.status_code, blank.json()["count"]) == (404, 0)
    assert (updated.status_code, deleted.status_code) == (200, 204)
    shown = api.emulator.texts(sheet.title)
    assert shown[: sheet.end_row - 2] == before[: sheet.end_row - 2]
    assert len(api.get(sheet.title).json()["results"]) == len(sheet.records) - 1
