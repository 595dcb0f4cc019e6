"""The emulator's answers are those that Google gave: recorded exchanges, replayed.

A sequence starts from a new spreadsheet and is compared up to the first request that the emulator
does not claim to know (501). Left out are reads of values after a formula was written, as formulas
are not evaluated, and protected ranges, which at Google never stop the one who added them.
"""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from tests.emulator.bench import Bench
from tests.emulator.conftest import BenchBuilder

RECORDINGS = Path(__file__).parents[2].parent / "shared" / "recordings" / "visible.jsonl"
LEAST_COMPARED = {"values": 0.85, "spreadsheets": 0.7}  # shares of all recorded exchanges

Exchange = dict[str, Any]


@dataclass(kw_only=True)
class Replay:
    """One sequence played to the emulator; ids of the recording stand for those given here."""

    bench: Bench
    recorded_id: str
    spreadsheet_id: str
    ids: dict[int, int] = field(default_factory=dict)
    has_formula: bool = False
    compared: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)

    def play(self, exchanges: list[Exchange]) -> None:
        """Send the requests until one is not claimed; note each answer that differs."""
        for exchange in exchanges:
            answer = self._send(exchange)
            if answer.status_code == 501:
                return
            if exchange["method"] == "POST" and _is_edit(exchange):
                self._learn_ids(exchange["response_body"], answer.json())
            if self._is_comparable(exchange):
                self.compared[_kind(exchange)] += 1
                got = (answer.status_code, self._renamed(answer.json()))
                if got != (exchange["status"], exchange["response_body"]):
                    self.differences.append(f"{exchange['cassette']} {exchange['seq']}: {got}")
            self.has_formula |= _has_formula(exchange["request_body"])

    def _is_comparable(self, exchange: Exchange) -> bool:
        if "protectedRange" in json.dumps(exchange["response_body"]):
            return False
        return not (self.has_formula and _kind(exchange) == "values" and _is_read(exchange))

    def _send(self, exchange: Exchange) -> Any:
        path = exchange["path"].replace(self.recorded_id, self.spreadsheet_id)
        body = exchange["request_body"]
        return self.bench.call(exchange["method"], path, _with_ids(body, self.ids))

    def _learn_ids(self, recorded: object, answered: object) -> None:
        for old, new in zip(_ids(recorded), _ids(answered), strict=False):
            self.ids[old] = new

    def _renamed(self, body: object) -> object:
        text = json.dumps(body).replace(self.spreadsheet_id, self.recorded_id)
        for recorded, given in self.ids.items():
            text = text.replace(str(given), str(recorded))
        return json.loads(text)


def _kind(exchange: Exchange) -> str:
    return "values" if "/values" in exchange["path"] else "spreadsheets"


def _is_edit(exchange: Exchange) -> bool:
    return _kind(exchange) == "spreadsheets" and exchange["status"] == 200


def _is_read(exchange: Exchange) -> bool:
    return bool(exchange["method"] == "GET")


def _title(exchanges: list[Exchange]) -> str:
    """The title that the spreadsheet was created with (by Drive, which is not recorded)."""
    bodies = (exchange["response_body"] for exchange in exchanges)
    titles = (body["properties"]["title"] for body in bodies if "properties" in body)
    return next(titles, "Untitled")


def _ids(value: object) -> Iterator[int]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name in ("sheetId", "protectedRangeId") and inner:
                yield inner
            yield from _ids(inner)
    if isinstance(value, list):
        for inner in value:
            yield from _ids(inner)


def _with_ids(value: object, ids: dict[int, int]) -> object:
    if isinstance(value, dict):
        return {
            name: ids.get(inner, inner) if name.endswith("Id") else _with_ids(inner, ids)
            for name, inner in value.items()
        }
    if isinstance(value, list):
        return [_with_ids(inner, ids) for inner in value]
    return value


def _has_formula(body: object) -> bool:
    if isinstance(body, dict):
        return any(_has_formula(inner) for inner in body.values())
    if isinstance(body, list):
        return any(_has_formula(inner) for inner in body)
    return isinstance(body, str) and body.startswith("=")


def _sequences() -> list[list[Exchange]]:
    exchanges = [json.loads(line) for line in RECORDINGS.read_text("utf-8").splitlines()]
    groups = groupby(
        exchanges, key=lambda each: (each["cassette"], each["run"], each["spreadsheet"])
    )
    return [list(group) for _, group in groups]


@pytest.mark.skipif(not RECORDINGS.exists(), reason="the recorded exchanges are not there")
def test_recorded_exchanges_are_answered_as_google_answered(build: BenchBuilder) -> None:
    """Every recorded exchange that qualifies gets the recorded status and body."""
    bench = build({"Data": "x\n"})
    sequences = _sequences()
    recorded = Counter(_kind(exchange) for each in sequences for exchange in each)
    replays = []
    for exchanges in sequences:
        properties = {"title": _title(exchanges)}
        created = bench.call("POST", "/v4/spreadsheets", {"properties": properties})
        replay = Replay(
            bench=bench,
            recorded_id=exchanges[0]["spreadsheet"],
            spreadsheet_id=created.json()["spreadsheetId"],
        )
        replay.play(exchanges)
        replays.append(replay)
    compared = sum((replay.compared for replay in replays), Counter[str]())
    print(f"compared {dict(compared)} of {dict(recorded)}")

    assert [line for replay in replays for line in replay.differences] == []
    for kind, least in LEAST_COMPARED.items():
        assert compared[kind] / recorded[kind] >= least, kind
