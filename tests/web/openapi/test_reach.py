"""Worksheets that a key's document describes, and the names of their components."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.table.header import ColumnGrant
from gateway.web.openapi.reach import places_of
from gateway.worksheets.catalogue import Listed
from tests.web.openapi.worksheets import CITIES, reach, worksheet

TITLES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)


def stems(*titles: str) -> list[str]:
    listed = [worksheet(title, "a") for title in titles]
    return [place.stem for place in places_of(listed, reach())]


def test_path_title_and_fields_of_a_worksheet() -> None:
    """The fields of a documented worksheet are in the order of its columns."""
    (place,) = places_of([CITIES], reach())

    assert place.path == "/v2/sheets/Cities"
    assert place.title == "Cities"
    assert place.fields == ("name", "state", "country", "population")
    assert [*place.writable] == [*place.fields]


@pytest.mark.parametrize(
    ("title", "path"),
    [
        ("A/B", "A%2FB"),
        ("{x}", "%7Bx%7D"),
        ("~a b", "~a%20b"),
        ("ä", "%C3%A4"),
        ("%2F", "%252F"),
        ("?#", "%3F%23"),
    ],
)
def test_titles_are_percent_encoded(title: str, path: str) -> None:
    """A title in a path is percent-encoded, so no title becomes a part of the path template."""
    (place,) = places_of([worksheet(title, "a")], reach())

    assert place.path == f"/v2/sheets/{path}"


def test_the_document_has_only_visible_worksheets_and_columns() -> None:
    """Hidden worksheets, hidden columns and worksheets without a header are absent."""
    listed = [CITIES, worksheet("Secret", "a"), worksheet("Blank", "", " "), worksheet("Empty")]
    grant = ColumnGrant(frozenset({"state", "name"}), frozenset({"state"}))
    seen = reach(columns=grant, worksheets=frozenset({"Cities", "Blank", "Missing"}))

    (place,) = places_of(listed, seen)

    assert (place.title, place.fields, place.writable) == ("Cities", ("name", "state"), ["state"])


def test_columns_named_like_credentials_are_not_writable() -> None:
    """Columns named like credentials are readable, but never written."""
    (place,) = places_of([worksheet("A", "apiKey", "name", "spreadsheetId")], reach())

    assert place.fields == ("apiKey", "name", "spreadsheetId")
    assert place.writable == ["name"]


def test_writable_needs_rights_and_columns() -> None:
    """A worksheet is not writable for a read-only key or for a key without writable columns."""
    nothing = ColumnGrant(None, frozenset())
    reaches = [reach(), reach(read_only=True), reach(columns=nothing)]

    assert [next(places_of([CITIES], each)).is_writable for each in reaches] == [
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("titles", "expected"),
    [
        (["Cities", "Städte 🏙", "a b"], ["Cities", "St_dte", "a_b"]),
        (["1", "🏙", "_x"], ["Worksheet1", "Worksheet", "x"]),
        (["A", "a", "A_2", "A!"], ["A", "a_2", "A_2_2", "A_3"]),
    ],
    ids=["plain", "no letter", "alike"],
)
def test_component_names_resemble_titles(titles: list[str], expected: list[str]) -> None:
    """Names of components resemble the title, and a number makes equal names unique."""
    assert stems(*titles) == expected


@given(st.lists(TITLES, max_size=12, unique=True))
def test_component_names_are_safe_and_unique(titles: list[str]) -> None:
    """Names of components are short ASCII names, unique even if case is ignored."""
    found = stems(*titles)

    assert len({stem.lower() for stem in found}) == len(titles)
    assert all(re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,75}", stem) for stem in found)


def test_hidden_worksheets_take_no_component_name() -> None:
    """A hidden worksheet of a similar title does not change the number in a component's name."""
    listed: list[Listed] = [worksheet("A!", "a"), worksheet("A?", "a")]

    (place,) = places_of(listed, reach(worksheets=frozenset({"A?"})))

    assert place.stem == "A"
