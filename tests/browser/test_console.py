"""The console in a browser: keyboard only, without JavaScript, and with HTML in cells."""

from collections.abc import Mapping
from typing import Any

import pytest
from playwright.sync_api import Browser, Dialog, Page, expect

from gateway.commands.demo import Demo
from tests.browser.conftest import NASTY
from tests.browser.recorder import record

_CSV = (
    "name,visited,visitors,open,{nasty}\n"
    "Rome,2026-02-01,12,TRUE,{nasty}\n"
    "Oslo,2026-03-01,7,FALSE,\n"
)
NASTY_BOOK: Mapping[str, str] = {
    "Places": _CSV.replace("{nasty}", NASTY),
    "<img src=x onerror=alert(1)>": "a\n1\n",
}
"""Worksheets with HTML as field, cell and title."""


@pytest.fixture(scope="module")
def book() -> Mapping[str, str]:
    return NASTY_BOOK


PAGES: Mapping[str, str] = {
    "sign-in": "/sign-in",
    "rows": "/data?sheet=Places",
    "filtered": "/data?sheet=Places&where=%7B%22name%22%3A%22Rome%22%7D&order=name",
    "nothing": "/data?sheet=Places&where=%7B%22name%22%3A%22Nowhere%22%7D",
    "refused": "/data?sheet=Places&where=%7B",
    "row": "/data/row?sheet=Places&row=2",
    "new row": "/data/row?sheet=Places",
    "keys": "/keys",
    "error": "/nowhere",
}


def test_a_link_starts_one_session(page: Page, console_demo: Demo) -> None:
    """The token of a sign-in link is removed from the URL, and a second sign-in with it fails."""
    page.goto(console_demo.sign_in_url)
    assert "#" not in page.url
    page.get_by_role("button", name="Sign in").click()

    expect(page.get_by_role("alert")).to_contain_text("a link works once")


def test_user_texts_neither_run_nor_load(page: Page, console_url: str) -> None:
    """Pages with HTML in cells send no foreign request, break no policy and open no dialog."""
    recorder = record(page.context)
    dialogs: list[str] = []

    def dismiss(dialog: Dialog) -> None:
        dialogs.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", dismiss)
    titles = []
    for path in [*PAGES.values(), "/data?sheet=%3Cimg+src%3Dx+onerror%3Dalert(1)%3E"]:
        page.goto(path)
        titles.append(page.title())

    assert recorder.foreign(console_url) == []
    assert recorder.violations() == []
    assert dialogs == []
    assert all(title.endswith("· Sheets gateway") for title in titles)


def test_rows_are_edited_with_the_keyboard_only(page: Page) -> None:
    """Filter, open, edit, save, create and delete work with the keyboard, and the grid
    shows each result.
    """
    page.goto("/data?sheet=Places")
    page.get_by_label("Condition").focus()
    page.keyboard.type("is not")
    page.keyboard.press("Tab")
    page.keyboard.type("Oslo")
    page.keyboard.press("Enter")
    expect(page.get_by_text("1 of 1 row")).to_be_visible()
    page.get_by_label("Open row 2").press("Enter")
    expect(page.get_by_label("visited date")).to_have_value("2026-02-01")
    expect(page.get_by_label("open boolean")).to_be_checked()
    page.get_by_label("visitors number").fill("13")
    page.get_by_label("open boolean").press("Space")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_have_text("Row 2 saved.")
    expect(page.get_by_role("row").nth(1)).to_contain_text("13")
    expect(page.get_by_role("row").nth(1)).to_contain_text("FALSE")
    page.get_by_role("link", name="New row").press("Enter")
    page.get_by_label("name text").fill("Bern")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_have_text("Row 4 created.")
    page.get_by_label("Open row 4").press("Enter")
    page.get_by_text("Delete row", exact=True).press("Enter")
    page.get_by_role("button", name="Delete row 4 for good").press("Enter")
    expect(page.get_by_role("status")).to_have_text("Row 4 deleted.")


def test_pages_work_without_javascript(browser: Browser, cookies: Any, console_url: str) -> None:
    """Without JavaScript the Data page works, only without copy buttons."""
    with browser.new_context(java_script_enabled=False) as context:
        context.add_cookies(cookies)
        page = context.new_page()
        page.goto(f"{console_url}/data?sheet=Places")
        page.get_by_role("link", name="name").first.click()
        expect(page.get_by_role("columnheader", name="name").first).to_have_attribute(
            "aria-sort", "ascending"
        )
        page.get_by_text("Copy as code").click()
        expect(page.get_by_text("curl -G")).to_be_visible()
        assert page.get_by_role("button", name="Copy").count() == 0


_IS_SEEN = """each => {
  const box = each.getBoundingClientRect();
  return each === document.elementFromPoint((box.left + box.right) / 2, (box.top + box.bottom) / 2);
}"""


@pytest.mark.parametrize("place", ["beforebegin", "afterend"])
def test_the_tab_of_the_open_worksheet_stays_visible(page: Page, place: str) -> None:
    """On a narrow screen, tabs before or after the open worksheet hide neither its tab nor a tab
    with the focus.
    """
    page.set_viewport_size({"width": 375, "height": 800})
    page.goto("/data?sheet=Places")
    strip = page.get_by_role("navigation", name="Worksheets")
    chosen = strip.locator("[aria-current]")
    tab = "<a href='#'>A long title</a>"
    chosen.evaluate(
        "(each, [place, tabs]) => each.insertAdjacentHTML(place, tabs)", [place, tab * 9]
    )
    seen = [chosen.evaluate(_IS_SEEN)]
    for other in strip.get_by_role("link").all():
        other.focus()
        seen += [chosen.evaluate(_IS_SEEN), other.evaluate(_IS_SEEN)]

    assert seen == [True] * len(seen)
    assert strip.evaluate("each => each.scrollWidth > 2 * each.clientWidth")


def test_code_is_copied(page: Page) -> None:
    """The copy button puts the shown code on the clipboard."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(PAGES["filtered"])
    page.get_by_text("Copy as code").click()
    page.get_by_role("button", name="Copy curl").click()
    expect(page.get_by_text("Copied")).to_be_visible()

    assert page.evaluate("navigator.clipboard.readText()") == page.locator("#code-1").inner_text()
