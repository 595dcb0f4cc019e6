"""Which worksheets an error names: those that its caller may hear of."""

import pytest

from gateway.web.near_titles import not_found_by
from gateway.worksheets.access import Access, Target
from gateway.worksheets.worksheet_id import WorksheetId, worksheet_not_found


def message(title: str, titles: list[str], *, visible: set[str] | None = None) -> str:
    """What a caller who asked for a title is told where there are these."""
    worksheet = WorksheetId("book", title)
    granted = None if visible is None else frozenset(visible)
    target = Target(worksheet, Access(titles=granted))
    return not_found_by(target, worksheet_not_found(worksheet, titles)).message


def test_names_are_those_the_key_may_hear_of() -> None:
    """Names outside the key's grants are left out of the message."""
    told = message("Cities", ["Cites", "City"], visible={"Cites"})

    assert '"Cites"' in told
    assert '"City"' not in told


def test_the_titles_stay_with_the_error() -> None:
    """Whoever is asked next needs them, for another caller."""
    worksheet = WorksheetId("book", "Cities")
    error = worksheet_not_found(worksheet, ["City"])

    assert error.titles == ["City"]
    assert "City" not in error.message.replace("Cities", "")
    assert not_found_by(Target(worksheet), error).titles == ["City"]


@pytest.mark.parametrize("hidden", [[], ["Sale1", "Sale2", "Sale3", "sale"]], ids=["", "hidden"])
def test_what_a_key_may_not_hear_of_leaves_no_trace(hidden: list[str]) -> None:
    """Hidden worksheets take nobody's place among the near names."""
    told = message("Sale", [*hidden, "Sales old"], visible={"Sale", "Sales old"})

    assert told.endswith(' It has "Sales old".')


@pytest.mark.parametrize("hidden", [[], ["Sale1", "Sale2", "Sale3", "sale"]], ids=["", "hidden"])
def test_of_many_worksheets_the_near_ones_are_named(hidden: list[str]) -> None:
    """Up to 10 that the key may hear of are all named, of more those that are like the name."""
    heard_of = [*map("Month {}".format, range(9)), "Sales old"]
    wide = {*heard_of, "Staff"}

    few = message("Sale", [*hidden, *heard_of], visible=set(heard_of))
    many = message("Sale", [*hidden, *heard_of, "Staff"], visible=wide)
    far = message("zzz", [*hidden, *heard_of, "Staff"], visible=wide)

    names = ", ".join(f'"{title}"' for title in heard_of)
    assert few.endswith(f"case and blanks count. It has {names}.")
    assert many.endswith('case and blanks count. Near names: "Sales old".')
    assert far.endswith("case and blanks count.")


def test_nothing_is_said_where_nothing_may_be_heard_of() -> None:
    """A spreadsheet of hidden worksheets looks like an empty one."""
    hidden = message("Sale", ["Sales"], visible={"Sale"})

    assert hidden == message("Sale", [], visible={"Sale"})


def test_titles_are_escaped_and_cut() -> None:
    """Neither the name that was sent nor those that there are move a terminal or fill a page."""
    told = message("a\n", ["b\u202e", "x" * 101])

    assert 'named "a\\n".' in told
    assert f'It has "b\\u202e", "{"x" * 100}…".' in told
