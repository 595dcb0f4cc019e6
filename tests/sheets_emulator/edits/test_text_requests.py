"""Tests of requests that trim texts and split texts into columns."""

import pytest

from tests.sheets_emulator.bench import Bench, message
from tests.sheets_emulator.requests_of import Request, grid_range

COLUMN = grid_range(0, 0, 5, 1)


def test_whitespace_is_trimmed(bench: Bench) -> None:
    """Outer whitespace is removed, and inner whitespace becomes one blank."""
    bench.update("Data!A1", [["  a \n b\t", "ok"], [" =1 ", 5]])
    answer = bench.edit({"trimWhitespace": {"range": grid_range(0, 0, 5, 5)}})
    again = bench.edit({"trimWhitespace": {"range": grid_range(0, 0, 5, 5)}})

    assert answer.json()["replies"] == [{"trimWhitespace": {"cellsChangedCount": 2}}]
    assert again.json()["replies"] == [{"trimWhitespace": {}}]
    assert bench.grid("Data", valueRenderOption="FORMULA") == [["a b", "ok"], ["=1", 5]]


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("a,1,TRUE", {"delimiterType": "COMMA"}, ["a", 1, True]),
        ("a;b", {"delimiterType": "SEMICOLON"}, ["a", "b"]),
        ("a.b", {"delimiterType": "PERIOD"}, ["a", "b"]),
        ("a b", {"delimiterType": "SPACE"}, ["a", "b"]),
        ("a--b", {"delimiterType": "CUSTOM", "delimiter": "--"}, ["a", "b"]),
    ],
)
def test_text_is_split_into_columns(
    bench: Bench, text: str, options: Request, expected: list[object]
) -> None:
    """Each part is parsed as if typed, and a cell without the delimiter does not change."""
    bench.update("Data!A1", [[text], ["whole"]])
    bench.edit({"textToColumns": {"source": COLUMN, **options}})

    assert bench.grid("Data", valueRenderOption="UNFORMATTED_VALUE") == [expected, ["whole"]]


def test_splitting_adds_columns_to_the_grid(bench: Bench) -> None:
    """Parts past the last column of the grid get new columns."""
    bench.update("Data!E1", [["a,b,c"]])
    source = grid_range(0, 4, 1, 5)
    bench.edit({"textToColumns": {"source": source, "delimiterType": "COMMA"}})

    assert bench.size() == (5, 7)
    assert bench.grid("Data!E1:G1") == [["a", "b", "c"]]


@pytest.mark.parametrize(
    ("request_", "status", "complaint"),
    [
        ({"source": grid_range(0, 0, 1, 2), "delimiterType": "COMMA"}, 400, "exactly one column"),
        ({"source": COLUMN, "delimiterType": "CUSTOM"}, 400, "must not be empty"),
        ({"source": COLUMN, "delimiterType": "TAB"}, 400, "DelimiterType"),
        ({"source": COLUMN, "delimiterType": "AUTODETECT"}, 501, "automatically detected"),
        ({"source": COLUMN}, 501, "automatically detected"),
    ],
)
def test_an_invalid_split_is_refused(
    bench: Bench, request_: Request, status: int, complaint: str
) -> None:
    """Two source columns or a bad delimiter get 400. Detection of the delimiter gets 501."""
    answer = bench.edit({"textToColumns": request_})

    assert answer.status_code == status
    assert complaint in message(answer)
