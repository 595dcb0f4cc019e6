"""Query parameters of reads. More rejected parameters are in tests/surfaces."""

from urllib.parse import quote, urlencode

import pytest

from gateway.errors import InvalidQuery
from gateway.query.evaluate import sort_terms
from gateway.query.operators import Comparison, make_operand
from gateway.query.query import Query, SortTerm
from gateway.table.header import Selection, parse_header
from gateway.web.parameters import (
    LONGEST_KEPT_TEXT,
    Leniency,
    RowAsked,
    asking_of,
    list_asked,
    parse_keys,
    parse_query,
    row_asked,
)

A_DOWN = SortTerm("a", descending=True)
STATE = '{"state":"California"}'
QUOTED = "{'state':'California'}"


def query_of(text: str, max_limit: int = 100) -> Query:
    """Parse a query string on a plan whose largest `limit` is `max_limit`."""
    return parse_query(asking_of(text.encode()), max_limit=max_limit)


@pytest.mark.parametrize(
    ("value", "keys"),
    [
        pytest.param("name", ("name",), id="one"),
        pytest.param("name,state", ("name", "state"), id="comma-separated"),
        pytest.param("name,,state, ", ("name", "state"), id="empty names"),
        pytest.param("rowIndex", ("rowIndex",), id="rowIndex"),
        pytest.param('["name","a,b"]', ("name", "a,b"), id="JSON array"),
        pytest.param("[]", (), id="empty JSON array"),
        pytest.param("[name", ("[name",), id="no JSON array"),
        pytest.param("[1]", ("[1]",), id="array of a number"),
        pytest.param('["a",', ('["a"',), id="broken array"),
        pytest.param("[" * 2000, ("[" * 2000,), id="deep array"),
        pytest.param("Größe", ("Größe",), id="beyond ASCII"),
    ],
)
def test_keys_are_names_or_a_json_array(value: str, keys: tuple[str, ...]) -> None:
    """`keys` is names with commas or a JSON array. Whether a field exists is checked later."""
    asking = asking_of(urlencode({"keys": value}).encode())

    found = parse_keys(asking)

    assert found is not None
    assert found.names == keys
    assert found.whole == ("" if keys == (value,) else value)
    assert parse_query(asking, max_limit=100).keys == found


@pytest.mark.parametrize(
    ("value", "order"),
    [
        pytest.param("name", [("name", False)], id="ascending"),
        pytest.param("-name", [("name", True)], id="descending"),
        pytest.param("state,-name", [("state", False), ("name", True)], id="several"),
        pytest.param(" state , -name ", [("state", False), ("name", True)], id="blanks"),
        pytest.param("-rowIndex", [("rowIndex", True)], id="rowIndex"),
        pytest.param("--x", [("-x", True)], id="header that begins with a minus"),
        pytest.param("a-b", [("a-b", False)], id="minus inside"),
        pytest.param("- name", [(" name", True)], id="blank after the minus"),
        pytest.param('["City, State", "-b"]', [("City, State", False), ("b", True)], id="JSON"),
        pytest.param("[]", [], id="empty JSON array"),
        pytest.param("[1]", [("[1]", False)], id="no array of names"),
    ],
)
def test_order_is_names_with_an_optional_minus(value: str, order: list[tuple[str, bool]]) -> None:
    """Each term of `order` is a field, and a minus before the field sorts in descending order."""
    expected = tuple(SortTerm(field, descending=descending) for field, descending in order)
    assert query_of(urlencode({"order": value})).order == expected


def test_a_field_sorts_once() -> None:
    """Only the first term of `order` for a field sorts; further terms of that field are dropped."""
    query = query_of(f"order={','.join(['a', '-b', 'a', '-a'] * 200)}")

    assert query.order == (SortTerm("a"), SortTerm("b", descending=True), A_DOWN)
    assert sort_terms(query, parse_header(["a", "b"]).whole) == [*query.order[:2]]


