"""Run the console in process, with the state of the API application."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from starlette.types import ASGIApp

from gateway.access.admins import Admins
from gateway.access.pepper import load_pepper
from gateway.admin.console import COOKIE, create_console
from gateway.google.calls import Send
from gateway.google.pipeline import Call
from gateway.settings.model import Settings, load_settings
from gateway.storage.key_store import Grants, KeyRequest
from gateway.table.header import ColumnGrant
from tests.asgi_client import Answer, Request, send
from tests.fakes import BOOK
from tests.surfaces.stage import KEYS, Surface, open_surface

SAME_ORIGIN = (("Sec-Fetch-Site", "same-origin"),)
NASTY = "<script>alert(1)</script><img src=//evil.example/x onerror=alert(2)>\"'`{{7*7}}</textarea>"
"""Text that runs as a script or loads a picture in a page without escaping."""
_REQUESTS: Mapping[str, KeyRequest] = {
    "deleting": KeyRequest(
        name="deleting", plan="all", grants=Grants(spreadsheets=frozenset({BOOK}), may_delete=True)
    ),
    **KEYS,
    "narrow": KeyRequest(
        name=NASTY,
        grants=Grants(
            spreadsheets=frozenset({BOOK}),
            worksheets=frozenset({"Cities"}),
            columns=ColumnGrant(readable=frozenset({"name", "state"}), writable=None),
        ),
    ),
}


class Checked:
    """Stand-in for `check` that records its arguments and always gives the same findings."""

    def __init__(self) -> None:
        self.spreadsheets: list[str | None] = []
        self.calls: list[Call[Any]] = []
        """Calls to Google with the account `main`."""

    async def __call__(
        self, spreadsheet: str | None, sends: Mapping[str, Send]
    ) -> Sequence[tuple[str, str]]:
        self.spreadsheets.append(spreadsheet)
        for call in self.calls:
            await sends["main"](call)
        return [("ok", "keys: 1 not revoked"), ("problem", NASTY)]


CHECKED = Checked()


@dataclass(frozen=True, kw_only=True)
class Console:
    """Client of the console with a signed-in session."""

    surface: Surface
    settings: Settings
    app: ASGIApp = field(repr=False)
    admins: Admins
    admin_key: str
    session: str

    def send(
        self,
        method: str,
        target: str,
        *,
        headers: Sequence[tuple[str, str]] = SAME_ORIGIN,
        form: Mapping[str, str] | Sequence[tuple[str, str]] = (),
        body: bytes = b"",
        session: str | None = None,
    ) -> Answer:
        """Send a request with the console's session cookie.

        `session` replaces the cookie's value; "" sends no cookie.
        """
        cookie = self.session if session is None else session
        lines = [*headers, *([("Cookie", f"a=b; __Host-{COOKIE}={cookie}")] if cookie else [])]
        if form:
            lines.append(("Content-Type", "application/x-www-form-urlencoded"))
        request = Request(
            method=method,
            target=target.encode("ascii"),
            headers=[(name.lower().encode(), value.encode("latin-1")) for name, value in lines],
            body=urlencode(form).encode() if form else body,
        )
        answer: Answer = self.surface.portal.call(send, self.app, self.surface.state, request)
        assert answer.problems == []
        return answer

    def page(self, path: str, **parameters: object) -> str:
        """Return the text of a page whose status is 200."""
        answer = self.send("GET", f"{path}?{urlencode(parameters)}")
        assert answer.status_code == 200, answer.content.decode()
        return answer.content.decode()

    def json(self, path: str, **parameters: object) -> Any:
        """Return the JSON answer of a read of the admin API whose status is 200."""
        answer = self.send("GET", f"/admin/v1{path}?{urlencode(parameters)}")
        assert answer.status_code == 200, answer.content.decode()
        return answer.json()

    def key_id(self, name: str) -> str:
        """Return the ID of the key with this name."""
        records = self.call(self.surface.state["store"].list)
        (found,) = [str(each.id) for each in records if each.name == _REQUESTS[name].name]
        return found

    def lines(self, worksheet: str) -> Any:
        """Return the rows of cells of a worksheet."""
        return self.surface.cells()[worksheet]

    def call(self, work: Any, *arguments: Any) -> Any:
        return self.surface.portal.call(work, *arguments)


def settings_of(folder: Path, **overrides: object) -> Settings:
    own = {
        "access.database": str(folder / "keys.db"),
        "admin.listen": "8001",
        "plans.all.deletes": True,
    }
    return load_settings(None, {}, own | overrides)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    folder = tmp_path_factory.mktemp("console")
    settings = settings_of(folder, **{"admin.public_url": "https://gateway.example"})
    with open_surface(folder, _REQUESTS, {"plans.all.deletes": True}) as surface:
        admins = Admins(
            surface.state["store"].admin_secrets,
            load_pepper(settings.access),
            partial(datetime.now, UTC),
        )
        _, key = surface.portal.call(admins.create, "admin")
        session = surface.portal.call(admins.sign_in, key, str)
        app = create_console(settings, api_url="https://api.example", check=CHECKED)
        yield Console(
            surface=surface,
            settings=settings,
            app=app,
            admins=admins,
            admin_key=key,
            session=session,
        )


@pytest.fixture
def console(opened: Console) -> Console:
    opened.surface.reset()
    # In every test, because the gateway lists the worksheets only once a minute.
    opened.surface.sheets.add("Many", [["n"], *([number] for number in range(120))])
    opened.surface.sheets.add(NASTY, [[NASTY, "b"], [NASTY, f"{NASTY}\n{NASTY}"]])
    return opened


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.odd: list[str] = []
        self.fields: dict[str, str] = {}
        self._area = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        links = [given.get(each, "") for each in ("href", "src", "action")]
        is_odd = any(name.startswith("on") or name == "style" for name in given)
        is_odd |= tag in ("iframe", "object", "style", "base") or (tag == "img")
        is_odd |= tag == "script" and given.get("src") != "/console.js"
        is_odd |= any(link and not re.match(r"/(?!/)|#main$", link) for link in links)
        if is_odd:
            self.odd.append(self.get_starttag_text() or tag)
        is_sent = given.get("type") != "checkbox" or "checked" in given
        if tag == "input" and "name" in given and is_sent:
            self.fields[given["name"]] = given.get("value", "")
        if tag == "textarea":
            self._area = given["name"]
            self.fields[self._area] = ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea" and self._area:
            self.fields[self._area] = self.fields[self._area].removeprefix("\n")
            self._area = ""

    def handle_data(self, data: str) -> None:
        if self._area:
            self.fields[self._area] += data


def odd_tags(page: str) -> list[str]:
    """Return elements of a page that run code or load a file other than the console's own."""
    tags = _Tags()
    tags.feed(page)
    return tags.odd


def fields_in(page: str) -> dict[str, str]:
    """Return the values of a page's inputs by name, as a browser would send them."""
    tags = _Tags()
    tags.feed(page)
    return tags.fields


def cells_in(page: str) -> list[list[str]]:
    """Return the rows of cells in the page's grid."""
    body = page.partition("<tbody>")[2].partition("</tbody>")[0]
    rows = re.findall("<tr>(.*?)</tr>", body, re.DOTALL)
    return [[unescape(each) for each in re.findall("<td[^>]*>(.*?)</td>", row)] for row in rows]
