"""Query parameters of a read, parsed once into a `Query`; LRU cache of these by query string.

Rules
- An empty parameter is absent, unknown parameters are passed over, and what cannot be understood is
  an error that says where: a filter is never dropped in silence. Each is read as it stands; where
  that fails, as clients that encode oddly mean it (`gateway.web.lenient`).
- What is kept is bounded, in number and in bytes of text. Errors are not kept.
"""

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NoReturn

import msgspec

from gateway.errors import InvalidQuery
from gateway.query.query import DEFAULT_LIMIT, Condition, Query, SortTerm
from gateway.query.where import parse_where
from gateway.table.view import Selection
from gateway.web.lenient import (
    WHERE_QUOTES,
    Twice,
    decoded_again,
    in_brackets,
    is_escaped,
    json_of,
    names_of,
    twice,
    where_of,
)
from gateway.web.query_string import Parameters, decoded

KEPT_TEXTS = 512
LONGEST_KEPT_TEXT = 2048
"""In bytes: lists and rows keep 1 MiB of text each at most; a longer one is parsed each time."""

MAX_WHERE_BYTES = 4096
MAX_ORDER_FIELDS = 16
_LONGEST_ESCAPE = 3
"""Characters that stand for a byte, if it is percent-encoded."""

_COUNT = re.compile(r"[0-9]+")
_COUNT_DIGITS = 15
_MOST_DIGITS = 400
_FLAGS = {"true": True, "false": False}


class Leniency(msgspec.Struct, frozen=True):
    """What is percent-decoded once more, for as it stands it names fields that are none.

    Values of parameters as a whole, and single names of `keys`, where others may be fields.
    """

    parameters: frozenset[str] = frozenset()
    keys: frozenset[str] = frozenset()

    def with_unknown(self, parameter: str, names: Sequence[str]) -> "Leniency":
        """The same and what a parameter named that is no field."""
        if parameter == "keys":
            return Leniency(self.parameters, self.keys | set(names))
        return Leniency(self.parameters | {parameter}, self.keys)


PLAIN: Final = Leniency()


class ListAsked(msgspec.Struct, frozen=True):
    """What a list request asks for, and whether of Google itself."""

    query: Query
    no_cache: bool
    readings: tuple[str, ...] = ()
    """The second readings that it took to understand it."""


class RowAsked(msgspec.Struct, frozen=True):
    """Which fields of a row are asked for, None for all, and whether of Google itself."""

    keys: Selection | None
    no_cache: bool
    readings: tuple[str, ...] = ()


def list_asked(text: bytes, max_limit: int, again: Leniency = PLAIN) -> ListAsked:
    """What the sifted parameters of a list say, on a plan with this maximum for `limit`.

    The values of those in `again` are decoded once more.
    """
    parse = _kept_list if len(text) <= LONGEST_KEPT_TEXT else _parse_list
    return parse(text, max_limit, again)


def row_asked(text: bytes, again: Leniency = PLAIN) -> RowAsked:
    """What the sifted parameters of a read of one row say."""
    parse = _kept_row if len(text) <= LONGEST_KEPT_TEXT else _parse_row
    return parse(text, again)


def _parse_list(text: bytes, max_limit: int, again: Leniency) -> ListAsked:
    asking = asking_of(decoded(text), again)
    query = parse_query(asking, max_limit=max_limit)
    return ListAsked(query, parse_no_cache(asking.parameters), tuple(asking.readings))


def _parse_row(text: bytes, again: Leniency) -> RowAsked:
    asking = asking_of(decoded(text), again)
    keys = parse_keys(asking)
    return RowAsked(keys, parse_no_cache(asking.parameters), tuple(asking.readings))


_kept_list = lru_cache(KEPT_TEXTS)(_parse_list)
_kept_row = lru_cache(KEPT_TEXTS)(_parse_row)


