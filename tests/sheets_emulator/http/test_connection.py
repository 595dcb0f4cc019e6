"""Broken connections, and gspread with its own credentials, on a real server."""

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gspread
import pytest
import uvicorn
from google.auth.transport.requests import Request
from google.oauth2.service_account import Credentials
from httpx2 import Client, RemoteProtocolError
from requests import PreparedRequest, Response, Session
from requests.adapters import HTTPAdapter

from sheets_emulator.app import Emulator, EmulatorOptions, create_emulator
from tests.sheets_emulator.bench import SCOPE, write_seed

GOOGLE = "https://sheets.googleapis.com"
HOST = "127.0.0.1"
STOP_LIMIT_SECONDS = 10
CALL_LIMIT_SECONDS = 5
DATA = "/v4/spreadsheets/book/values/Data"
APPEND = f"{DATA}!A1:append?valueInputOption=RAW"


@dataclass(frozen=True, kw_only=True)
class Served:
    """An emulator that listens on the loopback address, with a client that sends a token."""

    base_url: str
    client: Client
    credentials: Credentials

    def fault(self, **fault: object) -> None:
        self.client.post("/_emulator/faults", json=[fault])


class _ElsewhereAdapter(HTTPAdapter):
    """Sends requests for Google to another base URL (a transport adapter of `requests`)."""

    def __init__(self, base: str) -> None:
        super().__init__()
        self.base = base

    def send(self, request: PreparedRequest, *args: Any, **kwargs: Any) -> Response:
        request.url = (request.url or "").replace(GOOGLE, self.base)
        return super().send(request, *args, **kwargs)


@contextmanager
def serving(emulator: Emulator) -> Iterator[str]:
    """Serve an emulator on a free port and yield its base URL. The server stops at the end."""
    config = uvicorn.Config(
        emulator.app, log_config=None, log_level="warning", http="httptools", lifespan="off"
    )
    server = uvicorn.Server(config)
    with socket.create_server((HOST, 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://{HOST}:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(STOP_LIMIT_SECONDS)


def _read_credentials(path: Path) -> Credentials:
    credentials: Credentials = Credentials.from_service_account_file(  # type: ignore[no-untyped-call]
        str(path), scopes=[SCOPE]
    )
    return credentials


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A served emulator with the spreadsheet `book`, which has the worksheet `Data`."""
    seed = write_seed(tmp_path / "seed", {"book/Data.csv": "name,size\nOslo,1\n"})
    emulator = create_emulator(EmulatorOptions(seed=seed))
    with serving(emulator) as base_url, Session() as session:
        path = tmp_path / "credentials.json"
        emulator.write_credentials(path, base_url)
        credentials = _read_credentials(path)
        credentials.refresh(Request(session))  # type: ignore[no-untyped-call]
        headers = {"Authorization": f"Bearer {credentials.token}"}
        with Client(base_url=base_url, headers=headers, timeout=CALL_LIMIT_SECONDS) as client:
            yield Served(base_url=base_url, client=client, credentials=credentials)


def test_dropped_call_closes_the_connection_without_an_answer(served: Served) -> None:
    """A fault with `drop` closes the connection once, before any byte of the answer."""
    served.fault(call="values.get", drop=True)

    with pytest.raises(RemoteProtocolError, match="without sending a response"):
        served.client.get(DATA)
    assert served.client.get(DATA).status_code == 200


def test_dropped_write_takes_effect_only_with_apply(served: Served) -> None:
    """A dropped append writes its row if the fault has `apply`, and writes nothing otherwise."""
    for row, apply in (("lost", False), ("kept", True)):
        served.fault(call="values.append", drop=True, apply=apply)
        with pytest.raises(RemoteProtocolError):
            served.client.post(APPEND, json={"values": [[row]]})

    assert served.client.get(f"{DATA}!A3:A9").json()["values"] == [["kept"]]


def test_truncated_answer_is_shorter_than_its_content_length(served: Served) -> None:
    """A fault with `truncate` sends the full Content-Length and that many bytes, then closes."""
    whole = served.client.get(DATA).content
    served.fault(call="values.get", truncate=10)

    with pytest.raises(RemoteProtocolError, match=f"received 10 bytes, expected {len(whole)}"):
        served.client.get(DATA)


@pytest.mark.parametrize("status", [{}, {"status": 200}], ids=["bare", "status"])
def test_truncated_answer_of_a_write_is_never_complete(
    served: Served, status: dict[str, int]
) -> None:
    """A truncated answer always lacks at least one byte. The row is written only with `apply`."""
    for row, apply in (("lost", False), ("kept", True)):
        served.fault(call="values.append", truncate=9_999, apply=apply, **status)
        with pytest.raises(RemoteProtocolError) as caught:
            served.client.post(APPEND, json={"values": [[row]]})
        received, expected = (int(each) for each in re.findall("[0-9]+", str(caught.value)))

        assert received == expected - 1
    assert served.client.get(f"{DATA}!A3:A9").json()["values"] == [["kept"]]


def test_dropped_token_call_fails_like_a_lost_connection(served: Served) -> None:
    """A fault for the call `token` drops the connection of a token request."""
    served.fault(call="token", drop=True)

    with pytest.raises(RemoteProtocolError):
        served.client.post("/token")


def test_broken_connections_are_not_logged_as_server_errors(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    """uvicorn logs no error when a fault drops or truncates an answer."""
    served.fault(call="values.get", drop=True)
    with pytest.raises(RemoteProtocolError):
        served.client.get(DATA)
    served.fault(call="values.get", truncate=1)
    with pytest.raises(RemoteProtocolError):
        served.client.get(DATA)

    assert served.client.get(DATA).status_code == 200
    assert [
        record.getMessage() for record in caplog.records if record.name == "uvicorn.error"
    ] == []


def test_stock_gspread_works_with_the_written_credentials(served: Served) -> None:
    """gspread gets a token with the credentials file, and reads, appends and updates rows."""
    with Session() as session:
        session.mount(GOOGLE, _ElsewhereAdapter(served.base_url))
        session.headers["Authorization"] = f"Bearer {served.credentials.token}"
        client = gspread.Client(served.credentials, session=session)
        sheet = client.open_by_key("book").worksheet("Data")
        sheet.append_row(["Rome", 2], table_range="A1")
        sheet.update_acell("B2", 7)
        records = sheet.get_all_records()

    assert records == [{"name": "Oslo", "size": 7}, {"name": "Rome", "size": 2}]
