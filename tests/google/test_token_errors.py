"""Reasons why a token is missing, the clock offset, and the account's project."""

import asyncio
import json

import httpx
import pytest
from google.auth.exceptions import (
    DefaultCredentialsError,
    GoogleAuthError,
    RefreshError,
    TransportError,
)
from google.oauth2.credentials import Credentials

from gateway.google.credentials import load_service_account
from gateway.google.token import (
    EndpointFailed,
    TokenFailure,
    TokenSource,
    TokenUnavailable,
    clock_offset_seconds,
    google_words,
    token_failure,
)
from gateway.google.wire import open_wire
from tests.google.google_fake import FakeGoogle, KeyFile, token_answer

SHORT_LIVED = "Invalid JWT: Token must be a short-lived token (60 minutes)"


def refresh_error(words: str, **options: bool) -> RefreshError:
    """Return an error as google-auth raises it, with the whole answer of the endpoint."""
    answer = {"error": "x", "id_token": "secret"}
    return RefreshError(words, answer, **options)  # type: ignore[no-untyped-call]


def wrapped(cause: Exception) -> RefreshError:
    error = refresh_error("wrapped")
    error.__cause__ = cause
    return error


TROUBLES: dict[str, tuple[GoogleAuthError, TokenFailure]] = {
    "none": (DefaultCredentialsError("none"), TokenFailure.NO_CREDENTIALS),  # type: ignore[no-untyped-call]
    "transport": (TransportError("no route"), TokenFailure.UNREACHABLE),  # type: ignore[no-untyped-call]
    "wrapped transport": (wrapped(TransportError("no")), TokenFailure.UNREACHABLE),  # type: ignore[no-untyped-call]
    "503": (EndpointFailed("HTTP 503"), TokenFailure.FAILED),  # type: ignore[no-untyped-call]
    "retryable": (refresh_error("internal_failure: x", retryable=True), TokenFailure.FAILED),
    "clock": (refresh_error(f"invalid_grant: {SHORT_LIVED}"), TokenFailure.CLOCK),
    "signature": (refresh_error("invalid_grant: Invalid JWT Signature."), TokenFailure.KEY),
    "account": (refresh_error("invalid_grant: account not found"), TokenFailure.ACCOUNT),
    "robot": (refresh_error("invalid_grant: Robot is disabled."), TokenFailure.ACCOUNT),
    "deleted": (refresh_error("invalid_grant: The account has been deleted"), TokenFailure.ACCOUNT),
    "client": (
        refresh_error("deleted_client: The OAuth client was deleted."),
        TokenFailure.ACCOUNT,
    ),
    "revoked": (
        refresh_error("invalid_grant: Token has been expired or revoked."),
        TokenFailure.SESSION,
    ),
    "reauth": (refresh_error("Reauthentication is needed."), TokenFailure.SESSION),
    "another": (refresh_error("unauthorized_client: Unauthorized"), TokenFailure.REFUSED),
    "no token": (refresh_error("No access token in response."), TokenFailure.INVALID_ANSWER),
    "page": (refresh_error("<html>secret"), TokenFailure.INVALID_ANSWER),
    "other JSON": (refresh_error('{"secret": 1}'), TokenFailure.INVALID_ANSWER),
    "no words": (RefreshError(), TokenFailure.INVALID_ANSWER),  # type: ignore[no-untyped-call]
}


@pytest.mark.parametrize(("error", "trouble"), TROUBLES.values(), ids=TROUBLES)
def test_the_reason_of_an_error(error: GoogleAuthError, trouble: TokenFailure) -> None:
    """Each error has one reason, and its text has no other content of the endpoint's answer."""
    assert token_failure(error, None) is trouble
    assert "secret" not in google_words(error)


