"""A spreadsheet: worksheets in order, their IDs and titles, and Google's cell limit."""

import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from sheets_emulator.grid.developer_metadata import DeveloperMetadata
from sheets_emulator.grid.sheet import Sheet
from sheets_emulator.refusal import WORKBOOK_FULL, Refusal, invalid
from sheets_emulator.reply import Json

MAX_CELLS = 10_000_000
MAX_COLUMNS = 18_278
NEW_ROWS = 1000
NEW_COLUMNS = 26
LARGEST_ID = 0x7FFFFFFF
MAX_TITLE_LENGTH = 100


@dataclass(kw_only=True)
class Workbook:
    """A spreadsheet and its properties. `sheets` are in tab order.

    `look` are the members of SpreadsheetProperties without effect in the emulator. `metadata`
    belongs to the spreadsheet as a whole. A workbook in the store is never modified. Each write
    replaces the workbook by a changed copy.
    """

    spreadsheet_id: str
    title: str
    sheets: list[Sheet]
    locale: str = "en_US"
    time_zone: str = "Etc/GMT"
    look: Json = field(default_factory=dict)
    metadata: list[DeveloperMetadata] = field(default_factory=list)
    ids_given: int = field(default=0)

    def copy(self) -> "Workbook":
        """Return an independent copy that a write can modify."""
        sheets = [sheet.copy() for sheet in self.sheets]
        return replace(self, sheets=sheets, metadata=self.metadata.copy())

    def titled(self, title: str) -> Sheet | None:
        """Return the worksheet with this title, or None.

        If no title is equal, a worksheet whose title differs only in case is returned.
        """
        folded = title.casefold()
        found = None
        for sheet in self.sheets:
            if sheet.title == title:
                return sheet
            if found is None and sheet.title.casefold() == folded:
                found = sheet
        return found

    def numbered(self, sheet_id: int) -> Sheet | None:
        return next((sheet for sheet in self.sheets if sheet.sheet_id == sheet_id), None)

    def new_id(self) -> int:
        """Return a new ID for a worksheet or protected range.

        Each run gives the same sequence of IDs.
        """
        taken = {sheet.sheet_id for sheet in self.sheets}
        while True:
            self.ids_given += 1
            seed = f"{self.spreadsheet_id}/{self.ids_given}".encode()
            number = zlib.crc32(seed) & LARGEST_ID
            if number and number not in taken:
                return number

    def require_room(self, extra_cells: int) -> None:
        """Raise Google's 400 if this number of additional cells would exceed the cell limit."""
        if sum(sheet.cell_count for sheet in self.sheets) + extra_cells > MAX_CELLS:
            raise invalid(WORKBOOK_FULL)

    def require_free_title(self, title: str, *, owner: Sheet | None = None) -> None:
        """Raise a 400 if the title is empty, too long or used by a worksheet other than `owner`."""
        if not title:
            raise invalid("The sheet name cannot be empty.")
        if len(title) > MAX_TITLE_LENGTH:
            raise invalid(f"The sheet name cannot be greater than {MAX_TITLE_LENGTH} characters.")
        holder = self.titled(title)
        if holder is not None and holder is not owner:
            raise title_taken(title)

    def free_title(self, stems: Iterable[str]) -> str:
        """Return the first of these titles that no worksheet has."""
        return next(title for title in stems if self.titled(title) is None)


def title_taken(title: str) -> Refusal:
    """Return the 400 error for a title that another worksheet has."""
    return invalid(f'A sheet with the name "{title}" already exists. Please enter another name.')


def new_sheet(sheet_id: int = 0, title: str = "Sheet1") -> Sheet:
    """Return a blank worksheet of Google's default size."""
    return Sheet(sheet_id=sheet_id, title=title, row_count=NEW_ROWS, column_count=NEW_COLUMNS)
