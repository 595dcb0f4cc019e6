"""Query parameters: split while encoded, then parsed into a `Query`; LRU cache by query string.

Rules
- The cache key contains neither unknown parameters nor credentials, so that random values do not
  fill the cache. Only unknown names are examined (`gateway.web.unknown_parameters`), so that
  correct requests pay nothing.
- If a client encoded a whole query into the name of one parameter, this query is decoded again.
- An empty parameter is absent. An invalid value is an error that names the parameter: no filter is
  dropped silently. If the first decoding fails, others are tried (`gateway.web.lenient`).
- The cache has a maximum of entries and of bytes of text. Errors are not cached.
"""

import json
import math
import re
import string
from binascii import a2b_qp
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Final, NoReturn
from urllib.parse import quote, unquote_plus, unquote_to_bytes

import msgspec

from gateway.errors import InvalidQuery
from gateway.query.operators import Condition
from gateway.query.query import DEFAULT_LIMIT, Query, SortTerm, parse_where
from gateway.table.header import Selection
from gateway.web.json_faults import WHERE, explain
from gateway.web.lenient import (
    WHERE_QUOTES,
    decoded_again,
    in_brackets,
    is_escaped,
    json_of,
    names_of,
    twice,
    where_of,
)
from gateway.web.signature import ANY, CREDENTIALS, CURSOR, PARAMETERS, VALUES, Signature
from gateway.web.unknown_parameters import judge

_METHOD = re.compile(
    rb"(?:_method|x[-_]http[-_]method(?:[-_]override)?|x[-_]method[-_]override)(?:\[\])?(?:=.*)?",
    re.IGNORECASE | re.DOTALL,
)
"""Method override in a query, such as `_method=DELETE`. The parameter `method` is ignored."""
_CREDENTIALS = frozenset(map(str.encode, CREDENTIALS))
_NAMES: Final = {name.encode(): name for name in (*PARAMETERS, *CREDENTIALS)}
_KNOWN = b"|".join(re.escape(name.encode()) for name in sorted((*PARAMETERS, *CREDENTIALS)))
_FOLDED: Final = re.compile(b"(?:" + _KNOWN + b")%3[Dd]")
_UNFOLDED: Final = re.compile(b"&(?=(?:" + _KNOWN + rb")(?:=|\[|%5[Bb]))")
_BRACKETS: Final = ANY.brackets
_ENCODED_BRACKETS: Final = tuple(start.replace(b"[", b"%5B") for start in _BRACKETS)

# Codes of characters: `37 in name` takes a tenth of the time of `b"%" in name`.
_PERCENT, _PLUS, _EQUALS, _RETURN, _LINE_FEED = b"%+=\r\n"
_ESCAPED_BYTE = re.compile(rb"%[0-9A-Fa-f]{2}")
_TWICE = re.compile(rb"%25[0-9A-Fa-f]{2}")
_OF_PAGE: Final = re.compile(b"(?:^|&)(?:skip|cursor)[^&]*")
"""Parameters that select a page."""
_SAFE: Final = f"{string.ascii_letters}{string.digits}-._~!$&'()*+,;=:@/?%".encode()
"""Characters that a query can contain unescaped (RFC 3986, 3.4), as bytes."""
_FREE = frozenset((CURSOR, "skip", "limit", "keys", "keys[]", "count", VALUES, "no-cache"))
"""Parameters that clients can change between the pages of a cursor."""
_OF_TEXT = frozenset((b"where", b"order", b"keys"))
"""Parameters whose values can contain `&`."""

Parameters = Mapping[str, Sequence[str]]
"""The decoded values of each parameter, by name, in the order of the query."""

KEPT_TEXTS = 512
LONGEST_KEPT_TEXT = 1024
"""Maximum size of a cached text in bytes. Longer texts are not cached.

So each cache has at most 0.5 MiB of text, and 15 MB of parsed parameters.
"""

MAX_WHERE_BYTES = 4096
MAX_ORDER_FIELDS = 16
MAX_UNKNOWN = 50
"""Maximum number of unknown names in a request, because each waiting write stores them.

More names are an error.
"""
_BYTE_ORDER_MARK = "\ufeff"
_LONGEST_CHARACTER = 4
"""Maximum number of bytes of a character in UTF-8."""
_LONGEST_ESCAPE = 3
"""Number of characters of a percent-encoded byte."""

