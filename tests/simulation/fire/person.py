"""A person who works in the worksheets of a fire, past the gateway, by hand and with a script."""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

from sheets_emulator.grid.workbook import Workbook
from tests.simulation.edits import person_at
from tests.simulation.fire.orders import HEADER, SPREADSHEET
from tests.simulation.fire.truth import texts_of

CORRECTED = " (corrected)"


class Screen(Protocol):
    """What a person sees of the worksheets."""

    @property
    def workbook(self) -> Workbook | None: ...


@dataclass(kw_only=True)
class Person:
    """Somebody who edits the worksheets; `truth` is what they see of them.

    `moves_columns`: one of their edits moves a column, at any time.
    """

    url: str
    credentials: Path
    truth: Screen
    chance: random.Random
    moves_columns: bool = False
    sheets: Sequence[tuple[int, str]] = ()
    """Ids and titles."""

    def arrive(self) -> None:
        """Find out about the worksheets, before anything goes wrong."""
        sheets = self._send("GET", "?fields=sheets.properties(sheetId,title)")["sheets"]
        self.sheets = [
            (sheet["properties"].get("sheetId", 0), sheet["properties"]["title"])
            for sheet in sheets
        ]

    def move_column(self) -> None:
        """The last column becomes the second one, in all worksheets."""
        self._edit(_last_column_moved(sheet_id) for sheet_id, _ in self.sheets)

    def do_something(self, number: int) -> None:
        """Edit one worksheet; a row that is added has this number."""
        sheet_id, title = self.chance.choice(self.sheets)
        edits: Mapping[Callable[[int, str, int], None], int] = {
            self._add_row: 3,
            self._append_by_script: 3,
            self._sort: 2,
            self._delete_rows: 2,
            self._insert_row: 2,
            self._correct: 4,
            self._move_column: 2 * self.moves_columns,
        }
        edit = self.chance.choices([*edits], [*edits.values()])[0]
        # Somebody else may have changed the worksheet since it was seen.
        with suppress(AssertionError):
            edit(sheet_id, title, number)

    def _move_column(self, sheet_id: int, _: str, __: int) -> None:
        self._edit([_last_column_moved(sheet_id)])

    def _add_row(self, sheet_id: int, _: str, number: int) -> None:
        """A row below the last one."""
        values = [_typed(text) if text else {} for text in self._row(sheet_id, number)]
        self._edit(
            [
                {
                    "appendCells": {
                        "sheetId": sheet_id,
                        "rows": [{"values": values}],
                        "fields": "userEnteredValue",
                    }
                }
            ]
        )

    def _append_by_script(self, sheet_id: int, title: str, number: int) -> None:
        way = "valueInputOption=RAW&insertDataOption=INSERT_ROWS"
        row = [text or None for text in self._row(sheet_id, number)]
        self._send("POST", f"/values/{quote(title)}!A1:append?{way}", {"values": [row]})

    def _sort(self, sheet_id: int, _: str, __: int) -> None:
        order = self.chance.choice(["ASCENDING", "DESCENDING"])
        rows = {"sheetId": sheet_id, "startRowIndex": 1}
        specs = [{"dimensionIndex": 0, "sortOrder": order}]
        self._edit([{"sortRange": {"range": rows, "sortSpecs": specs}}])

    def _delete_rows(self, sheet_id: int, _: str, __: int) -> None:
        rows = self._rows(sheet_id)
        if len(rows) > 2:
            first = self.chance.randrange(1, len(rows))
            last = min(first + self.chance.randint(1, 2), len(rows))
            self._edit([{"deleteDimension": {"range": _lines(sheet_id, "ROWS", first, last)}}])

    def _insert_row(self, sheet_id: int, _: str, __: int) -> None:
        at = self.chance.randrange(1, max(2, len(self._rows(sheet_id))))
        lines = _lines(sheet_id, "ROWS", at, at + 1)
        self._edit([{"insertDimension": {"range": lines, "inheritFromBefore": at > 1}}])

    def _correct(self, sheet_id: int, _: str, __: int) -> None:
        """A word is added to a cell."""
        cells = [
            (row, column, text)
            for row, texts in enumerate(self._rows(sheet_id))
            for column, text in enumerate(texts)
            if row and text and not text.endswith(CORRECTED)
        ]
        if not cells:
            return
        row, column, text = self.chance.choice(cells[-30:])
        update = {
            "start": {"sheetId": sheet_id, "rowIndex": row, "columnIndex": column},
            "rows": [{"values": [_typed(text + CORRECTED)]}],
            "fields": "userEnteredValue",
        }
        self._edit([{"updateCells": update}])

    def _rows(self, sheet_id: int) -> list[list[str]]:
        sheet = self.truth.workbook and self.truth.workbook.numbered(sheet_id)
        return texts_of(sheet) if sheet else []

    def _row(self, sheet_id: int, number: int) -> list[str]:
        header = self._rows(sheet_id)[0]
        return [f"{name}:{number}" if name else "" for name in header]

    def _edit(self, requests: Iterable[Mapping[str, Any]]) -> None:
        self._send("POST", ":batchUpdate", {"requests": list(requests)})

    def _send(self, method: str, rest: str, body: object = None) -> Any:
        with person_at(self.url, self.credentials, SPREADSHEET) as client:
            return client.send(method, rest, body)


def _typed(text: str) -> Mapping[str, Any]:
    return {"userEnteredValue": {"stringValue": text}}


def _lines(sheet_id: int, dimension: str, first: int, end: int) -> Mapping[str, Any]:
    return {"sheetId": sheet_id, "dimension": dimension, "startIndex": first, "endIndex": end}


def _last_column_moved(sheet_id: int) -> Mapping[str, Any]:
    return {
        "moveDimension": {
            "source": _lines(sheet_id, "COLUMNS", len(HEADER) - 1, len(HEADER)),
            "destinationIndex": 1,
        }
    }
