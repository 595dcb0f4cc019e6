"""Results of applied writes: positions, displayed values, and what later reads must show.

Rules: what is read here was certainly applied, as its fence or its answer proved. Rows that people
moved or changed before they were seen have no number (`RowNumberUnknown`); none is guessed.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from gateway.errors import (
    GatewayError,
    HeaderChanged,
    UpstreamRefusal,
)
from gateway.google.sheets import Block, Render, Sheets, SheetView, Value
from gateway.table import a1
from gateway.table.header import Header, parse_header
from gateway.table.patch import RowPatch
from gateway.table.record import Stored, place, text_at
from gateway.table.steps import Work
from gateway.table.table import FIRST_DATA_ROW
from gateway.worksheets.access import Access
from gateway.worksheets.batch import REQUEST_STEPS, Asked, Edge, Seen, Span, answer_ranges
from gateway.worksheets.header_cache import SheetExtent
from gateway.worksheets.idempotency import Entry, Rows, number_unknown
from gateway.worksheets.loader import check_names
from gateway.worksheets.moved_rows import met_others, shown_row
from gateway.worksheets.planning import (
    UPDATE_STEPS,
    Planned,
    Planner,
    RowChange,
    check_header,
    create_results,
    told_if_new,
)
from gateway.worksheets.position import at_the_end, holds, located
from gateway.worksheets.refusal import explaining
from gateway.worksheets.scheduler import Scheduler
from gateway.worksheets.snapshot import Effect
from gateway.worksheets.worksheet import Worksheet
from gateway.worksheets.worksheet_id import own_area, own_sheet
from gateway.worksheets.writes import (
    Create,
    Delete,
    DeleteWhere,
    Fields,
    Outcome,
    Results,
    Update,
    UpdateRows,
    UpdateWhere,
    Upsert,
    Write,
    Written,
    number_only,
    written_row,
)

PATCH_STEPS = 8
"""Steps for one cell of a row that changed."""


@dataclass(frozen=True, kw_only=True)
class SentBatch:
    """A batch as it was sent: the tab, the header it was planned by, the row that its new rows come
    after, the cells that its answer shows of changed rows and beside removed ones, and when it was
    sent, as a moment and in monotonic seconds."""

    sheet_id: int
    header: Header
    after_row: int
    is_end: bool
    asked: Sequence[Asked]
    edges: Sequence[Edge]
    sent_at: int
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
    scheduler: Scheduler

    async def results(
        self,
        worksheet: Worksheet,
        sent: SentBatch,
        writes: Sequence[Planned],
        view: SheetView | None,
    ) -> dict[int, Outcome]:
        """The results of applied writes by the answer of their batch, or by a look if it is lost.

        Free with an answer that has the new rows; otherwise 1 read for changed rows, and 1 to 3
        for new ones.
        """
        changes = [change for each in writes for change in each.changes]
        creates = [each.created.rows for each in writes if each.created]
        is_lost = view is None
        header = sent.header
        blocks: Sequence[Block] = ()
        beside: Sequence[Block] = ()
        placed: Sequence[_Placed | None] = ()
        if view is None and changes:
            ranges = await self.scheduler.build(
                answer_ranges(worksheet.id, sent.after_row, sent.asked, has_new_rows=False)
            )
            seen = await self.sheets.read_sheet(worksheet.id.spreadsheet, ranges)
            _check_tab(seen, sent.sheet_id)
            header, blocks = _header(own_sheet(worksheet.id, seen)), seen.blocks[1:]
        elif view is not None:
            end = 1 + len(sent.asked)
            header, blocks = _header(view), view.blocks[1:end]
            beside = view.blocks[end : end + len(sent.edges)]
            if creates:
                work = _placed(view.blocks[-1], creates, at_the_end)
                placed = await self.scheduler.build(work)
        is_found = not is_lost and None not in placed
        if creates and not is_found:
            header, placed = await self._located(
                worksheet,
                creates,
                sent.after_row + 1 if sent.is_end else 0,
                sheet_id=sent.sheet_id,
            )
        outcomes, patches = await self.scheduler.build(
            _outcomes_and_patches(writes, sent, header, (blocks, beside), placed, is_lost=is_lost)
        )
        if view is not None and patches is not None and is_found:
            removed = {row: texts for each in writes for row, texts in each.removed.items()}
            _keep(worksheet, view, header, sent.sent_seconds, placed, removed=removed)
            extent = worksheet.header.last()
            effect = Effect(
                header=header,
                rows=patches,
                before=removed or {change.row: change.displayed for change in changes},
                removed=sorted(removed),
                last_row=extent.last_row if extent else 0,
                sent_at=sent.sent_at,
            )
            await worksheet.take_in(effect)
        else:
            worksheet.forget()
            worksheet.header.forget()
        if any("" in run for change in changes for _, run in change.runs):
            # The worksheet may have a new last row now; no look from before knows it.
            worksheet.header.forget()
        return outcomes

    async def _located(
        self,
        worksheet: Worksheet,
        creates: Sequence[Rows],
        first_row: int,
        *,
        below: int = 0,
        sheet_id: int | None = None,
        is_retry: bool = False,
    ) -> tuple[Header, Sequence[_Placed | None]]:
        """The rows of applied creates, by their content. 1 read; 2 more if they moved up.

        They come one after another from `first_row` on if nobody wrote meanwhile, 0 if the end was
        not known; `below` others were appended below them. `is_retry`: others may have appended
        rows since. Each answer has their header with them. `sheet_id` is the tab that they were
        written to, if it is known.
        """
        id_, spreadsheet = worksheet.id, worksheet.id.spreadsheet
        start = max(FIRST_DATA_ROW, first_row - 1)
        with suppress(UpstreamRefusal):  # the grid ends above
            ranges = [a1.header_range(id_.title), a1.rows_from(id_.title, start)]
            view = own_sheet(id_, await self.sheets.read_sheet(spreadsheet, ranges))
            _check_tab(view, sheet_id)
            find = partial(located, expected=first_row - start, below=below, is_retry=is_retry)
            placed = await self.scheduler.build(_placed(view.blocks[1], creates, find))
            is_end_seen = sum(map(any, view.blocks[1].texts)) >= below + sum(map(len, creates))
            if None not in placed or is_end_seen:
                _saw(worksheet, view, placed)
                return _header(view), placed
        async with explaining(self.sheets, id_):
            values = await self.sheets.read_values(
                spreadsheet, a1.rows_from(id_.title, FIRST_DATA_ROW), render=Render.TYPED
            )
            own_area(id_, values.range)
            expected = first_row - FIRST_DATA_ROW
            firsts = await self.scheduler.build(
                located(values.cells, creates, expected=expected, below=below, is_retry=is_retry)
            )
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
            _check_tab(view, sheet_id)
        blocks = iter(view.blocks[1:])
        moved: list[_Placed | None] = []
        for at, rows in zip(firsts, creates, strict=True):
            if at is None:
                moved.append(None)
            else:
                moved += await self.scheduler.build(_placed(next(blocks), [rows], at_the_end))
        placed = moved
        _saw(worksheet, view, placed)
        return _header(view), placed

    async def recorded(self, worksheet: Worksheet, write: Write, entry: Entry) -> Results:
        """The results of an applied write by its record. 0 to 4 reads."""
        if entry.is_moved:
            raise number_unknown()
        match write:
            case Delete():
                return ()
            case UpdateWhere() | DeleteWhere():
                return tuple(map(number_only, entry.numbers))
            case Create():
                return await self._recorded_create(worksheet, write, entry)
            case Update():
                return await self._recorded_updates(
                    worksheet, [(write.row, write.fields)], write.access, entry
                )
            case UpdateRows():
                return await self._recorded_updates(worksheet, write.rows, write.access, entry)
            case Upsert():
                return await self._recorded_upsert(worksheet, write, entry)

    async def _recorded_create(self, worksheet: Worksheet, create: Create, entry: Entry) -> Results:
        """The rows of an applied create. 1 to 3 reads."""
        below = max(0, -max(entry.numbers, default=-1) - 1)
        header, (at,) = await self._located(
            worksheet, [entry.rows], entry.first_row, below=below, is_retry=True
        )
        if at is None:
            raise number_unknown()
        try:
            new = await self.scheduler.build(self.planner.new_rows(create, header))
        except GatewayError as error:
            raise _header_gone(at.first_row) from error
        # The header has its fields no more, or had them elsewhere when the rows were written.
        if _cells(new.rows) != _cells(entry.rows):
            raise _header_gone(at.first_row)
        return await self.scheduler.build(
            create_results(new, at.first_row, at.texts, has_tag=not create.is_array)
        )

    async def _recorded_updates(
        self,
        worksheet: Worksheet,
        rows: Sequence[tuple[int, Fields]],
        access: Access,
        entry: Entry,
    ) -> Results:
        """The rows of an applied update, where they are now. 1 read."""
        title = worksheet.id.title
        ranges = [a1.header_range(title), *(a1.row_range(title, row) for row in entry.numbers)]
        seen = own_sheet(
            worksheet.id, await self.sheets.read_sheet(worksheet.id.spreadsheet, ranges)
        )
        header = _header(seen)
        shown = [_first_row(block) for block in seen.blocks[1:]]
        if not all(
            holds(values, cells) for (_, values), cells in zip(shown, entry.rows, strict=True)
        ):
            raise number_unknown()
        texts = {row: texts for row, (texts, _) in zip(entry.numbers, shown, strict=True)}
        worksheet.saw(header, texts)
        check_names(header)
        view = header.seen_with(access.columns)
        results = []
        for row, (_, fields), cells in zip(entry.numbers, rows, _cells(entry.rows), strict=True):
            try:
                placement = place(fields, view, ignore_unknown=self.planner.ignore_unknown)
            except GatewayError as error:
                raise _header_gone(row) from error
            sent = {at: "" if value is None else value for at, value in placement.cells.items()}
            if not cells.items() <= sent.items():
                raise _header_gone(row)
            has_tag = len(rows) == 1
            results.append(written_row(row, placement, view, texts[row], has_tag=has_tag))
        return tuple(results)

    async def _recorded_upsert(self, worksheet: Worksheet, upsert: Upsert, entry: Entry) -> Results:
        """The rows of an applied upsert: those that it found, and those that it added."""
        numbers = [row if row > 0 else None for row in entry.numbers or [0] * len(upsert.rows)]
        new = [at for at, row in enumerate(numbers) if row is None]
        old = [at for at, row in enumerate(numbers) if row is not None]
        created: list[Written] = []
        updated: list[Written] = []
        if new:
            part = replace(
                entry,
                numbers=[entry.numbers[at] for at in new] if entry.numbers else (),
                rows=[entry.rows[at] for at in new],
            )
            create = Create(rows=tuple(upsert.rows[at] for at in new), access=upsert.access)
            created = [*await self._recorded_create(worksheet, create, part)]
        if old:
            part = replace(
                entry,
                numbers=[entry.numbers[at] for at in old],
                rows=[entry.rows[at] for at in old],
            )
            rows = [(entry.numbers[at], upsert.rows[at]) for at in old]
            updated = [*await self._recorded_updates(worksheet, rows, upsert.access, part)]
        found = dict(zip([*new, *old], [*created, *updated], strict=True))
        return tuple(told_if_new(found[at], is_new=row is None) for at, row in enumerate(numbers))


def _check_tab(view: SheetView, sheet_id: int | None) -> None:
    """Raise RowNumberUnknown if a view is of another tab than the one that was written to."""
    if sheet_id is not None and view.sheet_id != sheet_id:
        raise number_unknown()


def _seen(asked: Sequence[Asked], blocks: Sequence[Block]) -> Work[Seen]:
    """The cells that were asked for; none if the blocks are missing."""
    seen: dict[RowChange, list[Span]] = {}
    for each, block in zip(asked, blocks, strict=True):
        texts, values = _first_row(block)
        yield REQUEST_STEPS + len(texts) // 4
        end = len(each.change.displayed) if each.last is None else each.last + 1 - each.first
        blank_count = max(0, end - len(texts))
        span = Span(
            first=each.first,
            texts=[*texts, *[""] * blank_count],
            values=[*values, *[None] * (len(texts) + blank_count - len(values))],
            computed=[each.first + at for at in block.computed[0]] if block.computed else (),
            is_row=each.last is None,
        )
        seen.setdefault(each.change, []).append(span)
    return seen


def _outcomes_and_patches(
    writes: Sequence[Planned],
    sent: SentBatch,
    header: Header,
    answered: tuple[Sequence[Block], Sequence[Block]],
    placed: Sequence[_Placed | None],
    *,
    is_lost: bool,
) -> Work[tuple[dict[int, Outcome], Sequence[RowPatch] | None]]:
    """Outcomes of the writes, and the rows as they are now.

    `answered` are the blocks of changed rows, and those beside removed ones. No rows if not all of
    them were seen, or if people moved or changed them after the look.
    """
    blocks, beside = answered
    seen = yield from _seen(sent.asked, blocks)
    others, is_as_planned = yield from met_others(
        writes,
        sent.header,
        seen,
        () if is_lost else zip(sent.edges, beside, strict=True),
        has_header=header.cells == sent.header.cells,
    )
    places = iter(placed)
    outcomes: dict[int, Outcome] = {}
    for each in writes:
        at = next(places) if each.created else None
        try:
            results = yield from _results(each, sent.header, header, at, seen, is_lost)
        except GatewayError as error:
            outcomes[each.index] = error
        else:
            other = others.get(each.index)
            # After a lost answer people may have changed the row later, too.
            outcomes[each.index] = number_unknown() if other and is_lost else other or results
    is_all = len(seen) == sum(len(each.changes) for each in writes)
    if not is_all or not is_as_planned or header.cells != sent.header.cells:
        return outcomes, None
    creates = [each.created.rows for each in writes if each.created]
    return outcomes, (yield from _patches(seen, creates, placed))


def _results(
    planned: Planned,
    before: Header,
    after: Header,
    at: _Placed | None,
    seen: Seen,
    is_lost: bool,
) -> Work[Results]:
    """The results of one write. Raises RowNumberUnknown or HeaderChanged."""
    changed: dict[RowChange, Written] = {}
    for change in planned.changes:
        yield UPDATE_STEPS * len(change.values) + len(change.displayed)
        spans = seen.get(change, ())
        if is_lost and change.columns and not _holds(change, spans):
            raise number_unknown()
        check_header(change, before, after, change.row)
        if not isinstance(planned.write, UpdateWhere | DeleteWhere):
            has_tag = isinstance(planned.write, Update) and spans[0].is_row
            displayed = shown_row(change.displayed, spans)
            changed[change] = written_row(
                change.row, change.placement, change.view, displayed, has_tag=has_tag
            )
    created: Results = ()
    if planned.created is not None:
        if at is None:
            raise number_unknown()
        check_header(planned.created, before, after, at.first_row)
        has_tag = isinstance(planned.write, Create) and not planned.write.is_array
        created = yield from create_results(
            planned.created, at.first_row, at.texts, has_tag=has_tag
        )
    return planned.results(changed, created)


def _holds(change: RowChange, spans: Sequence[Span]) -> bool:
    """True if the written cells were seen with what was written."""
    cells = {
        column: value for span in spans for column, value in enumerate(span.values, span.first)
    }
    return change.values.keys() <= cells.keys() and holds(
        [cells[column] for column in change.values], [*change.values.values()]
    )


def _keep(
    worksheet: Worksheet,
    view: SheetView,
    header: Header,
    sent_seconds: float,
    placed: Sequence[_Placed | None] = (),
    *,
    removed: Collection[int] = (),
) -> None:
    """Keep header, sheet id and end of the worksheet as of a write."""
    cache = worksheet.header
    cache.compare(header, as_of=worksheet.moment())
    last = cache.last()
    if removed and (last is None or max(removed) >= last.last_row):
        cache.forget()  # the rows above a removed end may be blank; no look knows of the removal
        last = None
    cache.seen_sheet(view, sent_seconds)
    ends = [at.first_row + len(at.texts) - 1 for at in placed if at is not None]
    if ends or last is not None:
        cache.keep(
            SheetExtent(
                header=header,
                last_row=max(ends) if ends else _last_row(last, len(removed)),
                is_end=bool(ends) or (last is not None and last.is_end),
                header_as_of=sent_seconds,
                as_of=worksheet.moment(),
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
    find: Callable[[Sequence[Sequence[Value]], Sequence[Rows]], Work[Sequence[int | None]]],
) -> Work[Sequence[_Placed | None]]:
    """The rows of creates among the data rows of a block."""
    skipped = max(0, FIRST_DATA_ROW - block.first_row)
    texts, values = block.texts[skipped:], block.values[skipped:]
    firsts = yield from find(values, creates)
    return [
        None
        if at is None
        else _Placed(
            first_row=block.first_row + skipped + at,
            texts=texts[at : at + len(rows)],
            values=values[at : at + len(rows)],
        )
        for at, rows in zip(firsts, creates, strict=True)
    ]


def _last_row(extent: SheetExtent | None, removed_count: int) -> int:
    """A row at the end or above it, after so many rows were removed."""
    return 1 if extent is None else max(1, extent.last_row - removed_count)


def _patches(
    seen: Seen, creates: Sequence[Rows], placed: Sequence[_Placed | None]
) -> Work[list[RowPatch]]:
    patches: list[RowPatch] = []
    for change, spans in seen.items():
        yield PATCH_STEPS * sum(len(span.texts) for span in spans)
        patches.append(_patch(change, spans))
    for rows, at in zip(creates, placed, strict=True):
        if at is None:
            continue
        for offset, row in enumerate(rows):
            yield PATCH_STEPS * max(len(row), len(at.texts[offset]))
            patches.append(_new_patch(at, offset, row))
    return patches


def _new_patch(at: _Placed, offset: int, row: Sequence[Stored]) -> RowPatch:
    texts = {column: text for column, text in enumerate(at.texts[offset]) if text}
    values: dict[int, object] = {
        column: value for column, value in enumerate(row) if value is not None
    }
    shown = {column: at.values[offset][column] for column in texts}
    texts = dict.fromkeys(values, "") | texts
    return RowPatch(row=at.first_row + offset, texts=texts, values=values | shown)


def _patch(change: RowChange, spans: Sequence[Span]) -> RowPatch:
    """The cells of a row that were written or that display something else now."""
    written, displayed = change.values, change.displayed
    texts: dict[int, str] = {}
    values: dict[int, object] = {}
    for span in spans:
        for column, (text, value) in enumerate(
            zip(span.texts, span.values, strict=True), span.first
        ):
            if column in written or text != text_at(displayed, column):
                texts[column] = text
                values[column] = "" if value is None else value
    return RowPatch(row=change.row, texts=texts, values=values)


def _header_gone(row: int) -> HeaderChanged:
    return HeaderChanged(
        f"The values were written to row {row}, but the worksheet's header has changed since. Look "
        "at the row, and do not send it again.",
        row=row,
    )
