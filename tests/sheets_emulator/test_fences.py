"""Fences: metadata with an id chosen by the client, so that a batch is applied at most once."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sheets_emulator.app import EmulatorOptions, create_emulator
from tests.sheets_emulator.bench import Bench, message, write_seed
from tests.sheets_emulator.held_clock import HeldClock, Traffic
from tests.sheets_emulator.kept import created, running_on
from tests.sheets_emulator.metadata_of import by, create, delete, found, row, values
from tests.sheets_emulator.requests_of import dimension

CALL = "spreadsheets.batchUpdate"
REFUSED = "Invalid requests[0].createDeveloperMetadata: "


def appended(text: str) -> dict[str, Any]:
    """An appendCells request of one cell."""
    cells = [{"userEnteredValue": {"stringValue": text}}]
    return {"appendCells": {"rows": [{"values": cells}], "fields": "userEnteredValue"}}


def status_of(bench: Bench, *requests: dict[str, Any]) -> int | None:
    """The status of a batchUpdate, or None if the connection closes before the answer ends."""
    with suppress(ConnectionAbortedError):
        return bench.edit(*requests).status_code
    return None


def test_a_batch_with_a_fence_answers_the_resulting_rows(bench: Bench) -> None:
    """One batch creates a fence (metadata), writes rows, and its answer has the new rows."""
    bench.update("Data!A1", [["name"], ["a"], ["b"], ["c"]])
    bench.edit(create(6))
    changed = {
        "start": {"rowIndex": 3},
        "rows": [{"values": [{"userEnteredValue": {"stringValue": "C"}}]}],
        "fields": "userEnteredValue",
    }
    body = {
        "requests": [
            create(7),
            appended("d"),
            {"updateCells": changed},
            dimension("deleteDimension", "ROWS", 1, 2),
            delete(metadataId=6),
        ],
        "includeSpreadsheetInResponse": True,
        "responseRanges": ["Data!1:1", "Data!A2:ZZ"],
    }
    fields = "updatedSpreadsheet.sheets.data(startRow,rowData.values.formattedValue)"
    answer = bench.call("POST", "/v4/spreadsheets/book:batchUpdate", body, fields=fields).json()

    def line(text: str) -> dict[str, Any]:
        return {"values": [{"formattedValue": text}]}

    assert answer["updatedSpreadsheet"]["sheets"][0]["data"] == [
        {"rowData": [line("name")]},
        {"startRow": 1, "rowData": [line("b"), line("C"), line("d")]},
    ]
    assert [each["metadataId"] for each in found(bench, by())] == [7]


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param({"status": 503}, id="503"),
        pytest.param({"status": 502, "text": "<html>"}, id="page of a front end"),
        pytest.param({"truncate": 9}, id="torn answer"),
        pytest.param({"drop": True}, id="lost answer"),
    ],
)
def test_a_copy_of_an_applied_batch_gets_400(bench: Bench, fault: dict[str, Any]) -> None:
    """Sending an applied batch again gets 400, because the metadata id is used."""
    bench.fault({"call": CALL, "apply": True, **fault})
    status_of(bench, create(7), appended("x"))
    second = bench.edit(create(7), appended("x"))

    assert second.status_code == 400
    assert message(second).startswith(REFUSED)
    assert values(bench, by(metadataId=7)) == ["token"]
    assert bench.grid("Data") == [["x"]]


def test_a_used_id_stops_a_late_batch(bench: Bench) -> None:
    """A late batch has no effect if other metadata used its id in the meantime."""
    bench.fault({"call": CALL, "late_ms": 5000})
    bench.edit(create(7), appended("x"))
    bench.edit(create(7, "burned"))
    bench.clock.advance(6)

    assert values(bench, by(metadataId=7)) == ["burned"]
    assert bench.grid("Data") == []


async def test_one_of_two_concurrent_copies_takes_effect(tmp_path: Path) -> None:
    """Of two concurrent copies of a batch, the second gets 400 and has no effect."""
    clock = HeldClock()
    seed = write_seed(tmp_path, {"book/Data.csv": "head\n"})
    emulator = create_emulator(EmulatorOptions(seed=seed, latency_ms=100), timing=clock.timing())
    traffic = Traffic(emulator=emulator, clock=clock)
    copies = [traffic.edit(create(7), appended("x")) for _ in range(2)]
    await clock.advance(200)
    answers = [copy.read() for copy in copies]

    assert "replies" in answers[0]
    assert answers[1]["error"]["message"].startswith(REFUSED)
    assert traffic.column() == ["head", "x"]


def test_fences_are_kept_after_a_restart(tmp_path: Path) -> None:
    """Metadata of the spreadsheet and of a row is the same after a restart."""
    everything = {"dataFilters": [by()]}
    with running_on(tmp_path / "book.db") as bench:
        path = f"/v4/spreadsheets/{created(bench)}"
        body = {"requests": [create(7), create(8, "row", location=row(2), visibility="PROJECT")]}
        bench.call("POST", f"{path}:batchUpdate", body)
        before = bench.call("POST", f"{path}/developerMetadata:search", everything).json()
    with running_on(tmp_path / "book.db") as bench:
        after = bench.call("POST", f"{path}/developerMetadata:search", everything).json()
        refused = bench.call("POST", f"{path}:batchUpdate", body)

    assert len(after["matchedDeveloperMetadata"]) == 2
    assert after == before
    assert refused.status_code == 400


def test_a_copied_spreadsheet_has_its_own_fences(bench: Bench) -> None:
    """A copied spreadsheet has independent copies of the metadata. A copied worksheet has none."""
    bench.edit(create(7), create(8, location={"sheetId": 0}))
    copy = bench.call("POST", "/drive/v3/files/book/copy", {"name": "copy"}).json()["id"]
    bench.edit(delete(metadataId=7))
    body = {"destinationSpreadsheetId": copy}
    bench.call("POST", "/v4/spreadsheets/book/sheets/0:copyTo", body)
    path = f"/v4/spreadsheets/{copy}/developerMetadata"
    answer = bench.call("POST", f"{path}:search", {"dataFilters": [by()]}).json()
    ids = [each["developerMetadata"]["metadataId"] for each in answer["matchedDeveloperMetadata"]]

    assert ids == [7, 8]
    assert [each["metadataId"] for each in found(bench, by())] == [8]


@pytest.mark.parametrize(
    ("status", "drop"), [(503, False), (504, False), (None, True)], ids=["503", "504", "dropped"]
)
def test_a_late_batch_update_has_no_effect_if_its_id_is_used(
    bench: Bench, status: int | None, drop: bool
) -> None:
    """The metadata id is checked when a late effect happens, not when the call is answered."""
    late = {"call": "spreadsheets.batchUpdate", "late_ms": 5000, "status": status, "drop": drop}
    bench.fault({**late, "match": "late"})
    first = {"addSheet": {"properties": {"title": "New"}}}
    answered = status_of(bench, first, create(7, "late"))
    bench.edit(create(7, "in time"))
    bench.clock.advance(6)

    assert answered == status
    assert values(bench, by(metadataId=7)) == ["in time"]
    assert [sheet["title"] for sheet in bench.sheets()] == ["Data"]


def test_a_late_batch_update_is_applied_if_its_id_is_unused(bench: Bench) -> None:
    """A late effect creates its metadata if the id is unused at that time."""
    bench.fault({"call": "spreadsheets.batchUpdate", "late_ms": 5000})
    answer = bench.edit(create(7, "late"))
    before = found(bench, by(metadataId=7))
    bench.clock.advance(6)

    assert answer.status_code == 503
    assert before == []
    assert values(bench, by(metadataId=7)) == ["late"]
