"""People who edit worksheets directly at Google, by hand and with scripts."""

import json
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

from sheets_emulator.grid.workbook import Workbook
from tests.journeys.conftest import EmulatorControl
from tests.sheets_emulator.crash import Client, connected
from tests.simulation.stage import SPREADSHEET
from tests.simulation.witness import texts_of

CORRECTED = " (corrected)"
HABITS: Mapping[str, int] = {
    "add a row": 3,
    "append by script": 3,
    "sort": 2,
    "delete rows": 2,
    "insert a row": 2,
    "correct": 4,
}
"""Weights of the kinds of edits that a person makes."""
SCRIPT: Mapping[str, int] = {"add a row": 1, "append by script": 1}
RETYPING: Mapping[str, int] = {"retype": 1}
RETYPED_ROWS = 3
Edit = Mapping[str, Any]


class Screen(Protocol):
    """The spreadsheet as a person sees it."""

    @property
    def workbook(self) -> Workbook | None: ...


@dataclass(kw_only=True)
class Person:
    """A person who edits worksheets; `truth` is the spreadsheet that the person sees.

    With `moves_columns` an edit can move a column. With `swaps_tabs` an edit can exchange the
    titles of worksheets, sometimes with a temporary title in between.
    """

    url: str
    credentials: Path
    truth: Screen
    chance: random.Random
    moves_columns: bool = False
    swaps_tabs: bool = False
    habits: Mapping[str, int] = field(default_factory=lambda: HABITS)
    leaves_blank: frozenset[str] = frozenset()
    """Fields that are empty in half of the rows that this person adds."""
    header_row: int = 1
    """Number of the header row. People edit neither this row nor the rows above."""
    columns: int | None = None
    """Number of columns that this person edits, if other columns are filled down; None for all.

    The person then adds rows above the rows that contain only filled-down columns.
    """
    sheets: Sequence[tuple[int, str]] = ()
    """Sheet ID and title of each worksheet."""

    def arrive(self) -> None:
        """Read the worksheets' IDs and titles, before faults begin."""
        sheets = self._send("GET", "?fields=sheets.properties(sheetId,title)")["sheets"]
        self.sheets = [
            (sheet["properties"].get("sheetId", 0), sheet["properties"]["title"])
            for sheet in sheets
        ]

    def move_column(self) -> None:
        """Move the last column to the second position, in all worksheets."""
        self._edit(self._last_column_moved(sheet_id) for sheet_id, _ in self.sheets)

    def do_something(self, number: int) -> None:
        """Edit one random worksheet; `number` identifies a row that the edit adds."""
        sheet_id, title = self.chance.choice(self.sheets)
        habits = {
            **self.habits,
            "move a column": 2 * self.moves_columns,
            "swap tabs": 8 * self.swaps_tabs,
        }
        edits: Mapping[str, Callable[[int, str, int], None]] = {
            "add a row": self._add_row,
            "append by script": self._append_by_script,
            "sort": self._sort,
            "delete rows": self._delete_rows,
            "insert a row": self._insert_row,
            "correct": self._correct,
            "retype": self._retype,
            "move a column": self._move_column,
            "swap tabs": self._swap_tabs,
        }
        edit = edits[self.chance.choices([*habits], [*habits.values()])[0]]
        # Another person can have changed the worksheet since this person read it.
        with suppress(AssertionError):
            edit(sheet_id, title, number)

    def _move_column(self, sheet_id: int, _: str, __: int) -> None:
        self._edit([self._last_column_moved(sheet_id)])

    def edit_on_the_way(self) -> Mapping[str, Any]:
        """Return an edit that Google accepts at any time.

        The edit sorts one worksheet or all, inserts a row at the top, or exchanges titles.
        """
        sheets = self.chance.choice([[self.chance.choice(self.sheets)], self.sheets])
        requests: list[Mapping[str, Any]] = []
        match self.chance.choices(["sort", "insert", "swap"], [6, 2, 2 * self.swaps_tabs])[0]:
            case "sort":
                for sheet_id, _ in sheets:  # Google rejects a sort of an empty range
                    requests += [_row_at_the_end(sheet_id), self._sorting(sheet_id)]
            case "insert":
                requests = [_row_below(sheet_id, self.header_row) for sheet_id, _ in sheets]
            case _:
                requests = self._renaming()
        return {"requests": requests}

    def _swap_tabs(self, sheet_id: int, _: str, __: int) -> None:
        if self.chance.random() < 0.3:
            self._edit([_renamed(sheet_id, f"Away {sheet_id}")])
            time.sleep(self.chance.uniform(0.0, 0.3))
        self._edit(self._renaming())

    def _renaming(self) -> list[Mapping[str, Any]]:
        """Return requests that exchange the worksheets' titles, whatever the titles are now."""
        ids = [sheet_id for sheet_id, _ in self.sheets]
        titles = self.chance.sample([title for _, title in self.sheets], len(ids))
        return [
            *(_renamed(sheet_id, f"Moving {sheet_id}") for sheet_id in ids),
            *(_renamed(sheet_id, title) for sheet_id, title in zip(ids, titles, strict=True)),
        ]

    def _add_row(self, sheet_id: int, _: str, number: int) -> None:
        """Add a row below the last one."""
        values = [_typed(text) if text else {} for text in self._row(sheet_id, number)]
        if self.columns is not None:
            filled = [row for row, texts in enumerate(self._rows(sheet_id)) if any(texts)]
            place = {"sheetId": sheet_id, "rowIndex": max(filled) + self.header_row}
            rows = [{"values": values}]
            self._edit(
                [{"updateCells": {"start": place, "rows": rows, "fields": "userEnteredValue"}}]
            )
            return
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
        self._send(
            "POST", f"/values/{quote(title)}!A{self.header_row}:append?{way}", {"values": [row]}
        )

    def _sort(self, sheet_id: int, _: str, __: int) -> None:
        self._edit([self._sorting(sheet_id)])

    def _sorting(self, sheet_id: int) -> Mapping[str, Any]:
        order = self.chance.choice(["ASCENDING", "DESCENDING"])
        rows = {"sheetId": sheet_id, "startRowIndex": self.header_row}
        specs = [{"dimensionIndex": 0, "sortOrder": order}]
        return {"sortRange": {"range": rows, "sortSpecs": specs}}

    def _delete_rows(self, sheet_id: int, _: str, __: int) -> None:
        rows = self._rows(sheet_id)
        if len(rows) > 2:
            first = self.chance.randrange(1, len(rows))
            last = min(first + self.chance.randint(1, 2), len(rows)) + self.header_row - 1
            first += self.header_row - 1
            self._edit([{"deleteDimension": {"range": _lines(sheet_id, "ROWS", first, last)}}])

    def _insert_row(self, sheet_id: int, _: str, __: int) -> None:
        at = self.chance.randrange(1, max(2, len(self._rows(sheet_id))))
        first = at + self.header_row - 1
        lines = _lines(sheet_id, "ROWS", first, first + 1)
        self._edit([{"insertDimension": {"range": lines, "inheritFromBefore": at > 1}}])

    def _correct(self, sheet_id: int, _: str, __: int) -> None:
        """Append a word to a cell."""
        cells = [
            (row, column, text)
            for row, texts in enumerate(self._rows(sheet_id))
            for column, text in enumerate(texts)
            if row and text and not text.endswith(CORRECTED)
        ]
        if not cells:
            return
        row, column, text = self.chance.choice(cells[-30:])
        row += self.header_row - 1
        self._edit([_written(sheet_id, row, column, text + CORRECTED)])

    def _retype(self, sheet_id: int, _: str, number: int) -> None:
        """Write another name into some rows at once."""
        rows = self._rows(sheet_id)
        column = rows[0].index("name")
        chosen = self.chance.sample(range(1, len(rows)), RETYPED_ROWS)
        above = self.header_row - 1
        self._edit(_written(sheet_id, row + above, column, f"name:{number}") for row in chosen)

    def _last_column_moved(self, sheet_id: int) -> Mapping[str, Any]:
        columns = len(self._rows(sheet_id)[0])
        source = _lines(sheet_id, "COLUMNS", columns - 1, columns)
        return {"moveDimension": {"source": source, "destinationIndex": 1}}

    def _rows(self, sheet_id: int) -> list[list[str]]:
        """Return the rows from the header on."""
        sheet = self.truth.workbook and self.truth.workbook.numbered(sheet_id)
        rows = texts_of(sheet)[self.header_row - 1 :] if sheet else []
        return [cells[: self.columns] for cells in rows]

    def _row(self, sheet_id: int, number: int) -> list[str]:
        header = self._rows(sheet_id)[0]
        blank = self.leaves_blank if self.leaves_blank and self.chance.random() < 0.5 else ()
        # A native table names unnamed columns, such as `Column 3`. No client reads these columns.
        names = ["" if name.startswith("Column ") else name for name in header]
        return [f"{name}:{number}" if name and name not in blank else "" for name in names]

    def _edit(self, requests: Iterable[Mapping[str, Any]]) -> None:
        self._send("POST", ":batchUpdate", {"requests": list(requests)})

    def _send(self, method: str, rest: str, body: object = None) -> Any:
        with person_at(self.url, self.credentials, SPREADSHEET) as client:
            return client.send(method, rest, body)


