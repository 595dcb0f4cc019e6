"""Clients that write until the server is killed, and checks of the data after a restart.

Rules
- Each write puts its own number into several cells, mostly of two worksheets, so that a write that
  was applied partly is found.
- An acknowledged write must be there. The write in progress at the kill must be there completely
  or not at all.
"""

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from google.auth import jwt

from sheets_emulator.http.tokens import GOOGLE_AUDIENCE
from tests.sheets_emulator.bench import GRANT_TYPE, SCOPE, signer_of

PATIENCE_SECONDS = 20.0
LOG = "Log"
SHARED = "Shared"
SHARED_SHEET_ID = 100
LOG_ROWS = 3
LETTERS = "ABCDEFGH"
RAW = "valueInputOption=RAW"

Request = tuple[str, str, object]  # method, path after the spreadsheet ID, body


@dataclass(kw_only=True)
class Client:
    """A connection to an emulator, with a token."""

    connection: HTTPConnection
    token: str = ""
    spreadsheet_id: str = ""

    def send(self, method: str, rest: str, body: object = None) -> Any:
        """The JSON of a successful answer. Raises OSError or HTTPException if none arrives."""
        slash = "/" if self.spreadsheet_id else ""
        path = f"/v4/spreadsheets{slash}{self.spreadsheet_id}{rest}"
        headers = {"Authorization": f"Bearer {self.token}"}
        content = None if body is None else json.dumps(body)
        self.connection.request(method, path, content, headers)
        answer = self.connection.getresponse()
        said = answer.read()
        if answer.status != 200:
            raise AssertionError(f"{answer.status}: {said.decode()}")
        return json.loads(said)

    def numbers(self, text: str) -> list[int]:
        """The numbers in the cells of a range."""
        rows = self.send("GET", f"/values/{quote(text)}").get("values", [])
        return [int(value) for row in rows for value in row]


def connected(url: str, account: Mapping[str, str], spreadsheet_id: str = "") -> Client:
    """A client with a token for the account."""
    parts = urlsplit(url)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=PATIENCE_SECONDS)
    moment = int(time.time())
    times = {"iat": moment, "exp": moment + 3600}
    claims = {"iss": account["client_email"], "aud": GOOGLE_AUDIENCE, "scope": SCOPE, **times}
    signed: bytes = jwt.encode(signer_of(account["private_key"]), claims)  # type: ignore[no-untyped-call]
    form = urlencode({"grant_type": GRANT_TYPE, "assertion": signed.decode()})
    connection.request("POST", "/token", form)
    token = json.loads(connection.getresponse().read())["access_token"]
    return Client(connection=connection, token=token, spreadsheet_id=spreadsheet_id)


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of write, with functions for its request and its ranges.

    `size` is the number of cells. `ranges` is empty and `size` is 0 for appends to the log.
    """

    request: Callable[[int, int], Request]
    ranges: Callable[[int], Sequence[str]]
    size: int = 0


@dataclass(kw_only=True)
class Writer:
    """One of several concurrent writers. A writer has its own cells, and appends to the log."""

    index: int
    chance: random.Random
    numbers: Iterator[int]
    acknowledged: threading.Semaphore
    """Released for each acknowledged write."""
    acknowledged_count: int = 0
    """Number of acknowledged writes of this writer."""
    certain: dict[str, int] = field(default_factory=dict)
    """Number of the last applied write, by name of its kind."""
    logged: set[int] = field(default_factory=set)
    """Numbers of all applied appends to the log."""
    under_way: tuple[str, int] = ("", 0)

    def write_on(self, client: Client) -> None:
        """Write until the server is gone."""
        try:
            while True:
                name, number = self.chance.choice(list(KINDS)), next(self.numbers)
                self.under_way = (name, number)
                client.send(*KINDS[name].request(self.index, number))
                self.note(name, number)
                self.acknowledged_count += 1
                self.acknowledged.release()
        except (OSError, HTTPException):
            client.connection.close()

    def note(self, name: str, number: int) -> None:
        """Record that a write was applied and must stay."""
        self.certain[name] = number
        if not KINDS[name].size:
            self.logged.add(number)

    def problems(self, client: Client) -> Iterator[str]:
        """Yield differences between the writes and the writer's cells. Record the writes found."""
        for name, kind in KINDS.items():
            texts = kind.ranges(self.index)
            found = Counter(number for text in texts for number in client.numbers(text))
            whole = [{}] if name not in self.certain else [{self.certain[name]: kind.size}]
            if self.under_way[0] == name:
                whole.append({self.under_way[1]: kind.size})
            if texts and found not in whole:
                yield f"writer {self.index}, {name}: {found}, not one of {whole}"
            for number in found:
                self.note(name, number)


def log_problems(client: Client, writers: Sequence[Writer]) -> Iterator[str]:
    """Yield log entries that are lost, incomplete or unknown. Record the writes found."""
    found = Counter(client.numbers(f"{LOG}!A2:C"))
    for number, times in found.items():
        if times != LOG_ROWS * 3:
            yield f"append {number} is there with {times} cells"
    for writer in writers:
        name, number = writer.under_way
        if name and not KINDS[name].size and number in found:
            writer.note(name, number)
    certain = {number for writer in writers for number in writer.logged}
    yield from (f"append {number} is lost" for number in certain - found.keys())
    yield from (f"append {number} is nobody's" for number in found.keys() - certain)


def _append(_: int, number: int) -> Request:
    rows = [[number] * 3] * LOG_ROWS
    path = f"/values/{LOG}!A1:append?{RAW}&insertDataOption=INSERT_ROWS"
    return "POST", path, {"values": rows}


def _nothing(_: int) -> Sequence[str]:
    return ()


def _update(index: int, number: int) -> Request:
    return "PUT", f"/values/W{index}!A1:B20?{RAW}", {"values": [[number] * 2] * 20}


def _update_ranges(index: int) -> Sequence[str]:
    return (f"W{index}!A1:B20",)


def _batch(index: int, number: int) -> Request:
    data = [{"range": text, "values": [[number]] * 10} for text in _batch_ranges(index)]
    return "POST", "/values:batchUpdate", {"valueInputOption": "RAW", "data": data}


def _batch_ranges(index: int) -> Sequence[str]:
    letter = LETTERS[index]
    return f"W{index}!D1:D10", f"{SHARED}!{letter}1:{letter}10"


def _edit(index: int, number: int) -> Request:
    cells = [{"values": [{"userEnteredValue": {"numberValue": number}}]}] * 5
    requests: list[object] = [
        {"updateCells": {"start": start, "rows": cells, "fields": "userEnteredValue"}}
        for start in (
            {"sheetId": index, "rowIndex": 0, "columnIndex": 5},
            {"sheetId": SHARED_SHEET_ID, "rowIndex": 10, "columnIndex": index},
        )
    ]
    return "POST", ":batchUpdate", {"requests": requests}


def _edit_ranges(index: int) -> Sequence[str]:
    letter = LETTERS[index]
    return f"W{index}!F1:F5", f"{SHARED}!{letter}11:{letter}15"


KINDS: Mapping[str, Kind] = {
    "append": Kind(request=_append, ranges=_nothing),
    "update": Kind(request=_update, ranges=_update_ranges, size=40),
    "batch": Kind(request=_batch, ranges=_batch_ranges, size=20),
    "edit": Kind(request=_edit, ranges=_edit_ranges, size=10),
}
