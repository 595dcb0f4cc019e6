"""Writes of which Google does not say what became: the gateway looks, and what it says is true."""

import pytest

from tests.journeys.conftest import Api, OpenGateway
from tests.journeys.failure import refused
from tests.journeys.google_faults import OPEN_ENDS, Fault
from tests.journeys.waiting import until

NEW = {"name": "Oslo"}
CHANGE = {"name": "Quito", "population": 1}
CREATED = ["Quito", "", "", "1"]
UPDATED = ["Quito", "New York", "USA", "1"]


@pytest.mark.parametrize(("fault", "is_answered"), OPEN_ENDS)
def test_a_create_that_was_done(looking_api: Api, fault: Fault, is_answered: bool) -> None:
    """A row that is there is answered as if Google had said so; it is there once."""
    before = looking_api.emulator.texts("Cities")
    looking_api.emulator.faults({"call": "values.append", "times": 9, "apply": True, **fault})

    answer = looking_api.post("Cities", json=CHANGE)
    sent = looking_api.emulator.stats()["calls"]["values.append"]
    looking_api.emulator.faults()
    read = looking_api.get("Cities/12")

    assert answer.status_code == 201
    assert answer.json() == {"rowIndex": 12, "name": "Quito", "population": "1"}
    assert answer.headers["location"].endswith("/v2/sheets/Cities/12")
    assert answer.headers["etag"] == read.headers["etag"]
    assert sent == 1
    assert looking_api.emulator.texts("Cities") == [*before, CREATED]


@pytest.mark.parametrize(("fault", "is_answered"), OPEN_ENDS)
def test_a_create_that_was_not_done(looking_api: Api, fault: Fault, is_answered: bool) -> None:
    """If Google answered, the row is certainly missing; otherwise it may still appear."""
    before = looking_api.emulator.texts("Cities")
    looking_api.emulator.faults({"call": "values.append", "times": 9, **fault})

    answer = looking_api.post("Cities", json=CHANGE)
    sent = looking_api.emulator.stats()["calls"]["values.append"]
    looking_api.emulator.faults()
    next_answer = looking_api.post("Cities", json=NEW)

    error = (refused(answer), answer.json()["outcome"], answer.json()["retryable"])
    if is_answered:
        assert error == ((502, 5020), "not_applied", True)
        assert "retry-after" not in answer.headers
    else:
        assert error == ((504, 5041), "unknown", False)
        assert answer.headers["retry-after"] == "185"
    assert sent == 1
    assert next_answer.json() == {"rowIndex": 12, **NEW}
    assert looking_api.emulator.texts("Cities") == [*before, ["Oslo"]]


@pytest.mark.parametrize(("fault", "is_answered"), OPEN_ENDS)
@pytest.mark.parametrize("is_done", [False, True], ids=["not done", "done"])
def test_an_update(looking_api: Api, fault: Fault, is_answered: bool, is_done: bool) -> None:
    """An update is looked for, and sent once more if its row is as it was."""
    before = looking_api.emulator.texts("Cities")
    looking_api.emulator.faults({"call": "values.batchUpdate", "apply": is_done, **fault})

    answer = looking_api.send("PATCH", "Cities/2", json=CHANGE)
    sent = looking_api.emulator.stats()["calls"]["values.batchUpdate"]
    read = looking_api.get("Cities/2")

    assert answer.status_code == 200
    assert answer.json() == {"rowIndex": 2, "name": "Quito", "population": "1"}
    assert answer.headers["etag"] == read.headers["etag"]
    assert sent == (1 if is_done else 2)
    assert looking_api.emulator.texts("Cities") == [before[0], UPDATED, *before[2:]]


@pytest.mark.parametrize(("fault", "is_answered"), OPEN_ENDS)
def test_an_update_that_is_not_done_twice(
    looking_api: Api, fault: Fault, is_answered: bool
) -> None:
    """If the second attempt ends as the first did, the row decides, unless it may still change."""
    before = looking_api.emulator.everything()
    looking_api.emulator.faults({"call": "values.batchUpdate", "times": 9, **fault})

    answer = looking_api.send("PUT", "Cities/2", json=CHANGE)
    sent = looking_api.emulator.stats()["calls"]["values.batchUpdate"]

    error = (refused(answer), answer.json()["outcome"], answer.json()["retryable"])
    if is_answered:
        assert error == ((502, 5020), "not_applied", True)
    else:
        assert error == ((504, 5041), "unknown", False)
        assert answer.headers["retry-after"] == "185"
    assert sent == 2
    assert looking_api.emulator.everything() == before


