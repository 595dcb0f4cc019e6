"""Writes of which Google does not say what became: the gateway looks, and what it says is true."""

import threading
from uuid import uuid4

import pytest

from tests.journeys.conftest import LOOKS_EACH_TIME, Api, OpenGateway
from tests.journeys.failure import refused
from tests.journeys.google_faults import OPEN_ENDS, Fault

NEW = {"name": "Oslo"}
CHANGE = {"name": "Quito", "population": 1}
CREATED = ["Quito", "", "", "1"]
UPDATED = ["Quito", "New York", "USA", "1"]


BATCH = "spreadsheets.batchUpdate"
SEARCH = "developerMetadata.search"
BOTH = pytest.mark.parametrize("path", ["Cities", "Cities/2"], ids=["create", "update"])


@pytest.mark.parametrize("fault", OPEN_ENDS)
def test_a_create_that_was_done(looking_api: Api, fault: Fault) -> None:
    """A row that is there is answered as if Google had said so; it is there once."""
    before = looking_api.emulator.texts("Cities")
    looking_api.emulator.faults({"call": BATCH, "times": 9, "apply": True, **fault})

    answer = looking_api.post("Cities", json=CHANGE)
    sent = looking_api.emulator.stats()["calls"][BATCH]
    looking_api.emulator.faults()
    read = looking_api.get("Cities/12")

    assert answer.status_code == 201
    assert answer.json() == {"rowIndex": 12, "name": "Quito", "population": "1"}
    assert answer.headers["location"].endswith("/v2/sheets/Cities/12")
    assert answer.headers["etag"] == read.headers["etag"]
    assert sent == 1
    assert looking_api.emulator.texts("Cities") == [*before, CREATED]


@pytest.mark.parametrize("fault", OPEN_ENDS)
def test_a_create_that_was_not_done(looking_api: Api, fault: Fault) -> None:
    """A row that is not there is sent again, after it was proved that this doubles nothing."""
    before = looking_api.emulator.texts("Cities")
    looking_api.emulator.faults({"call": BATCH, **fault})

    answer = looking_api.post("Cities", json=CHANGE)
    sent = looking_api.emulator.stats()["calls"][BATCH]
    next_answer = looking_api.post("Cities", json=NEW)

    assert answer.json() == {"rowIndex": 12, "name": "Quito", "population": "1"}
    assert sent in (2, 1 + 2 + 1)  # once per gateway used ids are tried
    assert next_answer.json() == {"rowIndex": 13, **NEW}
    assert looking_api.emulator.texts("Cities") == [*before, CREATED, ["Oslo"]]


@pytest.mark.parametrize("fault", OPEN_ENDS)
@pytest.mark.parametrize("is_done", [False, True], ids=["not done", "done"])
def test_an_update(looking_api: Api, fault: Fault, is_done: bool) -> None:
    """An update is looked for, and sent again if it was not done."""
    before = looking_api.emulator.texts("Cities")
    looking_api.emulator.faults({"call": BATCH, "apply": is_done, **fault})

    answer = looking_api.send("PATCH", "Cities/2", json=CHANGE)
    read = looking_api.get("Cities/2")

    assert answer.status_code == 200
    assert answer.json() == {"rowIndex": 2, "name": "Quito", "population": "1"}
    assert answer.headers["etag"] == read.headers["etag"]
    assert looking_api.emulator.texts("Cities") == [before[0], UPDATED, *before[2:]]


def test_an_update_of_a_row_that_a_person_changed_since(open_gateway: OpenGateway) -> None:
    """An update that was not done is done; cells that it does not name stay the person's."""
    api = open_gateway(LOOKS_EACH_TIME)
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
    api.emulator.faults({"call": BATCH, "drop": True, "edit": {"requests": requests}})

    answer = api.send("PATCH", "Cities/2", json=CHANGE)

    assert answer.json() == {"rowIndex": 2, "name": "Quito", "population": "1"}
    assert api.emulator.texts("Cities")[1] == ["Quito", "Gotham", "USA", "1"]