_COUNT_DIGITS = 15
_MOST_DIGITS = 400
_FLAGS = {"true": True, "false": False}
_VALUES = {"typed": True, "displayed": False}


class Sifted(msgspec.Struct, frozen=True):
    """A query string, split into the operation's parameters (`asked`) and the credentials.

    Both are still percent-encoded.
    """

    asked: bytes
    credentials: bytes
    is_odd: bool = False
    """True if a parameter name contains a whole encoded query, or a parameter is refused."""
    refusal: str = ""
    """Error message for a parameter that must not be ignored; "" without one."""
    unknown: tuple[str, ...] = ()
    """Distinct names of unknown parameters, which are ignored unless a field has the name."""
    method: bytes = b""
    """Method overrides in the query, such as `&_method=PUT`, still encoded."""


_NOTHING: Final = Sifted(b"", b"")


def sift(query_string: bytes, operation: Signature = ANY) -> Sifted:
    """Split a raw query string into the operation's parameters, credentials, and unknown names."""
    if not query_string:
        return _NOTHING
    asked: list[bytes] = []
    credentials: list[bytes] = []
    is_odd, refused, method = False, "", b""
    unknown: dict[str, Sequence[str]] = {}
    names, brackets = operation.names, operation.brackets
    for part in query_string.split(b"&"):
        name, _, value = part.partition(b"=")
        if _PERCENT in name or _PLUS in name:  # some clients encode names more than necessary
            name = unquote_plus(name.decode("latin-1")).encode("utf-8", "surrogatepass")
            if name in names:
                part = name + b"=" + value
        if name in names or name.startswith(brackets):
            asked.append(part)
        elif name in _CREDENTIALS:
            credentials.append(part)
        elif _FOLDED.match(part) or (name.replace(b"%5b", b"%5B").startswith(_ENCODED_BRACKETS)):
            inner = sift(_unfolded(part), operation)
            asked.append(inner.asked)
            credentials.append(inner.credentials)
            is_odd, refused = True, refused or inner.refusal
            unknown |= {each: (each,) for each in inner.unknown}
        elif _METHOD.fullmatch(name):
            method += b"&" + part
        else:
            text = name.decode("utf-8", "replace")
            refusal, fields = judge(text, operation, has_value=bool(value))
            refused = refused or refusal
            if fields:
                unknown[text] = fields
    if len(unknown) > MAX_UNKNOWN:
        refused = refused or (
            f"The request exceeds the limit of {MAX_UNKNOWN} unknown parameters. Remove them."
        )
    if not (credentials or unknown or is_odd or refused or method):
        return Sifted(b"&".join(asked), b"")
    return Sifted(
        b"&".join(filter(None, asked)),
        b"&".join(filter(None, credentials)),
        is_odd or bool(refused),
        refused,
        tuple(dict.fromkeys(chain.from_iterable(unknown.values()))) if unknown else (),
        method,
    )


def is_given(name: str, query_string: bytes) -> bool:
    """True if the query has this parameter, with or without brackets.

    Also True if the query has a parameter that is an error, so that admission raises this error.
    """
    sifted = sift(query_string)
    given = (each.partition("[")[0] for each in asking_of(sifted.asked).parameters)
    return bool(sifted.refusal) or name in given


def is_filled(name: str, query_string: bytes) -> bool:
    """True if the query has this parameter with a value."""
    return any(asking_of(sift(query_string).asked).parameters.get(name, ()))


class Leniency(msgspec.Struct, frozen=True):
    """Parameters to decode once more, because they name fields that do not exist."""

    parameters: frozenset[str] = frozenset()
    """Names of parameters."""
    keys: frozenset[str] = frozenset()
    """Names in the value of `keys`."""

    def with_unknown(self, parameter: str, names: Sequence[str]) -> "Leniency":
        """Return a copy with one more parameter, or for `keys` with more of its names."""
        if parameter == "keys":
            return Leniency(self.parameters, self.keys | set(names))
        return Leniency(self.parameters | {parameter}, self.keys)


