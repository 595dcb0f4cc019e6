"""Endpoints that delete rows, and that write several rows: writes they request, and answers."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import httpx2
import pytest
from starlette.testclient import TestClient

from gateway.errors import (
    GatewayError,
    KeysUnavailable,
    PlanLimit,
    TooManyAuthFailures,
    UnknownField,
)
from gateway.query.query import parse_where
from gateway.settings.model import PlanSettings
from gateway.storage.key_store import Grants
from gateway.table.record import MAX_PROBLEMS
from gateway.telemetry.events import RequestKind, tallies
from gateway.worksheets.access import Target, WorksheetId, worksheet_not_found
from gateway.worksheets.idempotency import Settled
from gateway.worksheets.writes import (
    Append,
    ByFilter,
    ByKey,
    ByNumber,
    Write,
    WriteIdentity,
    Written,
)
from tests.callers import make_caller
from tests.web.endpoints import opened
from tests.web.openapi.conformance import Document, problems_of
from tests.web.openapi.worksheets import document, reach, worksheet

CALLER = make_caller(
    Grants(spreadsheets=frozenset({"demo"}), may_delete=True),
    PlanSettings(deletes=True, max_affected=50),
)
DONE = '{"state":"done"}'


@dataclass
class FakeRows:
    """Fake service: it records the writes, and answers with rows from number 7 on."""

    asked: list[Write] = field(default_factory=list)
    titles: list[str] = field(default_factory=list)
    errors: list[Exception] = field(default_factory=list)
    created: Sequence[bool] = (True, False)
    matched: int = 2
    ignored: tuple[str, ...] = ()
    is_replayed: bool = False

    async def write(self, target: Target, write: Write) -> Settled:
        self.asked.append(write)
        self.titles.append(target.worksheet.title)
        if self.errors:
            raise self.errors.pop(0)
        sent = write.rows or ()
        match write.selector:
            case ByNumber(rows=rows):
                pairs = zip(rows, sent, strict=False)  # a delete has no fields
                records: list[Mapping[str, object]] = [
                    {"rowIndex": row, **fields} for row, fields in pairs
                ]
            case ByKey() | Append():
                records = [
                    {"rowIndex": row, "created": created, **fields}
                    for row, (created, fields) in enumerate(
                        zip(self.created, sent, strict=False), 7
                    )
                ]
            case ByFilter():
                records = [{"rowIndex": row} for row in range(7, 7 + self.matched)]
        results = tuple(
            Written(row=cast(int, record["rowIndex"]), record=record, tag="", ignored=self.ignored)
            for record in records
        )
        return Settled(results=results, is_replayed=self.is_replayed)


Sent = tuple[str, str, Any]
"""Method, path with query, and body."""

OPERATIONS: Mapping[RequestKind, Sent] = {
    "delete": ("DELETE", "Cities/7", None),
    "update_rows": ("PATCH", "Cities", [{"rowIndex": 7, "state": "x"}]),
    "update_where": ("PATCH", f"Cities?where={DONE}", {"state": "x"}),
    "delete_where": ("DELETE", f"Cities?where={DONE}", None),
    "upsert": ("POST", "Cities?on_conflict=sku", {"sku": "a", "state": "x"}),
}


def send(client: TestClient, sent: Sent, **headers: str) -> Any:
    method, target, body = sent
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    content = b"" if body is None else json.dumps(body).encode()
    return client.request(method, target, content=content, headers=named)


GENERAL = document()
OF_KEY = document(
    reach(plan=PlanSettings(deletes=True), may_delete=True),
    worksheet("Cities", "name", "state", "sku"),
)
DONE_ROWS = parse_where({"state": "done"})


@pytest.fixture
def rows() -> FakeRows:
    """The fake service behind the endpoints."""
    return FakeRows()


@pytest.fixture
def client(rows: FakeRows) -> Iterator[TestClient]:
    """Test client whose key has all rights."""
    with opened(rows, CALLER) as found:
        yield found


@pytest.mark.parametrize(
    ("query", "body", "keys"),
    [
        ("on_conflict=sku,shop", {"sku": 1, "shop": True}, ("sku", "shop")),
        ("on_conflict=sku,sku , sku", {"sku": 1}, ("sku",)),
        ("on_conflict=sku,,", {"sku": 1}, ("sku",)),
        ('on_conflict=["a,b"]', {"a,b": 1}, ("a,b",)),
        ("on_conflict=Order%20No", {"Order No": 1}, ("Order No",)),
        ("on_conflict=Order+No", {"Order No": 1}, ("Order No",)),
        ("on_conflict=sku", {" sku": 1}, ("sku",)),
        ("on_conflict=sku&on_conflict=sku", {"sku": 1}, ("sku",)),
        ("on_conflict=Order%2520No", {"Order No": 1}, ("Order No",)),
        ("on_conflict=sku%252Cshop", {"sku": 1, "shop": 1}, ("sku", "shop")),
        ("on_conflict=100%2525", {"100%25": 1}, ("100%25",)),
        ("on_conflict[]=sku&on_conflict[]=shop", {"sku": 1, "shop": 1}, ("sku", "shop")),
        ("on_conflict%5B0%5D=sku", {"sku": 1}, ("sku",)),
        ("on_conflict%3Dsku%26x%3D1", {"sku": 1}, ("sku",)),
        ("o%6E_conflict=sku", {"sku": 1}, ("sku",)),
    ],
)
def test_spellings_of_on_conflict(
    client: TestClient, rows: FakeRows, query: str, body: Any, keys: tuple[str, ...]
) -> None:
    """`on_conflict` takes names with commas, in JSON or in brackets; repeated names count once."""
    answer = send(client, ("POST", f"Cities?{query}", body))

    assert answer.status_code == 200 + answer.json()["results"][0]["created"]
    assert [cast(ByKey, write.selector).names for write in rows.asked] == [keys]


@pytest.mark.parametrize(
    ("names", "separator"), [(17, ","), (500, "%252C")], ids=["plain", "encoded-twice"]
)
def test_key_fields_are_sixteen_at_most(
    client: TestClient, rows: FakeRows, names: int, separator: str
) -> None:
    """`on_conflict` with 16 names is accepted; more names get 400 before any write."""
    keys = [f"k{at}" for at in range(names)]
    body = dict.fromkeys(keys, 1)

    refused = send(client, ("POST", f"Cities?on_conflict={separator.join(keys)}", body))
    taken = send(client, ("POST", f"Cities?on_conflict={separator.join(keys[:16])}", body))

    assert (refused.status_code, refused.json()["code"]) == (400, 4002)
    assert "16" in refused.json()["message"]
    assert (taken.status_code, len(rows.asked)) == (200 + taken.json()["results"][0]["created"], 1)


def test_problems_of_an_upsert_are_limited(client: TestClient, rows: FakeRows) -> None:
    """The answer to 500 rows without a key lists only the first `MAX_PROBLEMS` problems."""
    answer = send(client, ("POST", "Cities?on_conflict=sku", [{"sku": None}] * 500))

    assert (answer.status_code, answer.json()["code"], rows.asked) == (400, 104, [])
    assert len(answer.json()["errors"]) == MAX_PROBLEMS
    assert answer.json()["errors"][-1]["pointer"] == f"#/{MAX_PROBLEMS - 1}/sku"


@pytest.mark.parametrize(
    "spelling",
    [
        "where=%257B%2522state%2522%253A%2522done%2522%257D",
        "where[state]=done",
        "where={'state':'done'}",
        "where%3D%7B%22state%22%3A%22done%22%7D",
    ],
)
def test_filters_of_writes_accept_the_spellings_of_reads(
    client: TestClient, rows: FakeRows, spelling: str
) -> None:
    """`where` of a write can be double-encoded, in brackets, or quoted as in Python."""
    for method, body in (("DELETE", None), ("PATCH", {"state": "x"})):
        assert send(client, (method, f"Cities?{spelling}", body)).status_code == 200

    assert [cast(ByFilter, write.selector).where for write in rows.asked] == [DONE_ROWS, DONE_ROWS]


def test_a_filter_is_decoded_once_more_for_a_missing_field(
    client: TestClient, rows: FakeRows
) -> None:
    """A filter with an unknown field is decoded once more, and the write's identity stays equal."""
    rows.errors = [UnknownField("where names ...", parameter="where", names=["Order%20No"])]

    answer = send(client, ("DELETE", 'Cities?where={"Order%2520No":1}', None), Idempotency_Key="k")

    first, second = rows.asked
    assert answer.status_code == 200
    assert cast(ByFilter, second.selector).where == parse_where({"Order No": 1})
    assert first.identity == second.identity is not None


