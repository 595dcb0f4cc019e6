"""Check that the spreadsheets, worksheets and fields in the grants of a key exist."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import partial
from heapq import nlargest

from gateway import errors
from gateway.google.sheets import Sheets
from gateway.storage.key_store import Grants
from gateway.table.cells import composed
from gateway.table.quoting import quoted
from gateway.table.record import MAX_PROBLEMS
from gateway.worksheets.access import Layouts, WorksheetId
from gateway.worksheets.catalogue import read_first_rows
from gateway.worksheets.loader import header_of

MISSING = (errors.SpreadsheetNotFound, errors.SpreadsheetNotShared, errors.UnsupportedDocument)
LONGEST_NAME = 60
"""Maximum number of characters of a name in the text of a problem. Longer names are cut."""
MOST_NEAR = 3
"""Maximum number of similar names in the text of a problem."""
MOST_COMPARED = 200
"""Maximum number of existing names among which similar names are searched."""

Names = tuple[set[str], set[str]]
"""Titles of worksheets, and names of fields, both in NFC."""


@dataclass(frozen=True, kw_only=True)
class Looked:
    """Result of `check_grants`: texts about missing names and about unchecked spreadsheets."""

    problems: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)


async def check_grants(
    grants: Grants, names_in: Callable[[str], Awaitable[Names]], *, seconds: float | None = None
) -> Looked:
    """Check that the spreadsheets, worksheets and fields of a key exist.

    `names_in` returns the names in a spreadsheet, as `find_names` does, or raises GatewayError.
    Spreadsheets that are not read after `seconds` count as unchecked; None means no limit.
    """
    looked, titles, fields = Looked(), set[str](), set[str]()
    end = None if seconds is None else asyncio.get_running_loop().time() + seconds
    for spreadsheet in sorted(grants.spreadsheets or ()):
        try:
            async with asyncio.timeout_at(end):
                found = await names_in(spreadsheet)
        except TimeoutError:
            looked.unchecked.append(f"spreadsheet {spreadsheet}: Google did not answer in time.")
        except MISSING as error:
            looked.problems.append(f"--spreadsheet: {spreadsheet}: {error.message}")
        except errors.GatewayError as error:
            looked.unchecked.append(f"spreadsheet {spreadsheet}: {error.message}")
        else:
            titles |= found[0]
            fields |= found[1]
    if looked.problems or looked.unchecked:
        return looked
    for option, noun, names, known in (
        ("--worksheet", "worksheet", grants.worksheets, titles),
        ("--column", "field", grants.columns.readable, fields),
        ("--writable-column", "field", grants.columns.writable, fields),
    ):
        for name in sorted(names or ()):
            if composed(name) not in known:
                problem = f"there is no {noun} {_shown(name)}"
                near = _near(name, known) if len(looked.problems) < MAX_PROBLEMS else ()
                if near:
                    problem += f"; similar names are {', '.join(map(_shown, near))}"
                looked.problems.append(f"{option}: {problem}")
    return looked


def _near(name: str, known: Collection[str]) -> Sequence[str]:
    """Return the names in `known` that are most similar to a missing name.

    Returns an empty tuple if `known` has more than `MOST_COMPARED` names.
    """
    if len(known) > MOST_COMPARED:
        return ()
    start = name[:LONGEST_NAME].casefold()
    found = {
        other: SequenceMatcher(None, start, other[:LONGEST_NAME].casefold()).ratio()
        for other in sorted(known)
    }
    return nlargest(MOST_NEAR, found, key=found.__getitem__)


_shown = partial(quoted, longest=LONGEST_NAME)


async def find_names(sheets: Sheets, layouts: Layouts, grants: Grants, spreadsheet: str) -> Names:
    """Read the titles of all worksheets, and the field names of the granted worksheets.

    Cost: 1 read, and the reads of `read_first_rows` if the key limits columns. If it does not, the
    result has no field names. Raises SheetTooLarge for too many columns.
    """
    listed = await sheets.list_worksheets(spreadsheet)
    titles = {composed(each.title) for each in listed}
    if grants.columns.readable is None and grants.columns.writable is None:
        return titles, set()
    granted = None if grants.worksheets is None else {*map(composed, grants.worksheets)}
    meant = [each for each in listed if granted is None or composed(each.title) in granted]
    if not meant:
        return titles, set()
    view = await read_first_rows(sheets, spreadsheet, meant, layouts)
    if len(view.worksheets) < len(meant):
        raise errors.SheetTooLarge(
            "it has too many columns to check fields; name its worksheets in the key"
        )
    fields: set[str] = set()
    for each in view.worksheets:
        layout = layouts.of(WorksheetId(spreadsheet, each.title))
        fields |= {*map(composed, header_of(each, layout).columns)}
    return titles, fields
