"""Tests of `findReplace` requests: matches, replacements and counts."""

import pytest

from tests.sheets_emulator.bench import Bench, message
from tests.sheets_emulator.conftest import BenchBuilder
from tests.sheets_emulator.requests_of import Request, grid_range


def replaced(bench: Bench, find: str, replacement: str = "", **options: object) -> Request:
    """Send a `findReplace` request and return its counts, by default for the first worksheet."""
    scope = {} if {"range", "allSheets"} & set(options) else {"sheetId": 0}
    request = {"find": find, "replacement": replacement, **scope, **options}
    found: Request = bench.edit({"findReplace": request}).json()["replies"][0]["findReplace"]
    return found


def test_counts_equal_the_example_of_google(build: BenchBuilder) -> None:
    """Replacing `e` in `Google Sheets` counts 3 occurrences. Without a match, counts are absent."""
    bench = build({"Data": "Google Sheets,x\n"})

    assert replaced(bench, "e", "o") == {
        "valuesChanged": 1,
        "rowsChanged": 1,
        "sheetsChanged": 1,
        "occurrencesChanged": 3,
    }
    assert bench.grid("Data") == [["Googlo Shoots", "x"]]
    assert replaced(bench, "nowhere") == {}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ["x", "xb", "x"]),
        ({"matchCase": True}, ["x", "xb", "A"]),
        ({"matchEntireCell": True}, ["x", "ab", "x"]),
        ({"matchCase": True, "matchEntireCell": True}, ["x", "ab", "A"]),
        ({"range": grid_range(0, 1, 1, 2)}, ["a", "xb", "A"]),
    ],
    ids=["any", "case", "entire", "both", "range"],
)
def test_options_limit_the_matches(
    build: BenchBuilder, options: Request, expected: list[str]
) -> None:
    """`matchCase`, `matchEntireCell` and `range` each limit which cells are changed."""
    bench = build({"Data": "a,ab,A\n"})
    replaced(bench, "a", "x", **options)

    assert bench.grid("Data") == [expected]


def test_all_worksheets_are_searched(build: BenchBuilder) -> None:
    """With `allSheets`, `rowsChanged` is the sum over all worksheets."""
    bench = build({"Data": "a\na\n", "More": "a\n"})
    counts = replaced(bench, "a", "b", allSheets=True)

    assert (counts["rowsChanged"], counts["sheetsChanged"]) == (3, 2)
    assert bench.grid("More") == [["b"]]


def test_values_are_searched_as_they_are_displayed(build: BenchBuilder) -> None:
    """The search reads displayed texts, and each result is parsed as if a user typed it."""
    bench = build({"Data": "2020-01-01,$5,TRUE\n"})
    replaced(bench, "2020", "2021")
    replaced(bench, "$5", "7")

    assert bench.grid("Data", valueRenderOption="UNFORMATTED_VALUE") == [[44197, 7, True]]
    assert bench.grid("Data!A1") == [["2021-01-01"]]


def test_formulas_are_searched_only_with_include_formulas(build: BenchBuilder) -> None:
    """`includeFormulas` replaces in the text of formulas. The default leaves formulas unchanged."""
    bench = build({"Data": "1,2,=A1+1\n"})
    untouched = replaced(bench, "A1", "B1")
    counts = replaced(bench, "A1", "B1", includeFormulas=True)

    assert untouched == {}
    assert counts == {
        "formulasChanged": 1,
        "rowsChanged": 1,
        "sheetsChanged": 1,
        "occurrencesChanged": 1,
    }
    assert bench.grid("Data", valueRenderOption="FORMULA") == [[1, 2, "=B1+1"]]
    assert bench.grid("Data!C1") == [["3"]]


def test_regex_replacement_inserts_groups(build: BenchBuilder) -> None:
    """As in Google's example, the replacement `$1 Rocks` inserts the first group of `o.* (.*)`."""
    bench = build({"Data": "Google Sheets\nGoogle Docs\n"})
    replaced(bench, "o.* (.*)", "$1 Rocks", searchByRegex=True)

    assert bench.grid("Data") == [["GSheets Rocks"], ["GDocs Rocks"]]


@pytest.mark.parametrize(
    ("request_", "status", "complaint"),
    [
        ({"find": "", "allSheets": True}, 400, "must not be empty"),
        ({"find": "a"}, 400, "Exactly one of 'range', 'sheetId' and 'allSheets'"),
        ({"find": "a", "sheetId": 0, "allSheets": True}, 400, "Exactly one of"),
        ({"find": "a", "allSheets": False}, 400, "'allSheets' must be true"),
        ({"find": "a", "sheetId": 5}, 400, "No grid with id: 5"),
        ({"find": "(a", "sheetId": 0, "searchByRegex": True}, 400, "Invalid regular expression"),
        (
            {"find": "a", "replacement": "$1", "sheetId": 0, "searchByRegex": True},
            400,
            "No group 1",
        ),
        ({"find": "(a+)+", "sheetId": 0, "searchByRegex": True}, 501, "a quantifier after a group"),
        ({"find": "a*" * 30, "sheetId": 0, "searchByRegex": True}, 501, "so many steps"),
        ({"find": "a", "replacement": "x" * 50_001, "sheetId": 0}, 400, "50000 characters"),
    ],
)
def test_an_invalid_search_is_refused(
    build: BenchBuilder, request_: Request, status: int, complaint: str
) -> None:
    """An empty text, a bad scope or regex, or a result too long for a cell changes nothing."""
    bench = build({"Data": f"{'a' * 40}b\n"})
    answer = bench.edit({"findReplace": request_})

    assert answer.status_code == status
    assert complaint in message(answer)
    assert bench.grid("Data") == [[f"{'a' * 40}b"]]
