"""A create-only key: one row or a refusal, and nothing of the sheet in any answer.

Rules: cells, fields and titles that no request names are canaries. An answer with one of them
fails its test, whatever else it says.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gateway.access.keys import mint_key
from gateway.errors import GatewayError, PreconditionFailed, Problem, RowsMoved, StorageFull
from gateway.storage.key_store import Grants, KeyRequest
from gateway.table.header import ColumnGrant
from gateway.web.error_responses import error_answer
from gateway.web.forms import create_only
from tests.asgi_client import Answer
from tests.error_tree import concrete_errors
from tests.journeys.failure import refused
from tests.surfaces.stage import GRANTED, Headers, Surface, open_surface
from tests.surfaces.test_operations import FORM, HEADERS, JSON, ROW, SENT, VALUES, Sent
from tests.web.requests import make_request, make_scope
from tests.web.test_error_responses import OWN_WORDS

CANARY = "canary"
CITIES: Sequence[Sequence[str | int]] = [
    ["name", "state", "canary field", "population"],
    ["canary name", "canary state", "canary cell", 770_017_700_177],
    ["canary other", "canary state", "canary cell", 770_017_700_277],
    ["Chicago", "canary state", "=canary", 770_017_700_377],
]
MARKS = (CANARY, "7700177", "770,017")


def _only_name(readable: frozenset[str] | None) -> Grants:
    columns = ColumnGrant(readable, writable=frozenset({"name"}))
    return Grants(spreadsheets=GRANTED, may_read=False, may_update=False, columns=columns)


KEYS: Mapping[str, KeyRequest] = {
    "form": KeyRequest(
        name="form",
        plan="staff",
        grants=Grants(spreadsheets=GRANTED, may_read=False, may_update=False),
    ),
    "some": KeyRequest(
        name="some",
        plan="staff",
        grants=Grants(
            spreadsheets=GRANTED,
            worksheets=frozenset({"Cities"}),
            may_read=False,
            may_update=False,
            origins=frozenset({"https://www.example.org"}),
        ),
    ),
    "name of all": KeyRequest(name="name", plan="staff", grants=_only_name(None)),
    "name of two": KeyRequest(
        name="name", plan="staff", grants=_only_name(frozenset({"name", "population"}))
    ),
    "staff": KeyRequest(
        name="staff",
        plan="staff",
        grants=Grants(spreadsheets=GRANTED, may_delete=True, may_refresh=True),
    ),
}


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Surface]:
    plans = {"plans.staff.deletes": True, "plans.staff.requests_per_minute": 0}
    with open_surface(tmp_path_factory.mktemp("create-only"), KEYS, plans) as surface:
        yield surface


@pytest.fixture
def surface(opened: Surface) -> Surface:
    opened.reset()
    opened.sheets.worksheets.clear()
    opened.sheets.add("Cities", CITIES)
    opened.sheets.add("canary title", [["canary field"], ["canary cell"]])
    return opened


def leaks(answer: Answer) -> list[str]:
    """Return the canaries in an answer, including row numbers and ETags."""
    text = "\n".join(f"{name}: {value}" for name, value in answer.headers.items())
    text += answer.content.decode()
    places = [each for each in ("location", "etag") if each in answer.headers]
    return [each for each in (*MARKS, '"rowIndex"') if each in text] + places


def send(
    surface: Surface, sent: Sent, query: str = "", headers: Headers = (), key: str = "form"
) -> Answer:
    typed = sent.body and not any(name == "Content-Type" for name, _ in headers)
    target = f"{sent.path}?{'&'.join(filter(None, [sent.query, query]))}"
    more = [JSON] if typed else []
    return surface.send(sent.method, target, key=key, headers=[*headers, *more], body=sent.body)


def test_the_canaries_are_found(surface: Surface) -> None:
    """A key that can read gets the canaries, so that the test can find a leak."""
    for name in ("list", "read", "create", "export", "schema", "worksheets"):
        assert leaks(send(surface, SENT[name], key="staff")) != []


ADDED = [
    *[(value, ()) for value in ("", *VALUES, "canary+field=1", "page=2", "apiKey=x", "keys=name")],
    *[("", (header,)) for header in HEADERS.values()],
    ("", (("Accept", "application/problem+json"),)),
    ("", (("Accept", "text/csv"),)),
    ("", (("Prefer", "return=representation"),)),
]


@pytest.mark.parametrize("name", SENT)
def test_every_request_is_refused_or_one_row(surface: Surface, name: str) -> None:
    """With any parameter and header, a request gets 403 4036, an error, or one created row."""
    sent = SENT[name]
    for query, headers in ADDED:
        before, writes = surface.cells(), surface.calls.writes
        count = len(surface.sheets.worksheets[0].lines())
        answer = send(surface, sent, query, headers)

        assert leaks(answer) == [], (query, headers)
        is_ambiguous = query == "apiKey=x" or headers in [
            (HEADERS["key"],),
            (HEADERS["spreadsheet"],),
        ]
        if answer.status_code == 201:
            assert name == "create"
            assert answer.json() == json.loads(ROW)
            assert len(surface.sheets.worksheets[0].lines()) == count + 1
            continue
        assert (surface.cells(), surface.calls.writes) == (before, writes)
        if sent.method == "HEAD":
            assert answer.status_code == (400 if is_ambiguous else 403)
            continue
        code = answer.json()["code"]
        if is_ambiguous:
            assert code in (4001, 4051)
        elif not name.startswith("create") or "on_conflict" in query:
            assert (answer.status_code, code) == (403, 4036), (query, headers)
        else:
            assert answer.status_code in (400, 415) or code == 4036


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v2/sheets", 403),
        ("GET", "canary%20title", 403),
        ("GET", "Cities/schema?format=typescript", 403),
        ("DELETE", "Cities", 403),
        ("PATCH", "Cities?where={}", 403),
        ("POST", "Cities/refresh", 403),
        ("POST", "canary", 404),
        ("PUT", "Cities", 405),
        ("PATCH", "Cities", 405),
        ("OPTIONS", "Cities", 204),
        ("GET", "/v1/x", 410),
        ("GET", "/v2/sheets/Cities/2/x", 404),
        ("GET", "/livez", 200),
    ],
)
def test_every_path_has_nothing_of_the_sheet(
    surface: Surface, method: str, path: str, status: int
) -> None:
    """Other methods and other paths have fixed answers."""
    body = b'{"name":"x"}' if method in ("POST", "PUT", "PATCH") else b""
    answer = surface.send(method, path, key="form", headers=[JSON] if body else [], body=body)

    assert answer.status_code == status
    assert leaks(answer) == []


BODIES: Mapping[str, tuple[bytes, tuple[str, str], int]] = {
    "unknown field": (b'{"canary_":1,"nmae":"x"}', JSON, 400),
    "list": (b'[{"name":"x"}]', JSON, 403),
    "list of none": (b"[]", JSON, 400),
    "blank": (b'{"name":null}', JSON, 400),
    "no field": (b'{"rowIndex":2,"apiKey":"x"}', JSON, 400),
    "number": (b'{"population":12.50,"state":true}', JSON, 201),
    "form": (b"name=A+b&state=", FORM, 201),
    "surrogate": (b'{"name":"\\ud800"}', JSON, 400),
}


@pytest.mark.parametrize("name", BODIES)
def test_bodies(surface: Surface, name: str) -> None:
    """The answer has the sent fields as they were sent; an error names no other field."""
    body, kind, status = BODIES[name]
    answer = surface.send("POST", "Cities", key="form", headers=[kind], body=body)

    assert answer.status_code == status
    if name == "unknown field":
        assert {each["pointer"] for each in answer.json()["errors"]} == {"#/canary_", "#/nmae"}
        assert "state" not in answer.content.decode()
        return
    assert leaks(answer) == []
    if status == 201:
        expected = {"name": "A b", "state": ""} if kind is FORM else json.loads(body)
        assert answer.json() == expected


@pytest.mark.parametrize("key", ["name of all", "name of two"])
@pytest.mark.parametrize("others", [{}, {"missing": "1"}, {"name": "x"}])
def test_other_fields_are_as_missing_ones(
    surface: Surface, key: str, others: Mapping[str, str]
) -> None:
    """Fields that the key must not write get the same error as missing fields."""

    def refusal(name: str) -> tuple[int, str]:
        body = json.dumps({**others, name: "1"}).encode()
        answer = surface.send("POST", "Cities", key=key, headers=[JSON], body=body)
        found = answer.json()
        del found["requestId"]
        return answer.status_code, json.dumps(found).replace(name, "?")

    assert refusal("population") == refusal("state") == refusal("nonesuch")
    assert refusal("population")[0] == 400


def test_a_repeated_create_has_the_same_answer(surface: Surface) -> None:
    """A repeated create has the same answer.

    Another body with its Idempotency-Key gets a fixed text.
    """
    keyed = ("Idempotency-Key", "form-1")
    first, again = (send(surface, SENT["create"], headers=[keyed]) for _ in range(2))
    other = surface.send(
        "POST", "Cities", key="form", headers=[keyed, JSON], body=b'{"name":"other"}'
    )

    assert (first.status_code, again.status_code, refused(other)) == (201, 201, (422, 4220))
    assert first.content == again.content
    assert again.headers["idempotent-replayed"] == "true"
    assert [leaks(each) for each in (first, again, other)] == [[], [], []]


def test_a_shared_error_is_hidden_from_it_alone(surface: Surface) -> None:
    """Writes that fail together have one error. Only a key that can read gets its text."""
    problem = Problem("#/name", "canary")
    surface.calls.failure = StorageFull("canary text", problems=[problem])
    own, other = (send(surface, SENT["create"], key=key) for key in ("form", "staff"))
    found = other.json()

    assert (own.status_code, leaks(own)) == (507, [])
    assert found["message"] == "canary text"
    assert found["errors"] == [{"pointer": "#/name", "detail": "canary"}]


def test_its_key_may_be_in_the_url_of_a_post(surface: Surface) -> None:
    """A create-only key is accepted in the URL of a POST.

    Another key there gets the usual error.
    """

    def post(key: str, headers: Headers = ()) -> Answer:
        target = f"Cities?apiKey={surface.keys[key]}"
        return surface.send(
            "POST", target, key=None, headers=[JSON, *headers], body=b'{"name":"x"}'
        )

    page, other = ("Origin", "https://www.example.org"), ("Origin", "https://evil.example")

    assert post("form").status_code == 201
    assert refused(post("staff")) == (401, 4012)
    assert post("some", [page]).status_code == 201
    assert refused(post("some", [other])) == (403, 4031)
    assert refused(surface.send("GET", f"Cities?apiKey={surface.keys['form']}", key=None)) == (
        403,
        4036,
    )


@pytest.mark.parametrize(("key", "status"), [("form", 403), ("staff", 200)])
def test_an_earlier_version_refuses_its_key(tmp_path: Path, key: str, status: int) -> None:
    """An earlier version, which knows only flags and plans, rejects a create-only key."""
    with open_surface(tmp_path, KEYS, {"plans.staff.deletes": True}) as surface:
        with closing(sqlite3.connect(tmp_path / "keys.db")) as database, database:
            database.execute("UPDATE api_keys SET rights = NULL")
        unknown = [("API-Key", mint_key())]  # has the store read
        assert surface.send("GET", "Cities", key=None, headers=unknown).status_code == 401
        answer = surface.send("GET", "Cities", key=key)

    assert answer.status_code == status
    assert status == 200 or answer.json()["code"] == 4034


def test_its_description_is_the_general_one(surface: Surface) -> None:
    """`/openapi.json` for a create-only key has the same bytes as without a key."""
    own = surface.send("GET", "/openapi.json", key="form")
    general = surface.send("GET", "/openapi.json", key=None, spreadsheet=None)

    assert own.content == general.content
    assert surface.calls.reads == 0


@pytest.mark.parametrize("kind", [*concrete_errors()], ids=lambda kind: kind.__name__)
async def test_an_error_shows_nothing_of_the_sheet(kind: type[GatewayError]) -> None:
    """An error hides its text, problems and rows, but shows the names that the client sent."""
    record = {"rowIndex": 770_017_700_177, "canary field": "canary cell"}
    own: Mapping[type[GatewayError], GatewayError] = {
        **OWN_WORDS,
        PreconditionFailed: PreconditionFailed(record, tag='"canary"'),
        RowsMoved: RowsMoved("canary", row=770_017_700_177, expected=record, met=record),
    }
    error = own.get(kind) or kind("did you mean 'canary field'?")
    before = dict(vars(error))  # other tests have it, too
    error.problems = (Problem("#/canary field", "canary"), Problem("#/name", "not canary name"))

    async def run() -> Any:
        raise error

    request = make_request(make_scope(method="POST"))
    request.state = cast(Any, {"api": SimpleNamespace(empty_cell="null")})
    with pytest.raises(GatewayError) as raised:
        await create_only({"name": "x"}, run)
    answer = error_answer(request, raised.value)
    vars(error).update(before)

    text = cast(bytes, answer.body).decode()
    assert not [mark for mark in MARKS if mark in text]
    assert '"pointer":"#/name"' in text
    assert raised.value.code == kind.code
