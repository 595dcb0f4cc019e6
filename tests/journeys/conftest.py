"""The whole gateway on the emulator, both served over HTTP on loopback."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest

from gateway.access.issue import create_key
from gateway.access.pepper import load_pepper
from gateway.app import create_app
from gateway.server.running import GatewayServer, in_background, make_server
from gateway.server.sockets import base_url, bind
from gateway.settings.database import Database
from gateway.settings.model import load_settings
from gateway.storage.key_store import Grants, KeyRequest, KeyStore
from sheets_emulator.app import EmulatorOptions, create_emulator
from tests.discovery import all_problems
from tests.exchanges import Exchange, Recorder
from tests.journeys.workbook import WORKBOOK, write_seed

MADE = datetime(2020, 1, 1, tzinfo=UTC)
"""When the keys were made; one of them has expired since."""

DEMO = frozenset({"demo"})
PAGE = "https://app.example.org"
"""Origin that the key `pages` accepts."""


def keys_to(spreadsheet: str) -> dict[str, KeyRequest]:
    """Requests for one key of each kind. Every key but `any` has access to this
    spreadsheet only.
    """
    own = frozenset({spreadsheet})
    grants = {
        "paid": Grants(spreadsheets=own),
        "free": Grants(spreadsheets=own),
        "read-only": Grants(spreadsheets=own, may_create=False, may_update=False),
        "cities": Grants(spreadsheets=own, worksheets=frozenset({"Cities"})),
        "misnamed": Grants(spreadsheets=own, worksheets=frozenset({"Citiez", "New"})),
        "two": Grants(spreadsheets=own | {"other"}),
        "any": Grants(spreadsheets=None),
        "pages": Grants(spreadsheets=own, origins=frozenset({PAGE})),
        "expired": Grants(spreadsheets=own),
        "revoked": Grants(spreadsheets=own),
    }
    requests = {name: KeyRequest(name=name, grants=each) for name, each in grants.items()}
    requests["free"] = replace(requests["free"], plan="free")
    requests["expired"] = replace(requests["expired"], expires_at=datetime(2021, 1, 1, tzinfo=UTC))
    return requests


KEYS: Mapping[str, KeyRequest] = keys_to("demo")


@dataclass(frozen=True)
class EmulatorControl:
    """The emulator's control requests."""

    url: str
    credentials: Path
    client: httpx2.Client = field(repr=False)
    take_exchanges: Callable[[], Sequence[Exchange]] = field(default=tuple, repr=False)
    """Returns the exchanges since the last call. Empty for an emulator in another process."""
    spreadsheet: str = "demo"
    """ID of the spreadsheet whose cells the methods return."""

    def check(self) -> None:
        """Fail if an exchange since the last check differs from what Google would send or
        accept.
        """
        assert all_problems(self.take_exchanges()) == []

    def reset(self) -> None:
        self.client.post("/_emulator/reset").raise_for_status()

    def stats(self) -> dict[str, Any]:
        answer: dict[str, Any] = self.client.get("/_emulator/stats").json()
        return answer

    def calls(self) -> tuple[int, int]:
        """Number of reads and of writes since the last reset."""
        stats = self.stats()
        return stats["reads"], stats["writes"]

    def faults(self, *faults: Mapping[str, Any]) -> None:
        self.client.post("/_emulator/faults", json=faults).raise_for_status()

    def cells(self, worksheet: str, spreadsheet: str | None = None) -> list[list[dict[str, Any]]]:
        answer = self.client.get(f"/_emulator/spreadsheets/{spreadsheet or self.spreadsheet}")
        cells: list[list[dict[str, Any]]] = answer.json()[worksheet]
        return cells

    def cell(self, worksheet: str, row: int, column: int) -> dict[str, Any]:
        """One cell; row and column count from 1."""
        return self.cells(worksheet)[row - 1][column - 1]

    def texts(self, worksheet: str, spreadsheet: str | None = None) -> list[list[str]]:
        """Displayed rows, without blank cells and rows at the ends."""
        rows = [[cell["text"] for cell in row] for row in self.cells(worksheet, spreadsheet)]
        return _trimmed([_trimmed(row, "") for row in rows], [])

    def everything(self) -> dict[str, Any]:
        """All cells of the spreadsheet, to see whether anything changed."""
        path = f"/_emulator/spreadsheets/{self.spreadsheet}"
        answer: dict[str, Any] = self.client.get(path).json()
        return answer


