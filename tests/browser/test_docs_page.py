"""The /docs page in a browser: enter a key, execute a request, read an error."""

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from gateway.commands.demo import Demo
from tests.browser.documentation import (
    execute,
    give_key,
    listing,
    message,
    operations,
    unfold,
)
from tests.browser.recorder import Recorder

UNAUTHORIZED = "status of 401"
"""Console message of Chromium for each answer with status 401."""

OpenDocs = Callable[..., Page]


@pytest.fixture
def open_docs(context: BrowserContext, recorder: Recorder, demo: Demo) -> OpenDocs:
    """Return a function that opens /docs with a recorder, and waits for the operations."""

    def start(place: str = "/docs") -> Page:
        page = context.new_page()
        page.goto(demo.url + place)
        expect(operations(page).first).to_be_visible()
        return page

    return start


def test_without_a_key_general_operations_are_shown(
    open_docs: OpenDocs, recorder: Recorder, demo: Demo
) -> None:
    """Without a key the page shows general operations, without foreign requests or
    console messages.
    """
    page = open_docs()
    page.wait_for_load_state("networkidle")

    expect(page.get_by_text("/v2/sheets/{sheetName}", exact=False).first).to_be_visible()
    expect(message(page)).to_be_hidden()
    assert recorder.foreign(demo.url) == []
    assert recorder.complaints == []


def test_with_a_key_rows_are_listed(open_docs: OpenDocs, recorder: Recorder, demo: Demo) -> None:
    """With a key the page lists its worksheets, and executing the first operation lists rows."""
    page = open_docs()
    give_key(page, demo.full_key)
    expect(message(page)).to_have_text("Worksheets of this key: Cities, Orders, Products, Repairs.")
    answer = execute(listing(page))

    expect(answer.locator(".response .response-col_status")).to_contain_text("200")
    expect(answer).to_contain_text('"name": "New York"')
    expect(page.locator(".errors-wrapper")).to_have_count(0)
    assert recorder.foreign(demo.url) == []
    assert recorder.complaints == []


def test_typed_values_can_be_selected(open_docs: OpenDocs, recorder: Recorder, demo: Demo) -> None:
    """With "typed" selected, the document and answers have numbers instead of texts."""
    page = open_docs()
    give_key(page, demo.full_key)
    expect(message(page)).to_contain_text("Cities")
    with page.expect_response("**/openapi.json?values=typed"):
        page.get_by_label("Values").select_option("typed")
    expect(message(page)).to_contain_text("Cities")
    answer = execute(listing(page))

    expect(answer).to_contain_text('"population": 8804190')
    page.get_by_role("button", name="Forget the key").click()
    expect(page.get_by_label("Values")).to_have_value("")
    assert recorder.complaints == []


def test_operator_names_are_on_one_line(open_docs: OpenDocs) -> None:
    """Each name in the table of operators is on one line."""
    page = open_docs()
    unfold(listing(page))
    name = listing(page).locator(".renderedMarkdown td code")

    lines = name.evaluate_all("all => all.map((each) => each.getClientRects().length)")
    assert lines
    assert set(lines) == {1}


def test_the_spreadsheet_id_is_sent_with_each_request(shared_page: Page, demo: Demo) -> None:
    """An executed request has the entered spreadsheet ID and key as headers."""
    give_key(shared_page, demo.full_key, "demo")
    expect(message(shared_page)).to_contain_text("Cities")
    with shared_page.expect_request("**/v2/sheets/**") as asked:
        execute(listing(shared_page))

    assert asked.value.headers["x-spreadsheet-id"] == "demo"
    assert asked.value.headers["authorization"] == f"Bearer {demo.full_key}"


def test_a_foreign_spreadsheet_is_reported(shared_page: Page, demo: Demo) -> None:
    """A spreadsheet that the key cannot access gives the API's error message."""
    give_key(shared_page, demo.full_key, "unknown")

    expect(message(shared_page)).to_contain_text("spreadsheet")
    expect(message(shared_page)).to_have_class("notice bad")


def test_a_missing_spreadsheet_id_is_requested_in_the_form(shared_page: Page, demo: Demo) -> None:
    """A key for several spreadsheets gets a message about the form's field, not about headers."""
    refused = {"code": 101, "status": 400, "message": "Send its ID in the header"}
    shared_page.route("**/openapi.json", lambda route: route.fulfill(status=400, json=refused))
    give_key(shared_page, demo.full_key)
    expect(message(shared_page)).to_contain_text("Enter the ID of one of them above")
    give_key(shared_page, demo.full_key, "a b")

    expect(message(shared_page)).to_have_text("Send its ID in the header")


def test_a_wrong_key_is_reported(open_docs: OpenDocs, recorder: Recorder) -> None:
    """A wrong key shows the API's message, and later requests do not send the key."""
    page = open_docs()
    give_key(page, "sgw_wrong")
    expect(message(page)).to_contain_text("The API key is mistyped")
    expect(message(page)).to_have_class("notice bad")
    expect(operations(page).first).to_be_visible()

    with page.expect_request("**/livez") as asked:
        execute(page.locator(".opblock-get").filter(has_text="/livez"))
    assert "authorization" not in asked.value.headers
    assert [each for each in recorder.complaints if UNAUTHORIZED not in each] == []


