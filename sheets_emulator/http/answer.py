"""HTTP answers: Google's JSON format, gzip, and truncated bodies."""

import gzip
from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from sheets_emulator.http.connection import close_connection
from sheets_emulator.refusal import Refusal

JSON_TYPE = "application/json; charset=UTF-8"
HTML_TYPE = "text/html; charset=UTF-8"
SMALLEST_ZIPPED = 1024  # bytes
FAST = 1  # compression level; speed matters more than size


@dataclass(frozen=True, kw_only=True)
class Answer:
    """HTTP answer. `headers` are additional headers."""

    status: int = 200
    body: bytes
    content_type: str = JSON_TYPE
    headers: Mapping[str, str] = field(default_factory=dict)


def json_answer(content: object, *, status: int = 200, is_pretty: bool = True) -> Answer:
    """Encode a JSON answer, indented by two blanks if `is_pretty` is True."""
    body = msgspec.json.encode(content)
    if is_pretty:
        body = msgspec.json.format(body, indent=2) + b"\n"
    return Answer(status=status, body=body)


def refusal_answer(refusal: Refusal, *, is_pretty: bool = True) -> Answer:
    answer = json_answer(refusal.body(), status=refusal.code, is_pretty=is_pretty)
    return Answer(status=refusal.code, body=answer.body, headers=refusal.headers)


def text_answer(text: str, *, status: int) -> Answer:
    """Return an answer with a text: JSON if the text is an object or a list, otherwise HTML."""
    body = text.encode()
    return Answer(status=status, body=body, content_type=JSON_TYPE if _is_json(body) else HTML_TYPE)


async def send_answer(
    answer: Answer, scope: Scope, receive: Receive, send: Send, *, truncate: int | None = None
) -> None:
    """Send an answer.

    With `truncate`, send at most so many bytes, and then close the connection.
    """
    body, headers = _encoded(answer, scope)
    await send(
        {
            "type": "http.response.start",
            "status": answer.status,
            "headers": [
                (name.lower().encode("latin-1"), value.encode("latin-1"))
                for name, value in headers.items()
            ],
        }
    )
    if truncate is None:
        await send({"type": "http.response.body", "body": body})
        return
    cut = body[: min(truncate, len(body) - 1)]
    await send({"type": "http.response.body", "body": cut, "more_body": True})
    await close_connection(receive)


def _is_json(body: bytes) -> bool:
    try:
        return isinstance(msgspec.json.decode(body), (dict, list))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


def _encoded(answer: Answer, scope: Scope) -> tuple[bytes, dict[str, str]]:
    headers = {"Content-Type": answer.content_type, "Vary": "Accept-Encoding", **answer.headers}
    body = answer.body
    if len(body) > SMALLEST_ZIPPED and "gzip" in Headers(scope=scope).get("accept-encoding", ""):
        body = gzip.compress(body, compresslevel=FAST)
        headers["Content-Encoding"] = "gzip"
    headers["Content-Length"] = str(len(body))
    return body, headers
