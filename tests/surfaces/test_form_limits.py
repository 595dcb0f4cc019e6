"""How many forms an address may send, and how few writes many forms make."""

import asyncio
import selectors
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from gateway.app import create_app
from gateway.google.sheets import Sheets
from gateway.settings.model import load_settings
from tests.asgi_client import Answer, Request, send
from tests.fakes import FakeSheets
from tests.forwarding import WRITES, Call, ForwardingSheets, Kind
from tests.journeys.conftest import LOOKS_EACH_TIME, create_keys
from tests.stand_in import stand_in
from tests.surfaces.form_stage import BROWSER, FORM, KEYS, PAGE, form_request, post, stored
from tests.surfaces.stage import WORKBOOK, Surface, open_surface

T = TypeVar("T")
PROXY: Mapping[str, object] = {"access.trusted_proxies": ["127.0.0.1"]}


@pytest.fixture
def surface(tmp_path: Path) -> Iterator[Surface]:
    """A gateway behind a proxy, with the default limits of forms."""
    with open_surface(tmp_path, KEYS, {**PROXY, "forms.writes_per_minute": 0}) as surface:
        yield surface


def of(address: str) -> dict[str, Any]:
    return {"headers": [("X-Forwarded-For", address)], "accept": "*/*"}


def test_an_address_sends_five_forms_a_minute(surface: Surface) -> None:
    """The sixth form of an address gets 429 with the time to wait. Other addresses can send."""
    answers = [post(surface, {"name": "Ann"}, **of("192.0.2.1")) for _ in range(6)]
    other = post(surface, {"name": "Bob"}, **of("192.0.2.2"))

    assert [each.status_code for each in answers] == [201] * 5 + [429]
    assert answers[5].json()["code"] == 4290
    assert 0 < int(answers[5].headers["retry-after"]) <= 12
    assert other.status_code == 201
    assert len(stored(surface)) == 6


EVIL = ("Origin", "https://evil.example")


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        pytest.param({}, 201, id="forms"),
        pytest.param({"method": "GET"}, 403, id="reads"),
        pytest.param({"target": "New?apiKey={}&on_conflict=name"}, 403, id="upserts"),
        pytest.param({"target": "/v2/sheets?apiKey={}", "method": "GET"}, 403, id="titles"),
        pytest.param({"target": "/openapi.json?apiKey={}", "method": "GET"}, 200, id="description"),
        pytest.param({"target": "New?apiKey={}&_method=PUT"}, 400, id="overrides"),
        pytest.param({"target": "New?apiKey={}&limit=1"}, 400, id="parameters"),
        pytest.param({"target": "New?apiKey={}&spreadsheetId=no"}, 404, id="spreadsheets"),
        pytest.param({"headers": [EVIL]}, 403, id="other pages"),
        pytest.param({"headers": [("Prefer", "max-affected=1")]}, 400, id="preferences"),
    ],
)
def test_an_address_does_not_use_up_the_rate_of_the_key(
    tmp_path: Path, changed: dict[str, Any], status: int
) -> None:
    """A form above the limit of its address is never charged to the key."""
    settings = {**PROXY, "plans.paid.requests_per_minute": 10, "forms.writes_per_minute": 0}
    with open_surface(tmp_path, KEYS, settings) as surface:
        sent = {**form_request(surface, {"name": "A"}, **of("192.0.2.1")), **changed}
        sent["target"] = sent["target"].format(surface.keys["form"])
        sent["headers"] = [*sent["headers"], *of("192.0.2.1")["headers"]]
        statuses = {surface.send(**sent).status_code for _ in range(30)}
        other = post(surface, {"name": "Bob"}, **of("192.0.2.2"))

    assert statuses == {status, 429}
    assert other.status_code == 201


