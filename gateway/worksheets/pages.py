"""Encode rows as answered: a page of them, or one with its tag."""

from collections.abc import Sequence

from gateway.query.evaluate import Page
from gateway.query.query import Query
from gateway.table.record import row_record
from gateway.table.view import ColumnGrant, Selection
from gateway.worksheets.answers import Encoded, Encoder
from gateway.worksheets.refusal import row_not_found
from gateway.worksheets.snapshot import Snapshot
from gateway.worksheets.window import Window


def page_of(
    snapshot: Snapshot, page: Page, query: Query, encoder: Encoder, grant: ColumnGrant
) -> Encoded:
    """The rows that a query found; each is encoded once for all pages that show it."""
    rows = _rows_of(snapshot, page.rows, query.keys, encoder, grant)
    return encoder.page(rows, has_next=page.has_next, total=page.total)


def row_of(
    snapshot: Snapshot,
    row: int,
    keys: Selection | None,
    encoder: Encoder,
    grant: ColumnGrant,
) -> Encoded:
    """A row that the table has."""
    (body,) = _rows_of(snapshot, [row], keys, encoder, grant)
    return Encoded(body, snapshot.table.tag(row, snapshot.table.header.seen_with(grant)))


def page_in(window: Window, query: Query, encoder: Encoder, grant: ColumnGrant) -> Encoded:
    """The rows of a window, which is the page that was asked for."""
    columns = window.header.seen_with(grant).select(query.keys)
    rows = [
        encoder.row(row_record(row, columns, texts))
        for row, texts in enumerate(window.rows[: query.limit], window.span.first_row)
    ]
    return encoder.page(rows, has_next=window.has_next, total=None)


def row_in(
    window: Window, row: int, keys: Selection | None, encoder: Encoder, grant: ColumnGrant
) -> Encoded:
    """The first row of a window; RowNotFound if neither it nor one below has anything in it."""
    if not window.rows:
        raise row_not_found(row)
    texts, view = window.rows[0], window.header.seen_with(grant)
    record = row_record(row, view.select(keys), texts)
    return Encoded(encoder.row(record), view.tag(texts))


def _rows_of(
    snapshot: Snapshot,
    rows: Sequence[int],
    keys: Selection | None,
    encoder: Encoder,
    grant: ColumnGrant,
) -> Sequence[bytes]:
    """Rows as they are kept for all who see the same columns and ask for the same fields."""

    def encode(missing: Sequence[int]) -> list[bytes]:
        columns = snapshot.table.header.seen_with(grant).select(keys)
        return [encoder.row(each) for each in snapshot.table.records(missing, columns)]

    return snapshot.encodings.rows.get((encoder, keys, grant.readable), rows, encode)
