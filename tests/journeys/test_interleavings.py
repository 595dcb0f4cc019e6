"""Writes of the API and edits of a person in random order: each cell stays in its row and
column.
"""

import json
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.journeys.conftest import Api, EmulatorControl, OpenGateway
from tests.journeys.person import EDITS, Edit, Hand
from tests.journeys.transition import (
    created,
    differences,
    is_in_columns,
    lost_texts,
    texts,
    trimmed,
    updated,
)
from tests.sheets_emulator.crash import connected

HEADER_CHANGED = 4091
TITLE = "Edited"
SHEET_ID = 7
STARTS = (
    [["name", "", "amount"], ["name:a", "hidden", "amount:a"], ["name:b", "", "amount:b"]],
    [["", "name", "amount", "note"], ["", "name:a"], [], ["", "", "amount:b", '="kept"&1']],
    [["name", "amount"]],
)
"""A blank column; a blank first column with a gap and a formula; only a header."""

few = hypothesis_settings(max_examples=60, stateful_step_count=20)
numbers = st.integers(0, 20)
picks = st.lists(numbers, min_size=1, max_size=3)


@dataclass(frozen=True, kw_only=True)
class Person:
    """A person with a spreadsheet."""

    emulator: EmulatorControl
    spreadsheet: str
    sheet_id: int = SHEET_ID

    def edit(self, edit: Edit) -> None:
        account = json.loads(self.emulator.credentials.read_text(encoding="utf-8"))
        client = connected(self.emulator.url, account, self.spreadsheet)
        with closing(client.connection):
            client.send("POST", ":batchUpdate", edit.body)

    def grid(self) -> list[list[str]]:
        """The texts of the worksheet. Formulas are given as formulas."""
        rows = self.emulator.cells(TITLE, self.spreadsheet)
        return trimmed([[cell["formula"] or cell["text"] for cell in row] for row in rows])


def start(emulator: EmulatorControl, grid: list[list[str]]) -> Person:
    """Create a spreadsheet whose grid is as large as its data."""
    account = json.loads(emulator.credentials.read_text(encoding="utf-8"))
    sheet = {
        "properties": {
            "sheetId": SHEET_ID,
            "title": TITLE,
            "gridProperties": {"rowCount": len(grid), "columnCount": len(grid[0])},
        },
        "data": [{"rowData": [{"values": [_cell(text) for text in row]} for row in grid]}],
    }
    client = connected(emulator.url, account)
    with closing(client.connection):
        made = client.send("POST", "", {"sheets": [sheet]})
    return Person(emulator=emulator, spreadsheet=made["spreadsheetId"])


def _cell(text: str) -> dict[str, Any]:
    kind = "formulaValue" if text.startswith("=") else "stringValue"
    return {"userEnteredValue": {kind: text}} if text else {}


class Interleaving(RuleBasedStateMachine):
    """A worksheet that a person edits while rows are created and updated through the API."""

    def __init__(self, api: Api) -> None:
        super().__init__()
        self.api = api
        self.count = 0

    @initialize(grid=st.sampled_from(STARTS))
    def begin(self, grid: list[list[str]]) -> None:
        self.person = start(self.api.emulator, grid)

    def fields(self, picks: list[int]) -> dict[str, str]:
        """Some fields of the worksheet, each with a text that contains its name."""
        self.count += 1
        names = [name for name in self.person.grid()[0] if name]
        return {
            name: f"{name}:{self.count}"
            for name in (names[pick % len(names)] for pick in picks if names)
        }

    def edit(self, kind: str, first: int, second: int) -> Edit | None:
        self.count += 1
        hand = Hand(
            sheet_id=SHEET_ID,
            grid=self.person.grid(),
            first=first,
            second=second,
            name=f"field{self.count}",
        )
        return EDITS[kind](hand)

    def send(self, method: str, path: str, fields: dict[str, str]) -> httpx2.Response:
        return self.api.send(
            method, path, key="any", spreadsheet=self.person.spreadsheet, json=fields
        )

    @rule(kind=st.sampled_from(sorted(EDITS)), first=numbers, second=numbers)
    def person_edits(self, kind: str, first: int, second: int) -> None:
        edit = self.edit(kind, first, second)
        if edit is not None:
            self.person.edit(edit)


class EditsBefore(Interleaving):
    """All edits happen before the gateway reads: each write makes exactly its own change."""

    @rule(picks=picks)
    def create(self, picks: list[int]) -> None:
        before, fields = self.person.grid(), self.fields(picks)
        answer = self.send("POST", TITLE, fields)
        after = self.person.grid()

        assert answer.status_code == 201, answer.text
        assert differences(created(before, fields), after) == []
        assert answer.json()["rowIndex"] == len(before) + 1

    @rule(picks=picks, number=numbers)
    def update(self, picks: list[int], number: int) -> None:
        before, fields = self.person.grid(), self.fields(picks)
        row = 2 + number % len(before)
        answer = self.send("PATCH", f"{TITLE}/{row}", fields)
        after = self.person.grid()
        is_there = row <= len(before)

        assert answer.status_code == (200 if is_there else 404), answer.text
        assert differences(updated(before, row, fields) if is_there else before, after) == []

    @rule()
    def read(self) -> None:
        """Let the gateway cache the sheet."""
        self.api.get(TITLE, key="any", spreadsheet=self.person.spreadsheet)


