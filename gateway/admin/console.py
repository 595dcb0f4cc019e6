"""Admin console and admin API: one ASGI application with its own listener.

`OPERATIONS` is the table of routes: method, path and handler. For a route of the API, the table
also has the query parameters and the type of the body, which this module checks before it calls the
handler. A page and the route of the API with the same data share one function.

Rules
- Requests for unknown host names get 421, which prevents DNS rebinding.
- A write needs `Sec-Fetch-Site: same-origin` or `none`. Without this header, a browser needs the
  console's `Origin`, and a program needs `Authorization`. So forms need no CSRF token.
- Every path needs an admin key or a session, except the sign-in page, the style sheet and the
  script.
- Below `/admin/v1` every answer is JSON, with the errors of the API. Unknown query parameters and
  unknown members of a body are errors.
- Pages work without the script, except for copying and for opening a sign-in link.
- Pages load nothing from other sites, and have no inline script or style. Answers are not cached or
  compressed, because pages contain secrets next to texts that other people entered (BREACH).
"""

import json
import re
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from msgspec.structs import replace as replaced

from gateway import errors
from gateway.access.address_rates import AddressRates
from gateway.access.admins import FAILURES_PER_MINUTE, SESSION, Admins
from gateway.access.pepper import load_pepper
from gateway.admin import key_pages, keys
from gateway.admin.data import data_page, row_page, save_row
from gateway.admin.pages import AdminRequest, Json, Page, Redirect, message_of, url
from gateway.admin.requests import requests, requests_page
from gateway.admin.status import Checks, RunCheck, check_page, overview_page, status
from gateway.admin.usage import usage, usage_page
from gateway.settings.address import host_in, is_ip_address
from gateway.settings.model import AdminSettings, ApiSettings, Settings
from gateway.storage.admin_secrets import AdminSecret
from gateway.storage.database import STORE_ERRORS, is_locked
from gateway.table.quoting import printable, quoted
from gateway.telemetry.events import KEPT_REQUESTS, tallies, upstream_failed
from gateway.web.answers import Answer, header_lines, json_answer
from gateway.web.body import read_body
from gateway.web.client_address import client_address
from gateway.web.error_responses import error_answer
from gateway.web.frame import Frame
from gateway.web.head import read_condition
from gateway.web.method_override import other_method
from gateway.web.pages import ASSETS, make_asset
from gateway.web.parsing import invalid_body
from gateway.web.request import Request

