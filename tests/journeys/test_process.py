"""The commands as processes of their own, as an operator starts, asks and ends them."""

import json
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from tests.journeys.conftest import EmulatorControl
from tests.journeys.process import Process, run, running
from tests.journeys.waiting import PATIENCE_SECONDS, until
from tests.journeys.workbook import write_seed


@dataclass(frozen=True, kw_only=True)
class Installation:
    """A configuration with its own key store, and the emulator that it points at."""

    folder: Path
    emulator: EmulatorControl

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return run(*arguments, "--config", str(self.folder / "config.toml"))

    def create_key(self, *options: str) -> dict[str, str]:
        done = self.command("keys", "create", "--name", "test", "--json", *options)
        assert done.returncode == 0, done.stderr
        created: dict[str, str] = json.loads(done.stdout)
        return created


@dataclass(frozen=True)
class Served:
    """The gateway of an installation as a process."""

    gateway: Process

    def request(self, method: str, path: str, key: str, **options: Any) -> httpx2.Response:
        url = f"{self.gateway.url}/v2/sheets/{path}"
        return httpx2.request(
            method, url, headers=_credentials(key), timeout=PATIENCE_SECONDS, **options
        )

    @contextmanager
    def client_that_leaves(self, path: str, key: str, body: object) -> Iterator[None]:
        """A create whose client closes its connection at the end of the block."""
        url = urlsplit(self.gateway.url)
        connection = HTTPConnection(url.hostname or "", url.port, timeout=PATIENCE_SECONDS)
        try:
            connection.request("POST", f"/v2/sheets/{path}", json.dumps(body), _credentials(key))
            yield
        finally:
            connection.close()


def _credentials(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}", "X-Spreadsheet-Id": "demo"}


@pytest.fixture(scope="module")
def separate_emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatorControl]:
    """The emulator as a process, on a free port."""
    folder = tmp_path_factory.mktemp("emulator")
    write_seed(folder / "seed")
    credentials = folder / "service-account.json"
    options = ("--port", "0", "--seed", str(folder / "seed"), "--credentials", str(credentials))
    with (
        running(folder / "log", "emulator", *options) as process,
        httpx2.Client(base_url=process.url, timeout=30.0) as client,
    ):
        yield EmulatorControl(url=process.url, credentials=credentials, client=client)


@pytest.fixture
def installation(separate_emulator: EmulatorControl, tmp_path: Path) -> Installation:
    """A configuration in front of the emulator, with no key yet."""
    separate_emulator.reset()
    (tmp_path / "config.toml").write_text(
        f'[google]\nendpoint = "{separate_emulator.url}"\n'
        f'credentials = "{separate_emulator.credentials}"\n'
    )
    return Installation(folder=tmp_path, emulator=separate_emulator)


@pytest.fixture
def served(installation: Installation) -> Iterator[Served]:
    """The gateway as a process, on a free port."""
    config = str(installation.folder / "config.toml")
    log = installation.folder / "log"
    with running(log, "serve", "--port", "0", "--config", config) as process:
        yield Served(process)


def test_commands_fail_without_the_pepper_of_existing_keys(installation: Installation) -> None:
    """`serve` and `keys create` exit with status 2 and create no other pepper."""
    installation.create_key("--spreadsheet", "demo")
    pepper = installation.folder / "keys.db.pepper"
    pepper.unlink()
    done = [
        installation.command("serve", "--port", "0"),
        installation.command("keys", "create", "--name", "n", "--spreadsheet", "demo"),
    ]

    assert [each.returncode for each in done] == [2, 2]
    for each in done:
        assert f"access.pepper: {pepper} is missing" in each.stderr
        assert len(each.stderr.splitlines()) == 1
        assert each.stdout == ""
    assert not pepper.exists()


