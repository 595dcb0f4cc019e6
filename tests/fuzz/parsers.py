"""Properties of request parsers: any input gives a value, or an error with status 4xx.

The comparison of queries is separate: python -m tests.query.cases
"""

import math
from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import TypeVar
from urllib.parse import quote_from_bytes

from gateway.access.keys import is_well_formed, mint_key
from gateway.errors import GatewayError
from gateway.table.a1 import is_spreadsheet_id, parse_area, rows_between
from gateway.table.header import parse_header
from gateway.table.record import changed_runs, new_row, place
from gateway.table.steps import finish
from gateway.table.table import make_table
from gateway.telemetry.redaction import redacted
from gateway.web.admission import find_credentials
from gateway.web.body import parse_fields, parse_rows
from gateway.web.head import (
    Head,
    asks_for_fresh,
    decode_title,
    encode_title,
    is_known,
    parse_row,
    read_condition,
    read_head,
)
from gateway.web.idempotency import parse_key
from gateway.web.parameters import asking_of, parse_query, sift
from tests.fuzz.requests import FIELDS
from tests.fuzz.texts import any_bytes, any_json_text, any_stored, any_text
from tests.query.sheet import evaluate

T = TypeVar("T")
Property = Callable[[Random], None]
TYPES = ("application/json", "application/x-www-form-urlencoded", "text/plain", "", "text/xml")
NAMES = (
    *("where", "order", "keys", "limit", "skip", "count"),
    *("where[name][$gte]", "where[$or][0][name]", "where[name][]", "keys[]", "order[1]"),
)
KEY = mint_key(lambda count: bytes(range(count)))
COLUMNS = [
    ("name", "a", "B", "", "=1", "１２３", "nan"),
    ("population", "1,250", "7", "-5", "", "#REF!", "1/15/2020"),
    ("state", "", "TRUE", "x", "\ud800", "😀", ""),
]
TYPED = [
    COLUMNS[0],
    ("population", 1250, 7, -5, "", "#REF!", 43845),
    ("state", "", True, "x", "\ud800", "😀", ""),
]
TABLE = finish(make_table(COLUMNS).with_typed(TYPED))


def _unless_refused(read: Callable[[], T]) -> T | None:
    """Return the parsed value, or None if the parser raised an error with status 4xx."""
    try:
        return read()
    except GatewayError as error:
        _check_error(error)
        return None


def _check_error(error: GatewayError) -> None:
    assert 400 <= error.status < 500
    assert error.message
    assert all(problem.pointer.startswith("#") for problem in error.problems)


def _head(random: Random, *names: bytes) -> Head:
    return read_head(
        (name, any_bytes(random).replace(b"\n", b"")) for name in names if random.random() < 0.7
    )


def queries(random: Random) -> None:
    """Any query string gives a query or an error, and any query can be evaluated on a table."""
    parts = []
    for name in NAMES:
        if random.random() < 0.3:
            is_json = name in ("where", "keys") and random.random() < 0.8
            text = any_json_text(random) if is_json else any_text(random)
            encoded = quote_from_bytes(text.encode("utf-8", "surrogatepass"))
            twice = quote_from_bytes(encoded.encode()) if random.random() < 0.2 else encoded
            parts.append(f"{name}={twice}")
    text = "&".join(parts)
    folded = quote_from_bytes(text.encode()) if random.random() < 0.1 else text
    sifted = sift(folded.encode() if random.random() < 0.9 else any_bytes(random))
    query = _unless_refused(lambda: parse_query(asking_of(sifted.asked), max_limit=100))
    if query is not None:
        assert 0 <= query.limit <= 100
        assert query.skip >= 0
        page = _unless_refused(lambda: evaluate(TABLE, query))
        assert page is None or len(page.rows) <= query.limit


def bodies(random: Random) -> None:
    """Any body gives rows of storable values, or an error."""
    is_json = random.random() < 0.8
    body = any_json_text(random).encode("utf-8", "surrogatepass") if is_json else any_bytes(random)
    content_type = random.choice(TYPES)
    fields = _unless_refused(lambda: parse_fields(body, content_type))
    rows = _unless_refused(lambda: parse_rows(body, content_type))
    for row in [*([fields] if fields else []), *(rows.rows if rows else [])]:
        for name, value in row.items():
            name.encode()
            assert value is None or isinstance(value, str | int | float | bool)
            assert not isinstance(value, float) or math.isfinite(value)
            assert not isinstance(value, str) or value.encode() is not None
            assert not isinstance(value, int) or abs(value) <= 2**53


