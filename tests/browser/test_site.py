"""The documentation site in a browser: the search finds pages without another host."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser.files import served
from tests.browser.recorder import Recorder
from tests.docs.site import build, need_generator, prepare


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Build and serve the site, and yield its URL."""
    need_generator()
    folder = tmp_path_factory.mktemp("site")
    prepare(folder)
    assert build(folder).returncode == 0
    with served(folder / "site") as url:
        yield url


@pytest.mark.parametrize(
    ("words", "place"),
    [
        pytest.param("Idempotency-Key", "reference/api.html#idempotent-writes", id="header"),
        pytest.param("SheetTooLarge", "reference/errors.html#codes", id="error"),
    ],
)
def test_a_search_finds_the_page(
    context: BrowserContext, recorder: Recorder, site: str, words: str, place: str
) -> None:
    """Words entered in the search list the section, and a click opens it."""
    page, _, heading = place.partition("#")
    tab = context.new_page()
    tab.goto(f"{site}/index.html", wait_until="networkidle")
    tab.get_by_role("button", name="Search").first.click()
    tab.keyboard.type(words)
    tab.locator(f'a[role=option][href*="{page}"][href$="#{heading}"]').click()

    expect(tab.locator(f"#{heading}")).to_be_in_viewport()
    assert page in tab.url
    assert recorder.foreign(site) == []