@pytest.mark.parametrize("operation", OPERATIONS)
def test_writes_find_titles_that_were_encoded_twice(
    client: TestClient, rows: FakeRows, operation: RequestKind
) -> None:
    """If no worksheet has the title, a write goes to the worksheet of the decoded title."""
    method, target, body = OPERATIONS[operation]
    twice = target.replace("Cities", "New%2520Cities")
    rows.errors = [worksheet_not_found(WorksheetId("demo", "New%20Cities"), ["New Cities"])]

    answer = send(client, (method, twice, body), Idempotency_Key="k")

    assert answer.status_code < 300
    assert rows.titles == ["New%20Cities", "New Cities"]
    first, second = (cast(WriteIdentity, write.identity).worksheet for write in rows.asked)
    assert (first.title, second.title) == ("New%20Cities", "New Cities")


@pytest.mark.parametrize("operation", OPERATIONS)
def test_replays_are_marked(client: TestClient, rows: FakeRows, operation: RequestKind) -> None:
    """The answer to a repeated idempotent write has `Idempotent-Replayed: true`."""
    rows.is_replayed = True

    answer = send(client, OPERATIONS[operation], Idempotency_Key="k")

    assert answer.headers["idempotent-replayed"] == "true"
    assert [cast(WriteIdentity, write.identity).removes_rows for write in rows.asked] == [
        operation.startswith("delete")
    ]


