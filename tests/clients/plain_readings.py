"""Requests that are answered without lenient decoding."""

from collections.abc import Sequence
from typing import Any

from tests.clients.case import JSON_HEADERS, KEY, USUAL, Case, Headers, sent
from tests.clients.second_readings import LARGEST, TEXAS

ID = ("X-Spreadsheet-Id", "demo")
JSON = ("Content-Type", "application/json")
FIRST_TWO = LARGEST[:2]
NEW_YORK = {
    "rowIndex": 2,
    "name": "New York",
    "state": "New York",
    "country": "USA",
    "population": "8804190",
}
FORM = ("Content-Type", "application/x-www-form-urlencoded")
PEN = {"item": "Pen", "price": "$1,250.50", "due": "2024-01-02", "total": "$2,501.00"}


def keyed(name: str, *headers: tuple[str, str], query: str = "", key: str = "two") -> Case:
    """Return a list with only these credentials, for a key with two spreadsheets."""
    return sent(name, f"Cities?limit=2{query}", headers=headers, key=key, names=FIRST_TWO)


def updated(name: str, body: bytes, *, method: str = "PUT", **members: Any) -> Case:
    """Return an update of row 3 of `Cities`."""
    return sent(name, f"{method} Cities/3", body=body, **members)


_CREDENTIALS = [
    keyed("key-bare: Authorization", ("Authorization", KEY), ID),
    keyed("key-bare: bearer in small letters", ("authorization", f"bearer {KEY}"), ID),
    keyed("key-header: Authentication", ("Authentication", f"Bearer {KEY}"), ID),
    keyed("key-header: a bare key in Authentication", ("Authentication", KEY), ID),
    keyed("key-header: API-Key", ("API-Key", KEY), ID),
    keyed("key-header: X-API-Key", ("X-API-Key", KEY), ID),
    updated(
        "key-header: a write",
        b'{"population": 4000000}',
        headers=(("X-API-Key", KEY), ID, JSON),
        answer={"rowIndex": 3, "population": "4000000"},
        changes={"Cities!3.4": 4000000},
    ),
    keyed("key-blanks: a template's blank at the end", ("Authorization", f"Bearer {KEY} "), ID),
    keyed("key-blanks: two blanks between", ("Authorization", f"Bearer  {KEY}"), ID),
    keyed(
        "key-blanks: around the id",
        ("Authorization", f"Bearer {KEY}"),
        ("X-Spreadsheet-Id", " demo "),
    ),
    keyed("key-blanks: in the query", query=f"&apiKey=%20{KEY}%20&spreadsheetId=demo%20"),
    keyed("key-in-url: the docs' JavaScript", query=f"&apiKey={KEY}&spreadsheetId=demo"),
    sent(
        "key-in-url: a single row",
        f"Cities/2?apiKey={KEY}&spreadsheetId=demo",
        headers=(),
        key="two",
        answer=NEW_YORK,
    ),
    keyed(
        "key-in-both: jQuery's ajaxSetup beside data",
        ("Authorization", f"Bearer {KEY}"),
        ID,
        JSON,
        query=f"&apiKey={KEY}&spreadsheetId=demo&skip=0&no-cache=true",
    ),
    keyed(
        "key-in-both: two headers",
        ("Authorization", f"Bearer {KEY}"),
        ("X-API-Key", KEY),
        ID,
        ("X-Sheetson-Spreadsheet-Id", "demo"),
    ),
    keyed(
        "id-header: the docs' page on portfolios",
        ("Authorization", f"Bearer {KEY}"),
        ("X-Sheetson-Spreadsheet-Id", "demo"),
        JSON,
    ),
    keyed("id-absent: a key with one spreadsheet", ("API-Key", KEY), key="paid"),
    keyed("id-absent: an id that is empty", ("API-Key", KEY), ("X-Spreadsheet-Id", ""), key="paid"),
]


def listing(name: str, query: str, names: Sequence[str]) -> Case:
    return sent(name, f"Cities{query}", names=names)


