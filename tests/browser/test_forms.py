"""The documentation's HTML form in a browser without JavaScript."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from gateway.storage.key_store import Grants, KeyRequest
from gateway.table.header import ColumnGrant
from tests.browser.conftest import PATIENCE_MS
from tests.browser.contrast import least_contrast
from tests.browser.files import served
from tests.browser.test_pages_of_docs import BLOCKS, FORM
from tests.docs.blocks import filled_in
from tests.journeys.conftest import Api, make_keys, running_emulator, running_gateways

ORDERS = {"shop": {"Orders": "order,customer,state\nA-1,Ada,open\n"}}
THANKS = "<!doctype html><title>Thanks</title><h1>Thanks for your order</h1>"


@dataclass(frozen=True)
class Site:
    """Static site, and the gateway that its form posts to."""

    url: str
    folder: Path
    api: Api

    def write(self, *changes: tuple[str, str]) -> None:
        """Write the page of the documentation with these replacements."""
        meant = {
            "http://127.0.0.1:8000": self.api.url,
            "https://www.example.org": self.url,
            "sgw_…": self.api.keys["form"],
        }
        text = filled_in(BLOCKS[FORM].text, meant)
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        (self.folder / "index.html").write_text(text, "utf-8")

    def rows(self) -> list[list[str]]:
        return self.api.emulator.texts("Orders", "shop")[2:]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "thanks.html").write_text(THANKS, "utf-8")
    with served(folder) as url, running_emulator(tmp_path / "emulator", ORDERS) as emulator:
        grants = Grants(
            spreadsheets=frozenset({"shop"}),
            columns=ColumnGrant(frozenset({"customer", "state"})),
            may_read=False,
            may_update=False,
            origins=frozenset({url}),
        )
        keys = make_keys(tmp_path, {"form": KeyRequest(name="form", grants=grants)})
        with running_gateways(emulator, keys) as start:
            site = Site(url, folder, start({"forms.per_address_per_minute": 100}))
            site.write()
            yield site


@pytest.fixture
def page(browser: Browser, site: Site) -> Iterator[Page]:
    """Open a page without JavaScript. Its connections close before `site` ends."""
    with browser.new_context(java_script_enabled=False) as context:
        context.set_default_timeout(PATIENCE_MS)
        yield context.new_page()


GRACE = ["", "Grace", "blue\nlarge"]


def fill_in(page: Page, site: Site) -> Locator:
    """Fill in the form, and return its button."""
    page.goto(f"{site.url}/")
    page.get_by_label("Your name").fill("Grace")
    page.get_by_label("Notes").fill("blue\nlarge")
    return page.get_by_role("button", name="Order")


def test_a_form_creates_a_row_and_redirects(page: Page, site: Site) -> None:
    """Submitting the form creates a row with its line break, and redirects to `_next`."""
    fill_in(page, site).click()

    expect(page).to_have_url(f"{site.url}/thanks.html")
    expect(page.get_by_role("heading")).to_have_text("Thanks for your order")
    assert site.rows() == [GRACE]


def test_without_a_next_page_the_gateway_shows_thanks(page: Page, site: Site) -> None:
    """Without `_next` the gateway shows a page with a link back, also for multipart forms."""
    hidden = f'<input type="hidden" name="_next" value="{site.url}/thanks.html">'
    site.write((hidden, ""), ('method="post"', 'method="post" enctype="multipart/form-data"'))
    fill_in(page, site).click()
    expect(page.get_by_role("heading")).to_have_text("Thank you")
    page.get_by_role("link", name="Back to the page").click()

    expect(page).to_have_url(f"{site.url}/")
    assert site.rows() == [GRACE]


def test_a_double_click_creates_one_row(page: Page, site: Site) -> None:
    """Submitting the form twice creates one row and redirects normally."""
    fill_in(page, site).dblclick()
    expect(page).to_have_url(f"{site.url}/thanks.html")
    fill_in(page, site).click()
    expect(page).to_have_url(f"{site.url}/thanks.html")

    assert site.rows() == [GRACE]


def test_a_bot_that_fills_in_all_fields_stores_nothing(page: Page, site: Site) -> None:
    """A form with the hidden field `_gotcha` filled in redirects normally but creates no row."""
    site.write(('name="_gotcha"', 'name="_gotcha" value="x"'))
    button = fill_in(page, site)
    expect(page.get_by_label("Leave this empty")).to_be_hidden()
    button.click()

    expect(page).to_have_url(f"{site.url}/thanks.html")
    assert site.rows() == []


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        pytest.param(
            'name="state"', 'name="sate"', "sate: The key cannot write this field", id="field"
        ),
        pytest.param("/thanks.html", ".evil.example/", "must be an absolute URL", id="next page"),
        pytest.param(
            '<form method="post"',
            '<input form="f" type="file" name="order">'
            '<form id="f" method="post" enctype="multipart/form-data"',
            "cells cannot hold files",
            id="file",
        ),
        pytest.param(
            '<meta charset="utf-8">',
            '<meta charset="utf-8"><meta name="referrer" content="no-referrer">',
            "pages of this origin",
            id="no origin",
        ),
    ],
)
def test_an_error_is_a_page(page: Page, site: Site, old: str, new: str, words: str) -> None:
    """An error shows a page with the reason, and the Back button keeps the form's input."""
    site.write((old, new))
    fill_in(page, site).click()
    expect(page.get_by_role("heading")).to_have_text("Your form was not stored")
    expect(page.locator("main")).to_contain_text(words)
    page.go_back()

    expect(page.get_by_label("Your name")).to_have_value("Grace")
    assert site.rows() == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_error_page_is_legible(
    browser: Browser, site: Site, scheme: Literal["light", "dark"]
) -> None:
    """The error page has sufficient contrast in light and dark, and fits 320 pixels."""
    site.write(('name="state"', 'name="sate"'))
    with browser.new_context(
        color_scheme=scheme, viewport={"width": 320, "height": 640}
    ) as context:
        page = context.new_page()
        fill_in(page, site).click()
        expect(page.get_by_role("alert")).to_be_visible()
        look = "getComputedStyle(document.body).backgroundColor"
        background = page.evaluate(look)

        assert background == {"light": "rgb(255, 255, 255)", "dark": "rgb(28, 32, 34)"}[scheme]
        assert least_contrast(page, "main") >= 4.5
        assert page.evaluate("document.documentElement.scrollWidth") == 320
