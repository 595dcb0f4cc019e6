"""Recorder of a page's requests and console messages.

Rules: the recorder listens to the whole context, including frames, workers and windows. A request
that the Content-Security-Policy blocked is still recorded, and the console reports the violation.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Page, WebError

_ON_THE_WIRE = frozenset({"http", "https", "ws", "wss"})
_COMPLAINTS = frozenset({"error", "warning"})
_POLICY = "content security policy"


@dataclass(frozen=True)
class Recorder:
    """Requested URLs, and console errors and warnings, in order."""

    urls: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def foreign(self, origin: str) -> Sequence[str]:
        """Return the URLs of other origins, without schemes such as `data:` that use no network."""
        own = urlsplit(origin)
        asked = [(url, urlsplit(url)) for url in self.urls]
        return [
            url
            for url, parts in asked
            if parts.scheme in _ON_THE_WIRE and (parts.scheme, parts.netloc) != own[:2]
        ]

    def violations(self) -> Sequence[str]:
        """Return the console messages about violations of the Content-Security-Policy."""
        return [each for each in self.complaints if _POLICY in each.lower()]


def record(context: BrowserContext) -> Recorder:
    """Record all pages of a context from now on."""
    recorder = Recorder()

    def complained(message: ConsoleMessage) -> None:
        if message.type in _COMPLAINTS:
            recorder.complaints.append(f"{message.type}: {message.text}")

    def failed(error: WebError) -> None:
        recorder.complaints.append(f"uncaught: {error.error}")

    def opened(page: Page) -> None:
        page.on("websocket", lambda socket: recorder.urls.append(socket.url))

    context.on("request", lambda request: recorder.urls.append(request.url))
    context.on("console", complained)
    context.on("weberror", failed)
    context.on("page", opened)
    for page in context.pages:
        opened(page)
    return recorder
