"""Build the request and the parser of each API call.

Repeating a request is safe: a read has no effect, and a write has an `Idempotency-Key`, which
stays the same in all requests of a call.
"""

import json
import math
import re
import uuid
from collections import UserString
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from datetime import date, time
from decimal import Decimal
from typing import Any, Generic, Literal, TypeVar
from urllib.parse import quote, urlencode

from sheets_gateway_client.answers import (
    Answer,
    Parse,
    check_rows,
    parse_affected,
    parse_csv,
    parse_ndjson,
    parse_nothing,
    parse_page,
    parse_row,
    parse_rows,
    parse_schema,
    parse_upserted,
    parse_upserted_row,
    parse_worksheets,
)
from sheets_gateway_client.errors import SheetsFailure
from sheets_gateway_client.rows import Affected, Fields, Page, Row
from sheets_gateway_client.worksheets import Schema, WorksheetList

Where = Mapping[str, object]
Names = str | Sequence[str]
Values = Literal["typed", "displayed"]
"""Cells as typed JSON values, or as displayed text."""
ExportFormat = Literal["csv", "ndjson"]
Parsed = TypeVar("Parsed")

IDEMPOTENCY_KEY = "Idempotency-Key"
_WORKSHEETS = "sheets"
_VISIBLE = re.compile(r"[\x21-\x7e]+")
_VISIBLE_WORDS = re.compile(r"[\x21-\x7e]+( [\x21-\x7e]+)*")

_EXAMPLE = "{'name': 'Austin'}"
_HINTS: Sequence[tuple[type[object], str]] = (
    (date, "Pass value.isoformat(): filters and typed writes read this string as a date."),
    (time, "Pass a string, such as value.isoformat()."),
    (Decimal, "Pass float(value) for a number, or str(value) for a string with all digits."),
    (UserString, "Pass str(value)."),
)
_ANY_HINT = "Pass a str, int, float, bool or None."
_MAX_LEVELS = 100
_EXPORTS: Mapping[str, Parse[str]] = {"csv": parse_csv, "ndjson": parse_ndjson}
_NO_CURSOR = (
    "The answer has no cursor for the next page, because the gateway is older than this client. "
    "Update the gateway, or pass skip=0, which can miss rows while others are inserted or deleted."
)


@dataclass(frozen=True, kw_only=True)
class Call(Generic[Parsed]):
    """A request, and the parser of its answer."""

    method: str
    path: str
    """Path after `/v2/`, percent-encoded."""
    parse: Parse[Parsed]
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    is_write: bool = False

    @property
    def target(self) -> str:
        """The path with its query."""
        return f"{self.path}?{urlencode(self.query)}" if self.query else self.path

    @property
    def idempotency_key(self) -> str | None:
        return self.headers.get(IDEMPOTENCY_KEY)


@dataclass(frozen=True, kw_only=True)
class ListOptions:
    """Parameters of a list; None and False omit the parameter."""

    where: Where | None = None
    order: Names | None = None
    keys: Names | None = None
    limit: int | None = None
    skip: int | None = None
    cursor: str | None = None
    count: bool = False
    no_cache: bool = False


def with_values(call: Call[Parsed], values: Values | None) -> Call[Parsed]:
    """Return the call with the parameter `values`, or unchanged if `values` is None."""
    return call if values is None else replace(call, query={**call.query, "values": values})


def list_worksheets() -> Call[WorksheetList]:
    return Call(method="GET", path=_WORKSHEETS, parse=parse_worksheets)


def schema(sheet: str) -> Call[Schema]:
    """Request the JSON Schema of rows with typed values."""
    return Call(method="GET", path=f"{_path(sheet)}/schema", parse=parse_schema)


def list_rows(sheet: str, options: ListOptions) -> Call[Page]:
    return Call(method="GET", path=_path(sheet), parse=parse_page, query=_list_query(options))


def export(sheet: str, export_format: ExportFormat, options: ListOptions) -> Call[str]:
    """Request all matching rows as text. Raises ValueError for an unknown format."""
    text_of = _EXPORTS.get(export_format)
    if text_of is None:
        raise ValueError(
            f"{export_format!r} is not an export format. Pass {' or '.join(_EXPORTS)}."
        )

    def parse(answer: Answer) -> str:
        text = text_of(answer)
        check_rows(answer, skip=options.skip or 0, limit=options.limit)
        return text

    query = {**_list_query(options), "format": export_format}
    return Call(method="GET", path=_path(sheet), parse=parse, query=query)


