"""A script that appends rows through the Sheets API, past all gateways."""

import random
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from threading import Event
from typing import Any

from tests.simulation.edits import person_at
from tests.simulation.fire.orders import FIRST_VISITED
from tests.simulation.shared_sheet.sheet import (
    HEADER,
    SPREADSHEET,
    TITLE,
    cells_of,
    sparse_row,
)

APPEND = f"/values/{TITLE}!A1:append?valueInputOption=RAW&insertDataOption=INSERT_ROWS"


def append_until(
    is_over: Event, url: str, credentials: Path, *, pause_seconds: float, seed: int
) -> int:
    """Append row after row, by both calls that can; how many there were.

    `values.append` inserts below the table at A1, and so moves the rows that do not touch it;
    `appendCells` appends below all rows.
    """
    chance = random.Random(seed)  # noqa: S311 - no secret
    with person_at(url, credentials, SPREADSHEET) as script:
        for number in count(FIRST_VISITED):
            if is_over.wait(2 * pause_seconds * chance.random()):
                return number - FIRST_VISITED
            if chance.random() < 0.5:
                cells = cells_of(sparse_row(chance, number, is_left=True))
                script.send("POST", APPEND, {"values": [[text or None for text in cells]]})
            else:
                cells = cells_of(sparse_row(chance, number))
                script.send("POST", ":batchUpdate", _append_cells(cells))
    raise AssertionError


def edit_on_the_way(chance: random.Random) -> Mapping[str, Any]:
    """An edit that is always possible: all rows are sorted, or there is a new one on top."""
    if chance.random() < 0.25:
        lines = {"sheetId": 0, "dimension": "ROWS", "startIndex": 1, "endIndex": 2}
        return {"requests": [{"insertDimension": {"range": lines}}]}
    order = chance.choice(["ASCENDING", "DESCENDING"])
    column = chance.choice([HEADER.index("id"), HEADER.index("code")])
    specs = [{"dimensionIndex": column, "sortOrder": order}]
    rows = {"sheetId": 0, "startRowIndex": 1}
    return {"requests": [{"sortRange": {"range": rows, "sortSpecs": specs}}]}


def _append_cells(cells: Sequence[str]) -> Mapping[str, Any]:
    values = [{"userEnteredValue": {"stringValue": text}} if text else {} for text in cells]
    rows = [{"values": values}]
    append = {"sheetId": 0, "rows": rows, "fields": "userEnteredValue"}
    return {"requests": [{"appendCells": append}]}
