"""Freshness in the headers of a read: `Age`, and `Cache-Status` as in RFC 9211."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

CACHE = "sheets-gateway"
FORWARDS = ("miss", "stale", "request", "uri-miss", "partial", "bypass")
PARAMETER = re.compile(r'([a-z][a-z-]*)(?:=(-?\d+|[A-Za-z][\w./:*-]*|"[ -~]*"))?')


@dataclass(frozen=True, kw_only=True)
class Mark:
    """Age and remaining lifetime of an answer, and whether Google was called for it."""

    age_seconds: int
    ttl_seconds: int | None = None
    is_hit: bool = False
    forward: str = ""
    """Why Google was asked; "" for a hit."""
    detail: str = ""

    @property
    def is_stale(self) -> bool:
        return self.ttl_seconds is not None and self.ttl_seconds < 0


def read_mark(headers: Mapping[str, str]) -> Mark | None:
    """The mark of an answer, None if it has none; ValueError for one that makes no sense."""
    if "cache-status" not in headers and "age" not in headers:
        return None
    name, *rest = (part.strip() for part in headers.get("cache-status", "").split(";"))
    members = dict(_parameter(part) for part in rest)
    is_hit, forward = "hit" in members, members.get("fwd", "")
    if name != CACHE or is_hit == bool(forward) or forward not in ("", *FORWARDS):
        raise ValueError(f"Cache-Status: {headers.get('cache-status')}")
    if not re.fullmatch(r"\d+", headers.get("age", "")):
        raise ValueError(f"Age: {headers.get('age')}")
    return Mark(
        age_seconds=int(headers["age"]),
        ttl_seconds=int(members["ttl"]) if "ttl" in members else None,
        is_hit=is_hit,
        forward=forward,
        detail=members.get("detail", "").strip('"'),
    )


def _parameter(text: str) -> tuple[str, str]:
    found = PARAMETER.fullmatch(text)
    if found is None:
        raise ValueError(f"Cache-Status has {text!r}")
    return found[1], found[2] or ""
