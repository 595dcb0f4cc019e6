"""The spreadsheets that the emulator holds, and how they were when it started.

Rules
- With a disk, what is kept here is on the disk first: a save that fails has changed nothing, here
  neither, and is a 500. Why it failed is in the log, without a cell.
- A save waits for the disk on the event loop, on purpose: between the look of a call at what is
  here and its effect nothing else may run, and that is what makes every call atomic. A thread would
  need a lock round each call, with the same wait for all.
"""

import logging
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sheets_emulator.formulas.evaluate import Results
from sheets_emulator.grid.workbook import Workbook
from sheets_emulator.refusal import of_code
from sheets_emulator.state.disk import Change, Disk, DiskError

LOG = logging.getLogger(__name__)


@dataclass(kw_only=True)
class Store:
    """All spreadsheets by id; those in `unshared` exist but are not shared with the account.

    `computed` are the formulas of those versions that were read.
    """

    workbooks: dict[str, Workbook] = field(default_factory=dict)
    unshared: frozenset[str] = frozenset()
    created: int = 0
    disk: Disk | None = None
    computed: dict[str, Results] = field(default_factory=dict)

    def workbook(self, spreadsheet_id: str) -> Workbook:
        """The spreadsheet of an id; 404 where there is none, 403 where it is not shared."""
        if spreadsheet_id in self.unshared:
            raise of_code(403)
        if spreadsheet_id not in self.workbooks:
            raise of_code(404)
        return self.workbooks[spreadsheet_id]

    def results(self, workbook: Workbook) -> Results:
        """What the formulas of one of the spreadsheets come to, known until it changes."""
        known = self.computed.get(workbook.spreadsheet_id)
        if known is None or known.workbook is not workbook:
            known = self.computed[workbook.spreadsheet_id] = Results(workbook)
        return known

    def draft(self, spreadsheet_id: str) -> Workbook:
        """A copy of a spreadsheet to try a write on; refused as `workbook` refuses."""
        return self.workbook(spreadsheet_id).copy()

    def keep(self, draft: Workbook) -> None:
        """Let a draft take the place of the spreadsheet, or be a new one; 500: it cannot be."""
        before = self.workbooks.get(draft.spreadsheet_id)
        created = self.created + (before is None)
        self._save([(before, draft)], created)
        self.created = created
        self.workbooks[draft.spreadsheet_id] = draft
        self.computed.pop(draft.spreadsheet_id, None)

    def discard(self, spreadsheet_id: str) -> None:
        """Forget a spreadsheet; its id is not given again. 404 where there is none."""
        self._save([(self.workbook(spreadsheet_id), None)], self.created)
        del self.workbooks[spreadsheet_id]
        self.computed.pop(spreadsheet_id, None)

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
        return replace(
            self, workbooks=dict(self.workbooks), computed=dict(self.computed), disk=None
        )

    def restore(self, seeded: Mapping[str, Workbook]) -> None:
        """Go back to the spreadsheets as they were seeded, on the disk too; 500: it cannot be."""
        known = {**self.workbooks, **seeded}
        self._save([(self.workbooks.get(each), seeded.get(each)) for each in known], 0)
        self.workbooks = dict(seeded)
        self.computed = {}
        self.created = 0

    def _save(self, changes: Sequence[Change], created: int) -> None:
        if self.disk is None:
            return
        try:
            self.disk.save(changes, created=created)
        except DiskError as error:
            LOG.error("A write was not kept: %s", error)
            raise of_code(500) from error


def open_store(
    seeded: Mapping[str, Workbook], *, unshared: frozenset[str], disk: Disk | None
) -> Store:
    """A store at the start: what the disk has, and of the seed what it has not. DiskError."""
    if disk is None:
        return Store(workbooks=dict(seeded), unshared=unshared)
    workbooks = {workbook.spreadsheet_id: workbook for workbook in disk.load()}
    taken = [workbook for each, workbook in seeded.items() if each not in workbooks]
    created = disk.created()
    disk.save([(None, workbook) for workbook in taken], created=created)
    workbooks.update((workbook.spreadsheet_id, workbook) for workbook in taken)
    return Store(workbooks=workbooks, unshared=unshared, created=created, disk=disk)
