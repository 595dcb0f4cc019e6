"""The values of a writing request: read, placed in a worksheet, and counted.

Rules
- `null` leaves its cell alone and is not counted; `""` empties its cell and is (recorded).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from gateway.emulator.grid.box import Box, sized
from gateway.emulator.grid.cell import LONGEST_TEXT, Cell, CellValue
from gateway.emulator.grid.entered import entered, stored
from gateway.emulator.grid.sheet import Sheet
from gateway.emulator.protocol.message import Message
from gateway.emulator.refusal import CELL_TOO_LONG, invalid

DIMENSIONS = ("ROWS", "COLUMNS")
READERS: dict[str, Callable[[CellValue], Cell]] = {"RAW": stored, "USER_ENTERED": entered}

EntryRow = Sequence[Cell | None]


@dataclass(frozen=True, kw_only=True)
class Entries:
    """What to write, row by row; None leaves a cell alone. `dimension` is how it was sent."""

    rows: Sequence[EntryRow]
    dimension: str

    @property
    def height(self) -> int:
        return len(self.rows)

    @property
    def width(self) -> int:
        return max((len(row) for row in self.rows), default=0)

    def box_at(self, top: int, left: int) -> Box:
        """The rectangle that is written from a cell on; at least that cell."""
        return sized(top=top, left=left, height=max(self.height, 1), width=max(self.width, 1))

    def require_short(self) -> None:
        """Raise for a text that is too long for a cell."""
        for row in self.rows:
            for cell in row:
                text = (cell.formula or cell.value) if cell else None
                if isinstance(text, str) and len(text) > LONGEST_TEXT:
                    raise invalid(CELL_TOO_LONG)


@dataclass(frozen=True, kw_only=True)
class Touched:
    """What a write has touched: rows and columns are (sheet id, index)."""

    rows: frozenset[tuple[int, int]]
    columns: frozenset[tuple[int, int]]
    cells: int

    def counts(self, prefix: str) -> dict[str, int]:
        """The counts of an answer; Google leaves zeros out."""
        counts = {"Rows": len(self.rows), "Columns": len(self.columns), "Cells": self.cells}
        return {f"{prefix}{name}": count for name, count in counts.items() if count}


def read_entries(message: Message, option: str) -> Entries:
    """The values of a ValueRange under a `valueInputOption`; 400 for what no cell can hold."""
    dimension = message.choice("majorDimension", "Dimension", DIMENSIONS)
    read = READERS[option]
    lines = [
        [_entry(value, read, row, column) for column, value in enumerate(line)]
        for row, line in enumerate(message.lists("values"))
    ]
    rows: list[EntryRow] = [*zip_longest(*lines)] if dimension == "COLUMNS" else [*lines]
    while rows and not rows[-1]:
        rows.pop()
    return Entries(rows=rows, dimension=dimension)


def write_entries(sheet: Sheet, top: int, left: int, entries: Entries) -> Touched:
    """Write from a cell on; the grid must be large enough."""
    rows: set[tuple[int, int]] = set()
    columns: set[tuple[int, int]] = set()
    cells = 0
    for row, line in enumerate(entries.rows, start=top):
        touched = [column for column, cell in enumerate(line, start=left) if cell is not None]
        if touched:
            sheet.write(row, left, line)
            rows.add((sheet.sheet_id, row))
            columns.update((sheet.sheet_id, column) for column in touched)
            cells += len(touched)
    return Touched(rows=frozenset(rows), columns=frozenset(columns), cells=cells)


def total(parts: Sequence[Touched]) -> Touched:
    """Several writes as one: rows and columns that two of them touched count once."""
    return Touched(
        rows=frozenset[tuple[int, int]]().union(*(part.rows for part in parts)),
        columns=frozenset[tuple[int, int]]().union(*(part.columns for part in parts)),
        cells=sum(part.cells for part in parts),
    )


def _entry(value: object, read: Callable[[CellValue], Cell], row: int, column: int) -> Cell | None:
    if value is None:
        return None
    if isinstance(value, (str, bool)):
        return read(value)
    if isinstance(value, (int, float)):
        return read(_double(value))
    kind = "list_value" if isinstance(value, list) else "struct_value"
    raise invalid(f"Invalid values[{row}][{column}]: {kind} {{\n}}\n")


def _double(number: int | float) -> float:
    try:
        return float(number)
    except OverflowError as error:
        raise invalid("Invalid JSON payload received. Number is too large.") from error
