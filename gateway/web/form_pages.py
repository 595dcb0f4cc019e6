"""HTML answers to visitors who sent a form of a static page: thanks, and errors.

Rules
- A form gets HTML if a browser sent it, and its key is not in a header. Other requests get JSON.
  Both answers have the same status and text.
- A page has no script, no external file, and one inline style, whose hash is in the
  Content-Security-Policy. All texts are escaped.
- The page has a link back to the URL in `Referer`, if this URL has the origin in `Origin`.
"""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from html import escape
from pathlib import Path
from string import Template
from typing import Final
from urllib.parse import unquote

from gateway.access.caller import normal_origin, web_url
from gateway.errors import GatewayError, Outcome, write_outcome
from gateway.table.record import WHOLE_BODY
from gateway.web.admission import KEY_HEADERS
from gateway.web.answers import Answer, header_lines
from gateway.web.head import media_type_of, prefers_page
from gateway.web.media_types import FORM, HTML_TEXT, MULTIPART
from gateway.web.request import Request

_STATIC = Path(__file__).parent / "static"
_STYLE = (_STATIC / "form.css").read_text("utf-8")
_PAGE = Template((_STATIC / "form.html").read_text("utf-8"))
_HASH = b64encode(sha256(_STYLE.encode()).digest()).decode()
POLICY: Final = (
    f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)

FORM_TYPES = (FORM, MULTIPART)
_SENT_BY_BROWSERS = (*FORM_TYPES, "text/plain")
"""The media types in which browsers send HTML forms."""
_TITLES: Mapping[Outcome, str] = {
    "not_applied": "Your form was not stored",
    "unknown": "It is not known whether your form was stored",
    "applied": "Your form was stored, with a problem",
}
_ADVICE: Mapping[Outcome, str] = {
    "not_applied": "The Back button of your browser returns to the form; most browsers keep what "
    "you typed.",
    "unknown": "Ask the owner of the page before you send it again.",
}


def is_browser_form(request: Request) -> bool:
    """True if a browser sends an HTML form to a worksheet, and displays the answer as a page."""
    lines = request.head.lines
    return (
        request.event.method == "POST"
        and bool(request.title and not request.row)
        and b"accept" in lines
        and KEY_HEADERS.keys().isdisjoint(lines)
        and media_type_of(request.head) in _SENT_BY_BROWSERS
        and prefers_page(lines[b"accept"])
    )


def thanks_page(request: Request, headers: Mapping[str, str], rows: int) -> Answer:
    """Return the HTML page for a stored form, with these headers.

    `rows` is the number of written rows for the log: 1, or 0 if the form was discarded.
    """
    text = "<p>Your form was received. You can close this page.</p>"
    return _answer(201, "Thank you", [text, _link_back(request)], headers, rows)


def error_page(request: Request, error: GatewayError, headers: Mapping[str, str]) -> Answer:
    """Return an HTML page for an error, with the status and the headers of its answer."""
    outcome = write_outcome(error)
    parts = [f'<p role="alert">{escape(error.message)}</p>']
    problems = [each for each in error.problems if each.pointer != WHOLE_BODY]
    if problems:
        parts.append("<ul>")
        for each in problems:
            name = unquote(each.pointer.removeprefix("#/")).replace("~1", "/").replace("~0", "~")
            parts.append(f"<li>{escape(f'{name}: {each.detail}')}</li>")
        parts.append("</ul>")
    if error.retry_after_seconds is not None and outcome == "not_applied":
        parts.append(f"<p>Send it again in {error.retry_after_seconds} seconds.</p>")
    parts += [f"<p>{_ADVICE[outcome]}</p>" if outcome in _ADVICE else "", _link_back(request)]
    parts.append(f"<p><small>Request {escape(request.event.id)}</small></p>")
    return _answer(error.status, _TITLES[outcome], parts, headers)


def _answer(
    status: int, title: str, parts: Sequence[str], headers: Mapping[str, str], rows: int = 0
) -> Answer:
    content = "\n    ".join(filter(None, parts))
    page = _PAGE.substitute(title=escape(title), style=_STYLE, content=content)
    body = page.encode("utf-8", "replace")  # a client's text can contain a lone surrogate
    lines = {
        "Cache-Control": "no-store",
        "Vary": "Accept",
        **headers,
        "Content-Security-Policy": POLICY,
        "Content-Type": HTML_TEXT,
        "Content-Length": str(len(body)),
    }
    return Answer(status, header_lines(lines), body, rows=rows)


def _link_back(request: Request) -> str:
    """Return an HTML link to the page with the form, or "" if that page is unknown."""
    found = web_url(request.head.first(b"referer") or "")
    origin = normal_origin(request.head.first(b"origin") or "")
    if found is None or found[0] != origin:
        return ""
    return f'<p><a href="{escape(found[1])}">Back to the page</a></p>'
