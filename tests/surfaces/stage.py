"""The gateway in process on the fake `Sheets`: requests of any bytes, calls and cells observed.

Rules: one table of cases for each surface of the API. A case that needs a server, a second client
or Google's own behaviour is a journey; one that no request shows is a unit test.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal
from starlette.types import ASGIApp

from gateway.app import create_app
from gateway.errors import GatewayError
from gateway.google.sheets import Sheets
from gateway.settings.model import load_settings
from gateway.storage.key_store import KeyRequest
from tests.asgi_client import Answer, Request, send
from tests.fakes import BOOK, FakeSheets
from tests.forwarding import WRITES, Call, ForwardingSheets, Kind
from tests.journeys.conftest import LOOKS_EACH_TIME, create_keys, keys_to
from tests.journeys.failure import refused
from tests.stand_in import stand_in

T = TypeVar("T")
Headers = Sequence[tuple[str, str]]

GRANTED = frozenset({BOOK})
NO_DELETE = (
    "This key cannot delete rows. Ask the gateway's operator for a key with this right, on a plan "
    "with deletes, or update the fields to null."
)
"""Advice in the error for a DELETE that is not allowed."""
KEYS: Mapping[str, KeyRequest] = keys_to(BOOK)
WORKBOOK: Mapping[str, Sequence[Sequence[str | int]]] = {
    "Cities": [
        ["name", "state", "country", "population"],
        ["New York", "New York", "USA", 8804190],
        ["Los Angeles", "California", "USA", 3898747],
        ["Chicago", "Illinois", "USA", 2746388],
    ],
    "New": [["name", "state", "country", "population"]],
    "BlankHeader": [["name", "", "amount"], ["a", "hidden", 1]],
    "BlankFirst": [["", "name", "amount"], ["", "a", 1]],
    "RowIndex": [["rowIndex", "name"], [99, "a"]],
    "Spaced": [[" name ", "amount"], ["a", 1]],
    **{title: [["name"], [name]] for title, name in (("A/B", "slash"), ("D3", "cell"))},
    **{title: [["name"], [name]] for title, name in ((" lead", "blank"), ("x:y!z", "marks"))},
    **{title: [["name"], [name]] for title, name in (("1", "one"), ("Städte 🏙", "Umlaut"))},
}
FIELDS = ", ".join(f'"{name}"' for name in WORKBOOK["Cities"][0])


@dataclass
class Calls(ForwardingSheets):
    """Counts calls, and makes all of them fail while `failure` is set."""

    inner: Sheets
    reads: int = 0
    writes: int = 0
    failure: GatewayError | None = None

    async def forward(self, spreadsheet: str, call: Call[T], *, kind: Kind) -> T:
        self.writes += kind in WRITES
        self.reads += kind not in WRITES
        if self.failure is not None:
            raise self.failure
        return await call(self.inner)


@dataclass(frozen=True, kw_only=True)
class Surface:
    """A client of the application, by default with a key and the spreadsheet ID."""

    keys: Mapping[str, str]
    sheets: FakeSheets
    calls: Calls
    app: ASGIApp = field(repr=False)
    state: Mapping[str, Any] = field(repr=False)
    portal: BlockingPortal = field(repr=False)

    def reset(self) -> None:
        self.sheets.worksheets.clear()
        for title, lines in WORKBOOK.items():
            self.sheets.add(title, lines)
        self.calls.reads = self.calls.writes = 0
        self.calls.failure = None

    def cells(self) -> Mapping[str, object]:
        return {each.title: each.lines() for each in self.sheets.worksheets}

    def send(
        self,
        method: str,
        target: str,
        *,
        key: str | None = "paid",
        spreadsheet: str | None = BOOK,
        headers: Headers = (),
        body: bytes = b"",
    ) -> Answer:
        """Send a request. `target` goes after `/v2/sheets/`, or is the whole path with a slash."""
        pairs = [*headers]
        if key is not None:
            pairs.append(("Authorization", f"Bearer {self.keys[key]}"))
        if spreadsheet is not None:
            pairs.append(("X-Spreadsheet-Id", spreadsheet))
        whole = target if target.startswith("/") else f"/v2/sheets/{target}"
        request = Request(
            method=method,
            target=whole.encode("latin-1"),
            headers=[
                (name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in pairs
            ],
            body=body,
        )
        answer: Answer = self.portal.call(send, self.app, self.state, request)
        assert answer.problems == []
        return answer

    def refused(
        self, method: str, target: str, *, reads: int = 0, **options: Any
    ) -> tuple[tuple[int, int], Answer]:
        """Return status and code of an error, after a check of cells and number of reads."""
        before, spent = self.cells(), self.calls.reads

        answer = self.send(method, target, **options)

        assert self.calls.reads - spent <= reads
        assert self.calls.writes == 0
        assert self.cells() == before
        outcome = answer.json().get("outcome")
        if method not in ("GET", "HEAD") and answer.status_code not in (401, 404, 405, 410):
            assert outcome == "not_applied"
        return refused(answer), answer


@contextmanager
def open_surface(
    folder: Path,
    requests: Mapping[str, KeyRequest] = KEYS,
    overrides: Mapping[str, object] | None = None,
) -> Iterator[Surface]:
    """Open the application with its database in this folder."""
    database, changed = folder / "keys.db", overrides or {}
    revoked = [name for name in requests if name == "revoked"]
    keys = asyncio.run(create_keys(database, requests, revoked=revoked, overrides=changed))
    sheets = FakeSheets()
    calls = Calls(sheets)

    @asynccontextmanager
    async def open_sheets() -> AsyncIterator[Sheets]:
        yield calls

    settings = load_settings(
        None, {}, {"access.database": str(database), **LOOKS_EACH_TIME, **changed}
    )
    app = create_app(settings, stand_in(open_sheets))
    with (
        start_blocking_portal("asyncio") as portal,
        portal.wrap_async_context_manager(app.router.lifespan_context(app)) as state,
    ):
        surface = Surface(
            keys=keys, sheets=sheets, calls=calls, app=app, state=state or {}, portal=portal
        )
        surface.reset()
        yield surface
