"""Checks of a spreadsheet: access, header rows, room in its metadata, and writing to it."""

import json
import re
from collections.abc import AsyncIterator, Iterator, Sequence

from gateway.commands.doctor.reasons import (
    CheckContext,
    Finding,
    listed,
    ok,
    problem,
    quoted,
    refusal_words,
    warning,
)
from gateway.commands.options import counted
from gateway.errors import GatewayError, UpstreamRefusal
from gateway.google.sheets import (
    FENCE_REQUEST,
    MAX_METADATA_CHARACTERS,
    Fence,
    Sheets,
    refused_request,
)
from gateway.settings.model import WorksheetSettings
from gateway.table import a1
from gateway.table.header import ROW_INDEX, Header
from gateway.table.texts import composed
from gateway.worksheets.access import Layouts, WorksheetId
from gateway.worksheets.catalogue import header_of, read_first_rows

NEARLY_FULL = 0.8 * MAX_METADATA_CHARACTERS
FULL = MAX_METADATA_CHARACTERS - 100
"""Room for three fences."""
KEY = "gw-check"
"""Key of the fences that `check --write` makes."""

_OF_GATEWAYS = re.compile(rf"gw-[0-9a-f]{{12}}|{KEY}")
"""Keys of fences: a gateway's, by its pepper, and this command's."""


async def check_spreadsheet(
    sheets: Sheets,
    given: str,
    context: CheckContext,
    worksheets: Sequence[WorksheetSettings] = (),
) -> AsyncIterator[Finding]:
    """Check the ID, read access and the headers.

    `worksheets` are those of the settings. Cost: 0 reads, or 1 and those of `read_first_rows`.
    """
    if not a1.is_spreadsheet_id(given):
        yield problem(f"spreadsheet {quoted(given)}: {id_words(given)}")
        return
    try:
        layouts = Layouts(worksheets)
        found = await sheets.list_worksheets(given)
        view = await read_first_rows(sheets, given, found, layouts) if found else None
        looked_at = view.worksheets if view else []
    except GatewayError as error:
        yield problem(f"spreadsheet {given}: {refusal_words(error, context)}")
        return
    if not found:
        yield problem(
            f"spreadsheet {given}: it has no worksheet with cells, only charts or connected data. "
            "Add a worksheet (the + at the bottom left)"
        )
        return
    yield ok(
        f"spreadsheet {given}: {counted(len(found), 'worksheet')} can be read; writing was not "
        f"tested, it requires {context.who} to be an Editor"
    )
    for worksheet in looked_at:
        below = worksheet.blocks[0].texts[1:]
        header = header_of(worksheet, layouts.of(WorksheetId(given, worksheet.title)))
        for finding in check_header(worksheet.title, header, below, given):
            yield finding
    forms = {composed(each.title) for each in found}
    for each in worksheets:
        if each.spreadsheet == given and composed(each.title) not in forms:
            yield warning(
                f"worksheets: the spreadsheet {given} has no worksheet {quoted(each.title)}, which "
                "[[worksheets]] names. Correct its title in the configuration, or leave it out"
            )
    if len(looked_at) < len(found):
        yield warning(f"spreadsheet {given}: only the first {len(looked_at)} were checked")


def check_header(
    title: str,
    header: Header,
    below: Sequence[Sequence[object]] = (),
    spreadsheet: str = "ID",
) -> Iterator[Finding]:
    """Find columns that are not served or have unusual names; columns are given by letters.

    `below` are the rows after the header, of which the first ones suffice.
    """
    place = f"worksheet {quoted(title)}:"
    if header.missing_field:
        yield problem(
            f"{place} no field {quoted(header.missing_field)}, its record_field, so the worksheet "
            f"is not served. Write it into row {header.row}, or correct record_field"
        )
    elif header.columns:
        yield ok(f"{place} {counted(len(header.columns), 'field')}")
    elif not header.cells:
        likely = _likely_header(header, below)
        hint = f", or {_setting(spreadsheet, title, likely[0])}" if likely else ""
        yield warning(
            f"{place} row {header.row} is blank, so the worksheet is not served. Write column "
            f"names into row {header.row}{hint}"
        )
    title_row = _title_row(spreadsheet, title, header, below)
    for text in (*(title_row or _blanks(header, below)), *_odd_names(header)):
        yield warning(f"{place} {text}")


def _likely_header(header: Header, below: Sequence[Sequence[object]]) -> tuple[int, int] | None:
    """The first row below the header with more than one cell, and their number."""
    for row, cells in enumerate(below, start=header.row + 1):
        count = sum(map(_is_filled, cells))
        if count > 1:
            return row, count
    return None


def _setting(spreadsheet: str, title: str, row: int) -> str:
    """Words with the setting of a header that is not in row 1, in TOML."""
    name = json.dumps(title, ensure_ascii=False)
    return (
        f'add to the configuration [[worksheets]] with the lines spreadsheet = "{spreadsheet}", '
        f"title = {name}, header_row = {row}"
    )


