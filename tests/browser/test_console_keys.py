"""The Keys pages in a browser, from creation to revocation of a key."""

import re
import subprocess
from typing import Any

from playwright.sync_api import Browser, Page, expect


def field(page: Page, label: str) -> Any:
    return page.get_by_label(label, exact=True)


def click(page: Page, button: str) -> None:
    page.get_by_role("button", name=button).click()


def run_curl(line: str, **replaced: str) -> str:
    """Run a copied curl command in a shell, and return the status."""
    for old, new in replaced.items():
        line = line.replace(old, new)
    shell = f"{line} -s -o /dev/null -w '%{{http_code}}'"
    done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=True)  # noqa: S603, S607
    return done.stdout


def test_a_key_is_created_changed_rotated_and_revoked(page: Page) -> None:
    """A key is created, restricted, rotated and revoked; its copied curl command gets the
    right status each time.
    """
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto("/keys")
    page.get_by_role("link", name="New key").click()
    field(page, "Name").fill("website")
    field(page, "Spreadsheets").fill("demo")
    click(page, "Make key")
    expect(page.get_by_role("status")).to_contain_text("shown only once")
    click(page, "Copy request")
    line = page.evaluate("navigator.clipboard.readText()")
    click(page, "Copy key")
    key = page.evaluate("navigator.clipboard.readText()")
    made = run_curl(line)
    page.get_by_role("link", name="Done").click()
    assert key not in page.content()
    field(page, "Worksheets").fill("Products")
    field(page, "create").uncheck()
    field(page, "update").uncheck()
    click(page, "Save")
    expect(page.get_by_role("status")).to_contain_text("Saved")
    narrowed = [run_curl(line), run_curl(line, Cities="Products")]
    page.get_by_label("The current secret ends").select_option("in an hour")
    click(page, "Make another secret")
    second = page.locator("#secret-text").inner_text()
    page.get_by_role("link", name="Done").click()
    products = line.replace("Cities", "Products")
    both = [run_curl(products), run_curl(products.replace(key, second))]
    click(page, "End the old secret now")
    ended = [run_curl(products), run_curl(products.replace(key, second))]
    page.get_by_text("Revoke key").click()
    click(page, "Revoke website for good")
    expect(page.get_by_role("status")).to_have_text("The key is revoked.")
    page.go_back()

    assert re.match(rf"curl '.*/v2/sheets/Cities\?limit=3' .*Bearer {key}'", line, re.DOTALL)
    assert (made, narrowed) == ("200", ["403", "200"])
    assert (both, ended) == (["200", "200"], ["401", "200"])
    assert run_curl(products.replace(key, second)) == "401"
    assert second not in page.content()


def test_a_key_is_created_with_the_keyboard_only(page: Page) -> None:
    """A key form works with the keyboard, including a corrected error and a reload."""
    page.goto("/keys/new")
    field(page, "Name").focus()
    keys = page.keyboard
    keys.type("typed")
    keys.press("Tab")
    keys.type("free")
    keys.press("Tab")
    keys.type("demo")
    keys.press("Tab")
    keys.press("Tab")
    keys.press("Tab")
    keys.press("Tab")
    keys.press("Space")  # update
    keys.press("Tab")
    keys.press("Tab")
    keys.type("Nowhere")
    page.get_by_role("button", name="Make key").focus()
    keys.press("Enter")
    mended = field(page, "Worksheets")
    expect(mended).to_have_accessible_description(re.compile("there is no worksheet"))
    expect(mended).to_have_value("Nowhere")
    mended.focus()
    keys.press("Control+A")
    keys.type("Cities")
    page.get_by_role("button", name="Make key").focus()
    keys.press("Enter")
    expect(
        page.get_by_text('May read and create; spreadsheets: demo; worksheets: "Cities".')
    ).to_be_visible()
    page.reload()
    expect(page.get_by_role("status")).to_contain_text("has already made this key")
    expect(field(page, "Plan")).to_have_value("free")
    page.get_by_text("Revoke key").focus()
    keys.press("Enter")
    keys.press("Tab")
    keys.press("Enter")
    expect(page.get_by_role("status")).to_have_text("The key is revoked.")


def test_a_second_tab_marks_only_its_own_changes(page: Page) -> None:
    """If two tabs change different fields of a key, the conflict page of the second tab marks only
    its own field, and its second save keeps the first tab's change.
    """
    page.goto("/keys/new")
    field(page, "Name").fill("before")
    field(page, "Spreadsheets").fill("demo")
    field(page, "Expires").fill("2030-01-01T10:00")
    click(page, "Make key")
    page.get_by_role("link", name="Done").click()
    other = page.context.new_page()
    other.goto(page.url)
    field(page, "Name").fill("renamed")
    click(page, "Save")
    expect(page.get_by_role("status")).to_contain_text("Saved")
    field(other, "Columns").fill("name")
    click(other, "Save")
    expect(other.get_by_role("alert")).to_contain_text("nothing was saved")
    expect(other.get_by_text("Now:")).to_have_text(["Now: empty"])
    expect(field(other, "Columns")).to_have_value("name")
    click(other, "Save")
    expect(other.get_by_role("status")).to_contain_text("Saved")

    expect(field(other, "Name")).to_have_value("renamed")
    expect(field(other, "Columns")).to_have_value("name")


def test_the_list_of_keys_fits_the_window(page: Page) -> None:
    """The list does not scroll sideways at any width if a key has the longest name and many
    limits.
    """
    page.goto("/keys/new")
    field(page, "Name").fill("n" * 200)
    field(page, "Spreadsheets").fill("demo")
    field(page, "Origins").fill("\n".join(f"https://a{n}.example.org" for n in range(20)))
    click(page, "Make key")
    page.get_by_role("link", name="Done").click()
    page.goto("/keys")
    hidden = {}
    for width in (375, 600, 768, 1024, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        hidden[width] = page.get_by_role("region", name="Keys").evaluate(
            "each => each.scrollWidth - each.clientWidth"
        )

    assert hidden == dict.fromkeys(hidden, 0)


def test_a_key_is_created_without_javascript(
    browser: Browser, cookies: Any, console_url: str
) -> None:
    """Without JavaScript a key can be created and revoked, only without copy buttons."""
    with browser.new_context(java_script_enabled=False) as context:
        context.add_cookies(cookies)
        page = context.new_page()
        page.goto(f"{console_url}/keys/new")
        field(page, "Name").fill("plain")
        field(page, "Spreadsheets").fill("demo")
        click(page, "Make key")
        expect(page.locator("#secret-text")).to_contain_text("sgw_")
        assert page.get_by_role("button", name="Copy").count() == 0
        page.get_by_role("link", name="Done").click()
        page.get_by_text("Revoke key").click()
        click(page, "Revoke plain for good")
        expect(page.get_by_role("status")).to_have_text("The key is revoked.")
