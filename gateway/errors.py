"""The gateway's exceptions, as one tree with stable error codes.

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

A code is never reused for another meaning. Several classes share these codes:
- 101: any problem of the spreadsheet ID, with different statuses
- 4002: an invalid query parameter, or an unknown field
- 5020: Google failed, or refused a request
- 5030: Google or Turnstile cannot be called now
- 5031: a temporary problem of the gateway itself

Only `gateway.web` turns an error into a response.

The first paragraph of a class docstring describes the error to clients, in Markdown.
`/openapi.json` and `docs/reference/errors.md` contain this paragraph.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

Outcome = Literal["not_applied", "applied", "unknown"]

UNKNOWN_RETRY_SECONDS = 185
"""Seconds after which Google cannot apply a sent write any more. A request runs at most 180 s."""


@dataclass(frozen=True)
class Problem:
    """Problem of a value in a request: a JSON pointer (URI fragment) to the value, and a reason."""

    pointer: str
    detail: str


class GatewayError(Exception):
    """Base class of the errors that clients can get.

    `message` says what happened and what to do. It never contains a secret.
    """

    code: ClassVar[int]
    name: ClassVar[str]
    status: ClassVar[int]
    retryable: ClassVar[bool] = False
    outcome: Outcome | None = None

    def __init_subclass__(
        cls,
        *,
        code: int | None = None,
        name: str | None = None,
        status: int | None = None,
        retryable: bool | None = None,
        outcome: Outcome | None = None,
    ) -> None:
        """Set attributes of an error class. It inherits an attribute that is None here.

        The default of `name` is the name of the topmost base class that has a code.
        """
        if code is not None and name is None and not hasattr(cls, "name"):
            name = cls.__name__
        given = {"code": code, "name": name, "status": status, "retryable": retryable}
        for attribute, value in (given | {"outcome": outcome}).items():
            if value is not None:
                setattr(cls, attribute, value)

    def __init__(
        self,
        message: str | None = None,
        *,
        problems: Sequence[Problem] = (),
        outcome: Outcome | None = None,
        retry_after_seconds: int | None = None,
        allowed_methods: Sequence[str] = (),
    ) -> None:
        """Create an error. The default message is the description of the class."""
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
        """True if an earlier request with the same `Idempotency-Key` got this error."""
        self.is_alone = False
        self.is_without_sheet = False
        """True if the answer must not contain data of the worksheet."""

    def without_sheet(self, message: str, problems: Sequence[Problem]) -> "GatewayError":
        """Return a copy with another message and problems, marked `is_without_sheet`.

        The original stays unchanged, because other requests might share it.
        """
        hidden = type(self).__new__(type(self), *self.args)
        vars(hidden).update(vars(self))
        hidden.message, hidden.problems, hidden.is_without_sheet = message, tuple(problems), True
        return hidden

    @classmethod
    def description(cls) -> str:
        """Return the first paragraph of the class docstring in one line: cause and remedy."""
        return " ".join((cls.__doc__ or "").partition("\n\n")[0].split())


class Unauthorized(GatewayError, status=401): ...


class MissingApiKey(Unauthorized, code=4010):
    """The request has no API key. Send it as `Authorization: Bearer KEY`, in the header `API-Key`
    or `X-API-Key`, or, for reads only, in the query parameter `apiKey`.
    """


class InvalidApiKey(Unauthorized, code=4011):
    """The API key is mistyped, unknown, revoked or expired, or was sent in quotes or with another
    scheme than `Bearer`. Copy the whole key again, or ask the gateway's operator for a new key.

    Unknown, mistyped, revoked and expired keys get the same answer.
    """


class KeyNotAllowedInUrl(Unauthorized, code=4012):
    """A key in the URL can only read. Send the key as `Authorization: Bearer KEY`."""


class BadRequest(GatewayError, status=400): ...


class InvalidSpreadsheetId(BadRequest, code=101, name="SpreadsheetIdNotFound"):
    """The spreadsheet ID is missing or invalid. Send it in the header `X-Spreadsheet-Id`."""


class InvalidBody(BadRequest, code=104):
    """The body is invalid, and nothing was written. `errors` lists the problems."""


class AmbiguousCredentials(BadRequest, code=4001):
    """The request has different API keys or spreadsheet IDs. Send only one."""


class InvalidQuery(BadRequest, code=4002):
    """A query parameter is invalid or belongs to another operation, or the filter of a write
    matches every row. The message says what is allowed.
    """


class InvalidPath(BadRequest, code=4003):
    """The worksheet name or the row number in the path is invalid. The message says what is
    allowed.
    """


class Forbidden(GatewayError, status=403): ...


class SpreadsheetNotShared(Forbidden, code=101, name="SpreadsheetIdNotFound"):
    """The spreadsheet is not shared with the service account. Share it with the address in the
    message.
    """


class OriginNotAllowed(Forbidden, code=4031):
    """The key does not allow the origin of this page, or a form has no `Origin` header."""


class NotGranted(Forbidden, code=4032):
    """The key is not allowed to use this worksheet or operation, or to write this field. Ask the
    gateway's operator for these rights.
    """


class ProtectedCells(Forbidden, code=4033):
    """The cells are protected. Ask the spreadsheet's owner to let the service account edit them."""