def _typed(text: str) -> Mapping[str, Any]:
    return {"userEnteredValue": {"stringValue": text}}


def _written(sheet_id: int, row: int, column: int, text: str) -> Edit:
    """Return the edit that writes a text into a cell; row and column count from 0."""
    start = {"sheetId": sheet_id, "rowIndex": row, "columnIndex": column}
    rows = [{"values": [_typed(text)]}]
    return {"updateCells": {"start": start, "rows": rows, "fields": "userEnteredValue"}}


def _lines(sheet_id: int, dimension: str, first: int, end: int) -> Mapping[str, Any]:
    return {"sheetId": sheet_id, "dimension": dimension, "startIndex": first, "endIndex": end}


def _row_below(sheet_id: int, row: int) -> Mapping[str, Any]:
    """Return the request that inserts a row below another row."""
    return {"insertDimension": {"range": _lines(sheet_id, "ROWS", row, row + 1)}}


def _row_at_the_end(sheet_id: int) -> Mapping[str, Any]:
    return {"appendDimension": {"sheetId": sheet_id, "dimension": "ROWS", "length": 1}}


def _renamed(sheet_id: int, title: str) -> Mapping[str, Any]:
    properties = {"sheetId": sheet_id, "title": title}
    return {"updateSheetProperties": {"properties": properties, "fields": "title"}}


def writing(emulator: EmulatorControl, worksheet: str, row: int, column: int, text: str) -> Edit:
    """Return the edit that writes a text into a cell; row and column count from 1."""
    sheet_id = list(emulator.everything()).index(worksheet)
    return {"requests": [_written(sheet_id, row - 1, column - 1, text)]}


def make(emulator: EmulatorControl, edit: Edit) -> None:
    """Apply the edit to the emulator now."""
    with person_at(emulator.url, emulator.credentials, emulator.spreadsheet) as client:
        client.send("POST", ":batchUpdate", edit)


@contextmanager
def person_at(url: str, credentials: Path, spreadsheet: str) -> Iterator[Client]:
    """Yield a person's connection to a spreadsheet of the emulator."""
    account = json.loads(credentials.read_text(encoding="utf-8"))
    client = connected(url, account, spreadsheet)
    with closing(client.connection):
        yield client
