"""Resolution of A1 ranges and named ranges to cells of a worksheet."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sheets_emulator.grid.a1 import Reference, Span, print_range, readings
from sheets_emulator.grid.box import Box
from sheets_emulator.grid.marks import NamedRange
from sheets_emulator.grid.sheet import Sheet
from sheets_emulator.grid.workbook import MAX_CELLS, Workbook
from sheets_emulator.refusal import PROTECTED, Refusal, invalid

ENDLESS = 2**31


@dataclass(frozen=True, kw_only=True)
class Place:
    """A range that starts inside a worksheet's grid.

    `span` is the range as sent, `box` its cells within the grid. `is_anchor` is True for a single
    cell, from which written values can extend down and to the right.
    """

    sheet: Sheet
    span: Span
    box: Box
    is_anchor: bool

    @property
    def text(self) -> str:
        """The A1 range, as Google returns it."""
        return print_range(self.sheet.title, self.box)


def find_place(workbook: Workbook, text: str) -> Place:
    """Resolve an A1 range or a named range.

    Raises a 400 if the text is malformed or the range starts past the grid.
    """
    for reference in readings(text):
        found = _resolved(workbook, reference)
        if found is not None:
            sheet, span = found
            if not sheet.holds(span):
                raise past_grid(sheet, span)
            box = sheet.clamped(span)
            return Place(sheet=sheet, span=span, box=box, is_anchor=reference.is_anchor)
    raise invalid(f"Unable to parse range: {text}")


def find_places(workbook: Workbook, texts: Iterable[str]) -> list[Place]:
    """Resolve several range texts with `find_place`."""
    return [find_place(workbook, text) for text in texts]


def place_of(sheet: Sheet, span: Span) -> Place:
    """Return the cells of a range that starts inside the grid.

    Written values must fit into the range.
    """
    return Place(sheet=sheet, span=span, box=sheet.clamped(span), is_anchor=False)


def past_grid(sheet: Sheet, span: Span | Box) -> Refusal:
    """Return the 400 error for a range that starts past the grid."""
    return invalid(
        f"Range ({print_range(sheet.title, span)}) exceeds grid limits. "
        f"Max rows: {sheet.row_count}, max columns: {sheet.column_count}"
    )


def require_unprotected(sheet: Sheet, box: Box, account: str) -> None:
    """Raise a 400 if the account is not allowed to write one of the cells in the box."""
    for protection in sheet.protections:
        if not protection.allows(account) and unbounded(protection.span).overlaps(box):
            _require_covered(box, [unbounded(span) for span in protection.open_spans])


def require_readable(boxes: Iterable[Box]) -> None:
    """Raise a 400 if a read requests more cells than a spreadsheet can have.

    This limit is the emulator's own.
    """
    if sum(box.height * box.width for box in boxes) > MAX_CELLS:
        raise invalid(f"Request too large: the ranges together hold more than {MAX_CELLS} cells.")


def unbounded(span: Span) -> Box:
    """Return a range as a box whose open ends are infinite.

    The box also includes rows and columns that are added later, even before the first one.
    """
    bottom = ENDLESS if span.bottom is None else span.bottom
    right = ENDLESS if span.right is None else span.right
    return Box(
        top=span.top or (0 if bottom < ENDLESS else -1),
        left=span.left or (0 if right < ENDLESS else -1),
        bottom=bottom,
        right=right,
    )


def _require_covered(box: Box, openings: Sequence[Box]) -> None:
    """Raise a 400 unless the unprotected ranges of a protected worksheet contain the whole box."""
    rest = [box]
    for opening in openings:
        rest = [part for piece in rest for part in piece.without(opening)]
    if rest:
        raise invalid(PROTECTED)


def named_range(workbook: Workbook, name: str) -> tuple[Sheet, NamedRange] | None:
    """Return the worksheet and named range with this name, compared case-insensitively, or None."""
    folded = name.casefold()
    for sheet in workbook.sheets:
        for named in sheet.names:
            if named.name.casefold() == folded:
                return sheet, named
    return None


def _resolved(workbook: Workbook, reference: Reference) -> tuple[Sheet, Span] | None:
    if reference.name is None:
        sheet = _sheet_of(workbook, reference)
        return None if sheet is None else (sheet, reference.span)
    found = named_range(workbook, reference.name)
    if found is None or (reference.title and workbook.titled(reference.title) is not found[0]):
        return None
    return found[0], found[1].span


def _sheet_of(workbook: Workbook, reference: Reference) -> Sheet | None:
    if reference.title is not None:
        return workbook.titled(reference.title)
    visible = (sheet for sheet in workbook.sheets if not sheet.hidden)
    return next(visible, None)