_QUERIES = [
    listing("trailing-slash: a list", "/?limit=2", FIRST_TWO),
    sent("trailing-slash: a row", "Cities/2/", answer=NEW_YORK),
    sent(
        "trailing-slash: a create",
        "POST Cities/",
        body=b'{"name": "Austin"}',
        status=201,
        answer={"rowIndex": 12, "name": "Austin"},
        changes={"Cities!12.1": "Austin"},
    ),
    listing("no-cache: jQuery's data", "?limit=2&no-cache=true", FIRST_TWO),
    listing("no-cache: a value that nobody knows", "?limit=2&no-cache=1", FIRST_TWO),
    sent(
        "no-cache: fetch with cache: 'no-store'",
        "Cities?limit=2",
        headers=(*USUAL, ("Pragma", "no-cache"), ("Cache-Control", "no-cache")),
        names=FIRST_TWO,
    ),
    listing("unknown-parameters: a cache buster", "?limit=2&t=1732096800000", FIRST_TWO),
    listing("unknown-parameters: jQuery's cache: false", "?limit=2&_=17320968", FIRST_TWO),
    listing("unknown-parameters: a campaign", "?limit=2&utm_source=mail&v=2", FIRST_TWO),
    listing("unknown-parameters: a page's own parameter", "?limit=2&lang=en", FIRST_TWO),
    listing("empty-parameters: a form's empty fields", "?where=&order=&limit=2&skip=", FIRST_TWO),
    sent(
        "limit-cut: limit=1000", "Long?limit=1000", names=[str(number) for number in range(1, 101)]
    ),
    sent(
        "limit-cut: the largest integer",
        "Long?limit=9007199254740991&skip=100",
        names=[str(number) for number in range(101, 131)],
    ),
    listing(
        "where-as-it-is: a template string in a page", "?where={%22state%22:%22Texas%22}", TEXAS
    ),
    listing("where-as-it-is: curl -g", '?where={"state":"Texas"}', TEXAS),
    listing("where-as-it-is: Python's requests", "?where=%7B%22state%22%3A+%22Texas%22%7D", TEXAS),
    sent(
        "type-on-reads: axios and pysheetson",
        "Cities?limit=2",
        headers=JSON_HEADERS,
        names=FIRST_TWO,
    ),
    sent("type-on-reads: a form's type", "Cities?limit=2", headers=(*USUAL, FORM), names=FIRST_TWO),
    sent("type-on-reads: a body", "Cities?limit=2", body=b'{"limit": 1}', names=FIRST_TWO),
    sent(
        "stray-headers: headers that belong into answers",
        "Cities?limit=2",
        headers=(*USUAL, ("Access-Control-Allow-Origin", "*"), ("Origin", "https://a.example")),
        names=FIRST_TWO,
    ),
]


def created(name: str, headers: Headers, body: bytes) -> Case:
    return sent(
        name,
        "POST Cities",
        headers=headers,
        body=body,
        status=201,
        answer={"rowIndex": 12, "name": "San José", "population": "007"},
        changes={"Cities!12.1": "San José", "Cities!12.4": "007"},
    )


_WRITES = [
    created("forms: jQuery", (*USUAL, FORM), b"name=San+Jos%C3%A9&population=007"),
    created(
        "forms: axios with URLSearchParams",
        (*USUAL, (FORM[0], f"{FORM[1]};charset=utf-8")),
        b"name=San%20Jos%C3%A9&population=007",
    ),
    created(
        "forms: credentials among the fields",
        (*USUAL, FORM),
        f"apiKey={KEY}&spreadsheetId=demo&name=San+Jos%C3%A9&population=007".encode(),
    ),
    updated(
        "forms: an update",
        b"population=4000000&rowIndex=3",
        method="POST",
        headers=(*USUAL, FORM),
        answer={"rowIndex": 3, "population": "4000000"},
        changes={"Cities!3.4": "4000000"},
    ),
    created(
        "credentials-in-json: a client that sends its settings along",
        JSON_HEADERS,
        f'{{"apiKey":"{KEY}","spreadsheetId":"x","name":"San José","population":"007"}}'.encode(),
    ),
    sent(
        "whole-record: a page that edits one field",
        "PUT Orders/2",
        body=b'{"rowIndex":2,"item":"Pen","price":"$1,250.50","due":"2024-01-02","total":"$2,501.00",'
        b'"note":"paid"}',
        answer={"rowIndex": 2, **PEN, "note": "paid"},
        changes={"Orders!2.5": "paid"},
    ),
    sent(
        "whole-record: nothing changed",
        "PUT Orders/2",
        body=b'{"rowIndex":2,"item":"Pen","price":"$1,250.50","due":"2024-01-02","total":"$2,501.00",'
        b'"note":null}',
        answer={"rowIndex": 2, **PEN, "note": None},
    ),
    sent(
        "whole-record: a record created anew",
        "POST My%20Sheet",
        body=b'{"rowIndex":2,"name":"a","amount":"1"}',
        status=201,
        answer={"rowIndex": 4, "name": "a", "amount": "1"},
        changes={"My Sheet!4.1": "a", "My Sheet!4.2": "1"},
    ),
    *[
        updated(
            f"any-verb: {method}",
            b'{"population": 4000000}',
            method=method,
            answer={"rowIndex": 3, "population": "4000000"},
            changes={"Cities!3.4": 4000000},
        )
        for method in ("PUT", "PATCH", "POST")
    ],
]

PLAIN_READINGS: Sequence[Case] = [*_CREDENTIALS, *_QUERIES, *_WRITES]