def test_fingerprints_of_writes_of_several_rows(client: TestClient, rows: FakeRows) -> None:
    """With one Idempotency-Key, fingerprints differ by filter, key fields, body and resolution."""
    patches = [
        ("PATCH", f"Cities?where={DONE}", {"a": 1}),
        ("PATCH", f"Cities?where={DONE}&max-affected=9", {"a": 1.0}),
        ("PATCH", f"Cities?where={DONE}", {"a": 2}),
        ("PATCH", 'Cities?where={"state":"open"}', {"a": 1}),
        ("PATCH", "Cities", [{"rowIndex": 2, "a": 1}]),
        ("PATCH", "Cities", [{"rowIndex": 3, "a": 1}]),
    ]
    posts = [
        ("POST", "Cities?on_conflict=a", {"a": 1, "b": 1}),
        ("POST", "Cities?on_conflict=a&x=y", {"b": 1, "a": 1}),
        ("POST", "Cities?on_conflict=b", {"a": 1, "b": 1}),
        ("POST", "Cities?on_conflict=a", [{"a": 1, "b": 1}]),
    ]
    for sent in (*patches, *posts):
        send(client, sent, Idempotency_Key="k")
    send(client, posts[0], Idempotency_Key="k", Prefer="resolution=ignore-duplicates")

    identities = [cast(WriteIdentity, write.identity) for write in rows.asked]
    prints = [identity.fingerprint for identity in identities]
    assert len({identity.scope for identity in identities[:6]}) == 1
    assert len({identity.scope for identity in identities[6:]}) == 1
    assert prints[0] == prints[1]
    assert prints[6] == prints[7]
    assert len(set(prints)) == len(prints) - 2


@pytest.mark.parametrize("operation", OPERATIONS)
def test_writes_are_counted_by_operation(
    client: TestClient, rows: FakeRows, operation: RequestKind
) -> None:
    """The metrics count each write as exactly one operation, such as `update_where`."""
    before = {each: sum(tally.statuses) for each, tally in tallies.requests.items()}

    send(client, OPERATIONS[operation])

    after = {each: sum(tally.statuses) for each, tally in tallies.requests.items()}
    assert {each for each in after if after[each] > before[each]} == {operation}
    assert len(rows.asked) == 1


