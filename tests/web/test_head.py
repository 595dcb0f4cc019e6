"""The header lines of a request, gathered in one pass."""

import time

from gateway.web.head import head_of, read_head
from tests.web.requests import make_scope

LINES = [(b"a", b"1"), (b"b", b"\xe4"), (b"a", b" 2 "), (b"c", b"")]


def test_lines_of_one_name_keep_their_order() -> None:
    """Every line counts, its value as it came, in Latin-1."""
    head = read_head(LINES)

    assert list(head.values(b"a")) == ["1", " 2 "]
    assert list(head.values(b"b")) == ["ä"]
    assert list(head.values(b"c")) == [""]
    assert list(head.values(b"d")) == []


def test_the_first_line_may_be_enough() -> None:
    """An empty line is one, no line is None."""
    head = read_head(LINES)

    assert [head.first(name) for name in (b"a", b"c", b"d")] == ["1", "", None]


def test_the_size_is_that_on_the_wire() -> None:
    """Names, values, and four bytes around them for each line."""
    text = b"".join(b"%s: %s\r\n" % line for line in LINES)

    assert read_head(LINES).byte_count == len(text)
    assert read_head([]).byte_count == 0


def test_equal_lines_take_no_longer_than_others() -> None:
    """Thousands of lines of one name are gathered in one pass, too."""
    lines = [(b"a", b"%d" % number) for number in range(20_000)]
    began = time.perf_counter()
    head = read_head(lines)
    seconds = time.perf_counter() - began

    assert head.lines[b"a"][-1] == b"19999"
    assert seconds < 0.2


def test_a_head_is_gathered_once() -> None:
    """All layers share what the first of them gathered."""
    scope = make_scope(headers={"Origin": "https://page.example"})

    assert head_of(scope) is head_of(scope)
    assert head_of(scope).first(b"origin") == "https://page.example"