@dataclass(frozen=True)
class Asking:
    """The parameters of a read, and how they are being read."""

    parameters: Parameters
    bracketed: frozenset[str]
    """Those that come in brackets."""
    again: Leniency
    readings: list[str] = field(default_factory=list)
    """The second readings that were needed."""

    def note(self, reading: str) -> None:
        if reading not in self.readings:
            self.readings.append(reading)


def asking_of(parameters: Parameters, again: Leniency | None = None) -> Asking:
    """Parameters to be read, some of them decoded once more."""
    bracketed = [name.partition("[")[0] for name in parameters if "[" in name]
    return Asking(parameters, frozenset(bracketed), again or PLAIN)


def parse_query(asking: Asking, *, max_limit: int) -> Query:
    """The query of a list request; a `limit` over the plan's maximum is cut to it."""
    limit = _count(asking, "limit")
    return Query(
        where=_where(asking),
        order=_order(asking),
        skip=_count(asking, "skip") or 0,
        limit=min(DEFAULT_LIMIT if limit is None else limit, max_limit),
        keys=parse_keys(asking),
        wants_total=_flag(asking, "count"),
    )


def parse_keys(asking: Asking) -> Selection | None:
    """The field names of `keys`: comma-separated, or a JSON array; None for all fields.

    Those that have a second reading are checked, so that it is tried if they are no fields.
    """
    if "keys" in asking.bracketed:
        listed = _bracketed_names(asking, "keys")
        return Selection(tuple(listed)) if listed else None
    text = _text(asking, "keys")
    if text is None:
        return None
    names = _names(text)
    if not is_escaped(text):
        return Selection(names)
    if asking.again.keys:
        asking.note(twice("keys"))
    meant = [each for name in names for each in _meant(name, asking.again.keys)]
    return Selection(
        tuple(meant), checked=tuple(filter(is_escaped, set(names) - asking.again.keys))
    )


def parse_no_cache(parameters: Parameters) -> bool:
    """Whether fresh data is asked for; like a directive that nobody knows, other values are not."""
    given = parameters.get("no-cache")
    return given is not None and any(_FLAGS.get(_folded(value)) for value in given)


def _text(asking: Asking, name: str) -> str | None:
    """The one value of a parameter; None if it is absent or empty."""
    values = set(asking.parameters.get(name, ()))
    values.discard("")
    if len(values) > 1:
        raise InvalidQuery(f"{name} is given more than once, with different values.")
    if not values:
        return None
    text = values.pop()
    if name not in asking.again.parameters:
        return text
    asking.note(twice(name))
    return decoded_again(text)


def _bracketed_names(asking: Asking, name: Twice) -> list[str]:
    """The names that a parameter spells in brackets."""
    if _text(asking, name) is not None:
        raise InvalidQuery(f"{name} is given in two ways; send {name}=NAME,NAME.")
    asking.note(in_brackets(name))
    return [each for each in names_of(name, asking.parameters) if each.strip()]


def _count(asking: Asking, name: str) -> int | None:
    """A whole number; None if it is absent or empty."""
    text = _text(asking, name) if name in asking.parameters else None
    if text is None:
        return None
    stripped = text.strip()
    if _COUNT.fullmatch(stripped) is None:
        raise InvalidQuery(f"{name} must be a whole number from 0.")
    # Thousands of digits are slow to parse; no worksheet has so many rows.
    return int(stripped) if len(stripped) <= _COUNT_DIGITS else 10**_COUNT_DIGITS


def _flag(asking: Asking, name: str) -> bool:
    """Whether it is true; false if it is absent or empty."""
    text = _text(asking, name) if name in asking.parameters else None
    if text is None:
        return False
    flag = _FLAGS.get(_folded(text))
    if flag is None:
        raise InvalidQuery(f"{name} must be true or false.")
    return flag


def _folded(text: str) -> str:
    return text.strip().lower()


def _order(asking: Asking) -> tuple[SortTerm, ...]:
    if "order" in asking.bracketed:
        listed = _bracketed_names(asking, "order")
    else:
        text = _text(asking, "order")
        listed = [] if text is None else text.split(",")
    terms: dict[str, SortTerm] = {}
    for term in map(_sort_term, listed):
        terms.setdefault(term.field, term)  # a second term of a field has nothing left to sort
    if len(terms) > MAX_ORDER_FIELDS:
        raise InvalidQuery(f"order names more than {MAX_ORDER_FIELDS} fields.")
    return tuple(terms.values())


