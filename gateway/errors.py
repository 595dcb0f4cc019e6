"""Everything that can go wrong, as one tree of exceptions with stable codes.

    GatewayError
    ├── Unauthorized            MissingApiKey 4010 · InvalidApiKey 4011 · KeyNotAllowedInUrl 4012
    ├── BadRequest              InvalidSpreadsheetId 101 · InvalidBody 104
    │                           InvalidRequest 4000 · AmbiguousCredentials 4001
    │                           InvalidQuery 4002 · UnknownField 4002 · InvalidPath 4003
    │                           InvalidIdempotencyKey 4004 · TooManyRowsAffected 4005
    │                           QueryTooCostly 4006
    ├── Forbidden               SpreadsheetNotShared 101 · OriginNotAllowed 4031 · NotGranted 4032
    │                           ProtectedCells 4033 · PlanLimit 4034
    ├── NotFound                SpreadsheetNotFound 101 · RowNotFound 103 · WorksheetNotFound 105
    │                           RouteNotFound 4040
    ├── NoHeaderRow 102 (409)   Gone 4100 (410)   RequestTimeout 4080 (408)
    ├── ReadOnlyKey 4050 (405)  MethodNotAllowed 4051 (405)
    ├── IdempotencyInProgress 4090 (409)    IdempotencyKeyReused 4220 (422)
    ├── HeaderChanged 4091 (409)            RowNumberUnknown 4094 (409)
    ├── DuplicateKey 4092 (409)             RowNotRemovable 4093 (409)
    ├── RowsMoved 4095 (409)
    ├── PreconditionFailed 4120 (412)       PreconditionRequired 4280 (428)
    ├── TooLarge                BodyTooLarge 4130 · SheetTooLarge 4132 · WriteTooLarge 4133
    │                           UriTooLong 4140 (414) · HeadersTooLarge 4310 (431)
    ├── UnsupportedMediaType 4150 (415)     UnsupportedDocument 4221 (422)
    ├── TooManyRequests (429)   RateLimited 4290 · TooManyInFlight 4291 · TooManyAuthFailures 4292
    ├── UpstreamError 5020      UpstreamRefusal 5020 · UpstreamUnreachable 5021 · UpstreamAuth 5022
    ├── TemporarilyUnavailable  QuotaSpent 5030 · CircuitOpen 5030 · NotFresh 5030 · QueueFull 5031
    │                           LookOutdated 5031 · RowsUnsettled 5031 · KeysUnavailable 5031
    │                           RecordsUnavailable 5031 · ShuttingDown 5032 · MetadataFull 5034
    ├── UpstreamTimeout 5040    WriteOutcomeUnknown 5041
    └── StorageFull 5070        InternalError 5000

A code is never used again for another meaning, except that 101 names every trouble with the
spreadsheet id (the status tells which), 4002 an unknown field too, 5020 a refusal too, 5030 that
Google cannot be asked now, and 5031 that the gateway cannot bear more now. Only `gateway.web` knows
how an error becomes a response.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

Outcome = Literal["not_applied", "applied", "unknown"]

UNKNOWN_RETRY_SECONDS = 185
"""Google runs a request for at most 180 s; no write is applied later than this."""


@dataclass(frozen=True)
class Problem:
    """A problem at one place of a request: a JSON pointer as a URI fragment, and the reason."""

    pointer: str
    detail: str


class GatewayError(Exception):
    """Root of the tree; `message` gives problem and remedy, never a secret."""

    code: ClassVar[int]
    name: ClassVar[str]
    status: ClassVar[int]
    retryable: ClassVar[bool] = False

    def __init__(
        self,
        message: str,
        *,
        problems: Sequence[Problem] = (),
        outcome: Outcome | None = None,
        retry_after_seconds: int | None = None,
        allowed_methods: Sequence[str] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.problems = tuple(problems)
        self.outcome: Outcome | None = outcome
        self.retry_after_seconds = retry_after_seconds
        self.allowed_methods = tuple(allowed_methods)
        self.is_replayed = False
        """Whether this is the answer that an earlier request with the same key had."""
        self.is_alone = False


class Unauthorized(GatewayError):
    status = 401


class MissingApiKey(Unauthorized):
    code, name = 4010, "MissingApiKey"


class InvalidApiKey(Unauthorized):
    """Unknown, mistyped, revoked and expired keys get the same answer."""

    code, name = 4011, "InvalidApiKey"


class KeyNotAllowedInUrl(Unauthorized):
    code, name = 4012, "KeyNotAllowedInUrl"


class BadRequest(GatewayError):
    status = 400


class InvalidSpreadsheetId(BadRequest):
    code, name = 101, "SpreadsheetIdNotFound"


class InvalidBody(BadRequest):
    code, name = 104, "InvalidBody"


class AmbiguousCredentials(BadRequest):
    code, name = 4001, "AmbiguousCredentials"


class InvalidQuery(BadRequest):
    code, name = 4002, "InvalidQuery"


class InvalidPath(BadRequest):
    code, name = 4003, "InvalidPath"


class Forbidden(GatewayError):
    status = 403


class SpreadsheetNotShared(Forbidden):
    code, name = 101, "SpreadsheetIdNotFound"


class OriginNotAllowed(Forbidden):
    code, name = 4031, "OriginNotAllowed"


class NotGranted(Forbidden):
    code, name = 4032, "NotGranted"


class ProtectedCells(Forbidden):
    code, name = 4033, "ProtectedCells"


class PlanLimit(Forbidden):
    code, name = 4034, "PlanLimit"


class NotFound(GatewayError):
    status = 404


class SpreadsheetNotFound(NotFound):
    """Unknown to Google, or not granted to the key: the answers are identical."""

    code, name = 101, "SpreadsheetIdNotFound"

    def __init__(self) -> None:
        super().__init__(
            "There is no spreadsheet with this id that this key may use. Take the id from the "
            "spreadsheet's URL, between /d/ and /edit, and ask the gateway's operator whether "
            "the key was granted it."
        )


class RowNotFound(NotFound):
    code, name = 103, "RowNotFound"


class WorksheetNotFound(NotFound):
    """No worksheet has this name; `titles` are the existing ones, which not every key may know."""

    code, name = 105, "WorksheetNotFound"
    titles: Sequence[str] = ()


class RouteNotFound(NotFound):
    code, name = 4040, "RouteNotFound"


class NoHeaderRow(GatewayError):
    code, name, status = 102, "NoHeaderRow", 409


class ReadOnlyKey(GatewayError):
    code, name, status = 4050, "ReadOnlyKey", 405


class MethodNotAllowed(GatewayError):
    code, name, status = 4051, "MethodNotAllowed", 405


class Gone(GatewayError):
    code, name, status = 4100, "Gone", 410


class RequestTimeout(GatewayError):
    """The client took too long to send its request."""

    code, name, status = 4080, "RequestTimeout", 408
    retryable = True


class TooLarge(GatewayError):
    status = 413


class BodyTooLarge(TooLarge):
    code, name = 4130, "BodyTooLarge"


class SheetTooLarge(TooLarge):
    code, name = 4132, "SheetTooLarge"


class WriteTooLarge(TooLarge):
    """A write whose cells exceed a limit; smaller parts of it can be written."""

    code, name = 4133, "WriteTooLarge"


class UnsupportedMediaType(GatewayError):
    code, name, status = 4150, "UnsupportedMediaType", 415


class UnsupportedDocument(GatewayError):
    code, name, status = 4221, "UnsupportedDocument", 422


class InternalError(GatewayError):
    """An internal error: its details are only in the log."""

    code, name, status = 5000, "InternalError", 500


class UpstreamError(GatewayError):
    """Google failed, or its answer is unreadable."""

    code, name, status = 5020, "UpstreamError", 502
    retryable = True


class UpstreamRefusal(UpstreamError):
    """Google refused our request as invalid (400 INVALID_ARGUMENT), without executing it.

    `google_message` can quote cells, so it is sent to no client. `first_request` is the number of
    the request in a batch that counts as the first one.
    """

    retryable = False
    first_request = 0

    def __init__(self, google_message: str) -> None:
        super().__init__(
            "Google refused the request as invalid; the reason is in the gateway's log.",
            outcome="not_applied",
        )
        self.google_message = google_message


class UpstreamUnreachable(UpstreamError):
    """Nothing was sent: no connection to Google."""

    code = 5021


class UpstreamAuth(GatewayError):
    """Google refused the service account itself, not its access to one spreadsheet."""

    code, name, status = 5022, "UpstreamAuth", 502


class TemporarilyUnavailable(GatewayError):
    name, status = "TemporarilyUnavailable", 503
    retryable = True


class QuotaSpent(TemporarilyUnavailable):
    """Google's quota, or the gateway's share of it, is used up.

    `is_from_google`: Google refused the call with a 429; otherwise it was not sent. `limit`: calls
    per minute that Google allows, if it named them; `limit_name`: what it calls this limit.
    """

    code = 5030

    def __init__(
        self,
        message: str,
        *,
        outcome: Outcome | None = None,
        retry_after_seconds: int | None = None,
        is_from_google: bool = False,
        limit: int | None = None,
        limit_name: str = "",
    ) -> None:
        super().__init__(message, outcome=outcome, retry_after_seconds=retry_after_seconds)
        self.is_from_google = is_from_google
        self.limit = limit
        self.is_of_project = limit_name.endswith("PerProject")
        self.is_of_spreadsheet = bool(limit_name) and not limit_name.endswith(
            ("PerProject", "PerUser")
        )
        """Neither the account's nor the project's: assumed to be one of the spreadsheet."""


class CircuitOpen(TemporarilyUnavailable):
    """The circuit breaker is open after several failures of Google: nothing was sent."""

    code = 5030


class NotFresh(TemporarilyUnavailable):
    """Fresh rows were requested but are not available."""

    code = 5030


class QueueFull(TemporarilyUnavailable):
    code = 5031


class LookOutdated(QueueFull):
    """A write was not sent: the rows may have changed since the gateway looked at them."""

    def __init__(
        self,
        message: str = "The rows changed while the gateway looked at them, or the look took too "
        "long. Nothing was written; send it again.",
        *,
        outcome: Outcome | None = "not_applied",
        retry_after_seconds: int | None = 1,
    ) -> None:
        super().__init__(message, outcome=outcome, retry_after_seconds=retry_after_seconds)


class RowsUnsettled(QueueFull):
    """A repeated write was applied, and a later delete, whose outcome is open, may have moved its
    rows. The same `Idempotency-Key` gets the answer later, so that it may be repeated."""


class ShuttingDown(TemporarilyUnavailable):
    code = 5032


class MetadataFull(TemporarilyUnavailable):
    """The spreadsheet's developer metadata has no room for the fence of a write."""

    code, name = 5034, "MetadataFull"


