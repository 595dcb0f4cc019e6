"""The client without an event loop; scripts/sync_client.py writes it from async_client.py."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar, overload

import httpx2

from sheets_gateway_client import calls, frames
from sheets_gateway_client.answers import rows_of_ndjson
from sheets_gateway_client.calls import (
    Call,
    ExportFormat,
    ListOptions,
    Names,
    Values,
    Where,
)
from sheets_gateway_client.connection import (
    DEFAULT_RETRY,
    DEFAULT_TIMEOUT_SECONDS,
    REAL_TIMING,
    RETRIED,
    Timing,
    answer_of,
    begin,
    broken_by,
    client_options,
    request_options,
)
from sheets_gateway_client.retry import Done, RetryOptions
from sheets_gateway_client.rows import Affected, Fields, Page, Row
from sheets_gateway_client.worksheets import Schema, WorksheetList

Parsed = TypeVar("Parsed")
Rows = list[Row]
"""Type of a list of rows; within `Sheet`, `list` is a method."""

PAGE_SIZE = 100
"""Maximum page size of most plans; iterators accept smaller pages."""


class Sheets:
    """A spreadsheet behind a gateway. Threads may share it; close it, or use it with `with`.

    With `values="typed"` cells are numbers, booleans and ISO dates instead of displayed texts, and
    an ISO date that is written to a date column is a date; without it the gateway's settings
    decide. `timeout_seconds` is the longest silence of the gateway in one try. `sleep` and `timing`
    are for tests.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        spreadsheet_id: str | None = None,
        *,
        values: Values | None = None,
        timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
        retry: RetryOptions = DEFAULT_RETRY,
        transport: httpx2.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
        timing: Timing = REAL_TIMING,
    ) -> None:
        options = client_options(base_url, api_key, spreadsheet_id, timeout_seconds)
        self._http = httpx2.Client(**options, transport=transport)
        self._values = values
        self._retry = retry
        self._sleep = sleep
        self._timing = timing

    def sheet(self, name: str, *, values: Values | None = None) -> "Sheet":
        """The worksheet of this name, by default with the client's `values`; sends no request."""
        return Sheet(self._run, name, values or self._values)

    def worksheets(self) -> WorksheetList:
        """The worksheets that the key sees, with their fields and the rights of the key.

        Raises SheetsError, or ConnectionFailed without an answer.
        """
        return self._run(calls.list_worksheets())

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _run(self, call: Call[Parsed]) -> Parsed:
        attempt = begin(call, self._retry, self._timing)
        while True:
            try:
                result: Any = answer_of(self._http.request(**request_options(call)))
            except RETRIED as error:
                result = broken_by(error)
            step = attempt.step(result)
            if isinstance(step, Done):
                value: Parsed = step.value
                return value
            self._sleep(step.seconds)


