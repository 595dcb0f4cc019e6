"""Results of applied writes: row numbers, displayed values, and updates of the cached rows.

Rules
- Google's answer or the fence (metadata in the spreadsheet) proves that a write was applied.
- The gateway compares contents only to find the row numbers of created rows. The gateway accepts
  equal rows at the expected row or at the end of the sheet. If the end was unknown at the time of
  the write, it also accepts the only equal rows of the sheet. In a native table the same rules hold
  within the body of the table.
- Created rows that people moved or changed before the gateway read them have no known number
  (`RowNumberUnknown`).
"""

import math
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, zip_longest
from typing import NamedTuple

from gateway.errors import GatewayError, HeaderChanged, RowNumberUnknown, RowsMoved, UpstreamRefusal
from gateway.google.sheets import Block, NativeTable, Render, SheetView, Value
from gateway.table import a1
from gateway.table.header import Header
from gateway.table.record import Placement, Stored, check_has_value, place, text_at
from gateway.table.records import EndRule, FilledRow, are_filled_down, is_below_records, last_record
from gateway.table.sent_values import may_be_stored_as
from gateway.table.steps import Work
from gateway.table.table import RowPatch
from gateway.table.typed import held_cells
from gateway.worksheets.access import own_area
from gateway.worksheets.batch import REQUEST_STEPS, Request, Seen, Span
from gateway.worksheets.idempotency import Entry, Rows, number_unknown
from gateway.worksheets.loader import body_of, check_names, forms_in, header_of
from gateway.worksheets.moved_rows import met_others, shown_row
from gateway.worksheets.planning import FIELD_STEPS, NewRows, Plan, Planned, RowChange
from gateway.worksheets.refusal import explaining
from gateway.worksheets.snapshot import Effect, SheetExtent
from gateway.worksheets.worksheet import Worksheet
from gateway.worksheets.writes import (
    ByFilter,
    ByKey,
    Outcome,
    Results,
    Write,
    Written,
    number_only,
    with_created,
    written_row,
)

Cells = Sequence[Sequence[Value]]

PATCH_STEPS = 8
"""Scheduler steps (units of work) per cell of a changed row."""


class _Found(NamedTuple):
    """Results of a batch: the outcome of each write by index, and the created rows as found.

    `placed` has one element per create, or None instead of rows that were not found. `patches`
    update cached rows. `patches` is None if Google's answer lacks some cells, or if people changed
    or moved rows before the write.
    """

    outcomes: dict[int, Outcome]
    placed: Sequence[Block | None]
    patches: Sequence[RowPatch] | None


async def results_of(
    worksheet: Worksheet,
    sent: Request,
    view: SheetView | None,
    *,
    sent_at: int,
    sent_seconds: float,
) -> dict[int, Outcome]:
    """Return the results of a batch's applied writes, by index of the write.

    `view` is Google's answer, or None if it was lost. `sent_at` is the worksheet's event number
    at sending (`Worksheet.moment`), `sent_seconds` the monotonic time. Costs no read if the
    answer shows the new rows. Otherwise 1 read for changed rows, and 1 to 3 reads for new rows.
    """
    build, plan, writes = worksheet.scheduler.build, sent.plan, sent.plan.writes
    creates, header = sent.new_rows, plan.header
    blocks: Sequence[Block] = ()
    beside: Sequence[Block] = ()
    found: _Found | None = None
    if view is not None:
        end = 1 + len(sent.asked)
        header, blocks = header_of(view, worksheet.layout), view.blocks[1:end]
        beside = view.blocks[end : end + len(sent.edges)]
        tail = view.blocks[-1] if creates else None
        if tail is not None and plan.table.id and plan.filled is None:
            tail = _end_of_body(tail, view.table, sent)
        found = _Found({}, [None] * len(creates), None)
        if tail is not None or not creates:
            found = await build(_read(sent, header, blocks, beside, tail=tail))
    elif any(each.changes for each in writes):
        title = worksheet.id.title
        ranges = [each.range(title) for each in sent.asked]
        ranges = [a1.row_range(title, header.row), *ranges]
        seen, header = await worksheet.loader.read(ranges)
        _check_tab(seen, plan.sheet_id)
        blocks = seen.blocks[1:]
    is_found = found is not None and None not in found.placed
    if found is None or not is_found:
        placed: Sequence[Block | None] = ()
        if creates:
            first_row = plan.after_row + 1 if plan.is_end else 0
            header, placed = await _located(
                worksheet, creates, first_row, sheet_id=plan.sheet_id, table_id=plan.table.id
            )
        is_lost = view is None
        found = await build(_read(sent, header, blocks, beside, placed=placed, is_lost=is_lost))
    removed, before = dict[int, Sequence[str]](), dict[int, Sequence[str]]()
    may_end_rows = False
    for each in writes:
        removed |= each.removed
        for change in each.changes:
            before[change.row] = change.displayed
            may_end_rows = may_end_rows or _may_end_rows(change, header.end)
    if view is None or not is_found or found.patches is None:
        worksheet.forget()
        worksheet.header.forget()
    else:
        last_row = _keep(
            worksheet, view, header, sent, found.placed, removed, sent_seconds=sent_seconds
        )
        effect = Effect(
            header=header,
            rows=found.patches,
            before=removed or before,
            removed=sorted(removed),
            last_row=last_row,
            sent_at=sent_at,
            is_inside=bool(plan.table.id),
        )
        await worksheet.take_in(effect)
    if may_end_rows:  # the cached last row may be wrong now
        worksheet.header.forget()
    return found.outcomes


