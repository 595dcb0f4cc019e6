"""A spreadsheet: its worksheets in order, their ids and titles, and Google's limit of cells."""

import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from sheets_emulator.grid.sheet import Sheet
from sheets_emulator.refusal import WORKBOOK_FULL, Refusal, invalid
from sheets_emulator.reply import Json

MOST_CELLS = 10_000_000
NEW_ROWS = 1000
NEW_COLUMNS = 26
LARGEST_ID = 0x7FFFFFFF
LONGEST_TITLE = 100


@dataclass(kw_only=True)
class Workbook:
    """A spreadsheet and its properties; `sheets` are in the order of their tabs.

    `look` are the members of SpreadsheetProperties that change nothing here, as they were set.
    One that the store holds is never changed: each write makes a copy that takes its place.
    """

    spreadsheet_id: str
    title: str
    sheets: list[Sheet]
    locale: str = "en_US"
    time_zone: str = "Etc/GMT"
    look: Json = field(default_factory=dict)
    ids_given: int = field(default=0)

    def copy(self) -> "Workbook":
        """An independent copy, on which a write is tried."""
        return replace(self, sheets=[sheet.copy() for sheet in self.sheets])

    def titled(self, title: str) -> Sheet | None:
        """The worksheet of that very title; else the one that differs by case only."""
        folded = title.casefold()
        found = None
        for sheet in self.sheets:
            if sheet.title == title:
                return sheet
            if found is None and sheet.title.casefold() == folded:
                found = sheet
        return found

    def numbered(self, sheet_id: int) -> Sheet | None:
        """The worksheet of an id."""
        return next((sheet for sheet in self.sheets if sheet.sheet_id == sheet_id), None)

    def new_id(self) -> int:
        """An id that no worksheet or protected range has had, the same in each run."""
        taken = {sheet.sheet_id for sheet in self.sheets}
        while True:
            self.ids_given += 1
            seed = f"{self.spreadsheet_id}/{self.ids_given}".encode()
            number = zlib.crc32(seed) & LARGEST_ID
            if number and number not in taken:
                return number

    def require_room(self, extra_cells: int) -> None:
        """Raise what Google answers where the workbook would pass its limit of cells."""
        if sum(sheet.cell_count for sheet in self.sheets) + extra_cells > MOST_CELLS:
            raise invalid(WORKBOOK_FULL)

    def require_free_title(self, title: str, *, owner: Sheet | None = None) -> None:
        """Raise where the title is empty or too long, or another worksheet has it."""
        if not title:
            raise invalid("The sheet name cannot be empty.")
        if len(title) > LONGEST_TITLE:
            raise invalid(f"The sheet name cannot be greater than {LONGEST_TITLE} characters.")
        holder = self.titled(title)
        if holder is not None and holder is not owner:
            raise title_taken(title)

    def free_title(self, stems: Iterable[str]) -> str:
        """The first of some titles that is not taken."""
        return next(title for title in stems if self.titled(title) is None)


def title_taken(title: str) -> Refusal:
    """Two worksheets cannot share a title."""
    return invalid(f'A sheet with the name "{title}" already exists. Please enter another name.')


def new_sheet(sheet_id: int = 0, title: str = "Sheet1") -> Sheet:
    """A worksheet as a new spreadsheet has it."""
    return Sheet(sheet_id=sheet_id, title=title, row_count=NEW_ROWS, column_count=NEW_COLUMNS)
