"""Hypothesis strategies for requests: IDs, titles, rows, bodies, conditions and combinations."""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, quote_from_bytes

from hypothesis import strategies as st

from tests.asgi_client import Request
from tests.fuzz.canaries import CELL, OTHER_TENANT
from tests.journeys.formula_payloads import PAYLOADS

TITLES = ("Cities", "New", "Mixed", "A/B", "a'!B1:Z9,'x", "D3", " lead", "Städte 🏙", "Hidden")
ODD_SEGMENTS = (
    *(b"..", b"%2e%2e", b".", b"a%2F5", b"%00", b"%ff", b"%ED%A0%80", b"'Cities'", b"Cities!A1"),
    *(b"Cities:append", b"%", b"%zz", b"1:1", b"__proto__", b"N" * 300, b"%252e%252e%252f"),
)
ODD_ROWS = (
    *(b"0", b"1", b"-1", b"2.0", b"abc", b"9" * 5000, b"%D9%A3", b"99999999", b"+2", b"2%00"),
    *(b"02", b"1e3", b"*", b"2:3", b"%EF%BC%92"),
)
IDS = (
    "demo",
    "demo",
    "demo",
    OTHER_TENANT,
    "nowhere",
    "../../drive/v3/files",
    "abc/values/X!A1?x=",
)
ODD_IDS = ("abc:batchUpdate?x=", "abc#", "demo\r\nX: y", " demo ", "demo,demo", "Demo", "a" * 129)
FIELDS = (
    "name",
    "population",
    "state",
    "secret",
    "rowIndex",
    "apiKey",
    "__proto__",
    "a,b",
    " name",
)
ODD_TEXTS = (
    *("nan", "inf", "1e400", "１２３", "007", "+44 20", "#REF!", "😀", "TRUE", "2020-01-15", "''"),
    *("\x00", "\u202e", "a\r\nb", '"', "\\", "$gte", "null", CELL[:4], "9" * 5000),
)
OPERATORS = (
    *("$eq", "$ne", "$neq", "$lt", "$lte", "$gt", "$gte", "$in", "$nin", "$text", "$exists"),
    *("$and", "$or", "$not", "$nor", "$regex", "$where", "gte"),
)

METHODS = (
    *["GET"] * 8,
    *["POST"] * 6,
    *["PUT"] * 3,
    *["PATCH"] * 2,
    *["HEAD", "OPTIONS"],
    "DELETE",
)
ONE_IN_TEN = st.sampled_from((*[False] * 9, True))
ONE_IN_THREE = st.sampled_from((False, False, True))

TEXTS = st.one_of(
    st.sampled_from(ODD_TEXTS), st.sampled_from([*PAYLOADS[:-1]]), st.text(max_size=12)
)
LEAVES = st.one_of(
    TEXTS, st.none(), st.booleans(), st.integers(), st.floats(), st.integers(-(2**60), 2**70)
)
NAMES = st.one_of(st.sampled_from(FIELDS), st.sampled_from(OPERATORS), st.text(max_size=6))
ANYTHING: st.SearchStrategy[Any] = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=8,
)


def _nested(depth: int) -> str:
    return '{"$not":' * depth + "{}" + "}" * depth


