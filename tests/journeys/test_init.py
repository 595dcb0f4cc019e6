"""`sheets-gateway init` on a terminal, with an emulated Google account."""

import json
import os
import re
import shlex
import sqlite3
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.journeys.conftest import EmulatorControl, running_emulator
from tests.journeys.process import run, running
from tests.journeys.terminal import on_terminal
from tests.journeys.waiting import PATIENCE_SECONDS

BOOK = "1AbcDefGhiJkl"
URL = f"https://docs.google.com/spreadsheets/d/{BOOK}/edit#gid=0"
ACCOUNT = "gateway@emulator.iam.gserviceaccount.com"
SHEETS = {"A note": "", "My cities": "name,size\nParis,2\n"}


@dataclass(frozen=True, kw_only=True)
class Office:
    """An operator's directory with a downloaded key file, and the emulator."""

    folder: Path
    google: EmulatorControl

    @property
    def environ(self) -> Mapping[str, str]:
        return {"GATEWAY_GOOGLE__ENDPOINT": self.google.url}

    @property
    def config(self) -> Path:
        return self.folder / "config.toml"

    def share(self, role: str) -> None:
        self.google.client.post(
            f"/_emulator/spreadsheets/{BOOK}/access", json={"account": ACCOUNT, "role": role}
        ).raise_for_status()

    def init(self, *options: str) -> "subprocess.CompletedProcess[str]":
        """Run the command without a terminal."""
        return run("init", "--config", str(self.config), *options, environ=dict(self.environ))

    def key_file(self) -> str:
        return str(self.folder / "key.json")


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    google_folder, folder = tmp_path / "google", tmp_path / "office"
    google_folder.mkdir()
    folder.mkdir()
    with running_emulator(google_folder, {BOOK: SHEETS}) as google:
        (folder / "key.json").write_bytes(google.credentials.read_bytes())
        (folder / "key.json").chmod(0o644)  # as a browser saves it
        yield Office(folder=folder, google=google)


def first_row(curl: str, url: str) -> object:
    """Send a printed curl line to the gateway at `url` and return its JSON."""
    line = curl.replace("http://127.0.0.1:8000", url)
    done = subprocess.run(  # noqa: S603 - the command's own line
        shlex.split(line), capture_output=True, timeout=PATIENCE_SECONDS, check=True
    )
    return json.loads(done.stdout)


def test_init_on_a_terminal(office: Office, tmp_path: Path) -> None:
    """`init` explains, repeats questions after mistakes and waits until the sheet is shared."""
    office.share("none")
    (office.folder / "prices.json").write_text("{}")
    (office.folder / "prices.json").chmod(0o644)
    with on_terminal("init", environ=office.environ, folder=office.folder) as terminal:
        terminal.until(r"Key file of a service account \(Enter: how to create one\)")
        terminal.type("")
        project = terminal.until(r"gcloud projects create (\S+)\n")[1]
        terminal.until(rf"sheets-gateway@{project}\.iam")
        terminal.until("Key file")
        terminal.type("none.json")
        terminal.until("none.json.*\n")
        terminal.until("Key file")
        terminal.type("prices.json")
        terminal.until("prices.json.*\n.*prices.json")
        terminal.until("Key file")
        terminal.type("key.json")
        terminal.until(r"Other users can read key.json.*\[Y/n\]")
        terminal.type("")
        terminal.until("config.toml is written")
        terminal.until(rf"Share the spreadsheet with this address, as Editor:\s+{ACCOUNT}")
        terminal.until("URL or ID of the spreadsheet")
        terminal.type("https://example.org/")
        terminal.until("invalid spreadsheet ID")
        terminal.until("URL or ID of the spreadsheet")
        terminal.type("0" * 20)
        terminal.until("does not know this ID")
        terminal.until("URL or ID of the spreadsheet")
        terminal.type(URL)
        terminal.until("Not yet: it is not shared with")
        terminal.until(r"Waiting until it is shared \(Ctrl-C ends\) 0:00:0\d")
        office.share("writer")
        terminal.until(f"The spreadsheet {BOOK} is shared")
        terminal.until('worksheet "A note": row 1 is blank')
        terminal.until('worksheet "My cities": 2 fields')
        terminal.until("it can be written to")
        curl = terminal.until(r"\n(curl .*)\n")[1]
        status = terminal.end()
    with running(tmp_path / "log", "serve", "--port", "0", *_serving(office)) as gateway:
        page = first_row(curl, gateway.url)

    assert status == 0
    assert (office.folder / "prices.json").stat().st_mode & 0o777 == 0o644
    assert (office.folder / "key.json").stat().st_mode & 0o777 == 0o600
    assert page == {
        "results": [{"rowIndex": 2, "name": "Paris", "size": "2"}],
        "hasNextPage": False,
    }