def test_a_wrong_key_discards_an_older_key(shared_page: Page, demo: Demo) -> None:
    """After a valid key and then a wrong key, requests send neither key."""
    give_key(shared_page, demo.full_key)
    expect(message(shared_page)).to_contain_text("Cities")
    give_key(shared_page, "sgw_wrong")
    expect(message(shared_page)).to_have_class("notice bad")
    expect(listing(shared_page)).to_contain_text("{sheetName}")
    listing(shared_page).locator(".opblock-summary-control").click()
    listing(shared_page).get_by_placeholder("sheetName").fill("Cities")
    with shared_page.expect_request("**/v2/sheets/**") as asked:
        listing(shared_page).get_by_role("button", name="Execute").click()

    assert "authorization" not in asked.value.headers


@pytest.mark.parametrize("key", ["ключ", "a\nb", "k\u0000"], ids=["letters", "line", "null"])
def test_a_key_that_cannot_be_a_header_is_reported(shared_page: Page, key: str) -> None:
    """A key with characters that headers cannot contain shows a message."""
    give_key(shared_page, key)

    expect(message(shared_page)).to_have_class("notice bad")
    expect(message(shared_page)).not_to_be_empty()


def test_the_key_stays_in_the_page(open_docs: OpenDocs, recorder: Recorder, demo: Demo) -> None:
    """The key is in no URL, cookie or browser storage, and is gone after a reload."""
    page = open_docs()
    give_key(page, demo.full_key)
    expect(message(page)).to_contain_text("Cities")
    expect(execute(listing(page))).to_contain_text("New York")
    kept = page.evaluate("[{...localStorage}, {...sessionStorage}, document.cookie]")
    page.reload()
    expect(listing(page)).to_contain_text("{sheetName}")

    assert kept == [{}, {}, ""]
    assert not [url for url in [*recorder.urls, page.url] if demo.full_key in url]
    expect(page.get_by_label("API key")).to_have_value("")
    expect(page.get_by_label("API key")).to_have_attribute("type", "password")
    expect(page.get_by_label("API key")).to_have_attribute("autocomplete", "off")


def test_the_key_can_be_forgotten(shared_page: Page, demo: Demo) -> None:
    """ "Forget the key" empties the form and shows the general operations."""
    give_key(shared_page, demo.full_key)
    expect(message(shared_page)).to_contain_text("Cities")
    shared_page.get_by_role("button", name="Forget the key").click()

    expect(listing(shared_page)).to_contain_text("{sheetName}")
    expect(shared_page.get_by_label("API key")).to_have_value("")
    expect(message(shared_page)).to_be_hidden()


@pytest.mark.parametrize("again", ["reload", "new window"])
def test_an_operation_has_a_link(open_docs: OpenDocs, demo: Demo, again: str) -> None:
    """The URL has the open operation, which is open again after a reload or in another window."""
    page = open_docs()
    listing(page).locator(".opblock-summary-control").click()
    page.wait_for_url("**/docs#/**")
    place = page.url.removeprefix(demo.url)
    if again == "reload":
        page.reload()
    else:
        page = open_docs(place)

    expect(listing(page)).to_have_class("opblock opblock-get is-open")
    expect(operations(page).and_(page.locator(".is-open"))).to_have_count(1)


def test_a_slash_at_the_end_is_the_same_page(
    open_docs: OpenDocs, recorder: Recorder, demo: Demo
) -> None:
    """The page at `/docs/` loads its files and its API document."""
    page = open_docs("/docs/")
    give_key(page, demo.full_key)

    expect(message(page)).to_contain_text("Cities")
    assert recorder.complaints == []


def test_a_gateway_that_does_not_answer_is_reported(shared_page: Page, demo: Demo) -> None:
    """A failed request shows a message, and the form can be used again."""
    shared_page.route("**/openapi.json", lambda route: route.abort())
    give_key(shared_page, demo.full_key)
    expect(message(shared_page)).to_contain_text("does not answer")
    shared_page.unroute("**/openapi.json")
    give_key(shared_page, demo.full_key)

    expect(message(shared_page)).to_contain_text("Cities")


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ('{"message": "<img src=x onerror=alert(1)> <b>bold</b>"}', "<img src=x onerror=alert(1)>"),
        ("<h1>Bad gateway</h1>", "answer with status 502"),
        ("null", "answer with status 502"),
    ],
    ids=["markup", "not JSON", "null"],
)
def test_an_error_is_shown_as_text(shared_page: Page, demo: Demo, body: str, told: str) -> None:
    """HTML in an error message is shown as text, and an answer that is not JSON is reported."""

    def answer(route: Route) -> None:
        route.fulfill(status=502, body=body, content_type="application/json")

    shared_page.route("**/openapi.json", answer)
    give_key(shared_page, demo.full_key)

    expect(message(shared_page)).to_contain_text(told)
    assert message(shared_page).locator("*").count() == 0


def test_titles_are_shown_as_text(shared_page: Page, demo: Demo) -> None:
    """A worksheet title with HTML characters is shown as text."""
    paths: dict[str, object] = {
        "/v2/sheets/%3Cb%3EA%2FB%7B%7D": {},
        "/v2/sheets/%3Cb%3EA%2FB%7B%7D/{rowIndex}": {},
    }
    description = {"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": paths}
    shared_page.route("**/openapi.json", lambda route: route.fulfill(json=description))
    give_key(shared_page, demo.full_key)

    expect(message(shared_page)).to_have_text("Worksheets of this key: <b>A/B{}.")