RIGHT_WHERE = st.recursive(
    st.dictionaries(
        st.sampled_from(FIELDS[:5]),
        LEAVES | st.dictionaries(st.sampled_from(OPERATORS[:11]), LEAVES, min_size=1, max_size=2),
        max_size=2,
    ),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda each: {"$or": each}),
        st.lists(inner, min_size=1, max_size=3).map(lambda each: {"$and": each}),
        inner.map(lambda each: {"$not": each}),
    ),
    max_leaves=4,
)
WHERE = st.one_of(
    *[RIGHT_WHERE.map(json.dumps)] * 4,
    ANYTHING.map(json.dumps),
    ANYTHING.map(repr),
    TEXTS,
    st.sampled_from([_nested(9), _nested(100_000), '{"$or": 1}', "[" * 3000, "x" * 5000]),
)
NUMBERS = st.one_of(
    st.integers(-2, 200).map(str),
    st.sampled_from(["1e9", "９", "", "9" * 5000, "1.5", "-0"]),
    TEXTS,
)
LISTS = st.one_of(
    *[st.lists(st.sampled_from(FIELDS[:3]), max_size=3).map(",".join)] * 3,
    st.lists(st.sampled_from(FIELDS) | TEXTS, max_size=4).map(",".join),
    st.lists(NAMES, max_size=3).map(json.dumps),
    st.sampled_from([",,,", "--name", "-", "[]", "-name,population"]),
)
PARAMETERS: Mapping[str, st.SearchStrategy[str]] = {
    "where": WHERE,
    "order": LISTS,
    "keys": LISTS,
    "limit": NUMBERS,
    "skip": NUMBERS,
    "count": st.sampled_from(["true", "false", "1", ""]),
    "no-cache": st.sampled_from(["true", "x"]),
    "where[population][$gte]": TEXTS,
    "where[$or][0][name]": TEXTS,
    "spreadsheetId": st.sampled_from([*IDS, *ODD_IDS]),
    "unknown": TEXTS,
}


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


@st.composite
def queries(draw: st.DrawFn) -> bytes:
    """Generate a query string with values percent-encoded once, twice or partly."""
    names = draw(st.lists(st.sampled_from([*PARAMETERS]), max_size=3, unique=True))
    encode = draw(
        st.sampled_from([quote_from_bytes, quote_from_bytes, lambda b: quote(quote_from_bytes(b))])
    )
    parts = [f"{quote(name)}={encode(_bytes(draw(PARAMETERS[name])))}" for name in names]
    if draw(ONE_IN_TEN):
        parts.append(quote_from_bytes(draw(st.binary(max_size=12)), safe="&=%[]"))
    return "&".join(parts).encode()[:9000]


SEGMENTS = st.one_of(
    st.sampled_from(TITLES).map(lambda title: quote(title, safe="").encode()),
    st.sampled_from(ODD_SEGMENTS),
    st.text(max_size=8).map(lambda text: quote_from_bytes(_bytes(text), safe="").encode()),
)
RIGHT_SEGMENTS = st.sampled_from([*TITLES, *["Cities", "New", "Hidden"] * 5]).map(
    lambda title: quote(title, safe="").encode()
)
ROWS = st.sampled_from([*(b"%d" % row for row in (2, 3, 4) * 40), b"7", b"20", *ODD_ROWS])
ODD_PATHS = st.lists(SEGMENTS, max_size=4).map(lambda each: b"/" + b"/".join(each))

VALUES = st.one_of(TEXTS, st.integers(-9, 9), st.floats(), st.booleans(), st.none(), ANYTHING)
OBJECTS = st.dictionaries(st.sampled_from(FIELDS[:3]) | NAMES, VALUES, max_size=4)
RIGHT_OBJECTS = st.dictionaries(
    st.sampled_from(FIELDS[:2]), TEXTS | st.integers(-9, 9) | st.booleans(), min_size=1
)
BODIES = st.one_of(
    *[RIGHT_OBJECTS.map(lambda each: json.dumps(each).encode())] * 6,
    st.lists(RIGHT_OBJECTS, min_size=1, max_size=3).map(lambda each: json.dumps(each).encode()),
    OBJECTS.map(lambda each: json.dumps(each).encode()),
    st.lists(OBJECTS, max_size=3).map(lambda each: json.dumps(each).encode()),
    OBJECTS.map(lambda each: json.dumps(each, ensure_ascii=False).encode("utf-16", "replace")),
    ANYTHING.map(lambda each: json.dumps(each).encode()),
    st.dictionaries(NAMES, TEXTS, max_size=3)
    .map(lambda each: "&".join(f"{quote(_bytes(n))}={quote(_bytes(v))}" for n, v in each.items()))
    .map(str.encode),
    st.binary(max_size=30),
    st.sampled_from(
        [b"", b"{}", b'{"name": NaN}', b'{"name": 1e999}', b'{"name":"\\ud800"}', b"[" * 100_000]
    ),
    st.sampled_from([b'{"name":1,"name":2}', b'\xef\xbb\xbf{"name":"x"}', b'{"a":' * 100_000]),
)

