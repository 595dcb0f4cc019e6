"""Why there is no token, in words for the operator.

Rules
- The code of RFC 6749 decides where it can. Google has `invalid_grant` for a dozen causes, so its
  descriptions are looked at too; they are English and reported since 2016:
  googleapis/google-cloud-php#3622 (account not found: disabled or deleted),
  googleapis/google-api-ruby-client#720 (Robot is disabled),
  googleapis/google-cloud-python#10004 (Invalid JWT Signature: the key is gone),
  googleapis/google-api-php-client#1501 and DataBiosphere/dsub#194 (short-lived token: the clock).
- A description that nobody knows is `REFUSED`; a clock that is far off explains it all the same.
"""

import re
from collections.abc import Sequence
from email.utils import parsedate_to_datetime
from enum import Enum, auto

from google.auth.exceptions import DefaultCredentialsError, GoogleAuthError, TransportError

CLOCK_SKEW_SECONDS = 300.0
"""An assertion of a clock that is so far off is refused (DataBiosphere/dsub#194)."""

MAX_WORDS = 160


class TokenTrouble(Enum):
    """What is between the gateway and a token."""

    NO_CREDENTIALS = auto()
    """No key file is set, and there are no default credentials."""
    UNREADABLE = auto()
    """The file of the default credentials cannot be read."""
    FOREIGN = auto()
    """The credentials name an endpoint that may not see them."""
    CLOCK = auto()
    """This machine's clock is off."""
    KEY = auto()
    """The account does not have this key (any more)."""
    ACCOUNT = auto()
    """The account was deleted or disabled."""
    SESSION = auto()
    """The sign-in of a person has ended."""
    REFUSED = auto()
    """Google says no for another reason."""
    FAILED = auto()
    """The token endpoint is in trouble itself: 429 or 5xx."""
    SENSELESS = auto()
    """What answered gave no token, and none of the endpoint's errors either."""
    UNREACHABLE = auto()
    """Nothing answered."""
    BUSY = auto()
    """Another call still waits for a token."""


class ForeignEndpoint(GoogleAuthError):
    """What was to be asked may not see credentials; the text is its host."""


class EndpointFailed(TransportError):
    """The token endpoint answered with a status of a trouble of its own."""


_BY_WORDS: Sequence[tuple[re.Pattern[str], TokenTrouble]] = tuple(
    (re.compile(pattern, re.IGNORECASE), trouble)
    for pattern, trouble in (
        (r"short-lived token|reasonable timeframe|iat and exp", TokenTrouble.CLOCK),
        (r"invalid jwt signature|no valid verifier", TokenTrouble.KEY),
        (
            r"^(disabled|deleted)_client|account not found|robot is disabled"
            r"|account has been (deleted|disabled)",
            TokenTrouble.ACCOUNT,
        ),
        (r"expired or revoked|invalid_rapt|reauthentication", TokenTrouble.SESSION),
        (r"^no access token", TokenTrouble.SENSELESS),
    )
)


def trouble_of(error: GoogleAuthError, clock_offset_seconds: float | None) -> TokenTrouble:
    """What google-auth's error comes from, as far as it tells."""
    if isinstance(error, DefaultCredentialsError):
        return TokenTrouble.NO_CREDENTIALS
    if isinstance(error, ForeignEndpoint):
        return TokenTrouble.FOREIGN
    # Compute Engine's credentials wrap a TransportError into a RefreshError.
    for each in (error, error.__cause__):
        if isinstance(each, EndpointFailed):
            return TokenTrouble.FAILED
        if isinstance(each, TransportError):
            return TokenTrouble.UNREACHABLE
    if error.retryable:
        return TokenTrouble.FAILED
    words = google_words(error)
    if not words:
        return TokenTrouble.SENSELESS
    found = next((t for pattern, t in _BY_WORDS if pattern.search(words)), TokenTrouble.REFUSED)
    is_far_off = abs(clock_offset_seconds or 0.0) > CLOCK_SKEW_SECONDS
    return TokenTrouble.CLOCK if found is TokenTrouble.REFUSED and is_far_off else found


def google_words(error: GoogleAuthError) -> str:
    """The endpoint's `error: error_description` without a full stop; empty if it gave neither.

    google-auth's own text may hold all of the answer besides; this is its first argument alone.
    """
    first = error.args[0] if error.args else ""
    words = " ".join(first.split()) if isinstance(first, str) else ""
    return "" if words.startswith(("<", "{", "[")) else words[:MAX_WORDS].removesuffix(".")


def clock_offset_seconds(date: str | None, *, sent: float, received: float) -> float | None:
    """How far this machine's clock is ahead of an answer's Date header, at least; behind: below 0.

    `sent` and `received` are seconds since the epoch by this machine. None without such a header.
    """
    try:
        told = parsedate_to_datetime(date or "").timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
    # The answer was made between the two, and its Date cuts off parts of a second.
    ahead, behind = sent - told - 1.0, told - received
    return max(ahead, 0.0) - max(behind, 0.0)
