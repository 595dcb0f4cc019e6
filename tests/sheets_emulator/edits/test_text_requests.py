"""batchUpdate: texts tidied and split."""

import pytest

from tests.sheets_emulator.bench import Bench, message
from tests.sheets_emulator.requests_of import Request, grid_range

COLUMN = grid_range(0, 0, 5, 1)


def test_whitespace_is_trimmed(bench: Bench) -> None:
    """Blanks at the ends go, those inside become one; the result stays a text."""
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
    """The parts are entered as typed; a cell without the delimiter stays."""
    bench.update("Data!A1", [[text], ["whole"]])
    bench.edit({"textToColumns": {"source": COLUMN, **options}})

    assert bench.grid("Data", valueRenderOption="UNFORMATTED_VALUE") == [expected, ["whole"]]


def test_grid_grows_for_the_columns(bench: Bench) -> None:
    """Parts past the last column make new ones."""
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
        ({"source": COLUMN, "delimiterType": "AUTODETECT"}, 501, "found out"),
        ({"source": COLUMN}, 501, "found out"),
    ],
)
def test_split_that_cannot_be_is_refused(
    bench: Bench, request_: Request, status: int, complaint: str
) -> None:
    """More than a column, or no delimiter."""
    answer = bench.edit({"textToColumns": request_})

    assert answer.status_code == status
    assert complaint in message(answer)