def _sort_term(term: str) -> SortTerm:
    stripped = term.strip()
    field = stripped.removeprefix("-")
    if not field.strip():
        raise InvalidQuery(
            "order holds a term without a field name; it is FIELD or -FIELD, comma-separated."
        )
    return SortTerm(field, descending=stripped.startswith("-"))


def _meant(name: str, again: frozenset[str]) -> Sequence[str]:
    return _names(decoded_again(name)) if name in again else (name,)


def _names(text: str) -> tuple[str, ...]:
    if text.startswith("["):
        try:
            names = json.loads(text)
        except (ValueError, RecursionError):
            names = None
        if isinstance(names, list) and all(isinstance(name, str) for name in names):
            return tuple(names)
    return tuple(name for name in text.split(",") if name.strip())


def _where(asking: Asking) -> Condition | None:
    text = _text(asking, "where")
    if "where" in asking.bracketed:
        if text is not None:
            raise InvalidQuery("where is given in two ways; send it as one JSON object.")
        asking.note(in_brackets("where"))
        return parse_where(where_of(asking.parameters, max_bytes=MAX_WHERE_BYTES))
    if text is None:
        return None
    try:
        decoded = _decoded_where(text)
    except json.JSONDecodeError as error:  # nothing else lets it be read otherwise
        decoded = _decoded_leniently(asking, text, error)
    return parse_where(decoded)


def _decoded_leniently(asking: Asking, text: str, plain: json.JSONDecodeError) -> object:
    for readings, spelled in _other_readings(text):
        try:
            decoded = _decoded_where(spelled)
        except json.JSONDecodeError:
            continue
        for reading in readings:
            asking.note(reading)
        return decoded
    _check_length(text)
    raise _not_json(plain) from plain


def _other_readings(text: str) -> Iterator[tuple[Sequence[str], str]]:
    """The text as clients that encode oddly may mean it."""
    if len(text) > MAX_WHERE_BYTES * _LONGEST_ESCAPE:
        return
    once_more = decoded_again(text) if is_escaped(text) else None
    if once_more is not None:
        yield (twice("where"),), once_more
    if (quoted := json_of(text)) != text:
        yield (WHERE_QUOTES,), quoted
    if once_more is not None and (quoted := json_of(once_more)) != once_more:
        yield (twice("where"), WHERE_QUOTES), quoted


def _decoded_where(text: str) -> object:
    try:
        decoded: object = _where_decoder.decode(text)
    except RecursionError as error:
        raise InvalidQuery("where is nested too deep.") from error
    _check_length(text)
    return decoded


def _check_length(text: str) -> None:
    if len(text.encode("utf-8", "surrogatepass")) > MAX_WHERE_BYTES:
        raise InvalidQuery(f"where is longer than {MAX_WHERE_BYTES} bytes.")


def _not_json(error: json.JSONDecodeError) -> InvalidQuery:
    return InvalidQuery(
        f"where is not JSON at position {error.pos}: {error.msg}. It is a percent-encoded JSON "
        'object, such as {"state":"California"}.'
    )


def _refuse_constant(constant: str) -> NoReturn:
    raise InvalidQuery(f"where holds {constant}, which is not JSON.")


def _distinct_members(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """The object; one of two criteria of the same name would be lost in silence."""
    members = dict(pairs)
    if len(members) < len(pairs):
        raise InvalidQuery("where names a member twice; join them with $and.")
    return members


def _integer(digits: str) -> int | float:
    """The integer; one of so many digits is beyond every double, and slow to parse or refused."""
    return int(digits) if len(digits) <= _MOST_DIGITS else math.inf


_where_decoder = json.JSONDecoder(
    parse_constant=_refuse_constant, parse_int=_integer, object_pairs_hook=_distinct_members
)
