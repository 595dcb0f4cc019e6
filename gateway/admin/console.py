"""The console of administrators, an application of its own on its own listener.

Rules
- Only the names of this listener are answered, so that no page reaches it by DNS rebinding.
- An unsafe method needs `Sec-Fetch-Site: same-origin` or `none`; of a browser that sends none, an
  `Origin` that is the console's; of a program, `Authorization`. So no form has a token.
- Every page but the sign-in, the style sheet and the script needs an admin key or a session.
- Pages work without the script, except for copying and for opening a sign-in link.
- Nothing is loaded from elsewhere, nothing is inline, and no answer is cached or compressed: pages
  have secrets beside texts of others.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from gateway.access.admins import SESSION, Admins
from gateway.access.keys import NO_KEY
from gateway.access.pepper import load_pepper
from gateway.admin.acting import ActingAs
from gateway.admin.data import data_page, row_page, save_row
from gateway.admin.keys import keys_page
from gateway.admin.pages import Page, PageRequest, Redirect
from gateway.errors import (
    GatewayError,
    InvalidBody,
    RouteNotFound,
    TooManyAuthFailures,
    Unauthorized,
)
from gateway.settings.address import host_in, is_ip_address
from gateway.settings.model import AdminSettings, Settings
from gateway.telemetry.events import upstream_failed
from gateway.web.answers import Answer, header_lines
from gateway.web.body import read_body
from gateway.web.client_address import client_address
from gateway.web.frame import Frame
from gateway.web.pages import ASSETS, make_asset
from gateway.web.request import Request

COOKIE = "sheets_gateway_admin"
_FOLDER = Path(__file__).parent
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_SAFE = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_FILES = {
    f"/{name}": make_asset((_FOLDER / "static" / name).read_bytes(), Path(name).suffix, _SAFE)
    for name in ("console.css", "console.js")
}
_FILES["/icon.svg"] = ASSETS["icon.svg"]
_UNKNOWN_HOST = b"Unknown host name. Ask under an IP address, or set admin.public_url.\n"
_OTHER_SITE = (
    "This request did not come from a page of the console, so nothing was done. Open the console "
    "itself; a program sends its admin key as 'Authorization: Bearer KEY'."
)
_MOST_FIELDS = 60_000
"""Of a form: three for each column, of which Google allows 18,278."""
_templates = Environment(
    loader=FileSystemLoader(_FOLDER / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)

Handler = Callable[[PageRequest], Awaitable[Page | Redirect]]


async def _home(_request: PageRequest) -> Redirect:
    return Redirect("/data")


_PAGES: Mapping[tuple[str, str], Handler] = {
    ("GET", "/"): _home,
    ("GET", "/data"): data_page,
    ("GET", "/data/row"): row_page,
    ("POST", "/data/row"): save_row,
    ("GET", "/keys"): keys_page,
}


def create_console(settings: Settings, *, api_url: str) -> Frame:
    """The console of a gateway whose API is at `api_url`; it uses that application's state."""
    console = _Console(settings, load_pepper(settings.access), api_url)
    return Frame(console.respond, settings.server, is_private=True)


