"""A spreadsheet that is hard to describe, keys to it, and asking for documents of it."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2

from gateway.storage.key_store import Grants, KeyRequest
from gateway.table.header import ColumnGrant
from tests.journeys.conftest import (
    Api,
    EmulatorControl,
    OpenGateway,
    make_keys,
    running_emulator,
    running_gateways,
)

DOCUMENT = "/openapi.json"
HOSTILE = {
    "{rowIndex}": "a,b\n1,2\n",
    "~a b": '"$ref","type"\n1,\n',
    "Cities": "name,state,population\nBoston,,654776\n",
    "cities?": "name\nx\n",
    "Secret": "hush-header\nhush-cell\n",
    "Blank": ",\n1,2\n",
    "Wide": ",".join(f"c{number}" for number in range(1000)) + "\n1\n",
}
BOOK = frozenset({"book"})
KEYS: Mapping[str, KeyRequest] = {
    "all": KeyRequest(name="all", grants=Grants(spreadsheets=BOOK)),
    "free": KeyRequest(name="free", plan="free", grants=Grants(spreadsheets=BOOK)),
    "reader": KeyRequest(
        name="reader", grants=Grants(spreadsheets=BOOK, may_create=False, may_update=False)
    ),
    "some": KeyRequest(
        name="some",
        grants=Grants(
            spreadsheets=BOOK,
            worksheets=frozenset({"Cities", "Nowhere"}),
            columns=ColumnGrant(frozenset({"name", "population"}), frozenset({"population"})),
        ),
    ),
}


@contextmanager
def running_books(folder: Path) -> Iterator[EmulatorControl]:
    """An emulator with worksheets whose names are hard to bear."""
    workbook = {"book": HOSTILE, "another": {"Other": "other-header\nx\n"}}
    with running_emulator(folder, workbook) as control:
        yield control


@contextmanager
def gateways_of_books(books: EmulatorControl, folder: Path) -> Iterator[OpenGateway]:
    """Starts gateways on these worksheets."""
    with running_gateways(books, make_keys(folder, KEYS)) as start:
        yield start


def told(api: Api, key: str | None = "all", **options: Any) -> httpx2.Response:
    options.setdefault("spreadsheet", None)
    return api.get(DOCUMENT, key=key, **options)


def described(api: Api, key: str | None = "all", **options: Any) -> dict[str, Any]:
    """The document of a key, if it is one."""
    answer = told(api, key, **options)
    assert answer.status_code == 200, answer.text
    decoded: dict[str, Any] = answer.json()
    return decoded


def rows_of(document: Mapping[str, Any]) -> list[str]:
    """The paths of worksheets."""
    return [path for path in document["paths"] if re.fullmatch(r"/v2/sheets/[^/]+", path)]
