"""A gateway in process on an emulator, with access to all output."""

import asyncio
import gc
import io
import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.app import create_app
from gateway.server.running import in_background, make_server
from gateway.server.sockets import base_url, bind
from gateway.settings.model import Settings, load_settings
from gateway.storage.key_store import Grants, KeyRequest
from gateway.table.header import ColumnGrant
from gateway.telemetry.events import configure_logging, reset_logging
from gateway.telemetry.metrics import create_metrics
from sheets_emulator.app import Emulator, EmulatorOptions, create_emulator
from sheets_emulator.faults import Fault
from tests.asgi_client import Answer, Request, send
from tests.fuzz.canaries import (
    CELL,
    OTHER_TENANT,
    OTHER_TENANTS_CELL,
    PEPPER,
    Canary,
    make_canaries,
)
from tests.journeys.conftest import KEY_BITS, create_keys
from tests.journeys.workbook import WORKBOOK

SEEN = ColumnGrant(readable=frozenset({"name", "population", "state", " name"}))
DEMO = frozenset({"demo"})
KEYS: Mapping[str, KeyRequest] = {
    "paid": KeyRequest(name="paid", grants=Grants(spreadsheets=DEMO, columns=SEEN)),
    "free": KeyRequest(name="free", plan="free", grants=Grants(spreadsheets=DEMO, columns=SEEN)),
    "read-only": KeyRequest(
        name="r", grants=Grants(spreadsheets=DEMO, may_create=False, may_update=False, columns=SEEN)
    ),
    "some": KeyRequest(
        name="some",
        grants=Grants(spreadsheets=DEMO, worksheets=frozenset({"Cities", "Hidden"}), columns=SEEN),
    ),
}
SETTINGS: Mapping[str, object] = {
    "access.pepper": PEPPER,
    "access.failures_per_minute": 1_000_000,
    "plans.paid.requests_per_minute": 1_000_000,
    "plans.free.requests_per_minute": 1_000_000,
    "google.reads_per_minute": 1_000_000,
    "google.writes_per_minute": 1_000_000,
    "cache.rows_ttl_seconds": 600,
    "cache.header_ttl_seconds": 600,
}
HIDDEN = f"name,secret,population\na,{CELL},1\n{CELL[:4]},{CELL},2\n"


@dataclass(kw_only=True)
class Overheard:
    """Application of the emulator, which records the received access tokens."""

    app: ASGIApp
    tokens: list[str] = field(default_factory=list)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        for name, value in scope.get("headers", ()):
            if name == b"authorization":
                self.tokens.append(value.decode("latin-1").removeprefix("Bearer "))
        await self.app(scope, receive, send)


@dataclass(frozen=True, kw_only=True)
class Stage:
    """Application, state and log of a campaign."""

    app: ASGIApp
    state: Mapping[str, Any]
    keys: Mapping[str, str]
    canaries: Mapping[str, Canary]
    log: io.StringIO = field(repr=False)
    emulator: Emulator = field(repr=False)
    runner: asyncio.Runner = field(repr=False)

    @property
    def usual_keys(self) -> Sequence[str]:
        """Keys for requests. Half of them are the key with most rights."""
        return [*self.keys.values(), *[self.keys["paid"]] * len(self.keys)]

    def send(self, request: Request) -> Answer:
        return self.runner.run(send(self.app, self.state, request))

    def metrics(self) -> bytes:
        """Return the content of `/metrics`."""
        metrics = Request(method="GET", target=b"/metrics")
        return self.runner.run(send(create_metrics(hosts=["gateway.example"]), {}, metrics)).content

    def faults(self, *faults: Fault) -> None:
        """Replace the emulator's faults for the next calls."""
        self.emulator.service.faults.replace(faults)


Wrap = Callable[[ASGIApp, Mapping[str, str]], ASGIApp]


def as_it_is(app: ASGIApp, _: Mapping[str, str]) -> ASGIApp:
    return app


@contextmanager
def staged(folder: Path, *, wrap: Wrap = as_it_is) -> Iterator[Stage]:
    """Run a gateway with several keys. `wrap` adds a planted bug to the application."""
    _write_seed(folder / "seed")
    emulator = create_emulator(EmulatorOptions(seed=folder / "seed", key_bits=KEY_BITS))
    overheard = Overheard(app=emulator.app)
    listening = bind("127.0.0.1", 0)
    account = folder / "account.json"
    emulator.write_credentials(account, base_url(listening))
    with ExitStack() as stack:
        url = stack.enter_context(
            in_background(make_server(overheard, shutdown_seconds=1), listening)
        )
        settings = load_settings(
            None,
            {},
            {
                "google.endpoint": url,
                "google.credentials": str(account),
                "access.database": str(folder / "keys.db"),
                **SETTINGS,
            },
        )
        log = stack.enter_context(captured_log())
        runner = stack.enter_context(asyncio.Runner())
        keys = runner.run(make_keys(settings))
        app = create_app(settings)
        lifespan = app.router.lifespan_context(app)
        state = runner.run(lifespan.__aenter__())
        stack.callback(lambda: runner.run(lifespan.__aexit__(None, None, None)))
        first = _first_request(keys["paid"])
        runner.run(send(app, dict(state or {}), first))  # a token is made
        yield Stage(
            app=wrap(app, keys),
            state=dict(state or {}),
            keys=keys,
            canaries=make_canaries(
                key=keys["paid"],
                token=overheard.tokens[-1],
                private_key=json.loads(account.read_text())["private_key"],
            ),
            log=log,
            emulator=emulator,
            runner=runner,
        )


def _first_request(key: str) -> Request:
    headers = [(b"authorization", key.encode()), (b"x-spreadsheet-id", b"demo")]
    return Request(method="GET", target=b"/v2/sheets/Cities", headers=headers)


def _write_seed(folder: Path) -> None:
    sheets = {**WORKBOOK["demo"], "Hidden": HIDDEN}
    for spreadsheet, worksheets in {
        "demo": sheets,
        OTHER_TENANT: {"Cities": f"name\n{OTHER_TENANTS_CELL}\n"},
    }.items():
        (folder / spreadsheet).mkdir(parents=True)
        for title, text in worksheets.items():
            (folder / spreadsheet / f"{title}.csv").write_text(text, encoding="utf-8")


async def make_keys(settings: Settings, spreadsheets: frozenset[str] = DEMO) -> dict[str, str]:
    """Create a key of each kind, and return the keys by name."""
    requests = {
        name: replace(each, grants=replace(each.grants, spreadsheets=spreadsheets))
        for name, each in KEYS.items()
    }
    secret = settings.access.pepper
    pepper = None if secret is None else secret.get_secret_value()
    return await create_keys(settings.access.database, requests, pepper=pepper)


@contextmanager
def captured_log() -> Iterator[io.StringIO]:
    """Capture all log output of the block, including other packages, and reset logging
    afterwards.
    """
    gc.collect()  # so that tasks of earlier tests log their errors now
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    root.handlers.clear()
    text = io.StringIO()
    configure_logging(text)
    try:
        yield text
    finally:
        reset_logging()
        root.handlers[:] = handlers
        root.setLevel(level)
