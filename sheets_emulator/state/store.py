"""The emulator's spreadsheets, and their initial state.

Rules:
- With a database file, changes are saved to the file first. A failed save changes nothing, not even
  in memory, and gets a 500. The log has the reason, without cells.
- A save blocks the event loop on purpose. So nothing else runs while a call reads and writes, and
  every call is atomic. A thread would need a lock around each call, and calls would wait as long.
"""

import logging
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sheets_emulator.formulas.evaluate import Results
from sheets_emulator.formulas.spill import spill
from sheets_emulator.grid.workbook import Workbook
from sheets_emulator.refusal import of_code
from sheets_emulator.state.disk import Change, Disk, DiskError

LOG = logging.getLogger(__name__)
OWNER = ""  # the account with all rights
READER = "reader"
NO_ROLE = "none"


@dataclass(kw_only=True)
class Store:
    """All spreadsheets by ID.

    Spreadsheets in `unshared` are not shared with any account. All accounts can write all other
    spreadsheets, unless `roles` has another role, by spreadsheet ID and account. `created` is the
    number of spreadsheets that were ever created. `computed` caches the results of formulas by
    spreadsheet ID. With `repeatable_metadata_ids`, developer metadata can get the ID of other
    metadata.
    """

    workbooks: dict[str, Workbook] = field(default_factory=dict)
    unshared: frozenset[str] = frozenset()
    roles: dict[tuple[str, str], str] = field(default_factory=dict)
    created: int = 0
    disk: Disk | None = None
    computed: dict[str, Results] = field(default_factory=dict)
    repeatable_metadata_ids: bool = False

    def workbook(self, spreadsheet_id: str, account: str = OWNER) -> Workbook:
        """Return a spreadsheet.

        Raises a 404 for an unknown ID, and a 403 for a spreadsheet that is not shared with the
        account.
        """
        if spreadsheet_id in self.unshared or not self._is_shared(spreadsheet_id, account):
            raise of_code(403)
        if spreadsheet_id not in self.workbooks:
            raise of_code(404)
        return self.workbooks[spreadsheet_id]

    def shared_with(self, account: str) -> list[Workbook]:
        """Return the spreadsheets that are shared with an account."""
        return [
            workbook
            for spreadsheet_id, workbook in self.workbooks.items()
            if self._is_shared(spreadsheet_id, account)
        ]

    def results(self, workbook: Workbook) -> Results:
        """Return the results of a spreadsheet's formulas, cached until the spreadsheet changes."""
        known = self.computed.get(workbook.spreadsheet_id)
        if known is None or known.workbook is not workbook:
            known = self.computed[workbook.spreadsheet_id] = Results(workbook)
        return known

    def draft(self, spreadsheet_id: str, account: str = OWNER) -> Workbook:
        """Return a copy of a spreadsheet for a write.

        Raises a 404 if the spreadsheet does not exist, and a 403 if the account cannot write it.
        """
        return self._writable(spreadsheet_id, account).copy()

    def keep(self, draft: Workbook) -> None:
        """Save a draft: add the spreadsheet or replace it. Raises a 500 if the save fails."""
        spill(draft)
        before = self.workbooks.get(draft.spreadsheet_id)
        created = self.created + (before is None)
        self._save([(before, draft)], created)
        self.created = created
        self.workbooks[draft.spreadsheet_id] = draft
        self.computed.pop(draft.spreadsheet_id, None)

    def discard(self, spreadsheet_id: str, account: str = OWNER) -> None:
        """Delete a spreadsheet. Its ID is never used again. Raises the errors of `draft`."""
        self._save([(self._writable(spreadsheet_id, account), None)], self.created)
        del self.workbooks[spreadsheet_id]
        self.computed.pop(spreadsheet_id, None)

    def new_id(self) -> str:
        """Return a new spreadsheet ID. Each run gives the same sequence of IDs."""
        number = self.created
        while True:
            number += 1
            spreadsheet_id = f"1emulated{zlib.crc32(str(number).encode()):010}{number:04}"
            if spreadsheet_id not in self.workbooks:
                return spreadsheet_id

    def rehearsal(self) -> "Store":
        """Return a copy of the store, to execute a call without an effect."""
        return replace(
            self, workbooks=dict(self.workbooks), computed=dict(self.computed), disk=None
        )

    def restore(self, seeded: Mapping[str, Workbook]) -> None:
        """Restore the seeded spreadsheets, also in the file, and share them with all accounts.

        Raises a 500 if the save fails.
        """
        known = {**self.workbooks, **seeded}
        self._save([(self.workbooks.get(each), seeded.get(each)) for each in known], 0)
        self.workbooks = dict(seeded)
        self.computed = {}
        self.roles = {}
        self.created = 0

    def _is_shared(self, spreadsheet_id: str, account: str) -> bool:
        return self.roles.get((spreadsheet_id, account)) != NO_ROLE

    def _writable(self, spreadsheet_id: str, account: str) -> Workbook:
        workbook = self.workbook(spreadsheet_id, account)
        if self.roles.get((spreadsheet_id, account)) == READER:
            raise of_code(403)
        return workbook

    def _save(self, changes: Sequence[Change], created: int) -> None:
        if self.disk is None:
            return
        try:
            self.disk.save(changes, created=created)
        except DiskError as error:
            LOG.error("A write was not saved: %s", error)
            raise of_code(500) from error


def open_store(
    seeded: Mapping[str, Workbook], *, unshared: frozenset[str], disk: Disk | None
) -> Store:
    """Open the store with the spreadsheets of the file, and add missing spreadsheets of the seed.

    Raises DiskError if the file cannot be used.
    """
    if disk is None:
        return Store(workbooks=dict(seeded), unshared=unshared)
    workbooks = {workbook.spreadsheet_id: workbook for workbook in disk.load()}
    taken = [workbook for each, workbook in seeded.items() if each not in workbooks]
    created = disk.created()
    disk.save([(None, workbook) for workbook in taken], created=created)
    workbooks.update((workbook.spreadsheet_id, workbook) for workbook in taken)
    return Store(workbooks=workbooks, unshared=unshared, created=created, disk=disk)
