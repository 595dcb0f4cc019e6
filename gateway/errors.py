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

    def __init_subclass__(
        cls,
        *,
        code: int | None = None,
        name: str | None = None,
        status: int | None = None,
        retryable: bool | None = None,
        outcome: Outcome | None = None,
    ) -> None:
        """Set these; those that are not given are inherited.

        The first class with a code in a line of the tree is its own name by default.
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


class Unauthorized(GatewayError, status=401): ...


class MissingApiKey(Unauthorized, code=4010):
    """The request has no API key. Send it as `Authorization: Bearer KEY`, in the header `API-Key`
    or `X-API-Key`, or, for reads only, in the query parameter `apiKey`.
    """


class InvalidApiKey(Unauthorized, code=4011):
    """The API key is mistyped, unknown, revoked or expired, or was sent in quotes or with another
    scheme than `Bearer`. Copy the whole key again, or ask the gateway's operator for a new one.

    Unknown, mistyped, revoked and expired keys get the same answer.
    """


class KeyNotAllowedInUrl(Unauthorized, code=4012):
    """A key in the URL may only read. Send it as `Authorization: Bearer KEY`."""


class BadRequest(GatewayError, status=400): ...


class InvalidSpreadsheetId(BadRequest, code=101, name="SpreadsheetIdNotFound"):
    """The spreadsheet ID is missing or invalid. Send it in the header `X-Spreadsheet-Id`."""


class InvalidBody(BadRequest, code=104):
    """The body is invalid, and nothing was written. `errors` names the places."""


class AmbiguousCredentials(BadRequest, code=4001):
    """The request has two different API keys or spreadsheet IDs. Send one of them."""


class InvalidQuery(BadRequest, code=4002):
    """A query parameter is invalid or belongs to another operation, or the filter of a write
    matches every row. The message names what is allowed.
    """


class InvalidPath(BadRequest, code=4003):
    """The worksheet name or the row number in the path is invalid."""


class Forbidden(GatewayError, status=403): ...


class SpreadsheetNotShared(Forbidden, code=101, name="SpreadsheetIdNotFound"):
    """The spreadsheet is not shared with the service account. Share it with the address in the
    message.
    """


class OriginNotAllowed(Forbidden, code=4031):
    """The key is restricted to pages of other origins, or a form has no `Origin`."""


class NotGranted(Forbidden, code=4032):
    """The key may not use this worksheet or this operation, or may not write this field."""


class ProtectedCells(Forbidden, code=4033):
    """The cells are protected. Ask the spreadsheet's owner to let the service account edit them."""


class PlanLimit(Forbidden, code=4034):
    """The plan of the key does not include `where` and `order`, exports, or writes. Ask for another
    plan.
    """


class CreateOnlyKey(Forbidden, code=4036):
    """The key may only create single rows. Send one row as an object with `POST`, without
    `on_conflict`.
    """


class NotFound(GatewayError, status=404): ...


class SpreadsheetNotFound(NotFound, code=101, name="SpreadsheetIdNotFound"):
    """The spreadsheet does not exist, or this key may not use it. Take the ID from the
    spreadsheet's URL, between /d/ and /edit, and ask the gateway's operator whether the key may use
    it.

    A spreadsheet that Google does not know and one that was not granted get the same answer.
    """


class RowNotFound(NotFound, code=103):
    """The row number is 1, or below the last record."""


class WorksheetNotFound(NotFound, code=105):
    """The spreadsheet has no worksheet of exactly this name; case and blanks count.

    `titles` are the existing names, which not every key may know.
    """

    titles: Sequence[str] = ()


class RouteNotFound(NotFound, code=4040):
    """The path does not exist."""


class NoHeaderRow(GatewayError, code=102, status=409):
    """Row 1 of the worksheet has no field names. Write them into it."""


class ReadOnlyKey(GatewayError, code=4050, status=405):
    """This key may only read. Ask the gateway's operator for a key that may write."""


class MethodNotAllowed(GatewayError, code=4051, status=405):
    """The path does not support this method, or the key or its plan does not allow it: `DELETE`
    needs a key that may delete.
    """


class Gone(GatewayError, code=4100, status=410):
    """Version 1 is not served. The same rows are at `/v2/sheets/{sheetName}`, with a key of this
    gateway: ask its operator for one, and send it as `Authorization: Bearer KEY`.
    """


class CursorLost(GatewayError, code=4101, status=410):
    """The rows around the place of the cursor changed so much that it cannot be found. Begin again
    with the first page.
    """


