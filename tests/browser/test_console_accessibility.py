"""Accessibility of all console pages with axe-core, in light and dark, wide and narrow.

Rules: one browser page visits the pages in the order of the tables. The overview without requests
comes first, and the pages of a key follow from each other.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import methodcaller
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from gateway.commands.demo import SAMPLE
from tests.browser.accessibility import faults
from tests.browser.conftest import PATIENCE_MS
from tests.browser.test_console import NASTY_BOOK, PAGES
from tests.browser.test_console_keys import click, field
from tests.browser.test_console_overview import EMPTY, FULL

Step = Callable[[Page], object]

LONG = "a-name-without-a-blank-" * 8


@pytest.fixture(scope="module")
def book() -> Mapping[str, str]:
    """Return the sample workbook and worksheets with HTML texts."""
    sample = {path.stem: path.read_text("utf-8") for path in (SAMPLE / "demo").glob("*.csv")}
    return {**sample, **NASTY_BOOK}


@pytest.fixture(scope="module")
def console(browser: Browser, console_url: str, cookies: Any) -> Iterator[Page]:
    with browser.new_context(base_url=console_url, bypass_csp=True) as context:
        context.set_default_timeout(PATIENCE_MS)
        context.add_cookies(cookies)
        yield context.new_page()


def refused_key(page: Page) -> None:
    field(page, "Name").fill(LONG)
    field(page, "Spreadsheets").fill("demo")
    field(page, "Origins").fill("no-origin")
    field(page, "Page after a form").fill("/")
    click(page, "Make key")


def secret(page: Page) -> None:
    field(page, "Origins").fill("")
    field(page, "Page after a form").fill("")
    click(page, "Make key")


def conflict(page: Page) -> None:
    page.locator("[name=tag]").evaluate("each => { each.value = 'stale' }")
    field(page, "read").uncheck()
    field(page, "Origins").fill("https://www.example.org")
    click(page, "Save")


def two_secrets(page: Page) -> None:
    click(page, "Make another secret")
    page.get_by_role("link", name="Done").click()


def revoked(page: Page) -> None:
    page.get_by_role("link", name=LONG, exact=True).first.click()
    page.get_by_text("Revoke key").click()
    click(page, "for good")


def paths(pages: Mapping[str, str]) -> Mapping[str, Step]:
    """Return steps that open pages by their paths."""
    return {name: methodcaller("goto", path) for name, path in pages.items()}


STEPS: Mapping[str, Mapping[str, Step]] = {
    "before requests": paths(EMPTY),
    "rows": paths(PAGES),
    "a key": {
        **paths({"new": "/keys/new"}),
        "refused": refused_key,
        "secret": secret,
        "made": lambda page: page.get_by_role("link", name="Done").click(),
        "conflict": conflict,
        "two secrets": two_secrets,
        **paths({"list": "/keys"}),
        "revoked": revoked,
    },
}


def found(page: Page, axe: str, steps: Mapping[str, Step]) -> Mapping[str, object]:
    """Return the violations of each page that has any."""
    faulty = {}
    for name, step in steps.items():
        step(page)
        if those := faults(page, axe):
            faulty[name] = those
    return faulty


@pytest.mark.parametrize("steps", STEPS.values(), ids=list(STEPS))
def test_pages_are_accessible_and_fit(console: Page, axe: str, steps: Mapping[str, Step]) -> None:
    """axe-core finds no violation, and no page is wider than the window."""
    assert found(console, axe, steps) == {}


@pytest.mark.usefixtures("busy")
def test_pages_of_use_are_accessible_and_fit(console: Page, axe: str) -> None:
    """Pages with charts, tables and findings have no violation and fit the window."""
    assert found(console, axe, paths(FULL)) == {}


@pytest.mark.parametrize(
    ("planted", "expected"),
    [
        pytest.param(
            "<style>@media (prefers-color-scheme: dark) {h1 {color: #333 !important}}</style>",
            ["1280 dark: color-contrast", "400 dark: color-contrast"],
            id="a color in the dark",
        ),
        pytest.param(
            "<style>@media (width < 500px) {h1 {color: #ccc !important}}</style>",
            ["400 light: color-contrast"],
            id="a color on a phone",
        ),
        pytest.param(
            "<details>Text<input></details>",
            ["1280 light: label", "400 light: label"],
            id="no label, in details",
        ),
        pytest.param("<p style='width: 900px'>Wide</p>", ["400: too wide"], id="too wide"),
    ],
)
def test_a_fault_is_found(console: Page, axe: str, planted: str, expected: Sequence[str]) -> None:
    """A planted violation of contrast, labels or width is reported with width and color scheme."""
    console.goto("/")
    console.evaluate(f"document.querySelector('main').innerHTML += {json.dumps(planted)}")

    assert faults(console, axe) == expected