async def recorded_results(
    worksheet: Worksheet, write: Write, entry: Entry, *, ignore_unknown: bool
) -> Results:
    """Return the results of an applied write from its stored record. Costs 0 to 4 reads.

    Reads changed rows by number, and finds new rows by content. Raises RowNumberUnknown or
    HeaderChanged if people moved or changed the rows.
    """
    if isinstance(write.selector, ByFilter):
        return tuple(map(number_only, entry.numbers))
    if write.rows is None:
        return ()
    numbers = entry.numbers or write.numbers or [0] * len(write.rows)
    new = [at for at, row in enumerate(numbers) if row <= 0]
    old = [at for at, row in enumerate(numbers) if row > 0]
    results: dict[int, Written] = {}
    if new:  # 1 to 3 reads
        below = max(0, -max(numbers[at] for at in new) - 1)
        cells = [entry.rows[at] for at in new]
        header, (placed,) = await _located(
            worksheet, [cells], entry.first_row, below=below, is_retry=True
        )
        if placed is None:
            raise number_unknown()
        lines = zip(placed.texts, placed.values, strict=True)
        shown = {
            at: (row, *line)
            for at, (row, line) in zip(new, enumerate(lines, placed.first_row), strict=True)
        }
        results |= await worksheet.scheduler.build(
            _replayed(write, entry, header, shown, ignore_unknown, is_new=True)
        )
    if old:  # 1 read
        id_ = worksheet.id
        ranges = [a1.row_range(id_.title, numbers[at]) for at in old]
        ranges = [a1.row_range(id_.title, worksheet.header_row), *ranges]
        view, header = await worksheet.loader.read(ranges)
        shown = {}
        for at, block in zip(old, view.blocks[1:], strict=True):
            texts, values = _first_row(block)
            if not holds(values, entry.rows[at]):
                raise number_unknown()
            shown[at] = numbers[at], texts, values
        worksheet.saw(header, {row: texts for row, texts, _ in shown.values()})
        check_names(header)
        results |= await worksheet.scheduler.build(
            _replayed(write, entry, header, shown, ignore_unknown, is_new=False)
        )
    return tuple(results[at] for at in range(len(numbers)))


def _replayed(
    write: Write,
    entry: Entry,
    header: Header,
    shown: Mapping[int, tuple[int, Sequence[str], Sequence[Value]]],
    ignore_unknown: bool,
    *,
    is_new: bool,
) -> Work[Mapping[int, Written]]:
    """Return the results of some rows of a write, by their index in the request.

    `shown` has row number, texts and typed values by this index. `is_new`: the write created
    the rows. Raises HeaderChanged if a field now has another column, or is not in the header.
    """
    view, results = write.view(header), dict[int, Written]()
    first_row, *_ = next(iter(shown.values()))
    for at, (row, texts, values) in shown.items():
        fields = (write.rows or ())[at]
        yield FIELD_STEPS[write.is_typed] * len(fields)
        named_row = first_row if is_new else row
        try:
            placement = place(fields, view, ignore_unknown=ignore_unknown)
            if is_new:
                check_has_value(placement.cells.values())
        except GatewayError as error:
            raise _header_gone(named_row) from error
        cells = {col: "" if value is None else value for col, value in placement.cells.items()}
        was = {col: value for col, value in enumerate(entry.rows[at]) if value is not None}
        if is_new:
            cells = {column: value for column, value in cells.items() if value != ""}
        is_same = was.keys() == cells.keys() if is_new else was.keys() <= cells.keys()
        if not (is_same and all(is_sent(write, cells[col], was[col]) for col in was)):
            raise _header_gone(named_row)
        typed = values if write.is_typed else None
        result = written_row(row, placement, view, texts, typed, has_tag=write.has_tag)
        is_told = isinstance(write.selector, ByKey)
        results[at] = with_created(result, is_new=is_new) if is_told else result
    return results


