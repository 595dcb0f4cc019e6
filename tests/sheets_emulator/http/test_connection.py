"""On a real server: broken connections, and a stock client with stock credentials."""

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
    """An emulator that listens on the loopback, and a client whose calls carry a token."""

    base_url: str
    client: Client
    credentials: Credentials

    def fault(self, **fault: object) -> None:
        self.client.post("/_emulator/faults", json=[fault])


class _ElsewhereAdapter(HTTPAdapter):
    """Sends requests for Google to another base URL (an extension point of requests)."""

    def __init__(self, base: str) -> None:
        super().__init__()
        self.base = base

    def send(self, request: PreparedRequest, *args: Any, **kwargs: Any) -> Response:
        request.url = (request.url or "").replace(GOOGLE, self.base)
        return super().send(request, *args, **kwargs)


@contextmanager
def serving(emulator: Emulator) -> Iterator[str]:
    """Serve an emulator on a free port and give its base URL; stopped at the end."""
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
    """A served emulator with a spreadsheet `book` of one worksheet, `Data`."""
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
    """A fault with `drop` ends the connection before any byte of an answer, and only once."""
    served.fault(call="values.get", drop=True)

    with pytest.raises(RemoteProtocolError, match="without sending a response"):
        served.client.get(DATA)
    assert served.client.get(DATA).status_code == 200


def test_dropped_write_takes_effect_only_with_apply(served: Served) -> None:
    """A dropped append leaves a row behind if the fault says `apply`, and none otherwise."""
    for row, apply in (("lost", False), ("kept", True)):
        served.fault(call="values.append", drop=True, apply=apply)
        with pytest.raises(RemoteProtocolError):
            served.client.post(APPEND, json={"values": [[row]]})

    assert served.client.get(f"{DATA}!A3:A9").json()["values"] == [["kept"]]


def test_truncated_answer_stops_after_so_many_of_the_announced_bytes(served: Served) -> None:
    """A fault with `truncate` announces the whole length and closes after part of the body."""
    whole = served.client.get(DATA).content
    served.fault(call="values.get", truncate=10)

    with pytest.raises(RemoteProtocolError, match=f"received 10 bytes, expected {len(whole)}"):
        served.client.get(DATA)


@pytest.mark.parametrize("status", [{}, {"status": 200}], ids=["bare", "status"])
def test_no_truncated_write_is_acknowledged(served: Served, status: dict[str, int]) -> None:
    """However long the cut is, a byte is missing; the row is there only with `apply`."""
    for row, apply in (("lost", False), ("kept", True)):
        served.fault(call="values.append", truncate=9_999, apply=apply, **status)
        with pytest.raises(RemoteProtocolError) as caught:
            served.client.post(APPEND, json={"values": [[row]]})
        received, expected = (int(each) for each in re.findall("[0-9]+", str(caught.value)))

        assert received == expected - 1
    assert served.client.get(f"{DATA}!A3:A9").json()["values"] == [["kept"]]


def test_dropped_token_call_fails_like_a_lost_connection(served: Served) -> None:
    """Faults reach the token endpoint too, if they name it."""
    served.fault(call="token", drop=True)

    with pytest.raises(RemoteProtocolError):
        served.client.post("/token")


def test_broken_connections_leave_the_server_without_complaints(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    """Closing in the middle is no error of the server: uvicorn logs nothing about it."""
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
    """gspread with google-auth's own credentials gets a token and reads, appends and updates."""
    with Session() as session:
        session.mount(GOOGLE, _ElsewhereAdapter(served.base_url))
        session.headers["Authorization"] = f"Bearer {served.credentials.token}"
        client = gspread.Client(served.credentials, session=session)
        sheet = client.open_by_key("book").worksheet("Data")
        sheet.append_row(["Rome", 2], table_range="A1")
        sheet.update_acell("B2", 7)
        records = sheet.get_all_records()

    assert records == [{"name": "Oslo", "size": 7}, {"name": "Rome", "size": 2}]
