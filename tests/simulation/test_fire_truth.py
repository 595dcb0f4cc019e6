"""What the witness of a fire notes of batches and of people's edits."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sheets_emulator.app import Emulator, EmulatorOptions, create_emulator
from sheets_emulator.edits.batch import edit
from sheets_emulator.protocol.message import Message
from tests.journeys.workbook import write_seed
from tests.simulation.fire.truth import FIRST_UPDATE, Truth

SPREADSHEET = "truth"
TITLE = "Fire0"
ROWS = {"sheetId": 0, "dimension": "ROWS"}


@pytest.fixture
def emulator(tmp_path: Path) -> Emulator:
    """A spreadsheet with one data row and a blank row."""
    write_seed(tmp_path, {SPREADSHEET: {TITLE: "id,note\nid:seed,note:seed\n"}})
    return create_emulator(EmulatorOptions(seed=tmp_path))


@pytest.fixture
def truth(emulator: Emulator) -> Truth:
    found = Truth()
    found.watch(emulator, SPREADSHEET)
    return found


def do(emulator: Emulator, *requests: Mapping[str, Any]) -> None:
    """Apply a batch."""
    store = emulator.service.store
    draft = store.draft(SPREADSHEET)
    edit(draft, Message(fields={"requests": list(requests)}, place=""), account="")
    store.keep(draft)


def fence(number: int) -> Mapping[str, Any]:
    item = {
        "metadataId": number,
        "metadataKey": "key",
        "metadataValue": f"token-{number}",
        "visibility": "DOCUMENT",
        "location": {"spreadsheet": True},
    }
    return {"createDeveloperMetadata": {"developerMetadata": item}}


def rows(*texts: str) -> list[Mapping[str, Any]]:
    values = [{"userEnteredValue": {"stringValue": text}} if text else {} for text in texts]
    return [{"values": values}]


def append(*texts: str) -> Mapping[str, Any]:
    added = {"sheetId": 0, "rows": rows(*texts), "fields": "userEnteredValue"}
    return {"appendCells": added}


def write(row: int, column: int, text: str) -> Mapping[str, Any]:
    start = {"sheetId": 0, "rowIndex": row - 1, "columnIndex": column}
    return {"updateCells": {"start": start, "rows": rows(text), "fields": "userEnteredValue"}}


def test_a_row_is_an_effect(emulator: Emulator, truth: Truth) -> None:
    """A batch with a fence creates rows, by the header of that moment."""
    do(emulator, fence(1), append("id:7", "note:7"))

    (effect,) = truth.effects
    assert (effect.worksheet, effect.number, effect.row) == (TITLE, 7, 3)
    assert effect.fields == (("id", "id:7"), ("note", "note:7"))
    assert (effect.complaint, truth.overwritten) == ("", [])


def test_a_row_that_is_created_twice_is_two_effects(emulator: Emulator, truth: Truth) -> None:
    """The same batch with another fence is another effect, even if the first row is gone."""
    do(emulator, fence(1), append("id:7"))
    do(emulator, {"deleteDimension": {"range": {**ROWS, "startIndex": 2, "endIndex": 3}}})
    do(emulator, fence(2), append("id:7"))

    assert [(effect.batch, effect.row) for effect in truth.effects] == [(1, 3), (2, 3)]
    assert truth.removed == {7: 1}
    assert truth.numbers() == {7: 1}


def test_rows_of_people_are_no_effects(emulator: Emulator, truth: Truth) -> None:
    """Without a fence it was a person; a fence alone changes nothing."""
    do(emulator, append("id:8"))
    do(emulator, fence(3))

    assert (truth.effects, truth.edits, truth.batches) == ([], 1, 1)
    assert truth.numbers() == {8: 1}


def test_rows_are_followed(emulator: Emulator, truth: Truth) -> None:
    """A row is known wherever people move it, and whatever they write beside its number."""
    do(emulator, fence(1), append("id:7"))
    first_at = truth.effects[0].at
    do(emulator, {"insertDimension": {"range": {**ROWS, "startIndex": 1, "endIndex": 2}}})
    do(emulator, write(4, 0, "id:7 (corrected)"))

    last_at = truth.stays[TITLE, 7][-1].since
    assert truth.rows_between(TITLE, 7, first_at, last_at) == {3, 4}
    assert truth.rows_between(TITLE, 7, last_at, last_at + 1) == {4}
    assert truth.rows_between(TITLE, 7, 0.0, first_at - 1) == set()


def test_a_row_in_a_gap_and_overwritten_cells_are_complaints(
    emulator: Emulator, truth: Truth
) -> None:
    """A row above others is not at the end; a cell that was not blank is not to be changed."""
    do(emulator, append("id:8"), append("id:9"))
    do(emulator, {"insertDimension": {"range": {**ROWS, "startIndex": 2, "endIndex": 3}}})
    do(emulator, fence(1), write(3, 0, "id:7"), write(4, 1, "note:7"), write(5, 0, "id:6"))

    assert [effect.complaint for effect in truth.effects] == ["created above row 5"]
    assert truth.overwritten == [
        f"{TITLE} row 4: '' became 'note:7'",
        f"{TITLE} row 5: 'id:9' became 'id:6'",
    ]


def test_an_update_is_a_change(emulator: Emulator, truth: Truth) -> None:
    """A note with an update's number is no overwritten cell."""
    do(emulator, fence(1), write(2, 1, f"note:{FIRST_UPDATE}"))

    assert [(each.number, each.row) for each in truth.changes] == [(FIRST_UPDATE, 2)]
    assert truth.changes[0].before == (("id", "id:seed"), ("note", "note:seed"))
    assert (truth.effects, truth.overwritten) == ([], [])