async def _located(
    worksheet: Worksheet,
    creates: Sequence[Rows],
    first_row: int,
    *,
    below: int = 0,
    sheet_id: int | None = None,
    table_id: str | None = None,
    is_retry: bool = False,
) -> tuple[Header, Sequence[Block | None]]:
    """Find the rows of applied creates by content. Returns the current header, and the rows.

    The result has None instead of rows that were not found. Costs 1 read, and 2 more if the
    rows are not at `first_row`, the expected row (0 if unknown). `below` is the number of rows
    that the batch appended below them. `is_retry`: other clients can have appended rows
    meanwhile. With `sheet_id`, raises RowNumberUnknown if another tab has the title. `table_id`
    is the native table that got the rows, or "" for no table. If `table_id` is None, the
    current table counts if it has all columns of the rows. If another table or none has the
    header now, rows are found only if no other rows of the sheet are equal.
    """
    id_, spreadsheet = worksheet.id, worksheet.id.spreadsheet
    header_row, first_data_row = worksheet.header_row, worksheet.header_row + 1
    start = max(first_data_row, first_row - 1)
    lines = chain.from_iterable(creates)
    columns = {at for line in lines for at, value in enumerate(line) if value is not None}
    table, any_table = worksheet.header.table, (None, "")
    is_other = table_id not in (*any_table, table.id)
    with suppress(UpstreamRefusal):  # Google refuses rows below the grid
        ranges = [a1.row_range(id_.title, header_row), a1.rows_from(id_.title, start)]
        view, header = await worksheet.loader.read(ranges)
        _check_tab(view, sheet_id)
        table, block = view.table, view.blocks[1]
        is_other = table_id not in (*any_table, table.id)
        if table.takes(columns) if table_id is None else table_id and not is_other:
            block = in_body(block, table)
        expected = first_row - start
        find = located(block.values, creates, expected=expected, below=below, is_retry=is_retry)
        placed = _placed(block, creates, await worksheet.scheduler.build(find))
        is_end_seen = sum(map(any, block.texts)) >= below + sum(map(len, creates))
        if not is_other and (None not in placed or is_end_seen):
            _saw(worksheet, header, placed)
            return header, placed
    async with explaining(worksheet.sheets, id_, header_row=header_row):
        values = await worksheet.sheets.read_values(
            spreadsheet, a1.rows_from(id_.title, first_data_row), render=Render.TYPED
        )
        own_area(id_, values.range)
        expected, cells = -1 if is_other else first_row - first_data_row, values.cells
        is_retry = is_retry or is_other
        if table.takes(columns) if table_id is None else table_id and not is_other:
            cells = cells[: max(0, table.last_row + 1 - first_data_row)]
        first = await worksheet.scheduler.build(
            located(cells, creates, expected=expected, below=below, is_retry=is_retry)
        )
        ranges = [a1.row_range(id_.title, header_row)]
        if first is not None:
            first += first_data_row
            last = first + sum(map(len, creates)) - 1
            ranges.append(a1.rows_between(id_.title, first, last))
        view, header = await worksheet.loader.read(ranges)
        _check_tab(view, sheet_id)
    if not is_other and table_id not in (*any_table, view.table.id):
        first = None  # the rows were compared with another table's
    block = view.blocks[-1]
    at = first and await worksheet.scheduler.build(at_the_end(block.values, creates))
    moved = _placed(block, creates, at)
    _saw(worksheet, header, moved)
    return header, moved


def _may_end_rows(change: RowChange, end: EndRule) -> bool:
    """True if the changed row might not be a record now, so that the last record is another row."""
    if "" in change.values.values():
        return True
    falses = set[int]()
    for at, value in change.values.items():
        if value is False:
            falses.add(at)
    if not falses:
        return False
    left = [["" if at in falses else text] for at, text in enumerate(change.displayed)]
    return not last_record(end, left)


