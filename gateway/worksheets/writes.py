"""Writes to a worksheet, and their results."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypedDict, Unpack

from gateway.query.query import Condition
from gateway.table.header import ROW_INDEX, Header, IfMatch, View
from gateway.table.record import WHOLE_BODY, Placement, Stored, pointer, row_record
from gateway.table.sent_values import is_open
from gateway.worksheets.access import FULL_ACCESS, Access, WorksheetId

MIN_BYTES = 500
"""Approximate memory of a waiting write besides its values."""

Fields = Mapping[str, Stored]
"""Values by field name, as the client wrote the names."""


class FormFields(dict[str, Stored]):
    """Fields of a form: texts without types, which a typed write reads by their columns."""


@dataclass(frozen=True, kw_only=True)
class WriteIdentity:
    """Identity of an idempotent write.

    Requests with the same `scope` are one write; a different `fingerprint` is then a mistake.

    `scope` is a digest of API key, Idempotency-Key, method, path and spreadsheet, `fingerprint` a
    digest of the body. `removes_rows`: the write may remove rows, and its answer has their numbers
    before it. `texts` are the long texts of the body, which its record stores as digests.
    """

    scope: str
    fingerprint: str
    worksheet: WorksheetId
    key_id: str
    removes_rows: bool = False
    texts: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Append:
    """Selects new rows below the last one."""


@dataclass(frozen=True, kw_only=True)
class ByNumber:
    """Selects existing data rows by their numbers, each once.

    A write to a single row may have a `condition`, which must hold for the row.
    """

    rows: tuple[int, ...]
    condition: IfMatch | None = None


@dataclass(frozen=True, kw_only=True)
class ByFilter:
    """Selects all matching rows; raises TooManyRowsAffected above `max_rows`."""

    where: Condition
    max_rows: int


@dataclass(frozen=True, kw_only=True)
class ByKey:
    """Selects, for each row of the body, the row where all fields of `names` are equal.

    Without such a row a new one is appended. `merges`: the other fields of existing rows are
    written; otherwise existing rows are not changed. The rows of one body have different keys.
    """

    names: tuple[str, ...]
    merges: bool = True


Selector = Append | ByNumber | ByFilter | ByKey
"""Selection of the rows of a write."""


Kind = Literal["create", "update", "delete", "search"]
"""Kinds of writes; a search finds rows by their cells."""


class Sent(TypedDict, total=False):
    """Members of each write besides selector and effect."""

    identity: WriteIdentity | None
    access: Access
    unknown: tuple[str, ...]
    is_typed: bool
    not_before: float


@dataclass(frozen=True, kw_only=True)
class Write:
    """A write as sent, applied to all of its rows or none: a selector and an effect.

    `rows` are the fields to set: one element for each selected row in order, or one for all rows of
    a filter. None: the selected rows are removed. `is_array`: the body is a list.
    """

    selector: Selector
    rows: tuple[Fields, ...] | None
    is_array: bool = False
    identity: WriteIdentity | None = None
    access: Access = FULL_ACCESS
    unknown: tuple[str, ...] = ()
    """Names of unknown parameters, none of which may be a field."""
    is_typed: bool = False
    """True if values are sent and answered typed, otherwise as displayed texts."""
    not_before: float = 0.0
    """Instant by the event loop's clock at which the write joins the queue; 0 for at once."""

    @classmethod
    def create(
        cls, *, rows: tuple[Fields, ...], is_array: bool = False, **sent: Unpack[Sent]
    ) -> "Write":
        """Append rows, one below the other."""
        return cls(selector=Append(), rows=rows, is_array=is_array, **sent)

    @classmethod
    def update(
        cls, *, row: int, fields: Fields, condition: IfMatch | None = None, **sent: Unpack[Sent]
    ) -> "Write":
        """Write cells of an existing row, if the condition holds for it."""
        return cls(selector=ByNumber(rows=(row,), condition=condition), rows=(fields,), **sent)

    @classmethod
    def update_rows(cls, *, rows: Sequence[tuple[int, Fields]], **sent: Unpack[Sent]) -> "Write":
        """Write cells of several existing rows."""
        numbers = tuple(row for row, _ in rows)
        fields = tuple(fields for _, fields in rows)
        return cls(selector=ByNumber(rows=numbers), rows=fields, is_array=True, **sent)

    @classmethod
    def delete(cls, *, row: int, condition: IfMatch | None = None, **sent: Unpack[Sent]) -> "Write":
        """Delete an existing row, if the condition holds for it."""
        return cls(selector=ByNumber(rows=(row,), condition=condition), rows=None, **sent)

    @classmethod
    def update_where(
        cls, *, where: Condition, fields: Fields, max_rows: int, **sent: Unpack[Sent]
    ) -> "Write":
        """Write cells of every matching row."""
        return cls(selector=ByFilter(where=where, max_rows=max_rows), rows=(fields,), **sent)

    @classmethod
    def delete_where(cls, *, where: Condition, max_rows: int, **sent: Unpack[Sent]) -> "Write":
        """Delete every matching row."""
        return cls(selector=ByFilter(where=where, max_rows=max_rows), rows=None, **sent)

    @classmethod
    def upsert(
        cls,
        *,
        keys: tuple[str, ...],
        rows: tuple[Fields, ...],
        merges: bool = True,
        is_array: bool = False,
        **sent: Unpack[Sent],
    ) -> "Write":
        """Update the rows with the keys of the body, and append rows for the other keys."""
        selector = ByKey(names=keys, merges=merges)
        return cls(selector=selector, rows=rows, is_array=is_array, **sent)

    @cached_property
    def kind(self) -> Kind:
        """Kind of the write; a group has writes of one kind."""
        if isinstance(self.selector, ByFilter | ByKey):
            return "search"
        if isinstance(self.selector, Append):
            return "create"
        return "update" if self.rows is not None else "delete"

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """Numbers of the rows that the write names."""
        return self.selector.rows if isinstance(self.selector, ByNumber) else ()

    @cached_property
    def condition(self) -> IfMatch | None:
        return self.selector.condition if isinstance(self.selector, ByNumber) else None

    @cached_property
    def has_tag(self) -> bool:
        """True if the answer has the row's tag: for one row, created or updated by its number."""
        return not self.is_array and self.kind in ("create", "update")

    @cached_property
    def row_count(self) -> int:
        """Number of rows that the write names or contains, 1 for a filter."""
        return 1 if self.rows is None else len(self.rows)

    @cached_property
    def is_form(self) -> bool:
        """True if the values were sent as a form, so that they are texts."""
        return any(isinstance(fields, FormFields) for fields in (self.rows or ())[:1])

    @cached_property
    def has_open_values(self) -> bool:
        """True if the stored form of any value depends on the kind of its column."""
        return self.is_typed and any(
            any(map(self.is_open, fields.values())) for fields in self.rows or ()
        )

    def is_open(self, value: Stored) -> bool:
        """True if the stored form of a value depends on the kind of its column."""
        return is_open(value, is_form=self.is_form)

    @cached_property
    def byte_count(self) -> int:
        """Approximate size of the values in a request to Google, in bytes."""
        copies = self.selector.max_rows if isinstance(self.selector, ByFilter) else 1
        return copies * sum(map(byte_count, self.rows or ()))

    @cached_property
    def memory_bytes(self) -> int:
        """Approximate memory of the waiting write, in bytes."""
        is_small = self.rows is None or isinstance(self.selector, ByFilter)
        return MIN_BYTES * is_small + sum(map(_memory_bytes, self.rows or ()))

    def path(self, number: int) -> str:
        """JSON pointer to a row in the body."""
        return pointer(str(number)) if self.is_array else WHOLE_BODY

    def view(self, header: Header) -> View:
        """The client's view of the fields. Raises InvalidQuery if an unknown parameter is one."""
        view = header.seen_with(self.access.columns)
        if self.unknown:
            view.check_parameters(self.unknown)
        return view


