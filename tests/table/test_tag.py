"""Tests of ETags of rows, and of conditions in `If-Match`."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.table.header import IfMatch, keyed_row_tag, opaque_tag, parse_header, row_tag

HEADER = ("name", "", "population")
ROW = ("Boston", "hidden", "675,647")

cells = st.lists(st.one_of(st.none(), st.text(max_size=4)), max_size=5)


def without_end(row: Sequence[object]) -> list[object]:
    """Return the cells without trailing empty cells, with "" for None."""
    texts = [cell or "" for cell in row]
    while texts and not texts[-1]:
        texts.pop()
    return texts


def test_a_tag_is_strong_and_fits_a_header() -> None:
    """An ETag is strong and quoted, and its characters need no escape in a header."""
    assert re.fullmatch(r'"[A-Za-z0-9_-]{16}"', row_tag(HEADER, ROW))


def test_a_tag_is_the_same_in_every_process() -> None:
    """ETags are equal in all releases and processes, because clients keep them."""
    assert row_tag(HEADER, ROW) == row_tag(list(HEADER), list(ROW))
    assert keyed_row_tag(b"key", {"name": 0}, 2, HEADER, ROW) == '"_wh4ijGfFDHzWpQa"'
    assert opaque_tag(b"") == '"47DEQpj8HBSa-_TI"'


@pytest.mark.parametrize(
    ("header", "row"),
    [
        pytest.param(HEADER, ("Boston", "hidden", "675647"), id="displayed otherwise"),
        pytest.param(HEADER, ("boston", "hidden", "675,647"), id="another case"),
        pytest.param(HEADER, ("Boston ", "hidden", "675,647"), id="a blank more"),
        pytest.param(HEADER, ("Boston", "seen", "675,647"), id="below a blank header"),
        pytest.param(HEADER, ("Boston", "", "675,647"), id="an emptied cell"),
        pytest.param(HEADER, (*ROW, "note"), id="beside the last header"),
        pytest.param(HEADER, ("hidden", "Boston", "675,647"), id="swapped cells"),
        pytest.param(HEADER, ("", *ROW), id="moved cells"),
        pytest.param(("town", "", "population"), ROW, id="a renamed header"),
        pytest.param(("name", "state", "population"), ROW, id="a new header"),
        pytest.param(("population", "", "name"), ROW, id="swapped headers"),
        pytest.param((*HEADER, *ROW), (), id="cells that became headers"),
    ],
)
def test_any_displayed_change_changes_the_tag(header: Sequence[str], row: Sequence[str]) -> None:
    """The ETag changes with each cell of row and header, and with the position of a cell."""
    assert row_tag(header, row) != row_tag(HEADER, ROW)


@pytest.mark.parametrize(
    "row", [(*ROW, ""), (*ROW, None, "", None), [*ROW]], ids=["''", "null", "list"]
)
def test_empty_cells_at_the_end_do_not_count(row: Sequence[object]) -> None:
    """Trailing empty cells of a row or header do not change the ETag."""
    assert row_tag((*HEADER, ""), row) == row_tag(HEADER, ROW)
    assert row_tag(parse_header([*HEADER, None]).cells, row) == row_tag(HEADER, ROW)


@given(first=cells, second=cells)
def test_two_rows_have_equal_tags_only_if_their_cells_are_equal(
    first: list[str | None], second: list[str | None]
) -> None:
    """Two rows with the same header have equal ETags only if their cells are equal."""
    is_same = without_end(first) == without_end(second)

    assert (row_tag(HEADER, first) == row_tag(HEADER, second)) is is_same


def test_a_tag_over_hidden_cells_needs_a_key() -> None:
    """An ETag over hidden cells needs an HMAC key. Otherwise a client could guess the cells."""
    with pytest.raises(ValueError, match="needs an HMAC key"):
        keyed_row_tag(b"", {"name": 0}, 2, HEADER, ROW)


@pytest.mark.parametrize(
    ("tags", "holds"),
    [
        pytest.param(None, True, id="any"),
        pytest.param({'"a"'}, True, id="the tag"),
        pytest.param({'"b"', '"a"'}, True, id="one of several"),
        pytest.param({'"b"'}, False, id="another"),
        pytest.param({"a"}, False, id="without quotes"),
        pytest.param({'W/"a"'}, False, id="weak"),
        pytest.param(set(), False, id="none"),
    ],
)
def test_a_condition_holds_for_its_tags(tags: set[str] | None, holds: bool) -> None:
    """`If-Match` compares whole ETags, so weak and unquoted ETags do not match."""
    condition = IfMatch(tags=None if tags is None else frozenset(tags))

    assert condition.holds('"a"') is holds
