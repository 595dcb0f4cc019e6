"""Reads of single rows together with the header, for writes by row number.

Rules
- The age of a read counts from the time at which the gateway sent it.
- A row exists if it is a record, or if a row below it is a record.
- Answers can show rows that these functions read. So the functions mark older cached rows as
  outdated (`Worksheet.saw`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from gateway.errors import LookOutdated, RowNotFound, SheetTooLarge, UpstreamRefusal, WriteTooLarge
from gateway.google.sheets import (
    Detail,
    Render,
    SheetArea,
    SheetView,
    Value,
    recording_sent_at,
)
from gateway.table import a1
from gateway.table.column_types import SeenCell
from gateway.table.header import Header, parse_header
from gateway.table.records import EndRule, last_record
from gateway.worksheets.access import worksheet_not_found
from gateway.worksheets.loader import OtherTab, form_ranges, forms_in
from gateway.worksheets.refusal import tabs_changing
from gateway.worksheets.worksheet import Worksheet

MAX_LOOKS = 3
"""Maximum number of reads if requested rows are below the grid."""

MAX_TARGET_CELLS = 500_000
"""Maximum number of cells in all rows that one write reads."""


@dataclass(frozen=True, kw_only=True)
class RowLook:
    """Header and displayed cells of existing rows by row number, from one read of the sheet.

    `missing` are the requested rows that do not exist. `around` are rows above and below requested
    rows, `values` are the typed values of all these rows, and `cells` their cells with number
    formats and validation. `around`, `values` and `cells` are empty unless the caller requested
    them. `sent_at` is the time of the read in monotonic seconds. `last_record` is the number of the
    last read row that is a record by its own cells, or 0.
    """

    sheet_id: int
    header: Header
    rows: Mapping[int, Sequence[str]]
    missing: frozenset[int]
    tail: Mapping[int, Sequence[str]] = field(default_factory=dict)
    """Displayed texts of requested rows that are below the last record."""
    sent_at: float
    around: Mapping[int, Sequence[str]] = field(default_factory=dict)
    frozen_rows: int = 0
    grid_rows: int = 0
    last_record: int = 0
    values: Mapping[int, Sequence[Value]] = field(default_factory=dict)
    cells: Mapping[int, Sequence[SeenCell]] = field(default_factory=dict)


async def look_at_rows(
    worksheet: Worksheet,
    rows: Sequence[int],
    *,
    around: int = 0,
    detail: Detail = Detail.TEXTS,
) -> RowLook:
    """Read the header and some rows. Costs 1 read in most cases.

    Costs 1 read more if a requested row might be below the last record, and another read if all
    rows below it display only words of booleans (`FALSE`). If a row is below the grid, 1 read more
    for a single row, 3 for several. `around` is the number of rows to read above and below each
    requested row. `Detail.FORMS` also reads the formats of columns unless they are cached, with 2
    reads more if the cached last row was deleted. If another tab takes the title between two reads,
    all reads are repeated.
    """
    for _ in range(MAX_LOOKS):
        look = await _look(worksheet, rows, around=around, detail=detail)
        last = look.last_record
        if last >= max(look.rows, default=0):
            return look
        # Requested rows below `last` exist only if a record follows them.
        area = SheetArea(look.sheet_id, min(row for row in look.rows if row > last))
        try:
            last = max(last, await _last_row(worksheet, area, look.header.end))
        except OtherTab:
            continue
        existing = {row: texts for row, texts in look.rows.items() if row <= last}
        tail = {row: texts for row, texts in look.rows.items() if row > last}
        missing = frozenset(rows) - existing.keys()
        return replace(look, rows=existing, missing=missing, tail=tail)
    raise tabs_changing()


async def _look(
    worksheet: Worksheet, rows: Sequence[int], *, around: int, detail: Detail
) -> RowLook:
    """Read the header and the rows within the grid, including rows that are blank."""
    moment, cache, header_row = worksheet.moment(), worksheet.header, worksheet.header_row
    found: Sequence[int] = sorted(rows)
    grid_of: int | None = None
    last_row: int | None = None
    has_values = detail is not Detail.TEXTS
    if not has_values and worksheet.layout.filled_down and not worksheet.layout.record_field:
        detail = Detail.VALUES  # typed values show which rows have only booleans
    if detail is Detail.FORMS and cache.fresh_forms() is None:
        last = cache.extent
        last_row = header_row if last is None else last.last_row
    for _ in range(MAX_LOOKS):  # people can delete rows between two reads
        spans = a1.row_spans(found, around=around, header_row=header_row)
        try:
            look, view = await _read_rows(
                worksheet, found, spans, asked=len(rows), detail=detail, last_row=last_row
            )
        except WriteTooLarge:
            if last_row != header_row:
                raise
            last_row = header_row + 1  # read the formats of columns from fewer rows
            continue
        except RowNotFound:
            if last_row is not None and last_row > max(found):
                cache.forget()  # the cached last row may be the missing row
                last_row = header_row
                continue
            grid_of, found = await _rows_in_grid(worksheet, found)
            if found:
                continue
            return RowLook(
                sheet_id=0,
                header=parse_header((), worksheet.layout),
                rows={},
                missing=frozenset(rows),
                sent_at=worksheet.now(),
            )
        if grid_of is None or grid_of == view.sheet_id:
            break
        found, grid_of = sorted(rows), None  # that grid belongs to another tab
    else:
        raise LookOutdated
    header, shown = look.header, look.rows
    cache.compare(header, as_of=moment)
    forms = None if last_row is None else forms_in(view, last_row)
    cache.seen_sheet(view, look.sent_at, forms=forms, header=header)
    await worksheet.loader.check_header(header)
    if len(rows) > 1 and sum(map(len, shown.values())) > MAX_TARGET_CELLS:
        raise _too_large(is_row=False)
    displayed, around_rows = dict[int, Sequence[str]](), {**shown}
    for row in found:
        if row in shown:
            displayed[row] = around_rows.pop(row)
    values = look.values if has_values else {}
    worksheet.saw(header, shown, values)
    return replace(
        look,
        last_record=_last_record(header.end, shown, look.values),
        rows=displayed,
        missing=frozenset(rows) - displayed.keys(),
        around=around_rows,
        values=values,
    )


async def look_again(
    worksheet: Worksheet, rows: Sequence[int], *, around: int, detail: Detail
) -> RowLook | None:
    """Read planned rows again, with rows around them. Returns None if a row is below the grid.

    Costs 1 read. `around` and `detail` are as in `look_at_rows`, without `Detail.FORMS`.
    """
    moment = worksheet.moment()
    spans = a1.row_spans(rows, around=around, header_row=worksheet.header_row)
    try:
        look, _ = await _read_rows(worksheet, rows, spans, asked=len(rows), detail=detail)
    except RowNotFound:
        return None
    worksheet.header.compare(look.header, as_of=moment)
    worksheet.saw(look.header, look.rows, look.values)
    return look


async def look_at_forms(
    worksheet: Worksheet,
    spans: Mapping[int, tuple[int, int]],
    *,
    header: Header,
    sheet_id: int,
    last_row: int,
) -> Mapping[int, Sequence[SeenCell]]:
    """Read the formats and validation of columns into the header cache, and cells of some rows.

    Costs 1 read. `spans` has the first and last column to read, by row number. Returns the cells of
    these rows from column A, by row number. Raises LookOutdated if a row was deleted, or if the tab
    or the header has changed.
    """
    id_, began = worksheet.id, worksheet.now()
    ranges = form_ranges(id_.title, last_row, header.row)
    ranges += [a1.cells_of_row(id_.title, row, *span) for row, span in spans.items()]
    try:
        view, seen = await worksheet.loader.read(ranges, Detail.FORMS)
    except SheetTooLarge as too_large:
        raise _too_large(is_row=False) from too_large
    except UpstreamRefusal as refusal:
        raise LookOutdated from refusal
    if (view.sheet_id, seen.cells) != (sheet_id, header.cells):
        raise LookOutdated
    worksheet.header.seen_sheet(view, began, forms=forms_in(view, last_row), header=header)
    own: dict[int, Sequence[SeenCell]] = {}
    for (row, (first, _)), block in zip(
        spans.items(), view.blocks[len(ranges) - len(spans) :], strict=True
    ):
        (cells,) = block.cells or [[]]
        own[row] = [*[SeenCell()] * first, *cells]
    return own


async def _read_rows(
    worksheet: Worksheet,
    rows: Sequence[int],
    spans: Sequence[tuple[int, int]],
    *,
    asked: int,
    detail: Detail = Detail.TEXTS,
    last_row: int | None = None,
) -> tuple[RowLook, SheetView]:
    """Read the header and spans of rows. Returns the rows within the grid, and the view.

    `asked` is the number of rows that the client named. With `last_row`, the view also has the
    formats of columns. Raises RowNotFound if a row is below the grid, and WriteTooLarge
    if the rows are too large to read.
    """
    id_, began, header_row = worksheet.id, worksheet.now(), worksheet.header_row
    ranges = [a1.row_range(id_.title, header_row)]
    if last_row is not None:
        ranges = form_ranges(id_.title, last_row, header_row)
    ranges += [a1.rows_between(id_.title, *span) for span in spans]
    try:
        with recording_sent_at() as sent:
            view, header = await worksheet.loader.read(ranges, detail)
    except SheetTooLarge as too_large:
        raise _too_large(is_row=asked <= 1) from too_large
    except UpstreamRefusal as refusal:
        last = max([*rows, last_row or header_row])
        raise await worksheet.loader.explained(refusal, last) from refusal
    texts: dict[int, Sequence[str]] = {}
    values: dict[int, Sequence[Value]] = {}
    cells: dict[int, Sequence[SeenCell]] = {}
    for block, (first, last) in zip(view.blocks[len(ranges) - len(spans) :], spans, strict=True):
        for at, row in enumerate(range(first, min(last, view.rows) + 1)):
            is_filled = at < len(block.texts)
            texts[row] = block.texts[at] if is_filled else ()
            if detail is not Detail.TEXTS:
                values[row] = block.values[at] if is_filled else ()
            if detail is Detail.FORMS:
                cells[row] = block.cells[at] if is_filled else ()
    look = RowLook(
        sheet_id=view.sheet_id,
        header=header,
        rows=texts,
        missing=frozenset(),
        sent_at=sent.at_seconds or began,
        frozen_rows=view.frozen_rows,
        grid_rows=view.rows,
        values=values,
        cells=cells,
    )
    return look, view


def _too_large(*, is_row: bool) -> WriteTooLarge:
    """Make the error of a write whose rows are too large to read: one row (`is_row`) or several."""
    return WriteTooLarge(
        "The row of this request is too large for the gateway to read. Nothing was written: ask "
        "the gateway's operator to raise google.max_answer_bytes."
        if is_row
        else f"The rows of this request have more than {MAX_TARGET_CELLS:,} cells, or too much "
        "text. Nothing was written: name fewer rows in one request.",
        outcome="not_applied",
    )


async def _rows_in_grid(
    worksheet: Worksheet, rows: Sequence[int]
) -> tuple[int | None, Sequence[int]]:
    """Return the sheet ID of the tab with the title, and the rows within its grid.

    Costs 1 read. A single row, which Google has just refused, costs no read and gives None and no
    rows. Raises WorksheetNotFound if no tab has the title.
    """
    if len(rows) == 1:  # Google has refused this row
        return None, ()
    worksheets = await worksheet.sheets.list_worksheets(worksheet.id.spreadsheet)
    for sheet in worksheets:
        if sheet.title == worksheet.id.title:
            return sheet.sheet_id, [row for row in rows if row <= sheet.rows]
    raise worksheet_not_found(worksheet.id, [sheet.title for sheet in worksheets])


def _last_record(
    end: EndRule, rows: Mapping[int, Sequence[str]], values: Mapping[int, Sequence[Value]]
) -> int:
    """Return the number of the last row that is a record by its own cells, or 0."""
    for row, texts in sorted(rows.items(), reverse=True):
        if end.column is None and len({"", *texts}) > 2:  # a filled-down row displays FALSE only
            return row
        typed = [[value] for value in values[row]] if row in values else None
        if last_record(end, [[text] for text in texts], typed):
            return row
    return 0


async def _last_row(worksheet: Worksheet, area: SheetArea, end: EndRule) -> int:
    """Return the row number of the last record in an area, or 0. Raises `OtherTab`.

    Costs 1 read, and 1 more if the last rows display only words of booleans such as `FALSE`.
    """
    displayed = await worksheet.loader.read_tab(area, Render.DISPLAYED)
    columns = () if displayed is None else displayed.columns
    last = last_record(end, columns)
    if last is None:
        typed = await worksheet.loader.read_tab(area, Render.TYPED)
        last = last_record(end, columns, () if typed is None else typed.columns)
    return area.first_row + last - 1 if last else 0
