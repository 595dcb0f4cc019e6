"""Secrets in requests and in Google's answers are never repeated."""

import json
from collections.abc import Iterator, Mapping
from typing import NoReturn
from urllib.parse import quote

import pytest

from gateway.access.keys import mint_key
from gateway.settings.model import ServerSettings
from gateway.web.frame import Frame
from gateway.web.request import Request as Incoming
from sheets_emulator.faults import Fault
from tests.asgi_client import Request, send
from tests.fuzz.canaries import CELL, found
from tests.fuzz.stage import Stage, captured_log, staged
from tests.journeys.conftest import KeysOnDisk, OpenGateway
from tests.journeys.connection import said_to
from tests.journeys.google_faults import google

KEY = mint_key()
PEM = "-----BEGIN PRIVATE KEY-----\nMIIEvQIB\n-----END PRIVATE KEY-----"


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A gateway in this process, and its log."""
    with staged(tmp_path_factory.mktemp("stage")) as opened:
        yield opened


def targets(key: str) -> Mapping[str, bytes]:
    """Request targets that have the key in a wrong position, by name."""
    encoded = "".join(f"%{ord(each):02x}" for each in key)
    texts = {
        "path": f"/v2/sheets/{key}",
        "row": f"/v2/sheets/Cities/{key}",
        "other route": f"/x/{key}",
        "encoded": f"/v2/sheets/x{encoded}",
        "encoded twice": f"/v2/sheets/x{quote(encoded)}",
        "path like a query": f"/v2/sheets/Cities%3FapiKey={key}",
        "query": f"/v2/sheets/Cities?apiKey={key}",
        "other parameter": f"/v2/sheets/Cities?key={key}&where={key}",
        "spreadsheet": f"/v2/sheets/Cities?spreadsheetId={key}",
    }
    return {name: text.encode() for name, text in texts.items()}


HEADERS = (b"x-request-id", b"x-spreadsheet-id", b"referer", b"idempotency-key", b"if-match")


@pytest.mark.parametrize("name", targets("x"))
def test_a_key_in_a_url_is_not_logged(stage: Stage, name: str) -> None:
    """A key in a URL is not logged, plain or encoded; the request still has a log line."""
    key = stage.keys["paid"]
    before = len(stage.log.getvalue())

    for method in ("GET", "PUT"):
        headers = [(b"authorization", key.encode())]
        stage.send(Request(method=method, target=targets(key)[name], headers=headers))
    lines = [json.loads(line) for line in stage.log.getvalue()[before:].splitlines()]
    said = json.dumps(lines)

    assert [line["event"] for line in lines if line["event"] == "request"] == ["request"] * 2
    assert key not in said
    assert targets(key)[name].decode().rpartition("/")[2] not in said
    assert key[4:] not in said


@pytest.mark.parametrize("name", HEADERS, ids=bytes.decode)
def test_a_key_in_a_header_is_not_logged(stage: Stage, name: bytes) -> None:
    """A key in a header is not logged, even in headers whose values are logged."""
    key = stage.keys["paid"]
    headers = [(b"authorization", key.encode()), (name, key.encode())]

    stage.send(Request(method="GET", target=b"/v2/sheets/Cities", headers=headers))

    assert key[4:] not in stage.log.getvalue()


@pytest.mark.parametrize(
    "fault",
    [
        Fault(call="*", status=400, text=None),
        Fault(call="*", status=503, text=f'<p>"{CELL}"'),
        Fault(call="*", status=200, text=f'{{"range":"x","values":[["{CELL}"'),
        Fault(call="*", status=200, text=f'{{"range":"{CELL}","values":[[{{"{CELL}":1}}]]}}'),
        Fault(
            call="*",
            status=400,
            text=google(400, "INVALID_ARGUMENT", f'Invalid value "{CELL}"')["text"],
        ),
    ],
    ids=["400", "page", "cut", "shape", "quoted"],
)
def test_cells_in_errors_of_google_are_not_repeated(stage: Stage, fault: Fault) -> None:
    """Cell values in Google's errors reach neither the client nor the log."""
    headers = [(b"authorization", stage.keys["paid"].encode()), (b"cache-control", b"no-cache")]
    stage.faults(fault, fault, fault)

    answers = [
        stage.send(Request(method="GET", target=b"/v2/sheets/Hidden", headers=headers)),
        stage.send(
            Request(
                method="PUT", target=b"/v2/sheets/Hidden/2", headers=headers, body=b'{"name":"x"}'
            )
        ),
    ]
    stage.faults()

    assert all(answer.status_code != 500 for answer in answers)
    assert [*found(stage.canaries, b"".join(answer.said for answer in answers))] == []
    assert [*found(stage.canaries, stage.log.getvalue().encode())] == []


async def failing(_: Incoming) -> NoReturn:
    """A handler that fails with secrets in its message and in its variables."""
    secret = {"pem": PEM}
    raise RuntimeError(f"{KEY} {secret['pem']} Bearer ya29.token-of-google")


async def test_an_internal_error_shows_no_secret() -> None:
    """The log of an internal error has the traceback without variables and without secrets."""
    app = Frame(failing, ServerSettings())
    with captured_log() as log:
        answer = await send(app, {}, Request(method="GET", target=b"/v2/sheets/Cities"))

    assert (answer.status_code, answer.json()["code"]) == (500, 5000)
    assert "RuntimeError" in log.getvalue()
    for secret in (KEY[4:], "MIIEvQIB", "token-of-google", '"locals"'):
        assert secret not in log.getvalue()
        assert secret not in answer.content.decode()


def test_malformed_http_logs_no_key(open_gateway: OpenGateway) -> None:
    """Malformed HTTP gets a 4xx answer, and its key is not logged."""
    with captured_log() as log:
        api = open_gateway()
        key = api.keys["paid"]
        for nonsense in (
            f"GET /v2/sheets/Cities?apiKey={key} HTTP/9.9\r\n\r\n",
            f"GET /v2/sheets/{key}\x00 HTTP/1.1\r\nHost: x\r\n\r\n",
            f"{key} / HTTP/1.1\r\nHost: x\r\n\r\n",
            f"GET / HTTP/1.1\r\nHost: x\r\nAuthorization : {key}\r\n\r\n",
        ):
            assert said_to(api, nonsense.encode()).startswith(b"HTTP/1.1 4")
        said_to(
            api, f"GET /v2/sheets/{key} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode()
        )

    assert log.getvalue()
    assert key[4:] not in log.getvalue()


def test_a_stolen_key_store_opens_nothing(access: KeysOnDisk) -> None:
    """The files of the key store have at most the last four characters of a key."""
    database, keys = access
    files = [path.read_bytes() for path in database.parent.iterdir()]

    assert len(files) >= 2
    for key in keys.values():
        assert not any(key[4:-4].encode() in content for content in files)
