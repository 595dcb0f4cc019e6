"""values.get, update and clear, individually and in batches.

Rules:
- A batch is checked completely before the first write, so it is applied completely or not at all.
- These functions do not extend the grid. Only `append` does.
- Functions take parsed input and return the reply.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from sheets_emulator.formulas.display import Block, Shown, rendered_blocks
from sheets_emulator.formulas.evaluate import Results
from sheets_emulator.formulas.spill import spill
from sheets_emulator.grid.a1 import Span, print_range
from sheets_emulator.grid.box import Box, column_name
from sheets_emulator.grid.sheet import Sheet
from sheets_emulator.grid.workbook import Workbook
from sheets_emulator.protocol.rendering import Rendering
from sheets_emulator.refusal import Refusal, invalid, prefixed
from sheets_emulator.reply import Reply
from sheets_emulator.resources.places import (
    Place,
    find_place,
    require_readable,
    require_unprotected,
)
from sheets_emulator.values.entries import Entries, Touched, total, write_entries


@dataclass(frozen=True, kw_only=True)
class Write:
    """A range in A1 notation and its new values."""

    range_text: str
    entries: Entries


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A checked write. `box` has the written cells, and `window` the range for the answer."""

    sheet: Sheet
    window: Box
    box: Box
    entries: Entries


def get(results: Results, text: str, *, dimension: str, rendering: Rendering) -> Reply:
    place = find_place(results.workbook, text)
    return value_range(results, place.sheet, place.box, dimension, rendering)


def batch_get(
    results: Results, texts: Sequence[str], *, dimension: str, rendering: Rendering
) -> Reply:
    places = [find_place(results.workbook, text) for text in texts]
    require_readable([place.box for place in places])
    ranges = [
        value_range(results, place.sheet, place.box, dimension, rendering) for place in places
    ]
    found: Reply = {"spreadsheetId": results.workbook.spreadsheet_id}
    return {**found, "valueRanges": ranges} if ranges else found


def update(workbook: Workbook, write: Write, *, account: str, rendering: Rendering | None) -> Reply:
    plan = _planned(workbook, write, account)
    touched = write_entries(plan.sheet, plan.box.top, plan.box.left, plan.entries)
    if rendering is not None:
        spill(workbook)
    return _updated(Results(workbook), workbook, plan, touched, rendering)


def batch_update(
    workbook: Workbook, writes: Sequence[Write], *, account: str, rendering: Rendering | None
) -> Reply:
    """values.batchUpdate: apply all writes, or none if one is invalid."""
    plans = [_planned_in_batch(workbook, writes, index, account) for index in range(len(writes))]
    totals, responses = write_all(workbook, plans, rendering)
    return {**totals, **({"responses": responses} if responses else {})}


def write_all(
    workbook: Workbook, plans: Sequence[Plan], rendering: Rendering | None
) -> tuple[Reply, list[Reply]]:
    """Write in order. Returns the totals, and an UpdateValuesResponse for each plan."""
    parts = [write_entries(plan.sheet, plan.box.top, plan.box.left, plan.entries) for plan in plans]
    sheets = len({plan.sheet.sheet_id for plan in plans})
    if rendering is not None:
        spill(workbook)
    results = Results(workbook)
    responses = [
        _updated(results, workbook, plan, part, rendering)
        for plan, part in zip(plans, parts, strict=True)
    ]
    totals = {
        "spreadsheetId": workbook.spreadsheet_id,
        **total(parts).counts("totalUpdated"),
        **({"totalUpdatedSheets": sheets} if sheets else {}),
    }
    return totals, responses


def planned_at(place: Place, entries: Entries, account: str) -> Plan:
    """Check a write. Raises a 400 if values do not fit or the account cannot write the cells."""
    box = entries.box_at(place.box.top, place.box.left)
    window = _window(place)
    _require_within(place, window, entries)
    entries.require_short()
    require_unprotected(place.sheet, box, account)
    whole = box if place.is_anchor else window
    return Plan(sheet=place.sheet, window=whole, box=box, entries=entries)


def clear(workbook: Workbook, text: str, *, account: str) -> Reply:
    """values.clear: clear the values of a range. Formats stay."""
    place = _clearable(workbook, text, account)
    place.sheet.clear(place.box)
    return {"spreadsheetId": workbook.spreadsheet_id, "clearedRange": place.text}


