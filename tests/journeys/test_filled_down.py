"""Creates in worksheets whose columns are filled down below the records, on the emulator.

Covers answers, cells and calls, also while people edit rows between the gateway's read and its
write, and when Google's answer is lost.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch
from uuid import uuid4

import pytest

from gateway.google.sheets import Detail, SheetView
from gateway.settings.model import GoogleSettings
from gateway.storage.key_store import Grants, KeyRequest
from gateway.table import records
from gateway.table.header import ColumnGrant
from gateway.table.records import EndRule
from tests.journeys.conftest import (
    DEMO,
    Api,
    EmulatorControl,
    KeysOnDisk,
    OpenGateway,
    make_keys,
    running_emulator,
    running_gateways,
)
from tests.journeys.failure import refused
from tests.kept_sheets import GUESTS, ORDERS, TASKS, KeptSheet, write_kept_sheets
from tests.stand_in import open_google

FILLED_ROWS = 30
WRITE = "spreadsheets.batchUpdate"
LOST = {"call": WRITE, "apply": True, "drop": True}
SETTINGS: Mapping[str, object] = {
    "worksheets": [
        {"spreadsheet": "demo", "title": "Tasks", "header_row": 3},
        {"spreadsheet": "demo", "title": "Stock", "header_row": 3},
        {"spreadsheet": "demo", "title": "Orders", "record_field": "order"},
    ],
    "plans.paid.deletes": True,
    "plans.paid.max_affected": 50,
    "plans.paid.max_limit": 1000,
}
KEYS = {
    "paid": KeyRequest(name="paid", grants=Grants(spreadsheets=DEMO, may_delete=True)),
    "clerk": KeyRequest(
        name="clerk",
        grants=Grants(spreadsheets=DEMO, columns=ColumnGrant(frozenset({"task", "owner"}))),
    ),
}
Requests = Sequence[Mapping[str, Any]]
Row = Sequence[str]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatorControl]:
    """An emulator with the worksheets of `kept_sheets`."""
    folder = tmp_path_factory.mktemp("kept")
    write_kept_sheets(folder / "seed", "demo", filled_rows=FILLED_ROWS)
    with running_emulator(folder, {}) as control:
        yield control


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> KeysOnDisk:
    return make_keys(tmp_path_factory.mktemp("keys"), KEYS)


@pytest.fixture
def open_kept(kept: EmulatorControl, keys: KeysOnDisk) -> Iterator[OpenGateway]:
    """Starts gateways with an empty cache."""
    with running_gateways(kept, keys) as start:
        yield lambda overrides=None: start({**SETTINGS, **(overrides or {})})


@pytest.fixture(scope="module")
def looking(kept: EmulatorControl, keys: KeysOnDisk) -> Iterator[Api]:
    """A gateway that reads the sheet before every write."""
    with running_gateways(kept, keys) as start:
        yield start({**SETTINGS, "cache.header_ttl_seconds": 0})


@pytest.fixture
def api(looking: Api) -> Iterator[Api]:
    """The gateway that reads before every write, on freshly seeded worksheets."""
    looking.emulator.reset()
    yield looking
    looking.emulator.check()


def rule_of(api: Api, title: str, cell: str) -> str:
    """The validation rule of a cell."""

    async def look() -> SheetView:
        settings = GoogleSettings(endpoint=api.emulator.url, credentials=api.emulator.credentials)
        async with open_google(settings) as sheets:
            return await sheets.read_sheet("demo", [f"'{title}'!{cell}"], detail=Detail.FORMS)

    [block] = asyncio.run(look()).blocks
    return block.cells[0][0].form.rule if block.cells else ""


def calls_of(api: Api) -> tuple[int, int]:
    return api.emulator.calls()


def trimmed(row: Sequence[str]) -> list[str]:
    cells = [*row]
    while cells and not cells[-1]:
        cells.pop()
    return cells


@dataclass(frozen=True, kw_only=True)
class Create:
    """A create request, the displayed rows that it creates, and one filled-down row below them."""

    sheet: KeptSheet
    body: Any
    rows: Sequence[Row]
    tail: Row
    parameters: Mapping[str, str] = field(default_factory=dict)
    reads: int = 1


TASK_TAIL = ("", "", "", "", "FALSE")
ORDER_TAIL = ("", "new", "", "", "$0.00")
CREATES = {
    "checkbox, formula, formats of the row above": Create(
        sheet=TASKS,
        body={"task": "Move", "due": 46120, "cost": 5},
        rows=[("Move", "", "8 Apr 2026", "$5.00", "FALSE", "Move ()")],
        tail=TASK_TAIL,
    ),
    "what is sent takes the place of a checkbox and of a formula": Create(
        sheet=TASKS,
        body=[{"task": "Move", "done": True}, {"task": "Lift", "label": "mine", "internal": "y"}],
        rows=[
            ("Move", "", "", "", "TRUE", "Move ()"),
            ("Lift", "", "", "", "FALSE", "mine", "y"),
        ],
        tail=TASK_TAIL,
    ),
    "a formula stays where null is sent": Create(
        sheet=TASKS,
        body={"task": "Move", "owner": "Cyd", "label": None},
        rows=[("Move", "Cyd", "", "", "FALSE", "Move (Cyd)")],
        tail=TASK_TAIL,
    ),
    "typed date": Create(
        sheet=TASKS,
        body={"task": "Move", "due": "2026-04-08", "cost": 5},
        parameters={"values": "typed"},
        rows=[("Move", "", "8 Apr 2026", "$5.00", "FALSE", "Move ()")],
        tail=TASK_TAIL,
    ),
    "default of a dropdown": Create(
        sheet=ORDERS,
        body=[{"order": "A-3", "count": 2, "price": 5}, {"order": "A-4", "status": "paid"}],
        rows=[("A-3", "new", "2", "$5.00", "$10.00"), ("A-4", "paid", "", "", "$0.00")],
        tail=ORDER_TAIL,
    ),
    "null empties a default": Create(
        sheet=ORDERS,
        body={"order": "A-3", "status": None},
        rows=[("A-3", "", "", "", "$0.00")],
        tail=ORDER_TAIL,
    ),
    "array formula": Create(
        sheet=GUESTS, body={"guest": "Cyd"}, rows=[("Cyd", "Dear Cyd")], tail=()
    ),
    "upsert of a new and an old row": Create(
        sheet=ORDERS,
        body=[{"order": "A-3", "price": 7}, {"order": "A-2", "count": 1}],
        parameters={"on_conflict": "order"},
        rows=[("A-3", "new", "", "$7.00", "$0.00")],
        tail=ORDER_TAIL,
        reads=4,
    ),
    "500 rows": Create(
        sheet=TASKS,
        body=[{"task": f"task {number}"} for number in range(500)],
        rows=[
            (f"task {number}", "", "", "", "FALSE", f"task {number} ()") for number in range(500)
        ],
        tail=TASK_TAIL,
    ),
}


@pytest.mark.parametrize("create", CREATES.values(), ids=CREATES)
def test_rows_are_created_below_the_last_record(open_kept: OpenGateway, create: Create) -> None:
    """A created row gets formulas and checkboxes, filled-down rows move down, other cells stay."""
    api, sheet = open_kept(), create.sheet
    before = api.emulator.texts(sheet.title)
    reads, writes = calls_of(api)
    answer = api.post(sheet.title, json=create.body, params=create.parameters)
    after = calls_of(api)
    shown, end = api.emulator.texts(sheet.title), sheet.end_row - 1

    assert answer.status_code in (200, 201), answer.text
    assert (after[0] - reads, after[1] - writes) == (create.reads, 1)
    assert shown[:end] == before[:end]
    assert shown[end : end + len(create.rows)] == [trimmed(each) for each in create.rows]
    assert shown[end + len(create.rows) :] == before[end:]
    listed = api.get(sheet.title, params={"limit": "1000"}).json()["results"]
    assert [each["rowIndex"] for each in listed] == [
        *range(sheet.header_row + 1, sheet.end_row + len(create.rows))
    ]


def test_each_create_reads_the_end_of_the_records(open_kept: OpenGateway) -> None:
    """In a filled-down worksheet each create costs 1 read and 1 write; elsewhere only the
    first reads.
    """
    api = open_kept()
    costs: dict[str, list[tuple[int, int]]] = {}
    for title, field_name in (("Tasks", "task"), ("Guests", "guest"), ("Budget", "item")):
        for _ in range(3):
            reads, writes = calls_of(api)
            assert api.post(title, json={field_name: "x"}).status_code == 201
            after = calls_of(api)
            costs.setdefault(title, []).append((after[0] - reads, after[1] - writes))

    assert costs["Tasks"] == costs["Guests"] == [(1, 1)] * 3
    assert costs["Budget"] == [(1, 1), (0, 1), (0, 1)]


def text_of_false(api: Api) -> int:
    """Row number of a create below a record that has only the text `FALSE`."""
    edit(api, [typed_in(7, "", "FALSE")])
    api.send("PATCH", "Budget/2", json={"amount": 901})
    row: int = api.post("Tasks", json=BODY).json()["rowIndex"]
    return row


def test_the_text_false_is_a_record(api: Api) -> None:
    """A row with only the text `FALSE` is a record, so the new row is created below it."""
    assert text_of_false(api) == 8


def test_the_text_check_detects_comparison_by_display(api: Api) -> None:
    """Planted bug: a displayed `FALSE` counts as a boolean."""

    def by_displays(
        rule: EndRule, displayed: Sequence[Sequence[object]], _: object = None
    ) -> int | None:
        typed = [[False if cell == "FALSE" else cell for cell in each] for each in displayed]
        return last_record(rule, displayed, typed)

    last_record = records.last_record
    with patch.object(records, "last_record", by_displays):
        assert text_of_false(api) != 8


@dataclass(frozen=True, kw_only=True)
class NoModel:
    """Rows below the last record that are not filled down: edits, a create, and the created row."""

    title: str
    body: Mapping[str, object]
    cells: Row
    requests: Requests = ()
    emptied: tuple[int, Mapping[str, object]] | None = None
    rule: tuple[str, str] = ("B", "ONE_OF_LIST")
    """Column, and the validation rule of the new cell in this column."""


def cells_of_orders(row: int, column: int, value: Mapping[str, object]) -> Mapping[str, Any]:
    """Request that edits a cell of `Orders`. Row and column count from 0."""
    return {
        "updateCells": {
            "start": {"sheetId": ORDERS.sheet_id, "rowIndex": row, "columnIndex": column},
            "rows": [{"values": [{"userEnteredValue": value}]}],
            "fields": "userEnteredValue",
        }
    }


def lines(first: int, last: int) -> Mapping[str, Any]:
    """Range of rows of `Tasks`. Rows count from 1."""
    return {"sheetId": 0, "dimension": "ROWS", "startIndex": first - 1, "endIndex": last}


EMPTY_ORDERS: Mapping[str, Any] = {
    "updateCells": {
        "range": {"sheetId": ORDERS.sheet_id, "startRowIndex": 3},
        "fields": "userEnteredValue",
    }
}
TOTAL = [
    EMPTY_ORDERS,
    {"setDataValidation": {"range": EMPTY_ORDERS["updateCells"]["range"]}},
    cells_of_orders(4, 1, {"stringValue": "Total"}),
    cells_of_orders(4, 4, {"formulaValue": "=SUM(E2:E3)"}),
]
NO_MODELS = {
    "a row that was a record": NoModel(
        title="Orders",
        emptied=(3, {"order": None, "count": 7}),
        body={"order": "A-9"},
        cells=("A-9", "new", "", "", "$0.00"),
    ),
    "a row that was a record, with a hidden cell": NoModel(
        title="Tasks",
        emptied=(6, {"task": None}),
        body={"task": "Mine"},
        cells=("Mine", "", "", "", "FALSE", "Mine ()"),
        rule=("E", "BOOLEAN"),
    ),
    "a total": NoModel(title="Orders", requests=TOTAL, body={"order": "A-9"}, cells=("A-9",)),
    "a single row": NoModel(
        title="Orders",
        requests=[{"deleteDimension": {"range": {**lines(5, 1000), "sheetId": ORDERS.sheet_id}}}],
        body={"order": "A-9"},
        cells=("A-9",),
    ),
}


@pytest.mark.parametrize("parameters", [{}, {"on_conflict": "task"}], ids=["create", "upsert"])
def test_a_tail_that_is_too_large(open_kept: OpenGateway, parameters: Mapping[str, str]) -> None:
    """If the filled-down rows exceed the answer limit, a create gets 413 and writes nothing."""
    api = open_kept({"google.max_answer_bytes": 9000})
    assert api.get("Tasks").status_code == 200
    before, (_, writes) = api.emulator.texts("Tasks"), calls_of(api)
    answer = api.post("Tasks", json={"task": "Move"}, params=parameters)

    assert (answer.status_code, answer.json()["outcome"]) == (413, "not_applied")
    assert calls_of(api)[1] == writes
    assert api.emulator.texts("Tasks") == before


@pytest.mark.parametrize("case", NO_MODELS.values(), ids=NO_MODELS)
def test_only_filled_down_cells_are_copied(open_kept: OpenGateway, case: NoModel) -> None:
    """A created row copies no cell of a row that people left below the last record."""
    worksheets = [
        {"spreadsheet": "demo", "title": "Tasks", "header_row": 3, "record_field": "task"},
        {"spreadsheet": "demo", "title": "Orders", "record_field": "order"},
    ]
    api = open_kept({"worksheets": worksheets})
    if case.requests:
        edit(api, case.requests)
        api.send("PATCH", "Budget/2", json={"amount": 901})
    if case.emptied:
        row, body = case.emptied
        assert api.send("PATCH", f"{case.title}/{row}", json=body).status_code == 200
    before = api.emulator.texts(case.title)
    created = api.post(case.title, json=case.body)
    row = created.json()["rowIndex"]
    after = api.emulator.texts(case.title)

    assert created.status_code == 201
    assert after[row - 1] == [*case.cells]
    assert rule_of(api, case.title, f"{case.rule[0]}{row}") == case.rule[1]
    assert [*after[: row - 1], *after[row:]] == before


NEW_SHEET = 9
LABEL: Mapping[str, Any] = {
    "repeatCell": {
        "range": {
            "sheetId": NEW_SHEET, "startRowIndex": 3, "endRowIndex": FILLED_ROWS,
            "startColumnIndex": 1, "endColumnIndex": 2,
        },
        "cell": {"userEnteredValue": {"formulaValue": '=IF(A4="","",A4&"!")'}},
        "fields": "userEnteredValue",
    }
}  # fmt: skip


def new_cells(rows: Sequence[Row]) -> Mapping[str, Any]:
    """Request that writes the first cells of the new worksheet."""
    values = [[{"userEnteredValue": {"stringValue": text}} for text in row] for row in rows]
    return {
        "updateCells": {
            "start": {"sheetId": NEW_SHEET, "rowIndex": 0, "columnIndex": 0},
            "rows": [{"values": each} for each in values],
            "fields": "userEnteredValue",
        }
    }


@pytest.mark.parametrize("parameters", [{}, {"on_conflict": "guest"}], ids=["create", "upsert"])
@pytest.mark.parametrize("before", [("PATCH",), ("GET", "PATCH")], ids=len)
def test_rows_filled_by_an_array_formula_count_as_filled_down(
    open_kept: OpenGateway, before: Sequence[str], parameters: Mapping[str, str]
) -> None:
    """A create below rows of an array formula goes directly below the last record."""
    api = open_kept()
    for method in before:
        api.send(method, "Guests/3" if method == "PATCH" else "Guests", json={"guest": "Bobby"})
    for row in (4, 5):
        created = api.post("Guests", json=[{"guest": f"Cyd {row}"}], params=parameters)

        assert [each["rowIndex"] for each in created.json()["results"]] == [row]
    assert api.emulator.texts("Guests")[2:] == [
        ["Bobby", "Dear Bobby"], ["Cyd 4", "Dear Cyd 4"], ["Cyd 5", "Dear Cyd 5"],
    ]  # fmt: skip


@pytest.mark.parametrize("parameters", [{}, {"on_conflict": "task"}], ids=["create", "upsert"])
def test_rows_that_are_filled_down_later(api: Api, parameters: Mapping[str, str]) -> None:
    """After `header_ttl_seconds`, a create notices that people filled columns down."""
    new = {"addSheet": {"properties": {"sheetId": NEW_SHEET, "title": "New"}}}
    edit(api, [new, new_cells([["task", "label"], ["a", "x"]])])
    api.send("PATCH", "Budget/2", json={"amount": 901})
    assert api.post("New", json={"task": "b"}).json()["rowIndex"] == 3
    edit(api, [LABEL])
    api.send("PATCH", "Budget/2", json={"amount": 902})
    created = api.post("New", json=[{"task": "c"}], params=parameters)

    assert [each["rowIndex"] for each in created.json()["results"]] == [4]
    assert api.emulator.texts("New")[3] == ["c", "c!"]


CHECKBOXES: Mapping[str, Any] = {
    "repeatCell": {
        "range": {**LABEL["repeatCell"]["range"], "startRowIndex": 3},
        "cell": {"userEnteredValue": {"boolValue": False}},
        "fields": "userEnteredValue",
    }
}


@pytest.mark.parametrize("filling", [LABEL, CHECKBOXES], ids=["formulas", "checkboxes"])
@pytest.mark.parametrize("parameters", [{}, {"on_conflict": "task"}], ids=["create", "upsert"])
def test_rows_that_are_filled_down_while_the_header_is_cached(
    open_kept: OpenGateway, parameters: Mapping[str, str], filling: Mapping[str, Any]
) -> None:
    """If people fill down while the header is cached, the create gets 4094 with the row number.

    Google appends below the filled-down rows. The next row goes below it.
    """
    api = open_kept({"cache.header_ttl_seconds": 600})
    new = {"addSheet": {"properties": {"sheetId": NEW_SHEET, "title": "New"}}}
    edit(api, [new, new_cells([["task", "label"], ["a", "x"]])])
    api.send("PATCH", "Budget/2", json={"amount": 901})
    assert api.post("New", json={"task": "b"}).json()["rowIndex"] == 3
    edit(api, [filling])
    headers = {"Idempotency-Key": f'"{uuid4()}"'}
    before = calls_of(api)
    refusal = api.post("New", json=[{"task": "c"}], params=parameters, headers=headers)
    after = calls_of(api)
    again = api.post("New", json=[{"task": "c"}], params=parameters, headers=headers)
    created = api.post("New", json=[{"task": "d"}], params=parameters)

    assert refused(refusal) == (409, 4094)
    assert refusal.json()["outcome"] == "applied"
    assert f"from row {FILLED_ROWS + 1} on, below rows that people" in refusal.json()["message"]
    assert refused(again) == (409, 4094)
    assert (after[0] - before[0], after[1] - before[1]) == (2 if parameters else 0, 1)
    assert [each["rowIndex"] for each in created.json()["results"]] == [FILLED_ROWS + 2]
    assert [row[0] for row in api.emulator.texts("New") if row and row[0] in ("c", "d")] == [
        "c",
        "d",
    ]


@pytest.mark.parametrize("is_listed", [False, True], ids=["cold", "listed"])
@pytest.mark.parametrize("filling", [LABEL, CHECKBOXES], ids=["formulas", "checkboxes"])
def test_rows_that_are_filled_down_far_below(
    open_kept: OpenGateway, filling: Mapping[str, Any], is_listed: bool
) -> None:
    """A created row goes above a gap of blank rows and copies nothing from below the gap."""
    api = open_kept({"cache.header_ttl_seconds": 600})
    new = {"addSheet": {"properties": {"sheetId": NEW_SHEET, "title": "New"}}}
    repeated = filling["repeatCell"]
    place = {**repeated["range"], "startRowIndex": 80, "endRowIndex": 90}
    far = {"repeatCell": {**repeated, "range": place}}
    edit(api, [new, new_cells([["task", "label"], ["a", "x"]]), far])
    api.send("PATCH", "Budget/2", json={"amount": 901})
    if is_listed:
        assert len(api.get("New").json()["results"]) == 1
    for row in (3, 4, 5):
        created = api.post("New", json={"task": f"t{row}"})

        assert created.json()["rowIndex"] == row
    assert [row for row in api.emulator.texts("New")[2:] if row[:1] > [""]] == [
        ["t3"],
        ["t4"],
        ["t5"],
    ]


def typed_in(row: int, *texts: str) -> Mapping[str, Any]:
    """Request that writes the first cells of a row of `Tasks`."""
    cells = [{"userEnteredValue": {"stringValue": text}} if text else {} for text in texts]
    return {
        "updateCells": {
            "start": {"sheetId": 0, "rowIndex": row - 1, "columnIndex": 0},
            "rows": [{"values": cells}],
            "fields": "userEnteredValue",
        }
    }


SORT: Mapping[str, Any] = {
    "sortRange": {
        "range": {"sheetId": 0, "startRowIndex": 3, "endRowIndex": FILLED_ROWS},
        "sortSpecs": [{"dimensionIndex": 0, "sortOrder": "ASCENDING"}],
    }
}
BODY = {"task": "Move", "owner": "Cyd"}
NEW = ["Move", "Cyd", "", "", "FALSE", "Move (Cyd)"]
IN_PLACE: Mapping[str, Requests] = {
    "sort with the tail": [SORT],
    "edit of a record": [typed_in(6, "Sweep")],
    "a filled-down row deleted": [{"deleteDimension": {"range": lines(20, 20)}}],
    "the first filled-down row deleted": [{"deleteDimension": {"range": lines(7, 7)}}],
}
ELSEWHERE: Mapping[str, Requests] = {
    "row inserted above": [{"insertDimension": {"range": lines(5, 5)}}, typed_in(5, "Dust")],
    "first filled-down row used": [typed_in(7, "Dust", "Dan")],
    "second filled-down row used": [typed_in(8, "Dust")],
    "last record deleted": [{"deleteDimension": {"range": lines(6, 6)}}],
    "last record emptied": [
        {
            "updateCells": {
                "range": {"sheetId": 0, "startRowIndex": 5, "endRowIndex": 6},
                "fields": "userEnteredValue",
            }
        },
    ],
    "a record deleted": [{"deleteDimension": {"range": lines(4, 4)}}],
}


def edit(api: Api, requests: Requests, **fault: Any) -> None:
    """Apply these edits of people just before the next write."""
    api.emulator.faults({"call": WRITE, "edit": {"requests": requests}, **fault})


def others(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if [*row] != NEW]


@pytest.mark.parametrize("requests", IN_PLACE.values(), ids=IN_PLACE)
def test_edits_that_do_not_move_the_last_record(api: Api, requests: Requests) -> None:
    """After such edits, the row is created directly below the last record."""
    edit(api, requests)
    answer = api.post("Tasks", json=BODY)

    assert (answer.status_code, answer.json()["rowIndex"]) == (201, 7)
    assert api.emulator.texts("Tasks")[6] == NEW
    assert len(api.get("Tasks").json()["results"]) == 4


@pytest.mark.parametrize("requests", ELSEWHERE.values(), ids=ELSEWHERE)
def test_edits_that_move_the_last_record(api: Api, requests: Requests) -> None:
    """After such edits, the create gets 4094: the row exists once, and a retry writes nothing."""
    title, headers = "Tasks", {"Idempotency-Key": f'"{uuid4()}"'}
    edit(api, requests)
    answer = api.post(title, json=BODY, headers=headers)
    once = api.emulator.texts(title)
    again = api.post(title, json=BODY, headers=headers)
    twice = api.emulator.texts(title)

    body = answer.json()
    assert (answer.status_code, body["code"], body["outcome"]) == (409, 4094, "applied")
    assert "moved or changed rows" in body["message"]
    assert "not directly below the last record" in body["message"]
    assert refused(again) == (409, 4094)
    assert once == twice
    assert [row for row in once if row == NEW] == [NEW]
    api.emulator.reset()
    edit(api, requests)
    api.send("PATCH", "Budget/2", json={"amount": 901})
    assert others(once) == api.emulator.texts(title)


def test_a_new_record_below_filled_down_rows(api: Api) -> None:
    """If a person adds a record further down, the answer has the true number of the created row."""
    edit(api, [typed_in(12, "Dust")])
    answer = api.post("Tasks", json=BODY)

    assert (answer.status_code, answer.json()["rowIndex"]) == (201, 7)
    assert [api.emulator.texts("Tasks")[row - 1][0] for row in (7, 13)] == ["Move", "Dust"]


@pytest.mark.parametrize(
    ("body", "status"),
    [(BODY, 409), ([{"task": "Lift", "label": "mine"}, BODY], 409), ({"label": "mine"}, 201)],
    ids=["formula", "formula of one row", "value sent in place of the formula"],
)
def test_a_row_inserted_above_the_filled_down_rows(api: Api, body: Any, status: int) -> None:
    """A blank row above the filled-down rows gives 4094, because it has no formula to copy."""
    edit(api, [{"insertDimension": {"range": lines(7, 7)}}])
    answer = api.post("Tasks", json=body)

    assert answer.status_code == status, answer.text
    assert (status == 201) or "lack its formulas" in answer.json()["message"]
    rows = body if isinstance(body, list) else [body]
    assert [row[0] for row in api.emulator.texts("Tasks")[6 : 6 + len(rows)]] == [
        each.get("task", "") for each in rows
    ]


@pytest.mark.parametrize("rows", [1, 3])
def test_a_lost_answer_to_a_create(api: Api, rows: int) -> None:
    """After a lost answer, the gateway finds the created rows and their numbers."""
    api.emulator.faults(LOST)
    answer = api.post("Tasks", json=[{"task": f"t{number}"} for number in range(rows)])

    assert answer.status_code == 201, answer.text
    assert [each["rowIndex"] for each in answer.json()["results"]] == [*range(7, 7 + rows)]
    assert [each[0] for each in api.emulator.texts("Tasks")[6 : 6 + rows]] == [
        f"t{number}" for number in range(rows)
    ]


def test_a_lost_answer_among_moved_rows(api: Api) -> None:
    """After a lost answer, rows that people have moved get 4094 without a number."""
    inserted = {"requests": ELSEWHERE["row inserted above"]}
    search = "developerMetadata.search"
    api.emulator.faults(LOST, {"call": search, "edit": inserted})
    answer = api.post("Tasks", json={"done": True, "task": "Move"})

    assert refused(answer) == (409, 4094)
    assert [row[0] for row in api.emulator.texts("Tasks")].count("Move") == 1


@pytest.mark.parametrize(
    ("requests", "status"),
    [([typed_in(5, "Dust")], 200), ([typed_in(5, "", "Dan")], 200), ([SORT], 409)],
    ids=["another task above", "another owner above", "sort"],
)
def test_a_record_above_the_tail_is_deleted(api: Api, requests: Requests, status: int) -> None:
    """A delete of the last record gets 4095 if a sort put another record into its row."""
    last = api.get("Tasks/6").json()["task"]
    edit(api, requests)
    answer = api.send("DELETE", "Tasks", params={"where": f'{{"task": "{last}"}}'})

    assert answer.status_code == status, answer.text


def test_filled_down_rows_deleted_before_the_write(api: Api) -> None:
    """If people delete all filled-down rows, the gateway reads again and appends the row."""
    edit(api, [{"deleteDimension": {"range": lines(7, 1000)}}])
    answer = api.post("Tasks", json=BODY)

    assert (answer.status_code, answer.json()["rowIndex"]) == (201, 7)
    assert len(api.emulator.texts("Tasks")) == 7


def test_rows_are_appended_if_google_refuses_to_insert(api: Api) -> None:
    """If a protected range prevents the insert, the gateway appends the row once."""
    place = {"sheetId": 0, "startRowIndex": 4, "endRowIndex": FILLED_ROWS}
    edit(api, [{"addProtectedRange": {"protectedRange": {"range": place}}}])
    reads, writes = calls_of(api)
    answer = api.post("Tasks", json=BODY)
    after = calls_of(api)

    assert (answer.status_code, answer.json()["rowIndex"]) == (201, FILLED_ROWS + 1)
    assert api.emulator.texts("Tasks")[-1] == ["Move", "Cyd"]
    assert (after[0] - reads, after[1] - writes) == (3, 2)


@pytest.mark.parametrize(
    ("title", "body", "parameters"),
    [
        ("Tasks", {"done": False}, {}),
        ("Tasks", [{"task": "x"}, {"done": False, "task": "", "owner": None}], {}),
        ("Tasks", {"done": False}, {"values": "typed"}),
        ("Orders", {"status": "paid", "count": 3}, {}),
        ("Orders", {"order": "", "status": "paid"}, {}),
        ("Orders", {"status": "lent"}, {"on_conflict": "status"}),
    ],
)
def test_a_row_that_would_not_be_a_record(
    api: Api, title: str, body: Any, parameters: Mapping[str, str]
) -> None:
    """A row without data in the record field gets 400 code 104, and nothing is written."""
    before, (_, writes) = api.emulator.texts(title), calls_of(api)
    answer = api.post(title, json=body, params=parameters)

    assert refused(answer) == (400, 104)
    assert calls_of(api)[1] == writes
    assert api.emulator.texts(title) == before


@pytest.mark.parametrize("parameters", [{}, {"on_conflict": "task"}], ids=["create", "upsert"])
def test_a_record_field_with_formulas(
    open_kept: OpenGateway, parameters: Mapping[str, str]
) -> None:
    """If the record field has formulas, a new row needs a value for the field, or gets
    400 code 104.
    """
    named = {"spreadsheet": "demo", "title": "Tasks", "header_row": 3, "record_field": "label"}
    api = open_kept({"worksheets": [named]})
    before, (_, writes) = api.emulator.texts("Tasks"), calls_of(api)
    refusal = api.post("Tasks", json={"task": "Move"}, params=parameters)
    is_unwritten = api.emulator.texts("Tasks") == before and calls_of(api)[1] == writes
    answer = api.post("Tasks", json=[{"task": "Move", "label": "x"}], params=parameters)
    (created,) = answer.json()["results"]

    assert refused(refusal) == (400, 104)
    assert 'needs a value in "label"' in refusal.json()["message"]
    assert is_unwritten
    assert created["rowIndex"] == 7
    assert api.get("Tasks/7").json()["label"] == "x"


@pytest.mark.parametrize("parameters", [{}, {"values": "typed"}], ids=["displayed", "typed"])
@pytest.mark.parametrize("settings", [{}, {"cache.window_above_cells": 1}], ids=["all", "windows"])
def test_the_404_of_a_filled_down_row(
    open_kept: OpenGateway, settings: Mapping[str, object], parameters: Mapping[str, str]
) -> None:
    """The 404 mentions filled-down rows only to a key that can read the filled-down columns."""
    api = open_kept(settings)
    api.get("Tasks")
    answers = [
        api.get("Tasks/9", params=parameters),
        api.send("PATCH", "Tasks/9", json={"task": "x"}),
    ]
    blank = api.get("Tasks/9", key="clerk")

    said = "begin at 4 and end with the last record. Rows that are only filled down do not count"
    assert [answer.status_code for answer in (*answers, blank)] == [404] * 3
    assert all(said in answer.json()["message"] for answer in answers)
    assert blank.json()["message"].endswith("end with the last row that is not blank.")


def test_typed_form_values_are_parsed_before_the_record_check(api: Api) -> None:
    """The typed form value `FALSE` is a boolean, so a row with only this value gets 400."""
    answer = api.post("Tasks", data={"done": "FALSE"}, params={"values": "typed"})

    assert refused(answer) == (400, 104)


def test_a_key_that_sees_some_columns(api: Api) -> None:
    """A create by a restricted key fills the hidden columns, and its answer does not show them."""
    answer = api.post("Tasks", key="clerk", json={"task": "Move", "owner": "Cyd"})
    edit(api, ELSEWHERE["last record deleted"])
    moved = api.post("Tasks", key="clerk", json={"task": "Lift"})

    assert answer.json() == {"rowIndex": 7, "task": "Move", "owner": "Cyd"}
    assert api.emulator.texts("Tasks")[6][4:] in (["FALSE", "Move (Cyd)"], ["FALSE"])
    assert refused(moved) == (409, 4094)
    assert "label" not in moved.text + answer.text


def test_the_first_record(api: Api) -> None:
    """Without a record, the new row is created directly below the header."""
    edit(api, [{"deleteDimension": {"range": lines(4, 6)}}])
    api.send("PATCH", "Budget/2", json={"amount": 901})
    answer = api.post("Tasks", json=BODY)

    assert (answer.status_code, answer.json()["rowIndex"]) == (201, 4)
    assert api.emulator.texts("Tasks")[2:5] == [[*TASKS.fields], NEW, [*TASK_TAIL]]


@pytest.mark.parametrize("title", ["Tasks", "Guests"])
def test_a_slow_read_is_repeated_for_the_last_rows(api: Api, title: str) -> None:
    """After a slow read, the gateway reads the last rows again before it creates the row."""
    slow = {"call": "spreadsheets.get", "delay_ms": 1100}
    field_name = "task" if title == "Tasks" else "guest"
    api.emulator.faults(slow)
    answer = api.post(title, json={field_name: "x"})
    api.emulator.faults(
        slow, {"call": "spreadsheets.get", "edit": {"requests": [typed_in(7, "y")]}}
    )
    later = api.post(title, json={field_name: "z"})

    assert [answer.status_code, later.status_code] == [201, 201], answer.text + later.text
