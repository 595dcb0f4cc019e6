"""Fixtures for a headless browser that can reach only this machine.

Rules: Playwright's sync API runs an event loop in this thread, and leaves it marked as running
between its calls. asyncio then refuses to run another loop. So the mark is set only while a test
that uses the browser runs, and while a fixture that uses the browser is created. Fixtures of
session scope cannot use the browser. All other fixtures can, and all fixtures can run event loops.
"""

import asyncio
import shutil
from collections.abc import Generator, Iterator, Mapping
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from gateway.commands.demo import Demo, running_demo
from gateway.server.sockets import bind
from sheets_emulator.state.seed import read_spreadsheet
from tests.browser.accessibility import axe_source
from tests.browser.recorder import Recorder, record

CHROMIUM = shutil.which("chromium")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
]
PATIENCE_MS = 20_000
"""Milliseconds that Playwright waits for one action, even on a busy machine."""

NASTY = "<img src='http://evil.example' onerror='document.title=1'>"
"""HTML that pages must show as text, in cells, fields and paths."""

_LOOP = pytest.StashKey[asyncio.AbstractEventLoop]()
_BUILDING_ON_IT = pytest.StashKey[set[str]]()
"""Names of the browser fixture and of the fixtures that use it."""


@pytest.fixture(scope="session")
def browser(pytestconfig: pytest.Config) -> Iterator[Browser]:
    """Run one Chromium for all tests. Each test creates its own context."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        pytestconfig.stash[_LOOP] = asyncio.get_running_loop()
        asyncio._set_running_loop(None)
        expect.set_options(timeout=PATIENCE_MS)
        yield running
        asyncio._set_running_loop(pytestconfig.stash[_LOOP])
        del pytestconfig.stash[_LOOP]
        running.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """Open a browser context for one test."""
    with browser.new_context() as opened:
        opened.set_default_timeout(PATIENCE_MS)
        yield opened


@pytest.fixture
def recorder(context: BrowserContext) -> Recorder:
    """Return the recorded requests and console messages of the test's pages."""
    return record(context)


@pytest.fixture(scope="package")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the source of axe-core."""
    return axe_source(tmp_path_factory.mktemp("axe"))


@pytest.fixture(scope="package")
def demo() -> Iterator[Demo]:
    """Run a gateway on an emulator with the sample workbook, for tests that write nothing."""
    with running_demo(bind("127.0.0.1", 0), {}) as running:
        yield running


@pytest.fixture(scope="module")
def book() -> Mapping[str, str] | None:
    """Return the console's worksheets as CSV texts by title, or None for the sample workbook."""
    return None


@pytest.fixture(scope="module")
def console_demo(
    book: Mapping[str, str] | None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Demo]:
    """Run a demo for one module, whose tests write rows or change keys."""
    seed = None
    if book is not None:
        folder = tmp_path_factory.mktemp("book")
        for title, text in book.items():
            (folder / f"{title}.csv").write_text(text, encoding="utf-8")
        seed = read_spreadsheet(folder, "demo")
    with running_demo(bind("127.0.0.1", 0), {}, seed) as running:
        yield running


@pytest.fixture(scope="module")
def console_url(console_demo: Demo) -> str:
    return console_demo.sign_in_url.partition("/sign-in")[0]


@pytest.fixture(scope="module")
def cookies(browser: Browser, console_demo: Demo) -> Any:
    """Sign in with the demo's link, and return the session cookies."""
    with browser.new_context() as context:
        page = context.new_page()
        sign_in(page, console_demo)
        return context.cookies()


def sign_in(page: Page, demo: Demo) -> None:
    """Open the demo's sign-in link, and sign in."""
    page.goto(demo.sign_in_url)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()


@pytest.fixture
def page(browser: Browser, console_url: str, cookies: Any) -> Iterator[Page]:
    """Open a console page in a new context with a session."""
    with browser.new_context(base_url=console_url) as context:
        context.set_default_timeout(PATIENCE_MS)
        context.add_cookies(cookies)
        yield context.new_page()


@pytest.fixture(scope="module")
def busy(browser: Browser, console_demo: Demo, console_url: str, cookies: Any) -> None:
    """Send requests with all keys, including an unusual path, and run `check`."""
    demo = console_demo
    paths = ["Cities", "Cities?order=name", "Products?values=typed", "Nowhere", quote(NASTY)]
    for key in (demo.full_key, demo.unfiltered_key, demo.read_only_key, "sgw_wrong"):
        for path in paths:
            headers = {"Authorization": f"Bearer {key}"}
            httpx2.get(f"{demo.url}/v2/sheets/{path}", headers=headers)
    with browser.new_context() as context:
        context.add_cookies(cookies)
        page = context.new_page()
        page.goto(console_url)
        page.get_by_role("button", name="Check settings").click()
        expect(page.get_by_text("keys: 3 not revoked")).to_be_visible()
        checked = page.get_by_text("Last check at").text_content()
        with page.expect_navigation():
            page.get_by_role("button", name="Check settings").click()
        assert page.get_by_text("Last check at").text_content() == checked


@pytest.fixture(scope="module")
def lasting_page(browser: Browser, demo: Demo) -> Iterator[Page]:
    """Open one page for tests that can share a page. Each test replaces the key."""
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(f"{demo.url}/docs")
        yield page


@pytest.fixture
def shared_page(lasting_page: Page) -> Iterator[Page]:
    """Return the shared page without routes and open operations of earlier tests."""
    yield lasting_page
    lasting_page.unroute_all()
    lasting_page.evaluate("history.replaceState(null, '', location.pathname)")


def _mark_loop(config: pytest.Config) -> None:
    loop = config.stash.get(_LOOP, None)
    if loop is not None:
        asyncio._set_running_loop(loop)


def _take_mark(config: pytest.Config) -> None:
    if _LOOP in config.stash:
        asyncio._set_running_loop(None)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest
) -> Generator[None, object, object]:
    building = request.config.stash.setdefault(_BUILDING_ON_IT, {"browser"})
    if building.intersection(fixturedef.argnames):
        building.add(fixturedef.argname)
        _mark_loop(request.config)
    try:
        return (yield)
    finally:
        _take_mark(request.config)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    if "browser" in getattr(item, "fixturenames", ()):
        _mark_loop(item.config)
    try:
        return (yield)
    finally:
        _take_mark(item.config)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    _mark_loop(item.config)
    try:
        return (yield)
    finally:
        _take_mark(item.config)
