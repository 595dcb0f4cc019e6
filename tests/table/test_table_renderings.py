"""Cells that the two renderings of a worksheet share in memory."""

from gateway.table.steps import finish
from gateway.table.table import share_cells


def other(text: str) -> str:
    """An equal text that is another object, as it comes out of another answer."""
    return "".join([text[:1], text[1:]])


def test_equal_columns_are_kept_once() -> None:
    """A column of texts is the same object in both renderings."""
    displayed = [("name", "Boston", "Austin"), ("n", "1")]

    shared = finish(share_cells(displayed, [tuple(map(other, displayed[0])), ("n", 1)]))

    assert shared.columns[0] is displayed[0]
    assert shared.columns[1] == ("n", 1)
    assert not shared.is_mixed


def test_equal_cells_of_mixed_columns_are_kept_once() -> None:
    """A text beside numbers is the displayed object; what differs stays."""
    displayed = [("note", "1,250", "Boston", "#N/A", "")]

    typed = (other("note"), 1250, other("Boston"), "#N/A (why)", None)
    shared = finish(share_cells(displayed, [typed]))

    assert shared.columns == (("note", 1250, "Boston", "#N/A (why)", None),)
    assert shared.columns[0][2] is displayed[0][2]
    assert not shared.is_mixed


def test_columns_may_be_of_different_lengths() -> None:
    """Blank cells that one rendering leaves out are blank."""
    displayed = [("a", "x"), ("b", "1", "", "2"), ("c",)]

    shared = finish(share_cells(displayed, [("a", "x", "", None), ("b", 1, None, 2), ("c", "")]))

    assert shared.columns == (("a", "x", "", None), ("b", 1, None, 2), ("c", ""))
    assert not shared.is_mixed


def test_columns_of_one_rendering_only_count_as_blank() -> None:
    """A column beside the other rendering's last is no sign of a change unless it holds a text."""
    assert not finish(share_cells([("a", "x")], [("a", "x"), ("", None), ("", 5)])).is_mixed
    assert not finish(share_cells([("a", "x"), ("", "")], [("a", "x")])).is_mixed
    assert finish(share_cells([("a", "x")], [("a", "x"), ("", "y")])).is_mixed
    assert finish(share_cells([("a", "x"), ("", "y")], [("a", "x")])).is_mixed