def paths(random: Random) -> None:
    """Decoding an encoded title gives the title; any path segment gives a title, a row
    number or an error.
    """
    title = any_text(random, is_whole=True).replace("\0", "")
    assert decode_title(encode_title(title)) == title
    segment = random.choice(
        (any_bytes(random).decode("latin-1"), quote_from_bytes(any_bytes(random)))
    )
    found = _unless_refused(lambda: decode_title(segment))
    assert found is None or "\0" not in found
    row = _unless_refused(lambda: parse_row(segment))
    assert row is None or 1 <= row <= 99_999_999


def ranges(random: Random) -> None:
    """Parsing a formatted range gives the same worksheet and last row."""
    title, row = any_text(random), random.randint(1, 99_999_999)
    area = parse_area(rows_between(title, 1, row))
    assert (area.title, area.last_row) == (title, row)


def ids(random: Random) -> None:
    """An accepted spreadsheet ID is always one path segment."""
    text = any_text(random)
    if is_spreadsheet_id(text):
        assert quote_from_bytes(text.encode(), safe="") == text
        assert text not in ("", ".", "..")


def fields(random: Random) -> None:
    """Fields are placed in columns of the header, or give an error."""
    header = parse_header(random.choice((any_text(random), None, *FIELDS)) for _ in range(5))
    row = {random.choice((any_text(random), *FIELDS)): any_stored(random) for _ in range(3)}
    ignore = random.random() < 0.5
    placement = _unless_refused(lambda: place(row, header.whole, ignore_unknown=ignore))
    if placement is not None:
        assert {*placement.cells} <= {*header.whole.columns.values()}
        assert len(new_row(placement.cells)) <= 5
        texts = [any_text(random) for _ in range(5)]
        for column, values in changed_runs(placement.cells, texts):
            assert all(value is not None for value in values)
            assert column + len(values) <= 5


def redaction(random: Random) -> None:
    """A masked key never appears in the text, and masking twice changes nothing more."""
    before, after = any_text(random), any_text(random)
    masked = redacted(f"{before}{KEY}{after}")
    assert KEY[4:] not in masked
    assert redacted(masked) == masked or "=" in masked or "%" in masked


def credentials(random: Random) -> None:
    """Any headers and query give credentials, no credentials, or an error."""
    names = (b"authorization", b"api-key", b"x-api-key", b"x-spreadsheet-id", b"content-type")
    head, query = _head(random, *names), sift(b"apiKey=" + any_bytes(random)).credentials
    key, _ = _unless_refused(lambda: find_credentials(head, query)) or (None, None)
    if key is not None:
        assert key.strip() == key
        assert not is_well_formed(key)


def conditions(random: Random) -> None:
    """Conditional headers are parsed or rejected; an accepted Idempotency-Key is visible ASCII."""
    head = _head(random, b"if-match", b"if-none-match", b"cache-control")
    _unless_refused(lambda: read_condition(head))
    assert isinstance(is_known(head, '"x"'), bool)
    assert isinstance(asks_for_fresh(head), bool)
    values = [any_bytes(random).decode("latin-1") for _ in range(random.randint(0, 2))]
    key = _unless_refused(lambda: parse_key(values))
    assert key is None or (key.isascii() and 1 <= len(key) <= 255)


PROPERTIES: Mapping[str, Property] = {
    each.__name__: each
    for each in (
        queries,
        bodies,
        paths,
        ranges,
        ids,
        fields,
        redaction,
        credentials,
        conditions,
    )
}


def broken(count: int, seed: int) -> Iterator[str]:
    """Yield the properties that fail within this number of cases."""
    for name, holds in PROPERTIES.items():
        for number in range(-(-count // len(PROPERTIES))):
            try:
                holds(Random(f"{seed}-{name}-{number}"))  # noqa: S311
            except Exception as error:  # any other exception breaks the property
                yield f"{name}, case {number} of seed {seed}: {type(error).__name__} {error}"
                break
