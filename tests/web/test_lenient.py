"""Lenient decoding: other meanings of texts that clients encoded wrongly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import InvalidQuery
from gateway.web.lenient import (
    is_escaped,
    json_of,
    names_of,
    other_titles,
    where_of,
)
from gateway.web.parameters import asking_of


@pytest.mark.parametrize(
    ("text", "is_one"),
    [("%41", True), ("a%2fb", True), ("100%", False), ("%4", False), ("%zz", False), ("", False)],
)
def test_a_text_is_escaped_if_decoding_changes_it(text: str, is_one: bool) -> None:
    """Only a percent sign before two hexadecimal digits is an escape."""
    assert is_escaped(text) is is_one


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("{'a':'b'}", '{"a":"b"}', id="single quotes"),
        pytest.param("{\"a\":'b'}", '{"a":"b"}', id="both"),
        pytest.param(r"{'a':'it\'s'}", '{"a":"it\'s"}', id="escaped quote"),
        pytest.param("{'a':'say \"x\"'}", r'{"a":"say \"x\""}', id="double quotes inside"),
        pytest.param(r"{'a':'\u00e4\n\\'}", r'{"a":"\u00e4\n\\"}', id="other escapes"),
        pytest.param(
            "{'a': {'$exists': True}, 'b': None, 'c': False}",
            '{"a": {"$exists": true}, "b": null, "c": false}',
            id="words of Python",
        ),
        pytest.param("{'a':'True','b':\"None\"}", '{"a":"True","b":"None"}', id="words in texts"),
        pytest.param("{'a':Trueish}", '{"a":Trueish}', id="part of a word"),
        pytest.param('{"it\'s":1}', '{"it\'s":1}', id="JSON stays"),
        pytest.param("{'a':'b", '{"a":\'b', id="cut off"),
        pytest.param("'" * 5, '""""\'', id="quotes alone"),
        pytest.param(r"{'a':'b\'", r"""{"a":'b\'""", id="cut off behind an escape"),
        pytest.param("\\'" * 4000, "\\'" * 4000, id="escapes alone"),
    ],
)
def test_single_quotes_become_json(text: str, expected: str) -> None:
    """`json_of` changes Python quotes and words to JSON, and leaves JSON unchanged."""
    assert json_of(text) == expected


@given(st.text(max_size=200))
def test_lenient_decoding_never_fails(text: str) -> None:
    """Lenient decoding raises no exception for any text."""
    assert isinstance(json_of(text), str)
    assert [*other_titles(text, [text])] in ([], [("worksheet-nfc", text)])


NFC, NFD = "Gr\u00f6\u00dfe", "Gro\u0308\u00dfe"
MIXED_NFC, MIXED, MIXED_NFD = "\u1ed9", "\u00f4\u0323", "o\u0323\u0302"


@pytest.mark.parametrize(
    ("title", "titles", "others"),
    [
        ("Cities", ["Cities"], []),
        ("100%", ["100%"], []),
        ("My%20Sheet", ["My Sheet"], [("worksheet-twice", "My Sheet")]),
        ("My%20Sheet", ["My+Sheet"], []),
        ("My+Sheet", ["My Sheet"], [("worksheet-plus", "My Sheet")]),
        (
            "a%20b+c",
            ["a%20b c", "a b+c"],
            [("worksheet-twice", "a b+c"), ("worksheet-plus", "a%20b c")],
        ),
        ("%C3%A4", ["\u00e4"], [("worksheet-twice", "\u00e4")]),
        ("%ff", ["\ufffd", "%ff"], []),
        ("a%00b", ["a", "a b"], []),
        (NFC, [NFD, "Cities"], [("worksheet-nfc", NFD)]),
        (NFD, ["Cities", NFC], [("worksheet-nfc", NFC)]),
        (NFC, [NFD.lower()], []),
        (MIXED, [MIXED_NFC], [("worksheet-nfc", MIXED_NFC)]),
        (MIXED, [MIXED_NFC, MIXED_NFD], []),
    ],
)
def test_other_titles(title: str, titles: list[str], others: list[tuple[str, str]]) -> None:
    """A title can also mean the title decoded again, with blanks for `+`, or with equal NFC."""
    assert list(other_titles(title, titles)) == others


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ("where[state]=Texas", {"state": "Texas"}),
        ("where[a][$gte]=1&where[a][$lte]=5", {"a": {"$gte": "1", "$lte": "5"}}),
        ("where[a][$in][]=x&where[a][$in][]=y", {"a": {"$in": ["x", "y"]}}),
        ("where[a][$in][1]=x&where[a][$in][0]=y", {"a": {"$in": ["y", "x"]}}),
        ("where[$or][0][a]=x&where[$or][1][b]=y", {"$or": [{"a": "x"}, {"b": "y"}]}),
        ("where[$and][][a]=x&where[$and][][b]=y", {"$and": [{"a": "x"}, {"b": "y"}]}),
        ("where[a][$exists]=TRUE", {"a": {"$exists": True}}),
        ("where[a][$exists]=no", {"a": {"$exists": "no"}}),
        ("where[$exists]=true", {"$exists": True}),
        ("where[2024]=x", {"2024": "x"}),
        ("where[a b][$text]=x+y", {"a b": {"$text": "x y"}}),
        ("where%5Ba%5D=x", {"a": "x"}),
        ("where[a][]=x", {"a": {"0": "x"}}),
    ],
)
def test_brackets_become_a_where_tree(query: str, where: object) -> None:
    """`where[a][$op]=value` becomes a filter. Values are strings, except booleans of `$exists`."""
    assert where_of(asking_of(query.encode()).parameters, max_bytes=4096) == where


@pytest.mark.parametrize(
    "query",
    [
        "where[=1",
        "where[a=1",
        "where[a]b=1",
        "where[a]]=1",
        "where[[a]=1",
        "where[a]=1&where[a]=2",
        "where[a]=1&where[a][$gt]=2",
        "where[a][$gt]=1&where[a]=2",
        "where" + "[a]" * 21 + "=1",
    ],
)
def test_ambiguous_brackets_in_where_are_an_error(query: str) -> None:
    """Malformed or contradictory brackets in `where` raise InvalidQuery."""
    with pytest.raises(InvalidQuery, match="Send where as one JSON object"):
        where_of(asking_of(query.encode()).parameters, max_bytes=4096)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("keys[]=a&keys[]=b,c", ["a", "b,c"]),
        ("keys[1]=a&keys[0]=b", ["b", "a"]),
        ("keys[]=a&limit=1", ["a"]),
        ("order[]=a", []),
    ],
)
def test_names_in_brackets_are_a_list(query: str, names: list[str]) -> None:
    """`keys[0]=a` gives names in the order of their indices; a comma is part of a name."""
    assert names_of("keys", asking_of(query.encode()).parameters) == names


@pytest.mark.parametrize("query", ["keys[a]=x", "keys[0][1]=x", "keys[-1]=x", "keys[=x"])
def test_other_brackets_around_names_are_refused(query: str) -> None:
    """Brackets of `keys` that contain no index raise InvalidQuery."""
    with pytest.raises(InvalidQuery, match="is not valid"):
        names_of("keys", asking_of(query.encode()).parameters)
