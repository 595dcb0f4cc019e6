"""Overview, usage and requests in a browser: empty and full, light and dark, on a phone."""

from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from gateway.commands.demo import Demo, running_demo
from gateway.server.sockets import bind
from tests.browser.accessibility import Scheme, faults
from tests.browser.recorder import Recorder

NASTY = "<img src='http://evil.example' onerror='document.title=1'>"
EMPTY = {name: f"/{name}" for name in ("", "usage", "requests", "requests?code=any")}
FULL = EMPTY | {
    "by day": "/usage?since=30d&by=sheet",
    "by code": "/usage?since=7d&by=code",
    "odd": f"/requests?key={quote(NASTY)}",
}


@pytest.fixture(scope="module")
def watched() -> Iterator[Demo]:
    with running_demo(bind("127.0.0.1", 0), {}) as running:
        yield running


@pytest.fixture(scope="module")
def cookies(browser: Browser, watched: Demo) -> Any:
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(watched.sign_in_url)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("heading", name="Overview")).to_be_visible()
        return context.cookies()


@pytest.fixture(scope="module")
def url(watched: Demo) -> str:
    return watched.sign_in_url.partition("/sign-in")[0]


@pytest.fixture(scope="module")
def busy(browser: Browser, watched: Demo, cookies: Any, url: str) -> None:
    """Requests of all keys, one of them with an odd path, and a check."""
    paths = ["/v2/sheets/Cities", "/v2/sheets/Products?values=typed", "/v2/sheets/Nowhere"]
    for key in (watched.full_key, watched.unfiltered_key, watched.read_only_key, "sgw_wrong"):
        for path in [*paths, "/v2/sheets/Cities?order=name", f"/v2/sheets/{quote(NASTY)}"]:
            connection = HTTPConnection(watched.url.removeprefix("http://"), timeout=30)
            connection.request("GET", path, headers={"Authorization": f"Bearer {key}"})
            connection.getresponse().read()
            connection.close()
    with browser.new_context() as context:
        context.add_cookies(cookies)
        page = context.new_page()
        page.goto(url)
        page.get_by_role("button", name="Check settings").click()
        expect(page.get_by_text("keys: 3 not revoked")).to_be_visible()
        checked = page.get_by_text("Last at").text_content()
        page.get_by_role("button", name="Check settings").click()
        page.reload()
        assert page.get_by_text("Last at").text_content() == checked


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_empty_pages_are_accessible_and_fit(
    browser: Browser, cookies: Any, url: str, axe: str, width: int, scheme: Scheme
) -> None:
    """axe finds nothing, no page is wider than the window, and a planted fault is found."""
    urls = {name: url + path for name, path in EMPTY.items()}

    found, planted = faults(browser, axe, urls, cookies=cookies, scheme=scheme, width=width)

    assert found == {}
    assert planted == ["color-contrast"]


@pytest.mark.usefixtures("busy")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_full_pages_are_accessible_and_fit(
    browser: Browser, cookies: Any, url: str, axe: str, width: int, scheme: Scheme
) -> None:
    """The same of pages with charts, tables and findings."""
    urls = {name: url + path for name, path in FULL.items()}

    found, _ = faults(browser, axe, urls, cookies=cookies, scheme=scheme, width=width)

    assert found == {}


@pytest.mark.usefixtures("busy")
@pytest.mark.parametrize("width", [400, 780, 900, 1024, 1280])
def test_accounts_and_worksheets_are_seen_whole(
    context: BrowserContext, cookies: Any, url: str, width: int
) -> None:
    """Neither table of the overview scrolls sideways."""
    context.add_cookies(cookies)
    page = context.new_page()
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(url)
    hidden = "each => each.scrollWidth - each.clientWidth"

    for name in ("Google", "Worksheets in memory"):
        assert page.get_by_role("region", name=name).evaluate(hidden) == 0


@pytest.mark.usefixtures("busy")
def test_texts_of_others_neither_run_nor_load(
    context: BrowserContext, recorder: Recorder, cookies: Any, url: str
) -> None:
    """No page sends a request elsewhere, or breaks its policy; a path is shown as it was sent."""
    context.add_cookies(cookies)
    page = context.new_page()
    titles = []
    for path in FULL.values():
        page.goto(url + path)
        titles.append(page.title())
    page.goto(f"{url}/requests")

    expect(page.get_by_text("%3Cimg").first).to_be_visible()
    assert recorder.foreign(url) == []
    assert recorder.violations() == []
    assert all(title.endswith("· Sheets gateway") for title in titles)


def test_two_clicks_lead_to_the_first_filtered_view(
    context: BrowserContext, cookies: Any, url: str
) -> None:
    """From the page after the sign-in: look at the rows, add a filter."""
    context.add_cookies(cookies)
    page = context.new_page()
    page.goto(url)
    page.get_by_role("link", name="Look at the rows").click()
    page.get_by_label("Value").fill("Chicago")
    page.get_by_role("button", name="Add filter").click()

    expect(page.get_by_text("1 of 1 row")).to_be_visible()


@pytest.mark.usefixtures("busy")
def test_usage_leads_to_the_requests_of_a_key(
    context: BrowserContext, cookies: Any, url: str
) -> None:
    """And a code of the table there to all requests that got it."""
    context.add_cookies(cookies)
    page = context.new_page()
    page.goto(f"{url}/usage")
    page.get_by_role("link", name="demo no filters").click()
    page.get_by_role("link", name="4034").first.click()

    expect(page.get_by_label("Code")).to_have_value("4034")
    expect(page.get_by_role("cell", name="demo no filters").first).to_be_visible()
