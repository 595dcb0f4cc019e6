"""What a person does to the demo workbook while it is read, as requests of a batchUpdate."""

import json
from collections.abc import Mapping
from contextlib import closing
from typing import Any

from tests.journeys.conftest import EmulatorControl
from tests.sheets_emulator.crash import connected

Edit = Mapping[str, Any]


def writing(emulator: EmulatorControl, worksheet: str, row: int, column: int, text: str) -> Edit:
    """A text goes into a cell; row and column count from 1."""
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
    account = json.loads(emulator.credentials.read_text(encoding="utf-8"))
    client = connected(emulator.url, account, "demo")
    with closing(client.connection):
        client.send("POST", ":batchUpdate", edit)
