"""The pages of HTML in the docs do what the docs say, in a browser."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from gateway.commands.demo import Demo, running_demo
from gateway.server.sockets import bind
from tests.browser.files import served
from tests.docs.blocks import blocks_of, by_page, filled_in

BLOCKS = {page: block for page, (block,) in by_page(blocks_of("html")).items()}
TUTORIAL, FORM = "docs/tutorials/first-page.md", "docs/how-to/public-form.md"


@pytest.fixture
def demo() -> Iterator[Demo]:
    """A demo of its own for each test: the pages write."""
    with running_demo(bind("127.0.0.1", 0), {}) as running:
        yield running


def opened(context: BrowserContext, url: str) -> Page:
    page = context.new_page()
    page.goto(url)
    return page


def write_page(folder: Path, block: str, demo: Demo, *, key: str) -> None:
    meant = {"http://127.0.0.1:8000": demo.url, "sgw_…": key}
    (folder / "index.html").write_text(filled_in(BLOCKS[block].text, meant), "utf-8")


def test_these_are_all_pages() -> None:
    """Each has a test below."""
    assert set(BLOCKS) == {TUTORIAL, FORM}


def test_the_first_page_reads_and_adds_rows(
    context: BrowserContext, demo: Demo, tmp_path: Path
) -> None:
    """Ten cities, the largest first; the new one is in row 12 and at the end of the list."""
    write_page(tmp_path, TUTORIAL, demo, key=demo.paid_key)
    with served(tmp_path) as url:
        page = opened(context, url)
        items = page.get_by_role("listitem")
        expect(items).to_have_count(10)
        expect(items.first).to_have_text("New York: 8804190")
        page.get_by_label("Name").fill("Austin")
        page.get_by_label("Population").fill("961855")
        page.get_by_role("button", name="Add").click()

        expect(page.get_by_role("status")).to_have_text("Added in row 12")
        expect(items.last).to_have_text("Austin: 961855")


def test_the_first_page_shows_the_message_of_an_error(
    context: BrowserContext, demo: Demo, tmp_path: Path
) -> None:
    """A wrong key is reported in words."""
    write_page(tmp_path, TUTORIAL, demo, key="sgw_wrong")
    with served(tmp_path) as url:
        page = opened(context, url)

        expect(page.get_by_role("status")).to_contain_text("key")


def test_the_form_sends_its_fields_and_an_id(
    context: BrowserContext, demo: Demo, tmp_path: Path
) -> None:
    """The browser posts them to the page's own server; there is no key in the page."""
    write_page(tmp_path, FORM, demo, key="")
    with served(tmp_path) as url:
        page = opened(context, url)
        page.get_by_label("Your name").fill("Grace")
        with page.expect_request("**/orders") as sent:
            page.get_by_role("button", name="Order").click()

    assert sent.value.method == "POST"
    fields = dict(each.split("=") for each in (sent.value.post_data or "").split("&"))
    assert fields["customer"] == "Grace"
    assert len(fields["id"]) == 36
    assert "sgw_" not in BLOCKS[FORM].text
