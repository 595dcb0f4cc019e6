"""Token requests: times, contents, and errors."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from threading import Event
from typing import Any
from urllib.parse import parse_qs

import anyio
import anyio.to_thread
import httpx
import httpx2
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from google.auth import jwt
from google.auth.exceptions import DefaultCredentialsError, RefreshError, TransportError
from google.auth.transport import Request
from google.oauth2.credentials import Credentials

from gateway.errors import UpstreamAuth, UpstreamUnreachable
from gateway.google.calls import GoogleSheets
from gateway.google.token import TokenSource, TokenUnavailable
from gateway.google.wire import open_wire
from gateway.settings.model import GoogleSettings
from tests.google.google_fake import (
    A_READ,
    A_WRITE,
    ACCOUNT,
    READ_ANSWER,
    FakeGoogle,
    error_answer,
    failure,
    read_and_write,
    token_answer,
)
from tests.stand_in import open_client, open_google

UNAUTHENTICATED = error_answer(401, "UNAUTHENTICATED")


def bearers(google: FakeGoogle) -> list[str]:
    """Return the tokens of all calls of the Sheets API, in order."""
    headers = [call.request.headers["authorization"] for call in google.sheets.calls]
    return [header.removeprefix("Bearer ") for header in headers]


async def test_the_assertion_is_for_sheets_only(
    settings: GoogleSettings, google: FakeGoogle, private_key: rsa.RSAPrivateKey
) -> None:
    """The token request is signed with the file's key and asks only for the scope of Sheets."""
    google.sheets.respond(json=READ_ANSWER)

    async with open_google(settings) as sheets:
        await A_READ(sheets)

    form = parse_qs(google.token.calls.last.request.content.decode())
    public = private_key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    claims = jwt.decode(form["assertion"][0], certs=public)  # type: ignore[no-untyped-call]
    assert form["grant_type"] == ["urn:ietf:params:oauth:grant-type:jwt-bearer"]
    assert claims["iss"] == ACCOUNT
    assert claims["aud"] == "https://oauth2.googleapis.com/token"
    assert claims["scope"] == "https://www.googleapis.com/auth/spreadsheets"
    assert claims["exp"] - claims["iat"] == 3600


async def test_starting_needs_no_network(settings: GoogleSettings, google: FakeGoogle) -> None:
    """No request is sent to Google before the first call."""
    async with open_google(settings):
        pass

    assert google.token.call_count == 0


async def test_one_token_serves_many_calls(settings: GoogleSettings, google: FakeGoogle) -> None:
    """Two calls use the same token, from one token request."""
    google.sheets.respond(json=READ_ANSWER)

    async with open_google(settings) as sheets:
        await A_READ(sheets)
        await A_READ(sheets)

    assert bearers(google) == ["token-1", "token-1"]
    assert google.token.call_count == 1


async def test_sixteen_first_calls_ask_for_one_token(
    settings: GoogleSettings, google: FakeGoogle
) -> None:
    """Concurrent calls without a token wait for one token request."""

    async def token(_request: httpx.Request) -> httpx.Response:
        await asyncio.sleep(0.1)
        return token_answer("only")

    google.token.side_effect = token
    google.sheets.respond(json=READ_ANSWER)
    async with open_google(settings) as sheets:
        await asyncio.gather(*(A_READ(sheets) for _ in range(16)))

    assert google.token.call_count == 1
    assert bearers(google) == ["only"] * 16


async def test_an_expired_token_is_renewed(settings: GoogleSettings, google: FakeGoogle) -> None:
    """An expired token is renewed before a call, so Google does not answer 401."""
    google.token.side_effect = [token_answer("old", expires_in=0), token_answer("new")]
    google.sheets.respond(json=READ_ANSWER)

    async with open_google(settings) as sheets:
        await A_READ(sheets)
        await A_READ(sheets)

    assert bearers(google) == ["old", "new"]


