"""Checks of a worksheet's layout: its header, and the rows around its records.

Rules
- A finding names rows, columns, field names and settings, never a cell below the header.
- Checkboxes, formulas and dropdowns are read in the first rows only, where they show whether a
  column is filled down. Of later rows only values are read.
- Rows after a blank row, and below a native table, can be totals or notes. A finding names these
  rows.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from urllib.parse import quote

from gateway.commands.doctor.reasons import Finding, listed, note, ok, problem, quoted, warning
from gateway.commands.options import counted
from gateway.errors import SheetTooLarge, UpstreamTimeout
from gateway.google.sheets import (
    KnownRange,
    NativeTable,
    Render,
    Rendering,
    Sheets,
    SheetView,
    WorksheetProperties,
)
from gateway.table import a1
from gateway.table.column_types import SeenCell
from gateway.table.header import DEFAULT_LAYOUT, ROW_INDEX, Header, Layout, parse_header
from gateway.table.records import BLANK_ONLY, EndRule, by_column, last_record
from gateway.worksheets.access import Layouts, WorksheetId
from gateway.worksheets.catalogue import first_cells, read_first_rows
from gateway.worksheets.loader import header_of

MAX_CELLS = 1_000_000
"""Maximum total number of cells in the worksheets that are read to their last row."""

MAX_RANGE_CHARACTERS = 4_000
"""Maximum total length of the A1 ranges in the URL of a read."""

NOTE_ROWS = 3
"""Maximum number of last rows, after a blank row, that are reported as a total or a note."""

FEWEST_FILLED = 2
"""Minimum number of rows with only filled-down values for which a finding is reported."""

_CHECKBOX = "BOOLEAN"
_DROPDOWNS = frozenset({"ONE_OF_LIST", "ONE_OF_RANGE"})

Columns = Sequence[Sequence[object]]


@dataclass(frozen=True, kw_only=True)
class SeenWorksheet:
    """Cells of a worksheet, and its layout from the settings.

    `view` has the first rows. `displayed` has all displayed texts, from the first row of `view` on:
    a sequence of columns, each a sequence of cells. It is None if the worksheet is too large.
    `typed` has the typed values of the same cells. It is None if they were not read, because the
    displayed texts show where the records end.
    """

    spreadsheet: str
    layout: Layout
    view: SheetView
    displayed: Columns | None
    typed: Columns | None = None

    @property
    def header(self) -> Header:
        return header_of(self.view, self.layout)


async def read_worksheets(
    sheets: Sheets, spreadsheet: str, found: Sequence[WorksheetProperties], layouts: Layouts
) -> Sequence[SeenWorksheet]:
    """Read the worksheets for `check_worksheet`.

    Cost: 1 or 2 reads for the first rows, as `read_first_rows`; 1 more if a worksheet has more
    rows, and 1 more if the last rows of such a worksheet display TRUE or FALSE.
    """
    view = await read_first_rows(sheets, spreadsheet, found, layouts)
    sizes = {each.title: each for each in found}
    seen: list[SeenWorksheet] = []
    cells, characters = MAX_CELLS, MAX_RANGE_CHARACTERS
    longer: dict[str, str] = {}
    for each in view.worksheets:
        [block] = each.blocks
        size, range_ = sizes[each.title], a1.rows_from(each.title, block.first_row)
        displayed: Columns | None = by_column(block.texts)
        typed: Columns | None = by_column(block.values)
        if block.texts and block.first_row + len(block.texts) <= size.rows:
            displayed = typed = None
            more = size.rows * size.columns, len(quote(range_))
            if more[0] <= cells and more[1] <= characters:
                cells, characters = cells - more[0], characters - more[1]
                longer[each.title] = range_
        seen.append(
            SeenWorksheet(
                spreadsheet=spreadsheet,
                layout=layouts.of(WorksheetId(spreadsheet, each.title)),
                view=each,
                displayed=displayed,
                typed=typed,
            )
        )
    whole = await _read_whole(sheets, spreadsheet, longer, Render.DISPLAYED)
    unknown = {
        title: longer[title]
        for title, columns in whole.items()
        if last_record(EndRule(), columns) is None
    }
    values = await _read_whole(sheets, spreadsheet, unknown, Render.TYPED)
    return [
        replace(each, displayed=whole[title], typed=values.get(title))
        if (title := each.view.title) in whole
        else each
        for each in seen
    ]


async def _read_whole(
    sheets: Sheets, spreadsheet: str, ranges: dict[str, str], render: Render
) -> dict[str, Columns]:
    """Read A1 ranges, given by worksheet title. Returns the columns of their cells by title.

    The result is empty if Google's answer is too large or too slow. Cost: 1 read, or none without
    ranges.
    """
    if not ranges:
        return {}
    try:
        found = await sheets.read_several(
            spreadsheet, [KnownRange(each, None) for each in ranges.values()], render=render
        )
    except (SheetTooLarge, UpstreamTimeout):
        return {}
    pairs = zip(ranges, found, strict=True)
    return {title: each.columns for title, each in pairs if isinstance(each, Rendering)}


def check_worksheet(seen: SeenWorksheet, who: str) -> Iterator[Finding]:
    """Yield the findings about a worksheet. `who` is the account that writes to it."""
    view, header = seen.view, seen.header
    [block] = view.blocks
    below = block.texts[1:] if block.first_row == header.row else ()
    hints = [view.frozen_rows, *(table.first_row for table in view.tables)]
    yield from check_header(view.title, header, below, seen.spreadsheet, hints)
    likely = _likely_header(header, below, hints)
    if likely is not None:
        row, _ = likely
        header = parse_header(below[row - header.row - 1], seen.layout._replace(header_row=row))
    place = f"worksheet {quoted(view.title)}:"
    for each in (
        *_table_findings(view, header),
        *_Rows(seen, header).findings(),
        *_protection_findings(view, header, who),
    ):
        yield replace(each, text=f"{place} {each.text}")


def check_header(
    title: str,
    header: Header,
    below: Sequence[Sequence[object]] = (),
    spreadsheet: str = "ID",
    hints: Iterable[int] = (),
) -> Iterator[Finding]:
    """Report a missing header, and columns that are not served or have unusual names.

    `below` has the first rows after the header, and `spreadsheet` is the ID for settings in the
    texts. `hints` are numbers of rows that are probably the header: the last frozen row, and the
    first rows of native tables.
    """
    place = f"worksheet {quoted(title)}:"
    likely = _likely_header(header, below, hints)
    setting = _setting(spreadsheet, title, header.row == 1, likely[0]) if likely else ""
    if header.missing_field:
        yield problem(
            f"{place} no field {quoted(header.missing_field)}, its record_field, so the worksheet "
            f"is not served. Write it into row {header.row}, or correct record_field"
        )
    elif header.columns:
        yield ok(f"{place} {counted(len(header.columns), 'field')}")
    elif not header.cells:
        hint = f", or {setting}" if likely else ""
        yield warning(
            f"{place} row {header.row} is blank, so the worksheet is not served. Write column "
            f"names into row {header.row}{hint}"
        )
    if header.cells and likely:
        named = [cell for cell in header.cells if cell.strip()]
        top, (row, count) = header.row, likely
        cells = f"one cell, {quoted(named[0])}" if len(named) == 1 else f"{len(named)} cells"
        yield warning(
            f"{place} row {top} has {cells}, and row {row} has {count}. If row {top} is a title, "
            f"delete the rows above the field names, or {setting}; else write names into row {top}"
        )
    for text in (*(() if likely else _blanks(header, below)), *_odd_names(header)):
        yield warning(f"{place} {text}")


def _likely_header(
    header: Header, below: Sequence[Sequence[object]], hints: Iterable[int]
) -> tuple[int, int] | None:
    """Find a row below the header that is probably the real header.

    Returns its row number and the number of its cells, or None. This is a row in `hints` with more
    cells than the header; or, if the header has at most one cell, the first row with several cells.
    """
    counts = {
        row: sum(map(_is_filled, cells)) for row, cells in enumerate(below, start=header.row + 1)
    }
    named = sum(map(_is_filled, header.cells))
    for row in sorted(hints):
        if counts.get(row, 0) > max(named, 1):
            return row, counts[row]
    if named > 1:
        return None
    return next(((row, count) for row, count in counts.items() if count > 1), None)


def _setting(
    spreadsheet: str, title: str, is_new: bool, header_row: int = 1, record_field: str | None = None
) -> str:
    """Return advice to set `header_row` or `record_field` of a worksheet, with lines of TOML.

    `is_new` is true if the configuration has no table `[[worksheets]]` for this worksheet.
    """
    lines = [f'spreadsheet = "{spreadsheet}"', f"title = {_toml(title)}"] if is_new else []
    if header_row > 1:
        lines.append(f"header_row = {header_row}")
    if record_field is not None:
        lines.append(f"record_field = {_toml(record_field)}")
    if is_new:
        return f"add to the configuration [[worksheets]] with the lines {', '.join(lines)}"
    return f"write into its table [[worksheets]] {', '.join(lines)}"


def _toml(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _blanks(header: Header, below: Sequence[Sequence[object]]) -> Iterator[str]:
    """Describe columns without a name, within the header or to the right of it."""
    width = len(header.cells)
    found = {column for column, cell in enumerate(header.cells) if not cell.strip()}
    for row in below if width else ():
        found |= {width + more for more, cell in enumerate(row[width:]) if _is_filled(cell)}
    if found:
        they = "it" if len(found) == 1 else "they"
        yield (
            f"no header in {_columns(sorted(found))}, which {_are(found)} not served. Write a name "
            f"into row {header.row} there if {they} should be"
        )


def _are(columns: Collection[int]) -> str:
    return "is" if len(columns) == 1 else "are"


def _is_filled(cell: object) -> bool:
    return cell is not None and bool(str(cell).strip())


def _odd_names(header: Header) -> Iterator[str]:
    """Describe field names that are repeated, reserved, or begin or end with a blank."""
    for name in header.duplicates():
        found = [column for column, cell in enumerate(header.cells) if cell == name]
        if name.strip() != ROW_INDEX:
            yield (
                f"the header {quoted(name)} is in {_columns(found)}; only "
                f"{a1.column_letters(found[0])} is used. Rename the header in {_columns(found[1:])}"
            )
    reserved = [column for column, cell in enumerate(header.cells) if cell.strip() == ROW_INDEX]
    if reserved:
        yield (
            f"the header {ROW_INDEX} in {_columns(reserved)} is reserved for the row number, so "
            "the column is not served. Rename it"
        )
    for name, column in header.columns.items():
        if any(end.isspace() or not end.isprintable() for end in (name[0], name[-1])):
            yield (
                f"the header in {_columns([column])} has surrounding blanks: {quoted(name)}. "
                "Answers include them in the field name; remove them in the sheet"
            )


def _columns(columns: Sequence[int]) -> str:
    letters = [a1.column_letters(column) for column in columns]
    return f"column{'s' if len(letters) > 1 else ''} {listed(letters)}"


def _own_table(view: SheetView, header: Header) -> NativeTable | None:
    """Return the native table whose header is the header row of the worksheet, or None."""
    return next((each for each in view.tables if each.first_row == header.row), None)


def _table_findings(view: SheetView, header: Header) -> Iterator[Finding]:
    own = _own_table(view, header)
    if own is not None:
        yield note(f"native table {quoted(own.name)}, {own.area}: new rows go into it")
    for each in view.tables:
        if each.first_row != header.row:
            yield note(
                f"native table {quoted(each.name)}, {each.area}: its header is not in row "
                f"{header.row}, so its column names are not used"
            )


def _protection_findings(view: SheetView, header: Header, who: str) -> Iterator[Finding]:
    for each in view.protections:
        area, last = each.area, each.area.last_row
        shown = f"the range {area}" + (" (with exceptions)" if each.has_exceptions else "")
        if last is not None and last <= header.row:
            yield note(
                f"{shown} is protected. This is fine: the gateway writes only below the header"
            )
        else:
            yield warning(
                f"{shown} is protected, so Google refuses writes there. Let {who} edit it: Data > "
                "Protect sheets and ranges"
            )


class _Rows:
    """Findings about the rows below a header: where the records end, and totals or notes.

    Rows are numbered from 1, the row after the header.
    """

    def __init__(self, seen: SeenWorksheet, header: Header) -> None:
        [block] = seen.view.blocks
        skipped = header.row + 1 - block.first_row
        self._seen, self._header = seen, header
        self._displayed = [cells[skipped:] for cells in seen.displayed or ()]
        self._typed = None if seen.typed is None else [cells[skipped:] for cells in seen.typed]
        self._first = first_cells(block, skipped)
        self._fillings = [
            _filling(self._first.get(at, ()), cells) for at, cells in enumerate(self._displayed)
        ]

    def findings(self) -> Iterator[Finding]:
        """Yield the findings about the rows, with the row numbers of the worksheet."""
        header = self._header
        if not header.columns:
            return
        if self._seen.displayed is None:
            yield note("its rows are not checked, because it has too many cells")
            return
        shown = _last_shown(self._displayed)
        end = last_record(header.end, self._displayed, self._typed)
        end = shown if end is None else end
        yield from self._findings_below(end)
        record_field = header.end.column
        if record_field is not None and _is_computed(self._first.get(record_field, ())):
            yield warning(
                f"{_columns([record_field])}, the record_field, has formulas: each new row needs a "
                "value that takes the place of its formula. Choose a field without formulas"
            )
        if end < shown:
            what = "only FALSE and blanks"
            if record_field is not None:
                what = f"no value in {quoted(header.cells[record_field])}"
            yield note(f"no records in {self._rows(end + 1, shown)}: {what}")
        last, field, layout = self._last_entered, self._record_field, self._seen.layout
        if end - last >= FEWEST_FILLED and field is not None and layout.filled_down:
            filled = [at for at, cells in enumerate(self._displayed) if len(cells) >= end]
            setting = _setting(
                self._seen.spreadsheet,
                self._seen.view.title,
                layout == DEFAULT_LAYOUT,
                header.row,
                field,
            )
            yield warning(
                f"{self._rows(last + 1, end)} have values only in {_columns(filled)}, which "
                f"{_are(filled)} filled down, and count as records. To leave them out, {setting}"
            )

    def _findings_below(self, end: int) -> Iterator[Finding]:
        """Yield findings about totals and notes below the data. `end` is the last record."""
        table, last = _own_table(self._seen.view, self._header), min(self._last_entered, end)
        above, first = 0, last
        if table is not None:
            above = table.last_row + table.has_totals - self._header.row
            if table.has_totals:
                yield warning(
                    f"{self._rows(above)} has the totals of the native table, and counts as a "
                    "record. Move totals above the header or to another worksheet"
                )
            first = next(filter(self._is_entered, range(above + 1, last + 1)), last + 1)
        else:
            while first > 1 and self._is_entered(first - 1):
                first -= 1
            above = next(filter(self._is_entered, range(first - 1, 0, -1)), 0)
            if last + 1 - first > min(NOTE_ROWS, above):
                above = last - 1
                first = last if self._is_total(last) else last + 1
        if first <= last:
            count = "counts as a record" if first == last else "count as records"
            if _last_shown([cells[above : first - 1] for cells in self._displayed]):
                count += f", and so do {self._rows(above + 1, first - 1)}"
            yield warning(
                f"{self._rows(first, last)} below the data {count}. If this is a total or a note, "
                "move it above the header or to another worksheet"
            )

    @cached_property
    def _last_entered(self) -> int:
        """Number of the last row with a value that is not filled down, or 0."""
        return next(filter(self._is_entered, range(_last_shown(self._displayed), 0, -1)), 0)

    def _is_entered(self, row: int) -> bool:
        columns = zip(self._displayed, self._fillings, strict=True)
        return any(
            len(cells) >= row and cells[row - 1] not in ("", None) and cells[row - 1] not in filling
            for cells, filling in columns
        )

    def _is_total(self, row: int) -> bool:
        """True if a row has a formula in a column that is not filled down.

        Formulas are known only of the first rows that were read.
        """
        return any(
            cells[row - 1].is_computed and not self._fillings[at]
            for at, cells in self._first.items()
            if 1 < row <= len(cells) and at < len(self._fillings)
        )

    @property
    def _record_field(self) -> str | None:
        """Name of the field with the most values, except filled-down columns, or None."""
        counts = {
            name: sum(cell not in ("", None) for cell in self._displayed[at])
            for name, at in self._header.columns.items()
            if at < len(self._displayed) and not self._fillings[at]
        }
        return max(counts, key=counts.__getitem__, default=None)

    def _rows(self, first: int, last: int | None = None) -> str:
        """Return a text such as "rows 5 to 9", with the row numbers of the worksheet."""
        top = self._header.row
        if last is None or first == last:
            return f"row {top + first}"
        return f"rows {top + first} to {top + last}"


def _last_shown(columns: Columns) -> int:
    """Return the number of the last row with a displayed text, from 1, or 0."""
    return last_record(BLANK_ONLY, columns) or 0


def _is_computed(first: Sequence[SeenCell]) -> bool:
    """True if most of the first cells of a column have formulas."""
    computed = sum(cell.is_computed for cell in first)
    return computed > sum(not (cell.is_computed or cell.is_blank) for cell in first)


def _filling(first: Sequence[SeenCell], cells: Sequence[object]) -> Collection[object]:
    """Return the texts with which a column with these first cells and texts is filled down."""
    if _is_computed(first):
        return frozenset(cells)
    found: set[object] = {cell.text for cell in first if cell.value is False}
    rules = {cell.form.rule for cell in first}
    if _CHECKBOX in rules:
        found.add("FALSE")
    if rules & _DROPDOWNS:
        found |= {cell for cell in cells[-1:] if cell not in ("", None)}
    return found