def test_init_needs_no_terminal(office: Office) -> None:
    """With all options `init` asks nothing; a second run keeps the settings and the key."""
    os.chmod(office.key_file(), 0o600)
    options = ("--credentials", office.key_file(), "--spreadsheet", URL)
    first = office.init(*options)
    config = office.config.read_text("utf-8")
    second = office.init(*options)

    assert (first.returncode, second.returncode) == (0, 0)
    assert re.search(r"^curl .*Bearer sgw_\w{36}' '\S+/My%20cities\?limit=1'$", first.stdout, re.M)
    assert "The settings are used unchanged" in second.stdout
    assert re.search(r"The key key_\w+ already has access to this spreadsheet", second.stdout)
    assert "Bearer sgw_…" in second.stdout
    assert office.config.read_text("utf-8") == config


def test_the_cost_of_init(office: Office) -> None:
    """`init` costs two reads and three writes, and leaves no change in the spreadsheet."""
    os.chmod(office.key_file(), 0o600)
    office.google.reset()
    office.init("--credentials", office.key_file(), "--spreadsheet", BOOK)
    reads, writes = office.google.calls()
    cells = office.google.client.get(f"/_emulator/spreadsheets/{BOOK}").json()

    assert (reads, writes) == (2, 3)
    assert [len(rows) for rows in cells.values()] == [0, 2]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        pytest.param([], "--credentials FILE is missing", id="no key file"),
        pytest.param(["--credentials", "none.json"], "none.json", id="no such file"),
        pytest.param(["--credentials", "KEY"], "--spreadsheet ID is missing", id="no spreadsheet"),
        pytest.param(
            ["--credentials", "KEY", "--spreadsheet", "a b"], "invalid spreadsheet ID", id="bad ID"
        ),
        pytest.param(
            ["--credentials", "KEY", "--spreadsheet", "0" * 20],
            "does not know this ID",
            id="unknown ID",
        ),
    ],
)
def test_init_names_missing_options(office: Office, options: list[str], words: str) -> None:
    """Without a terminal, `init` names the missing or wrong option and creates no key."""
    os.chmod(office.key_file(), 0o600)
    done = office.init(*[office.key_file() if each == "KEY" else each for each in options])

    assert done.returncode == 2
    assert words in done.stderr
    assert "sgw_" not in done.stdout


def test_init_ends_after_wait(office: Office) -> None:
    """`init --wait 1` ends with status 2 if the spreadsheet is not shared."""
    os.chmod(office.key_file(), 0o600)
    office.share("none")
    done = office.init("--credentials", office.key_file(), "--spreadsheet", BOOK, "--wait", "1")

    assert done.returncode == 2
    assert f"not shared with {ACCOUNT}" in done.stderr


def test_init_does_not_wait_for_a_network(office: Office) -> None:
    """`init` ends at once if Google's host cannot be reached."""
    os.chmod(office.key_file(), 0o600)
    environ = {**office.environ, "GATEWAY_GOOGLE__ENDPOINT": "http://127.0.0.1:1"}
    config = ("--config", str(office.config), "--credentials", office.key_file())
    done = run("init", *config, "--spreadsheet", BOOK, environ=environ)

    assert done.returncode == 2
    assert "Not yet" not in done.stdout
    assert "127.0.0.1:1" in done.stderr


