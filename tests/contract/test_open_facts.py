"""Tests of the questions in `open_facts` with the emulator instead of Google."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.contract.open_facts import FACTS, ask_all, main
from tests.contract.place import (
    CREDENTIALS,
    PROTECTED,
    SPREADSHEET,
    Place,
    serving_emulator,
)
from tests.contract.spreadsheet import open_spreadsheet

LATENCY_MS = 40  # so that calls overlap


@pytest.fixture(scope="module")
def slow_emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """Yield a spreadsheet on an emulator with latency, so that calls overlap as at Google."""
    with serving_emulator(tmp_path_factory.mktemp("slow"), latency_ms=LATENCY_MS) as place:
        yield place


def arguments(place: Place) -> list[str]:
    return [
        *("--endpoint", place.endpoint),
        *("--credentials", str(place.credentials)),
        *("--spreadsheet", place.spreadsheet),
    ]


def test_the_emulator_agrees_with_its_assumptions(
    slow_emulator: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each assumption about Google is true of the emulator, and has one line in the report."""
    status = main(arguments(slow_emulator), {})
    lines = capsys.readouterr().out.splitlines()

    assert [line for line in lines if not line.startswith("AGREES ")] == []
    assert [line.split(" Answered: ")[0] for line in lines] == [
        f"AGREES  {fact.question}" for fact in FACTS
    ]
    assert status == 0


async def test_another_answer_differs(emulator: Place) -> None:
    """If an answer differs from an assumption, the line shows both."""
    wrong = replace(FACTS[3], assumed="C3")
    told: list[str] = []

    [finding] = await ask_all(emulator, told.append, [wrong])

    assert not finding.agrees
    assert told == [f"DIFFERS {wrong.question} Answered: A3:C3. The emulator assumes: C3."]


async def test_a_question_without_its_worksheet_is_skipped(emulator: Place) -> None:
    """Without protected rows, their assumption is skipped and is not a difference."""
    [fact] = [each for each in FACTS if "two protected rows" in each.question]
    told: list[str] = []
    async with open_spreadsheet(emulator) as spreadsheet:
        [sheet_id] = [
            each.sheet_id
            for each in await spreadsheet.sheets().list_worksheets(spreadsheet.id)
            if each.title == PROTECTED
        ]
        renamed = {"sheetId": sheet_id, "title": "Other"}
        again = {"sheetId": sheet_id, "title": PROTECTED}
        await spreadsheet.edit(
            {"updateSheetProperties": {"properties": renamed, "fields": "title"}}
        )
        [finding] = await ask_all(emulator, told.append, [fact])
        await spreadsheet.edit({"updateSheetProperties": {"properties": again, "fields": "title"}})

    assert finding.agrees
    assert told[0].startswith(f"SKIPPED {fact.question} Answered: not asked, there is no worksheet")


async def test_appends_that_do_not_overlap_differ(emulator: Place) -> None:
    """Without latency no append is lost, so the answer differs from "some rows are lost"."""
    [fact] = [each for each in FACTS if "OVERWRITE: are all rows kept?" in each.question]
    told: list[str] = []

    [finding] = await ask_all(emulator, told.append, [fact])

    assert not finding.agrees
    assert finding.answer == "0 of 20 rows are lost, 20 places were told"
    assert told[0].endswith("The emulator assumes: some rows are lost.")


@pytest.mark.parametrize("named", [CREDENTIALS, SPREADSHEET])
def test_a_key_file_and_a_spreadsheet_are_required(
    named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without key file or spreadsheet the command ends with status 2 and names what is missing."""
    with pytest.raises(SystemExit) as ended:
        main([], {named: "x"})

    assert ended.value.code == 2
    assert "name a key file and a spreadsheet" in capsys.readouterr().err


def test_a_missing_spreadsheet_ends_the_questions(
    emulator: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    """If the spreadsheet is missing, a message says so and the status is 1."""
    status = main(arguments(replace(emulator, spreadsheet="unknown")), {})
    told = capsys.readouterr()

    assert (status, told.out) == (1, "")
    assert told.err.startswith("Not all was asked. The spreadsheet does not exist")
