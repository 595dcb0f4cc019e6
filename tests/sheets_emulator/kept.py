"""Emulators that run one after the other with the same database file."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from starlette.testclient import TestClient

from sheets_emulator.app import DEFAULT_OPTIONS, EmulatorOptions, create_emulator
from tests.exchanges import Recorder
from tests.sheets_emulator.bench import BASE_URL, Bench, ManualClock


@contextmanager
def running_on(
    db: Path, seed: Path | None = None, *, options: EmulatorOptions = DEFAULT_OPTIONS
) -> Iterator[Bench]:
    """Run an emulator on a database file during the block, without a reset at its start."""
    clock = ManualClock()
    emulator = create_emulator(replace(options, db=db, seed=seed), timing=clock.timing())
    credentials = db.with_suffix(".json")
    emulator.write_credentials(credentials, BASE_URL)
    account = json.loads(credentials.read_text(encoding="utf-8"))
    recorder = Recorder(app=emulator.app, faults=emulator.service.faults)
    with TestClient(recorder, base_url=BASE_URL) as client:
        bench = Bench(
            emulator=emulator, recorder=recorder, client=client, clock=clock, account=account
        )
        bench.token = bench.token_for()
        yield bench


def created(bench: Bench, title: str = "Book") -> str:
    """The id of a new spreadsheet."""
    answer = bench.call("POST", "/v4/spreadsheets", {"properties": {"title": title}})
    spreadsheet_id: str = answer.json()["spreadsheetId"]
    return spreadsheet_id


def everything(bench: Bench) -> dict[str, object]:
    """The answers to reads of all spreadsheets, by id, title and `valueRenderOption`."""
    found: dict[str, object] = {}
    for spreadsheet_id, workbook in bench.emulator.service.store.workbooks.items():
        path = f"/v4/spreadsheets/{spreadsheet_id}"
        found[spreadsheet_id] = bench.call("GET", path, includeGridData="true").json()
        for sheet in workbook.sheets:
            for option in ("FORMATTED_VALUE", "UNFORMATTED_VALUE", "FORMULA"):
                title = sheet.title.replace("'", "''")
                values = bench.values(f"'{title}'", spreadsheet_id, valueRenderOption=option)
                found[f"{spreadsheet_id}/{sheet.title}/{option}"] = values
    return found