class EditsInside(Interleaving):
    """Edits also happen between read and write: a create overwrites nothing and reports
    the truth.
    """

    @rule(picks=picks)
    def create(self, picks: list[int]) -> None:
        before, fields = self.person.grid(), self.fields(picks)
        self.send("POST", TITLE, fields)

        assert lost_texts(before, Counter(), self.person.grid()) == Counter()

    @precondition(lambda self: len(self.person.grid()) > 1)
    @rule(kind=st.sampled_from(sorted(EDITS)), picks=picks, first=numbers, second=numbers)
    def create_with_an_edit_inside(
        self, kind: str, picks: list[int], first: int, second: int
    ) -> None:
        self.look()
        before, fields = self.person.grid(), self.fields(picks)
        edit = self.edit(kind, first, second)
        if edit is None:
            return
        self.api.emulator.faults({"call": "spreadsheets.batchUpdate", "edit": edit.body})
        answer = self.send("POST", TITLE, fields)
        after = self.person.grid()
        self.api.emulator.faults()

        assert lost_texts(before, edit.removed, after) == Counter()
        assert answer.status_code in (201, 409, 502), answer.text
        if answer.status_code != 201:
            is_there = bool(texts(after) & Counter(fields.values()))

            assert answer.json()["outcome"] == ("applied" if is_there else "not_applied")
        elif after[0] != before[0]:
            assert self.is_mended(after, fields, answer)

    def look(self) -> None:
        """Send an update that changes nothing, so that the gateway reads the header."""
        names = [name for name in self.person.grid()[0] if name]
        record = self.api.get(f"{TITLE}/2", key="any", spreadsheet=self.person.spreadsheet)
        if names and record.is_success:
            value = record.json().get(names[0])
            self.send("PATCH", f"{TITLE}/2", {names[0]: value})

    def is_mended(
        self, after: list[list[str]], fields: dict[str, str], answer: httpx2.Response
    ) -> bool:
        """True if the row has its fields in their current columns at the acknowledged number."""
        is_known = all(name in after[0] for name in fields)
        return is_known and is_in_columns(after, answer.json()["rowIndex"], fields)


def run(machine: Callable[[], RuleBasedStateMachine]) -> None:
    run_state_machine_as_test(machine, settings=few)  # type: ignore[arg-type]  # it is called only


def test_edits_before_the_read_move_no_value(open_gateway: OpenGateway) -> None:
    """After any edits, a write changes only its own cells, in the columns of its fields."""
    api = open_gateway({"cache.header_ttl_seconds": 0})

    run(lambda: EditsBefore(api))


def test_edits_between_read_and_write_lose_nothing(open_gateway: OpenGateway) -> None:
    """A create overwrites nothing, and its answer reports a changed header."""
    api = open_gateway()

    run(lambda: EditsInside(api))


OLD = [["name", "", "amount"], ["name:a", "", "amount:a"], [], ["", "x"]]
NEW = {"name": "name:n", "amount": "amount:n"}


@pytest.mark.parametrize(
    "found",
    [
        pytest.param([*OLD, ["name:n", "amount:n"]], id="wrong column"),
        pytest.param([*OLD, [], ["name:n", "", "amount:n"]], id="wrong row"),
        pytest.param([*OLD[:3], ["name:n", "", "amount:n"]], id="overwritten"),
        pytest.param([*OLD[:2], ["name:n", "", "amount:n"], *OLD[2:]], id="between rows"),
        pytest.param(OLD, id="lost"),
        pytest.param([*OLD, *[["name:n", "", "amount:n"]] * 2], id="doubled"),
    ],
)
def test_a_wrong_create_is_reported(found: list[list[str]]) -> None:
    """The checker reports everything but one more row in its position and columns."""
    assert differences(created(OLD, NEW), found) != []


@pytest.mark.parametrize(
    "found",
    [
        pytest.param([OLD[0], ["name:a", "name:n", "amount:a"], *OLD[2:]], id="wrong column"),
        pytest.param([OLD[0], ["name:n"], *OLD[2:]], id="others emptied"),
        pytest.param([*OLD[:2], ["name:n"], OLD[3]], id="wrong row"),
        pytest.param([["name:n", "", "amount"], *OLD[1:]], id="header"),
    ],
)
def test_a_wrong_update_is_reported(found: list[list[str]]) -> None:
    """The checker reports a change of any cell that the update does not name."""
    assert differences(updated(OLD, 2, {"name": "name:n"}), found) != []


def test_right_writes_are_not_reported() -> None:
    """The checker accepts a create below the last row and an update of a named cell."""
    row = ["name:n", "", "amount:n"]
    emptied = ["", "", "amount:a"]

    assert differences(created(OLD, NEW), [*OLD, row, [""]]) == []
    assert differences(updated(OLD, 2, {"name": ""}), [OLD[0], emptied, *OLD[2:]]) == []
    assert is_in_columns([*OLD, row], 5, NEW)
    assert not is_in_columns([*OLD, row], 4, NEW)
    assert lost_texts(OLD, Counter(["x"]), OLD[:2]) == Counter()
    assert lost_texts(OLD, Counter(), OLD[:2]) == Counter(["x"])
