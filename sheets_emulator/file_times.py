"""When each spreadsheet was made and last changed, as Drive tells it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from sheets_emulator.grid.workbook import Workbook


@dataclass(frozen=True, kw_only=True)
class FileTime:
    """The moments of a spreadsheet, in seconds since 1970, and the version they are of."""

    workbook: Workbook
    created: float
    modified: float


@dataclass(kw_only=True)
class FileTimes:
    """The moments of all spreadsheets; those that were there at the start were made then."""

    known: dict[str, FileTime] = field(default_factory=dict)

    def note(self, workbooks: Mapping[str, Workbook], moment: float) -> None:
        """Learn which spreadsheets are there now: one that was written to is another object."""
        for spreadsheet_id, workbook in workbooks.items():
            old = self.known.get(spreadsheet_id)
            if old is None or old.workbook is not workbook:
                created = moment if old is None else old.created
                self.known[spreadsheet_id] = FileTime(
                    workbook=workbook, created=created, modified=moment
                )
        for spreadsheet_id in self.known.keys() - workbooks.keys():
            del self.known[spreadsheet_id]
