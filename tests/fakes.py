"""In-memory `Sheets` for tests.

Rules: this class does what Google was observed to do. Where Google's behaviour is unknown, the
docstring says "assumed". The contract tests verify this class, the emulator and Google. Rows and
columns count from 1. A call is atomic, between two points at which other tasks can run.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TypeVar

from anyio.lowlevel import checkpoint

from gateway.errors import SpreadsheetNotFound, UpstreamRefusal
from gateway.google.sheets import (
    MAX_METADATA_CHARACTERS,
    Batch,
    Block,
    Change,
    Copied,
    CopiedCells,
    Detail,
    EmptiedRow,
    Fence,
    InsertedRows,
    KnownRange,
    RemovedRows,
    Render,
    Rendering,
    SheetArea,
    SheetView,
    SpreadsheetView,
    Value,
    Values,
    WorksheetProperties,
    WrittenCells,
    WrittenRows,
)
from gateway.table.column_types import CellForm, NumberFormat, SeenCell
from tests.fake_ranges import Box, echo, parse_range

T = TypeVar("T")

BOOK = "book"
"""ID of the spreadsheet in a fake."""


@dataclass(frozen=True)
class Formatted:
    """Cell whose display differs from its plain value, by a format or a formula.

    Assumed: a write to the cell removes format and formula.
    """

    value: Value
    text: str


Held = str | int | float | bool | Formatted


class FakeWorksheet:
    """Cells of one worksheet, which a test can edit as a user would."""

    def __init__(self, title: str, sheet_id: int, lines: Sequence[Sequence[Held | None]]) -> None:
        self.title = title
        self.sheet_id = sheet_id
        self.rows = max(len(lines), 1)
        self.frozen_rows = 0
        self.columns = max(1, *map(len, lines)) if lines else 1
        self.array_rows: set[int] = set()
        """Rows of an array formula, which cannot be removed separately."""
        self.formats: dict[tuple[int, int], NumberFormat] = {}
        """Number formats of cells. The displayed text does not depend on these formats."""
        self.rules: dict[tuple[int, int], CellForm] = {}
        """Data validation of cells, as forms without a format."""
        self.computed: set[tuple[int, int]] = set()
        """Cells with the result of a formula."""
        self.column_types: dict[int, str] = {}
        self.column_options: dict[int, tuple[str, ...]] = {}
        """Dropdown options by zero-based column of a native table."""
        self.cells: dict[tuple[int, int], Held] = {}
        for row, line in enumerate(lines, start=1):
            self.type(row, *line)

    def type(self, row: int, *line: Held | None) -> None:
        """Write values into a row: None skips a cell, "" empties a cell. The grid grows
        if necessary.
        """
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
                self.formats.pop((row, column), None)
        self._move(from_row=first + count, by=-count)

    def copy(self, change: CopiedCells) -> None:
        """Copy cells with formulas and constants, or copy their data validation.

        Assumed: a copied formula displays the same text as its source.
        """
        last = self.columns - 1 if change.last is None else change.last
        for row in range(change.first_row, change.last_row + 1):
            for column in range(change.first + 1, last + 2):
                source, place = (change.row, column), (row, column)
                if change.part is Copied.RULES:
                    _copy(self.rules, source, place)
                    continue
                _copy(self.cells, source, place)
                self.computed.discard(place)
                if source in self.computed:
                    self.computed.add(place)

    def lines(self) -> list[list[Value]]:
        """Return the displayed rows from A1, without blank ends."""
        shown = self.block(Box(1, 1, self.rows, self.columns), Render.DISPLAYED)
        return [list(line) for line in _trimmed(shown)]

    def block(self, box: Box, render: Render) -> list[list[Value]]:
        return [
            [self._rendered((row, column), render) for column in range(box.left, box.right + 1)]
            for row in range(box.top, box.bottom + 1)
        ]

    def properties(self) -> WorksheetProperties:
        return WorksheetProperties(
            sheet_id=self.sheet_id, title=self.title, rows=self.rows, columns=self.columns
        )

    def form(self, row: int, column: int) -> CellForm | None:
        """Return number format and data validation of a cell, or None without both."""
        format_, rule = self.formats.get((row, column)), self.rules.get((row, column))
        if format_ is None and rule is None:
            return None
        return (rule or CellForm())._replace(format=format_)

    def _rendered(self, place: tuple[int, int], render: Render) -> Value:
        held = self.cells.get(place, "")
        if isinstance(held, Formatted):
            return held.text if render is Render.DISPLAYED else held.value
        return _displayed(held) if render is Render.DISPLAYED else held

    def _move(self, *, from_row: int, by: int) -> None:
        self.rows += by
        self.cells = _moved(self.cells, from_row, by)
        self.formats = _moved(self.formats, from_row, by)
        self.rules = _moved(self.rules, from_row, by)
        self.computed = set(_moved(dict.fromkeys(self.computed, True), from_row, by))


def _copy(cells: dict[tuple[int, int], T], source: tuple[int, int], place: tuple[int, int]) -> None:
    if source in cells:
        cells[place] = cells[source]
    else:
        cells.pop(place, None)


def _moved(cells: dict[tuple[int, int], T], from_row: int, by: int) -> dict[tuple[int, int], T]:
    """Return the cells after the rows from `from_row` on have moved."""
    return {(row + by if row >= from_row else row, at): held for (row, at), held in cells.items()}


class FakeSheets:
    """One spreadsheet with the ID BOOK, as Google serves it, without protection and size limits."""

    def __init__(self, *, repeatable_ids: bool = False) -> None:
        self.worksheets: list[FakeWorksheet] = []
        self.fences: list[Fence] = []
        self.metadata_room = MAX_METADATA_CHARACTERS
        """Maximum number of characters in keys and values of the spreadsheet's metadata."""
        self._repeatable_ids = repeatable_ids

    def add(
        self, title: str, lines: Sequence[Sequence[Held | None]], *, rows: int = 0
    ) -> FakeWorksheet:
        """Add a worksheet whose grid has the size of its cells, or `rows` rows."""
        worksheet = FakeWorksheet(title, len(self.worksheets), lines)
        worksheet.rows = max(rows, worksheet.rows)
        self.worksheets.append(worksheet)
        return worksheet

    async def read_values(self, spreadsheet: str, range_: str, *, render: Render) -> Values:
        return await _turn(lambda: self._read(spreadsheet, range_, render))

    async def read_columns(
        self,
        spreadsheet: str,
        range_: str | SheetArea,
        *,
        render: Render,
        known: bytes | None = None,
    ) -> Rendering | None:
        rendering = await _turn(lambda: self._read_rendering(spreadsheet, range_, render))
        return None if rendering.digest == known else rendering

    async def read_several(
        self, spreadsheet: str, ranges: Sequence[KnownRange], *, render: Render
    ) -> list[Rendering | None]:
        found = await _turn(
            lambda: [self._read_rendering(spreadsheet, each.range, render) for each in ranges]
        )
        return [
            None if rendering.digest == each.known else rendering
            for each, rendering in zip(ranges, found, strict=True)
        ]

    async def read_ranges(self, spreadsheet: str, ranges: Sequence[str]) -> Sequence[Values]:
        return await _turn(
            lambda: [self._read(spreadsheet, each, Render.DISPLAYED) for each in ranges]
        )

    async def list_worksheets(self, spreadsheet: str) -> list[WorksheetProperties]:
        return await _turn(lambda: self._listed(spreadsheet))

    async def read_sheet(
        self, spreadsheet: str, ranges: Sequence[str], *, detail: Detail = Detail.VALUES
    ) -> SheetView:
        return await _turn(lambda: self._view(spreadsheet, ranges))

    async def read_spreadsheet(self, spreadsheet: str, ranges: Sequence[str]) -> SpreadsheetView:
        return await _turn(lambda: self._spreadsheet(spreadsheet, ranges))

    async def apply(self, spreadsheet: str, batch: Batch) -> SheetView:
        return await _turn(lambda: self.apply_now(spreadsheet, batch))

    def land(self, batch: Batch) -> None:
        """Apply a batch a second time, like a request that arrives late."""
        self.apply_now(BOOK, batch)

    async def put_fence(
        self, spreadsheet: str, *fences: Fence, forgotten: Sequence[int] = ()
    ) -> None:
        await _turn(lambda: self._put_fences(spreadsheet, fences, forgotten))

    async def delete_fences(self, spreadsheet: str, fences: Sequence[Fence]) -> None:
        ids = {fence.id for fence in fences}
        self.fences = [each for each in self.fences if each.id not in ids]

    async def fence_tokens(self, spreadsheet: str, fence_id: int) -> Sequence[str]:
        return await _turn(lambda: [each.token for each in self.fences if each.id == fence_id])

    async def find_fences(self, spreadsheet: str, key: str | None = None) -> Sequence[Fence]:
        return await _turn(lambda: [each for each in self.fences if key in (None, each.key)])

    def _listed(self, spreadsheet: str) -> list[WorksheetProperties]:
        _check_spreadsheet(spreadsheet)
        return [each.properties() for each in self.worksheets]

    def _view(self, spreadsheet: str, ranges: Sequence[str]) -> SheetView:
        found = [self._find(spreadsheet, each) for each in ranges]
        worksheet = found[0][0]
        return SheetView(
            sheet_id=worksheet.sheet_id,
            title=worksheet.title,
            rows=worksheet.rows,
            columns=worksheet.columns,
            frozen_rows=worksheet.frozen_rows,
            blocks=[_block(worksheet, box) for _, box in found],
            column_types=worksheet.column_types,
            column_options=worksheet.column_options,
        )

    def _spreadsheet(self, spreadsheet: str, ranges: Sequence[str]) -> SpreadsheetView:
        """Return worksheets in the order of tabs, whatever the order of the ranges."""
        _check_spreadsheet(spreadsheet)
        found = {self._find(spreadsheet, each)[0].sheet_id: each for each in ranges}
        return SpreadsheetView(
            title="Book",
            locale="en_US",
            time_zone="Etc/GMT",
            worksheets=[
                self._view(spreadsheet, [found[each.sheet_id]])
                for each in self.worksheets
                if each.sheet_id in found
            ],
        )

    def apply_now(self, spreadsheet: str, batch: Batch) -> SheetView:
        """Apply all changes of a batch or none. Assumed: the ranges of the answer are
        read afterwards.
        """
        _check_spreadsheet(spreadsheet)
        worksheet = next((e for e in self.worksheets if e.sheet_id == batch.sheet_id), None)
        before, first = self.fences, len(batch.forgotten)
        try:
            self._put_fences(spreadsheet, [batch.fence], batch.forgotten)
            for index, change in enumerate(batch.changes, start=first + 1):
                _check_change(worksheet, change, f"Invalid requests[{index}]", batch.sheet_id)
        except UpstreamRefusal:
            self.fences = before
            raise
        for change in batch.changes:
            if worksheet is not None:
                _change(worksheet, change)
        return self._view(spreadsheet, batch.ranges)

    def _put_fences(
        self, spreadsheet: str, fences: Sequence[Fence], forgotten: Sequence[int]
    ) -> None:
        """Create all fences or none. Assumed: each fence is checked for space first, and
        then for its ID.
        """
        _check_spreadsheet(spreadsheet)
        after = [each for each in self.fences if each.id not in forgotten]
        for request, fence in enumerate(fences, start=len(forgotten)):
            place = f"Invalid requests[{request}].createDeveloperMetadata"
            size = sum(len(each.key) + len(each.token) for each in [*after, fence])
            if size > self.metadata_room:
                raise UpstreamRefusal(f"{place}: {size} characters are too many")
            if not self._repeatable_ids and any(each.id == fence.id for each in after):
                raise UpstreamRefusal(f"{place}: id {fence.id} is used")
            after.append(fence)
        self.fences = after

    def _read(self, spreadsheet: str, range_: str, render: Render) -> Values:
        worksheet, box = self._find(spreadsheet, range_)
        cells = _trimmed(worksheet.block(box, render))
        return Values(range=echo(worksheet.title, box), cells=cells)

    def _read_rendering(
        self, spreadsheet: str, range_: str | SheetArea, render: Render
    ) -> Rendering:
        if isinstance(range_, SheetArea):
            worksheet, box = self._find_area(spreadsheet, range_)
        else:
            worksheet, box = self._find(spreadsheet, range_)
        columns = _trimmed(list(zip(*worksheet.block(box, render), strict=True)))
        range_ = echo(worksheet.title, box)
        content = repr((range_, columns)).encode()
        return Rendering(
            range=range_,
            columns=columns,
            digest=blake2b(content, digest_size=16).digest(),
            byte_count=len(content),
        )

    def _find(self, spreadsheet: str, text: str) -> tuple[FakeWorksheet, Box]:
        """Return the worksheet of a range and the cells in its grid. Assumed: titles
        ignore case.
        """
        _check_spreadsheet(spreadsheet)
        asked = parse_range(text)
        found = [
            each
            for each in self.worksheets
            if asked and each.title.casefold() == asked.title.casefold()
        ]
        if asked is None or not found:
            raise UpstreamRefusal(f"Unable to parse range: {text}")
        worksheet = found[0]
        box = asked.clamped(worksheet.rows, worksheet.columns)
        if box is None:
            raise UpstreamRefusal(
                f"Range ({echo(worksheet.title, asked)}) exceeds grid limits. "
                f"Max rows: {worksheet.rows}, max columns: {worksheet.columns}"
            )
        return worksheet, box

    def _find_area(self, spreadsheet: str, area: SheetArea) -> tuple[FakeWorksheet, Box]:
        """Return the worksheet with an ID, and the cells of an area. Both errors are assumed."""
        _check_spreadsheet(spreadsheet)
        found = [each for each in self.worksheets if each.sheet_id == area.sheet_id]
        if not found:
            raise UpstreamRefusal(f"No grid with id: {area.sheet_id}")
        if area.first_row > found[0].rows:
            raise UpstreamRefusal(f"range.startRowIndex[{area.first_row - 1}] is after last row")
        return found[0], Box(area.first_row, 1, found[0].rows, found[0].columns)


