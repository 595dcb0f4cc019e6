"""Requests to write to a worksheet, and their results."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypedDict, Unpack

from gateway.query.operators import Condition
from gateway.table.header import ROW_INDEX, Header, IfMatch, View
from gateway.table.record import WHOLE_BODY, Placement, Stored, pointer, row_record
from gateway.table.sent_values import is_open
from gateway.worksheets.access import FULL_ACCESS, Access, WorksheetId

MIN_BYTES = 500
"""Approximate memory of a waiting write without its values, in bytes."""

Fields = Mapping[str, Stored]
"""Values by field name, with the names as the client wrote them."""


class FormFields(dict[str, Stored]):
    """Fields of an HTML form. All values are texts, and the column decides the stored type."""


@dataclass(frozen=True, kw_only=True)
class WriteIdentity:
    """Identity of an idempotent write.

    Requests with the same `scope` are the same write. A different `fingerprint` is a client error.

    `scope` is a digest of API key, Idempotency-Key, method, path and spreadsheet. `fingerprint` is
    a digest of the body. `removes_rows`: the write can remove rows, and its answer has row numbers
    from before the removal. `texts` are the long texts of the body, which are stored as digests.
    """

    scope: str
    fingerprint: str
    worksheet: WorksheetId
    key_id: str
    removes_rows: bool = False
    texts: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Append:
    """Appends rows below the last record."""


@dataclass(frozen=True, kw_only=True)
class ByNumber:
    """Selects existing rows by number. A single row can have a `condition` (If-Match)."""

    rows: tuple[int, ...]
    condition: IfMatch | None = None


@dataclass(frozen=True, kw_only=True)
class ByFilter:
    """Selects all rows that match. Planning raises TooManyRowsAffected above `max_rows`."""

    where: Condition
    max_rows: int


@dataclass(frozen=True, kw_only=True)
class ByKey:
    """Selects the row whose fields `names` equal the values of a row in the body (upsert).

    Appends a new row if no row matches. With `merges`, other fields of an existing row are written,
    otherwise existing rows stay unchanged. All rows of a body have different keys.
    """

    names: tuple[str, ...]
    merges: bool = True


Selector = Append | ByNumber | ByFilter | ByKey
"""Selects the rows of a write."""


Kind = Literal["create", "update", "delete", "search"]
"""Kind of a write. A `search` finds its rows by filter or key."""


class Sent(TypedDict, total=False):
    """Keyword arguments that all constructors of `Write` accept."""

    identity: WriteIdentity | None
    access: Access
    unknown: tuple[str, ...]
    is_typed: bool
    not_before: float


@dataclass(frozen=True, kw_only=True)
class Write:
    """A write as sent by a client. Google applies it to all of its rows, or to no row.

    `rows` has the fields to set, as one entry for each selected row in order, or one entry for all
    rows of a filter. If `rows` is None, the selected rows are removed. `is_array`: the body is a
    JSON array.
    """

    selector: Selector
    rows: tuple[Fields, ...] | None
    is_array: bool = False
    identity: WriteIdentity | None = None
    access: Access = FULL_ACCESS
    unknown: tuple[str, ...] = ()
    """Unknown query parameters. The write fails if a field has one of these names."""
    is_typed: bool = False
    """True if values are typed JSON values, False if they are displayed texts."""
    not_before: float = 0.0
    """Event-loop time at which the write joins the queue, or 0 for no delay."""

    @classmethod
    def create(
        cls, *, rows: tuple[Fields, ...], is_array: bool = False, **sent: Unpack[Sent]
    ) -> "Write":
        """Return a write that appends rows, one below the other."""
        return cls(selector=Append(), rows=rows, is_array=is_array, **sent)

    @classmethod
    def update(
        cls, *, row: int, fields: Fields, condition: IfMatch | None = None, **sent: Unpack[Sent]
    ) -> "Write":
        """Return a write to cells of an existing row."""
        return cls(selector=ByNumber(rows=(row,), condition=condition), rows=(fields,), **sent)

    @classmethod
    def update_rows(cls, *, rows: Sequence[tuple[int, Fields]], **sent: Unpack[Sent]) -> "Write":
        """Return a write to cells of several existing rows."""
        numbers = tuple(row for row, _ in rows)
        fields = tuple(fields for _, fields in rows)
        return cls(selector=ByNumber(rows=numbers), rows=fields, is_array=True, **sent)

    @classmethod
    def delete(cls, *, row: int, condition: IfMatch | None = None, **sent: Unpack[Sent]) -> "Write":
        """Return the delete of an existing row."""
        return cls(selector=ByNumber(rows=(row,), condition=condition), rows=None, **sent)

    @classmethod
    def update_where(
        cls, *, where: Condition, fields: Fields, max_rows: int, **sent: Unpack[Sent]
    ) -> "Write":
        """Return a write to every matching row, which fails if more than `max_rows` match."""
        return cls(selector=ByFilter(where=where, max_rows=max_rows), rows=(fields,), **sent)

    @classmethod
    def delete_where(cls, *, where: Condition, max_rows: int, **sent: Unpack[Sent]) -> "Write":
        """Return the delete of every matching row, which fails if more than `max_rows` match."""
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
        """Return a write that updates rows by their keys, and appends rows with new keys."""
        selector = ByKey(names=keys, merges=merges)
        return cls(selector=selector, rows=rows, is_array=is_array, **sent)

    @cached_property
    def kind(self) -> Kind:
        """Kind of the write. The queue groups writes of the same kind."""
        if isinstance(self.selector, ByFilter | ByKey):
            return "search"
        if isinstance(self.selector, Append):
            return "create"
        return "update" if self.rows is not None else "delete"

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """Row numbers that the client sent, or () for other selectors."""
        return self.selector.rows if isinstance(self.selector, ByNumber) else ()

    @cached_property
    def condition(self) -> IfMatch | None:
        return self.selector.condition if isinstance(self.selector, ByNumber) else None

    @cached_property
    def has_tag(self) -> bool:
        """True if the answer has an ETag, for one row that was created or updated by number."""
        return not self.is_array and self.kind in ("create", "update")

    @cached_property
    def row_count(self) -> int:
        """Number of rows that the client named or sent, or 1 for a filter."""
        return 1 if self.rows is None else len(self.rows)

    @cached_property
    def is_form(self) -> bool:
        """True if the values come from an HTML form, in which all values are texts."""
        return any(isinstance(fields, FormFields) for fields in (self.rows or ())[:1])

    @cached_property
    def has_open_values(self) -> bool:
        """True if the stored form of a value depends on the type of its column."""
        return self.is_typed and any(
            any(map(self.is_open, fields.values())) for fields in self.rows or ()
        )

    def is_open(self, value: Stored) -> bool:
        """True if the stored form of the value depends on the type of its column."""
        return is_open(value, is_form=self.is_form)

    @cached_property
    def byte_count(self) -> int:
        """Approximate size of the values in a request to Google, in bytes."""
        copies = self.selector.max_rows if isinstance(self.selector, ByFilter) else 1
        return copies * sum(map(byte_count, self.rows or ()))

    @cached_property
    def memory_bytes(self) -> int:
        """Approximate memory of the write while it waits, in bytes."""
        total = MIN_BYTES * (self.rows is None or isinstance(self.selector, ByFilter))
        for fields in self.rows or ():
            total += sys.getsizeof(fields) + sum(map(sys.getsizeof, fields.values()))
        return total

    def path(self, number: int) -> str:
        """JSON pointer to row `number` (from 0) of the body, for problem details."""
        return pointer(str(number)) if self.is_array else WHOLE_BODY

    def view(self, header: Header) -> View:
        """Return the fields that the client sees. Raises InvalidQuery for a field in `unknown`."""
        view = header.seen_with(self.access.columns)
        if self.unknown:
            view.check_parameters(self.unknown)
        return view


@dataclass(frozen=True, kw_only=True)
class Written:
    """Result for one row: number, cells as the client reads them, ETag, and ignored fields."""

    row: int
    record: Mapping[str, object]
    tag: str
    ignored: tuple[str, ...]


Results = tuple[Written, ...]
"""Results of a write, one for each row. Empty for a delete of one row."""

Outcome = Results | Exception
"""Results of one write of a group, or its error."""


def written_row(
    row: int,
    placement: Placement,
    view: View,
    displayed: Sequence[str],
    typed: Sequence[object] | None = None,
    *,
    has_tag: bool,
) -> Written:
    """Return the result for a row, with fields in sheet order.

    `displayed` are the texts of all cells of the row, `typed` its typed cells for a typed write.
    `has_tag` adds the ETag, for a write to a single row.
    """
    names = view.names
    columns = {column: names[column] for column in sorted(names.keys() & placement.cells.keys())}
    record = row_record(row, columns, displayed, typed)
    tag = view.tag(row, displayed, typed) if has_tag else ""
    return Written(row=row, record=record, tag=tag, ignored=placement.ignored)


def with_created(written: Written, *, is_new: bool) -> Written:
    """Add `created` after `rowIndex` in the result of an upsert, and replace a field `created`."""
    new = {"created": is_new}
    return replace(written, record={ROW_INDEX: written.row, **new, **written.record, **new})


def number_only(row: int, ignored: tuple[str, ...] = ()) -> Written:
    """Return the result for a row of a write by filter, which has only the row number."""
    return Written(row=row, record={ROW_INDEX: row}, tag="", ignored=ignored)


def byte_count(fields: Fields) -> int:
    """Approximate size of the values in a request to Google, in bytes."""
    texts = map(str, fields.values())
    return sum(map(len, map(str.encode, texts))) + 3 * len(fields)
