"""A spreadsheet of its own for each test, in place of a gateway of its own.

Rules: a gateway is started once for the same settings. It has not seen the spreadsheet of a test
yet, as a gateway that was just started. The emulator is not reset meanwhile, because the IDs of
new spreadsheets would begin again.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from tests.journeys.conftest import (
    Api,
    EmulatorControl,
    KeysOnDisk,
    OpenGateway,
    running_gateways,
)
from tests.simulation.people import person_at

Settings = Mapping[str, object]


@contextmanager
def running_books(
    emulator: EmulatorControl, access: KeysOnDisk, *, rows: int, columns: int
) -> Iterator[OpenGateway]:
    """Opens gateways, each time on a new spreadsheet with a blank worksheet `S` of this size."""
    opened: list[tuple[Settings, Api]] = []
    grid = {"rowCount": rows, "columnCount": columns}
    sheet = {"properties": {"sheetId": 0, "title": "S", "gridProperties": grid}}
    with running_gateways(emulator, access) as start:

        def open_book(settings: Settings | None = None) -> Api:
            emulator.faults()
            own = settings or {}
            api = next((each for known, each in opened if known == own), None)
            if api is None:
                api = start(own)
                opened.append((own, api))
            with person_at(emulator.url, emulator.credentials, "") as person:
                book = person.send("POST", "", {"sheets": [sheet]})["spreadsheetId"]
            keys = {**api.keys, "paid": api.keys["any"]}
            return replace(api, emulator=replace(emulator, spreadsheet=book), keys=keys)

        yield open_book
