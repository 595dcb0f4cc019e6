"""Bodies of writes: from bytes to checked values.

Rules: an invalid body is refused as a whole, with a pointer to each problem, before any call to
Google. Credentials in a body are dropped. `rowIndex` is dropped too, except in a list of updates,
where `rowIndex` selects the row. A body that begins with `{` or `[` is JSON, whatever its media
type. Long bodies are parsed in a thread.
"""

import asyncio
import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeVar

from starlette.requests import ClientDisconnect
from starlette.types import Message

from gateway.errors import BodyTooLarge, InvalidBody, Problem, RequestTimeout, UnsupportedMediaType
from gateway.query.query import kind_of
from gateway.table.header import ROW_INDEX
from gateway.table.record import MAX_PROBLEMS, NEVER_STORED, pointer
from gateway.telemetry.events import note_reading
from gateway.web.head import media_type_of
from gateway.web.json_faults import MULTIPART
from gateway.web.lenient import JSON_AS_TEXT
from gateway.web.media_types import FORM, JSON
from gateway.web.method_override import without_override
from gateway.web.parsing import (
    MAX_FIELDS,
    Pairs,
    checked_fields,
    decode_json,
    invalid_body,
    unstorable,
)
from gateway.web.parsing import MAX_ROWS as MAX_ROWS
from gateway.web.request import Request
from gateway.worksheets.writes import Fields, FormFields

JSON_STARTS = (b"{", b"[")
_NO_TYPES = ("", "text/plain")
"""Media types that do not describe the body, which is then parsed as JSON."""
_NO_FIELD = "The object contains no field to write. Send at least one."
_BLANK_FORM = (
    "The body was read as a form, and none of its fields has a value. A new row needs at least "
    'one value; a JSON body looks like {"name": "Ann"}.'
)
_UNREAD = {
    "multipart/form-data": "multipart/form-data is not supported. In a web page, send new "
    "URLSearchParams(new FormData(form)), or JSON with Content-Type: application/json."
}
"""Error messages of common media types that are not supported."""
_ESCAPED = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_BLANKS = b" \t\r\n" + BOM_UTF8
_MOST_BLANK_BYTES = 1024
"""Maximum bytes of blanks that are read to find the `[` of a list. After more, it is not found.

The limit is low, because the key is checked later.
"""
LAST_ROW = 99_999_999
"""Maximum row number in a body, the same as in paths."""

T = TypeVar("T")


class Form(Pairs):
    """Fields of a form as pairs of name and text, including repeated names."""


@dataclass(frozen=True, kw_only=True)
class RowsBody:
    """One or more rows to create. `is_array` is True if the body, and so the answer, is a list."""

    rows: tuple[Fields, ...]
    is_array: bool


Updates = tuple[tuple[int, Fields], ...]
"""Row number and fields of each row to update. No row occurs twice."""


async def read_body(request: Request, key_id: str, parse: Callable[[bytes, str], T]) -> T:
    """Read the body, and return the result of `parse` for the body and its media type.

    Long bodies are parsed in a thread, one body of each API key at a time.
    """
    body, content_type = await _read(request)
    if content_type == FORM and not body.lstrip().startswith(JSON_STARTS):
        body = without_override(request, body)
    work = partial(parse, body, content_type)
    return await request.state["parsing"].run(key_id, len(body), work)


async def begins_list(request: Request) -> bool:
    """True if the body begins with `[`. Raises RequestTimeout if the body does not arrive.

    The body can still be read from the start.
    """
    receive, messages = request.receive, list[Message]()
    start, more_body = b"", True
    try:
        async with asyncio.timeout(request.state["server"].body_timeout_seconds):
            while more_body and not start.strip(_BLANKS) and len(start) < _MOST_BLANK_BYTES:
                message = await receive()
                messages.append(message)
                start += message.get("body", b"")
                more_body = message.get("more_body", False)
    except TimeoutError as error:
        raise RequestTimeout("The body did not arrive in time. Send the request again.") from error

    async def receive_again() -> Message:
        return messages.pop(0) if messages else await receive()

    request.receive = receive_again
    return start.removeprefix(BOM_UTF8).lstrip().startswith(b"[")