PLAIN: Final = Leniency()


class ListAsked(msgspec.Struct, frozen=True):
    """Parsed parameters of a list. With `no_cache` the rows are reread from Google."""

    query: Query
    no_cache: bool
    readings: tuple[str, ...] = ()
    """Names of the lenient decodings that were used."""
    others: bytes = b""
    """The query without `skip` and `cursor`, for links to other pages, escaped for a header."""
    bound: bytes = b""
    """`where` and `order` as they were sent, in MessagePack. A cursor is valid only for them."""


class RowAsked(msgspec.Struct, frozen=True):
    """Parsed parameters of a read of one row. With `no_cache` the row is reread from Google.

    `keys` are the fields to return, or None for all fields.
    """

    keys: Selection | None
    no_cache: bool
    readings: tuple[str, ...] = ()


def list_asked(text: bytes, max_limit: int, again: Leniency = PLAIN) -> ListAsked:
    """Parse the parameters of a list, and decode the ones in `again` once more.

    `text` is the encoded query. `max_limit` is the plan's maximum of `limit`.
    """
    parse = _kept_list if len(text) <= LONGEST_KEPT_TEXT else _parse_list
    return parse(text, max_limit, again)


def row_asked(text: bytes, again: Leniency = PLAIN) -> RowAsked:
    """Parse the parameters of a read of one row, and decode the ones in `again` once more."""
    parse = _kept_row if len(text) <= LONGEST_KEPT_TEXT else _parse_row
    return parse(text, again)


_packed = msgspec.msgpack.Encoder().encode
_decode, _encode = msgspec.json.Decoder().decode, msgspec.json.Encoder().encode


def _parse_list(text: bytes, max_limit: int, again: Leniency) -> ListAsked:
    asking = asking_of(text, again)
    query = parse_query(asking, max_limit=max_limit)
    others, bound = text, b""
    if text.find(b"skip") >= 0 or text.find(b"cursor") >= 0:
        others = _OF_PAGE.sub(b"", text).strip(b"&")
    if others.translate(None, _SAFE):
        others = quote(others, _SAFE).encode()
    if query.wants_place:
        given = sorted(asking.parameters.items())
        bound = _packed([each for each in given if each[0] not in _FREE])
    no_cache = "no-cache" in asking.parameters and parse_no_cache(asking.parameters)
    return ListAsked(query, no_cache, tuple(asking.readings), others, bound)


def _parse_row(text: bytes, again: Leniency) -> RowAsked:
    asking = asking_of(text, again)
    keys = parse_keys(asking)
    return RowAsked(keys, parse_no_cache(asking.parameters), tuple(asking.readings))


def asks_for_types(text: bytes) -> bool | None:
    """Return True for `values=typed`, False for `values=displayed`, None if absent or empty.

    `text` is the encoded query. Raises InvalidQuery for another value.
    """
    parse = _kept_values if len(text) <= LONGEST_KEPT_TEXT else _parse_values
    return parse(text)


def _parse_values(text: bytes) -> bool | None:
    asked = single_text(asking_of(text), VALUES)
    if asked is None:
        return None
    is_typed = _VALUES.get(_folded(asked))
    if is_typed is None:
        raise InvalidQuery(f"{VALUES} must be 'typed' or 'displayed'.")
    return is_typed


_kept_values = lru_cache(KEPT_TEXTS)(_parse_values)
_kept_list = lru_cache(KEPT_TEXTS)(_parse_list)
_kept_row = lru_cache(KEPT_TEXTS)(_parse_row)


class Asking(msgspec.Struct, frozen=True):
    """Decoded parameters of a request, before they are parsed to numbers, names or conditions."""

    parameters: Parameters
    bracketed: Sequence[str] = ()
    """Names of the parameters with brackets, without their brackets."""
    again: Leniency = PLAIN
    readings: list[str] = []
    """Names of the lenient decodings that were used."""

    def note(self, reading: str) -> None:
        if reading not in self.readings:
            self.readings.append(reading)


