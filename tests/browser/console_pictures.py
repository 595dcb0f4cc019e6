"""WebP pictures of the console for README and how-to, in light and dark.

PYTHONPATH=. python -m tests.browser.console_pictures FOLDER writes the pictures, by default to
docs/images/console.

Rules: a gateway serves the demo's sample workbook, and its key store has usage data for one day.
The browser takes and encodes the pictures.
"""

import asyncio
import base64
import math
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright
from sqlalchemy import insert, select

from gateway.app import create_app
from gateway.commands.admin import opened_admins
from gateway.commands.demo import SAMPLE
from gateway.commands.options import DEMO_SPREADSHEET
from gateway.commands.serve import with_console
from gateway.server.running import GatewayServer, in_background, make_server
from gateway.server.sockets import base_url, bind
from gateway.settings.model import Settings, load_settings
from gateway.storage.database import open_database
from gateway.storage.key_store import Grants, KeyRequest
from gateway.storage.key_store import keys as stored_keys
from gateway.storage.usage import key_usage
from sheets_emulator.app import EmulatorOptions, create_emulator
from tests.browser.accessibility import SCHEMES
from tests.browser.conftest import ARGUMENTS, CHROMIUM
from tests.docs.blocks import TOP
from tests.journeys.conftest import create_keys

FOLDER = TOP / "docs" / "images" / "console"
PAGES: Mapping[str, str] = {
    "overview": "/",
    "data": "/data?sheet=Cities&order=-population&where="
    + quote('{"population":{"$gte":1400000}}'),
}
WIDTH, HEIGHT, SCALE = 1040, 580, 1.5
_KEYS = {"website": 240, "mobile app": 90, "newsletter form": 25}
"""Average requests an hour, by key name."""
_ASKED = (
    "Cities?limit=20",
    "Products?values=typed",
    "Cities?where=%7B%22state%22%3A%22Texas%22%7D",
)
_ENCODE = """async png => {
  const image = new Image();
  image.src = `data:image/png;base64,${png}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.width, image.height];
  canvas.getContext("2d").drawImage(image, 0, 0);
  return canvas.toDataURL("image/webp", 0.86).split(",")[1];
}"""


async def _use(settings: Settings, requests: Mapping[str, KeyRequest]) -> Mapping[str, str]:
    """Create the keys, and store usage data for the last 24 hours."""
    database = settings.access.database
    keys = await create_keys(database, requests)
    present = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    async with open_database(database) as engine, engine.begin() as connection:
        found = await connection.execute(select(stored_keys.c.id, stored_keys.c.name))
        ids = {row.name: row.id for row in found}
        for ago in range(24):
            day = 1.1 + math.sin((23 - ago) / 24 * 6.3 - 1.9)
            hour = (present - timedelta(hours=ago)).isoformat()
            for number, (name, often) in enumerate(_KEYS.items()):
                count = round(often * day) + (ago * 37 + number * 11) % 23
                for code, requests_ in ((0, count), (4290, count // 14 if ago % 3 else 0)):
                    place = {"hour": hour, "key_id": ids[name], "code": code}
                    title = {
                        "spreadsheet": "" if code else DEMO_SPREADSHEET,
                        "worksheet": "" if code else "Cities",
                    }
                    used = {
                        "reads": 0 if code else 2,
                        "writes": number % 2,
                        "rows": 9 * count,
                        "bytes": 700 * count,
                    }
                    await connection.execute(
                        insert(key_usage).values(**place, **title, requests=requests_, **used)
                    )
    return keys


@contextmanager
def opened_console(folder: Path) -> Iterator[str]:
    """Run a gateway with a console and a few requests, and yield a sign-in URL."""
    emulator = create_emulator(EmulatorOptions(seed=SAMPLE))
    google, listening, own = [bind("127.0.0.1", 0) for _ in range(3)]
    emulator.write_credentials(folder / "account.json", base_url(google))
    settings = load_settings(
        None,
        {},
        {
            "google.endpoint": base_url(google),
            "google.credentials": str(folder / "account.json"),
            "access.database": str(folder / "keys.db"),
            "admin.listen": base_url(own).removeprefix("http://"),
        },
    )
    grants = Grants(spreadsheets=frozenset({DEMO_SPREADSHEET}))
    keys = asyncio.run(
        _use(settings, {name: KeyRequest(name=name, grants=grants) for name in _KEYS})
    )
    with in_background(make_server(emulator.app, shutdown_seconds=1), google):
        app = with_console(create_app(settings), settings, own, beside=listening)
        with in_background(GatewayServer(app, settings.server), listening, own) as url:
            for path in (*_ASKED, "Citties"):
                connection = HTTPConnection(url.removeprefix("http://"), timeout=30)
                credentials = {"Authorization": f"Bearer {keys['website']}"}
                connection.request("GET", f"/v2/sheets/{path}", headers=credentials)
                connection.getresponse().read()
                connection.close()
            yield f"{base_url(own)}/sign-in#{asyncio.run(_token(settings))}"


async def _token(settings: Settings) -> str:
    async with opened_admins(settings) as admins:
        owner, _ = await admins.create("ada")
        return await admins.link(owner)


def _webp(page: Page) -> bytes:
    """Return the visible part of a page as WebP."""
    shot = base64.b64encode(page.screenshot()).decode()
    with page.context.new_page() as blank:
        return base64.b64decode(blank.evaluate(_ENCODE, shot))


def draw(browser: Browser, sign_in: str, folder: Path) -> None:
    """Take all pictures of the console that this sign-in URL opens."""
    size: ViewportSize = {"width": WIDTH, "height": HEIGHT}
    with browser.new_context(viewport=size, device_scale_factor=SCALE) as context:
        page = context.new_page()
        page.goto(sign_in)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("heading", name="Overview").wait_for()
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            for name, path in PAGES.items():
                page.goto(sign_in.partition("/sign-in")[0] + path)
                (folder / f"{name}-{scheme}.webp").write_bytes(_webp(page))


def main(folder: Path) -> None:
    with (
        tempfile.TemporaryDirectory() as temporary,
        opened_console(Path(temporary)) as sign_in,
        sync_playwright() as playwright,
    ):
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        draw(chromium, sign_in, folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
