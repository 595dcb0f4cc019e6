"""Creates in native tables: cells before and after, and calls.

A case has the worksheet as text, the range of the table, the body sent, and the rows afterwards.
Cells `=…` are formulas, numbers are numbers, all others are texts.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from tests.journeys.books import running_books
from tests.journeys.conftest import Api, EmulatorControl, KeysOnDisk, OpenGateway
from tests.journeys.waiting import until
from tests.simulation.people import make, person_at

Request = Mapping[str, Any]
FOOTER: Request = {"footerColorStyle": {"themeColor": "ACCENT1"}}
BATCH = "spreadsheets.batchUpdate"
REFUSAL = json.dumps(
    {
        "error": {
            "code": 400,
            "message": "Invalid requests[1].appendCells: not so",
            "status": "INVALID_ARGUMENT",
        }
    }
)
GRID_ROWS, GRID_COLUMNS = 40, 8
KEPT: Mapping[str, object] = {"cache.header_ttl_seconds": 600}


def cells(*lines: str) -> list[list[str]]:
    """Rows of cells, from texts like `a | 1 | =B2`."""
    return [[cell.strip() for cell in line.split("|")] if line else [] for line in lines]


def entered(text: str) -> Request:
    if not text:
        return {}
    if text.startswith("="):
        return {"userEnteredValue": {"formulaValue": text}}
    try:
        return {"userEnteredValue": {"numberValue": float(text)}}
    except ValueError:
        return {"userEnteredValue": {"stringValue": text}}


def put(lines: Sequence[Sequence[str]], row: int = 0) -> Request:
    """A request that writes cells from column A on; rows count from 0."""
    rows = [{"values": [entered(text) for text in line]} for line in lines]
    start = {"sheetId": 0, "rowIndex": row, "columnIndex": 0}
    return {"updateCells": {"start": start, "rows": rows, "fields": "userEnteredValue"}}


def area(top: int, left: int, bottom: int, right: int) -> Request:
    """A range. Rows and columns count from 0; the end is exclusive."""
    return {
        "sheetId": 0,
        "startRowIndex": top,
        "startColumnIndex": left,
        "endRowIndex": bottom,
        "endColumnIndex": right,
    }


def table(place: Request, *, totals: bool = False, id_: str = "t") -> Request:
    rows = {"rowsProperties": FOOTER} if totals else {}
    return {"addTable": {"table": {"tableId": id_, "name": f"N{id_}", "range": place, **rows}}}


def formatted(place: Request, type_: str, pattern: str = "") -> Request:
    number_format = {"type": type_} | ({"pattern": pattern} if pattern else {})
    return {
        "repeatCell": {
            "range": place,
            "cell": {"userEnteredFormat": {"numberFormat": number_format}},
            "fields": "userEnteredFormat.numberFormat",
        }
    }


@pytest.fixture(scope="module")
def books(emulator: EmulatorControl, access: KeysOnDisk) -> Iterator[OpenGateway]:
    with running_books(emulator, access, rows=GRID_ROWS, columns=GRID_COLUMNS) as open_book:
        yield open_book


@pytest.fixture
def start(emulator: EmulatorControl, books: OpenGateway) -> Iterator[OpenGateway]:
    yield books
    emulator.check()


def edit(api: Api, *requests: Request) -> None:
    """Apply requests as a person's edit."""
    make(api.emulator, {"requests": requests})


def body_end(api: Api) -> int:
    """The last row of the body of table `t`. Rows count from 1."""
    control = api.emulator
    with person_at(control.url, control.credentials, control.spreadsheet) as person:
        sheets = person.send("GET", "?fields=sheets.tables")["sheets"]
    (table,) = [each for each in sheets[0]["tables"] if each["tableId"] == "t"]
    end: int = table["range"]["endRowIndex"]
    return end - ("footerColorStyle" in table.get("rowsProperties", {}))


def spent(api: Api, since: tuple[int, int]) -> tuple[int, int]:
    reads, writes = api.emulator.calls()
    return reads - since[0], writes - since[1]


def rows_of(answer: Any) -> list[int]:
    """Row numbers in the answer to a create or an upsert."""
    found = answer.json()
    return [each["rowIndex"] for each in found.get("results", [found])]


