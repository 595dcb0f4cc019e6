"""Errors that only a write can meet: idempotency keys, conditions, outcomes that stay open."""

from collections.abc import Mapping

from gateway.errors import BadRequest, GatewayError, InternalError, Outcome

UNKNOWN_RETRY_SECONDS = 185
"""A request may run for 180 s at Google: later than this no write lands any more."""


class InvalidIdempotencyKey(BadRequest):
    code, name = 4004, "InvalidIdempotencyKey"


class IdempotencyInProgress(GatewayError):
    """The first request with this Idempotency-Key is not answered yet."""

    code, name, status = 4090, "IdempotencyInProgress", 409
    retryable = True


class IdempotencyKeyReused(GatewayError):
    """The Idempotency-Key belongs to a request with another body."""

    code, name, status = 4220, "IdempotencyKeyReused", 422


class PreconditionFailed(GatewayError):
    """The row is not as `If-Match` says; `existing` is its whole record now, of this `tag`."""

    code, name, status = 4120, "PreconditionFailed", 412

    def __init__(self, existing: Mapping[str, object], *, tag: str) -> None:
        super().__init__(
            "If-Match names no tag of the row as it is now, which is 'existing'. It was left so: "
            "look at it, then send the update with the ETag of this answer, quotes and all."
        )
        self.existing = existing
        self.tag = tag


class PreconditionRequired(GatewayError):
    code, name, status = 4280, "PreconditionRequired", 428


class WriteOutcomeUnknown(GatewayError):
    """A write was sent and Google's answer does not say whether it was applied.

    `was_answered`: something came back, an error or half an answer. If nothing did, the write may
    still be applied later.
    """

    code, name, status = 5041, "WriteOutcomeUnknown", 504

    def __init__(
        self,
        message: str,
        *,
        outcome: Outcome = "unknown",
        retry_after_seconds: int | None = None,
        was_answered: bool = False,
    ) -> None:
        super().__init__(message, outcome=outcome, retry_after_seconds=retry_after_seconds)
        self.was_answered = was_answered


def write_outcome(error: GatewayError) -> Outcome:
    """What became of a write that ended so.

    One that failed before it was sent was not applied; a fault of ours proves nothing.
    """
    is_open = isinstance(error, InternalError | WriteOutcomeUnknown)
    return error.outcome or ("unknown" if is_open else "not_applied")
