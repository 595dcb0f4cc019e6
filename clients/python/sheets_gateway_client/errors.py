"""Errors of the client, as a tree.

    SheetsFailure
    ├── SheetsError        an answer that is an error
    │   └── CursorLost     the place of the next page is lost
    └── ConnectionFailed   no answer at the last try

`outcome` is the outcome of the whole call, of all tries: None for a read. If one try may have
been applied, a later refusal does not prove the contrary, so the outcome stays `unknown`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sheets_gateway_client.rows import Row

Outcome = Literal["not_applied", "applied", "unknown"]

NOT_FROM_GATEWAY = "NotFromGateway"
"""The name of an answer that is not the gateway's; its code is 0."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A mistake at one place of a body: a JSON pointer as a URI fragment, and the reason."""

    pointer: str
    detail: str


@dataclass(frozen=True, kw_only=True)
class ErrorBody:
    """The error in an answer, before the tries of the call are considered."""

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
    """Root of the tree; `idempotency_key` is the write's, to repeat it later."""

    def __init__(
        self, message: str, *, outcome: Outcome | None, idempotency_key: str | None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.outcome = outcome
        self.idempotency_key = idempotency_key

    def __reduce__(self) -> tuple[Any, ...]:
        """Copied and pickled by its members: the arguments of `__init__` are not in `args`."""
        return Exception.__new__, (type(self), *self.args), vars(self)

    @property
    def may_be_applied(self) -> bool:
        """True if the write was applied, or may have been."""
        return self.outcome in ("applied", "unknown")


class SheetsError(SheetsFailure):
    """An answer that is an error; `code` says which, and never changes its meaning.

    An answer that is not the gateway's, such as a proxy's page, has the code 0.
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
        """The current row, if it differs from `if_match` (code 4120)."""
        self.expected = body.expected
        """The record that a conditional write was meant for, if it met another one (code 4095)."""
        self.met = body.met
        """The record that was changed or removed instead (code 4095); None if unknown."""
        self.row_index = body.row_index
        """The written row, if its header changed under the write (code 4091) or it held another
        record (code 4095)."""
        self.retry_after_seconds = body.retry_after_seconds

    def __str__(self) -> str:
        return f"{self.status} {self.name} ({self.code}): {self.message}"


class CursorLost(SheetsError):
    """The place of the next page cannot be found again (code 4101): begin with the first page.

    The rows that were given so far remain right, but the other ones are not known. No client
    begins again by itself, because its caller has used these rows.
    """


class ConnectionFailed(SheetsFailure):
    """No answer at the last try: refused, broken, or too late; `__cause__` is httpx2's error."""
