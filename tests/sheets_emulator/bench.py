"""Test client of an emulator, with a token, and a clock that the test sets."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from google.auth import jwt
from google.auth.crypt import RSASigner
from httpx2 import Response
from starlette.testclient import TestClient

from sheets_emulator.app import Emulator, EmulatorOptions, create_emulator
from sheets_emulator.service import Timing
from tests.exchanges import Recorder

BASE_URL = "http://testserver"
SCOPE = "https://www.googleapis.com/auth/spreadsheets"
GRANT_TYPE = "urn:ietf:params:oauth:grant-type:jwt-bearer"
START = 1_700_000_000.0
NO_CALLS = {"calls": {}, "reads": 0, "writes": 0, "refused": 0, "projects": {}}
"""The statistics after a reset."""


@dataclass(kw_only=True)
class LateEffect:
    """An effect that happens when the clock reaches `moment`, in seconds since 1970."""

    moment: float
    effect: Callable[[], None]
    is_cancelled: bool = False

    def cancel(self) -> None:
        self.is_cancelled = True


@dataclass(kw_only=True)
class ManualClock:
    """A clock that moves only when the test advances it, or when the emulator sleeps.

    `slept` has the seconds of each sleep.
    """

    moment: float = START
    slept: list[float] = field(default_factory=list)
    late: list[LateEffect] = field(default_factory=list)

    def now(self) -> float:
        return self.moment

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.advance(seconds)

    def later(self, seconds: float, effect: Callable[[], None]) -> LateEffect:
        self.late.append(LateEffect(moment=self.moment + seconds, effect=effect))
        return self.late[-1]

    def advance(self, seconds: float) -> None:
        self.moment += seconds
        due = [each for each in self.late if each.moment <= self.moment and not each.is_cancelled]
        self.late = [each for each in self.late if each not in due]
        for each in due:
            each.effect()

    def timing(self) -> Timing:
        sleep: Callable[[float], Awaitable[None]] = self.sleep
        return Timing(now=self.now, sleep=sleep, later=self.later)


@dataclass(kw_only=True)
class Bench:
    """An emulator, its test client, and the token that the client sends."""

    emulator: Emulator
    recorder: Recorder
    client: TestClient
    clock: ManualClock
    account: dict[str, str]
    token: str = ""

    def call(self, method: str, path: str, body: object = None, **parameters: str) -> Response:
        """The answer to a call of the API with the token. The path is sent unchanged."""
        headers = {"Authorization": f"Bearer {self.token}"}
        query = parameters or None
        return self.client.request(method, path, params=query, json=body, headers=headers)

    def values(self, text: str, sheet_id: str = "book", **parameters: str) -> Any:
        """The JSON body that values.get answers for a range."""
        return self.call("GET", values_path(text, sheet_id), **parameters).json()

    def grid(self, text: str, sheet_id: str = "book", **parameters: str) -> list[list[Any]]:
        """The values of a range by row, or [] if it is blank."""
        found: list[list[Any]] = self.values(text, sheet_id, **parameters).get("values", [])
        return found

    def update(self, text: str, values: list[list[Any]], option: str = "RAW") -> Response:
        """Send values.update and return the answer. The default input option is RAW."""
        path = values_path(text)
        return self.call("PUT", path, {"values": values}, valueInputOption=option)

    def append(self, text: str, values: list[list[Any]], **parameters: str) -> Response:
        """Send values.append and return the answer. The default input option is RAW."""
        wanted = {"valueInputOption": "RAW", **parameters}
        return self.call("POST", f"{values_path(text)}:append", {"values": values}, **wanted)

    def edit(self, *requests: dict[str, Any]) -> Response:
        """Send a batchUpdate of `book` with these requests and return the answer."""
        body = {"requests": list(requests)}
        return self.call("POST", "/v4/spreadsheets/book:batchUpdate", body)

    def owner_edits(self, *requests: dict[str, Any]) -> Response:
        """Let the owner edit `book` just before a read of A1. Return the answer of the read."""
        self.fault({"call": "values.get", "edit": {"requests": list(requests)}})
        return self.call("GET", values_path("A1"))

    def described(self, **parameters: str) -> Any:
        """The Spreadsheet resource of `book`, as JSON."""
        return self.call("GET", "/v4/spreadsheets/book", **parameters).json()

    def sheets(self, sheet_id: str = "book") -> list[dict[str, Any]]:
        """The SheetProperties of each worksheet."""
        answer = self.call("GET", f"/v4/spreadsheets/{sheet_id}", fields="sheets.properties")
        return [sheet["properties"] for sheet in answer.json()["sheets"]]

    def size(self, index: int = 0) -> tuple[int, int]:
        """(rows, columns) of the grid of a worksheet."""
        grid = self.sheets()[index]["gridProperties"]
        return grid["rowCount"], grid["columnCount"]

    def fault(self, *faults: dict[str, Any]) -> Response:
        """Post faults to the emulator, which replace older ones."""
        return self.client.post("/_emulator/faults", json=list(faults))

    def stats(self) -> Any:
        return self.client.get("/_emulator/stats").json()

    def ask_token(self, **claims: object) -> Response:
        """Request a token. `claims` replace the usual claims of the assertion."""
        return self.post_assertion(self.signed(claims))

    def signed(self, claims: dict[str, object], algorithm: str = "RS256") -> str:
        """An assertion with these claims. The signature is RS256 for every `algorithm`."""
        signer = signer_of(self.account["private_key"])
        moment = int(self.clock.moment)
        usual: dict[str, object] = {
            "iss": self.account["client_email"],
            "aud": self.account["token_uri"],
            "iat": moment,
            "exp": moment + 3600,
            "scope": SCOPE,
        }
        assertion: bytes = jwt.encode(  # type: ignore[no-untyped-call]
            signer, {**usual, **claims}, header={"alg": algorithm}
        )
        return assertion.decode()

    def token_for(self, **claims: object) -> str:
        """The token for an assertion with these claims."""
        token: str = self.ask_token(**claims).json()["access_token"]
        return token

    def post_assertion(self, assertion: str) -> Response:
        form = {"grant_type": GRANT_TYPE, "assertion": assertion}
        return self.client.post("/token", data=form)


@cache
def signer_of(private_key: str) -> RSASigner:
    """The signer of a PEM key, cached because parsing a key is slow."""
    signer: RSASigner = RSASigner.from_string(private_key)  # type: ignore[no-untyped-call]
    return signer


def values_path(text: str, sheet_id: str = "book") -> str:
    """The path of a range, with all special characters percent-encoded."""
    return f"/v4/spreadsheets/{sheet_id}/values/{quote(text, safe='')}"


def message(response: Response) -> str:
    """The message of an error."""
    found: str = response.json()["error"]["message"]
    return found


def write_seed(directory: Path, files: dict[str, str]) -> Path:
    """Write a seed with these texts by file name, and return its directory."""
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return directory


def build_bench(directory: Path, options: EmulatorOptions) -> Bench:
    """An emulator and its client with a token. The credentials file is in `directory`."""
    clock = ManualClock()
    emulator = create_emulator(options, timing=clock.timing())
    path = directory / "credentials.json"
    emulator.write_credentials(path, BASE_URL)
    account = json.loads(path.read_text(encoding="utf-8"))
    recorder = Recorder(app=emulator.app, faults=emulator.service.faults)
    client = TestClient(recorder, base_url=BASE_URL)
    bench = Bench(emulator=emulator, recorder=recorder, client=client, clock=clock, account=account)
    bench.token = bench.token_for()
    client.post("/_emulator/reset")
    return bench


def bench_of_account(bench: Bench, number: int, directory: Path) -> Bench:
    """A client of another account of the same emulator. The key file is in `directory`."""
    path = directory / f"account-{number}.json"
    bench.emulator.write_credentials(path, BASE_URL, number=number)
    other = replace(bench, account=json.loads(path.read_text(encoding="utf-8")))
    other.token = other.token_for()
    bench.client.post("/_emulator/reset")
    return other