def test_an_update_of_a_row_that_a_person_changed_since(looking_api: Api) -> None:
    """A row that is neither as it was nor as it should be is left to the client."""
    requests = [
        {
            "findReplace": {
                "find": "New York",
                "replacement": "Gotham",
                "matchEntireCell": True,
                "allSheets": True,
            }
        }
    ]
    looking_api.emulator.faults(
        {"call": "values.batchUpdate", "drop": True, "edit": {"requests": requests}}
    )

    answer = looking_api.send("PATCH", "Cities/2", json=CHANGE)

    assert refused(answer) == (504, 5041)
    assert looking_api.emulator.texts("Cities")[1] == ["Gotham", "Gotham", "USA", "8804190"]
    assert looking_api.emulator.stats()["calls"]["values.batchUpdate"] == 1


@pytest.mark.parametrize("fault", [{"status": 503}, {"drop": True}], ids=["503", "dropped"])
@pytest.mark.parametrize("path", ["Cities", "Cities/2"], ids=["create", "update"])
def test_nothing_can_be_seen(api: Api, fault: Fault, path: str) -> None:
    """If the reads fail too, the outcome is unknown."""
    call, look = (
        ("values.append", "values.get")
        if path == "Cities"
        else ("values.batchUpdate", "values.batchGet")
    )
    api.emulator.faults(
        {"call": call, "apply": True, **fault},
        {"call": "values.get", "status": 503, "times": 9, "skip": int(look == "values.get")},
    )

    answer = api.post(path, json=CHANGE)

    assert refused(answer) == (504, 5041)
    assert (answer.json()["outcome"], answer.headers["retry-after"]) == ("unknown", "185")


def test_a_create_past_its_deadline(open_gateway: OpenGateway) -> None:
    """A create that Google does not answer in time is looked for: it is there."""
    api = open_gateway({"google.write_timeout_seconds": 0.2})
    api.emulator.faults({"call": "values.append", "delay_ms": 500})

    answer = api.post("Cities", json=CHANGE)

    assert (answer.status_code, answer.json()["rowIndex"]) == (201, 12)
    assert api.emulator.texts("Cities")[11:] == [CREATED]
    assert api.emulator.calls()[1] == 1


def test_an_update_past_its_deadline(open_gateway: OpenGateway) -> None:
    """An update that Google does not answer in time is looked for: it is done."""
    api = open_gateway({"google.write_timeout_seconds": 0.2})
    api.emulator.faults({"call": "values.batchUpdate", "delay_ms": 500})

    answer = api.send("PUT", "Cities/2", json=CHANGE)

    assert answer.status_code == 200
    assert api.emulator.texts("Cities")[1] == UPDATED
    assert api.emulator.calls()[1] == 1


def test_a_row_that_lands_between_the_looks(open_gateway: OpenGateway) -> None:
    """A create that Google carries out soon after all is found by the second look."""
    api = open_gateway({"writes.look_again_seconds": 1.0})
    api.emulator.faults({"call": "values.append", "drop": True, "late_ms": 300})

    answer = api.post("Cities", json=CHANGE)

    assert (answer.status_code, answer.json()["rowIndex"]) == (201, 12)
    assert api.emulator.texts("Cities")[11:] == [CREATED]


def test_a_row_that_lands_late_overwrites_nothing(api: Api) -> None:
    """A create that Google carries out after all lands below the rows of the meantime."""
    api.emulator.faults({"call": "values.append", "drop": True, "late_ms": 1000})
    late = api.post("Cities", json={"name": "late"})
    quick = api.post("Cities", json={"name": "quick"})
    is_there = until(lambda: len(api.emulator.texts("Cities")) == 13)

    assert is_there
    assert late.json()["outcome"] == "unknown"
    assert quick.json()["rowIndex"] == 12
    assert api.emulator.texts("Cities")[11:] == [["quick"], ["late"]]
    assert api.get("Cities/12").json()["name"] == "quick"


def test_a_grid_that_cannot_grow(api: Api) -> None:
    """The row is not written if the grid cannot grow."""
    before = api.emulator.texts("BlankFirst")
    api.emulator.faults({"call": "spreadsheets.batchUpdate", "status": 503, "apply": True})
    answer = api.post("BlankFirst", json={"name": "n"})

    assert answer.status_code >= 500
    assert answer.json()["outcome"] == "not_applied"
    assert api.emulator.texts("BlankFirst") == before
    assert "values.append" not in api.emulator.stats()["calls"]