def asking_of(parameters: bytes, again: Leniency = PLAIN) -> Asking:
    """Decode a query as a form: `+` is a blank, text is UTF-8.

    `again` is stored for the functions that parse the parameters.
    """
    values: dict[str, list[str]] = {}
    bracketed: list[str] = []
    for part in parameters.split(b"&") if parameters else ():
        name, _, value = part.partition(b"=")
        known = _NAMES.get(name)
        if known is None:
            known = _decoded_text(name)
            if "[" in known:
                bracketed.append(known.partition("[")[0])
        text = value.decode("ascii") if value.isalnum() else _decoded_text(value)
        values.setdefault(known, []).append(text)
    return Asking(values, bracketed, again)


def parse_query(asking: Asking, *, max_limit: int) -> Query:
    """Parse the query of a list. Raises InvalidQuery.

    Reduces `limit` to `max_limit`, the maximum of the plan.
    """
    given: Collection[str] = asking.parameters
    if asking.bracketed:
        given = {*given, *asking.bracketed}
    limit = parse_count(asking, "limit") if "limit" in given else None
    skip = parse_count(asking, "skip") if "skip" in given else None
    cursor = (single_text(asking, CURSOR) or "") if CURSOR in given else None
    if cursor is not None and skip is not None:
        raise InvalidQuery(
            "Send cursor or skip, not both. cursor loses no row if the worksheet changes."
        )
    where = parse_filter(asking) if "where" in given else None
    order, whole_order = _order(asking) if "order" in given else ((), None)
    return Query(
        where=where,
        order=order,
        whole_order=whole_order,
        skip=skip or 0,
        wants_place=skip is None,
        cursor=cursor,
        limit=min(DEFAULT_LIMIT if limit is None else limit, max_limit),
        keys=parse_keys(asking) if "keys" in given else None,
        wants_total="count" in given and _flag(asking, "count"),
    )


def parse_keys(asking: Asking) -> Selection | None:
    """Parse `keys`: comma-separated field names, or a JSON array. Returns None for all fields.

    `Selection.checked` are the names that are still percent-encoded. The caller decodes such a name
    once more if the worksheet has no field with this name.
    """
    if "keys" in asking.bracketed:
        listed = bracketed_names(asking, "keys")
        return Selection(tuple(listed)) if listed else None
    text = single_text(asking, "keys")
    if text is None:
        return None
    names = split_names(text)
    whole = "" if names == (text,) else text
    if "%" not in text or not is_escaped(text):
        return Selection(names, whole=whole)
    if asking.again.keys:
        asking.note(twice("keys"))
    meant = [
        each
        for name in names
        for each in (split_names(decoded_again(name)) if name in asking.again.keys else (name,))
    ]
    checked = tuple(filter(is_escaped, set(names) - asking.again.keys))
    return Selection(tuple(meant), checked, whole)


def parse_no_cache(parameters: Parameters) -> bool:
    """True for `no-cache=true`. Invalid values are ignored, like unknown cache directives."""
    given = parameters.get("no-cache")
    return given is not None and any(_FLAGS.get(_folded(value)) for value in given)


def _decoded_text(encoded: bytes) -> str:
    if _PERCENT not in encoded and _PLUS not in encoded:
        return encoded.decode("utf-8", "replace")
    text = encoded.replace(b"+", b" ")
    if _EQUALS in text or _RETURN in text or _LINE_FEED in text:
        return unquote_to_bytes(text).decode("utf-8", "replace")
    # The decoder of quoted-printable, whose escapes begin with `=`, takes a tenth of the time.
    found = a2b_qp(text.replace(b"%", b"="))
    if len(found) + 2 * text.count(b"%") != len(text):  # a `%` begins no escape
        found = unquote_to_bytes(text)
    return found.decode("utf-8", "replace")


def _unfolded(part: bytes) -> bytes:
    """Return the query that a client percent-encoded into `part`: decoded names, encoded values.

    If `part` has a value after a plain `=`, the name is decoded, and the value only if it is
    encoded twice.
    """
    name, _, value = part.partition(b"=")
    if value and not _FOLDED.match(part):
        again = unquote_to_bytes(value) if _TWICE.search(value) else value
        return unquote_to_bytes(name) + b"=" + again
    query = unquote_to_bytes(part.removesuffix(b"="))
    return b"&".join(map(_encoded, _UNFOLDED.split(query)))


