"""Freshness headers: `Age`, and `Cache-Status` of RFC 9211.

Rules: `hit` is said of what was kept, also where Google was waited for in vain; `fwd` of what was
read for the request. Times are whole seconds, rounded down: an answer is never called younger than
it is by more than one, and what is stale has a negative `ttl`.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from gateway.worksheets.freshness import Freshness

CACHE = "sheets-gateway"

Outcome = Literal["hit", "miss", "stale"]
"""What the cache did for a request, in a word."""


def outcome(freshness: Freshness) -> Outcome:
    if freshness.reason:
        return "stale"
    return "hit" if freshness.is_hit else "miss"


def freshness_lines(freshness: Freshness, *, no_cache: bool) -> Sequence[tuple[bytes, bytes]]:
    """`Age` and `Cache-Status` as raw lines; those of a second and a ttl are made once."""
    seconds = Freshness(
        math.floor(freshness.age_seconds),
        math.floor(freshness.ttl_seconds),
        freshness.is_hit,
        freshness.reason,
    )
    return _lines(seconds, no_cache)


@lru_cache(512)
def _lines(freshness: Freshness, no_cache: bool) -> Sequence[tuple[bytes, bytes]]:
    status = cache_status(freshness, no_cache=no_cache)
    return (
        (b"age", age(freshness).encode("ascii")),
        (b"cache-status", status.encode("ascii")),
    )


def age(freshness: Freshness) -> str:
    return str(max(0, math.floor(freshness.age_seconds)))


def cache_status(freshness: Freshness, *, no_cache: bool) -> str:
    """The header's one member; `no_cache` is what the request asked for."""
    if freshness.is_hit:
        handled = "hit"
    elif freshness.reason:  # Google was asked in vain
        handled = "fwd=stale"
    else:
        return f"{CACHE}; fwd=request; stored" if no_cache else f"{CACHE}; fwd=miss; stored"
    detail = f"; detail={freshness.reason}" if freshness.reason else ""
    return f"{CACHE}; {handled}; ttl={math.floor(freshness.ttl_seconds)}{detail}"