def is_sent(write: Write, sent: Stored, cell: Stored) -> bool:
    """True if a write stores `sent` as `cell`. A typed write turns some texts into numbers."""
    if write.is_typed:
        return may_be_stored_as(sent, cell, is_form=write.is_form)
    return sent == cell


def _check_tab(view: SheetView, sheet_id: int | None) -> None:
    if sheet_id is not None and view.sheet_id != sheet_id:
        raise number_unknown()


def _read(
    sent: Request,
    header: Header,
    blocks: Sequence[Block],
    beside: Sequence[Block],
    *,
    tail: Block | None = None,
    placed: Sequence[Block | None] = (),
    is_lost: bool = False,
) -> Work[_Found]:
    """Return the results of a batch, without outcomes if `tail` does not end with all new rows.

    `blocks` show changed rows, `beside` the rows next to removed rows. `tail` shows the rows from
    the earlier last row on, or inserted rows and their neighbours. If `tail` is None, `placed` has
    the new rows. `is_lost`: Google's answer was lost, so the rows were read later.
    """
    plan, writes, creates = sent.plan, sent.plan.writes, sent.new_rows
    misplaced: RowNumberUnknown | None = None
    if tail is not None:
        first: int | None = plan.after_row + 1 - tail.first_row
        if plan.filled is not None:
            misplaced = yield from _not_directly_below(plan, tail, creates, plan.filled)
        else:
            below, first = first or 0, (yield from at_the_end(tail.values, creates))
            if first is not None and tail.first_row + first <= plan.header.row:
                first = None
            if first is not None and below < first and plan.is_end and not plan.table.id:
                misplaced = _below_filled(plan, tail, below, first)
        placed = _placed(tail, creates, first)
        if None in placed:
            return _Found({}, placed, None)
    seen: dict[RowChange, list[Span]] = {}
    for asked, block in zip(sent.asked, blocks, strict=True):
        texts, values = _first_row(block)
        yield REQUEST_STEPS + len(texts) // 4
        end = len(asked.change.displayed) if asked.last is None else asked.last + 1 - asked.first
        blank_count = max(0, end - len(texts))
        span = Span(
            first=asked.first,
            texts=[*texts, *[""] * blank_count],
            values=[*values, *[None] * (len(texts) + blank_count - len(values))],
            computed=[asked.first + at for at in block.computed[0]] if block.computed else (),
            is_row=asked.last is None,
        )
        seen.setdefault(asked.change, []).append(span)
    has_header = header.cells == plan.header.cells
    others: Mapping[int, RowsMoved] = {}
    is_as_planned = True
    if sent.asked or sent.edges:
        edges = () if is_lost else zip(sent.edges, beside, strict=True)
        others, is_as_planned = yield from met_others(
            writes, plan.header, seen, edges, has_header=has_header
        )
    places = iter(placed)
    outcomes: dict[int, Outcome] = {}
    change_count = 0
    for each in writes:
        change_count += len(each.changes)
        at = next(places) if each.created else None
        try:
            results = yield from _results(each, plan.header, header, at, seen, is_lost)
        except GatewayError as error:
            outcomes[each.index] = error
        else:
            other = others.get(each.index)
            # After a lost answer people may have changed the row later, too.
            outcomes[each.index] = number_unknown() if other and is_lost else other or results
        if misplaced is not None and each.created:
            outcomes[each.index] = misplaced
    patches: Sequence[RowPatch] | None = None
    if len(seen) == change_count and is_as_planned and has_header and misplaced is None:
        typed: dict[int, Sequence[object]] = {}
        for each in writes:
            typed |= each.typed
        patches = yield from _patches(seen, creates, placed, typed)
    return _Found(outcomes, placed, patches)


