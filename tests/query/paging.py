"""Page through a table in memory with cursors, while rows are edited between two pages."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from gateway.query.evaluate import Page, find_page, place_behind, plain_page
from gateway.query.place import AHEAD, Place
from gateway.query.query import Query, SortTerm
from gateway.table.header import View
from gateway.table.steps import finish
from gateway.table.table import Table
from tests.query.sheet import SheetCell, make_sheet, text_cell

NextPage = Callable[[Table, Query, Place | None], tuple[list[int], Place | None]]


def next_page(
    table: Table, query: Query, place: Place | None, view: View | None = None
) -> tuple[list[int], Place | None]:
    """Return the rows after a cursor position and the next position, or None after the last row."""
    view = view or table.header.whole
    wanted = replace(query, limit=query.limit + AHEAD)
    if not query.needs_types and place is None:
        page = plain_page(table, wanted)
    else:
        found = find_page(table, wanted, view, place)
        page = found if isinstance(found, Page) else finish(found)
    rows = [*page.rows[: query.limit]]
    if len(page.rows) <= query.limit:
        return rows, None
    behind = place_behind(table, query, page, view, place)
    return rows, behind if isinstance(behind, Place) else finish(behind)


def page_by_number(
    table: Table, query: Query, place: Place | None
) -> tuple[list[int], Place | None]:
    """Planted bug: continue after the row number that the last row had."""
    whole = replace(query, limit=10**6)
    found = find_page(table, whole, table.header.whole) if query.needs_types else None
    if found is None:
        rows = [*plain_page(table, whole).rows]
    else:
        rows = [*(found if isinstance(found, Page) else finish(found)).rows]
    start = rows.index(place.row) + 1 if place is not None and place.row in rows else 0
    given = rows[start : start + query.limit]
    return given, Place(given[-1]) if start + query.limit < len(rows) else None


Edit = tuple[str, int, int, int]
"""Kind of an edit, position, target position of a move, and value."""


@dataclass
class Row:
    """Row of the sheet. `number` identifies the row, and is displayed."""

    number: int
    tie: int | str
    note: str = ""


@dataclass
class EditedSheet:
    """Rows that users edit. `stayed` has the numbers of rows whose sort values have not changed."""

    rows: list[Row]
    stayed: set[int] = field(init=False)
    made: int = 1000

    def __post_init__(self) -> None:
        self.stayed = {row.number for row in self.rows}

    def table(self) -> Table:
        ties = [
            text_cell("") if row.tie == "" else SheetCell(str(row.tie), row.tie)
            for row in self.rows
        ]
        return make_sheet(
            {
                "number": [text_cell(f"r{row.number}") for row in self.rows],
                "tie": ties,
                "note": [text_cell(row.note) for row in self.rows],
            }
        )

    def edit(self, edit: Edit, *, is_by_number: bool) -> None:
        """Apply an edit. With `is_by_number`, the row numbers are the sort values."""
        kind, place, whereto, value = edit
        at = place % len(self.rows)
        moved = range(at, len(self.rows))
        row = self.rows[at]
        if kind == "note":
            row.note += "x"
            return
        if kind == "tie":
            row.tie = value
            self.stayed.discard(row.number)
            return
        if kind == "insert":
            self.rows.insert(at, Row(self.made, value))
            self.made += 1
        elif len(self.rows) > 1:
            self.stayed.discard(self.rows.pop(at).number)
            if kind == "move":
                to = whereto % (len(self.rows) + 1)
                self.rows.insert(to, row)
                moved = range(min(at, to), max(at, to) + 1)
        if is_by_number:
            numbers = {self.rows[each].number for each in moved if each < len(self.rows)}
            self.stayed -= numbers


def walked(
    sheet: EditedSheet,
    query: Query,
    limits: Sequence[int],
    edits: Sequence[Sequence[Edit]],
    page: NextPage = next_page,
) -> tuple[list[int], list[int]]:
    """Page through a sheet, and return the numbers of unchanged rows that came twice, and that are
    missing.

    `edits` has the edits after each page. Raises CursorLost.
    """
    is_by_number = any(term.field == "rowIndex" for term in query.order)
    given = Counter[int]()
    place: Place | None = None
    for turn in range(1000):
        limit = limits[turn % len(limits)]
        rows, place = page(sheet.table(), replace(query, limit=limit), place)
        given.update(sheet.rows[row - 2].number for row in rows)
        if place is None:
            break
        for edit in edits[turn] if turn < len(edits) else ():
            sheet.edit(edit, is_by_number=is_by_number)
    else:
        raise AssertionError("the walk does not end")
    left = [
        row.number
        for row in sheet.rows
        if row.number in sheet.stayed and (query.where is None or row.tie != 3)
    ]
    return [each for each in left if given[each] > 1], [each for each in left if not given[each]]


def ordered(*terms: str) -> tuple[SortTerm, ...]:
    return tuple(SortTerm(term.lstrip("-"), term.startswith("-")) for term in terms)
