"""Writes to a worksheet, and their results."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from gateway.query.query import Condition
from gateway.table.header import Header
from gateway.table.record import Placement, Stored, pointer
from gateway.table.tag import IfMatch
from gateway.table.view import ROW_INDEX, View
from gateway.worksheets.access import FULL_ACCESS, Access
from gateway.worksheets.worksheet_id import WorksheetId

MIN_BYTES = 500
"""Approximate memory of a waiting write besides its values."""

Fields = Mapping[str, Stored]
"""Fields as the client named them, with their values."""


@dataclass(frozen=True, kw_only=True)
class WriteIdentity:
    """Identity of an idempotent write.

    Requests of one `scope` are one write; of another `fingerprint`, they are a mistake.

    `scope` is a digest of API key, Idempotency-Key, method, path and spreadsheet, `fingerprint`
    one of the body. `removes_rows`: the write may remove rows, and is answered with their numbers
    of before. `texts` are the long ones of the body, of which its record keeps digests only.
    """

    scope: str
    fingerprint: str
    worksheet: WorksheetId
    key_id: str
    removes_rows: bool = False
    texts: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Sent:
    """A write as its client sent it."""

    identity: WriteIdentity | None = None
    access: Access = FULL_ACCESS
    unknown: tuple[str, ...] = ()
    """Names of unknown parameters, none of which may be a field."""

    def view(self, header: Header) -> View:
        """The fields of its client. Raises InvalidQuery for an unknown parameter that is one."""
        view = header.seen_with(self.access.columns)
        view.check_parameters(self.unknown)
        return view


@dataclass(frozen=True, kw_only=True)
class RowsSent(Sent):
    """A write of rows without numbers; `is_array`: sent as a list."""

    rows: tuple[Fields, ...]
    is_array: bool = False

    def path(self, number: int) -> str:
        """JSON pointer to a row in the body."""
        return pointer(str(number)) if self.is_array else pointer()

    @cached_property
    def byte_count(self) -> int:
        """About how many bytes the values take on their way to Google."""
        return sum(map(byte_count, self.rows))

    @cached_property
    def memory_bytes(self) -> int:
        """About how much memory it takes while it waits."""
        return sum(map(_memory_bytes, self.rows))


@dataclass(frozen=True, kw_only=True)
class Create(RowsSent):
    """Rows to append one under the other, all of them or none."""


@dataclass(frozen=True, kw_only=True)
class Update(Sent):
    """Cells of an existing row (2 or below) to write, if the condition holds for the row."""

    row: int
    fields: Fields
    condition: IfMatch | None = None

    @cached_property
    def byte_count(self) -> int:
        """About how many bytes the values take on their way to Google."""
        return byte_count(self.fields)

    @cached_property
    def memory_bytes(self) -> int:
        """About how much memory it takes while it waits."""
        return _memory_bytes(self.fields)


@dataclass(frozen=True, kw_only=True)
class UpdateRows(Sent):
    """Cells of several existing rows to write, all of them or none; each row is named once."""

    rows: tuple[tuple[int, Fields], ...]

    @cached_property
    def byte_count(self) -> int:
        """About how many bytes the values take on their way to Google."""
        return sum(byte_count(fields) for _, fields in self.rows)

    @cached_property
    def memory_bytes(self) -> int:
        """About how much memory it takes while it waits."""
        return sum(_memory_bytes(fields) for _, fields in self.rows)


@dataclass(frozen=True, kw_only=True)
class Delete(Sent):
    """A row (2 or below) to delete, if the condition holds for it."""

    row: int
    condition: IfMatch | None = None
    byte_count: int = 0
    memory_bytes: int = MIN_BYTES


@dataclass(frozen=True, kw_only=True)
class UpdateWhere(Sent):
    """Cells to write in every row that matches; TooManyRowsAffected above `max_rows`."""

    where: Condition
    fields: Fields
    max_rows: int

    @cached_property
    def byte_count(self) -> int:
        """About how many bytes the values take on their way to Google."""
        return byte_count(self.fields) * self.max_rows

    @cached_property
    def memory_bytes(self) -> int:
        """About how much memory it takes while it waits."""
        return MIN_BYTES + _memory_bytes(self.fields)


@dataclass(frozen=True, kw_only=True)
class DeleteWhere(Sent):
    """Every row that matches is deleted; TooManyRowsAffected above `max_rows`."""

    where: Condition
    max_rows: int
    byte_count: int = 0
    memory_bytes: int = MIN_BYTES


@dataclass(frozen=True, kw_only=True)
class Upsert(RowsSent):
    """Rows to update where all fields of `keys` are displayed equal, else to create.

    `merges`: existing rows get the other fields; otherwise they stay as they are. The rows of one
    upsert have different keys.
    """

    keys: tuple[str, ...]
    merges: bool = True


RowWrite = Update | UpdateRows | Delete
"""Writes to rows by their numbers."""

TableWrite = UpdateWhere | DeleteWhere | Upsert
"""Writes to rows by what they hold."""

Write = Create | RowWrite | TableWrite


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


def written_row(
    row: int, placement: Placement, view: View, displayed: Sequence[str], *, has_tag: bool
) -> Written:
    """The written fields in sheet order; `displayed` are the texts of all cells of the row.

    Only the answer of a write to a single row `has_tag`.
    """
    width, names = len(displayed), view.names
    record: dict[str, object] = {ROW_INDEX: row}
    for column in sorted(names.keys() & placement.cells.keys()):
        record[names[column]] = (displayed[column] or None) if column < width else None
    tag = view.tag(row, displayed) if has_tag else ""
    return Written(row=row, record=record, tag=tag, ignored=placement.ignored)


def rows_of(write: RowWrite) -> Sequence[int]:
    """The rows that a write names."""
    return [row for row, _ in write.rows] if isinstance(write, UpdateRows) else [write.row]


def number_only(row: int, ignored: tuple[str, ...] = ()) -> Written:
    """A row of a write by filter, which is answered with its number alone."""
    return Written(row=row, record={ROW_INDEX: row}, tag="", ignored=ignored)


def byte_count(fields: Fields) -> int:
    """About how many bytes the values take on their way to Google."""
    texts = map(str, fields.values())
    return sum(map(len, map(str.encode, texts))) + 3 * len(fields)


def _memory_bytes(fields: Fields) -> int:
    """Of names only the place in the row counts: rows of a list share them."""
    return sys.getsizeof(fields) + sum(map(sys.getsizeof, fields.values()))