COOKIE = "sheets_gateway_admin"
API = "/admin/v1"
_FOLDER = Path(__file__).parent
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_ISOLATED = {
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_SAFE = {"Cache-Control": "no-store", **_ISOLATED}
_FILES = {
    f"/{name}": make_asset((_FOLDER / "static" / name).read_bytes(), Path(name).suffix, _SAFE)
    for name in ("console.css", "console.js")
}
_FILES["/icon.svg"] = ASSETS["icon.svg"]
_SIGN_IN = "/sign-in"
_UNKNOWN_HOST = b"Unknown host name. Use an IP address in the URL, or set admin.public_url.\n"
_OTHER_SITE = (
    "This request did not come from a page of the console, so nothing was changed. Open the "
    "console in a browser, or send an admin key as 'Authorization: Bearer KEY'."
)
_NO_KEY = "This request needs an admin key. Sign in, or send it as 'Authorization: Bearer KEY'."
_NO_STORE = "The key store does not answer. Try again; the gateway's log has the reason."
_MOST_FIELDS = 60_000
"""Maximum number of fields in a form: three for each column. Google allows 18,278 columns."""
_MOST_UNSENT = 1_000
"""Maximum number of fields in a form without a session, because any client can send one."""
_LONGEST_DETAIL = 300
_templates = Environment(
    loader=FileSystemLoader(_FOLDER / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)

_templates.globals["url"] = url

Handler = Callable[[AdminRequest], Awaitable[Page | Redirect | Json | dict[str, Any]]]
"""Handler of a route. A dict is the JSON body of an answer with status 200."""


class NoBody(msgspec.Struct, forbid_unknown_fields=True):
    """Request body without members: an empty body or `{}`."""


@dataclass(frozen=True)
class Operation:
    """Route: method, path and handler. `{id}` in the path matches any segment."""

    method: str
    path: str
    handle: Handler
    parameters: Sequence[str] = ()
    """Allowed query parameters of a route of the API. Pages ignore unknown query parameters."""
    body: type[msgspec.Struct] = NoBody
    """Struct with the allowed members of the JSON body of a route of the API."""


OPERATIONS: Sequence[Operation] = (
    Operation("GET", "/", overview_page),
    Operation("POST", "/check", check_page),
    Operation("GET", "/data", data_page),
    Operation("GET", "/data/row", row_page),
    Operation("POST", "/data/row", save_row),
    Operation("GET", "/keys", key_pages.keys_page),
    Operation("GET", "/keys/new", key_pages.new_key_page),
    Operation("POST", "/keys/new", key_pages.save_new_key),
    Operation("GET", "/keys/{id}", key_pages.key_page),
    Operation("POST", "/keys/{id}", key_pages.save_key),
    Operation("GET", "/usage", usage_page),
    Operation("GET", "/requests", requests_page),
    Operation("GET", f"{API}/keys", keys.list_keys, ("find", "skip", "limit")),
    Operation("POST", f"{API}/keys", keys.post_key, body=keys.KeyBody),
    Operation("GET", f"{API}/keys/{{id}}", keys.get_key),
    Operation("PATCH", f"{API}/keys/{{id}}", keys.patch_key, body=keys.KeyBody),
    Operation("DELETE", f"{API}/keys/{{id}}", keys.delete_key),
    Operation("POST", f"{API}/keys/{{id}}/rotate", keys.post_rotation, body=keys.Rotation),
    Operation("DELETE", f"{API}/keys/{{id}}/rotate", keys.delete_rotation),
    Operation("GET", f"{API}/usage", usage, ("by", "since", "key")),
    Operation("GET", f"{API}/requests", requests, ("key", "code", "since", "until", "skip")),
    Operation("GET", f"{API}/status", status, ("check",)),
)
"""Routes of the console and the admin API. The first path that matches is used."""
_PATHS = {each.path: re.compile(each.path.replace("{id}", "([^/]+)")) for each in OPERATIONS}


def create_console(settings: Settings, *, api_url: str, check: RunCheck) -> Frame:
    """Create the console of the gateway whose API has the URL `api_url`.

    `check` runs the command `check` for the console. From now on, this process keeps the events of
    the latest `KEPT_REQUESTS` requests in memory.
    """
    tallies.recent = deque(tallies.recent, KEPT_REQUESTS)
    pepper = load_pepper(settings.access)
    asked = partial(
        AdminRequest,
        settings=settings,
        pepper=pepper,
        api_url=api_url,
        checks=Checks(check),
        started=datetime.now(UTC),
    )
    return Frame(_Console(settings, pepper, asked).respond, settings.server, is_private=True)


@dataclass
class _Console:
    settings: Settings
    pepper: bytes = field(repr=False)
    asked: Callable[..., AdminRequest] = field(repr=False)
    """Constructor of `AdminRequest` with its constant members, such as the pepper."""
    failures: AddressRates = field(
        default_factory=partial(AddressRates, FAILURES_PER_MINUTE), init=False
    )

    async def respond(self, request: Request) -> Answer:
        """Answer a request. Errors are HTML pages, or JSON below `/admin/v1`."""
        event = request.event
        event.admin = ""
        if not _is_own_host(request, self.settings.admin):
            return _answer(421, _UNKNOWN_HOST, {"Content-Type": "text/plain; charset=utf-8"})
        method = "GET" if event.method == "HEAD" else event.method
        file = _FILES.get(event.path)
        if file is not None and method == "GET":
            return Answer(200, file.headers, file.content)
        admin: AdminSecret | None = None
        try:
            if method != "GET" and not _is_own_page(request, self.settings.admin):
                raise errors.OriginNotAllowed(_OTHER_SITE)
            try:
                found = await self._authenticate(request, method)
                if isinstance(found, Answer):
                    return found
                admin = found
                return await self._run(request, method, admin)
            except STORE_ERRORS as error:
                # A lock fails before the change; a lost connection can fail after it.
                outcome: errors.Outcome = "not_applied" if is_locked(error) else "unknown"
                raise errors.KeysUnavailable(_NO_STORE, outcome=outcome) from error
        except errors.GatewayError as error:
            if f"{event.path}/".startswith(f"{API}/"):
                # A null in a key is not an empty cell: the setting `api.empty_cell` must not apply.
                request.state = {**request.state, "api": ApiSettings()}
                answer = error_answer(request, error)
                return replaced(answer, headers=[*answer.headers, *header_lines(_ISOLATED)])
            return self._error_page(request, error, admin)

    async def _authenticate(self, request: Request, method: str) -> AdminSecret | Answer:
        """Return the request's admin key or session, or the answer to a sign-in or a sign-out.

        Raises Unauthorized, TooManyAuthFailures and InvalidBody.
        """
        secrets, now = request.state["store"].admin_secrets, partial(datetime.now, UTC)
        admins = Admins(secrets, self.pepper, now, self.failures)
        where_from = partial(client_address, request.scope, self.settings.access.trusted_proxies)
        path = request.event.path
        if (method, path) == ("POST", _SIGN_IN):
            typed = dict(await read_body(request, "", partial(_form, most=_MOST_UNSENT)))
            session = await admins.sign_in(typed.get("secret", "").strip(), where_from)
            lines = self._cookie(request, session, SESSION.total_seconds())
            return _redirect(_own_path(typed.get("next", "")), lines)
        if (method, path) == ("GET", _SIGN_IN):
            return self._sign_in_page(request, 200, "")
        key, session = _credentials(request, self._cookie_name(request))
        admin = await (admins.session(session) if key is None else admins.identify(key, where_from))
        if admin is None:
            again: Sequence[tuple[str, str]] = ()
            if method == "POST" and not path.startswith(API):
                with suppress(errors.InvalidBody):  # a form with too many fields is dropped
                    again = await read_body(request, "", partial(_form, most=_MOST_UNSENT))
            if not again:
                raise errors.MissingApiKey(_NO_KEY)
            request.event.code = errors.MissingApiKey.code
            return self._sign_in_page(request, 401, "", again=again)
        request.event.admin = admin.key_id
        if (method, path) == ("POST", "/sign-out"):
            if session:
                await admins.secrets.remove(admin.digest)
            return _redirect(_SIGN_IN, self._cookie(request, "", 0))
        return admin

    async def _run(self, request: Request, method: str, admin: AdminSecret) -> Answer:
        """Call the handler of a request, and render its result. Raises GatewayError."""
        path = request.event.path
        operation, key_id = _operation_at(method, path)
        query = parse_qsl(request.scope["query_string"].decode("latin-1"), True)
        form: Sequence[tuple[str, str]] = ()
        members: Mapping[str, Any] = {}
        if operation.path.startswith(API):
            _check_head(request, query, operation)
            members = await read_body(request, admin.key_id, partial(_members, operation.body))
        elif method == "POST":
            form = await read_body(request, admin.key_id, _form)
        asked = self.asked(
            request=request, admin=admin, id=key_id, query=query, form=form, members=members
        )
        result = await operation.handle(asked)
        if isinstance(result, Redirect):
            return _redirect(result.location)
        if isinstance(result, dict):
            result = Json(content=result)
        if isinstance(result, Json):
            lines = {**_SAFE, **result.headers}
            return json_answer(result.content, status=result.status, headers=lines)
        return self._render(
            result.template, result.status, {"admin": admin.name, "nav": path, **result.values}
        )

    def _cookie_name(self, request: Request) -> str:
        """Return the name of the session's cookie.

        Without `public_url` it contains the port, because all ports of a host share cookies.
        """
        if self.settings.admin.public_url:
            return f"__Host-{COOKIE}"
        _, port = request.scope["server"] or ("", 0)
        return f"{COOKIE}_{port}"

    def _cookie(self, request: Request, session: str, seconds: float) -> dict[str, str]:
        secure = "; Secure" if self.settings.admin.public_url else ""
        limits = f"Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds:.0f}{secure}"
        return {"Set-Cookie": f"{self._cookie_name(request)}={session}; {limits}"}

    def _sign_in_page(
        self,
        request: Request,
        status: int,
        problem: str,
        lines: Mapping[str, str] = _SAFE,
        *,
        again: Sequence[tuple[str, str]] = (),
    ) -> Answer:
        """Render the sign-in form with the text `problem`, and with the header `lines`.

        If `again` has the fields of an earlier form, the page is a form that sends them once more.
        """
        path, query = request.event.path, request.scope["query_string"].decode("latin-1")
        is_page = request.event.method in ("GET", "HEAD") and path != _SIGN_IN
        target = f"{path}?{query}" if query else path
        values = {"problem": problem, "next": target if is_page else "", "again": again}
        values["target"] = _own_path(target)
        bearer = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
        return self._render("sign_in.html", status, values, {**lines, **bearer})

    def _error_page(
        self, request: Request, error: errors.GatewayError, admin: AdminSecret | None
    ) -> Answer:
        """Render an error page, or the sign-in form if the request has no valid credentials."""
        event = request.event
        event.code = error.code
        if error.__cause__ is not None and error.status >= 500:
            upstream_failed(error)
        lines = {**_SAFE}
        if isinstance(error, errors.Unauthorized | errors.TooManyAuthFailures):
            if error.retry_after_seconds is not None:
                lines["Retry-After"] = str(error.retry_after_seconds)
            is_first = isinstance(error, errors.MissingApiKey) and event.path != _SIGN_IN
            problem = "" if is_first else error.message
            return self._sign_in_page(request, error.status, problem, lines)
        if error.allowed_methods:
            lines["Allow"] = ", ".join(error.allowed_methods)
        # The path of a key exists, even if the key does not.
        name = "NotFound" if isinstance(error, errors.RouteNotFound) else error.name
        values = {
            "title": re.sub("(?<=[a-z])(?=[A-Z])", " ", name).capitalize(),
            "status": error.status,
            "message": message_of(error),
            "nav": event.path,
            "admin": admin.name if admin else None,
        }
        return self._render("error.html", error.status, values, lines)

    def _render(
        self,
        template: str,
        status: int,
        values: Mapping[str, object],
        lines: Mapping[str, str] = _SAFE,
    ) -> Answer:
        shown = {"admin": None, "nav": "", **values}
        text = _templates.get_template(template).render(shown)
        headers = {**lines, "Content-Type": "text/html; charset=utf-8"}
        # The text of a cell or of a client can contain a lone surrogate.
        return _answer(status, text.encode("utf-8", "replace"), headers)


def _answer(status: int, body: bytes, headers: Mapping[str, str]) -> Answer:
    lines = {**_SAFE, **headers, "Content-Length": str(len(body))}
    return Answer(status, header_lines(lines), body)


def _redirect(location: str, lines: Mapping[str, str] = _SAFE) -> Answer:
    return _answer(HTTPStatus.SEE_OTHER, b"", {**lines, "Location": location})


def _form(body: bytes, _content_type: str, *, most: int = _MOST_FIELDS) -> list[tuple[str, str]]:
    """Parse an urlencoded form into names and values, with LF for CR LF. Raises InvalidBody."""
    try:
        pairs = parse_qsl(body.decode(), True, errors="strict", max_num_fields=most)
    except ValueError as error:
        raise errors.InvalidBody(f"The form must be UTF-8, with at most {most} fields.") from error
    return [(name.replace("\r\n", "\n"), value.replace("\r\n", "\n")) for name, value in pairs]


def _operation_at(method: str, path: str) -> tuple[Operation, str]:
    """Return route and `{id}` or "" of a path. Raises RouteNotFound or MethodNotAllowed."""
    for pattern, form in _PATHS.items():
        found = form.fullmatch(path)
        if found is None:
            continue
        here = {each.method: each for each in OPERATIONS if each.path == pattern}
        if method in here:
            return here[method], found[1] if found.groups() else ""
        allowed = sorted({*here, *(["HEAD"] if "GET" in here else [])})
        text = f"{method} is not supported at this path; allowed: {', '.join(allowed)}."
        raise errors.MethodNotAllowed(text, allowed_methods=allowed)
    raise errors.RouteNotFound(
        f"This path does not exist. The console starts at /, the admin API at {API}/keys."
    )


def _check_head(request: Request, query: Sequence[tuple[str, str]], operation: Operation) -> None:
    """Raise an error for query parameters and headers that a route of the API does not support."""
    names = [name for name, _ in query]
    for name in names:
        if name not in operation.parameters:
            known = ", ".join(operation.parameters) or "none"
            raise errors.InvalidQuery(f"Unknown parameter {quoted(name)}; allowed: {known}.")
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise errors.InvalidQuery(f"The parameter {twice} appears twice. Send it once.")
    if operation.method in ("POST", "DELETE") and read_condition(request.head) is not None:
        raise errors.InvalidRequest("Only PATCH supports If-Match here. Remove the header.")
    if difference := other_method(request, b"", "other"):
        raise errors.InvalidRequest(difference)
    if b"idempotency-key" in request.head.lines:
        raise errors.InvalidRequest("The admin API has no Idempotency-Key. Remove the header.")


def _members(form: type[msgspec.Struct], body: bytes, _content_type: str) -> Mapping[str, Any]:
    """Decode a JSON body, and check it against a struct type. Raises InvalidBody."""

    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        if len(members := dict(pairs)) < len(pairs):
            raise ValueError("a member appears twice")
        return members

    try:
        members: Mapping[str, Any] = json.loads(body.decode() or "{}", object_pairs_hook=once)
        msgspec.convert(members, form)
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        detail = printable(str(error)[:_LONGEST_DETAIL])
        raise invalid_body(f"The body is invalid: {detail}.") from error
    return members


def _is_own_host(request: Request, settings: AdminSettings) -> bool:
    host = host_in(request.head.first(b"host") or "")
    if settings.public_url:
        return host == host_in(urlsplit(settings.public_url).netloc)
    listen = settings.listen.host.lower() if settings.listen else ""
    return bool(host) and (host in ("localhost", listen) or is_ip_address(host))


def _is_own_page(request: Request, settings: AdminSettings) -> bool:
    """True if a request comes from a page of the console, or has an Authorization header.

    Pages at other ports of the host do not count: they are the same site, but another origin.
    """
    head = request.head
    site, origin = head.first(b"sec-fetch-site"), head.first(b"origin")
    if b"authorization" in head.lines:
        return True
    if site is not None:
        return site in ("same-origin", "none")
    return origin == (settings.public_url or f"http://{head.first(b'host') or ''}")


def _credentials(request: Request, cookie: str) -> tuple[str | None, str]:
    """Return the admin key in `Authorization` or None, and the session in the cookie or ""."""
    lines = {*request.head.values(b"authorization")}
    if len(lines) > 1:
        raise errors.AmbiguousCredentials("The request has two different admin keys. Send one.")
    for given in lines:
        scheme, _, key = given.strip().partition(" ")
        if scheme.lower() != "bearer" or not key.strip():
            raise errors.MissingApiKey(_NO_KEY)
        return key.strip(), ""
    for line in request.head.values(b"cookie"):
        for part in line.split(";"):
            name, _, value = part.strip().partition("=")
            if name == cookie:
                return None, value
    return None, ""


def _own_path(text: str) -> str:
    """Return the text if it is a path of the console, else `/`."""
    is_own = text.startswith("/") and not text.startswith("//") and "\\" not in text
    return text if is_own and text.isascii() and text.isprintable() else "/"
