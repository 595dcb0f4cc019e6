"""Writes that wait while Google is busy share one call, and each client gets its own answer."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx2
import pytest

from tests.journeys.conftest import Api
from tests.journeys.failure import refused
from tests.journeys.google_faults import google
from tests.journeys.waiting import until
from tests.journeys.workbook import WORKBOOK

MOST_AT_ONCE = 80
SLOW = {"call": "*", "times": 999, "delay_ms": 300}
BAD: Mapping[str, object] = {"name": "bad", "state": "x"}
"""A row that Google refuses when the column `state` is protected."""
NEW = sorted(f"{name}.csv" for name in WORKBOOK["demo"]).index("New.csv")
STATES = {"sheetId": NEW, "startColumnIndex": 1, "endColumnIndex": 2}
PROTECTED = {"requests": [{"addProtectedRange": {"protectedRange": {"range": STATES}}}]}

Request = Callable[[], httpx2.Response]


def at_once(requests: Sequence[Request]) -> list[httpx2.Response]:
    with ThreadPoolExecutor(MOST_AT_ONCE) as pool:
        return [future.result() for future in [pool.submit(request) for request in requests]]


def creating(api: Api, body: object, worksheet: str = "New", key: str = "paid") -> Request:
    return lambda: api.post(worksheet, json=body, key=key)


def updating(api: Api, path: str, body: Mapping[str, object]) -> Request:
    return lambda: api.send("PATCH", path, json=body)


@contextmanager
def held_up(
    api: Api,
    call: str,
    path: str,
    *faults: Mapping[str, Any],
    edit: Mapping[str, Any] | None = None,
) -> Iterator[None]:
    """Keep a write to this path unanswered by Google during the block; `faults` follow it."""
    slow = {"call": call, "delay_ms": 1000, "match": "hold", "edit": edit}
    api.emulator.faults(slow, *({"call": call, **fault} for fault in faults))
    with ThreadPoolExecutor(1) as pool:
        holding = pool.submit(api.post, path, json={"name": "hold"})
        assert until(lambda: api.emulator.stats()["calls"].get(call) == 1)
        yield
        assert holding.result().status_code in (200, 201)


def test_parallel_creates_share_writes(api: Api) -> None:
    """Forty creates at once cost at most three writes, and each answer has the true row."""
    api.emulator.faults(SLOW)

    answers = at_once([creating(api, {"name": f"n{n}", "population": n}) for n in range(40)])

    assert {answer.status_code for answer in answers} == {201}
    assert sorted(answer.json()["rowIndex"] for answer in answers) == list(range(2, 42))
    texts = api.emulator.texts("New")
    for number, answer in enumerate(answers):
        assert texts[answer.json()["rowIndex"] - 1] == [f"n{number}", "", "", str(number)]
    assert api.emulator.stats()["calls"]["spreadsheets.batchUpdate"] <= 3
    assert api.emulator.calls()[0] == 1


@pytest.mark.parametrize(
    "keys", [("paid", "paid"), ("paid", "misnamed")], ids=["one key", "keys with other grants"]
)
def test_creates_of_any_keys_share_a_write(api: Api, keys: Sequence[str]) -> None:
    """Creates of keys with different grants share one append."""
    with held_up(api, "spreadsheets.batchUpdate", "New"):
        answers = at_once([creating(api, {"name": f"n{n}"}, key=keys[n % 2]) for n in range(80)])

    assert {answer.status_code for answer in answers} == {201}
    assert sorted(answer.json()["rowIndex"] for answer in answers) == list(range(3, 83))
    assert api.emulator.stats()["calls"]["spreadsheets.batchUpdate"] == 2


def test_parallel_updates_share_writes(api: Api) -> None:
    """Twenty updates of different rows at once cost at most three reads and three writes."""
    before = api.emulator.texts("Long")
    api.emulator.faults(SLOW)

    answers = at_once([updating(api, f"Long/{row}", {"number": f"x{row}"}) for row in range(2, 22)])

    assert [answer.json() for answer in answers] == [
        {"rowIndex": row, "number": f"x{row}"} for row in range(2, 22)
    ]
    assert api.emulator.texts("Long") == [
        before[0],
        *([f"x{row}"] for row in range(2, 22)),
        *before[21:],
    ]
    reads, writes = api.emulator.calls()
    assert reads <= 3
    assert writes <= 3


@pytest.mark.parametrize("place", [0, 25, 49], ids=["first", "middle", "last"])
def test_a_row_that_google_refuses_among_fifty(api: Api, place: int) -> None:
    """Of fifty creates in a group, Google refuses one; the other 49 cost at most four
    more writes.
    """
    bodies: list[Mapping[str, object]] = [{"name": f"n{n}"} for n in range(50)]
    bodies[place] = BAD

    with held_up(api, "spreadsheets.batchUpdate", "New", edit=PROTECTED):
        answers = at_once([creating(api, body) for body in bodies])

    errors = [answer for answer in answers if answer.status_code != 201]
    assert [refused(answer) for answer in errors] == [(403, 4033)]
    assert errors[0] is answers[place]
    assert errors[0].json()["outcome"] == "not_applied"
    texts = api.emulator.texts("New")
    assert len(texts) == 2 + 49
    for body, answer in zip(bodies, answers, strict=True):
        if answer not in errors:
            row = texts[answer.json()["rowIndex"] - 1]
            assert row == [body["name"]]
    assert api.emulator.stats()["calls"]["spreadsheets.batchUpdate"] <= 1 + 5


def test_a_list_is_never_split(api: Api) -> None:
    """A list with a refused row is refused completely; other requests of the group are written."""
    bodies: list[object] = [
        {"name": "a"},
        [{"name": "b"}, BAD, {"name": "c"}],
        [{"name": "d"}, {"name": "e"}],
        {"name": "f"},
    ]

    with held_up(api, "spreadsheets.batchUpdate", "New", edit=PROTECTED):
        answers = at_once([creating(api, body) for body in bodies])

    assert [answer.status_code for answer in answers] == [201, 403, 201, 201]
    assert answers[1].json()["outcome"] == "not_applied"
    first, second = (record["rowIndex"] for record in answers[2].json()["results"])
    assert second == first + 1
    texts = api.emulator.texts("New")
    assert sorted(texts[2:]) == [["a"], ["d"], ["e"], ["f"]]
    assert texts[first - 1 : second] == [["d"], ["e"]]


def test_a_protected_row_among_twenty(api: Api) -> None:
    """If Google names the refused row of a group, the other nineteen rows are written."""
    sheet = sorted(f"{name}.csv" for name in WORKBOOK["demo"]).index("Long.csv")
    area = {"sheetId": sheet, "startRowIndex": 6, "endRowIndex": 7}
    edit = {"requests": [{"addProtectedRange": {"protectedRange": {"range": area}}}]}
    call = "spreadsheets.batchUpdate"

    api.emulator.faults({"call": call, "edit": edit}, SLOW)
    first = api.send("PATCH", "Long/130", json={"number": "first"})
    answers = at_once([updating(api, f"Long/{row}", {"number": f"x{row}"}) for row in range(2, 22)])

    assert first.status_code == 200
    assert [refused(answer) for answer in answers if answer.status_code != 200] == [(403, 4033)]
    assert refused(answers[5]) == (403, 4033)
    texts = api.emulator.texts("Long")
    assert texts[6] == ["6"]
    assert [texts[row - 1] for row in range(2, 22) if row != 7] == [
        [f"x{row}"] for row in range(2, 22) if row != 7
    ]
    assert api.emulator.stats()["calls"][call] <= 1 + 4


def test_formulas_between_updated_cells_stay(api: Api) -> None:
    """Concurrent updates of neighbouring rows keep the formulas between their cells."""
    api.emulator.faults(SLOW)

    answers = at_once(
        [
            updating(api, "Formulas/2", {"a": 10, "note": "new"}),
            updating(api, "Formulas/3", {"b": 20, "note": None}),
        ]
    )

    assert [answer.status_code for answer in answers] == [200, 200]
    assert [api.emulator.cell("Formulas", row, 3)["formula"] for row in (2, 3)] == [
        "=A2+B2",
        "=A3+B3",
    ]
    assert api.emulator.texts("Formulas")[1:] == [["10", "2", "12", "new"], ["3", "20", "23"]]


def test_a_sheet_wide_refusal_fails_all(api: Api) -> None:
    """If the spreadsheet is full, all creates of a group get 507 after at most two writes."""
    full = google(
        400,
        "INVALID_ARGUMENT",
        "Invalid requests[1].appendCells: This action would increase the number of cells in the "
        "workbook above the limit of "
        "10000000 cells.",
    )

    with held_up(api, "spreadsheets.batchUpdate", "New", {"times": 999, **full}):
        answers = at_once([creating(api, {"name": str(n)}) for n in range(20)])

    assert {refused(answer) for answer in answers} == {(507, 5070)}
    assert {answer.json()["outcome"] for answer in answers} == {"not_applied"}
    assert len(api.emulator.texts("New")) == 2
    assert api.emulator.stats()["calls"]["spreadsheets.batchUpdate"] <= 1 + 2
