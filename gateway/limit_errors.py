"""Errors that tell a client to slow down, or to come again for its key to be looked up."""

from gateway.errors import GatewayError, TemporarilyUnavailable


class TooManyRequests(GatewayError):
    status = 429
    retryable = True


class RateLimited(TooManyRequests):
    """The key has sent more requests than its plan lets it."""

    code, name = 4290, "RateLimited"


class TooManyInFlight(TooManyRequests):
    """The key has more requests under way than its plan lets it."""

    code, name = 4291, "TooManyInFlight"


class TooManyAuthFailures(TooManyRequests):
    """The client's address has sent too many keys that do not count: `per_minute` may be."""

    code, name = 4292, "TooManyAuthFailures"

    def __init__(
        self, message: str, *, retry_after_seconds: int | None = None, per_minute: int = 0
    ) -> None:
        super().__init__(message, retry_after_seconds=retry_after_seconds)
        self.per_minute = per_minute


class KeysUnavailable(TemporarilyUnavailable):
    """The key store does not answer, so nobody can be told apart."""

    code = 5031
