"""Elements and actions of the /docs page."""

from playwright.sync_api import Locator, Page, expect


def operations(page: Page) -> Locator:
    """Locate the visible operations."""
    return page.locator(".opblock")


def listing(page: Page) -> Locator:
    """Locate the operation that lists rows."""
    return page.locator(".opblock-get").first


def give_key(page: Page, key: str, spreadsheet: str = "") -> None:
    """Enter a key and optionally a spreadsheet ID, and submit the form."""
    page.get_by_label("API key").fill(key)
    page.get_by_label("Spreadsheet ID").fill(spreadsheet)
    page.get_by_role("button", name="Show my worksheets").click()


def message(page: Page) -> Locator:
    """Locate the page's message about the key."""
    return page.locator("#message")


def unfold(operation: Locator) -> None:
    operation.locator(".opblock-summary-control").click()
    expect(operation.get_by_role("button", name="Execute")).to_be_visible()


def execute(operation: Locator) -> Locator:
    """Open and execute an operation, and locate the server's answer."""
    unfold(operation)
    operation.get_by_role("button", name="Execute").click()
    return operation.locator(".live-responses-table")
