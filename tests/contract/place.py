"""Spreadsheets for the contract suite, at Google or on an emulator."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gateway.server.running import in_background, make_server
from gateway.server.sockets import base_url, bind
from gateway.settings.model import GoogleSettings
from sheets_emulator.app import EmulatorOptions, create_emulator

CREDENTIALS = "SHEETS_GATEWAY_TEST_CREDENTIALS"
SPREADSHEET = "SHEETS_GATEWAY_TEST_SPREADSHEET"
"""Environment variables: a service account's key file, and a spreadsheet ID shared with it."""

GOOGLE = "https://sheets.googleapis.com"

PROTECTED = "Protected"
"""Title of a worksheet in which only the spreadsheet's owner can edit rows 2 and 3."""

PROTECTED_SHEET = [
    {"addSheet": {"properties": {"sheetId": 1, "title": PROTECTED}}},
    {
        "addProtectedRange": {
            "protectedRange": {"range": {"sheetId": 1, "startRowIndex": 1, "endRowIndex": 3}}
        }
    },
]


@dataclass(frozen=True, kw_only=True)
class Place:
    """A spreadsheet, the URL of its API, and the key file of an account that can edit it."""

    credentials: Path
    spreadsheet: str
    endpoint: str = GOOGLE

    def settings(self) -> GoogleSettings:
        return GoogleSettings(endpoint=self.endpoint, credentials=self.credentials)


def google_place(environment: Mapping[str, str]) -> Place | None:
    """Return the test spreadsheet at Google that the environment names, or None."""
    credentials, spreadsheet = environment.get(CREDENTIALS), environment.get(SPREADSHEET)
    if not credentials or not spreadsheet:
        return None
    return Place(credentials=Path(credentials), spreadsheet=spreadsheet)


@contextmanager
def serving_emulator(folder: Path, *, latency_ms: int = 0) -> Iterator[Place]:
    """Run an emulator with one spreadsheet on the loopback interface; its files are in `folder`."""
    seed = folder / "seed"
    (seed / "scratch").mkdir(parents=True)
    (seed / "scratch" / "Start.csv").touch()
    (seed / "scratch.json").write_text(json.dumps({"requests": PROTECTED_SHEET}), "utf-8")
    options = EmulatorOptions(seed=seed, latency_ms=latency_ms)
    emulator = create_emulator(options)
    listening = bind("127.0.0.1", 0)
    credentials = folder / "service-account.json"
    emulator.write_credentials(credentials, base_url(listening))
    with in_background(make_server(emulator.app, shutdown_seconds=1), listening) as url:
        yield Place(credentials=credentials, spreadsheet="scratch", endpoint=url)
