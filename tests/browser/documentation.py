"""The parts of the documentation's page, and what a developer does with them."""

from playwright.sync_api import Locator, Page, expect


def operations(page: Page) -> Locator:
    """The operations that are shown, folded or not."""
    return page.locator(".opblock")


def listing(page: Page) -> Locator:
    """The operation that lists rows."""
    return page.locator(".opblock-get").first


def give_key(page: Page, key: str, spreadsheet: str = "") -> None:
    """Type in a key, and a spreadsheet id if there is one, and send the form."""
    page.get_by_label("API key").fill(key)
    page.get_by_label("Spreadsheet id").fill(spreadsheet)
    page.get_by_role("button", name="Show my worksheets").click()


def message(page: Page) -> Locator:
    """The page's message about the key."""
    return page.locator("#message")


def unfold(operation: Locator) -> None:
    operation.locator(".opblock-summary-control").click()
    expect(operation.get_by_role("button", name="Execute")).to_be_visible()


def execute(operation: Locator) -> Locator:
    """Unfold an operation and try it; gives the part with the server's answer."""
    unfold(operation)
    operation.get_by_role("button", name="Execute").click()
    return operation.locator(".live-responses-table")
