"""The home page in a browser: status, contrast and links to the documentation."""

from typing import Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from gateway.commands.demo import Demo
from tests.browser.contrast import least_contrast
from tests.browser.recorder import Recorder

LEGIBLE = 4.5
"""Minimum contrast of text in WCAG 2.2, 1.4.3."""


def test_the_home_page_says_that_the_gateway_is_healthy(
    context: BrowserContext, recorder: Recorder, demo: Demo
) -> None:
    """The home page says "Healthy", without foreign requests or console messages."""
    page = context.new_page()
    page.goto(f"{demo.url}/", wait_until="networkidle")

    expect(page.get_by_role("status")).to_have_text("Healthy: ready to serve.")
    assert page.title() == "Sheets gateway"
    assert recorder.complaints == []
    assert recorder.foreign(demo.url) == []


def test_the_home_page_links_to_the_documentation(
    context: BrowserContext, recorder: Recorder, demo: Demo
) -> None:
    """A link opens /docs, and a link there leads back to the home page."""
    page = context.new_page()
    page.goto(f"{demo.url}/")
    page.get_by_role("link", name="Documentation").click()
    expect(page).to_have_title("Documentation - Sheets gateway")
    at = page.url
    page.get_by_role("link", name="Sheets gateway").click()

    assert at == f"{demo.url}/docs"
    expect(page.get_by_role("status")).to_be_visible()


def test_the_home_page_links_to_the_api_document(context: BrowserContext, demo: Demo) -> None:
    """A link opens `/openapi.json`."""
    page = context.new_page()
    page.goto(f"{demo.url}/")
    with page.expect_response(f"{demo.url}/openapi.json") as answer:
        page.get_by_role("link", name="openapi.json").click()

    assert answer.value.status == 200
    assert answer.value.json()["openapi"].startswith("3.1")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["/", "/docs"])
def test_text_has_the_required_contrast(
    browser: Browser, demo: Demo, path: str, scheme: Literal["light", "dark"]
) -> None:
    """All text on the home page and /docs has the required contrast in light and dark."""
    with browser.new_context(color_scheme=scheme) as context:
        page = context.new_page()
        page.goto(demo.url + path, wait_until="networkidle")

        assert least_contrast(page, ".page") >= LEGIBLE


@pytest.mark.parametrize("path", ["/", "/docs"])
def test_pages_fit_a_phone(browser: Browser, demo: Demo, path: str) -> None:
    """The home page and /docs do not scroll sideways at a width of 400 pixels."""
    with browser.new_context(viewport={"width": 400, "height": 800}) as context:
        page = context.new_page()
        page.goto(demo.url + path, wait_until="networkidle")

        assert page.evaluate("document.documentElement.scrollWidth") == 400