def _check_change(
    worksheet: FakeWorksheet | None, change: Change, place: str, sheet_id: int
) -> None:
    """Check that rows to remove exist, before the batch changes the grid."""
    if worksheet is None:
        raise UpstreamRefusal(f"{place}.appendCells: No grid with id: {sheet_id}")
    if isinstance(change, RemovedRows) and not worksheet.array_rows.isdisjoint(
        range(change.first_row, change.last_row + 1)
    ):
        raise UpstreamRefusal(
            f"{place}.deleteDimension: You cannot change part of an array formula."
        )
    if isinstance(change, RemovedRows) and change.last_row > worksheet.rows:
        raise UpstreamRefusal(
            f"{place}.deleteDimension: Cannot delete a row that doesn't exist. "
            f"Tried to delete row index {change.first_row - 1}"
        )
    if isinstance(change, RemovedRows) and (
        change.first_row <= worksheet.frozen_rows + 1 and change.last_row == worksheet.rows
    ):
        raise UpstreamRefusal(
            f"{place}.deleteDimension: Sorry, it is not possible to delete all non-frozen rows."
        )


def _change(worksheet: FakeWorksheet, change: Change) -> None:
    if isinstance(change, WrittenCells):
        values = ["" if value is None else value for value in change.values]
        worksheet.type(change.row, *[None] * change.column, *values)
        for column, number_format in enumerate(change.formats, change.column + 1):
            worksheet.formats[change.row, column] = number_format
        return
    if isinstance(change, InsertedRows):
        worksheet.insert_rows(change.first_row, change.count)
        return
    if isinstance(change, WrittenRows):
        for row, cells in enumerate(change.rows, change.first_row):
            worksheet.type(row, *["" if value is None else value for value in cells])
        return
    if isinstance(change, CopiedCells):
        worksheet.copy(change)
        return
    if isinstance(change, EmptiedRow):
        worksheet.type(change.row, *[""] * worksheet.columns)
        return
    if isinstance(change, RemovedRows):
        worksheet.delete_rows(change.first_row, change.last_row - change.first_row + 1)
        return
    end = max((row for row, _ in worksheet.cells), default=0)
    for number, line in enumerate(change.rows):
        row = end + 1 + number
        worksheet.type(row, *line)
        worksheet.rows = max(worksheet.rows, row)
        for column, number_format in (change.formats[number] if change.formats else {}).items():
            worksheet.formats[row, column + 1] = number_format


