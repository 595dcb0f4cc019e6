"""Requests whose whole answers are recorded: each kind of answer of the API at least once.

Rules: a case is a request or a few, on the cells of the stage; no case knows another. All that is
not said by the request itself (times, random numbers, keys) is masked before it is recorded.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gateway.storage.key_store import Grants, KeyRequest
from tests.asgi_client import Answer
from tests.journeys.conftest import PAGE
from tests.surfaces.stage import GRANTED, Headers, Surface

KEY = "all"
SETTINGS: Mapping[str, object] = {
    "plans.all.deletes": True,
    "plans.all.requests_per_minute": 0,
    "cache.rows_ttl_seconds": 0,
    "cache.max_stale_seconds": 0,
}
KEYS: Mapping[str, KeyRequest] = {
    KEY: KeyRequest(name=KEY, plan="all", grants=Grants(spreadsheets=GRANTED, may_delete=True)),
    "free": KeyRequest(name="free", plan="free", grants=Grants(spreadsheets=GRANTED)),
    "read-only": KeyRequest(
        name="read-only", grants=Grants(spreadsheets=GRANTED, may_create=False, may_update=False)
    ),
    "cities": KeyRequest(
        name="cities", grants=Grants(spreadsheets=GRANTED, worksheets=frozenset({"Cities"}))
    ),
    "pages": KeyRequest(
        name="pages", grants=Grants(spreadsheets=GRANTED, origins=frozenset({PAGE}))
    ),
}


@dataclass(frozen=True, kw_only=True)
class Ask:
    """A request.

    `target` goes after `/v2/sheets/`, or is the whole path if it begins with a slash.
    """

    method: str
    target: str
    body: str = ""
    headers: Headers = ()
    key: str | None = KEY
    is_typed: bool = True
    """True if the body is sent as `application/json`."""

    def __str__(self) -> str:
        lines = [f"{self.method} {self.target}"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        lines += [f"key: {self.key}"] if self.key != KEY else []
        lines += [self.body] if self.body else []
        return "\n".join(f"> {line}" for line in lines)


def get(target: str, **more: Any) -> Ask:
    return Ask(method="GET", target=target, **more)


def post(target: str, body: str, **more: Any) -> Ask:
    return Ask(method="POST", target=target, body=body, **more)


def patch(target: str, body: str, **more: Any) -> Ask:
    return Ask(method="PATCH", target=target, body=body, **more)


def delete(target: str, **more: Any) -> Ask:
    return Ask(method="DELETE", target=target, **more)


LISTS = [
    "Cities",
    "New",
    "BlankHeader",
    "BlankFirst",
    "RowIndex",
    "Spaced",
    "D3",
    "A%2FB",
    "x:y!z",
    "Citiez",
    "Cities?limit=1",
    "Cities?limit=1&skip=1&count=true",
    "Cities?limit=0",
    "Cities?limit=-1",
    "Cities?skip=9",
    "Cities?skip=x",
    "Cities?order=name",
    "Cities?order=-population,name",
    "Cities?order=nosuch",
    "Cities?keys=name,state",
    "Cities?keys=nosuch",
    "Cities?keys[]=name&keys[]=state",
    'Cities?where={"state":"California"}',
    'Cities?where={"population":{"$gte":3000000,"$lt":5000000}}',
    'Cities?where={"$or":[{"name":"Chicago"},{"$not":{"state":{"$in":["Illinois"]}}}]}',
    'Cities?where={"name":{"$text":"new"}}',
    'Cities?where={"name":{"$exists":false}}',
    'Cities?where={"rowIndex":{"$gt":2}}',
    "Cities?where[state]=California",
    "Cities?where={'state':'California'}",
    "Cities?where=state",
    'Cities?where={"name":{"$regex":"x"}}',
    'Cities?where={"nosuch":1}',
    "Cities?Limit=1",
    "Cities?count=maybe",
    "Cities?no-cache=true",
    "Cities?apiKey=none",
    "Cities?utm_source=x&_=1",
]
ROWS = ["2", "3?keys=name", "3?keys=nosuch", "5", "1", "0", "-1", "x", "2.0", "999999999999"]
BODIES = [
    '{"name":"Boston","population":5}',
    '{"name":"Boston","nosuch":1}',
    '{"name":null,"state":""}',
    '{"name":"=1+1"}',
    '{"name":true,"population":1.5}',
    '{"population":12345678901234567890}',
    '{"rowIndex":7}',
    "{}",
    "[]",
    "1",
    "",
    "{",
    '{"name":"a","name":"b"}',
    '{"name":{"a":1}}',
    '{"name":NaN}',
    '[{"name":"A"},{"name":"B","population":2}]',
    '[{"name":"A"},5]',
]


def cases() -> Iterator[Sequence[Ask]]:
    """All cases."""
    yield from ([get(each)] for each in LISTS)
    yield from ([get(f"Cities/{row}")] for row in ROWS)
    yield from ([post("Cities", body)] for body in BODIES)
    yield from ([patch("Cities/3", body)] for body in BODIES)
    yield from _others()


def _others() -> Iterator[Sequence[Ask]]:
    boston, key = '{"name":"Boston","state":"MA"}', ("Idempotency-Key", "a-1")
    for method in ("HEAD", "OPTIONS", "PUT", "TRACE"):
        yield [Ask(method=method, target="Cities")]
    yield [Ask(method="HEAD", target="Cities/2")]
    yield [Ask(method="OPTIONS", target="Cities/2", headers=[("Origin", PAGE)])]
    yield [Ask(method="PUT", target="Cities/3", body=boston)]
    yield [post("Cities/3", boston)]
    for key_name in (None, "free", "read-only", "cities", "pages"):
        yield [get("Cities?limit=1", key=key_name)]
        yield [get("New", key=key_name)]
        yield [post("Cities", boston, key=key_name)]
        yield [delete("Cities/2", key=key_name)]
    yield [get("Cities?limit=1", key="pages", headers=[("Origin", PAGE)])]
    yield [get("Cities?limit=1", key="pages", headers=[("Origin", "https://other.example")])]
    yield [get("Cities?limit=1", headers=[("Authorization", "Bearer none")], key=None)]
    yield [get("Cities?limit=1", headers=[("X-Spreadsheet-Id", "other")])]
    yield [get("Cities?limit=1", headers=[("X-Spreadsheet-Id", "../x")])]
    yield [post("Cities", boston, headers=[key]), post("Cities", boston, headers=[key])]
    yield [post("Cities", boston, headers=[key]), post("Cities", "{}", headers=[key])]
    yield [post("Cities", boston, headers=[("Idempotency-Key", "x" * 300)])]
    yield [post("Cities", boston, headers=[("If-Match", '"x"')])]
    yield [patch("Cities/3", boston, headers=[("If-Match", '"x"')])]
    yield [patch("Cities/3", boston, headers=[("If-Match", "*")])]
    yield [patch("Cities/9", boston)]
    yield [patch("Cities/3", boston), get("Cities/3")]
    yield [post("Cities", "name=Boston", is_typed=False)]
    yield [
        post(
            "Cities",
            "name=Boston&state=MA",
            is_typed=False,
            headers=[("Content-Type", "application/x-www-form-urlencoded")],
        )
    ]
    for names in ("name", "name,state", "nosuch", "", "name,name"):
        yield [post(f"Cities?on_conflict={names}", '{"name":"Chicago","state":"IL"}')]
    yield [post("Cities?on_conflict=name", boston)]
    yield [
        post(
            "Cities?on_conflict=name",
            '{"name":"Chicago","state":"IL"}',
            headers=[("Prefer", "resolution=ignore-duplicates")],
        )
    ]
    chicago, everywhere = 'where={"name":"Chicago"}', 'where={"rowIndex":{"$gt":1}}'
    for target in (
        f"Cities?{chicago}",
        f"Cities?{everywhere}&max-affected=2",
        "Cities?where={}",
        "Cities",
        f"Cities?{chicago}&limit=1",
        'Cities?where={"name":"none"}',
    ):
        yield [patch(target, '{"state":"X"}')]
        yield [delete(target)]
    yield [patch("Cities", '[{"rowIndex":2,"state":"NY"},{"rowIndex":4,"state":"IL"}]')]
    yield [patch("Cities", '[{"rowIndex":2,"state":"NY"},{"rowIndex":9,"state":"IL"}]')]
    yield [patch("Cities", '[{"state":"NY"}]')]
    yield [delete("Cities/3"), get("Cities")]
    yield [delete("Cities/9")]
    yield [delete("Cities/1")]
    for path in (
        "/v1/x",
        "/livez",
        "/readyz",
        "/nosuch",
        "/v2/sheets?skip=1",
        "/v2/sheets/Cities/2/x",
    ):
        yield [get(path)]


_MASKS: Sequence[tuple[re.Pattern[str], str]] = (
    (re.compile(r'("requestId":"|x-request-id: )[0-9a-f]{16}'), r"\1*"),
    (re.compile(r"(cursor=)[\w-]+"), r"\1*"),
    (re.compile(r"(dur=)[0-9.]+"), r"\1*"),
    (re.compile(r";r=[0-9]+;t=[0-9]+"), ";r=*;t=*"),
)


def record(surface: Surface, asks: Sequence[Ask]) -> str:
    """Return the requests of a case with their answers, and the cells that they changed."""
    surface.reset()
    before = surface.cells()
    told = []
    for ask in asks:
        calls = surface.calls.reads, surface.calls.writes
        headers = [*ask.headers]
        if ask.body and ask.is_typed:
            headers.append(("Content-Type", "application/json"))
        answer = surface.send(
            ask.method, ask.target, key=ask.key, headers=headers, body=ask.body.encode()
        )
        reads, writes = surface.calls.reads - calls[0], surface.calls.writes - calls[1]
        told.append(f"{ask}\n{_shown(answer)}\nreads: {reads}, writes: {writes}")
    after = surface.cells()
    told += [f"{title}: {cells}" for title, cells in after.items() if cells != before[title]]
    return "\n".join(told)


def _usual(answer: Answer) -> Mapping[str, str]:
    """Return the headers that nearly all answers have. Only differences from them are recorded."""
    return {
        "cache-control": "no-store" if answer.status_code >= 400 else "private, no-cache",
        "content-length": str(len(answer.content)),
        "content-type": "application/json; charset=utf-8",
        "referrer-policy": "no-referrer",
        "server-timing": "google;dur=*",
        "vary": "Origin",
        "x-content-type-options": "nosniff",
        "x-request-id": "*",
    }


def _shown(answer: Answer) -> str:
    usual = {f"< {name}: {value}" for name, value in _usual(answer).items()}
    lines = [_masked(f"< {name}: {value}") for name, value in sorted(answer.headers.items())]
    lines = [line for line in lines if line not in usual]
    lines += [f"< no {name}" for name in _usual(answer) if name not in answer.headers]
    text = "\n".join([f"< {answer.status_code}", *lines, _masked(answer.content.decode())])
    return text.rstrip("\n")


def _masked(text: str) -> str:
    for mask, shown in _MASKS:
        text = mask.sub(shown, text)
    return text