def _title_row(
    spreadsheet: str, title: str, header: Header, below: Sequence[Sequence[object]]
) -> Sequence[str]:
    """Words about a title above the field names."""
    named = [cell for cell in header.cells if cell.strip()]
    likely = _likely_header(header, below)
    if len(named) != 1 or likely is None:
        return []
    top, (row, count) = header.row, likely
    return [
        f"row {top} has one cell, {quoted(named[0])}, and row {row} has {count}. If row {top} is "
        "a title, delete the rows above the field names, or "
        f"{_setting(spreadsheet, title, row)}; else write names into row {top}"
    ]


def _blanks(header: Header, below: Sequence[Sequence[object]]) -> Sequence[str]:
    """Words about columns without a name: within the header, or filled to the right of it."""
    width = len(header.cells)
    found = {column for column, cell in enumerate(header.cells) if not cell.strip()}
    for row in below if width else ():
        found |= {width + more for more, cell in enumerate(row[width:]) if _is_filled(cell)}
    if not found:
        return []
    are, they = ("is", "it") if len(found) == 1 else ("are", "they")
    return [
        f"no header in {_columns(sorted(found))}, which {are} not served. Write a name into row "
        f"{header.row} there if {they} should be"
    ]


def _is_filled(cell: object) -> bool:
    return cell is not None and bool(str(cell).strip())


def _odd_names(header: Header) -> Iterator[str]:
    """Words about names that stand twice, are reserved, or have surrounding blanks."""
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


def id_words(given: str) -> str:
    """Explain an invalid ID, and extract a valid one from it if possible."""
    if a1.is_published(given):
        return (
            "this is the URL of a published copy, which does not contain the ID. Open the "
            "spreadsheet itself and copy the ID from its URL, between /d/ and /edit"
        )
    found = a1.id_in(given)
    if found:
        return f"this is a URL; use only the ID in it, {found}"
    if a1.is_spreadsheet_id(given.strip()):
        return "the ID has surrounding blanks. Remove them"
    return (
        "invalid spreadsheet ID: an ID has letters, digits, - and _ only. Copy it from the "
        "spreadsheet's URL, between /d/ and /edit"
    )


async def check_metadata(
    sheets: Sheets, spreadsheet: str, context: CheckContext
) -> AsyncIterator[Finding]:
    """Find metadata that is full, or nearly; nothing if there is room. Cost: 1 read."""
    try:
        found = await sheets.find_fences(spreadsheet)
    except GatewayError as error:
        yield problem(f"spreadsheet {spreadsheet}: {refusal_words(error, context)}")
        return
    size = _size(found)
    if size >= NEARLY_FULL:
        yield (problem if size > FULL else warning)(
            f"spreadsheet {spreadsheet}: its developer metadata has {size} of "
            f"{MAX_METADATA_CHARACTERS} characters; writes need room in it, and get 503 (5034) "
            "without it. Entries of gateways by key (characters): "
            f"{_shares(found, of_gateways=True)}; of others: {_shares(found, of_gateways=False)}. "
            "A running gateway deletes its own old entries when it needs room. Delete those of "
            "gateways that are gone, or of others, with a script: see 5034 in "
            "docs/how-to/troubleshooting.md"
        )


def _shares(found: Sequence[Fence], *, of_gateways: bool) -> str:
    """The keys with the number and size of their entries, the largest first."""
    by_key: dict[str, list[Fence]] = {}
    for each in found:
        if (_OF_GATEWAYS.fullmatch(each.key) is not None) is of_gateways:
            by_key.setdefault(each.key, []).append(each)
    keys = sorted(by_key, key=lambda key: -_size(by_key[key]))
    shares = [f"{quoted(key)} {len(by_key[key])} ({_size(by_key[key])})" for key in keys]
    return listed(shares) if shares else "none"


def _size(found: Sequence[Fence]) -> int:
    return sum(len(each.key) + len(each.token) for each in found)


async def check_writing(
    sheets: Sheets, spreadsheet: str, context: CheckContext
) -> AsyncIterator[Finding]:
    """Create metadata with one id twice, and delete it. Cost: 3 writes.

    The result is whether Google refuses used metadata ids, on which the safety of writes rests.
    """
    place = f"spreadsheet {spreadsheet}:"
    used, other = Fence.random(KEY), Fence.random(KEY)
    try:
        await sheets.put_fence(spreadsheet, used, other)
    except GatewayError as error:
        yield problem(f"{place} it cannot be written to: {refusal_words(error, context)}")
        return
    is_refused = False
    try:
        try:  # the other fence is deleted first, so that a refusal is not for lack of room
            await sheets.put_fence(spreadsheet, used, forgotten=[other.id])
        except UpstreamRefusal as refusal:
            refusal.first_request = 1
            if refused_request(refusal) != FENCE_REQUEST:
                raise
            is_refused = True
        await sheets.delete_fences(spreadsheet, [used, other])
    except GatewayError as error:
        yield problem(f"{place} {refusal_words(error, context)}")
        return
    if is_refused:
        yield ok(f"{place} it can be written to; Google refuses used metadata ids: writes are safe")
    else:
        yield warning(
            f"{place} it can be written to, but Google accepts used metadata ids. A write whose "
            "answer is lost stays unknown for 185 seconds"
        )
