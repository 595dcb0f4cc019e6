"""Exceptions of the client.

    SheetsFailure
    ├── SheetsError        an error answer
    │   └── CursorLost     the gateway cannot find the next page
    └── ConnectionFailed   no answer to the last request

`outcome` is the result of a write over all its requests; it is None for a read. If the gateway
might have applied one request, a later error answer does not prove the contrary, so `outcome`
stays `unknown`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sheets_gateway_client.rows import Row

Outcome = Literal["not_applied", "applied", "unknown"]

NOT_FROM_GATEWAY = "NotFromGateway"
"""`name` of an error answer that a proxy or another server sent; its `code` is 0."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """An invalid value in a request body."""

    pointer: str
    """JSON Pointer to the value as a URI fragment, such as `#/population`."""
    detail: str
    """Why the value is invalid."""


@dataclass(frozen=True, kw_only=True)
class ErrorBody:
    """The error of one answer; `outcome` does not consider earlier requests of the call."""

    status: int
    code: int
    name: str
    message: str
    outcome: Outcome | None
    retryable: bool
    request_id: str
    errors: Sequence[Problem] = ()
    existing: Row | None = None
    expected: Row | None = None
    met: Row | None = None
    row_index: int | None = None
    retry_after_seconds: float | None = None


class SheetsFailure(Exception):
    """Base class of the client's exceptions.

    `idempotency_key` is the key of the failed write: pass it to repeat the write later.
    """

    def __init__(
        self, message: str, *, outcome: Outcome | None, idempotency_key: str | None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.outcome = outcome
        self.idempotency_key = idempotency_key

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle by attributes, because `args` lacks the arguments of `__init__`."""
        return Exception.__new__, (type(self), *self.args), vars(self)

    @property
    def may_be_applied(self) -> bool:
        """True if the gateway applied the write or might have applied it."""
        return self.outcome in ("applied", "unknown")


class SheetsError(SheetsFailure):
    """An error answer. `code` identifies the error and never changes its meaning.

    `code` is 0 if the answer comes from another server, such as the HTML page of a proxy.
    """

    def __init__(
        self, body: ErrorBody, *, outcome: Outcome | None, idempotency_key: str | None
    ) -> None:
        super().__init__(body.message, outcome=outcome, idempotency_key=idempotency_key)
        self.status = body.status
        self.code = body.code
        self.name = body.name
        self.retryable = body.retryable
        self.request_id = body.request_id
        self.errors = body.errors
        self.existing = body.existing
        """The current row, if its ETag differs from `if_match` (code 4120)."""
        self.expected = body.expected
        """The planned record, if the write changed another record (code 4095)."""
        self.met = body.met
        """The record that the write changed or deleted instead (code 4095); None if unknown."""
        self.row_index = body.row_index
        """Number of the written row, if the header changed during the write (code 4091) or the
        row held another record (code 4095)."""
        self.retry_after_seconds = body.retry_after_seconds

    def __str__(self) -> str:
        return f"{self.status} {self.name} ({self.code}): {self.message}"


class CursorLost(SheetsError):
    """The gateway cannot find the next page (code 4101): start again with the first page.

    The rows returned so far are correct, but rows can be missing after them. The client does not
    start again itself, because the caller has already used those rows.
    """


class ConnectionFailed(SheetsFailure):
    """No answer to the last request: connection refused, connection lost, or timeout.

    `__cause__` is the exception of httpx2, or says that the body ends too early.
    """
