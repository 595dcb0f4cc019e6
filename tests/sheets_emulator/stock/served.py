"""An emulator on the loopback interface, and unmodified Google clients that call it.

Rules
- No code of a client is replaced. gspread gets a requests adapter for Google's hosts, and
  google-api-python-client gets an `api_endpoint`. google-auth gets tokens with the credentials file
  that the emulator writes.
- The service account acts as itself (`with_subject`). Without this, google-auth would call
  iamcredentials.googleapis.com on its own.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import google_auth_httplib2
import gspread
import httplib2
from google.oauth2.service_account import Credentials
from googleapiclient.discovery import build
from requests import PreparedRequest, Response
from requests.adapters import HTTPAdapter

from gateway.server.running import in_background, make_server
from gateway.server.sockets import base_url, bind
from sheets_emulator.app import Emulator, EmulatorOptions, create_emulator
from tests.exchanges import Recorder

HOST = "127.0.0.1"
GOOGLE = ("https://sheets.googleapis.com", "https://www.googleapis.com")
SCOPES = (
    "https://www.googleapis.com/auth/spreadsheets",
    "https://www.googleapis.com/auth/drive",
)
SHUTDOWN_SECONDS = 1
CALL_LIMIT_SECONDS = 30


class ElsewhereAdapter(HTTPAdapter):
    """Requests adapter that sends requests for Google's hosts to another base URL."""

    def __init__(self, base: str) -> None:
        super().__init__(pool_maxsize=64)
        self.base = base

    def send(self, request: PreparedRequest, *args: Any, **kwargs: Any) -> Response:
        for host in GOOGLE:
            request.url = (request.url or "").replace(host, self.base)
        return super().send(request, *args, **kwargs)


@dataclass(frozen=True, kw_only=True)
class Served:
    """A listening emulator with its URL, recorder of exchanges, and credentials file."""

    url: str
    emulator: Emulator
    recorder: Recorder
    credentials_file: Path

    def credentials(self) -> Credentials:
        found: Credentials = Credentials.from_service_account_file(  # type: ignore[no-untyped-call]
            str(self.credentials_file), scopes=SCOPES
        )
        email = found.service_account_email
        acting: Credentials = found.with_subject(email)  # type: ignore[no-untyped-call]
        return acting


@contextmanager
def serving(folder: Path, options: EmulatorOptions) -> Iterator[Served]:
    """Serve an emulator on a free port while the context is open.

    `folder` gets the credentials file.
    """
    emulator = create_emulator(options)
    recorder = Recorder(app=emulator.app, faults=emulator.service.faults)
    listening = bind(HOST, 0)
    path = folder / "service-account.json"
    emulator.write_credentials(path, base_url(listening))
    server = make_server(recorder, shutdown_seconds=SHUTDOWN_SECONDS)
    with in_background(server, listening) as url:
        yield Served(url=url, emulator=emulator, recorder=recorder, credentials_file=path)


@contextmanager
def stock_gspread(served: Served) -> Iterator[gspread.Client]:
    """Yield an unmodified gspread client with its own requests session."""
    client = gspread.Client(served.credentials())
    client.set_timeout(CALL_LIMIT_SECONDS)
    session = client.http_client.session
    with session:
        for host in GOOGLE:
            session.mount(host, ElsewhereAdapter(served.url))
        yield client


@contextmanager
def stock_api_client(served: Served) -> Iterator[Any]:
    """Yield the Sheets service of an unmodified google-api-python-client."""
    plain = httplib2.Http(timeout=CALL_LIMIT_SECONDS)
    http = google_auth_httplib2.AuthorizedHttp(served.credentials(), http=plain)
    options = {"api_endpoint": served.url}
    service = build("sheets", "v4", static_discovery=True, http=http, client_options=options)
    with service:
        yield service