def parse_fields(body: bytes, content_type: str) -> Fields:
    """Parse and check the fields of a JSON object or a form.

    Raises UnsupportedMediaType, and InvalidBody if the body is invalid or has no field.
    """
    return _object_fields(_decoded(body, content_type))


def parse_rows(body: bytes, content_type: str) -> RowsBody:
    """Parse a JSON list of at most 500 objects, or one row from an object or a form.

    Raises UnsupportedMediaType, and InvalidBody if the body is invalid or has an empty row.
    """
    decoded = _decoded(body, content_type)
    if isinstance(decoded, list) and not isinstance(decoded, Pairs):
        rows = tuple(fields for _, fields in _listed_rows(decoded, "create"))
        return RowsBody(rows=rows, is_array=True)
    fields = form_fields(decoded) if isinstance(decoded, Form) else _object_fields(decoded)
    return RowsBody(rows=(fields,), is_array=False)


def form_fields(form: Form) -> Fields:
    """Check a form, and return its fields to store. Raises InvalidBody if all values are empty."""
    fields = _object_fields(form)
    if all(value == "" for value in fields.values()):
        raise invalid_body(_BLANK_FORM)
    return fields


def parse_updates(body: bytes, content_type: str) -> Updates:
    """Parse a JSON list of at most 500 objects, each with `rowIndex` and a field to write.

    Raises UnsupportedMediaType and InvalidBody.
    """
    decoded = _decoded(body, content_type)
    if not isinstance(decoded, list) or isinstance(decoded, Pairs):
        raise _of_another_shape(decoded, "a JSON list of objects, each with its rowIndex")
    return _listed_rows(decoded, "update")


def _decoded(body: bytes, content_type: str) -> object:
    """Decode a JSON body or a form. Objects and forms become `Pairs`, with repeated names."""
    is_json_type = content_type == JSON or content_type.endswith("+json")
    is_json = body.lstrip().startswith(JSON_STARTS)
    if is_json or is_json_type or content_type in _NO_TYPES:
        if is_json and not is_json_type:
            note_reading(JSON_AS_TEXT)
        return decode_json(_decode_text(body))
    if content_type == FORM:
        return Form(parse_form(body))
    raise UnsupportedMediaType(
        _UNREAD.get(content_type)
        or "This Content-Type is not supported. Send JSON as application/json, or a form as "
        "application/x-www-form-urlencoded."
    )


def _of_another_shape(decoded: object, wanted: str) -> InvalidBody:
    found = "an object" if isinstance(decoded, Pairs) else kind_of(decoded)
    return invalid_body(f"The body must be {wanted}, not {found}.")


def _object_fields(decoded: object) -> Fields:
    """Check an object, and return its fields to store. Raises InvalidBody without a field."""
    if not isinstance(decoded, Pairs):
        raise _of_another_shape(decoded, "a JSON object of fields and values")
    fields, problems = checked_fields(decoded)
    if problems:
        raise unstorable(problems)
    stored = _stored(FormFields(fields) if isinstance(decoded, Form) else fields)
    if not stored:
        raise invalid_body(_NO_FIELD)
    return stored


def _listed_rows(elements: Sequence[object], verb: Literal["create", "update"]) -> Updates:
    """Check the rows of a list. Returns row number (0 for a create) and fields of each row.

    Each row of an "update" needs its own `rowIndex`. Raises InvalidBody with at most `MAX_PROBLEMS`
    problems.
    """
    if not elements:
        raise invalid_body(f"The list contains no row to {verb}. Send at least one.")
    if len(elements) > MAX_ROWS:
        raise invalid_body(f"The list exceeds the limit of {MAX_ROWS} rows. Send several requests.")
    rows: list[tuple[int, Fields]] = []
    taken: set[int] = set()
    problems: list[Problem] = []
    for index, element in enumerate(elements):
        at = pointer(str(index))
        if isinstance(element, Pairs):
            fields, found = checked_fields(element, at=at)
            stored = _stored(fields)
            if not (found or stored):
                found = [Problem(at, _NO_FIELD)]
            row, fault = _row_number(fields, taken) if verb == "update" else (0, None)
            if fault is not None and not found:
                place = at if fields.get(ROW_INDEX) is None else f"{at}/{ROW_INDEX}"
                found = [Problem(place, fault)]
            if fault is None:
                taken.add(row)
            rows.append((row, stored))
        else:
            found = [Problem(at, "This must be a JSON object of fields and values.")]
        problems += found
        if len(problems) >= MAX_PROBLEMS:
            break
    if problems:
        raise unstorable(problems)
    return tuple(rows)