class RequestTimeout(GatewayError, code=4080, status=408, retryable=True):
    """The head or the body of the request took too long to arrive."""


class TooLarge(GatewayError, status=413): ...


class BodyTooLarge(TooLarge, code=4130):
    """The body is larger than `server.max_body_bytes`."""


class SheetTooLarge(TooLarge, code=4132):
    """The worksheet is larger than `google.max_answer_bytes` or `cache.max_worksheet_bytes`."""


class WriteTooLarge(TooLarge, code=4133):
    """The rows of the write have over 500,000 cells, a write by filter would send over 8 MiB, or
    Google refused the size. Nothing was written; write fewer rows at once.
    """


class UnsupportedMediaType(GatewayError, code=4150, status=415):
    """The body is neither JSON nor a form, or is compressed. Send a JSON object with `Content-Type:
    application/json`, or a form.
    """


class UnsupportedDocument(GatewayError, code=4221, status=422):
    """The document is not a Google Sheet, but an Office file, for example. Save it as a Google
    Sheet (File > Save as Google Sheets), and use the ID of the new file.
    """


class InternalError(GatewayError, code=5000, status=500):
    """The gateway failed. Give its operator the `requestId`; the log has the details."""


class UpstreamError(GatewayError, code=5020, status=502, retryable=True):
    """Google failed, or its answer is unreadable."""


class UpstreamRefusal(UpstreamError, retryable=False, outcome="not_applied"):
    """Google refused the request as invalid; the reason is in the gateway's log.

    Google's answer is 400 INVALID_ARGUMENT, and it executed nothing. `google_message` can quote
    cells, so it is sent to no client. `first_request` is the number of requests that the
    gateway put before the first one of its caller in a batch.
    """

    first_request = 0

    def __init__(self, google_message: str) -> None:
        super().__init__()
        self.google_message = google_message


class UpstreamUnreachable(UpstreamError, code=5021):
    """Google could not be reached, and nothing was sent. Try again in a moment."""


class UpstreamAuth(GatewayError, code=5022, status=502):
    """Google refused the gateway's service account. Tell the gateway's operator: `check` says why.

    Access to one spreadsheet is SpreadsheetNotShared instead.
    """


class TemporarilyUnavailable(
    GatewayError, name="TemporarilyUnavailable", status=503, retryable=True
): ...


class QuotaSpent(TemporarilyUnavailable, code=5030):
    """Google's quota is spent. Wait for `Retry-After`.

    The quota is Google's, or the gateway's share of it. `is_from_google`: Google refused the call
    with a 429; otherwise it was not sent. `limit`: calls per minute that Google allows, if it named
    them; `limit_name`: Google's name of this limit.
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
        """Neither the account's nor the project's: assumed to be one of the spreadsheet."""


class CircuitOpen(TemporarilyUnavailable, code=5030):
    """Google failed several times in a row, so nothing is sent for some seconds. Wait for
    `Retry-After`.
    """


class NotFresh(TemporarilyUnavailable, code=5030):
    """Fresh rows are not available. Wait for `Retry-After`, or leave out `no-cache`."""


class ChallengeUnavailable(TemporarilyUnavailable, code=5030):
    """The check that a person sends the form (Cloudflare Turnstile) is not available, and nothing
    was stored. Send the form again a little later.
    """


class QueueFull(TemporarilyUnavailable, code=5031):
    """Too many writes wait for this worksheet, or too many connections are open."""


class LookOutdated(QueueFull, outcome="not_applied"):
    """The rows changed while the gateway checked them, or the check took too long. Nothing was
    written; send it again.
    """

    def __init__(self, *, retry_after_seconds: int | None = 1) -> None:
        super().__init__(retry_after_seconds=retry_after_seconds)


class RowsUnsettled(QueueFull):
    """The write was applied. A later delete whose outcome is not known yet may have moved its rows.
    Repeat the request with the same `Idempotency-Key` after the time in `Retry-After`.
    """


class ShuttingDown(TemporarilyUnavailable, code=5032):
    """The gateway is shutting down. Send the request again."""


class MetadataFull(TemporarilyUnavailable, code=5034, name="MetadataFull"):
    """The spreadsheet's developer metadata is full, so there is no room for the fence of this
    write, and nothing was written. Send the write again after `Retry-After`. If that does not
    help, other programs fill the metadata: the operator's command `check` names them.
    """


class UpstreamTimeout(GatewayError, code=5040, status=504, retryable=True):
    """Google did not answer in time. Try again."""


class StorageFull(GatewayError, code=5070, status=507):
    """The spreadsheet has reached Google's limit of 10 million cells."""