def _block(worksheet: FakeWorksheet, box: Box) -> Block:
    """Return a block of cells without empty cells and rows at the ends."""
    texts = worksheet.block(box, Render.DISPLAYED)
    values = worksheet.block(box, Render.TYPED)
    forms = [
        [worksheet.form(row, column) for column in range(box.left, box.right + 1)]
        for row in range(box.top, box.bottom + 1)
    ]
    widths = [
        max(_filled(line), _filled(held), _filled([form or "" for form in marks]))
        for line, held, marks in zip(texts, values, forms, strict=True)
    ]
    while widths and not widths[-1]:
        widths.pop()
    computed = [
        [at for at in range(width) if (row, at + box.left) in worksheet.computed]
        for row, width in enumerate(widths, box.top)
    ]
    return Block(
        first_row=box.top,
        texts=[
            [str(cell) for cell in line[:width]] for line, width in zip(texts, widths, strict=False)
        ],
        values=[line[:width] for line, width in zip(values, widths, strict=False)],
        computed=computed,
        formulas=computed,
        cells=[
            [SeenCell(form or CellForm(), held[at]) for at, form in enumerate(marks[:width])]
            for marks, held, width in zip(forms, values, widths, strict=False)
        ],
    )


async def _turn(act: Callable[[], T]) -> T:
    """Run `act` between two points at which other tasks can run, as with network calls."""
    await checkpoint()
    result = act()
    await checkpoint()
    return result


def _check_spreadsheet(spreadsheet: str) -> None:
    if spreadsheet != BOOK:
        raise SpreadsheetNotFound


def _trimmed(lines: Sequence[Sequence[Value]]) -> tuple[tuple[Value, ...], ...]:
    """Return the lists without blank cells at the ends, and without blank lists at the end."""
    kept = [tuple(line[: _filled(line)]) for line in lines]
    return tuple(kept[: _filled(kept)])


def _filled(items: Sequence[object]) -> int:
    """Return the number of items up to the last item that is not blank."""
    return max((n for n, item in enumerate(items, start=1) if item not in ("", ())), default=0)


def _displayed(value: Value) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
