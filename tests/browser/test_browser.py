"""The browser reaches only this machine and does not affect other tests."""

import asyncio

import pytest
from playwright.sync_api import BrowserContext, Error, Page


async def answer() -> str:
    """Return a result from a coroutine."""
    await asyncio.sleep(0)
    return "ran"


@pytest.fixture(scope="session")
def run_for_all() -> str:
    """Run an event loop in a session fixture."""
    return asyncio.run(answer())


@pytest.fixture
def page(context: BrowserContext) -> Page:
    """Return an empty page after one use."""
    page = context.new_page()
    page.title()
    return page


@pytest.fixture
def run_after_the_page(request: pytest.FixtureRequest) -> str:
    """Run an event loop in a fixture that is created after a page was used."""
    request.getfixturevalue("page")
    return asyncio.run(answer())


def test_external_host_names_do_not_resolve(page: Page) -> None:
    """The browser cannot resolve external host names."""
    with pytest.raises(Error, match="ERR_NAME_NOT_RESOLVED"):
        page.goto("http://example.org/")


def test_fixtures_run_event_loops_with_an_open_browser(
    run_for_all: str, page: Page, run_after_the_page: str
) -> None:
    """Fixtures can run a coroutine before and after a use of the browser."""
    page.set_content("<title>still there</title>")

    assert [run_for_all, run_after_the_page] == ["ran", "ran"]
    assert page.title() == "still there"


async def test_coroutines_are_tested_after_the_browser_was_used() -> None:
    """An async test runs after an earlier test used the browser."""
    assert await answer() == "ran"