class PlanLimit(Forbidden, code=4034):
    """The plan of the key does not include `where` and `order`, exports, or writes. Ask the
    gateway's operator for another plan.
    """


class CreateOnlyKey(Forbidden, code=4036):
    """The key can only create single rows. Send one row as an object with `POST`, without
    `on_conflict`.
    """


class NotFound(GatewayError, status=404): ...


class SpreadsheetNotFound(NotFound, code=101, name="SpreadsheetIdNotFound"):
    """The spreadsheet does not exist, or this key is not allowed to use it. Take the ID from the
    spreadsheet's URL, between /d/ and /edit, and ask the gateway's operator whether the key allows
    this spreadsheet.

    The answer is the same in both cases, so that it does not reveal which spreadsheets exist.
    """


class RowNotFound(NotFound, code=103):
    """The row number is 1, which is the header, or is greater than the last record's number. Use
    the `rowIndex` of a record.
    """


class WorksheetNotFound(NotFound, code=105):
    """The spreadsheet has no worksheet with exactly this name. Case and spaces matter.

    `titles` contains the names of the existing worksheets, which some keys are not allowed to see.
    """

    titles: Sequence[str] = ()


class RouteNotFound(NotFound, code=4040):
    """The path does not exist. Rows are at `/v2/sheets/{sheetName}`."""


class NoHeaderRow(GatewayError, code=102, status=409):
    """The header row (row 1 by default) has no field names. Write the field names into that row."""


class ReadOnlyKey(GatewayError, code=4050, status=405):
    """This key can only read. Ask the gateway's operator for a key that can write."""


class MethodNotAllowed(GatewayError, code=4051, status=405):
    """The path does not support this method, or the key or its plan does not allow the method. For
    example, `DELETE` needs a key that can delete.
    """


class Gone(GatewayError, code=4100, status=410):
    """Version 1 of the API is not available. Use `/v2/sheets/{sheetName}` with a key from this
    gateway's operator, sent as `Authorization: Bearer KEY`.
    """


class CursorLost(GatewayError, code=4101, status=410):
    """The rows near the cursor changed so much that the gateway cannot find the next page. Start
    again with the first page.
    """


class RequestTimeout(GatewayError, code=4080, status=408, retryable=True):
    """The head or the body of the request took too long to arrive. Send the request again."""


class TooLarge(GatewayError, status=413): ...


class BodyTooLarge(TooLarge, code=4130):
    """The body is larger than `server.max_body_bytes`. Send fewer rows at once."""


class SheetTooLarge(TooLarge, code=4132):
    """The worksheet is larger than `google.max_answer_bytes` or `cache.max_worksheet_bytes`. Ask
    the gateway's operator to raise the limit, or split the worksheet.
    """


class WriteTooLarge(TooLarge, code=4133):
    """The write has over 500,000 cells, a write by filter would send over 8 MiB to Google, or
    Google refused the size. Nothing was written; write fewer rows at once.
    """


class UnsupportedMediaType(GatewayError, code=4150, status=415):
    """The body is neither JSON nor a form, or is compressed. Send a JSON object with `Content-Type:
    application/json`, or a form.
    """


class UnsupportedDocument(GatewayError, code=4221, status=422):
    """The document is not a Google Sheet, but an Office file, for example. Save the document as a
    Google Sheet (File > Save as Google Sheets), and use the ID of the new file.
    """


class InternalError(GatewayError, code=5000, status=500):
    """The gateway failed. Give the gateway's operator the `requestId`, which is also in the log."""


class UpstreamError(GatewayError, code=5020, status=502, retryable=True):
    """Google failed, or the gateway could not read Google's answer. Try again later."""


class UpstreamRefusal(UpstreamError, retryable=False, outcome="not_applied"):
    """Google refused the request as invalid; the reason is in the gateway's log.

    Google answered 400 INVALID_ARGUMENT and executed nothing. No client gets `google_message`,
    because it can quote cells. `first_request` is the number of requests in the batch before the
    new fence (metadata that proves the write). These requests delete old fences.
    """

    first_request = 0

    def __init__(self, google_message: str) -> None:
        super().__init__()
        self.google_message = google_message