@pytest.mark.parametrize("operation", OPERATIONS)
def test_rate_cost_of_each_operation(rows: FakeRows, operation: RequestKind) -> None:
    """Writes by filter and upserts cost 5 requests of the rate; other writes cost 1 request."""
    left = (5, 0) if operation in ("update_where", "delete_where", "upsert") else (9, 8)
    plan = replace(CALLER, plan=CALLER.plan.model_copy(update={"requests_per_minute": 60}))
    with opened(rows, plan) as client:
        answers = [send(client, OPERATIONS[operation]) for _ in range(2)]

    assert [answer.headers["ratelimit"][:13] for answer in answers] == [
        f'"default";r={each}' for each in left
    ]


WRONG: Sequence[Sent] = [
    ("DELETE", "Cities/x", None),
    ("DELETE", "Cities/1", None),
    ("DELETE", "Cities", None),
    ("PATCH", "Cities", {"name": "x"}),
    ("PATCH", "Cities", [{"name": "x"}]),
    ("PATCH", "Cities?where={}", {"name": "x"}),
    ("POST", "Cities?on_conflict=", {"name": "x"}),
    ("POST", "Cities?on_conflict=name", {"state": "x"}),
]


@pytest.mark.parametrize("sent", [*OPERATIONS.values(), *WRONG], ids=str)
@pytest.mark.parametrize("created", [True, False])
@pytest.mark.parametrize("told", [GENERAL, OF_KEY], ids=["general", "key"])
def test_answers_match_the_openapi_document(
    client: TestClient, rows: FakeRows, sent: Sent, created: bool, told: Document
) -> None:
    """Answers and errors of each operation match the general document and a key's document."""
    rows.created = [created]
    method, target, _ = sent

    answer = send(client, sent, Prefer="max-affected=3" if "where" in target else "")

    path = f"/v2/sheets/{target.partition('?')[0]}"
    assert [*problems_of(told, method, path, answer)] == []


@pytest.mark.parametrize(
    ("sent", "content"),
    [
        (OPERATIONS["upsert"], {"results": [{"rowIndex": 7}]}),
        (OPERATIONS["upsert"], {"results": [{"rowIndex": 7, "created": "yes"}]}),
        (OPERATIONS["upsert"], {"results": [{"rowIndex": 7, "created": True, "nobody": "x"}]}),
        (OPERATIONS["delete_where"], {"results": []}),
        (OPERATIONS["update_where"], {"count": 1, "results": [{"rowIndex": 7, "state": 1}]}),
        (OPERATIONS["update_rows"], {"results": [{"rowIndex": 1}]}),
    ],
)
def test_an_answer_of_another_shape_is_found(sent: Sent, content: object) -> None:
    """The checker reports answers whose JSON shape is not in the document for that operation."""
    method, target, _ = sent
    headers = {"content-type": "application/json", "x-request-id": "r1"}
    answer = httpx2.Response(200, headers=headers, content=json.dumps(content).encode())

    assert [*problems_of(OF_KEY, method, f"/v2/sheets/{target.partition('?')[0]}", answer)]


@pytest.mark.parametrize(
    ("error", "refusal"),
    [
        (KeysUnavailable("The key store does not answer."), (503, 5031)),
        (PlanLimit("The plan of this key is not configured."), (405, 4051)),
        (TooManyAuthFailures("Too many wrong keys.", retry_after_seconds=3), (405, 4051)),
    ],
    ids=["store", "plan", "failures"],
)
@pytest.mark.parametrize("operation", ["delete", "delete_where"])
def test_a_delete_whose_right_cannot_be_looked_up(
    rows: FakeRows, operation: RequestKind, error: GatewayError, refusal: tuple[int, int]
) -> None:
    """A delete gets 503 if the key store fails. After other errors of the lookup, it gets 405."""
    with opened(rows, CALLER, error=error) as client:
        answer = send(client, OPERATIONS[operation])

    assert (answer.status_code, answer.json()["code"]) == refusal
    assert "ratelimit" not in answer.headers
    assert "retry-after" not in answer.headers
    assert rows.asked == []
