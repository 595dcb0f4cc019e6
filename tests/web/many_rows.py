"""Writes of several rows in process: a fake service behind the routes, and a request of each."""

import json
import math
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.testclient import TestClient

from gateway.access.caller import Caller
from gateway.access.keys import Gatekeeper
from gateway.access.rates import KeyRates
from gateway.errors import GatewayError
from gateway.settings.model import ApiSettings, ServerSettings
from gateway.settings.plans import PlanSettings
from gateway.storage.key_store import Grants
from gateway.telemetry.events import RequestKind
from gateway.web.admission import Admission, AuthCache
from gateway.web.error_responses import on_gateway_error, on_http_exception
from gateway.web.parsing import Parsing
from gateway.web.routes import ROUTES, middleware
from gateway.web.state import State
from gateway.web.title_aliases import TitleAliases
from gateway.worksheets.access import Target
from gateway.worksheets.catalogue import Catalogue
from gateway.worksheets.idempotency import Settled
from gateway.worksheets.rows import RowService
from gateway.worksheets.writes import Append, ByFilter, ByKey, ByNumber, Write, Written

CALLER = Caller(
    key_id="k1",
    name="tests",
    plan_name="paid",
    plan=PlanSettings(deletes=True, max_affected=50),
    grants=Grants(spreadsheets=frozenset({"demo"}), may_delete=True),
)
DONE = '{"state":"done"}'


@dataclass(frozen=True)
class Gate:
    """A gatekeeper who takes every key for the same caller's, or fails."""

    caller: Caller
    error: GatewayError | None = None

    async def identify(self, key: str | None, where_from: Callable[[], str]) -> Caller:
        if self.error is not None:
            raise self.error
        return self.caller


@dataclass
class FakeRows:
    """A service that notes the writes, and answers with rows from 7 on."""

    asked: list[Write] = field(default_factory=list)
    titles: list[str] = field(default_factory=list)
    errors: list[Exception] = field(default_factory=list)
    created: Sequence[bool] = (True, False)
    matched: int = 2
    ignored: tuple[str, ...] = ()
    is_replayed: bool = False

    async def write(self, target: Target, write: Write) -> Settled:
        self.asked.append(write)
        self.titles.append(target.worksheet.title)
        if self.errors:
            raise self.errors.pop(0)
        sent = write.rows or ()
        match write.selector:
            case ByNumber(rows=rows):
                pairs = zip(rows, sent, strict=False)  # a delete has no fields
                records: list[Mapping[str, object]] = [
                    {"rowIndex": row, **fields} for row, fields in pairs
                ]
            case ByKey() | Append():
                records = [
                    {"rowIndex": row, "created": created, **fields}
                    for row, (created, fields) in enumerate(
                        zip(self.created, sent, strict=False), 7
                    )
                ]
            case ByFilter():
                records = [{"rowIndex": row} for row in range(7, 7 + self.matched)]
        results = tuple(
            Written(row=cast(int, record["rowIndex"]), record=record, tag="", ignored=self.ignored)
            for record in records
        )
        return Settled(results=results, is_replayed=self.is_replayed)


@contextmanager
def opened(
    rows: FakeRows,
    caller: Caller = CALLER,
    api: ApiSettings | None = None,
    error: GatewayError | None = None,
) -> Iterator[TestClient]:
    """The routes and middleware of the gateway, on a fake service."""

    async def always_ready() -> None:
        """A key store that answers."""

    async def always_accepted() -> bool:
        """Google knows an account."""
        return True

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[State]:
        yield State(
            admission=Admission(
                cast(Gatekeeper, Gate(caller, error)),
                KeyRates({"paid": caller.plan}),
                AuthCache(lambda: math.inf),
                proxies=(),
            ),
            parsing=Parsing(),
            ready=always_ready,
            was_accepted=always_accepted,
            outlasts_outage=lambda: False,
            is_redis_available=lambda: None,
            refused_accounts=lambda: 0,
            title_aliases=TitleAliases(write_seconds=10.0),
            rows=cast(RowService, rows),
            catalogue=cast(Catalogue, None),
            api=api or ApiSettings(),
            server=ServerSettings(),
        )

    app = Starlette(
        routes=ROUTES,
        middleware=middleware(ServerSettings()),
        exception_handlers={GatewayError: on_gateway_error, HTTPException: on_http_exception},
        lifespan=lifespan,
    )
    with TestClient(app, base_url="http://gateway/v2/sheets/") as client:
        yield client


Sent = tuple[str, str, Any]
"""Method, target and body."""

OPERATIONS: Mapping[RequestKind, Sent] = {
    "delete": ("DELETE", "Cities/7", None),
    "update_rows": ("PATCH", "Cities", [{"rowIndex": 7, "state": "x"}]),
    "update_where": ("PATCH", f"Cities?where={DONE}", {"state": "x"}),
    "delete_where": ("DELETE", f"Cities?where={DONE}", None),
    "upsert": ("POST", "Cities?on_conflict=sku", {"sku": "a", "state": "x"}),
}


def send(client: TestClient, sent: Sent, **headers: str) -> Any:
    method, target, body = sent
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    content = b"" if body is None else json.dumps(body).encode()
    return client.request(method, target, content=content, headers=named)
