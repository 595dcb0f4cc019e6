"""What the two halves of a worksheet share in memory."""

from gateway.table.renderings import pair
from gateway.table.steps import finish


def other(text: str) -> str:
    """An equal text that is another object, as it comes out of another answer."""
    return "".join([text[:1], text[1:]])


def test_equal_columns_are_kept_once() -> None:
    """A column of texts is the same object in both halves."""
    displayed = [("name", "Boston", "Austin"), ("n", "1")]

    pairing = finish(pair(displayed, [tuple(map(other, displayed[0])), ("n", 1)]))

    assert pairing.typed[0] is displayed[0]
    assert pairing.typed[1] == ("n", 1)
    assert not pairing.is_torn


def test_equal_cells_of_mixed_columns_are_kept_once() -> None:
    """A text beside numbers is the displayed object; what differs stays."""
    displayed = [("note", "1,250", "Boston", "#N/A", "")]

    typed = (other("note"), 1250, other("Boston"), "#N/A (why)", None)
    pairing = finish(pair(displayed, [typed]))

    assert pairing.typed == (("note", 1250, "Boston", "#N/A (why)", None),)
    assert pairing.typed[0][2] is displayed[0][2]
    assert not pairing.is_torn


def test_columns_may_be_of_different_lengths() -> None:
    """Blank cells that one half leaves out are blank."""
    displayed = [("a", "x"), ("b", "1", "", "2"), ("c",)]

    pairing = finish(pair(displayed, [("a", "x", "", None), ("b", 1, None, 2), ("c", "")]))

    assert pairing.typed == (("a", "x", "", None), ("b", 1, None, 2), ("c", ""))
    assert not pairing.is_torn


def test_columns_of_one_half_only_count_as_blank() -> None:
    """A column beside the other half's last is no sign of a change unless it holds a text."""
    assert not finish(pair([("a", "x")], [("a", "x"), ("", None), ("", 5)])).is_torn
    assert not finish(pair([("a", "x"), ("", "")], [("a", "x")])).is_torn
    assert finish(pair([("a", "x")], [("a", "x"), ("", "y")])).is_torn
    assert finish(pair([("a", "x"), ("", "y")], [("a", "x")])).is_torn
