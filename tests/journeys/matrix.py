"""The matrix of what keys were granted: 20 keys x 10 spreadsheets x worksheets x operations."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import httpx2

from gateway.storage.key_store import Grants, KeyRequest
from gateway.table.header import ALL_COLUMNS, ColumnGrant
from tests.journeys.conftest import Api
from tests.journeys.failure import anonymous, refused, without_cursors

BOOKS = [f"book{number}" for number in range(8)]
SPREADSHEETS = [*BOOKS, "private", "missing"]
"""Eight existing spreadsheets, one not shared with the account, and one that does not exist."""
WORKSHEETS = ["Open", "Shut", "Nowhere"]


def cell(book: str, worksheet: str, column: str, row: int) -> str:
    """A cell's content: its position, so that it is recognised elsewhere."""
    return f"{book}/{worksheet}/{column}/{row}"


WORKBOOK: Mapping[str, Mapping[str, str]] = {
    book: {
        worksheet: "name,hidden,note\n"
        + "".join(
            ",".join(cell(book, worksheet, column, row) for column in ("name", "hidden", "note"))
            + "\n"
            for row in range(2, 6)
        )
        for worksheet in ("Open", "Shut")
    }
    for book in BOOKS
}

SOME = ColumnGrant(frozenset({"name", "note"}), frozenset({"note"}))
GRANTED_BOOKS = {
    "b0": frozenset({"book0"}),
    "b1": frozenset({"book1"}),
    "b0-2": frozenset({"book0", "book1", "book2"}),
    "far": frozenset({"book7", "private", "missing"}),
    "any": None,
}


def make_requests() -> Iterator[tuple[str, KeyRequest]]:
    """One key for each combination of restrictions. Every third key is read-only."""
    grants = product(GRANTED_BOOKS, ("open", "all"), ("some", "whole"))
    for number, (books, titles, fields) in enumerate(grants):
        name, is_read_only = f"{books} {titles} {fields}", number % 3 == 0
        some = ColumnGrant(SOME.readable) if is_read_only else SOME
        yield (
            name,
            KeyRequest(
                name=name,
                grants=Grants(
                    spreadsheets=GRANTED_BOOKS[books],
                    worksheets=frozenset({"Open"}) if titles == "open" else None,
                    columns=some if fields == "some" else ALL_COLUMNS,
                    may_create=not is_read_only,
                    may_update=not is_read_only,
                ),
            ),
        )


KEYS: Mapping[str, KeyRequest] = dict(make_requests())


@dataclass(frozen=True)
class Operation:
    """A request. `fields` are the names that the request searches, sorts or writes."""

    method: str
    row: str
    options: Mapping[str, Any] = field(default_factory=dict)
    fields: frozenset[str] = frozenset()

    @property
    def is_write(self) -> bool:
        return self.method not in ("GET", "HEAD")

    def renamed(self, old: str, new: str) -> "Operation":
        """The same operation with another field name of the same length."""
        options = json.loads(json.dumps(self.options).replace(old, new))
        return Operation(self.method, self.row, options, self.fields)


def seeking(parameter: str, text: str, name: str) -> Operation:
    return Operation("GET", "", {"params": {parameter: text}}, frozenset({name}))


def writing(method: str, row: str, *names: str) -> Operation:
    return Operation(method, row, {"json": dict.fromkeys(names, "new")}, frozenset(names))


OPERATIONS = [
    Operation("GET", ""),
    Operation("GET", "/2"),
    Operation("HEAD", "/2"),
    Operation("GET", "", {"params": {"keys": "hidden,note"}}),
    Operation("GET", "", {"params": {"format": "csv"}}),
    Operation("GET", "", {"params": {"format": "ndjson", "keys": "hidden,note"}}),
    Operation("GET", "", {"params": {"format": "json", "order": "-hidden"}}, frozenset({"hidden"})),
    Operation("GET", "/schema"),
    Operation("HEAD", "/schema"),
    Operation("GET", "/schema", {"params": {"format": "typescript"}}),
    seeking("where", '{"note":{"$exists":true}}', "note"),
    seeking("where", '{"hidden":{"$text":"book"}}', "hidden"),
    seeking("where", '{"$not":{"hidden":"x"}}', "hidden"),
    seeking("order", "-hidden", "hidden"),
    writing("POST", "", "note"),
    writing("POST", "", "hidden"),
    writing("POST", "", "name", "note"),
    writing("POST", "/2", "note"),
    writing("PUT", "/2", "name"),
    writing("PATCH", "/2", "hidden"),
]


@dataclass(frozen=True)
class Cell:
    """One cell of the matrix."""

    spreadsheet: str
    worksheet: str
    operation: Operation

    def ask(self, api: Api, key: str) -> httpx2.Response:
        operation = self.operation
        return api.send(
            operation.method,
            self.worksheet + operation.row,
            key=key,
            spreadsheet=self.spreadsheet,
            **operation.options,
        )


CELLS = [Cell(*each) for each in product(SPREADSHEETS, WORKSHEETS, OPERATIONS)]


def denial(request: KeyRequest, asked: Cell) -> tuple[int, int] | None:
    """Status and code if the key was not granted the request; None if the key was granted it."""
    grants = request.grants
    if grants.spreadsheets is not None and asked.spreadsheet not in grants.spreadsheets:
        return 404, 101
    if grants.worksheets is not None and asked.worksheet not in grants.worksheets:
        return 403, 4032
    if not asked.operation.is_write:
        return None
    if not grants.may_update:
        return 405, 4050
    columns = grants.columns
    withheld = asked.operation.fields & (columns.readable or frozenset())
    return (403, 4032) if withheld - (columns.writable or withheld) else None


def ending(request: KeyRequest, asked: Cell) -> tuple[int, int | None]:
    """Status and code of a granted request, considering the columns that the key can read."""
    if asked.spreadsheet == "private":
        return 403, 101
    if asked.spreadsheet == "missing":
        return 404, 101
    if asked.worksheet == "Nowhere":
        return 404, 105
    operation, readable = asked.operation, request.grants.columns.readable
    if readable is not None and operation.fields - readable:
        return 400, 104 if operation.is_write else 4002
    return 201 if operation.is_write and not operation.row else 200, None


def ended(answer: httpx2.Response) -> tuple[int, int | None]:
    if answer.status_code < 400 or not answer.content:
        return answer.status_code, None
    return refused(answer)


def visible(answer: httpx2.Response, *besides: str) -> tuple[Any, ...]:
    """The parts of an answer that a client can compare: no times, request ID or remaining rate."""
    varying = {"age", "date", "ratelimit", "server-timing", "x-request-id", *besides}
    headers = sorted(
        (name, re.sub(r"ttl=-?\d+", "ttl", without_cursors(value)))
        for name, value in answer.headers.items()
        if name not in varying
    )
    return answer.status_code, headers, anonymous(answer)
