"""Rows as they are answered: a page of them, or one with its tag, encoded."""

from collections.abc import Sequence

from gateway.rows.evaluate import Page
from gateway.rows.query import Query
from gateway.rows.record import row_record
from gateway.rows.tag import row_tag
from gateway.service.answers import Encoded, Encoder
from gateway.service.refusal import row_not_found
from gateway.service.snapshots import Snapshot
from gateway.service.windows import Window


def page_of(snapshot: Snapshot, page: Page, query: Query, encoder: Encoder) -> Encoded:
    """The rows that a query found; each is encoded once for all pages that show it."""
    table = snapshot.table

    def encode(rows: Sequence[int]) -> list[bytes]:
        return [encoder.row(each) for each in table.records(rows, table.header.select(query.keys))]

    rows = snapshot.encoded_rows.get((encoder, query.keys), page.rows, encode)
    return encoder.page(rows, has_next=page.has_next, total=page.total)


def row_of(snapshot: Snapshot, row: int, keys: tuple[str, ...] | None, encoder: Encoder) -> Encoded:
    """A row that the table has."""
    table = snapshot.table

    def encode(rows: Sequence[int]) -> list[bytes]:
        return [encoder.row(each) for each in table.records(rows, table.header.select(keys))]

    (body,) = snapshot.encoded_rows.get((encoder, keys), [row], encode)
    return Encoded(body, table.tag(row))


def page_in(window: Window, query: Query, encoder: Encoder) -> Encoded:
    """The rows of a window, which is the page that was asked for."""
    columns = window.header.select(query.keys)
    rows = [
        encoder.row(row_record(row, columns, texts))
        for row, texts in enumerate(window.rows[: query.limit], window.first_row)
    ]
    return encoder.page(rows, has_next=window.has_next, total=None)


def row_in(window: Window, row: int, keys: Sequence[str] | None, encoder: Encoder) -> Encoded:
    """The first row of a window; RowNotFound if neither it nor one below has anything in it."""
    if not window.rows:
        raise row_not_found(row)
    texts, header = window.rows[0], window.header
    record = row_record(row, header.select(keys), texts)
    return Encoded(encoder.row(record), row_tag(header.cells, texts))
