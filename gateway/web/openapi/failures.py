"""Example errors of each operation.

Rules: `gateway.web.error_responses` makes the examples of answers from these errors. Every error
with a code is here, except those that no operation of the document can return.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Literal

from gateway.errors import (
    AmbiguousCredentials,
    BodyTooLarge,
    CircuitOpen,
    DuplicateKey,
    GatewayError,
    HeaderChanged,
    HeadersTooLarge,
    IdempotencyInProgress,
    IdempotencyKeyReused,
    InternalError,
    InvalidApiKey,
    InvalidBody,
    InvalidIdempotencyKey,
    InvalidPath,
    InvalidQuery,
    InvalidRequest,
    InvalidSpreadsheetId,
    KeyNotAllowedInUrl,
    KeysUnavailable,
    LookOutdated,
    MetadataFull,
    MethodNotAllowed,
    MissingApiKey,
    NoHeaderRow,
    NotFresh,
    NotGranted,
    OriginNotAllowed,
    PlanLimit,
    PreconditionFailed,
    PreconditionRequired,
    Problem,
    ProtectedCells,
    QueryTooCostly,
    QueueFull,
    QuotaSpent,
    RateLimited,
    ReadOnlyKey,
    RecordsUnavailable,
    RequestTimeout,
    RouteNotFound,
    RowNotFound,
    RowNotRemovable,
    RowNumberUnknown,
    RowsMoved,
    RowsUnsettled,
    SheetTooLarge,
    ShuttingDown,
    SpreadsheetNotFound,
    SpreadsheetNotShared,
    StorageFull,
    TooManyAuthFailures,
    TooManyInFlight,
    TooManyRowsAffected,
    UnknownField,
    UnsupportedDocument,
    UnsupportedMediaType,
    UpstreamAuth,
    UpstreamError,
    UpstreamRefusal,
    UpstreamTimeout,
    UpstreamUnreachable,
    UriTooLong,
    WorksheetNotFound,
    WriteOutcomeUnknown,
    WriteTooLarge,
)
from gateway.worksheets.fences import RETRY_SECONDS

OperationKind = Literal[
    "health", "list", "read", "create", "update", "change", "delete", "delete_where", "refresh"
]

_OF_HTTP: Sequence[GatewayError] = (
    InvalidRequest("This cannot be read as a request of HTTP/1.1."),
    RequestTimeout("The head of the request did not arrive in time."),
    UriTooLong("The URL is too long."),
    HeadersTooLarge("The headers are too long."),
    InternalError("The gateway failed. Tell its operator the requestId; the log has the rest."),
    QueueFull("Too many requests wait. Send it again later.", retry_after_seconds=5),
    ShuttingDown("The gateway is shutting down. Send it again.", retry_after_seconds=5),
)
_OF_KEYS: Sequence[GatewayError] = (
    MissingApiKey("Send a key: 'Authorization: Bearer KEY'."),
    InvalidApiKey("This key does not count: it is unknown, revoked or expired."),
    AmbiguousCredentials("The request holds different API keys; send one of them."),
    InvalidSpreadsheetId("Which spreadsheet? Send its id in the header X-Spreadsheet-Id."),
    InvalidPath("The worksheet name in the path is not percent-encoded UTF-8."),
    RouteNotFound("There is nothing at this path: the worksheet has no name."),
    OriginNotAllowed("This key may not be used by pages of this origin."),
    NotGranted("This key may not use a worksheet of this name, or not write this field."),
    PlanLimit("The plan of this key does not include 'where'; ask for another plan."),
    SpreadsheetNotFound(),
    SpreadsheetNotShared("Share the spreadsheet with the address that stands here."),
    UnsupportedDocument("This is not a Google Sheet but an Office file: convert it."),
    WorksheetNotFound("The spreadsheet has no worksheet of this name; case and blanks count."),
    NoHeaderRow("Row 1 of the worksheet names no field. Put the field names into its first row."),
    SheetTooLarge("The worksheet is too large for the gateway."),
    RateLimited("This key has sent too many requests; wait a second.", retry_after_seconds=1),
    TooManyInFlight("Too many requests of this key are under way.", retry_after_seconds=1),
    TooManyAuthFailures("Too many wrong keys came from this address.", retry_after_seconds=3),
    KeysUnavailable("The gateway cannot look up keys now.", retry_after_seconds=5),
)
_OF_GOOGLE: Sequence[GatewayError] = (
    UpstreamError("Google failed."),
    UpstreamRefusal(""),
    UpstreamUnreachable("Google could not be reached."),
    UpstreamAuth("Google refused the service account; tell the gateway's operator."),
    QuotaSpent("Google's quota is spent for the moment.", retry_after_seconds=10),
    CircuitOpen("Google failed several times in a row.", retry_after_seconds=5),
    UpstreamTimeout("Google did not answer in time."),
)
_OF_READS: Sequence[GatewayError] = (
    InvalidQuery("limit must be a whole number from 0."),
    NotFresh("Rows as of now cannot be had; leave out no-cache.", retry_after_seconds=5),
)
_OF_LISTS: Sequence[GatewayError] = (
    UnknownField("where names a field that the worksheet does not have.", parameter="where"),
    QueryTooCostly("This query takes too many steps. Use fewer conditions or order terms."),
)
_OF_ROWS: Sequence[GatewayError] = (RowNotFound("The worksheet has no row 7."),)
_OF_WRITERS: Sequence[GatewayError] = (
    KeyNotAllowedInUrl("A key in the URL may only read. Send it as 'Authorization: Bearer KEY'."),
    ReadOnlyKey("This key may only read.", allowed_methods=("GET", "HEAD", "OPTIONS")),
)
_OF_BODIES: Sequence[GatewayError] = (
    InvalidBody(
        "The body holds what cannot be stored; nothing was written.",
        problems=[Problem("#/nickname", "The worksheet has no such field.")],
    ),
    BodyTooLarge("The body is too large."),
    UnsupportedMediaType("Send a JSON object with Content-Type: application/json, or a form."),
)
_OF_RECORDS: Sequence[GatewayError] = (
    InvalidIdempotencyKey("An Idempotency-Key is 1 to 255 visible ASCII characters."),
    IdempotencyInProgress("The first request with this key is under way.", retry_after_seconds=1),
    IdempotencyKeyReused("This Idempotency-Key belongs to a request with another body."),
    HeaderChanged("The values are in row 7, under a header that changed meanwhile.", row=7),
    RowNumberUnknown("The row was written, but it was moved since. Do not send it again."),
    ProtectedCells("The cells are protected. Ask the spreadsheet's owner."),
    WriteOutcomeUnknown(
        "Nobody knows yet whether it was written. Look, or send it again with an Idempotency-Key.",
        retry_after_seconds=RETRY_SECONDS,
    ),
    RecordsUnavailable("The database of write records is away.", retry_after_seconds=5),
    LookOutdated(),
    RowsUnsettled("The write was applied; a later delete is not settled.", outcome="applied"),
    MetadataFull("The spreadsheet's developer metadata is full.", retry_after_seconds=185),
    WriteTooLarge("The rows of this request have too many cells. Name fewer rows at once."),
    StorageFull("The spreadsheet has reached Google's limit of 10 million cells."),
)
_MOVED = RowsMoved(
    "The write was applied at row 7, but another record stood there. Do not send it again.",
    row=7,
    expected={"rowIndex": 7, "nickname": "Bo"},
    met={"rowIndex": 7, "nickname": "Al"},
)
_OTHER_PARAMETER = InvalidQuery("where is not a parameter of this operation, which takes none.")
_OF_WRITES = (*_OF_WRITERS, *_OF_BODIES, *_OF_RECORDS)
_OF_UPDATES: Sequence[GatewayError] = (
    PreconditionFailed({"rowIndex": 7, "nickname": "Bo"}, tag='"MCG4Q9Mz6dBvSVhY"'),
    PreconditionRequired("The plan of this key takes no update without If-Match."),
    _MOVED,
)
_OF_UPSERTS: Sequence[GatewayError] = (
    InvalidQuery("on_conflict names no field."),
    DuplicateKey("Rows 3 and 7 of the worksheet have the key of the row at #/0."),
    _MOVED,
    PreconditionRequired("The plan of this key takes no write to several rows."),
)
_OF_FILTERS: Sequence[GatewayError] = (
    InvalidQuery("A write by filter needs a condition."),
    UnknownField("where names a field that the worksheet does not have.", parameter="where"),
    TooManyRowsAffected("12 rows match, and the request allows 10. Nothing was written."),
    _MOVED,
    QueryTooCostly("This query takes too many steps. Use fewer conditions."),
    PreconditionRequired("The plan of this key takes no write to several rows."),
)
_OF_DELETES: Sequence[GatewayError] = (
    *_OF_WRITERS,
    MethodNotAllowed(
        "DELETE is not an operation here: it needs a key made with --delete, and a plan with it.",
        allowed_methods=("GET", "HEAD", "OPTIONS", "POST"),
    ),
    *_OF_RECORDS,
    RowNotRemovable("Google cannot remove the row: a merge reaches over it and others."),
)
_OF_ALL_ROWS = (*_OF_HTTP, *_OF_KEYS, *_OF_GOOGLE)

FAILURES: Mapping[OperationKind, Sequence[GatewayError]] = {
    "health": _OF_HTTP,
    "list": (*_OF_ALL_ROWS, *_OF_READS, *_OF_LISTS),
    "read": (*_OF_ALL_ROWS, *_OF_READS, *_OF_ROWS),
    "create": (*_OF_ALL_ROWS, *_OF_WRITES, *_OF_UPSERTS),
    "update": (*_OF_ALL_ROWS, *_OF_ROWS, *_OF_WRITES, *_OF_UPDATES, _OTHER_PARAMETER),
    "change": (
        *_OF_ALL_ROWS,
        *_OF_ROWS,
        *_OF_WRITES,
        *_OF_FILTERS,
        MethodNotAllowed(
            "PATCH is not an operation here: it takes where, or a list of rows.",
            allowed_methods=("GET", "HEAD", "OPTIONS", "POST"),
        ),
    ),
    "delete": (
        *_OF_ALL_ROWS,
        *_OF_ROWS,
        *_OF_DELETES,
        *_OF_UPDATES,
        _OTHER_PARAMETER,
    ),
    "delete_where": (*_OF_ALL_ROWS, *_OF_DELETES, *_OF_FILTERS),
    "refresh": (*_OF_HTTP, *_OF_KEYS, _OTHER_PARAMETER),
}
WRITES: frozenset[OperationKind] = frozenset(
    {"create", "update", "change", "delete", "delete_where", "refresh"}
)
"""Those whose errors have an outcome."""
DELETES: frozenset[OperationKind] = frozenset({"delete", "delete_where"})


@lru_cache(len(FAILURES))
def by_status(kind: OperationKind) -> Mapping[int, Sequence[GatewayError]]:
    """The errors of an operation by status, each class once."""
    found: dict[int, dict[type[GatewayError], GatewayError]] = {}
    for error in FAILURES[kind]:
        found.setdefault(error.status, {}).setdefault(type(error), error)
    return {status: [*found[status].values()] for status in sorted(found)}


def codes_of(errors: Iterable[GatewayError]) -> Sequence[int]:
    return sorted({error.code for error in errors})


def names_of(errors: Iterable[GatewayError]) -> Sequence[str]:
    return sorted({error.name for error in errors})