@pytest.mark.parametrize(
    ("offset_seconds", "words", "trouble"),
    [
        (301.0, "invalid_grant: new words", TokenFailure.CLOCK),
        (-301.0, "invalid_grant: new words", TokenFailure.CLOCK),
        (299.0, "invalid_grant: new words", TokenFailure.REFUSED),
        (301.0, "invalid_grant: Invalid JWT Signature.", TokenFailure.KEY),
    ],
)
def test_a_wrong_clock_is_the_reason_of_an_unknown_error(
    offset_seconds: float, words: str, trouble: TokenFailure
) -> None:
    """A clock offset over 300 s is the reason of an error whose text is unknown."""
    assert token_failure(refresh_error(words), offset_seconds) is trouble


def test_long_error_texts_are_cut() -> None:
    """The text of an error is one line of at most 160 characters."""
    words = google_words(refresh_error("a \n b" + "c" * 1000))

    assert words.startswith("a bccc")
    assert len(words) == 160


DATE = "Fri, 20 Nov 2026 12:00:00 GMT"
NOON = 1_795_176_000.0


@pytest.mark.parametrize(
    ("sent", "received", "offset_seconds"),
    [
        pytest.param(0.2, 0.4, 0.0, id="right"),
        pytest.param(-5.0, 20.0, 0.0, id="slow answer"),
        pytest.param(1.0, 1.1, 0.0, id="parts of a second"),
        pytest.param(61.0, 61.5, 60.0, id="ahead"),
        pytest.param(-61.0, -60.0, -60.0, id="behind"),
    ],
)
def test_clock_offset(sent: float, received: float, offset_seconds: float) -> None:
    """The clock offset is a lower bound, without the time of the request and parts of seconds."""
    found = clock_offset_seconds(DATE, sent=NOON + sent, received=NOON + received)

    assert found == pytest.approx(offset_seconds)


@pytest.mark.parametrize("date", [None, "", "yesterday", "Fri, 99 Nov 2026 12:00:00 GMT"])
def test_no_clock_offset_without_a_date(date: str | None) -> None:
    """Without a valid `Date` header, the clock offset is None."""
    assert clock_offset_seconds(date, sent=0.0, received=1.0) is None


async def test_the_clock_offset_is_updated_by_each_answer(
    key_file: KeyFile, google: FakeGoogle
) -> None:
    """The clock offset is computed from successful answers and from errors."""
    noon = {"date": "Fri, 20 Nov 2026 12:00:00 GMT"}
    refusal = {"error": "invalid_grant", "error_description": "Invalid JWT Signature."}
    google.token.side_effect = [
        httpx.Response(400, headers=noon, json=refusal),
        httpx.Response(200, headers=noon, json=json.loads(token_answer("new").content)),
    ]
    credentials = load_service_account(key_file(), allow_insecure_endpoint=False)
    deadline = asyncio.get_running_loop().time() + 60

    async with open_wire(max_connections=1, connect_timeout_seconds=1) as wire:
        tokens = TokenSource(
            wire,
            credentials=credentials,
            find_credentials=no_credentials,
            now=lambda: 1_795_176_101.0,
        )
        unasked = tokens.clock_offset_seconds
        with pytest.raises(TokenUnavailable) as caught:
            await tokens.authorization(deadline)
        refused = tokens.clock_offset_seconds
        await tokens.authorization(deadline)

    assert (unasked, refused, tokens.clock_offset_seconds) == (None, 100.0, 100.0)
    assert caught.value.clock_offset_seconds == 100.0
    assert caught.value.failure is TokenFailure.KEY
    assert caught.value.google_words == "invalid_grant: Invalid JWT Signature"


@pytest.mark.parametrize("project", ["project-1", None])
async def test_the_project_of_a_key_file(key_file: KeyFile, project: str | None) -> None:
    """`project` is the project in the key file, or None if the file has none."""
    credentials = load_service_account(key_file(project_id=project), allow_insecure_endpoint=False)

    async with open_wire(max_connections=1, connect_timeout_seconds=1) as wire:
        tokens = TokenSource(wire, credentials=credentials, find_credentials=no_credentials)

    assert tokens.project == project


def no_credentials(**_given: object) -> tuple[Credentials, None]:
    raise DefaultCredentialsError("none")  # type: ignore[no-untyped-call]