class InvalidRequest(BadRequest, code=4000):
    """The HTTP request is invalid or ambiguous, `Prefer` has an invalid preference or one of
    another operation, a write has a condition that it does not evaluate, or a method override would
    change the operation.
    """


class UriTooLong(TooLarge, code=4140, status=414):
    """The URL is longer than `server.max_url_bytes`."""


class HeadersTooLarge(TooLarge, code=4310, status=431):
    """The headers are larger than `server.max_head_bytes`, or more than 100."""


class QueryTooCostly(BadRequest, code=4006):
    """The query takes over `api.max_query_steps` steps. Use fewer conditions or order terms."""


class ChallengeFailed(BadRequest, code=4037):
    """The key needs Cloudflare Turnstile, and the field `cf-turnstile-response` is missing, wrong,
    used or older than 5 minutes. Nothing was written.
    """


class TooManyRowsAffected(BadRequest, code=4005):
    """A write by filter matches more rows than `max-affected` or the plan allows. Nothing was
    written.
    """


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


class TooManyRequests(GatewayError, status=429, retryable=True): ...


class RateLimited(TooManyRequests, code=4290):
    """The key exceeded its plan's requests per minute, or an address sent too many forms. Wait for
    `Retry-After`.
    """


class TooManyInFlight(TooManyRequests, code=4291):
    """The key has `plans.NAME.max_concurrent` concurrent requests, two exports, or too many long
    queries; or the gateway runs four exports already.
    """


class TooManyAuthFailures(TooManyRequests, code=4292):
    """Too many wrong keys came from this address. Wait as many seconds as `Retry-After` says, and
    check the key; valid keys still work.

    `per_minute` is the number of wrong keys that an address may send.
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
    """The database of write records does not answer, or another program has locked it. With
    `unknown`, the record of a repeated `Idempotency-Key` cannot be read: repeat the request with
    this key.

    Nothing was sent.
    """


class InvalidIdempotencyKey(BadRequest, code=4004):
    """The `Idempotency-Key` is not 1 to 255 visible ASCII characters, or there are two."""


class IdempotencyInProgress(GatewayError, code=4090, status=409, retryable=True):
    """The first request with this `Idempotency-Key` is not answered yet. Repeat this one in a
    second to get its answer.
    """


class IdempotencyKeyReused(GatewayError, code=4220, status=422):
    """The `Idempotency-Key` was used for a request with another body or other parameters. Send each
    new write with a new key, and a retry unchanged.
    """


class PreconditionFailed(GatewayError, code=4120, status=412):
    """The row differs from `If-Match`. `existing` is the current row.

    `existing` is its current record with this `tag`.
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
            f"If-Match {found}. Nothing was written; 'existing' is the current {noun}. Look at it, "
            "then send the update with the ETag of this answer, including the quotes."
        )
        self.existing = existing
        self.tag = tag


class PreconditionRequired(GatewayError, code=4280, status=428):
    """The plan of the key requires `If-Match` with an ETag for updates and deletes. It allows no
    write to several rows.
    """


class HeaderChanged(GatewayError, code=4091, status=409, outcome="applied"):
    """The write was applied, but the header changed at the same time. Look at the row `rowIndex`.

    `row` is the first written row.
    """

    def __init__(self, message: str | None = None, *, row: int = 0) -> None:
        super().__init__(message)
        self.row = row


class DuplicateKey(GatewayError, code=4092, status=409):
    """Several rows of the worksheet have the key of an upsert; the message names them. Nothing was
    written.
    """


class RowNotRemovable(GatewayError, code=4093, status=409):
    """Google cannot remove the row: an array formula or merged cells may extend over it and others.
    Empty it with an update of nulls instead, or ask the owner of the sheet.
    """


class RowNumberUnknown(GatewayError, code=4094, status=409, outcome="applied"):
    """The write was applied, but people or a delete moved or changed the rows since. Look at the
    worksheet, and do not send the write again.
    """


class RowsMoved(GatewayError, code=4095, status=409, outcome="applied"):
    """The write was applied, but to another record than the gateway looked at, because people moved
    rows at the same moment. `rowIndex`, `expected` and `met` show both. Do not send it again.

    `row` is the row number, `expected` the planned record, and `met` the other record: its present
    state after an update, its last state after a removal, or None if unknown.
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
    """Outcome of a failed write: the error's own, else unknown after an internal error."""
    return error.outcome or ("unknown" if isinstance(error, InternalError) else "not_applied")
