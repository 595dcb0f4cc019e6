"""Values of write requests: parsed, written to a worksheet, and counted.

Rules:
- `null` leaves its cell unchanged and is not counted. `""` empties its cell and is counted
  (recorded from Google).
- The meaning of a typed text depends on the cell's format, so texts are parsed when they are
  written.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from sheets_emulator.grid.box import Box, sized
from sheets_emulator.grid.cell import MAX_TEXT_LENGTH, Cell, CellValue, Content
from sheets_emulator.grid.entered import entered, stored
from sheets_emulator.grid.sheet import Sheet
from sheets_emulator.grid.workbook import MAX_CELLS
from sheets_emulator.protocol.message import Message
from sheets_emulator.refusal import CELL_TOO_LONG, WORKBOOK_FULL, invalid
from sheets_emulator.values.value_text import value_text

Reader = Callable[[CellValue, Content], Cell]
READERS: dict[str, Reader] = {"RAW": lambda value, _: stored(value), "USER_ENTERED": entered}

EntryRow = Sequence[CellValue]


@dataclass(frozen=True, kw_only=True)
class Entries:
    """Values to write, by row. None leaves a cell unchanged.

    `dimension` is the order in the request, ROWS or COLUMNS. `read` converts a value to a cell, and
    receives the old content of the cell.
    """

    rows: Sequence[EntryRow]
    dimension: str
    read: Reader

    @property
    def height(self) -> int:
        return len(self.rows)

    @property
    def width(self) -> int:
        return max((len(row) for row in self.rows), default=0)

    def box_at(self, top: int, left: int) -> Box:
        """Return the box that the values fill from a first cell on.

        The box has at least one cell.
        """
        return sized(top=top, left=left, height=max(self.height, 1), width=max(self.width, 1))

    def require_short(self) -> None:
        """Raise a 400 if a text is too long for a cell."""
        for row in self.rows:
            for value in row:
                if isinstance(value, str) and len(value) > MAX_TEXT_LENGTH:
                    self._require_short(self.read(value, None))

    def _require_short(self, cell: Cell) -> None:
        text = cell.formula or cell.value
        if isinstance(text, str) and len(text) > MAX_TEXT_LENGTH:
            raise invalid(CELL_TOO_LONG)


@dataclass(frozen=True, kw_only=True)
class Touched:
    """Changed cells: rows and columns as (sheet ID, index), and the number of cells."""

    rows: frozenset[tuple[int, int]]
    columns: frozenset[tuple[int, int]]
    cells: int

    def counts(self, prefix: str) -> dict[str, int]:
        """Return counts such as `updatedRows` for an answer, without zeros, as Google does."""
        counts = {"Rows": len(self.rows), "Columns": len(self.columns), "Cells": self.cells}
        return {f"{prefix}{name}": count for name, count in counts.items() if count}


def read_entries(message: Message, option: str, *, prefix: str = "") -> Entries:
    """Parse the values of a ValueRange by its `valueInputOption`. Raises a 400 for invalid values.

    `prefix` precedes the error of an invalid value.
    """
    dimension = message.text("majorDimension", "ROWS")
    complaint = f"{prefix}Invalid values"
    lines = [
        [_entry(value, complaint, row, column) for column, value in enumerate(line)]
        for row, line in enumerate(message.rows("values"))
    ]
    rows: list[EntryRow] = _transposed(lines) if dimension == "COLUMNS" else [*lines]
    while rows and not rows[-1]:
        rows.pop()
    return Entries(rows=rows, dimension=dimension, read=READERS[option])


def write_entries(sheet: Sheet, top: int, left: int, entries: Entries) -> Touched:
    """Write values from the cell at `top` and `left` on.

    Returns the changed cells. The grid must be large enough.
    """
    rows: set[tuple[int, int]] = set()
    columns: set[tuple[int, int]] = set()
    cells = 0
    for row, line in enumerate(entries.rows, start=top):
        touched = [column for column, value in enumerate(line, start=left) if value is not None]
        if touched:
            sheet.write(row, left, _cells(sheet, row, left, line, entries.read))
            rows.add((sheet.sheet_id, row))
            columns.update((sheet.sheet_id, column) for column in touched)
            cells += len(touched)
    return Touched(rows=frozenset(rows), columns=frozenset(columns), cells=cells)


def total(parts: Sequence[Touched]) -> Touched:
    """Add the changes of several writes. A row or column counts once."""
    return Touched(
        rows=frozenset[tuple[int, int]]().union(*(part.rows for part in parts)),
        columns=frozenset[tuple[int, int]]().union(*(part.columns for part in parts)),
        cells=sum(part.cells for part in parts),
    )


def _cells(
    sheet: Sheet, row: int, left: int, line: EntryRow, read: Reader
) -> Sequence[Cell | None]:
    return [
        None if value is None else read(value, sheet.content(row, column))
        for column, value in enumerate(line, start=left)
    ]


def _transposed(columns: Sequence[EntryRow]) -> list[EntryRow]:
    """Convert columns to rows. Short columns are padded with None."""
    if len(columns) * max(map(len, columns), default=0) > MAX_CELLS:
        raise invalid(WORKBOOK_FULL)
    return [*zip_longest(*columns)]


def _entry(value: object, complaint: str, row: int, column: int) -> CellValue:
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, (int, float)):
        return _double(value)
    raise invalid(f"{complaint}[{row}][{column}]: {value_text(value)}")


def _double(number: int | float) -> float:
    try:
        return float(number)
    except OverflowError as error:
        raise invalid("Invalid JSON payload received. Number is too large.") from error
