"""Rate-limit lease of a request, from its admission to the end of its answer.

It lies in the scope, so that the frame around all requests can tell of it on every answer and end
it whatever happens.
"""

from functools import lru_cache

from starlette.types import Scope

from gateway.access.rates import RateLease

RawHeaders = list[tuple[bytes, bytes]]

_KEPT = "gateway.rate_lease"
_WINDOW_SECONDS = 60
_KEPT_POLICIES = 64


def begin_lease(scope: Scope, lease: RateLease) -> None:
    """Have the answer tell what the key may still ask; the lease ends with the request."""
    scope[_KEPT] = lease


def end_lease(scope: Scope) -> None:
    """The request is over, however it ended."""
    lease: RateLease | None = scope.get(_KEPT)
    if lease is not None:
        lease.leave()


def rate_lines(scope: Scope) -> RawHeaders:
    """`RateLimit` and `RateLimit-Policy` of draft-ietf-httpapi-ratelimit-headers.

    `r` requests may be sent at once. After `t` seconds it is more: one, where it is 0 now, else
    as many as ever.
    """
    lease: RateLease | None = scope.get(_KEPT)
    if lease is None or not lease.per_minute:
        return []
    return [(b"ratelimit", b'"default";r=%d;t=%d' % lease.standing()), _policy(lease.per_minute)]


@lru_cache(_KEPT_POLICIES)
def _policy(per_minute: int) -> tuple[bytes, bytes]:
    return b"ratelimit-policy", b'"default";q=%d;w=%d' % (per_minute, _WINDOW_SECONDS)
