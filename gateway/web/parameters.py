"""Query parameters of a read, parsed once into a `Query`.

Rules: an empty parameter is absent, unknown parameters are passed over, and what cannot be
understood is an error that says where: a filter is never dropped in silence. Each reading is
tried as it stands; second readings for clients that encode oddly would be tried here.
"""

import json
import re
from collections.abc import Callable
from typing import NoReturn, TypeVar

from gateway.errors import InvalidQuery
from gateway.rows.conditions import parse_where
from gateway.rows.query import DEFAULT_LIMIT, Condition, Query, SortTerm
from gateway.web.query_string import WHERE_IN_BRACKETS, Parameters

MAX_WHERE_BYTES = 4096
MAX_ORDER_FIELDS = 16

T = TypeVar("T")

_COUNT = re.compile(r"[0-9]+")
_COUNT_DIGITS = 15
_FLAGS = {"true": True, "false": False}


def parse_query(parameters: Parameters, *, max_limit: int) -> Query:
    """The query of a list request; a `limit` over the plan's maximum is cut to it."""
    _refuse_brackets(parameters)
    limit = _read(parameters, "limit", _count)
    return Query(
        where=_read(parameters, "where", _where),
        order=_read(parameters, "order", _order) or (),
        skip=_read(parameters, "skip", _count) or 0,
        limit=min(DEFAULT_LIMIT if limit is None else limit, max_limit),
        keys=parse_keys(parameters),
        wants_total=_read(parameters, "count", _flag) or False,
    )


def parse_keys(parameters: Parameters) -> tuple[str, ...] | None:
    """The field names of `keys`: comma-separated, or a JSON array; None for all fields."""
    return _read(parameters, "keys", _keys)


def parse_no_cache(parameters: Parameters) -> bool:
    """Whether fresh data is asked for; like a directive that nobody knows, other values are not."""
    return any(_FLAGS.get(_folded(value)) for value in parameters.get("no-cache", ()))


def _read(parameters: Parameters, name: str, parse: Callable[[str, str], T]) -> T | None:
    """The one value of a parameter, parsed; None if it is absent or empty."""
    given = parameters.get(name)
    if given is None:
        return None
    values = {value for value in given if value}
    if len(values) > 1:
        raise InvalidQuery(f"{name} is given more than once, with different values.")
    return parse(name, values.pop()) if values else None


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


def _order(name: str, text: str) -> tuple[SortTerm, ...]:
    terms: dict[str, SortTerm] = {}
    for term in (_sort_term(name, each) for each in text.split(",")):
        terms.setdefault(term.field, term)  # a second term of a field has nothing left to sort
    if len(terms) > MAX_ORDER_FIELDS:
        raise InvalidQuery(f"{name} names more than {MAX_ORDER_FIELDS} fields.")
    return tuple(terms.values())


def _sort_term(name: str, term: str) -> SortTerm:
    stripped = term.strip()
    field = stripped.removeprefix("-")
    if not field.strip():
        raise InvalidQuery(
            f"{name} holds a term without a field name; it is FIELD or -FIELD, comma-separated."
        )
    return SortTerm(field, descending=stripped.startswith("-"))


def _keys(_: str, text: str) -> tuple[str, ...]:
    if text.startswith("["):
        try:
            names = json.loads(text)
        except (ValueError, RecursionError):
            names = None
        if isinstance(names, list) and all(isinstance(name, str) for name in names):
            return tuple(names)
    return tuple(name for name in text.split(",") if name.strip())


def _where(name: str, text: str) -> Condition:
    if len(text.encode("utf-8", "surrogatepass")) > MAX_WHERE_BYTES:
        raise InvalidQuery(f"{name} is longer than {MAX_WHERE_BYTES} bytes.")
    try:
        decoded = _where_decoder.decode(text)
    except json.JSONDecodeError as error:
        raise InvalidQuery(
            f"{name} is not JSON at position {error.pos}: {error.msg}. It is a percent-encoded "
            'JSON object, such as {"state":"California"}.'
        ) from error
    except RecursionError as error:
        raise InvalidQuery(f"{name} is nested too deep.") from error
    return parse_where(decoded)


def _refuse_brackets(parameters: Parameters) -> None:
    """A filter spelled `where[field][$gte]=1` would otherwise be an unknown parameter."""
    for name in parameters:
        if name.startswith(WHERE_IN_BRACKETS):
            raise InvalidQuery(
                f"{name} is not understood; send where as one JSON object, such as "
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


_where_decoder = json.JSONDecoder(
    parse_constant=_refuse_constant, object_pairs_hook=_distinct_members
)
