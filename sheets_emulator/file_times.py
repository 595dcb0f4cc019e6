"""Creation and modification times of spreadsheets, for Drive."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from sheets_emulator.grid.workbook import Workbook


@dataclass(frozen=True, kw_only=True)
class FileTime:
    """Times of a spreadsheet in seconds since 1970.

    `workbook` is the version of time `modified`.
    """

    workbook: Workbook
    created: float
    modified: float


@dataclass(kw_only=True)
class FileTimes:
    """Creation and modification times of all spreadsheets, by spreadsheet ID."""

    known: dict[str, FileTime] = field(default_factory=dict)

    def note(self, workbooks: Mapping[str, Workbook], moment: float) -> None:
        """Set the times of new and changed spreadsheets to `moment`, in seconds since 1970.

        A changed spreadsheet is another object. Times of deleted spreadsheets are removed.
        """
        for spreadsheet_id, workbook in workbooks.items():
            old = self.known.get(spreadsheet_id)
            if old is None or old.workbook is not workbook:
                created = moment if old is None else old.created
                self.known[spreadsheet_id] = FileTime(
                    workbook=workbook, created=created, modified=moment
                )
        for spreadsheet_id in self.known.keys() - workbooks.keys():
            del self.known[spreadsheet_id]
