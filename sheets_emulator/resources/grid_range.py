"""Locations in batchUpdate requests: GridRange, DimensionRange, GridCoordinate."""

from dataclasses import dataclass, field

from sheets_emulator.grid.a1 import Span
from sheets_emulator.grid.box import Box
from sheets_emulator.grid.sheet import Sheet
from sheets_emulator.grid.workbook import Workbook
from sheets_emulator.protocol.message import Message
from sheets_emulator.refusal import invalid
from sheets_emulator.reply import Reply

LINE_NAMES = {True: "row", False: "column"}


@dataclass(frozen=True, kw_only=True)
class Editing:
    """The spreadsheet and account of a batchUpdate request.

    `account` is "" for the owner. `repeatable_metadata_ids`: metadata can get the ID of existing
    metadata. `first_free_rows` has, by table ID, the first free row of tables to which an earlier
    request of the same batchUpdate appended cells.
    """

    workbook: Workbook
    account: str
    repeatable_metadata_ids: bool = False
    first_free_rows: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Area:
    """A parsed GridRange. `span` is the range as sent, `box` its cells within the grid."""

    sheet: Sheet
    span: Span
    box: Box


@dataclass(frozen=True, kw_only=True)
class Lines:
    """A parsed DimensionRange: rows or columns from `start` to `end`.

    Indexes count from 0, and `end` is excluded.
    """

    sheet: Sheet
    is_rows: bool
    start: int
    end: int

    @property
    def name(self) -> str:
        """ "row" or "column"."""
        return LINE_NAMES[self.is_rows]

    @property
    def count(self) -> int:
        return self.end - self.start

    @property
    def existing(self) -> int:
        """The number of rows or columns in the grid."""
        return self.sheet.row_count if self.is_rows else self.sheet.column_count

    @property
    def across(self) -> int:
        """The number of cells in each row or column."""
        return self.sheet.column_count if self.is_rows else self.sheet.row_count

    def box(self, start: int, end: int) -> Box:
        """Return the cells of whole rows or columns from `start` to `end` (excluded)."""
        if self.is_rows:
            return Box(top=start, bottom=end, left=0, right=self.sheet.column_count)
        return Box(top=0, bottom=self.sheet.row_count, left=start, right=end)


def require_sheet(workbook: Workbook, sheet_id: int) -> Sheet:
    """Return the worksheet with this ID. Raises Google's 400 for an unknown ID."""
    sheet = workbook.numbered(sheet_id)
    if sheet is None:
        raise invalid(f"No grid with id: {sheet_id}")
    return sheet


def read_area(workbook: Workbook, message: Message) -> Area:
    """Parse a GridRange that starts inside the grid."""
    sheet = require_sheet(workbook, message.integer("sheetId"))
    span = Span(
        top=message.integer("startRowIndex"),
        left=message.integer("startColumnIndex"),
        bottom=message.optional_integer("endRowIndex"),
        right=message.optional_integer("endColumnIndex"),
    )
    _require_order("Row", span.top, span.bottom)
    _require_order("Column", span.left, span.right)
    _require_inside("range.startRowIndex", span.top, sheet.row_count, "row")
    _require_inside("range.startColumnIndex", span.left, sheet.column_count, "column")
    return Area(sheet=sheet, span=span, box=sheet.clamped(span))


def read_lines(workbook: Workbook, message: Message) -> Lines:
    """Parse a DimensionRange.

    A missing end becomes the end of the grid. An end past the grid is kept.
    """
    sheet = require_sheet(workbook, message.integer("sheetId"))
    is_rows = read_is_rows(message)
    existing = sheet.row_count if is_rows else sheet.column_count
    start = message.integer("startIndex")
    end = message.integer("endIndex", existing)
    if start < 0 or end < 0:
        raise invalid("DimensionRange indexes must be >= 0")
    if end <= start:
        raise invalid(f"range.endIndex[{end}] must be greater than range.startIndex[{start}]")
    return Lines(sheet=sheet, is_rows=is_rows, start=start, end=end)


def require_existing(lines: Lines, verb: str) -> None:
    """Raise a 400 if a row or column is past the grid. `verb` is the change for the message."""
    if lines.end > lines.existing:
        name = lines.name
        missing = max(lines.start, lines.existing)
        raise invalid(
            f"Cannot {verb} a {name} that doesn't exist. Tried to {verb} {name} index {missing} "
            f"but there are only {lines.existing} {name}s."
        )


def read_is_rows(message: Message, name: str = "dimension") -> bool:
    """True if the dimension of a request is ROWS. Raises a 400 if the dimension is missing."""
    dimension = message.text(name)
    if not dimension:
        raise invalid("No dimension specified.")
    return dimension == "ROWS"


def read_coordinate(workbook: Workbook, message: Message) -> tuple[Sheet, int, int]:
    """Parse a GridCoordinate into worksheet, row and column.

    Raises a 400 for a cell past the grid.
    """
    sheet = require_sheet(workbook, message.integer("sheetId"))
    row, column = message.integer("rowIndex"), message.integer("columnIndex")
    _require_inside("GridCoordinate.rowIndex", row, sheet.row_count, "row")
    _require_inside("GridCoordinate.columnIndex", column, sheet.column_count, "column")
    return sheet, row, column


def describe_span(sheet_id: int, span: Span) -> Reply:
    """Return the GridRange of a range.

    A `sheetId` of zero is left out (recorded from Google).
    """
    bounds = {
        "startRowIndex": span.top if span.bottom is not None or span.top else None,
        "endRowIndex": span.bottom,
        "startColumnIndex": span.left if span.right is not None or span.left else None,
        "endColumnIndex": span.right,
    }
    shown: Reply = {"sheetId": sheet_id} if sheet_id else {}
    return {**shown, **{name: bound for name, bound in bounds.items() if bound is not None}}


def require_fields(message: Message) -> str:
    """Return the text of a request's field mask. Raises a 400 if the mask is missing."""
    mask = message.text("fields")
    if not mask:
        raise invalid(
            "At least one field must be listed in 'fields'. (Use '*' to indicate all fields.)"
        )
    return mask


def _require_order(name: str, start: int, end: int | None) -> None:
    if end is not None and end <= start:
        raise invalid(f"end{name}Index[{end}] must be after start{name}Index[{start}]")


def _require_inside(name: str, index: int, count: int, kind: str) -> None:
    if index < 0:
        raise invalid(f"{name}[{index}] must be >= 0.")
    if index >= count:
        raise invalid(f"{name}[{index}] is after last {kind} in grid[{count - 1}]")