@pytest.mark.parametrize(
    ("value", "fields", "order"),
    [
        pytest.param("City, State", ["City, State"], [("City, State", False)], id="a comma"),
        pytest.param("-City, State", ["City, State"], [("City, State", True)], id="descending"),
        pytest.param(
            "City, State", ["City", "State"], [("City", False), ("State", False)], id="two fields"
        ),
        pytest.param(
            "City, State",
            ["City", "State", "City, State"],
            [("City, State", False)],
            id="two fields and one with a comma",
        ),
        pytest.param(
            '["City, State", "-Zip"]',
            ["City", "City, State", "Zip"],
            [("City, State", False), ("Zip", True)],
            id="JSON array",
        ),
        pytest.param('["a"]', ['["a"]', "a"], [('["a"]', False)], id="a field like an array"),
        pytest.param("-delta", ["delta"], [("delta", True)], id="a minus"),
        pytest.param("-delta", ["delta", "-delta"], [("-delta", False)], id="a field with a minus"),
        pytest.param("- delta", ["delta", "-delta"], [(" delta", True)], id="a blank between"),
        pytest.param("--delta", ["delta", "-delta"], [("-delta", True)], id="two minuses"),
        pytest.param(
            "-delta,delta",
            ["delta", "-delta"],
            [("-delta", False), ("delta", False)],
            id="with and without a minus",
        ),
        pytest.param("-rowIndex", ["delta"], [("rowIndex", True)], id="rowIndex"),
    ],
)
def test_order_prefers_a_field_with_commas_or_a_minus(
    value: str, fields: list[str], order: list[tuple[str, bool]]
) -> None:
    """A comma or a minus in `order` belongs to the name if the worksheet has such a field."""
    query = query_of(urlencode({"order": value}))

    terms = sort_terms(query, parse_header(fields).whole)

    assert [(term.field, term.descending) for term in terms] == order


def test_order_has_at_most_sixteen_fields() -> None:
    """`order` with 16 fields is accepted; 17 fields raise InvalidQuery."""
    most = query_of(f"order={','.join(f'f{n}' for n in range(16))}").order

    assert len(most) == 16
    with pytest.raises(InvalidQuery, match="16"):
        query_of(f"order={','.join(f'f{n}' for n in range(17))}")


@pytest.mark.parametrize(
    "encoded",
    [
        "%7B%22state%22%3A%22California%22%7D",
        '{"state":"California"}',
        "%20{%22state%22%20:%22California%22}%20",
        "{%22state%22:{%22$eq%22:%22California%22}}",
        "{%22st\\u0061te%22:%22California%22}",
    ],
)
def test_where_is_json(encoded: str) -> None:
    """`where` is a JSON object of conditions, however the client percent-encoded it."""
    expected = Comparison("state", "$eq", (make_operand("California"),))
    assert query_of(f"where={encoded}").where == expected


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        pytest.param(f"where={STATE}", [], id="plain"),
        pytest.param(f"where={quote(quote(STATE))}", ["where-twice"], id="twice"),
        pytest.param(f"where={QUOTED}", ["where-quotes"], id="quotes"),
        pytest.param(
            f"where={quote(quote(QUOTED))}", ["where-twice", "where-quotes"], id="twice, quotes"
        ),
        pytest.param("where[state]=California", ["where-brackets"], id="brackets"),
    ],
)
def test_lenient_spellings_of_where(text: str, readings: list[str]) -> None:
    """Each misspelling of `where` gives the same condition and is recorded by name for the log."""
    asking = asking_of(text.encode())

    found = parse_query(asking, max_limit=100).where

    assert found == Comparison("state", "$eq", (make_operand("California"),))
    assert asking.readings == readings


@pytest.mark.parametrize(
    ("encoded", "text"),
    [
        ("%7b%22a%22%3A+%7D", '{"a": }'),
        ("%2522%257B", "%22%7B"),
        ("%%22%2%22%", '%"%2"%'),
        ("%2%32%22", '%22"'),
        ("%C3%A9%20%24%5B%2C%5D+", "é $[,] "),
        ("=0%%", "=0%%"),
        ("==%3D%0", "===%0"),
        ("%0D%0a%\r", "\r\n%\r"),
        ("a%\n%20 \t", "a%\n  \t"),
    ],
)
def test_values_are_decoded_once(encoded: str, text: str) -> None:
    """A decoded character is never part of another escape, and invalid escapes stay unchanged."""
    assert asking_of(f"where={encoded}".encode()).parameters == {"where": [text]}


def test_a_valid_where_is_not_decoded_leniently() -> None:
    """Escapes, quotes and Python words in a `where` of valid JSON stay unchanged."""
    where = query_of(urlencode({"where": """{"a%20b":"it's 100%25 True"}"""})).where

    assert where == Comparison("a%20b", "$eq", (make_operand("it's 100%25 True"),))


def test_lenient_order_is_decoded_before_it_is_split() -> None:
    """Lenient decoding decodes `order` before splitting at commas, but `keys` after splitting."""
    again = Leniency(frozenset({"order"}), frozenset({"a%2Cb%20c"}))
    asking = asking_of(b"keys=x%2520y,a%252Cb%2520c&order=-a%252Cb", again)

    query = parse_query(asking, max_limit=100)

    assert query.keys == Selection(("x%20y", "a", "b c"), ("x%20y",), "x%20y,a%2Cb%20c")
    assert query.order == (SortTerm("a", descending=True), SortTerm("b"))
    assert asking.readings == ["order-twice", "keys-twice"]