class UpstreamUnreachable(UpstreamError, code=5021):
    """Google could not be reached, and nothing was sent. Try again in a moment."""


class UpstreamAuth(GatewayError, code=5022, status=502):
    """Google refused the gateway's service account. Ask the gateway's operator to run
    `sheets-gateway check`, which shows the reason.

    If Google refuses only one spreadsheet, the error is SpreadsheetNotShared.
    """


class TemporarilyUnavailable(
    GatewayError, name="TemporarilyUnavailable", status=503, retryable=True
): ...


class QuotaSpent(TemporarilyUnavailable, code=5030):
    """Google's quota is used up. Wait as many seconds as `Retry-After` says.

    `is_from_google` is True if Google refused the call with a 429, and False if this gateway did
    not send the call. `limit` is the number of calls per minute that Google's answer names, or
    None. `limit_name` is Google's name of the limit.
    """

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
        """True if the limit is the spreadsheet's, not the account's or the project's."""


class CircuitOpen(TemporarilyUnavailable, code=5030):
    """Google failed several times in a row, so the gateway does not call it for some seconds. Wait
    as many seconds as `Retry-After` says.
    """


class NotFresh(TemporarilyUnavailable, code=5030):
    """The gateway cannot read the rows from Google now. Wait as many seconds as `Retry-After` says,
    or send the request without `no-cache`.
    """


class ChallengeUnavailable(TemporarilyUnavailable, code=5030):
    """Cloudflare Turnstile, which checks that a person sends the form, is not available. Nothing
    was stored; send the form again later.
    """


class QueueFull(TemporarilyUnavailable, code=5031):
    """Too many writes wait for this worksheet, or too many connections are open. Retry later."""


class LookOutdated(QueueFull, outcome="not_applied"):
    """The rows changed while the gateway checked them, or the check took too long. Nothing was
    written; send the request again.
    """

    def __init__(self, *, retry_after_seconds: int | None = 1) -> None:
        super().__init__(retry_after_seconds=retry_after_seconds)


class RowsUnsettled(QueueFull):
    """The write was applied, but a later delete with an unknown outcome might have moved the
    written rows. Repeat the request with the same `Idempotency-Key` after as many seconds as
    `Retry-After` says.
    """


class ShuttingDown(TemporarilyUnavailable, code=5032):
    """The gateway is shutting down. Send the request again."""


class MetadataFull(TemporarilyUnavailable, code=5034, name="MetadataFull"):
    """The developer metadata of the spreadsheet is full, so nothing was written. Send the write
    again after as many seconds as `Retry-After` says; if that fails too, ask the gateway's operator
    to run `sheets-gateway check`, which shows what fills the metadata.
    """


class UpstreamTimeout(GatewayError, code=5040, status=504, retryable=True):
    """Google did not answer in time. Try again."""


class StorageFull(GatewayError, code=5070, status=507):
    """The spreadsheet has reached Google's limit of 10 million cells. Delete unused rows, columns
    or worksheets.
    """


class InvalidRequest(BadRequest, code=4000):
    """The HTTP request is invalid or ambiguous, or one of these headers is invalid or does not fit
    the operation: `Prefer`, a conditional header of a write, or a method override.
    """


class UriTooLong(TooLarge, code=4140, status=414):
    """The URL is longer than `server.max_url_bytes`. Send fewer or shorter parameters."""


class HeadersTooLarge(TooLarge, code=4310, status=431):
    """The headers are larger than `server.max_head_bytes`, or there are more than 100. Send fewer
    or shorter headers.
    """


class QueryTooCostly(BadRequest, code=4006):
    """The query needs more than `api.max_query_steps` steps. Use fewer conditions or order
    terms.
    """


class ChallengeFailed(BadRequest, code=4037):
    """The key needs Cloudflare Turnstile, and the field `cf-turnstile-response` is missing, wrong,
    already used or older than 5 minutes. Nothing was written; send the form with a new token.
    """


class TooManyRowsAffected(BadRequest, code=4005):
    """A write by filter matches more rows than `max-affected` or the plan allows. Nothing was
    written; send a narrower `where`.
    """


class UnknownField(InvalidQuery):
    """A parameter names a field that the worksheet does not have.

    `parameter` is the name of the query parameter. `names` are the unknown field names in this
    parameter, including names of hidden columns.
    """

    def __init__(
        self, message: str | None = None, *, parameter: str, names: Sequence[str] = ()
    ) -> None:
        super().__init__(message)
        self.parameter = parameter
        self.names = tuple(names)


class TooManyRequests(GatewayError, status=429, retryable=True): ...


class RateLimited(TooManyRequests, code=4290):
    """The key exceeded its plan's requests per minute, or an address sent too many forms. Wait as
    many seconds as `Retry-After` says.
    """