def _results(
    planned: Planned, before: Header, after: Header, at: Block | None, seen: Seen, is_lost: bool
) -> Work[Results]:
    """Return the result rows of one write, in the order of its answer.

    `before` is the header of the plan, `after` of Google's answer or, with `is_lost`, of a read
    after a lost answer. `seen` are the cells of changed rows there, `at` the created rows. Raises
    RowNumberUnknown or HeaderChanged.
    """
    write, is_same_header = planned.write, before.cells == after.cells
    view = before.seen_with(write.access.columns)
    for change in planned.changes if is_lost or not is_same_header else ():
        yield FIELD_STEPS[write.is_typed] * len(change.placement.cells) + len(change.displayed)
        if is_lost and change.columns and not _holds(change, seen.get(change, ())):
            raise number_unknown()
        if not is_same_header:
            _check_header(change, before, after, change.row)
    lines: Sequence[tuple[Placement, Sequence[str], Sequence[Value]]] = ()
    part, first_row = planned.created, 0
    if part is not None:
        if at is None:
            raise number_unknown()
        if not is_same_header:
            _check_header(part, before, after, at.first_row)
        lines = [*zip(part.placements, at.texts, at.values, strict=True)]
        first_row = at.first_row
    results: list[Written] = []
    texts: Sequence[str]
    typed: Sequence[object] | None
    for slot in planned.slots:
        if isinstance(slot, Written):
            results.append(slot)
            continue
        if isinstance(slot, RowChange):
            row, placement, spans = slot.row, slot.placement, seen.get(slot, ())
            yield FIELD_STEPS[write.is_typed] * len(placement.cells) + len(slot.displayed)
            texts = shown_row(slot.displayed, [(each.first, each.texts) for each in spans], "")
            typed = planned.typed.get(row)
            if typed is not None:
                typed = shown_row(typed, [(each.first, each.values) for each in spans], None)
            has_tag = write.has_tag and spans[0].is_row
        else:
            placement, texts, values = lines[slot]
            yield FIELD_STEPS[write.is_typed] * len(placement.cells)
            row, has_tag = first_row + slot, write.has_tag
            typed = values if write.is_typed else None
        result = written_row(row, placement, view, texts, typed, has_tag=has_tag)
        if isinstance(write.selector, ByKey):
            result = with_created(result, is_new=isinstance(slot, int))
        results.append(result)
    return tuple(results)


def _check_header(part: NewRows | RowChange, before: Header, after: Header, row: int) -> None:
    """Raise HeaderChanged if a written column has another field name than in the planned write."""
    if any(text_at(before.cells, at) != text_at(after.cells, at) for at in part.columns):
        raise HeaderChanged(
            f"The values were written to row {row}, but the worksheet's header changed at the "
            "same time, so they might be under other field names. Look at the row, and do not send "
            "the values again.",
            row=row,
        )


def _holds(change: RowChange, spans: Sequence[Span]) -> bool:
    """True if the answer shows every written cell with the written value."""
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
    sent: Request,
    placed: Sequence[Block | None],
    removed: Collection[int],
    *,
    sent_seconds: float,
) -> int:
    """Cache header, sheet ID and last row after a write. Returns the last row, or 0 if unknown."""
    cache, plan = worksheet.header, sent.plan
    cache.compare(header, as_of=worksheet.moment())
    last = cache.extent
    if removed and (last is None or max(removed) >= last.last_row):
        cache.forget()  # the rows above the removed last row may be blank
        last = None
    last_row = 0
    first_row = 0
    for at in placed:
        if at is not None and plan.table.id == view.table.id:
            first_row = first_row or at.first_row
            last_row = max(last_row, at.first_row + len(at.texts) - 1)
    if first_row == plan.after_row + 1 and not plan.table.id and plan.filled is None:
        # Google appends below all filled rows, including rows that display nothing.
        cache.unfilled_until = sent_seconds + cache.ttl_seconds
    forms = None
    if sent.batch.has_forms and last_row:
        end = replace(view, blocks=[view.blocks[0], view.blocks[-1]])
        forms = forms_in(end, last_row, block_count=2)
    cache.seen_sheet(view, sent_seconds, forms=forms, header=header)
    if last_row or last is not None:
        is_end = bool(last_row) or (last is not None and last.is_end)
        is_same = last is not None and last.table_id == view.table.id
        if not last_row and not is_same:
            last_row, is_end = header.row, False
        elif last is not None and not last_row:  # the last row or a row above it
            last_row = max(header.row, last.last_row - len(removed))
        extent = SheetExtent(
            header=header,
            last_row=last_row,
            is_end=is_end,
            table_id=view.table.id,
            header_as_of=sent_seconds,
            as_of=worksheet.moment(),
        )
        cache.keep(extent)
    kept = cache.extent
    return kept.last_row if kept else 0


def _saw(worksheet: Worksheet, header: Header, placed: Sequence[Block | None]) -> None:
    """Record found rows as seen by clients, so that no later answer shows older rows."""
    rows = {
        at.first_row + offset: texts
        for at in placed
        if at is not None
        for offset, texts in enumerate(at.texts)
    }
    worksheet.saw(header, rows)


