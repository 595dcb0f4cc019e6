"""batchUpdate: findReplace."""

import pytest

from tests.sheets_emulator.bench import Bench, message
from tests.sheets_emulator.conftest import BenchBuilder
from tests.sheets_emulator.requests_of import Request, grid_range


def replaced(bench: Bench, find: str, replacement: str = "", **options: object) -> Request:
    """The counts of a findReplace, by default in the first worksheet."""
    scope = {} if {"range", "allSheets"} & set(options) else {"sheetId": 0}
    request = {"find": find, "replacement": replacement, **scope, **options}
    found: Request = bench.edit({"findReplace": request}).json()["replies"][0]["findReplace"]
    return found


def test_counts_are_those_of_the_documentation(build: BenchBuilder) -> None:
    """Google's own example: `e` becomes `o` three times in `Google Sheets`."""
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
def test_options_say_what_matches(
    build: BenchBuilder, options: Request, expected: list[str]
) -> None:
    """Case, entire cells and a range."""
    bench = build({"Data": "a,ab,A\n"})
    replaced(bench, "a", "x", **options)

    assert bench.grid("Data") == [expected]


def test_all_worksheets_are_searched(build: BenchBuilder) -> None:
    """Rows of different worksheets count apart."""
    bench = build({"Data": "a\na\n", "More": "a\n"})
    counts = replaced(bench, "a", "b", allSheets=True)

    assert (counts["rowsChanged"], counts["sheetsChanged"]) == (3, 2)
    assert bench.grid("More") == [["b"]]


def test_values_are_searched_as_they_are_displayed(build: BenchBuilder) -> None:
    """Replaced values are entered as if typed."""
    bench = build({"Data": "2020-01-01,$5,TRUE\n"})
    replaced(bench, "2020", "2021")
    replaced(bench, "$5", "7")

    assert bench.grid("Data", valueRenderOption="UNFORMATTED_VALUE") == [[44197, 7, True]]
    assert bench.grid("Data!A1") == [["2021-01-01"]]


def test_formulas_are_searched_on_demand(build: BenchBuilder) -> None:
    """Without includeFormulas they are ignored; with it their text is searched."""
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


def test_regex_puts_groups_in(build: BenchBuilder) -> None:
    """Google's own example: `o.* (.*)` becomes `$1 Rocks`."""
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
        ({"find": "(a+)+", "sheetId": 0, "searchByRegex": True}, 501, "quantifies quantifiers"),
        ({"find": "a*" * 30, "sheetId": 0, "searchByRegex": True}, 501, "may take this long"),
        ({"find": "a", "replacement": "x" * 50_001, "sheetId": 0}, 400, "50000 characters"),
    ],
)
def test_search_that_cannot_be_is_refused(
    build: BenchBuilder, request_: Request, status: int, complaint: str
) -> None:
    """Nothing to find, nowhere to look, no expression, or a result too long for a cell."""
    bench = build({"Data": f"{'a' * 40}b\n"})
    answer = bench.edit({"findReplace": request_})

    assert answer.status_code == status
    assert complaint in message(answer)
    assert bench.grid("Data") == [[f"{'a' * 40}b"]]