def test_keys_with_an_escape_are_checked() -> None:
    """Names with an escape are checked against the header, since unknown names are else ignored."""
    assert query_of("keys=a%252Cb,c").keys == Selection(("a%2Cb", "c"), ("a%2Cb",), "a%2Cb,c")
    assert query_of("keys=100%25").keys == Selection(("100%",))


def test_a_lone_surrogate_is_compared_like_any_text() -> None:
    """A lone surrogate in JSON is valid as a field name and as an operand."""
    where = query_of(urlencode({"where": r'{"\ud800":"\udfff"}'})).where

    assert where == Comparison("\ud800", "$eq", (make_operand("\udfff"),))


@pytest.mark.parametrize(
    ("text", "wants_total"),
    [
        ("count=true", True),
        ("count=True", True),
        ("count=%20TRUE%20", True),
        ("count=&count=true", True),
        ("count=false", False),
        ("count=", False),
        ("count", False),
    ],
)
def test_count_is_a_flag(text: str, wants_total: bool) -> None:
    """`count=true` asks for the number of matching rows; `false` and an empty value do not."""
    assert query_of(text).wants_total is wants_total


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no-cache=true", True),
        ("no-cache=True", True),
        ("no-cache=%20TRUE%20", True),
        ("no-cache=&no-cache=true", True),
        ("no-cache=false", False),
        ("no-cache=", False),
        ("no-cache", False),
        ("", False),
    ],
)
def test_no_cache_is_a_flag(text: str, expected: bool) -> None:
    """`no-cache=true` asks for fresh data, of a list or of one row."""
    assert list_asked(text.encode(), max_limit=100).no_cache is expected
    assert row_asked(text.encode()).no_cache is expected


@pytest.mark.parametrize(
    ("text", "no_cache"),
    [
        ("no-cache=1", False),
        ("no-cache=yes", False),
        ("no-cache=no&no-cache=1", False),
        ("no-cache=1&no-cache=true", True),
    ],
)
def test_other_values_of_no_cache_are_ignored(text: str, no_cache: bool) -> None:
    """Only `no-cache=true` asks for fresh data, because clients send arbitrary other values."""
    assert list_asked(text.encode(), max_limit=100).no_cache is no_cache
    assert row_asked(text.encode()).no_cache is no_cache


def test_parameters_of_a_read_of_one_row() -> None:
    """A read of one row has the parameters `keys` and `no-cache`."""
    asked = row_asked(b"keys=a,b")

    assert asked == RowAsked(keys=Selection(("a", "b"), whole="a,b"), no_cache=False)
    assert row_asked(b"") == RowAsked(keys=None, no_cache=False)


def test_parsed_queries_are_cached() -> None:
    """An equal query string on an equal plan gives the cached query; any other is parsed."""
    text = urlencode({"where": '{"a":{"$gte":1}}', "order": "-a"}).encode()

    first, again = (list_asked(bytes(bytearray(text)), max_limit=100) for _ in range(2))

    assert first is again
    assert list_asked(text, max_limit=5).query.limit == 5
    assert list_asked(text + b"&skip=1", max_limit=100).query.skip == 1
    assert first.query == parse_query(asking_of(text), max_limit=100)


def test_another_spelling_is_an_equal_query() -> None:
    """Queries that differ only in order and encoding are equal, so they share cached answers."""
    texts = [b"where=%7B%22a%22:1%7D&limit=5", b"limit=005&where=%7B%22%61%22:+1%7D"]

    first, other = (list_asked(text, max_limit=100).query for text in texts)

    assert first is not other
    assert first == other
    assert hash(first) == hash(other)


def test_a_long_query_string_is_not_cached() -> None:
    """A query string over `LONGEST_KEPT_TEXT` is parsed each time, with an equal result."""
    names = ",".join(f"name{number:04}" for number in range(250))
    text = f"keys={names}".encode()

    first, again = (list_asked(text, max_limit=100) for _ in range(2))

    assert len(text) > LONGEST_KEPT_TEXT
    assert first is not again
    assert first == again
    assert row_asked(text).keys == first.query.keys


def test_errors_are_not_cached() -> None:
    """Each invalid request raises its own exception, so no traceback is shared."""
    errors = []
    for _ in range(2):
        with pytest.raises(InvalidQuery) as refused:
            list_asked(b"limit=x", max_limit=100)
        errors.append(refused.value)

    assert errors[0] is not errors[1]