@pytest.mark.parametrize("fault", [{"status": 503}, {"drop": True}], ids=["503", "dropped"])
@pytest.mark.parametrize("apply", [False, True], ids=["not done", "done"])
@BOTH
def test_a_write_of_which_google_says_no_more(
    open_gateway: OpenGateway, fault: Fault, path: str, apply: bool
) -> None:
    """While Google cannot be asked the outcome is unknown; with its key the write is done once."""
    api = open_gateway({**LOOKS_EACH_TIME, "google.read_timeout_seconds": 1.0})
    headers = {"Idempotency-Key": str(uuid4())}
    before = api.emulator.texts("Cities")
    api.emulator.faults(
        {"call": BATCH, "apply": apply, **fault}, {"call": SEARCH, "times": 999, **fault}
    )
    answer = api.post(path, json=CHANGE, headers=headers)
    api.emulator.faults()
    again = api.post(path, json=CHANGE, headers=headers)

    assert refused(answer) == (504, 5041)
    assert (answer.json()["outcome"], answer.headers["retry-after"]) == ("unknown", "10")
    assert again.status_code == (201 if path == "Cities" else 200)
    assert ("idempotent-replayed" in again.headers) is apply
    after = [*before, CREATED] if path == "Cities" else [before[0], UPDATED, *before[2:]]
    assert api.emulator.texts("Cities") == after


def test_a_create_past_its_deadline(open_gateway: OpenGateway) -> None:
    """A create that Google does not answer in time is looked for: it is there."""
    api = open_gateway({"google.write_timeout_seconds": 0.2})
    api.emulator.faults({"call": BATCH, "delay_ms": 500})

    answer = api.post("Cities", json=CHANGE)

    assert (answer.status_code, answer.json()["rowIndex"]) == (201, 12)
    assert api.emulator.texts("Cities")[11:] == [CREATED]


def test_an_update_past_its_deadline(open_gateway: OpenGateway) -> None:
    """An update that Google does not answer in time is looked for: it is done."""
    api = open_gateway({"google.write_timeout_seconds": 0.2})
    api.emulator.faults({"call": BATCH, "delay_ms": 500})

    answer = api.send("PUT", "Cities/2", json=CHANGE)

    assert answer.status_code == 200
    assert api.emulator.texts("Cities")[1] == UPDATED


@pytest.mark.parametrize(
    "fault", [{"drop": True}, {"status": 503}, {"status": 504}], ids=["dropped", "503", "504"]
)
@pytest.mark.parametrize("late_ms", [5, 300, 1500])
def test_a_row_that_lands_late(api: Api, fault: Fault, late_ms: int) -> None:
    """A create that Google carries out after all is there once, with a true number."""
    api.emulator.faults({"call": BATCH, "late_ms": late_ms, **fault})
    late = api.post("Cities", json={"name": "late"})
    quick = api.post("Cities", json={"name": "quick"})
    threading.Event().wait(late_ms / 1000 + 0.2)  # nothing tells of an effect that is refused

    texts = api.emulator.texts("Cities")
    assert [late.status_code, quick.status_code] == [201, 201]
    assert texts[late.json()["rowIndex"] - 1] == ["late"]
    assert texts[quick.json()["rowIndex"] - 1] == ["quick"]
    assert len(texts) == 13


def test_a_late_update_overwrites_nothing(api: Api) -> None:
    """An update that Google carries out late is refused by then; the next one of the row stays."""
    api.emulator.faults({"call": BATCH, "late_ms": 1000, "drop": True})
    first = api.send("PUT", "Cities/2", json={"name": "first"})
    second = api.send("PUT", "Cities/2", json={"name": "second"})
    threading.Event().wait(1.2)  # nothing tells of an effect that is refused

    assert [first.status_code, second.status_code] == [200, 200]
    assert api.emulator.texts("Cities")[1][0] == "second"