def _list_query(options: ListOptions) -> Mapping[str, str]:
    order = options.order
    return _given(
        where=_json_or_none(options.where),
        order=order if isinstance(order, str) else _names(order),
        keys=_names(options.keys),
        limit=options.limit,
        skip=options.skip,
        cursor=options.cursor,
        count=options.count or None,
        no_cache=options.no_cache or None,
    )


def first_page(options: ListOptions) -> ListOptions:
    """Return the options of the first page: by position if `skip` is set, else by cursor."""
    if options.limit is None or options.limit < 1:
        raise ValueError("page_size must be at least 1.")
    return options if options.skip is not None else replace(options, cursor="")


def next_page(options: ListOptions, page: Page) -> ListOptions | None:
    """Return the options of the page after this one, or None after the last page.

    Raises SheetsFailure if the answer has no cursor.
    """
    if not page.has_next_page:
        return None
    if options.skip is not None:  # the key's plan can allow smaller pages
        return replace(options, skip=options.skip + len(page)) if len(page) > 0 else None
    if page.cursor is None:
        raise SheetsFailure(_NO_CURSOR, outcome=None, idempotency_key=None)
    return replace(options, cursor=page.cursor)


def get_row(sheet: str, row_index: int, *, keys: Names | None, no_cache: bool) -> Call[Row]:
    query = _given(keys=_names(keys), no_cache=no_cache or None)
    return Call(method="GET", path=_row_path(sheet, row_index), parse=parse_row, query=query)


def create_row(sheet: str, row: Fields, key: str | None) -> Call[Row]:
    return _write("POST", _path(sheet), parse_row, body=_rows(row), key=key)


def create_rows(sheet: str, rows: Sequence[Fields], key: str | None) -> Call[list[Row]]:
    return _write("POST", _path(sheet), parse_rows, body=_rows(rows), key=key)


def update_row(
    sheet: str, row_index: int, changes: Fields, *, if_match: str | None, key: str | None
) -> Call[Row]:
    path, body = _row_path(sheet, row_index), _row(changes)
    return _write("PATCH", path, parse_row, body=body, key=key, if_match=if_match)


def update_rows(sheet: str, rows: Sequence[Fields], key: str | None) -> Call[list[Row]]:
    return _write("PATCH", _path(sheet), parse_rows, body=_rows(rows), key=key)


def upsert_rows(
    sheet: str,
    rows: Fields | Sequence[Fields],
    *,
    on: Names,
    ignore_existing: bool,
    key: str | None,
) -> Call[Row | list[Row]]:
    """Return an upsert, whose result is a row if `rows` is one row, else a list."""
    if not on:  # without `on` the gateway would create the rows
        raise ValueError("An upsert needs `on`. Pass the fields that identify a row.")
    parse: Parse[Row | list[Row]]
    parse = parse_upserted_row if isinstance(rows, Mapping) else parse_upserted
    return _write(
        "POST",
        _path(sheet),
        parse,
        query=_given(on_conflict=_names(on)),
        prefer="resolution=ignore-duplicates" if ignore_existing else None,
        body=_rows(rows),
        key=key,
    )


def update_where(
    sheet: str, where: Where, changes: Fields, *, max_affected: int | None, key: str | None
) -> Call[Affected]:
    query = _filter(where, max_affected)
    return _write("PATCH", _path(sheet), parse_affected, query=query, body=_row(changes), key=key)


def delete_row(sheet: str, row_index: int, *, if_match: str | None, key: str | None) -> Call[None]:
    path = _row_path(sheet, row_index)
    return _write("DELETE", path, parse_nothing, key=key, if_match=if_match)


def delete_where(
    sheet: str, where: Where, *, max_affected: int | None, key: str | None
) -> Call[Affected]:
    query = _filter(where, max_affected)
    return _write("DELETE", _path(sheet), parse_affected, query=query, key=key)


def refresh(sheet: str) -> Call[None]:
    """Return a request to reread the rows. It needs no `Idempotency-Key`: it changes no row."""
    return Call(method="POST", path=f"{_path(sheet)}/refresh", parse=parse_nothing)


