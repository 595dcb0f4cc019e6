"""Translation of Google's error answers and of transport errors to gateway errors.

Rules:
- The HTTP status decides first, then `status` and `details[].reason`. Google's messages are
  localised and ignored, with one exception: a 403 without a reason whose message links to the page
  for enabling the API, or says that the API is disabled (older answers: burnash/gspread#1286,
  nithinmurali/pygsheets#86).
- Google applies a request completely or not at all. A write is `not_applied` if nothing was sent,
  or if Google refused it (4xx except 408, 409 and 499). Otherwise the error is
  `WriteOutcomeUnknown`, even for a 5xx: a front end can answer 5xx while Google applies the write.
- Google's messages quote cells, so messages and exceptions of the gateway repeat only known phrases
  (`gateway.telemetry.redaction`).
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import httpx2
import msgspec

from gateway.errors import (
    UNKNOWN_RETRY_SECONDS,
    GatewayError,
    Outcome,
    QuotaSpent,
    SheetTooLarge,
    SpreadsheetNotFound,
    SpreadsheetNotShared,
    UnsupportedDocument,
    UpstreamAuth,
    UpstreamError,
    UpstreamRefusal,
    UpstreamTimeout,
    UpstreamUnreachable,
    WriteOutcomeUnknown,
    WriteTooLarge,
)
from gateway.google.token import TokenUnavailable
from gateway.google.wire import Answer, AnswerBroken, AnswerTooLarge
from gateway.telemetry.redaction import known_words

QUOTA_RETRY_SECONDS = 60
"""Seconds in `Retry-After` for Google's 429, because Google's limits are per minute."""

_TOO_LARGE = (
    "The worksheet is larger than the gateway reads at once. Request fewer rows, split the "
    "worksheet, or ask the gateway's operator to raise google.max_answer_bytes."
)


_LONGEST_READ = 2_000
"""Maximum characters of Google's message that are searched for a disabled API."""

_DISABLED = re.compile(
    r"https://console\.(?:developers|cloud)\.google\.com/apis/[^\s?]*\?project=([\w.:-]*\w)"
    r"|has not been used in project ([\w.:-]*\w)"
)

_STATUS_NAMES = frozenset(
    {
        *("CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND"),
        *("ALREADY_EXISTS", "PERMISSION_DENIED", "UNAUTHENTICATED", "RESOURCE_EXHAUSTED"),
        *("FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL"),
        *("UNAVAILABLE", "DATA_LOSS"),
    }
)
"""Names of google.rpc.Code (https://cloud.google.com/apis/design/errors)."""

_GIVEN_UP = frozenset({408, 409, 499})
"""HTTP statuses of requests that timed out or were aborted. Google might have applied them."""

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""msgspec's errors for invalid JSON, an unexpected shape or too deep nesting."""


class _Detail(msgspec.Struct):
    reason: str = ""
    metadata: object = None


class _ErrorBody(msgspec.Struct):
    message: str = ""
    status: str = ""
    details: tuple[_Detail, ...] = ()


class _ErrorAnswer(msgspec.Struct):
    error: _ErrorBody


class GoogleRefusal(Exception):
    """Answer of Google with another HTTP status than 200.

    The exception text goes to the log, so it repeats only known phrases of Google's message.
    """

    def __init__(self, answer: Answer) -> None:
        try:
            self.body = msgspec.json.decode(answer.body, type=_ErrorAnswer).error
        except UNREADABLE:  # usually HTML
            self.body = _ErrorBody(message=answer.body[:500].decode(errors="replace"))
        super().__init__(f"HTTP {answer.status} {self.name}: {known_words(self.body.message)}")
        self.status = answer.status

    @property
    def name(self) -> str:
        """Google's name of the error, such as "NOT_FOUND", or "" if the answer has no such name."""
        return self.body.status if self.body.status in _STATUS_NAMES else ""

    @property
    def reasons(self) -> frozenset[str]:
        return frozenset(detail.reason for detail in self.body.details if detail.reason)

    @property
    def is_page(self) -> bool:
        """True if a proxy or load balancer answered instead of the Sheets API."""
        return not self.body.status

    @property
    def disabled_in(self) -> str | None:
        """Google Cloud project in which the Sheets API is disabled.

        "" if the answer does not name the project. None if the API is not disabled.
        """
        if self.status != 403:
            return None
        found = _DISABLED.search(self.body.message[:_LONGEST_READ])
        is_disabled = (found is not None and not self.reasons) or "SERVICE_DISABLED" in self.reasons
        if not is_disabled:
            return None
        consumers = (_consumer(detail.metadata) for detail in self.body.details)
        named = next(filter(None, consumers), "")
        return named or (found and (found[1] or found[2])) or ""

    @property
    def limit(self) -> int | None:
        """Limit of calls a minute that a 429 names, or None if the answer names no limit."""
        limits = (_per_minute(detail.metadata) for detail in self.body.details)
        return min((limit for limit in limits if limit), default=None)

    @property
    def limit_name(self) -> str:
        """Google's name of the limit in a 429, such as "ReadRequestsPerMinutePerUser".

        "" if the answer names no limit.
        """
        return next(filter(None, (_limit_name(each.metadata) for each in self.body.details)), "")


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """Call that failed. `account` is the e-mail address of its account, or None if unknown."""

    is_write: bool
    account: str | None = None

    @property
    def refused(self) -> Outcome | None:
        """Value for `outcome` of an error after which Google certainly did not apply the call.

        "not_applied" for a write, None for a read. The caller must know that nothing was applied.
        """
        return "not_applied" if self.is_write else None


