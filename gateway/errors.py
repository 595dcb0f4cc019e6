"""Everything that can go wrong, as one tree of exceptions with stable codes.

    GatewayError
    ├── Unauthorized            MissingApiKey 4010 · InvalidApiKey 4011 · KeyNotAllowedInUrl 4012
    ├── BadRequest              InvalidSpreadsheetId 101 · InvalidBody 104
    │                           InvalidRequest 4000 · AmbiguousCredentials 4001
    │                           InvalidQuery 4002 · UnknownField 4002 · InvalidPath 4003
    │                           InvalidIdempotencyKey 4004 · TooManyRowsAffected 4005
    │                           QueryTooCostly 4006 · ChallengeFailed 4037
    ├── Forbidden               SpreadsheetNotShared 101 · OriginNotAllowed 4031 · NotGranted 4032
    │                           ProtectedCells 4033 · PlanLimit 4034 · CreateOnlyKey 4036
    ├── NotFound                SpreadsheetNotFound 101 · RowNotFound 103 · WorksheetNotFound 105
    │                           RouteNotFound 4040
    ├── NoHeaderRow 102 (409)   RequestTimeout 4080 (408)
    ├── Gone 4100 (410)         CursorLost 4101 (410)
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
    │                           ChallengeUnavailable 5030 · LookOutdated 5031 · RowsUnsettled 5031
    │                           KeysUnavailable 5031 · RecordsUnavailable 5031 · ShuttingDown 5032
    │                           MetadataFull 5034
    ├── UpstreamTimeout 5040    WriteOutcomeUnknown 5041
    └── StorageFull 5070        InternalError 5000

A code is never reused for another meaning, but some have several errors: 101 all problems of the
spreadsheet ID (with different statuses), 4002 unknown fields, too, 5020 refusals, too, 5030 all
cases in which Google or Turnstile cannot be called now, and 5031 temporary problems of the gateway
itself. Only `gateway.web` turns an error into a response.

The first paragraph of a class's docstring describes its error to clients, in Markdown:
`/openapi.json` and `docs/reference/errors.md` have it.
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
    outcome: Outcome | None = None

    def __init__(
        self,
        message: str | None = None,
        *,
        problems: Sequence[Problem] = (),
        outcome: Outcome | None = None,
        retry_after_seconds: int | None = None,
        allowed_methods: Sequence[str] = (),
    ) -> None:
        """Without a message it is the description."""
        if message is None:
            message = self.description().replace("`", "'")
        super().__init__(message)
        self.message = message
        self.problems = tuple(problems)
        if outcome is not None:
            self.outcome = outcome
        self.retry_after_seconds = retry_after_seconds
        self.allowed_methods = tuple(allowed_methods)
        self.is_replayed = False
        """True if this is the replayed answer of an earlier request with the same key."""
        self.is_alone = False
        self.is_without_sheet = False
        """True if the answer must show nothing of the sheet."""

    def without_sheet(self, message: str, problems: Sequence[Problem]) -> "GatewayError":
        """A copy with another text and problems that shows no rows; others may share this error."""
        hidden = type(self).__new__(type(self), *self.args)
        vars(hidden).update(vars(self))
        hidden.message, hidden.problems, hidden.is_without_sheet = message, tuple(problems), True
        return hidden

    @classmethod
    def description(cls) -> str:
        """Cause and remedy of the error: the first paragraph of its docstring, in one line."""
        return " ".join((cls.__doc__ or "").partition("\n\n")[0].split())


class Unauthorized(GatewayError):
    status = 401


class MissingApiKey(Unauthorized):
    """The request has no API key. Send it as `Authorization: Bearer KEY`, in the header `API-Key`
    or `X-API-Key`, or, for reads only, in the query parameter `apiKey`.
    """

    code, name = 4010, "MissingApiKey"


class InvalidApiKey(Unauthorized):
    """The API key is mistyped, unknown, revoked or expired, or was sent in quotes or with another
    scheme than `Bearer`. Copy the whole key again, or ask the gateway's operator for a new one.

    Unknown, mistyped, revoked and expired keys get the same answer.
    """

    code, name = 4011, "InvalidApiKey"


class KeyNotAllowedInUrl(Unauthorized):
    """A key in the URL may only read. Send it as `Authorization: Bearer KEY`."""

    code, name = 4012, "KeyNotAllowedInUrl"


class BadRequest(GatewayError):
    status = 400


class InvalidSpreadsheetId(BadRequest):
    """The spreadsheet ID is missing or invalid. Send it in the header `X-Spreadsheet-Id`."""

    code, name = 101, "SpreadsheetIdNotFound"


class InvalidBody(BadRequest):
    """The body is invalid, and nothing was written. `errors` names the places."""

    code, name = 104, "InvalidBody"


class AmbiguousCredentials(BadRequest):
    """The request has two different API keys or spreadsheet IDs. Send one of them."""

    code, name = 4001, "AmbiguousCredentials"


class InvalidQuery(BadRequest):
    """A query parameter is invalid or belongs to another operation, or the filter of a write
    matches every row. The message names what is allowed.
    """

    code, name = 4002, "InvalidQuery"


class InvalidPath(BadRequest):
    """The worksheet name or the row number in the path is invalid."""

    code, name = 4003, "InvalidPath"


class Forbidden(GatewayError):
    status = 403


class SpreadsheetNotShared(Forbidden):
    """The spreadsheet is not shared with the service account. Share it with the address in the
    message.
    """

    code, name = 101, "SpreadsheetIdNotFound"


class OriginNotAllowed(Forbidden):
    """The key is restricted to pages of other origins, or a form has no `Origin`."""

    code, name = 4031, "OriginNotAllowed"


class NotGranted(Forbidden):
    """The key may not use this worksheet or this operation, or may not write this field."""

    code, name = 4032, "NotGranted"


class ProtectedCells(Forbidden):
    """The cells are protected. Ask the spreadsheet's owner to let the service account edit them."""

    code, name = 4033, "ProtectedCells"