HEADERS: Mapping[bytes, st.SearchStrategy[str]] = {
    b"idempotency-key": TEXTS | st.sampled_from(["k1", '"k2"', "k" * 256]),
    b"if-match": TEXTS | st.sampled_from(["*", '"x"', 'W/"x"', '"a", "b"']),
    b"if-none-match": TEXTS | st.sampled_from(["*", '"x"', 'W/"x"']),
    b"content-type": st.sampled_from(
        ["application/json", "application/x-www-form-urlencoded", "text/plain", "x", "text/xml"]
    ),
    b"content-encoding": st.sampled_from(["gzip", "identity", ""]),
    b"cache-control": st.sampled_from(["no-cache", "max-age=0", "x"]),
    b"origin": TEXTS | st.sampled_from(["null", "https://app.example.org"]),
    b"x-request-id": TEXTS,
    b"x-forwarded-for": TEXTS,
    b"access-control-request-method": st.sampled_from(["PUT", "x"]),
}
CREDENTIALS = (b"authorization", b"api-key", b"x-api-key", b"authentication")


def _header(text: str) -> bytes:
    return _bytes(text).replace(b"\r", b"").replace(b"\n", b"").replace(b"\0", b"").strip()[:5000]


@st.composite
def headers(draw: st.DrawFn, keys: Sequence[str]) -> list[tuple[bytes, bytes]]:
    """Generate headers, mostly with a valid key and spreadsheet ID, sometimes with others
    or none.
    """
    lines = []
    if not draw(ONE_IN_TEN):
        lines.append((b"authorization", b"Bearer " + draw(st.sampled_from(keys)).encode()))
    if draw(st.booleans()):  # without an ID, the key's only spreadsheet
        lines.append((b"x-spreadsheet-id", b"demo"))
    if draw(ONE_IN_TEN):
        odd = draw(st.sampled_from([*IDS, *ODD_IDS]) | TEXTS)
        lines.append((b"x-sheetson-spreadsheet-id", _header(odd)))
    if draw(ONE_IN_TEN) and draw(st.booleans()):
        odd = draw(TEXTS | st.sampled_from(["K" * 10_000, "sgw_" + "é" * 36, "sgw_" + "0" * 36]))
        lines.append((draw(st.sampled_from(CREDENTIALS)), _header(odd)))
    for name in draw(st.lists(st.sampled_from([*HEADERS, b"if-match", b"if-match"]), max_size=2)):
        lines.append((name, _header(draw(HEADERS[name]))))
    return lines


@st.composite
def requests(draw: st.DrawFn, keys: Sequence[str]) -> Request:
    """Generate any request that a client can send. `keys` are the valid keys."""
    method = draw(st.sampled_from(METHODS))
    is_read = method in ("GET", "HEAD")
    kind = draw(st.sampled_from("rrrrrrrsp"))  # mostly a valid segment, any segment, or any path
    path = b"/v2/sheets/" + draw(RIGHT_SEGMENTS if kind == "r" else SEGMENTS)
    if kind == "p":
        path = draw(ODD_PATHS)
    elif method in ("PUT", "PATCH") or draw(ONE_IN_THREE):
        path += b"/" + draw(ROWS)
    query = draw(queries()) if is_read or draw(ONE_IN_TEN) else b""
    if is_read and draw(ONE_IN_TEN):
        query += b"&apiKey=" + draw(st.sampled_from(keys)).encode()
    return Request(
        method=method,
        target=path + (b"?" + query if query else b""),
        headers=draw(headers(keys)),
        body=b"" if is_read else draw(BODIES),
    )
