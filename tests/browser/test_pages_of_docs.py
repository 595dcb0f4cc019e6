"""HTML pages of the documentation in a browser."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, FloatRect, Page, Route, expect

from gateway.commands.demo import Demo, running_demo
from gateway.server.sockets import bind
from tests.browser.files import served
from tests.docs.blocks import blocks_of, by_page, filled_in

BLOCKS = {page: block for page, (block,) in by_page(blocks_of("html")).items()}
TUTORIAL = "docs/tutorials/first-page.md"
FORM = "docs/how-to/public-form.md"
"""Page whose tests are in `test_forms`."""
CHART, SEARCH = "docs/how-to/charts.md", "docs/how-to/search-box.md"


@pytest.fixture
def demo() -> Iterator[Demo]:
    """Run a demo for each test, because the pages write."""
    with running_demo(bind("127.0.0.1", 0), {}) as running:
        yield running


def opened(context: BrowserContext, url: str) -> Page:
    page = context.new_page()
    page.goto(url)
    return page


def write_page(folder: Path, block: str, demo: Demo, *, key: str) -> None:
    meant = {"http://127.0.0.1:8000": demo.url, "sgw_…": key}
    (folder / "index.html").write_text(filled_in(BLOCKS[block].text, meant), "utf-8")


def test_each_page_has_a_test() -> None:
    """The documentation has exactly the HTML pages that these tests cover."""
    assert set(BLOCKS) == {TUTORIAL, FORM, CHART, SEARCH}


def test_the_first_page_reads_and_adds_rows(
    context: BrowserContext, demo: Demo, tmp_path: Path
) -> None:
    """The tutorial's page lists cities by population, and adds a city in row 12."""
    write_page(tmp_path, TUTORIAL, demo, key=demo.full_key)
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
    """The tutorial's page shows the message for a wrong key."""
    write_page(tmp_path, TUTORIAL, demo, key="sgw_wrong")
    with served(tmp_path) as url:
        page = opened(context, url)

        expect(page.get_by_role("status")).to_contain_text("key")


def test_the_chart_has_a_bar_for_each_city(
    context: BrowserContext, demo: Demo, tmp_path: Path
) -> None:
    """The chart has eight bars, sorted and in proportion, and all texts are within the picture."""
    write_page(tmp_path, CHART, demo, key=demo.read_only_key)
    with served(tmp_path) as url:
        page = opened(context, url)
        bars = page.locator("rect")
        expect(bars).to_have_count(8)
        widths = [float(bars.nth(at).get_attribute("width") or 0) for at in range(8)]
        picture = page.locator("svg").bounding_box()
        texts = [each.bounding_box() for each in page.locator("svg text").all()]

    assert widths == sorted(widths, reverse=True)
    assert round(widths[1] / widths[0], 3) == round(3898747 / 8804190, 3)
    assert picture is not None
    assert [box for box in texts if box and not _is_within(box, picture)] == []


def _is_within(box: FloatRect, outer: FloatRect) -> bool:
    ends = box["x"] + box["width"], outer["x"] + outer["width"]
    return box["x"] >= outer["x"] and ends[0] <= ends[1]


def test_the_chart_shows_the_message_of_an_error(
    context: BrowserContext, demo: Demo, tmp_path: Path
) -> None:
    """The chart page shows the message for a wrong key."""
    write_page(tmp_path, CHART, demo, key="sgw_wrong")
    with served(tmp_path) as url:
        page = opened(context, url)

        expect(page.get_by_role("status")).to_contain_text("key")


def test_the_search_box_finds_cities_with_one_request(
    context: BrowserContext, demo: Demo, tmp_path: Path
) -> None:
    """Letters typed quickly cause one search; fewer than two letters clear the list."""
    write_page(tmp_path, SEARCH, demo, key=demo.read_only_key)
    sent: list[str] = []
    context.on("request", lambda request: sent.append(request.url))
    with served(tmp_path) as url:
        page = opened(context, url)
        field, items = page.get_by_label("City"), page.get_by_role("listitem")
        field.press_sequentially("san")
        expect(items).to_have_text(
            ["San Antonio, Texas", "San Diego, California", "San Jose, California"]
        )
        field.fill('zz"}')
        expect(page.get_by_role("status")).to_have_text("Nothing found")
        field.fill("s")
        expect(page.get_by_role("status")).to_have_text("")

    assert len([each for each in sent if "/v2/sheets/" in each]) == 2


def test_an_older_answer_does_not_replace_a_newer_one(
    context: BrowserContext, demo: Demo, tmp_path: Path
) -> None:
    """A new search aborts the previous request, so that a late answer does not replace the list."""
    write_page(tmp_path, SEARCH, demo, key=demo.read_only_key)
    held: list[Route] = []
    failed: list[str] = []
    context.route("**/v2/sheets/Cities?*san*", lambda route: held.append(route))
    context.on("requestfailed", lambda request: failed.append(request.url))
    with served(tmp_path) as url:
        page = opened(context, url)
        field, items = page.get_by_label("City"), page.get_by_role("listitem")
        with page.expect_request("**/v2/sheets/Cities?*san*"):
            field.fill("san")
        field.fill("dal")
        expect(items).to_have_text(["Dallas, Texas"])

    assert len(held) == 1
    assert ["san" in each for each in failed] == [True]


def test_the_search_box_shows_the_message_of_an_error(
    context: BrowserContext, demo: Demo, tmp_path: Path
) -> None:
    """The search page shows the message for a wrong key."""
    write_page(tmp_path, SEARCH, demo, key="sgw_wrong")
    with served(tmp_path) as url:
        page = opened(context, url)
        page.get_by_label("City").fill("san")

        expect(page.get_by_role("status")).to_contain_text("key")
