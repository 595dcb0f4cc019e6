"""Why Google issues no access token, and what to do."""

import os
from collections.abc import Callable, Mapping

from gateway.commands.doctor.reach import asked_host, unreachable_words
from gateway.commands.doctor.scene import Scene
from gateway.google.credentials import ACCOUNTS_PAGE, DOWNLOAD, VARIABLE
from gateway.google.token import TokenFailure, TokenUnavailable

SYNCHRONISE = (
    "Let this machine's time be synchronised: sudo timedatectl set-ntp true, or chrony or ntpd; "
    "that of a container is its host's"
)
TOLERATED_SECONDS = 30.0
"""A clock that is off by less is not worth a word; Google bears some minutes."""


def sign_in_words(error: TokenUnavailable, scene: Scene) -> str:
    return _WORDS[error.failure](error, scene)


def duration(seconds: float) -> str:
    """A length of time in words, for instance "about 62 minutes"."""
    amount = abs(seconds)
    for unit, name in ((86_400.0, "days"), (3_600.0, "hours"), (60.0, "minutes")):
        if amount >= 2 * unit:
            return f"about {amount / unit:.0f} {name}"
    return f"about {amount:.0f} seconds"


def clock_words(offset_seconds: float) -> str:
    """By how much and which way the clock is off."""
    return f"{duration(offset_seconds)} {'ahead' if offset_seconds > 0 else 'behind'}"


def _no_credentials(error: TokenUnavailable, _scene: Scene) -> str:
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


def _unreadable(_error: TokenUnavailable, _scene: Scene) -> str:
    return (
        "the file of the Application Default Credentials cannot be read. Let the user of the "
        f"gateway read it, or set google.credentials to a key file: {DOWNLOAD}."
    )


def _foreign(error: TokenUnavailable, scene: Scene) -> str:
    place = scene.key_file or "the Application Default Credentials"
    return (
        f"tokens are to be had at {error.google_words}, which is neither Google's nor on this "
        f"machine, so nothing was sent there. Correct {place}, or set "
        "google.allow_insecure_endpoint if it is meant so."
    )


def _clock(error: TokenUnavailable, _scene: Scene) -> str:
    offset_seconds = error.clock_offset_seconds or 0.0
    is_seen = abs(offset_seconds) > TOLERATED_SECONDS
    how_much = f": {clock_words(offset_seconds)} of Google's" if is_seen else ""
    return (
        f"this machine's clock is off{how_much}, so Google refuses what is signed here "
        f"({error.google_words}). {SYNCHRONISE}."
    )


def _key(error: TokenUnavailable, scene: Scene) -> str:
    return (
        f"Google does not know this key of {scene.who} ({error.google_words}): it was deleted, or "
        f"the file was changed. Make another: {scene.new_key}."
    )


def _account(error: TokenUnavailable, scene: Scene) -> str:
    return (
        f"{scene.who} was deleted or disabled ({error.google_words}). Enable it at "
        f"{ACCOUNTS_PAGE}; if it is gone, make another there, share the spreadsheets with its "
        f"address, and {scene.new_key}."
    )


def _session(error: TokenUnavailable, _scene: Scene) -> str:
    return (
        f"the sign-in of the Application Default Credentials has ended ({error.google_words}). Run "
        "gcloud auth application-default login, or better, set google.credentials to a key file, "
        f"which does not end: {DOWNLOAD}."
    )


def _refused(error: TokenUnavailable, scene: Scene) -> str:
    return (
        f"Google refuses {scene.who} ({error.google_words}). Look at it at {ACCOUNTS_PAGE}; if "
        f"it is enabled there, try another key: {scene.new_key}."
    )


def _failed(error: TokenUnavailable, _scene: Scene) -> str:
    return (
        f"Google's token endpoint is in trouble itself ({error.google_words}). That passes: run "
        "check again in a few minutes."
    )


def _invalid_answer(_error: TokenUnavailable, _scene: Scene) -> str:
    return (
        "what answers in the place of Google's token endpoint is not Google: a sign-in page, proxy "
        "or firewall of the network, perhaps. Let this machine reach oauth2.googleapis.com "
        "directly; if the key file was changed, its token_uri may be wrong."
    )


def _unreachable(error: TokenUnavailable, _scene: Scene) -> str:
    host = asked_host(error) or "Google's token endpoint"
    return f"no token can be had: {unreachable_words(host, error)}"


def _busy(_error: TokenUnavailable, _scene: Scene) -> str:
    return "another check still waits for a token. Run it again."


_WORDS: Mapping[TokenFailure, Callable[[TokenUnavailable, Scene], str]] = {
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
