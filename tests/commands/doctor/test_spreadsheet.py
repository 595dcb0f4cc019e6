"""Problems of a header row, column by column."""

from collections.abc import Sequence

import pytest

from gateway.commands.doctor.worksheet import check_header
from gateway.table.header import Layout, parse_header

HEADERS: dict[str, tuple[Sequence[object], Sequence[str]]] = {
    "all is well": (["a", "b c", "ä"], ["3 fields"]),
    "one": (["a"], ["1 field"]),
    "blank": (["a", "", "b"], ["2 fields", "no header in column B, which is not served"]),
    "blanks": (
        ["", "a", "  ", "b"],
        ["2 fields", "no header in columns A and C, which are not served"],
    ),
    "thrice": (
        ["a", "b", "a", "a"],
        [
            "2 fields",
            'the header "a" is in columns A, C and D; only A is used. Rename the header in '
            "columns C and D",
        ],
    ),
    "blanks around": (
        ["a ", "\xa0b", "c\n", "d\u200b", "e f"],
        [
            "5 fields",
            'the header in column A has surrounding blanks: "a "',
            'the header in column B has surrounding blanks: "\\xa0b"',
            'the header in column C has surrounding blanks: "c\\n"',
            'the header in column D has surrounding blanks: "d\\u200b"',
        ],
    ),
    "row index": (
        ["a", "rowIndex", " rowIndex "],
        ["1 field", "the header rowIndex in columns B and C is reserved for the row number"],
    ),
    "row index alone": (
        ["rowIndex", "rowIndex"],
        ["the header rowIndex in columns A and B is reserved for the row number"],
    ),
    "none": ([], ["row 1 is blank, so the worksheet is not served. Write column names"]),
    "only blanks": (
        ["", " "],
        ["row 1 is blank, so the worksheet is not served. Write column names"],
    ),
    "very many blanks": (
        ["x", *[""] * 12, "y"],
        ["2 fields", "no header in columns B, C, D, E, F, G, H, I, J, K and 2 more, which are"],
    ),
    "long": (
        ["n" * 100, "n" * 100],
        ["1 field", f'the header "{"n" * 60}…" is in columns A and B; only A is used'],
    ),
}


BELOW: dict[str, tuple[Sequence[Sequence[object]], Sequence[str]]] = {
    "more columns": (
        [["a", "b"], [], ["1", "", "3", "4"]],
        ["no header in columns C and D, which"],
    ),
    "gap too": (
        [["a", "", "c"], ["1", "2", "3", "4"]],
        ["no header in columns B and D, which are"],
    ),
    "blank cells": ([["a", "b"], ["1", "2", "", " ", None]], []),
    "title": (
        [["", "Prices"], [], ["name", "size"]],
        ['row 1 has one cell, "Prices", and row 3 has 2. If row 1 is a title, delete the rows'],
    ),
    "one column": ([["a"], ["1"], [""]], []),
    "blank header": ([[], ["a", "b"]], ["row 1 is blank, so the worksheet is not served"]),
}


@pytest.mark.parametrize(("rows", "words"), BELOW.values(), ids=BELOW)
def test_rows_below_a_header(rows: Sequence[Sequence[object]], words: Sequence[str]) -> None:
    """They show columns without a name, and that row 1 is a title."""
    findings = check_header("A", parse_header(rows[0]), rows[1:])
    warnings = [each.text for each in findings if each.level == "warning"]

    assert len(warnings) == len(words)
    for found, expected in zip(warnings, words, strict=True):
        assert found.startswith(f'worksheet "A": {expected}')


def test_a_title_above_the_header_comes_with_its_setting() -> None:
    """It names spreadsheet, title in TOML and row; below a blank row 1 too."""
    setting = (
        'add to the configuration [[worksheets]] with the lines spreadsheet = "1AbC", '
        'title = "My \\"Orders\\"", header_row = 3'
    )
    for top in (["Prices"], []):
        (finding,) = [
            each
            for each in check_header(
                'My "Orders"', parse_header(top), [[], ["name", "size"]], "1AbC"
            )
            if each.level == "warning"
        ]

        assert setting in finding.text


def test_a_missing_record_field_is_a_problem() -> None:
    """It names the field and its row; a field that is there is none."""
    layout = Layout(3, "task")
    (missing,) = check_header("A", parse_header(["name", "size"], layout))
    (there,) = check_header("A", parse_header(["name", "task"], layout))

    assert (missing.level, there.level) == ("problem", "ok")
    assert 'no field "task", its record_field' in missing.text
    assert "row 3" in missing.text


def test_a_header_below_row_1_is_named_by_its_row() -> None:
    """Findings of a header with a setting speak of its row, and count from there."""
    title = check_header("A", parse_header(["Prices"], Layout(3)), [["name", "size"]])
    blank = check_header("A", parse_header([], Layout(3)))

    assert "row 3 has one cell" in [*title][1].text
    assert (
        "header_row = 4"
        in [*check_header("A", parse_header(["x"], Layout(3)), [["a", "b"]])][1].text
    )
    assert "row 3 is blank" in next(iter(blank)).text


@pytest.mark.parametrize(("row", "words"), HEADERS.values(), ids=HEADERS)
def test_a_header(row: Sequence[object], words: Sequence[str]) -> None:
    """Each finding is a line with the worksheet's title; the count is fine, the rest a warning."""
    findings = list(check_header("My\x1b[2J Sheet", parse_header(row)))

    place = 'worksheet "My\\x1b[2J Sheet": '
    assert len(findings) == len(words)
    for finding, expected in zip(findings, words, strict=True):
        assert finding.level == ("ok" if expected.endswith(("field", "fields")) else "warning")
        assert finding.text.startswith(place + expected)
        assert not finding.text.endswith(".")
