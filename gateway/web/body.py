"""Bodies of creates and updates: from bytes to checked values.

Rules: an invalid body is refused as a whole, with a pointer to every problem, before any call to
Google. Credentials and `rowIndex` in a body are dropped. A body that begins with `{` or `[` is
JSON, whatever its type. Long bodies are parsed in a thread.
"""

import asyncio
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from starlette.requests import Request

from gateway.errors import BodyTooLarge, Problem, RequestTimeout, UnsupportedMediaType
from gateway.table.record import MAX_PROBLEMS, NEVER_STORED, pointer
from gateway.telemetry.events import note_reading
from gateway.web.fields import MAX_FIELDS, checked_fields, invalid_body, unstorable
from gateway.web.lenient import JSON_AS_TEXT
from gateway.web.media_types import FORM, JSON
from gateway.web.parsing import MAX_ROWS as MAX_ROWS
from gateway.web.parsing import Pairs, decode_json
from gateway.web.state import State
from gateway.worksheets.writes import Fields

_JSON_STARTS = (b"{", b"[")
_NO_FIELD = "The object holds no field to write."
_BLANK_FORM = (
    "A new row needs at least one field with a value; the body was read as a form, which holds "
    'none. JSON looks like {"name": "Ann"}.'
)
_UNREAD = {
    "multipart/form-data": "multipart/form-data is not read. In a page, send new "
    "URLSearchParams(new FormData(form)); or JSON with Content-Type: application/json.",
}
"""Refused media types, and alternatives."""
_ESCAPED = re.compile(r"(?:%[0-9A-Fa-f]{2})+")


class Form(Pairs):
    """Fields of a form as written; each value is a text."""


@dataclass(frozen=True, kw_only=True)
class RowsBody:
    """Rows to create, at least one; `is_array`: sent as a list, and answered as one."""

    rows: tuple[Fields, ...]
    is_array: bool


async def read_fields(request: Request[State], key_id: str) -> Fields:
    """Checked fields of a JSON object or a form; at least one."""
    body, content_type = await _read(request)
    work = partial(parse_fields, body, content_type)
    return _required(await request.state["parsing"].run(key_id, len(body), work))


async def read_rows(request: Request[State], key_id: str) -> RowsBody:
    """Checked rows of a JSON list of objects, or the one row of an object or a form."""
    body, content_type = await _read(request)
    work = partial(parse_rows, body, content_type)
    return await request.state["parsing"].run(key_id, len(body), work)


def parse_fields(body: bytes, content_type: str) -> Fields:
    return _object_fields(_decoded(body, content_type))


def parse_rows(body: bytes, content_type: str) -> RowsBody:
    """Up to 500 rows of a JSON list of objects, otherwise the row of `parse_fields`."""
    decoded = _decoded(body, content_type)
    if isinstance(decoded, list) and not isinstance(decoded, Pairs):
        return RowsBody(rows=_listed_rows(decoded), is_array=True)
    fields = _required(_object_fields(decoded))
    if isinstance(decoded, Form) and all(value == "" for value in fields.values()):
        raise invalid_body(_BLANK_FORM)
    return RowsBody(rows=(fields,), is_array=False)


def _decoded(body: bytes, content_type: str) -> object:
    """Names and values as `Pairs`, or any other JSON value."""
    is_json_type = content_type == JSON or content_type.endswith("+json")
    if is_json_type or body.lstrip().startswith(_JSON_STARTS):
        if not is_json_type:
            note_reading(JSON_AS_TEXT)
        return decode_json(_decode_text(body))
    if content_type == FORM:
        return Form(_decode_form(_decode_text(body)))
    if content_type in ("", "text/plain"):
        raise invalid_body("The body must be a JSON object.")
    raise UnsupportedMediaType(
        _UNREAD.get(content_type)
        or "Send a JSON object with Content-Type: application/json, or a form."
    )


def _object_fields(decoded: object) -> Fields:
    if not isinstance(decoded, Pairs):
        raise invalid_body("The body must be a JSON object of fields and values.")
    fields, problems = checked_fields(decoded)
    if problems:
        raise unstorable(problems)
    return fields


def _listed_rows(elements: Sequence[object]) -> tuple[Fields, ...]:
    if not elements:
        raise invalid_body("The list holds no row to create.")
    if len(elements) > MAX_ROWS:
        raise invalid_body(f"The list holds more than {MAX_ROWS} rows; send it in parts.")
    rows: list[Fields] = []
    problems: list[Problem] = []
    for index, element in enumerate(elements):
        row, faults = _listed_row(element, at=pointer(str(index)))
        rows.append(row)
        problems += faults
        if len(problems) >= MAX_PROBLEMS:
            break
    if problems:
        raise unstorable(problems)
    return tuple(rows)


def _listed_row(element: object, *, at: str) -> tuple[Fields, Sequence[Problem]]:
    if not isinstance(element, Pairs):
        return {}, [Problem(at, "This must be a JSON object of fields and values.")]
    fields, problems = checked_fields(element, at=at)
    kept = _stored(fields)
    return kept, problems if kept or problems else [Problem(at, _NO_FIELD)]


def _required(fields: Fields) -> Fields:
    kept = _stored(fields)
    if not kept:
        raise invalid_body(_NO_FIELD)
    return kept


def _stored(fields: Fields) -> Fields:
    if NEVER_STORED.isdisjoint(fields):
        return fields
    return {name: value for name, value in fields.items() if name not in NEVER_STORED}


async def _read(request: Request[State]) -> tuple[bytes, str]:
    """The body and its media type without parameters, in lower case.

    Compressed bodies are refused: they can expand to any size.
    """
    headers, settings = request.headers, request.state["server"]
    if headers.get("content-encoding", "").strip().lower() not in ("", "identity"):
        raise UnsupportedMediaType("Send the body as it is, without Content-Encoding.")
    max_bytes = settings.max_body_bytes
    announced = headers.get("content-length", "0")
    if not announced.isdecimal() or int(announced[:20]) > max_bytes:
        raise _too_large(max_bytes)
    chunks: list[bytes] = []
    length = 0
    try:
        async with asyncio.timeout(settings.body_timeout_seconds):
            async for chunk in request.stream():
                length += len(chunk)
                if length > max_bytes:
                    raise _too_large(max_bytes)
                chunks.append(chunk)
    except TimeoutError as error:
        raise RequestTimeout("The body did not arrive in time.") from error
    content_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    return b"".join(chunks), content_type


def _decode_text(body: bytes) -> str:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise invalid_body(f"The body is not UTF-8 at byte {error.start}.") from error


def _decode_form(text: str) -> Iterator[tuple[str, object]]:
    """The fields of a form (WHATWG URL, 5.1), percent-encoded UTF-8; any other `%` stays."""
    if text.count("&") >= MAX_FIELDS:
        raise invalid_body(f"The form has more than {MAX_FIELDS} fields.")
    for field in filter(None, text.split("&")):
        name, _, value = field.replace("+", " ").partition("=")
        yield _unescaped(name), _unescaped(value)


def _unescaped(text: str) -> str:
    try:
        return _ESCAPED.sub(_escaped_text, text)
    except UnicodeDecodeError as error:
        raise invalid_body("The form is not percent-encoded UTF-8.") from error


def _escaped_text(run: re.Match[str]) -> str:
    return bytes.fromhex(run[0].replace("%", "")).decode("utf-8")


def _too_large(max_bytes: int) -> BodyTooLarge:
    return BodyTooLarge(f"The body is larger than {max_bytes} bytes.")