def test_init_refuses_a_key_file_that_others_can_read(office: Office) -> None:
    """Without a terminal, `init` names `chmod 600` and writes no configuration."""
    done = office.init("--credentials", office.key_file(), "--spreadsheet", BOOK)

    assert done.returncode == 2
    assert "chmod 600" in done.stderr
    assert not office.config.exists()


def test_init_with_a_revoked_account(office: Office) -> None:
    """If the sign-in fails, `init` names the account and writes no configuration."""
    os.chmod(office.key_file(), 0o600)
    office.google.client.post(f"/_emulator/accounts/{ACCOUNT}/revoke").raise_for_status()
    done = office.init("--credentials", office.key_file(), "--spreadsheet", BOOK)

    assert done.returncode == 2
    assert done.stderr.count(ACCOUNT) == 1
    assert not office.config.exists()


def test_a_key_file_of_the_environment_needs_no_configuration(office: Office) -> None:
    """With the key file in the environment, `init` writes no file; another
    `--credentials` is an error.
    """
    os.chmod(office.key_file(), 0o600)
    environ = {
        **office.environ,
        "GATEWAY_GOOGLE__CREDENTIALS": office.key_file(),
        "GATEWAY_ACCESS__DATABASE": str(office.folder / "other.db"),
        "GATEWAY_SERVER__HOST": "::1",
    }
    done = run("init", "--spreadsheet", BOOK, environ=environ)
    other = run("init", "--spreadsheet", BOOK, "--credentials", "x.json", environ=environ)

    assert done.returncode == 0, done.stderr
    assert "'http://[::1]:8000/v2/sheets/" in done.stdout
    assert other.returncode == 2
    assert "init does not change them" in other.stderr
    assert not office.config.exists()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("~nobody-of-this-name/key.json", id="unknown user"),
        pytest.param('"private_key": "-----BEGIN PRIVATE KEY-----' + "x" * 2000, id="the key"),
    ],
)
def test_init_does_not_quote_an_invalid_path(office: Office, text: str) -> None:
    """`init` does not quote an invalid path, because it could be the pasted key itself."""
    with on_terminal("init", environ=office.environ, folder=office.folder) as terminal:
        terminal.until("Key file")
        terminal.type(text)
        terminal.until("This is not the path of a file")
        terminal.until("Key file")
        said = terminal.said

    assert "Traceback" not in said
    assert text not in said.partition("This is not")[2]


def test_an_expired_key_is_replaced(office: Office) -> None:
    """`init` creates a new key if the existing key has expired."""
    os.chmod(office.key_file(), 0o600)
    options = ("--credentials", office.key_file(), "--spreadsheet", BOOK)
    office.init(*options)
    database = sqlite3.connect(office.folder / "keys.db")
    with database:
        database.execute("UPDATE api_keys SET expires_at = '2020-01-01T00:00:00+00:00'")
    database.close()
    done = office.init(*options)

    assert done.returncode == 0, done.stderr
    assert "Key, shown only once" in done.stdout


def test_init_does_not_change_a_configuration(office: Office) -> None:
    """`init --credentials` with an existing configuration is an error."""
    office.config.write_text("[server]\nport = 8123\n")
    done = office.init("--credentials", office.key_file(), "--spreadsheet", BOOK)

    assert done.returncode == 2
    assert "init does not change them" in done.stderr
    assert office.config.read_text() == "[server]\nport = 8123\n"


def _serving(office: Office) -> list[str]:
    config = office.folder / "config.toml"
    text = config.read_text("utf-8") + f'endpoint = "{office.google.url}"\n'
    config.write_text(text)
    return ["--config", str(config)]
