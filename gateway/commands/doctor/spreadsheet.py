"""Check a spreadsheet: access, worksheets, header rows."""

from collections.abc import AsyncIterator, Iterator, Sequence

from gateway.commands.doctor.finding import Finding, listed, ok, problem, quoted, warning
from gateway.commands.doctor.refusal import refusal_words
from gateway.commands.doctor.scene import Scene
from gateway.errors import GatewayError
from gateway.google.sheets import Sheets
from gateway.table import a1
from gateway.table.header import Header
from gateway.table.spreadsheet_url import id_in, is_published
from gateway.table.view import ROW_INDEX
from gateway.worksheets.catalogue import read_headers


async def check_spreadsheet(sheets: Sheets, given: str, scene: Scene) -> AsyncIterator[Finding]:
    """Its id, whether it can be read, and its headers. 0 reads, or those of `Catalogue`."""
    if not a1.is_spreadsheet_id(given):
        yield problem(f"spreadsheet {quoted(given)}: {_id_words(given)}")
        return
    try:
        titles = [worksheet.title for worksheet in await sheets.list_worksheets(given)]
        looked_at = [each async for each in read_headers(sheets, given, titles)]
    except GatewayError as error:
        yield problem(f"spreadsheet {given}: {refusal_words(error, scene)}")
        return
    if not titles:
        yield problem(
            f"spreadsheet {given}: it has no worksheet with cells, only charts or connected data. "
            "Add a worksheet to it (the + at the bottom left)"
        )
        return
    count = f"{len(titles)} worksheet{'s' if len(titles) > 1 else ''}"
    yield ok(
        f"spreadsheet {given}: {count} can be read; writing was not tried, it needs "
        f"{scene.who} to be an Editor"
    )
    for worksheet in looked_at:
        for finding in check_header(worksheet.title, worksheet.header):
            yield finding
    if len(looked_at) < len(titles):
        yield warning(f"spreadsheet {given}: only the first {len(looked_at)} were looked at")


def check_header(title: str, header: Header) -> Iterator[Finding]:
    """What clients will not find where they look for it; columns are named by their letters."""
    place = f"worksheet {quoted(title)}:"
    if header.columns:
        count = f"{len(header.columns)} field{'s' if len(header.columns) > 1 else ''}"
        yield ok(f"{place} {count}")
    elif not header.cells:
        yield warning(
            f"{place} row 1 is blank, so nothing of it is served. Write the names of its columns "
            "into row 1"
        )
    for text in (
        *_blanks(header),
        *_duplicates(header),
        *_reserved(header),
        *_strays(header),
    ):
        yield warning(f"{place} {text}")


def _blanks(header: Header) -> Iterator[str]:
    found = [column for column, cell in enumerate(header.cells) if not cell.strip()]
    if found:
        yield (
            f"no header in {_columns(found)}, which {'is' if len(found) == 1 else 'are'} not "
            f"served. Write a name into row 1 there if {'it' if len(found) == 1 else 'they'} "
            "should be"
        )


def _duplicates(header: Header) -> Iterator[str]:
    for name in header.duplicates():
        found = [column for column, cell in enumerate(header.cells) if cell == name]
        if name.strip() != ROW_INDEX:
            counting, *others = found
            yield (
                f"the header {quoted(name)} stands in {_columns(found)}; only "
                f"{a1.column_letters(counting)} counts. Rename that in {_columns(others)}"
            )


def _reserved(header: Header) -> Iterator[str]:
    found = [column for column, cell in enumerate(header.cells) if cell.strip() == ROW_INDEX]
    if found:
        yield (
            f"the header {ROW_INDEX} in {_columns(found)} is the name of the row's number in every "
            "record, so the column is not served. Rename it"
        )


def _strays(header: Header) -> Iterator[str]:
    for name, column in header.columns.items():
        if any(end.isspace() or not end.isprintable() for end in (name[0], name[-1])):
            yield (
                f"the header in {_columns([column])} has blanks around it: {quoted(name)}. Answers "
                "name the field with them; take them out in the sheet"
            )


def _columns(columns: Sequence[int]) -> str:
    letters = [a1.column_letters(column) for column in columns]
    return f"column{'s' if len(letters) > 1 else ''} {listed(letters)}"


def _id_words(given: str) -> str:
    """What is given in the place of an id, and which part of it is one."""
    if is_published(given):
        return (
            "this is the address of a published copy, which holds no id. Open the spreadsheet "
            "itself and take the id from its URL, between /d/ and /edit"
        )
    found = id_in(given)
    if found:
        return f"this is a URL; the id in it is {found}. Give that alone"
    if a1.is_spreadsheet_id(given.strip()):
        return "there are blanks around the id. Give it without them"
    return (
        "this is no id of a spreadsheet, which has letters, digits, - and _ only. Take it from the "
        "spreadsheet's URL, between /d/ and /edit"
    )
