"""Path segments, raw as they come."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import InvalidPath
from gateway.web.path import decode_title, encode_title, parse_row


@pytest.mark.parametrize(
    ("segment", "title"),
    [
        ("Cities", "Cities"),
        ("My%20Sheet", "My Sheet"),
        ("A%2FB", "A/B"),
        ("a+b", "a+b"),
        ("%C3%BC", "ü"),
        ("100%25", "100%"),
        ("A%252FB", "A%2FB"),
        ("50%", "50%"),
        ("%zz", "%zz"),
        ("it's!A1", "it's!A1"),
        ("%20Cities%20", " Cities "),
        ("..", ".."),
    ],
)
def test_a_segment_is_decoded_once(segment: str, title: str) -> None:
    """A name is what its segment stands for, case and blanks included."""
    assert decode_title(segment) == title


@pytest.mark.parametrize("segment", ["%ff", "%C3", "%ED%A0%80", "a%00b", "%00"])
def test_segments_that_no_name_can_be_are_refused(segment: str) -> None:
    """What is not UTF-8, or holds a NUL, is an InvalidPath."""
    with pytest.raises(InvalidPath, match="worksheet name"):
        decode_title(segment)


@given(title=st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_titles_survive_a_location(title: str) -> None:
    """The name in a `Location` reads back as that name, and never adds a segment."""
    segment = encode_title(title)

    assert decode_title(segment) == title
    assert segment.isascii()
    assert not set(segment) & set("/?#% ") - {"%"}


@pytest.mark.parametrize(
    ("segment", "row"), [("1", 1), ("2", 2), ("%32", 2), ("99999999", 99_999_999)]
)
def test_rows_are_whole_numbers(segment: str, row: int) -> None:
    """1 to 8 digits without a leading zero, decoded once."""
    assert parse_row(segment) == row


@pytest.mark.parametrize(
    "segment",
    [
        "",
        "0",
        "-1",
        "+1",
        "01",
        "1.0",
        "1e3",
        "abc",
        "１",
        "٣",
        "%30",
        "%2532",
        "%ff",
        "2%00",
        " 1",
        "1\n",
        "100000000",
    ],
)
def test_other_rows_are_refused(segment: str) -> None:
    """What is no row number is an InvalidPath that says what one is."""
    with pytest.raises(InvalidPath, match="rowIndex"):
        parse_row(segment)


@pytest.mark.parametrize(
    ("segment", "shown"),
    [
        pytest.param("search", '"search" is not a row number', id="word"),
        pytest.param("a%20b%0A", '"a b\\n" is not a row number', id="escaped"),
        pytest.param("9" * 500, f'"{"9" * 100}…" is not a row number', id="cut"),
    ],
)
def test_what_came_in_the_place_of_a_row_is_told(segment: str, shown: str) -> None:
    """With where a search goes, and a slash that belongs to a name."""
    with pytest.raises(InvalidPath) as refusal:
        parse_row(segment)

    assert refusal.value.message.startswith(shown)
    assert "use ?where=" in refusal.value.message
    assert "a / in a worksheet's name is written %2F" in refusal.value.message
