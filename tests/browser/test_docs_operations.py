"""Operations of the /docs page: default values, requests and answers."""

import json
import re

from playwright.sync_api import Page, expect

from gateway.commands.demo import Demo
from gateway.query.operators import ALIASES, OPERATORS
from tests.browser.documentation import give_key, listing, message, unfold


def test_a_filter_is_entered_as_json(shared_page: Page, demo: Demo) -> None:
    """The field of `where` is empty at first and accepts JSON."""
    give_key(shared_page, demo.full_key)
    expect(message(shared_page)).to_contain_text("Cities")
    listing(shared_page).locator(".opblock-summary-control").click()
    field = listing(shared_page).get_by_placeholder("where")
    expect(field).to_have_value("")
    field.fill('{"state": "Texas", "population": {"$lt": 2000000}}')
    listing(shared_page).get_by_role("button", name="Execute").click()
    answer = listing(shared_page).locator(".live-responses-table")

    expect(answer).to_contain_text("Dallas")
    expect(answer).not_to_contain_text("Houston")


def test_the_operators_of_a_filter_are_shown(shared_page: Page, demo: Demo) -> None:
    """The description of `where` lists every operator with its meaning."""
    give_key(shared_page, demo.full_key)
    expect(message(shared_page)).to_contain_text("Cities")
    unfold(listing(shared_page))
    table = listing(shared_page).locator(".parameters .renderedMarkdown table")
    expect(table).to_be_visible()
    shown = [row.inner_text().split("\t") for row in table.locator("tbody tr").all()]

    assert {operator: meaning for operator, meaning in shown if operator in OPERATORS} == {
        name: operator.description for name, operator in OPERATORS.items()
    }
    assert {operator for operator, _ in shown} - {*OPERATORS, *ALIASES} == {"$not", "$and, $or"}


def test_updates_of_a_row_are_one_operation(shared_page: Page, demo: Demo) -> None:
    """The page shows updates of a row as PATCH only, and says that POST and PUT are the same."""
    give_key(shared_page, demo.full_key)
    expect(message(shared_page)).to_contain_text("Cities")
    update = shared_page.locator(".opblock", has_text="Update a row of Cities")
    expect(update).to_have_count(1)
    expect(shared_page.locator(".opblock-put")).to_have_count(0)
    unfold(update)

    expect(update).to_contain_text("POST, PUT and PATCH have the same effect.")


def test_an_unedited_update_writes_nothing(shared_page: Page, demo: Demo) -> None:
    """The example body of an update is empty, so executing it writes no cell."""
    give_key(shared_page, demo.full_key)
    expect(message(shared_page)).to_contain_text("Cities")
    update = shared_page.locator(".opblock-patch", has_text="Update a row").first
    unfold(update)
    expect(update.locator("textarea")).to_have_value("{}")
    update.get_by_placeholder("rowIndex").fill("3")
    with shared_page.expect_request("**/v2/sheets/**") as asked:
        update.get_by_role("button", name="Execute").click()

    expect(update.locator(".live-responses-table")).to_contain_text('"outcome": "not_applied"')
    assert asked.value.post_data_json == {}
    assert asked.value.url == f"{demo.url}/v2/sheets/Cities/3"


def test_a_create_starts_with_an_example(shared_page: Page, demo: Demo) -> None:
    """The example body of a create has all fields of the worksheet and no row number."""
    give_key(shared_page, demo.full_key)
    expect(message(shared_page)).to_contain_text("Cities")
    create = shared_page.locator(".opblock-post").first
    unfold(create)
    body = json.loads(create.locator("textarea").input_value())

    assert body == {"name": "Example", "state": None, "country": None, "population": None}


def test_keys_are_entered_in_the_form_only(shared_page: Page, demo: Demo) -> None:
    """The page has no Authorize dialog, and the first parameter of a read is rowIndex."""
    give_key(shared_page, demo.full_key)
    expect(message(shared_page)).to_contain_text("Cities")
    reading = shared_page.locator(".opblock-get").nth(1)
    unfold(reading)

    expect(reading.locator(".parameter__name").first).to_contain_text("rowIndex")
    expect(shared_page.get_by_role("button", name="Authorize")).to_have_count(0)
    expect(shared_page.locator(".authorization__btn")).to_have_count(0)


def test_errors_are_one_table(shared_page: Page, demo: Demo) -> None:
    """The error codes of a list are in one table, each code once."""
    give_key(shared_page, demo.full_key)
    expect(message(shared_page)).to_contain_text("Cities")
    unfold(listing(shared_page))
    answers = listing(shared_page).locator(".responses-table").last
    expect(answers.locator("tr.response")).to_have_count(3)
    told = answers.locator("tr.response").last.inner_text()

    assert {
        status: re.findall(rf"^{status}\s+(.+)$", told, re.M) for status in (401, 409, 504)
    } == {
        401: ["4010 MissingApiKey, 4011 InvalidApiKey"],
        409: ["102 NoHeaderRow"],
        504: ["5040 UpstreamTimeout"],
    }
    assert (listing(shared_page).bounding_box() or {"height": 0})["height"] < 4000


def test_a_create_is_not_an_upsert_by_default(shared_page: Page, demo: Demo) -> None:
    """The optional parameters of a create are empty, so that executing it is not an upsert."""
    give_key(shared_page, demo.full_key)
    expect(message(shared_page)).to_contain_text("Cities")
    create = shared_page.locator(".opblock-post").first
    unfold(create)
    create.locator("textarea").fill("{}")
    with shared_page.expect_request("**/v2/sheets/**") as asked:
        create.get_by_role("button", name="Execute").click()

    expect(create.locator(".live-responses-table")).to_contain_text('"outcome": "not_applied"')
    assert asked.value.url == f"{demo.url}/v2/sheets/Cities"
    assert "prefer" not in asked.value.headers


def test_unedited_updates_write_nothing(shared_page: Page, demo: Demo) -> None:
    """The example of an update of several rows is an empty list, and its filter is empty."""
    give_key(shared_page, demo.full_key)
    expect(message(shared_page)).to_contain_text("Cities")
    update = shared_page.locator(".opblock-patch").first
    unfold(update)
    expect(update.locator("textarea").last).to_have_value("[]")
    with shared_page.expect_request("**/v2/sheets/**") as asked:
        update.get_by_role("button", name="Execute").click()

    expect(update.locator(".live-responses-table")).to_contain_text('"outcome": "not_applied"')
    assert asked.value.post_data_json == []
    assert asked.value.url == f"{demo.url}/v2/sheets/Cities"


def test_a_delete_has_no_default_row(shared_page: Page) -> None:
    """The row number of a delete is empty, while a read has an example."""
    shared_page.get_by_role("button", name="Forget the key").click()
    reading = shared_page.locator(".opblock-get").nth(1)
    deleting = shared_page.locator(".opblock-delete").last
    expect(deleting).to_be_visible()
    unfold(reading)
    unfold(deleting)

    expect(reading.get_by_placeholder("rowIndex")).to_have_value("2")
    expect(deleting.get_by_placeholder("rowIndex")).to_have_value("")