@dataclass
class _Console:
    settings: Settings
    pepper: bytes = field(repr=False)
    api_url: str
    _admins: Admins | None = field(default=None, init=False)

    async def respond(self, request: Request) -> Answer:
        """The answer to any request; errors are pages."""
        event = request.event
        event.admin = ""
        if not _is_own_host(request, self.settings.admin):
            return _answer(421, _UNKNOWN_HOST, {"Content-Type": "text/plain; charset=utf-8"})
        method = "GET" if event.method == "HEAD" else event.method
        file = _FILES.get(event.path)
        if file is not None and method == "GET":
            return Answer(200, file.headers, file.content)
        if method != "GET" and not _is_own_page(request, self.settings.admin):
            return self._error_page(403, "Refused", _OTHER_SITE)
        try:
            return await self._page(request, method)
        except Unauthorized as error:
            event.code = error.code
            return self._sign_in_page(request, 401, error.message)
        except TooManyAuthFailures as error:
            event.code = error.code
            wait = {"Retry-After": str(error.retry_after_seconds)}
            return self._sign_in_page(request, 429, error.message, wait)
        except GatewayError as error:
            event.code = error.code
            if error.__cause__ is not None and error.status >= 500:
                upstream_failed(error)
            return self._error_page(error.status, error.name, error.message)

    async def _page(self, request: Request, method: str) -> Answer:
        admins = self._admins_of(request)
        where_from = partial(client_address, request.scope, self.settings.access.trusted_proxies)
        path = request.event.path
        if (method, path) == ("POST", "/sign-in"):
            form = dict(await read_body(request, "", _form))
            session = await admins.sign_in(form.get("secret", "").strip(), where_from)
            lines = self._cookie(session, SESSION.total_seconds())
            return _redirect(_own_path(form.get("next", "")), lines)
        if (method, path) == ("GET", "/sign-in"):
            return self._sign_in_page(request, 200, "")
        key, session = _credentials(request)
        if key is not None:
            admin = await admins.identify(key, where_from)
        else:
            found = await admins.session(session) if session else None
            if found is None:
                return self._sign_in_page(request, 401, "")
            admin = found
        request.event.admin = admin.key_id
        if (method, path) == ("POST", "/sign-out"):
            if session:
                await admins.secrets.remove(admin.digest)
            return _redirect("/sign-in", self._cookie("", 0))
        handle = _PAGES.get((method, path))
        if handle is None:
            raise RouteNotFound("There is no such page in the console.")
        asked = PageRequest(
            request=request,
            query=parse_qsl(request.scope["query_string"].decode("latin-1"), True),
            form=await read_body(request, admin.key_id, _form) if method == "POST" else (),
            acting=ActingAs(request, self.settings.plans, self.pepper),
            api_url=self.api_url,
        )
        result = await handle(asked)
        if isinstance(result, Redirect):
            return _redirect(result.location)
        return self._render(
            result.template, result.status, {"admin": admin.name, "nav": path, **result.values}
        )

    def _admins_of(self, request: Request) -> Admins:
        """The admin keys of the store, which is open only while the application runs."""
        if self._admins is None:
            secrets = request.state["store"].admin_secrets
            self._admins = Admins(secrets, self.pepper, partial(datetime.now, UTC))
        return self._admins

    def _cookie(self, session: str, seconds: float) -> dict[str, str]:
        secure = "; Secure" if self.settings.admin.public_url else ""
        limits = f"Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds:.0f}{secure}"
        return {"Set-Cookie": f"{COOKIE}={session}; {limits}"}

    def _sign_in_page(
        self, request: Request, status: int, problem: str, lines: Mapping[str, str] = _SAFE
    ) -> Answer:
        path, query = request.event.path, request.scope["query_string"].decode("latin-1")
        is_page = request.event.method in ("GET", "HEAD") and path != "/sign-in"
        target = f"{path}?{query}" if query else path
        values = {"problem": problem, "next": target if is_page else ""}
        bearer = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
        return self._render("sign_in.html", status, values, {**lines, **bearer})

    def _error_page(self, status: int, name: str, message: str) -> Answer:
        values = {"status": status, "name": name, "message": message}
        return self._render("error.html", status, values)

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
        # A cell or a client's text may contain a lone surrogate.
        return _answer(status, text.encode("utf-8", "replace"), headers)


def _answer(status: int, body: bytes, headers: Mapping[str, str]) -> Answer:
    lines = {**_SAFE, **headers, "Content-Length": str(len(body))}
    return Answer(status, header_lines(lines), body)


def _redirect(location: str, lines: Mapping[str, str] = _SAFE) -> Answer:
    return _answer(HTTPStatus.SEE_OTHER, b"", {**lines, "Location": location})


def _form(body: bytes, _content_type: str) -> list[tuple[str, str]]:
    """The fields of an urlencoded form, in its order; a browser ends their lines with CR LF."""
    text = body.decode("utf-8", "replace")
    try:
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError as error:
        raise InvalidBody(f"A form has at most {_MOST_FIELDS} fields.") from error
    return [(name.replace("\r\n", "\n"), value.replace("\r\n", "\n")) for name, value in pairs]


def _is_own_host(request: Request, settings: AdminSettings) -> bool:
    host = host_in(request.head.first(b"host") or "")
    if settings.public_url:
        return host == host_in(urlsplit(settings.public_url).netloc)
    listen = settings.listen.host.lower() if settings.listen else ""
    return bool(host) and (host in ("localhost", listen) or is_ip_address(host))


def _is_own_page(request: Request, settings: AdminSettings) -> bool:
    """True if a request with an unsafe method comes from the console, or has its own credentials.

    `localhost` and other ports of the host are the same site, but not the same origin.
    """
    head = request.head
    site, origin = head.first(b"sec-fetch-site"), head.first(b"origin")
    if b"authorization" in head.lines:
        return True
    if site is not None:
        return site in ("same-origin", "none")
    return origin == (settings.public_url or f"http://{head.first(b'host') or ''}")


def _credentials(request: Request) -> tuple[str | None, str]:
    """The key of `Authorization`, None without the header, and the session of the cookie."""
    given = request.head.first(b"authorization")
    if given is not None:
        scheme, _, key = given.strip().partition(" ")
        if scheme.lower() != "bearer" or not key.strip():
            raise Unauthorized(NO_KEY)
        return key.strip(), ""
    for line in request.head.values(b"cookie"):
        for part in line.split(";"):
            name, _, value = part.strip().partition("=")
            if name == COOKIE:
                return None, value
    return None, ""


def _own_path(text: str) -> str:
    """A path of the console to go on with; `/` for anything else, such as `//other.host`."""
    is_own = text.startswith("/") and not text.startswith("//") and "\\" not in text
    return text if is_own and text.isascii() and text.isprintable() else "/"
