"""Frozen rows and columns.

Rules:
- At least one line (row or column) is not frozen.
- A smaller grid is checked with the number of frozen lines before the request, even if the request
  changes this number (reported by users).
- A line that is inserted before the last frozen line is frozen, too. A deleted line is not counted.
"""

from sheets_emulator.grid.sheet import Sheet
from sheets_emulator.refusal import invalid
from sheets_emulator.resources.grid_range import LINE_NAMES

OPTIONS = {True: "frozenRowCount", False: "frozenColumnCount"}


def frozen_count(sheet: Sheet, *, is_rows: bool) -> int:
    """Return the number of frozen rows or columns."""
    count = sheet.options.get(OPTIONS[is_rows], 0)
    return count if isinstance(count, int) else 0


def freeze(sheet: Sheet, count: int, *, is_rows: bool) -> None:
    """Set the number of frozen rows or columns."""
    name = OPTIONS[is_rows]
    kept = {key: value for key, value in sheet.options.items() if key != name}
    sheet.options = {**kept, name: count} if count else kept


def require_unfrozen(sheet: Sheet) -> None:
    """Raise a 400 if all rows or all columns are frozen."""
    for is_rows, existing in ((True, sheet.row_count), (False, sheet.column_count)):
        count = frozen_count(sheet, is_rows=is_rows)
        if count < 0:
            raise invalid(f"gridProperties.{OPTIONS[is_rows]} must not be negative.")
        if count >= existing:
            raise invalid(f"You can't freeze all visible {LINE_NAMES[is_rows]}s on the sheet.")


def require_unfrozen_left(sheet: Sheet, start: int, end: int, *, is_rows: bool) -> None:
    """Raise a 400 if only frozen rows or columns would remain after a deletion."""
    existing = sheet.row_count if is_rows else sheet.column_count
    frozen = frozen_count(sheet, is_rows=is_rows)
    if frozen and start <= frozen and end >= existing:
        raise invalid(f"Sorry, it is not possible to delete all non-frozen {LINE_NAMES[is_rows]}s.")


def freeze_inserted(sheet: Sheet, start: int, count: int, *, is_rows: bool) -> None:
    """Update the number of frozen rows or columns after an insertion at `start`."""
    frozen = frozen_count(sheet, is_rows=is_rows)
    if start < frozen:
        freeze(sheet, frozen + count, is_rows=is_rows)


def freeze_deleted(sheet: Sheet, start: int, end: int, *, is_rows: bool) -> None:
    """Update the number of frozen rows or columns after a deletion from `start` to `end`."""
    frozen = frozen_count(sheet, is_rows=is_rows)
    if start < frozen:
        freeze(sheet, frozen - (min(end, frozen) - start), is_rows=is_rows)
