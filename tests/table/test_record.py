"""Tests of the conversion of request fields to cells."""

from collections.abc import Mapping, Sequence

import pytest

from gateway.errors import InvalidBody, NotGranted, Problem
from gateway.table.header import ColumnGrant, parse_header
from gateway.table.record import (
    Placement,
    Stored,
    changed_runs,
    check_granted,
    check_has_value,
    new_row,
    place,
    pointer,
    text_at,
)

HEADER = parse_header(["name", "state", "", " population ", "name", "rowIndex"]).whole


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
    """A JSON pointer is escaped for JSON and for a URI. `at` is the pointer of the parent."""
    assert pointer(*path) == expected
    assert pointer(*path, at="#/7") == "#/7" + expected[1:]


def test_fields_find_their_columns() -> None:
    """A field matches a header exactly, or else without blanks. The first of equal headers is
    the field.
    """
    placement = place({"population": 5, "name ": None}, HEADER, ignore_unknown=False)

    assert placement.cells == {3: 5, 0: None}
    assert placement.ignored == ()


def test_unknown_fields_are_rejected_with_their_pointers() -> None:
    """The error lists all unknown fields with their JSON pointers, and the existing fields."""
    fields: dict[str, Stored] = {"nope": 1, "name": "x", "a/b": 2}

    with pytest.raises(InvalidBody) as refused:
        place(fields, HEADER, ignore_unknown=False)

    assert [problem.pointer for problem in refused.value.problems] == ["#/nope", "#/a~1b"]
    assert '"name", "state", " population "' in refused.value.message
    assert '"nope", "a/b"' in refused.value.message


def test_an_error_does_not_grow_with_the_body() -> None:
    """An error about 100 long unknown names lists 20 problems, with the names cut."""
    fields: dict[str, Stored] = {f"{n} {'x' * 10_000}": 1 for n in range(100)}

    with pytest.raises(InvalidBody) as caught:
        place(fields, HEADER, ignore_unknown=False)

    assert len(caught.value.message) < 2_000
    assert len(caught.value.problems) == 20
    assert all(len(problem.pointer) < 200 for problem in caught.value.problems)


def test_a_blank_header_is_not_a_field() -> None:
    """A field with an empty name is an error, even if the worksheet has a blank header."""
    with pytest.raises(InvalidBody):
        place({"": "x"}, HEADER, ignore_unknown=False)


def test_unknown_fields_can_be_ignored() -> None:
    """With `unknown_fields = "ignore"`, unknown fields are not written. `ignored` lists their
    names.
    """
    placement = place({"nope": 1, "name": "x", "no": 2}, HEADER, ignore_unknown=True)

    assert placement.cells == {0: "x"}
    assert placement.ignored == ("nope", "no")


def test_a_body_of_unknown_fields_only_is_an_error() -> None:
    """A body with only unknown fields is an error even if they are ignored, because nothing is
    left.
    """
    with pytest.raises(InvalidBody) as refused:
        place({"nope": 1}, HEADER, ignore_unknown=True)

    assert [problem.pointer for problem in refused.value.problems] == ["#"]
    assert '"state"' in refused.value.message


@pytest.mark.parametrize("ignore_unknown", [False, True])
def test_two_names_of_one_column_are_rejected(ignore_unknown: bool) -> None:
    """Two fields for the same column are an error, because only one value can be written."""
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
def test_pointers_within_a_list_begin_with_the_index(
    fields: Mapping[str, Stored], ignore_unknown: bool, pointers: list[str]
) -> None:
    """A JSON pointer to a field in a list begins with the index of its object."""
    with pytest.raises(InvalidBody) as refused:
        place(fields, HEADER, ignore_unknown=ignore_unknown, at=pointer("3"))

    assert [problem.pointer for problem in refused.value.problems] == pointers


@pytest.mark.parametrize("values", [[], [None], ["", None]], ids=str)
def test_a_new_row_needs_a_value(values: Sequence[Stored]) -> None:
    """A new row whose values are all empty is an error at the row's JSON pointer."""
    refusals = []
    for at in ("#", "#/0"):
        with pytest.raises(InvalidBody, match="at least one field with a value") as refused:
            check_has_value(values, at=at)
        refusals.append(refused.value)

    assert [[each.pointer for each in error.problems] for error in refusals] == [["#"], ["#/0"]]


@pytest.mark.parametrize("values", [[0], [False], [" "], [None, "x"]], ids=str)
def test_zero_false_and_blanks_are_values(values: Sequence[Stored]) -> None:
    """A row with a zero, false or a blank text is not an empty row."""
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
    """A row to append starts in column A, and ends at the last field with a value."""
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
    """An update groups neighbouring cells, and leaves out texts that the cells already display."""
    assert changed_runs(cells, displayed) == runs


