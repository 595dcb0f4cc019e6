"""Tests of memory that displayed texts and typed values share, and of comparisons of both.

A rendering is all displayed texts, or all typed values, in one read.
"""

from collections.abc import Sequence

from gateway.table.steps import finish
from gateway.table.table import Column, make_table


def other(text: object) -> object:
    """Return an equal text that is another object, as in another answer of Google."""
    return "".join([str(text)[:1], str(text)[1:]])


def is_mixed(displayed: Sequence[Column], typed: Sequence[Column]) -> bool:
    return finish(make_table(displayed).with_typed(typed)).is_mixed


def test_equal_columns_are_stored_once() -> None:
    """A column of texts is one object as displayed texts and as typed values."""
    displayed: list[Column] = [("name", "Boston", "Austin"), ("n", "1")]

    shared = finish(make_table(displayed).with_typed([tuple(map(other, displayed[0])), ("n", 1)]))

    assert shared.typed is not None
    assert shared.typed == (displayed[0], ("n", 1))
    assert shared.typed[0] is displayed[0]
    assert not shared.is_mixed


def test_equal_cells_of_mixed_columns_are_stored_once() -> None:
    """In a column with numbers, a text is one object as displayed text and as typed value."""
    displayed: list[Column] = [("note", "1,250", "Boston", "#N/A", "")]

    typed = (other("note"), 1250, other("Boston"), "#N/A (why)", None)
    shared = finish(make_table(displayed).with_typed([typed]))

    assert shared.typed is not None
    assert shared.typed == (("note", 1250, "Boston", "#N/A (why)", None),)
    assert shared.typed[0][2] is displayed[0][2]
    assert not shared.is_mixed


def test_columns_can_have_different_lengths() -> None:
    """Missing cells and blank cells at the end of a column count as equal."""
    displayed: list[Column] = [("a", "x"), ("b", "1", "", "2"), ("c",)]

    shared = finish(
        make_table(displayed).with_typed([("a", "x", "", None), ("b", 1, None, 2), ("c", "")])
    )

    assert shared.typed == (("a", "x", "", None), ("b", 1, None, 2), ("c", ""))
    assert not shared.is_mixed


def test_columns_of_one_rendering_only_count_as_blank() -> None:
    """`is_mixed` is True for a column in only one read if the column has a text."""
    assert not is_mixed([("a", "x")], [("a", "x"), ("", None), ("", 5)])
    assert not is_mixed([("a", "x"), ("", "")], [("a", "x")])
    assert is_mixed([("a", "x")], [("a", "x"), ("", "y")])
    assert is_mixed([("a", "x"), ("", "y")], [("a", "x")])


def test_each_boolean_word_has_one_value() -> None:
    """`is_mixed` is True if one displayed word, in any language, has the values true and false."""
    assert is_mixed([("done", "FALSCH", "FALSCH")], [("done", False, True)])
    assert is_mixed([("done", "FALSE")], [("done", True)])
    assert is_mixed([("a", "FAUX"), ("b", "FAUX")], [("a", False), ("b", True)])
    assert is_mixed([("a", "note", "FAUX", "FAUX")], [("a", "note", False, True)])
    assert not is_mixed([("a", "WAHR", "FALSCH", "")], [("a", True, False, True)])
