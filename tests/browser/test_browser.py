"""The browser of these tests reaches this machine only, and does not affect other tests."""

import asyncio

import pytest
from playwright.sync_api import BrowserContext, Error, Page


async def answer() -> str:
    """The result of a coroutine."""
    await asyncio.sleep(0)
    return "ran"


@pytest.fixture(scope="session")
def run_for_all() -> str:
    """A loop run by a fixture of the whole session."""
    return asyncio.run(answer())


@pytest.fixture
def page(context: BrowserContext) -> Page:
    """An empty page that was used."""
    page = context.new_page()
    page.title()
    return page


@pytest.fixture
def run_after_the_page(request: pytest.FixtureRequest) -> str:
    """A loop run by a fixture that is made after a page was used."""
    request.getfixturevalue("page")
    return asyncio.run(answer())


def test_no_name_of_the_outside_is_looked_up(page: Page) -> None:
    """The browser reaches this machine only."""
    with pytest.raises(Error, match="ERR_NAME_NOT_RESOLVED"):
        page.goto("http://example.org/")


def test_fixtures_run_loops_beside_the_browser(
    run_for_all: str, page: Page, run_after_the_page: str
) -> None:
    """A fixture may run a coroutine after any use of the browser."""
    page.set_content("<title>still there</title>")

    assert [run_for_all, run_after_the_page] == ["ran", "ran"]
    assert page.title() == "still there"


async def test_coroutines_are_tested_after_the_browser_was_used() -> None:
    """A test that comes later runs a loop."""
    assert await answer() == "ran"
