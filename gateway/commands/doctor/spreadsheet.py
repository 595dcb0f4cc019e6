"""Check of a spreadsheet: access, worksheets, header rows."""

from collections.abc import AsyncIterator, Iterator, Sequence

from gateway.commands.doctor.context import CheckContext
from gateway.commands.doctor.finding import Finding, listed, ok, problem, quoted, warning
from gateway.commands.doctor.refusal import refusal_words
from gateway.errors import GatewayError
from gateway.google.sheets import Sheets
from gateway.table import a1
from gateway.table.header import Header
from gateway.table.view import ROW_INDEX
from gateway.worksheets.catalogue import read_headers

FIRST_ROWS = 6
"""Rows that show a title above the field names, and columns without a name."""


async def check_spreadsheet(
    sheets: Sheets, given: str, context: CheckContext
) -> AsyncIterator[Finding]:
    """Check the ID, read access and the headers. Cost: 0 reads, or those of `read_headers`."""
    if not a1.is_spreadsheet_id(given):
        yield problem(f"spreadsheet {quoted(given)}: {id_words(given)}")
        return
    try:
        titles = [worksheet.title for worksheet in await sheets.list_worksheets(given)]
        found = read_headers(sheets, given, titles, rows=FIRST_ROWS)
        looked_at = [each async for each in found]
    except GatewayError as error:
        yield problem(f"spreadsheet {given}: {refusal_words(error, context)}")
        return
    if not titles:
        yield problem(
            f"spreadsheet {given}: it has no worksheet with cells, only charts or connected data. "
            "Add a worksheet (the + at the bottom left)"
        )
        return
    count = f"{len(titles)} worksheet{'s' if len(titles) > 1 else ''}"
    yield ok(
        f"spreadsheet {given}: {count} can be read; writing was not tested, it requires "
        f"{context.who} to be an Editor"
    )
    for worksheet in looked_at:
        for finding in check_header(worksheet.title, worksheet.header, worksheet.below):
            yield finding
    if len(looked_at) < len(titles):
        yield warning(f"spreadsheet {given}: only the first {len(looked_at)} were checked")


def check_header(
    title: str, header: Header, below: Sequence[Sequence[object]] = ()
) -> Iterator[Finding]:
    """Find columns that are not served or have unusual names; columns are given by letters.

    `below` are the rows after row 1, of which the first ones suffice.
    """
    place = f"worksheet {quoted(title)}:"
    if header.columns:
        count = f"{len(header.columns)} field{'s' if len(header.columns) > 1 else ''}"
        yield ok(f"{place} {count}")
    elif not header.cells:
        yield warning(
            f"{place} row 1 is blank, so the worksheet is not served. Write column names into row 1"
        )
    for text in (
        *(_title_row(header, below) or _blanks(header, below)),
        *_duplicates(header),
        *_reserved(header),
        *_strays(header),
    ):
        yield warning(f"{place} {text}")


def _title_row(header: Header, below: Sequence[Sequence[object]]) -> Sequence[str]:
    """Words about a title above the field names."""
    named = [cell for cell in header.cells if cell.strip()]
    counts = [sum(_is_filled(cell) for cell in row) for row in below]
    row = next((row for row, count in enumerate(counts, start=2) if count > 1), None)
    if len(named) != 1 or row is None:
        return []
    return [
        f"row 1 has one cell, {quoted(named[0])}, and row {row} has {counts[row - 2]}. If row 1 is "
        "a title, delete the rows above the field names; else write names into row 1"
    ]


def _blanks(header: Header, below: Sequence[Sequence[object]]) -> Iterator[str]:
    if not header.cells:
        return
    found = {column for column, cell in enumerate(header.cells) if not cell.strip()}
    for row in below:
        found.update(
            column
            for column, cell in enumerate(row)
            if column >= len(header.cells) and _is_filled(cell)
        )
    if found:
        yield (
            f"no header in {_columns(sorted(found))}, which "
            f"{'is' if len(found) == 1 else 'are'} not served. Write a name into row 1 there if "
            f"{'it' if len(found) == 1 else 'they'} should be"
        )


def _is_filled(cell: object) -> bool:
    return cell is not None and bool(str(cell).strip())


def _duplicates(header: Header) -> Iterator[str]:
    for name in header.duplicates():
        found = [column for column, cell in enumerate(header.cells) if cell == name]
        if name.strip() != ROW_INDEX:
            counting, *others = found
            yield (
                f"the header {quoted(name)} is in {_columns(found)}; only "
                f"{a1.column_letters(counting)} is used. Rename the header in {_columns(others)}"
            )


def _reserved(header: Header) -> Iterator[str]:
    found = [column for column, cell in enumerate(header.cells) if cell.strip() == ROW_INDEX]
    if found:
        yield (
            f"the header {ROW_INDEX} in {_columns(found)} is reserved for the row number, so the "
            "column is not served. Rename it"
        )


def _strays(header: Header) -> Iterator[str]:
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