async def test_a_token_near_its_end_is_renewed(
    settings: GoogleSettings, google: FakeGoogle
) -> None:
    """A token that expires within a minute is renewed before a call."""
    google.token.side_effect = [token_answer("old", expires_in=60), token_answer("new")]
    google.sheets.respond(json=READ_ANSWER)

    async with open_google(settings) as sheets:
        await A_READ(sheets)
        await A_READ(sheets)

    assert bearers(google) == ["old", "new"]


async def test_a_token_near_its_end_is_used_if_renewal_fails(
    settings: GoogleSettings, google: FakeGoogle
) -> None:
    """If the token endpoint fails, a token that has not yet expired is used."""
    google.token.side_effect = [token_answer("old", expires_in=60), httpx.Response(503)]
    google.sheets.respond(json=READ_ANSWER)

    async with open_google(settings) as sheets:
        await A_READ(sheets)
        await A_READ(sheets)

    assert bearers(google) == ["old", "old"]


@pytest.mark.parametrize("verb", [A_READ, A_WRITE], ids=["read", "write"])
async def test_a_refused_token_is_renewed_once(
    verb: Any, settings: GoogleSettings, google: FakeGoogle
) -> None:
    """A call that gets 401 was not applied, and is sent again with a new token."""
    body = {**READ_ANSWER, "spreadsheetId": "x"}
    google.sheets.side_effect = [UNAUTHENTICATED, httpx.Response(200, json=body)]

    async with open_google(settings) as sheets:
        await verb(sheets)

    assert bearers(google) == ["token-1", "token-2"]


@pytest.mark.parametrize(
    ("verb", "outcome"), [(A_READ, None), (A_WRITE, "not_applied")], ids=["read", "write"]
)
async def test_a_second_401_is_an_error(
    verb: Any, outcome: str | None, settings: GoogleSettings, google: FakeGoogle
) -> None:
    """A call that gets 401 again with a new token raises UpstreamAuth."""
    google.sheets.mock(return_value=UNAUTHENTICATED)

    error = await failure(settings, verb)

    assert type(error) is UpstreamAuth
    assert error.outcome == outcome
    assert bearers(google) == ["token-1", "token-2"]


TOKEN_FAILURES: dict[str, tuple[httpx.Response | Exception, type]] = {
    "invalid grant": (
        httpx.Response(
            400, json={"error": "invalid_grant", "error_description": "Invalid JWT Signature."}
        ),
        UpstreamAuth,
    ),
    "invalid client": (httpx.Response(401, json={"error": "invalid_client"}), UpstreamAuth),
    "401 as HTML": (httpx.Response(401, html="<p>no"), UpstreamAuth),
    "200 without a token": (httpx.Response(200, json={"id_token": "secret"}), UpstreamAuth),
    "500": (httpx.Response(500, json={"error": "internal_failure"}), UpstreamUnreachable),
    "502 as HTML": (httpx.Response(502, html="<p>no"), UpstreamUnreachable),
    "429": (httpx.Response(429), UpstreamUnreachable),
    "200 as HTML": (httpx.Response(200, html="<p>a portal"), UpstreamUnreachable),
    "token is a number": (token_answer(5), UpstreamUnreachable),
    "token is null": (token_answer(None), UpstreamUnreachable),
    "token with a line break": (token_answer("secret\r\nHost: x"), UpstreamUnreachable),
    "odd expiry": (token_answer("secret", expires_in="soon"), UpstreamUnreachable),
    "oversize": (httpx.Response(200, content=b" " * 2_000_000), UpstreamUnreachable),
    "connect error": (httpx2.ConnectError("refused"), UpstreamUnreachable),
    "timeout": (httpx2.ReadTimeout("slow"), UpstreamUnreachable),
    "reset": (httpx2.ReadError("reset"), UpstreamUnreachable),
}