@dataclass(frozen=True, kw_only=True)
class Written:
    """A written row: number, cells as the client reads them, tag, ignored fields."""

    row: int
    record: Mapping[str, object]
    tag: str
    ignored: tuple[str, ...]


Results = tuple[Written, ...]
"""The written rows of a write."""

Outcome = Results | Exception
"""End of one write of a group."""


def written_row(
    row: int,
    placement: Placement,
    view: View,
    displayed: Sequence[str],
    typed: Sequence[object] | None = None,
    *,
    has_tag: bool,
) -> Written:
    """Make a written row, with fields in sheet order; `displayed` has all cells of the row.

    The answer of a typed write uses the `typed` cells of the row, too. Only the answer of a write
    to a single row `has_tag`.
    """
    names = view.names
    columns = {column: names[column] for column in sorted(names.keys() & placement.cells.keys())}
    record = row_record(row, columns, displayed, typed)
    tag = view.tag(row, displayed, typed) if has_tag else ""
    return Written(row=row, record=record, tag=tag, ignored=placement.ignored)


def with_created(written: Written, *, is_new: bool) -> Written:
    """Add `created` after the number of an upserted row, in place of a field of that name."""
    new = {"created": is_new}
    return replace(written, record={ROW_INDEX: written.row, **new, **written.record, **new})


def number_only(row: int, ignored: tuple[str, ...] = ()) -> Written:
    """A row of a write by filter, whose answer has only its number."""
    return Written(row=row, record={ROW_INDEX: row}, tag="", ignored=ignored)


def byte_count(fields: Fields) -> int:
    """Approximate size of the values in a request to Google, in bytes."""
    texts = map(str, fields.values())
    return sum(map(len, map(str.encode, texts))) + 3 * len(fields)


def _memory_bytes(fields: Fields) -> int:
    """Approximate memory of the fields in bytes; rows of a list share the texts of names."""
    return sys.getsizeof(fields) + sum(map(sys.getsizeof, fields.values()))