def test_rows_that_a_batch_moves_are_noted(emulator: Emulator, truth: Truth) -> None:
    """A gateway moves no row; a person may."""
    insertion = {"insertDimension": {"range": {**ROWS, "startIndex": 1, "endIndex": 2}}}
    do(emulator, append("id:8"))
    do(emulator, insertion)

    assert truth.displaced == []
    do(emulator, fence(1), insertion)
    assert truth.displaced == [f"{TITLE}: 8 from [4] to [5]"]


def test_the_contents_of_a_row_at_any_moment(emulator: Emulator, truth: Truth) -> None:
    """What a row held is known from the start on; a row that is not there holds nothing."""
    do(emulator, append("id:8"))
    first_at = truth.stays[TITLE, 8][0].since
    do(emulator, {"insertDimension": {"range": {**ROWS, "startIndex": 2, "endIndex": 3}}})
    second_at = truth.stays[TITLE, 8][1].since

    eight = (("id", "id:8"),)
    assert truth.contents_between(TITLE, 3, 0.0, second_at) == [(), eight, ()]
    assert truth.contents_between(TITLE, 3, first_at, first_at) == [eight]
    assert truth.contents_between(TITLE, 3, second_at, second_at + 1) == [()]
    assert truth.contents_between(TITLE, 99, second_at, second_at) == [()]


def test_a_row_that_never_was_is_nowhere(truth: Truth) -> None:
    """A number that took no effect has no rows at any time."""
    assert truth.rows_between(TITLE, 17, 0.0, 9.0) == set()


def test_rows_are_followed_in_a_tab_that_has_another_name(emulator: Emulator, truth: Truth) -> None:
    """An effect has the title of its moment; the rows stay those of their tab."""
    properties = {"sheetId": 0, "title": "Archive"}
    do(emulator, fence(1), append("id:7"))
    do(emulator, {"updateSheetProperties": {"properties": properties, "fields": "title"}})
    do(emulator, fence(2), append("id:8"))

    assert [effect.worksheet for effect in truth.effects] == [TITLE, "Archive"]
    assert truth.renamings == 1
    assert truth.numbers() == {7: 1, 8: 1}
    assert truth.rows_between("Archive", 7, 0.0, float("inf")) == {3}
