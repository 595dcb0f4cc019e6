"""Texts that look like formulas are stored as text, in every kind of write."""

from collections.abc import Callable, Mapping
from typing import Any

import httpx2
import pytest

from tests.journeys.conftest import Api
from tests.journeys.formula_payloads import PAYLOADS

SHORT = [payload for payload in PAYLOADS if len(payload) < 1000]
LONG = [payload for payload in PAYLOADS if len(payload) >= 1000]

Write = Callable[[Api, str], httpx2.Response]
WRITES: Mapping[str, Write] = {
    "create": lambda api, text: api.post("New", json={"name": text, "population": 1}),
    "create by form": lambda api, text: api.post("New", data={"name": text, "population": "1"}),
    "create as list": lambda api, text: api.post("New", json=[{"name": text}, {"name": text}]),
    "update by POST": lambda api, text: api.post("Cities/2", json={"name": text}),
    "update by PUT": lambda api, text: api.send("PUT", "Cities/3", json={"name": text}),
    "update by PATCH": lambda api, text: api.send("PATCH", "Cities/4", json={"name": text}),
    "update by form": lambda api, text: api.send("PUT", "Cities/5", data={"name": text}),
}


def written(answer: httpx2.Response) -> list[dict[str, Any]]:
    """The records in the answer to a write."""
    body: dict[str, Any] = answer.json()
    records: list[dict[str, Any]] = body.get("results", [body])
    return records


def formulas(api: Api) -> list[str]:
    """All formulas in the worksheets `New` and `Cities`."""
    cells = [
        cell for title in ("New", "Cities") for row in api.emulator.cells(title) for cell in row
    ]
    return [cell["formula"] for cell in cells if cell["formula"]]


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_no_payload_becomes_a_formula(api: Api, write: Write) -> None:
    """Each payload is answered, stored and read back as the text that was sent."""
    for payload in [*SHORT, *(LONG if write is WRITES["create"] else ())]:
        answer = write(api, payload)

        assert answer.status_code in (200, 201), (payload, answer.text)
        for record in written(answer):
            title = "New" if answer.status_code == 201 else "Cities"
            read = api.get(f"{title}/{record['rowIndex']}")
            cell = api.emulator.cell(title, record["rowIndex"], 1)
            assert record["name"] == read.json()["name"] == payload
            assert (cell["value"], cell["text"]) == (payload, payload)

    assert formulas(api) == []


@pytest.mark.parametrize("payload", ["=1+1", "+A1", "-1+1", "@x", "\t=1"])
@pytest.mark.parametrize("is_applied", [True, False], ids=["applied", "not applied"])
def test_a_payload_of_an_uncertain_write_stays_a_text(
    api: Api, payload: str, is_applied: bool
) -> None:
    """A write whose answer was lost stores the payload once, as text."""
    answers = []
    for method, path in [("POST", "New"), ("PUT", "Cities/2")]:
        api.emulator.faults({"call": "spreadsheets.batchUpdate", "apply": is_applied, "drop": True})
        answers.append(api.send(method, path, json={"name": payload}))

    assert [answer.status_code for answer in answers] == [201, 200]
    assert [answer.json() for answer in answers] == [{"rowIndex": 2, "name": payload}] * 2
    assert len(api.emulator.texts("New")) == 2
    assert api.emulator.cell("Cities", 2, 1)["value"] == payload
    assert formulas(api) == []
