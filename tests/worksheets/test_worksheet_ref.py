"""Telling one's own worksheet from Google's echo."""

from dataclasses import replace

import pytest

from gateway.errors import GatewayError, UpstreamError, WorksheetNotFound
from gateway.worksheets.worksheet_ref import own_area, worksheet_not_found, written_area
from tests.worksheets.conftest import REF


@pytest.mark.parametrize("title", ["Cities", "it's", "D3", " lead", "a!b:c", "日本"])
def test_own_worksheet(title: str) -> None:
    """An echo of the title asked for is read, quotes and all."""
    quoted = title.replace("'", "''")

    area = own_area(replace(REF, title=title), f"'{quoted}'!B2:C9")

    assert (area.title, area.first_row, area.last_row) == (title, 2, 9)
    assert (area.first_column, area.last_column) == (1, 2)


@pytest.mark.parametrize(
    ("echo", "error"),
    [
        pytest.param("CITIES!A1", WorksheetNotFound, id="other-case"),
        pytest.param("Cities", UpstreamError, id="no-cells"),
        pytest.param("", UpstreamError, id="nothing"),
        pytest.param("Cities!A:B", UpstreamError, id="no-rows"),
    ],
)
def test_foreign_echo(echo: str, error: type[GatewayError]) -> None:
    """Another spelling is another worksheet; what cannot be read is Google's failure."""
    with pytest.raises(error):
        own_area(REF, echo)
    with pytest.raises(UpstreamError) as written:
        written_area(REF, echo)

    assert written.value.outcome == "applied"


def test_names_are_those_the_key_may_hear_of() -> None:
    """Names outside the key's grants are left out of the message."""
    narrow = replace(REF, visible=frozenset({"Cites"}))

    error = worksheet_not_found(narrow, ["Cites", "City"])

    assert '"Cites"' in error.message
    assert '"City"' not in error.message


@pytest.mark.parametrize("hidden", [[], ["Sale1", "Sale2", "Sale3", "sale"]], ids=["", "hidden"])
def test_what_a_key_may_not_hear_of_leaves_no_trace(hidden: list[str]) -> None:
    """Hidden worksheets take nobody's place among the near names."""
    narrow = replace(REF, title="Sale", visible=frozenset({"Sale", "Sales old"}))

    error = worksheet_not_found(narrow, [*hidden, "Sales old"])

    assert error.message.endswith(' It has "Sales old".')


@pytest.mark.parametrize("hidden", [[], ["Sale1", "Sale2", "Sale3", "sale"]], ids=["", "hidden"])
def test_of_many_worksheets_the_near_ones_are_named(hidden: list[str]) -> None:
    """Up to 10 that the key may hear of are all named, of more those that are like the name."""
    heard_of = [*map("Month {}".format, range(9)), "Sales old"]
    narrow = replace(REF, title="Sale", visible=frozenset(heard_of))

    few = worksheet_not_found(narrow, [*hidden, *heard_of])
    wide = replace(narrow, visible=frozenset([*heard_of, "Staff"]))
    many = worksheet_not_found(wide, [*hidden, *heard_of, "Staff"])
    far = worksheet_not_found(replace(wide, title="zzz"), [*hidden, *heard_of, "Staff"])

    names = ", ".join(f'"{title}"' for title in heard_of)
    assert few.message.endswith(f"case and blanks count. It has {names}.")
    assert many.message.endswith('case and blanks count. Near names: "Sales old".')
    assert far.message.endswith("case and blanks count.")


def test_nothing_is_said_where_nothing_may_be_heard_of() -> None:
    """A spreadsheet of hidden worksheets looks like an empty one."""
    narrow = replace(REF, title="Sale", visible=frozenset({"Sale"}))

    assert worksheet_not_found(narrow, ["Sales"]).message == worksheet_not_found(narrow, []).message


def test_titles_are_escaped_and_cut() -> None:
    """Neither the name that was sent nor those that there are move a terminal or fill a page."""
    message = worksheet_not_found(replace(REF, title="a\n"), ["b\u202e", "x" * 101]).message

    assert 'named "a\\n".' in message
    assert f'It has "b\\u202e", "{"x" * 100}…".' in message


def test_long_title_is_cut() -> None:
    """The message quotes no more than 100 characters of the title asked for."""
    error = worksheet_not_found(replace(REF, title="x" * 5000), [])

    assert "x" * 100 in error.message
    assert "x" * 101 not in error.message