def _encoded(part: bytes) -> bytes:
    name, _, value = part.partition(b"=")
    others = b""
    if name not in _OF_TEXT and not name.startswith(_BRACKETS):
        value, ampersand, unknown = value.partition(b"&")
        others = ampersand + unknown
    if _ESCAPED_BYTE.search(part) is None:
        value = quote(value, safe=b"").encode("ascii")
    return name + b"=" + value + others


def single_text(asking: Asking, name: str) -> str | None:
    """Return the only value of a parameter, or None if the parameter is absent or empty.

    Raises InvalidQuery if the parameter has different values.
    """
    values = asking.parameters.get(name, ())
    if len(values) > 1:
        values = [*dict.fromkeys(filter(None, values))]
        if len(values) > 1:
            raise InvalidQuery(
                f"{name} appears more than once, with different values. Send it once."
            )
    if not values or not values[0]:
        return None
    text = values[0]
    if name not in asking.again.parameters:
        return text
    asking.note(twice(name))
    return decoded_again(text)


def bracketed_names(asking: Asking, name: str) -> list[str]:
    """Return the names in a parameter with brackets, such as `keys[]=a&keys[]=b`.

    Raises InvalidQuery if the query also has the parameter without brackets.
    """
    if single_text(asking, name) is not None:
        raise InvalidQuery(f"{name} is sent with and without brackets. Send only {name}=NAME,NAME.")
    asking.note(in_brackets(name))
    return [each for each in names_of(name, asking.parameters) if each.strip()]


def parse_count(asking: Asking, name: str) -> int | None:
    """Parse a parameter as a whole number. Returns None if the parameter is absent or empty.

    Raises InvalidQuery for another text. Returns 10**15 for a number with more than 15 digits.
    """
    text = single_text(asking, name)
    if text is None:
        return None
    stripped = text.strip()
    if not (stripped.isascii() and stripped.isdigit()):
        raise InvalidQuery(f"{name} must be a whole number, 0 or more.")
    # Thousands of digits are slow to parse, and no worksheet has so many rows.
    return int(stripped) if len(stripped) <= _COUNT_DIGITS else 10**_COUNT_DIGITS


def _flag(asking: Asking, name: str) -> bool:
    """Parse a parameter as a boolean. Returns False if the parameter is absent or empty.

    Raises InvalidQuery for another text.
    """
    text = single_text(asking, name)
    if text is None:
        return False
    flag = _FLAGS.get(_folded(text))
    if flag is None:
        raise InvalidQuery(f"{name} must be true or false.")
    return flag


def _folded(text: str) -> str:
    return text.strip().lower()


def _order(asking: Asking) -> tuple[tuple[SortTerm, ...], SortTerm | None]:
    """Parse `order` into its terms: comma-separated, as JSON array or in brackets.

    The second result is the whole text as one term if it has commas or is a JSON array, because it
    can also be the name of a field; otherwise None.
    """
    if "order" in asking.bracketed:
        return _parse_order("", bracketed_names(asking, "order"))
    text = single_text(asking, "order")
    if text is None:
        return (), None
    return _kept_order(text) if len(text) <= LONGEST_KEPT_TEXT else _parse_order(text)


def _parse_order(
    text: str, listed: Sequence[str] | None = None
) -> tuple[tuple[SortTerm, ...], SortTerm | None]:
    whole = None
    if listed is None:
        names = listed_names(text) if text.startswith("[") else None
        listed = text.split(",") if names is None else names
        whole = None if len(listed) == 1 and names is None else _sort_term(text)
    terms = dict.fromkeys(map(_sort_term, listed))
    if len(terms) > MAX_ORDER_FIELDS and len({each.field for each in terms}) > MAX_ORDER_FIELDS:
        raise InvalidQuery(f"order exceeds the limit of {MAX_ORDER_FIELDS} fields. Send fewer.")
    return tuple(terms), whole


_kept_order = lru_cache(KEPT_TEXTS)(_parse_order)  # many filters are sorted alike


