"""Rows as they are answered: a page of records, or one record with its tag."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gateway.rows.evaluate import Page
from gateway.rows.query import Query
from gateway.rows.record import row_record
from gateway.rows.table import Table
from gateway.rows.tag import row_tag
from gateway.service.refusal import row_not_found
from gateway.service.windows import Window

Record = Mapping[str, object]
"""`rowIndex`, then each field with what its cell displays, or None if it is empty."""


@dataclass(frozen=True, kw_only=True)
class RowPage:
    records: Sequence[Record]
    has_next: bool
    total: int | None = None
    """How many rows meet the query, if that was asked for."""


@dataclass(frozen=True, kw_only=True)
class RowRead:
    """A row's record, and the tag of all that the row displays."""

    record: Record
    tag: str


def page_of(table: Table, page: Page, query: Query) -> RowPage:
    """The records of the rows that a query found."""
    records = table.records(page.rows, table.header.select(query.keys))
    return RowPage(records=records, has_next=page.has_next, total=page.total)


def row_of(table: Table, row: int, keys: Sequence[str] | None) -> RowRead:
    """A row that the table has."""
    return RowRead(record=table.record(row, table.header.select(keys)), tag=table.tag(row))


def page_in(window: Window, query: Query) -> RowPage:
    """The rows of a window, which is the page that was asked for."""
    columns = window.header.select(query.keys)
    records = [
        row_record(row, columns, texts) for row, texts in enumerate(window.rows, window.first_row)
    ]
    return RowPage(records=records[: query.limit], has_next=window.has_next)


def row_in(window: Window, row: int, keys: Sequence[str] | None) -> RowRead:
    """The first row of a window; RowNotFound if neither it nor one below has anything in it."""
    if not window.rows:
        raise row_not_found(row)
    texts, header = window.rows[0], window.header
    record = row_record(row, header.select(keys), texts)
    return RowRead(record=record, tag=row_tag(header.cells, texts))
