"""Selectors of writes to several rows: the filter of `where`, the key fields of `on_conflict`.

Rules
- A write by filter changes many rows, so no part of its filter is ignored. A missing or empty
  `where`, an empty object in it, and a filter that does not depend on the rows
  (`operators.verdict`) are errors.
- Each row of an upsert has a value in each key field, and no two rows have values that could match
  one cell, as far as this is known without the sheet. If the first row lacks a key field, the
  header decides if that is an unknown field.
"""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import msgspec

from gateway.errors import InvalidQuery, Problem
from gateway.query.operators import verdict
from gateway.query.query import AllOf, AnyOf, Comparison, Condition, Negation
from gateway.table.header import Selection
from gateway.table.quoting import quoted
from gateway.table.record import MAX_PROBLEMS, NEVER_STORED, Stored, key_form, pointer, same_key
from gateway.table.texts import composed
from gateway.telemetry.events import note_reading
from gateway.web.admission import Admitted
from gateway.web.body import RowsBody, parse_rows, read_body
from gateway.web.lenient import decoded_again, is_escaped, twice
from gateway.web.parameters import (
    PLAIN,
    Leniency,
    asking_of,
    bracketed_names,
    decoded,
    parse_count,
    parse_filter,
    single_text,
    split_names,
)
from gateway.web.parsing import unstorable
from gateway.web.request import Request
from gateway.web.signature import MAX_AFFECTED, ON_CONFLICT, WHERE
from gateway.worksheets.writes import Fields

MAX_CONFLICT_FIELDS = 16
_MISSING = (
    "A write by filter needs a condition: send where as a percent-encoded JSON object, such as "
    '{"state":"done"}. To write to a single row, put its rowIndex into the path.'
)
_EMPTY = "where has an empty object, which matches every row. A write by filter needs a condition."
_ALWAYS = (
    'where matches every row, as {"name":{"$text":""}} does; nothing was written. '
    'Narrow it. To write to all rows, send {"rowIndex":{"$gte":2}}.'
)


class FilterAsked(msgspec.Struct, frozen=True):
    """Filter of a write, and the maximum number of matching rows that the client accepts."""

    where: Condition
    max_affected: int | None
    readings: tuple[str, ...] = ()
    """Names of the lenient decodings that were used."""


def filter_asked(text: bytes, again: Leniency = PLAIN) -> FilterAsked:
    """Parse the parameters of a write by filter. Raises InvalidQuery.

    Parameters in `again` are decoded once more.
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
    """The filter as sent, decoded once, for the fingerprint of an idempotent request."""
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


@dataclass(frozen=True, kw_only=True)
class UpsertBody(RowsBody):
    """Rows to create or update, and the key fields that match existing rows."""

    keys: tuple[str, ...]


async def read_upsert(request: Request, admitted: Admitted) -> UpsertBody:
    """Parse and check an upsert. Raises InvalidQuery, InvalidBody."""
    parse = partial(_parse_upsert, conflict_names(admitted.asked))
    return await read_body(request, admitted.caller.key_id, parse)


def conflict_names(text: bytes) -> Selection:
    """Parse the distinct names of `on_conflict`: comma-separated, a JSON array, or in brackets."""
    asking = asking_of(decoded(text))
    whole = ""
    if ON_CONFLICT in asking.bracketed:
        names: Sequence[str] = bracketed_names(asking, ON_CONFLICT)
    else:
        whole = single_text(asking, ON_CONFLICT) or ""
        names = split_names(whole)
    for reading in asking.readings:
        note_reading(reading)
    distinct = {name.strip(): name for name in reversed(names)}
    _check_count(distinct)
    never = NEVER_STORED & set(distinct)
    if not distinct or never:
        what = f"names {quoted(min(never))}, which is not a column" if never else "names no field"
        raise InvalidQuery(
            f"{ON_CONFLICT} {what}. It takes the fields that identify a row, comma-separated: "
            f"{ON_CONFLICT}=sku."
        )
    return Selection(tuple(reversed(distinct.values())), whole=whole)


def _parse_upsert(names: Selection, body: bytes, content_type: str) -> UpsertBody:
    parsed = parse_rows(body, content_type)
    keys = _keys_in(parsed.rows[0], names)
    find = _finder(parsed.rows[0])
    problems = _problems(parsed, keys) if all(map(find, keys)) else []
    if problems:
        raise unstorable(problems)
    return UpsertBody(keys=keys, rows=parsed.rows, is_array=parsed.is_array)


def _check_count(names: Collection[str]) -> None:
    if len(names) > MAX_CONFLICT_FIELDS:
        raise InvalidQuery(f"{ON_CONFLICT} names more than {MAX_CONFLICT_FIELDS} fields.")


def _keys_in(fields: Fields, names: Selection) -> tuple[str, ...]:
    """The key fields that `names` mean, among the fields of a row.

    The whole text is one name if the row has such a field. Names that are fields only after another
    decoding are decoded once more.
    """
    find = _finder(fields)
    if names.whole and find(names.whole) is not None:
        return (names.whole,)
    keys: dict[str, None] = {}
    for name in names.names:
        again = split_names(decoded_again(name)) if is_escaped(name) else ()
        if again and find(name) is None and all(find(each) for each in again):
            note_reading(twice(ON_CONFLICT))
            keys |= dict.fromkeys(again)
        else:
            keys[name] = None
    _check_count(keys)
    return tuple(keys)


def _problems(body: RowsBody, keys: Sequence[str]) -> list[Problem]:
    """The first `MAX_PROBLEMS` problems, and all further ones of the last row among them."""
    problems: list[Problem] = []
    seen: list[dict[Hashable, int]] = [{} for _ in keys]
    for number, fields in enumerate(body.rows):
        names = map(_finder(fields), keys)
        row = [None if name is None else fields[name] for name in names]
        at = pointer(str(number)) if body.is_array else pointer()
        missing = [key for key, value in zip(keys, row, strict=True) if value in (None, "")]
        needed = f"{ON_CONFLICT} names this field, so it needs a value."
        problems += [Problem(pointer(key, at=at), needed) for key in missing]
        first = None if missing else same_key(row, [*map(key_form, row)], number, seen)
        if first is not None:
            problems.append(Problem(at, f"The row at {pointer(str(first))} has the same key."))
        if len(problems) >= MAX_PROBLEMS:
            break
    return problems


def _finder(fields: Mapping[str, Stored]) -> Callable[[str], str | None]:
    """Make a search for a field: by the exact name, without blanks around it, or unique in NFC."""
    trimmed: dict[str, str] = {}
    by_form: dict[str, str | None] = {}

    def find(key: str) -> str | None:
        if key in fields:
            return key
        if not trimmed:
            for name in fields:
                trimmed.setdefault(name.strip(), name)
        plain = key.strip()
        if plain in trimmed:
            return trimmed[plain]
        if not by_form:
            for name in fields:
                form = composed(name.strip())
                by_form[form] = None if form in by_form else name
        return by_form.get(composed(plain))

    return find