def test_a_key_with_another_pepper_gets_a_warning(
    installation: Installation,
) -> None:
    """The first key with a new pepper gets one warning; the next key gets none."""
    key_id = installation.create_key("--spreadsheet", "demo")["id"]
    installation.command("keys", "revoke", key_id)
    (installation.folder / "keys.db.pepper").unlink()
    create = ("keys", "create", "--name", "n", "--spreadsheet", "demo", "--json")
    first, second = (installation.command(*create) for _ in range(2))

    assert "a gateway with the earlier pepper will not accept this key" in first.stderr
    assert len(first.stderr.splitlines()) == 1
    assert second.stderr == ""
    assert json.loads(first.stdout)["key"] != json.loads(second.stdout)["key"]


def test_serve_says_how_to_mend_a_key_file(installation: Installation) -> None:
    """`serve` prints the same error as `check` about a missing key file."""
    (installation.folder / "config.toml").write_text('[google]\ncredentials = "none.json"\n')
    served, checked = (installation.command(*each) for each in (["serve", "--port=0"], ["check"]))

    assert (served.returncode, checked.returncode) == (2, 1)
    words = served.stderr.removeprefix("sheets-gateway: ").rstrip(".\n")
    assert "or put the file there: download a key of a service account" in words
    assert checked.stdout.splitlines()[-1] == f"problem  {words}"


def test_a_key_works_from_creation_to_revocation(
    installation: Installation, served: Served
) -> None:
    """A running gateway accepts a new key at once and refuses a revoked key soon after."""
    created = installation.create_key("--spreadsheet", "demo", "--worksheet", "Cities")
    key = created["key"]
    working = served.request("GET", "Cities/2", key)
    denied = served.request("GET", "New", key)
    listed = json.loads(installation.command("keys", "list", "--json").stdout)
    revoked = installation.command("keys", "revoke", created["id"])
    is_refused = until(lambda: served.request("GET", "Cities/2", key).status_code == 401)
    again = installation.command("keys", "revoke", created["id"])
    after = json.loads(installation.command("keys", "list", "--json").stdout)

    assert set(created) == {"id", "key"}
    assert working.json()["name"] == "New York"
    assert (denied.status_code, denied.json()["code"]) == (403, 4032)
    assert [(each["id"], each["worksheets"]) for each in listed] == [(created["id"], ["Cities"])]
    assert listed[0]["revokedAt"] is None
    assert key not in json.dumps(listed)
    assert (revoked.returncode, is_refused, again.returncode) == (0, True, 2)
    assert after[0]["revokedAt"] is not None


def test_options_of_a_key_take_effect(installation: Installation, served: Served) -> None:
    """`--plan`, `--read-only` and `--any-spreadsheet` of `keys create` take effect."""
    free = installation.create_key("--spreadsheet", "demo", "--plan", "free", "--read-only")["key"]
    wide = installation.command("keys", "create", "--name", "w", "--any-spreadsheet", "--json")
    unknown = installation.command("keys", "create", "--name", "x", "--any-spreadsheet", "--plan=y")
    sort = served.request("GET", "Cities", free, params={"order": "name"})
    write = served.request("POST", "Cities", free, json={"name": "n"})
    key = json.loads(wide.stdout)["key"]
    other = served.request("GET", "Cities", key, params={"limit": "1"})

    assert (sort.json()["code"], write.json()["code"]) == (4034, 4050)
    assert other.status_code == 200
    assert "every spreadsheet" in wide.stderr
    assert unknown.returncode == 2
    assert "y" in unknown.stderr


def test_check_says_what_is_wrong(installation: Installation) -> None:
    """`check` prints its findings; only a problem gives exit status 1."""
    installation.create_key("--any-spreadsheet")
    odd = installation.command("check", "--spreadsheet", "demo")
    unshared = installation.command("check", "--spreadsheet", "private")
    unknown = installation.command("check", "--spreadsheet", "nowhere")
    account = json.loads(installation.emulator.credentials.read_text())["client_email"]

    assert odd.returncode == 0
    assert (unshared.returncode, unknown.returncode) == (1, 1)
    assert f"Google accepts {account}" in odd.stdout
    assert "every spreadsheet" in odd.stdout
    for words in ('"Empty"', "row 1 is blank", '"Duplicates"', "is in columns", "no header in"):
        assert words in odd.stdout
    assert account in unshared.stdout.splitlines()[-1]
    assert unknown.stdout.splitlines()[-1].startswith("problem")


