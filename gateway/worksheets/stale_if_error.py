"""Stale-if-error: failures that an older answer may stand in for."""

from collections.abc import Mapping

from gateway.errors import (
    CircuitOpen,
    GatewayError,
    NotFresh,
    QuotaSpent,
    TemporarilyUnavailable,
    UpstreamAuth,
    UpstreamError,
    UpstreamTimeout,
)

_RETRY_SECONDS = 5

_REASONS: Mapping[type[GatewayError], str] = {
    QuotaSpent: "budget",
    CircuitOpen: "breaker",
    TemporarilyUnavailable: "busy",
    UpstreamError: "google",
    UpstreamTimeout: "google",
    UpstreamAuth: "google",
}

DEGRADING = tuple(_REASONS)
"""Failures of Google, or of the way to it; others say what is wrong with the worksheet."""


def reason_for(error: GatewayError) -> str:
    """The word for one of these failures."""
    return next(word for kind, word in _REASONS.items() if isinstance(error, kind))


def not_fresh(error: GatewayError) -> NotFresh:
    """The error for whoever does not take an older answer."""
    return NotFresh(
        f"Fresh rows cannot be had: {error.message} Leave out no-cache to take older ones.",
        retry_after_seconds=error.retry_after_seconds or _RETRY_SECONDS,
    )