def listed(api: Api) -> list[tuple[int, list[str]]]:
    """Row numbers and cells that are not empty, from a list."""
    records = api.get("S?limit=100").json()["results"]
    return [
        (each.pop("rowIndex"), [str(cell) for cell in each.values() if cell not in (None, "")])
        for each in records
    ]


def shown(lines: Sequence[Sequence[str]]) -> list[tuple[int, list[str]]]:
    """The list that these rows must give."""
    named = [at for at, name in enumerate(lines[0]) if name]
    last = max(at for at, line in enumerate(lines) if any(line))
    return [
        (at + 1, [line[column] for column in named if column < len(line) and line[column]])
        for at, line in enumerate(lines)
        if 1 <= at <= last
    ]


@dataclass(frozen=True, kw_only=True)
class Case:
    """`place` is top, left, bottom and right of the table; `rows` are the expected row numbers."""

    before: list[list[str]]
    place: tuple[int, int, int, int]
    sent: object
    after: list[list[str]]
    rows: list[int]
    ends: int
    """Last row of the table's body after the create."""
    query: str = ""
    totals: bool = False
    more: Sequence[Request] = field(default_factory=tuple)


STOCK = cells("item | n", "nail | 1", "bolt | 2")
CASES: Mapping[str, Case] = {
    "full": Case(
        before=STOCK, place=(0, 0, 3, 2), sent={"item": "nut", "n": 3},
        after=[*STOCK, ["nut", "3"]], rows=[4], ends=4,
    ),
    "blank rows in the body": Case(
        before=STOCK, place=(0, 0, 9, 2), sent=[{"item": "nut"}, {"item": "rod", "n": 4}],
        after=[*STOCK, ["nut"], ["rod", "4"]], rows=[4, 5], ends=9,
    ),
    "no records": Case(
        before=STOCK[:1], place=(0, 0, 2, 2), sent=[{"item": "nut"}, {"n": 4}],
        after=[STOCK[0], ["nut"], ["", "4"]], rows=[2, 3], ends=3,
    ),
    "totals row": Case(
        before=[*STOCK, ["Total", "=SUM(B2:B3)"]], place=(0, 0, 4, 2), totals=True,
        sent=[{"item": "nut", "n": 3}, {"item": "rod", "n": 4}],
        after=[*STOCK, ["nut", "3"], ["rod", "4"], ["Total", "3"]], rows=[4, 5], ends=5,
    ),
    "totals row below blank rows": Case(
        before=[*STOCK, [], [], ["Total", "9"]], place=(0, 0, 6, 2), totals=True,
        sent={"item": "nut", "n": 3},
        after=[*STOCK, ["nut", "3"], [], ["Total", "9"]], rows=[4], ends=5,
    ),
    "a row like the totals row": Case(
        before=[*STOCK, ["Total", "9"]], place=(0, 0, 4, 2), totals=True,
        sent={"item": "Total", "n": 9},
        after=[*STOCK, ["Total", "9"], ["Total", "9"]], rows=[4], ends=4,
    ),
    "notes below": Case(
        before=[*STOCK, [], ["Counted on Friday"]], place=(0, 0, 3, 2), sent={"item": "nut"},
        after=[*STOCK, ["nut"], [], ["Counted on Friday"]], rows=[4], ends=4,
    ),
    "an equal row below the table": Case(
        before=[*STOCK, ["nut"]], place=(0, 0, 3, 2), sent={"item": "nut"},
        after=[*STOCK, ["nut"], ["nut"]], rows=[4], ends=4,
    ),
    "not from column A": Case(
        before=cells("note | item | n", "x | nail | 1", "| bolt | 2", "y"), place=(0, 1, 3, 3),
        sent={"n": 3, "item": "nut"},
        after=cells("note | item | n", "x | nail | 1", "| bolt | 2", "| nut | 3", "y"),
        rows=[4], ends=4,
    ),
    "a field outside of the table": Case(
        before=cells("item | n | note", "nail | 1", "bolt | 2", "||low"), place=(0, 0, 3, 2),
        sent={"item": "nut", "note": "new"},
        after=cells("item | n | note", "nail | 1", "bolt | 2", "||low", "nut||new"),
        rows=[5], ends=3,
    ),
    "a column beside the table that is longer": Case(
        before=cells("item | n | note", "nail | 1", "||a", "||b", "||c"), place=(0, 0, 5, 2),
        sent={"item": "nut"},
        after=cells("item | n | note", "nail | 1", "nut||a", "||b", "||c"), rows=[3], ends=5,
    ),
    "two tables side by side": Case(
        before=cells("item | n | | city", "nail | 1 | | Rome", "bolt | 2"), place=(0, 0, 3, 2),
        more=[table(area(0, 3, 3, 4), id_="u")], sent={"item": "nut"},
        after=cells("item | n | | city", "nail | 1 | | Rome", "bolt | 2", "nut"), rows=[4], ends=3,
    ),
    "a table with another header row": Case(
        before=[["Stock list"], *STOCK], place=(1, 0, 4, 2), sent={"Stock list": "nut"},
        after=[["Stock list"], *STOCK, ["nut"]], rows=[5], ends=4,
    ),
    "upsert": Case(
        before=[*STOCK, ["Total", "9"]], place=(0, 0, 4, 2), totals=True, query="?on_conflict=item",
        sent=[{"item": "nail", "n": 8}, {"item": "nut", "n": 3}, {"item": "rod", "n": 4}],
        after=[STOCK[0], ["nail", "8"], STOCK[2], ["nut", "3"], ["rod", "4"], ["Total", "9"]],
        rows=[2, 4, 5], ends=5,
    ),
    "upsert of a row below the table": Case(
        before=[*STOCK, [], ["rod", "5"]], place=(0, 0, 3, 2), query="?on_conflict=item",
        sent=[{"item": "rod", "n": 8}, {"item": "nut", "n": 3}],
        after=[*STOCK, [], ["rod", "8"], ["nut", "3"]], rows=[5, 6], ends=3,
    ),
    "upsert of an unchanged row below the table": Case(
        before=[*STOCK, [], ["rod", "5"]], place=(0, 0, 3, 2), query="?on_conflict=item",
        sent=[{"item": "rod", "n": 5}, {"item": "nut", "n": 3}],
        after=[*STOCK, [], ["rod", "5"], ["nut", "3"]], rows=[5, 6], ends=3,
    ),
    "upsert of the unchanged totals row": Case(
        before=[*STOCK, ["Total", "9"]], place=(0, 0, 4, 2), totals=True, query="?on_conflict=item",
        sent=[{"item": "Total", "n": 9}, {"item": "nut", "n": 3}],
        after=[*STOCK, ["Total", "9"], ["nut", "3"]], rows=[4, 5], ends=3,
    ),
}  # fmt: skip