class TooManyInFlight(TooManyRequests, code=4291):
    """The key already runs `plans.NAME.max_concurrent` requests, two exports, or too many long
    queries, or the gateway already runs four exports. Wait for an answer, then send the request
    again.
    """


class TooManyAuthFailures(TooManyRequests, code=4292):
    """Too many wrong keys came from this address. Wait as many seconds as `Retry-After` says, and
    check the key; valid keys still work.

    `per_minute` is the number of wrong keys that an address can send.
    """

    def __init__(
        self,
        message: str | None = None,
        *,
        retry_after_seconds: int | None = None,
        per_minute: int = 0,
    ) -> None:
        super().__init__(message, retry_after_seconds=retry_after_seconds)
        self.per_minute = per_minute


class KeysUnavailable(TemporarilyUnavailable, code=5031):
    """The key store does not answer, so no key can be checked. Nothing was done; send the request
    again.
    """


class RecordsUnavailable(TemporarilyUnavailable, code=5031):
    """The database of write records does not answer, or another program has locked it. If
    `outcome` is `unknown`, repeat the request with the same `Idempotency-Key`.

    The gateway sent nothing to Google for this request.
    """


class InvalidIdempotencyKey(BadRequest, code=4004):
    """The `Idempotency-Key` is not 1 to 255 visible ASCII characters, or the request has two. Send
    one key, for example a UUID.
    """


class IdempotencyInProgress(GatewayError, code=4090, status=409, retryable=True):
    """The first request with this `Idempotency-Key` still runs. Repeat the request in a second to
    get the answer to the first request.
    """


class IdempotencyKeyReused(GatewayError, code=4220, status=422):
    """The `Idempotency-Key` was used for a request with another body or other parameters. Use a
    new key for each new write, and send a retry unchanged.
    """


class PreconditionFailed(GatewayError, code=4120, status=412):
    """The ETag of the row is not in `If-Match`, usually because the row has changed. Nothing was
    written: compare with `existing`, the current row, and send the ETag of this answer.

    `tag` is the ETag of the record `existing`. `has_tags` is False if `If-Match` contains no ETag
    that can match. `noun` is the word for the record in the message.
    """

    def __init__(
        self, existing: Mapping[str, object], *, tag: str, has_tags: bool = True, noun: str = "row"
    ) -> None:
        found = (
            f"does not have the ETag of the current {noun}"
            if has_tags
            else "is not a list of ETags in quotes, or all of them are weak (W/), so it matches no "
            f"{noun}"
        )
        super().__init__(
            f"If-Match {found}. Nothing was written: look at the current {noun} in 'existing', "
            "then send the update with the ETag of this answer, including the quotes."
        )
        self.existing = existing
        self.tag = tag


class PreconditionRequired(GatewayError, code=4280, status=428):
    """The plan of the key requires `If-Match` with an ETag for updates and deletes, and does not
    allow writes to several rows. Read each row, and write to it with the ETag of the answer.
    """


class HeaderChanged(GatewayError, code=4091, status=409, outcome="applied"):
    """The write was applied, but the header row changed at the same time. Check the row with the
    number `rowIndex`.

    `row` is the number of the first written row.
    """

    def __init__(self, message: str | None = None, *, row: int = 0) -> None:
        super().__init__(message)
        self.row = row


class DuplicateKey(GatewayError, code=4092, status=409):
    """Several rows of the worksheet have the same key as a row of the upsert, so nothing was
    written. Delete or change the rows that the message lists, then send the upsert again.
    """


class RowNotRemovable(GatewayError, code=4093, status=409):
    """Google cannot delete the row, for example because an array formula or merged cells also cover
    other rows. Set its fields to null instead, or ask the owner of the sheet.
    """


class RowNumberUnknown(GatewayError, code=4094, status=409, outcome="applied"):
    """The write was applied, but people or a delete moved or changed the rows afterwards. Look at
    the worksheet, and do not send the write again.
    """


class RowsMoved(GatewayError, code=4095, status=409, outcome="applied"):
    """The write changed another record than planned, because people moved rows at the same moment.
    Do not send it again; `rowIndex` is the row number, `expected` the planned record, and `met` the
    record that was changed or deleted.

    `met` is the record after an update, the record before a delete, or None if unknown.
    """

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


class WriteOutcomeUnknown(GatewayError, code=5041, status=504, outcome="unknown"):
    """Google did not confirm the write. Look at the rows before you write again, or repeat the
    request with its `Idempotency-Key`.
    """


def write_outcome(error: GatewayError) -> Outcome:
    """Return the outcome of a failed write.

    If the error has no outcome, the result is "unknown" for an internal error, and otherwise
    "not_applied".
    """
    return error.outcome or ("unknown" if isinstance(error, InternalError) else "not_applied")
