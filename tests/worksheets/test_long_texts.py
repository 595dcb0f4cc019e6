"""Long texts in the stored record of a write."""

import pytest

from gateway.worksheets.replay import LONG, Restorer, long_texts, shortened

TEXT = "ü" * LONG


@pytest.mark.parametrize(
    "value",
    [TEXT, TEXT[:-1], TEXT + "!", "", None, 5, 1.5, True],
    ids=["long", "short", "another one", "empty", "null", "number", "fraction", "boolean"],
)
def test_a_value_is_restored_as_it_was(value: object) -> None:
    """Only a long text that the body has is stored as a digest, and it is restored."""
    texts = long_texts([{"a": 1}, {"b": TEXT, "c": TEXT[:-1], "d": None}])
    kept = shortened(value, texts)

    assert texts == {TEXT}
    assert (kept != value) == (value == TEXT)
    assert Restorer(texts)(kept) == value


def test_a_digest_of_something_else_is_nothing() -> None:
    """A digest whose text the body lacks gives None: the record is of another body."""
    kept = shortened(TEXT, frozenset([TEXT]))

    assert Restorer([TEXT + "!"])(kept) is None
