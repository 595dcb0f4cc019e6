"""An in-memory `Sheets`, for tests of what stands on one.

Rules: it does what Google was seen to do; where that is not known, the docstring says "assumed".
It reads ranges by itself, so that a mistake of the gateway's own A1 code shows. Rows and columns
count from 1, boxes include both ends. A call acts in one piece, between two chances for others.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from anyio.lowlevel import checkpoint

from gateway.errors import SpreadsheetNotFound, UpstreamRefusal
from gateway.upstream.base import Dimension, Render, Value, Values, WorksheetProperties, Writing

T = TypeVar("T")

BOOK = "book"
"""The id of the spreadsheet that a fake holds."""

_RANGE = re.compile(r"(?:'((?:[^']|'')+)'|([^'!]+))!([A-Z]{0,3})([0-9]*)(?::([A-Z]{0,3})([0-9]*))?")
_BARE_TITLE = re.compile(r"(?![A-Za-z]{1,3}[0-9]+$|[Rr][0-9]*[Cc][0-9]*$)[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Formatted:
    """A cell that displays something else than its plain value: a format, or a formula's result.

    Assumed for simplicity: writing to the cell takes the format away with the formula.
    """

    value: Value
    text: str


Held = str | int | float | bool | Formatted


@dataclass(frozen=True)
class Box:
    top: int
    left: int
    bottom: int
    right: int

    def holds(self, row: int, column: int) -> bool:
        return self.top <= row <= self.bottom and self.left <= column <= self.right


class FakeWorksheet:
    """The cells of one worksheet; a test edits them as a person would."""

    def __init__(self, title: str, sheet_id: int, lines: Sequence[Sequence[Held | None]]) -> None:
        self.title = title
        self.sheet_id = sheet_id
        self.rows = max(len(lines), 1)
        self.columns = max(1, *map(len, lines)) if lines else 1
        self.cells: dict[tuple[int, int], Held] = {}
        for row, line in enumerate(lines, start=1):
            self.type(row, *line)

    def type(self, row: int, *line: Held | None) -> None:
        """Put values into a row, None skips a cell, "" empties it; a larger grid if need be."""
        for column, held in enumerate(line, start=1):
            if held == "":
                self.cells.pop((row, column), None)
            elif held is not None:
                self.cells[row, column] = held
                self.rows, self.columns = max(self.rows, row), max(self.columns, column)

    def insert_rows(self, before: int, count: int = 1) -> None:
        self._move(from_row=before, by=count)

    def delete_rows(self, first: int, count: int = 1) -> None:
        for row, column in list(self.cells):
            if first <= row < first + count:
                del self.cells[row, column]
        self._move(from_row=first + count, by=-count)

    def lines(self) -> list[list[Value]]:
        """All that the worksheet displays, row by row, from A1."""
        shown = self.block(Box(1, 1, self.rows, self.columns), Render.DISPLAYED)
        return [list(line) for line in _trimmed(shown)]

    def block(self, box: Box, render: Render) -> list[list[Value]]:
        return [
            [self._rendered((row, column), render) for column in range(box.left, box.right + 1)]
            for row in range(box.top, box.bottom + 1)
        ]

    def table_in(self, box: Box) -> Box | None:
        """The last table that has a cell in the box; None if all of the box is blank.

        A table is the smallest box with nothing right round it, corners included.
        """
        filled = [place for place in self.cells if box.holds(*place)]
        if not filled:
            return None
        row, column = max(filled)
        table, wider = None, Box(row, column, row, column)
        while table != wider:
            table = wider
            near = Box(table.top - 1, table.left - 1, table.bottom + 1, table.right + 1)
            wider = _round([place for place in self.cells if near.holds(*place)])
        return table

    def properties(self) -> WorksheetProperties:
        return WorksheetProperties(
            sheet_id=self.sheet_id, title=self.title, rows=self.rows, columns=self.columns
        )

    def _rendered(self, place: tuple[int, int], render: Render) -> Value:
        held = self.cells.get(place, "")
        if isinstance(held, Formatted):
            return held.text if render is Render.DISPLAYED else held.value
        return _displayed(held) if render is Render.DISPLAYED else held

    def _move(self, *, from_row: int, by: int) -> None:
        self.rows += by
        self.cells = {
            (row + by if row >= from_row else row, column): held
            for (row, column), held in self.cells.items()
        }


class FakeSheets:
    """One spreadsheet, `BOOK`, as Google serves it, without protection or limits of size."""

    def __init__(self) -> None:
        self.worksheets: list[FakeWorksheet] = []

    def add(
        self, title: str, lines: Sequence[Sequence[Held | None]], *, rows: int = 0
    ) -> FakeWorksheet:
        """A worksheet whose grid is as large as its cells, as after an import, or has `rows`."""
        worksheet = FakeWorksheet(title, len(self.worksheets), lines)
        worksheet.rows = max(rows, worksheet.rows)
        self.worksheets.append(worksheet)
        return worksheet

    async def read_values(
        self, spreadsheet: str, range_: str, *, render: Render, dimension: Dimension
    ) -> Values:
        return await _turn(lambda: _values(*self._find(spreadsheet, range_), render, dimension))

    async def read_ranges(self, spreadsheet: str, ranges: Sequence[str]) -> list[Values]:
        return await _turn(
            lambda: [_values(*found) for found in [self._find(spreadsheet, r) for r in ranges]]
        )

    async def list_worksheets(self, spreadsheet: str) -> list[WorksheetProperties]:
        return await _turn(lambda: self._listed(spreadsheet))

    async def append_rows(
        self, spreadsheet: str, anchor: str, rows: Sequence[Sequence[Value]]
    ) -> Values:
        return await _turn(lambda: self._append(spreadsheet, anchor, rows))

    async def write_cells(self, spreadsheet: str, writings: Sequence[Writing]) -> list[Values]:
        return await _turn(lambda: self._write(spreadsheet, writings))

    async def grow_grid(self, spreadsheet: str, sheet_id: int, rows: int) -> None:
        await _turn(lambda: self._grow(spreadsheet, sheet_id, rows))

    def _listed(self, spreadsheet: str) -> list[WorksheetProperties]:
        _check_spreadsheet(spreadsheet)
        return [each.properties() for each in self.worksheets]

    def _append(self, spreadsheet: str, anchor: str, rows: Sequence[Sequence[Value]]) -> Values:
        """Insert rows under the last table of the anchor, or at its first cell, and fill them.

        Assumed: a blank cell is in no table, wherever it is, and the grid grows by the rows
        inserted.
        """
        worksheet, box = self._find(spreadsheet, anchor)
        table = worksheet.table_in(box)
        top, left = (table.bottom + 1, table.left) if table else (box.top, box.left)
        target = Box(top, left, top + len(rows) - 1, left + max(map(len, rows)) - 1)
        worksheet.insert_rows(top, len(rows))
        worksheet.columns = max(worksheet.columns, target.right)
        _store(worksheet, target, rows)
        return _values(worksheet, target)

    def _write(self, spreadsheet: str, writings: Sequence[Writing]) -> list[Values]:
        targets: list[tuple[FakeWorksheet, Box]] = []
        for index, writing in enumerate(writings):
            try:
                worksheet, box = self._find(spreadsheet, writing.range)
                targets.append((worksheet, _target(worksheet, box, writing)))
            except UpstreamRefusal as refusal:
                place = f"Invalid data[{index}]: "
                raise UpstreamRefusal(place + refusal.google_message) from refusal
        for (worksheet, box), writing in zip(targets, writings, strict=True):
            _store(worksheet, box, writing.rows)
        return [_values(worksheet, box) for worksheet, box in targets]

    def _grow(self, spreadsheet: str, sheet_id: int, rows: int) -> None:
        _check_spreadsheet(spreadsheet)
        worksheet = next(each for each in self.worksheets if each.sheet_id == sheet_id)
        worksheet.rows += rows

    def _find(self, spreadsheet: str, range_: str) -> tuple[FakeWorksheet, Box]:
        """The worksheet of a range, whatever its case, and the cells, clamped to its grid."""
        _check_spreadsheet(spreadsheet)
        match = _RANGE.fullmatch(range_)
        title = (match[1] or match[2]).replace("''", "'").casefold() if match else None
        found = [each for each in self.worksheets if each.title.casefold() == title]
        if match is None or not found:
            raise UpstreamRefusal(f"Unable to parse range: {range_}")
        return found[0], _box(found[0], *match.group(3, 4, 5, 6))


async def _turn(act: Callable[[], T]) -> T:
    """Act between two chances for other tasks, as everything on the network does."""
    await checkpoint()
    result = act()
    await checkpoint()
    return result


def _check_spreadsheet(spreadsheet: str) -> None:
    if spreadsheet != BOOK:
        raise SpreadsheetNotFound


def _box(worksheet: FakeWorksheet, left: str, top: str, right: str | None, bottom: str) -> Box:
    """The cells between two corners; a coordinate that is left out is the edge of the grid."""
    start = Box(int(top or 1), _number(left) or 1, int(top or 1), _number(left) or 1)
    if start.top > worksheet.rows or start.left > worksheet.columns:
        raise _past_grid(worksheet, start)
    if right is None:
        return start
    last_row, last_column = int(bottom or worksheet.rows), _number(right) or worksheet.columns
    return replace(
        start, bottom=min(last_row, worksheet.rows), right=min(last_column, worksheet.columns)
    )


def _target(worksheet: FakeWorksheet, box: Box, writing: Writing) -> Box:
    """Where values go: into the range, or from its one cell on; never past the grid."""
    bottom = box.top + len(writing.rows) - 1
    target = replace(box, bottom=bottom, right=box.left + max(map(len, writing.rows)) - 1)
    is_anchor = (box.top, box.left) == (box.bottom, box.right)
    if not is_anchor and (target.bottom > box.bottom or target.right > box.right):
        within, tried = _echo(worksheet.title, box), _echo(worksheet.title, target)
        raise UpstreamRefusal(
            f"Requested writing within range [{within}], but tried writing to [{tried}]"
        )
    if target.bottom > worksheet.rows or target.right > worksheet.columns:
        raise _past_grid(worksheet, target)
    return target


def _past_grid(worksheet: FakeWorksheet, box: Box) -> UpstreamRefusal:
    return UpstreamRefusal(
        f"Range ({_echo(worksheet.title, box)}) exceeds grid limits. "
        f"Max rows: {worksheet.rows}, max columns: {worksheet.columns}"
    )


def _store(worksheet: FakeWorksheet, box: Box, rows: Sequence[Sequence[Value]]) -> None:
    for row, line in enumerate(rows, start=box.top):
        worksheet.type(row, *[None] * (box.left - 1), *line)


def _values(
    worksheet: FakeWorksheet,
    box: Box,
    render: Render = Render.DISPLAYED,
    dimension: Dimension = Dimension.ROWS,
) -> Values:
    lines: Sequence[Sequence[Value]] = worksheet.block(box, render)
    if dimension is Dimension.COLUMNS:
        lines = list(zip(*lines, strict=True))
    return Values(range=_echo(worksheet.title, box), cells=_trimmed(lines))


def _trimmed(lines: Sequence[Sequence[Value]]) -> tuple[tuple[Value, ...], ...]:
    """Without blank cells at the end of each list and without blank lists at the end."""
    kept = [tuple(line[: _filled(line)]) for line in lines]
    return tuple(kept[: _filled(kept)])


def _filled(items: Sequence[object]) -> int:
    """How many items there are up to the last that is not blank."""
    return max((n for n, item in enumerate(items, start=1) if item not in ("", ())), default=0)


def _round(places: Sequence[tuple[int, int]]) -> Box:
    rows, columns = [row for row, _ in places], [column for _, column in places]
    return Box(min(rows), min(columns), max(rows), max(columns))


def _displayed(value: Value) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _echo(title: str, box: Box) -> str:
    """A range as Google writes it: quoted only where needed, one cell without a colon."""
    name = title if _BARE_TITLE.fullmatch(title) else "'" + title.replace("'", "''") + "'"
    first, last = (_letters(box.left) + str(box.top), _letters(box.right) + str(box.bottom))
    return f"{name}!{first}" if first == last else f"{name}!{first}:{last}"


def _number(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number


def _letters(column: int) -> str:
    return "" if column < 1 else _letters((column - 1) // 26) + chr(65 + (column - 1) % 26)
