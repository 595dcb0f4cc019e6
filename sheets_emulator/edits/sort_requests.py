"""batchUpdate: sort a range, and delete duplicate rows.

Rules:
- Rows are compared by the values of their cells, with formulas computed.
- References in the formulas of a moved row are adjusted, as in a copy.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

from sheets_emulator.edits.block import contents, open_area, put
from sheets_emulator.formulas.evaluate import Results
from sheets_emulator.formulas.references import translated
from sheets_emulator.formulas.result import CellError
from sheets_emulator.grid.box import Box
from sheets_emulator.grid.cell import BLANK, Cell, CellValue, Content
from sheets_emulator.grid.sheet import Sheet
from sheets_emulator.protocol.message import Message
from sheets_emulator.refusal import invalid, unimplemented
from sheets_emulator.reply import Reply
from sheets_emulator.resources.grid_range import Area, Editing, read_lines

NOT_COVERED = (
    *("foregroundColor", "foregroundColorStyle", "backgroundColor", "backgroundColorStyle"),
    "dataSourceColumnReference",
)

SortKey = tuple[int, float, str]


@dataclass(frozen=True, kw_only=True)
class SortSpec:
    """A column to sort by, counted from the first column of the range, and its direction."""

    column: int
    is_descending: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """A row of a range: its index, content and sort keys."""

    row: int
    contents: Sequence[Content]
    keys: Sequence[SortKey | None]


def sort_range(editing: Editing, message: Message) -> Reply:
    """sortRange: sort a range stably.

    Blanks come last in both directions (recorded from Google).
    """
    area = open_area(editing, message)
    specs = [_read_spec(spec, area.box) for spec in message.messages("sortSpecs")]
    if any(each.height > 1 for each in area.sheet.merges_in(area.box)):
        raise invalid("You can't sort a range that contains vertical merges.")
    entries = _entries(editing, area, [spec.column for spec in specs])
    for at in reversed(range(len(specs))):
        entries = _sorted(entries, at, is_descending=specs[at].is_descending)
    _put_entries(area.sheet, area.box, entries)
    return {}


def delete_duplicates(editing: Editing, message: Message) -> Reply:
    """deleteDuplicates: delete all but the first of equal rows. Case does not matter."""
    area = open_area(editing, message)
    columns = [
        column
        for wanted in message.messages("comparisonColumns")
        for column in _read_columns(editing, wanted, area)
    ] or list(range(area.box.width))
    entries = _entries(editing, area, columns)
    firsts: dict[tuple[SortKey | None, ...], Entry] = {}
    for entry in entries:
        firsts.setdefault(tuple(entry.keys), entry)
    _put_entries(area.sheet, area.box, list(firsts.values()))
    blanks = range(area.box.top + len(firsts), area.box.top + len(entries))
    for row in blanks:
        put(area.sheet, row, area.box.left, [BLANK] * area.box.width)
    count = {"duplicatesRemovedCount": len(blanks)} if blanks else {}
    return {"deleteDuplicates": count}


def _read_spec(spec: Message, box: Box) -> SortSpec:
    not_covered = [name for name in NOT_COVERED if spec.has(name)]
    if not_covered:
        raise unimplemented(f"sorting by '{not_covered[0]}'")
    column = spec.integer("dimensionIndex")
    if not box.left <= column < box.right:
        raise invalid(f"sortSpecs.dimensionIndex[{column}] is not in the range")
    is_descending = spec.text("sortOrder") == "DESCENDING"
    return SortSpec(column=column - box.left, is_descending=is_descending)


def _read_columns(editing: Editing, message: Message, area: Area) -> range:
    """Return the columns of a DimensionRange, counted from the first column of the area."""
    lines = read_lines(editing.workbook, message)
    is_inside = area.box.left <= lines.start and lines.end <= area.box.right
    if lines.is_rows or lines.sheet is not area.sheet or not is_inside:
        raise invalid("comparisonColumns must be columns of the range.")
    return range(lines.start - area.box.left, lines.end - area.box.left)


def _entries(editing: Editing, area: Area, columns: Sequence[int]) -> list[Entry]:
    """Return the stored rows of an area, with sort keys for `columns`."""
    results, sheet, box = Results(editing.workbook), area.sheet, area.box
    places = [box.left + column for column in columns]
    return [
        Entry(
            row=row,
            contents=contents(sheet, row, box),
            keys=[_key(results.of(sheet, row, place).value) for place in places],
        )
        for row in range(box.top, min(box.bottom, len(sheet.rows)))
    ]


def _put_entries(sheet: Sheet, box: Box, entries: Sequence[Entry]) -> None:
    for row, entry in enumerate(entries, start=box.top):
        put(sheet, row, box.left, [_moved(each, row - entry.row) for each in entry.contents])


def _moved(content: Content, down: int) -> Content:
    if not isinstance(content, Cell) or content.formula is None or down == 0:
        return content
    return replace(content, formula=translated(content.formula, down, 0))


def _sorted(entries: Sequence[Entry], at: int, *, is_descending: bool) -> list[Entry]:
    """Sort the entries by the key at index `at`."""
    filled = [(key, entry) for entry in entries if (key := entry.keys[at]) is not None]
    filled.sort(key=itemgetter(0), reverse=is_descending)
    return [entry for _, entry in filled] + [entry for entry in entries if entry.keys[at] is None]


def _key(value: CellValue | CellError) -> SortKey | None:
    """Return a sort key, or None for a blank.

    The order is numbers, texts ignoring case, booleans, errors.
    """
    if value is None:
        return None
    if isinstance(value, CellError):
        return 3, 0.0, value.text
    if isinstance(value, bool):
        return 2, float(value), ""
    if isinstance(value, str):
        return 1, 0.0, value.casefold()
    return 0, value, ""
