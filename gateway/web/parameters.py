"""Query parameters of a read, parsed once into a `Query`.

Rules: an empty parameter is absent, unknown parameters are passed over, and what cannot be
understood is an error that says where: a filter is never dropped in silence. Each is read as it
stands; where that fails, as clients that encode oddly mean it (`gateway.web.lenient`).
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NoReturn, TypeVar

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
from gateway.web.query_string import Parameters

MAX_WHERE_BYTES = 4096
MAX_ORDER_FIELDS = 16
_LONGEST_ESCAPE = 3
"""Characters that stand for a byte, if it is percent-encoded."""

T = TypeVar("T")

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
    bracketed = frozenset(name.partition("[")[0] for name in parameters if "[" in name)
    return Asking(parameters, bracketed, again or Leniency())


def parse_query(asking: Asking, *, max_limit: int) -> Query:
    """The query of a list request; a `limit` over the plan's maximum is cut to it."""
    limit = _read(asking, "limit", _count)
    return Query(
        where=_where(asking),
        order=_order(asking),
        skip=_read(asking, "skip", _count) or 0,
        limit=min(DEFAULT_LIMIT if limit is None else limit, max_limit),
        keys=parse_keys(asking),
        wants_total=_read(asking, "count", _flag) or False,
    )


def parse_keys(asking: Asking) -> Selection | None:
    """The field names of `keys`: comma-separated, or a JSON array; None for all fields.

    Those that have a second reading are checked, so that it is tried if they are no fields.
    """
    listed = _bracketed_names(asking, "keys")
    if listed is not None:
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
    return any(_FLAGS.get(_folded(value)) for value in parameters.get("no-cache", ()))


def _read(asking: Asking, name: str, parse: Callable[[str, str], T]) -> T | None:
    """The one value of a parameter, parsed; None if it is absent or empty."""
    text = _text(asking, name)
    return None if text is None else parse(name, text)


def _text(asking: Asking, name: str) -> str | None:
    """The one value of a parameter; None if it is absent or empty."""
    given = asking.parameters.get(name)
    if given is None:
        return None
    values = {value for value in given if value}
    if len(values) > 1:
        raise InvalidQuery(f"{name} is given more than once, with different values.")
    if not values:
        return None
    text = values.pop()
    if name not in asking.again.parameters:
        return text
    asking.note(twice(name))
    return decoded_again(text)


def _bracketed_names(asking: Asking, name: Twice) -> list[str] | None:
    """The names that a parameter spells in brackets; None if it has none."""
    if name not in asking.bracketed:
        return None
    if _text(asking, name) is not None:
        raise InvalidQuery(f"{name} is given in two ways; send {name}=NAME,NAME.")
    asking.note(in_brackets(name))
    return [each for each in names_of(name, asking.parameters) if each.strip()]


def _count(name: str, text: str) -> int:
    stripped = text.strip()
    if _COUNT.fullmatch(stripped) is None:
        raise InvalidQuery(f"{name} must be a whole number from 0.")
    # Thousands of digits are slow to parse; no worksheet has so many rows.
    return int(stripped) if len(stripped) <= _COUNT_DIGITS else 10**_COUNT_DIGITS


def _flag(name: str, text: str) -> bool:
    flag = _FLAGS.get(_folded(text))
    if flag is None:
        raise InvalidQuery(f"{name} must be true or false.")
    return flag


def _folded(text: str) -> str:
    return text.strip().lower()


def _order(asking: Asking) -> tuple[SortTerm, ...]:
    listed = _bracketed_names(asking, "order")
    if listed is None:
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
    plain: json.JSONDecodeError | None = None
    for readings, spelled in _title_aliases(text):
        try:
            decoded = _decoded_where(spelled)
        except json.JSONDecodeError as error:  # nothing else lets it be read otherwise
            plain = plain or error
        else:
            for reading in readings:
                asking.note(reading)
            return parse_where(decoded)
    _check_length(text)
    raise _not_json(plain) from plain


def _title_aliases(text: str) -> Iterator[tuple[Sequence[str], str]]:
    """The text as it stands, then as clients that encode oddly may mean it."""
    yield (), text
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


def _not_json(error: json.JSONDecodeError | None) -> InvalidQuery:
    where = "" if error is None else f" at position {error.pos}: {error.msg}"
    return InvalidQuery(
        f"where is not JSON{where}. It is a percent-encoded JSON object, such as "
        '{"state":"California"}.'
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
