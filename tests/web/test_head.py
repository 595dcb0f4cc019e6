"""Request heads: header lines, conditions, `Cache-Control`, and titles in `Location`."""

import json
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import PreconditionFailed
from gateway.settings.model import ApiSettings
from gateway.table.header import IfMatch
from gateway.web.answers import EmptyCell
from gateway.web.error_responses import error_answer
from gateway.web.head import (
    Head,
    asks_for_fresh,
    decode_title,
    encode_title,
    head_of,
    is_known,
    read_condition,
    read_head,
)
from tests.cpu_time import least_seconds
from tests.web.requests import as_response, make_request, make_scope

LINES = [(b"a", b"1"), (b"b", b"\xe4"), (b"a", b" 2 "), (b"c", b"")]


def test_lines_of_one_name_keep_their_order() -> None:
    """All lines of a header name are returned in order, decoded as Latin-1."""
    head = read_head(LINES)

    assert list(head.values(b"a")) == ["1", " 2 "]
    assert list(head.values(b"b")) == ["ä"]
    assert list(head.values(b"c")) == [""]
    assert list(head.values(b"d")) == []


def test_first_line_of_a_header() -> None:
    """`first` returns the first line of a name, even an empty line, or None without a line."""
    head = read_head(LINES)

    assert [head.first(name) for name in (b"a", b"c", b"d")] == ["1", "", None]


def test_byte_count_is_the_size_sent() -> None:
    """`byte_count` is the bytes of all names and values, and four bytes per line."""
    text = b"".join(b"%s: %s\r\n" % line for line in LINES)

    assert read_head(LINES).byte_count == len(text)
    assert read_head([]).byte_count == 0


def test_many_lines_of_one_name_are_read_in_linear_time() -> None:
    """20,000 lines of one header name are read in less than 0.2 s."""
    lines = [(b"a", b"%d" % number) for number in range(20_000)]

    assert read_head(lines).lines[b"a"][-1] == b"19999"
    assert least_seconds(lambda: read_head(lines)) < 0.2


def test_a_head_is_parsed_once() -> None:
    """`head_of` parses the header lines of a scope once and returns the same head afterwards."""
    scope = make_scope(headers={"Origin": "https://page.example"})

    assert head_of(scope) is head_of(scope)
    assert head_of(scope).first(b"origin") == "https://page.example"


def head(name: str, values: Sequence[str]) -> Head:
    """Return the head of a request in which a header has one line for each value."""
    return head_of(make_scope(headers=[(name, value) for value in values]))


TAG_LISTS = [
    pytest.param(['"a"'], {'"a"'}, set(), id="one"),
    pytest.param([' "a" '], {'"a"'}, set(), id="blanks around it"),
    pytest.param(['"a","b"'], {'"a"', '"b"'}, set(), id="list"),
    pytest.param(['"a" \t, "b"'], {'"a"', '"b"'}, set(), id="list with blanks"),
    pytest.param(['"a"', '"b", "c"'], {'"a"', '"b"', '"c"'}, set(), id="several headers"),
    pytest.param([', "a",, "b",'], {'"a"', '"b"'}, set(), id="empty members"),
    pytest.param(['"a,b"'], {'"a,b"'}, set(), id="comma inside"),
    pytest.param(['"a", "b,c", "d"'], {'"a"', '"b,c"', '"d"'}, set(), id="comma inside a list"),
    pytest.param(['"A"'], {'"A"'}, set(), id="capital"),
    pytest.param(['""'], {'""'}, set(), id="empty tag"),
    pytest.param(['"*"'], {'"*"'}, set(), id="star in quotes"),
    pytest.param(['"W/"'], {'"W/"'}, set(), id="weak mark in quotes"),
    pytest.param(['"\xe4"'], {'"\xe4"'}, set(), id="beyond ASCII"),
    pytest.param(['W/"a"'], set(), {'"a"'}, id="weak"),
    pytest.param(['W/"a", "b"'], {'"b"'}, {'"a"'}, id="weak and strong"),
    pytest.param([], set(), set(), id="no header"),
    pytest.param([""], set(), set(), id="empty"),
    pytest.param([","], set(), set(), id="comma alone"),
    pytest.param(["a"], set(), set(), id="no quotes"),
    pytest.param(['"a'], set(), set(), id="not closed"),
    pytest.param(['"a", b'], set(), set(), id="one without quotes"),
    pytest.param(['"a b"'], set(), set(), id="blank inside"),
    pytest.param(['w/"a"'], set(), set(), id="small weak mark"),
    pytest.param(['W/ "a"'], set(), set(), id="weak mark apart"),
    pytest.param(['"a", *'], set(), set(), id="star in a list"),
    pytest.param(["*", "*"], set(), set(), id="two stars"),
    pytest.param(["null"], set(), set(), id="null"),
    *(
        pytest.param([part * 16_000 + "!"], set(), set(), id=f"long: {part}")
        for part in ("x", " ", '"', ' "', '"x', "W/", 'W/" ')
    ),
]