class UpstreamTimeout(GatewayError):
    """Google did not answer a read in time."""

    code, name, status = 5040, "UpstreamTimeout", 504
    retryable = True


class StorageFull(GatewayError):
    code, name, status = 5070, "StorageFull", 507


class InvalidRequest(BadRequest):
    """Not an unambiguous HTTP request."""

    code, name = 4000, "InvalidRequest"


class UriTooLong(TooLarge):
    code, name, status = 4140, "UriTooLong", 414


class HeadersTooLarge(TooLarge):
    code, name, status = 4310, "HeadersTooLarge", 431


class QueryTooCostly(BadRequest):
    """The query needs more steps than allowed."""

    code, name = 4006, "QueryTooCostly"


class TooManyRowsAffected(BadRequest):
    """A write by filter would change more rows than it may."""

    code, name = 4005, "TooManyRowsAffected"


class UnknownField(InvalidQuery):
    """`parameter` has `names` that are not fields of the worksheet, or hidden from the caller."""

    def __init__(self, message: str, *, parameter: str, names: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.parameter = parameter
        self.names = tuple(names)


class TooManyRequests(GatewayError):
    status = 429
    retryable = True


class RateLimited(TooManyRequests):
    code, name = 4290, "RateLimited"


class TooManyInFlight(TooManyRequests):
    code, name = 4291, "TooManyInFlight"


class TooManyAuthFailures(TooManyRequests):
    """The client's address sent too many invalid keys: more than `per_minute`."""

    code, name = 4292, "TooManyAuthFailures"

    def __init__(
        self, message: str, *, retry_after_seconds: int | None = None, per_minute: int = 0
    ) -> None:
        super().__init__(message, retry_after_seconds=retry_after_seconds)
        self.per_minute = per_minute


class KeysUnavailable(TemporarilyUnavailable):
    """The key store does not answer, so no caller can be identified."""

    code = 5031


class RecordsUnavailable(TemporarilyUnavailable):
    """The server of the write records is away, or their file is locked, so nothing was sent.

    `unknown` if the record of an earlier request with the same Idempotency-Key cannot be read.
    """

    code = 5031


class InvalidIdempotencyKey(BadRequest):
    code, name = 4004, "InvalidIdempotencyKey"


class IdempotencyInProgress(GatewayError):
    """The first request with this Idempotency-Key is still running."""

    code, name, status = 4090, "IdempotencyInProgress", 409
    retryable = True


class IdempotencyKeyReused(GatewayError):
    """The Idempotency-Key belongs to a request with another body."""

    code, name, status = 4220, "IdempotencyKeyReused", 422


class PreconditionFailed(GatewayError):
    """The row does not match `If-Match`; `existing` is its current record with this `tag`."""

    code, name, status = 4120, "PreconditionFailed", 412

    def __init__(self, existing: Mapping[str, object], *, tag: str, has_tags: bool = True) -> None:
        found = (
            "names no tag of the row as it is now, which is 'existing'"
            if has_tags
            else "is not a list of tags in quotes, or all of them are weak (W/), so it matches no "
            "row; this one is 'existing'"
        )
        super().__init__(
            f"If-Match {found}. It was left so: look at it, then send the update with the ETag of "
            "this answer, quotes and all."
        )
        self.existing = existing
        self.tag = tag


class PreconditionRequired(GatewayError):
    code, name, status = 4280, "PreconditionRequired", 428


class HeaderChanged(GatewayError):
    """The header changed while the row was written; `row` is the first written row."""

    code, name, status = 4091, "HeaderChanged", 409

    def __init__(
        self,
        message: str,
        *,
        row: int = 0,
        problems: Sequence[Problem] = (),
        outcome: Outcome | None = "applied",
    ) -> None:
        super().__init__(message, problems=problems, outcome=outcome)
        self.row = row


class DuplicateKey(GatewayError):
    """Two rows of the worksheet have the key of an upsert; the message names them."""

    code, name, status = 4092, "DuplicateKey", 409


class RowNotRemovable(GatewayError):
    """Google cannot remove a row."""

    code, name, status = 4093, "RowNotRemovable", 409


class RowNumberUnknown(GatewayError):
    """A write was applied, and people moved or changed its rows before they could be seen."""

    code, name, status = 4094, "RowNumberUnknown", 409

    def __init__(
        self,
        message: str,
        *,
        problems: Sequence[Problem] = (),
        outcome: Outcome | None = "applied",
    ) -> None:
        super().__init__(message, problems=problems, outcome=outcome)


class RowsMoved(GatewayError):
    """A conditional write was applied to another record than the one that it looked at.

    `row` is the row, `expected` the record that it looked at, and `met` the other record: of an
    update as it is now, of a removal as it was, or None if nobody saw it.
    """

    code, name, status = 4095, "RowsMoved", 409

    def __init__(
        self,
        message: str,
        *,
        row: int = 0,
        expected: Mapping[str, object] | None = None,
        met: Mapping[str, object] | None = None,
        problems: Sequence[Problem] = (),
        outcome: Outcome | None = "applied",
    ) -> None:
        super().__init__(message, problems=problems, outcome=outcome)
        self.row = row
        self.expected = expected
        self.met = met


class WriteOutcomeUnknown(GatewayError):
    """A write was sent, and it is not known whether it was or will be applied."""

    code, name, status = 5041, "WriteOutcomeUnknown", 504

    def __init__(
        self,
        message: str,
        *,
        outcome: Outcome = "unknown",
        retry_after_seconds: int | None = None,
    ) -> None:
        super().__init__(message, outcome=outcome, retry_after_seconds=retry_after_seconds)


def write_outcome(error: GatewayError) -> Outcome:
    """How a write ended: what was not sent was not applied; an internal error proves nothing."""
    is_open = isinstance(error, InternalError | WriteOutcomeUnknown)
    return error.outcome or ("unknown" if is_open else "not_applied")
