"""Errors that count as an outage of Google.

Google's refusals are no outage, nor is an answer that cannot be read: another worksheet's can.
"""

from gateway.errors import (
    GatewayError,
    UpstreamError,
    UpstreamRefusal,
    UpstreamTimeout,
    UpstreamUnreachable,
    WriteOutcomeUnknown,
)
from gateway.google.translation import UNREADABLE, GoogleRefusal


def is_outage(error: GatewayError) -> bool:
    """Whether Google could not be reached, broke off, did not answer in time or failed (5xx)."""
    return isinstance(error, UpstreamTimeout | WriteOutcomeUnknown) or is_brief_outage(error)


def is_brief_outage(error: GatewayError) -> bool:
    """Whether the trouble showed at once, so that another attempt may well do better."""
    if not isinstance(error, UpstreamError) or isinstance(error, UpstreamRefusal):
        return False
    return isinstance(error, UpstreamUnreachable) or not _was_answered(error)


def _was_answered(error: UpstreamError) -> bool:
    """Whether Google did answer, a refusal or something that cannot be read."""
    cause = error.__cause__
    if isinstance(cause, GoogleRefusal):
        return 400 <= cause.status < 500
    return isinstance(cause, UNREADABLE)
