"""The site of docs/ in a browser: its search finds pages, without another host."""

import functools
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser.recorder import Recorder
from tests.docs.site import build, need_generator, prepare


class Silent(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a server of files with the site."""
    need_generator()
    folder = tmp_path_factory.mktemp("site")
    prepare(folder)
    assert build(folder).returncode == 0
    with serving(folder / "site") as server:
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def serving(folder: Path) -> ThreadingHTTPServer:
    handler = functools.partial(Silent, directory=str(folder))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


@pytest.mark.parametrize(
    ("words", "place"),
    [
        pytest.param("Idempotency-Key", "reference/api.html#idempotent-writes", id="header"),
        pytest.param("SheetTooLarge", "reference/errors.html#codes", id="error"),
    ],
)
def test_a_search_finds_the_page(
    context: BrowserContext, recorder: Recorder, site: str, words: str, place: str
) -> None:
    """Typed into the field, it lists the section, and a click opens it."""
    page, _, heading = place.partition("#")
    tab = context.new_page()
    tab.goto(f"{site}/index.html", wait_until="networkidle")
    tab.get_by_role("button", name="Search").first.click()
    tab.keyboard.type(words)
    tab.locator(f'a[role=option][href*="{page}"][href$="#{heading}"]').click()

    expect(tab.locator(f"#{heading}")).to_be_in_viewport()
    assert page in tab.url
    assert recorder.foreign(site) == []