@pytest.mark.parametrize(("answer", "kind"), TOKEN_FAILURES.values(), ids=TOKEN_FAILURES)
async def test_without_a_token_nothing_is_sent(
    answer: httpx.Response | Exception, kind: type, settings: GoogleSettings, google: FakeGoogle
) -> None:
    """If a token request fails, the Sheets API is not called, and the request is not repeated."""
    google.token.side_effect = [answer, answer]

    read, write = await read_and_write(settings)

    assert (type(read), type(write)) == (kind, kind)
    assert (read.outcome, write.outcome) == (None, "not_applied")
    assert google.sheets.call_count == 0
    assert google.token.call_count == 2


async def test_waiting_for_a_token_ends_at_the_deadline() -> None:
    """A call that waits for a token request of another call stops at its own deadline."""
    started, ended = Event(), Event()

    def find_credentials(**_given: object) -> tuple[Credentials, None]:
        started.set()
        ended.wait(timeout=10)
        raise DefaultCredentialsError("none")  # type: ignore[no-untyped-call]

    async def ask() -> None:
        with pytest.raises(TokenUnavailable):
            await tokens.authorization(now() + 60)

    now = asyncio.get_running_loop().time
    async with open_wire(max_connections=1, connect_timeout_seconds=1) as wire:
        tokens = TokenSource(wire, credentials=None, find_credentials=find_credentials)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await anyio.to_thread.run_sync(started.wait, 10)
            with pytest.raises(TokenUnavailable, match="another call") as caught:
                await tokens.authorization(now() + 0.01)
            ended.set()

    assert caught.value.retryable


async def test_default_credentials_are_found_at_the_first_call(google: FakeGoogle) -> None:
    """Without a key file, default credentials are looked up once, for the scope of Sheets only."""
    google.sheets.respond(json=READ_ANSWER)
    given: list[object] = []

    def find_credentials(*, scopes: object, request: Request) -> tuple[Credentials, None]:
        given.append(scopes)
        answer = request(url="https://oauth2.googleapis.com/token", method="POST", body=b"")
        return person(json.loads(answer.data)["access_token"]), None

    async with open_client(GoogleSettings(), find_credentials=find_credentials) as client:
        asked_at_start, sheets = list(given), GoogleSheets(client.make)
        await A_READ(sheets)
        await A_READ(sheets)

    assert asked_at_start == []
    assert given == [("https://www.googleapis.com/auth/spreadsheets",)]
    assert bearers(google) == ["token-1", "token-1"]
    assert google.sheets.calls.last.request.headers["x-goog-user-project"] == "billed"
    assert client.account is None


NO_DEFAULTS: dict[str, tuple[Exception, type]] = {
    "none there": (DefaultCredentialsError("none"), UpstreamAuth),  # type: ignore[no-untyped-call]
    "metadata server away": (TransportError("no route"), UpstreamUnreachable),  # type: ignore[no-untyped-call]
    "retryable": (RefreshError("busy", retryable=True), UpstreamUnreachable),  # type: ignore[no-untyped-call]
}


@pytest.mark.parametrize(("raised", "kind"), NO_DEFAULTS.values(), ids=NO_DEFAULTS)
async def test_without_default_credentials_nothing_is_sent(
    raised: Exception, kind: type, google: FakeGoogle
) -> None:
    """A call without default credentials raises an error and does not call the Sheets API."""

    def find_credentials(**_given: object) -> tuple[Credentials, None]:
        raise raised

    error = await failure(GoogleSettings(), A_READ, find_credentials=find_credentials)

    assert type(error) is kind
    assert google.sheets.call_count == 0


def person(token: str) -> Credentials:
    """Return a user's credentials with this token, as gcloud stores them after a sign-in."""
    in_an_hour = datetime.now(UTC).replace(tzinfo=None) + timedelta(hours=1)
    return Credentials(  # type: ignore[no-untyped-call]
        None,
        refresh_handler=lambda *_args, **_options: (token, in_an_hour),
        quota_project_id="billed",
    )
