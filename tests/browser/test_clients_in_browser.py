"""JavaScript samples, run in Chromium by a page of another origin."""

import io
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser
from starlette.applications import Starlette
from starlette.responses import HTMLResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from gateway.server.running import in_background, make_server
from gateway.server.sockets import base_url, bind
from tests import clients
from tests.clients.outcomes import (
    ANY,
    SETTINGS,
    SHOWN_TO_ALL,
    WRITTEN,
    differences,
    keys_of_site,
    refusal,
    written,
)
from tests.clients.workbook import CLIENTS_WORKBOOK
from tests.fuzz.stage import captured_log
from tests.journeys.conftest import Api, make_keys, running_emulator, running_gateways

SCRIPTS = Path(clients.__file__).parent
RUN_ALL = "async (site) => (await import('/scripts/samples.mjs')).runAll(site)"
REQUEST = "async ([...asked]) => (await import('/scripts/requests.mjs')).request(...asked)"
FORM = "application/x-www-form-urlencoded; charset=UTF-8"
SHOWN_TO_PAGES: Mapping[str, Any] = {
    **SHOWN_TO_ALL,
    "a key for another page": refusal(403, 4031, **{"x-request-id": ANY}),
}


@dataclass(frozen=True)
class Site:
    """Page of one origin, and the gateway of another origin that the page calls."""

    page: str
    api: Api
    log: io.StringIO = field(repr=False)

    @property
    def settings(self) -> Mapping[str, Any]:
        """Settings of the page's scripts."""
        keys = dict(self.api.keys)
        return {"base": f"{self.api.url}/v2", "keys": keys, "spreadsheet": "demo"}

    def lines(self, method: str) -> list[dict[str, Any]]:
        """Return the log lines of requests with a method."""
        lines = [json.loads(line) for line in self.log.getvalue().splitlines()]
        return [line for line in lines if line.get("method") == method]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Serve the page on one port and the gateway on another, which gives two origins."""
    listening = bind("127.0.0.1", 0)
    folder = tmp_path_factory.mktemp("clients")
    access = make_keys(tmp_path_factory.mktemp("access"), keys_of_site(base_url(listening)))
    pages = Starlette(
        routes=[
            Route("/", lambda _: HTMLResponse("<!doctype html><title>Another origin</title>")),
            Mount("/scripts", StaticFiles(directory=SCRIPTS)),
        ]
    )
    with (
        captured_log() as log,
        running_emulator(folder, CLIENTS_WORKBOOK) as emulator,
        running_gateways(emulator, access) as start,
        in_background(make_server(pages, shutdown_seconds=1), listening) as page,
    ):
        yield Site(page=page, api=start(SETTINGS), log=log)


@pytest.fixture(scope="module")
def outcomes(site: Site, browser: Browser) -> Mapping[str, Any]:
    """Run all samples once in a page, and return the results."""
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(site.page)
        told: Mapping[str, Any] = page.evaluate(RUN_ALL, site.settings)
    return told


Ask = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def ask(site: Site, browser: Browser) -> Iterator[Ask]:
    """Return a function that calls the gateway with XMLHttpRequest from a page."""
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(site.page)

        def ask(method: str, path: str, key: str = "paid", **options: Any) -> dict[str, Any]:
            headers = {
                "Authorization": f"Bearer {site.api.keys[key]}",
                "X-Spreadsheet-Id": "demo",
                **options.pop("headers", {}),
            }
            url = f"{site.api.url}/v2/sheets/{path}"
            told: dict[str, Any] = page.evaluate(
                REQUEST, [method, url, {"headers": headers, **options}]
            )
            return told

        yield ask


@pytest.mark.parametrize("sample", SHOWN_TO_PAGES)
def test_a_page_gets_the_expected_results(outcomes: Mapping[str, Any], sample: str) -> None:
    """Each sample in a page of another origin gets the expected status, body and headers."""
    assert differences(SHOWN_TO_PAGES[sample], outcomes[sample]) == []


def test_every_sample_has_an_expectation(outcomes: Mapping[str, Any]) -> None:
    """Every sample that ran has an expected result."""
    assert set(outcomes) == set(SHOWN_TO_PAGES)


def test_the_sheet_has_the_rows_of_the_page(outcomes: Mapping[str, Any], site: Site) -> None:
    """Each row that a sample wrote is in the sheet exactly once; failed writes left nothing."""
    assert outcomes
    assert written(site.api.emulator) == WRITTEN


def test_pages_send_preflights_without_keys(outcomes: Mapping[str, Any], site: Site) -> None:
    """The browser sent preflights without a key, and each got 204."""
    preflights = site.lines("OPTIONS")

    assert outcomes
    assert {(line["status"], line["key"]) for line in preflights} == {(204, None)}
    assert {line["path"] for line in preflights} >= {"/v2/sheets/Cities", "/v2/sheets/My%20Sheet"}


def test_the_log_has_lenient_decoding_of_pages(outcomes: Mapping[str, Any], site: Site) -> None:
    """The log lines of the samples have the lenient decoding that each sample needs."""
    needed = {name for line in site.lines("GET") for name in (line["reading"] or "-").split(",")}

    assert outcomes
    assert needed == {
        "-",
        "where-twice",
        "order-twice",
        "keys-twice",
        "query-in-name",
        "where-brackets",
    }
    assert {line["reading"] for line in site.lines("POST")} == {None, "json-as-text"}


def test_an_older_library_sends_a_form(ask: Ask, site: Site) -> None:
    """A form with a charset, as jQuery sends it, creates a row, and the page can read the
    answer.
    """
    told = ask("POST", "Totals", headers={"Content-Type": FORM}, body="name=d+e&total+sales=40")

    assert (told["status"], json.loads(told["text"])["name"]) == (201, "d e")
    assert site.api.emulator.texts("Totals")[4] == ["d e", "40"]


def test_an_older_library_reads_headers(ask: Ask) -> None:
    """XMLHttpRequest can read the headers ETag, X-Request-Id and RateLimit."""
    told = ask("GET", "Cities/2")

    assert json.loads(told["text"])["name"] == "New York"
    assert {"etag", "x-request-id", "ratelimit"} <= {
        line.partition(":")[0] for line in told["headers"].splitlines()
    }


def test_requests_with_cookies_are_blocked(ask: Ask) -> None:
    """The browser blocks answers to requests with cookies, because CORS does not allow
    credentials.
    """
    assert ask("GET", "Cities/2", withCredentials=True)["status"] == 0