@pytest.mark.parametrize(
    ("column", "text"), [(0, "a"), (1, ""), (2, ""), (3, "5"), (4, ""), (99, "")]
)
def test_texts_of_a_short_row_are_empty(column: int, text: str) -> None:
    """`text_at` returns "" past the last cell of a row, and for a blank cell."""
    assert text_at(["a", None, "", 5], column) == text


SOME = parse_header(["name", "state", " note", "salary"]).seen_with(
    ColumnGrant(frozenset({"name", "state", "note"}), frozenset({"name", "note"}))
)


@pytest.mark.parametrize("ignore_unknown", [False, True], ids=["reject", "ignore"])
@pytest.mark.parametrize(
    "fields", [{"state": "x"}, {"name": "x", "state": None, "nope": 1}], ids=["alone", "among more"]
)
def test_a_read_only_field_is_not_granted(
    fields: Mapping[str, Stored], ignore_unknown: bool
) -> None:
    """A write to a field that the key can only read raises NotGranted with the field and its
    pointer.
    """
    with pytest.raises(NotGranted, match='not allowed to write "state", so') as refused:
        place(fields, SOME, ignore_unknown=ignore_unknown, at=pointer("3"))

    expected = Problem("#/3/state", "This key is not allowed to write this field.")
    assert refused.value.problems == (expected,)


def test_a_granted_field_is_matched_by_its_trimmed_name() -> None:
    """A writable field is found with any blanks around its name in the request."""
    assert place({" name ": "x", "note": "y"}, SOME, ignore_unknown=False).cells == {0: "x", 2: "y"}


@pytest.mark.parametrize("name", ["salary", "nope"], ids=["hidden", "unknown"])
def test_hidden_and_unknown_fields_get_the_same_error(name: str) -> None:
    """Errors for hidden and for unknown fields differ only in the name, and list only visible
    fields.
    """
    with pytest.raises(InvalidBody) as refused:
        place({name: "x", "name": "y"}, SOME, ignore_unknown=False)

    assert refused.value.message == (
        f'"{name}" is not a field of this worksheet; its fields are "name", "state", " note".'
    )
    assert refused.value.problems == (Problem(f"#/{name}", "The worksheet has no such field."),)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        pytest.param(["Name", "x"], '"Name", "x" are not fields of this worksheet;', id="some"),
        pytest.param(
            ["name", "name "], '"name " names a column that another field names too;', id="twice"
        ),
        pytest.param(
            ["name", "name ", "x"],
            '"x" is not a field of this worksheet, and "name " names a column that another',
            id="both",
        ),
        pytest.param(
            ["name", "name ", " name"], '"name ", " name" name columns twice;', id="twice twice"
        ),
        pytest.param(["a\u202eb\n"], '"a\\u202eb\\n" is not a field', id="unseen"),
        pytest.param(["y" * 101], f'"{"y" * 100}…" is not a field', id="long"),
    ],
)
def test_misplaced_fields_are_named(names: list[str], words: str) -> None:
    """The error names unknown fields, and fields of the same column. Long names are cut and
    escaped.
    """
    with pytest.raises(InvalidBody) as refused:
        place(dict.fromkeys(names, "x"), SOME, ignore_unknown=False)

    assert refused.value.message.startswith(words)
    assert refused.value.message.endswith('; its fields are "name", "state", " note".')


def test_no_more_than_ten_misplaced_fields_are_named() -> None:
    """An error about 50 unknown fields names only the first ten."""
    with pytest.raises(InvalidBody) as refused:
        place({f"x{number}": "" for number in range(50)}, SOME, ignore_unknown=False)

    assert '"x9" are not fields' in refused.value.message


def test_hidden_fields_are_ignored_like_unknown_fields() -> None:
    """With `ignore_unknown`, hidden fields are ignored like unknown fields."""
    placement = place({"salary": 1, "nope": 2, "name": "x"}, SOME, ignore_unknown=True)

    assert placement == Placement(cells={0: "x"}, ignored=("salary", "nope"))


def test_message_without_visible_fields_names_none() -> None:
    """If the key sees no fields, the message says "its fields are none"."""
    nothing = parse_header(["salary"]).seen_with(ColumnGrant(frozenset({"name"})))

    with pytest.raises(InvalidBody, match=r"; its fields are none\.$"):
        place({"salary": 1}, nothing, ignore_unknown=False)
    with pytest.raises(InvalidBody, match=r"its fields are none\.$"):
        place({"salary": 1}, nothing, ignore_unknown=True)


def test_a_read_only_field_is_an_error_without_a_header() -> None:
    """A write to a field that the settings make read-only raises NotGranted without a read of
    the header.
    """
    grant = ColumnGrant(frozenset({"name", "state"}), frozenset({"name"}))

    check_granted({"name": "x", "nope": 1}, grant)
    with pytest.raises(NotGranted) as refused:
        check_granted({"name": "x", "state": "y"}, grant, at=pointer("1"))
    assert [problem.pointer for problem in refused.value.problems] == ["#/1/state"]
