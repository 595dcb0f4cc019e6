"""What is read off the token endpoint's refusals, and off the time that its answers tell."""

import pytest
from google.auth.exceptions import (
    DefaultCredentialsError,
    GoogleAuthError,
    RefreshError,
    TransportError,
)

from gateway.google.token_trouble import (
    EndpointFailed,
    TokenTrouble,
    clock_offset_seconds,
    google_words,
    trouble_of,
)

SHORT_LIVED = "Invalid JWT: Token must be a short-lived token (60 minutes)"


def refresh_error(words: str, **options: bool) -> RefreshError:
    """As google-auth raises it: the words, and all of the answer."""
    answer = {"error": "x", "id_token": "secret"}
    return RefreshError(words, answer, **options)  # type: ignore[no-untyped-call]


def wrapped(cause: Exception) -> RefreshError:
    error = refresh_error("wrapped")
    error.__cause__ = cause
    return error


TROUBLES: dict[str, tuple[GoogleAuthError, TokenTrouble]] = {
    "none": (DefaultCredentialsError("none"), TokenTrouble.NO_CREDENTIALS),  # type: ignore[no-untyped-call]
    "transport": (TransportError("no route"), TokenTrouble.UNREACHABLE),  # type: ignore[no-untyped-call]
    "wrapped transport": (wrapped(TransportError("no")), TokenTrouble.UNREACHABLE),  # type: ignore[no-untyped-call]
    "503": (EndpointFailed("HTTP 503"), TokenTrouble.FAILED),  # type: ignore[no-untyped-call]
    "retryable": (refresh_error("internal_failure: x", retryable=True), TokenTrouble.FAILED),
    "clock": (refresh_error(f"invalid_grant: {SHORT_LIVED}"), TokenTrouble.CLOCK),
    "signature": (refresh_error("invalid_grant: Invalid JWT Signature."), TokenTrouble.KEY),
    "account": (refresh_error("invalid_grant: account not found"), TokenTrouble.ACCOUNT),
    "robot": (refresh_error("invalid_grant: Robot is disabled."), TokenTrouble.ACCOUNT),
    "deleted": (refresh_error("invalid_grant: The account has been deleted"), TokenTrouble.ACCOUNT),
    "client": (
        refresh_error("deleted_client: The OAuth client was deleted."),
        TokenTrouble.ACCOUNT,
    ),
    "revoked": (
        refresh_error("invalid_grant: Token has been expired or revoked."),
        TokenTrouble.SESSION,
    ),
    "reauth": (refresh_error("Reauthentication is needed."), TokenTrouble.SESSION),
    "another": (refresh_error("unauthorized_client: Unauthorized"), TokenTrouble.REFUSED),
    "no token": (refresh_error("No access token in response."), TokenTrouble.SENSELESS),
    "page": (refresh_error("<html>secret"), TokenTrouble.SENSELESS),
    "other JSON": (refresh_error('{"secret": 1}'), TokenTrouble.SENSELESS),
    "no words": (RefreshError(), TokenTrouble.SENSELESS),  # type: ignore[no-untyped-call]
}


@pytest.mark.parametrize(("error", "trouble"), TROUBLES.values(), ids=TROUBLES)
def test_the_trouble_of_an_error(error: GoogleAuthError, trouble: TokenTrouble) -> None:
    """Each has one, and what else the endpoint answered is not among the words."""
    assert trouble_of(error, None) is trouble
    assert "secret" not in google_words(error)


@pytest.mark.parametrize(
    ("offset_seconds", "words", "trouble"),
    [
        (301.0, "invalid_grant: new words", TokenTrouble.CLOCK),
        (-301.0, "invalid_grant: new words", TokenTrouble.CLOCK),
        (299.0, "invalid_grant: new words", TokenTrouble.REFUSED),
        (301.0, "invalid_grant: Invalid JWT Signature.", TokenTrouble.KEY),
    ],
)
def test_a_clock_far_off_explains_what_no_words_do(
    offset_seconds: float, words: str, trouble: TokenTrouble
) -> None:
    """Words that are known go before it."""
    assert trouble_of(refresh_error(words), offset_seconds) is trouble


def test_long_words_are_cut() -> None:
    """They stay one line of bearable length."""
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
def test_how_far_the_clock_is_off(sent: float, received: float, offset_seconds: float) -> None:
    """At least so much; neither the way of the answer nor its whole seconds count."""
    found = clock_offset_seconds(DATE, sent=NOON + sent, received=NOON + received)

    assert found == pytest.approx(offset_seconds)


@pytest.mark.parametrize("date", [None, "", "yesterday", "Fri, 99 Nov 2026 12:00:00 GMT"])
def test_no_time_no_offset(date: str | None) -> None:
    """Without a Date that can be read nothing is known of the clock."""
    assert clock_offset_seconds(date, sent=0.0, received=1.0) is None
