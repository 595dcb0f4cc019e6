"""From the fields of a request to cells, and back."""

from collections.abc import Mapping, Sequence

import pytest

from gateway.errors import InvalidBody, Problem
from gateway.rows.header import parse_header
from gateway.rows.record import (
    Stored,
    changed_runs,
    check_has_value,
    new_row,
    place,
    pointer,
    text_at,
)

HEADER = parse_header(["name", "state", "", " population ", "name", "rowIndex"])


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param((), "#", id="whole body"),
        pytest.param(("name",), "#/name", id="name"),
        pytest.param(("a/b~c",), "#/a~1b~0c", id="slash and tilde"),
        pytest.param(("~1",), "#/~01", id="looks escaped"),
        pytest.param(('a b%20#?"',), "#/a%20b%2520%23%3F%22", id="not for a fragment"),
        pytest.param(("é",), "#/%C3%A9", id="beyond ASCII"),
        pytest.param(("\ud800",), "#/%3F", id="half of a surrogate pair"),
        pytest.param(("",), "#/", id="empty name"),
        pytest.param(("x" * 99 + "~~",), "#/" + "x" * 99 + "~0", id="cut, no escape in halves"),
        pytest.param(("a", "0"), "#/a/0", id="path"),
    ],
)
def test_pointers_are_uri_fragments(path: Sequence[str], expected: str) -> None:
    """A pointer is escaped for JSON, then for a URI; below another one it goes on there."""
    assert pointer(*path) == expected
    assert pointer(*path, at="#/7") == "#/7" + expected[1:]


def test_fields_find_their_columns() -> None:
    """Names are found as headers are: exactly, then trimmed, the first of duplicates."""
    placement = place({"population": 5, "name ": None}, HEADER, ignore_unknown=False)

    assert placement.cells == {3: 5, 0: None}
    assert placement.ignored == ()


def test_unknown_fields_are_refused_with_their_places() -> None:
    """All that are no header are named, and so are the headers."""
    fields: dict[str, Stored] = {"nope": 1, "name": "x", "a/b": 2}

    with pytest.raises(InvalidBody) as refused:
        place(fields, HEADER, ignore_unknown=False)

    assert [problem.pointer for problem in refused.value.problems] == ["#/nope", "#/a~1b"]
    assert '"name", "state", " population "' in refused.value.message
    assert '"nope", "a/b"' in refused.value.message


def test_an_error_does_not_grow_with_the_body() -> None:
    """Of many long strangers some are named, and those cut."""
    fields: dict[str, Stored] = {f"{n} {'x' * 10_000}": 1 for n in range(100)}

    with pytest.raises(InvalidBody) as caught:
        place(fields, HEADER, ignore_unknown=False)

    assert len(caught.value.message) < 2_000
    assert len(caught.value.problems) == 20
    assert all(len(problem.pointer) < 200 for problem in caught.value.problems)


def test_a_blank_header_is_no_field() -> None:
    """A field without a name has no column, though the sheet has one without a header."""
    with pytest.raises(InvalidBody):
        place({"": "x"}, HEADER, ignore_unknown=False)


def test_unknown_fields_may_be_ignored() -> None:
    """With `unknown_fields = "ignore"` they are left aside and named."""
    placement = place({"nope": 1, "name": "x", "no": 2}, HEADER, ignore_unknown=True)

    assert placement.cells == {0: "x"}
    assert placement.ignored == ("nope", "no")


def test_a_body_of_strangers_is_refused_even_so() -> None:
    """Nothing is left to write where every field is ignored."""
    with pytest.raises(InvalidBody) as refused:
        place({"nope": 1}, HEADER, ignore_unknown=True)

    assert [problem.pointer for problem in refused.value.problems] == ["#"]
    assert '"state"' in refused.value.message


@pytest.mark.parametrize("ignore_unknown", [False, True])
def test_two_names_of_one_column_are_refused(ignore_unknown: bool) -> None:
    """Which of two values to write is not guessed."""
    fields: dict[str, Stored] = {"name": "a", " name": "b"}

    with pytest.raises(InvalidBody) as refused:
        place(fields, HEADER, ignore_unknown=ignore_unknown)

    assert refused.value.problems == (Problem("#/%20name", "Another field names the same column."),)