@pytest.mark.parametrize(
    ("key", "body", "media_type", "addresses", "is_limited"),
    [
        pytest.param("form", b'{"name": 1}', "application/json", "192.0.2.1", True, id="JSON"),
        pytest.param("open", b'{"name": 1}', "application/json", "192.0.2.1", False, id="programs"),
        pytest.param("open", b"name=1", FORM, "192.0.2.1", True, id="a form without origins"),
        pytest.param("open", b"name=1&_gotcha=x", FORM, "192.0.2.1", True, id="gotcha"),
        pytest.param("form", b"nam=1", FORM, "192.0.2.1", True, id="wrong forms"),
        pytest.param("form", b"name=1", FORM, "2001:db8:1:2::{}", True, id="a network"),
        pytest.param("form", b"name=1", FORM, "192.0.2.{}", False, id="addresses"),
        pytest.param("form", b"name=1", FORM, "192.0.2.{}, 198.51.100.1", True, id="a made-up hop"),
    ],
)
def test_what_is_counted(
    surface: Surface, key: str, body: bytes, media_type: str, addresses: str, is_limited: bool
) -> None:
    """Forms, and creates of keys with origins, are counted by the address that the proxy names."""
    answers = [
        post(surface, body, key=key, media_type=media_type, **of(addresses.format(number)))
        for number in range(1, 7)
    ]

    assert [each.status_code == 429 for each in answers] == [False] * 5 + [is_limited]


class _JumpingSelector(selectors.DefaultSelector):
    """Selector that skips idle time after other threads had a chance to run."""

    jumped_seconds = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0 if timeout == 0 else 0.002)
        if not ready and timeout:
            self.jumped_seconds += timeout
        return ready


class JumpingLoop(asyncio.SelectorEventLoop):
    """Event loop that skips idle time, so that a minute passes at once."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return super().time() + self._jumping.jumped_seconds


@dataclass
class SlowSheets(ForwardingSheets):
    """A Google that takes 300 ms for a write."""

    inner: Sheets
    writes: int = 0

    async def forward(self, spreadsheet: str, call: Call[T], *, kind: Kind) -> T:
        if kind in WRITES:
            self.writes += 1
            await asyncio.sleep(0.3)
        return await call(self.inner)


COUNT, ADDRESSES, SECONDS = 500, 200, 60.0


async def minute_of_forms(
    database: Path, overrides: Mapping[str, object]
) -> tuple[int, Counter[int], int]:
    """Return writes, statuses and rows for a minute of forms from many addresses."""
    keys = await create_keys(database, KEYS)
    fake = FakeSheets()
    fake.add("New", WORKBOOK["New"])
    sheets = SlowSheets(fake)

    @asynccontextmanager
    async def open_sheets() -> AsyncIterator[Sheets]:
        yield sheets

    settings = {**LOOKS_EACH_TIME, **PROXY, "cache.header_ttl_seconds": 60, **overrides}
    app = create_app(
        load_settings(None, {}, {"access.database": str(database), **settings}),
        stand_in(open_sheets),
    )
    async with app.router.lifespan_context(app) as state:

        async def visitor(number: int) -> Answer:
            await asyncio.sleep(number * SECONDS / COUNT)
            headers = {
                "content-type": FORM,
                "accept": BROWSER,
                "origin": PAGE,
                "x-forwarded-for": f"198.51.{number % ADDRESSES}.1",
            }
            request = Request(
                method="POST",
                target=f"/v2/sheets/New?apiKey={keys['form']}".encode(),
                headers=[(name.encode(), value.encode()) for name, value in headers.items()],
                body=f"name=visitor+{number}".encode(),
            )
            return await send(app, state or {}, request)

        answers = await asyncio.gather(*map(visitor, range(COUNT)))
    (worksheet,) = fake.worksheets
    names = {line[0] for line in worksheet.lines()[1:]}
    return sheets.writes, Counter(each.status_code for each in answers), len(names)


@pytest.mark.parametrize(
    ("overrides", "least", "most"),
    [
        pytest.param({}, 1, 12, id="as by default"),
        pytest.param({"forms.writes_per_minute": 0}, 100, COUNT, id="without the limit"),
    ],
)
def test_a_minute_of_forms_makes_few_writes(
    tmp_path: Path, overrides: Mapping[str, object], least: int, most: int
) -> None:
    """500 forms are at most 12 writes. Without `forms.writes_per_minute`, many more."""
    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        writes, statuses, count = runner.run(minute_of_forms(tmp_path / "keys.db", overrides))

    assert (statuses, count) == ({201: COUNT}, COUNT)
    assert least <= writes <= most