def _sort_term(term: str) -> SortTerm:
    name = term.strip()
    return SortTerm(name[1:], True) if name.startswith("-") else SortTerm(name)


def split_names(text: str) -> tuple[str, ...]:
    """Parse names that are comma-separated or a JSON array."""
    names = listed_names(text) if text.startswith("[") else None
    return tuple(name for name in text.split(",") if name.strip()) if names is None else names


def listed_names(text: str) -> tuple[str, ...] | None:
    """Parse a JSON array of strings. Returns None for any other text."""
    try:
        names = json.loads(text)
    except (ValueError, RecursionError):
        return None
    is_list = isinstance(names, list) and all(isinstance(name, str) for name in names)
    return tuple(names) if is_list else None


def parse_filter(asking: Asking) -> Condition | None:
    """Parse `where` into a condition. Returns None if `where` is absent or empty.

    Raises InvalidQuery.
    """
    text = single_text(asking, "where")
    if "where" in asking.bracketed:
        if text is not None:
            raise InvalidQuery("where is sent with and without brackets. Send one JSON object.")
        asking.note(in_brackets("where"))
        return parse_where(where_of(asking.parameters, max_bytes=MAX_WHERE_BYTES))
    if text is None:
        return None
    parse = _kept_where if len(text) <= LONGEST_KEPT_TEXT else _parse_where
    try:
        return parse(text)
    except json.JSONDecodeError as error:  # only invalid JSON has other decodings
        return parse_where(_decoded_leniently(asking, text, error))


def _parse_where(text: str) -> Condition:
    return parse_where(_decoded_where(text))


_kept_where = lru_cache(KEPT_TEXTS)(_parse_where)  # many lists differ only in their page


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
    raise InvalidQuery(explain(WHERE, text, plain)) from plain


def _other_readings(text: str) -> Iterator[tuple[Sequence[str], str]]:
    """Yield other decodings of `where`: names of the decodings, and the decoded text."""
    if len(text) > MAX_WHERE_BYTES * _LONGEST_ESCAPE:
        return
    if text.startswith(_BYTE_ORDER_MARK):
        yield (), text[1:]
    once_more = decoded_again(text) if is_escaped(text) else None
    if once_more is not None:
        yield (twice("where"),), once_more
    if (quoted := json_of(text)) != text:
        yield (WHERE_QUOTES,), quoted
    if once_more is not None and (quoted := json_of(once_more)) != once_more:
        yield (twice("where"), WHERE_QUOTES), quoted


def _decoded_where(text: str) -> object:
    try:
        decoded: object = _decode(text)  # takes a quarter of the time of the other decoder
        is_as_encoded = _encode(decoded) == text.encode()
    except (ValueError, OverflowError, RecursionError):
        is_as_encoded = False
    if not is_as_encoded:  # names can be repeated, numbers can be too long
        try:
            decoded = _where_decoder.decode(text)
        except RecursionError as error:
            raise InvalidQuery("where is nested too deeply. Send a simpler condition.") from error
    _check_length(text)
    return decoded


def _check_length(text: str) -> None:
    is_long = len(text) * _LONGEST_CHARACTER > MAX_WHERE_BYTES
    if is_long and len(text.encode("utf-8", "surrogatepass")) > MAX_WHERE_BYTES:
        raise InvalidQuery(f"where exceeds the limit of {MAX_WHERE_BYTES} bytes. Shorten it.")


def _refuse_constant(constant: str) -> NoReturn:
    raise InvalidQuery(f"where contains {constant}, which is not JSON. Send a number or null.")


def _distinct_members(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Make the dict of a JSON object. Raises InvalidQuery for a repeated name."""
    members = dict(pairs)
    if len(members) < len(pairs):
        raise InvalidQuery(
            "where has a name twice in one object. Send two objects in a list as $and."
        )
    return members


def _integer(digits: str) -> int | float:
    """Parse an integer. A very long integer becomes infinity, because Python parses it slowly."""
    return int(digits) if len(digits) <= _MOST_DIGITS else math.inf


_where_decoder = json.JSONDecoder(
    parse_constant=_refuse_constant, parse_int=_integer, object_pairs_hook=_distinct_members
)