def _end_of_body(tail: Block, table: NativeTable, sent: Request) -> Block | None:
    """Return the rows of `tail` in the body of the native table that the new rows belong to.

    Returns None if the body goes on below `tail`, or if the header belongs to another table.
    """
    body = in_body(tail, table)
    is_cut = table.last_row > sent.shown_to and len(body.texts) > sent.shown_to - tail.first_row
    return None if is_cut or table.id != sent.plan.table.id else body


def in_body(block: Block, table: NativeTable) -> Block:
    """Return the rows of a block in a native table's body, without blank rows at the end."""
    own, texts, values = slice(table.first_column, table.end_column), block.texts, block.values
    count = max(0, min(len(texts), table.last_row + 1 - block.first_row))
    while count and not any(
        cell not in (None, "") for cell in (*texts[count - 1][own], *values[count - 1][own])
    ):
        count -= 1
    return replace(block, texts=texts[:count], values=values[:count])


def _first_row(block: Block) -> tuple[Sequence[str], Sequence[Value]]:
    return (block.texts[0], block.values[0]) if block.texts else ((), ())


def _placed(block: Block, creates: Sequence[Rows], first: int | None) -> Sequence[Block | None]:
    """Split a block's rows by create, from index `first` on. All are None if `first` is None."""
    if first is None:
        return [None] * len(creates)
    placed: list[Block] = []
    for rows in creates:
        end = first + len(rows)
        texts, values = block.texts[first:end], block.values[first:end]
        placed.append(Block(first_row=block.first_row + first, texts=texts, values=values))
        first = end
    return placed


def at_the_end(lines: Cells, creates: Sequence[Rows], *, below: int = 0) -> Work[int | None]:
    """Return the index of the first created row if the created rows are the last lines, or None.

    `below` is the number of other rows that the batch appended below the created rows. If `below`
    is 0, only the columns of the created rows count, because array formulas can fill other columns
    down to the end of the grid.
    """
    rows = [*chain.from_iterable(creates)]
    columns: set[int] = set()
    for row in rows:
        yield len(row)
        for column, value in enumerate(row):
            if value is not None:
                columns.add(column)
    count = len(lines)
    while count:
        line = lines[count - 1]
        yield len(line)
        if not below:
            line = [line[at] for at in columns if at < len(line)]
        if any(cell is not None and cell != "" for cell in line):
            break
        count -= 1
    first = count - below - len(rows)
    if first >= 0 and (yield from _is_at(lines, first, rows)):
        return first
    return None


def _has_formulas(
    formulas: Sequence[Collection[int]], creates: Sequence[Rows], filled: FilledRow
) -> Work[bool]:
    """True if inserted rows have the filled-down row's formulas, or sent values in these columns.

    `formulas` has the columns with formulas for each inserted row.
    """
    rows = chain.from_iterable(creates)
    for row, found in zip_longest(rows, formulas[: sum(map(len, creates))], fillvalue=()):
        yield len(filled.formulas)
        missing = filled.formulas.difference(found)
        if any(column >= len(row) or row[column] is None for column in missing):
            return False
    return True


def located(
    lines: Cells, creates: Sequence[Rows], *, expected: int, below: int, is_retry: bool
) -> Work[int | None]:
    """Return the index of the first created row in lines that were read later, or None if unsure.

    The created rows count as found at the end of the lines, or at the index `expected`, where they
    are if no other write came between. If the end of the sheet was unknown at the time of the
    write, `expected` is negative, and the rows also count if no other rows are equal. `is_retry`:
    other clients can have appended equal rows. In that case rows at the end count only at
    `expected` or if no other rows are equal.
    """
    rows = [*chain.from_iterable(creates)]
    end = yield from at_the_end(lines, creates, below=below)
    if end is not None and (end == expected or not is_retry):
        return end
    if end is None and expected >= 0:
        is_there = expected <= len(lines) - len(rows) and (yield from _is_at(lines, expected, rows))
        return expected if is_there else None
    places: list[int] = []
    for at in range(len(lines) - len(rows) + 1):
        if (yield from _is_at(lines, at, rows)):
            places.append(at)
    return places[0] if len(places) == 1 else None


