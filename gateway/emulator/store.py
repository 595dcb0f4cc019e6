"""The spreadsheets that the emulator holds, and how they were when it started."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from gateway.emulator.refusal import of_code
from gateway.emulator.workbook import Workbook


@dataclass(kw_only=True)
class Store:
    """All spreadsheets by id; those in `unshared` exist but are not shared with the account."""

    workbooks: dict[str, Workbook] = field(default_factory=dict)
    unshared: frozenset[str] = frozenset()
    created: int = 0

    def workbook(self, spreadsheet_id: str) -> Workbook:
        """The spreadsheet of an id; 404 where there is none, 403 where it is not shared."""
        if spreadsheet_id in self.unshared:
            raise of_code(403)
        if spreadsheet_id not in self.workbooks:
            raise of_code(404)
        return self.workbooks[spreadsheet_id]

    def draft(self, spreadsheet_id: str) -> Workbook:
        """A copy of a spreadsheet to try a write on; refused as `workbook` refuses."""
        return self.workbook(spreadsheet_id).copy()

    def keep(self, draft: Workbook) -> None:
        """Let a draft take the place of the spreadsheet, or be a new one."""
        if draft.spreadsheet_id not in self.workbooks:
            self.created += 1
        self.workbooks[draft.spreadsheet_id] = draft

    def new_id(self) -> str:
        """An id for a spreadsheet, the same in each run."""
        number = self.created
        while True:
            number += 1
            spreadsheet_id = f"1emulated{zlib.crc32(str(number).encode()):010}{number:04}"
            if spreadsheet_id not in self.workbooks:
                return spreadsheet_id

    def rehearsal(self) -> "Store":
        """A store in which a call can be tried without effect."""
        return replace(self, workbooks=dict(self.workbooks))

    def restore(self, seeded: Mapping[str, Workbook]) -> None:
        """Go back to the spreadsheets as they were seeded."""
        self.workbooks = dict(seeded)
        self.created = 0