class Sheet:
    """A worksheet. All methods raise SheetsError, or ConnectionFailed without an answer.

    `idempotency_key` makes a write of the caller safe to repeat, also after a restart: the same
    key with the same arguments writes once in 24 hours. Each call makes its own by default.
    """

    def __init__(
        self, run: Callable[[Call[Any]], Any], name: str, values: Values | None = None
    ) -> None:
        self._run = run
        self.name = name
        self._values = values

    def list(
        self,
        *,
        where: Where | None = None,
        order: Names | None = None,
        keys: Names | None = None,
        limit: int | None = None,
        skip: int | None = None,
        cursor: str | None = None,
        count: bool = False,
        no_cache: bool = False,
    ) -> Page:
        """One page. `keys` are the fields wanted; a `-` before a name in `order` means descending.

        `cursor` is `""` for the first page, then the `cursor` of each page. Raises CursorLost.
        """
        options = ListOptions(
            where=where,
            order=order,
            keys=keys,
            limit=limit,
            skip=skip,
            cursor=cursor,
            count=count,
            no_cache=no_cache,
        )
        return self._do(calls.list_rows(self.name, options))

    def rows(
        self,
        *,
        where: Where | None = None,
        order: Names | None = None,
        keys: Names | None = None,
        page_size: int = PAGE_SIZE,
        skip: int | None = None,
    ) -> Iterator[Row]:
        """All rows, page by page, by cursor: of rows whose `order` values stay, none is missing.

        Raises CursorLost if the rows at the end of a page changed too much: begin again. Changes by
        the loop itself count, too: collect the rows first, then change them. With `skip` pages go
        by position from there, and insertions, deletions and sorting make it miss or repeat rows.
        """
        first = ListOptions(where=where, order=order, keys=keys, limit=page_size, skip=skip)
        options: ListOptions | None = calls.first_page(first)
        while options is not None:
            page = self._do(calls.list_rows(self.name, options))
            yield from page
            options = calls.next_page(options, page)

    def export(
        self,
        export_format: ExportFormat = "csv",
        *,
        where: Where | None = None,
        order: Names | None = None,
        keys: Names | None = None,
        limit: int | None = None,
        skip: int | None = None,
    ) -> str:
        """The text of all rows that match, of one state of the worksheet: CSV or NDJSON.

        A connection that is cut is tried again, then ConnectionFailed: a part is never returned.
        """
        options = ListOptions(where=where, order=order, keys=keys, limit=limit, skip=skip)
        return self._do(calls.export(self.name, export_format, options))

    def export_rows(
        self,
        *,
        where: Where | None = None,
        order: Names | None = None,
        keys: Names | None = None,
        limit: int | None = None,
        skip: int | None = None,
    ) -> Iterator[Row]:
        """All matching rows, of one state of the worksheet, read completely in advance."""
        options = ListOptions(where=where, order=order, keys=keys, limit=limit, skip=skip)
        text = self._do(calls.export(self.name, "ndjson", options))
        yield from rows_of_ndjson(text)

    def to_dataframe(
        self,
        *,
        where: Where | None = None,
        order: Names | None = None,
        keys: Names | None = None,
        page_size: int = PAGE_SIZE,
    ) -> "frames.DataFrame":
        """All rows as a pandas DataFrame, typed, with `rowIndex` as its index.

        Numbers are `Int64` or `Float64`, booleans `boolean`, columns of ISO dates `datetime64`, and
        texts `string`; empty cells and errors are NA. Raises ImportError without pandas.
        """
        frames.require_pandas()
        typed = Sheet(self._run, self.name, "typed")
        rows = typed.rows(where=where, order=order, keys=keys, page_size=page_size)
        return frames.data_frame(list(rows), keys)

    def get(self, row_index: int, *, keys: Names | None = None, no_cache: bool = False) -> Row:
        return self._do(calls.get_row(self.name, row_index, keys=keys, no_cache=no_cache))

    @overload
    def create(self, row: Fields, *, idempotency_key: str | None = None) -> Row: ...
    @overload
    def create(self, row: Sequence[Fields], *, idempotency_key: str | None = None) -> Rows: ...
    def create(
        self, row: Fields | Sequence[Fields], *, idempotency_key: str | None = None
    ) -> Row | Rows:
        """Append a row, or up to 500: all or none."""
        if isinstance(row, Mapping):
            return self._do(calls.create_row(self.name, row, idempotency_key))
        return self._do(calls.create_rows(self.name, row, idempotency_key))

    def update(
        self,
        row_index: int,
        changes: Fields,
        *,
        if_match: str | None = None,
        idempotency_key: str | None = None,
    ) -> Row:
        """Write these fields. With `if_match` only if the row still has this `etag` (412 4120)."""
        call = calls.update_row(
            self.name, row_index, changes, if_match=if_match, key=idempotency_key
        )
        return self._do(call)

    def update_many(self, rows: Sequence[Fields], *, idempotency_key: str | None = None) -> Rows:
        """Update up to 500 rows, each with its `rowIndex` beside its fields: all or none."""
        return self._do(calls.update_rows(self.name, rows, idempotency_key))

    @overload
    def upsert(
        self,
        row: Fields,
        *,
        on: Names,
        ignore_existing: bool = False,
        idempotency_key: str | None = None,
    ) -> Row: ...
    @overload
    def upsert(
        self,
        row: Sequence[Fields],
        *,
        on: Names,
        ignore_existing: bool = False,
        idempotency_key: str | None = None,
    ) -> Rows: ...
    def upsert(
        self,
        row: Fields | Sequence[Fields],
        *,
        on: Names,
        ignore_existing: bool = False,
        idempotency_key: str | None = None,
    ) -> Row | Rows:
        """Update the rows that have the same values in the fields `on`, and create the others.

        `ignore_existing` leaves existing rows as they are. `created` is True for new rows.
        """
        call = calls.upsert_rows(
            self.name, row, on=on, ignore_existing=ignore_existing, key=idempotency_key
        )
        return self._do(call)

    def update_where(
        self,
        where: Where,
        changes: Fields,
        *,
        max_affected: int | None = None,
        idempotency_key: str | None = None,
    ) -> Affected:
        """Write these fields to all rows that match; none if more than `max_affected` do."""
        call = calls.update_where(
            self.name, where, changes, max_affected=max_affected, key=idempotency_key
        )
        return self._do(call)

    def delete(
        self, row_index: int, *, if_match: str | None = None, idempotency_key: str | None = None
    ) -> None:
        """Delete a row; those below move up, unless the gateway empties deleted rows."""
        self._do(calls.delete_row(self.name, row_index, if_match=if_match, key=idempotency_key))

    def delete_where(
        self,
        where: Where,
        *,
        max_affected: int | None = None,
        idempotency_key: str | None = None,
    ) -> Affected:
        """Delete all rows that match; none if more than `max_affected` do."""
        call = calls.delete_where(self.name, where, max_affected=max_affected, key=idempotency_key)
        return self._do(call)

    def schema(self) -> Schema:
        """The JSON Schema of the fields of a typed row, by the first rows: others may differ."""
        found: Schema = self._run(calls.schema(self.name))
        return found

    def refresh(self) -> None:
        """Let the next request reread the rows; needs a key made with `--refresh`."""
        self._run(calls.refresh(self.name))

    def _do(self, call: Call[Parsed]) -> Parsed:
        value: Parsed = self._run(calls.with_values(call, self._values))
        return value
