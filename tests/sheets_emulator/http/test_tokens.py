"""The token endpoint, and calls with its tokens."""

import json
import os
import stat
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.sheets_emulator.bench import START, Bench, values_path

DATA = values_path("Data")


def read_with(bench: Bench, authorization: str | None) -> int:
    """The status of a read with this `Authorization` header."""
    headers = {} if authorization is None else {"Authorization": authorization}
    return bench.client.get(DATA, headers=headers).status_code


def test_signed_assertion_gets_a_token_for_the_api(bench: Bench) -> None:
    """A signed assertion gets a bearer token that is valid for an hour and allows reads."""
    answer = bench.ask_token().json()

    assert (answer["token_type"], answer["expires_in"]) == ("Bearer", 3600)
    assert read_with(bench, f"Bearer {answer['access_token']}") == 200


def test_token_expires_after_an_hour(bench: Bench) -> None:
    """A token is accepted after 3599 seconds and gets 401 after 3600."""
    answer = bench.ask_token().json()
    authorization = f"Bearer {answer['access_token']}"
    bench.clock.advance(3599)
    before = read_with(bench, authorization)
    bench.clock.advance(1)

    assert (before, read_with(bench, authorization)) == (200, 401)


@pytest.mark.parametrize("authorization", [None, "", "Bearer", "Bearer x", "Basic eA==", "x"])
def test_other_authorization_headers_are_unauthenticated(
    bench: Bench, authorization: str | None
) -> None:
    """A missing, malformed or unknown token gets the same 401 with a `WWW-Authenticate` header."""
    headers = {} if authorization is None else {"Authorization": authorization}
    answer = bench.client.get(DATA, headers=headers)

    assert answer.status_code == 401
    assert answer.json()["error"]["status"] == "UNAUTHENTICATED"
    assert answer.headers["WWW-Authenticate"] == (
        'Bearer realm="https://accounts.google.com/", error="invalid_token"'
    )


@pytest.mark.parametrize(
    ("claims", "error", "description"),
    [
        pytest.param({"iss": "x@y.z"}, "invalid_grant", "account not found", id="account"),
        pytest.param({"aud": "http://other/token"}, "invalid_grant", "audience", id="audience"),
        pytest.param({"exp": START - 1}, "invalid_grant", "short-lived", id="expired"),
        pytest.param({"iat": START + 900}, "invalid_grant", "short-lived", id="from the future"),
        pytest.param({"exp": START + 7200}, "invalid_grant", "short-lived", id="too long"),
        pytest.param({"scope": ""}, "invalid_scope", "scope", id="no scope"),
        pytest.param(
            {"scope": "https://www.googleapis.com/auth/calendar"},
            "invalid_scope",
            "scope",
            id="other scope",
        ),
        pytest.param({"iat": "x"}, "invalid_grant", "parse", id="malformed"),
    ],
)
def test_wrong_claims_get_no_token(
    bench: Bench, claims: dict[str, object], error: str, description: str
) -> None:
    """A wrong issuer, audience, time or scope gets 400 with an error code and a description."""
    answer = bench.ask_token(**claims)

    assert answer.status_code == 400
    assert answer.json()["error"] == error
    assert description in answer.json()["error_description"]


def test_wrong_signature_gets_no_token(bench: Bench) -> None:
    """An assertion with correct claims but signed with another key gets 400."""
    key = generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    bench.account = {**bench.account, "private_key": pem}
    answer = bench.ask_token()

    assert answer.status_code == 400
    assert answer.json() == {
        "error": "invalid_grant",
        "error_description": "Invalid JWT Signature.",
    }


@pytest.mark.parametrize("algorithm", ["none", "HS256", "rs256", ""])
def test_other_algorithms_get_no_token(bench: Bench, algorithm: str) -> None:
    """An assertion whose header names an algorithm other than RS256 gets 400."""
    answer = bench.post_assertion(bench.signed({}, algorithm))

    assert answer.status_code == 400
    assert answer.json()["error"] == "invalid_grant"
    assert "RS256" in answer.json()["error_description"]


@pytest.mark.parametrize("assertion", ["", "a.b", "a.b.c", "é.é.é", "e30.e30.e30", "....", "=.=.="])
def test_malformed_assertion_gets_no_token(bench: Bench, assertion: str) -> None:
    """A text that is not a JWT gets 400 `invalid_grant`."""
    answer = bench.post_assertion(assertion)

    assert answer.status_code == 400
    assert answer.json()["error"] == "invalid_grant"


def test_other_grant_types_are_not_supported(bench: Bench) -> None:
    """A grant type other than a signed assertion gets 400 `unsupported_grant_type`."""
    answer = bench.client.post("/token", data={"grant_type": "password"})

    assert answer.status_code == 400
    assert answer.json()["error"] == "unsupported_grant_type"


def test_audience_can_be_googles_token_endpoint(bench: Bench) -> None:
    """The audience can be Google's token endpoint, because google-auth always sends it."""
    assert bench.ask_token(aud="https://oauth2.googleapis.com/token").status_code == 200


def test_credentials_file_is_readable_only_by_its_owner(bench: Bench, tmp_path: Path) -> None:
    """The file has the emulator's token URI, and mode 0600 also if the file existed before."""
    path = tmp_path / "account.json"
    path.write_text("{}")
    os.chmod(path, 0o644)
    bench.emulator.write_credentials(path, "http://127.0.0.1:9099/")
    content = json.loads(path.read_text())

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert content["type"] == "service_account"
    assert content["token_uri"] == "http://127.0.0.1:9099/token"


def test_a_key_is_not_written_into_a_pipe_or_a_device(bench: Bench, tmp_path: Path) -> None:
    """Writing credentials to a pipe or a device raises OSError and does not wait."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    mode = os.stat(os.devnull).st_mode

    with pytest.raises(OSError, match="pipe or a device"):
        bench.emulator.write_credentials(Path(os.devnull), "http://127.0.0.1:9099/")
    with pytest.raises(OSError, match="No such device"):
        bench.emulator.write_credentials(pipe, "http://127.0.0.1:9099/")
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(OSError, match="pipe or a device"):
        bench.emulator.write_credentials(pipe, "http://127.0.0.1:9099/")
    os.close(reader)

    assert os.stat(os.devnull).st_mode == mode