class PlanLimit(Forbidden):
    """The plan of the key does not include `where` and `order`, exports, or writes. Ask for another
    plan.
    """

    code, name = 4034, "PlanLimit"


class CreateOnlyKey(Forbidden):
    """The key may only create single rows. Send one row as an object with `POST`, without
    `on_conflict`.
    """

    code, name = 4036, "CreateOnlyKey"


class NotFound(GatewayError):
    status = 404


class SpreadsheetNotFound(NotFound):
    """The spreadsheet does not exist, or this key may not use it. Take the ID from the
    spreadsheet's URL, between /d/ and /edit, and ask the gateway's operator whether the key may use
    it.

    A spreadsheet that Google does not know and one that was not granted get the same answer.
    """

    code, name = 101, "SpreadsheetIdNotFound"


class RowNotFound(NotFound):
    """The row number is 1, or below the last record."""

    code, name = 103, "RowNotFound"


class WorksheetNotFound(NotFound):
    """The spreadsheet has no worksheet of exactly this name; case and blanks count.

    `titles` are the existing names, which not every key may know.
    """

    code, name = 105, "WorksheetNotFound"
    titles: Sequence[str] = ()


class RouteNotFound(NotFound):
    """The path does not exist."""

    code, name = 4040, "RouteNotFound"


class NoHeaderRow(GatewayError):
    """Row 1 of the worksheet has no field names. Write them into it."""

    code, name, status = 102, "NoHeaderRow", 409


class ReadOnlyKey(GatewayError):
    """This key may only read. Ask the gateway's operator for a key that may write."""

    code, name, status = 4050, "ReadOnlyKey", 405


class MethodNotAllowed(GatewayError):
    """The path does not support this method, or the key or its plan does not allow it: `DELETE`
    needs a key that may delete.
    """

    code, name, status = 4051, "MethodNotAllowed", 405


class Gone(GatewayError):
    """Version 1 is not served. The same rows are at `/v2/sheets/{sheetName}`, with a key of this
    gateway: ask its operator for one, and send it as `Authorization: Bearer KEY`.
    """

    code, name, status = 4100, "Gone", 410


