"""Overview, usage and requests in a browser, after requests with all keys."""

from collections.abc import Mapping
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NASTY
from tests.browser.recorder import record

EMPTY: Mapping[str, str] = {
    "overview": "/",
    "usage": "/usage",
    "requests": "/requests",
    "errors": "/requests?code=any",
}
FULL: Mapping[str, str] = {
    **EMPTY,
    "by day": "/usage?since=30d&by=sheet",
    "by code": "/usage?since=7d&by=code",
    "odd": f"/requests?key={quote(NASTY)}",
}

pytestmark = pytest.mark.usefixtures("busy")


def test_tables_of_the_overview_fit_the_window(page: Page) -> None:
    """The tables of accounts and worksheets do not scroll sideways at any width."""
    page.goto("/")
    page.locator(".meter b").evaluate_all("all => all.forEach(each => each.textContent = '60')")
    google = page.get_by_role("region", name="Google")
    google.locator("td.number").evaluate_all("all => all.forEach(each => each.textContent = '100')")
    tables = [page.get_by_role("region", name=name) for name in ("Google", "Worksheets in memory")]
    hidden = {}
    for width in (400, 780, 900, 1024, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        hidden[width] = [
            each.evaluate("each => each.scrollWidth - each.clientWidth") for each in tables
        ]

    assert hidden == {width: [0, 0] for width in hidden}


def test_user_texts_neither_run_nor_load(page: Page, console_url: str) -> None:
    """Pages with HTML in paths send no foreign request and break no policy."""
    recorder = record(page.context)
    titles = []
    for path in FULL.values():
        page.goto(path)
        titles.append(page.title())
    page.goto("/requests")

    expect(page.get_by_text("%3Cimg").first).to_be_visible()
    assert recorder.foreign(console_url) == []
    assert recorder.violations() == []
    assert all(title.endswith("· Sheets gateway") for title in titles)


def test_two_clicks_lead_to_a_filtered_view(page: Page) -> None:
    """From the overview, a link to the rows and one filter form show the filtered rows."""
    page.goto("/")
    page.get_by_role("link", name="Look at the rows").click()
    page.get_by_label("Value").fill("Chicago")
    page.get_by_role("button", name="Add filter").click()

    expect(page.get_by_text("1 of 1 row")).to_be_visible()


def test_usage_leads_to_the_requests_of_a_key(page: Page) -> None:
    """A key in the usage table links to its requests, and a code links to requests with
    this code.
    """
    page.goto("/usage")
    page.get_by_role("link", name="demo no filters").click()
    page.get_by_role("link", name="4034").first.click()

    expect(page.get_by_label("Code")).to_have_value("4034")
    expect(page.get_by_role("cell", name="demo no filters").first).to_be_visible()


def test_each_level_of_a_finding_fits_one_line(page: Page) -> None:
    """The levels of findings have no box, and each level is in one line."""
    page.goto("/")
    levels = page.locator(".findings .level")
    shapes = {}
    for level in ("ok", "warning", "problem"):
        levels.first.evaluate(
            "(each, level) => { each.className = `level ${level}`; each.textContent = level }",
            level,
        )
        shapes[level] = levels.first.evaluate(
            "each => [each.scrollHeight, getComputedStyle(each).borderTopWidth]"
        )

    assert levels.count() > 1
    assert shapes == dict.fromkeys(shapes, shapes["ok"])
