"""Reasons why Redis does not serve a command, by the errors of its library.

Rule: no text of an error leaves this module: it may contain parts of the URL.
"""

import errno
import socket
import ssl
from collections.abc import Sequence
from enum import StrEnum

from redis import exceptions


class StoreFault(StrEnum):
    """A reason; its value is the `error` of the log."""

    REFUSED = "connection refused"
    UNKNOWN_HOST = "unknown host"
    TIMEOUT = "no answer in time"
    PASSWORD = "wrong or missing password"  # noqa: S105 - a reason, not a secret
    NO_RIGHTS = "user lacks rights"
    NOT_REDIS = "not a Redis server"
    TLS = "TLS failed"
    NO_DATABASE = "no database of this number"
    READ_ONLY = "read-only replica"
    FULL = "memory is full"
    CANNOT_SAVE = "cannot save to its disk"
    TOO_MANY_CLIENTS = "too many clients"
    LOADING = "still loading"
    CLOSED = "connection closed"
    OTHER = "unexpected error"


_CAUSES: Sequence[tuple[type[BaseException] | tuple[type[BaseException], ...], StoreFault]] = (
    (ssl.SSLError, StoreFault.TLS),
    (socket.gaierror, StoreFault.UNKNOWN_HOST),
    ((ConnectionRefusedError, FileNotFoundError), StoreFault.REFUSED),
)
"""Errors of the system, which the library wraps."""

_ERRORS: Sequence[tuple[type[Exception] | tuple[type[Exception], ...], str, StoreFault]] = (
    (exceptions.AuthenticationError, "", StoreFault.PASSWORD),
    (exceptions.NoPermissionError, "", StoreFault.NO_RIGHTS),
    (exceptions.ResponseError, "can't run this command", StoreFault.NO_RIGHTS),  # within a script
    (exceptions.InvalidResponse, "", StoreFault.NOT_REDIS),
    (exceptions.ReadOnlyError, "", StoreFault.READ_ONLY),
    (exceptions.OutOfMemoryError, "", StoreFault.FULL),
    (exceptions.BusyLoadingError, "", StoreFault.LOADING),
    (exceptions.ResponseError, "MISCONF", StoreFault.CANNOT_SAVE),
    (exceptions.ResponseError, "DB index", StoreFault.NO_DATABASE),
    (exceptions.ConnectionError, "max number of clients", StoreFault.TOO_MANY_CLIENTS),
    ((TimeoutError, exceptions.TimeoutError), "", StoreFault.TIMEOUT),
    # asyncio joins the errors of a name with several addresses, such as localhost, in a text.
    ((exceptions.ConnectionError, OSError), f"[Errno {errno.ECONNREFUSED}]", StoreFault.REFUSED),
    # uvloop raises RuntimeError for a connection that was cut.
    ((exceptions.ConnectionError, OSError, RuntimeError), "", StoreFault.CLOSED),
)
"""Errors of the library, with a part of their text; the first that fits counts."""


def fault_of(error: BaseException) -> StoreFault:
    for kind, fault in _CAUSES:
        if isinstance(error, kind) or isinstance(error.__context__, kind):
            return fault
    for kind, words, fault in _ERRORS:
        if isinstance(error, kind) and words in str(error):
            return fault
    return StoreFault.OTHER
