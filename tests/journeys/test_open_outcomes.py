"""Writes whose outcome Google does not report: the gateway finds out, and its answer is true."""

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
def test_a_create_without_an_answer_that_was_applied(looking_api: Api, fault: Fault) -> None:
    """The gateway finds the applied row and answers 201; the row exists once."""
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
def test_a_create_without_an_answer_that_was_not_applied(looking_api: Api, fault: Fault) -> None:
    """The gateway proves that the create cannot arrive later, and sends it again."""
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
def test_an_update_without_an_answer(looking_api: Api, fault: Fault, is_done: bool) -> None:
    """The gateway finds out whether the update was applied, and sends it again if not."""
    before = looking_api.emulator.texts("Cities")
    looking_api.emulator.faults({"call": BATCH, "apply": is_done, **fault})

    answer = looking_api.send("PATCH", "Cities/2", json=CHANGE)
    read = looking_api.get("Cities/2")

    assert answer.status_code == 200
    assert answer.json() == {"rowIndex": 2, "name": "Quito", "population": "1"}
    assert answer.headers["etag"] == read.headers["etag"]
    assert looking_api.emulator.texts("Cities") == [before[0], UPDATED, *before[2:]]


def test_an_update_of_a_row_that_a_person_changed_since(open_gateway: OpenGateway) -> None:
    """An update that was not applied is sent again and keeps a person's edits of other cells."""
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
def test_a_write_of_unknown_outcome(
    open_gateway: OpenGateway, fault: Fault, path: str, apply: bool
) -> None:
    """While Google does not answer, the outcome is `unknown`; a retry completes the write once."""
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
    """If Google exceeds the timeout of a create, the gateway finds the row and answers 201."""
    api = open_gateway({"google.write_timeout_seconds": 0.2})
    api.emulator.faults({"call": BATCH, "delay_ms": 500})

    answer = api.post("Cities", json=CHANGE)

    assert (answer.status_code, answer.json()["rowIndex"]) == (201, 12)
    assert api.emulator.texts("Cities")[11:] == [CREATED]


def test_an_update_past_its_deadline(open_gateway: OpenGateway) -> None:
    """If Google exceeds the timeout of an update, the gateway finds it applied and answers 200."""
    api = open_gateway({"google.write_timeout_seconds": 0.2})
    api.emulator.faults({"call": BATCH, "delay_ms": 500})

    answer = api.send("PUT", "Cities/2", json=CHANGE)

    assert answer.status_code == 200
    assert api.emulator.texts("Cities")[1] == UPDATED


@pytest.mark.parametrize(
    "fault", [{"drop": True}, {"status": 503}, {"status": 504}], ids=["dropped", "503", "504"]
)
@pytest.mark.parametrize("late_ms", [5, 300, 1500])
def test_a_create_that_arrives_late(api: Api, fault: Fault, late_ms: int) -> None:
    """A create that Google applies after its error is in the sheet once, with the true number."""
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
    """An update that arrives late at Google is refused there, and does not overwrite the
    next update.
    """
    api.emulator.faults({"call": BATCH, "late_ms": 1000, "drop": True})
    first = api.send("PUT", "Cities/2", json={"name": "first"})
    second = api.send("PUT", "Cities/2", json={"name": "second"})
    threading.Event().wait(1.2)  # nothing tells of an effect that is refused

    assert [first.status_code, second.status_code] == [200, 200]
    assert api.emulator.texts("Cities")[1][0] == "second"
