"""The recorder finds foreign requests, policy violations and console messages."""

import pytest
from playwright.sync_api import BrowserContext, Route

from tests.browser.recorder import Recorder

ORIGIN = "http://own.example:8080"
STRICT = "default-src 'none'; img-src 'self'; script-src 'self'"
OPEN = "default-src * 'unsafe-inline'"


def visit(context: BrowserContext, body: str, policy: str) -> None:
    """Open a page with this body. All other requests get an empty answer."""

    def answer(route: Route) -> None:
        is_page = route.request.url == f"{ORIGIN}/"
        headers = {"Content-Security-Policy": policy, "Content-Type": "text/html"}
        route.fulfill(headers=headers, body=body if is_page else "")

    context.route("**", answer)
    context.new_page().goto(f"{ORIGIN}/", wait_until="networkidle")


@pytest.mark.parametrize(
    "url",
    [
        "https://fonts.example/a.css",
        "//elsewhere.example/x.png",
        "http://own.example/other-port.png",
        "https://own.example:8080/other-scheme.png",
    ],
)
def test_a_foreign_request_is_recorded(
    context: BrowserContext, recorder: Recorder, url: str
) -> None:
    """A request to another host, port or scheme is foreign; the page itself is not."""
    visit(context, f"<img src='{url}'>", OPEN)

    assert [each.split(":", 1)[1] for each in recorder.foreign(ORIGIN)] == [url.split(":", 1)[-1]]
    assert f"{ORIGIN}/" in recorder.urls


def test_requests_of_scripts_and_windows_are_recorded(
    context: BrowserContext, recorder: Recorder
) -> None:
    """Requests by fetch, WebSocket and an opened window are recorded."""
    body = """<script>
        fetch("https://tracker.example/hit").catch(() => {});
        new WebSocket("wss://socket.example/");
        open("https://window.example/");
    </script>"""
    visit(context, body, OPEN)
    context.pages[-1].wait_for_load_state()

    assert {url.split("/")[2] for url in recorder.foreign(ORIGIN)} == {
        "tracker.example",
        "socket.example",
        "window.example",
    }


@pytest.mark.parametrize(
    "body",
    [
        "<script>document.title = 'ran'</script>",
        "<p style='color: red'>styled</p>",
        "<style>p { color: red }</style>",
        "<script src='https://cdn.example/x.js'></script>",
    ],
    ids=["inline script", "style attribute", "style element", "foreign script"],
)
def test_a_violation_of_the_policy_is_recorded(
    context: BrowserContext, recorder: Recorder, body: str
) -> None:
    """Content that the Content-Security-Policy blocked is recorded as one violation."""
    visit(context, body, STRICT)

    assert len(recorder.violations()) == 1


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        ("console.error('broken')", "error: broken"),
        ("console.warn('odd')", "warning: odd"),
        ("throw new Error('lost')", "uncaught: lost"),
        ("Promise.reject(new Error('promised'))", "uncaught: promised"),
    ],
)
def test_a_console_message_is_recorded(
    context: BrowserContext, recorder: Recorder, script: str, complaint: str
) -> None:
    """Console errors, warnings and uncaught exceptions are recorded."""
    visit(context, f"<script>{script}</script>", OPEN)

    assert [each.splitlines()[0] for each in recorder.complaints] == [complaint]


def test_a_correct_page_has_no_findings(context: BrowserContext, recorder: Recorder) -> None:
    """Requests to the own origin and `data:` URLs are neither foreign nor violations."""
    body = "<img src='/own.png'><img src='data:image/png;base64,'><script>console.log(1)</script>"
    visit(context, body, "default-src 'self' data: 'unsafe-inline'")

    assert recorder.complaints == []
    assert recorder.foreign(ORIGIN) == []
