"""Expected results of the JavaScript samples, in Node and in a browser.

An expected mapping can omit members. All other values must be equal.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from gateway.storage.key_store import Grants, KeyRequest
from tests.journeys.conftest import DEMO, EmulatorControl

SETTINGS: Mapping[str, object] = {"plans.free.requests_per_minute": 1}
"""Settings of the gateway, with which a key on plan `free` exceeds its rate after 10 requests."""


def keys_of_site(page_origin: str) -> Mapping[str, KeyRequest]:
    """Return the keys for the samples; two are limited to this origin and to another one."""
    elsewhere = frozenset({"https://app.example.org"})
    return {
        "paid": KeyRequest(name="paid", grants=Grants(spreadsheets=DEMO | {"other"})),
        "free": KeyRequest(name="free", plan="free", grants=Grants(spreadsheets=DEMO)),
        "hasty": KeyRequest(name="hasty", plan="free", grants=Grants(spreadsheets=DEMO)),
        "here": KeyRequest(
            name="here", grants=Grants(spreadsheets=DEMO, origins=frozenset({page_origin}))
        ),
        "elsewhere": KeyRequest(
            name="elsewhere", grants=Grants(spreadsheets=DEMO, origins=elsewhere)
        ),
    }


def named(*names: str) -> list[dict[str, Any]]:
    return [{"name": name} for name in names]


def page(results: Sequence[Mapping[str, Any]], *, more: bool = False) -> Mapping[str, Any]:
    return {"status": 200, "body": {"results": results, "hasNextPage": more}}


def refusal(status: int, code: int, **headers: object) -> Mapping[str, Any]:
    body = {"type": "SheetsonError", "code": code, "status": status}
    return {"status": status, "body": body, "headers": headers}


ANY = object()
"""Expectation of any value except None."""

SHOWN_TO_ALL: Mapping[str, Any] = {
    "list": page(named("New York", "Los Angeles"), more=True),
    "list, key in the URL": page(named("Los Angeles", "Chicago"), more=True),
    "row, key in the URL": {"status": 200, "body": {"rowIndex": 3, "name": "Los Angeles"}},
    "search": page(named("Houston", "San Antonio", "Dallas")),
    "search, encoded twice": page(named("Houston", "San Antonio", "Dallas")),
    "search, a range encoded twice": page(named("Chicago", "Houston")),
    "search, all in one name": page(named("Houston", "San Antonio", "Dallas")),
    "search, as it is": page(named("Houston", "San Antonio", "Dallas")),
    "search, in brackets": page(named("Houston", "Dallas")),
    "order": page(
        [
            {"rowIndex": 2, "name": "a", "total sales": "30"},
            {"rowIndex": 4, "name": "c", "total sales": "20"},
        ],
        more=True,
    ),
    "pages": {"pages": [50, 50, 30], "last": "130"},
    "create, update, read": {
        "created": {
            "status": 201,
            "body": {"rowIndex": 12, "name": "Austin", "population": "961855"},
            "headers": {"location": "/v2/sheets/Cities/12", "etag": ANY},
        },
        "updated": {"status": 200, "body": {"rowIndex": 12, "population": "964000"}},
        "read": {"status": 200, "body": {"name": "Austin", "country": None}},
    },
    "put a record back": {
        "status": 200,
        "body": {"rowIndex": 3, "price": "$3.00", "total": "$6.00", "note": "paid"},
    },
    "create, a string without a type": {"status": 201, "body": {"rowIndex": 4, "name": "string"}},
    "create, bytes without a type": {"status": 201, "body": {"rowIndex": 5, "name": "bytes"}},
    "create, a form": {
        "status": 201,
        "body": {"rowIndex": 6, "name": "form & blank", "amount": "007"},
    },
    "create, FormData": refusal(415, 4150),
    "no such worksheet": refusal(404, 105, **{"x-request-id": ANY}),
    "no such row": refusal(404, 103),
    "no such field": refusal(400, 104),
    "wrong key": refusal(401, 4011, **{"www-authenticate": ANY}),
    "no key": refusal(401, 4010),
    "search on a plan without": refusal(403, 4034),
    "delete a row": refusal(405, 4051, allow=ANY),
    "version 1": refusal(410, 4100),
    "too many requests": refusal(429, 4290, **{"retry-after": ANY, "ratelimit": ANY}),
    "known already": {"status": 304, "body": None, "headers": {"etag": ANY}},
    "changed by another": refusal(412, 4120, etag=ANY),
    "a key for this page": {"status": 200, "body": {"name": "New York"}, "headers": {"etag": ANY}},
    "stray headers": page(named("New York"), more=True),
}


def differences(expected: object, told: object, at: str = "") -> list[str]:
    """Return the differences from the expectation, as lines of text."""
    if expected is ANY:
        return [] if told is not None else [f"{at}: nothing"]
    if isinstance(expected, Mapping):
        if not isinstance(told, Mapping):
            return [f"{at}: {told!r}"]
        return [
            line
            for name, value in expected.items()
            for line in differences(value, told.get(name), f"{at}/{name}")
        ]
    if isinstance(expected, list) and isinstance(told, list) and len(told) == len(expected):
        pairs = enumerate(zip(expected, told, strict=True))
        return [line for i, (one, other) in pairs for line in differences(one, other, f"{at}/{i}")]
    return [] if expected == told else [f"{at}: {told!r}, not {expected!r}"]


WRITTEN: Mapping[str, Sequence[str]] = {
    "Cities!12": ["Austin", "Texas", "", "964000"],
    "My Sheet!4": ["string"],
    "My Sheet!5": ["bytes"],
    "My Sheet!6": ["form & blank", "007"],
    "Orders!3": ["Ink", "$3.00", "2024-02-03", "$6.00", "paid"],
}
"""Last rows of the worksheets after all samples ran. A repeated row would be a double write."""


def written(emulator: EmulatorControl) -> dict[str, Sequence[str]]:
    """Return the texts of the rows that samples create or change, and of all rows below."""
    ends = {"Cities": 12, "My Sheet": 4, "Orders": 3}
    return {
        f"{worksheet}!{row}": texts
        for worksheet, first in ends.items()
        for row, texts in enumerate(emulator.texts(worksheet)[first - 1 :], first)
    }