@dataclass(frozen=True)
class Api:
    """A client of the gateway; by default with a key and the ID of a spreadsheet."""

    url: str
    emulator: EmulatorControl
    keys: Mapping[str, str]
    client: httpx2.Client = field(repr=False)

    def send(
        self,
        method: str,
        path: str,
        *,
        key: str | None = "paid",
        spreadsheet: str | None = "demo",
        headers: Mapping[str, str] | None = None,
        **options: Any,
    ) -> httpx2.Response:
        """One request; `path` goes after `/v2/sheets/`, or is whole if it begins with a slash.

        The spreadsheet `demo` is the one whose cells are looked at.
        """
        sent = dict(headers or {})
        if spreadsheet == "demo":
            spreadsheet = self.emulator.spreadsheet
        if key is not None:
            sent.setdefault("Authorization", f"Bearer {self.keys.get(key, key)}")
        if spreadsheet is not None:
            sent.setdefault("X-Spreadsheet-Id", spreadsheet)
        whole = path if path.startswith("/") else f"/v2/sheets/{path}"
        return self.client.request(method, whole, headers=sent, **options)

    def get(self, path: str, **options: Any) -> httpx2.Response:
        return self.send("GET", path, **options)

    def post(self, path: str, **options: Any) -> httpx2.Response:
        return self.send("POST", path, **options)

    def names(self, path: str, **parameters: str) -> list[str]:
        """The `name` of every row that a list request gives."""
        answer = self.get(path, params=parameters)
        assert answer.status_code == 200, answer.text
        return [record["name"] for record in answer.json()["results"]]


LOOKS_EACH_TIME: Mapping[str, object] = {
    "cache.rows_ttl_seconds": 0,
    "cache.max_stale_seconds": 0,
    "google.reads_per_minute": 1_000_000,
    "google.writes_per_minute": 1_000_000,
    "plans.paid.requests_per_minute": 1_000_000,
    "plans.free.requests_per_minute": 1_000_000,
    "access.failures_per_minute": 1_000_000,
}
"""Settings of most journeys: no cached rows, and no quota or rate that a test can reach."""

KEY_BITS = 1024
"""Size of the accounts' private keys. Loading a key takes 5 ms; one of 2,048 bits takes 36 ms."""

OpenGateway = Callable[..., Api]
KeysOnDisk = tuple[Path, Mapping[str, str]]
"""The key store, and the keys in it by their names."""


def client_of(url: str, *, timeout_seconds: float = 30.0) -> httpx2.Client:
    """An HTTP client without TLS: loading certificates would take 20 ms."""
    return httpx2.Client(base_url=url, timeout=timeout_seconds, verify=False)


def _trimmed(cells: Sequence[Any], blank: object) -> list[Any]:
    kept = list(cells)
    while kept and kept[-1] == blank:
        kept.pop()
    return kept


async def create_keys(
    database: Database,
    requests: Mapping[str, KeyRequest],
    *,
    revoked: Sequence[str] = (),
    pepper: str | None = None,
    overrides: Mapping[str, object] | None = None,
) -> dict[str, str]:
    """Create a key store with these keys, with the plans in `overrides`. Returns the keys
    by name.
    """
    own = {"access.database": database, "access.pepper": pepper}
    settings = load_settings(None, {}, {**own, **(overrides or {})})
    async with KeyStore.open(settings.access.database) as store:
        created = {
            name: await create_key(
                request,
                store=store,
                pepper=load_pepper(settings.access),
                plans=settings.plans,
                now=MADE,
            )
            for name, request in requests.items()
        }
        for name in revoked:
            await store.revoke(created[name][0].id, datetime.now(UTC))
    return {name: key for name, (_, key) in created.items()}


def make_keys(
    folder: Path, requests: Mapping[str, KeyRequest], *, revoked: Sequence[str] = ()
) -> KeysOnDisk:
    """A key store with these keys, and the keys by name."""
    database = folder / "keys.db"
    return database, asyncio.run(create_keys(database, requests, revoked=revoked))


@pytest.fixture(scope="session")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatorControl]:
    """An emulator with the workbook, for all journeys."""
    with running_emulator(tmp_path_factory.mktemp("emulator"), WORKBOOK) as control:
        yield control


