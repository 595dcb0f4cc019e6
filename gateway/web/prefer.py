"""Preferences of a request: the header `Prefer` (RFC 7240).

Rules: unknown preferences are ignored. An invalid value, a misspelt name, a preference of another
operation, or a malformed header is an error, because the write could change other rows than the
client means. If a preference is repeated, the smallest `max-affected` and the first `resolution`
count. Reads ignore the header.
"""

import re
from collections.abc import Mapping, Sequence

from gateway.errors import InvalidRequest
from gateway.table.header import letters
from gateway.table.quoting import quoted
from gateway.web.head import Head
from gateway.web.signature import MAX_AFFECTED, ON_CONFLICT, RESOLUTION, WHERE, Signature
from gateway.web.unknown_parameters import DRY_RUNS, by_letters, misspelling

PREFER = b"prefer"
PREFERENCE_APPLIED = "Preference-Applied"
"""Header of answers: the preference that the gateway applied."""

RESOLUTIONS: Mapping[str, bool] = {"merge-duplicates": True, "ignore-duplicates": False}
"""Values of `resolution` for an upsert; True if existing rows are updated."""

_NAMES = by_letters((MAX_AFFECTED, RESOLUTION))
_PART = re.compile(
    r"""[ \t]*+(?P<name>[\w!#$%&'*+.^`|~-]++(?=[ \t]*+(?:[=,;]|$)))?+"""
    r"""(?(name)[ \t]*+(?:=[ \t]*+(?:"(?P<text>(?:[^"\\]|\\.)*+)"|(?P<token>[^\s",;=]*+)))?+)"""
    r"""[ \t]*+(?P<end>[,;]|$)"""
)
"""A preference, or a parameter of a preference; both can be empty.

All repetitions are possessive, to prevent quadratic backtracking on many blanks.
"""
_ESCAPED = re.compile(r"\\(.)")
_COUNT = re.compile(r"[0-9]{1,15}")


def preferences(head: Head) -> Mapping[str, Sequence[str]]:
    """Parse `Prefer`. Returns values by lower-case name; "" for a preference without a value.

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
                    f"Prefer has {name} after a semicolon. Write a comma instead of the semicolon."
                )
            if mistake := misspelling(name, _NAMES):
                raise InvalidRequest(f"Prefer has a misspelt preference {mistake}")
            at, before = part.end(), part["end"]
    return found


def check_preferences(head: Head, operation: Signature) -> None:
    """Raise InvalidRequest for a malformed header, or a preference of another operation."""
    found = preferences(head)
    if "rollback" in found.get("tx", ()):
        raise InvalidRequest("The gateway cannot roll back writes. Remove tx=rollback from Prefer.")
    if any(letters(name) in DRY_RUNS for name in found):
        raise InvalidRequest("The gateway has no dry run. Remove dry-run from Prefer.")
    for name in _NAMES.values():
        if name in found and name not in operation.preferences:
            raise InvalidRequest(
                f"Prefer has {name}, which is not a preference of {operation.noun}. Remove it: "
                f"{MAX_AFFECTED} is for writes with {WHERE}, and {RESOLUTION} for writes with "
                f"{ON_CONFLICT}."
            )


def preferred_max_affected(head: Head) -> int | None:
    """Return the smallest `max-affected`, or None without this preference."""
    values = preferences(head).get(MAX_AFFECTED, ())
    for value in values:
        if _COUNT.fullmatch(value) is None:
            raise InvalidRequest(
                f"Prefer has max-affected={quoted(value)}. Send a whole number, 0 or more, as in "
                "'Prefer: max-affected=10'."
            )
    return min(map(int, values), default=None)


def preferred_resolution(head: Head) -> str | None:
    """Return the first `resolution`, a key of `RESOLUTIONS`, or None without this preference."""
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
    # `Frame` adds a line with the headers of all answers; only few answers have this header.
    exposed = {"Access-Control-Expose-Headers": PREFERENCE_APPLIED}
    return {PREFERENCE_APPLIED: f"{name}={value}", **exposed}