class CursorLost(GatewayError):
    """The rows around the place of the cursor changed so much that it cannot be found. Begin again
    with the first page.
    """

    code, name, status = 4101, "CursorLost", 410


class RequestTimeout(GatewayError):
    """The head or the body of the request took too long to arrive."""

    code, name, status = 4080, "RequestTimeout", 408
    retryable = True


class TooLarge(GatewayError):
    status = 413


class BodyTooLarge(TooLarge):
    """The body is larger than `server.max_body_bytes`."""

    code, name = 4130, "BodyTooLarge"


class SheetTooLarge(TooLarge):
    """The worksheet is larger than `google.max_answer_bytes` or `cache.max_worksheet_bytes`."""

    code, name = 4132, "SheetTooLarge"


class WriteTooLarge(TooLarge):
    """The rows of the write have over 500,000 cells, a write by filter would send over 8 MiB, or
    Google refused the size. Nothing was written; write fewer rows at once.
    """

    code, name = 4133, "WriteTooLarge"


class UnsupportedMediaType(GatewayError):
    """The body is neither JSON nor a form, or is compressed. Send a JSON object with `Content-Type:
    application/json`, or a form.
    """

    code, name, status = 4150, "UnsupportedMediaType", 415


class UnsupportedDocument(GatewayError):
    """The document is not a Google Sheet, but an Office file, for example. Save it as a Google
    Sheet (File > Save as Google Sheets), and use the ID of the new file.
    """

    code, name, status = 4221, "UnsupportedDocument", 422


class InternalError(GatewayError):
    """The gateway failed. Give its operator the `requestId`; the log has the details."""

    code, name, status = 5000, "InternalError", 500


class UpstreamError(GatewayError):
    """Google failed, or its answer is unreadable."""

    code, name, status = 5020, "UpstreamError", 502
    retryable = True


class UpstreamRefusal(UpstreamError):
    """Google refused the request as invalid; the reason is in the gateway's log.

    Google's answer is 400 INVALID_ARGUMENT, and it executed nothing. `google_message` can quote
    cells, so it is sent to no client. `first_request` is the number of the request in a batch that
    counts as the first one.
    """

    outcome = "not_applied"
    retryable = False
    first_request = 0

    def __init__(self, google_message: str) -> None:
        super().__init__()
        self.google_message = google_message


class UpstreamUnreachable(UpstreamError):
    """Google could not be reached, and nothing was sent. Try again in a moment."""

    code = 5021


class UpstreamAuth(GatewayError):
    """Google refused the gateway's service account. Tell the gateway's operator: `check` says why.

    Access to one spreadsheet is SpreadsheetNotShared instead.
    """

    code, name, status = 5022, "UpstreamAuth", 502


class TemporarilyUnavailable(GatewayError):
    name, status = "TemporarilyUnavailable", 503
    retryable = True


