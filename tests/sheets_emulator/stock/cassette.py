"""Recorded exchanges between gspread and Google, in a form that tests can compare.

Rules
- IDs are replaced: the spreadsheet ID by "ID", and each number of six or more digits by 900000,
  900001 and so on, in order of appearance.
- The order of query parameters and object members is ignored.
- Null members at the top of a request body are ignored, because not all gspread versions send them.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any
from urllib.parse import parse_qsl

import gspread

from tests.exchanges import Exchange
from tests.recordings import EXCHANGES

ROOT = "/v4/"
ID = re.compile(r"(?<![\d.])\d{6,}(?![\d.])")

Recorded = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Told:
    """Parts of an exchange that tests compare, with IDs replaced."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...]
    body: object
    status: int
    answer: object


@dataclass(frozen=True, kw_only=True)
class Cassette:
    """A recorded sequence of exchanges, which starts with the creation of a spreadsheet."""

    exchanges: tuple[Recorded, ...]

    @property
    def title(self) -> str:
        """Return the title that the spreadsheet was created with."""
        title: str = self.exchanges[0]["response_body"]["properties"]["title"]
        return title

    @property
    def told(self) -> list[Told]:
        """Return the exchanges in comparable form."""
        spreadsheet = self.exchanges[0]["spreadsheet"]
        numbering = _Numbering(spreadsheet=spreadsheet, ids={})
        return [
            numbering.told(
                method=each["method"],
                url=each["path"],
                body=each["request_body"],
                status=each["status"],
                answer=each["response_body"],
            )
            for each in self.exchanges
        ]

    def values(self, number: int) -> list[list[Any]]:
        """Return the rows of values that the exchange with this index wrote."""
        found: list[list[Any]] = self.exchanges[number]["request_body"]["values"]
        return found


@dataclass(frozen=True, kw_only=True)
class Take:
    """A recorded sequence, and the new spreadsheet and worksheet for repeating its calls."""

    cassette: Cassette
    book: gspread.Spreadsheet
    sheet: gspread.Worksheet

    def values(self, number: int) -> list[list[Any]]:
        return self.cassette.values(number)


@dataclass(frozen=True, kw_only=True)
class _Numbering:
    """Replaces the IDs in the exchanges of one sequence."""

    spreadsheet: str
    ids: dict[str, str]

    def told(self, *, method: str, url: str, body: object, status: int, answer: object) -> Told:
        path, _, query = url.partition("?")
        return Told(
            method=method,
            path=path.replace(self.spreadsheet, "ID"),
            query=tuple(sorted(parse_qsl(query))),
            body=self._numbered(_without_nulls(body)),
            status=status,
            answer=self._numbered(answer),
        )

    def _numbered(self, value: object) -> object:
        text = json.dumps(value, sort_keys=True).replace(self.spreadsheet, "ID")
        return json.loads(ID.sub(self._number, text))

    def _number(self, match: re.Match[str]) -> str:
        return self.ids.setdefault(match[0], str(900_000 + len(self.ids)))


def _without_nulls(body: object) -> object:
    if not isinstance(body, dict):
        return body
    return {name: value for name, value in body.items() if value is not None}


def told_by(exchanges: Iterable[Exchange], spreadsheet: str) -> list[Told]:
    """Return the Sheets API exchanges of the emulator in comparable form, without Drive calls."""
    numbering = _Numbering(spreadsheet=spreadsheet, ids={})
    return [
        numbering.told(
            method=each.method,
            url=f"{each.raw_path}?{each.query}",
            body=json.loads(each.body) if each.body else None,
            status=each.status,
            answer=json.loads(each.answer),
        )
        for each in exchanges
        if each.raw_path.startswith(ROOT)
    ]


def cassettes() -> Mapping[str, Cassette]:
    """Return the last recorded run of each gspread test by name, or {} without recordings."""
    return dict(_sequences()) if EXCHANGES.exists() else {}


def _sequences() -> Iterator[tuple[str, Cassette]]:
    exchanges = map(json.loads, EXCHANGES.read_text("utf-8").splitlines())
    groups = groupby(exchanges, key=lambda each: (each["cassette"], each["run"]))
    for (name, _), group in groups:
        yield name.partition(".")[2], Cassette(exchanges=tuple(group))
