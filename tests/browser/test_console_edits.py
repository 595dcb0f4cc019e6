"""Rows in the console during changes by others, an ended session, and failures of Google."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import httpx2
import pytest
from playwright.sync_api import BrowserContext, Page, expect

from gateway.commands.demo import Demo, running_demo
from gateway.server.sockets import bind
from tests.browser.conftest import sign_in

MANY = 10_000


@pytest.fixture(scope="module")
def book() -> Mapping[str, str]:
    """Return a worksheet to edit and a long worksheet."""
    return {
        "Places": "name,state\nRome,old\nOslo,old\nBern,old\n",
        "Many": "n\n" + "".join(f"{n}\n" for n in range(MANY)),
    }


def change(demo: Demo, row: int, state: str) -> None:
    """Update a row through the API, as another user would."""
    answer = httpx2.patch(
        f"{demo.url}/v2/sheets/Places/{row}",
        headers={"API-Key": demo.full_key, "X-Spreadsheet-Id": "demo"},
        json={"state": state},
    )
    assert answer.status_code == 200


def test_a_conflicting_save_is_shown_and_can_be_repeated(page: Page, console_demo: Demo) -> None:
    """After another user's change the form shows both values; a second save overwrites
    the new value.
    """
    page.goto("/data/row?sheet=Places&row=2")
    page.get_by_label("state text").fill("mine")
    change(console_demo, 2, "theirs")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("nothing was saved")
    expect(page.get_by_text("In the sheet now: theirs")).to_be_visible()
    expect(page.get_by_label("state text")).to_have_value("mine")
    page.get_by_role("button", name="Save").click()

    expect(page.get_by_role("status")).to_have_text("Row 2 saved.")
    expect(page.get_by_role("row").nth(1)).to_contain_text("mine")


def test_a_second_tab_cannot_overwrite_the_first(page: Page) -> None:
    """If two tabs edit a row, the second save shows a conflict and keeps its input."""
    other = page.context.new_page()
    for each, text in ((page, "first"), (other, "second")):
        each.goto("/data/row?sheet=Places&row=3")
        each.get_by_label("state text").fill(text)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status")).to_have_text("Row 3 saved.")
    other.get_by_role("button", name="Save").click()

    expect(other.get_by_text("In the sheet now: first")).to_be_visible()
    expect(other.get_by_label("state text")).to_have_value("second")


def test_a_session_that_ends_during_an_edit_loses_no_input(page: Page, cookies: Any) -> None:
    """After the session ended, the form can be sent again after a sign-in in another tab."""
    page.goto("/data/row?sheet=Places&row=4")
    page.get_by_label("state text").fill("new <&> text")
    page.context.clear_cookies()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="Your session has ended")).to_be_visible()
    expect(page.get_by_role("alert")).to_contain_text("Nothing was written")
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="Sign in").click()
    expect(opened.value.get_by_label("Admin key or sign-in token")).to_be_visible()
    page.context.add_cookies(cookies)
    page.get_by_role("button", name="Send again").click()

    expect(page.get_by_role("status")).to_have_text("Row 4 saved.")
    expect(page.get_by_role("row").nth(3)).to_contain_text("new <&> text")


def test_many_rows_are_paged_and_the_back_button_returns(page: Page) -> None:
    """Pages of 10,000 rows have URLs, so that the Back button returns to the first page."""
    page.goto("/data?sheet=Many")
    expect(page.get_by_text(f"of {MANY:,} rows")).to_be_visible()
    first = page.get_by_role("row").nth(1).inner_text()
    starts = [first]
    for _ in range(3):
        page.get_by_role("link", name="Next page").click()
        expect(page.get_by_role("row").nth(1)).not_to_have_text(starts[-1])
        starts.append(page.get_by_role("row").nth(1).inner_text())
    numbers = [int(each.split()[0]) for each in starts]
    for _ in range(3):
        page.go_back()

    assert {after - before for before, after in pairwise(numbers)} == {numbers[1] - 2}
    expect(page.get_by_role("row").nth(1)).to_have_text(first)


@pytest.fixture(scope="module", params=[429, 503], ids=["quota spent", "Google down"])
def cold(request: pytest.FixtureRequest) -> Iterator[tuple[Demo, int]]:
    """Run a demo without cached rows, and return Google's error status."""
    with running_demo(bind("127.0.0.1", 0), {}) as demo:
        yield demo, request.param


def test_an_error_of_google_is_shown(cold: tuple[Demo, int], context: BrowserContext) -> None:
    """A page without cached rows shows Google's error with the navigation, and works
    again afterwards.
    """
    demo, status = cold
    faults = f"{demo.emulator_url}/_emulator/faults"
    page = context.new_page()
    sign_in(page, demo)
    httpx2.post(faults, json=[{"call": "*", "status": status, "times": 50}])
    page.goto(f"{demo.sign_in_url.partition('/sign-in')[0]}/data?sheet=Cities")
    expect(page.get_by_role("alert")).to_contain_text("quota" if status == 429 else "Google")
    expect(page.get_by_role("navigation", name="Console")).to_be_visible()
    httpx2.post(faults, json=[])
    for _ in range(20):
        if page.get_by_text("10 of 10 rows").is_visible():
            break
        page.wait_for_timeout(1000)
        page.reload()

    expect(page.get_by_text("10 of 10 rows")).to_be_visible()
