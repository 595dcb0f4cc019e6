"""Writes that Google fails, and sheets that a person changes: what is answered is true.

A fault of the emulator stands for Google's; its `edit` for a person who is a moment quicker.
"""

import time
from collections.abc import Mapping
from typing import Any

import pytest

from tests.journeys.conftest import Api

HTML = "<html><body>Error</body></html>"
PATIENCE_SECONDS = 10.0

UNKNOWN = (504, 5041, "unknown", "185")
QUOTA = (503, 5030, "not_applied", "60")
FAULTS = [
    pytest.param({"status": 503}, UNKNOWN, False, id="503"),
    pytest.param({"status": 503, "apply": True}, UNKNOWN, True, id="503-applied"),
    pytest.param({"status": 500, "text": HTML}, UNKNOWN, False, id="html-500"),
    pytest.param(
        {"status": 500, "text": HTML, "apply": True}, UNKNOWN, True, id="html-500-applied"
    ),
    pytest.param({"text": HTML, "apply": True}, UNKNOWN, True, id="html-200-applied"),
    pytest.param({"drop": True}, UNKNOWN, False, id="dropped"),
    pytest.param({"drop": True, "apply": True}, UNKNOWN, True, id="dropped-applied"),
    pytest.param({"truncate": 20, "apply": True}, UNKNOWN, True, id="truncated-applied"),
    pytest.param({"truncate": 0}, UNKNOWN, False, id="truncated"),
    pytest.param({"status": 429}, QUOTA, False, id="429"),
    pytest.param({"status": 429, "text": HTML}, QUOTA, False, id="html-429"),
]


def summary(answer: Any) -> tuple[int, int, str, str]:
    body = answer.json()
    return answer.status_code, body["code"], body["outcome"], answer.headers["retry-after"]


@pytest.mark.parametrize(("fault", "expected", "is_applied"), FAULTS)
def test_a_create_that_google_fails(
    api: Api, fault: Mapping[str, Any], expected: tuple[int, int, str, str], is_applied: bool
) -> None:
    """A failed create says what became of it, is never sent twice, and leaves one row at most."""
    before = api.emulator.texts("HeaderOnly")
    api.emulator.faults({"call": "values.append", **fault})
    answer = api.post("HeaderOnly", json={"name": "first", "amount": 1})
    failed = api.emulator.texts("HeaderOnly")
    calls = api.emulator.stats()["calls"]
    next_answer = api.post("HeaderOnly", json={"name": "second", "amount": 2})

    assert summary(answer) == expected
    assert calls["values.append"] == 1
    assert failed == [*before, ["first", "1"]][: 2 if is_applied else 1]
    assert next_answer.json() == {"rowIndex": len(failed) + 1, "name": "second", "amount": "2"}
    assert api.emulator.texts("HeaderOnly") == [*failed, ["second", "2"]]


@pytest.mark.parametrize(("fault", "expected", "is_applied"), FAULTS)
def test_an_update_that_google_fails(
    api: Api, fault: Mapping[str, Any], expected: tuple[int, int, str, str], is_applied: bool
) -> None:
    """A failed update says what became of it, is never sent twice, and is done whole or not."""
    before = api.emulator.texts("Cities")
    api.emulator.faults({"call": "values.batchUpdate", **fault})
    answer = api.post("Cities/2", json={"name": "changed", "population": 1})
    after = api.emulator.texts("Cities")

    assert summary(answer) == expected
    assert api.emulator.stats()["calls"]["values.batchUpdate"] == 1
    assert after[1] == (["changed", "New York", "USA", "1"] if is_applied else before[1])
    assert after[:1] + after[2:] == before[:1] + before[2:]


@pytest.mark.parametrize("path", ["Cities", "Cities/2"])
@pytest.mark.parametrize(
    ("fault", "code"),
    [
        pytest.param({"status": 503}, 5020, id="503"),
        pytest.param({"drop": True}, 5020, id="dropped"),
        pytest.param({"truncate": 20}, 5020, id="truncated"),
        pytest.param({"status": 429}, 5030, id="429"),
    ],
)
def test_a_look_that_google_fails(api: Api, path: str, fault: Mapping[str, Any], code: int) -> None:
    """Where the look before a write fails nothing was written, and the answer says so."""
    before = api.emulator.everything()
    looks = ({"call": call, "times": 9, **fault} for call in ("values.get", "values.batchGet"))
    api.emulator.faults(*looks)
    answer = api.post(path, json={"name": "n"})

    assert (answer.json()["code"], answer.json()["outcome"]) == (code, "not_applied")
    assert answer.json()["retryable"] is True
    assert api.emulator.calls()[1] == 0
    assert api.emulator.everything() == before


def test_a_grid_that_cannot_grow(api: Api) -> None:
    """Where Google fails to make room for a row the row was not written, and is not."""
    before = api.emulator.texts("BlankFirst")
    api.emulator.faults({"call": "spreadsheets.batchUpdate", "status": 503, "apply": True})
    answer = api.post("BlankFirst", json={"name": "n"})

    assert answer.status_code >= 500
    assert answer.json()["outcome"] == "not_applied"
    assert api.emulator.texts("BlankFirst") == before
    assert "values.append" not in api.emulator.stats()["calls"]


def test_a_row_that_lands_late_overwrites_nothing(api: Api) -> None:
    """A create that Google carries out after all lands below the rows of the meantime."""
    api.emulator.faults({"call": "values.append", "drop": True, "late_ms": 200})
    late = api.post("Cities", json={"name": "late"})
    api.emulator.faults()
    quick = api.post("Cities", json={"name": "quick"})
    ends = time.monotonic() + PATIENCE_SECONDS
    while len(api.emulator.texts("Cities")) < 13 and time.monotonic() < ends:
        pass

    assert late.json()["outcome"] == "unknown"
    assert quick.json()["rowIndex"] == 12
    assert api.emulator.texts("Cities")[11:] == [["quick"], ["late"]]
    assert api.get("Cities/12").json()["name"] == "quick"