@pytest.mark.parametrize(("values", "strong", "weak"), TAG_LISTS)
def test_lists_of_tags(values: Sequence[str], strong: set[str], weak: set[str]) -> None:
    """`If-Match` compares strongly, `If-None-Match` weakly. A malformed list has no tags."""
    condition = read_condition(head("If-Match", values))
    known = head("If-None-Match", values)

    assert condition == (IfMatch(tags=frozenset(strong)) if values else None)
    for tag in ('"a"', '"b"', '"A"', *strong):
        assert is_known(known, tag) is (tag in strong | weak)
        assert is_known(known, f"W/{tag}") is (tag in strong | weak)


@pytest.mark.parametrize("value", ["*", " * "])
def test_a_star_matches_every_tag(value: str) -> None:
    """`*` in `If-Match` and `If-None-Match` matches any ETag."""
    condition = read_condition(head("If-Match", [value]))

    assert condition is not None
    assert condition.holds('"whatever"')
    assert is_known(head("If-None-Match", [value]), '"whatever"')


@pytest.mark.parametrize(
    ("values", "is_asked_for"),
    [
        pytest.param(["no-cache"], True, id="alone"),
        pytest.param([" No-Cache "], True, id="capitals and blanks"),
        pytest.param(["max-age=0, no-cache"], True, id="one of a list"),
        pytest.param(["max-age=0", "NO-CACHE"], True, id="one of several headers"),
        pytest.param(['x="a, b",no-cache'], True, id="behind a quoted comma"),
        pytest.param(['x="\\"", no-cache'], True, id="behind a quoted quote"),
        pytest.param(["no-store"], False, id="no-store"),
        pytest.param(["max-age=0"], False, id="max-age"),
        pytest.param(['x="a, no-cache, b"'], False, id="in quotes"),
        pytest.param(['x="a, no-cache'], False, id="in quotes that are not closed"),
        pytest.param(["no-cached"], False, id="longer"),
        pytest.param(["x-no-cache"], False, id="as an ending"),
        pytest.param([""], False, id="empty"),
        pytest.param([], False, id="no header"),
    ],
)
def test_no_cache_is_found_in_cache_control(values: Sequence[str], is_asked_for: bool) -> None:
    """Only the directive `no-cache` asks for fresh data; the same text within a value does not."""
    assert asks_for_fresh(head("Cache-Control", values)) is is_asked_for


@pytest.mark.parametrize("part", ["no-cache", '"', '\\"', '"\\', ",", ' "x'])
def test_a_long_cache_control_is_read_in_linear_time(part: str) -> None:
    """A long `Cache-Control` with unclosed quotes is read without delay and asks for nothing."""
    assert not asks_for_fresh(head("Cache-Control", ["x" + part * 16_000]))


@pytest.mark.parametrize(
    ("empty_cell", "existing"),
    [
        ("null", {"rowIndex": 2, "name": "Boston", "state": None}),
        ("", {"rowIndex": 2, "name": "Boston", "state": ""}),
        ("omit", {"rowIndex": 2, "name": "Boston"}),
    ],
)
def test_a_failed_if_match_shows_the_current_row(
    empty_cell: EmptyCell, existing: Mapping[str, object]
) -> None:
    """412 has the current row, in the configured form of empty cells, and its ETag."""
    scope = make_scope("PUT", api=ApiSettings(empty_cell=empty_cell))
    row = {"rowIndex": 2, "name": "Boston", "state": None}

    failed = PreconditionFailed(row, tag='"now"')
    response = as_response(error_answer(make_request(scope), failed))

    body = json.loads(bytes(response.body))
    assert response.status_code == 412
    assert list(body["existing"].items()) == list(existing.items())
    assert body["outcome"] == "not_applied"
    assert response.headers["etag"] == '"now"'


@given(title=st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_a_title_in_a_location_is_decoded_to_itself(title: str) -> None:
    """A title encoded for `Location` decodes to the same title and is one path segment."""
    segment = encode_title(title)

    assert decode_title(segment) == title
    assert segment.isascii()
    assert not set(segment) & set("/?#% ") - {"%"}