def batch_clear(workbook: Workbook, texts: Sequence[str], *, account: str) -> Reply:
    """values.batchClear: clear all ranges, or none if one is invalid."""
    places = []
    for index, text in enumerate(texts):
        try:
            places.append(_clearable(workbook, text, account))
        except Refusal as refusal:
            raise prefixed(f"Invalid range[{index}]: ", refusal) from refusal
    for place in places:
        place.sheet.clear(place.box)
    cleared = [place.text for place in places]
    found: Reply = {"spreadsheetId": workbook.spreadsheet_id}
    return {**found, "clearedRanges": cleared} if cleared else found


def value_range(
    results: Results, sheet: Sheet, box: Box, dimension: str, rendering: Rendering
) -> Reply:
    """Return the ValueRange of a box without trailing blanks.

    If all are blank, `values` is missing.
    """
    blocks = rendered_blocks(sheet, box, rendering, results)
    values = _columns(blocks) if dimension == "COLUMNS" else _rows(blocks)
    while values and not values[-1]:
        values.pop()
    reply: Reply = {"range": print_range(sheet.title, box), "majorDimension": dimension}
    return {**reply, "values": values} if values else reply


def update_reply(workbook: Workbook, sheet: Sheet, box: Box, touched: Touched) -> Reply:
    """Return the UpdateValuesResponse of a write, without the values."""
    return {
        "spreadsheetId": workbook.spreadsheet_id,
        "updatedRange": print_range(sheet.title, box),
        **touched.counts("updated"),
    }


def _planned_in_batch(
    workbook: Workbook, writes: Sequence[Write], index: int, account: str
) -> Plan:
    try:
        return _planned(workbook, writes[index], account)
    except Refusal as refusal:
        raise prefixed(f"Invalid data[{index}]: ", refusal) from refusal


def _planned(workbook: Workbook, write: Write, account: str) -> Plan:
    return planned_at(find_place(workbook, write.range_text), write.entries, account)


def _window(place: Place) -> Box:
    """Return the cells that a write can fill.

    A single cell stands for all cells to the grid's end.
    """
    if not place.is_anchor:
        return place.box
    return place.sheet.clamped(Span(top=place.box.top, left=place.box.left))


def _require_within(place: Place, window: Box, entries: Entries) -> None:
    """Raise a 400 if the values do not fit. The error names the requested range."""
    for index, row in enumerate(entries.rows, start=window.top):
        reached = f"row [{index + 1}]" if row and index >= window.bottom else ""
        if not reached and len(row) > window.width:
            reached = f"column [{column_name(window.right)}]"
        if reached:
            asked = window if place.span == Span() else place.span
            where = print_range(place.sheet.title, asked)
            raise invalid(
                f"Requested writing within range [{where}], but tried writing to {reached}"
            )


def _updated(
    results: Results,
    workbook: Workbook,
    plan: Plan,
    touched: Touched,
    rendering: Rendering | None,
) -> Reply:
    reply = update_reply(workbook, plan.sheet, plan.box, touched)
    if rendering is None:
        return reply
    data = value_range(results, plan.sheet, plan.window, plan.entries.dimension, rendering)
    return {**reply, "updatedData": data}


def _clearable(workbook: Workbook, text: str, account: str) -> Place:
    place = find_place(workbook, text)
    require_unprotected(place.sheet, place.box, account)
    return place


def _rows(blocks: Iterable[Block]) -> list[Sequence[Shown]]:
    rows: list[Sequence[Shown]] = []
    for block in blocks:
        if any(None in column for column in block.columns):
            rows.extend(map(_trimmed, zip(*block.columns, strict=True)))
        else:
            rows.extend(zip(*block.columns, strict=True) if block.columns else [()] * block.height)
    return rows


def _columns(blocks: Iterable[Block]) -> list[Sequence[Shown]]:
    columns: list[list[Shown]] = []
    height = 0
    for block in blocks:
        columns.extend([None] * height for _ in range(len(block.columns) - len(columns)))
        for column, shown in zip_longest(columns, block.columns):
            column.extend(shown or [None] * block.height)
        height += block.height
    return [_trimmed(column) for column in columns]


def _trimmed(line: Sequence[Shown]) -> Sequence[Shown]:
    """Return the values without trailing blanks. Other blanks become ""."""
    end = len(line)
    while end and line[end - 1] is None:
        end -= 1
    kept = line[:end]
    return ["" if shown is None else shown for shown in kept] if None in kept else kept