@pytest.mark.parametrize(
    ("fields", "ignore_unknown", "pointers"),
    [
        pytest.param({"nope": 1, "a/b": 2}, False, ["#/3/nope", "#/3/a~1b"], id="unknown"),
        pytest.param({"name": "a", " name": "b"}, False, ["#/3/%20name"], id="one column twice"),
        pytest.param({"nope": 1}, True, ["#/3"], id="strangers only"),
    ],
)
def test_places_within_a_list_begin_with_the_index(
    fields: Mapping[str, Stored], ignore_unknown: bool, pointers: list[str]
) -> None:
    """What is wrong with an object of a list is told with the object's own place."""
    with pytest.raises(InvalidBody) as refused:
        place(fields, HEADER, ignore_unknown=ignore_unknown, at=pointer("3"))

    assert [problem.pointer for problem in refused.value.problems] == pointers


@pytest.mark.parametrize("values", [[], [None], ["", None]], ids=str)
def test_a_new_row_needs_a_value(values: Sequence[Stored]) -> None:
    """A row of empty cells is refused as a whole, in a list by its index."""
    refusals = []
    for at in ("#", "#/0"):
        with pytest.raises(InvalidBody, match="at least one field with a value") as refused:
            check_has_value(values, at=at)
        refusals.append(refused.value)

    assert [[each.pointer for each in error.problems] for error in refusals] == [["#"], ["#/0"]]


@pytest.mark.parametrize("values", [[0], [False], [" "], [None, "x"]], ids=str)
def test_zero_false_and_blanks_are_values(values: Sequence[Stored]) -> None:
    """Whatever fills a cell makes a row."""
    check_has_value(values)


@pytest.mark.parametrize(
    ("cells", "row"),
    [
        pytest.param({0: "x"}, ["x"], id="first column"),
        pytest.param({3: 5, 1: True}, [None, True, None, 5], id="gaps are left out"),
        pytest.param({0: "", 1: None, 2: 0}, [None, None, 0], id="empty values are left out"),
        pytest.param({1: False, 0: "=1+1"}, ["=1+1", False], id="stored as they are"),
    ],
)
def test_new_rows_begin_in_column_a(cells: Mapping[int, Stored], row: list[Stored]) -> None:
    """A row to append reaches up to its last field."""
    assert new_row(cells) == row


@pytest.mark.parametrize(
    ("cells", "displayed", "runs"),
    [
        pytest.param({0: "x", 1: "y"}, ["a", "b"], [(0, ["x", "y"])], id="neighbours"),
        pytest.param({3: "y", 0: "x"}, [], [(0, ["x"]), (3, ["y"])], id="apart, past the end"),
        pytest.param({0: "a", 1: "b"}, ["a", "b"], [], id="echo of the whole row"),
        pytest.param(
            {0: "x", 1: "1,250", 2: "z"},
            ["a", "1,250", "c"],
            [(0, ["x"]), (2, ["z"])],
            id="echo parts neighbours",
        ),
        pytest.param({0: "1250"}, ["1,250"], [(0, ["1250"])], id="other notation is no echo"),
        pytest.param({0: 1250}, ["1250"], [(0, [1250])], id="a number is no echo of its text"),
        pytest.param({0: True}, ["True"], [(0, [True])], id="a boolean is none either"),
        pytest.param({0: "a "}, ["a"], [(0, ["a "])], id="blanks count"),
        pytest.param({0: None, 1: ""}, ["a", "b"], [(0, ["", ""])], id="both empty the cell"),
        pytest.param({0: "", 1: ""}, ["", None], [], id="empty stays empty"),
        pytest.param({5: ""}, ["a"], [], id="empty past the end"),
        pytest.param({0: 0, 1: False}, ["", ""], [(0, [0, False])], id="zero and false are values"),
    ],
)
def test_updates_write_only_what_changes(
    cells: Mapping[int, Stored],
    displayed: Sequence[object],
    runs: list[tuple[int, list[Stored]]],
) -> None:
    """Named cells go out in runs; a string that its cell displays already does not."""
    assert changed_runs(cells, displayed) == runs


@pytest.mark.parametrize(
    ("column", "text"), [(0, "a"), (1, ""), (2, ""), (3, "5"), (4, ""), (99, "")]
)
def test_texts_of_a_short_row_are_empty(column: int, text: str) -> None:
    """A displayed row ends at its last cell with content."""
    assert text_at(["a", None, "", 5], column) == text
