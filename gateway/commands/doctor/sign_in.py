"""Reasons why Google issues no access token, and solutions."""

import os
from collections.abc import Callable, Mapping

from gateway.commands.doctor.context import CheckContext
from gateway.commands.doctor.reach import asked_host, unreachable_words
from gateway.google.credentials import ACCOUNTS_PAGE, DOWNLOAD, VARIABLE
from gateway.google.token import TokenFailure, TokenUnavailable

SYNCHRONISE = (
    "Synchronise this machine's clock: sudo timedatectl set-ntp true, or chrony or ntpd; "
    "a container uses its host's clock"
)
TOLERATED_SECONDS = 30.0
"""Smaller clock offsets are not reported; Google accepts some minutes."""


def sign_in_words(error: TokenUnavailable, context: CheckContext) -> str:
    return _WORDS[error.failure](error, context)


def duration(seconds: float) -> str:
    """A duration in words, such as "about 62 minutes"."""
    amount = abs(seconds)
    for unit, name in ((86_400.0, "days"), (3_600.0, "hours"), (60.0, "minutes")):
        if amount >= 2 * unit:
            return f"about {amount / unit:.0f} {name}"
    return f"about {amount:.0f} seconds"


def clock_words(offset_seconds: float) -> str:
    return f"{duration(offset_seconds)} {'ahead of' if offset_seconds > 0 else 'behind'}"


def _no_credentials(error: TokenUnavailable, _context: CheckContext) -> str:
    named = os.environ.get(VARIABLE)
    if named:
        return (
            f"google.credentials is not set, and the file that {VARIABLE} names cannot be "
            f"used ({error.google_words}). Correct the variable, or set google.credentials to a "
            f"key file: {DOWNLOAD}."
        )
    return (
        "google.credentials is not set, and this machine has no Application Default Credentials. "
        f"Set google.credentials to a key file: {DOWNLOAD}."
    )


def _unreadable(_error: TokenUnavailable, _context: CheckContext) -> str:
    return (
        "the file of the Application Default Credentials cannot be read. Let the user of the "
        f"gateway read it, or set google.credentials to a key file: {DOWNLOAD}."
    )


def _foreign(error: TokenUnavailable, context: CheckContext) -> str:
    place = context.key_file or "the Application Default Credentials"
    return (
        f"the token endpoint is {error.google_words}, which is neither Google's "
        f"nor on this machine, so nothing was sent there. Correct {place}, or set "
        "google.allow_insecure_endpoint if this is intended."
    )


def _clock(error: TokenUnavailable, _context: CheckContext) -> str:
    offset_seconds = error.clock_offset_seconds or 0.0
    is_seen = abs(offset_seconds) > TOLERATED_SECONDS
    how_much = f": {clock_words(offset_seconds)} Google's" if is_seen else ""
    return (
        f"this machine's clock is off{how_much}, so Google refuses its signatures "
        f"({error.google_words}). {SYNCHRONISE}."
    )


def _key(error: TokenUnavailable, context: CheckContext) -> str:
    return (
        f"Google does not know this key of {context.who} ({error.google_words}): it was deleted, "
        f"or the file was changed. Create another: {context.new_key}."
    )


def _account(error: TokenUnavailable, context: CheckContext) -> str:
    return (
        f"{context.who} was deleted or disabled ({error.google_words}). Enable it at "
        f"{ACCOUNTS_PAGE}; if it no longer exists, create another there, share the spreadsheets "
        f"with its address, and {context.new_key}."
    )


def _session(error: TokenUnavailable, _context: CheckContext) -> str:
    return (
        f"the sign-in of the Application Default Credentials has expired ({error.google_words}). "
        "Run gcloud auth application-default login, or better, set google.credentials to a key "
        f"file, which does not expire: {DOWNLOAD}."
    )


def _refused(error: TokenUnavailable, context: CheckContext) -> str:
    return (
        f"Google refuses {context.who} ({error.google_words}). Check it at {ACCOUNTS_PAGE}; if "
        f"it is enabled there, try another key: {context.new_key}."
    )


def _failed(error: TokenUnavailable, _context: CheckContext) -> str:
    return (
        f"Google's token endpoint itself has a problem ({error.google_words}). Run "
        "check again in a few minutes."
    )


def _invalid_answer(_error: TokenUnavailable, _context: CheckContext) -> str:
    return (
        "the answer of the token endpoint is not from Google: perhaps from a sign-in page, proxy "
        "or firewall of the network. Let this machine reach oauth2.googleapis.com "
        "directly; if the key file was changed, its token_uri may be wrong."
    )


def _unreachable(error: TokenUnavailable, _context: CheckContext) -> str:
    host = asked_host(error) or "Google's token endpoint"
    return f"no token available: {unreachable_words(host, error)}"


def _busy(_error: TokenUnavailable, _context: CheckContext) -> str:
    return "another check is still waiting for a token. Run check again."


_WORDS: Mapping[TokenFailure, Callable[[TokenUnavailable, CheckContext], str]] = {
    TokenFailure.NO_CREDENTIALS: _no_credentials,
    TokenFailure.UNREADABLE: _unreadable,
    TokenFailure.FOREIGN: _foreign,
    TokenFailure.CLOCK: _clock,
    TokenFailure.KEY: _key,
    TokenFailure.ACCOUNT: _account,
    TokenFailure.SESSION: _session,
    TokenFailure.REFUSED: _refused,
    TokenFailure.FAILED: _failed,
    TokenFailure.INVALID_ANSWER: _invalid_answer,
    TokenFailure.UNREACHABLE: _unreachable,
    TokenFailure.BUSY: _busy,
}
