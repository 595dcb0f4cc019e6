"""Parse answers: rows, pages, worksheets and errors.

Rules
- An error answer comes from the gateway if it is a JSON object with the gateway's `type`. Any
  other answer comes from a proxy or another server, and says nothing about the outcome of a write.
- A member of an error with an unexpected type counts as absent.
- A success without the members of the API also comes from another server.
- A success whose media type is JSON, but not its body, is incomplete: a proxy truncated it.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar, cast

from sheets_gateway_client.errors import NOT_FROM_GATEWAY, ErrorBody, Outcome, Problem
from sheets_gateway_client.rows import Affected, Page, Row
from sheets_gateway_client.worksheets import (
    Field,
    FieldType,
    Right,
    Schema,
    Spreadsheet,
    Worksheet,
    WorksheetList,
)

Parsed = TypeVar("Parsed")
Parse = Callable[["Answer"], Parsed]

ERROR_TYPE = "SheetsonError"
NO_ROUTE = 4040
TOO_EARLY = "the body ends too early"
ROW_INDEX, CREATED = "rowIndex", "created"
EXCERPT_CHARS = 200

_JSON_TYPE = re.compile(r"[^;]*[/+]json\s*(;|\Z)", re.IGNORECASE)
_DIGITS = re.compile(r"[0-9]+")
_QUOTED = re.compile(r'"[^"]*(?:"|\Z)')
_OUTCOMES: Sequence[Outcome] = ("not_applied", "applied", "unknown")
_NO_JSON = object()
_BLANKS = re.compile(r"\s+")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A response with its whole body."""

    status: int
    headers: Mapping[str, str]
    """Values by name in lower case."""
    text: str
    url: str
    """URL of the request, without its query."""

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    @property
    def etag(self) -> str | None:
        return self.headers.get("etag")


class OtherShape(Exception):
    """A success answer without the members of the API: it comes from another server."""


class CutShort(Exception):
    """A body that ends too early: a proxy accepted an incomplete body as complete."""


def parse_row(answer: Answer) -> Row:
    return _row(_object(answer), etag=answer.etag)


def parse_rows(answer: Answer) -> list[Row]:
    return [_row(each) for each in _results(_object(answer))]


def parse_upserted(answer: Answer) -> list[Row]:
    return [_row(each, is_upserted=True) for each in _results(_object(answer))]


def parse_upserted_row(answer: Answer) -> Row:
    rows = parse_upserted(answer)
    if len(rows) != 1:
        raise OtherShape("results")
    return rows[0]


def parse_page(answer: Answer) -> Page:
    body = _object(answer)
    return Page(
        rows=[_row(each) for each in _results(body)],
        has_next_page=_member(body, "hasNextPage", bool),
        total=_member(body, "total", int) if "total" in body else None,
        cursor=None if body.get("cursor") is None else _member(body, "cursor", str),
    )


def parse_worksheets(answer: Answer) -> WorksheetList:
    body = _object(answer)
    about = _member(body, "spreadsheet", dict)
    return WorksheetList(
        spreadsheet=Spreadsheet(
            id=_member(about, "id", str),
            title=_member(about, "title", str),
            locale=_member(about, "locale", str),
            time_zone=_member(about, "timeZone", str),
        ),
        sheets=[_worksheet(each) for each in _member(body, "sheets", list)],
    )


def _worksheet(body: Any) -> Worksheet:
    return Worksheet(
        name=_member(body, "name", str),
        rows=None if body.get("rows") is None else _member(body, "rows", int),
        fields=[
            Field(name=_member(each, "name", str), type=cast(FieldType, _member(each, "type", str)))
            for each in _member(body, "fields", list)
        ],
        may=cast(list[Right], _member(body, "may", list)),
    )


def parse_schema(answer: Answer) -> Schema:
    body = _object(answer)
    _member(body, "title", str)
    for each in _member(body, "properties", dict).values():
        if not isinstance(each, dict):
            raise OtherShape("properties")
    return cast(Schema, body)


def parse_csv(answer: Answer) -> str:
    return _text_of_type(answer, "text/csv")


def parse_ndjson(answer: Answer) -> str:
    return _text_of_type(answer, "application/x-ndjson")


def check_rows(answer: Answer, *, skip: int, limit: int | None) -> None:
    """Raises CutShort if an export has fewer rows than its headers announce."""
    total = answer.headers.get("x-total-count", "")
    if not _DIGITS.fullmatch(total):
        return
    announced = max(0, int(total) - skip)
    is_csv = answer.headers.get("content-type", "").startswith("text/csv")
    ends = _QUOTED.sub("", answer.text) if is_csv else answer.text
    rows = ends.count("\n") - is_csv  # without the header line
    if rows < (announced if limit is None else min(announced, limit)):
        raise CutShort(TOO_EARLY)


def rows_of_ndjson(text: str) -> Iterator[Row]:
    """Yield the rows of an NDJSON export."""
    return (_row(json.loads(line)) for line in text.split("\n") if line)


