"""A browser for tests of pages: headless, and without a way to any machine but this one.

Rules: Playwright's plain API runs an event loop of its own in this thread, and leaves it marked as
the running one between its calls; whoever else wants a loop is refused then. So the mark stands
only while a test that has the browser runs or ends, and while a fixture that builds on the browser
is made. Fixtures of session scope cannot build on it; all others can, and all may run loops.
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
"""How long a page may take for one thing, also on a machine with much else to do."""

NASTY = "<img src='http://evil.example' onerror='document.title=1'>"
"""A text that is shown as it is, of a cell, a field or a path."""

_LOOP = pytest.StashKey[asyncio.AbstractEventLoop]()
_BUILDING_ON_IT = pytest.StashKey[set[str]]()
"""The names of the browser and of the fixtures that build on it."""


@pytest.fixture(scope="session")
def browser(pytestconfig: pytest.Config) -> Iterator[Browser]:
    """One Chromium for all tests; each makes a context of its own."""
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
    """A profile of its own for a test."""
    with browser.new_context() as opened:
        opened.set_default_timeout(PATIENCE_MS)
        yield opened


@pytest.fixture
def recorder(context: BrowserContext) -> Recorder:
    """Requests and complaints of the pages in the test's context."""
    return record(context)


@pytest.fixture(scope="package")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The text of axe-core."""
    return axe_source(tmp_path_factory.mktemp("axe"))


@pytest.fixture(scope="package")
def demo() -> Iterator[Demo]:
    """A gateway on an emulator with the sample workbook, for tests that write nothing."""
    with running_demo(bind("127.0.0.1", 0), {}) as running:
        yield running


@pytest.fixture(scope="module")
def book() -> Mapping[str, str] | None:
    """The CSV texts of the console's worksheets by title; None: the sample workbook."""
    return None


@pytest.fixture(scope="module")
def console_demo(
    book: Mapping[str, str] | None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Demo]:
    """A demo of the module's own, for tests that write or change keys."""
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
    """The session that the link of the demo begins."""
    with browser.new_context() as context:
        page = context.new_page()
        sign_in(page, console_demo)
        return context.cookies()


def sign_in(page: Page, demo: Demo) -> None:
    """Follow the link of the demo."""
    page.goto(demo.sign_in_url)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()


@pytest.fixture
def page(browser: Browser, console_url: str, cookies: Any) -> Iterator[Page]:
    """A page of the console in a profile of its own, signed in."""
    with browser.new_context(base_url=console_url) as context:
        context.set_default_timeout(PATIENCE_MS)
        context.add_cookies(cookies)
        yield context.new_page()


@pytest.fixture(scope="module")
def busy(browser: Browser, console_demo: Demo, console_url: str, cookies: Any) -> None:
    """Requests of all keys, one of them with an odd path, and a check."""
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
    """One page for all tests that need none of their own: each key begins it anew."""
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(f"{demo.url}/docs")
        yield page


@pytest.fixture
def shared_page(lasting_page: Page) -> Iterator[Page]:
    """That page; no test finds a route or an unfolded operation of another."""
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
