"""What reads ask for, kept by the text that asks."""

from urllib.parse import urlencode

import pytest

from gateway.errors import InvalidQuery
from gateway.table.view import Selection
from gateway.web.parameters import asking_of, parse_query
from gateway.web.query_cache import LONGEST_KEPT_TEXT, ListAsked, RowAsked, list_asked, row_asked
from gateway.web.query_string import decoded


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
    """`true` asks for fresh data, of a list or of one row."""
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
def test_other_values_of_no_cache_are_passed_over(text: str, no_cache: bool) -> None:
    """Clients send all kinds of values to get around caches; `true` alone counts."""
    assert list_asked(text.encode(), max_limit=100).no_cache is no_cache
    assert row_asked(text.encode()).no_cache is no_cache


def test_a_row_is_asked_for_by_its_keys() -> None:
    """What only lists know is passed over, wrong or not."""
    asked = row_asked(b"keys=a,b&limit=x&where=x&order=,&count=x")

    assert asked == RowAsked(keys=Selection(("a", "b")), no_cache=False)
    assert row_asked(b"") == RowAsked(keys=None, no_cache=False)


def test_the_same_text_is_the_same_query() -> None:
    """Asked again, it is not parsed again; another plan or text is another matter."""
    text = urlencode({"where": '{"a":{"$gte":1}}', "order": "-a"}).encode()

    first, again = (list_asked(bytes(bytearray(text)), max_limit=100) for _ in range(2))

    assert first is again
    assert list_asked(text, max_limit=5).query.limit == 5
    assert list_asked(text + b"&skip=1", max_limit=100).query.skip == 1
    assert first == ListAsked(parse_query(asking_of(decoded(text)), max_limit=100), no_cache=False)


def test_another_spelling_is_an_equal_query() -> None:
    """Answers kept for a query are found by it however a client orders or encodes it."""
    texts = [b"where=%7B%22a%22:1%7D&limit=5", b"limit=005&where=%7B%22%61%22:+1%7D&skip=0"]

    first, other = (list_asked(text, max_limit=100).query for text in texts)

    assert first is not other
    assert first == other
    assert hash(first) == hash(other)


def test_a_long_text_is_not_kept() -> None:
    """What is kept stays small; a long text has the same meaning each time."""
    names = ",".join(f"name{number:04}" for number in range(250))
    text = f"keys={names}".encode()

    first, again = (list_asked(text, max_limit=100) for _ in range(2))

    assert len(text) > LONGEST_KEPT_TEXT
    assert first is not again
    assert first == again
    assert row_asked(text).keys == first.query.keys


def test_a_refusal_is_made_anew_each_time() -> None:
    """An error of one request is never raised in another, whose traceback it would carry."""
    errors = []
    for _ in range(2):
        with pytest.raises(InvalidQuery) as refused:
            list_asked(b"limit=x", max_limit=100)
        errors.append(refused.value)

    assert errors[0] is not errors[1]