def _text_of_type(answer: Answer, media_type: str) -> str:
    """Return the body. Raises OtherShape if the answer has another media type."""
    if answer.headers.get("content-type", "").partition(";")[0] != media_type:
        raise OtherShape(media_type)
    return answer.text


def parse_affected(answer: Answer) -> Affected:
    body = _object(answer)
    return Affected(
        count=_member(body, "count", int),
        row_indexes=[_member(each, ROW_INDEX, int) for each in _results(body)],
    )


def parse_nothing(answer: Answer) -> None:
    """Raises OtherShape if the body is neither empty nor a JSON object."""
    if answer.status != 204:
        _object(answer)


def error_body(answer: Answer, *, is_write: bool, now: datetime) -> ErrorBody:
    """Return the error of an answer, also of an answer from another server."""
    wait = retry_after_seconds(answer, now)
    body = _json(answer)
    if answer.is_success or not isinstance(body, dict) or body.get("type") != ERROR_TYPE:
        return _foreign(answer, is_write=is_write, wait=wait)
    code, row_index, errors = body.get("code"), body.get(ROW_INDEX), body.get("errors")
    return ErrorBody(
        status=answer.status,
        code=code if isinstance(code, int) else 0,
        name=_text(body, "name"),
        message=_text(body, "message") + (_wrong_place(answer) if code == NO_ROUTE else ""),
        outcome=_outcome(body) if is_write else None,
        retryable=body.get("retryable") is True,
        request_id=_text(body, "requestId"),
        errors=[
            Problem(pointer=_text(each, "pointer"), detail=_text(each, "detail"))
            for each in (errors if isinstance(errors, list) else ())
            if isinstance(each, dict)
        ],
        existing=_record(body, "existing", etag=answer.etag),
        expected=_record(body, "expected"),
        met=_record(body, "met"),
        row_index=row_index if isinstance(row_index, int) else None,
        retry_after_seconds=wait,
    )


def retry_after_seconds(answer: Answer, now: datetime) -> float | None:
    """Return `Retry-After` in seconds, or None if the header is absent or malformed."""
    given = answer.headers.get("retry-after", "").strip()
    if _DIGITS.fullmatch(given):
        return float(given)
    try:
        date = parsedate_to_datetime(given)
    except ValueError:
        return None
    whole = date if date.tzinfo is not None else date.replace(tzinfo=UTC)
    return max(0.0, (whole - now).total_seconds())


def _text(body: Mapping[str, Any], name: str) -> str:
    found = body.get(name)
    return found if isinstance(found, str) else ""


def _outcome(body: Mapping[str, Any]) -> Outcome:
    return next((each for each in _OUTCOMES if each == body.get("outcome")), "unknown")


def _record(body: Mapping[str, Any], name: str, *, etag: str | None = None) -> Row | None:
    try:
        return _row(body.get(name), etag=etag)
    except OtherShape:
        return None


def _wrong_place(answer: Answer) -> str:
    return f" The request went to {answer.url}: remove /v2 and wrong paths from the base URL."


def _foreign(answer: Answer, *, is_write: bool, wait: float | None) -> ErrorBody:
    target = answer.headers.get("location") if 300 <= answer.status < 400 else None
    hint = f"It redirects to {target}: correct" if target else "Check"
    excerpt = _BLANKS.sub(" ", answer.text[:EXCERPT_CHARS]).strip()
    return ErrorBody(
        status=answer.status,
        code=0,
        name=NOT_FROM_GATEWAY,
        message=(
            f"The answer from {answer.url} is not from a sheets-gateway: status {answer.status}. "
            f"{hint} the base URL. The body begins: {excerpt!r}"
        ),
        outcome="unknown" if is_write else None,
        retryable=False,
        request_id=answer.headers.get("x-request-id", ""),
        retry_after_seconds=wait,
    )


def _row(record: Any, *, etag: str | None = None, is_upserted: bool = False) -> Row:
    members = {ROW_INDEX, CREATED} if is_upserted else {ROW_INDEX}
    row_index = _member(record, ROW_INDEX, int)
    return Row(
        row_index=row_index,
        fields={name: value for name, value in record.items() if name not in members},
        etag=etag,
        created=_member(record, CREATED, bool) if is_upserted else None,
    )


def _results(body: Mapping[str, Any]) -> list[Any]:
    return _member(body, "results", list)


def _member(body: Any, name: str, kind: type[Parsed]) -> Parsed:
    found = body.get(name) if isinstance(body, dict) else None
    if not isinstance(found, kind):
        raise OtherShape(name)
    return found


def _object(answer: Answer) -> Mapping[str, Any]:
    """Return the body. Raises CutShort if it is incomplete, OtherShape if it is another value."""
    body = _json(answer)
    if body is _NO_JSON and _JSON_TYPE.match(answer.headers.get("content-type", "")):
        raise CutShort(TOO_EARLY)
    if not isinstance(body, dict):
        raise OtherShape("object")
    return body


def _json(answer: Answer) -> Any:
    """Return the parsed body, or `_NO_JSON` if it is not JSON."""
    try:
        return json.loads(answer.text)
    except (ValueError, RecursionError):
        return _NO_JSON