def holds(cells: Sequence[Value], row: Sequence[Stored]) -> bool:
    """True if a row's cells have the written values. Cells that were not written do not matter."""
    for column, written in enumerate(row):
        cell = cells[column] if column < len(cells) else None
        if written is None:
            continue
        if isinstance(written, str):
            is_same = written == ("" if cell is None else cell)
        elif isinstance(cell, bool) or isinstance(written, bool):
            is_same = cell is written
        else:
            # Google stores doubles, and does not document how many digits it returns.
            is_same = isinstance(cell, int | float) and math.isclose(cell, written, rel_tol=1e-13)
        if not is_same:
            return False
    return True


def _is_at(lines: Cells, first: int, rows: Rows) -> Work[bool]:
    for at, row in enumerate(rows):
        yield 1 + len(row)
        if not holds(lines[first + at], row):
            return False
    return True


def _patches(
    seen: Seen,
    creates: Sequence[Rows],
    placed: Sequence[Block | None],
    typed: Mapping[int, Sequence[object]],
) -> Work[list[RowPatch]]:
    """Return updates of cached rows: written or changed cells of existing rows, and all new rows.

    A cell has changed if its displayed text changed or, for a typed write, its value. `typed` are
    the typed cells before the write, by row number.
    """
    patches: list[RowPatch] = []
    texts: dict[int, str]
    values: dict[int, object]
    for change, spans in seen.items():
        yield PATCH_STEPS * sum(len(span.texts) for span in spans)
        written, displayed = change.values, change.displayed
        texts, values = {}, {}
        for span in spans:
            held = set[int]()
            if change.row in typed:
                own = slice(span.first, span.first + len(span.texts))
                before = held_cells(displayed[own], typed[change.row][own])
                now = zip_longest(before, held_cells(span.texts, span.values))
                held = {column for column, (was, cell) in enumerate(now, span.first) if was != cell}
            for column, (text, value) in enumerate(
                zip(span.texts, span.values, strict=True), span.first
            ):
                if column in written or column in held or text != text_at(displayed, column):
                    texts[column] = text
                    values[column] = "" if value is None else value
        patches.append(RowPatch(row=change.row, texts=texts, values=values))
    for rows, at in zip(creates, placed, strict=True):
        if at is None:
            continue
        for offset, row in enumerate(rows):
            shown, cells = at.texts[offset], at.values[offset]
            yield PATCH_STEPS * max(len(row), len(shown))
            texts, values = {}, {}
            for column, value in enumerate(row):
                if value is not None:
                    texts[column], values[column] = "", value
            for column, text in enumerate(shown):
                if text:
                    texts[column], values[column] = text, cells[column]
            patches.append(RowPatch(row=at.first_row + offset, texts=texts, values=values))
    return patches


def _not_directly_below(
    plan: Plan, tail: Block, creates: Sequence[Rows], filled: FilledRow
) -> Work[RowNumberUnknown | None]:
    """Return an error if inserted rows do not directly follow the last record or lack formulas."""
    count, own, above = sum(map(len, creates)), tail, int(plan.after_row > plan.header.row)
    first = plan.after_row + 1 - tail.first_row
    has_formulas = yield from _has_formulas(tail.formulas[first:], creates, filled)
    if plan.table.id:
        own = body_of(tail, replace(plan.table, last_row=plan.table.last_row + count))
    cells = own.texts[first - above :], own.values[first - above :]
    if has_formulas and is_below_records(plan.header.end, *cells, range(above, above + count)):
        return None
    return RowNumberUnknown(
        f"The rows were created from row {plan.after_row + 1} on, but people moved or changed rows "
        "just before: the new rows are not directly below the last record, or lack its formulas. "
        "Look at the worksheet, and do not send the rows again."
    )


def _below_filled(plan: Plan, tail: Block, start: int, end: int) -> RowNumberUnknown | None:
    """Return an error if people filled down rows of `tail`, from index `start` to before `end`."""
    rows = slice(start, end)
    rule, texts, values = plan.header.end, tail.texts[rows], tail.values[rows]
    if not are_filled_down(rule, texts, values, tail.computed[rows]):
        return None
    return RowNumberUnknown(
        f"The rows were created from row {tail.first_row + end} on, below rows that people filled "
        "down just before. Move the new rows below the last record, and do not send them again."
    )


def _header_gone(row: int) -> HeaderChanged:
    return HeaderChanged(
        f"The values were written to row {row}, but the worksheet's header has changed since. Look "
        "at the row, and do not send the values again.",
        row=row,
    )
