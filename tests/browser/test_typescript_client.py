"""The TypeScript client in a page of another origin, in Chromium."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page
from starlette.applications import Starlette
from starlette.responses import HTMLResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from gateway.server.running import in_background, make_server
from gateway.server.sockets import bind
from tests.clients.conftest import LIBRARY_KEYS, LIBRARY_SETTINGS
from tests.clients.middlebox import Fault, Middlebox, running_machine
from tests.clients.typescript.package import Package, make_package
from tests.clients.workbook import CLIENTS_WORKBOOK
from tests.journeys.conftest import Api, make_keys, running_emulator, running_gateways

AUSTIN = ["Austin", "", "", "961855"]
LIST_AND_CREATE = """async (options) => {
    const { Sheets } = await import("/client/index.js");
    const cities = new Sheets(options).sheet("Cities");
    const names = [];
    const wanted = { order: "name", pageSize: 4 };
    for await (const city of cities.rows(wanted)) names.push(city.fields.name);
    const created = await cities.create({ name: "Austin", population: 1 });
    const ifMatch = created.etag;
    await cities.update(created.rowIndex, { population: 961855 }, { ifMatch });
    return { names, created };
}"""
CREATE = """async (options) => {
    const { Sheets } = await import("/client/index.js");
    const row = { name: "Austin", population: 961855 };
    return await new Sheets(options).sheet("Cities").create(row);
}"""
CONFLICT = """async (options) => {
    const { Sheets, SheetsError } = await import("/client/index.js");
    const cities = new Sheets(options).sheet("Cities");
    const { etag } = await cities.get(2);
    await cities.update(2, { population: 1 });
    try {
        await cities.update(2, { population: 2 }, { ifMatch: etag });
    } catch (error) {
        const isTyped = error instanceof SheetsError;
        return [isTyped, error.code, error.outcome, error.existing.fields.population];
    }
}"""
FAIL = """async (options) => {
    const { Sheets, ConnectionFailed } = await import("/client/index.js");
    const cities = new Sheets({ ...options, retry: { tries: 1 } }).sheet("Cities");
    try {
        await cities.create({ name: "x" });
    } catch (error) {
        return [error instanceof ConnectionFailed, error.outcome, error.mayBeApplied];
    }
}"""
ABORT = """async (options) => {
    const { Sheets } = await import("/client/index.js");
    const cities = new Sheets(options).sheet("Cities");
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 300);
    const began = performance.now();
    const { signal } = controller;
    const reason = await cities.get(2, { signal }).catch((error) => error.name);
    return [reason, performance.now() - began];
}"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Package:
    return make_package(tmp_path_factory.mktemp("package") / "typescript")


@pytest.fixture(scope="module")
def site(package: Package) -> Iterator[str]:
    """Serve the compiled client on a page with another origin."""
    pages = Starlette(
        routes=[
            Route("/", lambda _: HTMLResponse("<!doctype html><title>Another origin</title>")),
            Mount("/client", StaticFiles(directory=package.folder / "dist")),
        ]
    )
    listening = bind("127.0.0.1", 0)
    with in_background(make_server(pages, shutdown_seconds=1), listening) as url:
        yield url


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    with (
        running_emulator(tmp_path, CLIENTS_WORKBOOK) as emulator,
        running_gateways(emulator, make_keys(tmp_path, LIBRARY_KEYS)) as start,
    ):
        yield start(LIBRARY_SETTINGS)


@pytest.fixture
def middlebox(api: Api) -> Iterator[Middlebox]:
    with running_machine(api.url) as machine:
        yield machine.newest


@pytest.fixture
def page(browser: Browser, site: str) -> Iterator[Page]:
    with browser.new_context() as context:
        opened = context.new_page()
        opened.goto(site)
        yield opened


@pytest.fixture
def options(api: Api, middlebox: Middlebox) -> Mapping[str, Any]:
    """Options of the page's client, with short waits between retries."""
    return {
        "baseUrl": middlebox.url,
        "apiKey": api.keys["paid"],
        "spreadsheetId": "demo",
        "retry": {"backoffSeconds": 0.05},
    }


def test_a_page_lists_and_creates_rows(page: Page, api: Api, options: Mapping[str, Any]) -> None:
    """The client in a page lists all rows by pages, creates a row and updates it with its ETag."""
    told = page.evaluate(LIST_AND_CREATE, options)

    assert told["names"][0] == "Chicago"
    assert len(told["names"]) == 10
    assert told["created"]["rowIndex"] == 12
    assert api.emulator.texts("Cities")[11:] == [AUSTIN]


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(Fault(is_forwarded=True), id="lost"),
        pytest.param(Fault(kept_bytes=10), id="cut"),
        pytest.param(Fault(), id="broken"),
        pytest.param(Fault(is_forwarded=True, status=502), id="502"),
        pytest.param(Fault(status=429, headers={"Retry-After": "0"}), id="429"),
    ],
)
def test_a_page_creates_a_row_once_despite_faults(
    page: Page, middlebox: Middlebox, api: Api, options: Mapping[str, Any], fault: Fault
) -> None:
    """After each kind of fault, retries create one row with the same Idempotency-Key."""
    middlebox.fail(fault, fault)
    created = page.evaluate(CREATE, options)
    keys = middlebox.sent("Idempotency-Key")

    assert created["rowIndex"] == 12
    assert api.emulator.texts("Cities")[11:] == [AUSTIN]
    assert len(keys) >= 2
    assert len(set(keys)) == 1


def test_a_page_sees_a_conflict(page: Page, options: Mapping[str, Any]) -> None:
    """A stale ETag raises a SheetsError with code, outcome and current row."""
    assert page.evaluate(CONFLICT, options) == [True, 4120, "not_applied", "1"]


def test_a_failed_connection_has_an_unknown_outcome(
    page: Page, middlebox: Middlebox, options: Mapping[str, Any]
) -> None:
    """A browser hides why a connection failed, so the outcome of the write is unknown."""
    middlebox.fail(*[Fault()] * 9)

    assert page.evaluate(FAIL, options) == [True, "unknown", True]


def test_a_page_aborts_a_request(
    page: Page, middlebox: Middlebox, options: Mapping[str, Any]
) -> None:
    """Aborting the signal ends a call that has no answer."""
    middlebox.fail(Fault(is_held=True))
    reason, milliseconds = page.evaluate(ABORT, options)

    assert reason == "AbortError"
    assert milliseconds < 10_000
