"""Replay of recorded exchanges (requests with Google's answers), to compare the emulator's answers.

Rules
- A sequence has all recorded exchanges about one new spreadsheet, in order. Its replay starts from
  a new spreadsheet with the same title.
- Google and the emulator choose different ids. The replay learns pairs of ids from the two answers,
  and replaces each id in later requests and answers by the name of its field. The spreadsheet id
  and the account's e-mail address are replaced too.
- All exchanges are compared, also after a difference.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from tests.sheets_emulator.bench import Bench

ACCOUNT = "user@example.com"  # e-mail address in the recordings
IDS = {  # kind of id, by field name
    "sheetId": "sheet",
    "sourceSheetId": "sheet",
    "newSheetId": "sheet",
    "namedRangeId": "named range",
    "protectedRangeId": "protected range",
}

Exchange = dict[str, Any]
Id = int | str
Ids = dict[tuple[str, Id], Id]


@dataclass(frozen=True, kw_only=True)
class Played:
    """An exchange, and the answer of the emulator with the ids of the recording."""

    exchange: Exchange
    status: int
    body: object

    @property
    def name(self) -> str:
        return f"{self.exchange['cassette']} {self.exchange['run']}/{self.exchange['seq']}"

    @property
    def kind(self) -> str:
        return kind_of(self.exchange)

    @property
    def is_equal(self) -> bool:
        """True for equal status and body, in any order of members. `1`, `1.0` and `true` differ."""
        wanted = (self.exchange["status"], self.exchange["response_body"])
        return json.dumps((self.status, self.body), sort_keys=True) == json.dumps(
            wanted, sort_keys=True
        )


@dataclass(kw_only=True)
class Replay:
    """Replay of one sequence. `given` maps recorded ids to the emulator's ids."""

    bench: Bench
    recorded_id: str
    given_id: str
    given: Ids = field(default_factory=dict)  # emulator's id, by recorded id
    recorded: Ids = field(default_factory=dict)  # recorded id, by emulator's id

    def play(self, exchange: Exchange) -> Played:
        """Send the request of an exchange to the emulator."""
        path = exchange["path"].replace(self.recorded_id, self.given_id)
        path = re.sub(r"(/sheets/)(\d+)", lambda match: match[1] + self._given_tab(match[2]), path)
        body = replaced(exchange["request_body"], self._as_given)
        answer = self.bench.call(exchange["method"], path, body)
        answered = answer.json()
        if answer.status_code == exchange["status"]:
            self._learn(exchange["response_body"], answered)
        return Played(
            exchange=exchange,
            status=answer.status_code,
            body=replaced(answered, self._as_recorded),
        )

    def _given_tab(self, text: str) -> str:
        return str(self._as_given("sheetId", int(text)))

    def _as_given(self, name: str, value: object) -> object:
        if isinstance(value, str):
            value = value.replace(self.recorded_id, self.given_id)
            value = value.replace(ACCOUNT, self.bench.account["client_email"])
        return _mapped(self.given, name, value)

    def _as_recorded(self, name: str, value: object) -> object:
        if isinstance(value, str):
            value = value.replace(self.given_id, self.recorded_id)
            value = value.replace(self.bench.account["client_email"], ACCOUNT)
        return _mapped(self.recorded, name, value)

    def _learn(self, recorded: object, given: object) -> None:
        """Store the pairs of ids that are at the same position in two answers."""
        for name, old, new in pairs(recorded, given):
            kind = IDS.get(name)
            if kind is not None and isinstance(old, (int, str)) and isinstance(new, (int, str)):
                self.given[kind, old] = new
                self.recorded[kind, new] = old


def sequences(path: Path) -> list[list[Exchange]]:
    """The exchanges of a file, grouped by spreadsheet."""
    exchanges = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    groups = groupby(
        exchanges, key=lambda each: (each["cassette"], each["run"], each["spreadsheet"])
    )
    return [list(group) for _, group in groups]


def play_all(bench: Bench, recorded: list[list[Exchange]]) -> Iterator[Played]:
    """Replay each sequence from a new spreadsheet."""
    for exchanges in recorded:
        body = {"properties": {"title": _title(exchanges)}}
        created = bench.call("POST", "/v4/spreadsheets", body)
        replay = Replay(
            bench=bench,
            recorded_id=exchanges[0]["spreadsheet"],
            given_id=created.json()["spreadsheetId"],
        )
        yield from map(replay.play, exchanges)


def kind_of(exchange: Exchange) -> str:
    """Kind of an exchange: `values`, `get` (spreadsheets.get) or `batchUpdate`."""
    if "/values" in exchange["path"]:
        return "values"
    return "get" if exchange["method"] == "GET" else "batchUpdate"


def replaced(value: object, replace: Callable[[str, object], object], name: str = "") -> object:
    """A JSON value after `replace(field name, value)` for each text and number."""
    if isinstance(value, dict):
        return {key: replaced(inner, replace, key) for key, inner in value.items()}
    if isinstance(value, list):
        return [replaced(inner, replace, name) for inner in value]
    return replace(name, value)


def pairs(old: object, new: object, name: str = "") -> Iterator[tuple[str, object, object]]:
    """The (field name, old, new) of values at the same position in two JSON values."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in old.keys() & new.keys():
            yield from pairs(old[key], new[key], key)
    elif isinstance(old, list) and isinstance(new, list):
        for first, second in zip(old, new, strict=False):
            yield from pairs(first, second, name)
    else:
        yield name, old, new


def _mapped(ids: Ids, name: str, value: object) -> object:
    kind = IDS.get(name)
    if kind is None or not isinstance(value, (int, str)):
        return value
    return ids.get((kind, value), value)


def _title(exchanges: list[Exchange]) -> str:
    """The title of the recorded spreadsheet, or "Untitled" if no answer has it."""
    bodies = (exchange["response_body"] for exchange in exchanges)
    titles = (body["properties"]["title"] for body in bodies if "properties" in body)
    return next(titles, "Untitled")
