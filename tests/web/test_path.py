"""Path segments; what requests make of them is in tests/surfaces."""

from hypothesis import given
from hypothesis import strategies as st

from gateway.web.head import decode_title, encode_title


@given(title=st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_titles_survive_a_location(title: str) -> None:
    """The name in a `Location` reads back as that name, and never adds a segment."""
    segment = encode_title(title)

    assert decode_title(segment) == title
    assert segment.isascii()
    assert not set(segment) & set("/?#% ") - {"%"}
