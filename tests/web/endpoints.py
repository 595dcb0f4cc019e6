"""Run the gateway's endpoints in this process, with fake services in the application state."""

import math
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import cast

from starlette.testclient import TestClient

from gateway.access.caller import Caller
from gateway.access.rates import KeyRates
from gateway.errors import GatewayError
from gateway.query.place import Cursors
from gateway.settings.model import ApiSettings, ServerSettings
from gateway.web.admission import Admission, AuthCache
from gateway.web.frame import Frame, respond
from gateway.web.parsing import Parsing
from gateway.web.state import State
from gateway.web.title_aliases import TitleAliases


@dataclass(frozen=True)
class Gate:
    """Fake gatekeeper: it accepts every key as the key of `caller`, or raises `error`."""

    caller: Caller
    error: GatewayError | None = None

    async def identify(self, key: str | None, where_from: Callable[[], str]) -> Caller:
        if self.error is not None:
            raise self.error
        return self.caller


@contextmanager
def serving(state: Mapping[str, object], base_url: str) -> Iterator[TestClient]:
    """Open a test client of the gateway whose application state is `state`."""

    @asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[State]:
        yield cast(State, {"server": ServerSettings(), **state})

    with TestClient(Frame(respond, ServerSettings(), lifespan), base_url=base_url) as client:
        yield client


@contextmanager
def opened(
    rows: object,
    caller: Caller,
    api: ApiSettings | None = None,
    error: GatewayError | None = None,
) -> Iterator[TestClient]:
    """Open a test client of the worksheet endpoints, with the fake service `rows`.

    Every key belongs to `caller`. If `error` is given, looking up a key raises it.
    """
    state = {
        "cursors": Cursors(bytes(32)),
        "admission": Admission(
            Gate(caller, error).identify,
            KeyRates({"paid": caller.plan}),
            AuthCache(lambda: math.inf),
            proxies=(),
        ),
        "parsing": Parsing(),
        "title_aliases": TitleAliases(write_seconds=10.0),
        "rows": rows,
        "api": api or ApiSettings(),
    }
    with serving(state, "http://gateway/v2/sheets/") as client:
        yield client
