"""Bodies of creates and updates: bytes in, fields of checked values out.

Rules: what is not exactly right is refused whole, with a pointer to every place, before anything
is asked of Google. Credentials and `rowIndex` that clients leave in a body are dropped.
"""

import asyncio
import json
import math
import urllib.parse
from collections.abc import Iterable, Mapping

from starlette.requests import Request

from gateway.config import ServerSettings
from gateway.errors import BodyTooLarge, InvalidBody, Problem, RequestTimeout, UnsupportedMediaType
from gateway.rows.record import (
    MAX_CELL_CHARACTERS,
    MAX_PROBLEMS,
    NEVER_STORED,
    Stored,
    pointer,
)
from gateway.web.state import State

MAX_FIELDS = 1000
MAX_INTEGER = 2**53

_FORM = "application/x-www-form-urlencoded"


async def read_fields(request: Request[State]) -> Mapping[str, Stored]:
    """The fields of a JSON object or a form, checked; at least one."""
    check_encoding(request)
    body = await _read_body(request, request.state["server"])
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    fields = parse_fields(body, content_type)
    kept = {name: value for name, value in fields.items() if name not in NEVER_STORED}
    if not kept:
        raise _invalid("The body holds no field to write.")
    return kept


def check_encoding(request: Request[State]) -> None:
    """Compressed bodies are refused: they can unpack to any size."""
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("", "identity"):
        raise UnsupportedMediaType("Send the body as it is, without Content-Encoding.")


def parse_fields(body: bytes, content_type: str) -> Mapping[str, Stored]:
    """A JSON object, whatever its type says if it begins with `{`, else a form."""
    is_json = content_type == "application/json" or content_type.endswith("+json")
    if is_json or body.lstrip().startswith(b"{"):
        return _checked(_decode_json(_decode_text(body)))
    if content_type == _FORM:
        return _checked(_decode_form(_decode_text(body)))
    if content_type in ("", "text/plain"):
        raise _invalid("The body must be a JSON object.")
    raise UnsupportedMediaType("Send a JSON object with Content-Type: application/json, or a form.")


async def _read_body(request: Request[State], settings: ServerSettings) -> bytes:
    max_bytes = settings.max_body_bytes
    announced = request.headers.get("content-length", "0")
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
    return b"".join(chunks)


def _decode_text(body: bytes) -> str:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _invalid(f"The body is not UTF-8 at byte {error.start}.") from error


def _decode_json(text: str) -> Iterable[tuple[str, object]]:
    try:
        decoded = json.loads(text, object_pairs_hook=_Pairs, parse_int=_parse_integer)
    except json.JSONDecodeError as error:
        raise _invalid(
            f"The body is not JSON at line {error.lineno}, column {error.colno}: {error.msg}."
        ) from error
    except RecursionError as error:
        raise _invalid("The body is nested too deep.") from error
    if not isinstance(decoded, _Pairs):
        raise _invalid("The body must be a JSON object of fields and values.")
    return decoded


class _Pairs(list[tuple[str, object]]):
    """A JSON object as it was written, repeated members and all."""


def _decode_form(text: str) -> Iterable[tuple[str, object]]:
    try:
        return urllib.parse.parse_qsl(
            text, keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS
        )
    except ValueError as error:
        raise _invalid("The form is not percent-encoded UTF-8, or has too many fields.") from error


def _checked(pairs: Iterable[tuple[str, object]]) -> Mapping[str, Stored]:
    fields: dict[str, Stored] = {}
    problems: list[Problem] = []
    for name, value in pairs:
        fault = "The field is given twice." if name in fields else _fault(name, value)
        if fault is not None:
            problems.append(Problem(pointer(name), fault))
        fields[name] = value if isinstance(value, str | int | float | bool) else None
    if len(fields) > MAX_FIELDS:
        raise _invalid(f"The body has more than {MAX_FIELDS} fields.")
    if problems:
        raise InvalidBody(
            "The body holds values that cannot be stored; nothing was written. First: "
            f"{problems[0].pointer} - {problems[0].detail}",
            problems=problems[:MAX_PROBLEMS],
        )
    return fields


def _fault(name: str, value: object) -> str | None:
    """What keeps a value from being stored, if anything does."""
    if not _is_encodable(name):
        return "The name holds half of a surrogate pair."
    if isinstance(value, str):
        return _text_fault(value)
    if isinstance(value, list):
        return "A value is a string, a number, true, false or null; not an object or a list."
    if isinstance(value, int) and abs(value) > MAX_INTEGER:
        return "A whole number beyond 2^53 would lose digits; send it as a string."
    if isinstance(value, float) and not math.isfinite(value):
        return "The number is not finite."
    return None


def _text_fault(text: str) -> str | None:
    if len(text) > MAX_CELL_CHARACTERS:
        return f"A cell holds at most {MAX_CELL_CHARACTERS} characters."
    return None if _is_encodable(text) else "The text holds half of a surrogate pair."


def _is_encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _parse_integer(digits: str) -> int:
    """The integer, or one that is as surely too large: parsing thousands of digits is slow."""
    return int(digits[:18])


def _invalid(detail: str) -> InvalidBody:
    return InvalidBody(detail, problems=[Problem("#", detail)])


def _too_large(max_bytes: int) -> BodyTooLarge:
    return BodyTooLarge(f"The body is larger than {max_bytes} bytes.")
