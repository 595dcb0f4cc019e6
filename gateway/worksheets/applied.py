"""Results of applied writes: positions, displayed values, and what later reads must show.

Rules: what is read here was certainly applied, as its fence or its answer proved. Rows that people
moved or changed before they were seen have no number (`RowNumberUnknown`); none is guessed.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from gateway.errors import (
    GatewayError,
    HeaderChanged,
    RowNumberUnknown,
    UpstreamRefusal,
)
from gateway.google.sheets import Block, Render, Sheets, SheetView, Value
from gateway.table import a1
from gateway.table.header import Header, parse_header
from gateway.table.patch import RowPatch
from gateway.table.record import place, text_at
from gateway.table.table import FIRST_DATA_ROW
from gateway.worksheets.header_cache import SheetExtent
from gateway.worksheets.idempotency import Entry, Rows
from gateway.worksheets.loader import check_names
from gateway.worksheets.planning import (
    NewRows,
    Planner,
    RowChange,
    create_results,
    header_changed,
)
from gateway.worksheets.position import at_the_end, holds, searched
from gateway.worksheets.refusal import explaining
from gateway.worksheets.snapshot import Effect
from gateway.worksheets.worksheet import Worksheet
from gateway.worksheets.worksheet_id import WorksheetId, own_area, own_sheet
from gateway.worksheets.writes import Create, Outcome, Results, Update, written_row

Parts = Sequence[NewRows] | Sequence[RowChange]


@dataclass(frozen=True, kw_only=True)
class SentBatch:
    """A batch as it was sent: the header it was planned by, the row that its new rows come after,
    and when it was sent, in monotonic seconds."""

    header: Header
    after_row: int
    sent_seconds: float


@dataclass(frozen=True, kw_only=True)
class _Placed:
    """Rows of a create where they were seen: cells from column A, as displayed and as values."""

    first_row: int
    texts: Sequence[Sequence[str]]
    values: Sequence[Sequence[Value]]


@dataclass(frozen=True, kw_only=True)
class AppliedReader:
    sheets: Sheets
    planner: Planner

    async def created(
        self,
        worksheet: Worksheet,
        sent: SentBatch,
        parts: Sequence[NewRows],
        view: SheetView | None,
    ) -> dict[int, Outcome]:
        """The results of creates by the answer of their batch, or by a look if it is lost.

        Free; 1 to 3 reads without an answer, or if the rows are not in it.
        """
        creates = [part.rows for part in parts]
        if view is not None:
            header, placed = _header(view), _placed(view.blocks[1], creates, at_the_end)
        if view is None or None in placed:
            header, placed = await self._located(worksheet, creates, sent.after_row)
        if view is not None and header.cells == sent.header.cells and None not in placed:
            _keep(worksheet, view, header, sent.sent_seconds, placed)
            worksheet.written(_append_effect(header, creates, placed))
        else:
            worksheet.forget()
            worksheet.header.forget()
        return {
            part.index: moved() if at is None else _created(part, sent.header, header, at)
            for part, at in zip(parts, placed, strict=True)
        }

    async def updated(
        self,
        worksheet: Worksheet,
        sent: SentBatch,
        parts: Sequence[RowChange],
        view: SheetView | None,
    ) -> dict[int, Outcome]:
        """The results of updates by the answer of their batch, or by a look if it is lost.

        Free; 1 read without an answer.
        """
        is_lost = view is None
        if view is None:
            ranges = answer_ranges(worksheet.id, sent.after_row, parts)
            view = await self.sheets.read_sheet(worksheet.id.spreadsheet, ranges)
            own_sheet(worksheet.id, view)
        header = _header(view)
        outcomes: dict[int, Outcome] = {}
        patches: dict[RowChange, RowPatch] = {}
        for part, block in zip(parts, view.blocks[1:], strict=True):
            texts, values = _first_row(block)
            if is_lost and not holds(values, part.cells):
                outcomes[part.index] = moved()
                continue
            patches[part] = _patch(part, texts, values)
            result = (written_row(part.row, part.placement, part.view, texts),)
            changed = header_changed(part, sent.header, header, part.row)
            outcomes[part.index] = changed or result
        _keep(worksheet, view, header, sent.sent_seconds)
        if any(value == "" for part in parts for value in part.values.values()):
            # The worksheet may have a new last row now; no look from before knows it.
            worksheet.header.forget()
        worksheet.written(
            Effect(
                header=sent.header,
                rows=[*patches.values()],
                before={part.row: part.displayed for part in patches},
            )
        )
        if is_lost or header.cells != sent.header.cells:
            worksheet.forget()
        return outcomes

    async def _located(
        self, worksheet: Worksheet, creates: Sequence[Rows], after_row: int
    ) -> tuple[Header, Sequence[_Placed | None]]:
        """The rows of applied creates, by their content. 1 read; 2 more if they moved up."""
        id_, spreadsheet = worksheet.id, worksheet.id.spreadsheet
        with suppress(UpstreamRefusal):  # the grid ends above
            ranges = [a1.header_range(id_.title), a1.rows_from(id_.title, after_row)]
            view = own_sheet(id_, await self.sheets.read_sheet(spreadsheet, ranges))
            placed = _placed(view.blocks[1], creates, searched)
            if None not in placed or after_row < FIRST_DATA_ROW:
                _saw(worksheet, view, placed)
                return _header(view), placed
        async with explaining(self.sheets, id_):
            values = await self.sheets.read_values(
                spreadsheet, a1.rows_from(id_.title, FIRST_DATA_ROW), render=Render.TYPED
            )
            own_area(id_, values.range)
            firsts = searched(values.cells, creates)
            found = [
                a1.rows_between(id_.title, first, first + len(rows) - 1)
                for at, rows in zip(firsts, creates, strict=True)
                if at is not None
                for first in [FIRST_DATA_ROW + at]
            ]
            view = own_sheet(
                id_,
                await self.sheets.read_sheet(spreadsheet, [a1.header_range(id_.title), *found]),
            )
        blocks = iter(view.blocks[1:])
        placed = [
            None if at is None else _placed(next(blocks), [rows], searched)[0]
            for at, rows in zip(firsts, creates, strict=True)
        ]
        _saw(worksheet, view, placed)
        return _header(view), placed

    async def recorded_create(self, worksheet: Worksheet, create: Create, entry: Entry) -> Results:
        """The rows of an applied create. 1 to 3 reads."""
        after_row = max(entry.first_row - 1, 1)
        header, (at,) = await self._located(worksheet, [entry.rows], after_row)
        if at is None:
            raise moved()
        parts, _ = self.planner.new_rows({0: create}, header)
        # The header has its fields no more, or had them elsewhere when the rows were written.
        if not parts or _cells(parts[0].rows) != _cells(entry.rows):
            raise _header_gone(at.first_row)
        return create_results(parts[0], at.first_row, at.texts)

    async def recorded_update(self, worksheet: Worksheet, update: Update, entry: Entry) -> Results:
        """The row of an applied update. 1 read."""
        title = worksheet.id.title
        ranges = [a1.header_range(title), a1.row_range(title, update.row)]
        seen = own_sheet(
            worksheet.id, await self.sheets.read_sheet(worksheet.id.spreadsheet, ranges)
        )
        header = _header(seen)
        texts, values = _first_row(seen.blocks[1])
        if not holds(values, entry.rows[0]):
            raise moved()
        worksheet.saw(header, {update.row: texts})
        check_names(header)
        view = header.seen_with(update.access.columns)
        try:
            placement = place(update.fields, view, ignore_unknown=self.planner.ignore_unknown)
        except GatewayError as error:
            raise _header_gone(update.row) from error
        cells = {at: "" if value is None else value for at, value in placement.cells.items()}
        if not _cells(entry.rows)[0].items() <= cells.items():
            raise _header_gone(update.row)
        return (written_row(update.row, placement, view, texts),)


def answer_ranges(worksheet: WorksheetId, after_row: int, parts: Parts) -> Sequence[str]:
    """The ranges of an answer: the header, and the rows that the write changes or adds."""
    rows = [part.row for part in parts if isinstance(part, RowChange)]
    shown = [a1.row_range(worksheet.title, row) for row in rows]
    return [
        a1.header_range(worksheet.title),
        *(shown or [a1.rows_from(worksheet.title, after_row)]),
    ]


def _keep(
    worksheet: Worksheet,
    view: SheetView,
    header: Header,
    sent_seconds: float,
    placed: Sequence[_Placed | None] = (),
) -> None:
    """Keep header, sheet id and end of the worksheet as of a write."""
    cache = worksheet.header
    cache.compare(header, as_of=cache.moment())
    cache.seen_sheet(view.sheet_id, sent_seconds)
    last = cache.last()
    ends = [at.first_row + len(at.texts) - 1 for at in placed if at is not None]
    if ends or last is not None:
        cache.keep(
            SheetExtent(
                header=header,
                last_row=max(ends) if ends else last.last_row if last else 1,
                starts_blank=False,
                grid_rows=view.rows,
                header_as_of=sent_seconds,
                as_of=cache.moment(),
            )
        )


def _saw(worksheet: Worksheet, view: SheetView, placed: Sequence[_Placed | None]) -> None:
    """A client may hear of these rows: no later answer may show older ones."""
    rows = {
        at.first_row + offset: texts
        for at in placed
        if at is not None
        for offset, texts in enumerate(at.texts)
    }
    worksheet.saw(_header(view), rows)


def _cells(rows: Rows) -> Sequence[Mapping[int, object]]:
    """The written cells of rows, by column."""
    return [
        {column: value for column, value in enumerate(row) if value is not None} for row in rows
    ]


def _header(view: SheetView) -> Header:
    texts, _ = _first_row(view.blocks[0])
    return parse_header(texts)


def _first_row(block: Block) -> tuple[Sequence[str], Sequence[Value]]:
    return (block.texts[0], block.values[0]) if block.texts else ((), ())


def _placed(
    block: Block,
    creates: Sequence[Rows],
    find: Callable[[Sequence[Sequence[Value]], Sequence[Rows]], Sequence[int | None]],
) -> Sequence[_Placed | None]:
    """The rows of creates among the data rows of a block."""
    skipped = max(0, FIRST_DATA_ROW - block.first_row)
    texts, values = block.texts[skipped:], block.values[skipped:]
    return [
        None
        if at is None
        else _Placed(
            first_row=block.first_row + skipped + at,
            texts=texts[at : at + len(rows)],
            values=values[at : at + len(rows)],
        )
        for at, rows in zip(find(values, creates), creates, strict=True)
    ]


def _created(part: NewRows, before: Header, after: Header, at: _Placed) -> Outcome:
    changed = header_changed(part, before, after, at.first_row)
    return changed or create_results(part, at.first_row, at.texts)


def _append_effect(
    header: Header, creates: Sequence[Rows], placed: Sequence[_Placed | None]
) -> Effect:
    patches = []
    for rows, at in zip(creates, placed, strict=True):
        if at is None:
            continue
        for offset, row in enumerate(rows):
            texts = {column: text for column, text in enumerate(at.texts[offset]) if text}
            values: dict[int, object] = {
                column: value for column, value in enumerate(row) if value is not None
            }
            shown = {column: at.values[offset][column] for column in texts}
            texts = dict.fromkeys(values, "") | texts
            patches.append(RowPatch(row=at.first_row + offset, texts=texts, values=values | shown))
    return Effect(header=header, rows=patches)


def _patch(part: RowChange, texts: Sequence[str], values: Sequence[Value]) -> RowPatch:
    """The cells of a row that were written or that display something else now."""
    width = max(len(part.displayed), len(texts), max(part.values) + 1)
    changed = [
        column
        for column in range(width)
        if column in part.values or text_at(part.displayed, column) != text_at(texts, column)
    ]
    shown = {column: text_at(texts, column) for column in changed}
    typed = {
        column: "" if column >= len(values) or values[column] is None else values[column]
        for column in changed
    }
    return RowPatch(row=part.row, texts=shown, values=typed)


def moved(cause: Exception | None = None) -> RowNumberUnknown:
    error = RowNumberUnknown(
        "The write was applied, but its rows were moved or changed since, so their numbers are "
        "unknown. Look at the worksheet, and do not send it again."
    )
    error.__cause__ = cause
    return error


def _header_gone(row: int) -> HeaderChanged:
    return HeaderChanged(
        f"The values were written to row {row}, but the worksheet's header has changed since. Look "
        "at the row, and do not send it again.",
        row=row,
    )
