"""Many rows of one request: a JSON list of objects, all of it or nothing."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.journeys.conftest import Api, OpenGateway
from tests.journeys.failure import refused


def pointers(answer: Any) -> list[str]:
    """The places of an error."""
    return [problem["pointer"] for problem in answer.json()["errors"]]


def test_a_list_becomes_rows_in_its_order(api: Api) -> None:
    """One write; each record is where it says, with the fields that were sent for it."""
    before = api.emulator.texts("Cities")

    answer = api.post(
        "Cities",
        json=[
            {"name": "Austin", "population": 961855},
            {"country": "USA"},
            {"rowIndex": 2, "population": True, "name": "=1+1", "state": None},
        ],
    )

    assert answer.status_code == 201
    assert answer.json() == {
        "results": [
            {"rowIndex": 12, "name": "Austin", "population": "961855"},
            {"rowIndex": 13, "country": "USA"},
            {"rowIndex": 14, "name": "=1+1", "state": None, "population": "TRUE"},
        ]
    }
    assert not {"location", "etag"} & set(answer.headers)
    assert api.emulator.texts("Cities") == [
        *before,
        ["Austin", "", "", "961855"],
        ["", "", "USA"],
        ["=1+1", "", "", "TRUE"],
    ]
    assert api.emulator.stats()["calls"]["spreadsheets.batchUpdate"] == 1


@pytest.mark.parametrize(
    ("worksheet", "first_row"),
    [("New", 2), ("BlankRow", 5), ("Totals", 6), ("BlankFirst", 4), ("Long", 132)],
)
def test_a_list_lands_below_everything(api: Api, worksheet: str, first_row: int) -> None:
    """Gaps, totals and full grids do not move rows or columns."""
    before = api.emulator.texts(worksheet)
    name = "number" if worksheet == "Long" else "name"

    answer = api.post(worksheet, json=[{name: f"n{number}"} for number in range(3)])

    assert [record["rowIndex"] for record in answer.json()["results"]] == [
        first_row + number for number in range(3)
    ]
    texts = api.emulator.texts(worksheet)
    column = before[0].index(name)
    assert texts[: len(before)] == before
    assert [row[column] for row in texts[first_row - 1 :]] == ["n0", "n1", "n2"]


def test_500_rows_are_one_write(api: Api) -> None:
    """The largest list goes out at once; one row more is refused before anything is asked."""
    rows = [{"name": f"n{number}", "amount": number} for number in range(500)]

    refusal = api.post("HeaderOnly", json=[*rows, {"name": "one more"}])
    calls = api.emulator.stats()["calls"]
    answer = api.post("HeaderOnly", json=rows)

    assert refused(refusal) == (400, 104)
    assert pointers(refusal) == ["#"]
    assert calls == {}
    assert [record["rowIndex"] for record in answer.json()["results"]] == [*range(2, 502)]
    assert api.emulator.texts("HeaderOnly")[1:] == [
        [row["name"], str(row["amount"])] for row in rows
    ]
    assert api.emulator.calls()[1] == 1


def test_ignored_fields_are_named_once(open_gateway: OpenGateway) -> None:
    """The ignored fields of all elements are in one header."""
    api = open_gateway({"api.unknown_fields": "ignore"})

    answer = api.post(
        "HeaderOnly", json=[{"name": "x", "a": 1}, {"name": "y"}, {"b": 2, "name": "z", "a": 3}]
    )
    strangers = api.post("HeaderOnly", json=[{"name": "x"}, {"a": 1}])

    assert answer.status_code == 201
    assert json.loads(f"[{answer.headers['x-ignored-fields']}]") == ["a", "b"]
    assert refused(strangers) == (400, 104)
    assert pointers(strangers) == ["#/1"]
    assert [row[0] for row in api.emulator.texts("HeaderOnly")] == ["name", "x", "y", "z"]


def test_a_refusal_of_google_s_is_of_the_whole_list(api: Api) -> None:
    """No row of the list is written, and the answer says so."""
    before = api.emulator.everything()
    api.emulator.faults({"call": "spreadsheets.batchUpdate", "status": 429, "times": 9})

    answer = api.post("New", json=[{"name": "x"}, {"name": "y"}])

    assert refused(answer) == (503, 5030)
    assert answer.json()["outcome"] == "not_applied"
    assert api.emulator.everything() == before


def test_lists_that_come_together_are_not_mixed(api: Api) -> None:
    """The rows of each list are contiguous and in order."""

    def post(number: int) -> list[tuple[int, str]]:
        body = [{"name": f"list {number}", "amount": place} for place in range(40)]
        answer = api.post("HeaderOnly", json=body if number % 3 else body[0])
        assert answer.status_code == 201, answer.text
        records = answer.json().get("results") or [answer.json()]
        assert [record["amount"] for record in records] == [str(n) for n in range(len(records))]
        return [(record["rowIndex"], record["name"]) for record in records]

    with ThreadPoolExecutor(9) as pool:
        created = list(pool.map(post, range(9)))

    for rows in created:
        assert [row for row, _ in rows] == [*range(rows[0][0], rows[0][0] + len(rows))]
    names = [row[0] for row in api.emulator.texts("HeaderOnly")]
    assert dict(pair for rows in created for pair in rows) == dict(enumerate(names[1:], 2))
    assert len(names) == 1 + 6 * 40 + 3