def opened(start: OpenGateway, case: Case, settings: Mapping[str, object] | None = None) -> Api:
    """A gateway with an empty cache on the worksheet of a case."""
    api = start(settings)
    made = table(area(*case.place), totals=case.totals)
    edit(api, put(case.before), made, *case.more)
    return api


@pytest.mark.parametrize("is_warm", [False, True], ids=["cold", "rows read lately"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_row_goes_into_the_table(start: OpenGateway, case: Case, is_warm: bool) -> None:
    """A created row is in the table with its own cells and number, at the documented cost."""
    api = opened(start, case, {**KEPT, "cache.rows_ttl_seconds": 600})
    if is_warm:
        listed(api)
    before = api.emulator.calls()

    answer = api.post(f"S{case.query}", json=case.sent)

    calls = spent(api, before)
    assert (answer.status_code, rows_of(answer)) in ((201, case.rows), (200, case.rows))
    assert api.emulator.texts("S") == case.after
    assert listed(api) == shown(case.after)
    assert body_end(api) == case.ends
    assert calls == ((3, 1) if case.query else (1, 1))


TASKS = cells("task | n | done", "wash | 1", "iron | 2")
BELOW = 4
"""Number of filled-down rows in the table below the records."""
CHECKBOX: Request = {"userEnteredValue": {"boolValue": False}}
DOUBLED: Request = {"userEnteredValue": {"formulaValue": '=IF(B2="","",2*B2)'}}
FILLINGS: Mapping[str, tuple[Request, Sequence[str], str]] = {
    "checkboxes": (CHECKBOX, ["FALSE", "FALSE", "FALSE", "FALSE"], "FALSE"),
    "formulas": (DOUBLED, ["2", "4", "8", "8"], ""),
}
"""The filled-down cell, its displayed texts in four records, and its text below them."""


@pytest.mark.parametrize("seen", ["", "S?limit=9", "S?where={}"], ids=["cold", "list", "typed"])
@pytest.mark.parametrize("query", ["", "?on_conflict=task"], ids=["create", "upsert"])
@pytest.mark.parametrize("totals", [False, True], ids=["no totals", "totals"])
@pytest.mark.parametrize("filling", FILLINGS)
def test_a_row_goes_above_filled_down_rows_of_the_table(
    start: OpenGateway, filling: str, totals: bool, query: str, seen: str
) -> None:
    """A created row becomes the next record, and the table grows by one row."""
    api = start({**KEPT, "cache.rows_ttl_seconds": 600})
    cell, done, tail = FILLINGS[filling]
    end = len(TASKS) + BELOW
    filled = {
        "repeatCell": {"range": area(1, 2, end, 3), "cell": cell, "fields": "userEnteredValue"}
    }
    last = [["Total", "7"]] if totals else []
    edit(
        api,
        put(TASKS),
        filled,
        put(last, end),
        table(area(0, 0, end + totals, 3), totals=totals),
    )
    if seen:
        api.get(seen)
    found = []
    for name in ("fold", "sew"):
        before = api.emulator.calls()
        answer = api.post(f"S{query}", json=[{"task": name, "n": 4}])
        found.append((rows_of(answer), spent(api, before)[1]))
    reads = spent(api, before)[0]

    assert found == [([4], 1), ([5], 1)]
    assert reads == (4 if query else 1) - bool(query)
    below = [["", "", tail] if tail else []] * BELOW
    records = [*TASKS[1:], ["fold", "4"], ["sew", "4"]]
    rows = [[*cells, shown] for cells, shown in zip(records, done, strict=True)]
    after = [TASKS[0], *rows, *below, *last]
    while not after[-1]:
        after.pop()
    assert api.emulator.texts("S") == after
    assert body_end(api) == end + 2


def test_an_upsert_of_a_row_that_others_add_to_the_table(start: OpenGateway) -> None:
    """If a person adds the same record before the upsert reads the end, the upsert updates it."""
    api, end = start(KEPT), len(TASKS) + BELOW
    filled = {
        "repeatCell": {"range": area(1, 2, end, 3), "cell": CHECKBOX, "fields": "userEnteredValue"}
    }
    edit(api, put(TASKS), filled, table(area(0, 0, end, 3)))
    added = {"requests": [put([["fold", "9"]], len(TASKS))]}
    api.emulator.faults({"call": "spreadsheets.get", "skip": 1, "edit": added})

    answer = api.post("S?on_conflict=task", json=[{"task": "fold", "n": 4}])

    assert rows_of(answer) == [len(TASKS) + 1]
    assert api.emulator.texts("S")[len(TASKS) : len(TASKS) + 2] == [
        ["fold", "4", "FALSE"],
        ["", "", "FALSE"],
    ]


@contextmanager
def held_up(api: Api, *faults: Request) -> Iterator[None]:
    """Keep the create of `head` unanswered by Google during the block, so that other
    creates wait.
    """
    _, writes = api.emulator.calls()
    api.emulator.faults({"call": BATCH, "hold_ms": 400}, *faults)
    with ThreadPoolExecutor(1) as pool:
        head = pool.submit(api.post, "S", json={"item": "head"})
        assert until(lambda: api.emulator.calls()[1] > writes)
        yield
        assert head.result().status_code == 201


def created_at_once(api: Api, bodies: Sequence[Request]) -> list[Any]:
    """Answers to creates that are sent at once."""
    with ThreadPoolExecutor(len(bodies)) as pool:
        return [*pool.map(lambda body: api.post("S", json=body), bodies)]


def test_creates_that_wait_together_share_a_write(start: OpenGateway) -> None:
    """Creates that wait together cost at most three writes, and each answer has the true row."""
    api = opened(start, CASES["totals row"], KEPT)
    api.post("S", json={"item": "first"})
    before = api.emulator.calls()
    names = [f"row {number}" for number in range(8)]
    with held_up(api):
        answers = created_at_once(api, [{"item": name} for name in names])

    assert [answer.status_code for answer in answers] == [201] * len(names)
    texts = api.emulator.texts("S")
    assert [texts[each.json()["rowIndex"] - 1][0] for each in answers] == names
    assert [line[0] for line in texts[-1:]] == ["Total"]
    assert len(texts) == 6 + len(names)
    reads, writes = spent(api, before)
    assert reads == 0
    assert writes <= 3


def test_rows_inside_and_below_the_table_are_written_separately(start: OpenGateway) -> None:
    """Waiting creates in the table and below it get their own rows."""
    api = opened(start, CASES["a field outside of the table"], KEPT)
    api.post("S", json={"item": "first"})
    bodies = [
        {"item": f"row {number}", **({"note": "x"} if number % 2 else {})} for number in range(6)
    ]
    with held_up(api):
        answers = created_at_once(api, bodies)

    texts = api.emulator.texts("S")
    numbers = {line[0]: row for row, line in enumerate(texts, 1) if line and line[0]}
    table_end = body_end(api)
    assert [answer.status_code for answer in answers] == [201] * len(bodies)
    assert sorted(name for name in numbers if name.startswith("row")) == [b["item"] for b in bodies]
    for body in bodies:
        assert ("note" in body) == (numbers[body["item"]] > table_end)
    assert {each.json()["item"] for each in answers} == {body["item"] for body in bodies}


def resized(bottom: int, right: int) -> Request:
    place = area(0, 0, bottom, right)
    return {"updateTable": {"table": {"tableId": "t", "range": place}, "fields": "range"}}


def moved(top: int, bottom: int) -> Request:
    place = area(top, 0, bottom, 2)
    return {"updateTable": {"table": {"tableId": "t", "range": place}, "fields": "range"}}


RODS = [[f"rod {at}", "4"] for at in range(30)]
LIKE_NUT = [*RODS[:20], ["nut", "3"], *RODS[21:]]
"""Thirty rows with one equal to the created row, which is near the end of the answer."""
GONE: Request = {"deleteTable": {"tableId": "t"}}
EDITS: Mapping[str, tuple[list[Request], list[list[str]], int]] = {
    "deleted": ([GONE, put(STOCK)], [*STOCK, ["nut", "3"]], 4),
    "another one": (
        [GONE, put([*STOCK, ["Total", "9"]]), table(area(0, 0, 4, 2), totals=True, id_="u")],
        [*STOCK, ["nut", "3"], ["Total", "9"]],
        4,
    ),
    "of other columns": (
        [resized(3, 1)],
        [*STOCK, ["nut", "3"]],
        4,
    ),
    "longer": ([put([["rod", "4"]], 3), resized(6, 2)], [*STOCK, ["rod", "4"], ["nut", "3"]], 5),
    "far longer": ([put(RODS, 3), resized(36, 2)], [*STOCK, *RODS, ["nut", "3"]], 34),
    "far longer, with an equal row": (
        [put(LIKE_NUT, 3), resized(36, 2)], [*STOCK, *LIKE_NUT, ["nut", "3"]], 34),
    "with rows above its last one": (
        [{"insertDimension": {"range": {
            "sheetId": 0, "dimension": "ROWS", "startIndex": 2, "endIndex": 3}}},
         put([["rod", "4"]], 2)],
        [*STOCK[:2], ["rod", "4"], STOCK[2], ["nut", "3"]],
        5,
    ),
    "with a totals row": (
        [{"updateTable": {"table": {"tableId": "t", "rowsProperties": FOOTER},
                          "fields": "rowsProperties"}}, put([["Total", "9"]], 3)],
        [*STOCK, ["nut", "3"], ["Total", "9"]],
        4,
    ),
}  # fmt: skip


@pytest.mark.parametrize("is_seen", [False, True], ids=["cold", "header seen"])
@pytest.mark.parametrize(("edits", "after", "row"), EDITS.values(), ids=EDITS)
def test_a_table_that_people_change_before_the_write(
    start: OpenGateway, edits: list[Request], after: list[list[str]], row: int, is_seen: bool
) -> None:
    """If people change the table before the write, the row is created once, with its true
    number.
    """
    api = opened(start, CASES["full"], KEPT)
    if is_seen:
        api.post("S", json={"item": "x"})
        edit(api, {"deleteDimension": {"range": {
            "sheetId": 0, "dimension": "ROWS", "startIndex": 3, "endIndex": 4}}})  # fmt: skip
    api.emulator.faults({"call": BATCH, "edit": {"requests": edits}})

    answer = api.post("S", json={"item": "nut", "n": 3})

    assert (answer.status_code, rows_of(answer)) == (201, [row])
    assert api.emulator.texts("S") == after
    assert listed(api) == shown(after)


@pytest.mark.parametrize("is_equal", [False, True], ids=["another row", "an equal row"])
def test_a_table_that_people_move_below_a_new_one(start: OpenGateway, is_equal: bool) -> None:
    """If people move the table, the row goes into it; an equal row elsewhere gives 4094."""
    api = opened(start, CASES["full"], KEPT)
    nut = ["nut", "3"] if is_equal else ["screw", "1"]
    edits = [put([nut], 3), put(STOCK, 5), moved(5, 8), table(area(0, 0, 4, 2), id_="u")]
    api.emulator.faults({"call": BATCH, "edit": {"requests": edits}})

    answer = api.post("S", json={"item": "nut", "n": 3})

    if is_equal:
        body = answer.json()
        assert (answer.status_code, body["code"], body["outcome"]) == (409, 4094, "applied")
    else:
        assert (answer.status_code, rows_of(answer)) == (201, [9])
    assert api.emulator.texts("S") == [*STOCK, nut, [], *STOCK, ["nut", "3"]]


def test_an_equal_row_of_a_later_table_is_not_the_created_row(start: OpenGateway) -> None:
    """If people replace table and rows before the gateway finds the created row, it gives 4094."""
    api = opened(start, CASES["full"], KEPT)
    longer = [put(RODS, 3), resized(36, 2)]  # so that the answer of the create lacks its row
    below = {"sheetId": 0, "dimension": "ROWS", "startIndex": 2, "endIndex": GRID_ROWS}
    later = [
        GONE,
        {"deleteDimension": {"range": below}},
        put([STOCK[0], ["nut", "3"]]),
        table(area(0, 0, 2, 2), id_="u"),
    ]
    api.emulator.faults(
        {"call": BATCH, "edit": {"requests": longer}},
        {"call": "spreadsheets.get", "skip": 1, "edit": {"requests": later}},
    )

    answer = api.post("S", json={"item": "nut", "n": 3})

    body = answer.json()
    assert (answer.status_code, body.get("code"), body.get("outcome")) == (409, 4094, "applied")
    assert api.emulator.texts("S") == [STOCK[0], ["nut", "3"]]


@pytest.mark.parametrize(
    "name",
    [
        "full",
        "a row like the totals row",
        "blank rows in the body",
        "an equal row below the table",
        "a field outside of the table",
        "upsert",
        "upsert of a row below the table",
    ],
)
def test_rows_are_found_after_a_lost_answer(start: OpenGateway, name: str) -> None:
    """After a lost answer, the gateway finds the rows in the body of the table, and a retry too."""
    case = CASES[name]
    api = opened(start, case, KEPT)
    api.emulator.faults({"call": BATCH, "apply": True, "status": 503, "times": 1})
    key = {"Idempotency-Key": f"lost-{name}".replace(" ", "-")}

    answers = [api.post(f"S{case.query}", json=case.sent, headers=key) for _ in range(2)]

    assert [rows_of(answer) for answer in answers] == [case.rows] * 2
    assert api.emulator.texts("S") == case.after
    assert listed(api) == shown(case.after)


def test_another_gateway_finds_the_rows_of_a_stopped_one(start: OpenGateway) -> None:
    """A gateway that did not send the write replays it with the rows of the table."""
    case = CASES["a row like the totals row"]
    successor = start(KEPT)
    api = opened(start, case, {**KEPT, "google.read_timeout_seconds": 1})
    key = {"Idempotency-Key": "stopped"}
    api.emulator.faults(
        {"call": BATCH, "apply": True, "status": 503, "times": 1},
        {"call": "developerMetadata.search", "status": 401, "times": 999},
    )
    first = api.post(f"S{case.query}", json=case.sent, headers=key)
    api.emulator.faults()
    same = replace(successor, emulator=api.emulator)
    again = same.post(f"S{case.query}", json=case.sent, headers=key)

    assert first.json()["outcome"] == "unknown"
    assert rows_of(again) == case.rows
    assert api.emulator.texts("S") == case.after


def test_a_refused_row_does_not_take_others_with_it(start: OpenGateway) -> None:
    """If Google refuses one row of a group, the other rows are written."""
    api = opened(start, CASES["full"], KEPT)
    api.post("S", json={"item": "first"})
    refusal = {"call": BATCH, "match": "bad", "status": 400, "times": 9, "text": REFUSAL}
    with held_up(api, refusal):
        answers = created_at_once(api, [{"item": name} for name in ("good 1", "bad", "good 2")])
    items = [line[0] for line in api.emulator.texts("S")]

    assert [answer.status_code for answer in answers] == [201, 502, 201]
    assert sorted(items[3:]) == ["first", "good 1", "good 2", "head"]


def test_a_large_table_is_read_once_for_its_end(start: OpenGateway) -> None:
    """In a large table only the first create reads the end; later creates cost one write."""
    lines = [STOCK[0], *([f"row {at}", "1"] for at in range(2_100)), [], ["a note"]]
    grown = {"appendDimension": {"sheetId": 0, "dimension": "ROWS", "length": 2_200}}
    api = start(KEPT)
    edit(api, grown, put(lines), table(area(0, 0, 2_102, 2)))
    calls = []
    for number in range(2):
        before = api.emulator.calls()
        answer = api.post("S", json={"item": f"new {number}"})
        calls.append((rows_of(answer), spent(api, before)))

    assert calls == [([2_102], (2, 1)), ([2_103], (0, 1))]
    assert api.emulator.texts("S")[-1] == ["a note"]


def test_a_row_goes_above_filled_down_rows_of_a_large_table(start: OpenGateway) -> None:
    """In a large table with checkboxes, only the first create searches the end of the records."""
    lines = [TASKS[0], *([f"row {at}", "1"] for at in range(2_050))]
    top, end = len(lines), len(lines) + 60
    grown = {"appendDimension": {"sheetId": 0, "dimension": "ROWS", "length": 2_200}}
    filled = {
        "repeatCell": {
            "range": area(top, 2, end, 3), "cell": CHECKBOX, "fields": "userEnteredValue",
        }
    }  # fmt: skip
    api = start(KEPT)
    edit(
        api,
        grown,
        put(lines),
        filled,
        put([["Total", "9"]], end),
        table(area(0, 0, end + 1, 3), totals=True),
    )
    calls = []
    for number in range(2):
        before = api.emulator.calls()
        answer = api.post("S", json={"task": f"new {number}"})
        calls.append((rows_of(answer), spent(api, before)))

    assert calls == [([top + 1], (4, 1)), ([top + 2], (1, 1))]
    assert api.emulator.texts("S")[-1] == ["Total", "9"]


@pytest.mark.parametrize("header_ttl", [0, 600])
def test_a_create_after_all_rows_of_a_table_were_deleted(
    start: OpenGateway, header_ttl: int
) -> None:
    """If a table has nothing but a header and the mark of a totals row, the header stays."""
    api = start({"cache.header_ttl_seconds": header_ttl})
    edit(api, put([*STOCK, ["Total", "3"]]), table(area(0, 0, 4, 2), totals=True))
    rows = {"sheetId": 0, "dimension": "ROWS", "startIndex": 1, "endIndex": 4}
    edit(api, {"deleteDimension": {"range": rows}})
    answer = api.post("S", json={"item": "nut", "n": 3})

    assert (answer.status_code, rows_of(answer)) == (201, [2])
    assert api.emulator.texts("S") == [STOCK[0], ["nut", "3"]]