class QuotaSpent(TemporarilyUnavailable):
    """Google's quota is spent. Wait for `Retry-After`.

    The quota is Google's, or the gateway's share of it. `is_from_google`: Google refused the call
    with a 429; otherwise it was not sent. `limit`: calls per minute that Google allows, if it named
    them; `limit_name`: Google's name of this limit.
    """

    code = 5030

    def __init__(
        self,
        message: str | None = None,
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
    """Google failed several times in a row, so nothing is sent for some seconds. Wait for
    `Retry-After`.
    """

    code = 5030


class NotFresh(TemporarilyUnavailable):
    """Fresh rows are not available. Wait for `Retry-After`, or leave out `no-cache`."""

    code = 5030


class ChallengeUnavailable(TemporarilyUnavailable):
    """The check that a person sends the form (Cloudflare Turnstile) is not available, and nothing
    was stored. Send the form again a little later.
    """

    code = 5030


class QueueFull(TemporarilyUnavailable):
    """Too many writes wait for this worksheet, or too many connections are open."""

    code = 5031


class LookOutdated(QueueFull):
    """The rows changed while the gateway looked at them, or the look took too long. Nothing was
    written; send it again.
    """

    outcome = "not_applied"

    def __init__(self, *, retry_after_seconds: int | None = 1) -> None:
        super().__init__(retry_after_seconds=retry_after_seconds)


class RowsUnsettled(QueueFull):
    """The write was applied. A later delete whose outcome is not known yet may have moved its rows.
    Repeat the request with the same `Idempotency-Key` after the time in `Retry-After`.
    """


class ShuttingDown(TemporarilyUnavailable):
    """The gateway is shutting down. Send the request again."""

    code = 5032


class MetadataFull(TemporarilyUnavailable):
    """The spreadsheet's developer metadata is full, so there is no room for the fence of this
    write, and nothing was written. Send the write again after `Retry-After`. If that does not
    help, other programs fill the metadata: the operator's command `check` names them.
    """

    code, name = 5034, "MetadataFull"


class UpstreamTimeout(GatewayError):
    """Google did not answer in time. Try again."""

    code, name, status = 5040, "UpstreamTimeout", 504
    retryable = True


class StorageFull(GatewayError):
    """The spreadsheet has reached Google's limit of 10 million cells."""

    code, name, status = 5070, "StorageFull", 507


class InvalidRequest(BadRequest):
    """The HTTP request is invalid or ambiguous, `Prefer` has an invalid preference or one of
    another operation, a write has a condition that it does not evaluate, or a method override would
    change the operation.
    """

    code, name = 4000, "InvalidRequest"


class UriTooLong(TooLarge):
    """The URL is longer than `server.max_url_bytes`."""

    code, name, status = 4140, "UriTooLong", 414


class HeadersTooLarge(TooLarge):
    """The headers are larger than `server.max_head_bytes`, or more than 100."""

    code, name, status = 4310, "HeadersTooLarge", 431


class QueryTooCostly(BadRequest):
    """The query takes over `api.max_query_steps` steps. Use fewer conditions or order terms."""

    code, name = 4006, "QueryTooCostly"


class ChallengeFailed(BadRequest):
    """The key needs Cloudflare Turnstile, and the field `cf-turnstile-response` is missing, wrong,
    used or older than 5 minutes. Nothing was written.
    """

    code, name = 4037, "ChallengeFailed"


class TooManyRowsAffected(BadRequest):
    """A write by filter matches more rows than `max-affected` or the plan allows. Nothing was
    written.
    """

    code, name = 4005, "TooManyRowsAffected"


class UnknownField(InvalidQuery):
    """A parameter names a field that the worksheet does not have.

    `parameter` has `names` that are not fields of the worksheet, or hidden from the caller.
    """

    def __init__(
        self, message: str | None = None, *, parameter: str, names: Sequence[str] = ()
    ) -> None:
        super().__init__(message)
        self.parameter = parameter
        self.names = tuple(names)


class TooManyRequests(GatewayError):
    status = 429
    retryable = True


class RateLimited(TooManyRequests):
    """The key exceeded its plan's requests per minute, or an address sent too many forms. Wait for
    `Retry-After`.
    """

    code, name = 4290, "RateLimited"


class TooManyInFlight(TooManyRequests):
    """The key has `plans.NAME.max_concurrent` concurrent requests, two exports, or too many long
    queries; or the gateway runs four exports already.
    """

    code, name = 4291, "TooManyInFlight"


class TooManyAuthFailures(TooManyRequests):
    """Too many wrong keys came from this address. Wait as many seconds as `Retry-After` says, and
    check the key; valid keys still work.

    `per_minute` is the number of wrong keys that an address may send.
    """

    code, name = 4292, "TooManyAuthFailures"

    def __init__(
        self,
        message: str | None = None,
        *,
        retry_after_seconds: int | None = None,
        per_minute: int = 0,
    ) -> None:
        super().__init__(message, retry_after_seconds=retry_after_seconds)
        self.per_minute = per_minute


class KeysUnavailable(TemporarilyUnavailable):
    """The key store does not answer, so no key can be checked. Nothing was done; send the request
    again.
    """

    code = 5031


class RecordsUnavailable(TemporarilyUnavailable):
    """The database of write records does not answer, or another program has locked it. With
    `unknown`, the record of a repeated `Idempotency-Key` cannot be read: repeat the request with
    this key.

    Nothing was sent.
    """

    code = 5031


class InvalidIdempotencyKey(BadRequest):
    """The `Idempotency-Key` is not 1 to 255 visible ASCII characters, or there are two."""

    code, name = 4004, "InvalidIdempotencyKey"


class IdempotencyInProgress(GatewayError):
    """The first request with this `Idempotency-Key` is not answered yet. Repeat this one in a
    second to get its answer.
    """

    code, name, status = 4090, "IdempotencyInProgress", 409
    retryable = True


class IdempotencyKeyReused(GatewayError):
    """The `Idempotency-Key` was used for a request with another body or other parameters. Send each
    new write with a new key, and a retry unchanged.
    """

    code, name, status = 4220, "IdempotencyKeyReused", 422


class PreconditionFailed(GatewayError):
    """The row differs from `If-Match`. `existing` is the current row.

    `existing` is its current record with this `tag`.
    """

    code, name, status = 4120, "PreconditionFailed", 412

    def __init__(
        self,
        existing: Mapping[str, object],
        *,
        tag: str,
        has_tags: bool = True,
        noun: str = "row",
    ) -> None:
        found = (
            f"does not have the tag of the current {noun}"
            if has_tags
            else "is not a list of tags in quotes, or all of them are weak (W/), so it matches no "
            f"{noun}"
        )
        super().__init__(
            f"If-Match {found}. Nothing was written; 'existing' is the current {noun}. Look at it, "
            "then send the update with the ETag of this answer, including the quotes."
        )
        self.existing = existing
        self.tag = tag


class PreconditionRequired(GatewayError):
    """The plan of the key requires `If-Match` with a tag for updates and deletes, so it takes no
    write to several rows.
    """

    code, name, status = 4280, "PreconditionRequired", 428


class HeaderChanged(GatewayError):
    """The write was applied, but the header changed at the same time. Look at the row `rowIndex`.

    `row` is the first written row.
    """

    code, name, status = 4091, "HeaderChanged", 409
    outcome = "applied"

    def __init__(self, message: str | None = None, *, row: int = 0) -> None:
        super().__init__(message)
        self.row = row


class DuplicateKey(GatewayError):
    """Several rows of the worksheet have the key of an upsert; the message names them. Nothing was
    written.
    """

    code, name, status = 4092, "DuplicateKey", 409


class RowNotRemovable(GatewayError):
    """Google cannot remove the row: an array formula or merged cells may extend over it and others.
    Empty it with an update of nulls instead, or ask the owner of the sheet.
    """

    code, name, status = 4093, "RowNotRemovable", 409


class RowNumberUnknown(GatewayError):
    """The write was applied, but people or a delete moved or changed the rows since. Look at the
    worksheet, and do not send the write again.
    """

    code, name, status = 4094, "RowNumberUnknown", 409
    outcome = "applied"


class RowsMoved(GatewayError):
    """The write was applied, but to another record than the gateway looked at, because people moved
    rows at the same moment. `rowIndex`, `expected` and `met` show both. Do not send it again.

    `row` is the row number, `expected` the planned record, and `met` the other record: its present
    state after an update, its last state after a removal, or None if unknown.
    """

    code, name, status = 4095, "RowsMoved", 409
    outcome = "applied"

    def __init__(
        self,
        message: str | None = None,
        *,
        row: int = 0,
        expected: Mapping[str, object] | None = None,
        met: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message)
        self.row = row
        self.expected = expected
        self.met = met


class WriteOutcomeUnknown(GatewayError):
    """Google did not confirm the write. Look at the rows before you write again, or repeat the
    request with its `Idempotency-Key`.
    """

    code, name, status = 5041, "WriteOutcomeUnknown", 504
    outcome = "unknown"


def write_outcome(error: GatewayError) -> Outcome:
    """Outcome of a failed write: the error's own, else unknown after an internal error."""
    return error.outcome or ("unknown" if isinstance(error, InternalError) else "not_applied")
