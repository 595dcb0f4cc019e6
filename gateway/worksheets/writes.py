"""Writes to a worksheet, and their results."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from gateway.table.record import Placement, Stored, pointer
from gateway.table.tag import IfMatch
from gateway.table.view import ROW_INDEX, View
from gateway.worksheets.access import FULL_ACCESS, Access
from gateway.worksheets.worksheet_id import WorksheetId

Fields = Mapping[str, Stored]
"""Fields as the client named them, with their values."""


@dataclass(frozen=True, kw_only=True)
class WriteIdentity:
    """Identity of an idempotent write.

    Requests of one `scope` are one write; of another `fingerprint`, they are a mistake.

    `scope` is a digest of API key, Idempotency-Key, method, path and spreadsheet, `fingerprint`
    one of the body. `is_create`: the write adds rows to the worksheet. `texts` are the long ones
    of the body, of which its record keeps digests only.
    """

    scope: str
    fingerprint: str
    worksheet: WorksheetId
    key_id: str
    is_create: bool
    texts: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Create:
    """Rows to append one under the other, all of them or none; `is_array`: sent as a list."""

    rows: tuple[Fields, ...]
    is_array: bool = False
    identity: WriteIdentity | None = None
    access: Access = FULL_ACCESS

    def path(self, number: int) -> str:
        """JSON pointer to a row in the body."""
        return pointer(str(number)) if self.is_array else pointer()

    @cached_property
    def byte_count(self) -> int:
        """About how many bytes the values take on their way to Google."""
        return sum(map(_byte_count, self.rows))

    @cached_property
    def memory_bytes(self) -> int:
        """About how much memory it takes while it waits."""
        return sum(map(_memory_bytes, self.rows))


@dataclass(frozen=True, kw_only=True)
class Update:
    """Cells of an existing row (2 or below) to write, if the condition holds for the row."""

    row: int
    fields: Fields
    condition: IfMatch | None = None
    identity: WriteIdentity | None = None
    access: Access = FULL_ACCESS

    @cached_property
    def byte_count(self) -> int:
        """About how many bytes the values take on their way to Google."""
        return _byte_count(self.fields)

    @cached_property
    def memory_bytes(self) -> int:
        """About how much memory it takes while it waits."""
        return _memory_bytes(self.fields)


Write = Create | Update


@dataclass(frozen=True, kw_only=True)
class Written:
    """A written row: its number, displayed cells and tag, and the ignored fields."""

    row: int
    record: Mapping[str, object]
    tag: str
    ignored: tuple[str, ...]


Results = tuple[Written, ...]
"""One for each row of a write."""

Outcome = Results | Exception
"""How one write of a group ended."""


def written_row(row: int, placement: Placement, view: View, displayed: Sequence[str]) -> Written:
    """The written fields in sheet order; `displayed` are the texts of all cells of the row."""
    record: dict[str, object] = {ROW_INDEX: row}
    for name, column in view.columns.items():
        if column in placement.cells:
            text = displayed[column] if column < len(displayed) else ""
            record[name] = text or None
    tag = view.tag(displayed)
    return Written(row=row, record=record, tag=tag, ignored=placement.ignored)


def _byte_count(fields: Fields) -> int:
    return sum(len(str(value).encode()) + 3 for value in fields.values())


def _memory_bytes(fields: Fields) -> int:
    """Of names only the place in the row counts: rows of a list share them."""
    return sys.getsizeof(fields) + sum(map(sys.getsizeof, fields.values()))
