"""Preferences of a request: the header `Prefer` (RFC 7240).

Rules: unknown preferences are ignored. An invalid value of a known one is refused: ignoring it
could change other rows than the client means. Of repeated preferences the first one counts.
"""

import re
from collections.abc import Mapping

from gateway.errors import InvalidRequest
from gateway.table.quoting import quoted
from gateway.web.head import Head

PREFER = b"prefer"
PREFERENCE_APPLIED = "Preference-Applied"
"""Header of answers: the preference of the request that had an effect."""

RESOLUTIONS: Mapping[str, bool] = {"merge-duplicates": True, "ignore-duplicates": False}
"""Whether an upsert with this resolution updates existing rows."""

_MAX_AFFECTED = "max-affected"
_RESOLUTION = "resolution"
_ITEM = re.compile(r'(?:"(?:[^"\\]|\\.)*"?|[^",])+')
_PREFERENCE = re.compile(
    r'\s*(?P<name>[\w!#$%&\'*+.^`|~-]+)\s*(?:=\s*(?:"(?P<text>(?:[^"\\]|\\.)*)"|(?P<token>[^\s";]*)))?'
)
_ESCAPED = re.compile(r"\\(.)")
_COUNT = re.compile(r"[0-9]{1,15}")


def preferences(head: Head) -> Mapping[str, str]:
    """Values by lower-case name, without parameters; "" for a preference without a value."""
    found: dict[str, str] = {}
    for item in _ITEM.findall(",".join(head.values(PREFER))):
        preference = _PREFERENCE.match(item)
        if preference is not None:
            value = preference["token"] or _ESCAPED.sub(r"\1", preference["text"] or "")
            found.setdefault(preference["name"].lower(), value)
    return found


def preferred_max_affected(head: Head) -> int | None:
    """The number of `max-affected`; None without it."""
    value = preferences(head).get(_MAX_AFFECTED)
    if value is None:
        return None
    if _COUNT.fullmatch(value) is None:
        raise InvalidRequest(
            f"Prefer has max-affected={quoted(value)}; send a whole number from 0, as in "
            "'Prefer: max-affected=10'."
        )
    return int(value)


def preferred_resolution(head: Head) -> str | None:
    """One of `RESOLUTIONS`; None without it."""
    value = preferences(head).get(_RESOLUTION)
    if value is not None and value not in RESOLUTIONS:
        raise InvalidRequest(
            f"Prefer has resolution={quoted(value)}; send {' or '.join(RESOLUTIONS)}."
        )
    return value


def applied_max_affected(number: int | None) -> Mapping[str, str]:
    """Headers that say that the preference had its effect."""
    return {} if number is None else _applied(f"{_MAX_AFFECTED}={number}")


def applied_resolution(resolution: str | None) -> Mapping[str, str]:
    """Headers that say that the preference had its effect."""
    return {} if resolution is None else _applied(f"{_RESOLUTION}={resolution}")


def _applied(preference: str) -> Mapping[str, str]:
    # A further line of the header that all answers to pages have: only these have the preference.
    return {
        PREFERENCE_APPLIED: preference,
        "Access-Control-Expose-Headers": PREFERENCE_APPLIED,
    }