@contextmanager
def running_emulator(
    folder: Path, workbook: Mapping[str, Mapping[str, str]], *, accounts: int = 1
) -> Iterator[EmulatorControl]:
    """An emulator with these spreadsheets, what it exchanges checked at the end.

    Accounts have key files `account-1.json` and so on, of which the first is `credentials`.
    """
    write_seed(folder / "seed", workbook)
    options = EmulatorOptions(
        seed=folder / "seed", projects=("emulator",) * accounts, key_bits=KEY_BITS
    )
    running = create_emulator(options)
    listening = bind("127.0.0.1", 0)
    for number in range(1, accounts + 1):
        path = folder / f"account-{number}.json"
        running.write_credentials(path, base_url(listening), number=number)
    credentials = folder / "account-1.json"
    recorder = Recorder(app=running.app, faults=running.service.faults)
    with (
        in_background(make_server(recorder, shutdown_seconds=1), listening) as url,
        client_of(url) as client,
    ):
        control = EmulatorControl(
            url=url, credentials=credentials, client=client, take_exchanges=recorder.take
        )
        yield control
        control.check()


@pytest.fixture(scope="session")
def access(tmp_path_factory: pytest.TempPathFactory) -> KeysOnDisk:
    """A key store with a key of every sort, and the keys by name."""
    return make_keys(tmp_path_factory.mktemp("access"), KEYS, revoked=["revoked"])


@contextmanager
def running_gateways(emulator: EmulatorControl, access: KeysOnDisk) -> Iterator[OpenGateway]:
    """Starts gateways with settings of the test's choice on a freshly seeded emulator."""
    database, keys = access
    emulator.reset()
    with ExitStack() as stack:
        # What the gateways of other tests spent does not count here, nor the other way round.
        def forget_spent() -> None:
            for spent in database.parent.glob(f"{database.name}.quota*"):
                spent.unlink()

        stack.callback(forget_spent)
        stack.callback(emulator.reset)  # also for the tests after this one that share a gateway

        def start(overrides: Mapping[str, object] | None = None) -> Api:
            settings = load_settings(
                None,
                {},
                {
                    "google.endpoint": emulator.url,
                    "google.credentials": str(emulator.credentials),
                    "access.database": str(database),
                    **LOOKS_EACH_TIME,
                    **(overrides or {}),
                },
            )
            forget_spent()
            server = GatewayServer(create_app(settings), settings.server)
            url = stack.enter_context(in_background(server, bind("127.0.0.1", 0)))
            client = stack.enter_context(client_of(url))
            return Api(url=url, emulator=emulator, keys=keys, client=client)

        yield start
    emulator.check()


@pytest.fixture
def open_gateway(emulator: EmulatorControl, access: KeysOnDisk) -> Iterator[OpenGateway]:
    """Starts gateways with settings of the test's choice on a freshly seeded emulator."""
    with running_gateways(emulator, access) as start:
        yield start


@pytest.fixture(scope="session")
def deleting_access(tmp_path_factory: pytest.TempPathFactory) -> KeysOnDisk:
    """A key store with a key that may delete."""
    request = KeyRequest(name="paid", grants=Grants(spreadsheets=DEMO, may_delete=True))
    return make_keys(tmp_path_factory.mktemp("deleting"), {"paid": request})


@pytest.fixture
def open_deleting_gateway(
    emulator: EmulatorControl, deleting_access: KeysOnDisk
) -> Iterator[OpenGateway]:
    """Starts gateways for a key that may delete up to 50 rows at once."""
    deletes = {"plans.paid.deletes": True, "plans.paid.max_affected": 50}
    with running_gateways(emulator, deleting_access) as start:
        yield lambda overrides=None: start({**deletes, **(overrides or {})})


@pytest.fixture(scope="module")
def reading_api(emulator: EmulatorControl, access: KeysOnDisk) -> Iterator[Api]:
    """One gateway for all tests of a module that do not write."""
    with running_gateways(emulator, access) as start:
        yield start()


@pytest.fixture
def api(open_gateway: OpenGateway) -> Api:
    """A gateway with default settings and an empty cache."""
    return open_gateway()


@pytest.fixture
def shared_api(reading_api: Api) -> Iterator[Api]:
    """The module's gateway on a freshly seeded emulator, for the many tests that change nothing."""
    reading_api.emulator.reset()
    yield reading_api
    reading_api.emulator.check()


@pytest.fixture(scope="module")
def forgetful_gateway(emulator: EmulatorControl, access: KeysOnDisk) -> Iterator[Api]:
    """A gateway that reads the sheet before every write."""
    with running_gateways(emulator, access) as start:
        yield start({"cache.header_ttl_seconds": 0})


@pytest.fixture
def looking_api(forgetful_gateway: Api) -> Api:
    """The gateway that reads before every write, on a freshly seeded emulator."""
    forgetful_gateway.emulator.reset()
    return forgetful_gateway