def test_a_running_write_survives_sigterm(installation: Installation, served: Served) -> None:
    """On SIGTERM during a slow write, the client gets 201 and the process exits with 0."""
    key = installation.create_key("--spreadsheet", "demo")["key"]
    served.request("GET", "New", key)
    installation.emulator.faults({"call": "spreadsheets.batchUpdate", "delay_ms": 1500})
    with ThreadPoolExecutor(1) as pool:
        write = pool.submit(served.request, "POST", "New", key, json={"name": "kept"})
        is_sent = until(
            lambda: "spreadsheets.batchUpdate" in installation.emulator.stats()["calls"]
        )
        began = time.monotonic()
        status = served.gateway.end()
        seconds = time.monotonic() - began
        answer = write.result()

    assert is_sent
    assert (answer.status_code, answer.json()) == (201, {"rowIndex": 2, "name": "kept"})
    assert installation.emulator.texts("New")[1:] == [["kept"]]
    assert status == 0
    assert seconds < 10


def test_a_write_whose_client_left_survives_sigterm(
    installation: Installation, served: Served
) -> None:
    """On SIGTERM, a write whose client has left is still carried out."""
    key = installation.create_key("--spreadsheet", "demo")["key"]
    installation.emulator.faults({"call": "spreadsheets.get", "delay_ms": 1500})
    with served.client_that_leaves("New", key, {"name": "kept"}):
        is_looking = until(lambda: "spreadsheets.get" in installation.emulator.stats()["calls"])
    before = installation.emulator.calls()
    status = served.gateway.end()

    assert is_looking
    assert before == (1, 0)
    assert installation.emulator.texts("New")[1:] == [["kept"]]
    assert status == 0


def test_the_log_is_json_without_secrets(installation: Installation, served: Served) -> None:
    """Each line of the log is a JSON object without keys, valid or not, and without cell values."""
    key = installation.create_key("--spreadsheet", "demo")["key"]
    served.request("GET", "Cities/2", key)
    served.request("GET", "Cities", "sgw_notakey")
    served.request("POST", "Cities", key, json={"name": "=secret cell"})
    served.request("GET", "Cities", key, params={"apiKey": key, "where": '{"name":"Dallas"}'})
    httpx2.get(f"{served.gateway.url}/v2/sheets/a%0Ab%22?apiKey={key}")
    served.gateway.end()
    log = served.gateway.log.read_text()
    lines = [json.loads(line) for line in log.splitlines()]
    requests = [line for line in lines if line["event"] == "request"]
    levels = {line["level"] for line in lines}

    assert [line["status"] for line in requests] == [200, 401, 201, 200, 404]
    assert levels <= {"info", "warning"}
    assert (requests[0]["worksheet"], requests[0]["reads"]) == ("Cities", 1)
    for secret in (key, "notakey", "secret cell", "Dallas", "New York", "PRIVATE KEY"):
        assert secret not in log


def test_all_mistakes_of_a_configuration_are_reported_at_once(tmp_path: Path) -> None:
    """An invalid configuration makes every command list all errors and exit with status 2."""
    config = tmp_path / "config.toml"
    config.write_text(
        '[server]\nport = "many"\nprot = 1\n[google]\nendpoint = "http://example.org"\n'
        '[plans.free]\nmax_limit = 0\n[api]\nempty_cell = "zero"\n'
    )
    environ = {"GATEWAY_CACHE__HEADER_TTL_SECONDS": "soon", "GATEWAY_SERVER__HOTS": "x"}
    commands = (["serve"], ["keys", "list"])
    done = [run(*each, "--config", str(config), environ=environ) for each in commands]

    assert [each.returncode for each in done] == [2, 2]
    for each in done:
        for place in (
            *("server.port", "server.prot", "google.endpoint", "plans.free.max_limit"),
            *("api.empty_cell", "GATEWAY_CACHE__HEADER_TTL_SECONDS", "GATEWAY_SERVER__HOTS"),
        ):
            assert place in each.stderr
        assert "Traceback" not in each.stderr
