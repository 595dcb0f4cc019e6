"""Tests of texts in Unicode NFC, and of the cost to convert them."""

from unicodedata import normalize

import pytest

from gateway.table.cells import MOST_MARKS, composed
from gateway.table.index import ComposedTexts, as_texts, composed_texts
from gateway.table.steps import finish

GROSSE = "Gro\u0308\u00dfe"
MARKS = "\u0301\u0316"


@pytest.mark.parametrize(
    ("text", "form"),
    [
        pytest.param("Austin", "Austin", id="ASCII"),
        pytest.param("", "", id="empty"),
        pytest.param(GROSSE, "Gr\u00f6\u00dfe", id="decomposed"),
        pytest.param("o\u0323\u0302", "\u1ed9", id="two marks"),
        pytest.param("\u00f4\u0323", "\u1ed9", id="partly decomposed"),
        pytest.param("\u1112\u1161\u11ab", "\ud55c", id="Hangul"),
        pytest.param("\u212a", "K", id="Kelvin sign"),
        pytest.param("\ufb01", "\ufb01", id="a ligature is another text"),
        pytest.param("\ud800", "\ud800", id="half of a surrogate pair"),
        pytest.param(GROSSE * 9_000, "Gr\u00f6\u00dfe" * 9_000, id="long"),
        pytest.param(
            "\u0e01\u0e33" * 20_000 + "o\u0308", "\u0e01\u0e33" * 20_000 + "\u00f6", id="Thai"
        ),
        pytest.param("o" + "\u0308" * MOST_MARKS, "\u00f6" + "\u0308" * (MOST_MARKS - 1), id="run"),
    ],
)
def test_texts_are_compared_in_nfc(text: str, form: str) -> None:
    """Canonically equal texts have the same NFC. A compatible text, such as a ligature, stays
    different.
    """
    assert composed(text) == form
    assert composed(normalize("NFD", form)) == form
    assert composed(form) is form or not form.isascii()


@pytest.mark.parametrize("marks", [MARKS, "\u0f73", "\u0344\u0316"], ids=ascii)
def test_a_long_run_of_marks_is_not_composed(marks: str) -> None:
    """A text with more than MOST_MARKS consecutive marks is not changed, because this takes
    seconds.
    """
    text = f"a{marks * 25_000}"

    assert composed(text) is text


def test_a_composed_column_is_the_same_object() -> None:
    """A column whose texts are all in NFC is returned as the same object."""
    texts = ("name", "", "Gr\u00f6\u00dfe", *["x"] * 5_000)

    assert finish(composed_texts(texts)) is texts


def test_a_decomposed_text_is_replaced() -> None:
    """Only texts that are not in NFC are replaced. `byte_count` is the memory of the new texts."""
    texts = ("name", "\u00e4" * 10, *["x"] * 5_000, GROSSE)

    found = finish(composed_texts(texts))

    assert found == (*texts[:-1], "Gr\u00f6\u00dfe")
    assert found[1] is texts[1]
    assert isinstance(found, ComposedTexts)
    assert 50 < found.byte_count < 200


@pytest.mark.parametrize(
    ("cells", "texts"),
    [(("a", None, 5, True), ("a", "", "", "")), ((), ()), ((None,) * 3_000, ("",) * 3_000)],
    ids=["mixed", "none", "many"],
)
def test_cells_without_a_text_have_an_empty_text(
    cells: tuple[object, ...], texts: tuple[str, ...]
) -> None:
    """Numbers, booleans and blank cells become empty texts."""
    assert finish(as_texts(cells)) == texts
