"""Fixtures: a fake Google, and a service account's key file with a generated private key.

Each request to the fake Google must be valid by Google's discovery document.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import respx
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from gateway.settings.model import GoogleSettings
from tests.discovery import request_problems
from tests.exchanges import Exchange
from tests.google.google_fake import (
    ACCOUNT,
    ENDPOINT,
    TOKEN_URL,
    FakeGoogle,
    KeyFile,
    token_answer,
)
from tests.journeys.conftest import KEY_BITS


@pytest.fixture(scope="session")
def private_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=KEY_BITS)


@pytest.fixture
def key_file(private_key: rsa.RSAPrivateKey, tmp_path: Path) -> KeyFile:
    """Return a function that writes a service account's key file, with given members changed."""
    pem = private_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())

    def write(**changes: object) -> Path:
        info: dict[str, object] = {
            "type": "service_account",
            "client_email": ACCOUNT,
            "private_key": pem.decode(),
            "private_key_id": "key-1",
            "token_uri": TOKEN_URL,
        }
        path = tmp_path / "account.json"
        path.touch(mode=0o600)
        info |= changes
        path.write_text(json.dumps({k: v for k, v in info.items() if v is not None}))
        return path

    return write


@pytest.fixture
def settings(key_file: KeyFile) -> GoogleSettings:
    return GoogleSettings(credentials=key_file(), max_connections=16, max_answer_bytes=100_000)


@pytest.fixture
def google() -> Iterator[FakeGoogle]:
    """Fake Google: the tokens are `token-1`, `token-2`, and Sheets calls get the test's answers."""
    given = iter(range(1, 1000))

    def token(_request: httpx.Request) -> httpx.Response:
        return token_answer(f"token-{next(given)}")

    # The fixture of pytest-httpx2 needs a marker that it does not register.
    with respx.mock(using="httpcore2", assert_all_called=False) as router:
        fake = FakeGoogle(
            router=router,
            token=router.post(TOKEN_URL).mock(side_effect=token),
            sheets=router.route(url__startswith=f"{ENDPOINT}/"),
        )
        yield fake
        requests = [as_exchange(call.request) for call in fake.sheets.calls]

    assert [problem for each in requests for problem in request_problems(each)] == []


def as_exchange(request: httpx.Request) -> Exchange:
    """Convert a request to the Sheets API for the check against the discovery document."""
    path, _, query = request.url.raw_path.decode().partition("?")
    return Exchange(method=request.method, raw_path=path, query=query, body=request.read())
