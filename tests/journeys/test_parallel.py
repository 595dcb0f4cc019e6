"""Many concurrent clients: no row is lost or overwritten, and each answer has the true row."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest

from tests.journeys.conftest import Api

CLIENTS = 40
LONGEST_PAGE = {"limit": "100"}
FIRST_NEW = {
    "Cities": 12,
    "BlankHeader": 4,
    "BlankFirst": 4,
    "BlankRow": 5,
    "HeaderOnly": 2,
    "Totals": 6,
}
"""Number of the first new row of each worksheet: below its last row with data."""
SECOND_FIELD = {"Cities": "population"}
COLUMNS = {"Cities": (0, 3), "BlankHeader": (0, 2), "BlankFirst": (1, 2)}
"""Column indexes of `name` and of the second field. The default is the first two columns."""


def at_once(tasks: Sequence[Callable[[], httpx2.Response]]) -> list[httpx2.Response]:
    with ThreadPoolExecutor(len(tasks)) as pool:
        return [future.result() for future in [pool.submit(task) for task in tasks]]


def creating(api: Api, worksheet: str, number: int) -> Callable[[], httpx2.Response]:
    body = {"name": f"new {number}", SECOND_FIELD.get(worksheet, "amount"): number}
    return lambda: api.post(worksheet, json=body)


def records(api: Api, worksheet: str) -> dict[int, dict[str, Any]]:
    """The rows of a list by `rowIndex`."""
    results = api.get(worksheet, params=LONGEST_PAGE).json()["results"]
    return {record["rowIndex"]: record for record in results}


@pytest.mark.parametrize("worksheet", FIRST_NEW)
def test_parallel_creates_are_all_there(api: Api, worksheet: str) -> None:
    """Forty creates at once give forty consecutive rows with the numbers of their answers."""
    before = api.emulator.texts(worksheet)
    answers = at_once([creating(api, worksheet, number) for number in range(CLIENTS)])
    created = {answer.json()["rowIndex"]: answer.json() for answer in answers}
    after = api.emulator.texts(worksheet)
    seen = records(api, worksheet)
    name, second = COLUMNS.get(worksheet, (0, 1))
    first = FIRST_NEW[worksheet]

    assert {answer.status_code for answer in answers} == {201}
    assert sorted(created) == list(range(first, first + CLIENTS))
    assert after[: first - 1] == before
    assert len(after) == first - 1 + CLIENTS
    for row, record in created.items():
        number = record["name"].removeprefix("new ")
        assert record[SECOND_FIELD.get(worksheet, "amount")] == number
        assert {index for index, text in enumerate(after[row - 1]) if text} == {name, second}
        assert (after[row - 1][name], after[row - 1][second]) == (record["name"], number)
        assert record.items() <= seen[row].items()


def test_parallel_creates_updates_and_lists(api: Api) -> None:
    """Concurrent updates, creates and lists do not affect each other."""

    def updating(row: int) -> Callable[[], httpx2.Response]:
        return lambda: api.send("PATCH", f"Cities/{row}", json={"state": f"state {row}"})

    def listing() -> httpx2.Response:
        return api.get("Cities", params={**LONGEST_PAGE, "where": '{"country":"USA"}'})

    before = records(api, "Cities")
    creates = [creating(api, "Cities", number) for number in range(20)]
    updates = [updating(row) for row in range(2, 12)]
    answers = at_once([*creates, *updates, *[listing] * 10])
    after = records(api, "Cities")

    assert [answer.status_code for answer in answers] == [201] * 20 + [200] * 20
    assert {row: after[row] for row in before} == {
        row: {**record, "state": f"state {row}"} for row, record in before.items()
    }
    assert sorted(after) == list(range(2, 32))
    assert {after[row]["name"] for row in range(12, 32)} == {f"new {n}" for n in range(20)}
    for answer in answers[30:]:
        names = [record["name"] for record in answer.json()["results"]]
        assert names == [record["name"] for record in before.values()]


def test_parallel_updates_of_a_row_are_whole(api: Api) -> None:
    """After concurrent updates of one row, all its cells are from the same update."""

    def updating(number: int) -> Callable[[], httpx2.Response]:
        body = {"label": f"label {number}", "done": f"done {number}"}
        return lambda: api.post("Mixed/2", json=body)

    answers = at_once([updating(number) for number in range(20)])
    label, value, when, done = api.emulator.texts("Mixed")[1]

    assert {answer.status_code for answer in answers} == {200}
    assert label.removeprefix("label ") == done.removeprefix("done ")
    assert (value, when) == ("007", "2020-01-01")


def test_two_worksheets_at_once(api: Api) -> None:
    """Concurrent creates in two worksheets do not mix."""
    sheets = ["Cities", "HeaderOnly"] * 20
    answers = at_once([creating(api, sheet, number) for number, sheet in enumerate(sheets)])

    assert {answer.status_code for answer in answers} == {201}
    for parity, sheet in enumerate(("Cities", "HeaderOnly")):
        rows = [answer.json()["rowIndex"] for answer in answers[parity::2]]
        first = FIRST_NEW[sheet]
        found = {record["name"] for row, record in records(api, sheet).items() if row >= first}

        assert sorted(rows) == list(range(first, first + 20))
        assert found == {f"new {number}" for number in range(parity, 40, 2)}