def _row_number(fields: Fields, taken: Collection[int]) -> tuple[int, str | None]:
    """Return the `rowIndex` of an update and None. If invalid, return 0 and the problem.

    `taken` are the row numbers before it in the list. A row number in `taken` is a problem.
    """
    value = fields.get(ROW_INDEX)
    if value is None:
        return 0, f"{ROW_INDEX} is missing. It is the number of the row to update."
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        return 0, f"{ROW_INDEX} must be an integer, as the gateway returned it."
    return (0, "The list contains this row twice. Remove one.") if value in taken else (value, None)


def _stored(fields: Fields) -> Fields:
    if NEVER_STORED.isdisjoint(fields):
        return fields
    stored = {name: value for name, value in fields.items() if name not in NEVER_STORED}
    return FormFields(stored) if isinstance(fields, FormFields) else stored


async def _read(request: Request) -> tuple[bytes, str]:
    """Return the body, and its media type in lower case without parameters.

    Raises UnsupportedMediaType for a compressed body, which can expand to any size, BodyTooLarge,
    and RequestTimeout if the body does not arrive.
    """
    head, settings = request.head, request.state["server"]
    if (head.first(b"content-encoding") or "").strip().lower() not in ("", "identity"):
        raise UnsupportedMediaType(
            "Compressed bodies are not supported. Send the body without Content-Encoding."
        )
    max_bytes = settings.max_body_bytes
    announced = head.first(b"content-length")
    if announced is not None and (not announced.isdecimal() or int(announced[:20]) > max_bytes):
        raise _too_large(max_bytes)
    chunks: list[bytes] = []
    length, more_body = 0, True
    try:
        async with asyncio.timeout(settings.body_timeout_seconds):
            while more_body:
                message = await request.receive()
                if message["type"] == "http.disconnect":
                    raise ClientDisconnect
                chunk: bytes = message.get("body", b"")
                more_body = message.get("more_body", False)
                length += len(chunk)
                if length > max_bytes:
                    raise _too_large(max_bytes)
                chunks.append(chunk)
    except TimeoutError as error:
        raise RequestTimeout("The body did not arrive in time. Send the request again.") from error
    return b"".join(chunks).removeprefix(BOM_UTF8), media_type_of(head)


def _decode_text(body: bytes) -> str:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        is_utf16 = body.startswith((BOM_UTF16_LE, BOM_UTF16_BE))
        found = "it is UTF-16" if is_utf16 else "this byte is of another encoding, such as Latin-1"
        raise invalid_body(
            f"The body is not UTF-8 at byte offset {error.start}: {found}. Encode it as UTF-8."
        ) from error


def parse_form(body: bytes) -> Iterator[tuple[str, str]]:
    """Yield names and values of a form (WHATWG URL, 5.1).

    Raises InvalidBody if the form has too many fields or is not percent-encoded UTF-8.
    """
    text = _decode_text(body)
    if MULTIPART.match(text):
        raise invalid_body(_UNREAD["multipart/form-data"])
    if text.count("&") >= MAX_FIELDS:
        raise invalid_body(f"The form exceeds the limit of {MAX_FIELDS} fields. Send fewer.")
    for field in filter(None, text.split("&")):
        name, _, value = field.replace("+", " ").partition("=")
        yield _unescaped(name), _unescaped(value)


def _unescaped(text: str) -> str:
    try:
        return _ESCAPED.sub(lambda run: bytes.fromhex(run[0].replace("%", "")).decode(), text)
    except UnicodeDecodeError as error:
        raise invalid_body("The form is not percent-encoded UTF-8. Encode it as UTF-8.") from error


def _too_large(max_bytes: int) -> BodyTooLarge:
    return BodyTooLarge(
        f"The body exceeds the limit of {max_bytes} bytes. Send fewer rows or shorter texts."
    )