def _write(
    method: str,
    path: str,
    parse: Parse[Parsed],
    *,
    key: str | None,
    query: Mapping[str, str] | None = None,
    body: Fields | Sequence[Fields] | None = None,
    if_match: str | None = None,
    prefer: str | None = None,
) -> Call[Parsed]:
    headers = {
        IDEMPOTENCY_KEY: str(uuid.uuid4()) if key is None else visible("idempotency_key", key),
        "If-Match": None
        if if_match is None
        else visible("if_match", if_match, may_have_blanks=True),
        "Prefer": prefer,
        "Content-Type": None if body is None else "application/json",
    }
    return Call(
        method=method,
        path=path,
        parse=parse,
        query=query or {},
        headers={name: value for name, value in headers.items() if value is not None},
        body=None if body is None else _encoded(body),
        is_write=True,
    )


def visible(name: str, given: object, *, may_have_blanks: bool = False) -> str:
    """Return the value of an argument that a header has. Raises ValueError if it cannot have it."""
    allowed = _VISIBLE_WORDS if may_have_blanks else _VISIBLE
    if not isinstance(given, str) or allowed.fullmatch(given) is None:
        raise ValueError(f"{name} {given!r} is not visible ASCII text.")
    return given


def _path(sheet: str) -> str:
    if not isinstance(sheet, str) or sheet in ("", ".", ".."):  # paths of other resources
        raise ValueError(f"{sheet!r} cannot be the name of a worksheet. Pass the name of a tab.")
    return f"{_WORKSHEETS}/{quote(sheet, safe='')}"


def _row_path(sheet: str, row_index: int) -> str:
    if not isinstance(row_index, int) or isinstance(row_index, bool) or row_index < 1:
        raise ValueError(f"{row_index!r} is not a row number. Pass an int of at least 1.")
    return f"{_path(sheet)}/{row_index:d}"


def _row(given: Fields) -> Fields:
    if not isinstance(given, Mapping):
        kind = type(given).__name__
        raise ValueError(f"A row must be a dict of cell values, such as {_EXAMPLE}, not {kind}.")
    return given


def _rows(given: Fields | Sequence[Fields]) -> Fields | Sequence[Fields]:
    if not isinstance(given, Iterable) or isinstance(given, (Mapping, str)):
        return _row(given)
    return [_row(each) for each in given]


def _filter(where: Where, max_affected: int | None) -> Mapping[str, str]:
    if not isinstance(where, Mapping):
        raise ValueError(
            f"A filter must be a dict, such as {_EXAMPLE}, not {type(where).__name__}."
        )
    return _given(where=_encoded(where), max_affected=max_affected)


_SPELLED = {"no_cache": "no-cache", "max_affected": "max-affected"}
"""Parameter names of the API by their Python names, where the two differ."""


def _given(**parameters: object) -> Mapping[str, str]:
    return {
        _SPELLED.get(name, name): "true" if value is True else str(value)
        for name, value in parameters.items()
        if value is not None
    }


def _names(names: Names | None) -> str | None:
    """Encode as a JSON array, because a field name can contain a comma."""
    if names is None:
        return None
    return _encoded([names] if isinstance(names, str) else list(names))


def _json_or_none(where: Where | None) -> str | None:
    return None if where is None else _encoded(where)


def _encoded(value: Any) -> str:
    """Encode as JSON. Raises ValueError if a value cannot be a cell value."""
    return json.dumps(_plain(value, "", _MAX_LEVELS), separators=(",", ":"))


def _plain(value: Any, name: str, levels: int) -> Any:
    """Convert mappings to dicts and sequences to lists; `name` is the field for error messages."""
    if levels == 0:
        raise ValueError(
            f"{name!r}: the value contains itself, or has over {_MAX_LEVELS} nested levels."
        )
    if isinstance(value, Mapping):
        fields = ((key, name if _name(key).startswith("$") else _name(key)) for key in value)
        return {key: _plain(value[key], field, levels - 1) for key, field in fields}
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{name!r}: {value} cannot be a cell value. Pass None to empty the cell.")
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray, UserString)):
        return [_plain(each, name, levels - 1) for each in value]
    kind = type(value).__name__
    hint = next((hint for kinds, hint in _HINTS if isinstance(value, kinds)), _ANY_HINT)
    if hasattr(value, "item") and not isinstance(value, Sized):  # a scalar of NumPy
        kind, hint = f"{type(value).__module__}.{kind}", "Pass value.item()."
    raise ValueError(f"{name!r}: a {kind} cannot be a cell value. {hint}")


def _name(key: object) -> str:
    if not isinstance(key, (str, int)) or isinstance(key, bool):
        raise ValueError(f"{key!r} is not the name of a field. Pass a str.")
    return str(key)
