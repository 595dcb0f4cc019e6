"""Files in a seed directory with edits of a spreadsheet."""

import json
from pathlib import Path

import pytest

from sheets_emulator.app import EmulatorOptions, create_emulator
from sheets_emulator.state.seed import SeedError
from tests.sheets_emulator.bench import build_bench, write_seed
from tests.sheets_emulator.requests_of import grid_range

RULE = {"condition": {"type": "BOOLEAN"}}


def edits(*requests: object) -> str:
    """The text of a file that has these batchUpdate requests."""
    return json.dumps({"requests": requests})


def test_edits_apply_to_the_files_of_a_spreadsheet(tmp_path: Path) -> None:
    """Requests in `book.json` are applied to the spreadsheet of the .csv files in `book`."""
    ruled = edits({"setDataValidation": {"range": grid_range(1, 0, 2, 1), "rule": RULE}})
    files = {"book/Data.csv": "done\n,\n", "book.json": ruled}
    bench = build_bench(tmp_path, EmulatorOptions(seed=write_seed(tmp_path / "seed", files)))

    assert bench.grid("Data") == [["done"], ["FALSE"]]


def test_edits_alone_apply_to_a_new_spreadsheet(tmp_path: Path) -> None:
    """Without .csv files, the requests apply to a new spreadsheet with the default worksheet."""
    files = {"book.json": edits({"addSheet": {"properties": {"title": "More"}}})}
    bench = build_bench(tmp_path, EmulatorOptions(seed=write_seed(tmp_path / "seed", files)))

    assert [sheet["title"] for sheet in bench.sheets()] == ["Sheet1", "More"]
    assert bench.size() == (1000, 26)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("{", r"book\.json: Invalid JSON", id="no JSON"),
        pytest.param("{}", "Must specify at least one request", id="nothing"),
        pytest.param('{"requests": [{"addSheets": {}}]}', 'Unknown name "addSheets"', id="unknown"),
        pytest.param(
            edits({"deleteSheet": {"sheetId": 7}}),
            r"Invalid requests\[0\]\.deleteSheet",
            id="refused",
        ),
    ],
)
def test_invalid_edits_are_an_error_with_the_reason(
    tmp_path: Path, text: str, complaint: str
) -> None:
    """Edits that are not valid JSON, unknown or impossible raise SeedError with the reason."""
    seed = write_seed(tmp_path, {"book.json": text})

    with pytest.raises(SeedError, match=complaint):
        create_emulator(EmulatorOptions(seed=seed))
