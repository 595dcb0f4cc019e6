"""Filters of writes: `where` and `max-affected`.

Rules: a write by filter changes many rows, so nothing of its filter is ignored. A missing or empty
`where`, an empty object in it, and a filter that says nothing of the rows (`gateway.query.verdict`)
are errors.
"""

from collections.abc import Sequence

import msgspec

from gateway.errors import InvalidQuery
from gateway.query.query import AllOf, AnyOf, Comparison, Condition, Negation
from gateway.query.verdict import verdict
from gateway.web.parameters import (
    PLAIN,
    Leniency,
    asking_of,
    decoded,
    parse_count,
    parse_filter,
)
from gateway.web.signature import MAX_AFFECTED, WHERE

_MISSING = (
    "A write by filter needs a condition: send where as a percent-encoded JSON object, such as "
    '{"state":"done"}. To write to a single row, put its rowIndex into the path.'
)
_EMPTY = "where holds an empty object, which matches every row; a write by filter takes none."
_ALWAYS = (
    'where matches every row, whatever it holds, as {"name":{"$text":""}} does; nothing was '
    'written. Narrow it. To write to all rows, send {"rowIndex":{"$gte":2}}.'
)


class FilterAsked(msgspec.Struct, frozen=True):
    """The rows that a write is for, and the number of them that the client expects at most."""

    where: Condition
    max_affected: int | None
    readings: tuple[str, ...] = ()
    """The second readings that were used."""


def filter_asked(text: bytes, again: Leniency = PLAIN) -> FilterAsked:
    """Parse the parameters of a write by filter. Raises InvalidQuery.

    The values of those in `again` are decoded once more.
    """
    asking = asking_of(decoded(text), again)
    where = parse_filter(asking)
    if where is None or where == AllOf(()):
        raise InvalidQuery(_MISSING)
    if _has_empty(where):
        raise InvalidQuery(_EMPTY)
    if verdict(where) is True:
        raise InvalidQuery(_ALWAYS)
    max_affected = parse_count(asking, MAX_AFFECTED)
    return FilterAsked(where, max_affected, tuple(asking.readings))


def filter_spelling(text: bytes) -> Sequence[tuple[str, Sequence[str]]]:
    """The filter as it was sent, decoded once, to recognise it when it comes again."""
    return sorted(
        (name, values) for name, values in decoded(text).items() if name.startswith(WHERE)
    )


def _has_empty(condition: Condition) -> bool:
    match condition:
        case Comparison():
            return False
        case Negation():
            return _has_empty(condition.condition)
        case AllOf() | AnyOf():
            return not condition.conditions or any(map(_has_empty, condition.conditions))
