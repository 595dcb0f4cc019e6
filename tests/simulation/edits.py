"""Edits by a person, past the gateway."""

import json
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tests.journeys.conftest import EmulatorControl
from tests.sheets_emulator.crash import Client, connected

Edit = Mapping[str, Any]


def writing(emulator: EmulatorControl, worksheet: str, row: int, column: int, text: str) -> Edit:
    """A text goes into a cell of the demo workbook; row and column count from 1."""
    start = {
        "sheetId": list(emulator.everything()).index(worksheet),
        "rowIndex": row - 1,
        "columnIndex": column - 1,
    }
    rows = [{"values": [{"userEnteredValue": {"stringValue": text}}]}]
    update = {"start": start, "rows": rows, "fields": "userEnteredValue"}
    return {"requests": [{"updateCells": update}]}


def make(emulator: EmulatorControl, edit: Edit) -> None:
    """Do it now."""
    with person_at(emulator.url, emulator.credentials, "demo") as client:
        client.send("POST", ":batchUpdate", edit)


@contextmanager
def person_at(url: str, credentials: Path, spreadsheet: str) -> Iterator[Client]:
    """A person's connection to a spreadsheet of an emulator."""
    account = json.loads(credentials.read_text(encoding="utf-8"))
    client = connected(url, account, spreadsheet)
    with closing(client.connection):
        yield client