FAILURES = (GoogleRefusal, TokenUnavailable, AnswerTooLarge, httpx2.HTTPError, *UNREADABLE)


def translated(error: Exception, attempt: Attempt) -> GatewayError:
    """Return the gateway error for one of `FAILURES`. The caller raises the result."""
    match error:
        case GoogleRefusal():
            rule = _BY_STATUS.get(error.status)
            if rule is not None:
                return rule(error, attempt)
            is_refused = 400 <= error.status < 500 and error.status not in _GIVEN_UP
            return (None if is_refused else _open(attempt)) or UpstreamError(
                f"Google failed with HTTP status {error.status}. Try again.",
                outcome=attempt.refused,
            )
        case TokenUnavailable(retryable=False):
            return UpstreamAuth(outcome=attempt.refused)
        case (
            TokenUnavailable()
            | httpx2.ConnectError()
            | httpx2.ConnectTimeout()
            | httpx2.PoolTimeout()
            | httpx2.ProxyError()
            | httpx2.UnsupportedProtocol()
        ):  # before the first byte is sent
            return UpstreamUnreachable(outcome=attempt.refused)
        case AnswerBroken():
            return translated(error.reason, attempt)
        case AnswerTooLarge():
            return _open(attempt) or SheetTooLarge(_TOO_LARGE)
        case httpx2.TimeoutException():
            return _open(attempt) or UpstreamTimeout()
        case httpx2.HTTPError() if not isinstance(error, httpx2.DecodingError):
            return _open(attempt) or UpstreamError("The connection to Google broke. Try again.")
    return _open(attempt) or UpstreamError("Google's answer is unreadable. Try again.")


def _open(attempt: Attempt) -> GatewayError | None:
    """Return the error for a write with an unknown outcome, or None for a read."""
    if not attempt.is_write:
        return None
    return WriteOutcomeUnknown(
        "Google's answer to this write is missing, or does not say whether the write was "
        f"applied. Wait {UNKNOWN_RETRY_SECONDS} seconds, then look at the worksheet before "
        "you send it again.",
        outcome="unknown",
        retry_after_seconds=UNKNOWN_RETRY_SECONDS,
    )


def _bad_request(error: GoogleRefusal, attempt: Attempt) -> GatewayError:
    if attempt.is_write and error.body.message.startswith(_PAYLOAD):
        return _payload_too_large(error, attempt)
    if error.body.status != "FAILED_PRECONDITION":
        return UpstreamRefusal(error.body.message)
    return UnsupportedDocument(outcome=attempt.refused)


def _forbidden(error: GoogleRefusal, attempt: Attempt) -> GatewayError:
    """Translate a 403, which has a reason only for a problem of the account or the project."""
    if error.reasons & _QUOTA_REASONS:
        return _quota_spent(error, attempt)
    if error.reasons or error.disabled_in is not None:
        return UpstreamAuth(outcome=attempt.refused)
    account = attempt.account or "the gateway's Google account"
    return SpreadsheetNotShared(
        f"The spreadsheet is not shared with {account}. Share it with that address as Editor.",
        outcome=attempt.refused,
    )


def _quota_spent(error: GoogleRefusal, attempt: Attempt) -> GatewayError:
    return QuotaSpent(
        "Google's quota of calls is spent for this minute. Try again in a minute.",
        outcome=attempt.refused,
        retry_after_seconds=QUOTA_RETRY_SECONDS,
        is_from_google=True,
        limit=error.limit,
        limit_name=error.limit_name,
    )


def _per_minute(metadata: object) -> int:
    """Return the limit of calls a minute in the metadata of a 429, or 0 without such a limit.

    Google's unit of these limits is "1/min/{project}" or "1/min/{project}/{user}". Daily limits are
    ignored.
    """
    match metadata:
        case {"quota_limit_value": str(value), "quota_unit": str(unit)}:
            is_limit = unit.startswith("1/min/") and re.fullmatch("[0-9]{1,9}", value)
            return int(value) if is_limit else 0
        case _:
            return 0


def _limit_name(metadata: object) -> str:
    match metadata:
        case {"quota_limit": str(name)}:
            return name
        case _:
            return ""


def _consumer(metadata: object) -> str:
    """Return the number or ID of the project in an error's metadata ("projects/123"), or ""."""
    match metadata:
        case {"consumer": str(consumer)} if re.fullmatch(r"projects/[\w.:-]{1,64}", consumer):
            return consumer.removeprefix("projects/")
        case _:
            return ""


def _payload_too_large(_error: GoogleRefusal, attempt: Attempt) -> GatewayError:
    if not attempt.is_write:
        return SheetTooLarge(_TOO_LARGE)
    return WriteTooLarge(
        "Google refused the write as too large, and nothing was written. Write fewer rows or "
        "fields at once.",
        outcome=attempt.refused,
    )


_PAYLOAD = "Request payload size exceeds the limit"
"""Google's message for a body above 10 MB, with status 400. All Google APIs have this limit."""

_QUOTA_REASONS = frozenset({"RATE_LIMIT_EXCEEDED", "RESOURCE_QUOTA_EXCEEDED"})

_BY_STATUS: Mapping[int, Callable[[GoogleRefusal, Attempt], GatewayError]] = {
    400: _bad_request,
    401: lambda _error, attempt: UpstreamAuth(outcome=attempt.refused),
    403: _forbidden,
    404: lambda _error, _attempt: SpreadsheetNotFound(),
    413: _payload_too_large,
    429: _quota_spent,
}
