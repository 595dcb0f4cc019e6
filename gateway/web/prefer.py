"""Preferences of a request: the header `Prefer` (RFC 7240).

Rules: unknown preferences are ignored. An invalid value, a misspelt name, a preference of another
operation, or a malformed header is refused, because the write could change other rows than the
client means. The smallest of repeated numbers counts, otherwise the first value. Reads ignore the
header.
"""

import re
from collections.abc import Mapping, Sequence

from gateway.errors import InvalidRequest
from gateway.table.quoting import quoted
from gateway.web.head import Head
from gateway.web.signature import MAX_AFFECTED, ON_CONFLICT, RESOLUTION, WHERE, Signature
from gateway.web.unknown_parameters import by_letters, misspelling

PREFER = b"prefer"
PREFERENCE_APPLIED = "Preference-Applied"
"""Header of answers: the preference of the request that had an effect."""

RESOLUTIONS: Mapping[str, bool] = {"merge-duplicates": True, "ignore-duplicates": False}
"""Resolutions of an upsert; True for the one that updates existing rows."""

_NAMES = by_letters((MAX_AFFECTED, RESOLUTION))
_PART = re.compile(
    r"""[ \t]*+(?P<name>[\w!#$%&'*+.^`|~-]++(?=[ \t]*+(?:[=,;]|$)))?+"""
    r"""(?(name)[ \t]*+(?:=[ \t]*+(?:"(?P<text>(?:[^"\\]|\\.)*+)"|(?P<token>[^\s",;=]*+)))?+)"""
    r"""[ \t]*+(?P<end>[,;]|$)"""
)
"""A preference, or a parameter after it; both may be blank.

All repetitions are possessive, to prevent quadratic backtracking on runs of blanks.
"""
_ESCAPED = re.compile(r"\\(.)")
_COUNT = re.compile(r"[0-9]{1,15}")


def preferences(head: Head) -> Mapping[str, Sequence[str]]:
    """Values by lower-case name, without parameters; "" for a preference without a value.

    Raises InvalidRequest.
    """
    found: dict[str, list[str]] = {}
    for line in head.values(PREFER):
        at, before = 0, ","
        while before:
            part = _PART.match(line, at)
            if part is None:
                raise InvalidRequest(
                    f"Prefer is malformed from {quoted(line[at:])} on. Send preferences with "
                    "commas between them, as in 'Prefer: max-affected=10'."
                )
            name = (part["name"] or "").lower()
            if before == ",":
                value = part["token"] or _ESCAPED.sub(r"\1", part["text"] or "")
                found.setdefault(name, []).append(value)
            elif name in _NAMES.values():
                raise InvalidRequest(
                    f"Prefer has {name} after a semicolon. Write a comma before it, because it is "
                    "a preference of its own."
                )
            if mistake := misspelling(name, _NAMES):
                raise InvalidRequest(f"Prefer has an unknown preference {mistake}")
            at, before = part.end(), part["end"]
    return found


def check_preferences(head: Head, operation: Signature) -> None:
    """Raise InvalidRequest for a preference of another operation, or as `preferences`."""
    found = preferences(head)
    if "rollback" in found.get("tx", ()):
        raise InvalidRequest("Prefer has tx=rollback, but the gateway cannot roll back writes.")
    for name in _NAMES.values():
        if name in found and name not in operation.preferences:
            raise InvalidRequest(
                f"Prefer has {name}, which is not a preference of {operation.noun}. Remove it: "
                f"{MAX_AFFECTED} is for writes with {WHERE}, and {RESOLUTION} for writes with "
                f"{ON_CONFLICT}."
            )


def preferred_max_affected(head: Head) -> int | None:
    """The smallest number of `max-affected`; None without this preference."""
    values = preferences(head).get(MAX_AFFECTED, ())
    for value in values:
        if _COUNT.fullmatch(value) is None:
            raise InvalidRequest(
                f"Prefer has max-affected={quoted(value)}. Send a whole number, 0 or more, as in "
                "'Prefer: max-affected=10'."
            )
    return min(map(int, values), default=None)


def preferred_resolution(head: Head) -> str | None:
    """One of `RESOLUTIONS`; None without this preference."""
    values = preferences(head).get(RESOLUTION, ())
    for value in values:
        if value not in RESOLUTIONS:
            raise InvalidRequest(
                f"Prefer has resolution={quoted(value)}. Send {' or '.join(RESOLUTIONS)}."
            )
    return values[0] if values else None


def applied(name: str, value: object) -> Mapping[str, str]:
    """Return the `Preference-Applied` header of a preference; empty if `value` is None."""
    if value is None:
        return {}
    # A further line of the header that all answers to pages have: only these have the preference.
    exposed = {"Access-Control-Expose-Headers": PREFERENCE_APPLIED}
    return {PREFERENCE_APPLIED: f"{name}={value}", **exposed}
